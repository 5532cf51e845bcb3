"""Documents into a served knowledge base, some at a time, so that questions are answered in between.

What a client sent is first a file of JSON Lines in a folder of its own, a document per line; uploaded files are read
into one. Then each batch is published, embedded and found by the next question before the next one begins. What the
documents replace goes

==========  ===============================================================================================
``places``  with each batch: what was at the places of its documents
``files``   at the end: what else the files contained that the documents are from
``folder``  at the end: what else was read from a folder
==========  ===============================================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from kgrag.errors import InputError, UnreadableDocument
from kgrag.knowledge_base import KnowledgeBase, folder_sync, intake
from kgrag.knowledge_base.forgetting import Forgotten
from kgrag.model import Document
from kgrag.text import ingestion
from kgrag.text.ingestion import IngestReport
from kgrag.text.json_documents import document_json, read_document
from kgrag.text.readers import read_paths, suffixes
from kgrag.text.readers.sources import place

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
        chunk_tokens: the largest chunk.
        chunker: name of a registered chunker.
        embed: whether chunks are embedded with their batch, or at first use.
    """

    feed: str = "api"
    replaces: Literal["places", "files", "folder"] = "places"
    folder: str = ""
    chunk_tokens: int = 180
    chunker: str = ingestion.CHUNKER
    embed: bool = True


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

    def batches(self) -> Iterator[list[Document]]:
        """Yield documents, some at a time.

        Raises:
            InputError: one of them has no text, or a feed without a name.
        """
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

    def add(self, batch: list[Document]) -> None:
        """Publish and embed a batch.

        Raises:
            InvalidSettings: ``chunk_tokens`` is below 8.
            UnknownName: there is no such chunker.
        """
        if self.options.replaces == "places":
            done = intake.take_in(batch, ingest=self._ingest, store=self.kb.store, spaces=self.kb.spaces, feed=True)
        else:
            done = self._ingest(batch, store=self.kb.store)
        self.kb.store.flush()
        if self.options.embed and done.documents + done.unchanged:
            self.kb.method("passages").build()
            self.kb.store.flush()
        added = {name: getattr(self.report, name) + getattr(done, name) for name in _COUNTS}
        self.report = replace(self.report, **added, violations=self.report.violations + done.violations)

    @property
    def _ingest(self) -> Callable[..., IngestReport]:
        return partial(ingestion.ingest, chunk_tokens=self.options.chunk_tokens, chunker=self.options.chunker)

    def end(self) -> dict[str, Any]:
        """Take out what the documents replace, and return what became of all of them as JSON."""
        store, spaces, options = self.kb.store, self.kb.spaces, self.options
        broken = [Path(line["unread"]) for line in self._read_lines() if "unread" in line]
        found = report_json(self.report)
        if options.replaces == "files":
            again = intake.take_in(self._documents(), ingest=self._ingest, store=store, spaces=spaces, broken=broken)
            found["superseded"] += again.superseded
        elif options.replaces == "folder":
            contents = folder_sync.FolderContents(Path(options.folder), self._documents(), broken)
            done = folder_sync.follow(
                contents, store=store, spaces=spaces, chunk_tokens=options.chunk_tokens, chunker=options.chunker
            )
            found["forgotten"] = [forgotten_json(each) for each in done.forgotten]
            found |= {"misplaced": done.misplaced, "undecided": list(done.undecided)}
        store.flush()
        return found


def report_json(report: IngestReport) -> dict[str, Any]:
    """Return a report as the JSON API has it."""
    violations = [f"{violation.focus}: {violation.message}" for violation in report.violations]
    counts = {name: getattr(report, name) for name in _COUNTS}
    return {**counts, "skipped": list(report.skipped), "broken": list(report.broken), "violations": violations}


def forgotten_json(done: Forgotten) -> dict[str, Any]:
    """Return what went with a document as the JSON API has it."""
    counts = {name: len(getattr(done, name)) for name in ("dropped", "trimmed", "waiting", "remains")}
    return {"document": done.document, "title": done.title, **counts}


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


def read_files(folder: Path, lines: Path, feed: str) -> IngestReport:
    """Read uploaded files into a file of JSON Lines, and return which were left out, since they cannot be read whole.

    The place of a file is that of a document of the feed whose id is the file's name.

    Raises:
        UnreadableDocument: none can be read.
        InputError: the name of the feed is none.
    """
    list(intake.of_feed([Document("checked", id="name")], feed))
    begin = place(folder / "x").removesuffix("x")
    faults: list[str] = []
    count = 0

    def moved(location: str) -> str:
        return f"{feed}#{location.removeprefix(begin)}" if location else ""

    with lines.open("w", encoding="utf-8") as written:
        for file in sorted(folder.iterdir()):
            try:
                found = list(read_paths([file]))
            except UnreadableDocument as error:
                faults.append(str(error).replace(f"{folder}{os.sep}", "").replace(begin, ""))
                continue
            count += len(found)
            for document in found:
                own = replace(document, location=moved(document.location), source=moved(document.source))
                written.write(json.dumps(document_json(own)) + "\n")
    if not count:
        raise UnreadableDocument("; ".join(faults))
    return IngestReport(broken=tuple(faults))
