"""Dry runs beside what is then asked: requests, input and output tokens of every build and of ``ask``, per method.

Run ``python -m benchmarks.dry_run [--texts FOLDER]``: the texts of the demonstration, or the text files of a folder,
with the ontology of crops. A model that copies (``extractive``) answers, and what is sent to it is counted as the plan
counts: text and schema at four characters a token. So requests and input tempt no guess: where they differ, the plan
does not know what the build asks. Replies of that model are shorter than those of a language model, so output tokens
are compared with recorded replies instead, with KGRAG_DATA set. Replies of a kind of prompt are halved, by the digest
of their keys; the sum of either half is forecast from what its header declares, and from the lengths of the other half
as a knowledge base that had paid for them would. Each forecast has its interval. Replies to prompts of earlier versions
count as well: what is tested is how far one part of a model's replies foretells the other. ``--desk FOLDER`` reads the
prompts and replies of a round with readers (``inbox/KEY.json``, ``outbox/KEY.txt``) instead: those of one model, with
the texts that the lengths of extractions grow with.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import regex

from benchmarks import data_folder
from benchmarks.model.handing_on import HandingOn
from kgrag import KnowledgeBase
from kgrag.errors import UnsupportedTask
from kgrag.llm.costs import CHARACTERS_PER_TOKEN, planned
from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.reply_lengths import Forecast, Lengths, Plan
from kgrag.model import Completion, Prompt, Usage
from kgrag.ports import LanguageModel
from kgrag.resources import folder
from kgrag.testing import HashEmbedder

__all__ = ["CountingModel", "foretold", "measured"]

_MIN_REPLIES, _MIN_REPLIES_AT_DESK = 5, 2
"""Replies of a kind in each half, from which it is a row."""
_TARGET = 0.1

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
"""Prompts of today, and how what was recorded for them began."""
EARLIER = {
    "instances": "Given a paragraph, please identify instances",
    "facts": "Extract all facts from the document",
    "triples": "You are given several triples",
    "claims": "Determine the factual claims",
    "relations": "Given the reference context and relevant entities",
    "entities": "Extract the noun entities",
    "rewrite": "Title of the document",
}
"""Prompts of earlier versions."""
DESK = RECORDED | {
    "answering/answer": "Answer the question at the end",
    "og_rag/map": "Here is a context definition",
    "poly_rag/facts": "List what the numbered paragraphs",
    "sire_rag/facts": "Extract all facts from the numbered paragraphs",
    "sire_rag/summary": "Summarize the provided text",
}
QUESTION = r"Question:?\s+(\S.*?)(?:\n|$)"
TEXTS = {
    "ontology": r"Ontology\n-----\n(.*?)\n-----",
    "paragraphs": r"=== \w+ === paragraph \d+\n(.*?)(?==== )",
    "text": r"Data:\n-----\n(.*?)\n-----",
    "texts": r"Text:\n-----\n(.*?)\n-----",
}
"""Inputs that the lengths of replies grow with, and where prompts have them."""


class CountingModel(HandingOn):
    """Hands prompts on, and counts them as a plan does; ``prompts`` and ``costs`` have each, in the order asked."""

    def __init__(self, inner: LanguageModel) -> None:
        super().__init__(inner)
        self.prompts: list[Prompt] = []
        self.costs: list[Usage] = []
        self.usage = Usage()

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) in order."""
        for index, prompt in enumerate(prompts):
            try:
                (completion,) = self.inner.complete([prompt])
            except UnsupportedTask:
                self._count(prompt, "")
                raise
            usage = self._count(prompt, completion.text or json.dumps(completion.data))
            yield index, replace(completion, usage=usage)

    def _count(self, prompt: Prompt, reply: str) -> Usage:
        usage = Usage(1, planned(prompt).input_tokens, len(reply) // CHARACTERS_PER_TOKEN)
        self.prompts.append(prompt)
        self.costs.append(usage)
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


Reply = tuple[Prompt, int]
"""What was asked, as far as a plan reads it, and the tokens of the reply."""
Halves = tuple[list[Reply], list[Reply]]


def _recorded(data: Path) -> dict[str, Halves]:
    """Return the tokens of recorded replies by kind of prompt, in two halves."""
    found: dict[str, Halves] = defaultdict(lambda: ([], []))
    kinds = RECORDED | EARLIER
    with gzip.open(data / "model_replies" / "replies.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            text = row["messages"][-1]["content"]
            for name in (name for name, begin in kinds.items() if text.startswith(begin)):
                _file(found, row["key"], Prompt(name, "", _question_in(text)), row["reply"])
    return found


def _question_in(text: str) -> dict[str, object]:
    """Return the last question of a prompt as an input."""
    return {"question": (regex.findall(QUESTION, text) or [""])[-1]}


def _file(found: dict[str, Halves], key: str, prompt: Prompt, reply: str) -> None:
    half = int(hashlib.sha256(key.encode()).hexdigest(), 16) % 2
    found[prompt.name][half].append((prompt, math.ceil(len(reply) / CHARACTERS_PER_TOKEN)))


def _desk(desk: Path) -> dict[str, Halves]:
    """Return the prompts of a round with readers and the tokens of their replies by kind, in two halves."""
    found: dict[str, Halves] = defaultdict(lambda: ([], []))
    for file in sorted((desk / "outbox").glob("*.txt")):
        asked = json.loads((desk / "inbox" / f"{file.stem}.json").read_text(encoding="utf-8"))
        text = "\n".join(str(message["content"]) for message in asked["messages"])
        for name in (name for name, begin in DESK.items() if text.startswith(begin)):
            variables: dict[str, object] = {
                each: "".join(regex.findall(pattern, text, flags=regex.DOTALL)) for each, pattern in TEXTS.items()
            }
            inputs = {"triples": "triples", **variables, **_question_in(text)}
            _file(found, file.stem, Prompt(name, "", inputs), file.read_text(encoding="utf-8"))
    return found


def foretold(
    recorded: Mapping[str, Halves], *, least: int = _MIN_REPLIES
) -> Iterator[tuple[str, int, int, Forecast, Forecast]]:
    """Yield kind, replies and their tokens, and the forecasts as declared and as learnt; at the end of all together.

    Kinds with less than ``least`` replies in a half are left out. Those of earlier versions declare nothing, so that
    their first forecast goes by the length that any prompt without a declaration has.
    """
    kept = {kind: halves for kind, halves in recorded.items() if min(map(len, halves)) >= least}
    for way in (0, 1):
        known = {kind: _lengths(halves[1 - way]) for kind, halves in kept.items()}
        rows: list[tuple[int, int, Forecast, Forecast]] = []
        for kind, halves in kept.items():
            plan = Plan(prompt for prompt, _ in halves[way])
            real = sum(tokens for _, tokens in halves[way])
            # of each by itself: repairs are replies of their own here
            yield kind, len(halves[way]), real, plan.forecast({}), plan.forecast({kind: known[kind]})
            rows.append((len(halves[way]), real, plan.forecast({}), plan.forecast({kind: known[kind]})))
        counts, reals, declared, learnt = zip(*rows, strict=True)
        yield "all together", sum(counts), sum(reals), _together(declared), _together(learnt)


def _together(forecasts: Sequence[Forecast]) -> Forecast:
    usage = sum((one.usage for one in forecasts), Usage())
    width = round(math.hypot(*(one.most.output_tokens - one.usage.output_tokens for one in forecasts)))
    least, most = (replace(usage, output_tokens=usage.output_tokens + each) for each in (-width, width))
    return Forecast(usage, least, most)


def _lengths(replies: Sequence[Reply]) -> Lengths:
    paid = ((planned(replace(prompt, text="x")), tokens) for prompt, tokens in replies)
    return sum((Lengths.of(plan, Usage(1, plan.input_tokens, tokens)) for plan, tokens in paid), Lengths())


def _print_foretold(recorded: Mapping[str, Halves], *, least: int = _MIN_REPLIES) -> None:
    print(f"\n{'reply tokens':22}{'replies':>8}{'real':>8}{'declared':>10}{'off':>8}{'learnt':>9}{'off':>8}  interval")
    errors, inside = [], []
    for kind, count, real, declared, learnt in foretold(recorded, least=least):
        offs = [one.usage.output_tokens / real - 1 for one in (declared, learnt)]
        covers = learnt.least.output_tokens <= real <= learnt.most.output_tokens
        print(
            f"{kind:22}{count:>8}{real:>8,}{declared.usage.output_tokens:>10,}{offs[0]:>+8.0%}"
            f"{learnt.usage.output_tokens:>9,}{offs[1]:>+8.0%}  {learnt.least.output_tokens:,} to "
            f"{learnt.most.output_tokens:,}"
            f"{'' if covers else ' (missed)'}"
        )
        errors.append(offs)
        inside.append(covers)
    within = [sum(abs(off[which]) <= _TARGET for off in errors) for which in (0, 1)]
    print(
        f"within {_TARGET:.0%}: declared {within[0]}, learnt {within[1]} of {len(errors)}; "
        f"in the interval {sum(inside)} of {len(inside)}"
    )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="Dry runs beside what is then asked.")
    parser.add_argument("--texts", type=Path, default=Path(__file__).parents[1] / "kgrag" / "demo" / "texts")
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder of real data [KGRAG_DATA]")
    parser.add_argument("--desk", type=Path, help="folder of a round with readers, in place of all else")
    asked = parser.parse_args()
    if asked.desk is not None:
        _print_foretold(_desk(asked.desk), least=_MIN_REPLIES_AT_DESK)
        return
    print(f"{'':18}{'requests':>18}{'input tokens':>22}{'':>9}{'output tokens':>20}")
    for name, plan, sent in measured(asked.texts):
        off = f"{plan.input_tokens / sent.input_tokens - 1:+.1%}" if sent.input_tokens else "-"
        print(
            f"{name:18}{plan.completions:>9,}{sent.completions:>9,}{plan.input_tokens:>11,}{sent.input_tokens:>11,}"
            f"{off:>9}{plan.output_tokens:>10,}{sent.output_tokens:>10,}"
        )
    if (asked.data / "model_replies").is_dir():
        _print_foretold(_recorded(asked.data))


if __name__ == "__main__":
    main()
