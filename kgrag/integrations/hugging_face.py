"""Hugging Face ``datasets`` as sources: the rows of a dataset, also of one that is streamed, as documents.

>>> rows = [{"passage": "Oats are sown in spring.", "idx": 7, "region": "north"}]
>>> [(one.text, one.id, one.metadata) for one in dataset_documents(rows, text="passage", id="idx")]
[('Oats are sown in spring.', '7', {'region': 'north'})]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kgrag.errors import InputError
from kgrag.model import Document
from kgrag.resources import closest
from kgrag.text.readers.parquet import plain_row
from kgrag.text.readers.sources import label

__all__ = ["dataset_documents"]


def dataset_documents(
    dataset: Iterable[Mapping[str, Any]],
    *,
    text: str = "text",
    title: str = "title",
    id: str = "id",  # noqa: A002 - it is called so everywhere
    url: str = "url",
) -> Iterator[Document]:
    """Yield one document per row, for ``KnowledgeBase.add_many``; rows without text are left out.

    All other columns are metadata; the numbers of a ``ClassLabel`` become its names, and bytes are left out.

    Args:
        dataset: one split of a dataset: ``Dataset``, ``IterableDataset``, or any rows by column.
        text: the column of the text.
        title: that of the title, where there is one.
        id: that of the identifier; a row without one is named by its number, from 0.
        url: that of the web address.

    Raises:
        InputError: a dataset of several splits; there is no such column of text.
    """
    if isinstance(dataset, Mapping):
        raise InputError(
            f"the dataset has splits ({', '.join(map(str, dataset))}). Name one of them: dataset['train']."
        )
    names = _names(dataset)
    for number, given in enumerate(dataset):
        if text not in given:
            raise InputError(f"the dataset has no column {text!r} of text. {closest(text, list(given))}")
        row = plain_row(given)
        words = row.pop(text, None)
        if not isinstance(words, str) or not words.strip():
            continue
        called = [label(row.pop(column, None)) for column in (title, id, url)]
        for column, known in names.items():
            row[column] = known.get(row.get(column), row.get(column))
        yield Document(words, title=called[0], id=called[1] or str(number), url=called[2], metadata=row)


def _names(dataset: Any) -> dict[str, dict[Any, str]]:
    """Return the names of numbers by column, of columns that are a ``ClassLabel``."""
    features = getattr(dataset, "features", None) or {}
    return {
        column: dict(enumerate(names)) for column, kind in features.items() if (names := getattr(kind, "names", None))
    }
