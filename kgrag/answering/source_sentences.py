"""Turns quotes of evidence into citations of stored text.

A quote counts if a piece of evidence has it, as the model was shown it. Passages are stored text, and their quotes are
cited as they are. Facts, propositions and summaries were written by a model: their quotes are cited by the sentences of
the source chunks that carry them, and where no sentence does, by whole chunks together with the words that were quoted.

Queries read: ``citing/parts``, ``documents/spans``, ``documents/texts``. Nothing is written.

Finds the sentences of stored texts that carry a statement which a model wrote from them.

A proposition, a summary or a fact says in other words what its sources say, often in one sentence what takes them two.
What must not change are its numbers; of its names and other words most are kept. So the sentences found hold every
number, most of the words, and the names as far as their text has them. Nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

import pyoxigraph as ox
import regex

from kgrag import queries
from kgrag.model import Citation, Hit, Span
from kgrag.ports import TripleStore
from kgrag.text import documents
from kgrag.text.quotes import places
from kgrag.text.sentences import STOP_WORDS, split, stem, words
from kgrag.vocab import KG

__all__ = [
    "Evidence",
    "Quote",
    "Sentence",
    "Source",
    "carrying",
    "cited",
    "evidence_of",
    "features",
    "touched",
]

_LONGEST_TEXT = 8000
_TELLING = 3
"""Words from which a quote of what a model wrote is cited alone, where a source has the very same."""
_WIDTH = 3
"""Parts of a node of a tree that are followed down, and chunks that are cited whole, at most."""

_Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Source:
    """A stored chunk: its text and its span."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Evidence:
    """A hit with its number in the prompt and the stored chunks behind it."""

    number: int
    hit: Hit
    sources: tuple[Source, ...]

    @property
    def text(self) -> str:
        """What the model is shown of the hit."""
        return self.hit.text[:_LONGEST_TEXT]

    @property
    def is_fact(self) -> bool:
        """Whether the text reads ``key: value; key: value``."""
        return self.hit.kind == "hyperedge"

    @property
    def derived(self) -> bool:
        """Whether a model wrote the text: no source holds all of it in a row."""
        return not any(places(self.text, source.text) for source in self.sources)


@dataclass(frozen=True, slots=True)
class Quote:
    """What a reply says it copied, and from which piece of evidence (0: it did not say)."""

    text: str
    number: int = 0


def evidence_of(hits: Sequence[Hit], store: TripleStore) -> list[Evidence]:
    """Number the hits and fetch the chunks behind them; a hit without sources is taken for a chunk itself."""
    chunks = [[span.chunk for span in hit.sources] or [hit.iri] for hit in hits]
    stored = _stored([chunk for behind in chunks for chunk in behind], store)
    return [
        Evidence(number, hit, tuple(stored[chunk] for chunk in dict.fromkeys(behind) if chunk in stored))
        for number, (hit, behind) in enumerate(zip(hits, chunks, strict=True), start=1)
    ]


def _stored(chunks: Sequence[str], store: TripleStore) -> dict[str, Source]:
    wanted = list(dict.fromkeys(chunks))
    texts, spans = documents.texts(store, wanted), documents.spans(store, wanted)
    return {chunk: Source(texts[chunk], spans[chunk]) for chunk in wanted if chunk in texts and chunk in spans}


def cited(
    quote: Quote, claim: str, evidence: Sequence[Evidence], store: TripleStore, *, sentence: int
) -> list[Citation]:
    """Return the citations of a quote from the piece that it names, else from the first other one that has it.

    Args:
        quote: what was copied.
        claim: the sentence that it is to carry; it decides between places that have the same words.
        evidence: what the model was shown.
        store: holds the chunks.
        sentence: the number of the claim in the answer, from 0.

    Returns:
        [] for a quote that is nowhere or only inside a longer word or number, and for one of stop words alone.
    """
    if not features(quote.text):
        return []
    for piece in sorted(evidence, key=lambda piece: piece.number != quote.number):
        found = _derived(quote.text, claim, piece, store) if piece.derived else []
        if found := found or _verbatim(quote.text, claim, piece.sources, sentences=piece.derived):
            return [_citation(*one, sentence=sentence) for one in found]
    return []


