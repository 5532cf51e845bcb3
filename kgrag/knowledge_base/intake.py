"""Documents into a knowledge base, where one place holds one document.

A document is named by its content, so a changed one is another document that comes to the same place. The one that was
there loses the place, and is forgotten when it has no other. That it has to go is stated in the step that publishes the
new one, so that a run that is killed in between is finished by the next opening for writing. Of a file of records only
the next reading finishes it.

A file that was read whole contains what was read and nothing else. A feed, and a file with parts that could not be
read, only changes at the places that it names.

Queries read: ``documents/at_places``, ``documents/in_files``, ``documents/locations_of``. Update run:
``documents/misplaced``, ``forgetting/spared``.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError
from kgrag.knowledge_base import forgetting
from kgrag.model import Document, GraphDraft
from kgrag.ports import TripleStore, VectorSpaces
from kgrag.text import documents
from kgrag.text.ingestion import IngestReport
from kgrag.text.readers.sources import cleaned, place

__all__ = ["leave", "of_feed", "take_in"]

_PLACES_PER_QUERY = 500


def take_in(
    source: Iterable[Document],
    *,
    ingest: Callable[..., IngestReport],
    store: TripleStore,
    spaces: VectorSpaces,
    feed: bool = False,
    broken: Collection[Path] = (),
) -> IngestReport:
    """Ingest documents, and forget those whose place they take.

    Args:
        source: documents as they are read, those of one file one after the other.
        ingest: ``ingestion.ingest`` with its options.
        store: where they go.
        spaces: vectors of what is forgotten are dropped from them.
        feed: whether what is not among the documents stays, however it came.
        broken: files of which parts could not be read, filled on the way; what is not read of them stays.

    Raises:
        InvalidSettings: ``chunk_tokens`` is below 8.
        UnknownName: there is no such chunker.
    """
    settling = _Settling(store, spaces, feed, broken)
    report = ingest(source, store=store, publishing=settling.publishing)
    settling.end()
    return replace(report, superseded=settling.superseded)


def leave(
    document: str, going: Sequence[str], *, store: TripleStore, spaces: VectorSpaces
) -> forgetting.Forgotten | None:
    """Take places from a document; one that has no other is forgotten.

    Args:
        document: its IRI.
        going: the places that it loses.
        store: where it is.
        spaces: vectors of a forgotten document are dropped from them.

    Returns:
        What went with it, None for a document that stays.
    """
    query = queries.bind("documents/locations_of", catalogue=store.names.catalogue, documents=[ox.NamedNode(document)])
    if {location for _, location in store.select(query).values()} <= set(going):
        return forgetting.forget(document, store=store, spaces=spaces)
    update = queries.bind(
        "documents/misplaced",
        catalogue=store.names.catalogue,
        graph=store.names.document_graph(ox.NamedNode(document)),
        places=[ox.Literal(location) for location in going],
    )
    store.update(update, graphs=[])
    return None


def of_feed(source: Iterable[object], feed: str) -> Iterator[Document]:
    """Yield documents with their places in a feed: its name and their id, or their URL.

    Raises:
        InputError: something is no document or has no text, or the name of the feed is none.
    """
    if not feed or os.sep in feed or "#" in feed or feed != feed.strip():
        raise InputError(f"{feed!r} is no name of a feed. Take a word without '#' and '{os.sep}'.")
    for number, document in enumerate(source, 1):
        if not isinstance(document, Document):
            raise InputError(f"item {number} is a {type(document).__name__}. Make it a kgrag.Document(text, id=…).")
        if not isinstance(document.text, str) or not document.text.strip():
            raise InputError(f"document {number} ({document.id or document.title or 'without id'}) has no text.")
        own = f"{feed}#{document.id}" if document.id else ""
        location = document.location or own or document.url
        source_name = feed if location == own else ""
        yield replace(document, text=cleaned(document.text), location=location, source=source_name)


@dataclass(slots=True)
class _Settling:
    """Compares what came to a place with what else is there, a batch of documents at a time.

    ``_file`` is the file that is being read, ``_held`` what it holds (pairs of document and location), as far as read.
    ``_refused`` are places whose new document is in quarantine, so that the old one stays.
    """

    store: TripleStore
    spaces: VectorSpaces
    feed: bool
    broken: Collection[Path]
    superseded: int = 0
    _file: str = ""
    _held: set[tuple[str, str]] = field(default_factory=set)
    _refused: set[str] = field(default_factory=set)

    @contextmanager
    def publishing(self, batch: Sequence[Document], drafts: Sequence[GraphDraft]) -> Iterator[None]:
        """State which documents will have to go, let the batch be published, and let them go."""
        own = {documents.document_iri(document, self.store.names).value: document for document in batch}
        single = {
            document.location: {(iri, document.location)}
            for iri, document in own.items()
            if document.location and (self.feed or not document.source)
        }
        soon: list[str] = []
        # graphs that are replaced enter in a step before the others, in which nothing may be stated yet
        if single and all(draft.mode == "new" for draft in drafts):
            going = self._going(single)
            kept = {document for document, places in self._places(going).items() if places - set(going[document])}
            soon = [document for document in going if document not in own and document not in kept]
        with self.store.stating(forgetting.to_forget(self.store, soon)):
            yield
        self._settle(batch)
        if soon and self._refused:
            spared = [ox.NamedNode(iri) for iri in soon]
            update = queries.bind("forgetting/spared", catalogue=self.store.names.catalogue, documents=spared)
            self.store.update(update, graphs=[])

    def _settle(self, batch: Sequence[Document]) -> None:
        """Settle the files that are complete, and the places of a feed."""
        complete: dict[str, set[tuple[str, str]]] = {}
        latest: dict[str, str] = {}
        for document in batch:
            node = documents.document_iri(document, self.store.names)
            iri = node.value
            if not self.store.described(self.store.names.document_graph(node)):
                self._refused.add(document.location)
            file = document.source or document.location
            if file != self._file and self._file:
                complete[self._file] = self._held
                self._held = set()
            self._file = file
            self._held.add((iri, document.location))
            latest[document.location] = iri
        if self.feed:
            self._held.clear()
            self._supersede({location: {(iri, location)} for location, iri in latest.items() if location})
        else:
            self._supersede(complete)

    def end(self) -> None:
        """Settle the last file."""
        if self._file and not self.feed:
            self._supersede({self._file: self._held})

    def _supersede(self, held: dict[str, set[tuple[str, str]]]) -> None:
        """Take the places in some files from all documents but those that the files hold."""
        for document, locations in self._going(held).items():
            self.superseded += leave(document, locations, store=self.store, spaces=self.spaces) is not None

    def _going(self, held: dict[str, set[tuple[str, str]]]) -> dict[str, list[str]]:
        """Return the documents that lose places in some files, with these places."""
        defective = {place(file) for file in self.broken}
        going: dict[str, list[str]] = defaultdict(list)
        for document, location, file in self._at(held):
            taken = {location for _, location in held[file]} if file in defective else {location}
            if (document, location) not in held[file] and location in taken - self._refused:
                going[document].append(location)
        return going

    def _places(self, found: Iterable[str]) -> dict[str, set[str]]:
        places: dict[str, set[str]] = defaultdict(set)
        nodes = [ox.NamedNode(document) for document in found]
        for first in range(0, len(nodes), _PLACES_PER_QUERY):
            values = {"catalogue": self.store.names.catalogue, "documents": nodes[first : first + _PLACES_PER_QUERY]}
            for document, location in self.store.select(queries.bind("documents/locations_of", **values)).values():
                places[document].add(location)
        return places

    def _at(self, places: Iterable[str]) -> Iterator[tuple[str, ...]]:
        literals = [ox.Literal(each) for each in sorted(places)]
        for first in range(0, len(literals), _PLACES_PER_QUERY):
            values = {"catalogue": self.store.names.catalogue, "places": literals[first : first + _PLACES_PER_QUERY]}
            yield from self.store.select(queries.bind("documents/at_places", **values)).values()
            if not self.feed:
                yield from self.store.select(queries.bind("documents/in_files", **values)).values()
