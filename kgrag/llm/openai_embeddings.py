"""An embedder behind ``/embeddings``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from threading import Event
from typing import Any, Literal, Self

import numpy as np

from kgrag.errors import EmbeddingMismatch, ServiceRefused
from kgrag.llm.openai_connection import DEFAULT_URL, Connection, RejectedRequestError, Retries, encodable
from kgrag.ports import Vectors

__all__ = ["OpenAIEmbedder"]


@dataclass(frozen=True, eq=False)
class OpenAIEmbedder:
    """An embedding model at an OpenAI-compatible base URL; its vectors are scaled to length 1.

    Args:
        model: its name, as the service knows it.
        base_url: the address of the service; None: OpenAI's own.
        api_key: its key; "" for a service that wants none. It appears in no message.
        expected: the length of a vector, where known; 0: asked of the service at first use.
        batch: texts in one request.
        timeout: seconds that one request may take.
        retries: how often and how long a request is sent again.
    """

    model: str
    _: KW_ONLY
    base_url: str | None
    api_key: str = field(repr=False)
    expected: int = 0
    batch: int = 128
    timeout: float = 60.0
    retries: Retries = field(default_factory=Retries)

    @cached_property
    def _connection(self) -> Connection:
        return Connection(self.base_url or DEFAULT_URL, self.api_key, self.timeout, self.retries)

    @cached_property
    def dimension(self) -> int:
        """Length d of a vector; the service is asked once when it was not given. Raises ServiceError."""
        return self.expected or int(self._embed(["dimension"]).shape[1])

    @property
    def identity(self) -> str:
        """The model's name."""
        return self.model

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:  # noqa: ARG002 - one space
        """Return a float32 array of shape (len(texts), d) with unit rows; shape (0, d) for no texts.

        Raises:
            ServiceUnavailable: no connection, or retries used up.
            ServiceRefused: wrong key, no quota, unknown model, or a text that the model does not take.
            EmbeddingMismatch: the vectors have another length than expected.
        """
        parts = [self._embed(texts[at : at + self.batch]) for at in range(0, len(texts), self.batch)]
        if not parts:
            return np.empty((0, self.dimension), np.float32)
        expected = self.expected or vars(self).setdefault("dimension", parts[0].shape[1])
        for part in parts:
            if part.shape[1] != expected:
                raise EmbeddingMismatch(
                    f"{self.model} returns vectors of {part.shape[1]} numbers, {expected} were expected. "
                    "Set the length that the model has."
                )
        return np.concatenate(parts)

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self.close()

    def _embed(self, texts: Sequence[str]) -> Vectors:
        inputs = [encodable(text) if text.strip() else " " for text in texts]  # services refuse the empty text
        body = {"model": self.model, "input": inputs, "encoding_format": "float"}
        try:
            return self._connection.post(
                "embeddings", body, lambda reply: _unit_rows(reply, len(inputs)), stopping=Event()
            )
        except RejectedRequestError as error:
            message = f"{self._connection.host} does not embed these texts with '{self.model}' ({error})."
            raise ServiceRefused(f"{message} Check model name and base URL, or cut the texts smaller.") from None


def _unit_rows(reply: dict[str, Any], count: int) -> Vectors:
    """Read vectors in the order of their texts. Raises ValueError when any is missing, zero or not finite."""
    entries = sorted(reply["data"], key=lambda entry: int(entry["index"]))
    if [entry["index"] for entry in entries] != list(range(count)):
        raise ValueError(f"{len(entries)} vectors for {count} texts")
    rows = np.array([entry["embedding"] for entry in entries], dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all() or not lengths.all():
        raise ValueError("a vector is zero or not finite")
    unit: Vectors = (rows / lengths).astype(np.float32)
    return unit
