"""The language model that is always there: no key, no network, no weights; it copies and never writes of its own.

It reads a prompt's variables, not its text, and gives the same JSON as a language model would: for
``answering/answer`` the sentences and facts of the evidence that cover the question, for ``og_rag/map`` what stands in
the text beside words of the ontology, for ``poly_rag/*`` what the words between names say of an attribute, for
``sire_rag/*`` sentences with their subject, names, and the sentences in the
middle of a cluster. Any other task it refuses, so that the caller can say *unknown*.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kgrag.errors import UnsupportedTask
from kgrag.llm.extractive.evidence_answers import reply as answer_from
from kgrag.llm.extractive.instances import instances
from kgrag.llm.extractive.ontology_mapping import reply as map_onto
from kgrag.llm.extractive.sentence_facts import facts, rewrite
from kgrag.llm.extractive.summaries import neighbourhood_summary as around
from kgrag.llm.extractive.summaries import sufficiency as suffices
from kgrag.llm.extractive.summaries import summary as summarise
from kgrag.llm.extractive.triples import disambiguate, entities, paraphrase, relations
from kgrag.model import Completion, Prompt, Usage

__all__ = ["ExtractiveModel"]

_TASKS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "answering/answer": answer_from,
    "cg_rag/neighbourhood": around,
    "og_rag/map": map_onto,
    "poly_rag/disambiguate": disambiguate,
    "poly_rag/entities": entities,
    "poly_rag/instances": instances,
    "poly_rag/paraphrase": paraphrase,
    "poly_rag/relations": relations,
    "poly_rag/sufficient": suffices,
    "sire_rag/facts": facts,
    "sire_rag/rewrite": rewrite,
    "sire_rag/summary": summarise,
}


class ExtractiveModel:
    """A ``LanguageModel`` that fulfils a few named prompts by deterministic means.

    >>> prompt = Prompt("answering/answer", "", {"question": "Who sows?", "evidence": []})
    >>> ExtractiveModel().complete([prompt])[0].data
    {'unknown': True, 'sentences': []}
    """

    @property
    def identity(self) -> str:
        """Name and version of the rules."""
        return "extractive-2"

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Give one completion a prompt, in order.

        Raises:
            UnsupportedTask: a prompt asks for something that copying cannot do.
        """
        return [completion for _, completion in self.as_completed(prompts)]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) in order. Raises what ``complete`` raises."""
        for index, prompt in enumerate(prompts):
            data = _reply(prompt)
            if isinstance(data, str):
                yield index, Completion(text=data, model=self.identity, usage=Usage(completions=1))
                continue
            text = json.dumps(data, ensure_ascii=False)
            yield index, Completion(text=text, data=data, model=self.identity, usage=Usage(completions=1))


def _reply(prompt: Prompt) -> Any:
    task = _TASKS.get(prompt.name) or _TASKS.get(prompt.like)
    if task is None:
        known = ", ".join(sorted(_TASKS))
        raise UnsupportedTask(
            f"the extractive model cannot fulfil prompt '{prompt.name}': it only copies from text ({known}). "
            "Set KGRAG_MODEL to a language model."
        )
    return task(prompt.variables)
