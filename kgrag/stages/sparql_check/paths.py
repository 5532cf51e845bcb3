"""The shortest way through the ontology from one class to another, as a property path."""

from __future__ import annotations

from collections.abc import Iterator

from kgrag.stages.sparql_check.compatibility import within
from kgrag.stages.sparql_check.expressions import ANYTHING, Expression
from kgrag.stages.sparql_check.ontology import OntologyIndex

__all__ = ["MAX_STEPS", "Step", "shortest_paths"]

MAX_STEPS = 4
_MAX_PATHS = 4
_MAX_MOVES = 5_000

Step = tuple[str, bool]
"""A property, and whether it is walked backwards."""


def shortest_paths(
    index: OntologyIndex, start: str, target: Expression, *, limit: int = MAX_STEPS
) -> list[tuple[Step, ...]]:
    """Give the shortest property paths from a class to one that lies within ``target``.

    Args:
        index: the ontology.
        start: the class to set out from.
        target: where to arrive.
        limit: the most steps; inverses count like any other.

    Returns:
        All paths of the least length with the fewest inverses, at most four, in the order of their properties; [] when
        there is none, when it takes too many moves to find one (a large ontology), or when ``start`` already lies
        within ``target``. No path walks a property there and at once back.
    """
    if target == ANYTHING or within(index, start, target):
        return []
    seen, moves = {start}, 0
    level: list[tuple[str, tuple[Step, ...]]] = [(start, ())]
    for _ in range(limit):
        found: list[tuple[Step, ...]] = []
        following: list[tuple[str, tuple[Step, ...]]] = []
        for name, path in level:
            moves += len(_moves(index, name))
            for step, reached in _moves(index, name) if moves < _MAX_MOVES else ():
                if path and path[-1] == (step[0], not step[1]):
                    continue
                longer = (*path, step)
                if within(index, reached, target):
                    found.append(longer)
                elif reached not in seen:
                    following.append((reached, longer))
        if found:
            fewest = min(map(_inverses, found))
            return sorted({path for path in found if _inverses(path) == fewest})[:_MAX_PATHS]
        seen |= {name for name, _ in following}
        level = following
    return []


def _inverses(path: tuple[Step, ...]) -> int:
    return sum(backwards for _, backwards in path)


def _moves(index: OntologyIndex, name: str) -> list[tuple[Step, str]]:
    """Give the steps that lead away from a class, and the classes that they lead to."""
    known: list[tuple[Step, str]] | None = index.memory.get(("moves", name))
    if known is None:
        edges = _edges(index)
        known = sorted(move for above in index.ancestors(name) for move in edges.get(above, ()))
        index.memory["moves", name] = known
    return known


def _edges(index: OntologyIndex) -> dict[str, set[tuple[Step, str]]]:
    known: dict[str, set[tuple[Step, str]]] | None = index.memory.get("edges")
    if known is None:
        known = index.memory["edges"] = {}
        for start, step, end in _all_edges(index):
            known.setdefault(start, set()).add((step, end))
    return known


def _all_edges(index: OntologyIndex) -> Iterator[tuple[str, Step, str]]:
    for name in index.kinds:
        for start in _single(index, index.domain(name)):
            for end in _single(index, index.range(name)):
                yield start, (name, False), end
                yield end, (name, True), start


def _single(index: OntologyIndex, expression: Expression) -> list[str]:
    return [each[0] for each in expression if len(each) == 1 and not index.is_datatype(each[0])]
