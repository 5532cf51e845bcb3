"""Aggregates: the propositions about one entity, joined in reading order (SiReRAG, section 4.2).

Query read: ``sire_rag/propositions``. Nothing is written.

Deviations:
    An aggregate longer than a limit is cut into parts, so that an entity of every passage does not make a leaf that no
    embedder reads to the end. Entities with the very same propositions share an aggregate. The authors' code loses
    facts whose entities all occur once; here such a proposition is an aggregate by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

from kgrag import queries
from kgrag.ports import TripleStore
from kgrag.text.chunking import count_tokens
from kgrag.vocab import Names

__all__ = ["Aggregate", "Proposition", "aggregates", "read_propositions"]


@dataclass(frozen=True, slots=True)
class Proposition:
    """A stored proposition with the entities that it mentions, at least one, as IRIs."""

    iri: str
    text: str
    chunk: str
    entities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A leaf of the relatedness tree: its text, and the IRIs of entities, propositions and chunks behind it."""

    iri: str
    text: str
    entities: tuple[str, ...]
    propositions: tuple[str, ...]
    chunks: tuple[str, ...] = field(default=())


def read_propositions(store: TripleStore) -> list[Proposition]:
    """Return the propositions that mention an entity, in reading order."""
    rows = store.select(queries.bind("sire_rag/propositions", catalogue=store.names.catalogue)).values()
    entities: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for chunk, proposition, text, entity in rows:
        entities[proposition, text, chunk].append(entity)
    return [Proposition(iri, text, chunk, tuple(mentioned)) for (iri, text, chunk), mentioned in entities.items()]


def aggregates(propositions: Sequence[Proposition], *, limit: int, names: Names) -> list[Aggregate]:
    """Join propositions by entity.

    Args:
        propositions: in reading order.
        limit: the longest aggregate in tokens, at least 1; a longer proposition is an aggregate by itself.
        names: the IRIs of the knowledge base.

    Returns:
        Aggregates sorted by IRI; every proposition is in at least one.
    """
    by_entity: dict[str, list[Proposition]] = defaultdict(list)
    for proposition in propositions:
        for entity in proposition.entities:
            by_entity[entity].append(proposition)
    shared = {entity: about for entity, about in by_entity.items() if len(about) > 1}
    entities_of: dict[tuple[Proposition, ...], list[str]] = defaultdict(list)
    tokens = cache(count_tokens)  # a proposition is in the aggregate of each of its entities
    for entity, about in shared.items():
        for part in _parts(about, limit, tokens):
            entities_of[part].append(entity)
    covered = {proposition.iri for about in shared.values() for proposition in about}
    for proposition in propositions:
        if proposition.iri not in covered:
            entities_of[proposition,] = list(proposition.entities)
    made = {}
    for part, entities in entities_of.items():
        iris = tuple(proposition.iri for proposition in part)
        text = " ".join(proposition.text for proposition in part)
        chunks = tuple(dict.fromkeys(proposition.chunk for proposition in part))
        node = names.tree_node("aggregate", text, *iris).value
        made[node] = Aggregate(node, text, tuple(sorted(entities)), iris, chunks)
    return [made[iri] for iri in sorted(made)]


def _parts(about: Sequence[Proposition], limit: int, count: Callable[[str], int]) -> Iterator[tuple[Proposition, ...]]:
    """Cut what is too long, between propositions; words that are repeated count once, at their last place."""
    first_with_text = {proposition.text: proposition for proposition in reversed(about)}
    part: list[Proposition] = []
    length = 0
    for proposition in reversed(first_with_text.values()):
        tokens = count(proposition.text)
        if part and length + tokens > limit:
            yield tuple(part)
            part, length = [], 0
        part.append(proposition)
        length += tokens
    yield tuple(part)
