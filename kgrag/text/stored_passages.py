"""Chunks as they are stored, with their documents: what answers show and cite of them, read once per state of a store.

What a hit shows, what it cites, and where a person can open that are looked up at several steps of an answer. One
question reads all of it, and the passages of the last few answers stay in memory until the store changes.

Queries read: ``documents/passages``, ``documents/around``. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Place, Span, Table, Term, plain
from kgrag.ports import TripleStore
from kgrag.text import metadata
from kgrag.vocab import DCTERMS, KG, RDF

__all__ = ["StoredPassage", "forget", "passages", "spans", "surroundings", "texts"]

_IRIS_PER_QUERY = 1000
_MAX_CHARACTERS = 8_000_000
"""Of texts that are kept of one store."""
_NOT_METADATA = frozenset({RDF.type, DCTERMS.title, DCTERMS.identifier, DCTERMS.format})

_Statements = dict[str, list[Term]]


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A chunk: text, span, where it can be opened, and at which characters in it later pages and sections begin."""

    text: str
    span: Span
    place: Place
    page_breaks: tuple[tuple[int, int], ...] = ()
    heading_breaks: tuple[tuple[int, str], ...] = ()


@dataclass(slots=True)
class _Kept:
    """What is known of a store at a revision; None for what is no stored chunk."""

    revision: int
    passages: dict[str, StoredPassage | None] = field(default_factory=dict)
    around: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    characters: int = 0


_LOCK = Lock()
_KEPT: WeakKeyDictionary[TripleStore, _Kept] = WeakKeyDictionary()


def forget(store: TripleStore) -> None:
    """Forget what is kept of a store, because another process may have changed it."""
    with _LOCK:
        _KEPT.pop(store, None)


def passages(store: TripleStore, chunks: Iterable[str]) -> dict[str, StoredPassage]:
    """Return the stored passage of each chunk; what is no stored chunk is left out."""
    wanted = list(dict.fromkeys(chunks))
    revision = store.revision
    kept = _kept(store, revision)
    with _LOCK:
        known = {chunk: kept.passages[chunk] for chunk in wanted if chunk in kept.passages}
    lacking = [chunk for chunk in wanted if chunk not in known and not chunk.startswith("_:")]
    for first in range(0, len(lacking), _IRIS_PER_QUERY):
        batch = lacking[first : first + _IRIS_PER_QUERY]
        nodes = [ox.NamedNode(chunk) for chunk in batch]
        table = store.select(queries.bind("documents/passages", catalogue=store.names.catalogue, chunks=nodes))
        read = dict.fromkeys(batch) | _passages(_statements(table), batch)
        known |= read
        _keep(store, revision, read)
    return {chunk: found for chunk in wanted if (found := known.get(chunk)) is not None}


def spans(store: TripleStore, chunks: Iterable[str]) -> dict[str, Span]:
    """Return the span of each chunk; a chunk that is not stored is left out."""
    return {chunk: found.span for chunk, found in passages(store, chunks).items()}


def texts(store: TripleStore, chunks: Iterable[str]) -> dict[str, str]:
    """Return the text of each chunk; a chunk that is not stored is left out."""
    return {chunk: found.text for chunk, found in passages(store, chunks).items()}


def surroundings(store: TripleStore, chunks: Sequence[str], *, characters: int) -> dict[str, tuple[str, str]]:
    """Return the text before each stored chunk, at most so many characters, and the IRI of the chunk behind it.

    "" stands for what there is not; an IRI that is no chunk has no entry. The chunks behind are known afterwards.
    """
    stored = passages(store, chunks)
    revision = store.revision
    kept = _kept(store, revision)
    with _LOCK:
        known = {chunk: kept.around[chunk, characters] for chunk in stored if (chunk, characters) in kept.around}
    if lacking := [chunk for chunk in stored if chunk not in known]:
        nodes = [ox.NamedNode(chunk) for chunk in lacking]
        table = store.select(queries.bind("documents/around", chunks=nodes, characters=characters))
        before = dict.fromkeys(lacking, "")
        behind: dict[str, str] = {}
        rows: list[tuple[Term | None, ...]] = []
        for chunk, about, predicate, value in table:
            if chunk == about:
                before[plain(chunk)] = plain(value)
            else:
                behind.setdefault(plain(chunk), plain(about))
                rows.append((about, predicate, value))
        following = _statements(rows)
        own = {next_one: stored[chunk].place for chunk, next_one in behind.items()}
        read = {iri: _passage(iri, following[iri], place) for iri, place in own.items()}
        found = {chunk: (before[chunk], behind.get(chunk, "")) for chunk in lacking}
        _keep(store, revision, read, {(chunk, characters): around for chunk, around in found.items()})
        known |= found
    return known


