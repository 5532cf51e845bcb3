"""What tests of reading ask of a file: its one document, its sections, or why it is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kgrag.errors import UnreadableDocument
from kgrag.model import Document
from kgrag.text.readers import read_path

__all__ = ["Make", "only", "parts", "refused"]

Make = Callable[[str, str | bytes], Path]


def only(path: Path) -> Document:
    """Give the only document of a file."""
    (document,) = read_path(path)
    return document


def parts(document: Document) -> list[tuple[str, str]]:
    """Give heading and text of every section."""
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def refused(path: Path) -> str:
    """Give the message with which a path is refused; it names the path."""
    with pytest.raises(UnreadableDocument) as caught:
        list(read_path(path))
    message = str(caught.value)
    assert path.name in message
    return message
