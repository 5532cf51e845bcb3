"""A folder and the knowledge base in step, in one pass: new, changed and deleted documents (ARCHITECTURE, "Change").

A document is named by its content, so a changed file is a new document and one that no file holds any more. A document
that has another file too only loses a place. What cannot be read now is left as it is. Only documents that ``ingest``
wrote are compared: what was mapped from a file of the folder stays.

Earlier versions recorded paths as they were typed. An absolute one still names its file, through links and ``..``. A
relative one does not, because nobody knows which folder it started from. It is dropped when the same document is
recorded at a place of this folder whose path ends like it; otherwise it stays, and no document is forgotten for it.

Query read: ``documents/places``.
"""

from __future__ import annotations

import functools
import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kgrag.knowledge_base import intake
from kgrag.knowledge_base.forgetting import Forgotten
from kgrag.knowledge_base.intake import Departures
from kgrag.model import Document
from kgrag.ports import TripleStore, VectorSpaces
from kgrag.text import documents, ingestion
from kgrag.text.ingestion import IngestReport, Progress
from kgrag.text.readers import sources

__all__ = ["FolderContents", "FolderPass", "Followed", "follow"]


@dataclass(frozen=True, slots=True)
class Followed:
    """What a pass did: what was ingested, what was forgotten, and how many documents only lost a place.

    ``undecided`` are the relative locations of documents that have no others: whether their files exist is not known.
    ``moved`` are pairs of the place that a text had and the one that it has now: of a file that was renamed or moved.
    ``same`` are pairs of a file and the first one of the folder with its text. ``absent`` are the sources, with their
    folders, whose folders are not there. ``continued`` are the forgotten documents that did not go: what became of
    each, "changed" where its place holds another text now, "moved" where its text is in another place.
    """

    ingested: IngestReport
    forgotten: tuple[Forgotten, ...] = ()
    misplaced: int = 0
    undecided: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    absent: tuple[tuple[str, str], ...] = ()
    continued: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FolderContents:
    """A folder as it is read: its documents, and the files that could not be read, filled on the way."""

    folder: Path
    documents: Iterable[Document]
    broken: Collection[Path] = ()


def follow(
    contents: FolderContents,
    *,
    store: TripleStore,
    spaces: VectorSpaces,
    chunk_tokens: int = 180,
    chunker: str = ingestion.CHUNKER,
    progress: Progress | None = None,
) -> Followed:
    """Ingest what a folder holds, and forget what came from it and is there no more.

    Args:
        contents: the folder; places outside of it are left alone, and so are files that could not be read.
        store: where documents go.
        spaces: vectors of forgotten documents are dropped from them.
        chunk_tokens: as of ``ingest``.
        chunker: as of ``ingest``.
        progress: called after each batch.
    """
    pass_ = FolderPass(contents.folder, store, contents.broken)
    settling = intake.Settling(store, spaces, broken=contents.broken, further=pass_.departures)
    publishing = settling.publishing
    report = ingestion.ingest(
        pass_.noted(contents.documents),
        store=store,
        chunk_tokens=chunk_tokens,
        chunker=chunker,
        progress=progress,
        publishing=publishing,
    )
    if not pass_.seen:  # without documents there was no last batch
        settling.take(pass_.departures())
    return Followed(
        report,
        tuple(settling.forgotten),
        settling.misplaced - pass_.relocated,
        tuple(pass_.undecided),
        tuple(pass_.moved),
        tuple(pass_.same),
        continued=pass_.continued(settling.forgotten),
    )


