"""The language model that is always there: no key, no network, no weights; it copies and never writes of its own.

It reads a prompt's variables, not its text, and returns the same JSON as a language model would. Any task but these it
refuses, so that the caller can answer *unknown*:

=================================================  ==================================================================
prompt                                             reply
=================================================  ==================================================================
``answering/answer``                               sentences and facts of the evidence that answer the question
``og_rag/map``                                     names and figures next to words of the ontology, labelled lines
``poly_rag/facts``                                 values next to words that express an attribute; names of a sentence
                                                   and the words between them, as triples
``poly_rag/sufficient``                            triples whose relation has the words of the question
``sire_rag/rewrite facts``                         sentences with their subject, and the names in them
``sire_rag/summary``, ``cg_rag/neighbourhood``     the sentences in the middle of a cluster
=================================================  ==================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from kgrag.errors import UnsupportedTask
from kgrag.llm.extractive import evidence_answers, ontology_mapping, paragraph_facts, sentence_facts, summaries
from kgrag.llm.extractive.meaning import Closeness
from kgrag.model import Completion, Prompt, Usage
from kgrag.ports import Embedder

__all__ = ["ExtractiveModel"]

_ANSWER = "answering/answer"
_TASKS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "cg_rag/neighbourhood": summaries.neighbourhood_summary,
    "og_rag/map": ontology_mapping.reply,
    "poly_rag/facts": paragraph_facts.facts,
    "poly_rag/sufficient": summaries.sufficiency,
    "sire_rag/facts": sentence_facts.facts,
    "sire_rag/rewrite": sentence_facts.rewrite,
    "sire_rag/summary": summaries.summary,
}


class ExtractiveModel:
    """A ``LanguageModel`` that fulfils a few named prompts by deterministic rules.

    Sentences that answer a question are chosen by their words and by an embedder, where there is one.

    >>> prompt = Prompt("answering/answer", "", {"question": "Who sows?", "evidence": []})
    >>> ExtractiveModel().complete([prompt])[0].data
    {'unknown': True, 'sentences': []}
    """

    @property
    def identity(self) -> str:
        """Name and version of the rules."""
        return "extractive-12"

    def __init__(self, embedder: Callable[[], Embedder] | None = None) -> None:
        """Take what returns the embedder by which answers are chosen; None chooses them by shared words alone."""
        self._nearness = None if embedder is None else Closeness(embedder)

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order.

        Raises:
            UnsupportedTask: a prompt asks for something that copying cannot do.
        """
        return [completion for _, completion in self.as_completed(prompts)]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) in order. Raises what ``complete`` raises."""
        for index, prompt in enumerate(prompts):
            task = self._task(prompt.name) or self._task(prompt.like)
            if task is None:
                raise UnsupportedTask(
                    f"the extractive model cannot fulfil prompt '{prompt.name}': it only copies from text "
                    f"({', '.join(sorted((_ANSWER, *_TASKS)))}). Set KGRAG_MODEL to a language model."
                )
            data = task(prompt.variables)
            is_text = isinstance(data, str)
            text = data if is_text else json.dumps(data, ensure_ascii=False)
            yield index, Completion(text, None if is_text else data, model=self.identity, usage=Usage(completions=1))

    def _task(self, name: str) -> Callable[[Mapping[str, Any]], Any] | None:
        return partial(evidence_answers.reply, nearness=self._nearness) if name == _ANSWER else _TASKS.get(name)
