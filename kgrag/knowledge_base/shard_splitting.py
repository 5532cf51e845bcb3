"""One knowledge base divided into several by the hash of each document, for ``kgrag.Shards``.

Each shard begins as a backup of the whole, with its vectors and word indexes, and forgets the documents that are not
its own: what was derived from these alone goes with them, by the rules of forgetting, and ontologies and settings stay.
So for as long as it takes, each shard needs the room of the whole.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from kgrag.errors import InputError, StorageFailed
from kgrag.index import bm25, vector_spaces
from kgrag.knowledge_base import forgetting
from kgrag.knowledge_base.facade import KnowledgeBase
from kgrag.ports import Progress
from kgrag.settings import Settings, is_address, read_settings
from kgrag.vocab import digest

__all__ = ["shard_number", "split_base"]

_DIGITS = 16
_SIDECARS = ("vectors", "lexical")


def shard_number(document: str, count: int) -> int:
    """Return in which of so many shards a document belongs, from 0, by the hash of its IRI.

    >>> shard_number("urn:kgrag:doc/1", 4) == shard_number("urn:kgrag:doc/1", 4) < 4
    True
    """
    return int(digest(document)[:_DIGITS], 16) % count


def split_base(
    folder: Path, count: int, target: Path, *, settings: Settings | None = None, progress: Progress | None = None
) -> dict[Path, int]:
    """Write the shards of a knowledge base into a new folder, and return how many documents each has.

    Args:
        folder: the knowledge base; it stays as it is, and nobody else may write to it meanwhile.
        count: how many shards, at least 2.
        target: a folder that does not exist; each shard is a folder in it.
        settings: default: those of the environment and of ``kgrag.toml``.
        progress: called after each shard.

    Raises:
        InputError: there is no knowledge base there, the target exists, its store is in a server, or ``count`` is
            below 2.
        StoreLocked: another process writes to the knowledge base.
        StorageFailed: the disk refused; the target is removed.
    """
    settings = settings or read_settings(kb=folder)
    if count < 2:
        raise InputError(f"--into {count}: a knowledge base is divided into two shards at least.")
    if is_address(settings.store):
        raise InputError("a store in a SPARQL server is not divided here. Export it, and divide what is imported.")
    if not (folder.is_dir() and any(folder.iterdir())):
        raise InputError(f"there is no knowledge base at {folder}.")
    if target.exists():
        raise InputError(f"{target} exists already. Name a folder that does not.")
    with KnowledgeBase(folder, settings=settings) as whole:
        documents = [document.iri for document in whole.documents()]
        sizes = {}
        try:
            for number in range(count):
                others = [iri for iri in documents if shard_number(iri, count) != number]
                place = target / f"shard-{number}"
                _write(whole, place, others, settings)
                sizes[place] = len(documents) - len(others)
                if progress:
                    progress("shards", number + 1, count)
        except BaseException:
            shutil.rmtree(target, ignore_errors=True)
            raise
    return sizes


def _write(whole: KnowledgeBase, place: Path, others: list[str], settings: Settings) -> None:
    """Write a copy of a knowledge base without some documents. Raises StorageFailed."""
    whole.backup(place)
    for name in _SIDECARS:
        source = whole._folder(name)
        if source is not None and source.is_dir():
            try:
                shutil.copytree(source, place / name)
            except OSError as error:
                raise StorageFailed(f"{place / name} cannot be written: {error}. Choose another place.") from error
    with suppress(FileNotFoundError):
        (place / "backup.json").unlink()  # it goes on as a knowledge base of its own
    with KnowledgeBase(place, settings=settings, embedder=whole.embedder.inner) as shard:
        forgetting.forget(others, store=shard.store, spaces=shard.spaces)
        shard.store.flush()
        vector_spaces.follow("chunk", store=shard.store, spaces=shard.spaces)
        bm25.follow(shard.store, shard._folder("lexical"))
