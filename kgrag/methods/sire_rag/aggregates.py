"""Aggregates: the propositions about one entity, joined in reading order (SiReRAG, section 4.2).

Deviations:
    An aggregate longer than a limit is cut into parts, so that an entity of every passage does not make a leaf that no
    embedder reads to the end. Entities with the very same propositions share an aggregate. The authors' code loses
    facts whose entities all occur once; here such a proposition is an aggregate by itself.

Queries read: ``sire_rag/propositions``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

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
    """Give the propositions that mention an entity, in reading order."""
    rows = store.select(queries.bind("sire_rag/propositions", catalogue=store.names.catalogue)).values()
    entities: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for chunk, proposition, text, entity in rows:
        entities[proposition, text, chunk].append(entity)
    return [Proposition(iri, text, chunk, tuple(named)) for (iri, text, chunk), named in entities.items()]


def aggregates(propositions: Sequence[Proposition], *, limit: int, names: Names) -> list[Aggregate]:
    """Join propositions by entity.

    Args:
        propositions: in reading order.
        limit: the longest aggregate in tokens, at least 1; a longer proposition stands alone.
        names: the IRIs of the knowledge base.

    Returns:
        Aggregates sorted by IRI; every proposition is in at least one.
    """
    grouped: dict[str, list[Proposition]] = defaultdict(list)
    for proposition in propositions:
        for entity in proposition.entities:
            grouped[entity].append(proposition)
    shared = {entity: held for entity, held in grouped.items() if len(held) > 1}
    covered = {one.iri for held in shared.values() for one in held}
    about: dict[tuple[Proposition, ...], list[str]] = defaultdict(list)
    for entity, held in shared.items():
        for part in _parts(held, limit):
            about[part].append(entity)
    for one in propositions:
        if one.iri not in covered:
            about[one,] = list(one.entities)
    made = {node.iri: node for node in _nodes(about, names)}
    return [made[iri] for iri in sorted(made)]


def _parts(held: Iterable[Proposition], limit: int) -> Iterator[tuple[Proposition, ...]]:
    """Cut what is too long, between propositions; words that several passages repeat are taken once."""
    part: list[Proposition] = []
    length = 0
    for one in {proposition.text: proposition for proposition in reversed(list(held))}.values().__reversed__():
        tokens = count_tokens(one.text)
        if part and length + tokens > limit:
            yield tuple(part)
            part, length = [], 0
        part.append(one)
        length += tokens
    yield tuple(part)


def _nodes(about: Mapping[tuple[Proposition, ...], Sequence[str]], names: Names) -> Iterator[Aggregate]:
    for part, entities in about.items():
        inside = tuple(one.iri for one in part)
        text = " ".join(one.text for one in part)
        chunks = tuple(dict.fromkeys(one.chunk for one in part))
        iri = names.tree_node("aggregate", text, *inside).value
        yield Aggregate(iri, text, tuple(sorted(entities)), inside, chunks)
