"""Documents into a knowledge base, where one place holds one document.

A document is named by its content, so a changed one is another document that comes to the same place. The one that was
there loses the place, and is forgotten when it has no other. That it has to lose it is stated in the step that
publishes the new one (``kg:yields``; ``kg:leaves`` where nothing came to the place), so that a run that died or failed
in between is finished by the next operation, or by the next opening for writing (``finish``).

A file that was read whole contains what was read and nothing else. A feed, and a file with parts that could not be
read, only changes at the places that it names.

Queries read: ``documents/at_places``, ``documents/in_files``, ``documents/leaving``, ``documents/locations_of``.
Updates run: ``documents/misplaced``, ``documents/staying``.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError
from kgrag.knowledge_base import document_sources, forgetting
from kgrag.knowledge_base.forgetting import Forgotten
from kgrag.model import Document
from kgrag.ports import TripleStore, VectorSpaces
from kgrag.store.listed_graphs import listed
from kgrag.text import documents
from kgrag.text.ingestion import IngestReport
from kgrag.text.readers.sources import cleaned, place
from kgrag.vocab import KG

__all__ = ["Departures", "Settling", "finish", "of_feed", "take_in"]

_PLACES_PER_QUERY = 500

Departures = dict[tuple[str, str], str]
"""(document, location that it loses) -> the location to which another document came instead, "" for none."""


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
    settling = Settling(store, spaces, feed, broken)
    report = ingest(source, store=store, publishing=settling.publishing)
    answers = tuple(question for one in settling.forgotten for question in one.answers)
    return replace(report, superseded=len(settling.forgotten), answers=answers)


def finish(store: TripleStore, spaces: VectorSpaces | None = None) -> tuple[list[Forgotten], int]:
    """Take from documents the places that an operation had to take and did not come to, and forget what it had to.

    Returns:
        What was forgotten, and how many documents only lost a place.
    """
    forgotten = forgetting.finish(store)
    going: Departures = {}
    staying: list[tuple[str, str]] = []
    query = queries.bind("documents/leaving", catalogue=store.names.catalogue)
    for document, location, said, other in store.select(query).values():
        if said == KG.leaves.value or other not in ("", _graph(document, store).value):
            going[document, location] = ""
        else:
            staying.append((document, location))
    also, misplaced = _depart(going, store, spaces)
    _stay([each for each in staying if each not in going], store)
    return [*forgotten, *also], misplaced


def _depart(going: Departures, store: TripleStore, spaces: VectorSpaces | None) -> tuple[list[Forgotten], int]:
    """Take places from documents, and forget those that have no other; the first step states what the others do."""
    places: dict[str, list[str]] = defaultdict(list)
    for document, location in going:
        places[document].append(location)
    recorded = _recorded(list(places), store)  # not of what somebody has forgotten who wrote between two batches
    whole = [document for document, locations in recorded.items() if locations <= set(places[document])]
    others = {lost: came for lost, came in going.items() if lost[0] in recorded and lost[0] not in whole}
    forgotten = forgetting.forget(whole, store=store, spaces=spaces, then=_intents(others, store))
    _change_places("documents/misplaced", others, store)
    return forgotten, len(recorded) - len(whole)


def _recorded(every: Sequence[str], store: TripleStore) -> dict[str, set[str]]:
    """Return the places of those documents that are stored."""
    there = listed(store, [_graph(document, store) for document in every])
    found: dict[str, set[str]] = {document: set() for document in every if _graph(document, store) in there}
    for first in range(0, len(every), _PLACES_PER_QUERY):
        iris = [ox.NamedNode(document) for document in every[first : first + _PLACES_PER_QUERY]]
        query = queries.bind("documents/locations_of", catalogue=store.names.catalogue, documents=iris)
        for document, location in store.select(query).values():
            found.setdefault(document, set()).add(location)
    return found


def _stay(staying: Iterable[tuple[str, str]], store: TripleStore) -> None:
    """Withdraw that documents lose places."""
    _change_places("documents/staying", staying, store)


def _change_places(update: str, lost: Iterable[tuple[str, str]], store: TripleStore) -> None:
    """Run an update for documents and places of each, in as few steps as the size of an update allows."""
    every = list(lost)
    for first in range(0, len(every), _PLACES_PER_QUERY):
        part = every[first : first + _PLACES_PER_QUERY]
        graphs = [_graph(document, store) for document, _ in part]
        places = [ox.Literal(location) for _, location in part]
        values = {"catalogue": store.names.catalogue, "graphs": graphs, "places": places}
        store.update(queries.bind(update, **values), graphs=[])


def _graph(document: str, store: TripleStore) -> ox.NamedNode:
    return store.names.document_graph(ox.NamedNode(document))


def _intents(going: Departures, store: TripleStore) -> list[ox.Quad]:
    """Return the statements that documents lose places; none where the other document comes to another spelling."""
    return [
        ox.Quad(_graph(document, store), KG.yields if came else KG.leaves, ox.Literal(location), store.names.catalogue)
        for (document, location), came in going.items()
        if came in ("", location)
    ]


def of_feed(source: Iterable[object], feed: str) -> Iterator[Document]:
    """Yield documents with their places in a feed: its name and their id (``documents.places_of``), else their URL.

    One with an id is in the feed also where it came with a location, which is one more place of it.

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
        yield replace(document, text=cleaned(document.text), location=location, source=feed if own else "")


