r"""Chunks: spans of a document of at most so many tokens, cut where a reader would pause.

A *token* is a word segment of Unicode Standard Annex 29 that is not whitespace: a word, a number, a punctuation mark,
an emoji sequence, an ideograph, a letter of Thai. Two segments that share a grapheme cluster count as one. Hence:

- no chunk is cut inside a word or a grapheme cluster; a word is one token, so a long one stays whole;
- every character that is not whitespace is in exactly one chunk, and ``document.text[start:end] == chunk.text``;
- chunks do not overlap, follow the order of the text, and begin and end with a token.

Sections (headings, pages) end a chunk, unless one is smaller than an eighth of the limit: that joins its successor (the
last one its predecessor). Rows of a table (sections that are ``whole``) share chunks, and none that fits into a chunk
is cut. Otherwise a chunk ends at the last blank line of its second half; else in its last two thirds at the last
sentence end, line end, comma, or space; else around a word of several tokens that fits into a chunk ("--an-option");
else before any token that may begin a line (text without spaces). Where what is left is little more than a chunk, it is
shared out so that no crumb remains at the end. A line that introduces the paragraph after it (a term before its
definition, a heading, what ends in a colon) stays with it where the chunk then is not less than a third of the limit. A
block of code that fits into a chunk is not cut, and stays with the sentence that introduces it
(``kgrag.text.code_blocks``).

>>> [piece.text for piece in chunk(Document("Sow in June. Weed twice.\n\nHarvest in autumn."), tokens=8)]
['Sow in June. Weed twice.', 'Harvest in autumn.']
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby, islice, pairwise

import regex

from kgrag.errors import InvalidSettings
from kgrag.late_patterns import late_re, late_regex
from kgrag.model import Chunk, Document, Section
from kgrag.text import sentences
from kgrag.text.code_blocks import code_blocks

__all__ = ["chunk", "context_before", "count_tokens", "statements_around"]

# A word boundary of Annex 29, and one that is none inside a grapheme cluster: Thai and Lao AM join the character before
# them, Prepend characters the one after, unless that is a control character. The second is slower and rarely needed.
_BORDER = r"\b"
_CONTROL = r"[\p{GCB=Control}\r\n]"
_CAREFUL_BORDER = rf"(?:\A|\Z|\b(?:(?<={_CONTROL})|(?={_CONTROL})|(?![\u0E33\u0EB3])(?<!\p{{GCB=Prepend}})))"
_SPACE = r"[\s\x1c-\x1f]"  # what str.isspace calls whitespace
_JOINS = late_regex(r"[\u0E33\u0EB3\p{GCB=Prepend}]")

# Each ends where the next chunk would begin; tried in this order.
_PARAGRAPH = late_re(r"\n[^\S\n]*\n\s*")
_LEAD_IN = late_re(r"\n[^\S\n]*\n[^\S\n]*(?P<line>[^\n]+)\n[^\S\n]*\n\s*\Z")
_ENDED = late_re(r"[.!?…。！？;；]['\"”’»)\]]*\s*\Z")
_MAX_LEAD_IN_CHARACTERS = 120
_MAX_CONTEXT_CHARACTERS = 3000
_MAX_PARAGRAPH_CHARACTERS = 400
_MAX_STATEMENT_CHARACTERS = 500
_MIN_STATEMENT_WORDS = 5
_PAUSES = (late_re(r"\n\s*"), late_re(r"[,;:،؛—–]\s+|[，、；：]\s*"), late_re(r"\s+"))
_FLAGS = late_re("[\U0001f1e6-\U0001f1ff]{64,}")
_LEADING_VOWELS = frozenset("เแโใไເແໂໃໄ")
_NOT_FIRST = frozenset(("Pe", "Pf", "Po", "Pd", "Lm"))
_NOT_LAST = frozenset(("Ps", "Pi"))


def chunk(document: Document, *, tokens: int = 180) -> list[Chunk]:
    """Cut a document into chunks; [] for a text without anything but whitespace.

    Args:
        document: a document as it was read.
        tokens: the largest chunk, in tokens as above; at least 1. A grapheme cluster is never cut, whatever its size.

    Raises:
        InvalidSettings: ``tokens`` is below 1.
    """
    if tokens < 1:
        raise InvalidSettings(f"chunks of {tokens} tokens: expected at least 1. The default is 180.")
    text = _tokenized(document.text)
    chunks: list[Chunk] = []
    rows = sorted(section.start for section in document.sections if section.whole)
    blocks = code_blocks(document.text, document.code)
    for stretch in _stretches(document, text, tokens):
        for start, end, size in _pieces(text, stretch, tokens, rows, blocks):
            piece, places = document.text[start:end], stretch.places(start, end)
            chunks.append(Chunk(piece, start, end, len(chunks), size, *places))
    return chunks


def count_tokens(text: str) -> int:
    """Count the words and punctuation marks of a text.

    >>> count_tokens("It's 3.5 kg, not 4.")
    7
    """
    tokenized = _tokenized(text)
    return len(tokenized.token.findall(tokenized.text))


def context_before(text: str, position: int) -> str:
    r"""Return what tells what the text at a position is about: the last line that introduces, and the paragraph before.

    A line that introduces is looked for in the 3,000 characters before; of a long paragraph the end is returned, from a
    sentence on. "" at the beginning of a text.

    >>> text = "Sowing\n\nSow in June, when the soil is warm.\n\nWeed twice."
    >>> context_before(text, text.index("Weed"))
    'Sowing\n\nSow in June, when the soil is warm.'
    """
    first = max(0, position - _MAX_CONTEXT_CHARACTERS)
    stretch = text[first:position].rstrip()
    ends = [match.end() for match in _PARAGRAPH.finditer(stretch)]
    last = _shortened(stretch[ends[-1] if ends else 0 :])
    opening = f"\n\n{stretch}" if first == 0 else stretch
    shift = len(opening) - len(stretch)
    lead = next((end for end in reversed(ends) if _introduces(opening, 0, end + shift)), None)
    if lead is None:
        return last
    line = stretch[:lead].rstrip().rpartition("\n")[2]
    between = "\n\n" if ends and lead == ends[-1] and not last.startswith("…") else "\n\n…\n\n"
    return f"{line}{between}{last}"


def statements_around(text: str, start: int, end: int) -> list[tuple[int, int]]:
    r"""Return places that say something with the words from ``start`` to ``end``, the shortest first.

    Each ends with their sentence. They begin with that sentence, where it has five words; their paragraph; or the
    line that introduces it, within 500 characters. There is at least one.

    >>> text = "max_workers (integer)\n\nSets the number of workers. The default is three. Read at start."
    >>> [text[slice(*place)] for place in statements_around(text, text.index("three"), text.index("three") + 5)][0]
    'Sets the number of workers. The default is three.'
    """
    paragraph = next((match.end() for match in reversed(list(_PARAGRAPH.finditer(text, 0, start)))), 0)
    within = [(first, last) for first, last in sentences.split(text) if first < end and last > start]
    sentence, last = (min(start, within[0][0]), max(end, within[-1][1])) if within else (start, end)
    firsts = [paragraph]
    if paragraph and _introduces(f"\n\n{text}", 0, paragraph + 2):
        firsts.append(text.rfind("\n", 0, len(text[:paragraph].rstrip())) + 1)
    if len(text[sentence:last].split()) >= _MIN_STATEMENT_WORDS:
        firsts.insert(0, sentence)
    near = [first for first in dict.fromkeys(firsts) if last - first <= _MAX_STATEMENT_CHARACTERS]
    return [(first, last) for first in near or [sentence]]


def _shortened(paragraph: str) -> str:
    """Return the end of a paragraph, from a sentence on, where it is long."""
    if len(paragraph) <= _MAX_PARAGRAPH_CHARACTERS:
        return paragraph
    starts = [start for start, _ in sentences.split(paragraph) if len(paragraph) - start <= _MAX_PARAGRAPH_CHARACTERS]
    return f"… {paragraph[starts[0] if starts else -_MAX_PARAGRAPH_CHARACTERS :]}"


@dataclass(frozen=True, slots=True)
class _TokenizedText:
    """A text, as long as the one that it replaces, with the patterns that find its tokens and their borders."""

    text: str
    token: regex.Pattern[str]
    border: regex.Pattern[str]

    def spans(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield start and end of every token in a stretch."""
        return (match.span() for match in self.token.finditer(self.text, start, end))

    def border_from(self, position: int) -> int:
        """Return the first border between tokens at or after a position."""
        match = self.border.search(self.text, position)
        return match.start() if match else len(self.text)


