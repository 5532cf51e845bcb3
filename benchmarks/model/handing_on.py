"""A language model that hands prompts on to another, for those that listen to replies or change them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kgrag.model import Completion, Prompt
from kgrag.ports import LanguageModel

__all__ = ["HandingOn"]


class HandingOn:
    """Hands prompts on; a subclass does what it is for in ``as_completed``.

    Attributes:
        inner: the model behind.
    """

    def __init__(self, inner: LanguageModel) -> None:
        self.inner = inner

    @property
    def identity(self) -> str:
        """That of the model behind."""
        return self.inner.identity

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order."""
        by_index = dict(self.as_completed(prompts))
        return [by_index[index] for index in range(len(prompts))]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion)."""
        yield from self.inner.as_completed(prompts)
