"""A language model and an embedder of a function each, for programs that have one at hand.

>>> shout = FunctionModel(lambda text: text.upper())
>>> shout.complete([Prompt("demo", "sow in June")])[0].text
'SOW IN JUNE'
>>> FunctionEmbedder(lambda texts: [[3.0, 4.0] for _ in texts]).embed(["a"], "query").tolist()
[[0.6000000238418579, 0.800000011920929]]
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from kgrag.errors import InvalidSettings
from kgrag.llm import structured_output
from kgrag.model import Completion, Prompt, Usage
from kgrag.ports import Vectors

__all__ = ["FunctionEmbedder", "FunctionModel", "name_of"]

_FORM = "\n\nReply with JSON alone, by this JSON Schema:\n"


def name_of(function: Callable[..., Any]) -> str:
    """Return the name of a function: its attribute ``identity``, else its module and name."""
    own = getattr(function, "identity", None)
    if isinstance(own, str) and own:
        return own
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


class FunctionModel:
    """A ``LanguageModel`` of a function from a prompt's text to the text of the reply.

    Where a prompt wants JSON, its schema is part of the text, and a reply that departs from it is a completion with a
    ``problem``. Replies are cached under the function's name and code: give it another ``identity``, an attribute,
    where something else than its code changes what it returns.
    """

    def __init__(self, function: Callable[[str], Any]) -> None:
        self._function = function

    @cached_property
    def identity(self) -> str:
        """Name of the function, and a digest of its code where it has some."""
        code = getattr(self._function, "__code__", None)
        if code is None:
            return name_of(self._function)
        constants = [constant for constant in code.co_consts if not hasattr(constant, "co_code")]
        parts = repr((code.co_code, constants, code.co_names))
        return f"{name_of(self._function)}-{hashlib.sha256(parts.encode()).hexdigest()[:12]}"

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order; raises what the function raises."""
        return [completion for _, completion in self.as_completed(prompts)]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) in order.

        Raises:
            InvalidSettings: the function returned something else than text.
        """
        for index, prompt in enumerate(prompts):
            schema = prompt.schema
            text = self._function(prompt.text if schema is None else f"{prompt.text}{_FORM}{json.dumps(dict(schema))}")
            if not isinstance(text, str):
                kind = type(text).__name__
                raise InvalidSettings(f"model {name_of(self._function)} returned {kind}. Return the reply as a str.")
            completion = Completion(text, model=self.identity, usage=Usage(completions=1))
            yield index, completion if schema is None else structured_output.with_data(completion, schema)


class FunctionEmbedder:
    """An ``Embedder`` of a function from a list of texts to rows of numbers, which are brought to length 1.

    ``identity``, the function's, is recorded with every vector: give another name to a function that embeds otherwise.
    """

    def __init__(self, function: Callable[[list[str]], Any]) -> None:
        self._function = function

    @property
    def identity(self) -> str:
        """Name of the function."""
        return name_of(self._function)

    @cached_property
    def dimension(self) -> int:
        """Length of a vector, found by embedding a word."""
        return int(self._rows(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:  # noqa: ARG002
        """Return a float32 array of shape (len(texts), d) with unit rows.

        Raises:
            InvalidSettings: the function returned something of another shape, or a row of zeros.
        """
        return self._rows(list(texts)) if texts else np.empty((0, self.dimension), np.float32)

    def _rows(self, texts: list[str]) -> Vectors:
        try:
            rows = np.asarray(self._function(texts), np.float32)
        except (TypeError, ValueError) as error:
            raise InvalidSettings(f"embedder {self.identity} returned no rows of numbers: {error}.") from error
        if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1]:
            raise InvalidSettings(
                f"embedder {self.identity} returned an array of shape {rows.shape} for {len(texts)} texts. Return one "
                "row of numbers per text."
            )
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(rows).all() or (lengths == 0).any():
            raise InvalidSettings(f"embedder {self.identity} returned a row of zeros, or one with no finite number.")
        units: Vectors = rows / lengths
        return units