@dataclass(slots=True)
class Settling:
    """Compares what comes to places with what else is there, a batch of documents at a time.

    Attributes:
        store: where documents go.
        spaces: vectors of what is forgotten are dropped from them.
        feed: whether documents settle their own places only, and not the file that they are from.
        broken: files of which parts could not be read; what is not read of them stays.
        further: returns what else documents lose; called when the last batch was read.
        forgotten: what went so far.
        misplaced: how many documents only lost a place so far.
    """

    store: TripleStore
    spaces: VectorSpaces
    feed: bool = False
    broken: Collection[Path] = ()
    further: Callable[[], Departures] = dict
    forgotten: list[Forgotten] = field(default_factory=list)
    misplaced: int = 0
    _file: str = ""  # that is being read
    _held: dict[str, set[str]] = field(default_factory=dict)  # location -> documents: what it holds, as far as read
    _waiting: Departures = field(default_factory=dict)  # what goes when it is read to its end
    _refused: set[str] = field(default_factory=set)  # places whose new document is in quarantine
    _arriving: set[str] = field(default_factory=set)  # documents of the batch that is being published

    def __post_init__(self) -> None:
        """Finish what an earlier operation that failed has left."""
        finish(self.store, self.spaces)

    @contextmanager
    def publishing(self, batch: Sequence[Document], last: bool) -> Iterator[None]:
        """State what documents lose to a batch, let it be published, and take it from them."""
        arrived = [(documents.document_iri(document, self.store.names).value, document) for document in batch]
        self._arriving = {iri for iri, _ in arrived}
        before = self._waiting
        going = self._lost_to_feed(arrived) if self.feed else self._lost_to_files(arrived, last)
        if last:
            going |= self.further()
        new = {lost: came for lost, came in self._waiting.items() if lost not in before}
        with self.store.stating(_intents({**new, **going}, self.store)):
            yield
        there = listed(self.store, [_graph(iri, self.store) for iri, _ in arrived])
        refused = {iri for iri, _ in arrived if _graph(iri, self.store) not in there}
        self._refused |= {at for iri, document in arrived if iri in refused for at in documents.places_of(document)}
        returned = before.keys() - self._waiting.keys() - going.keys()
        _stay([*returned, *(lost for lost in going if lost[0] in refused)], self.store)
        self.take({lost: came for lost, came in going.items() if lost[0] not in refused})

    def take(self, going: Departures) -> None:
        """Take places from documents, but those to which nothing came after all."""
        staying = [lost for lost, came in going.items() if came and came in self._refused]
        kept = {document for document, place in staying if document_sources.in_feed(place)}
        staying += [lost for lost, came in going.items() if not came and lost[0] in kept]
        going = {lost: came for lost, came in going.items() if lost not in staying}
        _stay(staying, self.store)
        forgotten, misplaced = _depart(going, self.store, self.spaces)
        self.forgotten += forgotten
        self.misplaced += misplaced

    def _lost_to_feed(self, arrived: Sequence[tuple[str, Document]]) -> Departures:
        """Return what is lost to documents of a feed; who loses its id there loses what else no source has."""
        placed = [(iri, place) for iri, document in arrived for place in documents.places_of(document)]
        latest = {place: iri for iri, place in placed}
        lost = {(iri, place): place for iri, place in placed if latest[place] != iri}
        lost |= self._lost({place: {place: {iri}} for place, iri in latest.items()})
        replaced = {iri for iri, place in lost if document_sources.in_feed(place)}
        for iri, location in self._further_places(placed, replaced):
            if iri in replaced or latest.get(location) != iri:
                lost.setdefault((iri, location), "")
        return lost

    def _further_places(self, placed: Sequence[tuple[str, str]], replaced: Set[str]) -> Iterator[tuple[str, str]]:
        """Yield the places that no source has, of documents that are replaced in a feed, or come to two places."""
        arrived = Counter(iri for iri, _ in placed)
        asked = sorted(replaced | {iri for iri, count in arrived.items() if count > 1})
        sources = document_sources.registered(self.store) if asked else []
        stored = [(iri, place) for iri, places in _recorded(asked, self.store).items() for place in sorted(places)]
        for iri, location in [*stored, *(each for each in placed if each[0] in replaced)]:
            if not any(source.has(location) for source in sources):
                yield iri, location

    def _lost_to_files(self, arrived: Sequence[tuple[str, Document]], last: bool) -> Departures:
        """Return what is lost to the files that are now read to their ends; what is lost to the open one waits."""
        complete: dict[str, dict[str, set[str]]] = {}
        for iri, document in arrived:
            file = document.source or document.location
            if file != self._file:
                complete[self._file], self._held, self._file = self._held, {}, file
            self._held.setdefault(document.location, set()).add(iri)
        if last:
            complete[self._file], self._held = self._held, {}
        complete.pop("", None)
        here = {one.location for _, one in arrived if self._file and (one.source or one.location) == self._file}
        waiting = self._lost({location: self._held for location in here if not last})
        self._waiting = waiting if complete else self._waiting | waiting
        return self._lost(complete)

    def _lost(self, held: Mapping[str, Mapping[str, Collection[str]]]) -> Departures:
        """Return what documents lose to files, or to single places, each of which holds documents at locations."""
        defective = {place(file) for file in self.broken}
        rows = list(self._at(held))
        there = {(document, location) for document, location, _ in rows}
        lost: Departures = {}
        for document, location, key in rows:
            came = location in held[key]
            own = held[key].get(location, ())
            if document in own or (key in defective and not came):
                continue
            # what came earlier may have lost the place again to somebody who wrote between two batches
            if not came or any(one in self._arriving or (one, location) in there for one in own):
                lost[document, location] = location if came else ""
        return lost

    def _at(self, places: Iterable[str]) -> Iterator[tuple[str, ...]]:
        literals = [ox.Literal(each) for each in sorted(places)]
        for first in range(0, len(literals), _PLACES_PER_QUERY):
            values = {"catalogue": self.store.names.catalogue, "places": literals[first : first + _PLACES_PER_QUERY]}
            yield from self.store.select(queries.bind("documents/at_places", **values)).values()
            if not self.feed:
                yield from self.store.select(queries.bind("documents/in_files", **values)).values()
