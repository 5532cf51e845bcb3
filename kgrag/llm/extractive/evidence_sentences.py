"""Sentences of evidence with what they are about: the term that a definition list defines, a header, headings, a title.

A sentence of reference documentation rarely names its subject. "The default is three." stands below the line
``max_workers (integer)``; a row ``field size | 1 GB`` below ``Item | Upper Limit``. A line that is no sentence and has
one below it is the *label* of what follows, up to the next such line. A chunk may begin behind its label, which is then
in the text before the chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.broken_words import unbroken
from kgrag.llm.extractive.listed_items import items_below
from kgrag.llm.extractive.question_languages import question_language
from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import split

__all__ = ["Candidate", "EvidenceText", "ProseSentence", "labels_in", "once", "read_sentences"]

_MAX_SENTENCE_CHARACTERS = 600
_MAX_LABEL_CHARACTERS = 120
_MAX_LABEL_WORDS = 14
_MAX_LABEL_LINES = 4
"""Lines of a label, at most; more of them are a list, whose lines are sentences."""
_MAX_TERM_CHARACTERS = 50
"""Of a line that may be a term above its explanation; a longer one is wrapped prose whose first line hangs."""
_MAX_BEFORE = 2
"""Sentences before one, of the same label, whose words say what it is about."""
_CELLS = late_regex(r"[^\S\n]*\|[^\S\n]*")

_HEADING_LINE = late_regex(r"#+\s+([^\n]*)")
_HEADING = late_regex(r"#+\s+(.*)", flags=regex.DOTALL)
_MARK = late_regex(r"(?:[-*•‣◦▪·–—+:]|\(?\p{N}{1,3}[.)])\s+")
_PRONOUN = late_regex(
    r"(?:it|its|he|his|she|her|they|their|this|these|those|after\s+(?:that|this)|thereafter|afterwards)\b",
    flags=regex.IGNORECASE,
)
_SENTENCE_END = late_regex(r"[.!?:;,…][\p{Pe}\p{Pf}\"'»]*$")
_PAIR = late_regex(r"[^:\n]{1,60}:\s+\S")
_QUESTION_LINE = late_regex(
    r"(?:\A|\n[^\S\n]*\n)(?P<line>(?:\p{N}[\p{N}.]*\s[^\n|]{3,160}|[^\n|.!]{3,160})\?)[^\S\n]*(?=\n[^\S\n]*\n)"
)
_WORD = late_regex(r"\p{L}")
_GOES_ON = late_regex(r"\s(?:and|or)$")
"""The end of an item of a list that others follow."""
_SECTION_NUMBER = late_regex(r"\s*(?:(?:\p{N}+\.){2,}\p{N}*)?\s*")
_SMALL_WORD = late_regex(r"\b\p{Ll}{3,}")
_CHAPTER = late_regex(r"\p{N}{1,2}\.\s+\p{Lu}")
_ARTICLE_NUMBER = late_regex(r"\p{Lu}\p{L}+\s\p{N}{1,3}\p{Ll}?\.")
"""The number of an article before its text: "Article 2. The request …"."""
_CAPITALS = late_regex(r"(?:\p{Lu}|[ ,.'’&()–-]|\p{N}){12,}")
_OPENS_SENTENCE = late_regex(r"\p{Lu}|\p{N}+\s")
_NUMBERED_LINE = late_regex(r"\s*\p{N}{1,2}[.)]\s")
_OPTION_WITH_COLON = late_regex(r"(?P<term>-{1,2}[\p{L}\p{N}][^\n:]{0,50}?)\s+:\s+(?=\S)")
_TWO_COLUMNS = late_regex(
    r"(?P<term>[^\s|](?:[^\n|]{0,22}?[^\s|])?) {3,}(?=\p{Lu}\p{Ll}*\s\p{Ll})(?!\S[^\n]* {3}|[^\n]*\|)"
)
"""A line of a list in two columns: ``%    Split the pane into two.``"""
_PROGRAM = late_regex(r"(?:[$%>]|>>>|\.\.\.)\s")


@dataclass(frozen=True, slots=True)
class EvidenceText:
    """A numbered piece of evidence as the prompt contains it; ``source`` is the text behind a hyperedge.

    ``before`` is the text of the document just before a chunk, ``following`` the chunk behind it. ``title`` is that of
    the document.
    """

    number: int
    kind: str
    heading: str
    text: str
    source: str = ""
    before: str = ""
    following: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible sentence of the answer.

    ``found`` are the terms that it and its headings cover, ``score`` is comparable within one question, ``links`` are
    the terms by which another candidate may continue it, ``is_fact`` is true of ``key: value`` pairs, and ``values``
    are the keys and values of the pairs asked for, the one that fits best first.
    """

    text: str
    quotes: tuple[tuple[int, str], ...]
    found: frozenset[str]
    score: float
    links: frozenset[str] = frozenset()
    is_fact: bool = False
    values: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ProseSentence:
    """A sentence of the evidence.

    Args:
        number: of its piece of evidence.
        text: its words as they are.
        own: its terms; of a row also those of the header.
        label: the term that it explains, as it is written; "" for none.
        labelled: whether the label is in the same piece of evidence, so that it can be quoted.
        about: terms of the label.
        around: terms of headings and title.
        earlier: terms of the sentences before it that have the same label.
        meaning: what is embedded: headings, and label or header, with the sentence, which rarely names its subject.
        before: the sentence before one that begins with a pronoun, since it names what the pronoun refers to.
        opens: whether it is the first below its label.
        shown: the line that a sentence with a colon at its end introduces, as it is written; "" for none.
        items: those of the list that a sentence introduces, as they are written; () for none.
        place: where it comes among the sentences of its piece, from 0.
    """

    number: int
    text: str
    own: frozenset[str]
    label: str
    labelled: bool
    about: frozenset[str]
    around: frozenset[str]
    earlier: frozenset[str]
    meaning: str
    before: ProseSentence | None = None
    opens: bool = False
    shown: str = ""
    items: tuple[str, ...] = ()
    place: int = 0

    @property
    def all_terms(self) -> frozenset[str]:
        """Terms of the sentence and of everything that says what it is about."""
        return self.own | self.about | self.around | self.earlier


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence or label as ``split`` finds it: where it is in its text; ``is_label`` where it reads like a label."""

    start: int
    end: int
    text: str
    is_label: bool


@dataclass(slots=True)
class _Under:
    """What holds for the sentences below a label: it, terms around it, their language, and those sentences so far.

    ``labelled`` is as in ``ProseSentence``; ``opens`` is true until the first of them is found.
    """

    label: str
    around: frozenset[str]
    language: str
    labelled: bool = False
    opens: bool = False
    earlier: list[ProseSentence] = field(default_factory=list)


def read_sentences(text: EvidenceText, language: str = ENGLISH) -> Iterator[ProseSentence]:
    """Yield the sentences of a piece of evidence in order; headings and labels are none where text follows them.

    Where the last label has its text in the following chunk, those sentences of it come last.
    """
    heading = frozenset(terms(text.heading, language))
    label, header = label_before(text.before)
    under = _Under(label, heading, language)
    body = text.source or text.text
    lines = [*_lines_with_labels(body), *_continuation(text)]
    position = 0
    for at, (line, new_label) in enumerate(lines):
        position = max(position, body.find(line, position) + len(line))
        if new_label is not None:
            under, header = _below(_as_heading(text, body, new_label), heading, under), ""
        if _is_row(line) and not header:
            header = line
            continue
        header = header if _is_row(line) else ""
        shown = lines[at + 1][0] if line.endswith(":") and at + 1 < len(lines) else ""
        one = _sentence(text.number, line, header, under)
        if one is None:
            continue
        meaning = f"{text.heading}: {one.meaning}" if text.heading else one.meaning
        shown = shown if len(shown) <= _MAX_SENTENCE_CHARACTERS else ""
        one = replace(one, meaning=meaning, shown=shown, place=at)
        under.earlier.append(one)
        if one.text.endswith("?"):  # asks, and so says what the next sentence is about, but never answers
            continue
        under.opens = False
        yield replace(one, items=_items(line, body[position:], text))


def _is_title(text: EvidenceText, body: str, label: str) -> bool:
    """Return whether a label begins with the title of a plain text: a line in capitals that opens the document.

    It is a heading then, as if it were marked as one: all of the text is about it, not only what follows.
    """
    opens = not text.before and not text.source and body.lstrip().startswith(f"{label}\n\n")
    return opens and _CAPITALS.fullmatch(label.partition("\n")[0]) is not None


def _as_heading(text: EvidenceText, body: str, label: str) -> str:
    """Return a label; as a heading is written if it is one: a title, or a numbered line with its text right below.

    Of a value alone ("24 September 2026, 10:00.") such a line is the label, too.
    """
    marked, below = f"# {' '.join(label.split())}", body.partition(f"{label}\n")[2].partition("\n")[0]
    if _is_title(text, body, label):
        return marked
    if not _CHAPTER.match(label) or not below.strip():
        return label
    return marked if _SMALL_WORD.search(below) else f"{marked}\n{label}"


def _below(label: str, heading: frozenset[str], above: _Under) -> _Under:
    """Return what holds for the sentences below a new label, which may be a heading within the text."""
    title, rest = _HEADING_LINE.match(label), label
    if title:
        rest = label[title.end() :].strip()
    around = heading | frozenset(terms(title[1], above.language)) if title else above.around
    return _Under(rest, around, above.language, labelled=bool(rest), opens=True)


def _sentence(number: int, line: str, header: str, under: _Under) -> ProseSentence | None:
    """Return the sentence of a line; None where it has no terms, is too long, or is a heading's number ("3.4.")."""
    sentence = line[mark.end() :] if (mark := _MARK.match(line)) else line
    row = _row_text(header, sentence) if header else sentence
    whole = unbroken(row)
    own = frozenset(terms(row, under.language)).union(terms(whole, under.language) if whole != row else ())
    if not own or len(sentence) > _MAX_SENTENCE_CHARACTERS:
        under.earlier.clear()
        return None
    if not _WORD.search(sentence):
        return None
    earlier, rules = under.earlier, question_language(under.language)
    pronoun = rules.pronoun if rules else _PRONOUN
    return ProseSentence(
        number=number,
        text=sentence,
        own=own,
        label=under.label,
        labelled=under.labelled,
        about=frozenset(terms(under.label, under.language)),
        around=under.around,
        earlier=frozenset[str]().union(*(one.own for one in earlier[-_MAX_BEFORE:])),
        meaning=f"{under.label}: {whole}" if under.label else whole,
        before=earlier[-1] if earlier and pronoun.match(sentence) else None,
        opens=under.opens,
    )


