"""A folder and the knowledge base in step, in one pass: new, changed and deleted documents (ARCHITECTURE, "Change").

A document is named by its content, so a changed file is a new document and one that no file holds any more. A document
that stands elsewhere too only loses a place. What cannot be read now is left as it is.

Only documents that ``ingest`` wrote are compared: what was mapped from a file of the folder stays.

Queries read: ``documents/misplaced``, ``documents/places``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Document
from kgrag.ports import TripleStore, VectorSpaces
from kgrag.stages import documents, forgetting, ingestion
from kgrag.stages.forgetting import Forgotten
from kgrag.stages.ingestion import IngestReport, Progress

__all__ = ["Followed", "Reading", "follow"]


@dataclass(frozen=True, slots=True)
class Followed:
    """What a pass did: what was ingested, what was forgotten, and how many documents only lost a place."""

    ingested: IngestReport
    forgotten: tuple[Forgotten, ...] = ()
    misplaced: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A folder as it is read: its documents, and messages about files that could not be read, filled on the way."""

    folder: Path
    documents: Iterable[Document]
    broken: Sequence[str] = ()


def follow(
    reading: Reading,
    *,
    store: TripleStore,
    spaces: VectorSpaces,
    chunk_tokens: int = 180,
    progress: Progress | None = None,
) -> Followed:
    """Ingest what a folder holds, and forget what came from it and is there no more.

    Args:
        reading: the folder; places outside of it are left alone, and so are files that could not be read.
        store: where documents go.
        spaces: vectors of forgotten documents are dropped from them.
        chunk_tokens: as of ``ingest``.
        progress: told after each batch.
    """
    seen: set[tuple[str, str]] = set()

    def noted() -> Iterator[Document]:
        for document in reading.documents:
            seen.add((documents.document_iri(document, store.names).value, document.location))
            yield document

    report = ingestion.ingest(noted(), store=store, chunk_tokens=chunk_tokens, progress=progress)
    forgotten: list[Forgotten] = []
    misplaced = 0
    for document, places in documents.places(store).items():
        lost = [
            place
            for place in places
            if _inside(place, reading.folder) and (document, place) not in seen and not _unread(place, reading.broken)
        ]
        if lost and len(lost) == len(places):
            forgotten.append(forgetting.forget(document, store=store, spaces=spaces))
        elif lost:
            misplaced += 1
            store.update(_misplaced(store, document, lost))
    return Followed(report, tuple(forgotten), misplaced)


def _inside(place: str, folder: Path) -> bool:
    return Path(place).is_relative_to(folder)


def _unread(place: str, broken: Sequence[str]) -> bool:
    file = place.partition("#")[0]
    return any(message.startswith(file) for message in broken)


def _misplaced(store: TripleStore, document: str, places: Sequence[str]) -> str:
    return queries.bind(
        "documents/misplaced",
        catalogue=store.names.catalogue,
        graph=store.names.document_graph(ox.NamedNode(document)),
        places=[ox.Literal(place) for place in places],
    )
