"""Presentations (pptx): each slide a section with its title and number; its notes follow its text.

Text in shapes, groups and tables is read; text in charts, diagrams and pictures is not.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from kgrag.model import Document, Section
from kgrag.text.readers import office
from kgrag.text.readers.sources import Source, cleaned, collapsed, label

__all__ = ["read"]

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SLIDE_BREAK = "\n\n"


def read(source: Source) -> Iterator[Document]:
    """Yield the file; its title is its property, the title of its first slide, or the file's name.

    Raises:
        UnreadableDocument: no pptx, damaged, too large when unpacked, or without text.
    """
    slides, properties = office.opened(source, _slides)
    sections: list[Section] = []
    pieces: list[str] = []
    start = 0
    for number, (title, body) in enumerate(slides, start=1):
        if body:
            sections.append(Section(start, start + len(body), title, number))
            pieces.append(body)
            start += len(body) + len(_SLIDE_BREAK)
    text = _SLIDE_BREAK.join(pieces)
    title = label(properties.pop("title", "")) or next((title for title, _ in slides if title), "")
    yield source.described(source.document(text, title=title, sections=tuple(sections)), properties)


def _slides(data: io.BytesIO) -> list[tuple[str, str]]:
    """Return title and text of every slide."""
    import pptx

    slides = []
    for slide in pptx.Presentation(data).slides:
        blocks = [*_blocks(slide.element)]
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
            blocks += _blocks(notes._element)
        title = slide.shapes.title
        words = "" if title is None else " ".join(_blocks(title._element))
        slides.append((collapsed(words), "\n".join(filter(None, blocks))))
    return slides


def _blocks(element: Any) -> Iterator[str]:
    """Yield the text of the paragraphs and tables in an element, in order."""
    if element.tag == f"{_A}p":
        yield _text(element)
    elif element.tag == f"{_A}tbl":
        rows = ([collapsed(_text(cell)) for cell in row.iterchildren(f"{_A}tc")] for row in element.iter(f"{_A}tr"))
        yield "\n".join(" | ".join(cells) for cells in rows if any(cells))
    elif element.tag != _FALLBACK:
        for child in element.iterchildren("{*}*"):
            yield from _blocks(child)


def _text(element: Any) -> str:
    parts: list[str] = []
    for child in element.iter(f"{_A}t", f"{_A}br", f"{_A}p"):
        parts += office.characters(child) if child.tag == f"{_A}t" else ["\n"]
    return cleaned("".join(parts)).strip()
