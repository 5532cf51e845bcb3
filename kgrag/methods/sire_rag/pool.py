"""The flat pool (SiReRAG, section 4.3): which kinds of entries are searched, and by which signal.

Each kind of entry is a vector space and a BM25 index of its own, and a search of the pool joins the results of its
parts by cosine or by BM25 score. So one tree alone, both, and the ablations of Table 5 are choices of parts, and chunks
are indexed once for every method.

Queries read: those of ``kgrag.methods.sire_rag.tree_arrays`` and ``kgrag.index.vector_spaces``. Nothing is written but
index files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from kgrag.answering import fusion
from kgrag.index import bm25, vector_spaces
from kgrag.methods.sire_rag import tree_arrays
from kgrag.methods.sire_rag.tree_arrays import TreeArrays
from kgrag.ports import Embedder, TripleStore, VectorIndex, Vectors, VectorSpaces

__all__ = ["ABLATIONS", "SIGNALS", "TREES", "Ablation", "NodePool", "Signal", "Tree", "parts_of"]

Tree = Literal["both", "relatedness", "similarity"]
Signal = Literal["bm25", "dense", "fusion"]
Ablation = Literal["none", "A", "B", "C", "D", "E"]

TREES: tuple[Tree, ...] = ("both", "relatedness", "similarity")
SIGNALS: tuple[Signal, ...] = ("bm25", "dense", "fusion")
ABLATIONS: tuple[Ablation, ...] = ("none", "A", "B", "C", "D", "E")

_SIMILARITY = ("chunk", "similarity-summary")
_RELATEDNESS = ("aggregate", "relatedness-summary")
_BY_TREE = {"both": (*_SIMILARITY, *_RELATEDNESS), "relatedness": _RELATEDNESS, "similarity": _SIMILARITY}
_BY_ABLATION = {
    "A": (*_SIMILARITY, "aggregate"),
    "B": (*_SIMILARITY, *_RELATEDNESS, "proposition"),
    "C": (*_SIMILARITY, "relatedness-summary", "proposition"),
    "D": (*_SIMILARITY, "proposition"),
    "E": ("chunk", "dual-summary"),
}


def parts_of(tree: Tree, ablation: Ablation) -> tuple[str, ...]:
    """Return the spaces that are searched: those of a tree, or of an ablation of both (Table 5).

    >>> parts_of("both", "D")
    ('chunk', 'similarity-summary', 'proposition')
    """
    return _BY_TREE[tree] if ablation == "none" else _BY_ABLATION[ablation]


@dataclass(frozen=True, slots=True)
class NodePool:
    """Some parts of the pool; ``folder`` contains the BM25 indices, None keeps them in memory.

    ``within`` are the only entries that are found; None for all.
    """

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    parts: tuple[str, ...]
    folder: Path | None = None
    read_only: bool = False
    within: frozenset[str] | None = None

    @property
    def arrays(self) -> TreeArrays:
        """The trees at the store's present revision."""
        return tree_arrays.fresh(self.store, self.folder, save=not self.read_only)

    def indices(self, progress: vector_spaces.Progress = None) -> list[VectorIndex]:
        """Return the vector spaces of the parts at the store's present revision."""
        return [self.index(part, progress) for part in self.parts]

    def index(self, part: str, progress: vector_spaces.Progress = None) -> VectorIndex:
        """Return the vector space of a part at the store's present revision."""
        return vector_spaces.fresh(
            part, store=self.store, spaces=self.spaces, embedder=self.embedder, progress=progress
        )

    def dense(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        """Return the k entries nearest to a vector, shape (d,), best first, ties by IRI."""
        return _best((pair for index in self.indices() for pair in index.search(vector, k, self.within)), k)

    def matching(self, question: str, k: int) -> list[tuple[str, float]]:
        """Return the k entries that match the words of a question best (BM25), ties by IRI."""
        words = [bm25.fresh(self.store, self.folder, space=part, save=not self.read_only) for part in self.parts]
        return _best((pair for index in words for pair in index.search(question, k, self.within)), k)

    def fused(self, question: str, vector: Vectors, k: int, *, weight: float) -> list[tuple[str, float]]:
        """Return the first k of both rankings, joined by scaled score; ``weight`` is the share of the dense one."""
        return fusion.score_fusion([self.dense(vector, k), self.matching(question, k)], weights=[weight, 1 - weight])

    def per_document(self, ranking: fusion.Ranking, *, cited: int) -> list[tuple[str, float]]:
        """Return a ranking in which an entry is worth its score over the square root of the number of its documents.

        Args:
            ranking: best first.
            cited: the largest number of documents that a summary counts for: so many of its chunks are cited.
        """
        documents = self.arrays.documents_of([iri for iri, _ in ranking], cited=cited)
        scores = zip(ranking, np.sqrt(documents).tolist(), strict=True)
        return fusion.ranked({iri: score / root for (iri, score), root in scores}, len(ranking))

    def without_repeats(self, ranking: fusion.Ranking, k: int, *, novelty: float) -> fusion.Ranking:
        """Return the first k entries that state something new.

        Args:
            ranking: best first.
            k: how many are wanted.
            novelty: the least share of an entry's propositions that no better entry states, 0 to 1. A summary, and a
                chunk without propositions, counts as new.
        """
        if not novelty:
            return ranking[:k]
        kept: list[tuple[str, float]] = []
        known: set[int] = set()
        for (iri, score), stated in zip(ranking, self.arrays.stated_by([iri for iri, _ in ranking]), strict=True):
            new = stated - known
            if len(new) < novelty * len(stated):
                continue
            known |= new
            kept.append((iri, score))
            if len(kept) == k:
                break
        return kept


def _best(pairs: Iterable[tuple[str, float]], k: int) -> list[tuple[str, float]]:
    return fusion.ranked(dict(pairs), k)  # as a mapping, since a summary may be in two trees
