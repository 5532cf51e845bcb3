"""How long replies will be: learnt from those that were paid, else as the headers of prompts declare.

A header's ``reply 85 tokens`` was measured with one model on a few texts; another model, or other texts, are easily a
third off. So what every paid completion took is added up per model and prompt, beside what was planned for it, and the
next plan is corrected by the ratio. Each forecast has an interval that covers nine of ten sums, where replies differ
from each other as those before did; without enough of them, as recorded replies differ from their headers. What a
model's service counts as tokens is learnt from all of its prompts, and holds for those that it was not asked yet.

What follows a query that a model wrote depends on its rows: repairs, the layer below, a second answer where the first
leaves something open. How often each follows goes by the queries that the same method paid for, beside five of the
rounds with readers, so that a first plan has it too, and a model that repairs less outweighs them soon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from kgrag.llm.costs import planned
from kgrag.llm.reading_by_rules import is_by_rules
from kgrag.model import Prompt, Usage
from kgrag.ports import LanguageModel

__all__ = ["Forecast", "Lengths", "Plan", "forecast"]

_MIN_LEARNT = 3
"""Completions of a prompt from which its header is left aside."""
_WRITING, _REPAIRING = "obqc/ask", "obqc/repair"
_WITHOUT_ROWS, _ANSWERING = "poly_rag/sufficient", "answering/answer"
_AFTER_A_QUERY = {_REPAIRING: 43 / 90, _WITHOUT_ROWS: 8 / 50, _ANSWERING: 55 / 50}
"""How often each was asked after a query in three rounds with readers (``benchmarks/README.md``, 2026-11-24 and
2026-11-28): repairs, the layer below where its rows do not answer, and all answers, of which one is planned."""
_PRIOR_QUERIES = 5
"""Queries that were paid for, from which these weigh less than what followed them."""
_MAX_ANSWERS = 2.0
"""Answers to a question at most: from rows, then from text. Those to questions without a query are counted in, too."""
_REPAIR_PER_QUERY = 1.3
"""Input of a repair for that of its query: it has the query, its issues and what was tried before, too."""
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


@dataclass(frozen=True, slots=True)
class _Planned:
    """Prompts of one name: requests and tokens as planned, the squares of output tokens, and the doubt in their sum.

    ``doubt`` is the standard deviation of output tokens by how many of the prompts will be asked.
    """

    completions: float = 0.0
    input: float = 0.0
    output: float = 0.0
    squares: float = 0.0
    doubt: float = 0.0

    def __add__(self, other: _Planned) -> _Planned:
        return _Planned(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def times(self, rate: float, doubt: float) -> _Planned:
        """Return as many times as much, with the deviation of that number."""
        scaled = (rate * each for each in (self.completions, self.input, self.output, self.squares))
        return _Planned(*scaled) + _Planned(doubt=doubt * self.output)


class Plan:
    """Prompts that are to be asked, added up by name; ``usage`` is what they cost as their headers declare."""

    def __init__(self, prompts: Iterable[Prompt] = ()) -> None:
        self._by_prompt: dict[str, _Planned] = {}
        for prompt in prompts:
            self.add(prompt)

    def add(self, prompt: Prompt, times: int = 1) -> Usage:
        """Add a prompt, as often as it is asked in other words; return what one of it costs."""
        one = planned(prompt)
        squares = float(one.output_tokens**2)
        here = _Planned(*(float(times * each) for each in (1, one.input_tokens, one.output_tokens, squares)))
        self._by_prompt[prompt.name] = self._by_prompt.get(prompt.name, _Planned()) + here
        return one

    def __add__(self, other: Plan) -> Plan:
        """Return the prompts of both."""
        both = Plan()
        for plan in (self, other):
            for name, one in plan._by_prompt.items():
                both._by_prompt[name] = both._by_prompt.get(name, _Planned()) + one
        return both

    @property
    def usage(self) -> Usage:
        """What the prompts cost as declared."""
        return _rounded(self._by_prompt.values())

    def forecast(self, known: Mapping[str, Lengths], asked: Mapping[str, int] | None = None) -> Forecast:
        """Return what the prompts will cost.

        Args:
            known: of each prompt that was paid before, how long its replies were.
            asked: how often the method that is planned for paid for each prompt before, from which goes what follows a
                query; None for a model that writes none.
        """
        counted_as = tokens_per_planned(known)
        prompts = self._by_prompt if asked is None else self._with_what_follows(_Following(asked), known)
        lengths = {name: _lengths(name, known) for name in prompts}
        parts = {name: _expected(here, lengths[name], counted_as) for name, here in prompts.items()}
        usage, spread = _rounded(parts.values()), math.hypot(*(part.doubt for part in parts.values()))
        least = max(usage.completions, round(usage.output_tokens - spread))  # a reply has a token at least
        learnt = {name: known[name].count for name in parts if known.get(name, Lengths()).learnt}
        declared = tuple(name for name in parts if not lengths[name].learnt)
        return Forecast(usage, least, round(usage.output_tokens + spread), learnt, declared)

    def _with_what_follows(self, follow: _Following, known: Mapping[str, Lengths]) -> dict[str, _Planned]:
        """Return the prompts, those behind a query as often as they are asked."""
        prompts = dict(self._by_prompt)
        query = prompts.get(_WRITING)
        if query is None:
            return prompts
        prompts[_REPAIRING] = _repair(query, known.get(_REPAIRING, Lengths())).times(query.completions, 0.0)
        for name in (_REPAIRING, _WITHOUT_ROWS, _ANSWERING):
            if name in prompts and (name == _REPAIRING or _WITHOUT_ROWS in prompts):
                prompts[name] = prompts[name].times(follow.rate(name), follow.deviation(name, query.completions))
        return prompts


@dataclass(frozen=True, slots=True)
class _Following:
    """How often what may follow a query does, by what a method paid for before."""

    asked: Mapping[str, int]

    def rate(self, name: str) -> float:
        """Return how often a prompt is asked for each query."""
        before = _PRIOR_QUERIES * _AFTER_A_QUERY[name] + self.asked.get(name, 0)
        rate = before / (_PRIOR_QUERIES + self.asked.get(_WRITING, 0))
        return min(rate, {_WITHOUT_ROWS: 1.0, _ANSWERING: _MAX_ANSWERS}.get(name, rate))

    def deviation(self, name: str, queries: float) -> float:
        """Return the standard deviation of the rate over some queries: by chance, and as it is known from few."""
        unsure = abs(self.rate(name) - (name == _ANSWERING))  # one answer is sure
        return math.sqrt(unsure / queries + unsure / (_PRIOR_QUERIES + self.asked.get(_WRITING, 0)))


def _repair(query: _Planned, paid: Lengths) -> _Planned:
    """Return one repair, as those before were planned, else from its header and a query."""
    if paid.count:
        asked, reply = paid.planned_input / paid.count, paid.planned / paid.count
    else:
        asked = _REPAIR_PER_QUERY * query.input / query.completions
        reply = planned(Prompt(_REPAIRING, "")).output_tokens
    return _Planned(1, asked, reply, reply**2)


def _lengths(name: str, known: Mapping[str, Lengths]) -> Lengths:
    """Return what is known of the replies to a prompt; of repairs, at first what is known of queries."""
    own = known.get(name, Lengths())
    return known.get(_WRITING, own) if name == _REPAIRING and not own.learnt else own


def _rounded(parts: Iterable[_Planned]) -> Usage:
    listed = list(parts)
    sums = (sum(getattr(part, name) for part in listed) for name in ("completions", "input", "output"))
    return Usage(*map(round, sums))


def _expected(plan: _Planned, lengths: Lengths, counted_as: float) -> _Planned:
    """Return what prompts of one name will cost; ``doubt`` is what covers nine of ten."""
    if not lengths.learnt:
        alone = _NORMAL * math.hypot(_DECLARED_SPREAD * math.sqrt(plan.squares), plan.doubt)
        deviation = math.hypot(_DECLARED_OFF * plan.output, alone)
        return _Planned(plan.completions, plan.input * counted_as, plan.output * counted_as, doubt=deviation)
    of_ratio = plan.output**2 * lengths.planned_squares / lengths.planned**2
    of_replies = lengths.deviations * math.sqrt(lengths.relative_variance * (plan.squares + of_ratio))
    deviation = math.hypot(of_replies, _NORMAL * lengths.ratio * plan.doubt)
    tokens = plan.input * lengths.input / lengths.planned_input
    return _Planned(plan.completions, tokens, lengths.ratio * plan.output, doubt=deviation)


def forecast(plan: Plan, model: LanguageModel) -> Forecast:
    """Return what the prompts of a plan will cost, by what this model took before where that is kept."""
    lengths: Any = getattr(model, "reply_lengths", dict)
    counts: Any = getattr(model, "reply_counts", dict)
    return plan.forecast(lengths(), None if is_by_rules(model.identity) else counts())
