"""The text of PDF pages in reading order, by PDFium.

pypdf takes gaps between words for kerning where a font has no space of its own: in the PDFs of XeTeX whole lines come
as one word. It still reads structure and properties, and refuses what is damaged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kgrag.late_patterns import late_regex
from kgrag.text.readers.cut_words import CUT
from kgrag.text.readers.sources import cleaned

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["PdfTexts"]

_PDFIUM = threading.RLock()  # PDFium may be called by one thread at a time
_HYPHEN = 2  # what PDFium has for a hyphen at a line's end
_NO_TEXT = late_regex(r"[\x00-\x08\x0b-\x1f\x7f]")  # numbers of glyphs whose font does not say what they are
_Place = TypeVar("_Place")


class PdfTexts:
    """Reads the texts of a file, page by page; a context manager, since PDFium holds the file open.

    Args:
        data: the file, which needs no password to be read.

    Raises:
        Exception: PDFium cannot read it.
    """

    def __init__(self, data: bytes) -> None:
        import pypdfium2

        with _PDFIUM:
            self._file = pypdfium2.PdfDocument(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _PDFIUM:
            self._file.close()

    def text(self, number: int) -> str:
        """Return the text of a page, from 0, with ``CUT`` in words that a line's end cuts in two.

        U+FFFD stands for a glyph whose font does not say which character it is.
        """
        with self._opened(number) as page:
            return _text(character for character, _ in _characters(page))

    def placed(self, number: int, place: Callable[[float, float], _Place]) -> list[tuple[_Place | None, str]]:
        """Return the text of a page in stretches of which all characters have the same place.

        Args:
            number: of the page, from 0.
            place: returns where a point is, in points from the lower left; characters that are only between others,
                as line ends, are where the one before them is.
        """
        stretches: list[tuple[_Place | None, list[str]]] = []
        with self._opened(number) as page:
            for character, index in _characters(page):
                where: _Place | None
                if character.strip():
                    where = place(*_middle(page.get_charbox(index)))
                else:
                    where = stretches[-1][0] if stretches else None
                if not stretches or stretches[-1][0] != where:
                    stretches.append((where, []))
                stretches[-1][1].append(character)
        return [(where, _text(characters)) for where, characters in stretches]

    @contextmanager
    def _opened(self, number: int) -> Iterator[Any]:
        with _PDFIUM:
            page = self._file[number]
            text = page.get_textpage()
            try:
                yield text
            finally:
                text.close()
                page.close()


def _characters(page: Any) -> Iterator[tuple[str, int]]:
    """Yield the characters of a page with their numbers."""
    from pypdfium2.raw import FPDFText_GetUnicode, FPDFText_IsHyphen

    for index in range(page.count_chars()):
        code = FPDFText_GetUnicode(page.raw, index)
        if code == _HYPHEN and FPDFText_IsHyphen(page.raw, index) == 1:
            yield CUT, index
        elif code:
            yield chr(code), index


def _middle(box: tuple[float, float, float, float]) -> tuple[float, float]:
    left, bottom, right, top = box
    return (left + right) / 2, (bottom + top) / 2


def _text(characters: Iterable[str]) -> str:
    text = "".join(characters).replace("\r\n", "\n").replace("\r", "\n")
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # of large codes: two halves
    return cleaned(_NO_TEXT.sub("\ufffd", text))
