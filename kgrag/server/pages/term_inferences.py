"""What follows for a thing: from graphs of inferences, and from what loaded ontologies say is above its terms.

RDF 1.1 Semantics, section 9.2.1: rdfs5 and rdfs11 (what is above is also above what is below), rdfs9 (types); and that
domains and ranges of a property hold of those below it. Queries read: ``pages/above``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import pyoxigraph as ox
from starlette.requests import Request

from kgrag.server.server_state import state_of
from kgrag.server.stored_rows import rows
from kgrag.vocab import RDF, RDFS

__all__ = ["Inference", "inferences"]

_MAX_STEPS, _MAX_TERMS, _MAX_STATEMENTS = 16, 300, 2000

_Uppers = Mapping[tuple[ox.NamedNode, ox.NamedNode], Sequence[ox.NamedNode]]
"""Term and property -> what is stated to be above it, or what it goes from or to."""


class Inference(NamedTuple):
    """A statement that follows about a thing, and the term of which it is stated that it follows from."""

    property: ox.NamedNode
    value: ox.NamedNode
    via: ox.NamedNode


async def inferences(
    request: Request, node: ox.NamedNode, statements: Sequence[tuple[Any, ...]]
) -> tuple[list[Inference], bool]:
    """Return what follows from the ontologies beside what is stated, and whether more was above than was read."""
    kinds = [row[1] for row in statements if row[0] == RDF.type and isinstance(row[1], ox.NamedNode)]
    uppers, is_cut = await _uppers(request, list(dict.fromkeys([node, *kinds])))
    stated = {(row[0], row[1]) for row in statements}
    following: dict[tuple[ox.NamedNode, ox.NamedNode], Inference] = {}
    for each in _following(node, kinds, uppers):
        if (each.property, each.value) not in stated and each.value != node:
            following.setdefault((each.property, each.value), each)
    return sorted(following.values(), key=lambda each: each.property.value), is_cut


def _following(node: ox.NamedNode, kinds: Sequence[ox.NamedNode], uppers: _Uppers) -> Iterator[Inference]:
    for kind in kinds:
        for below, upper in _above(kind, RDFS.subClassOf, uppers):
            yield Inference(RDF.type, upper, below)
    for property_ in (RDFS.subClassOf, RDFS.subPropertyOf):
        for below, upper in _above(node, property_, uppers):
            yield Inference(property_, upper, below)
    for _, upper in _above(node, RDFS.subPropertyOf, uppers):
        for role in (RDFS.domain, RDFS.range):
            for value in uppers.get((upper, role), ()):
                yield Inference(role, value, upper)


def _above(term: ox.NamedNode, property_: ox.NamedNode, uppers: _Uppers) -> Iterator[tuple[ox.NamedNode, ox.NamedNode]]:
    """Yield (the term below, the term above) for everything above a term, the nearest first, each once."""
    seen, waiting = {term}, [term]
    for below in waiting:
        for upper in uppers.get((below, property_), ()):
            if upper not in seen:
                seen.add(upper)
                waiting.append(upper)
                yield below, upper


async def _uppers(request: Request, terms: list[ox.NamedNode]) -> tuple[_Uppers, bool]:
    """Return what ontologies say is above terms, step by step, and whether there is more than was read."""
    catalogue = state_of(request).dataset.names.catalogue
    uppers: dict[tuple[ox.NamedNode, ox.NamedNode], list[ox.NamedNode]] = {}
    seen, waiting = set(terms), terms
    for _ in range(_MAX_STEPS):
        if not waiting:
            return uppers, False
        table = await rows(request, "pages/above", terms=waiting, catalogue=catalogue, limit=_MAX_STATEMENTS)
        higher: set[ox.NamedNode] = set()
        for term, property_, upper in cast("list[tuple[ox.NamedNode, ...]]", table.rows):
            uppers.setdefault((term, property_), []).append(upper)
            if property_ in (RDFS.subClassOf, RDFS.subPropertyOf):
                higher.add(upper)
        higher -= seen
        if len(table.rows) == _MAX_STATEMENTS or len(seen) + len(higher) > _MAX_TERMS:
            return uppers, True
        seen |= higher
        waiting = sorted(higher, key=str)
    return uppers, bool(waiting)
