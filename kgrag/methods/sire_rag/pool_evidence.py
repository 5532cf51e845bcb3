"""From nodes of the pool to hits: their texts, and the chunks below them that the question is about.

A summary may stand above hundreds of chunks. So one goes down from it level by level, and keeps of each node only the
few children that are nearest to the question (RAPTOR's tree traversal).

Queries read: ``sire_rag/evidence``, ``sire_rag/below``, ``sire_rag/origins``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.answering import fusion
from kgrag.methods.sire_rag.pool import Pool
from kgrag.model import Hit, Span
from kgrag.ports import TripleStore, Vectors
from kgrag.text import documents
from kgrag.vocab import KG, local_name

__all__ = ["Descent", "hits", "part_of"]

_CHUNK = "chunk"
_UNKNOWN = -2.0  # below every cosine: a node whose text was taken away, until the next build


def hits(ranking: fusion.Ranking, descent: Descent) -> list[Hit]:
    """Give the ranked nodes as hits, each with the chunks that carry it; a node that none carries is left out."""
    store = descent.pool.store
    nodes = [ox.NamedNode(iri) for iri, _ in ranking]
    query = queries.bind("sire_rag/evidence", catalogue=store.names.catalogue, nodes=nodes)
    known = {row[0]: row for row in store.select(query).values()}
    chunks = _carrying(known.values(), descent)
    spans = documents.spans(store, sorted({chunk for held in chunks.values() for chunk in held}))
    sources = {node: tuple(spans[chunk] for chunk in held if chunk in spans) for node, held in chunks.items()}
    return [_hit(known[iri], score, sources[iri]) for iri, score in ranking if sources.get(iri)]


def _carrying(rows: Iterable[Sequence[str]], descent: Descent) -> dict[str, list[str]]:
    by_type: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_type[row[1]].append(row[0])
    chunks = {node: [node] for node in by_type[KG.Chunk.value]}
    chunks |= _origins(descent.pool.store, by_type[KG.Proposition.value])
    return chunks | descent.chunks(by_type[KG.TreeNode.value])


def _origins(store: TripleStore, propositions: Sequence[str]) -> dict[str, list[str]]:
    if not propositions:
        return {}
    wanted = [ox.NamedNode(proposition) for proposition in propositions]
    query = queries.bind("sire_rag/origins", catalogue=store.names.catalogue, propositions=wanted)
    return {proposition: [chunk] for proposition, chunk in store.select(query).values()}


def _hit(row: Sequence[str], score: float, sources: tuple[Span, ...]) -> Hit:
    node, kind, level, text, title, tree = row
    if kind == KG.Proposition.value:
        return Hit(node, "proposition", text, score, sources, {})
    if kind == KG.Chunk.value:
        attributes: dict[str, Any] = {"tree": "similarity", "level": 0}
        return Hit(node, "passage", text, score, sources, attributes | ({"title": title} if title else {}))
    attributes = {"tree": local_name(tree), "level": int(level)}
    return Hit(node, "summary" if int(level) else "aggregate", text, score, sources, attributes)


@dataclass(frozen=True, slots=True)
class Descent:
    """Goes down from nodes towards a question's vector, shape (d,), and keeps ``width`` children of each at most."""

    pool: Pool
    vector: Vectors
    width: int

    def chunks(self, nodes: Sequence[str]) -> dict[str, list[str]]:
        """Give the chunks below each node, those nearest to the question first, at most ``width``."""
        found: dict[str, dict[str, float]] = {node: {} for node in nodes}
        frontier = {node: [node] for node in nodes}
        while frontier:
            below = self.below([node for held in frontier.values() for node in held])
            further = {}
            for top, held in frontier.items():
                children = {child for node in held for child in below.get(node, ())}
                nearest = sorted(children, key=lambda child: (-child[2], child[0]))[: self.width]
                found[top] |= {child: cosine for child, part, cosine in nearest if part == _CHUNK}
                if deeper := [child for child, part, _ in nearest if part != _CHUNK]:
                    further[top] = deeper
            frontier = further
        return {top: [chunk for chunk, _ in fusion.ranked(held, self.width)] for top, held in found.items()}

    def below(self, nodes: Iterable[str]) -> dict[str, list[tuple[str, str, float]]]:
        """Give the children of each node, in the order of their IRIs, as (IRI, part of the pool, cosine)."""
        wanted = [ox.NamedNode(node) for node in dict.fromkeys(nodes)]
        rows = self.pool.store.select(queries.bind("sire_rag/below", nodes=wanted)).values()
        parts = {child: part_of(local_name(tree), level) for tree, _, child, level in rows}
        cosines = self.cosines(parts)
        below: dict[str, list[tuple[str, str, float]]] = defaultdict(list)
        for _, node, child, _ in rows:
            below[node].append((child, parts[child], cosines[child]))
        return below

    def cosines(self, parts: Mapping[str, str]) -> dict[str, float]:
        """Give the cosine of each node to the vector; ``parts`` says in which space each node is."""
        by_part: dict[str, list[str]] = defaultdict(list)
        for node, part in parts.items():
            by_part[part].append(node)
        return {node: cosine for part, held in by_part.items() for node, cosine in self._near(part, held)}

    def _near(self, part: str, nodes: Sequence[str]) -> list[tuple[str, float]]:
        index = self.pool.index(part)
        try:
            return list(zip(nodes, (index.vectors(nodes) @ self.vector).tolist(), strict=True))
        except KeyError:
            if len(nodes) == 1:
                return [(nodes[0], _UNKNOWN)]
            middle = len(nodes) // 2
            return [*self._near(part, nodes[:middle]), *self._near(part, nodes[middle:])]


def part_of(tree: str, level: str) -> str:
    """Say in which space a node is: a chunk below an aggregate is in no tree, so that it has no level there."""
    if level and int(level):
        return f"{tree}-summary"
    return "aggregate" if level and tree == "relatedness" else _CHUNK
