"""Steps over hierarchies of SKOS concepts: cycles, statements that follow from others, relations within a branch.

SPARQL's paths would walk from every concept to every one above it; these steps walk no higher than they have to.

Queries: ``audit/sks_edges``, ``audit/sks_related``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kgrag import queries
from kgrag.audit.hierarchy_steps import heights, shortcuts
from kgrag.audit.step_input import Row, StepInput
from kgrag.reasoning.reachability import components
from kgrag.vocab import AUDIT, local_name

__all__ = ["cycles", "redundant", "related"]

MAX_MEMBERS_NAMED = 6
"""How many concepts of a cycle a message names."""

_SKOS = "http://www.w3.org/2004/02/skos/core#"


def cycles(given: StepInput) -> Iterator[Row]:
    """Yield each set of concepts that are all broader than one another, or one that is broader than itself.

    SKS-04. One row per cycle: ``focus`` is the member whose IRI sorts first, ``value`` one that is directly broader.
    """
    edges = _broader(given)
    for members in components(edges):
        first = min(members)
        if len(members) > 1 or first in edges.get(first, ()):
            above = min(concept for concept in edges[first] if concept in members)
            names = ", ".join(local_name(concept) for concept in sorted(members)[:MAX_MEMBERS_NAMED])
            unnamed = len(members) - MAX_MEMBERS_NAMED
            more = f" and {unnamed} more" if unnamed > 0 else ""
            verb = "are broader than one another" if len(members) > 1 else "is broader than itself"
            yield _row(first, "broader", above, f"{names}{more} {verb}.")


def redundant(given: StepInput) -> Iterator[Row]:
    """Yield each broader concept that is stated although it follows from another one (SKS-12)."""
    # a concept that is broader than itself is a cycle, which SKS-04 reports
    edges = {below: [above for above in uppers if above != below] for below, uppers in _broader(given).items()}
    for below, above, between in shortcuts(edges):
        names = [local_name(concept) for concept in (below, above, between)]
        message = f"That {names[1]} is broader than {names[0]} follows from {names[2]}, which is stated as well."
        yield _row(below, "broader", above, message)


def related(given: StepInput) -> Iterator[Row]:
    """Yield each pair of related concepts of which one is above the other in the hierarchy.

    SKS-03. ``focus`` is the narrower one.
    """
    edges = _broader(given, transitive=True)
    height = heights(edges, components(edges))
    related_to: dict[str, set[str]] = {}
    for left, right in given.target.bench.select(queries.bind("audit/sks_related", target=AUDIT.target)).values():
        related_to.setdefault(left, set()).add(right)
        related_to.setdefault(right, set()).add(left)
    for below in sorted(related_to.keys() & edges.keys()):
        for above in sorted(_targets_above(below, related_to[below], edges, height)):
            message = f"{local_name(below)} is related to {local_name(above)}, which is broader as well."
            yield _row(below, "related", above, message)


def _broader(given: StepInput, *, transitive: bool = False) -> dict[str, list[str]]:
    """Return concept -> broader concepts; ``transitive`` includes those stated by skos:broaderTransitive."""
    edges: dict[str, list[str]] = {}
    rows = given.target.bench.select(queries.bind("audit/sks_edges", target=AUDIT.target)).values()
    for below, path, above in rows:
        if transitive or path == f"{_SKOS}broader":
            edges.setdefault(below, []).append(above)
    return edges


def _targets_above(
    start: str, targets: set[str], edges: Mapping[str, Sequence[str]], height: Mapping[str, int]
) -> set[str]:
    """Return those targets that a way up from ``start`` meets; no walk goes above the highest of them."""
    # height counts from the top, so the highest target is the one with the smallest height
    smallest = min((height[target] for target in targets if target in height), default=-1)
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = {above for above in edges.get(waiting.pop(), ()) if height[above] >= smallest} - seen
        seen |= new
        waiting += new
    return (seen & targets) - {start}


def _row(focus: str, path: str, value: str, message: str) -> Row:
    return {"focus": focus, "path": _SKOS + path, "value": value, "message": message}
