"""Fakes that ship, so that code which uses kgrag is tested without a network, a key or model weights.

>>> model = ScriptedModel({"answering/answer": '{"sentences": []}'})
>>> model.complete([Prompt("answering/answer", "Which crops?", schema={"type": "object"})])[0].data
{'sentences': []}
>>> HashEmbedder().embed(["growing soybeans", "soybean grows"], "passage").shape
(2, 64)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal

import numpy as np

from kgrag.errors import CompletionMissing, UnsupportedTask
from kgrag.llm import structured_output
from kgrag.model import Completion, Document, Prompt, Usage
from kgrag.ports import Vectors

__all__ = ["HashEmbedder", "Reply", "ScriptedModel", "toy_documents"]

ReplyText = str | Completion
"""The text of a reply, or a whole completion: one that was cut, ``Completion('{"crops": [', finish="length")``."""
Reply = ReplyText | Sequence[ReplyText] | Callable[[Prompt], ReplyText]
"""One reply for every prompt of a name, replies to be returned in turn, or a function of the prompt."""

_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by did do does for from has have how in is it its of on or that the their this to was "
        "were what when where which who why will with",
    )
)


class ScriptedModel:
    """A language model that returns replies from a script.

    ``replies`` maps a prompt's name to a reply (returned every time), to several (returned in turn) or to a function of
    the prompt; or it is one function for every prompt. A reply that is not what the prompt's schema asks for becomes a
    completion with a ``problem``; nothing is asked twice. ``prompts`` lists every prompt in the order asked.
    """

    def __init__(self, replies: Mapping[str, Reply] | Callable[[Prompt], ReplyText]) -> None:
        self._replies = replies
        self._turns: dict[str, int] = {}
        self.prompts: list[Prompt] = []

    @property
    def identity(self) -> str:
        """Always ``scripted``."""
        return "scripted"

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order.

        Raises:
            UnsupportedTask: no reply was scripted for a prompt of that name.
            CompletionMissing: the replies of a sequence are used up.
        """
        return [completion for _, completion in self.as_completed(prompts)]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) in order. Raises what ``complete`` raises."""
        for index, prompt in enumerate(prompts):
            self.prompts.append(prompt)
            yield index, self._completion(prompt, self._scripted(prompt))

    def _scripted(self, prompt: Prompt) -> ReplyText:
        if callable(self._replies):
            return self._replies(prompt)
        if prompt.name not in self._replies:
            known = ", ".join(sorted(self._replies)) or "none"
            raise UnsupportedTask(f"no reply was scripted for prompt '{prompt.name}'. Scripted: {known}.")
        chosen = self._replies[prompt.name]
        if isinstance(chosen, str | Completion):
            return chosen
        return chosen(prompt) if callable(chosen) else self._next(prompt.name, chosen)

    def _next(self, name: str, replies: Sequence[ReplyText]) -> ReplyText:
        turn = self._turns.get(name, 0)
        self._turns[name] = turn + 1
        if turn >= len(replies):
            raise CompletionMissing(
                f"prompt '{name}' was asked {turn + 1} times, and {len(replies)} replies were scripted."
            )
        return replies[turn]

    def _completion(self, prompt: Prompt, text: ReplyText) -> Completion:
        if isinstance(text, Completion):
            return text
        data, wrong = (None, "") if prompt.schema is None else structured_output.reply(text, prompt.schema)
        usage = Usage(1, len(prompt.text.split()), len(text.split()))
        return Completion(text=text, data=data, model=self.identity, usage=usage, problem=wrong)


class HashEmbedder:
    """An embedder without weights: texts that share word stems are near, others are nearly orthogonal.

    A text is the sum of one pseudo-random direction per stem, scaled to length 1. The same text has the same vector on
    every machine and in every process. Function words count only when there is nothing else.
    """

    def __init__(self, dimension: int = 64) -> None:
        self._dimension = dimension

    @property
    def dimension(self) -> int:
        """Length d of a vector."""
        return self._dimension

    @property
    def identity(self) -> str:
        """``hash-<dimension>``."""
        return f"hash-{self._dimension}"

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:  # noqa: ARG002 - one space for both
        """Return a float32 array of shape (len(texts), d) with unit rows; shape (0, d) for no texts."""
        rows = [self._vector(text) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(rows), self._dimension)

    def _vector(self, text: str) -> Vectors:
        total = sum((_direction(stem, self._dimension) for stem in _stems(text)), np.zeros(self._dimension, np.float32))
        if not total.any():
            total = _direction("", self._dimension)
        unit: Vectors = (total / np.linalg.norm(total)).astype(np.float32)
        return unit


def toy_documents() -> list[Document]:
    """Return three short documents about growing crops, written for kgrag."""
    return [
        Document(text=text, title=title, location=f"toy/{title.lower().replace(' ', '-')}.txt")
        for title, text in _TOY.items()
    ]


_TOY = {
    "Growing soybean": (
        "Soybean is sown from the middle of June to the first week of July. It wants a well-drained loam "
        "with a pH of 6.0 to 7.5.\n\n"
        "The variety JS 20-34 ripens in 87 days. Sow 65 kg of seed a hectare, 4 cm deep.\n\n"
        "Girdle beetle bores into the stem. Remove and burn attacked plants."
    ),
    "Growing maize": (
        "Maize is sown with the first rains. It needs 120 kg of nitrogen a hectare, given in three parts.\n\n"
        "Fall armyworm feeds in the whorl of young maize. Plough in summer, so that birds find the pupae."
    ),
    "Keeping soil alive": (
        "A field of soybean leaves nitrogen for the maize that follows it.\n\n"
        "Compost of 5 tonnes a hectare keeps a loam loose. Soil with a pH below 5.5 is limed before sowing."
    ),
}


def _stems(text: str) -> list[str]:
    import Stemmer

    words = re.findall(r"\w+", text.lower())
    content_words = [word for word in words if word not in _STOP_WORDS] or words
    return list(Stemmer.Stemmer("english").stemWords(content_words))


@cache
def _direction(stem: str, dimension: int) -> Vectors:
    """Return the direction of a stem: signs from its hash, shape (dimension,)."""
    data = hashlib.shake_256(stem.encode("utf-8", "surrogatepass")).digest(dimension // 8 + 1)
    bits = np.unpackbits(np.frombuffer(data, dtype=np.uint8))[:dimension]
    return bits.astype(np.float32) * 2 - 1
