"""HTML: the main text that a browser shows, block by block, table rows as lines, headings as sections.

The page is parsed as a stream of events without a tree, so deep nesting costs nothing. Scripts, styles, templates and
drawings are left out. A term of a definition list is a line of its own, with its explanation further in below it, as
in manual pages; where the explanations are long, terms are headings (``defined_terms``). Nothing is fetched. Navigation
is left out by structure (``navigation``); a page that is nothing else is kept whole, and so is every page of a source
with ``whole_pages``.

Hyperlinks in the main text are kept with their target as it is written, and the places that links may lead to (``id``,
and ``name`` of ``a``); not links to a place of the same page, and not those of navigation.

``link rel=canonical``, else ``og:url``, is the URL; ``html lang`` the field ``language``; each ``meta`` with a name or
property a field of that name in lower case, but for those that concern browsers and robots.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kgrag.late_patterns import late_re
from kgrag.model import Document
from kgrag.text.readers import navigation
from kgrag.text.readers.defined_terms import DefinedTerms, with_terms
from kgrag.text.readers.navigation import Region
from kgrag.text.readers.page_fields import page_fields
from kgrag.text.readers.sources import (
    Heading,
    Source,
    cleaned,
    collapsed,
    link_target,
    sections,
    without_soft_hyphens,
)
from kgrag.text.sentences import word_set

__all__ = ["MainText", "opened_elements", "read", "read_page"]

_DECLARED = re.compile(rb"<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]+)", flags=re.IGNORECASE)
_HEAD_BYTES = 4096  # where an encoding or an XML declaration is looked for
_CLOSED_XML = late_re(r"<(a|b|div|em|i|iframe|p|script|span|strong|style|svg|textarea|title)\b([^<>]*)/>")
_CLOSED_DRAWING = late_re(r"<(svg)\b([^<>]*)/>")
_SPACE = late_re(r"[ \t\n\f\r]+")
_TECHNICAL_META = late_re(
    r"viewport|robots|googlebot.*|bingbot|referrer|theme-color|color-scheme|format-detection|generator|handheldfriendly"
    r"|mobileoptimized|apple-.*|mobile-web-app-.*|msapplication-.*|csrf-.*|.*-verification|twitter:.*|fb:.*"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BOX_ELEMENTS = word_set("aside blockquote details div section")
_BOX = late_re(r"admonition.*|alert|attention|callout|caution|danger|hint|important|note|notice|seealso|tip|warning")
_LAYOUT = -1
"""In place of a count of cells: the table only places parts of the page, as one with a heading in a cell does. What
such a cell contains is read as blocks, not as one line of a row."""

_NO_BOX = -1
_RAISED = str.maketrans("0123456789+-\u2212", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
_SIGNED_NUMBER = late_re(r"[+\-\u2212]?[0-9]+[+\-\u2212]?")
_MAX_COLUMNS, _MAX_SPAN = 1000, 1000  # as browsers have them
_MAX_FILLING_CHARACTERS = 200  # of a cell that is repeated in the rows that it fills
_NOT_TALL = (-1, 0)
_HIDDEN = word_set("iframe noscript script style svg template title")
_PARAGRAPHS = word_set(
    """article aside blockquote dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section
    table ul"""
)
_LINES = word_set("address br caption dd details div dt figcaption li option summary tr")
_MAX_NAME_CHARACTERS = 2000
_INDENT = "    "  # of an explanation below its term, as manual pages have it
_NO_LINK = (0, 0, "", "")  # the parts and the length of the text where a link begins, its target and its ``rel``


@dataclass(frozen=True, slots=True)
class MainText:
    """The main text of a page, with what is marked in it: headings, blocks of code, hyperlinks and anchors."""

    text: str
    headings: tuple[Heading, ...]
    code: tuple[tuple[int, int], ...] = ()
    links: tuple[tuple[int, int, str], ...] = ()
    anchors: tuple[tuple[int, str], ...] = ()


def read(source: Source) -> Iterator[Document]:
    """Yield the page; its title is the ``title`` element, the first level-1 heading, or the file's name.

    Raises:
        UnreadableDocument: no text.
    """
    page = _page(source, _decoded(source))
    main = page.main()
    first = next((heading.words for heading in main.headings if heading.level == 1), "")
    title = collapsed("".join(page.title)) or first
    document = source.document(main.text, title=title, sections=sections(main.headings, len(main.text)))
    marked = replace(document, code=main.code, links=main.links, anchors=main.anchors)
    yield source.described(marked, page_fields(page.fields))


def read_page(source: Source, markup: str) -> MainText:
    """Return the main text of a page that is a part of a source.

    Raises:
        UnreadableDocument: it cannot be parsed.
    """
    return _page(source, markup).main()


def _page(source: Source, markup: str) -> _PageText:
    """Return the page without its navigation, or with it where the source wants it or there is nothing else."""
    page = _parsed(source, markup, whole=source.whole_pages)
    return _parsed(source, markup, whole=True) if page.is_blank else page


def _parsed(source: Source, markup: str, *, whole: bool) -> _PageText:
    from lxml import etree

    page = _PageText(whole=whole)
    parser = etree.HTMLParser(target=page, encoding="utf-8", huge_tree=True)
    try:
        parser.feed(markup.encode("utf-8"))
        parser.close()
    except etree.LxmlError as error:
        raise source.unreadable(f"is no HTML that can be parsed ({error}). Convert it, or leave it out.") from error
    return page


def _decoded(source: Source) -> str:
    with source.opened() as stream:
        found = _DECLARED.search(stream.read(_HEAD_BYTES))
    text = source.text(found[1].decode("ascii", "replace") if found else "")
    is_xml = source.suffix == ".xhtml" or text[:_HEAD_BYTES].lstrip().startswith("<?xml")
    return opened_elements(text) if is_xml else _CLOSED_DRAWING.sub(r"<\1\2></\1>", text)


def opened_elements(markup: str) -> str:
    """Return XHTML whose empty elements (``<script/>``) have an end of their own, as HTML wants it."""
    return _CLOSED_XML.sub(r"<\1\2></\1>", markup)


def _trimmed(text: str, start: int, end: int, blank: str | None = None) -> tuple[int, int]:
    """Return a place without the whitespace, or what else is ``blank``, at its ends."""
    words = text[start:end]
    return start + len(words) - len(words.lstrip(blank)), start + len(words.rstrip(blank))


def _span(attributes: Mapping[str, str], name: str) -> int:
    """Return how many columns or rows a cell fills, 1 where it does not say."""
    stated = attributes.get(name, "").strip()
    return min(max(int(stated), 1), _MAX_SPAN) if stated.isascii() and stated.isdigit() else 1


class _PageText:
    """The parser's events as text; offsets of headings are exact because only what is last is ever taken back."""

    def __init__(self, *, whole: bool) -> None:
        self.parts: list[str] = []
        self.headings: list[Heading] = []
        self.title: list[str] = []
        self.fields: dict[str, list[str]] = {}
        self._whole = whole
        self._length = 0
        self._linked = 0  # how many of the characters are words of links
        self._links: list[tuple[str, str]] = []  # words and ``rel`` of each link
        self._open: list[Region] = []
        self._content = 0  # how many of the open elements are content by their name
        self._main_headings = 0
        self._mains: list[tuple[int, int]] = []
        self._gap = ""  # to be written before the next words: "", " ", " | ", a line end or two
        self._hidden: list[str] = []
        self._verbatim = 0
        self._is_raised = False
        self._code: list[tuple[int, int]] = []  # start and end of what is verbatim, in order
        self._code_start = -1
        self._hyperlinks: list[tuple[int, int, str]] = []  # start, end and target, in order
        self._hyperlink = _NO_LINK
        self._anchors: list[tuple[int, str]] = []
        self._base = ""
        self._cells: list[int] = []  # for each open table, how many cells of its current row have begun, or _LAYOUT
        self._terms = DefinedTerms()
        self._in_terms = False  # whether a term of a definition list is not explained yet
        self._explains = False  # whether the next words are those of its explanation
        self._spans: list[dict[int, int]] = []  # of each, columns that other cells fill, and for how many rows
        self._filling: list[dict[int, str]] = []  # of each, the words of such a cell that fills rows below
        self._tall = _NOT_TALL  # the column and the parts before a cell that fills rows below, until it ends
        self._cell = ""  # the element of the cell that began last
        self._boxes: list[int] = []  # for each open element that may be a box, the headings before it, or _NO_BOX
        self._level = 0
        self._heading: list[str] = []
        self._heading_start = 0

    @property
    def is_blank(self) -> bool:
        """Whether there is no text."""
        return not any(part.strip() for part in self.parts)

    def main(self) -> MainText:
        """Return the main text with what is marked in it."""
        text = "".join(self.parts)
        start, end = navigation.main_span(self._mains, self.headings, len(text))
        marked = with_terms(self.headings, self._terms.found, text)
        headings = [heading for heading in marked if start <= heading.start < end]
        end = start + len(text[start:end].rstrip())
        blocks = (_trimmed(text, first, min(last, end)) for first, last in self._code if start <= first < end)
        code = tuple((first - start, last - start) for first, last in blocks if first < last)
        linked = (
            (*_trimmed(text, first, min(last, end), " |\n\t"), to)
            for first, last, to in self._hyperlinks
            if first >= start
        )
        return MainText(
            text[start:end],
            tuple(replace(heading, start=heading.start - start) for heading in headings),
            code,
            tuple((first - start, last - start, target) for first, last, target in linked if first < last),
            tuple((at - start, name) for at, name in self._anchors if start <= at < end),
        )

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._describe(tag, attributes)
        if tag in _HIDDEN or self._hidden:
            if tag in _HIDDEN:
                self._hidden.append(tag)
            return
        self._break(tag, begins=True)
        if not self._whole:
            self._enter(tag, attributes)
        self._mark(tag, attributes)
        self._open_box(tag, attributes)
        if tag == "pre":
            self._verbatim += 1
        elif tag == "sup":
            self._is_raised = True
        elif tag == "table":
            self._cells.append(0)
            self._spans.append({})
            self._filling.append({})
        elif tag in ("td", "th") and self._cells:
            self._begin_cell(tag, attributes)
        elif tag in _HEADINGS:
            if self._cells and self._cell == "td":
                self._cells = [_LAYOUT] * len(self._cells)
                self._break(tag)
            self._close_heading()
            self._level = _HEADINGS[tag]

    def end(self, tag: str) -> None:
        if self._hidden:
            if tag == self._hidden[-1]:
                self._hidden.pop()
            return
        self._is_raised &= tag != "sup"
        if tag == "pre":
            self._close_code()
        elif tag == "table" and self._cells:
            self._cells.pop()
            self._spans.pop()
            self._filling.pop()
        elif tag == "tr" and self._cells and self._cells[-1] != _LAYOUT:
            self._end_row()
        elif tag in _HEADINGS:
            self._close_heading()
        elif tag == "a":
            self._close_hyperlink()
        self._close_box(tag)
        if any(region.tag == tag for region in self._open[-1:]):
            self._leave(self._open.pop())
        if tag != "br":
            self._break(tag)

    def _open_box(self, tag: str, attributes: Mapping[str, str]) -> None:
        if tag in _BOX_ELEMENTS:
            is_box = any(map(_BOX.fullmatch, attributes.get("class", "").lower().split()))
            self._boxes.append(len(self.headings) if is_box else _NO_BOX)

    def _close_box(self, tag: str) -> None:
        """Forget the only heading of a box ("Note"): what follows the box is not about it."""
        headings = self._boxes.pop() if tag in _BOX_ELEMENTS and self._boxes else _NO_BOX
        if headings != _NO_BOX and len(self.headings) == headings + 1 and self.headings[-1].level > 1:
            self.headings.pop()

    def _close_code(self) -> None:
        self._verbatim = max(0, self._verbatim - 1)
        if not self._verbatim and self._code_start >= 0:
            self._code.append((self._code_start, self._length))
            self._code_start = -1

    def _mark(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note the beginning of a link, and a place that links may lead to."""
        name = cleaned(attributes.get("id") or (attributes.get("name", "") if tag == "a" else ""))
        if name and not _SPACE.search(name) and len(name) <= _MAX_NAME_CHARACTERS:
            self._anchors.append((self._length, name))
        if tag == "a" and "href" in attributes:
            self._close_hyperlink()
            target = link_target(attributes["href"], self._base)
            self._hyperlink = len(self.parts), self._length, target, attributes.get("rel", "")

    def _close_hyperlink(self) -> None:
        part, start, target, rel = self._hyperlink
        self._hyperlink = _NO_LINK
        words = "".join(self.parts[part:]).strip() if target else ""
        if words and not navigation.is_bar_link(words, rel):
            self._hyperlinks.append((start, self._length, target))

    def _enter(self, tag: str, attributes: Mapping[str, str]) -> None:
        kind = navigation.kind_of(tag, attributes, of_the_page=not self._content)
        self._content += tag in navigation.CONTENT
        self._open.append(
            Region(
                tag,
                kind,
                attributes.get("rel", ""),
                parts=len(self.parts),
                length=self._length,
                linked=self._linked,
                links=len(self._links),
                headings=len(self.headings),
                main_headings=self._main_headings,
                heading=len(self._heading),
            )
        )

    def _leave(self, region: Region) -> None:
        """Take back what an element wrote that turns out to be navigation."""
        self._content -= region.tag in navigation.CONTENT
        length = self._length - region.length
        words = "".join(self.parts[region.parts :]).strip() if length <= navigation.MAX_BAR_CHARACTERS else ""
        if region.tag == "a":
            self._linked = region.linked + length
            self._links.append((collapsed(words), region.rel))
        elif region.kind == "main":
            self._mains.append((region.length, self._length))
        element = navigation.Element(
            words,
            length,
            linked=self._linked - region.linked,
            links=self._links[region.links : region.links + navigation.MAX_BAR_LINKS + 1],
            headings=len(self.headings) - region.headings,
            main_headings=self._main_headings - region.main_headings,
        )
        if navigation.is_navigation(region.kind, element):
            del self.parts[region.parts :], self.headings[region.headings :], self._links[region.links :]
            del self._heading[region.heading :]
            self._length, self._linked = region.length, region.linked
            self._terms.cut(self._length)
            self._code = [(start, end) for start, end in self._code if end <= self._length]
            while self._hyperlinks and self._hyperlinks[-1][1] > self._length:
                self._hyperlinks.pop()
            while self._anchors and self._anchors[-1][0] > self._length:
                self._anchors.pop()
            self._main_headings = region.main_headings

    def data(self, text: str) -> None:
        text = without_soft_hyphens(text)
        if self._is_raised and _SIGNED_NUMBER.fullmatch(text):
            text = text.translate(_RAISED)  # the mark of a note, or a power, and no part of the word
        if self._hidden:
            if self._hidden == ["title"]:
                self.title.append(text)
        elif self._verbatim:
            self._write(text.replace("\r", "\n"))
        else:
            self._words(_SPACE.sub(" ", text))

    def close(self) -> None:
        self._close_heading()
        self._close_hyperlink()

    def _describe(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Note what an element says of the page."""
        name = collapsed(attributes.get("name") or attributes.get("property") or "").lower()
        if tag == "html":
            self.fields["language"] = [attributes.get("lang") or attributes.get("xml:lang") or ""]
        elif tag == "base":
            self._base = self._base or attributes.get("href", "").strip()
        elif tag == "link" and attributes.get("rel", "").lower() == "canonical":
            self.fields.setdefault("url", []).append(attributes.get("href", ""))
        elif tag == "meta" and name and not _TECHNICAL_META.fullmatch(name):
            self.fields.setdefault(name, []).append(attributes.get("content", ""))

    def _words(self, text: str) -> None:
        if text.startswith(" "):
            self._widen(" ")
        if words := text.strip(" "):
            self._write(words)
            if text.endswith(" "):
                self._widen(" ")

    def _write(self, text: str) -> None:
        if self._gap and self._length:
            self._put(f"\n{_INDENT}" if self._explains and self._gap == "\n" else self._gap)
        self._gap, self._explains = "", False
        self._terms.write(self._length)
        if self._verbatim and self._code_start < 0:
            self._code_start = self._length
        if self._level:
            if not self._heading:
                self._heading_start = self._length
            self._heading.append(text)
        self._put(text)

    def _put(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)

    def _begin_cell(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Separate a cell from the one before it; one that is empty, or filled from above, keeps its place."""
        self._cell = tag
        if self._cells[-1] == _LAYOUT:
            self._widen("\n\n")
            return
        self._keep_tall()
        column = self._fill(self._cells[-1])
        self._next_cell(column)
        width, height = (_span(attributes, name) for name in ("colspan", "rowspan"))
        for filled in range(column, column + width):
            self._spans[-1][filled] = height - (filled == column)  # what a wide cell fills beside it is of this row too
            self._filling[-1].pop(filled, None)
        self._tall = (column, len(self.parts)) if height > 1 else _NOT_TALL
        self._cells[-1] = column + 1

    def _end_row(self) -> None:
        self._keep_tall()
        spans, column = self._spans[-1], self._cells[-1]
        column = self._fill(column) if any(at >= column and spans.get(at) for at in self._filling[-1]) else column
        for filled in spans:
            spans[filled] -= filled >= column and spans[filled] > 0
        self._cells[-1] = 0

    def _keep_tall(self) -> None:
        """Keep the words of a cell that ends and fills rows below."""
        column, start = self._tall
        text = "".join(self.parts[start:]).strip(" |\n") if column >= 0 else ""
        if 0 < len(text) <= _MAX_FILLING_CHARACTERS and "\n" not in text:
            self._filling[-1][column] = text
        self._tall = _NOT_TALL

    def _fill(self, column: int) -> int:
        """Write the cells that those above or beside fill, with the words of those above; return the next column."""
        spans = self._spans[-1]
        while column < _MAX_COLUMNS and spans.get(column, 0):
            spans[column] -= 1
            self._next_cell(column)
            if text := self._filling[-1].get(column, ""):
                self._write(text)
            column += 1
        return column

    def _next_cell(self, column: int) -> None:
        """Write what separates a cell from the one before it, of which nothing may have been written."""
        if not column:
            return
        if self._gap == " | ":
            self._put(" |")
        elif "\n" in self._gap or not self._length:  # nothing stands in the first cell
            self._write("|")
        self._widen(" | ")

    def _begin_definition(self, tag: str) -> None:
        """Put a term apart from what is before it, and its explanation further in on the next line.

        Several terms with one explanation are one line.
        """
        if self._cells and self._cells[-1] > 0:
            return
        if tag == "dd":
            self._explains = True
        elif self._in_terms and self._gap == "\n":
            self._gap = ", "
        else:
            self._widen("\n\n")
            self._terms.begin()
        self._in_terms = tag == "dt"

    def _break(self, tag: str, *, begins: bool = False) -> None:
        gap = "\n\n" if tag in _PARAGRAPHS else "\n" if tag in _LINES else ""
        in_cell = bool(self._cells) and self._cells[-1] > 0 and tag not in ("tr", "table")
        self._widen(" " if gap and in_cell else gap)
        if begins and tag in ("dd", "dt"):
            self._begin_definition(tag)
        elif tag == "dl":
            self._terms.open() if begins else self._terms.close()
            self._in_terms = False

    def _widen(self, gap: str) -> None:
        order = ("", " ", ", ", " | ", "\n", "\n\n")
        self._gap = max(self._gap, gap, key=order.index)

    def _close_heading(self) -> None:
        if words := collapsed(" ".join(self._heading)):
            self.headings.append(Heading(self._heading_start, self._level, words))
            self._main_headings += self._level <= 2
        self._level, self._heading = 0, []
