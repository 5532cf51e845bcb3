"""The folder of a knowledge base, told from folders of something else, in which no files are to appear."""

from __future__ import annotations

from pathlib import Path

from kgrag.errors import InvalidSettings

__all__ = ["refuse_other_folder"]

_MARKS = ("store", "store.lock")
"""What every knowledge base that was opened for writing has."""
_OWN = frozenset(
    {
        *(*_MARKS, "cache", "kgrag.toml", "lexical", "lost+found", "models"),
        *("signing.key", "uploads", "vectors", "writes.jsonl"),
    }
)
_MAX_NAMED = 3


def refuse_other_folder(folder: Path) -> None:
    """Check that a path may become a knowledge base: it is one, or absent, or has nothing but files of one.

    Hidden files do not count.

    Raises:
        InvalidSettings: it is a file, or a folder of something else.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidSettings(f"{folder} is a file, and a knowledge base is a folder. Name another one.")
    if not folder.is_dir() or any((folder / mark).exists() for mark in _MARKS):
        return
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:  # the store has words for a folder that may not be read
        return
    others = [name for name in names if name not in _OWN and not name.startswith((".", "store."))]
    if others:
        more = f" and {len(others) - _MAX_NAMED} more" if len(others) > _MAX_NAMED else ""
        raise InvalidSettings(
            f"{folder} is a folder of something else ({', '.join(others[:_MAX_NAMED])}{more}), and a knowledge base "
            "wants one of its own. Name a new folder, such as kgrag.kb, and ingest this one into it."
        )
