"""Adds to the citations of a sentence what they lack: the words around a quote, and the lines that name its subject.

A model copies the words that hold an answer, "with a moisture content of 10 to 12 %", and leaves out what they are
about; and texts name a thing once and say "this parameter", "it" or "the zone" from then on. Whoever reads such a
citation alone cannot tell what it is true of. So the words of a sentence are looked up in what it cites, as a reader
sees that: with the title of its document. Where some are missing, a quote is cited with the rest of its own sentence if
that has any of them; then the nearest sentences that have them are cited as well, few, and those with names first.
Before all comes the line that introduces a list or a block of settings ("The following are the defaults with 2.6:"): an
item is true of what that line says, and the line may end the chunk before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import regex

from kgrag.answering.evidence_pieces import EvidencePiece, SourceChunk
from kgrag.answering.manual_entries import is_line_of_another, line_naming, opens_entry, same_entry
from kgrag.answering.opening_words import OPENING_STEMS
from kgrag.answering.source_sentences import Carried, SourceSentence, touched
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.term_lines import term_line
from kgrag.model import Citation
from kgrag.text.sentences import STOP_WORDS, split, stem, words

__all__ = ["completed"]

_MAX_ADDED = 2
"""Citations that are added to a sentence, at most."""
_MIN_GAIN = 3
"""What an added citation is worth at least: a name is worth 3, a word that is asked for or rare 2, any other 1."""
_RARE = 0.05
"""Share of the sentences of the evidence that have a rare word, at most; two sentences may in any case."""
_MIN_LEAD_IN_GAIN = 2
"""What a line that introduces a list is worth at least: a word that is asked for, or a name."""
_MAX_LEAD_IN_DISTANCE = 1500
"""Characters between such a line and an item of its list, at most."""
_MAX_GAP = 60
"""Characters between two citations that are left out; fewer are cited with them as one."""
_MAX_GAP_IN_ENTRY = 250
"""The same between the sentence that names a choice and what is cited of the paragraph that it opens."""
_MAX_SENTENCE_CHARACTERS = 900
"""A longer "sentence" is a table or a list without marks, and a quote from it is cited as it is."""
_NAME = late_regex(r"(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{M}\p{N}.]*(?:[ '’&-]{1,2}\p{Lu}[\p{L}\p{M}\p{N}.]*)*")
_CODE = late_regex(r"(?<!\S)[\"'“‘(]*(-{1,2}\p{L}[\w-]*|\p{L}\w*(?:[_./-]\w+)*(?:[_/\d]\w*|\.\w+)(?:[_./-]\w+)*)")
_TELLS_A_NAME = late_regex(r"(?<!^)\p{Lu}|\p{N}")
"""What a word that begins a sentence has if it is a name anyway: a capital further on, or a digit."""
_REFERENCE = late_regex(
    r"\W*(?:it|its|this|that|these|those|they|their|he|his|she|her|such|both|here|there(?! (?:is|are|was|were|may|must"
    r"|can|will|has|have)\b)|otherwise|then|the (?:latter|former|same))\b",
    regex.IGNORECASE,
)
_LEADS_IN = late_regex(r":\s*$|\b(?:the following|as follows|listed below|these are)\b", regex.IGNORECASE)
_LEADS_IN_HERE = late_regex(rf":\s|{_LEADS_IN.pattern}", regex.IGNORECASE)
"""The same of the last line of a chunk, which may have the first items of its list behind it."""
_TERM = late_regex(r"\p{N}+(?:[.,]\p{N}+)*|[\p{L}\p{M}]+")
_COORDINATION = late_regex(r"\b(?:and|or|than|versus)\b")
"""What stands between the parts of a question that are answered one by one."""

_Words = frozenset[str]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The words that citations should have, each with what it is worth, and those that are names in the claim."""

    worth: Mapping[str, int]
    named: _Words

    @classmethod
    def of(cls, claim: str, question: str, texts: Iterable[str], headings: _Words) -> _Wanted:
        """Return the words of a claim, and the names of its question beyond headings; ``texts`` say what is rare."""
        own, named = _words(claim) - OPENING_STEMS, _words(" ".join(_names(claim)))
        names = named | (_words(" ".join(_asked_names(question, own))) - headings)
        sentences = [_words(text[start:end]) for text in texts for start, end in split(text)]
        most = max(2, _RARE * len(sentences))
        counts = Counter(word for sentence in sentences for word in sentence & own)
        telling = own & (_words(question) | {word for word in own if counts[word] <= most})
        return cls({word: 3 if word in names else 2 if word in telling else 1 for word in own | names}, named)

    def gain(self, text: str, known: _Words) -> int:
        """Return what a text is worth beside the words that are known."""
        return sum(self.worth.get(word, 0) for word in _words(text) - known)

    def all_in(self, known: _Words) -> bool:
        """Return whether every word is known."""
        return known.issuperset(self.worth)


