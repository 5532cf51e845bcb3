"""Triage: which chunks a graph method asks the model about, where it is not to ask about all.

A chunk is worth as much as it speaks of the loaded ontologies: BM25 of the words of all labels, in which rare words
count more, and the mean cosine to the labels, a few of them at a time; each scaled to 0..1, and added up. No model is
asked. Time and memory are proportional to the chunks: one product with their vectors, and their postings once.

What a method was built of before counts towards the share, and is never chosen away. So the next build with a larger
share builds the rest of it only, and one with a smaller share builds nothing.

Of 3,251 sentences about 22 ontologies, a share of .05, .10, .25, .50 holds .56, .75, .92, .98 of the facts of one
ontology (by chance .05, .10, .26, .51); by words alone .39, .55, .78, .88, by cosine alone .55, .73, .91, .98
(``python -m benchmarks.triage``). To cover each class first, greedily or by its best chunks, held no more.

Query read: ``triage/labels``. Nothing is written but vectors and words that were behind the store.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kgrag import queries
from kgrag.errors import InvalidSettings, StateError
from kgrag.index import bm25, vector_spaces
from kgrag.index.bm25 import LexicalIndex
from kgrag.index.index_terms import tokens_of
from kgrag.model import BuildReport
from kgrag.ports import Embedder, TripleStore, VectorIndex, VectorSpaces
from kgrag.vocab import local_name, words_of

__all__ = ["Choice", "Triage", "signals", "triage_of"]

_SPACE = "chunk"
_LABEL_CHARACTERS_AT_ONCE = 150  # 300, 600 and 1,500 held less of the facts
_VECTORS_AT_ONCE = 16_384
_SHARE_ROUNDING = 1e-6  # 4 / 23 of 23 chunks are 4

Worths = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """The chunks that a method is built of after a build: those from before, and those that are built now.

    Attributes:
        chunks: their IRIs.
        candidates: how many chunks there are to choose from.
        share: that was asked for.
    """

    chunks: frozenset[str]
    candidates: int
    share: float

    @property
    def left_out(self) -> int:
        """How many chunks are left out."""
        return self.candidates - len(self.chunks)

    @property
    def line(self) -> str:
        """What is left out, for a person; "" for nothing.

        >>> Choice(frozenset({"urn:a"}), 2000, 0.0005).line
        '1,999 of 2,000 chunks were left out by triage (share 0.0005)'
        """
        if not self.left_out:
            return ""
        return f"{self.left_out:,} of {self.candidates:,} chunks were left out by triage (share {self.share:g})"

    def noted(self, report: BuildReport) -> BuildReport:
        """Return the report of a build with what was left out, where anything was."""
        if not self.line:
            return report
        counts = {**report.counts, "chunks_left_out": self.left_out}
        return replace(report, counts=counts, notes=(*report.notes, self.line), left_out=self.line)


@dataclass(frozen=True, slots=True)
class Triage:
    """Chooses chunks by the ontologies of a store.

    Args:
        store: contains ontologies and documents.
        spaces: store the vectors of chunks.
        embedder: embeds labels, and chunks that are behind.
        lexical: folder of the word index; None keeps it in memory.
        share: of the chunks, above 0 and at most 1.
        save: False leaves the word index on disk as it is.

    Raises:
        InvalidSettings: the share is outside its range.
    """

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    lexical: Path | None
    share: float
    save: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InvalidSettings(f"share is {self.share:g}. Use a share of the chunks above 0, and at most 1.")

    def choose(self, chunks: Sequence[str], built: Collection[str]) -> Choice:
        """Return which of some chunks a method is built of after a build.

        Args:
            chunks: from which is chosen.
            built: those that it was built of before.

        Raises:
            StateError: no ontology is loaded, by which chunks could be chosen.
        """
        kept = frozenset(built).intersection(chunks)
        lacking = max(0, math.ceil(self.share * len(chunks) - _SHARE_ROUNDING) - len(kept))
        if lacking >= len(chunks) - len(kept):
            return Choice(frozenset(chunks), len(chunks), self.share)
        ranked = self._ranked([chunk for chunk in chunks if chunk not in kept]) if lacking else []
        return Choice(kept.union(ranked[:lacking]), len(chunks), self.share)

    def _ranked(self, chunks: Sequence[str]) -> list[str]:
        """Return chunks, the one that speaks most of the ontologies first; ties by IRI."""
        labels = self.labels()
        if not labels:
            raise StateError(
                "a share of the chunks is chosen by the words of ontologies, and none is loaded. "
                "Run `kgrag load ONTOLOGY` first, or leave the share out."
            )
        words = bm25.fresh(self.store, self.lexical, space=_SPACE, save=self.save)
        vectors = vector_spaces.fresh(_SPACE, store=self.store, spaces=self.spaces, embedder=self.embedder)
        ascending = sorted(chunks)
        worths = signals(ascending, labels, words=words, vectors=vectors, embedder=self.embedder).sum(axis=0)
        return [ascending[place] for place in np.argsort(-worths, kind="stable")]

    def labels(self) -> list[str]:
        """Return what classes and properties are called, each name once; the local name of one without a label."""
        rows = self.store.select(queries.bind("triage/labels", catalogue=self.store.names.catalogue)).values()
        labels = (" ".join(label.split()) or words_of(local_name(term)) for term, label in rows)
        return list(dict.fromkeys(filter(None, labels)))


class _Method(Protocol):
    """A method whose build asks about chunks."""

    @property
    def store(self) -> TripleStore: ...

    @property
    def spaces(self) -> VectorSpaces: ...

    @property
    def embedder(self) -> Embedder: ...

    @property
    def lexical(self) -> Path | None: ...

    @property
    def read_only(self) -> bool: ...


def triage_of(method: _Method, share: float, *, dry_run: bool) -> Triage | None:
    """Return what chooses the chunks that a method asks about; None where it is all. Raises InvalidSettings."""
    if share == 1:
        return None
    save = not (dry_run or method.read_only)
    return Triage(method.store, method.spaces, method.embedder, method.lexical, share, save=save)


def signals(
    chunks: Sequence[str], labels: Sequence[str], *, words: LexicalIndex, vectors: VectorIndex, embedder: Embedder
) -> Worths:
    """Return how much each chunk speaks of some labels by words, and by meaning: 0 to 1, shape (2, len(chunks)).

    Args:
        chunks: IRIs that both indexes have, ascending.
        labels: at least one.
        words: the words of chunks.
        vectors: the vectors of chunks.
        embedder: embeds the labels.
    """
    terms = list(dict.fromkeys(term for label in labels for term in tokens_of(label)))
    places = words.iris.places(chunks)
    by_words = np.where(places >= 0, words.relevance(terms)[places], np.float32(0))
    towards = embedder.embed(list(_pieces(labels)), "passage").mean(axis=0)
    starts = range(0, len(chunks), _VECTORS_AT_ONCE)
    nearness = [vectors.vectors(chunks[start : start + _VECTORS_AT_ONCE]) @ towards for start in starts]
    return np.array([_scaled(by_words), _scaled(np.concatenate(nearness))])


def _pieces(labels: Sequence[str]) -> Iterator[str]:
    """Yield labels, a few at a time in one text."""
    piece = ""
    for label in labels:
        if piece and len(piece) + len(label) > _LABEL_CHARACTERS_AT_ONCE:
            yield piece
            piece = ""
        piece = f"{piece} {label}" if piece else label
    yield piece


def _scaled(scores: npt.NDArray[np.float32]) -> Worths:
    low, high = float(scores.min()), float(scores.max())
    scaled: Worths = (scores.astype(np.float64) - low) / ((high - low) or 1.0)
    return scaled
