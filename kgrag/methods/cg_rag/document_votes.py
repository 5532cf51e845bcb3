"""A ranking of chunks without training: their own relevance, votes for their document, and the question's markers.

Not in the paper, whose messages pass between chunks. Documents vote for what they cite (``document_links``), so one
that is described in the words of the question by those who build on it is found although its own words are others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgrag.methods.cg_rag.citation_arrays import CitationArrays, FloatArray, IntArray, rank_in_group
from kgrag.methods.cg_rag.markers import author_years
from kgrag.ports import Vectors

__all__ = ["DocumentVotes", "Signals"]

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Signals:
    """What the chunks that may be seen have to do with a question.

    Args:
        vector: of the question, shape (d,).
        relevance: BM25 of every chunk, 0 for those of hidden documents, shape (n,).
        nearest: numbers of the nearest chunks, nearest first, shape (m,).
        cosines: of these, shape (m,).
        hidden: numbers of the documents that are passed over, ascending.
    """

    vector: Vectors
    relevance: FloatArray
    nearest: IntArray
    cosines: Scores
    hidden: IntArray

    def fused(self) -> Scores:
        """Return both signals of every chunk, each scaled by its best, as one relevance of 0 to 1, shape (n,)."""
        joined = self.relevance.astype(np.float64) / max(float(self.relevance.max(initial=0.0)), 1e-9)
        cosines = np.clip(self.cosines, 0.0, 1.0)
        joined[self.nearest] += cosines / max(float(cosines.max(initial=0.0)), 1e-9)
        scaled: Scores = joined / max(float(joined.max(initial=0.0)), 1e-9)
        return scaled


@dataclass(frozen=True, slots=True)
class DocumentVotes:
    """How votes count: ``exponent`` of their number by which their sum is divided, and what each kind is worth.

    A document votes by the square of its relevance, so that many that are hardly relevant do not outvote a few.
    """

    exponent: float
    votes: float
    markers: float

    def scores(self, question: str, signals: Signals, arrays: CitationArrays) -> tuple[Scores, Scores, Scores]:
        """Return the relevance of every chunk, and of every document that of its best chunk and what others say for it.

        Shapes (chunks,), (documents,) and (documents,).
        """
        relevance = signals.fused()
        best = np.zeros(int(arrays.documents.max(initial=-1)) + 1)
        np.maximum.at(best, arrays.documents, relevance)
        said = self.votes * arrays.links.votes(best**2, signals.hidden, exponent=self.exponent)
        if self.markers:
            said += self.markers * arrays.links.marked(author_years(question), len(best), signals.hidden)
        said[signals.hidden] = 0
        return relevance, best, said

    def ranking(self, question: str, signals: Signals, arrays: CitationArrays, k: int) -> list[tuple[str, float]]:
        """Return at most k (chunk, score) pairs, best first, ties by IRI.

        What is said for a document counts in full for its best chunk and by 1 / j for the j-th, so that the first hits
        are not all from one document.
        """
        relevance, best, said = self.scores(question, signals, arrays)
        total = best + said
        documents = np.flatnonzero(total > 0)
        documents = documents[np.lexsort((documents, -total[documents]))][:k]
        wanted = np.zeros(len(total), np.bool_)
        wanted[documents] = True
        chunks = np.flatnonzero(wanted[arrays.documents])
        order = chunks[np.lexsort((chunks, -relevance[chunks], arrays.documents[chunks]))]
        place = rank_in_group(arrays.documents[order].astype(np.int64)) + 1
        scores = relevance[order] + said[arrays.documents[order]] / place
        first = np.lexsort((order, -scores))[:k]
        return list(zip(arrays.iris.at(order[first]), scores[first].tolist(), strict=True))
