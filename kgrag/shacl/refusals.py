"""Constraints without a verdict: those that cannot be run on what is validated, or that lack what was written.

The store has xsd:integer for ``"5"^^xsd:int``. What a file had is on record in its lexical graph; what a SPARQL update
inserted is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.shacl.compiled_shapes import Constraint, Shapes
from kgrag.shacl.components import is_kept_as_integer
from kgrag.shacl.constraint_queries import ConstraintQueries, Row
from kgrag.shacl.sparql_constraints import asks_in_graphs

__all__ = ["refuse_mismatch", "refuse_unknown", "unknown_elsewhere"]

_BY_DATATYPE = frozenset({"datatype", "hasValue", "in"})
"""Components by which ``"5"^^xsd:int`` and 5 differ."""


def refuse_mismatch(constraints: Iterable[Constraint], *, merged: bool) -> None:
    """Refuse a shape for a kind of graph on a union, and one whose SELECT names no graph on single graphs.

    Raises:
        InvalidRDF: there is one.
    """
    for constraint in constraints:
        if merged and constraint.target.kinds:
            raise InvalidRDF(
                f"shape {constraint.shape}: kg:targetGraphKind confines it to graphs of a kind, and a union of graphs "
                "is of none. Validate graph by graph (merged=False)."
            )
        if not merged and constraint.select and not asks_in_graphs(constraint.select):
            raise InvalidRDF(
                f"shape {constraint.shape}: sh:select gives no ?graph, which names the graph of a row. Select it "
                "(GRAPH ?graph { ... }), or validate a union of graphs (merged=True)."
            )


def refuse_unknown(
    asker: ConstraintQueries, constraint: Constraint, rows_of: Callable[[ConstraintQueries, Constraint], Iterator[Row]]
) -> None:
    """Refuse a constraint that finds other values when the store's integers are taken for no other datatype.

    Args:
        asker: asks the data.
        constraint: the shapes within it are looked at too.
        rows_of: returns the violations of a constraint by an asker.

    Raises:
        InvalidRDF: its verdict depends on how an integer was written, and that is not known.
    """
    if asker.whole:
        return
    strict = replace(asker, whole=True)
    for part in constraint.each():
        if part.component in _BY_DATATYPE and list(rows_of(asker, part)) != list(rows_of(strict, part)):
            raise InvalidRDF(
                f"shape {constraint.shape}: whether sh:{part.component} is kept depends on the datatype that integers "
                "were written with, which the store does not know after an update (it has xsd:integer for xsd:int and "
                "the like). Load the graph from a file, or validate a file that kgrag export writes."
            )


def unknown_elsewhere(shapes: Shapes) -> dict[str, str]:
    """Return the shapes left to pyshacl that name a type which the store keeps as xsd:integer (shape -> reason).

    For data of which is not known how each literal was written.
    """
    return {
        name: f"it names {types[0]}, and the store does not know after an update which integers were written so. "
        "Load the graph from a file, or validate a file that kgrag export writes."
        for name in sorted(shapes.elsewhere)
        if (types := sorted(filter(None, map(_integer_type, shapes.rest_of(name)))))
    }


def _integer_type(triple: ox.Triple) -> str:
    """Return the type of integers that a statement of a shape names, as IRI or by a literal; "" for none."""
    term = triple.object.datatype if isinstance(triple.object, ox.Literal) else triple.object
    return term.value if isinstance(term, ox.NamedNode) and is_kept_as_integer(term) else ""