def completed(
    claim: str,
    question: str,
    carried: Sequence[Carried],
    evidence: Sequence[EvidencePiece],
    *,
    before: Callable[[str], SourceChunk | None] | None = None,
    titles: Mapping[str, str] = MappingProxyType({}),
) -> list[Carried]:
    """Return the citations of a claim with the words around them and the lines before them that it needs.

    Args:
        claim: a sentence of an answer.
        question: what was asked; what it names should be named by what is cited.
        carried: the citations of the quotes of the claim, at least one.
        evidence: what the model was shown; lines are cited from the chunks behind it.
        before: returns the chunk that stands before a chunk in its document; None where that is not looked up.
        titles: document -> title, which is shown with each citation; those of evidence that has its own need not be.

    Returns:
        At most two citations more, in the order of the claim's; those that overlap are one.
    """
    chunks = {source.span.chunk: source for piece in evidence for source in piece.sources}
    headings = _words("\n".join(_shown_with(carried, evidence, "heading")))
    known_titles = (titles.get(one.citation.document, "") for one in carried)
    sections = (_section(one, chunks) for one in carried)
    title_words = _words("\n".join([*_shown_with(carried, evidence, "title"), *known_titles, *sections]))
    wanted = _Wanted.of(claim, question, [source.text for source in chunks.values()], headings)
    found = _widened(carried, wanted, chunks, title_words)
    found = _with_lines_naming(claim, found, chunks, titles, before)
    for _ in range(_MAX_ADDED):
        known = title_words | _cited_words(found)
        if wanted.all_in(known):
            break
        line = _defined(found, wanted, known, chunks) or _lead_in(found, wanted, known, chunks, before)
        line = line or _nearest(found, wanted, known, chunks, evidence) or _named_before(found, wanted, known, before)
        if line is None:
            break
        found = _with_line(found, *line)
    return _joined(found, chunks)


def _shown_with(carried: Sequence[Carried], evidence: Iterable[EvidencePiece], name: str) -> Iterator[str]:
    """Yield the title or the heading that is shown with citations."""
    cited = {one.citation.chunk for one in carried}
    for piece in evidence:
        if any(source.span.chunk in cited for source in piece.sources):
            yield str(piece.hit.attributes.get(name) or "")


def _section(one: Carried, chunks: Mapping[str, SourceChunk]) -> str:
    """Return the heading that is shown with a citation: that of the section that it is in."""
    source = chunks.get(one.citation.chunk)
    return source.heading_at(one.citation.start - source.span.start) if source else ""


def _widened(
    carried: Sequence[Carried], wanted: _Wanted, chunks: dict[str, SourceChunk], titles: _Words
) -> list[Carried]:
    """Return citations, each with its whole sentences where these have words that no citation has."""
    found = list(carried)
    for at, one in enumerate(found):
        source = chunks.get(one.citation.chunk)
        known = titles | _cited_words(found)
        if source is None or wanted.all_in(known):
            continue
        around = _around(source, one)
        whole = source.text[around[0].start : around[-1].end] if around else ""
        if len(whole) <= _MAX_SENTENCE_CHARACTERS and wanted.gain(whole, known):
            found[at] = _cut(one, source, around[0].start, around[-1].end)
    return found


def _with_lines_naming(
    claim: str,
    carried: Sequence[Carried],
    chunks: dict[str, SourceChunk],
    titles: Mapping[str, str],
    before: Callable[[str], SourceChunk | None] | None,
) -> list[Carried]:
    """Return citations with the lines before them that name what they are about, where the claim does and they not."""
    found: list[Carried] = []
    for one in carried:
        here, source = [one], chunks.get(one.citation.chunk)
        if source is not None and not one.citation.derived:
            start = one.citation.start - source.span.start
            place = start, start + len(one.citation.quote)
            shown = f"{titles.get(one.citation.document, '')}\n{source.heading_at(start)}"
            for other, line in line_naming(claim, source, place, shown, before):
                chunks.setdefault(other.span.chunk, other)
                gap = _MAX_GAP if opens_entry(other.text, line[0]) else _MAX_GAP_IN_ENTRY
                here = _with_line(here, len(here) - 1, other, line, gap=gap)
        found += here
    return found


