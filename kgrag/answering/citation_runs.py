"""Citations of one sentence that stand near each other in a text, joined into one run of it.

A model quotes the words that it used: "Keeper Ann Lee shut", "for eleven days in April". Read alone, such pieces leave
open what was shut, or what a setting is called whose default they have; what stands between them says it. Whole
sentences stay apart.

Names alone ("Rye, Hill Zone") say nothing of each other. They are cited with their sentence; a row of a table with the
header of its columns; and an item of a list with the line that introduces it, or a heading with the sentence below it.

A model copies text with set line ends line by line, as it may not leave them out: "When there are five members or fewer
for a week the". Such a quote, and a condition without what holds under it ("If the candidate is preemptable"), is cited
with its sentence.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace

import regex

from kgrag.answering.evidence_pieces import SourceChunk
from kgrag.answering.manual_entries import same_entry
from kgrag.answering.source_sentences import touched
from kgrag.late_patterns import late_regex
from kgrag.model import Citation
from kgrag.text.sentences import split, word_set, words

__all__ = ["in_runs"]

_MAX_GAP = 250
"""Characters between two citations of a chunk that are joined, at most."""
_MIN_WORDS_ALONE = 4
_MAX_WORDS_OF_A_TERM = 8
_SENTENCE_ENDS = (".", "!", "?", "…")
_MAX_SENTENCE = 500
"""Characters of a sentence that a line or a condition is cited with, at most."""
_MIN_WRAPPED = 35
"""Characters of a line that its sentence may go on behind, at least."""
_CONDITION = late_regex(
    r"\W*(?:if|when|whenever|unless|although|wenn|falls|sofern|sobald|si|lorsque|quand)\b", flags=regex.IGNORECASE
)
_BELOW_A_TERM = late_regex(r"\n(?:[ \t]*\n\s*|[ \t]{2,})(?=\S)")
_MAX_RUN = 700
"""Characters of what citations are joined into, at most."""
_BETWEEN_CELLS = " | "
_BETWEEN_NAMES = word_set("a an and at by de del der die du for from in la le of on or the to und van von with y")
_WORD = late_regex(r"[\p{L}\p{M}]+")
_LETTER_WITHOUT_CASE = late_regex(r"\p{Lo}")


def in_runs(
    citations: Sequence[Citation], sources: Mapping[str, SourceChunk], *, of_facts: Container[str] = ()
) -> tuple[Citation, ...]:
    """Return citations of one sentence, those near a fragment as one with it, at the place of the first of them.

    Args:
        citations: of one sentence of an answer.
        sources: chunks by IRI; a citation of another chunk, or of a model's words, stays as it is.
        of_facts: chunks that facts are cited from, whose values are whole as they are: terms alone are fragments there.
    """
    citations = [_with_its_sentence(one, sources[one.chunk]) if one.chunk in sources else one for one in citations]
    places = [one for one in dict.fromkeys(citations) if one.chunk in sources and not one.derived]
    runs: list[list[Citation]] = []
    for one in sorted(places, key=lambda one: (one.chunk, one.start)):
        if runs and (_overlap(runs[-1], one) or _belong_together(runs[-1], one, sources[one.chunk], of_facts)):
            runs[-1].append(one)
        else:
            runs.append([one])
    joined = {one: whole for run in runs for whole in [_joined(run, sources[run[0].chunk])] for one in run}
    whole = list(dict.fromkeys(joined.get(one, one) for one in citations))
    telling = [one for one in joined.values() if one.chunk not in of_facts]
    told = [each for one in whole for each in (_telling(one, sources[one.chunk]) if one in telling else [one])]
    return _in_reading_order([one for one in dict.fromkeys(told) if not any(_is_within(one, each) for each in told)])


def _with_its_sentence(one: Citation, source: SourceChunk) -> Citation:
    """Return a citation that is a line of a wrapped sentence, or a condition alone, as the whole of that sentence."""
    start = one.start - source.span.start
    end = start + len(one.quote)
    around = [] if one.derived else [span for span in split(source.text) if span[0] < end and span[1] > start]
    if not around or around[-1][1] - around[0][0] > _MAX_SENTENCE:
        return one
    first, last = around[0][0], around[-1][1]
    begins, ends = _line(source.text, start), _line(source.text, end)
    above = _line(source.text, max(begins[0] - 1, 0))
    if first < start and not source.text[begins[0] : start].strip() and _is_wrapped(above):
        start = first
    is_cut = not source.text[end : ends[1]].strip() and _is_wrapped(ends)
    if end < last and (is_cut or (start == first and _CONDITION.match(one.quote))):
        end = last
    return _at(one, source, (start, end))


def _is_wrapped(line: tuple[int, int]) -> bool:
    """Return whether a line is so long that its sentence may go on in the next: items of a list are short."""
    return line[1] - line[0] >= _MIN_WRAPPED


def _in_reading_order(citations: Sequence[Citation]) -> tuple[Citation, ...]:
    """Return citations with those of a chunk in the order of its text: a term before what is said of it."""
    by_chunk = {
        one.chunk: iter(sorted((each for each in citations if each.chunk == one.chunk), key=_place))
        for one in citations
    }
    return tuple(next(by_chunk[one.chunk]) for one in citations)


def _place(one: Citation) -> tuple[int, int]:
    return one.start, one.end


def _telling(one: Citation, source: SourceChunk) -> Iterator[Citation]:
    """Yield a citation with the words around that it needs to say something, those further off before it."""
    place = one.start - source.span.start, one.end - source.span.start
    row = _line(source.text, place[0])
    if _BETWEEN_CELLS in source.text[slice(*row)] and "\n" not in one.quote:
        header = _header(source.text, row)
        if header is not None and row[0] - header[1] > 1:
            yield _at(one, source, header)
        adjacent = header is not None and row[0] - header[1] <= 1
        yield _at(one, source, (header[0] if header and adjacent else row[0], row[1]))
    elif _says_something(one.quote):
        yield one
    else:
        yield _at(one, source, _saying(source.text, place))


def _says_something(text: str) -> bool:
    """Return whether a text is more than names: it has a word in small letters that is not only between names.

    >>> _says_something("Rye and Oats, Hill Zone"), _says_something("Rye grows in the Hill Zone")
    (False, True)
    """
    small = (word for word in _WORD.findall(text) if word[0].islower())
    return _LETTER_WITHOUT_CASE.search(text) is not None or any(word not in _BETWEEN_NAMES for word in small)


def _saying(text: str, place: tuple[int, int]) -> tuple[int, int]:
    """Return a place that says something with that of names: its sentence, else up to the line that is about it."""
    spans = [span for span in split(text) if span[0] < place[1] and span[1] > place[0]]
    start, end = min([place[0], *(first for first, _ in spans)]), max([place[1], *(last for _, last in spans)])
    if _says_something(text[start:end]):
        return start, end
    for first, last in reversed([span for span in split(text) if span[1] <= start]):
        if _says_something(text[first:last]):
            paragraphs = text[last:start].count("\n\n")  # the items of a list are one
            if paragraphs <= text[first:last].endswith(":") and end - first <= _MAX_RUN:
                return first, end
            break
    below = next((span for span in split(text) if span[0] >= end), None)
    if below is not None and _says_something(text[slice(*below)]) and below[1] - start <= _MAX_RUN:
        return start, below[1]
    return place


def _line(text: str, at: int) -> tuple[int, int]:
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    return start, end if end >= 0 else len(text)


def _header(text: str, row: tuple[int, int]) -> tuple[int, int] | None:
    """Return the first line of the table that a row is in, where that has no number; None for none, or the row."""
    first = row
    while first[0] > 0 and _BETWEEN_CELLS in text[slice(*(above := _line(text, first[0] - 1)))]:
        first = above
    is_header = first != row and not any(character.isdigit() for character in text[slice(*first)])
    return first if is_header else None


def _at(one: Citation, source: SourceChunk, place: tuple[int, int]) -> Citation:
    start, end = place
    return replace(one, quote=source.text[start:end], start=source.span.start + start, end=source.span.start + end)


def _is_within(one: Citation, other: Citation) -> bool:
    same = one.chunk == other.chunk and not one.derived and not other.derived and one != other
    return same and other.start <= one.start and one.end <= other.end


def _is_fragment(one: Citation, source: SourceChunk) -> bool:
    """Return whether a citation is no whole sentence, or one of so few words that it is a term or heading."""
    around = touched(source.text, one.start - source.span.start, one.end - source.span.start)
    whole = source.text[around[0].start : around[-1].end] if around else one.quote
    is_term = len(words(one.quote)) < _MIN_WORDS_ALONE and not one.quote.rstrip().endswith(_SENTENCE_ENDS)
    return is_term or len(one.quote.strip()) < len(whole.strip())


def _begins_with_a_term(one: Citation, source: SourceChunk) -> bool:
    """Return whether a citation begins with a line of few words that has what it names below it, apart or indented."""
    line = _line(source.text, one.start - source.span.start)
    term = source.text[slice(*line)].strip()
    is_line = one.quote.strip().startswith(term) and _BELOW_A_TERM.match(source.text, line[1]) is not None
    return is_line and len(words(term)) < _MAX_WORDS_OF_A_TERM and not term.endswith((*_SENTENCE_ENDS, ":"))


def _is_near(run: Sequence[Citation], one: Citation) -> bool:
    end = max(each.end for each in run)
    near = one.start - end <= _MAX_GAP and max(end, one.end) - run[0].start <= _MAX_RUN
    return run[0].chunk == one.chunk and near


def _overlap(run: Sequence[Citation], one: Citation) -> bool:
    return any(each.chunk == one.chunk and each.end > one.start for each in run)


def _belong_together(run: Sequence[Citation], one: Citation, source: SourceChunk, of_facts: Container[str]) -> bool:
    """Return whether a citation is near a run of its entry, and one of them is a fragment or begins with a term."""
    is_near = _is_near(run, one) and _is_of_one_entry(run[0], one, source)
    return is_near and any(
        _begins_with_a_term(each, source) or (each.chunk not in of_facts and _is_fragment(each, source))
        for each in (*run, one)
    )


def _is_of_one_entry(first: Citation, one: Citation, source: SourceChunk) -> bool:
    return same_entry(source.text, first.start - source.span.start, one.start - source.span.start)


def _joined(run: Sequence[Citation], source: SourceChunk) -> Citation:
    first = source.span.start
    return _at(run[0], source, (run[0].start - first, max(one.end for one in run) - first))
