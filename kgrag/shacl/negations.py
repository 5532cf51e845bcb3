"""What conforms to a shape within a shape: by a constraint that says the opposite, or by what departs from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgrag.model import Term
from kgrag.shacl.compiled_shapes import Branch, Constraint
from kgrag.shacl.constraint_queries import Where

__all__ = ["BY_VALUE", "negation", "unfit_nodes"]

BY_VALUE = frozenset(
    {
        *("class", "datatype", "in", "languageIn", "maxExclusive", "maxInclusive", "maxLength"),
        *("minExclusive", "minInclusive", "minLength", "nodeKind", "pattern", "singleLine"),
    }
)
"""Components that read each value alone."""


def negation(branch: Branch) -> Constraint | None:
    """Return a constraint from which those nodes depart that conform to a shape; None where none is known."""
    if len(branch) != 1:
        return None
    (inner,) = branch
    component, values = inner.component, inner.values
    by_value = component in BY_VALUE
    if component == "hasValue" and not inner.path:
        return replace(inner, component="in", values={"wanted": [values["wanted"]], "fitting": 1})
    if component == "hasValue" or (by_value and component != "datatype" and not inner.path):
        return replace(inner, values={**values, "fitting": 1})
    if by_value and inner.path:
        return replace(inner, values={**values, "conforming": 1})
    opposite = {"maxCount": ("minCount", 1), "minCount": ("maxCount", -1)}
    if component not in opposite or (component == "minCount" and not values["wanted"]):
        return None
    other, more = opposite[component]
    return replace(inner, component=other, values={"wanted": values["wanted"] + more})


def unfit_nodes(departing: Sequence[set[Where]], wanted: set[int]) -> set[Term | None]:
    """Return the nodes that depart from so many inner shapes that those they conform to are not ``wanted``."""
    counts: dict[Where, int] = {}
    for nodes in departing:
        for node in nodes:
            counts[node] = counts.get(node, 0) + 1
    return {node for (_, node), count in counts.items() if len(departing) - count not in wanted}
