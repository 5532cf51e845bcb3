"""BM25 over the texts of a vector space: the sparse half of plain retrieval, and the baseline of every table.

Lucene's BM25 with k1 0.9 and b 0.4 as Anserini sets them, over the terms of ``kgrag.index.index_terms``. The index is
a sidecar like the vectors: files next to the store, made again when they are missing or damaged. It grows by what
changed (``kgrag.index.word_segments``) and returns the scores of one that is made anew, since what a term is worth is
worked out when a question is asked, from counts of all texts that are there. Reads ``queries/spaces/*`` through
``kgrag.index.vector_spaces`` and ``kgrag.index.change_feed``; writes no graph.

``<space>.npz`` lists the files of segments, ``<space>.<random digits>.npz``, with their checksums, and which texts of
each are gone. They are written first and never changed; those that it does not list are removed after it was swapped.
"""

from __future__ import annotations

import json
import math
import secrets
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kgrag.errors import InvalidSettings
from kgrag.index import change_feed, vector_spaces
from kgrag.index.array_files import FileFault, Iris, Making, Sidecars, packed, read_arrays, unpacked, write_arrays
from kgrag.index.index_terms import question_forms, text_terms
from kgrag.index.sharded_indexes import ShardedStore
from kgrag.index.term_worths import Scores, WeightedTerm, kept_from, saturated
from kgrag.index.word_segments import Part, Places, Segment, built, merged, settled
from kgrag.ports import TripleStore

__all__ = ["LexicalIndex", "faults", "follow", "fresh", "release"]

_FORMAT = 6  # also of what the terms are: an index by other rules is made again
_MAX_READS = 3  # another process may swap the files while they are read
_MAX_TEXTS_ALL_SCORED = 20_000  # up to so many, scoring all is quicker than choosing
_MAX_TEXTS_SCORED_ONE_BY_ONE = 500  # allowed texts that are looked up in what each term is worth


@dataclass(frozen=True, slots=True)
class _File:
    """A file of a segment: its name and checksum."""

    name: str
    checksum: str


