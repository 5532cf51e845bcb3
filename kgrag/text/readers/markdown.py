"""Markdown and plain text as they are: the headings that CommonMark sees as sections, and the works that are cited.

Front matter (YAML between lines ``---`` at the beginning) is no part of the text: its ``title``, ``id`` and ``url``
are the document's, ``bibliography`` names the BibTeX file of its ``[@keys]``, and all other fields are metadata.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from kgrag.late_patterns import late_re, late_regex
from kgrag.model import Document
from kgrag.text import references
from kgrag.text.metadata import typed
from kgrag.text.readers import manual_pages
from kgrag.text.readers.cut_words import CUT, whole_words
from kgrag.text.readers.sources import Heading, Source, collapsed, label, link_target, sections

__all__ = ["document_of", "read", "read_plain"]

_LOG = logging.getLogger(__name__)
_FRONT_MATTER = late_re(r"---[ \t]*\n(?P<fields>(?:(?!---|\.\.\.).*\n){0,200})(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_MAX_FRONT_MATTER_CHARACTERS = 65_536
_CUT_AT_LINE_END = late_regex(r"(?<=\p{L})\u2010\n[ \t]*(?=\p{Ll})")
_LINK_OR_CODE = late_re(
    r"(?<!`)(?P<ticks>`{1,3})(?!`)[^`]{0,500}(?P=ticks)"  # what looks like a link in code is none
    r"|(?<![!\\])\[(?P<words>[^\[\]`]{1,200})\]\(<?(?P<target>[^()<>\s]{1,500})>?(?:\s{1,9}[\"'][^\"'\n]{0,200}[\"'])?\)"
)


def read(source: Source) -> Iterator[Document]:
    """Yield the file; its title is that of its front matter, its first level-1 heading, or the file's name.

    Raises:
        UnreadableDocument: no text.
    """
    text = source.text()
    fields: dict[str, Any] = {}
    if (front := _FRONT_MATTER.match(text)) and (fields := _front_matter(source, front["fields"])):
        text = text[front.end() :]
    headings, links = _marked(text)
    first = next((heading.words for heading in headings if heading.level == 1), "")
    title = label(fields.get("title"))
    cites = references.entries(text)
    named = fields.get("bibliography")
    bibliography = references.bibliography_of(source.path, named) if isinstance(named, str) else None
    cites += references.keyed(text, bibliography) if bibliography else ()
    document = source.document(
        text, title=title or first, sections=sections(headings, len(text)), cites=tuple(dict.fromkeys(cites))
    )
    document = replace(document, links=links, anchors=_anchors(headings))
    used = {name for name, value in (("title", title), ("bibliography", bibliography)) if value}
    rest = {name: value for name, value in fields.items() if name not in used}
    yield source.described(document, rest)


def document_of(source: Source, text: str, *, title: str = "") -> Document:
    """Return the document of a text in Markdown without front matter; raises UnreadableDocument for none."""
    headings, _ = _marked(text)
    first = next((heading.words for heading in headings if heading.level == 1), "")
    return source.document(text, title=title or first, sections=sections(headings, len(text)))


def _front_matter(source: Source, text: str) -> dict[str, Any]:
    """Return the fields, read as ``typed`` reads text; {} for what is no mapping in YAML and stays in the text."""
    import yaml

    class Fields(yaml.BaseLoader):  # constructs text, lists and mappings, nothing else
        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):  # a few lines of aliases stand for gigabytes
                raise yaml.YAMLError("it has an alias (*name), which is not followed")
            return super().compose_node(parent, index)

    try:
        if len(text) > _MAX_FRONT_MATTER_CHARACTERS:
            raise ValueError(f"it has more than {_MAX_FRONT_MATTER_CHARACTERS:,} characters")
        found = Fields(text).get_single_data()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        _LOG.warning("%s: the front matter is not YAML that can be read, and stays in the text: %s", source.name, error)
        return {}
    return {name: _typed(value) for name, value in found.items()} if isinstance(found, dict) else {}


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _typed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return typed(value) if isinstance(value, str) else value


def _marked(text: str) -> tuple[list[Heading], tuple[tuple[int, int, str], ...]]:
    """Return the headings outside of quotes and lists, and the links of the form ``[words](target)``, not in code."""
    from markdown_it import MarkdownIt

    line_starts = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    # Blocks first, and only headings inline: inline markup of a whole text takes quadratic time in some texts.
    blocks = MarkdownIt("commonmark").disable("inline").parse(text)
    inline = MarkdownIt("commonmark")
    headings: list[Heading] = []
    links: list[tuple[int, int, str]] = []
    for opening, content in pairwise(blocks):
        if opening.type == "heading_open" and opening.level == 0 and opening.map:
            tokens = inline.parseInline(content.content)[0].children or []
            words = "".join(" " if token.type in ("softbreak", "hardbreak") else token.content for token in tokens)
            headings.append(Heading(line_starts[opening.map[0]], int(opening.tag[1:]), collapsed(words)))
        if content.type == "inline" and content.map:
            links += _links(text, line_starts[content.map[0]], line_starts[content.map[1]])
    return headings, tuple(links)


def _links(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield the links of a paragraph that lead to another page; reference links (``[words][name]``) are not seen."""
    for match in _LINK_OR_CODE.finditer(text, start, min(end, len(text))):
        if match["words"] and (target := link_target(match["target"])):
            yield *match.span("words"), target


def _anchors(headings: Iterable[Heading]) -> tuple[tuple[int, str], ...]:
    """Return the names by which links lead to headings, as most renderers make them.

    >>> _anchors([Heading(0, 1, "Sow in June!"), Heading(20, 1, "Sow in June")])
    ((0, 'sow-in-june'), (20, 'sow-in-june-1'))
    """
    used: Counter[str] = Counter()
    anchors = []
    for heading in headings:
        name = re.sub(r"[^\w\- ]", "", heading.words.lower()).replace(" ", "-")
        if name:
            anchors.append((heading.start, f"{name}-{used[name]}" if used[name] else name))
            used[name] += 1
    return tuple(anchors)


def read_plain(source: Source) -> Iterator[Document]:
    """Yield the file, titled by its name; words that a typesetter's hyphen (U+2010) cuts at a line's end are whole.

    Sections are those of a manual page as ``man`` prints it (``manual_pages``); other plain text has none.

    Raises:
        UnreadableDocument: no text.
    """
    (text,) = whole_words([_CUT_AT_LINE_END.sub(CUT, source.text())])
    headings = manual_pages.headings(text)
    yield source.document(text, sections=sections(headings, len(text)), cites=references.entries(text))
