"""A language model and an embedder whose work workers do, for any method that asks them in a build.

What computes goes to workers; a service is asked by the process that builds, so that its limits, its cache and its
budget are those of the whole cluster. Few texts or prompts are not worth a journey, and are done where they are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from kgrag.errors import ServiceUnavailable, UnsupportedTask
from kgrag.model import Completion, Prompt, Usage
from kgrag.ports import Embedder, LanguageModel, Vectors, Workers
from kgrag.workers.stages import words_of

__all__ = ["COMPLETE", "EMBED", "Complete", "EmbedTexts", "WorkerEmbedder", "WorkerModel"]

COMPLETE = "complete"
"""The name of the stage of a model."""
EMBED = "embed"
"""The name of the stage of an embedder."""

_PROMPTS_PER_TABLE = 4
_TEXTS_PER_TABLE = 64
_FEW_TEXTS = 32

_PROMPTS = pa.schema([(name, pa.large_string()) for name in ("name", "variables", "schema", "like")])
_COMPLETIONS = pa.schema(
    [("error", pa.large_string()), ("text", pa.large_string()), ("data", pa.large_string()), ("model", pa.string())]
)
_TEXTS = pa.schema([("text", pa.large_string())])
_VECTORS = pa.schema([("error", pa.large_string()), ("vector", pa.large_binary())])


@dataclass(frozen=True)
class _Made:
    """Something that each process makes for itself, once; ``make`` is what travels."""

    make: Callable[[], Any]

    @cached_property
    def _made(self) -> Any:
        return self.make()

    def __getstate__(self) -> dict[str, Any]:
        return {"make": self.make}


@dataclass(frozen=True)
class Complete(_Made):
    """Prompts → completions of a model that reads the variables of a prompt, and not its text."""

    def __call__(self, prompts: pa.Table) -> pa.Table:
        """Return a row per prompt; ``data`` is JSON, "" where there is none."""
        return pa.Table.from_pylist([self._row(row) for row in prompts.to_pylist()], schema=_COMPLETIONS)

    def _row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        variables, schema = json.loads(row["variables"]), json.loads(row["schema"])
        try:
            (reply,) = self._made.complete([Prompt(row["name"], "", variables, schema, row["like"])])
        except Exception as error:
            return {"error": words_of(error)}
        data = "" if reply.data is None else json.dumps(reply.data)
        return {"error": "", "text": reply.text, "data": data, "model": reply.model}


@dataclass(frozen=True)
class EmbedTexts(_Made):
    """Texts → vectors of passages, float32 of d values each."""

    def __call__(self, texts: pa.Table) -> pa.Table:
        """Return a row per text; where the embedder fails, every row has its error."""
        given = texts.column("text").to_pylist()
        try:
            vectors = self._made.embed(given, "passage")
        except Exception as error:
            return pa.Table.from_pylist([{"error": words_of(error)} for _ in given], schema=_VECTORS)
        rows = [{"error": "", "vector": np.asarray(vector, "<f4").tobytes()} for vector in vectors]
        return pa.Table.from_pylist(rows, schema=_VECTORS)


@dataclass(frozen=True, slots=True)
class WorkerEmbedder:
    """An ``Embedder`` whose passages workers embed, always the same ones together, however many work."""

    inner: Embedder
    workers: Workers

    @property
    def dimension(self) -> int:
        """That of the inner embedder."""
        return self.inner.dimension

    @property
    def identity(self) -> str:
        """That of the inner embedder."""
        return self.inner.identity

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """Return a float32 array of shape (len(texts), d) with unit rows.

        Raises:
            ServiceUnavailable: the embedder failed, or ended its worker three times.
        """
        if kind == "query" or len(texts) < _FEW_TEXTS:
            return self.inner.embed(texts, kind)
        parts = (texts[first : first + _TEXTS_PER_TABLE] for first in range(0, len(texts), _TEXTS_PER_TABLE))
        tables = (pa.Table.from_pylist([{"text": text} for text in part], schema=_TEXTS) for part in parts)
        rows: list[Vectors] = []
        for result in self.workers.results(EMBED, tables):
            for row in result.to_pylist():
                if row["error"]:
                    raise ServiceUnavailable(f"workers cannot embed {texts[len(rows)][:60]!r}: {row['error']}")
                rows.append(np.frombuffer(row["vector"], "<f4"))
        return np.stack(rows)


@dataclass(frozen=True, slots=True)
class WorkerModel:
    """A ``LanguageModel`` whose completions workers compute."""

    inner: LanguageModel
    workers: Workers

    @property
    def identity(self) -> str:
        """That of the inner model."""
        return self.inner.identity

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order. Raises what ``as_completed`` raises."""
        return [completion for _, completion in self.as_completed(prompts)]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) in order. One that a worker fails at, or that ends it thrice, has a problem.

        Raises:
            UnsupportedTask: a prompt asks for something that the model cannot do.
        """
        if len(prompts) < 2:
            yield from self.inner.as_completed(prompts)
            return
        parts = (prompts[first : first + _PROMPTS_PER_TABLE] for first in range(0, len(prompts), _PROMPTS_PER_TABLE))
        tables = (pa.Table.from_pylist([_row_of(prompt) for prompt in part], schema=_PROMPTS) for part in parts)
        index = 0
        for result in self.workers.results(COMPLETE, tables):
            for row in result.to_pylist():
                yield index, _completion_of(row, self.identity)
                index += 1


def _row_of(prompt: Prompt) -> dict[str, str]:
    variables, schema = json.dumps(prompt.variables), json.dumps(prompt.schema)
    return {"name": prompt.name, "variables": variables, "schema": schema, "like": prompt.like}


def _completion_of(row: Mapping[str, Any], model: str) -> Completion:
    if row["error"]:
        kind, _, words = row["error"].partition(": ")
        if kind == UnsupportedTask.__name__:
            raise UnsupportedTask(words)
        return Completion("", model=model, usage=Usage(completions=1), problem=row["error"])
    data = json.loads(row["data"]) if row["data"] else None
    return Completion(row["text"], data, model=row["model"], usage=Usage(completions=1))
