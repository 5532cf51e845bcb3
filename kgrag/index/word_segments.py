"""Segments of a word index: which texts have a term and how often, in arrays that are never changed once they are made.

An index grows by small segments. A text that is gone is marked in its segment, and leaves with the next merge. A
segment takes up those after it once they are an eighth of its size (a log-structured merge: O'Neil et al., "The
log-structured merge-tree", 1996), so that there are few of them and a text is written again a few times for each
power of eight of texts. A part that has lost three in ten of its texts is made anew without them.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kgrag.index.array_files import Iris, KeptPlaces, packed, unpacked
from kgrag.index.index_terms import language_marks

__all__ = ["Part", "Places", "Segment", "built", "merged", "settled"]

_SIZE_RATIO = 8
_MAX_DEAD_SHARE = 0.3
_MAX_TERMS_AT_ONCE = 4_000_000  # of texts that are sorted together

Places = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """Texts by place, and for each term the places that have it.

    Attributes:
        iris: keys of the texts, ascending.
        lengths: count of terms of each text, shape (n,).
        terms: the terms as packed bytes, ascending, each in some text.
        ends: where each term ends in ``terms``, shape (v,).
        beginnings: the first eight bytes of each term as a number, by which terms are found, shape (v,).
        starts: where the postings of each term start, shape (v + 1,).
        places: texts with the term, ascending in each term, shape (p,).
        counts: how often it is in each, shape (p,), an unsigned dtype.
        highest: the highest count of each term, shape (v,).
        shortest: the length of the shortest text with each term, shape (v,).
        kept: places of the last few sets of keys that a search was limited to.
    """

    iris: Iris
    lengths: Places
    terms: npt.NDArray[np.uint8]
    ends: npt.NDArray[np.int64]
    beginnings: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]
    places: Places
    counts: npt.NDArray[Any]
    highest: npt.NDArray[Any]
    shortest: Places
    kept: KeptPlaces = field(default_factory=lambda: KeptPlaces(lasting=True))

    @classmethod
    def of(cls, iris: Sequence[str], terms: Iterable[Sequence[str]]) -> Self:
        """Return a segment of texts by their terms, in order and repeated as they occur; ``iris`` are ascending."""
        numbers: dict[str, int] = {}
        written, lengths = array("i"), array("i")
        for words in terms:
            lengths.append(len(words))
            written.extend([numbers.setdefault(word, len(numbers)) for word in words])
        ascending = sorted(numbers)
        rank = np.empty(len(numbers), np.int64)
        rank[[numbers[term] for term in ascending]] = np.arange(len(numbers))
        sizes = np.array(lengths, dtype=np.int32)
        owners = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        pairs = rank[np.array(written, dtype=np.int64)] * max(len(sizes), 1) + owners
        pairs, counts = np.unique(pairs, return_counts=True)
        rows, places = np.divmod(pairs, max(len(sizes), 1))
        starts = np.searchsorted(rows, np.arange(len(ascending) + 1))
        return cls.made(Iris.of(iris), sizes, packed(ascending), (starts, places.astype(np.int32), counts))

    @classmethod
    def made(
        cls,
        iris: Iris,
        lengths: Places,
        terms: npt.NDArray[np.uint8],
        postings: tuple[npt.NDArray[np.int64], Places, npt.NDArray[Any]],
    ) -> Self:
        """Return a segment of its arrays; ``postings`` are starts, places and counts, and no term is without any."""
        starts, places, counts = postings
        counts = counts.astype(np.min_scalar_type(int(counts.max(initial=0))), copy=False)
        some = bool(len(places))
        ends = np.flatnonzero(terms == ord("\n"))
        return cls(
            iris=iris,
            lengths=lengths,
            terms=terms,
            ends=ends,
            beginnings=_beginnings(terms, ends),
            starts=starts,
            places=places,
            counts=counts,
            highest=np.maximum.reduceat(counts, starts[:-1]) if some else counts,
            shortest=np.minimum.reduceat(lengths[places], starts[:-1]) if some else places,
        )

    @classmethod
    def restored(cls, members: Mapping[str, Any]) -> Self:
        """Return the segment that ``members`` returned. Raises KeyError, ValueError."""
        postings = (members["starts"], members["places"], members["counts"])
        return cls.made(Iris.restored(members, "iris"), members["lengths"], members["terms"], postings)

    def members(self) -> dict[str, Any]:
        """Return the arrays for a file."""
        names = ("lengths", "terms", "starts", "places", "counts")
        return {**self.iris.members("iris"), **{name: getattr(self, name) for name in names}}

    def __len__(self) -> int:
        """Count the texts."""
        return len(self.iris)

    @property
    def languages(self) -> list[str]:
        """Codes of the languages besides English that texts are in."""
        marks = language_marks()
        return [code for code, number in zip(marks.values(), self.numbers(list(marks)), strict=True) if number >= 0]

    def number(self, term: str) -> int:
        """Return the number of a term, -1 of an unknown one."""
        return self.numbers([term])[0]

    def numbers(self, terms: Sequence[str]) -> list[int]:
        """Return the number of each term, -1 of an unknown one."""
        sought = [term.encode("utf-8", "surrogatepass") for term in terms]
        beginnings = np.array([int.from_bytes(term[:8].ljust(8, b"\0")) for term in sought], dtype=np.uint64)
        first = np.searchsorted(self.beginnings, beginnings).tolist()
        behind = np.searchsorted(self.beginnings, beginnings, side="right").tolist()
        return [self._number(*each) for each in zip(sought, first, behind, strict=True)]

    def _number(self, term: bytes, first: int, behind: int) -> int:
        """Return the number of a term that is among those from ``first`` on if anywhere."""
        number = bisect_left(range(behind), term, lo=first, key=self._term) if behind > first + 1 else first
        return number if number < behind and self._term(number) == term else -1

    def _term(self, number: int) -> bytes:
        start = int(self.ends[number - 1]) + 1 if number else 0
        return self.terms[start : int(self.ends[number])].tobytes()

    def terms_beginning(self, prefix: str) -> Iterator[str]:
        """Yield the terms that begin with a text, ascending."""
        sought = prefix.encode("utf-8", "surrogatepass")
        number = bisect_left(range(len(self.ends)), sought, key=self._term)
        while number < len(self.ends) and (term := self._term(number)).startswith(sought):
            yield term.decode("utf-8", "surrogatepass")
            number += 1

    def postings(self, number: int) -> tuple[Places, npt.NDArray[Any]]:
        """Return the places of the texts with a term, ascending, and how often it is in each."""
        part = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.places[part], self.counts[part]


def _beginnings(terms: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return the first eight bytes of each packed term as a number that ascends with the terms."""
    starts = np.append(0, ends[:-1] + 1)[: len(ends)]
    numbers = np.zeros(len(ends), np.uint64)
    for byte in range(8):
        inside = starts + byte < ends
        numbers[inside] |= terms[starts[inside] + byte].astype(np.uint64) << np.uint64(8 * (7 - byte))
    return numbers


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A segment of an index, without the texts that are gone.

    Attributes:
        segment: the texts.
        dead: places of those that are gone, ascending.
        alive: whether each text is there, shape (n,); None when all are.
        length: how many terms the texts that are there have in all.
    """

    segment: Segment
    dead: Places
    alive: npt.NDArray[np.bool_] | None
    length: int

    @classmethod
    def of(cls, segment: Segment, dead: npt.NDArray[Any] | None = None) -> Self:
        """Return a segment without the texts at some places. Raises IndexError: there is no such place."""
        total = int(segment.lengths.sum(dtype=np.int64))
        if dead is None or not len(dead):
            return cls(segment, np.zeros(0, np.int32), None, total)
        alive = np.ones(len(segment), np.bool_)
        alive[dead] = False
        length = total - int(segment.lengths[dead].sum(dtype=np.int64))
        return cls(segment, np.asarray(dead, np.int32), alive, length)

    def __len__(self) -> int:
        """Count the texts that are there."""
        return len(self.segment) - len(self.dead)

    @property
    def iris(self) -> Iris:
        """The keys of the texts that are there, ascending."""
        iris = self.segment.iris
        return iris if self.alive is None else Iris(iris.beginning, iris.rest[self.alive])

    def without(self, iris: Collection[str]) -> Self:
        """Return the part without some keys; unknown ones are ignored."""
        places = self.segment.iris.known_places(iris)
        if not len(np.setdiff1d(places, self.dead)):
            return self
        dead = np.union1d(self.dead, places)
        alive = np.ones(len(self.segment), np.bool_) if self.alive is None else self.alive.copy()
        gone = places[alive[places]]
        alive[gone] = False
        length = self.length - int(self.segment.lengths[gone].sum(dtype=np.int64))
        return replace(self, dead=dead.astype(np.int32), alive=alive, length=length)

    def places(self, iris: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the place of each text, -1 of one that is not here or gone, shape (len(iris),)."""
        places = self.segment.iris.places(iris)
        return places if self.alive is None else np.where(self.alive[places], places, -1)

    def having(self, number: int, places: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which texts, by place, have a term; shape of ``places``."""
        own, _ = self.segment.postings(number)
        has: npt.NDArray[np.bool_] = own[np.minimum(np.searchsorted(own, places), len(own) - 1)] == places
        return has

    def frequency(self, number: int) -> int:
        """Count the texts that are there and have a term."""
        places, _ = self.segment.postings(number)
        return len(places) if self.alive is None else int(np.count_nonzero(self.alive[places]))


def built(iris: Sequence[str], terms: Iterable[Sequence[str]]) -> Segment:
    """Return a segment of any number of texts; ``iris`` are ascending and distinct."""
    parts, names, words, count = [], [], [], 0
    for iri, text in zip(iris, terms, strict=True):
        names.append(iri)
        words.append(text)
        count += len(text)
        if count > _MAX_TERMS_AT_ONCE:
            parts.append(Part.of(Segment.of(names, words)))
            names, words, count = [], [], 0
    last = Segment.of(names, words)
    return merged([*parts, Part.of(last)]) if parts else last


def settled(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Return parts, the oldest first, with those merged that are due: each is eight times as large as those after."""
    kept = [
        Part.of(merged([part])) if len(part.dead) > _MAX_DEAD_SHARE * len(part.segment) else part
        for part in parts
        if len(part)
    ]
    first = len(kept) - 1
    while first > 0 and len(kept[first - 1]) <= _SIZE_RATIO * sum(map(len, kept[first:])):
        first -= 1
    if first < len(kept) - 1:
        kept[first:] = [Part.of(merged(kept[first:]))]
    return tuple(kept)


def merged(parts: Sequence[Part]) -> Segment:
    """Return one segment of the texts that are there in some parts, which have no key in common."""
    alive = [np.ones(len(part.segment), np.bool_) if part.alive is None else part.alive for part in parts]
    iris = Iris.joined([part.iris for part in parts])
    order = np.argsort(iris.rest, kind="stable")
    place_of = np.empty(len(order), np.int32)
    place_of[order] = np.arange(len(order), dtype=np.int32)
    lengths = np.concatenate([part.segment.lengths[a] for part, a in zip(parts, alive, strict=True)])[order]
    vocabularies = [unpacked(part.segment.terms) for part in parts]
    terms = sorted(set().union(*vocabularies))
    number_of = {term: number for number, term in enumerate(terms)}
    keys, counts, first = [], [], 0
    for part, a, vocabulary in zip(parts, alive, vocabularies, strict=True):
        new_places = np.full(len(a), -1, np.int64)
        new_places[a] = place_of[first : first + len(part)]
        first += len(part)
        rows = np.array([number_of[term] for term in vocabulary], dtype=np.int64)
        places = new_places[part.segment.places]
        staying = places >= 0
        keys.append((np.repeat(rows, np.diff(part.segment.starts)) * len(order) + places)[staying])
        counts.append(part.segment.counts[staying])
    pairs = np.concatenate(keys)
    ascending = np.argsort(pairs, kind="stable")  # runs that are sorted already are merged, not sorted
    rows, places = np.divmod(pairs[ascending], max(len(order), 1))
    used, starts = np.unique(rows, return_index=True)
    if len(used) < len(terms):
        terms = [terms[number] for number in used.tolist()]
    postings = (np.append(starts, len(rows)), places.astype(np.int32), np.concatenate(counts)[ascending])
    return Segment.made(Iris(iris.beginning, iris.rest[order]), lengths, packed(terms), postings)