def _around(source: SourceChunk, one: Carried) -> list[SourceSentence]:
    start = one.citation.start - source.span.start
    return touched(source.text, start, start + len(one.citation.quote))


def _cited_words(found: Iterable[Carried]) -> _Words:
    return frozenset[str]().union(*(_words(f"{one.citation.quote} {one.citation.derived}") for one in found))


_Line = tuple[int, SourceChunk, tuple[int, int]]
"""The citation that a line belongs before, its chunk, its characters."""


def _defined(
    found: Sequence[Carried], wanted: _Wanted, known: _Words, chunks: Mapping[str, SourceChunk]
) -> _Line | None:
    """Return the line with the term that a citation defines, if it has what is missing; None for none."""
    for at, one in enumerate(found):
        source = chunks.get(one.citation.chunk)
        if source is None or one.citation.derived:
            continue
        line = term_line(source.text, one.citation.start - source.span.start)
        if line and wanted.gain(source.text[slice(*line)], known):
            return at, source, line
    return None


def _lead_in(
    found: Sequence[Carried],
    wanted: _Wanted,
    known: _Words,
    chunks: dict[str, SourceChunk],
    before: Callable[[str], SourceChunk | None] | None,
) -> _Line | None:
    """Return the line that introduces the list that a citation is from, if it has what is missing; None for none."""
    for at, one in enumerate(found):
        source = chunks.get(one.citation.chunk)
        if source is None or one.citation.derived:
            continue
        start = one.citation.start - source.span.start
        line = _last_line(source, start, _LEADS_IN)
        if line is None and start <= _MAX_LEAD_IN_DISTANCE and before and (previous := before(one.citation.chunk)):
            source, line = previous, _last_line(previous, len(previous.text), _LEADS_IN_HERE, lines=1)
        if line and wanted.gain(source.text[slice(*line)], known) >= _MIN_LEAD_IN_GAIN:
            chunks.setdefault(source.span.chunk, source)
            return at, source, line
    return None


def _last_line(
    source: SourceChunk, end: int, pattern: regex.Pattern[str], *, lines: int | None = None
) -> tuple[int, int] | None:
    """Return the last line before a place that has a pattern, of so many lines, near enough; None for none."""
    spans = [span for span in split(source.text) if span[1] <= end and end - span[1] <= _MAX_LEAD_IN_DISTANCE]
    for start, stop in reversed(spans[-lines:] if lines else spans):
        if stop - start <= _MAX_SENTENCE_CHARACTERS and pattern.search(source.text[start:stop]):
            return start, stop
    return None


def _nearest(
    found: Sequence[Carried],
    wanted: _Wanted,
    known: _Words,
    chunks: dict[str, SourceChunk],
    evidence: Sequence[EvidencePiece],
) -> _Line | None:
    """Return the line that has most of what is missing; of equals the nearest before a citation; None for none."""
    best: tuple[int, int] = (0, 0)
    line: _Line | None = None
    for at, one in enumerate(found):
        source = chunks.get(one.citation.chunk)
        if source is None or one.citation.derived:
            continue
        start = one.citation.start - source.span.start
        refers = _REFERENCE.match(one.citation.quote) is not None
        for begin, end in split(source.text):
            gain = 0 if is_line_of_another(source.text, begin, start) else wanted.gain(source.text[begin:end], known)
            before = end <= start
            needed = 1 if refers and before and not source.text[end:start].strip() else _MIN_GAIN
            distance = start - end if before else begin - start + len(source.text)
            if gain >= needed and end - begin <= _MAX_SENTENCE_CHARACTERS and (gain, -distance) > best:
                best, line = (gain, -distance), (at, source, (begin, end))
    return line or _elsewhere(found, wanted, known, evidence)


