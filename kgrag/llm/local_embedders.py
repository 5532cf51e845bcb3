"""Embedding models of sentence-transformers from a folder, or by their name in a cache or hub of models."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from kgrag.errors import InvalidSettings
from kgrag.llm.shared_passes import SharedPasses
from kgrag.ports import Vectors

__all__ = ["LocalEmbedder"]


class LocalEmbedder:
    """An ``Embedder`` of a model that sentence-transformers loads.

    Args:
        name: a folder with the model, or its name (``intfloat/multilingual-e5-small``), which is looked for in the
            cache of models of this machine, and then, unless ``HF_HUB_OFFLINE`` is set, in the hub.

    Questions and passages are embedded in the two forms that the model declares, where it has two.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._passes = {kind: SharedPasses(partial(self._encode, kind)) for kind in ("query", "passage")}
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        """The model's name; of a folder its last part."""
        return Path(self._name).name if Path(self._name).is_dir() else self._name

    @property
    def dimension(self) -> int:
        """Length of a vector; loads the model."""
        return int(self.embed(["dimension"], "passage").shape[1]) if self._dimension is None else self._dimension

    @cached_property
    def _dimension(self) -> int | None:
        found = getattr(self._model, "get_embedding_dimension", self._model.get_sentence_embedding_dimension)()
        return None if found is None else int(found)

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """Return a float32 array of shape (len(texts), d) with unit rows; shape (0, d) for no texts.

        Raises:
            InvalidSettings: there is no such model.
        """
        if not texts:
            return np.empty((0, self.dimension), np.float32)
        return self._passes[kind](texts)

    def _encode(self, kind: str, texts: list[str]) -> Vectors:
        form = "encode_query" if kind == "query" else "encode_document"
        with self._lock:  # of the two kinds of passes
            encode = getattr(self._model, form, self._model.encode)  # versions before 5 have one form
            rows = encode(texts, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(rows, np.float32)

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import SentenceTransformer

        try:
            return SentenceTransformer(self._name, device="cpu")
        except (OSError, ValueError) as error:
            raise InvalidSettings(
                f"the embedder '{self._name}' cannot be loaded: {str(error).splitlines()[0][:300]} Name a folder with "
                "a model of sentence-transformers, or one that is in the cache of models or can be fetched."
            ) from error
