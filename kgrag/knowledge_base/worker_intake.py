"""Documents that workers read, cut, validate and embed, for the one loader that this process is.

The store is open for writing, so its lock, or its lease on a server, is what makes the loader the only one. What
workers leave is in the folder ``cache/shards`` until the last document is stored; a run that was ended goes on from
there. What they could not do is written down in the store (``kgrag status``) until a later intake of the same files.

Query read: ``documents/parameters``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgrag import queries
from kgrag.errors import InputError
from kgrag.knowledge_base import build_marks, worker_parts
from kgrag.knowledge_base.worker_parts import Loading
from kgrag.model import Document, plain
from kgrag.ports import Stage, TripleStore
from kgrag.text import documents
from kgrag.text.ingestion import CutDocument, Cutting
from kgrag.text.readers import find_files, read_paths
from kgrag.text.readers.sources import place
from kgrag.vocab import digest

if TYPE_CHECKING:
    from kgrag.workers.shards import Job
    from kgrag.workers.slot_pool import Runner

__all__ = ["WorkedDocuments", "WorkerOptions", "note_pending", "read", "worked"]


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """Who works, and how: ``runner`` as of ``kgrag.workers.runners``, ``shards`` a folder or bucket that all reach."""

    runner: str | Callable[[Job], Runner]
    cutting: Cutting
    whole_pages: bool = False
    embed: bool = True
    shards: str = ""


@dataclass(frozen=True, slots=True)
class WorkedDocuments:
    """Documents in the order of their files, what workers made of each, and files of which they made nothing."""

    source: Iterator[Document]
    cut: Callable[[Document], CutDocument | None] | None
    pending: Mapping[Path, str]


@contextmanager
def read(
    kb: Loading, paths: Sequence[Path], options: WorkerOptions, *, skipped: list[str], broken: dict[Path, str]
) -> Iterator[WorkedDocuments]:
    """Read documents in this process, or have workers do it where a runner is named; arguments as of ``worked``."""
    if not options.runner:
        source = read_paths(paths, skipped=skipped, broken=broken, whole_pages=options.whole_pages)
        yield WorkedDocuments(source, None, {})
        return
    with worked(kb, paths, options, skipped=skipped, broken=broken) as made:
        yield made


@contextmanager
def worked(
    kb: Loading, paths: Sequence[Path], options: WorkerOptions, *, skipped: list[str], broken: dict[Path, str]
) -> Iterator[WorkedDocuments]:
    """Start workers for the documents of files and folders; what they leave goes when the block ends without an error.

    Args:
        kb: the knowledge base, open for writing.
        paths: as of ``read_paths``.
        options: who works, and how.
        skipped: as of ``read_paths``.
        broken: as of ``read_paths``.

    Raises:
        InputError: there is no such runner, what it needs is not installed, or the embedder cannot be sent to it.
        ServiceUnavailable: its cluster cannot be reached.
        StateError: its workers end at once.
        UnreadableDocument: nothing readable was found under a path.
    """
    try:
        from kgrag.workers import runners
        from kgrag.workers.shard_source import ShardSource
        from kgrag.workers.shards import DOCUMENTS_STAGES, Job
        from kgrag.workers.stages import Read
    except ModuleNotFoundError as error:
        raise InputError(f"workers need {error.name}. Install it: pip install 'kgrag[workers]'.") from None
    if isinstance(options.runner, str):
        runners.check(options.runner)
    files = find_files(paths, skipped=skipped)
    name = _version(kb, options)
    with worker_parts.shared_folder(kb.path, options.shards, worker_parts.SHARDS, name) as shards:
        stages = {DOCUMENTS_STAGES: _stages(kb, options)}
        job = Job(shards, name, stages, Read(options.whole_pages))
        runner = runners.opened(options.runner, job)
        try:
            source = ShardSource(
                runner,
                job,
                kb.store.names,
                stored=partial(_stored, kb.store, options.cutting),
                keep=partial(kb.embedder.keep, kind="passage"),
                broken=broken,
            )
            yield WorkedDocuments(source.documents(files), source.cut, source.pending)
        finally:
            runner.close()


def note_pending(store: TripleStore, paths: Collection[Path], pending: Mapping[Path, str]) -> None:
    """Write down what workers made nothing of, in place of what there was of the same files and folders."""
    earlier = build_marks.undone(store).get(build_marks.INTAKE, [])
    taken = [place(path) for path in paths]
    kept = [line for line in earlier if not any(line.startswith((f"{each}: ", f"{each}/")) for each in taken)]
    if earlier or pending:
        lines = [*kept, *(f"{place(path)}: {why}" for path, why in pending.items())]
        build_marks.ended(store, build_marks.INTAKE, build_marks.state(store, build_marks.INTAKE), lines)


def _stages(kb: Loading, options: WorkerOptions) -> tuple[Stage, ...]:
    from kgrag.workers.stages import Chunk, Embed, Validate

    base = kb.store.names.base
    stages: list[Stage] = [Chunk(base, options.cutting), Validate(base)]
    if options.embed:
        stages.append(Embed(worker_parts.recipe(kb, is_local=options.runner == "local")))
    return tuple(stages)


def _stored(store: TripleStore, cutting: Cutting, read: Sequence[Document]) -> list[bool]:
    """Return of each document whether it is stored, cut in this way."""
    graphs = [store.names.document_graph(documents.document_iri(document, store.names)) for document in read]
    query = queries.bind("documents/parameters", catalogue=store.names.catalogue, graphs=graphs)
    known = {plain(graph): plain(value) for graph, value in store.select(query)} if graphs else {}
    return [
        known.get(graph.value) == cutting.parameters_of(document) for graph, document in zip(graphs, read, strict=True)
    ]


def _version(kb: Loading, options: WorkerOptions) -> str:
    """Return a name for all that the work depends on besides the files: programs, shapes, settings, model."""
    model = kb.embedder.identity if options.embed else ""
    cutting = (str(options.cutting.tokens), options.cutting.name, str(options.whole_pages))
    return digest(kb.store.names.base, model, *cutting, *worker_parts.programs())
