"""Maps the engine's exceptions to ours, in one place.

Holds the engine's store so that closing really lets go of the folder.

The engine has no ``close``: it lets go when the last reference dies, and the traceback of an exception that somebody
keeps holds references. So the adapter passes ``Held`` around, which looks like the store and can be emptied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL, KgragError, StateError, StorageFailed, StoreLocked

__all__ = [
    "engine",
    "held",
    "let_go",
]


@contextmanager
def engine(text: str = "") -> Iterator[None]:
    """Run engine calls; ``text`` is the SPARQL from outside that they run, if any.

    Raises:
        InvalidSPARQL: the text does not parse, or cannot be evaluated.
        StoreLocked: another process holds the folder.
        StorageFailed: the disk refused.
    """
    try:
        yield
    except KgragError:
        raise
    except SyntaxError as error:
        if not text:
            raise
        raise InvalidSPARQL(_syntax(error, text)) from error
    except (ValueError, RuntimeError) as error:
        if not text:
            raise
        raise InvalidSPARQL(f"{_told(error)}. The store cannot evaluate this text.") from error
    except OSError as error:
        raise _storage(error) from error


def _told(error: BaseException) -> str:
    return (str(error.args[0]) if error.args else type(error).__name__).rstrip(".")


def _syntax(error: SyntaxError, text: str) -> str:
    place = re.match(r"error at (\d+):(\d+): (.*)", _told(error), flags=re.DOTALL)
    if place is None:
        return f"{_told(error)}. Correct the text."
    lines = text.splitlines()
    number = int(place[1])
    line = lines[number - 1].strip() if number <= len(lines) else ""
    near = f" near {line[:120]!r}" if line else ", at the end"
    wanted = place[3] if len(place[3]) < 200 and "[_]" not in place[3] else "something else is expected here"
    return f"line {number}, column {place[2]}{near}: {wanted}. Correct the text there."


def _storage(error: OSError) -> KgragError:
    told = _told(error) if error.errno is None else str(error)
    if "lock" in told.lower():
        what, instead = "is in use", "Close the other process, or open it for reading only"
        return StoreLocked(f"the store's folder {what}: {told}. {instead}.")
    return StorageFailed(
        f"the store could not be read or written: {told}. Free space or mend the folder, and try again."
    )


class _Held:
    """Passes everything on to the store, until it is emptied."""

    def __init__(self, store: ox.Store) -> None:
        self.store: ox.Store | None = store

    def _whole(self) -> ox.Store:
        if self.store is None:
            raise StateError("this store is closed. Open it again.")
        return self.store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole(), name)

    def __contains__(self, quad: ox.Quad) -> bool:
        return quad in self._whole()

    def __iter__(self) -> Iterator[ox.Quad]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())


def held(store: ox.Store) -> ox.Store:
    """Return a stand-in that passes every call on to the store, until it is emptied."""
    return cast("ox.Store", _Held(store))


def let_go(store: ox.Store) -> None:
    """Empty what stands in for a store; whoever still holds it gets StateError from now on."""
    cast("_Held", store).store = None
