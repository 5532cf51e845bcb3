"""Entries of reference manuals: the line that names an option, what is said below it, and where the next one begins.

"Maximum of 8 characters." is true of the directive whose line stands above it, and the same words may stand in the
entry below. A line names its entry by its first word where that is written as in a program (``NAME <string>``,
``MODE [ H | L ]``), else by all its words before a bracket. What opens a paragraph in small letters is the name of a
choice ("disable prevents …"); and a short line with a colon ("For a small gate:") names what the text below it is
about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import regex

from kgrag.answering.evidence_pieces import SourceChunk
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import labels_in
from kgrag.text.sentences import STOP_WORDS, content_words, split, words

__all__ = [
    "entries_named",
    "entry_end",
    "entry_lines",
    "entry_of",
    "is_line_of_another",
    "line_naming",
    "names_entry",
    "opens_entry",
    "same_entry",
]

_MAX_WORDS_OF_A_LINE = 14
_MAX_WORDS_OF_A_COLON_LINE = 8
_MAX_WORDS_OF_A_NAME = 5
_MIN_WORDS_OF_A_CHOICE = 4
"""Of the sentence that names a choice; a shorter one is no more than a term."""
_MAX_CHUNKS_BEFORE = 3
"""Chunks before a citation's whose lines may name its entry, at most."""
_CHOICES = late_regex(r"(?:\A|(?<=\n[ \t]*\n))[ \t]*(?P<line>\p{L}[^\n]{0,110} \|[^\n]*?)[ \t]*(?=\n[ \t]*\n|\n?\Z)")
_COLON_LINE = late_regex(r"(?:\A|(?<=\n[ \t]*\n))[ \t]*(?P<line>[^\n]{3,80}:)[ \t]*(?=\n[ \t]*\n|\n?\Z)")
_OPENS_SMALL = late_regex(r"(?:\A|\n[ \t]*\n)[ \t]*(?P<name>\p{Ll}[\p{Ll}\p{N}_-]+)(?=\s+\p{Ll})")
_SENTENCE_END = late_regex(r"[.!?:;,…]$")
_COLUMNS = late_regex(r"\S {2,}\S+ {2,}\S")
_CODE = late_regex(r"-{1,2}\p{L}[\w-]*|(?=[^\s]*[\p{Lu}\p{N}_])(?!\p{Lu}?\p{Ll}+\b)\p{L}[\w.-]*\w")
_BEHIND_NAME = late_regex(r"\s*[<\[({|=,].*", flags=regex.DOTALL)

_Place = tuple[int, int]
LookBefore = Callable[[str], SourceChunk | None]


@lru_cache(maxsize=512)
def entry_lines(text: str) -> tuple[_Place, ...]:
    r"""Return where the lines are that name the entries of a text, in order.

    >>> text = "NAME <string>\n\nName of the gate.\n\nMODE [ H | L ]\n\nHigh or low."
    >>> [text[start:end] for start, end in entry_lines(text)]
    ['NAME <string>', 'MODE [ H | L ]']
    """
    choices = [
        match.span("line")
        for match in _CHOICES.finditer(text)
        if len(match["line"].split()) <= _MAX_WORDS_OF_A_LINE and not _SENTENCE_END.search(match["line"])
    ]
    labels = [line for line in labels_in(text) if _is_of_an_entry(text[slice(*line)])]
    return tuple(sorted({*labels, *choices}))


def _is_of_an_entry(line: str) -> bool:
    """Return whether a label names an entry: it is no row of figures, and its name is short."""
    name, _ = _name(line)
    return not _COLUMNS.search(line) and "\n\n" not in line and 0 < len(words(name)) <= _MAX_WORDS_OF_A_NAME


def entry_of(text: str, at: int) -> _Place | None:
    """Return the line of the entry that a place is in; None above the first."""
    return next((line for line in reversed(entry_lines(text)) if line[0] <= at), None)


def entry_end(text: str, line: _Place) -> int:
    """Return where the entry of a line ends: where the next one begins."""
    return next((start for start, _ in entry_lines(text) if start > line[0]), len(text))


def opens_entry(text: str, at: int) -> bool:
    """Return whether the line of an entry begins at a place."""
    return any(start == at for start, _ in entry_lines(text))


