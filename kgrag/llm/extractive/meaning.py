"""How close sentences are to a question in meaning: cosines of the loaded embedder, each sentence embedded once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from kgrag.llm.embedders import CachedEmbedder
from kgrag.ports import Embedder, Vectors

__all__ = ["Closeness"]

_MAX_VECTORS = 20_000
"""Vectors kept in memory: 30 MB at 384 numbers each. None is written to disk, so that what is forgotten leaves none."""


class Closeness:
    """Cosines between a question and sentences; safe to use from several threads."""

    def __init__(self, embedder: Callable[[], Embedder]) -> None:
        """Take what returns the embedder, which is asked for when the first question comes."""
        self._embedder = embedder
        self._lock = threading.Lock()
        self._vectors: OrderedDict[tuple[str, str], Vectors] = OrderedDict()

    @property
    def identity(self) -> str:
        """The embedding model's name."""
        return self._embedder().identity

    def __call__(self, question: str, sentences: Sequence[str]) -> list[float]:
        """Return the cosine of the question and each sentence, -1 to 1.

        Raises:
            ServiceError: the embedder is a service that fails.
        """
        if not sentences:
            return []
        embedder = self._embedder()
        unkept = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
        names = [(embedder.identity, sentence) for sentence in sentences]
        with self._lock:
            known = {name: self._vectors[name] for name in dict.fromkeys(names) if name in self._vectors}
        missing = [name for name in dict.fromkeys(names) if name not in known]
        if missing:
            known.update(zip(missing, unkept.embed([text for _, text in missing], "passage"), strict=True))
        with self._lock:
            for name, vector in known.items():
                self._vectors[name] = vector
                self._vectors.move_to_end(name)
            while len(self._vectors) > _MAX_VECTORS:
                self._vectors.popitem(last=False)
        vectors = np.stack([known[name] for name in names])
        return [float(value) for value in vectors @ embedder.embed([question], "query")[0]]