def _items(line: str, below: str, text: EvidenceText) -> tuple[str, ...]:
    """Return the items of the list that a line introduces; of a list that ends a chunk also those in the next one."""
    following = f"\n\n{text.following}" if text.following and not text.source else ""
    return items_below(line, f"{below}{following}")


def _continuation(text: EvidenceText) -> list[tuple[str, str | None]]:
    """Return the lines of the following chunk that belong to the last label of a text."""
    if not text.following or text.source:
        return []
    lines = list(_lines_with_labels(text.following))
    own = next((at for at, (_, label) in enumerate(lines) if label is not None), len(lines))
    if own == 0:
        return []
    last = label_before(f"\n{text.text}\n")[0]
    return [(lines[0][0], last or None), *lines[1:own]]


def _lines_with_labels(body: str) -> Iterator[tuple[str, str | None]]:
    """Yield each sentence of a text, with the label that begins before it (None: that of the sentence before)."""
    pending: list[_Line] = []
    started = False
    for line in _lines(body):
        if line.is_label:
            pending.append(line)
            continue
        started = True
        # A heading replaces what was before it; many lines in a row are a list, of which the last one is the label.
        heading, pending = _last_heading(pending)
        if len(pending) > _MAX_LABEL_LINES:
            yield from ((label.text, None) for label in pending[:-1])
            pending = pending[-1:]
        parts = [*([heading] if heading else []), *([_label_of(body, pending)] if pending else [])]
        yield line.text, "\n".join(parts) if parts else None
        pending = []
    if len(pending) > _MAX_LABEL_LINES or not started:  # else the text goes on in the next chunk
        yield from ((label.text, None) for label in pending if not _HEADING.fullmatch(label.text))


