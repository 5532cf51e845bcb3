"""Plants false numbers in replies and counts the answers that let one pass.

A run's questions are asked again of what was built: every reply is kept, so that nothing is paid, and the first number
of each sentence of an answer is exchanged: for one that is nowhere in its prompt, or for one that the evidence has of
something else. Quotes stay as they are: a reply that is right but for a number is the one that a reader would believe.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.model.asking import Question
from benchmarks.model.handing_on import HandingOn
from kgrag import KnowledgeBase
from kgrag.answering.cited_answers import PROMPT
from kgrag.errors import CompletionMissing
from kgrag.model import Completion, Prompt
from kgrag.ports import LanguageModel
from kgrag.settings import Settings

__all__ = ["Planting", "planted"]

_MAX_COUNT = 12
"""Small numbers are those of lists and sections."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")


class Planting(HandingOn):
    """Hands prompts on, and plants a false number in each sentence of an answer that has one.

    Args:
        inner: the model behind.
        elsewhere: whether the number is one that the prompt has, outside the sentence and its quotes.
    """

    def __init__(self, inner: LanguageModel, *, elsewhere: bool = False) -> None:
        super().__init__(inner)
        self.sentences: list[str] = []
        self._elsewhere = elsewhere

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) in order."""
        for index, completion in enumerate(self.inner.complete(prompts)):
            prompt = prompts[index]
            yield index, self._altered(prompt, completion) if prompt.name == PROMPT else completion

    def _altered(self, prompt: Prompt, completion: Completion) -> Completion:
        data: Any = completion.data
        if not isinstance(data, dict):
            return completion
        sentences = [{**one, "text": self._with_false_number(one, prompt.text)} for one in data["sentences"]]
        said = {**data, "sentences": sentences}
        return replace(completion, text=json.dumps(said), data=said)

    def _with_false_number(self, sentence: Mapping[str, Any], shown: str) -> str:
        text: str = sentence["text"]
        found = _NUMBER.search(text)
        false = found and self._false_number(found[0], shown, json.dumps(sentence))
        if found is None or not false:
            return text
        self.sentences.append(f"{text[: found.start()]}{false}{text[found.end() :]}")
        return self.sentences[-1]

    def _false_number(self, number: str, shown: str, said: str) -> str:
        """Return a number that is not the one; "" where the prompt has no other."""
        if self._elsewhere:
            others = [one for one in _NUMBER.findall(shown) if float(one) > _MAX_COUNT and one not in said]
            return random.Random(said).choice(others) if others else ""
        value = int(float(number)) * 3 + 7
        while str(value) in shown:
            value += 1
        return str(value)


def planted(
    into: Path,
    method: str,
    questions: Sequence[Question],
    *,
    settings: Settings,
    elsewhere: bool = False,
    **parts: Any,
) -> list[str]:
    """Ask a built method again with false numbers, and return "passed" or "refused" and the sentence, for each.

    A question that takes a prompt which the run has no reply to is returned as "not asked".

    Args:
        into: the folder of the run.
        method: the method that was built there.
        questions: those of the run.
        settings: those of the run: its model's replies are kept under its name.
        elsewhere: whether the numbers are of the evidence.
        parts: an embedder in place of that of the settings.
    """
    replaying = settings.model_copy(update={"completions": "replay"})
    with KnowledgeBase(into / f"{method}.kb", settings=replaying, **parts) as kb:
        passed: list[str] = []
        unasked: list[str] = []
        asking = kb.asking(planting := Planting(kb.model, elsewhere=elsewhere))
        for question in questions:
            try:
                passed += asking.ask(question.text, method=method).sentences
            except CompletionMissing:  # kgrag asks something that the run did not
                unasked.append(f"not asked: {question.text}")
    return [f"{'passed' if one in passed else 'refused'}: {one}" for one in planting.sentences] + unasked
