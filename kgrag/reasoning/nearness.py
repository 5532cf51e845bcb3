"""Triples in the order of their distance from some terms, so that what a conclusion rests on comes early.

A triple is one step from its subject, two from its object, and four from its predicate or, for an instance, from its
class: what a thing is said to be is likelier to matter than what else is of its class. Axioms are near both ends.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence

import pyoxigraph as ox

from kgrag.model import Term
from kgrag.vocab import OWL, RDF, RDFS, XSD

__all__ = ["by_nearness"]

_BUILT_IN = (OWL.prefix, RDF.prefix, RDFS.prefix, XSD.prefix)
_FAR = 4


def by_nearness(triples: Sequence[ox.Triple], terms: Iterable[Term]) -> list[ox.Triple]:
    """Return triples by their distance from the nearest of some terms; those that nothing leads to come last.

    Ties keep their order. Terms of RDF, RDFS, OWL and XSD lead nowhere, since everything uses them.
    """
    uses: dict[Term, list[tuple[int, int]]] = defaultdict(list)
    for number, triple in enumerate(triples):
        for term, cost in _costs(triple):
            if not (isinstance(term, ox.NamedNode) and term.value.startswith(_BUILT_IN)):
                uses[term].append((number, cost))
    distances: dict[int, int] = {}
    near: dict[Term, int] = dict.fromkeys(terms, 0)
    waiting = [(0, str(term), term) for term in near]
    heapq.heapify(waiting)
    while waiting:
        so_far, _, term = heapq.heappop(waiting)
        if so_far > near[term]:
            continue
        for number, cost in uses.get(term, ()):
            distance = so_far + cost
            if distance >= distances.get(number, distance + 1):
                continue
            distances[number] = distance
            for other, _ in _costs(triples[number]):
                if distance < near.get(other, distance + 1):
                    near[other] = distance
                    heapq.heappush(waiting, (distance, str(other), other))
    last = max(distances.values(), default=0) + 1
    return [triples[number] for number in sorted(range(len(triples)), key=lambda each: distances.get(each, last))]


def _costs(triple: ox.Triple) -> list[tuple[Term, int]]:
    """Return the terms of a triple, each with its distance from it."""
    is_axiom = triple.predicate.value.startswith((OWL.prefix, RDFS.prefix))
    from_object = 1 if is_axiom or isinstance(triple.object, ox.BlankNode) else 2
    if triple.predicate == RDF.type and isinstance(triple.object, ox.NamedNode):
        from_object = _FAR
    return [(triple.subject, 1), (triple.object, from_object), (triple.predicate, _FAR)]
