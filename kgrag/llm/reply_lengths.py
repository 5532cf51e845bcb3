"""How long replies will be: learnt from those that were paid, else as the headers of prompts declare.

A header's ``reply 85 tokens`` was measured with one model on a few texts; another model, or other texts, are easily a
third off. So what every paid completion took is added up per model and prompt, beside what was planned for it, and the
next plan is corrected by the ratio. Each forecast has an interval that covers nine of ten sums, where replies differ
from each other as those before did; without enough of them, as recorded replies differ from their headers. What a
model's service counts as tokens is learnt from all of its prompts, and holds for those that it was not asked yet. A
query that a model wrote is repaired as often as its queries were before, and what is asked only where its rows do not
answer is asked as often.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from kgrag.llm.costs import planned
from kgrag.model import Prompt, Usage
from kgrag.ports import LanguageModel

__all__ = ["Forecast", "Lengths", "Plan", "forecast"]

_MIN_LEARNT = 3
"""Completions of a prompt from which its header is left aside."""
_WRITING, _REPAIRING = "obqc/ask", "obqc/repair"
_WITHOUT_ROWS = "poly_rag/sufficient"
"""What is asked of the layer below where a query finds nothing that answers."""
_NORMAL = 1.645
"""Standard deviations on either side that cover nine of ten."""
_DECLARED_OFF = 0.4
"""Share by which what a header declares may be off as a whole, nine times in ten."""
_DECLARED_SPREAD = 0.6
"""Standard deviation of a single reply, as a share of its declared length."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Sums over the paid completions of one prompt: tokens planned and taken, squares and products of output tokens."""

    count: int = 0
    planned_input: int = 0
    input: int = 0
    planned: int = 0
    taken: int = 0
    planned_squares: float = 0.0
    products: float = 0.0
    taken_squares: float = 0.0

    @classmethod
    def of(cls, plan: Usage, paid: Usage) -> Lengths:
        """Return what one completion adds."""
        expected, taken = plan.output_tokens, paid.output_tokens
        squares = float(expected**2), float(expected * taken), float(taken**2)
        return cls(1, plan.input_tokens, paid.input_tokens, expected, taken, *squares)

    def __add__(self, other: Lengths) -> Lengths:
        """Add up two."""
        return Lengths(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @property
    def learnt(self) -> bool:
        """Whether they are enough to correct a plan by."""
        return self.count >= _MIN_LEARNT and self.planned > 0 and self.planned_input > 0

    @property
    def ratio(self) -> float:
        """Tokens taken for each that was planned."""
        return self.taken / self.planned

    @property
    def relative_variance(self) -> float:
        """Variance of a reply about ratio times plan, as a share of the square of its plan."""
        residual = self.taken_squares - 2 * self.ratio * self.products + self.ratio**2 * self.planned_squares
        return max(0.0, residual) / (self.count - 1) * self.count / self.planned_squares

    @property
    def deviations(self) -> float:
        """Standard deviations that cover nine of ten, more where few replies are known (Student's distribution)."""
        return _NORMAL * (1 + 1.2 / (self.count - 1))


def tokens_per_planned(known: Mapping[str, Lengths]) -> float:
    """Return what a service counts for each input token that was planned, over all prompts; 1 where too few are known.

    >>> tokens_per_planned({"a": Lengths(3, 400, 500, 90, 30)}), tokens_per_planned({})
    (1.25, 1.0)
    """
    learnt = [one for one in known.values() if one.learnt]
    return sum(one.input for one in learnt) / sum(one.planned_input for one in learnt) if learnt else 1.0


@dataclass(frozen=True, slots=True)
class Forecast:
    """What prompts will cost about; their output tokens are from ``least`` to ``most``, nine times in ten.

    ``learnt`` has the prompts whose replies were learnt from, with how many were; ``declared`` the others.
    """

    usage: Usage = field(default_factory=Usage)
    least: int = 0
    most: int = 0
    learnt: Mapping[str, int] = field(default_factory=dict)
    declared: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What the output tokens go by, for a person."""
        paid = ", ".join(f"{count:,} paid replies to {name}" for name, count in sorted(self.learnt.items()))
        told = ", ".join(sorted(self.declared))
        parts = [f"as long as {paid}" if paid else "", f"as recorded of other models for {told}" if told else ""]
        return f"replies are taken to be {' and '.join(filter(None, parts))}" if paid or told else ""

    def counts(self) -> dict[str, int]:
        """Return it as the counts of a dry run."""
        return {
            "completions": self.usage.completions,
            "input_tokens": self.usage.input_tokens,
            "output_tokens": self.usage.output_tokens,
            "output_tokens_least": self.least,
            "output_tokens_most": self.most,
        }


@dataclass(slots=True)
class _Planned:
    usage: Usage = field(default_factory=Usage)
    squares: float = 0.0


class Plan:
    """Prompts that are to be asked, added up by name; ``usage`` is what they cost as their headers declare."""

    def __init__(self, prompts: Iterable[Prompt] = ()) -> None:
        self._by_prompt: dict[str, _Planned] = {}
        for prompt in prompts:
            self.add(prompt)

    def add(self, prompt: Prompt, times: int = 1) -> Usage:
        """Add a prompt, as often as it is asked in other words; return what one of it costs."""
        one, here = planned(prompt), self._by_prompt.setdefault(prompt.name, _Planned())
        here.usage += Usage(times, times * one.input_tokens, times * one.output_tokens)
        here.squares += float(times * one.output_tokens**2)
        return one

    def __add__(self, other: Plan) -> Plan:
        """Return the prompts of both."""
        both = Plan()
        for plan in (self, other):
            for name, one in plan._by_prompt.items():
                here = both._by_prompt.setdefault(name, _Planned())
                here.usage += one.usage
                here.squares += one.squares
        return both

    @property
    def usage(self) -> Usage:
        """What the prompts cost as declared."""
        return sum((one.usage for one in self._by_prompt.values()), Usage())

    def forecast(self, known: Mapping[str, Lengths]) -> Forecast:
        """Return what the prompts will cost.

        Args:
            known: of each prompt that was paid before, how long its replies were.
        """
        usage, output, spread = Usage(), 0.0, 0.0
        counted_as, learnt, declared = tokens_per_planned(known), dict[str, int](), list[str]()
        for name, here in self._by_prompt.items():
            lengths, plan = known.get(name, Lengths()), here.usage
            if name == _WITHOUT_ROWS and _WRITING in self._by_prompt:
                plan = _share(plan, known)
            if lengths.learnt:
                tokens = lengths.ratio * plan.output_tokens
                of_ratio = plan.output_tokens**2 * lengths.planned_squares / lengths.planned**2
                deviation = lengths.deviations * math.sqrt(lengths.relative_variance * (here.squares + of_ratio))
                asked = round(plan.input_tokens * lengths.input / lengths.planned_input)
                learnt[name] = lengths.count
            else:
                declared.append(name)
                tokens, asked = plan.output_tokens * counted_as, round(plan.input_tokens * counted_as)
                alone = _NORMAL * _DECLARED_SPREAD * math.sqrt(here.squares)
                deviation = math.hypot(_DECLARED_OFF * plan.output_tokens, alone)
            further = _repairs(plan.completions, known) if name == _WRITING else Usage()
            usage += Usage(plan.completions, asked, 0) + replace(further, output_tokens=0)
            output += tokens + further.output_tokens
            spread = math.hypot(spread, deviation, further.output_tokens)
        counted = Usage(usage.completions, usage.input_tokens, round(output))
        # a reply has a token at least
        least = max(usage.completions, round(output - spread))
        return Forecast(counted, least, round(output + spread), learnt, tuple(declared))


def _share(below: Usage, known: Mapping[str, Lengths]) -> Usage:
    """Return what is left of the requests to a layer below, by how many queries led to one before; all if unknown."""
    written = known.get(_WRITING, Lengths())
    if not written.learnt:
        return below
    share = min(1.0, known.get(_WITHOUT_ROWS, Lengths()).count / written.count)
    return Usage(*(round(share * getattr(below, one.name)) for one in fields(below)))


def _repairs(queries: int, known: Mapping[str, Lengths]) -> Usage:
    """Return what the repairs of so many queries will cost, by how often queries were before; nothing if unknown."""
    written, repaired = known.get(_WRITING, Lengths()), known.get(_REPAIRING, Lengths())
    if not written.learnt or not repaired.count:
        return Usage()
    expected, each = queries * repaired.count / written.count, repaired.count
    return Usage(round(expected), round(expected * repaired.input / each), round(expected * repaired.taken / each))


def forecast(plan: Plan, model: LanguageModel) -> Forecast:
    """Return what the prompts of a plan will cost, by what this model took before where that is kept."""
    kept: Any = getattr(model, "reply_lengths", None)
    return plan.forecast(kept() if kept is not None else {})