_Found = tuple[Source, _Place, str]
"""A source, what is cited of it, and the words of a model that are quoted instead ("" for none)."""


def _verbatim(quote: str, context: str, sources: Sequence[Source], *, sentences: bool) -> list[_Found]:
    """Return the place of a quote in the sources whose sentences share most with the context; [] for none.

    ``sentences`` widens a quote of few words to the sentence: it says too little by itself.
    """
    found = [(source, place) for source in sources for place in places(quote, source.text)]
    if not found:
        return []
    source, place = found[_closest([(source.text, place) for source, place in found], context)]
    if sentences and len(words(quote)) < _TELLING:
        around = touched(source.text, *place)
        place = (around[0].start, around[-1].end)
    return [(source, place, "")]


@dataclass(frozen=True, slots=True)
class _Part:
    """What is quoted of a model's words: the statements to look for, in this order, and what they are about.

    ``names`` of a fact are those of its values that the claim names; None for prose, which has its own.
    """

    quoted: str
    statements: tuple[str, ...]
    context: str
    names: tuple[str, ...] | None = None

    def found_in(self, sources: Sequence[Source]) -> list[_Found]:
        """Return the place of a quote, or the sentences that carry the first statement which any carry."""
        if self.names is None and (found := _verbatim(self.quoted, self.context, sources, sentences=True)):
            return found
        texts = [source.text for source in sources]
        for statement in self.statements:
            if carried := carrying(statement, texts, context=self.context, names=self.names):
                return [(sources[number], (start, end), "") for number, start, end in carried]
        return []


def _derived(quote: str, claim: str, piece: Evidence, store: TripleStore) -> list[_Found]:
    """Return what carries a quote of a model's words: source sentences, else whole chunks; [] where it is none of them.

    The chunk that the quoted part was written from comes before others, which may say the like of something else.
    """
    found = [(piece.text, place) for place in places(quote, piece.text)]
    if not found:
        return []
    place = found[_closest(found, claim)][1]
    part = _fact_part(piece.text, place, claim) if piece.is_fact else _prose_part(piece.text, place, claim)
    below = list(_stored(_chunks_below(piece.hit.iri, part, store), store).values())
    for sources in (*([source] for source in below), piece.sources):
        if carried := part.found_in(sources):
            return carried
    about = features(part.context)
    nearest = sorted(dict.fromkeys([*below, *piece.sources]), key=lambda one: -len(about & features(one.text)))
    return [(source, (0, len(source.text)), part.quoted) for source in nearest[:_WIDTH] if any(part.statements)]


def _prose_part(text: str, place: _Place, claim: str) -> _Part:
    """Return a quote, then the sentences that it is taken from: they name what it leaves out."""
    quoted = text[slice(*place)]
    said = " ".join(text[one.start : one.end] for one in touched(text, *place))
    return _Part(quoted, (quoted, said), f"{claim} {said}")


def _fact_part(fact: str, place: _Place, claim: str) -> _Part:
    """Return the values that a quote of a fact touches; a key is the model's word, and needs no source."""
    values = [(fact[start:end], start < place[1] and end > place[0]) for start, end in _values(fact)]
    statement = " ".join(value for value, quoted in values if quoted)
    names = tuple(value for value, _ in values if places(value, claim))
    return _Part(fact[slice(*place)], (statement,), f"{claim} {fact}", names)


def _closest(found: Sequence[tuple[str, _Place]], context: str) -> int:
    """Return the index of the place whose sentences share most with a context; the first of equals."""
    about = features(context)
    around = [frozenset[object]().union(*(one.features for one in touched(text, *place))) for text, place in found]
    return max(range(len(found)), key=lambda at: len(about & around[at]))


def _values(fact: str) -> Iterator[_Place]:
    """Yield the places of the values of a fact ``key: value; key: value``."""
    pairs = fact.split("; ")
    for pair, end in zip(pairs, accumulate(len(pair) + 2 for pair in pairs), strict=True):
        yield end - 2 - len(pair.partition(": ")[2] or pair), end - 2


