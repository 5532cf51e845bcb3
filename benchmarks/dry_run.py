"""Dry runs beside what is then asked: requests, input and output tokens of every build and of ``ask``, per method.

Run ``python -m benchmarks.dry_run [--texts FOLDER]``: the texts of the demonstration, or the text files of a folder,
with the ontology of crops. A model that copies (``extractive``) answers, and what is sent to it is counted as the plan
counts: text and schema at four characters a token. So requests and input tempt no guess: where they differ, the plan
does not know what the build asks. Replies of that model are shorter than those of a language model, so output tokens
are compared with recorded replies instead: with KGRAG_DATA set, each prompt's declared length beside the mean of the
replies, of two halves drawn by the digest of their keys.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import data_folder
from kgrag import KnowledgeBase
from kgrag.errors import UnsupportedTask
from kgrag.llm.costs import CHARACTERS_PER_TOKEN, planned
from kgrag.llm.extractive import ExtractiveModel
from kgrag.model import Completion, Prompt, Usage
from kgrag.ports import LanguageModel
from kgrag.resources import folder
from kgrag.testing import HashEmbedder

__all__ = ["CountingModel", "measured"]

QUESTIONS = ("When is chickpea sown in the Hill Zone?", "What does barley need?", "What precedes what in the rotation?")
BUILDS = ("og_rag", "poly_rag", "sire_rag", "cg_rag", "obqc")
ASKED = ("passages", "og_rag", "poly_rag", "sire_rag", "cg_rag", "obqc", "auto")
RECORDED = {
    "answering/answer": "Answer the question from the evidence",
    "cg_rag/neighbourhood": "Below stands a passage",
    "obqc/ask": "Write a SPARQL query",
    "obqc/repair": "A SPARQL query was written",
    "poly_rag/sufficient": "Given a question and the context information provided",
}


class CountingModel:
    """Hands prompts on, and counts them as a plan does; ``prompts`` has each, in the order asked."""

    def __init__(self, inner: LanguageModel) -> None:
        self.prompts: list[Prompt] = []
        self.usage = Usage()
        self._inner = inner

    @property
    def identity(self) -> str:
        """That of the model behind."""
        return self._inner.identity

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order."""
        return [completion for _, completion in self.as_completed(prompts)]

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) in order."""
        for index, prompt in enumerate(prompts):
            try:
                (completion,) = self._inner.complete([prompt])
            except UnsupportedTask:
                self._count(prompt, "")
                raise
            usage = self._count(prompt, completion.text or json.dumps(completion.data))
            yield index, replace(completion, usage=usage)

    def _count(self, prompt: Prompt, reply: str) -> Usage:
        usage = Usage(1, planned(prompt).input_tokens, len(reply) // CHARACTERS_PER_TOKEN)
        self.prompts.append(prompt)
        self.usage += usage
        return usage


def measured(texts: Path) -> Iterator[tuple[str, Usage, Usage]]:
    """Yield each build and question with what was planned and what was asked."""
    model = CountingModel(ExtractiveModel())
    with KnowledgeBase(model=model, embedder=HashEmbedder()) as kb:
        kb.load(folder("ontologies") / "crops.ttl")
        kb.ingest(texts)
        for name in BUILDS:
            counts = kb.build(name, dry_run=True).counts
            before = model.usage
            kb.build(name)
            asked = _difference(model.usage, before)
            plan = Usage(*(counts.get(key, 0) for key in ("completions", "input_tokens", "output_tokens")))
            yield f"build {name}", plan, asked
        for name in ASKED:
            plan, asked = Usage(), Usage()
            for question in QUESTIONS:
                plan += kb.planned_cost(question, method=name)
                before = model.usage
                kb.ask(question, method=name)
                asked += _difference(model.usage, before)
            yield f"ask {name}", plan, asked


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        after.completions - before.completions,
        after.input_tokens - before.input_tokens,
        after.output_tokens - before.output_tokens,
    )


def _recorded(data: Path) -> dict[str, list[list[float]]]:
    """Return the tokens of recorded replies by prompt, in two halves."""
    found: dict[str, list[list[float]]] = defaultdict(lambda: [[], []])
    with gzip.open(data / "model_replies" / "replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            text = row["messages"][-1]["content"]
            for name, begin in RECORDED.items():
                if text.startswith(begin):
                    half = int(hashlib.sha256(row["key"].encode()).hexdigest(), 16) % 2
                    found[name][half].append(len(row["reply"]) / CHARACTERS_PER_TOKEN)
    return found


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Dry runs beside what is then asked.")
    parser.add_argument("--texts", type=Path, default=Path(__file__).parents[1] / "kgrag" / "demo" / "texts")
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder of real data [KGRAG_DATA]")
    asked = parser.parse_args()
    print(f"{'':18}{'requests':>18}{'input tokens':>22}{'':>9}{'output tokens':>20}")
    for name, plan, sent in measured(asked.texts):
        off = f"{plan.input_tokens / sent.input_tokens - 1:+.1%}" if sent.input_tokens else "-"
        print(
            f"{name:18}{plan.completions:>9,}{sent.completions:>9,}{plan.input_tokens:>11,}{sent.input_tokens:>11,}"
            f"{off:>9}{plan.output_tokens:>10,}{sent.output_tokens:>10,}"
        )
    if (asked.data / "model_replies").is_dir():
        print("\nreply tokens      declared    first half       other half")
        for prompt, halves in _recorded(asked.data).items():
            means = "".join(f"{sum(each) / len(each):>12.1f} ({len(each):>2})" if each else " " * 17 for each in halves)
            print(f"{prompt:22}{planned(Prompt(prompt, '')).output_tokens:>6}{means}")


if __name__ == "__main__":
    main()