@dataclass(frozen=True, eq=False)
class LexicalIndex:
    """A BM25 index: parts, the largest first, that count which texts have which terms.

    ``revision`` is the store revision that it reflects, -1 when it was built from texts that are in no store. An index
    never changes: ``with_changes`` returns another one, which shares what stayed.
    """

    revision: int
    k1: float
    b: float
    parts: tuple[Part, ...]
    _files: dict[Segment, _File] = field(default_factory=dict)
    _norms_of_parts: dict[int, Scores] = field(default_factory=dict)

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
        return cls(revision, k1, b, _parts_of(zip(iris, texts, strict=True)))

    def with_changes(
        self, *, added: Iterable[tuple[str, str]] = (), removed: Collection[str] = (), revision: int = -1
    ) -> LexicalIndex:
        """Return the index of another revision, in time proportional to the change, over many calls to its logarithm.

        Args:
            added: (IRI, text) pairs; one of a known IRI takes its place.
            removed: keys; unknown ones are ignored.
            revision: the store revision of the texts.
        """
        pairs = dict(added)
        gone = {*removed, *pairs}
        parts = settled([*(part.without(gone) for part in self.parts), *_parts_of(pairs.items())])
        files = {part.segment: self._files[part.segment] for part in parts if part.segment in self._files}
        return LexicalIndex(revision, self.k1, self.b, parts, files)

    def __len__(self) -> int:
        """Count the texts."""
        return sum(map(len, self.parts))

    @property
    def iris(self) -> Iris:
        """The keys of all texts, ascending."""
        return self._ascending[0]

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages besides English that texts are in, or were before they were removed."""
        return tuple(sorted({code for part in self.parts for code in part.segment.languages}))

    def search(
        self, question: str | Sequence[str], k: int, within: Collection[str] | None = None
    ) -> list[tuple[str, float]]:
        """Return at most k (IRI, score) pairs that share a term with the question, best first, ties by IRI.

        With ``within`` only these keys are found, unknown ones ignored. What a term is worth is that of all texts. A
        question may also be a list of index terms.

        >>> LexicalIndex.build(["urn:b", "urn:a"], ["sow deep", "sow deep"]).search("How deep?", 5)[0][0]
        'urn:a'
        """
        best: list[tuple[float, str]] = []
        for number, terms in self._asked(question) if k > 0 else ():
            segment = self.parts[number].segment
            allowed = None if within is None else segment.kept.of(within, segment.iris.known_places)
            found, scores = self._scored(number, terms, k, allowed)
            if len(found) > k:
                leading = scores >= np.partition(scores, -k)[-k]
                found, scores = found[leading], scores[leading]
            order = np.lexsort((found, -scores))[:k]
            best += zip((-scores[order]).tolist(), segment.iris.at(found[order]), strict=True)
        return [(iri, -negative) for negative, iri in sorted(best)[:k]]

    def relevance(self, question: str | Sequence[str]) -> Scores:
        """Return the score of every text, in the order of ``iris``: at least 0, shape (n,).

        >>> LexicalIndex.build(["urn:a", "urn:b"], ["sow deep", "weed"]).relevance("How deep?").astype(bool).tolist()
        [True, False]
        """
        scores = [np.zeros(len(part.segment), np.float32) for part in self.parts]
        for number, terms in self._asked(question):
            scores[number] = self._sums(number, terms)
        there = [part if p.alive is None else part[p.alive] for part, p in zip(scores, self.parts, strict=True)]
        return np.concatenate([np.zeros(0, np.float32), *there])[self._ascending[1]]

    def terms_in(self, question: str, iris: Sequence[str]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
        """Return how rare each known term of a question is, and which of some texts has it.

        Returns:
            log(1 + texts / texts with the term), shape (t,), and whether each text has it, shape (len(iris), t).
        """
        frequencies, has = list[int](), list[npt.NDArray[np.bool_]]()
        found = [(part, part.places(iris)) for part in self.parts]  # of place -1 where a part does not have a text
        for forms in sorted(set(question_forms(question, self.languages))):
            known = [(part, one, place) for part, place in found for one in part.segment.numbers(forms) if one >= 0]
            if frequency := sum(part.frequency(number) for part, number, _ in known):
                frequencies.append(frequency)
                has.append(np.any([part.having(number, place) for part, number, place in known], axis=0))
        rarities = np.log(1 + len(self) / np.array(frequencies, dtype=np.float64))
        return rarities, np.array(has, dtype=np.bool_).reshape(len(has), len(iris)).T

    def weights(self) -> Any:
        """Return what every term is worth in every text: a scipy sparse matrix (texts, terms) with unit rows."""
        from scipy import sparse

        whole = replace(self, parts=(Part.of(self._merged()),), _files={}, _norms_of_parts={})
        (part,) = whole.parts
        terms = [
            WeightedTerm(number, whole._weight(part.frequency(number))) for number in range(len(part.segment.ends))
        ]
        worths = [whole._worths(0, term)[1] for term in terms]
        data = np.concatenate([np.zeros(0, np.float32), *worths])
        shape = (len(self), len(terms))
        rows = sparse.csc_matrix((data, part.segment.places, part.segment.starts), shape=shape).tocsr()
        lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
        return sparse.diags(1 / np.maximum(lengths, np.float32(1e-9))) @ rows

    @cached_property
    def _ascending(self) -> tuple[Iris, npt.NDArray[np.int64]]:
        """Return all keys, ascending, and where each is in the texts of the parts one after the other."""
        iris = Iris.joined([part.iris for part in self.parts])
        order = np.argsort(iris.rest, kind="stable")
        return Iris(iris.beginning, iris.rest[order]), order

    def _merged(self) -> Segment:
        return merged(self.parts) if self.parts else built([], [])

    # what terms are worth

    def _asked(self, question: str | Sequence[str]) -> Iterator[tuple[int, list[WeightedTerm]]]:
        """Yield the number of each part that has terms of a question, with these in their order."""
        counts = Counter(question_forms(question, self.languages) if isinstance(question, str) else zip(question))
        numbers = [part.segment.numbers([form for forms in counts for form in forms]) for part in self.parts]
        of_parts = [(part, iter(found)) for part, found in zip(self.parts, numbers, strict=True)]
        weights: list[np.float32 | None] = []
        for forms, count in counts.items():  # one word, so that a form which few texts have is not rare for that
            found = [(part, next(each)) for _ in forms for part, each in of_parts]
            frequency = min(len(self), sum(part.frequency(number) for part, number in found if number >= 0))
            weights += [count * self._weight(frequency) if frequency else None] * len(forms)
        for place, of_part in enumerate(numbers):
            terms = zip(of_part, weights, strict=True)
            if known := [
                WeightedTerm(number, weight) for number, weight in terms if number >= 0 and weight is not None
            ]:
                yield place, known

    def _weight(self, frequency: int) -> np.float32:
        """Return the inverse document frequency of a term that so many texts have."""
        return np.float32(math.log(1 + (len(self) - frequency + 0.5) / (frequency + 0.5)))

    @cached_property
    def _mean_length(self) -> float:
        return sum(part.length for part in self.parts) / max(len(self), 1)

    def _norms(self, lengths: npt.NDArray[Any]) -> Scores:
        """Return how far the length of each text lowers what terms are worth in it; shape of ``lengths``."""
        return (self.k1 * (1 - self.b + self.b / self._mean_length * lengths)).astype(np.float32)

    def _norms_of(self, number: int) -> Scores:
        if number not in self._norms_of_parts:
            self._norms_of_parts[number] = self._norms(self.parts[number].segment.lengths)
        return self._norms_of_parts[number]

    def _worths(self, number: int, term: WeightedTerm) -> tuple[Places, Scores]:
        """Return the places of the texts of a part with a term, gone ones too, and what it is worth in each."""
        places, counts = self.parts[number].segment.postings(term.number)
        return places, saturated(term.weight, counts, self._norms_of(number)[places])

    def _worths_in(self, number: int, term: WeightedTerm, found: Places) -> Scores:
        """Return what a term is worth in each of some texts, 0 in those without it, shape (len(found),)."""
        places, counts = self.parts[number].segment.postings(term.number)
        at = np.minimum(np.searchsorted(places, found), len(places) - 1)
        worths = saturated(term.weight, counts[at], self._norms_of(number)[found])
        return np.where(places[at] == found, worths, np.float32(0))

    def _most(self, number: int, term: WeightedTerm) -> float:
        """Return at least what a term is worth in any text of a part: its highest count in its shortest text."""
        segment = self.parts[number].segment
        shortest = segment.shortest[term.number : term.number + 1]
        return float(saturated(term.weight, segment.highest[term.number : term.number + 1], self._norms(shortest))[0])

    def _sums(self, number: int, terms: Sequence[WeightedTerm]) -> Scores:
        """Return the score of every text of a part, gone ones too."""
        every = np.zeros(len(self.parts[number].segment), np.float32)
        for term in terms:
            places, worths = self._worths(number, term)
            every[places] += worths
        return every

    # the best of a part

    def _scored(
        self, number: int, terms: Sequence[WeightedTerm], k: int, allowed: npt.NDArray[np.int64] | None
    ) -> tuple[Places, Scores]:
        """Return the places of texts, ascending, and their scores: at least the k best and all that score as much.

        ``allowed`` are the only places that may be found, ascending; None for all.
        """
        part = self.parts[number]
        if allowed is not None and part.alive is not None:
            allowed = allowed[part.alive[allowed]]
        if len(part.segment) <= _MAX_TEXTS_ALL_SCORED:
            every = self._sums(number, terms)
            if allowed is None:
                allowed = np.arange(len(every)) if part.alive is None else np.flatnonzero(part.alive)
            matching = allowed[every[allowed] > 0].astype(np.int32)
            return matching, every[matching]
        if allowed is not None and len(allowed) <= _MAX_TEXTS_SCORED_ONE_BY_ONE:
            found = allowed.astype(np.int32)
        else:
            found = self._promising(number, terms, k, allowed)
        scores = np.zeros(len(found), np.float32)
        for term in terms:
            scores += self._worths_in(number, term, found)
        return found[scores > 0], scores[scores > 0]

    def _promising(
        self, number: int, terms: Sequence[WeightedTerm], k: int, allowed: npt.NDArray[np.int64] | None
    ) -> Places:
        """Return the places of allowed texts that can be among the k best, ascending.

        Terms are added up from the rarest to the most frequent, until the terms left cannot lift a text without the
        others to the k-th best (MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995).
        """
        part = self.parts[number]
        order = sorted(terms, key=lambda term: (len(part.segment.postings(term.number)[0]), term.number))
        most = [self._most(number, term) for term in order]
        sums = np.zeros(len(part.segment), np.float32)
        may_be_found = part.alive
        if allowed is not None:
            may_be_found = np.zeros(len(part.segment), np.bool_)
            may_be_found[allowed] = True
        touched = np.zeros(0, np.int32)
        for done, term in enumerate(order, 1):
            places, worths = self._worths(number, term)
            if may_be_found is not None:
                kept = may_be_found[places]
                places, worths = places[kept], worths[kept]
            touched = np.concatenate([touched, places[sums[places] == 0]])
            sums[places] += worths
            rest = sum(most[done:])
            if len(touched) >= k and rest < sum(most[:done]):
                reached = sums[touched]
                bar = kept_from(reached, k)
                if rest < bar:
                    found = np.sort(touched[reached >= bar - rest])
                    return self._narrowed(number, found, sums[found], list(zip(order, most, strict=True))[done:], k)
        return np.sort(touched)

    def _narrowed(
        self, number: int, found: Places, sums: Scores, left: Sequence[tuple[WeightedTerm, float]], k: int
    ) -> Places:
        """Add up the terms left, each with the most that it is worth, and drop what falls behind for good."""
        for done, (term, _) in enumerate(left, 1):
            sums = sums + self._worths_in(number, term, found)
            kept = sums >= kept_from(sums, k) - sum(most for _, most in left[done:])
            found, sums = found[kept], sums[kept]
        return found

    # files

    def at(self, revision: int) -> LexicalIndex:
        """Return the same index as that of another revision, where no text changed in between."""
        return replace(self, revision=revision)

    def same_as(self, other: LexicalIndex) -> bool:
        """Return whether two indexes count the same terms in the same texts, however they are divided."""
        first, second = self._merged(), other._merged()
        names = ("lengths", "terms", "starts", "places", "counts")
        return (
            (self.k1, self.b, len(first)) == (other.k1, other.b, len(second))
            and first.iris.at(range(len(first))) == second.iris.at(range(len(second)))
            and all(np.array_equal(getattr(first, name), getattr(second, name)) for name in names)
        )

    def save(self, path: Path, *, lineage: str = "") -> None:
        """Write the segments that have no file yet, then swap the list of files, then remove what it does not name.

        Raises:
            StorageFailed: the disk refused; what was written before is then left as it was.
        """
        listed = []
        for part in self.parts:
            file = self._files.get(part.segment)
            if file is None or not (path.parent / file.name).is_file():
                name = f"{path.stem}.{secrets.token_hex(8)}.npz"
                file = _File(name, write_arrays(path.parent / name, part.segment.members()))
                self._files[part.segment] = file
            listed.append([file.name, file.checksum])
        settings = {"format": _FORMAT, "revision": self.revision, "k1": self.k1, "b": self.b, "segments": listed}
        dead = {f"dead_{number}": part.dead for number, part in enumerate(self.parts)}
        write_arrays(path, {**dead, "settings": packed([json.dumps(settings)])}, lineage=lineage)
        names = {name for name, _ in listed}
        for old in path.parent.glob(f"{path.stem}.*.npz"):
            if old.name not in names:
                with suppress(OSError):  # the next save removes it
                    old.unlink()

    @classmethod
    def load(cls, path: Path) -> LexicalIndex | None:
        """Read an index; None for one that is missing, damaged or of another format, so that it is to be rebuilt."""
        for _ in range(_MAX_READS):
            with suppress(OSError, ValueError, KeyError, IndexError, zipfile.BadZipFile):
                return cls._read(path)
        return None

    @classmethod
    def _read(cls, path: Path) -> LexicalIndex:
        members, settings = _listed(path)
        files = [_File(name, checksum) for name, checksum in settings["segments"]]
        segments = [Segment.restored(read_arrays(path.parent / file.name, file.checksum)) for file in files]
        parts = [Part.of(segment, members[f"dead_{number}"]) for number, segment in enumerate(segments)]
        of_segments = dict(zip(segments, files, strict=True))
        return cls(settings["revision"], settings["k1"], settings["b"], tuple(parts), of_segments)


def _parts_of(pairs: Iterable[tuple[str, str]]) -> tuple[Part, ...]:
    """Return the one part of (IRI, text) pairs, none where there are no pairs."""
    ascending = sorted(pairs)
    if not ascending:
        return ()
    return (Part.of(built([iri for iri, _ in ascending], (text_terms(text) for _, text in ascending))),)


def _listed(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the list of an index's files: its arrays, and its settings. Raises as ``read_arrays``, and KeyError."""
    members = read_arrays(path)
    (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
    if settings["format"] != _FORMAT:
        raise ValueError(f"{path} has another format than this kgrag writes")
    return members, settings


def fresh(
    store: TripleStore,
    folder: Path | None,
    *,
    space: str = "chunk",
    save: bool = True,
    progress: vector_spaces.Progress = None,
) -> LexicalIndex:
    """Return the BM25 index of a space at the present revision: with what changed since, or made anew.

    Where publications alone do not say what changed, all texts are read again.

    Args:
        store: contains the texts.
        folder: where the index is kept; None keeps it in memory for as long as the store lives.
        space: the vector space whose texts are indexed.
        save: False leaves the disk as it is (read-only use).
        progress: called with (stage label, texts done, texts in all).

    Raises:
        UnknownName: there is no such space.
        StorageFailed: the disk refused the changed index.
    """
    if isinstance(store, ShardedStore):
        return store.words(space, lambda one: fresh(one.store, one.lexical, space=space, save=False))
    return _OPEN.fresh(store, folder, _making(store, space, progress), name=space, save=save)


def follow(store: TripleStore, folder: Path | None, *, space: str = "chunk") -> None:
    """Bring the files of an index up to the store where what changed is known, so that the next process need not.

    Raises:
        StorageFailed: the disk refused.
    """
    if folder is not None:
        _OPEN.follow(store, folder, _making(store, space, None), name=space)


def faults(store: TripleStore, folder: Path | None, *, space: str) -> list[FileFault]:
    """Compare the files of a BM25 index with the texts of the store; [] where there is none, or one that is behind."""
    path = Path() if folder is None else folder / f"{space}.npz"
    with suppress(OSError, ValueError, KeyError, zipfile.BadZipFile):
        for name, checksum in _listed(path)[1]["segments"]:
            try:
                read_arrays(path.parent / name, checksum)
            except (OSError, ValueError, zipfile.BadZipFile):
                # without its list, nothing reads the segment
                return [FileFault(path, f"{path.parent / name} is damaged or gone; the next use makes it again.")]
    return _OPEN.faults(store, folder, _making(store, space, None), name=space)


def release(store: TripleStore) -> None:
    """Let go of what is open of a store, with the words of texts that are gone from it."""
    _OPEN.release(store)


_OPEN = Sidecars[LexicalIndex]()


def _making(store: TripleStore, space: str, progress: vector_spaces.Progress) -> Making[LexicalIndex]:
    return Making(
        load=LexicalIndex.load,
        make=lambda: _made(store, space, progress),
        changed=lambda revision: vector_spaces.changed(space, store=store, since=revision),
        followed=lambda index: _followed(index, store, space),
        same=LexicalIndex.same_as,
    )


def _made(store: TripleStore, space: str, progress: vector_spaces.Progress) -> LexicalIndex:
    revision = store.revision
    rows = vector_spaces.texts(space, store=store)
    index = LexicalIndex.build([iri for iri, _ in rows], [text for _, text in rows], revision=revision)
    if progress:
        progress(f"BM25 {space}", len(rows), len(rows))
    return index


def _followed(index: LexicalIndex, store: TripleStore, space: str) -> LexicalIndex | None:
    revision = store.revision
    changes = change_feed.changes(vector_spaces.spaces()[space], store=store, since=index.revision)
    if changes is None:
        return None
    added = vector_spaces.texts(space, store=store, iris=changes.added)
    return index.with_changes(added=added, removed=changes.removed, revision=revision)