def is_line_of_another(text: str, at: int, place: int) -> bool:
    """Return whether the line of an entry begins at a place which another place is not in the entry of."""
    return opens_entry(text, at) and not same_entry(text, at, place)


def same_entry(text: str, first: int, second: int) -> bool:
    """Return whether two places are in one entry, or both above the first."""
    return entry_of(text, first) == entry_of(text, second)


def _name(line: str) -> tuple[str, bool]:
    """Return the name of an entry, and whether it is written as in a program.

    >>> _name("NAME <string>"), _name("ANNOY time in seconds"), _name("quick mode (default)")
    (('NAME', True), ('ANNOY', True), ('quick mode', False))
    """
    line = line.strip()
    first, _, rest = line.partition(" ")
    code = _CODE.match(first)
    is_heading = rest[:1].isupper()  # "GPS Receivers"
    return (code[0], True) if code and not is_heading else (_BEHIND_NAME.sub("", line), False)


def names_entry(text: str, line: str) -> bool:
    """Return whether a text has the name of the entry of a line."""
    name, is_code = _name(line)
    if is_code:
        return _has_word(text, name)
    wanted = set(content_words(name))
    return bool(wanted) and wanted <= set(content_words(text))


def _has_word(text: str, name: str) -> bool:
    return regex.search(rf"(?<![\w-]){regex.escape(name)}(?![\w-])", text) is not None


def entries_named(text: str, names: Iterable[str]) -> Iterator[_Place]:
    """Yield the lines of entries that are called as one of some names: ``NAME <string>`` as NAME."""
    wanted = [spelt for name in names if (spelt := words(name)) and any(map(str.isalpha, name))]
    for start, end in entry_lines(text):
        called = words(_name(text[start:end])[0])
        if any(called[: len(spelt)] == spelt for spelt in wanted):
            yield start, end


def line_naming(
    claim: str, source: SourceChunk, quote: _Place, shown: str, before: LookBefore | None
) -> Iterator[tuple[SourceChunk, _Place]]:
    """Yield the lines that name what a quote is about, where a claim names it and the quote and what is shown do not.

    Args:
        claim: a sentence of an answer.
        source: the chunk of the quote.
        quote: its characters in the chunk.
        shown: title and heading that are shown with it.
        before: returns the chunk before another; None where that is not looked up.
    """
    told = f"{shown}\n{source.text[slice(*quote)]}"
    choice = _choice_of(source.text, quote[0], claim)
    if choice and not _has_word(told, source.text[choice[0] : choice[1]].split()[0]):
        yield source, choice
    chunks = [source]
    for find in (_last_entry_line, _last_colon_line):
        for at in range(_MAX_CHUNKS_BEFORE + 1):
            if at == len(chunks):
                previous = before(chunks[-1].span.chunk) if before else None
                if previous is None or previous.heading_at(len(previous.text)) != source.heading_at(quote[0]):
                    break
                chunks.append(previous)
            line = find(chunks[at].text, quote[0] if at == 0 else len(chunks[at].text))
            if line is None:
                continue
            named = chunks[at].text[slice(*line)]
            if names_entry(claim, named) and not names_entry(told, named):
                yield chunks[at], line
            break


def _choice_of(text: str, at: int, claim: str) -> _Place | None:
    """Return the sentence with which the paragraph of a place opens, if that is a name in small letters of a claim."""
    opened = [match for match in _OPENS_SMALL.finditer(text) if match.start("name") <= at]
    last = opened[-1] if opened else None
    if last is None or "\n\n" in text[last.start("name") : at] or last["name"] in STOP_WORDS:
        return None
    sentence = next((span for span in split(text) if span[0] == last.start("name")), None)
    says = sentence is not None and len(words(text[slice(*sentence)])) >= _MIN_WORDS_OF_A_CHOICE
    return sentence if says and _has_word(claim, last["name"]) else None


def _last_entry_line(text: str, at: int) -> _Place | None:
    return entry_of(text, at)


def _last_colon_line(text: str, at: int) -> _Place | None:
    """Return the last short line by itself before a place that ends in a colon ("For a small gate:")."""
    found = [match.span("line") for match in _COLON_LINE.finditer(text) if match.end("line") <= at]
    short = [line for line in found if len(text[slice(*line)].split()) <= _MAX_WORDS_OF_A_COLON_LINE]
    return short[-1] if short else None
