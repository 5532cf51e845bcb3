"""The calls of ``KnowledgeBase`` that documents come in and go out by."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgrag.errors import InputError
from kgrag.knowledge_base.profile_calls import ProfileCalls
from kgrag.model import Document
from kgrag.ports import Progress
from kgrag.text import ingestion
from kgrag.text.ingestion import Cutting, IngestReport

if TYPE_CHECKING:
    from kgrag.knowledge_base.document_sources import Source
    from kgrag.knowledge_base.erasure import Erasure
    from kgrag.knowledge_base.folder_sync import Followed
    from kgrag.knowledge_base.forgetting import Forgotten
    from kgrag.knowledge_base.receipts import Receipt
    from kgrag.workers.shards import Job
    from kgrag.workers.slot_pool import Runner

__all__ = ["DocumentCalls"]


class DocumentCalls(ProfileCalls):
    """What a knowledge base does with documents."""

    def ingest(  # noqa: PLR0913 - options of one intake
        self,
        *paths: str | Path,
        chunk_tokens: int = 180,
        chunker: str = ingestion.CHUNKER,
        progress: Progress | None = None,
        embed: bool = True,
        whole_pages: bool = False,
        runner: str | Callable[[Job], Runner] = "",
        shards: str | Path | None = None,
    ) -> IngestReport:
        """Read documents (files or folders), chunk them, publish them, embed the chunks.

        With ``whole_pages`` the text of an HTML page has its navigation as well. A broken
        file inside a folder is reported and the rest goes on; one that is named itself raises.

        With a ``runner`` (``process://4``, ``ray://HOST:PORT/8``, or a callable that returns a ``Runner`` for a ``Job``
        of ``kgrag.workers``) workers read, cut, validate and embed, and this process stores what they made: the same
        as without. A run that was ended goes on where it was. ``shards`` is a folder that all workers share; by
        default it is in that of the knowledge base. Files of which workers could not make what is to be stored are
        broken, and pending in ``status`` until they are taken in again.

        Raises:
            UnreadableDocument: nothing readable was found under a path.
            InputError: there is no such runner, or what it needs is not installed.
            ServiceUnavailable: the cluster of the runner cannot be reached.
        """
        from kgrag.knowledge_base import document_sources, intake, worker_intake
        from kgrag.text.readers.sources import place

        given = _paths(paths)
        skipped: list[str] = []
        broken: dict[Path, str] = {}
        options = worker_intake.WorkerOptions(
            runner, Cutting(chunk_tokens, chunker), whole_pages, embed, str(shards or "")
        )
        with worker_intake.read(self, given, options, skipped=skipped, broken=broken) as reading:
            report = intake.take_in(
                reading.source,
                ingest=partial(
                    ingestion.ingest, chunk_tokens=chunk_tokens, chunker=chunker, progress=progress, cut=reading.cut
                ),
                store=self.store,
                spaces=self.spaces,
                broken=broken.keys(),
            )
            worker_intake.note_pending(self.store, given, reading.pending)
        for folder in filter(Path.is_dir, given):
            if source := document_sources.planned(self.store, folder):
                document_sources.note_folder(self.store, source, synced=False)
        document_sources.note_places(self.store, (place(path) for path in given if not path.is_dir()))
        self.store.flush()
        if embed and report.documents + report.unchanged:
            self._embed(progress)
        return replace(report, skipped=tuple(skipped), broken=tuple(broken.values()))

    def add(
        self, document: Document, *, feed: str = "api", chunk_tokens: int = 180, chunker: str = ingestion.CHUNKER
    ) -> IngestReport:
        """Add a document; one with an id, location or URL takes the place of the document that had it before.

        A document with an id is in the feed, whatever else it has: ``remove`` and the count of the feed know it, and
        another one with that id replaces it. A ``location`` is one more place of it; who is replaced in the feed goes
        from there too, unless a folder has that place that was ingested or synced, which is left to the next sync.

        Args:
            document: text, and what is known of it.
            feed: name of the collection that its id belongs to; the same id in another feed is another document.
            chunk_tokens: the largest chunk, in words and punctuation marks.
            chunker: name of a registered chunker.

        Raises:
            InputError: it is no document, has no text, or metadata that are none; or the feed has no name.
        """
        return self.add_many([document], feed=feed, chunk_tokens=chunk_tokens, chunker=chunker)

    def add_many(
        self,
        source: Iterable[Document],
        *,
        feed: str = "api",
        chunk_tokens: int = 180,
        chunker: str = ingestion.CHUNKER,
        progress: Progress | None = None,
        embed: bool = True,
    ) -> IngestReport:
        """Add documents as ``add`` does, a thousand at a time, so that only those are in memory.

        Args:
            source: the documents; of two with one id the later one stays.
            feed: as of ``add``.
            chunk_tokens: as of ``add``.
            chunker: as of ``add``.
            progress: called with what is being counted, how many are done, and 0.
            embed: embed the chunks now, or at their first use.

        Raises:
            InputError: as of ``add``; documents before the one that is refused may be in the knowledge base.
        """
        from kgrag.knowledge_base import document_sources, intake

        report = intake.take_in(
            intake.of_feed(source, feed),
            ingest=partial(ingestion.ingest, chunk_tokens=chunk_tokens, chunker=chunker, progress=progress),
            store=self.store,
            spaces=self.spaces,
            feed=True,
        )
        document_sources.note_places(self.store, [f"{feed}#"])
        self.store.flush()
        if embed and report.documents + report.unchanged:
            self._embed(progress)
        return report

    def _embed(self, progress: Progress | None) -> None:
        self.method("passages").build(progress=progress)
        self.store.flush()

    def sync(  # noqa: PLR0913 - options of one pass
        self,
        folder: str | Path,
        *,
        name: str = "",
        chunk_tokens: int = 180,
        chunker: str = ingestion.CHUNKER,
        progress: Progress | None = None,
        whole_pages: bool = False,
        accept: Sequence[str | Path] = (),
    ) -> Followed:
        """Bring the knowledge base in step with a folder: new and changed documents in, deleted ones out, in one pass.

        Args:
            folder: its path, or the name of a source where there is no such path here.
            name: what the source is to be called; "" = as it is, and a new one as its folder.
            chunk_tokens: as of ``ingest``.
            chunker: as of ``ingest``.
            progress: as of ``ingest``.
            whole_pages: as of ``ingest``.
            accept: broken files of the folder that are to be accepted until they change (``.kgrag-accepted`` there).

        Returns:
            What was done; ``ingested.accepted`` are the broken files that are accepted, ``ingested.broken`` the others.

        Raises:
            UnreadableDocument: the folder holds nothing that can be read; nothing is deleted then.
            InputError: the name is another source's, or that of a feed; or the folder is a part of a source; or what is
                to be accepted is no file of the folder.
        """
        from kgrag.knowledge_base import document_sources, folder_sync
        from kgrag.text.readers import accepted_files, read_paths

        skipped: list[str] = []
        broken: dict[Path, str] = {}
        path = document_sources.folder_of(self.store, *_paths([folder]))
        own = document_sources.planned(self.store, path, name)
        if accept:
            accepted_files.accept(path, [Path(file) for file in accept])
        source = read_paths([path], skipped=skipped, broken=broken, whole_pages=whole_pages)
        contents = folder_sync.FolderContents(path, source, broken.keys())
        before = self.store.revision
        done = folder_sync.follow(
            contents,
            store=self.store,
            spaces=self.spaces,
            chunk_tokens=chunk_tokens,
            chunker=chunker,
            progress=progress,
        )
        if own is not None:
            document_sources.note_folder(self.store, own, synced=True, since=before)
        self.store.flush()
        self._embed(progress)
        others, accepted = map(tuple, accepted_files.separated(path, broken))
        absent = tuple((each.name, each.root) for each in document_sources.absent(self.store))
        ingested = replace(done.ingested, skipped=tuple(skipped), broken=others, accepted=accepted)
        return replace(done, ingested=ingested, absent=absent)

    def sources(self) -> list[Source]:
        """Return what documents come from, by name: folders, files and feeds, each with the count of its documents."""
        from kgrag.knowledge_base import document_sources

        return document_sources.counted(self.store)[0]

    def move_source(self, name: str, root: str | Path) -> int:
        """Say that the folder of a source is another one now, so that its documents are known there; nothing is read.

        Returns:
            The count of its documents.

        Raises:
            UnknownName: there is no such source.
            InputError: it is a feed, the other folder is none, or is in a source, or has one in it.
        """
        from kgrag.knowledge_base import document_sources

        moved = document_sources.move(self.store, name, Path(root))
        self.store.flush()
        return moved

    def rename_source(self, name: str, new: str) -> str:
        """Give a source another name, and return that.

        Raises:
            UnknownName: there is no such source.
            InputError: the name is none, or that of another source.
        """
        from kgrag.knowledge_base import document_sources

        renamed = document_sources.rename(self.store, name, new)
        self.store.flush()
        return renamed

    def forget(self, *names: str, every: bool = False) -> list[Forgotten]:
        """Delete documents, by IRI, location, id or title, and what was derived from them alone; returns what went.

        A thousand documents go in one atomic step.

        Raises:
            UnknownName: there is no such document; nothing was deleted.
            InputError: several documents have one of these names, and ``every`` does not say that all are meant.
        """
        from kgrag.index import bm25, vector_spaces
        from kgrag.knowledge_base import forgetting

        found = [iri for name in names for iri in forgetting.named(self.store, name, every=every)]
        done = forgetting.forget(found, store=self.store, spaces=self.spaces)
        self.store.flush()
        # this process knows what went; another one would have to compare all chunks
        vector_spaces.follow("chunk", store=self.store, spaces=self.spaces)
        bm25.follow(self.store, self._folder("lexical"))
        return done

    def erase(self, *names: str, every: bool = False) -> Erasure:
        """Forget the documents that ``forget`` would, and delete their words from every file of the knowledge base.

        Returns:
            ``found`` names where the words were found afterwards, and ``backups`` what still has them elsewhere.

        Raises:
            UnknownName: there is no such document.
            InputError: as of ``forget``.
            StorageFailed: the disk refused; the next opening for writing goes on.
        """
        from kgrag.knowledge_base import erasure, forgetting

        found = [iri for name in names for iri in forgetting.named(self.store, name, every=every)]
        return erasure.erase(self, list(dict.fromkeys(found)))

    def vacuum(self) -> Erasure:
        """Delete from every file what is in no triple any more.

        Raises:
            StorageFailed: the disk refused; the next opening for writing goes on.
        """
        from kgrag.knowledge_base import erasure

        return erasure.vacuum(self)

    def receipts(self) -> list[Receipt]:
        """Return what each erasure stated, the earliest first, and whether its signature holds."""
        from kgrag.knowledge_base import receipts

        return receipts.receipts(self.store)

    def remove(self, id: str, *, feed: str = "api") -> Forgotten:  # noqa: A002 - it is called so everywhere
        """Delete the document that was added with an id, and what was derived from it alone; returns what went.

        Raises:
            UnknownName: the feed has no document of this id.
        """
        return self.forget(f"{feed}#{id}")[0]


def _paths(given: Sequence[object]) -> list[Path]:
    if not given:
        raise InputError("nothing to read was named. Name files or folders.")
    for each in given:
        if not isinstance(each, str | os.PathLike):
            raise InputError(
                f"{type(each).__name__} is no path. Name each file or folder by itself, `ingest(*paths)`; texts and "
                "records go in by `add_many(Document(…) for …)`."
            )
    return [Path(os.fspath(each)) for each in given if isinstance(each, str | os.PathLike)]