def _chunks_below(node: str, part: _Part, store: TripleStore) -> list[str]:
    """Return chunks that a node of a tree was written from, down the parts that share most with what is quoted."""
    quoted, around = features(part.quoted), features(part.statements[-1])
    chunks: list[str] = []
    frontier = [node]
    while frontier:
        nodes = [ox.NamedNode(one) for one in frontier]
        rows = store.select(queries.bind("citing/parts", catalogue=store.names.catalogue, nodes=nodes)).values()
        best = sorted(rows, key=lambda row: -len(quoted & features(row[2])) - len(around & features(row[2])))[:_WIDTH]
        chunks += [child if kind == KG.Chunk.value else origin for child, kind, _, origin in best]
        frontier = [child for child, kind, _, _ in best if kind == KG.TreeNode.value]
    return [chunk for chunk in dict.fromkeys(chunks) if chunk]


def _citation(source: Source, place: _Place, derived: str, *, sentence: int) -> Citation:
    start, end = place
    span = source.span
    return Citation(
        quote=source.text[start:end],
        document=span.document,
        chunk=span.chunk,
        start=span.start + start,
        end=span.start + end,
        sentence=sentence,
        derived=derived,
    )


Phrase = tuple[str, ...]
"""Terms that follow each other."""
Features = frozenset[str | Phrase]
"""Terms, and pairs of terms that follow each other."""

