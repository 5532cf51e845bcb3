"""Vector spaces that follow the store: what appeared is embedded, what vanished is dropped, the rest stays as it is.

Most IRIs are made of the content that they name, so a known key never needs embedding again; others, such as the terms
of an ontology, are embedded anew when a graph of their kind changed. A space records the store revision that it
reflects; while no graph of its kind changed since, nothing but one ASK is run. What changed is read from the last
publications where they say it (``kgrag.index.change_feed``); else keys are counted, or compared one by one.

Queries read: ``spaces/*``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

import pyoxigraph as ox

from kgrag import plugins, queries
from kgrag.declarations import VectorSpace
from kgrag.errors import UnknownName
from kgrag.index import change_feed
from kgrag.index.change_feed import MAX_PUBLICATIONS
from kgrag.index.sharded_indexes import ShardedStore
from kgrag.ports import Embedder, TripleStore, VectorIndex, VectorSpaces
from kgrag.resources import closest
from kgrag.vocab import KG

__all__ = ["PLATFORM", "Progress", "changed", "follow", "fresh", "keys", "missing", "spaces", "texts"]

Progress = Callable[[str, int, int], None] | None
"""Called with (stage label, done, total) at the end of each batch."""

_BATCH = 1024  # texts read and embedded at once
_TEXTS = "texts"  # the parameter of a query that returns texts with what it lists
_SAVE_EVERY = 20  # batches, so that a killed run loses at most this many
_TURN = threading.Lock()  # two threads that find a space behind must not both embed
_REPORTING = threading.Event()  # set while the thread that has the turn tells how far it is
_SECONDS_BETWEEN_LOOKS = 0.05


PLATFORM = (
    VectorSpace(
        "chunk",
        KG.DocumentGraph,
        "spaces/chunk",
        "chunks of documents",
        new="spaces/chunk-new",
        count="spaces/chunk-count",
    ),
    VectorSpace(
        "competency-question",
        KG.DataGraph,
        "spaces/competency-question",
        "competency questions",
        texts="spaces/competency-question-texts",
        content_named=False,
        on_demand=True,
    ),
    VectorSpace(
        "schema-term",
        KG.OntologyGraph,
        "spaces/schema-term",
        "classes and properties of ontologies",
        texts="spaces/schema-term-texts",
        content_named=False,
        on_demand=True,
    ),
)
"""Spaces that several methods use."""


@cache
def spaces() -> Mapping[str, VectorSpace]:
    """Return every vector space by name: the platform's, then those of methods."""
    declared = [space for method in plugins.methods().values() for space in method.vector_spaces]
    return MappingProxyType({space.name: space for space in (*PLATFORM, *declared)})


def fresh(
    name: str, *, store: TripleStore, spaces: VectorSpaces, embedder: Embedder, progress: Progress = None
) -> VectorIndex:
    """Return a space with exactly the texts that the store has now.

    While another thread is doing that and calls its ``progress``, the space is returned as it is by then.

    Saved every 20,000 texts under the old revision, so that a killed run goes on where it was; under the new
    revision at the end. Spaces that are read-only are brought up to date in memory.

    Args:
        name: one of ``spaces()``.
        store: where the texts are.
        spaces: where the vectors are.
        embedder: makes the missing vectors, as passages.
        progress: called after each batch.

    Raises:
        EmbeddingMismatch: the space was made by another embedder.
        ServiceError: the embedder is a service that does not answer; what was embedded is kept.
        StorageFailed: the disk refused the vectors.
        UnknownName: there is no such space.
    """
    _space(name)
    if isinstance(store, ShardedStore):
        return store.vectors(
            name, lambda one: fresh(name, store=one.store, spaces=one.spaces, embedder=embedder, progress=progress)
        )
    index = spaces.space(name)
    if index.revision == store.revision:
        return index
    while not _TURN.acquire(timeout=_SECONDS_BETWEEN_LOOKS):
        if _REPORTING.is_set():  # who has the turn may be waiting for this thread: a server's build lets questions in
            return index
    try:
        now = store.revision
        if index.revision > now or changed(name, store=store, since=index.revision):
            _follow(name, index, store=store, embedder=embedder, progress=progress)
        if index.revision != now:
            index.save(now)
    finally:
        _TURN.release()
    return index


def follow(name: str, *, store: TripleStore, spaces: VectorSpaces) -> None:
    """Drop what is known to be gone, and save that under the present revision where no text is new; embeds nothing.

    Raises:
        EmbeddingMismatch: the space was made by another embedder.
        StorageFailed: the disk refused the vectors.
        UnknownName: there is no such space.
    """
    index, now = spaces.space(name), store.revision
    changes = change_feed.changes(_space(name), store=store, since=index.revision)
    if changes is not None and changes.removed.isdisjoint(changes.added) and not index.lacking(changes.added):
        index.delete(changes.removed)
        index.save(now)


def changed(name: str, *, store: TripleStore, since: int) -> bool:
    """Return whether the texts of a space can have changed after a revision; False is certain. Raises UnknownName."""
    return change_feed.changed(_space(name).kind, store=store, since=since)


