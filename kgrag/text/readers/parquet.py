"""Parquet: a record per row (``records``), read some rows at a time, so that a file may be larger than the memory.

Needs pyarrow: ``pip install '.[parquet]'``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import time, timedelta
from typing import Any

from kgrag.model import Document
from kgrag.text.readers.records import record_document
from kgrag.text.readers.sources import Source

__all__ = ["plain_row", "read"]

_ROWS_AT_ONCE = 256


def read(source: Source) -> Iterator[Document]:
    """Yield one document per row; a row that is no record is a defect.

    Raises:
        UnreadableDocument: pyarrow is not installed; it is no Parquet file, or damaged; it has no rows.
    """
    try:
        import pyarrow
        from pyarrow import parquet
    except ModuleNotFoundError:
        raise source.unreadable("is Parquet, which needs pyarrow. Install it: pip install '.[parquet]'.") from None
    if not source.path.stat().st_size:
        raise source.empty()
    number = 0
    try:
        with parquet.ParquetFile(source.path) as opened:
            for batch in opened.iter_batches(batch_size=_ROWS_AT_ONCE):
                for number, row in enumerate(batch.to_pylist(), start=number + 1):  # noqa: B020 - it goes on counting
                    try:
                        record = record_document(plain_row(row), source, place=f"row {number}", anchor=f"row-{number}")
                    except ValueError as error:
                        source.defect(number, str(error))
                        continue
                    yield record
    except (pyarrow.ArrowException, OSError) as error:
        raise source.unreadable(f"is no Parquet file, or damaged ({error}). Get it again.") from error
    if not number:
        raise source.unreadable("has no rows. Leave it out.")


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a row whose values metadata may have: bytes (pictures, sound) and blanks are left out."""
    return {name: _plain(value) for name, value in row.items() if value is not None and not _is_binary(value)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return plain_row(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value if item is not None and not _is_binary(item)]
    if isinstance(value, time | timedelta):
        return str(value)
    return value


def _is_binary(value: Any) -> bool:
    return isinstance(value, bytes | bytearray | memoryview)
