"""A citation graph as arrays, so that questions are ranked and encoders trained many times over without the store.

What the method does in ``CgRag.view`` is done here on matrices that are read once: BM25 of all chunks, cosines of all
chunks, the subgraph that a question reaches. Ranks are of documents, each by its best chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from kgrag import KnowledgeBase, queries
from kgrag.evaluation.datasets import Question
from kgrag.index import bm25, vector_spaces
from kgrag.index.bm25 import LexicalIndex
from kgrag.methods.cg_rag import citation_arrays, lesegr
from kgrag.methods.cg_rag.citation_arrays import CitationArrays, QuestionView, ReachLimits
from kgrag.methods.cg_rag.citation_graph import chunks_of
from kgrag.methods.cg_rag.edges import ChunkEdge, EdgeKind, nearest_chunks
from kgrag.methods.cg_rag.training_examples import TrainingExample
from kgrag.text import documents

__all__ = ["Asked", "Ranked", "World", "rank_documents"]

Scores = npt.NDArray[np.float64]
_CITED = 2 * int(EdgeKind.CITATION)  # the relation of a chunk to those that cite it
_UNSEEN = -1e9


@dataclass(frozen=True)
class Asked:
    """A question: the number of its document, of the documents passed over, and the chunks that are known to answer."""

    question: Question
    right: int
    hidden: npt.NDArray[np.int64]
    exact: npt.NDArray[np.int64]
    group: str


@dataclass(frozen=True)
class Ranked:
    """Where a question's document stands among all, and among those that something cites; is a gold chunk found?

    ``found`` is among the best five chunks of the collection, ``inside`` among the best five of the right document.
    """

    rank: int
    rank_cited: int
    found: bool
    inside: bool


@dataclass
class World:
    """Chunks by place: their edges, vectors (n, d), BM25, documents and spans."""

    mirror: CitationArrays
    dense: npt.NDArray[np.float32]
    words: LexicalIndex
    numbers: Mapping[str, int]
    starts: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    embed: Callable[[Sequence[str]], npt.NDArray[np.float32]]
    reach: ReachLimits = field(default_factory=lambda: ReachLimits(width=256))
    candidates: int = 50
    sparse: bool = True
    semantic: bool = True
    _weights: Any = None
    _vectors: dict[str, npt.NDArray[np.float32]] = field(default_factory=dict)

    @classmethod
    def of(cls, kb: KnowledgeBase) -> World:
        """Read a knowledge base in which ``cg_rag`` is built."""
        store = kb.store
        mirror = citation_arrays.fresh(store, None, save=False)
        iris = mirror.iris.at(np.arange(len(mirror)))
        index = vector_spaces.fresh("chunk", store=store, spaces=kb.spaces, embedder=kb.embedder)
        rows = store.select(queries.bind("cg_rag/identifiers", catalogue=store.names.catalogue)).values()
        order = {document: number for number, document in enumerate(chunks_of(store))}
        spans = documents.spans(store, iris)
        return cls(
            mirror=mirror,
            dense=index.vectors(iris),
            words=bm25.fresh(store, None, save=False),
            numbers={identifier: order[document] for document, identifier in rows if document in order},
            starts=np.array([spans[iri].start for iri in iris]),
            ends=np.array([spans[iri].end for iri in iris]),
            embed=lambda texts: kb.embedder.embed(texts, "query"),
        )

    def asked(
        self, questions: Iterable[Question], gold_spans: Mapping[str, Sequence[tuple[int, int]]] = MappingProxyType({})
    ) -> list[Asked]:
        """Return the questions whose document is here; ``gold_spans`` are the spans that answer them in it, by id."""
        kept = [q for q in questions if any(name in self.numbers for name in q.relevant)]
        for question, vector in zip(kept, self.embed([q.text for q in kept]), strict=True):
            self._vectors[question.text] = vector
        return [self._asked(q, gold_spans.get(q.id, ())) for q in kept]

    def _asked(self, question: Question, gold_spans: Sequence[tuple[int, int]]) -> Asked:
        name = min(name for name in question.relevant if name in self.numbers)
        number = self.numbers[name]
        hidden = np.array(sorted(self.numbers[other] for other in question.excluded if other in self.numbers), np.int64)
        own = np.flatnonzero(self.mirror.documents == number)
        inside = [((self.starts[own] < end) & (self.ends[own] > start)) for start, end in gold_spans]
        exact = own[np.logical_or.reduce(inside)] if inside else np.zeros(0, np.int64)
        return Asked(question, number, hidden, exact, name)

    def signals(self, asked: Asked) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Return BM25 and cosine of every chunk; those of hidden documents count as none."""
        relevance = self.words.relevance(asked.question.text)
        cosines = self.dense @ self._vectors[asked.question.text]
        hidden = np.isin(self.mirror.documents, asked.hidden)
        relevance[hidden], cosines[hidden] = 0, -1
        return relevance, np.asarray(cosines, dtype=np.float32)

    def seen(self, asked: Asked, mirror: CitationArrays | None = None) -> QuestionView:
        """Return what a question reaches, as ``CgRag.view`` does."""
        relevance, cosines = self.signals(asked)
        gates = lesegr.gates(relevance) if self.sparse else np.ones_like(relevance)
        both = []
        if self.sparse:
            both.append(_leading(np.arange(len(relevance)), relevance, self.candidates))
        if self.semantic:
            both.append(_leading(np.arange(len(cosines)), cosines, self.candidates))
        subgraph = (mirror or self.mirror).around(
            np.unique(np.concatenate(both)), gates, self.reach, without=asked.hidden
        )
        if not self.semantic:
            one = np.ones((len(subgraph.nodes), 1), np.float32)
            return QuestionView(subgraph, gates[subgraph.nodes], one, np.ones(1, np.float32))
        vector = self._vectors[asked.question.text]
        return QuestionView(subgraph, gates[subgraph.nodes], self.dense[subgraph.nodes], vector)

    def example(self, asked: Asked, mirror: CitationArrays | None = None) -> TrainingExample:
        """Return a question to learn from."""
        seen = self.seen(asked, mirror)
        numbers = self.mirror.documents[seen.nodes]
        return TrainingExample(seen, numbers == asked.right, numbers, np.isin(seen.nodes, asked.exact))

    def citations(self) -> npt.NDArray[np.int64]:
        """Return (citing, cited) pairs of document numbers, each once, shape (p, 2)."""
        here = np.repeat(np.arange(len(self.mirror)), np.diff(self.mirror.offsets))
        edges = self.mirror.relations == _CITED
        cited = self.mirror.documents[here[edges]]
        citing = self.mirror.documents[self.mirror.neighbours[edges]]
        return np.unique(np.stack([citing, cited], axis=1).astype(np.int64), axis=0)

    def degrees(self, asked: Asked, pairs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Count who cites each document, without the hidden ones."""
        shown = pairs[~np.isin(pairs[:, 0], asked.hidden)]
        return np.bincount(shown[:, 1], minlength=int(self.mirror.documents.max()) + 1)

    def rewired(self, pairs: Iterable[tuple[int, int]], top: int = 4) -> CitationArrays:
        """Return the mirror with other citations between documents, drawn as the method draws them."""
        if self._weights is None:
            self._weights = self.words.weights()
        by_document: dict[int, list[int]] = defaultdict(list)
        for place in np.lexsort((self.starts, self.mirror.documents)):
            by_document[int(self.mirror.documents[place])].append(int(place))
        here = np.repeat(np.arange(len(self.mirror)), np.diff(self.mirror.offsets))
        inside = (self.mirror.relations < _CITED) & (self.mirror.relations % 2 == 0)
        origins, targets = self.mirror.neighbours[inside].tolist(), here[inside].tolist()
        kinds = (self.mirror.relations[inside] // 2).tolist()
        weights = self.mirror.weights[inside].tolist()
        for citing, cited in pairs:
            for edge in self._drawn(by_document[citing], by_document[cited], top):
                origins.append(int(edge.origin))
                targets.append(int(edge.target))
                kinds.append(int(EdgeKind.CITATION))
                weights.append(edge.weight)
        chunks = self.mirror.iris.at(np.arange(len(self.mirror)))
        columns = (np.array(origins), np.array(targets), np.array(kinds), np.array(weights))
        return CitationArrays.of(chunks, self.mirror.documents.tolist(), columns, revision=-1)

    def _drawn(self, citing: list[int], cited: list[int], top: int) -> list[ChunkEdge]:
        return nearest_chunks(
            [str(place) for place in citing],
            [str(place) for place in cited],
            dense=(self.dense[citing], self.dense[cited]),
            sparse=(self._weights[citing], self._weights[cited]),
            k=top,
        )

    def at(self, **changes: Any) -> World:
        """Return the same world with other settings."""
        return replace(self, **changes)

    def ranked(self, asked: Asked, places: npt.NDArray[np.int64], scores: Scores, degrees: Any) -> Ranked:
        """Judge a ranking of chunks."""
        best = rank_documents(self.mirror.documents[places], scores, len(degrees))
        best[asked.hidden] = _UNSEEN
        return self.judged(asked, best, degrees, (places, scores))

    def judged(self, asked: Asked, best: Scores, degrees: Any, chunks: tuple[npt.NDArray[np.int64], Scores]) -> Ranked:
        """Judge scores of documents, and of chunks by place."""
        places, scores = chunks
        right = best[asked.right]
        missing = len(best) if right <= _UNSEEN else 0
        better = best > right
        own = self.mirror.documents[places] == asked.right
        return Ranked(
            missing or 1 + int(better.sum()),
            missing or 1 + int((better & (degrees > 0)).sum()),
            bool(np.isin(_leading(places, scores), asked.exact).any()),
            bool(np.isin(_leading(places[own], scores[own]), asked.exact).any()),
        )


def _leading(places: npt.NDArray[np.int64], scores: npt.NDArray[Any], count: int = 5) -> npt.NDArray[np.int64]:
    if len(places) > count:
        kept = np.flatnonzero(scores >= np.partition(scores, -count)[-count])
        places, scores = places[kept], scores[kept]
    return places[np.lexsort((places, -scores))[:count]]


def rank_documents(documents: npt.NDArray[Any], scores: Scores, count: int) -> Scores:
    """Return the score of every document, that of its best chunk."""
    best = np.full(count, _UNSEEN)
    np.maximum.at(best, documents, scores)
    return best