def keys(name: str, *, store: TripleStore) -> list[str]:
    """Return the sorted IRIs of all that belongs in a space. Raises UnknownName."""
    return sorted({row[0] for row in _listed(_space(name), store)})


def _listed(space: VectorSpace, store: TripleStore, *, texts: int = 0) -> list[tuple[str, ...]]:
    """Return the IRIs of what belongs in a space; with ``texts``, so many of them at most, each with its text."""
    values: dict[str, Any] = {"tree": store.names.tree_graph(space.tree)} if space.tree else {}
    if _TEXTS in queries.describe(space.query).parameters:
        values[_TEXTS] = texts
    return store.select(queries.bind(space.query, catalogue=store.names.catalogue, **values)).values()


def missing(name: str, *, store: TripleStore, spaces: VectorSpaces) -> int:
    """Return how many texts ``fresh`` would embed now; nothing is written. Raises UnknownName, EmbeddingMismatch."""
    index = spaces.space(name)
    if index.revision <= store.revision and not changed(name, store=store, since=index.revision):
        return 0
    kept = set(index.keys()) if _space(name).content_named else set()
    return sum(iri not in kept for iri in keys(name, store=store))


def texts(name: str, *, store: TripleStore, iris: Sequence[str] | None = None) -> list[tuple[str, str]]:
    """Return (IRI, text) pairs sorted by IRI: of all that belongs in a space, or of ``iris``. Raises UnknownName.

    What has no words is left out. An IRI that graphs word differently has each wording once, on lines of its own;
    of a competency question the wording that sorts first.
    """
    if iris is None and (few := _few(_space(name), store)) is not None:
        return few
    wanted = keys(name, store=store) if iris is None else sorted(set(iris))
    return [pair for batch in _batches(wanted) for pair in _texts(name, store, batch)]


def _follow(name: str, index: VectorIndex, *, store: TripleStore, embedder: Embedder, progress: Progress) -> None:
    """Drop the keys that vanished and embed those that are new."""
    space, few = _space(name), None
    if not len(index) and (few := _few(space, store)) is not None:
        missing = [iri for iri, _ in few]
    elif (changes := change_feed.changes(space, store=store, since=index.revision)) is not None:
        index.delete(changes.removed)
        missing = index.lacking(changes.added)
    elif (added := _added(name, index, store)) is not None:
        missing = added
    else:
        wanted = keys(name, store=store)
        known = set(index.keys())
        index.delete(known.difference(wanted))
        missing = [iri for iri in wanted if iri not in known] if space.content_named else wanted
    done = 0
    for number, batch in enumerate(_batches(missing), 1):
        pairs = _texts(name, store, batch) if few is None else few
        index.upsert([iri for iri, _ in pairs], embedder.embed([text for _, text in pairs], "passage"))
        done += len(batch)
        if progress:
            _REPORTING.set()
            try:
                progress(f"embed {name}", done, len(missing))
            finally:
                _REPORTING.clear()
        if number % _SAVE_EVERY == 0:
            index.save(index.revision)


def _few(space: VectorSpace, store: TripleStore) -> list[tuple[str, str]] | None:
    """Return (IRI, text) pairs of all that belongs in a space, sorted; None where they are more than one batch."""
    if not space.content_named or _TEXTS not in queries.describe(space.query).parameters:
        return None
    rows = _listed(space, store, texts=_BATCH + 1)
    return _joined(sorted(rows)) if len(rows) <= _BATCH else None


def _added(name: str, index: VectorIndex, store: TripleStore) -> list[str] | None:
    """Return the keys that a space lacks, from the latest publications alone; None where those do not explain it.

    What vanished is not found in this way, so the count decides: it can only be right when nothing else vanished.
    """
    space = _space(name)
    latest = range(index.revision + 1, store.revision + 1)
    if not space.new or not 0 < len(latest) <= MAX_PUBLICATIONS or index.revision < 0:
        return None
    catalogue = store.names.catalogue
    publications = [store.names.publication(revision) for revision in latest]
    rows = store.select(queries.bind(space.new, catalogue=catalogue, publications=publications)).values()
    added = index.lacking([iri for (iri,) in rows])
    ((count,),) = store.select(queries.bind(space.count, catalogue=catalogue)).values()
    return added if len(index) + len(added) == int(count) else None


def _texts(name: str, store: TripleStore, iris: Sequence[str]) -> list[tuple[str, str]]:
    terms = [ox.NamedNode(iri) for iri in iris]
    space = _space(name)
    query = queries.bind(space.texts, catalogue=store.names.catalogue, kind=space.kind, iris=terms)
    return _joined(store.select(query).values())


def _joined(rows: Iterable[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Return (IRI, text) pairs in which each IRI is once, with each of its wordings on lines of its own."""
    wordings: dict[str, list[str]] = {}
    for iri, text in rows:
        wordings.setdefault(iri, []).append(text)
    return [(iri, "\n".join(dict.fromkeys(versions))) for iri, versions in wordings.items()]


def _batches(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]


def _space(name: str) -> VectorSpace:
    known = spaces()
    if name not in known:
        raise UnknownName(f"there is no vector space '{name}'. {closest(name, known)}")
    return known[name]