def _last_heading(pending: Sequence[_Line]) -> tuple[str, list[_Line]]:
    """Return the last heading of some labels ("" for none), and what is behind it: terms below a heading."""
    at = max((at for at, label in enumerate(pending) if _HEADING.fullmatch(label.text)), default=-1)
    return (" ".join(pending[at].text.split()) if at >= 0 else ""), list(pending[at + 1 :])


def _lines(body: str) -> list[_Line]:
    """Return the sentences of a text; a line by itself that ends with a question is one label ("4.3. Ack! Why?")."""
    lines: list[_Line] = []
    asked = [(match.start("line"), match.end("line")) for match in _QUESTION_LINE.finditer(body)]
    for start, end in split(body):
        if asked and start >= asked[0][1]:
            asked.pop(0)
        if asked and asked[0][0] <= start and end <= asked[0][1]:
            if end == asked[0][1]:
                lines.append(_Line(asked[0][0], end, body[slice(*asked[0])], is_label=True))
            continue
        if _ARTICLE_NUMBER.fullmatch(body, start, end) and body[end : end + 1] == " ":
            lines.append(_Line(start, end - 1, body[start : end - 1], is_label=True))
            continue
        *terms_before, rest = _with_terms(body, start, end)
        lines += [_Line(*place, body[slice(*place)], is_label=True) for place in terms_before]
        lines.append(_Line(*rest, body[slice(*rest)], _is_label(body, *rest)))
    return lines


