"""Steps over hierarchies of SKOS concepts: cycles, statements that follow from others, relations within a branch.

SPARQL's paths would walk from every concept to every one above it; these steps walk no higher than they have to.

Queries: ``audit/sks_edges``, ``audit/sks_related``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kgrag import queries
from kgrag.audit.hierarchy_steps import heights, shortcuts
from kgrag.reasoning.reachability import components
from kgrag.vocab import AUDIT, local_name

if TYPE_CHECKING:
    from kgrag.audit.steps import StepInput

__all__ = ["cycles", "redundant", "related"]

_Edges = Mapping[str, Sequence[str]]
_Row = dict[str, str]

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_SHOWN = 6


def cycles(given: StepInput) -> Iterator[_Row]:
    """Yield each set of concepts that are all broader than one another, or one that is broader than itself.

    SKS-04. One row a cycle: ``focus`` is the member whose IRI sorts first, ``value`` one that is directly broader.
    """
    edges = _broader(given)
    for members in components(edges):
        first = min(members)
        if len(members) > 1 or first in edges.get(first, ()):
            above = min(each for each in edges[first] if each in members)
            yield _row(first, "broader", above, _cycle_message(sorted(members)))


def redundant(given: StepInput) -> Iterator[_Row]:
    """Yield each broader concept that is stated although it follows from another one (SKS-12)."""
    edges = {below: [each for each in above if each != below] for below, above in _broader(given).items()}
    for below, above, between in shortcuts(edges):
        names = [local_name(each) for each in (below, above, between)]
        message = f"That {names[1]} is broader than {names[0]} follows from {names[2]}, which is stated as well."
        yield _row(below, "broader", above, message)


def related(given: StepInput) -> Iterator[_Row]:
    """Yield each pair of related concepts of which one stands above the other in the hierarchy.

    SKS-03. ``focus`` is the narrower one.
    """
    edges = _broader(given, transitive=True)
    known = heights(edges, components(edges))
    wanted: dict[str, set[str]] = {}
    for one, other in given.scope.bench.select(queries.bind("audit/sks_related", target=AUDIT.target)).values():
        wanted.setdefault(one, set()).add(other)
        wanted.setdefault(other, set()).add(one)
    for below in sorted(wanted.keys() & edges.keys()):
        for above in sorted(_reached(below, wanted[below], edges, known)):
            message = f"{local_name(below)} is related to {local_name(above)}, which is broader as well."
            yield _row(below, "related", above, message)


def _broader(given: StepInput, *, transitive: bool = False) -> dict[str, list[str]]:
    """Give concept -> broader concepts; ``transitive`` takes in those stated by skos:broaderTransitive."""
    edges: dict[str, list[str]] = {}
    asked = queries.bind("audit/sks_edges", target=AUDIT.target)
    for below, path, above in given.scope.bench.select(asked).values():
        if transitive or path == f"{_SKOS}broader":
            edges.setdefault(below, []).append(above)
    return edges


def _reached(start: str, targets: set[str], edges: _Edges, known: Mapping[str, int]) -> set[str]:
    """Give those targets that a way up from ``start`` meets; no walk goes above the highest of them."""
    lowest = min((known[each] for each in targets if each in known), default=-1)
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = {each for each in edges.get(waiting.pop(), ()) if known[each] >= lowest} - seen
        seen |= new
        waiting += new
    return (seen & targets) - {start}


def _row(focus: str, path: str, value: str, message: str) -> _Row:
    return {"focus": focus, "path": _SKOS + path, "value": value, "message": message}


def _cycle_message(members: Sequence[str]) -> str:
    names = ", ".join(local_name(each) for each in members[:_SHOWN])
    more = f" and {len(members) - _SHOWN} more" if len(members) > _SHOWN else ""
    return f"{names}{more} {'are broader than one another' if len(members) > 1 else 'is broader than itself'}."
