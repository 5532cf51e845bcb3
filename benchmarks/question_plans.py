"""Plans of questions beside what they cost, in many orders: how soon a plan knows this model and these documents.

Run ``python -m benchmarks.question_plans RUN --questions Q.jsonl [--methods METHOD …] [--orders N]``. RUN is a folder
of ``python -m benchmarks.model run``, whose kept replies are read, so that nothing is paid. Each question is planned as
a knowledge base would that has paid for those before it, then what it cost is added; tokens of both are counted as
plans count, four characters each and with the schema. Planned against cost are the sums of the first five questions, of
the others and of all: in the order of the file, and the mean and standard deviation over random orders. ``inside`` is
the share of single questions whose cost was in the interval of its plan.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dry_run import CountingModel
from benchmarks.model.asking import METHODS, Question, questions_in
from benchmarks.model.handing_on import HandingOn
from kgrag import KnowledgeBase
from kgrag.errors import CompletionMissing
from kgrag.llm.completion_cache import CachedModel
from kgrag.llm.costs import planned, schema_tokens
from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.planned_model import PlannedModel
from kgrag.llm.reply_lengths import Forecast, Lengths, Plan
from kgrag.model import Usage
from kgrag.settings import Settings

__all__ = ["Asked", "in_order", "off", "recorded"]

_FIRST = 5
_COUNTS = ("completions", "input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: what is planned of it, and each prompt that it cost with its lengths and what was paid for it."""

    plan: Plan
    paid: tuple[tuple[str, Lengths, Usage], ...]

    @property
    def usage(self) -> Usage:
        """What it cost."""
        return sum((paid for _, _, paid in self.paid), Usage())


class _NamedModel(HandingOn):
    """A model by name, which nobody asks, since its replies are kept."""

    def __init__(self, identity: str) -> None:
        super().__init__(ExtractiveModel())
        self._identity = identity

    @property
    def identity(self) -> str:
        """The name."""
        return self._identity


def recorded(folder: Path, method: str, questions: Sequence[Question]) -> list[Asked]:
    """Return questions with their plans and costs; those with a prompt that was not recorded are left out.

    Args:
        folder: of a knowledge base that answered them; it is only read.
        method: a method that is built there.
        questions: in the order of a file.
    """
    with tempfile.TemporaryDirectory() as copies:
        copy = shutil.copytree(folder, Path(copies) / "kb")
        replies = copy / "cache" / "completions.sqlite"
        with CachedModel(ExtractiveModel(), replies) as kept:
            (identity,) = {model for models in kept.paid_replies().values() for model in models}
        counting = CountingModel(CachedModel(_NamedModel(identity), replies, mode="replay"))
        with KnowledgeBase(copy, settings=Settings(completions="off"), model=counting) as kb:
            found = [_asked(kb, counting, method, one) for one in questions]
    return [one for one in found if one is not None]


def _asked(kb: KnowledgeBase, counting: CountingModel, method: str, question: Question) -> Asked | None:
    planning = PlannedModel(kb.model)
    kb.asking(planning).ask(question.text, method=method)
    before = len(counting.prompts)
    try:
        kb.ask(question.text, method=method)
    except CompletionMissing as error:
        print(f"{question.id} is left out: {error}")
        return None
    costs = zip(counting.prompts[before:], counting.costs[before:], strict=True)
    lengths = ((one, Lengths.of(planned(one), cost, schema_tokens(one)), cost) for one, cost in costs)
    return Asked(planning.plan, tuple((one.name, taken, cost) for one, taken, cost in lengths))


def in_order(asked: Sequence[Asked]) -> list[tuple[Forecast, Usage]]:
    """Return the forecast of each question, by those before it, beside what it cost."""
    known: dict[str, Lengths] = {}
    of_method: dict[str, Usage] = {}
    pairs = []
    for one in asked:
        pairs.append((one.plan.forecast(known, of_method), one.usage))
        for name, lengths, paid in one.paid:
            known[name] = known.get(name, Lengths()) + lengths
            of_method[name] = of_method.get(name, Usage()) + paid
    return pairs


def off(pairs: Sequence[tuple[Forecast, Usage]], count: str) -> float:
    """Return by what share the sum of plans is above what was paid."""
    plans = sum(float(getattr(plan.usage, count)) for plan, _ in pairs)
    return plans / sum(float(getattr(paid, count)) for _, paid in pairs) - 1


def _print(method: str, asked: Sequence[Asked], orders: int) -> None:
    drawn = random.Random(1)
    runs = [in_order(asked), *(in_order(drawn.sample(asked, len(asked))) for _ in range(orders))]
    for count in _COUNTS:
        cells = []
        for label, begin, end in (("first 5", 0, _FIRST), ("others", _FIRST, None), ("all", 0, None)):
            offs = [off(run[begin:end], count) for run in runs if run[begin:end]]
            if offs:
                spread = statistics.pstdev(offs)
                cells.append(f"{label} {offs[0]:+.0%} ({statistics.fmean(offs):+.0%} ± {spread:.0%})")
        alone = [(plan, getattr(paid, count)) for run in runs for plan, paid in run]
        inside = sum(getattr(plan.least, count) <= paid <= getattr(plan.most, count) for plan, paid in alone)
        cost = sum(getattr(one.usage, count) for one in asked)
        print(f"{method:10}{count:14}{cost:>8,}  {', '.join(cells)}, inside {inside / len(alone):.0%}")


def main() -> None:
    """Print a line per method and count."""
    parser = argparse.ArgumentParser(description="Plans of questions beside what they cost, in many orders.")
    parser.add_argument("run", type=Path)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--orders", type=int, default=200)
    given = parser.parse_args()
    questions = questions_in(given.questions)
    for method in given.methods:
        asked = recorded(given.run / f"{method}.kb", method, [one for one in questions if one.is_for(method)])
        _print(method, asked, given.orders)


if __name__ == "__main__":
    main()