@dataclass(slots=True)
class FolderPass:
    """Notes what is read of a folder, and finds what documents lose to it in the end.

    Attributes:
        folder: which one.
        store: what is there.
        broken: files that could not be read, filled on the way.
        seen: document -> its locations in the folder, as they were read.
        undecided: locations that nobody can decide, known in the end.
        moved: the place that a text lost to another one of the folder, and that one, known in the end.
        relocated: how many documents only changed their place so.
        same: a file, and the first one with its text.
    """

    folder: Path
    store: TripleStore
    broken: Collection[Path] = ()
    seen: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    undecided: list[str] = field(default_factory=list)
    moved: list[tuple[str, str]] = field(default_factory=list)
    relocated: int = 0
    same: list[tuple[str, str]] = field(default_factory=list)
    _before: dict[str, list[str]] = field(default_factory=dict)  # document -> its places before the pass
    _went_on: set[str] = field(default_factory=set)  # documents whose text has another place, under another name
    _texts: dict[str, tuple[str, str]] = field(default_factory=dict)  # hash of a text -> its first file and place

    def noted(self, source: Iterable[Document]) -> Iterator[Document]:
        """Yield documents of the folder, and note them."""
        self._before = self._before or documents.places(self.store)  # a server notes a pass in several batches
        for document in source:
            self.seen[documents.document_iri(document, self.store.names).value].add(document.location)
            file = document.source or document.location
            first, place = self._texts.setdefault(documents.content_hash(document.text), (file, document.location))
            if first != file:
                self.same.append((document.location, place))
            yield document

    def departures(self) -> Departures:
        """Return what documents lose to the folder, of which everything was read."""
        going, undecided = _going(self)
        self.undecided.extend(undecided)
        self._note_moves(going)
        return going

    def continued(self, forgotten: Iterable[Forgotten]) -> dict[str, str]:
        """Return which of the forgotten documents only changed ("changed") or were renamed ("moved"), by their IRIs."""
        taken = {location for locations in self.seen.values() for location in locations}
        gone = [one.document for one in forgotten]
        changed = {one: "changed" for one in gone if not taken.isdisjoint(self._before.get(one, ()))}
        return {one: "moved" for one in gone if one in self._went_on} | changed

    def _note_moves(self, going: Departures) -> None:
        """Note which documents lose a place to another one that the folder has got."""
        held = {location for locations in self._before.values() for location in locations}
        hashes = documents.content_hashes(self.store, list({document for document, _ in going}))
        for document, location in sorted(going):
            own = self.seen.get(document, set()) - held
            _, place = self._texts.get(hashes.get(document, ""), ("", ""))
            new = min(own, default="") or (place if document not in self.seen and place not in held else "")
            is_there = not Path(location).is_absolute() or os.path.lexists(location)  # only spelt otherwise now
            if new and not is_there:
                self.moved.append((location, new))
                self._went_on.add(document)
                self.relocated += bool(own)


def _going(folder_pass: FolderPass) -> tuple[Departures, list[str]]:
    """Return what documents lose to a folder of which everything was read, and the locations that nobody can decide."""
    real = functools.cache(os.path.realpath)
    folder = sources.cleaned(real(str(folder_pass.folder))).rstrip(os.sep) + os.sep
    unread = {sources.place(file) for file in folder_pass.broken}
    taken = {location for locations in folder_pass.seen.values() for location in locations}
    going: Departures = {}
    undecided: list[str] = []
    for document, stored in documents.places(folder_pass.store).items():
        own = folder_pass.seen.get(document, ())
        here = _here([*stored, *own], folder, real)
        lost = {
            place for place in here.values() if place not in own and (place in taken or not _in_files(place, unread))
        }
        leaving = [location for location in stored if location not in own and _goes(location, here, lost)]
        going |= {
            (document, location): place if (place := here.get(location, "")) in taken - set(own) else ""
            for location in leaving
        }
        if not leaving and not here and not any(map(os.path.isabs, stored)):
            undecided.extend(stored)
    return going, undecided


def _here(locations: Sequence[str], folder: str, real: Callable[[str], str]) -> dict[str, str]:
    """Return those absolute locations that are in a folder (its path ends in a separator), each with its place.

    Nothing behind a ``#`` is resolved: it may be the name of a record, where ``..`` is data and leads nowhere.
    """
    found = {}
    for location in filter(os.path.isabs, locations):
        parent = location.partition("#")[0].rpartition(os.sep)[0]
        place = real(parent or os.sep).rstrip(os.sep) + location[len(parent) :]
        if f"{place}{os.sep}".startswith(folder):
            found[location] = place
    return found


def _in_files(location: str, files: Collection[str]) -> bool:
    """Return whether a location is one of some files, or a record of one (``file#record``; names may contain ``#``)."""
    return any(location == file or location.startswith(f"{file}#") for file in files)


def _goes(location: str, here: Mapping[str, str], lost: Collection[str]) -> bool:
    """Whether a document loses a location: its file is gone, or it is another spelling of a place that is recorded."""
    if location in here:
        place = here[location]
        return place in lost or (place != location and place in here)
    ending = os.sep + location.rpartition(f"..{os.sep}")[2]
    return any(place.endswith(ending) for place in here.values()) and not Path(location).is_absolute()
