"""What an intake and a build by workers share: the embedder's recipe, the folder of a run, the versions of programs."""

from __future__ import annotations

import hashlib
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kgrag import plugins
from kgrag.errors import InputError
from kgrag.knowledge_base import services
from kgrag.ports import Embedder, TripleStore
from kgrag.resources import folder, version
from kgrag.settings import read_settings

if TYPE_CHECKING:
    from kgrag.llm.embedders import CachedEmbedder
    from kgrag.settings import Settings

__all__ = ["BUILD_SHARDS", "SHARDS", "Loading", "programs", "recipe", "shared_folder"]

SHARDS = "shards"
"""The folder of what workers of an intake leave, below that of caches."""
BUILD_SHARDS = "build_shards"
"""The folder of what workers of builds leave, below that of caches, with a folder per method."""


class Loading(Protocol):
    """The parts of a knowledge base that a loader uses."""

    settings: Settings
    path: Path | None
    _given_embedder: Embedder | None

    @property
    def store(self) -> TripleStore:
        """The triple store."""

    @property
    def embedder(self) -> CachedEmbedder:
        """The embedder."""


@dataclass(frozen=True, slots=True)
class _Ready:
    """Returns an embedder that is there."""

    embedder: Embedder

    def __call__(self) -> Embedder:
        return self.embedder


@dataclass(frozen=True, slots=True)
class _Named:
    """Makes the embedder of the settings; keys of services are in the environment of whoever calls it."""

    embedder: str
    base_url: str | None

    def __call__(self) -> Embedder:
        return services.configured_embedder(read_settings(embedder=self.embedder, base_url=self.base_url))


def recipe(kb: Loading, *, is_local: bool) -> Callable[[], Embedder]:
    """Return what makes the embedder of a knowledge base where it is called; ``is_local``: in this process.

    Raises:
        InputError: the embedder was given as an object, and cannot be sent to another process.
    """
    if is_local:
        return _Ready(kb.embedder.inner)
    if kb._given_embedder is None:
        return _Named(kb.settings.embedder, kb.settings.base_url)
    try:
        pickle.dumps(kb._given_embedder)
    except Exception as error:
        raise InputError(
            f"the embedder '{kb._given_embedder.identity}' cannot be sent to workers: {error}. Name one in the "
            "settings, or use the runner local."
        ) from error
    return _Ready(kb._given_embedder)


def programs() -> list[str]:
    """Return the versions of kgrag and of packages that extend it, and digests of the shapes of graphs."""
    groups = [
        f"{group} {name} {plugin.distribution} {plugin.version}"
        for group in ("kgrag.readers", "kgrag.chunkers", "kgrag.methods")
        for name, plugin in sorted(plugins.registered(group).items())
    ]
    shapes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((folder("shapes") / "graphs").glob("*"))]
    return [version(), *groups, *shapes]


@contextmanager
def shared_folder(kb: Path | None, given: str, below: str, name: str) -> Iterator[str]:
    """Make the folder of a run, and remove it when the block ends without an error.

    Args:
        kb: the folder of the knowledge base; None in memory.
        given: the folder that workers share, or ``s3://BUCKET/PREFIX``, where one was named; else "".
        below: the folder of such runs below that of caches, where none was named. It goes whole.
        name: of the run: the same for one that goes on where this one was ended.

    Raises:
        InputError: there is no bucket in the address.
        StorageFailed: the folder cannot be made.
    """
    from kgrag.workers.shard_folders import shard_folder

    temporary = tempfile.mkdtemp(prefix="kgrag-") if kb is None and not given else ""
    parent = given or temporary or str(Path(kb or "", "cache", below))
    run = shard_folder(f"{parent.rstrip('/')}/{name}")
    run.make()
    try:
        yield f"{parent.rstrip('/')}/{name}"
    except BaseException:
        if temporary:
            shutil.rmtree(temporary, ignore_errors=True)
        raise
    if given:
        run.clear()
    else:
        shutil.rmtree(parent, ignore_errors=True)
