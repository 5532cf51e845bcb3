"""Turns quotes of evidence into citations of stored text, by the sentences of the sources that carry them.

A quote counts if a piece of evidence contains it, as the model was shown it. Passages are stored text, and their quotes
are cited as they are, one of less than four words with its sentence. Facts, propositions and summaries were written by
a model: their quotes are cited by those sentences of the source chunks that carry them, and where none does, by whole
chunks together with the quoted words.

What a model writes from its sources rewords them, often in one sentence for two of theirs. What must not change are the
numbers; of names and other words most are kept. So the sentences that carry a statement contain every number, most of
the words, and the names as far as their text has them.

Queries read: ``citing/parts``, and those of ``kgrag.text.stored_passages``. Writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

import pyoxigraph as ox

from kgrag import queries
from kgrag.answering.evidence_pieces import EvidencePiece, SourceChunk, stored_chunks
from kgrag.answering.manual_entries import entries_named, entry_end, entry_of, names_entry, opens_entry
from kgrag.answering.opening_words import OPENING_STEMS, without_opening_word
from kgrag.index.revision_cache import RevisionCache
from kgrag.late_patterns import late_regex
from kgrag.model import Citation
from kgrag.ports import TripleStore
from kgrag.text import stored_passages
from kgrag.text.figures import dates, quantities
from kgrag.text.quotes import places
from kgrag.text.sentences import STOP_WORDS, split, stem, words
from kgrag.vocab import KG

__all__ = [
    "Carried",
    "Quote",
    "SourceSentence",
    "carrying",
    "cited",
    "features",
    "touched",
]

_MIN_QUOTED_WORDS = 4
"""Words from which a quote is cited alone; a shorter one proves too little, unless it is a value with its unit."""
_MIN_WORDS_OF_A_VALUE = 6
"""Words from which a value of a fact is looked up as it is written; a shorter one may be stated of something else."""
_MAX_BRANCHES = 3
"""Parts of a tree node that are followed down, and chunks that are cited whole, at most."""
_MAX_CHUNKS_AT_ONCE = 200
"""Chunks below what is cited that are read together, at most; others when they are cited."""
_MIN_SHARE_OF_WORDS = 0.6
"""Share of the words of a statement that the sentences contain, at least."""
_MAX_SENTENCES = 4
"""Sentences that carry one statement, at most."""

_TERM = late_regex(r"\p{N}+(?:[.,]\p{N}+)*|[\p{Han}\p{Hiragana}]|(?:(?![\p{Han}\p{Hiragana}])[\p{L}\p{M}])+")
_SENTENCE_END = late_regex(r"(?:[.!?…]|\p{STerm})[\p{Pe}\p{Pf}\"']*$")
_NAME = late_regex(r"\p{Lu}[\p{L}\p{M}]*(?:[ '’-]\p{Lu}[\p{L}\p{M}]*)*")

_IDENTIFIER = late_regex(r"(?<![\p{L}\p{N}_])\p{L}[\p{L}\p{N}]*(?:_[\p{L}\p{N}]+)+(?![\p{L}\p{N}_])")
"""What programs call their things: ``wal_level``."""

Phrase = tuple[str, ...]
"""Terms that follow each other."""
Features = frozenset[str | Phrase]
"""Terms, and pairs of terms that follow each other."""
_Place = tuple[int, int]
_Parts = dict[str, list[tuple[str, str, str, str]]]
_PARTS = RevisionCache[_Parts]()


@dataclass(frozen=True, slots=True)
class Carried:
    """A citation, the whole sentences that it touches, and texts that name what these are about.

    Such texts are the headings of the piece, and the sentences of a model that were quoted; a quoted ``fact`` is apart.
    """

    citation: Citation
    sentences: str
    about: tuple[str, ...]
    fact: str = ""


@dataclass(frozen=True, slots=True)
class Quote:
    """The words that a reply claims to have copied, and the piece of evidence that it names (0 for none)."""

    text: str
    number: int = 0


def cited(
    quote: Quote, claim: str, evidence: Sequence[EvidencePiece], store: TripleStore, *, sentence: int
) -> list[Carried]:
    """Return the citations of a quote from the piece that it names, else from the first other piece that contains it.

    Args:
        quote: the copied words.
        claim: the sentence that the quote should support; it decides between places that have the same words.
        evidence: what the model was shown.
        store: contains the chunks.
        sentence: the number of the claim in the answer, from 0.

    Returns:
        [] for a quote that is nowhere or only inside a longer word or number, and for one of stop words alone.
    """
    if not features(quote.text):
        return []
    for piece in sorted(evidence, key=lambda piece: piece.number != quote.number):
        carriers = _derived(quote.text, claim, piece, store, evidence) if piece.derived else []
        carriers = carriers or _verbatim(quote.text, claim, piece.sources, pairs=piece.is_fact)
        if carriers:
            about = (*piece.headings, *_quoted_sentences(quote.text, claim, piece))
            carried = [
                _carried(
                    source, place, derived, (*about, *filter(None, [source.heading_at(place[0])])), sentence=sentence
                )
                for source, place, derived in carriers
            ]
            return [replace(one, fact=piece.text) for one in carried] if piece.is_fact else carried
    return []


def _quoted_sentences(quote: str, claim: str, piece: EvidencePiece) -> list[str]:
    """Return the sentences of a model that a quote is from; [] for stored text and for facts."""
    derived = piece.derived and not piece.is_fact
    matches = [(piece.text, place) for place in places(quote, piece.text)] if derived else []
    if not matches:
        return []
    return [piece.text[one.start : one.end] for one in touched(piece.text, *matches[_closest(matches, claim)][1])]


def _carried(source: SourceChunk, place: _Place, derived: str, about: tuple[str, ...], *, sentence: int) -> Carried:
    start, end = place
    span = source.span
    citation = Citation(
        quote=source.text[start:end],
        document=span.document,
        chunk=span.chunk,
        start=span.start + start,
        end=span.start + end,
        sentence=sentence,
        derived=derived,
    )
    around = touched(source.text, start, end)
    sentences = source.text[around[0].start : around[-1].end] if around else citation.quote
    return Carried(citation, "\n".join(filter(None, [sentences, derived])), about)


_Carrier = tuple[SourceChunk, _Place, str]
"""A chunk, the place in it that is cited, and the words of a model that are quoted instead ("" for none)."""


def _verbatim(quote: str, context: str, sources: Sequence[SourceChunk], *, pairs: bool = False) -> list[_Carrier]:
    """Return the place of a quote in the sources whose sentences share most with the context; [] for none.

    With ``pairs``, whole ``key: value`` pairs are cited as they are, whatever their length.
    """
    matches = [(source, place) for source in sources for place in places(quote, source.text)]
    if not _carries(quote):  # of a term, the line that is no more than it
        matches = [each for each in matches if _sentence_below(each[0].text, each[1]) is not None] or matches
    if not matches:
        return []
    if len(matches) > 1:
        matches = [each for each in matches if _is_below_its_line(each[0].text, each[1], context)] or matches
    source, place = matches[_closest([(source.text, place) for source, place in matches], context)]
    return [(source, place if pairs and ": " in quote else _with_enough_words(source.text, place), "")]


def _is_below_its_line(text: str, place: _Place, context: str) -> bool:
    """Return whether a place is in an entry whose line names it in the words of a context."""
    line = entry_of(text, place[0])
    return line is not None and names_entry(context, text[slice(*line)])


def _with_enough_words(text: str, place: _Place) -> _Place:
    """Return a place of four words, a value with its unit or a whole sentence.

    A shorter one is returned with its sentence; where that is an item of a list, with those before it, and where it is
    a heading or a term, with the sentence below it: what stands before it is about something else.
    """
    start, end = place
    sentences = _sentences(text)
    if not _carries(text[start:end]) and (below := _sentence_below(text, place)) is not None:
        return start, below
    before = len([one for one in sentences if one.start < end])
    while not _carries(text[start:end]) and before:
        before -= 1
        start, end = min(start, sentences[before].start), max(end, sentences[before].end)
    return start, end


def _sentence_below(text: str, place: _Place) -> int | None:
    """Return where the sentence ends that stands right below a line of its own, a heading or a term; None for none."""
    line = text.rfind("\n", 0, place[0]) + 1, text.find("\n", place[1])
    if line[1] < 0 or text[slice(*line)].strip() != text[slice(*place)].strip() or text[: line[0]].rstrip()[-1:] == ":":
        return None
    below = next((one for one in _sentences(text) if one.start >= line[1]), None)
    said = text[below.start : below.end] if below else ""
    return below.end if below and _carries(said) and _SENTENCE_END.search(said) else None


def _carries(quote: str) -> bool:
    has_value = dates(quote) or any(one.unit for one in quantities(quote))
    count = len(words(quote))
    return bool(has_value) or count >= _MIN_QUOTED_WORDS or (count > 1 and _SENTENCE_END.search(quote) is not None)


@dataclass(frozen=True, slots=True)
class _QuotedPart:
    """The quoted part of a model's words: the statements to look for, in this order, and what they are about.

    ``names`` of a fact are those of its ``values`` that the claim names; None for prose, which has its own.
    """

    quoted: str
    statements: tuple[str, ...]
    context: str
    names: tuple[str, ...] | None = None
    values: tuple[str, ...] = ()

    def carriers(self, sources: Sequence[SourceChunk]) -> list[_Carrier]:
        """Return the place of a quote, or the sentences that carry the first statement which any carry."""
        if self.names is None:
            verbatim = _verbatim(self.quoted, self.context, sources)
            if verbatim:
                return verbatim
        elif below := self._in_an_entry(sources, self.names) or self._in_an_entry(sources, self.values):
            return below
        elif len(words(value := self.quoted.partition(": ")[2] or self.quoted)) >= _MIN_WORDS_OF_A_VALUE:
            for source, place, derived in _verbatim(value, self.context, sources):
                around = touched(source.text, *place)
                return [(source, (around[0].start, around[-1].end), derived)]
        texts = [source.text for source in sources]
        for statement in self.statements:
            if sentences := carrying(statement, texts, context=self.context, names=self.names):
                return [(sources[number], (start, end), "") for number, start, end in sentences]
        return []

    def _in_an_entry(self, sources: Sequence[SourceChunk], names: Sequence[str]) -> list[_Carrier]:
        """Return the sentences that carry a statement in an entry that has one of some names, with its line."""
        for source, line in ((one, line) for one in sources for line in entries_named(one.text, names)):
            entry = source.text[line[0] : entry_end(source.text, line)]
            for statement in self.statements:
                found = carrying(statement, [entry], context=self.context, names=())
                spans = [(line[0] + start, line[0] + end) for _, start, end in found]
                if spans:
                    return [(source, span, "") for span in _below_line(source.text, line, spans)]
        return []


def _below_line(text: str, line: _Place, spans: Sequence[_Place]) -> list[_Place]:
    """Return spans of an entry with its line before them; the line alone with the sentence below it."""
    (start, end), *others = spans
    if start > line[0]:
        told = "\n".join(text[slice(*span)] for span in spans)
        return list(spans) if names_entry(told, text[slice(*line)]) else [line, *spans]
    return [(start, (_sentence_below(text, line) or end) if end <= line[1] else end), *others]


def _derived(
    quote: str, claim: str, piece: EvidencePiece, store: TripleStore, evidence: Sequence[EvidencePiece]
) -> list[_Carrier]:
    """Return what carries a quote of a model's words: source sentences, else whole chunks; [] if it is no such quote.

    The chunk that the quoted part was written from comes before others, which may state the like of something else.
    What the other pieces of ``evidence`` were written from is looked up with it, as they are often quoted, too.
    """
    matches = [(piece.text, place) for place in places(quote, piece.text)]
    if not matches:
        return []
    place = matches[_closest(matches, claim)][1]
    if piece.is_fact:
        part = _quoted_values(piece.text, place, claim)
    else:
        quoted = piece.text[slice(*place)]
        # The sentences that a quote is taken from name what it leaves out.
        around = " ".join(piece.text[one.start : one.end] for one in touched(piece.text, *place))
        part = _QuotedPart(quoted, (quoted, around), f"{claim} {around}")
    tops = [each.hit.iri for each in evidence if each.derived]
    below = list(stored_chunks(_chunks_below(piece.hit.iri, part, store, tops), store).values())
    for sources in (*([source] for source in below), piece.sources):
        if carriers := part.carriers(sources):
            return carriers
    about = features(part.context)
    nearest = sorted(dict.fromkeys([*below, *piece.sources]), key=lambda source: -len(about & features(source.text)))
    return [(source, (0, len(source.text)), part.quoted) for source in nearest[:_MAX_BRANCHES] if any(part.statements)]


def _quoted_values(fact: str, place: _Place, claim: str) -> _QuotedPart:
    """Return the values of ``key: value; key: value`` that a quote touches; keys are a model's words."""
    values, touched_values, named_values, start = [], [], [], 0
    for pair in fact.split("; "):
        end = start + len(pair)
        value = pair.partition(": ")[2] or pair
        values.append(value)
        if end - len(value) < place[1] and end > place[0]:
            touched_values.append(value)
        if places(value, claim):
            named_values.append(value)
        start = end + len("; ")
    statements = (" ".join(touched_values),)
    return _QuotedPart(fact[slice(*place)], statements, f"{claim} {fact}", tuple(named_values), tuple(values))


