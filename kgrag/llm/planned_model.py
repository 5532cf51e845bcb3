"""A language model for dry runs: it asks nobody, and counts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from kgrag.errors import UnsupportedTask
from kgrag.llm.costs import CHARACTERS_PER_TOKEN
from kgrag.llm.reply_lengths import Plan
from kgrag.llm.text_marks import strings
from kgrag.model import Completion, Prompt, Usage
from kgrag.ports import LanguageModel

__all__ = ["PlannedModel"]

_NOTHING = {"unknown": True, "sentences": [], "sufficient": False, "answers": [], "order": []}


class PlannedModel:
    """A language model that asks nobody, and adds up in ``plan`` what was to be asked.

    Its replies say that nothing was found, so that a method asks all that it may ask, and are words of the prompt where
    a text is asked for; it writes no query, so that of OBQC the first request is counted. Replies that the other model
    knows already are free, and returned.
    """

    def __init__(self, inner: LanguageModel) -> None:
        self.plan = Plan()
        self._inner = inner
        self._known = getattr(inner, "known", lambda _: None)

    @property
    def usage(self) -> Usage:
        """What was to be asked costs, as the headers of the prompts declare it."""
        return self.plan.usage

    @property
    def identity(self) -> str:
        """That of the model in whose place it stands."""
        return self._inner.identity

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order."""
        return [completion for _, completion in self.as_completed(prompts)]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) in order."""
        for index, prompt in enumerate(prompts):
            known: Completion | None = self._known(prompt)
            yield index, known or self._stand_in(prompt)

    def _stand_in(self, prompt: Prompt) -> Completion:
        usage = self.plan.add(prompt)
        if prompt.schema is not None:
            fields = prompt.schema.get("properties", {})
            data = {name: value for name, value in _NOTHING.items() if name in fields}
            return Completion(json.dumps(data), data, usage=usage)
        if prompt.name == "answering/standalone":  # what is asked next depends on it
            turns = prompt.variables.get("turns")
            last = turns[-1] if isinstance(turns, list) and turns else {}
            return Completion(str(last.get("text", "")), usage=usage)
        if prompt.name.startswith("obqc/"):
            raise UnsupportedTask("a query is only planned, not written.")
        return Completion(_excerpt(prompt, usage.output_tokens * CHARACTERS_PER_TOKEN), usage=usage)


def _excerpt(prompt: Prompt, characters: int) -> str:
    """Return words of a prompt's inputs, evenly spread, as long as its reply will be; "word" where it has none."""
    words = " ".join(strings(prompt.variables.values())).split() or ["word"]
    wanted = max(1, round(characters / (sum(map(len, words)) / len(words) + 1)))
    chosen = [words[place * len(words) // wanted] for place in range(wanted)]
    return " ".join(chosen)
