"""Cross-encoders of sentence-transformers from a folder, or by their name in a cache or hub of models."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from kgrag.errors import InvalidSettings
from kgrag.model import Hit

__all__ = ["CrossEncoderReranker"]


class CrossEncoderReranker:
    """A ``Reranker`` that reads question and hit together, by a model that sentence-transformers loads when first used.

    Args:
        name: a folder with the model, or its name (``cross-encoder/ms-marco-MiniLM-L6-v2``), which is looked for in the
            cache of models of this machine, and then, unless ``HF_HUB_OFFLINE`` is set, in the hub.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits with the scores of the model, best first; hits of equal scores stay in their order.

        Raises:
            InvalidSettings: there is no such model, or it gives a pair of texts more than one score.
        """
        if not hits:
            return []
        with self._lock:
            scores = self._model.predict([(question, hit.text) for hit in hits], show_progress_bar=False)
        if getattr(scores, "ndim", 1) != 1:
            raise InvalidSettings(
                f"the cross-encoder '{self._name}' gives {scores.shape[1]} scores to a pair of texts; one was expected."
            )
        scored = [replace(hit, score=float(score)) for hit, score in zip(hits, scores, strict=True)]
        return sorted(scored, key=lambda hit: -hit.score)

    @cached_property
    def _model(self) -> Any:
        from sentence_transformers import CrossEncoder

        try:
            return CrossEncoder(self._name, device="cpu")
        except (OSError, ValueError) as error:
            raise InvalidSettings(
                f"the cross-encoder '{self._name}' cannot be loaded: {str(error).splitlines()[0][:300]} Name a folder "
                "with a cross-encoder of sentence-transformers, or one that is in the cache of models or can be "
                "fetched: --reranker cross-encoder:FOLDER."
            ) from error
