"""A store's folder written anew: ``store.new`` is filled, ``store`` renamed ``store.old``, ``store.new`` ``store``.

Whoever opens the folder for writing finishes what a process that died left: ``store.new`` is whole once ``store`` is
out of the way, and worth nothing before; ``store.old`` is only ever to be removed.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pyoxigraph as ox

from kgrag.store.engine import exchanged
from kgrag.store.reading_views import sweep

__all__ = ["finish", "rewrite"]

_SECONDS_BETWEEN_TRIALS = 0.01
_MAX_SECONDS_OF_READERS = 300.0


def rewrite(store: ox.Store, folder: Path) -> None:
    """Put a folder with the same quads, and no term of others, in the place of a store's folder.

    What reads of the old folder when it is to go is waited for; what begins to read meanwhile finds the store closed.

    Args:
        store: a stand-in made by ``closable``; it passes calls on to the new folder afterwards.
        folder: of the store.

    Raises:
        OSError: the disk refused.
    """
    fresh, old = _paths(folder)
    shutil.rmtree(fresh, ignore_errors=True)
    copy = ox.Store(str(fresh))
    copy.bulk_extend(store)
    copy.flush()
    del copy
    _sync(folder.parent)
    exchanged(store, None)
    try:
        sweep(folder)  # what a reader that was killed links to has the terms that are to go
        _wait_for_readers(folder)
        folder.rename(old)
        fresh.rename(folder)
        _sync(folder.parent)
    finally:
        finish(folder)
        exchanged(store, ox.Store(str(folder)))


def _wait_for_readers(folder: Path) -> None:
    """Return when nothing has a folder open any more: no thread is at a result of its store.

    An engine that outlives the exchange of its folder deletes files of the other one, since it knows them by path.

    Raises:
        OSError: it is still open after five minutes.
    """
    latest = time.monotonic() + _MAX_SECONDS_OF_READERS
    while True:
        try:
            ox.Store(str(folder))
        except OSError:
            if time.monotonic() > latest:
                raise
            time.sleep(_SECONDS_BETWEEN_TRIALS)
        else:
            return


def finish(folder: Path) -> None:
    """Finish, or undo, what a rewriting of a folder left, if there was one. Raises OSError."""
    fresh, old = _paths(folder)
    if not folder.exists() and old.exists():
        (fresh if fresh.exists() else old).rename(folder)
    for leftover in (fresh, old):
        if leftover.exists():
            shutil.rmtree(leftover)


def _paths(folder: Path) -> tuple[Path, Path]:
    return folder.with_name(f"{folder.name}.new"), folder.with_name(f"{folder.name}.old")


def _sync(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
