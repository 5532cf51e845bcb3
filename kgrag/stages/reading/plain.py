"""Plain text: as it is, and its reference list."""

from __future__ import annotations

from collections.abc import Iterator

from kgrag.model import Document
from kgrag.stages.reading import references
from kgrag.stages.reading.sources import Source

__all__ = ["read"]


def read(source: Source) -> Iterator[Document]:
    """Yield the file, titled by its name.

    Raises:
        UnreadableDocument: no text.
    """
    text = source.text()
    yield source.document(text, cites=references.entries(text))
