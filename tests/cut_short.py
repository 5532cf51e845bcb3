"""Knowledge bases to cut short: what they are filled with, the death of a process, and what is compared afterwards."""

import multiprocessing
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, plugins
from kgrag.errors import StorageFailed
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.store import identity
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder
from kgrag.vocab import KG
from tests.conftest import DEMO


def options(method: str) -> dict[str, Path]:
    return {option: DEMO / path for option, path in plugins.methods()[method].example.items()}


def filled(path: Path | None = None) -> KnowledgeBase:
    kb = KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder())
    kb.load(folder("ontologies") / "crops.ttl")
    kb.ingest(DEMO / "texts")
    return kb


def content(kb: KnowledgeBase) -> Counter[tuple[str, str]]:
    """Return the triples of every graph but catalogue and provenance, which say when, as a revision does, too."""
    when = {kb.store.names.catalogue.value, kb.store.names.provenance.value}
    return Counter(
        (graph, str(triple))
        for graph in kb._store.graphs()
        if graph not in when
        for triple in kb.store.triples(ox.NamedNode(graph))
        if triple.predicate != KG.revision
    )


@contextmanager
def killed_after(commits: int) -> Iterator[None]:
    """Raise, as the death of the process would end it, as soon as so many changes have been made inside."""
    real, made = OxigraphStore._advance, 0

    def advance(self: OxigraphStore, revision: int) -> None:
        nonlocal made
        real(self, revision)
        made += self._validator is not None  # a scratch store has none
        if made == commits:
            raise StorageFailed("no space left on the device. Free some.")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(OxigraphStore, "_advance", advance)
        yield


# --- kills: a process of its own, which ends at once at one of its points ---------------------------------------------

_KILLED = 9
_WRITES = ("backup", "bulk_extend", "extend", "flush", "update")
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    ["tests.final_states", "torch", "sklearn.mixture", *(f"kgrag.methods.{name}.method" for name in plugins.methods())]
)


def killed_at(point: int, work: Callable[..., None], *arguments: object) -> int:
    """Run some work in a process that ends at once at its so-manieth point; return how many points it passed.

    A point is before and behind each write of a store on the disk, renaming, deletion of a file, and fsync. The work
    came to its end when fewer points were passed.
    """
    receiving, sending = _SERVER.Pipe(duplex=False)
    process = _SERVER.Process(target=_run, args=(sending, point, work, arguments))
    process.start()
    sending.close()
    passed = 0
    with suppress(EOFError):
        while True:
            passed = receiving.recv()
    process.join()
    assert process.exitcode == (_KILLED if passed == point else 0), process.exitcode
    process.close()
    return passed


class _Points:
    """Counts the points that a process passes, tells them to the one that started it, and ends it at one of them."""

    def __init__(self, sending: Connection, last: int) -> None:
        self.sending, self.last, self.passed = sending, last, 0

    def reached(self) -> None:
        self.passed += 1
        self.sending.send(self.passed)
        if self.passed == self.last:
            os._exit(_KILLED)

    def around(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any, **more: Any) -> Any:
            if more.get("dir_fd") is not None:  # within a folder that is deleted as a whole
                return real(*values, **more)
            self.reached()
            result = real(*values, **more)
            self.reached()
            return result

        return call


class _Hooked:
    """A store on the disk, with a point before and behind each of its writes."""

    def __init__(self, store: ox.Store, points: _Points) -> None:
        self.store, self.points = store, points

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.store, name)
        return self.points.around(real) if name in _WRITES else real

    def __contains__(self, quad: ox.Quad) -> bool:
        return quad in self.store

    def __iter__(self) -> Iterator[ox.Quad]:
        return iter(self.store)

    def __len__(self) -> int:
        return len(self.store)


def _run(sending: Connection, point: int, work: Callable[..., None], arguments: tuple[object, ...]) -> None:
    points = _Points(sending, point)
    open_folder = identity.open_folder

    def opened(folder: Path | None, *, read_only: bool = False) -> ox.Store:
        store: Any = open_folder(folder, read_only=read_only)
        if folder is not None:
            store.store = _Hooked(store.store, points)
        return store

    identity.open_folder = opened
    for name in ("rename", "replace", "unlink", "fsync"):
        setattr(os, name, points.around(getattr(os, name)))
    work(*arguments)