def _closest(matches: Sequence[tuple[str, _Place]], context: str) -> int:
    """Return the index of the place whose sentences share most with a context; the first of equals."""
    about = features(context)
    around = [frozenset[object]().union(*(one.features for one in touched(text, *place))) for text, place in matches]
    return max(range(len(matches)), key=lambda index: len(about & around[index]))


def _chunks_below(node: str, part: _QuotedPart, store: TripleStore, tops: Sequence[str]) -> list[str]:
    """Return chunks that a tree node was written from, down the parts that share most with what is quoted."""
    quoted, around = features(part.quoted), features(part.statements[-1])
    chunks: list[str] = []
    frontier = [node]
    while frontier:
        known = _PARTS.get(store, tuple(tops), lambda: _tops(tops, store)) if frontier == [node] else {}
        parts = known if node in known else _parts(frontier, store)
        rows = sorted({row for iri in frontier for row in parts.get(iri, ())}, key=lambda row: (row[0], row[1], row[3]))
        rows.sort(key=lambda row: -len(quoted & features(row[2])) - len(around & features(row[2])))
        nearest = rows[:_MAX_BRANCHES]
        chunks += [child if kind == KG.Chunk.value else origin for child, kind, _, origin in nearest]
        frontier = [child for child, kind, _, _ in nearest if kind == KG.TreeNode.value]
    return [chunk for chunk in dict.fromkeys(chunks) if chunk]


