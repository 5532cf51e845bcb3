"""BM25 over the texts of a vector space: the sparse half of plain retrieval, and the baseline of every table.

Lower-case words, English stop words left out, English Snowball stems; Lucene's BM25 with k1 0.9 and b 0.4 as Anserini
sets them. The index is a sidecar like the vectors: one file next to the store, rebuilt when it is missing, damaged or
behind. Reads ``queries/spaces/*`` through ``kgrag.index.vector_spaces``; writes no graph.

Deviations:
    A word of one letter is no token, but a single digit is: facts speak of "5 cm" and "zone 3".
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import regex

from kgrag.errors import InvalidSettings
from kgrag.index import vector_spaces
from kgrag.index.array_files import (
    FileFault,
    Iris,
    KeptPlaces,
    Making,
    Sidecars,
    packed,
    read_arrays,
    unpacked,
    write_arrays,
)
from kgrag.ports import TripleStore

__all__ = ["LexicalIndex", "faults", "fresh", "tokens_of"]

_WORD = regex.compile(r"\w\w+|\d")
_FORMAT = 2
_METHOD = "lucene"
_ARRAYS = ("data", "indices", "indptr")
_MAX_TEXTS_ALL_SCORED = 20_000  # up to so many, scoring all is quicker than choosing
_MAX_TEXTS_SCORED_ONE_BY_ONE = 500  # allowed texts that are looked up in what each term is worth
_SCORE_ROUNDING = 1e-5  # more than the order of a sum changes it

Places = npt.NDArray[np.int32]


def tokens_of(text: str) -> list[str]:
    """Return the index terms of a text, in order, repeated as they occur.

    >>> tokens_of("The varieties are sown 5 cm deep.")
    ['varieti', 'sown', '5', 'cm', 'deep']
    """
    stop_words, stemmer = _english()
    words = [word for word in _WORD.findall(text.lower()) if word not in stop_words]
    return list(stemmer.stemWords(words))


@cache
def _english() -> tuple[frozenset[str], Any]:
    """Return the stop words and the stemmer, imported at first use since most commands need neither."""
    from bm25s.stopwords import STOPWORDS_EN
    from Stemmer import Stemmer

    return frozenset(STOPWORDS_EN), Stemmer("english")


@dataclass(frozen=True, slots=True, eq=False)
class LexicalIndex:
    """A BM25 index: IRIs sorted, and the scores of every (term, text) pair computed when it was built.

    ``revision`` is the store revision that it reflects, -1 when it was built from texts that are in no store.
    """

    iris: Iris
    revision: int
    _scores: Any
    _kept: KeptPlaces = field(default_factory=KeptPlaces)

    @classmethod
    def build(
        cls, iris: Sequence[str], texts: Sequence[str], *, k1: float = 0.9, b: float = 0.4, revision: int = -1
    ) -> LexicalIndex:
        """Index texts by IRI.

        Args:
            iris: distinct keys, in any order.
            texts: one text per key.
            k1: how fast a repeated term saturates, at least 0.
            b: how far the score of a long text is lowered, 0 to 1.
            revision: the store revision that the texts come from.

        Raises:
            InvalidSettings: k1 or b is outside its range.
            ValueError: there are not as many texts as keys.
        """
        if k1 < 0 or not 0 <= b <= 1:
            raise InvalidSettings(f"BM25 was given k1={k1} and b={b}. Use k1 of at least 0 and b from 0 to 1.")
        pairs = sorted(zip(iris, texts, strict=True))
        scores = _bm25(k1=k1, b=b)
        terms = [tokens_of(text) for _, text in pairs]
        if any(terms):
            scores.index(terms, show_progress=False)
        else:
            # bm25s refuses to index no words at all
            empty: dict[str, Any] = {"data": np.zeros(0, np.float32), "indices": np.zeros(0, np.int32)}
            scores.scores = empty | {"indptr": np.zeros(1, np.int64), "num_docs": len(pairs)}
            scores.vocab_dict = {}
        return cls(iris=Iris.of([iri for iri, _ in pairs]), revision=revision, _scores=scores)

    def __len__(self) -> int:
        """Count the texts."""
        return len(self.iris)

    def search(self, question: str, k: int, within: Collection[str] | None = None) -> list[tuple[str, float]]:
        """Return at most k (IRI, score) pairs that share a term with the question, best first, ties by IRI.

        With ``within`` only these keys are found, unknown ones ignored. What a term is worth is that of all texts.

        >>> LexicalIndex.build(["urn:b", "urn:a"], ["sow deep", "sow deep"]).search("How deep?", 5)[0][0]
        'urn:a'
        """
        known = self._scores.get_tokens_ids(tokens_of(question))
        if not known or k < 1:
            return []
        allowed = None if within is None else self._kept.of(within, self.iris.known_places)
        found, scores = self._scored(known, k, allowed)
        if len(found) > k:
            leading = scores >= np.partition(scores, -k)[-k]
            found, scores = found[leading], scores[leading]
        order = np.lexsort((found, -scores))[:k]
        return list(zip(self.iris.at(found[order]), scores[order].tolist(), strict=True))

    def relevance(self, question: str) -> npt.NDArray[np.float32]:
        """Return the score of every text, in the order of ``iris``: at least 0, shape (n,).

        >>> LexicalIndex.build(["urn:a", "urn:b"], ["sow deep", "weed"]).relevance("How deep?").astype(bool).tolist()
        [True, False]
        """
        known = self._scores.get_tokens_ids(tokens_of(question))
        if not known:
            return np.zeros(len(self), np.float32)
        return np.asarray(self._scores.get_scores_from_ids(known), dtype=np.float32)

    def terms_in(self, question: str, iris: Sequence[str]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return how rare each known term of a question is, and which of some texts has it.

        Returns:
            log(1 + texts / texts with the term), shape (t,), and whether each text has it, shape (len(iris), t).
        """
        terms = sorted(set(self._scores.get_tokens_ids(tokens_of(question))))
        found = self.iris.places(list(iris)).astype(np.int32)
        counts = np.array([len(self._postings(term)[0]) for term in terms], dtype=np.float64)
        has = np.array([self._worths(term, found) > 0 for term in terms], dtype=np.bool_).reshape(len(terms), len(iris))
        return np.log(1 + len(self) / np.maximum(counts, 1)), has.T

    def weights(self) -> Any:
        """Return what every term is worth in every text: a scipy sparse matrix (texts, terms) with unit rows."""
        from scipy import sparse

        columns = self._scores.scores
        shape = (len(self), len(columns["indptr"]) - 1)
        rows = sparse.csc_matrix((columns["data"], columns["indices"], columns["indptr"]), shape=shape).tocsr()
        lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return sparse.diags(1 / np.maximum(lengths, np.float32(1e-9))) @ rows

    def _scored(
        self, terms: Sequence[int], k: int, allowed: npt.NDArray[np.int64] | None
    ) -> tuple[Places, npt.NDArray[np.float32]]:
        """Return the places of texts, ascending, and their scores: at least the k best and all that score as much.

        ``allowed`` are the only places that may be found, ascending; None for all.
        """
        if len(self) <= _MAX_TEXTS_ALL_SCORED:
            every = self._scores.get_scores_from_ids(terms)
            found = np.flatnonzero(every > 0).astype(np.int32) if allowed is None else allowed[every[allowed] > 0]
            return found.astype(np.int32), every[found]
        if allowed is not None and len(allowed) <= _MAX_TEXTS_SCORED_ONE_BY_ONE:
            found = allowed.astype(np.int32)
        else:
            found = self._promising(terms, k, allowed)
        scores = np.zeros(len(found), np.float32)
        for term in terms:
            scores += self._worths(term, found)
        return found[scores > 0], scores[scores > 0]

    def _promising(self, terms: Sequence[int], k: int, allowed: npt.NDArray[np.int64] | None) -> Places:
        """Return the places of allowed texts that can be among the k best, ascending.

        Terms are added up from the rarest to the most frequent, until the terms left cannot lift a text without the
        others to the k-th best (MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995).
        """
        counts = {term: terms.count(term) for term in terms}
        order = sorted(counts, key=lambda term: (len(self._postings(term)[0]), term))
        highest = [counts[term] * float(self._postings(term)[1].max(initial=0)) for term in order]
        sums = np.zeros(len(self), np.float32)
        may_be_found = np.full(len(self), allowed is None)
        may_be_found[slice(0) if allowed is None else allowed] = True
        touched = np.zeros(0, np.int32)
        for done, term in enumerate(order, 1):
            places, worth = self._postings(term)
            places, worth = places[may_be_found[places]], worth[may_be_found[places]]
            touched = np.concatenate([touched, places[sums[places] == 0]])
            sums[places] += counts[term] * worth
            rest = sum(highest[done:])
            if len(touched) >= k and rest < sum(highest[:done]):
                reached = sums[touched]
                bar = _bar(reached, k)
                if rest < bar:
                    found = np.sort(touched[reached >= bar - rest])
                    left = [(term, counts[term], most) for term, most in zip(order[done:], highest[done:], strict=True)]
                    return self._narrowed(found, sums[found], left, k)
        return np.sort(touched)

    def _narrowed(
        self, found: Places, sums: npt.NDArray[np.float32], left: Sequence[tuple[int, int, float]], k: int
    ) -> Places:
        """Add up the terms left (term, count, most that it is worth), and drop what falls behind for good."""
        for done, (term, count, _) in enumerate(left, 1):
            sums = sums + count * self._worths(term, found)
            kept = sums >= _bar(sums, k) - sum(most for *_, most in left[done:])
            found, sums = found[kept], sums[kept]
        return found

    def _worths(self, term: int, found: Places) -> npt.NDArray[np.float32]:
        """Return what a term is worth in each of some texts, 0 in those without it, shape (len(found),)."""
        places, worth = self._postings(term)
        at = np.minimum(np.searchsorted(places, found), len(places) - 1)
        return np.where(places[at] == found, worth[at], np.float32(0))

    def _postings(self, term: int) -> tuple[Places, npt.NDArray[np.float32]]:
        """Return the places of the texts with a term, ascending, and what it is worth in each, above 0."""
        columns = self._scores.scores
        part = slice(columns["indptr"][term], columns["indptr"][term + 1])
        return columns["indices"][part], columns["data"][part]

    def at(self, revision: int) -> LexicalIndex:
        """Return the same index as that of another revision, where no text changed in between."""
        return replace(self, revision=revision)

    def save(self, path: Path, *, lineage: str = "") -> None:
        """Write the index to a new file, then swap it with the old one.

        Raises:
            StorageFailed: the disk refused; the old file is then left as it was.
        """
        scores = self._scores
        # bm25s numbers terms anew in each process: sorted, equal indexes make equal files; "", its own, has no column
        terms = sorted(term for term in scores.vocab_dict if term)
        columns = np.array([scores.vocab_dict[term] for term in terms], dtype=np.int64)
        starts, ends = scores.scores["indptr"][columns], scores.scores["indptr"][columns + 1]
        bounds = np.concatenate([[0], np.cumsum(ends - starts)])
        places = np.arange(bounds[-1]) + np.repeat(starts - bounds[:-1], ends - starts)
        members: dict[str, Any] = {name: scores.scores[name][places] for name in ("data", "indices")}
        members |= {"indptr": bounds.astype(scores.scores["indptr"].dtype), **self.iris.members("iris")}
        settings = {"format": _FORMAT, "revision": self.revision, "k1": scores.k1, "b": scores.b}
        write_arrays(
            path, members | {"terms": packed(terms), "settings": packed([json.dumps(settings)])}, lineage=lineage
        )

    @classmethod
    def load(cls, path: Path) -> LexicalIndex | None:
        """Read an index; None for one that is missing, damaged or of another format, so that it is to be rebuilt."""
        try:
            members = read_arrays(path)
            (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
            if settings["format"] != _FORMAT:
                return None
            return cls._restored(members, settings)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None

    @classmethod
    def _restored(cls, members: dict[str, Any], settings: dict[str, Any]) -> LexicalIndex:
        iris = Iris.restored(members, "iris")
        scores = _bm25(k1=settings["k1"], b=settings["b"])
        scores.scores = {name: members[name] for name in _ARRAYS} | {"num_docs": len(iris)}
        scores.vocab_dict = {term: number for number, term in enumerate(unpacked(members["terms"]))}
        return cls(iris=iris, revision=settings["revision"], _scores=scores)


def fresh(
    store: TripleStore,
    folder: Path | None,
    *,
    space: str = "chunk",
    save: bool = True,
    progress: vector_spaces.Progress = None,
) -> LexicalIndex:
    """Return the BM25 index of a space at the present revision; it is rebuilt when its texts changed since.

    Args:
        store: contains the texts.
        folder: where the index is kept; None keeps it in memory for as long as the store lives.
        space: the vector space whose texts are indexed.
        save: False leaves the disk as it is (read-only use).
        progress: called with (stage label, texts done, texts in all).

    Raises:
        UnknownName: there is no such space.
        StorageFailed: the disk refused the rebuilt index.
    """
    return _OPEN.fresh(store, folder, _making(store, space, progress), name=space, save=save)


def faults(store: TripleStore, folder: Path | None, *, space: str) -> list[FileFault]:
    """Compare the file of a BM25 index with the texts of the store; [] where there is none, or one that is behind."""
    return _OPEN.faults(store, folder, _making(store, space, None), name=space)


_OPEN = Sidecars[LexicalIndex]()


def _making(store: TripleStore, space: str, progress: vector_spaces.Progress) -> Making[LexicalIndex]:
    return Making(
        load=LexicalIndex.load,
        make=lambda: _made(store, space, progress),
        changed=lambda revision: vector_spaces.changed(space, store=store, since=revision),
    )


def _made(store: TripleStore, space: str, progress: vector_spaces.Progress) -> LexicalIndex:
    revision = store.revision
    rows = vector_spaces.texts(space, store=store)
    index = LexicalIndex.build([iri for iri, _ in rows], [text for _, text in rows], revision=revision)
    if progress:
        progress(f"BM25 {space}", len(rows), len(rows))
    return index


def _bar(sums: npt.NDArray[np.float32], k: int) -> float:
    """Return a little less than the k-th largest of at least k sums."""
    return float(np.partition(sums, -k)[-k]) * (1 - _SCORE_ROUNDING)


def _bm25(*, k1: float, b: float) -> Any:
    import bm25s

    scores = bm25s.BM25(method=_METHOD, k1=k1, b=b, backend="numpy")
    scores.nonoccurrence_array = None
    return scores
