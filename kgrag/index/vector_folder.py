"""The vector spaces of a knowledge base, one folder each."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

from kgrag.errors import EmbeddingMismatch, StorageFailed, VectorsCorrupt
from kgrag.index import vector_files
from kgrag.index.hnsw import HnswIndex
from kgrag.index.vector_files import Manifest
from kgrag.index.vector_table import check_space_name

__all__ = ["FolderSpaces"]

_MAX_OPENING_ATTEMPTS = 100  # another process may swap the files each time while they are opened

_log = logging.getLogger(__name__)


class FolderSpaces:
    """Opens each space once (``ports.VectorSpaces``); safe to use from several threads."""

    def __init__(
        self,
        folder: Path | None,
        *,
        identity: str,
        dimension: int,
        read_only: bool = False,
        lineage: Callable[[int], str] | None = None,
    ) -> None:
        """Name the folder; nothing is read or written yet.

        Args:
            folder: where spaces live; None keeps them in memory.
            identity: of the embedder, recorded with every space.
            dimension: of its vectors.
            read_only: spaces can be changed in memory and are never written.
            lineage: returns the lineage of a revision of the store; a space that was made from another store is then
                treated as absent. None takes every space.
        """
        self._lineage = lineage
        self._folder = folder
        self._empty = Manifest(identity, dimension)
        self._read_only = read_only
        self._open: dict[str, HnswIndex] = {}
        self._lock = threading.Lock()

    def space(self, name: str) -> HnswIndex:
        """Open a space; one that is absent or damaged is empty and has revision -1, and damage is logged.

        Raises:
            EmbeddingMismatch: its vectors were made by another embedder.
            UnknownName: the name has other characters than ``a-z``, ``0-9``, ``-`` and ``_``.
        """
        with self._lock:
            if name not in self._open:
                self._open[name] = self._opened(name)
            return self._open[name]

    def names(self) -> list[str]:
        """Return the names of the spaces that exist, sorted."""
        with self._lock:
            names = set(self._open)
        if self._folder is not None and self._folder.is_dir():
            names |= {path.parent.name for path in self._folder.glob("*/manifest.json")}
        return sorted(names)

    def reach(self) -> None:
        """Ask no server: spaces are files here."""

    def drop(self, name: str) -> None:
        """Forget a space and remove its files, so that it can be embedded again.

        Raises:
            StorageFailed: the files cannot be removed.
            UnknownName: as in ``space``.
        """
        folder = self._path(name)
        with self._lock:
            self._open.pop(name, None)
            if folder is None or self._read_only or not folder.is_dir():
                return
            try:
                # the manifest first: a kill in between leaves an empty space, not a damaged one
                (folder / "manifest.json").unlink(missing_ok=True)
                shutil.rmtree(folder)
            except OSError as error:
                message = f"vector space in {folder} could not be removed: {error}. Permit writing there."
                raise StorageFailed(message) from error

    def _path(self, name: str) -> Path | None:
        check_space_name(name)
        return self._folder / name if self._folder is not None else None

    def _opened(self, name: str) -> HnswIndex:
        folder = self._path(name)
        if folder is None:
            return HnswIndex(self._empty)
        failure: Exception | None = None
        manifests_tried: list[Manifest] = []
        for _ in range(_MAX_OPENING_ATTEMPTS):
            try:
                manifest = vector_files.read_manifest(folder) or self._empty
                if manifest in manifests_tried[-1:]:
                    break  # nobody wrote meanwhile, so that it is damaged
                manifests_tried.append(manifest)
                if manifest is not self._empty and not self._same_store(name, manifest):
                    break
                self._same_embedder(name, manifest)
                return self._index(manifest, folder)
            except (VectorsCorrupt, OSError, ValueError) as error:
                failure = error
        if failure is not None:
            _log.warning("Vector space '%s' is damaged and will be made again from the store: %s", name, failure)
        return self._index(self._empty, folder)

    def _index(self, manifest: Manifest, folder: Path) -> HnswIndex:
        return HnswIndex(manifest, folder=folder, read_only=self._read_only, lineage=self._lineage)

    def _same_store(self, name: str, manifest: Manifest) -> bool:
        """Return whether a space was made from this store, and not from one with the same revision number."""
        if self._lineage is None or manifest.lineage == self._lineage(manifest.revision):
            return True
        _log.warning("Vector space '%s' was made from another store, and will be made again from this one.", name)
        return False

    def _same_embedder(self, name: str, manifest: Manifest) -> None:
        recorded, wanted = (manifest.identity, manifest.dimension), (self._empty.identity, self._empty.dimension)
        if recorded != wanted:
            raise EmbeddingMismatch(
                f"space '{name}' was embedded with {recorded[0]} ({recorded[1]}), but the embedder is {wanted[0]} "
                f"({wanted[1]}). Run `kgrag doctor --repair` to embed it again, or go back to that embedder."
            )