def _parts(nodes: Sequence[str], store: TripleStore) -> _Parts:
    """Return node -> its parts, each with its type, its text, and the chunk that a proposition was taken from."""
    names = [ox.NamedNode(node) for node in nodes]
    found: _Parts = {node: [] for node in nodes}
    for node, part, kind, text, origin in store.select(
        queries.bind("citing/parts", catalogue=store.names.catalogue, nodes=names)
    ).values():
        found[node].append((part, kind, text, origin))
    return found


def _tops(nodes: Sequence[str], store: TripleStore) -> _Parts:
    """Return the parts of nodes, and read the chunks among these all at once."""
    found = _parts(nodes, store)
    chunks = [part if kind == KG.Chunk.value else origin for parts in found.values() for part, kind, _, origin in parts]
    stored_passages.passages(store, list(dict.fromkeys(filter(None, chunks)))[:_MAX_CHUNKS_AT_ONCE])
    return found


@dataclass(frozen=True, slots=True)
class SourceSentence:
    """A sentence of a text: its characters ``start`` to ``end``, its terms in order, and its features."""

    start: int
    end: int
    terms: Phrase
    features: Features

    def contains(self, phrase: Phrase) -> bool:
        """Return whether the terms of a phrase follow each other in the sentence."""
        starts = range(len(self.terms) - len(phrase) + 1)
        return any(self.terms[at : at + len(phrase)] == phrase for at in starts)