_LEAST = 0.6
"""Share of the words of a statement that the sentences hold, at least."""
_MOST_SENTENCES = 4
_TERM = regex.compile(r"\p{N}+(?:[.,]\p{N}+)*|[\p{Han}\p{Hiragana}]|(?:(?![\p{Han}\p{Hiragana}])[\p{L}\p{M}])+")
_NAME = regex.compile(r"\p{Lu}[\p{L}\p{M}]*(?:[ '’-]\p{Lu}[\p{L}\p{M}]*)*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text: its characters ``start`` to ``end``, its terms in order, and its features."""

    start: int
    end: int
    terms: Phrase
    features: Features

    def holds(self, phrase: Phrase) -> bool:
        """Return whether the terms of a phrase follow each other in the sentence."""
        starts = range(len(self.terms) - len(phrase) + 1)
        return any(self.terms[at : at + len(phrase)] == phrase for at in starts)


def features(text: str) -> Features:
    """Return the terms of a text and its pairs of neighbouring terms.

    >>> sorted(map(str, features("the Southern zone")))
    ["('southern', 'zone')", 'southern', 'zone']
    """
    return _features(_terms(text))


def touched(text: str, start: int, end: int) -> list[Sentence]:
    """Return the sentences of a text that a span touches, in order."""
    return [sentence for sentence in _sentences(text) if sentence.start < end and sentence.end > start]


def carrying(
    statement: str, texts: Sequence[str], *, context: str = "", names: Sequence[str] | None = None
) -> list[tuple[int, int, int]]:
    """Return the sentences that carry a statement as (place in ``texts``, start, end), in reading order.

    They come from one text, and those that follow each other are one span. One has most words and pairs of words of the
    statement, and of its context where several have as many. Others are added for numbers and names that it lacks.

    Args:
        statement: what needs a source.
        texts: what it may have been written from.
        context: what the statement is about; decides between sentences, and is not looked for by itself.
        names: phrases of which the sentences should hold half; None takes the names of the statement, and all of them.

    Returns:
        [] when no text holds every number of the statement, and most of its words, in at most four sentences.

    >>> text = "Ann Lee is a singer. She sang in Hull. She was born in Bath in 1901."
    >>> [text[start:end] for _, start, end in carrying("Ann Lee was born in Bath.", [text])]
    ['Ann Lee is a singer.', 'She was born in Bath in 1901.']
    >>> carrying("Ann Lee was born in 1902.", [text])
    []
    """
    phrases = [phrase for name in (_NAME.findall(statement) if names is None else names) if (phrase := _terms(name))]
    weights = dict.fromkeys(features(context), 1) | dict.fromkeys(features(statement), 2)
    least = len(phrases) if names is None else len(phrases) / 2
    wanted = _Wanted(frozenset(_terms(statement)), tuple(phrases), least, weights)
    covers = [_cover(wanted, _sentences(text)) for text in texts] if wanted.terms else []
    best = max(range(len(covers)), key=lambda place: covers[place][0], default=0)
    return [(best, start, end) for start, end in covers[best][1]] if covers else []


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What sentences should hold: all numbers, most words, ``least`` of the names; and what each feature is worth."""

    terms: frozenset[str]
    names: tuple[Phrase, ...]
    least: float
    weights: Mapping[str | Phrase, int]

    def worth(self, sentence: Sentence) -> int:
        return sum(self.weights.get(feature, 0) for feature in sentence.features)

    def lacking(self, chosen: Sequence[Sentence]) -> list[Phrase]:
        """Return the numbers that no chosen sentence holds; words and names too where they hold too few of them."""
        missing = self._missing(chosen)
        names = [name for name in self.names if not any(sentence.holds(name) for sentence in chosen)]
        few_words, few_names = self._few(missing), len(self.names) - len(names) < self.least
        found: list[Phrase] = [(term,) for term in sorted(missing) if few_words or term[0].isnumeric()]
        return [*found, *names] if few_names else found

    def carried_by(self, chosen: Sequence[Sentence]) -> bool:
        missing = self._missing(chosen)
        return not self._few(missing) and not any(term[0].isnumeric() for term in missing)

    def _missing(self, chosen: Sequence[Sentence]) -> frozenset[str]:
        return self.terms.difference(*(sentence.terms for sentence in chosen))

    def _few(self, missing: frozenset[str]) -> bool:
        """Return whether too many words are missing; names alone prove nothing, so half of the others are asked for."""
        others = self.terms.difference(*self.names)
        few_others = len(missing & others) > max(1, len(others) / 2)
        return few_others or len(missing) > (1 - _LEAST) * len(self.terms)


def _cover(wanted: _Wanted, sentences: Sequence[Sentence]) -> tuple[int, list[tuple[int, int]]]:
    """Return the worth of the best sentence, and the spans that carry what is wanted; 0 and [] where none do."""
    worths = [wanted.worth(sentence) for sentence in sentences]
    if not any(worths):
        return 0, []
    first = worths.index(max(worths))
    chosen = [first]
    while len(chosen) < _MOST_SENTENCES and (lacking := wanted.lacking([sentences[at] for at in chosen])):
        left = [at for at in range(len(sentences)) if at not in chosen]
        gains = {at: sum(sentences[at].holds(phrase) for phrase in lacking) for at in left}
        best = max(left, key=lambda at: (gains[at], at < first, -abs(at - first)), default=first)
        if not gains.get(best):
            break
        chosen.append(best)
    if not wanted.carried_by([sentences[at] for at in chosen]):
        return 0, []
    return worths[first], list(_joined(chosen, sentences))


def _joined(chosen: Collection[int], sentences: Sequence[Sentence]) -> Iterator[tuple[int, int]]:
    """Yield the spans of chosen sentences in reading order, neighbours as one."""
    starts = [at for at in sorted(chosen) if at - 1 not in chosen]
    ends = [at for at in sorted(chosen) if at + 1 not in chosen]
    for first, last in zip(starts, ends, strict=True):
        yield sentences[first].start, sentences[last].end


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[Sentence, ...]:
    found = []
    for start, end in split(text):
        terms = _terms(text[start:end])
        found.append(Sentence(start, end, terms, _features(terms)))
    return tuple(found)


def _terms(text: str) -> Phrase:
    """Return the stemmed content words of a text in order; numbers are apart from letters and from each other."""
    return tuple(stem(term) for word in words(text) if word not in STOP_WORDS for term in _TERM.findall(word))


def _features(terms: Phrase) -> Features:
    return frozenset(terms) | frozenset(pairwise(terms))
