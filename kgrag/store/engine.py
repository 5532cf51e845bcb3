"""The boundary to the engine: its exceptions become kgrag's, and a closed store really releases its folder.

Oxigraph has no ``close``: a folder is released when the last reference to its store dies, and the traceback of an
exception that somebody keeps is such a reference. kgrag therefore passes a stand-in around, which can be emptied.

A process that inherits an open folder by fork must not release it: the engine would wait for threads that fork does not
copy, or delete files that its parent has written since. There the engine's store is never released, and the process
ends without the engine's clean-up.
"""

from __future__ import annotations

import ctypes
import os
import re
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL, KgragError, StateError, StorageFailed, StoreLocked
from kgrag.model import Table

__all__ = [
    "Results",
    "closable",
    "damaged",
    "engine",
    "exchanged",
    "opened",
    "quads_of_pattern",
    "release",
    "table_of",
]

Results = ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples

_MAX_LINE_CHARACTERS = 120
_MAX_EXPECTATION_CHARACTERS = 200


@contextmanager
def engine(text: str = "") -> Iterator[None]:
    """Run engine calls; ``text`` is the SPARQL from outside that they run, if any.

    Raises:
        InvalidSPARQL: the text does not parse, or cannot be evaluated.
        StoreLocked: another process has the folder open.
        StorageFailed: the disk refused, or a file of the store is damaged.
    """
    try:
        yield
    except KgragError:
        raise
    except SyntaxError as error:
        if not text:  # a query of our own that does not parse is a defect, not the caller's mistake
            raise
        raise InvalidSPARQL(_syntax_message(error, text)) from error
    except (ValueError, RuntimeError) as error:
        if "Corruption" in _engine_message(error):  # RocksDB met a block that is not what its checksum says
            raise damaged(error) from error
        if not text:
            raise
        raise InvalidSPARQL(f"{_engine_message(error)}. The store cannot evaluate this text.") from error
    except OSError as error:
        message = _engine_message(error) if error.errno is None else str(error)
        if "lock" in message.lower():  # RocksDB reports a lock that is taken as an ordinary input/output error
            raise StoreLocked(
                f"the store's folder is in use: {message}. Close the other process, or open it for reading only."
            ) from error
        if "Corruption" in message:
            raise damaged(error) from error
        raise StorageFailed(
            f"the store could not be read or written: {message}. Free space or mend the folder, and try again."
        ) from error


def table_of(results: Results) -> Table:
    """Return the rows of a SELECT. Raises InvalidSPARQL: it was another form of query."""
    try:
        if not isinstance(results, ox.QuerySolutions):
            raise InvalidSPARQL("a SELECT was expected, and this is another form of query. Write SELECT.")
        return Table(tuple(variable.value for variable in results.variables), [tuple(row) for row in results])
    finally:
        del results  # a traceback must not keep the folder open


def quads_of_pattern(
    store: ox.Store,
    subject: ox.NamedNode | ox.BlankNode | ox.Triple | None,
    predicate: ox.NamedNode | None,
    value: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None,
    graph: ox.NamedNode | ox.BlankNode | ox.DefaultGraph | None,
) -> Iterator[ox.Quad]:
    """Yield the quads of a pattern, where None stands for anything, and no others.

    On disk the engine looks up a number by the bytes that it is kept as, and where the last of them is full (255, 511,
    39167) its lookup runs on to the numbers behind it: of 1 to 1,199 it finds 256 quads for 255. Queries are not
    concerned.
    """
    found = store.quads_for_pattern(subject, predicate, value, graph)
    if not isinstance(value, ox.Literal | ox.Triple):
        return found
    return _with_object(found, value)


def _with_object(quads: Iterator[ox.Quad], value: ox.Literal | ox.Triple) -> Iterator[ox.Quad]:
    kept: ox.Literal | ox.Triple | None = None
    for quad in quads:
        if quad.object != value:
            kept = kept or _as_kept(value)
            if quad.object != kept:
                continue
        yield quad


