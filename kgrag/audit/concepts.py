"""Steps over hierarchies of SKOS concepts.

Query: ``audit/sks_edges``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kgrag import queries
from kgrag.audit.hierarchy import components
from kgrag.vocab import AUDIT, local_name

if TYPE_CHECKING:
    from kgrag.audit.steps import StepInput

__all__ = ["cycles"]

_BROADER = "http://www.w3.org/2004/02/skos/core#broader"
_SHOWN = 6


def cycles(given: StepInput) -> Iterator[dict[str, str]]:
    """Yield each set of concepts that are all broader than one another, or one that is broader than itself.

    SKS-04. One row a cycle: ``focus`` is the member whose IRI sorts first, ``value`` one that is directly broader.
    """
    edges: dict[str, list[str]] = {}
    for below, above in given.scope.bench.select(queries.bind("audit/sks_edges", target=AUDIT.target)).values():
        edges.setdefault(below, []).append(above)
    for members in components(edges):
        first = min(members)
        if len(members) > 1 or first in edges.get(first, ()):
            above = min(each for each in edges[first] if each in members)
            yield {"focus": first, "path": _BROADER, "value": above, "message": _message(sorted(members))}


def _message(members: list[str]) -> str:
    names = ", ".join(local_name(each) for each in members[:_SHOWN])
    more = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
    return f"{names}{more} {'is' if len(members) == 1 else 'are'} broader than {'itself' if len(members) == 1 else 'one another'}."