def _statements(table: Table | Iterable[tuple[Term | None, ...]]) -> dict[str, _Statements]:
    found: dict[str, _Statements] = {}
    for about, predicate, value in table:
        if value is not None:
            values = found.setdefault(plain(about), {}).setdefault(plain(predicate), [])
            if value not in values:
                values.append(value)
    return found


def _passages(statements: Mapping[str, _Statements], chunks: Iterable[str]) -> dict[str, StoredPassage]:
    places: dict[str, Place] = {}
    found = {}
    for chunk in chunks:
        if (own := statements.get(chunk)) is None:
            continue
        document = _text(own, DCTERMS.isPartOf)
        if document not in places:
            places[document] = _place(statements.get(document, {}))
        if (passage := _passage(chunk, own, places[document])) is not None:
            found[chunk] = passage
    return found


def _place(document: _Statements) -> Place:
    rows = [
        (predicate, term)
        for predicate, terms in document.items()
        if not predicate.startswith(KG.prefix) and ox.NamedNode(predicate) not in _NOT_METADATA
        for term in terms
        if isinstance(term, ox.NamedNode | ox.Literal)
    ]
    return Place(
        title=_text(document, DCTERMS.title),
        id=_text(document, DCTERMS.identifier),
        locations=tuple(sorted(map(plain, document.get(KG.location.value, ())))),
        url=_text(document, KG.url),
        metadata=metadata.fields_of(rows),
    )


def _passage(chunk: str, own: _Statements, document: Place) -> StoredPassage | None:
    """Return the passage of a chunk's statements; None where they are not those of a whole one."""
    start, end = _text(own, KG.start), _text(own, KG.end)
    if KG.text.value not in own or not start or not end:
        return None
    place = replace(document, page=int(_text(own, KG.page) or 0), heading=_text(own, KG.heading))
    span = Span(chunk=chunk, document=_text(own, DCTERMS.isPartOf), start=int(start), end=int(end))
    pages = tuple((at, int(page)) for at, page in _breaks(own, KG.pageBreak))
    return StoredPassage(_text(own, KG.text), span, place, pages, tuple(_breaks(own, KG.headingBreak)))


def _breaks(own: _Statements, predicate: ox.NamedNode) -> list[tuple[int, str]]:
    """Return at which characters something begins, in order, and what."""
    stated = (plain(value).partition(" ") for value in own.get(predicate.value, ()))
    return sorted((int(at), what) for at, _, what in stated)


def _text(statements: _Statements, predicate: ox.NamedNode) -> str:
    values: Sequence[Any] = statements.get(predicate.value, ())
    return plain(values[0]) if values else ""


def _kept(store: TripleStore, revision: int) -> _Kept:
    with _LOCK:
        kept = _KEPT.get(store)
        if kept is None or kept.revision != revision:
            kept = _KEPT[store] = _Kept(revision)
        return kept


def _keep(
    store: TripleStore,
    revision: int,
    read: Mapping[str, StoredPassage | None],
    around: Mapping[tuple[str, int], tuple[str, str]] | None = None,
) -> None:
    """Keep what was read of a store that was at a revision then, unless it has changed since."""
    kept = _kept(store, revision)
    with _LOCK:
        if _KEPT.get(store) is not kept or store.revision != revision:
            return
        new = {chunk: passage for chunk, passage in read.items() if chunk not in kept.passages}
        kept.passages.update(new)
        kept.around.update(around or {})
        kept.characters += sum(len(passage.text) for passage in new.values() if passage is not None)
        kept.characters += sum(len(before) for before, _ in (around or {}).values())
        if kept.characters > _MAX_CHARACTERS:
            del _KEPT[store]
