"""Plain retrieval over the chunks of documents: what every paper compares itself with.

Two signals over the same texts (a chunk under the title of its document): cosine of embeddings, and BM25. The default
joins the two by scaled score, which ranked better (nDCG@10) than either alone and than fusion by rank on all of seven
development sets. Graphs written: none. Queries read: those of ``kgrag.answering.passage_hits`` and
``kgrag.index.vector_spaces``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from kgrag.answering import fusion
from kgrag.answering.passage_hits import passage_hits
from kgrag.declarations import NoOptions
from kgrag.errors import InvalidSettings, NotBuilt
from kgrag.index import vector_spaces
from kgrag.index.bm25 import LexicalIndex, fresh
from kgrag.model import NO_COMPLETIONS, Allowed, BuildReport, Hit
from kgrag.ports import Embedder, LanguageModel, Progress, TripleStore, VectorIndex, VectorSpaces

__all__ = ["Passages"]

_SPACE = "chunk"
_SIGNALS = ("fusion", "rrf", "dense", "bm25")


@dataclass(frozen=True, slots=True)
class Passages:
    """Ranks chunks by embedding, by BM25, or by both.

    Args:
        store: contains the documents.
        spaces: store the vectors of chunks.
        embedder: embeds chunks and questions.
        model: writes answers; not used to retrieve.
        lexical: folder of the BM25 index; None keeps it in memory.
        signal: "fusion" joins the two rankings by scaled score, "rrf" by rank; "dense" and "bm25" use one.
        weight: share of the dense ranking where two are joined, 0 to 1.
        depth: how many candidates of each ranking are joined, at least 1.
        read_only: leaves the BM25 index on disk as it is.

    Raises:
        InvalidSettings: a value is outside its range.
    """

    name: ClassVar[str] = "passages"

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    lexical: Path | None = None
    signal: Literal["fusion", "rrf", "dense", "bm25"] = "fusion"
    weight: float = 0.5
    depth: int = 100
    read_only: bool = False

    def __post_init__(self) -> None:
        if self.signal not in _SIGNALS:
            raise InvalidSettings(f"passages: signal {self.signal!r} is unknown. Use one of {', '.join(_SIGNALS)}.")
        if not 0 <= self.weight <= 1 or self.depth < 1:
            message = (
                f"passages: weight={self.weight}, depth={self.depth}. Use a weight from 0 to 1 and a depth from 1."
            )
            raise InvalidSettings(message)

    def build(
        self,
        options: NoOptions = NoOptions(),  # noqa: ARG002 - there is nothing to choose
        *,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> BuildReport:
        """Bring the vectors of chunks and the BM25 index up to the store.

        Args:
            options: none.
            progress: called after each batch.
            dry_run: count the chunks that would be embedded, and write nothing.

        Raises:
            NotBuilt: the store holds no chunk.
            EmbeddingMismatch: the vectors on disk were made by another embedder.
            StorageFailed: the disk refused.
        """
        if dry_run:
            chunks = vector_spaces.keys(_SPACE, store=self.store)
            if not chunks:
                raise _empty()
            embedded = vector_spaces.missing(_SPACE, store=self.store, spaces=self.spaces)
            return BuildReport(self.name, {"chunks": len(chunks), "embedded": embedded, **NO_COMPLETIONS})
        index, words = self._dense(progress), self._words(progress)
        if not len(words):
            raise _empty()
        return BuildReport(method=self.name, counts={"chunks": len(words), "vectors": len(index)})

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return the k best chunks, best first; ties by IRI.

        Raises:
            NotBuilt: the store holds no chunk.
            InvalidSettings: k is below 1.
            EmbeddingMismatch: the vectors on disk were made by another embedder.
        """
        return self._hits(question, k, None)

    def retrieve_among(self, question: str, k: int, allowed: Allowed) -> list[Hit]:
        """Return the k best chunks of the allowed documents; both signals look at no others. Raises as above."""
        return self._hits(question, k, allowed.chunks)

    def _hits(self, question: str, k: int, within: frozenset[str] | None) -> list[Hit]:
        if k < 1:
            raise InvalidSettings(f"passages: k is {k}. Ask for at least 1 passage.")
        return passage_hits(self.store, self._ranking(question, k, within)[:k])

    def _ranking(self, question: str, k: int, within: frozenset[str] | None) -> fusion.Ranking:
        if self.signal == "dense":
            return self._nearest(question, k, within)
        if self.signal == "bm25":
            return self._matching(question, k, within)
        depth = max(k, self.depth)
        rankings = [self._nearest(question, depth, within), self._matching(question, depth, within)]
        join = fusion.reciprocal_rank if self.signal == "rrf" else fusion.score_fusion
        return join(rankings, weights=[self.weight, 1 - self.weight])

    def _nearest(self, question: str, k: int, within: frozenset[str] | None) -> fusion.Ranking:
        index = self._dense(None)
        if not len(index):
            raise _empty()
        return index.search(self.embedder.embed([question], "query")[0], k, within)

    def _matching(self, question: str, k: int, within: frozenset[str] | None) -> fusion.Ranking:
        words = self._words(None)
        if not len(words):
            raise _empty()
        return words.search(question, k, within)

    def _dense(self, progress: Progress | None) -> VectorIndex:
        return vector_spaces.fresh(
            _SPACE, store=self.store, spaces=self.spaces, embedder=self.embedder, progress=progress
        )

    def _words(self, progress: Progress | None) -> LexicalIndex:
        return fresh(self.store, self.lexical, save=not self.read_only, progress=progress)


def _empty() -> NotBuilt:
    return NotBuilt(
        "method 'passages' has no passage to look in: the knowledge base is empty. Run `kgrag ingest PATH` first."
    )