def _with_terms(body: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the places of the terms with which a sentence of a rendered page begins, and of the rest of it.

    A term is a short line with one below it that is further in, or what stands before the column of the next line, an
    option before a colon that stands by itself (``-L <name> : change the name``), and the first of two columns.
    """
    opens = not body[:start].rpartition("\n")[2].strip()
    if opens and (found := _OPTION_WITH_COLON.match(body, start, end) or _TWO_COLUMNS.match(body, start, end)):
        return [found.span("term"), (found.end(), end)]
    first, newline, below = body[start:end].partition("\n")
    indent = len(below) - len(below.lstrip(" "))
    column = start - body.rfind("\n", 0, start) - 1
    if not newline or indent <= column or body[start - column : start].strip() or _MARK.match(first):
        return [(start, end)]
    beside = indent - column
    before_text = first[max(0, beside - 2) : beside]
    is_beside = before_text == "  " or (before_text[-1:] == " " and len(first) > _MAX_TERM_CHARACTERS)
    if is_beside and first[beside : beside + 1].strip() and beside <= _MAX_TERM_CHARACTERS:
        return [(start, start + len(first[:beside].rstrip())), (start + beside, end)]
    reads_on = len(first) > _MAX_TERM_CHARACTERS or _SENTENCE_END.search(first.rstrip()) or _GOES_ON.search(first)
    if reads_on or not _WORD.search(first):
        return [(start, end)]
    rest = start + len(first) + 1 + indent
    return [(start, start + len(first.rstrip())), *_with_terms(body, rest, end)]


def _is_label(body: str, start: int, end: int) -> bool:
    """Return whether a sentence is a line that reads like a heading or a defined term."""
    text = body[start:end]
    if _HEADING.fullmatch(text):
        return True
    line_before, line_after = body[:start].rpartition("\n")[2], body[end:].partition("\n")[0]
    whole_line = _SECTION_NUMBER.fullmatch(line_before) is not None and not line_after.strip()
    short = len(text) <= _MAX_LABEL_CHARACTERS and len(text.split()) <= _MAX_LABEL_WORDS and "\n" not in text
    reads_on = (
        _SENTENCE_END.search(text)
        or _GOES_ON.search(text)
        or _PAIR.match(text)
        or (_MARK.match(text) and not (_CHAPTER.match(text) and _is_chapter(body, start, end)))
        or _PROGRAM.match(text)
        or _is_row(text)
    )
    return whole_line and short and not reads_on and any(letter.isalpha() for letter in text)


def _is_chapter(body: str, start: int, end: int) -> bool:
    """Return whether a numbered line heads what is below it: it is no list item, and an empty line is above it.

    Below it is an empty line, or a sentence that begins at once.
    """
    above, below = body[:start].rpartition("\n")[0], body[end:]
    last_above = above.rstrip().rpartition("\n")[2]
    first_below = below.removeprefix("\n").partition("\n")[0]
    empty_above = not above.rpartition("\n")[2].strip()
    heads = below.startswith("\n\n") or (
        _OPENS_SENTENCE.match(first_below) is not None and _SENTENCE_END.search(first_below) is not None
    )
    return empty_above and heads and not any(map(_NUMBERED_LINE.match, (last_above, below.lstrip("\n"))))


def label_before(before: str) -> tuple[str, str]:
    """Return the label that applies at the end of a text, and the header of a table that goes on there.

    What stands before the first line break, and what goes on behind the last one, is no whole line and is passed over.
    """
    label, header = "", ""
    pending: list[_Line] = []
    whole_lines = before.partition("\n")[2]
    if not whole_lines.rstrip(" \t").endswith("\n"):  # the last line goes on in the chunk
        whole_lines = whole_lines.rpartition("\n")[0]
    for line in _lines(whole_lines):
        if line.is_label:
            pending.append(line)
            header = ""
            continue
        if pending:
            label, pending = _label_of(whole_lines, pending), []
        header = (header or line.text) if _is_row(line.text) else ""
    label = _label_of(whole_lines, pending) if pending else label
    return ("" if label.startswith("#") else label), header


def labels_in(text: str) -> list[tuple[int, int]]:
    """Return where the labels of a text are, without headings, and without lines that follow each other as a list."""
    found: list[tuple[int, int]] = []
    pending: list[_Line] = []
    for line in [*_lines(text), None]:
        if line is not None and line.is_label:
            pending.append(line)
            continue
        if 0 < len(pending) <= _MAX_LABEL_LINES and not pending[-1].text.startswith("#"):
            label = _label_of(text, pending)
            found.append((pending[-1].end - len(label), pending[-1].end))
        pending = []
    return found


def _label_of(text: str, lines: Sequence[_Line]) -> str:
    """Return the last lines of some that begin in the same column: a heading above a term is no part of it."""
    columns = [line.start - text.rfind("\n", 0, line.start) for line in lines]
    first = len(lines) - 1
    while first and columns[first - 1] == columns[-1] and len(lines) - first < _MAX_LABEL_LINES:
        first -= 1
    return text[lines[first].start : lines[-1].end]


def _row_text(header: str, row: str) -> str:
    """Return a row as pairs of header and cell; of another number of cells, both one behind the other."""
    names, cells = _CELLS.split(header.strip(" |")), _CELLS.split(row.strip(" |"))
    if len(names) < len(cells):
        return f"{header} {row}"
    return "; ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=False) if cell)


def _is_row(line: str) -> bool:
    return " |" in line or line.startswith("|")


def once(chosen: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates without those whose words those before them have quoted: the lines below a colon."""
    kept: list[Candidate] = []
    quoted: set[tuple[int, str]] = set()
    for candidate in chosen:
        if not quoted.issuperset(candidate.quotes):
            kept.append(candidate)
        quoted.update(candidate.quotes)
    return kept
