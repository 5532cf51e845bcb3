"""Formats that markitdown turns into Markdown: notebooks (ipynb), Outlook's mail (msg), workbooks of before 2007 (xls).

Needs markitdown: ``pip install '.[markitdown]'``. A title of its own goes before the first heading.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from kgrag.model import Document
from kgrag.text.readers import markdown
from kgrag.text.readers.sources import Source, cleaned, collapsed

__all__ = ["read"]

_COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1")


def read(source: Source) -> Iterator[Document]:
    """Yield the file.

    Raises:
        UnreadableDocument: markitdown is not installed; it is no file of the format, or damaged; it has no text.
    """
    if not source.path.stat().st_size:
        raise source.empty()
    try:
        from markitdown import MarkItDown, MarkItDownException, StreamInfo
    except ModuleNotFoundError:
        raise source.unreadable(
            f"is {source.suffix}, which needs markitdown. Install it: pip install '.[markitdown]'."
        ) from None
    content = source.content()
    if not _IS_OF_FORM[source.suffix](content):  # else its text would be taken for a plain one
        raise source.unreadable(f"is no {source.suffix} file, or damaged. Get it again.")
    try:
        with warnings.catch_warnings(action="ignore"):  # of libraries about each other
            converted: Any = MarkItDown(enable_plugins=False).convert_stream(
                io.BytesIO(content), stream_info=StreamInfo(extension=source.suffix)
            )
    except MarkItDownException as error:
        reason = collapsed(str(error))[:300]
        raise source.unreadable(f"cannot be read by markitdown ({reason}). Save it in another format.") from error
    yield markdown.document_of(source, cleaned(converted.markdown), title=collapsed(cleaned(converted.title or "")))


def _is_notebook(content: bytes) -> bool:
    try:
        found = json.loads(content)
    except ValueError:
        return False
    return isinstance(found, dict) and isinstance(found.get("cells"), list)


def _is_compound_file(content: bytes) -> bool:
    return content.startswith(_COMPOUND_FILE)


_IS_OF_FORM: dict[str, Callable[[bytes], bool]] = {
    ".ipynb": _is_notebook,
    ".msg": _is_compound_file,
    ".xls": _is_compound_file,
}