def features(text: str) -> Features:
    """Return the terms of a text and its pairs of neighbouring terms.

    >>> sorted(map(str, features("the Southern zone")))
    ["('southern', 'zone')", 'southern', 'zone']
    """
    return _features(_terms(text))


def touched(text: str, start: int, end: int) -> list[SourceSentence]:
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
        names: phrases, half of which the sentences should contain; None takes all names of the statement.

    Returns:
        [] when no text has every number of the statement, and most of its words, in at most four sentences.

    >>> text = "Ann Lee is a singer. She sang in Hull. She was born in Bath in 1901."
    >>> [text[start:end] for _, start, end in carrying("Ann Lee was born in Bath.", [text])]
    ['Ann Lee is a singer.', 'She was born in Bath in 1901.']
    >>> carrying("Ann Lee was born in 1902.", [text])
    []
    """
    own = [*map(without_opening_word, _NAME.findall(statement)), *_IDENTIFIER.findall(statement)]
    phrases = [phrase for name in (own if names is None else names) if (phrase := _terms(name))]
    weights = dict.fromkeys(features(context), 1) | dict.fromkeys(features(statement), 2)
    min_names = len(phrases) if names is None else len(phrases) / 2
    wording = _Wording(frozenset(_terms(statement)) - OPENING_STEMS, tuple(phrases), min_names, weights)
    covers = [_cover(wording, text) for text in texts] if wording.terms else []
    best = max(range(len(covers)), key=lambda index: covers[index][0], default=0)
    return [(best, start, end) for start, end in covers[best][1]] if covers else []


@dataclass(frozen=True, slots=True)
class _Wording:
    """What carrying sentences contain: all numbers, most words, ``min_names`` names; and the weight of each feature."""

    terms: frozenset[str]
    names: tuple[Phrase, ...]
    min_names: float
    weights: Mapping[str | Phrase, int]

    def lacking(self, chosen: Sequence[SourceSentence]) -> list[Phrase]:
        """Return the numbers that no chosen sentence contains; also words and names, where too few are contained."""
        missing = self._missing(chosen)
        names = [name for name in self.names if not any(sentence.contains(name) for sentence in chosen)]
        too_few_words = self._too_few_words(missing)
        terms: list[Phrase] = [(term,) for term in sorted(missing) if too_few_words or term[0].isnumeric()]
        return [*terms, *names] if len(self.names) - len(names) < self.min_names else terms

    def carried_by(self, chosen: Sequence[SourceSentence]) -> bool:
        missing = self._missing(chosen)
        return not self._too_few_words(missing) and not any(term[0].isnumeric() for term in missing)

    def _missing(self, chosen: Sequence[SourceSentence]) -> frozenset[str]:
        return self.terms.difference(*(sentence.terms for sentence in chosen))

    def _too_few_words(self, missing: frozenset[str]) -> bool:
        # Names alone prove nothing about what is said of them, so half of the other words are asked for.
        others = self.terms.difference(*self.names)
        too_few_others = len(missing & others) > max(1, len(others) / 2)
        return too_few_others or len(missing) > (1 - _MIN_SHARE_OF_WORDS) * len(self.terms)


def _cover(wording: _Wording, text: str) -> tuple[int, list[_Place]]:
    """Return the weight of the best sentence, and the spans that carry the wording; 0 and [] where none do."""
    sentences = _sentences(text)
    weights = [sum(wording.weights.get(feature, 0) for feature in sentence.features) for sentence in sentences]
    if not any(weights):
        return 0, []
    first = weights.index(max(weights))
    chosen = [first]
    while len(chosen) < _MAX_SENTENCES and (lacking := wording.lacking([sentences[at] for at in chosen])):
        others = [at for at in range(len(sentences)) if at not in chosen]
        gains = {at: sum(sentences[at].contains(phrase) for phrase in lacking) for at in others}
        best = max(others, key=lambda at: (gains[at], at < first, -abs(at - first)), default=first)
        if not gains.get(best):
            break
        chosen.append(best)
    if not wording.carried_by([sentences[at] for at in chosen]):
        return 0, []
    return weights[first], _spans([sentences[at] for at in sorted(chosen)], sentences, text)


def _spans(chosen: Sequence[SourceSentence], sentences: Sequence[SourceSentence], text: str) -> list[_Place]:
    """Return chosen sentences as spans: neighbours are one, but none goes over the line of another entry."""
    spans: list[_Place] = []
    following = dict(pairwise(sentences))
    for last, one in zip([None, *chosen], chosen, strict=False):
        if last is not None and following.get(last) == one and not opens_entry(text, one.start):
            spans[-1] = spans[-1][0], one.end
        else:
            spans.append((one.start, one.end))
    return spans


@lru_cache(maxsize=256)
def _sentences(text: str) -> tuple[SourceSentence, ...]:
    spans = [(start, end, _terms(text[start:end])) for start, end in split(text)]
    return tuple(SourceSentence(start, end, terms, _features(terms)) for start, end, terms in spans)


def _terms(text: str) -> Phrase:
    """Return the stemmed content words of a text in order; numbers are apart from letters and from each other."""
    return tuple(stem(term) for word in words(text) if word not in STOP_WORDS for term in _TERM.findall(word))


def _features(terms: Phrase) -> Features:
    return frozenset(terms) | frozenset(pairwise(terms))
