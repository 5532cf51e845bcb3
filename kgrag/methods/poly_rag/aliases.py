"""Aliases of an entity: all that owl:sameAs leads to, in either direction, so that facts under each name are found.

A link counts in whichever graph of facts it is, also when it comes from an accepted proposal (PolyRAG, section 3.2).
Links that are retracted are no longer followed: a look-up reads them each time, and facts copied to other names
(``shared``, in an inference graph) are made anew. Queries read: ``facts/same_as``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product

import pyoxigraph as ox

from kgrag import queries
from kgrag.ports import TripleStore
from kgrag.vocab import OWL, RDF, RDFS

__all__ = ["MAX_ALIASES", "aliases", "shared", "with_aliases"]

MAX_ALIASES = 100
"""The most aliases that are followed: an entity with more is more likely wrongly linked than well known."""


def aliases(entities: Iterable[str], store: TripleStore, *, limit: int = MAX_ALIASES) -> list[str]:
    """Return the IRIs that are the same as one of the entities, without these; the nearest first, at most ``limit``.

    Args:
        entities: IRIs.
        store: contains the links.
        limit: how many aliases, at least 0.
    """
    known = dict.fromkeys(entities)
    frontier, reached = list(known), list[str]()
    # Each query asks for the links of new entities only, so a cycle ends.
    while frontier and len(reached) < limit:
        nodes = [ox.NamedNode(iri) for iri in frontier]
        rows = store.select(queries.bind("facts/same_as", catalogue=store.names.catalogue, things=nodes)).values()
        frontier = [alias for alias in dict.fromkeys(alias for _, alias in rows) if alias not in known]
        known.update(dict.fromkeys(frontier))
        reached += frontier
    return reached[:limit]


def with_aliases(entities: Iterable[str], store: TripleStore) -> tuple[str, ...]:
    """Return the entities, followed by their aliases."""
    distinct = list(dict.fromkeys(entities))
    return (*distinct, *aliases(distinct, store))


def shared(triples: Sequence[ox.Triple]) -> list[ox.Triple]:
    """Return the triples that follow by replacing an entity with each of its aliases, without those stated already.

    Labels and types are not copied, so that no entity is found under a name that it does not have.

    Args:
        triples: facts, with the owl:sameAs links among them. Entities of more than ``MAX_ALIASES`` names are skipped.
    """
    names = _alias_groups(triples)
    copies: dict[ox.Triple, None] = {}
    for triple in triples:
        if triple.predicate in (OWL.sameAs, RDFS.label, RDF.type):
            continue
        ends = (names.get(triple.subject, (triple.subject,)), names.get(triple.object, (triple.object,)))
        copies.update((ox.Triple(subject, triple.predicate, value), None) for subject, value in product(*ends))
    stated = set(triples)
    return [triple for triple in copies if triple not in stated]


def _alias_groups(triples: Sequence[ox.Triple]) -> dict[object, tuple[ox.NamedNode, ...]]:
    """Return each entity with aliases -> itself and all of them, by joining sets (union-find)."""
    parents: dict[ox.NamedNode, ox.NamedNode] = {}

    def root(entity: ox.NamedNode) -> ox.NamedNode:
        while parents.setdefault(entity, entity) != entity:
            parents[entity] = parents[parents[entity]]
            entity = parents[entity]
        return entity

    for triple in triples:
        first, second = triple.subject, triple.object
        if triple.predicate == OWL.sameAs and isinstance(first, ox.NamedNode) and isinstance(second, ox.NamedNode):
            parents[root(second)] = root(first)
    groups: dict[ox.NamedNode, list[ox.NamedNode]] = defaultdict(list)
    for entity in parents:
        groups[root(entity)].append(entity)
    return {entity: tuple(group) for group in groups.values() if len(group) <= MAX_ALIASES for entity in group}
