"""From nodes of the pool to hits: their texts, and the chunks below them that the question is about.

A summary may have hundreds of chunks below it. So the descent goes down level by level, and follows of each node only
the few children that are nearest to the question (RAPTOR's tree traversal).

Queries read: ``sire_rag/evidence``, ``sire_rag/origins``. Nothing is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyoxigraph as ox

from kgrag import queries
from kgrag.answering import fusion
from kgrag.methods.sire_rag.pool import NodePool
from kgrag.model import Hit, Span
from kgrag.ports import Vectors
from kgrag.text import stored_passages
from kgrag.vocab import KG, local_name

__all__ = ["ScoredNode", "TreeDescent", "hits"]

_CHUNK_PART = "chunk"
_UNKNOWN_COSINE = -2.0  # below every cosine: a node whose text was taken away, until the next build


def hits(ranking: fusion.Ranking, descent: TreeDescent) -> list[Hit]:
    """Return the ranked nodes as hits, each with the chunks behind it; a node without any is left out."""
    store = descent.pool.store
    nodes = [ox.NamedNode(iri) for iri, _ in ranking]
    query = queries.bind("sire_rag/evidence", catalogue=store.names.catalogue, nodes=nodes)
    rows = {row[0]: row for row in store.select(query).values()}
    by_type: dict[str, list[str]] = defaultdict(list)
    for iri, node_type, *_ in rows.values():
        by_type[node_type].append(iri)
    chunks = {chunk: [chunk] for chunk in by_type[KG.Chunk.value]} | descent.chunks(by_type[KG.TreeNode.value])
    if stated := [ox.NamedNode(iri) for iri in by_type[KG.Proposition.value]]:
        query = queries.bind("sire_rag/origins", catalogue=store.names.catalogue, propositions=stated)
        chunks |= {proposition: [chunk] for proposition, chunk in store.select(query).values()}
    spans = stored_passages.spans(store, sorted({chunk for behind in chunks.values() for chunk in behind}))
    sources = {iri: tuple(spans[chunk] for chunk in behind if chunk in spans) for iri, behind in chunks.items()}
    return [_hit(rows[iri], score, sources[iri]) for iri, score in ranking if sources.get(iri)]


def _hit(row: Sequence[str], score: float, sources: tuple[Span, ...]) -> Hit:
    iri, node_type, level, text, title, tree = row
    if node_type == KG.Proposition.value:
        return Hit(iri, "proposition", text, score, sources, {})
    if node_type == KG.Chunk.value:
        titled = {"title": title} if title else {}
        return Hit(iri, "passage", text, score, sources, {"tree": "similarity", "level": 0, **titled})
    kind = "summary" if int(level) else "aggregate"
    return Hit(iri, kind, text, score, sources, {"tree": local_name(tree), "level": int(level)})


class ScoredNode(NamedTuple):
    """A node of a tree: its IRI, the part of the pool that it is in, and its cosine to the question."""

    iri: str
    part: str
    cosine: float


@dataclass(frozen=True, slots=True)
class TreeDescent:
    """Goes down from nodes towards a question's vector, shape (d,), and follows at most ``width`` children of each."""

    pool: NodePool
    vector: Vectors
    width: int

    def chunks(self, nodes: Sequence[str]) -> dict[str, list[str]]:
        """Return the chunks below each node, those nearest to the question first, at most ``width``."""
        cosines: dict[str, dict[str, float]] = {node: {} for node in nodes}
        frontier = {node: [node] for node in nodes}
        while frontier:
            below = self.below([node for reached in frontier.values() for node in reached])
            next_frontier = {}
            for top, reached in frontier.items():
                children = {child for node in reached for child in below.get(node, ())}
                nearest = sorted(children, key=lambda child: (-child.cosine, child.iri))[: self.width]
                cosines[top] |= {child.iri: child.cosine for child in nearest if child.part == _CHUNK_PART}
                if deeper := [child.iri for child in nearest if child.part != _CHUNK_PART]:
                    next_frontier[top] = deeper
            frontier = next_frontier
        return {top: [chunk for chunk, _ in fusion.ranked(found, self.width)] for top, found in cosines.items()}

    def below(self, nodes: Iterable[str]) -> dict[str, list[ScoredNode]]:
        """Return the children of each node, in the order of their IRIs."""
        parents = list(dict.fromkeys(nodes))
        below = dict(zip(parents, self.pool.arrays.children(parents), strict=True))
        cosines = self.cosines({child: part for children in below.values() for child, part in children})
        return {
            node: [ScoredNode(child, part, cosines[child]) for child, part in children]
            for node, children in below.items()
        }

    def cosines(self, parts: Mapping[str, str]) -> dict[str, float]:
        """Return the cosine of each node to the vector; ``parts`` maps a node to the part of the pool that it is in."""
        by_part: dict[str, list[str]] = defaultdict(list)
        for node, part in parts.items():
            by_part[part].append(node)
        return {node: cosine for part, nodes in by_part.items() for node, cosine in self._cosines_in(part, nodes)}

    def _cosines_in(self, part: str, nodes: Sequence[str]) -> list[tuple[str, float]]:
        index = self.pool.index(part)
        try:
            return list(zip(nodes, (index.vectors(nodes) @ self.vector).tolist(), strict=True))
        except KeyError:  # some node has no vector: halves are tried until it is alone
            if len(nodes) == 1:
                return [(nodes[0], _UNKNOWN_COSINE)]
            middle = len(nodes) // 2
            return [*self._cosines_in(part, nodes[:middle]), *self._cosines_in(part, nodes[middle:])]
