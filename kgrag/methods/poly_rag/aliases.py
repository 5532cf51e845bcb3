"""Names of one thing: everything that owl:sameAs leads to, in either direction, so that facts of each name are found.

A link counts wherever facts are stated, as that of an accepted proposal (PolyRAG, section 3.2); when it is taken back,
it is not followed any more: what looks up facts asks for the links each time, and what was copied under other names
(``shared``, in an inference graph) is made anew. Queries read: ``facts/same_as``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

import pyoxigraph as ox

from kgrag import queries
from kgrag.ports import TripleStore
from kgrag.vocab import OWL, RDF, RDFS

__all__ = ["MOST", "aliases", "shared", "with_aliases"]

MOST = 100
"""How many further names are followed, at most: what has more is rather wrong than well known."""


def aliases(things: Iterable[str], store: TripleStore, *, most: int = MOST) -> list[str]:
    """Give what is the same as one of the things, without these; the nearest first, at most ``most``.

    Args:
        things: IRIs.
        store: holds the links.
        most: how many further things, at least 0. Each step asks for the new ones only, so a cycle ends.
    """
    known = dict.fromkeys(things)
    asked, found = list(known), list[str]()
    while asked and len(found) < most:
        nodes = [ox.NamedNode(iri) for iri in asked]
        rows = store.select(queries.bind("facts/same_as", catalogue=store.names.catalogue, things=nodes)).values()
        asked = [other for other in dict.fromkeys(other for _, other in rows) if other not in known]
        known.update(dict.fromkeys(asked))
        found += asked
    return found[:most]


def with_aliases(things: Iterable[str], store: TripleStore) -> tuple[str, ...]:
    """Give the things, and behind them what is the same as one of them."""
    given = list(dict.fromkeys(things))
    return (*given, *aliases(given, store))


def shared(triples: Sequence[ox.Triple]) -> list[ox.Triple]:
    """Give what triples say of other names of what they are about: with each name in the place of each other.

    Names and types stay with the name that has them, so that nothing is found under a name that it does not bear.

    Args:
        triples: facts, with the owl:sameAs links among them. A thing of more than ``MOST`` names is left alone.
    """
    names = _classes(triples)
    found: dict[ox.Triple, None] = {}
    for triple in triples:
        if triple.predicate in (OWL.sameAs, RDFS.label, RDF.type):
            continue
        ends = (names.get(triple.subject, (triple.subject,)), names.get(triple.object, (triple.object,)))
        found.update((ox.Triple(one, triple.predicate, other), None) for one, other in product(*ends))
    stated = set(triples)
    return [triple for triple in found if triple not in stated]


def _classes(triples: Sequence[ox.Triple]) -> dict[object, tuple[ox.NamedNode, ...]]:
    """Give each thing that has several names -> all of them, by joining sets (union-find)."""
    above: dict[ox.NamedNode, ox.NamedNode] = {}

    def top(thing: ox.NamedNode) -> ox.NamedNode:
        while above.setdefault(thing, thing) != thing:
            above[thing] = above[above[thing]]
            thing = above[thing]
        return thing

    for one, other in _links(triples):
        above[top(other)] = top(one)
    groups: dict[ox.NamedNode, list[ox.NamedNode]] = defaultdict(list)
    for thing in above:
        groups[top(thing)].append(thing)
    return {thing: tuple(group) for group in groups.values() if len(group) <= MOST for thing in group}


def _links(triples: Sequence[ox.Triple]) -> Iterator[tuple[ox.NamedNode, ox.NamedNode]]:
    for triple in triples:
        one, other = triple.subject, triple.object
        if triple.predicate == OWL.sameAs and isinstance(one, ox.NamedNode) and isinstance(other, ox.NamedNode):
            yield one, other