def _as_kept(value: ox.Literal | ox.Triple) -> ox.Literal | ox.Triple:
    """Return a value as the engine keeps it: 0255 as 255."""
    store, name = ox.Store(), ox.NamedNode("urn:x")
    store.add(ox.Quad(name, name, value))
    return cast("ox.Literal | ox.Triple", next(iter(store)).object)


def damaged(error: BaseException) -> StorageFailed:
    """Return what to raise for an error of the engine about a file that is not what it wrote; it names the file."""
    return StorageFailed(
        f"the store is damaged: {_engine_message(error)}. Put back the folder of a backup (`kgrag backup`); where the "
        "damage is in one index only, `kgrag export` still works, and `kgrag import` makes a new one."
    )


def _engine_message(error: BaseException) -> str:
    return (str(error.args[0]) if error.args else type(error).__name__).rstrip(".")


def _syntax_message(error: SyntaxError, text: str) -> str:
    message = _engine_message(error)
    place = re.match(r"error at (\d+):(\d+): (.*)", message, flags=re.DOTALL)
    if place is None:
        return f"{message}. Correct the text."
    lines = text.splitlines()
    number = int(place[1])
    line = lines[number - 1].strip() if number <= len(lines) else ""
    near = f" near {line[:_MAX_LINE_CHARACTERS]!r}" if line else ", at the end"
    # the parser lists every token that it could take, often dozens and some as character classes: no help to a reader
    readable = len(place[3]) < _MAX_EXPECTATION_CHARACTERS and "[_]" not in place[3]
    return (
        f"line {number}, column {place[2]}{near}: {place[3] if readable else 'something else is expected here'}. "
        "Correct the text there."
    )


class _ClosableStore:
    """Passes every call on to a store, until it is emptied; ``let_go`` is called then, or at the end of the process."""

    def __init__(self, store: ox.Store, let_go: Callable[[], None]) -> None:
        self.store: ox.Store | None = store
        self.let_go = weakref.finalize(self, let_go)

    def _open_store(self) -> ox.Store:
        if self.store is None:
            raise StateError("this store is closed. Open it again.")
        return self.store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._open_store(), name)

    # Python looks these up on the class, so that __getattr__ never sees them

    def __contains__(self, quad: ox.Quad) -> bool:
        return quad in self._open_store()

    def __iter__(self) -> Iterator[ox.Quad]:
        return iter(self._open_store())

    def __len__(self) -> int:
        return len(self._open_store())


def closable(store: ox.Store, *, on_disk: bool = False, let_go: Callable[[], None] = lambda: None) -> ox.Store:
    """Return a stand-in that passes every call on to the store, until ``release`` empties it and calls ``let_go``."""
    stand_in = _ClosableStore(store, let_go)
    if on_disk:
        _ON_DISK.add(stand_in)
        _spare_children()
    return cast("ox.Store", stand_in)


_ON_DISK: weakref.WeakSet[_ClosableStore] = weakref.WeakSet()


@cache
def _spare_children() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_keep_what_was_inherited)


def _keep_what_was_inherited() -> None:
    """Let this process, which fork has just made, never release a folder that its parent has open."""
    inherited = [stand_in.store for stand_in in _ON_DISK if stand_in.store is not None]
    for store in inherited:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(store))
    library = ctypes.CDLL(None)
    if inherited and hasattr(library, "on_exit"):  # of glibc: it passes the exit status on
        library.on_exit(library._exit, None)


def exchanged(store: ox.Store, other: ox.Store | None) -> None:
    """Let a stand-in made by ``closable`` pass calls on to another store, whose folder takes the old one's place.

    None releases the folder meanwhile.
    """
    cast("_ClosableStore", store).store = other


def opened(store: ox.Store) -> ox.Store:
    """Return the store behind a stand-in made by ``closable``, for many calls in a row; keep it for no longer."""
    stand_in: object = store
    return stand_in._open_store() if isinstance(stand_in, _ClosableStore) else store


def release(store: ox.Store) -> None:
    """Empty a stand-in made by ``closable``; whoever still has it gets StateError from now on."""
    stand_in = cast("_ClosableStore", store)
    stand_in.store = None
    stand_in.let_go()
