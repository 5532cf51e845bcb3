"""Documents into a served knowledge base, some at a time, so that questions are answered in between.

What a client sent is first a file of JSON Lines in a folder of its own, a document per line; uploaded files are read
into one. Then each batch is published, embedded and found by the next question before the next one begins. What was at
the places of its documents goes with each batch, and

==========  ===============================================================================================
``files``   what else a file contained goes with the batch that has its last document
``folder``  what else was read from the folder goes with the last batch
==========  ===============================================================================================

What a batch replaces is stated in the step that publishes it (``kgrag.knowledge_base.intake``): a server that dies
leaves no earlier version behind, whatever is done next.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kgrag.errors import InputError, ServiceError, UnreadableDocument
from kgrag.knowledge_base import KnowledgeBase, document_sources, intake
from kgrag.knowledge_base.folder_sync import FolderPass
from kgrag.knowledge_base.forgetting import Forgotten
from kgrag.knowledge_base.intake import Settling
from kgrag.model import Document, GraphDraft
from kgrag.text import documents, ingestion
from kgrag.text.ingestion import IngestReport
from kgrag.text.intake_notes import IntakeNotes
from kgrag.text.json_documents import document_json, read_document
from kgrag.text.readers import read_paths, suffixes
from kgrag.text.readers.sources import place

if TYPE_CHECKING:
    from kgrag.server.worker_threads import Turn

__all__ = ["DocumentIntake", "IntakeOptions", "forgotten_json", "read_files", "report_json", "upload_name"]

_MAX_BATCH_DOCUMENTS = 8
_MAX_BATCH_CHARACTERS = 10_000
_COUNTS = ("documents", "unchanged", "duplicates", "replaced", "superseded", "chunks")


@dataclass(frozen=True)
class IntakeOptions:
    """How documents are taken in.

    Attributes:
        feed: the collection that ids of documents without a feed of their own belong to.
        replaces: "places", "files" or "folder".
        folder: where ``replaces`` is "folder", its real path.
        source: where ``replaces`` is "folder", what the source is to be called; "" = as it is.
        chunk_tokens: the largest chunk.
        chunker: name of a registered chunker.
        embed: whether chunks are embedded with their batch, or at first use.
        title: of the one uploaded file; "" for its own.
        metadata: fields that every uploaded file gets, in the place of its own of that name.
    """

    feed: str = "api"
    replaces: Literal["places", "files", "folder"] = "places"
    folder: str = ""
    source: str = ""
    chunk_tokens: int = 180
    chunker: str = ingestion.CHUNKER
    embed: bool = True
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class DocumentIntake:
    """Takes in the documents of a file.

    Args:
        kb: where they go.
        lines: a file of JSON Lines, each of which was found to be a document or the name of a file that is not read.
        options: how.

    Attributes:
        report: what became of them so far.
    """

    kb: KnowledgeBase
    lines: Path
    options: IntakeOptions
    report: IngestReport = field(default_factory=IngestReport)
    _settling: Settling | None = None
    _since: int = -1
    _folder_pass: FolderPass | None = None
    _notes: IntakeNotes = field(default_factory=IntakeNotes)  # of all batches

    def batches(self) -> Iterator[tuple[list[Document], bool]]:
        """Yield documents, some at a time, and whether they are the last ones.

        Raises:
            InputError: one of them has no text, or a feed without a name.
        """
        return ingestion.marked_last(self._batches())

    def _batches(self) -> Iterator[list[Document]]:
        batch: list[Document] = []
        for document in self._documents():
            batch.append(document)
            if len(batch) >= _MAX_BATCH_DOCUMENTS or sum(len(each.text) for each in batch) > _MAX_BATCH_CHARACTERS:
                yield batch
                batch = []
        if batch:
            yield batch

    def _documents(self) -> Iterator[Document]:
        for line in self._read_lines():
            if "unread" not in line:
                document = read_document(line)
                if self.options.replaces == "places":
                    (document,) = intake.of_feed([document], line.get("feed") or self.options.feed)
                yield document

    def count(self) -> int:
        """Return how many documents there are."""
        return sum("unread" not in line for line in self._read_lines())

    def _read_lines(self) -> Iterator[Mapping[str, Any]]:
        with self.lines.open(encoding="utf-8") as opened:
            yield from (json.loads(line) for line in opened if not line.isspace())

    def add(self, batch: list[Document], last: bool, turn: Turn | None = None) -> None:
        """Publish and embed a batch, and take out what it replaces.

        Args:
            batch: documents.
            last: whether they are the last ones.
            turn: left for what takes long and changes nothing that a question reads; None = there is nobody else.

        Raises:
            InvalidSettings: ``chunk_tokens`` is below 8.
            UnknownName: there is no such chunker.
        """
        if self._settling is None:  # it writes, so not before a batch may
            self._since = self.kb.store.revision
            self._settling, self._folder_pass = self._begun()
        settling, store = self._settling, self.kb.store
        away = nullcontext if turn is None else turn.away

        def embed(drafts: Sequence[GraphDraft]) -> None:
            """Have the vectors of texts kept before anybody finds that they are missing."""
            texts = [text for draft in drafts for text in documents.embedded_texts(draft)]
            with away(), suppress(ServiceError):  # who misses the vectors says so
                self.kb.embedder.embed(texts, "passage")

        done = ingestion.ingest(
            batch if self._folder_pass is None else self._folder_pass.noted(batch),
            store=store,
            chunk_tokens=self.options.chunk_tokens,
            chunker=self.options.chunker,
            drafted=embed if self.options.embed else None,
            publishing=lambda documents, _: settling.publishing(documents, last),
        )
        for one in batch:
            self._notes.look_at(one, documents.document_iri(one, store.names).value)
        self._note_sources(batch, last)
        with away():
            store.flush()
        if self.options.embed and done.documents + done.unchanged:
            self.kb.method("passages").build()
        added = {name: getattr(self.report, name) + getattr(done, name) for name in _COUNTS}
        added["superseded"] = len(settling.forgotten) if self._folder_pass is None else 0
        self.report = replace(
            self.report, **added, violations=self.report.violations + done.violations, notes=self._notes.shown()
        )

    def _note_sources(self, batch: list[Document], last: bool) -> None:
        store = self.kb.store
        if self._folder_pass is None:
            document_sources.note_places(
                store, {documents.places_of(one)[0] for one in batch if documents.places_of(one)}
            )
        elif last and (source := document_sources.planned(store, self._folder_pass.folder, self.options.source)):
            document_sources.note_folder(store, source, synced=True, since=self._since)

    def _begun(self) -> tuple[Settling, FolderPass | None]:
        store, spaces, replaces = self.kb.store, self.kb.spaces, self.options.replaces
        if replaces == "places":
            return Settling(store, spaces, feed=True), None
        broken = [Path(line["unread"]) for line in self._read_lines() if "unread" in line]
        if replaces == "files":
            return Settling(store, spaces, broken=broken), None
        document_sources.planned(store, Path(self.options.folder), self.options.source)  # refuses a wrong name now
        folder = FolderPass(Path(self.options.folder), store, broken)
        return Settling(store, spaces, broken=broken, further=folder.departures), folder

    def result(self) -> dict[str, Any]:
        """Return what became of all documents as JSON."""
        found = report_json(self.report)
        if self._settling is not None and self._folder_pass is not None:
            found["forgotten"] = [forgotten_json(each) for each in self._settling.forgotten]
            pass_ = self._folder_pass
            found |= {"misplaced": self._settling.misplaced - pass_.relocated, "undecided": pass_.undecided}
            found |= {"moved": pass_.moved, "same": pass_.same}
            found["continued"] = pass_.continued(self._settling.forgotten)
        return found


def report_json(report: IngestReport) -> dict[str, Any]:
    """Return a report as the JSON API has it."""
    violations = [f"{violation.focus}: {violation.message}" for violation in report.violations]
    counts = {name: getattr(report, name) for name in _COUNTS}
    lists = {name: list(getattr(report, name)) for name in ("skipped", "broken", "notes")}
    return {**counts, **lists, "violations": violations}


def forgotten_json(done: Forgotten) -> dict[str, Any]:
    """Return what went with a document as the JSON API has it."""
    counts = {name: len(getattr(done, name)) for name in ("dropped", "trimmed", "waiting", "remains")}
    return {"document": done.document, "title": done.title, **counts, "answers": list(done.answers)}


def upload_name(name: str) -> str:
    """Return the name of an uploaded file.

    Raises:
        InputError: it is a path, or its suffix is none that is read.
    """
    if not name or name != Path(name).name or name.startswith(".") or not name.isprintable() or "\\" in name:
        raise InputError(f"{name[:200]!r} is no name of a file. Send the name alone, without folders.")
    if Path(name.lower().removesuffix(".gz")).suffix not in suffixes():
        raise InputError(f"{name[:200]}: files of this suffix are not read. Known: {', '.join(suffixes())}.")
    return name


def read_files(folder: Path, lines: Path, options: IntakeOptions) -> IngestReport:
    """Read uploaded files into a file of JSON Lines, and return which were left out, since they cannot be read whole.

    The place of a file is that of a document of the feed whose id is the file's name.

    Raises:
        UnreadableDocument: none can be read.
        InputError: the name of the feed is none.
    """
    list(intake.of_feed([Document("checked", id="name")], options.feed))
    begin = place(folder / "x").removesuffix("x")
    faults: list[str] = []
    count = 0

    def moved(location: str) -> str:
        return f"{options.feed}#{location.removeprefix(begin)}" if location else ""

    with lines.open("w", encoding="utf-8") as written:
        for file in sorted(folder.iterdir()):
            try:
                found = list(read_paths([file]))
            except UnreadableDocument as error:
                faults.append(str(error).replace(f"{folder}{os.sep}", "").replace(begin, ""))
                continue
            count += len(found)
            for document in found:
                own = replace(
                    document,
                    location=moved(document.location),
                    source=moved(document.source),
                    title=options.title or document.title,
                    metadata={**document.metadata, **options.metadata},
                )
                written.write(json.dumps(document_json(own)) + "\n")
    if not count:
        raise UnreadableDocument("; ".join(faults))
    return IngestReport(broken=tuple(faults))