def _tokenized(text: str) -> _TokenizedText:
    """Prepare a text so that ``regex`` finds its tokens in linear time.

    Whether two flag letters pair up depends on how many precede them, which ``regex`` counts anew each time. Long runs
    are replaced by pairs of a symbol and a combining mark, which stay together in the same way.
    """
    if text.isascii():
        return _TokenizedText(text, *_patterns(_BORDER))
    text = _FLAGS.sub(lambda run: ("\u2610\u0301" * len(run[0]))[: len(run[0])], text)
    return _TokenizedText(text, *_patterns(_CAREFUL_BORDER if _JOINS.search(text) else _BORDER))


@cache
def _patterns(border: str) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    token = regex.compile(rf"(?w){border}(?!{_SPACE}+?{border}).+?{border}", flags=regex.DOTALL)
    return token, regex.compile(rf"(?w){border}")


_PageBreaks = tuple[tuple[int, int], ...]
_HeadingBreaks = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A stretch of text that chunks fill: one section, or small ones joined.

    ``page`` is the first one that is known, ``page_breaks`` where others begin, and which; likewise headings.
    """

    start: int
    end: int
    heading: str
    page: int
    page_breaks: _PageBreaks = ()
    heading_breaks: _HeadingBreaks = ()

    def places(self, start: int, end: int) -> tuple[str, int, _PageBreaks, _HeadingBreaks]:
        """Return heading and page with which a piece begins, and where in it other pages and headings do."""
        pages = [each for each in self.page_breaks if each[0] <= start]
        # The first piece is found by the heading of its stretch, which that of its first lines may only lead to.
        is_first = not any(at < start for at, _ in self.heading_breaks)
        headings = [] if is_first else [each for each in self.heading_breaks if each[0] <= start]
        return (
            headings[-1][1] if headings else self.heading,
            pages[-1][1] if pages else self.page,
            tuple(each for each in self.page_breaks if start < each[0] < end),
            tuple(each for each in self.heading_breaks[len(headings) :] if start <= each[0] < end),
        )

    @classmethod
    def of(cls, sections: Sequence[Section], text: str) -> _Stretch:
        """Return one stretch with heading and page of its first section, or of one nested directly under a heading."""
        chosen = sections[0]
        for section in sections[1:]:
            is_line = "\n" not in text[chosen.start : chosen.end].strip()
            if not chosen.heading or (is_line and section.heading.startswith(f"{chosen.heading} > ")):
                chosen = Section(section.start, section.end, section.heading, chosen.page or section.page)
            else:
                break
        paged = [section for section in sections if section.page]
        breaks = tuple((b.start, b.page) for a, b in pairwise(paged) if a.page != b.page)
        first = paged[0].page if paged else 0
        headings = tuple(_heading_breaks(sections, text, chosen.heading))
        return cls(sections[0].start, sections[-1].end, chosen.heading, chosen.page or first, breaks, headings)


def _heading_breaks(sections: Iterable[Section], text: str, heading: str) -> Iterator[tuple[int, str]]:
    """Yield where other headings than the one before begin, without first sections that are one line: their heading."""
    is_leading = True
    for section in sections:
        is_leading = is_leading and "\n" not in text[section.start : section.end].strip()
        if section.heading != heading and not (is_leading and heading.startswith(section.heading)):
            heading = section.heading
            yield section.start, heading


def _stretches(document: Document, text: _TokenizedText, tokens: int) -> Iterator[_Stretch]:
    """Yield stretches that cover the text, with borders between tokens, each of an eighth of ``tokens`` or more."""
    least = max(tokens // 8, 1)
    growing: list[Section] = []
    complete: list[Section] = []
    for section in _tables(_covering(document, text)):
        growing.append(section)
        if sum(1 for _ in islice(text.spans(growing[0].start, section.end), least)) == least:
            if complete:
                yield _Stretch.of(complete, document.text)
            complete, growing = growing, []
    if complete or growing:
        yield _Stretch.of([*complete, *growing], document.text)


def _covering(document: Document, text: _TokenizedText) -> Iterator[Section]:
    """Yield sections that cover the whole text in order; text outside of any gets one without heading or page."""
    position, length = 0, len(text.text)
    for section in sorted(document.sections, key=lambda section: (section.start, section.end)):
        start = text.border_from(max(section.start, position))
        end = text.border_from(section.end)
        if start >= end:
            continue
        if start > position and not text.text[position:start].isspace():
            yield Section(position, start)
        yield Section(start, end, section.heading, section.page, section.whole)
        position = end
    if position < length:
        yield Section(position, length)


def _tables(sections: Iterable[Section]) -> Iterator[Section]:
    """Join neighbouring rows under the same heading into one section; yield other sections as they are."""
    for (heading, page, whole), group in groupby(sections, key=lambda each: (each.heading, each.page, each.whole)):
        rows = list(group)
        yield from [Section(rows[0].start, rows[-1].end, heading, page)] if whole else rows


def _pieces(
    text: _TokenizedText, stretch: _Stretch, tokens: int, rows: Sequence[int], blocks: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and number of tokens of every chunk of a stretch.

    ``rows`` are the starts of rows, sorted; ``blocks`` start and end of blocks that are not cut, in order.
    """
    spans = text.spans(stretch.start, stretch.end)
    ahead = tokens + max(1, tokens // 4)
    window = list(islice(spans, ahead))
    while len(window) > tokens:
        # Near the end the last chunks share what is left, so that none is a crumb.
        most = tokens if len(window) == ahead else min(tokens, len(window) - len(window) // 4)
        size = _rows_that_fit(window[: tokens + 1], rows) or _size(text.text, window, most, tokens)
        size = _around_a_block(window[: tokens + 1], size, blocks)
        yield window[0][0], window[size - 1][1], size
        window = window[size:] + list(islice(spans, size))
    if window:
        yield window[0][0], window[-1][1], len(window)


def _rows_that_fit(window: Sequence[tuple[int, int]], rows: Sequence[int]) -> int:
    """Return how many tokens of the window are before the last row that begins in it; 0 where none does."""
    last = bisect_right(rows, window[-1][0]) - 1
    return bisect_left(window, (rows[last], 0)) if last >= 0 else 0


def _around_a_block(window: Sequence[tuple[int, int]], size: int, blocks: Sequence[tuple[int, int]]) -> int:
    """Return how many tokens the next chunk has so that it cuts no block: more, if all of it fits, else fewer.

    A block that begins in the first eighth of the chunk and does not fit is cut.
    """
    border, most = window[size][0], len(window) - 1
    at = bisect_right(blocks, border, key=lambda block: block[0]) - 1
    if at < 0 or not blocks[at][0] < border < blocks[at][1]:
        return size
    start, end = blocks[at]
    fits = bisect_left(window, end, key=lambda token: token[0])
    if fits <= most:
        return fits
    before = bisect_left(window, start, key=lambda token: token[0])
    return before if before >= max(1, most // 8) else size


def _size(text: str, window: Sequence[tuple[int, int]], most: int, tokens: int) -> int:
    """Return how many tokens of the window make the next chunk: 1 to ``most``, for a word ``tokens``."""
    starts = [start for start, _ in window[: most + 1]]
    half, third = -(-most // 2), -(-most // 3)
    if size := _last(_ends(_PARAGRAPH, text, starts, half), starts, half):
        together = [end for end in _ends(_PARAGRAPH, text, starts, third) if not _introduces(text, starts[0], end)]
        return _last(_outermost(text, together), starts, third) or size
    # A few tokens beyond the last border help to distinguish an abbreviation from the end of a sentence.
    first, last = window[0][0], window[min(most + 3, len(window) - 1)][1]
    sentence_starts = (first + start for start, _ in sentences.split(text[first:last]))
    if size := _last(sentence_starts, starts, third):
        return size
    for pause in _PAUSES:
        if size := _last(_ends(pause, text, starts, third), starts, third):
            return size
    if size := _around_a_word(text, window, most, tokens):
        return size
    return next((size for size in range(most, half, -1) if not _sticks(text, starts[size])), most)


def _around_a_word(text: str, window: Sequence[tuple[int, int]], most: int, tokens: int) -> int:
    """Return how many tokens leave a word whole that fits into a chunk: those before it, or it alone; 0 if none does.

    An option ("--long-option-name") is several tokens, and means nothing in two halves.
    """
    start = max((size for size in range(1, most + 1) if text[window[size][0] - 1].isspace()), default=0)
    last = window[-1][1]
    ends = [size for size in range(most + 1, len(window)) if text[window[size][0] - 1].isspace()]
    ends += [len(window)] if last == len(text) or text[last].isspace() else []
    return (start or ends[0]) if ends and ends[0] - start <= tokens else 0


def _ends(pause: re.Pattern[str], text: str, starts: Sequence[int], least: int) -> Iterator[int]:
    """Yield where pauses end, from the token before the ``least``-th border on."""
    return (match.end() for match in pause.finditer(text, starts[least - 1], starts[-1]))


def _outermost(text: str, positions: Sequence[int]) -> list[int]:
    """Return the positions whose lines are indented least: a chunk begins with an entry rather than within one."""
    indents = [_indent(text, position) for position in positions]
    return [position for position, indent in zip(positions, indents, strict=True) if indent == min(indents)]


def _indent(text: str, position: int) -> int:
    """Return how many characters stand before one in its line."""
    return position - text.rfind("\n", 0, position) - 1


def _introduces(text: str, start: int, position: int) -> bool:
    """Return whether the paragraph that ends at a position is a line that introduces the one there.

    It is short, ends like no sentence, is not indented more than what follows, and that is longer than it and not
    another such line: items of a list do not introduce each other.
    """
    before = _LEAD_IN.search(text, max(start, position - 2 * _MAX_LEAD_IN_CHARACTERS), position)
    if before is None or len(before["line"]) > _MAX_LEAD_IN_CHARACTERS or _ENDED.search(before["line"]):
        return False
    if _indent(text, before.start("line")) > _indent(text, position):
        return False
    following = text[position : position + _MAX_LEAD_IN_CHARACTERS + 1].split("\n", maxsplit=1)[0]
    return len(following) > len(before["line"].rstrip()) or bool(_ENDED.search(following))


def _last(positions: Iterable[int], starts: Sequence[int], least: int) -> int:
    """Return the largest size from ``least`` on whose next token starts at one of the positions; 0 for none."""
    size = 0
    for position in positions:
        at = bisect_left(starts, position)
        if least <= at < len(starts) and starts[at] == position:
            size = at
    return size


def _sticks(text: str, position: int) -> bool:
    """Return whether no line should begin here: closing punctuation, or a vowel written before its consonant."""
    before, after = text[position - 1], text[position]
    return (
        before in _LEADING_VOWELS
        or unicodedata.category(after) in _NOT_FIRST
        or unicodedata.category(before) in _NOT_LAST
    )