def _elsewhere(
    found: Sequence[Carried], wanted: _Wanted, known: _Words, evidence: Sequence[EvidencePiece]
) -> _Line | None:
    """Return the first line of other chunks of the evidence that has a missing name of the claim; None for none."""
    cited, missing = {one.citation.chunk for one in found}, wanted.named - known
    for piece in evidence:
        for source in piece.sources:
            spans = [] if source.span.chunk in cited else split(source.text)
            for begin, end in spans:
                if end - begin <= _MAX_SENTENCE_CHARACTERS and (_words(source.text[begin:end]) & missing):
                    return len(found), source, (begin, end)
    return None


def _named_before(
    found: Sequence[Carried], wanted: _Wanted, known: _Words, before: Callable[[str], SourceChunk | None] | None
) -> _Line | None:
    """Return the last line of a chunk before that has a name of the claim which nothing shown has; None for none."""
    missing = wanted.named - known
    for at, one in enumerate(found if before and missing else ()):
        source = before(one.citation.chunk) if before and not one.citation.derived else None
        for begin, end in reversed(split(source.text) if source else []):
            if source and end - begin <= _MAX_SENTENCE_CHARACTERS and _words(source.text[begin:end]) & missing:
                return at, source, (begin, end)
    return None


def _with_line(
    found: Sequence[Carried], at: int, source: SourceChunk, place: tuple[int, int], *, gap: int = _MAX_GAP
) -> list[Carried]:
    """Return citations with a line before one of them, or as one with it where little stands between them."""
    model = found[min(at, len(found) - 1)]
    line = _cut(replace(model, about=()), source, *place)
    if at < len(found) and found[at].citation.chunk == source.span.chunk:
        start = found[at].citation.start - source.span.start
        end = start + len(found[at].citation.quote)
        near = max(start - place[1], place[0] - end) <= gap
        if near and same_entry(source.text, start, place[0]):
            return [*found[:at], _cut(found[at], source, min(start, place[0]), max(end, place[1])), *found[at + 1 :]]
    return [*found[:at], line, *found[at:]]


def _cut(one: Carried, source: SourceChunk, start: int, end: int) -> Carried:
    """Return a citation of other characters of a chunk."""
    span = source.span
    citation = replace(
        one.citation,
        quote=source.text[start:end],
        document=span.document,
        chunk=span.chunk,
        start=span.start + start,
        end=span.start + end,
        derived="",
    )
    return replace(one, citation=citation, sentences=source.text[start:end])


def _joined(found: Sequence[Carried], chunks: Mapping[str, SourceChunk]) -> list[Carried]:
    """Return citations without repeats; those of one chunk that overlap are one."""
    kept: list[Carried] = []
    for one in found:
        here = one.citation
        at = next((place for place, other in enumerate(kept) if _overlap(other.citation, here)), None)
        source = chunks.get(here.chunk)
        if at is None or source is None:
            kept.append(one)
            continue
        ends = min(kept[at].citation.start, here.start), max(kept[at].citation.end, here.end)
        kept[at] = _cut(kept[at], source, ends[0] - source.span.start, ends[1] - source.span.start)
    return kept


def _overlap(one: Citation, other: Citation) -> bool:
    same = one.chunk == other.chunk and not one.derived and not other.derived
    return one == other or (same and one.start < other.end and other.start < one.end)


def _names(text: str) -> list[str]:
    """Return the names of a text, and what is written as in a program; not words that only begin a sentence."""
    opening = {start for start, _ in split(text)}
    names = []
    for match in _NAME.finditer(text):
        first, _, rest = match[0].partition(" ")
        common = match.start() in opening and not _TELLS_A_NAME.search(first)
        names.append(rest if common else match[0])
    return [*names, *_CODE.findall(text)]


def _asked_names(question: str, claim: _Words) -> list[str]:
    """Return the names of a question, without those of a part that a claim is not about.

    "How many packages has Rex, and how many has Bo?" asks two things. A claim that names Bo is about the second: a line
    that names Rex would only tell a reader that it may be about Rex.
    """
    asked = [name for name in _names(question) if _words(name)]
    parts = [[name for name in asked if name in part] for part in _COORDINATION.split(question)]
    about = [names for names in parts if any(_words(name) <= claim for name in names)]
    return [name for names in about or [asked] for name in names]


@lru_cache(maxsize=1024)
def _words(text: str) -> _Words:
    """Return the stemmed content words of a text; letters, numbers and signs are apart from each other."""
    return frozenset(
        stem(term) for word in words(text) if word not in STOP_WORDS for term in _TERM.findall(word.replace("_", " "))
    )
