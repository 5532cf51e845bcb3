"""How long replies will be, and how many: by what this model was paid for here, beside what others did before.

A header's ``reply 85 tokens`` was measured with one model on a few texts; another model, or other texts, are easily a
third off. So what every paid completion took is added up per model and prompt, beside what was planned for it. The next
plan is corrected by the ratio of both, from the first reply on: the ratio counts for as much as it is known better than
a header is (empirical Bayes: replies that differ little from each other outweigh it soon). What a model's service
counts as tokens is learnt from all of its prompts, and holds for those that it was not asked yet; so is whether it
counts schemas, which a service that turns them into a grammar does not; before, half of them is planned. Each forecast
has an interval that covers nine of ten sums. Where another version's header declared something else, what was added up
beside it counts for input alone.

What follows a query that a model wrote depends on its rows: repairs, the layer below, a second answer where the first
leaves something open; and an answer from rows is asked with less text than is planned. How often each follows and how
long it is goes by what the same method paid for, beside a few queries of the rounds with readers, so that a first plan
has it too. All of it is kept as sums, so that a plan reads no answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from kgrag.llm.costs import Price, planned, rounded_money, schema_tokens
from kgrag.llm.reading_by_rules import is_by_rules
from kgrag.model import Prompt, Usage
from kgrag.ports import LanguageModel

__all__ = ["Forecast", "Lengths", "Plan", "forecast"]

_WRITING, _REPAIRING = "obqc/ask", "obqc/repair"
_WITHOUT_ROWS, _ANSWERING = "poly_rag/sufficient", "answering/answer"
_AFTER_A_QUERY = {_REPAIRING: 0.39, _WITHOUT_ROWS: 8 / 50, _ANSWERING: 55 / 50}
"""How often each was asked after a query in rounds with readers (``benchmarks/README.md``, 2026-11-24 and 2026-11-28):
repairs (the mean of four rounds: 38 of 60 queries in two, 4 of 20, 1 of 10), the layer below where its rows do not
answer, and all answers, of which one is planned."""
_REPAIRS_OVER_DATA = 0.16
"""Repairs of a query by a method that asks nothing else (obqc), over data and not over what was extracted from texts:
the mean of two rounds (1 of 10 queries, 3 of 14; ``benchmarks/README.md``)."""
_PRIOR_QUERIES = 4
"""Queries of others that count beside those paid for: rates of repairs differ between these rounds about so much."""
_MAX_ANSWERS = 2.0
"""Answers to a question at most: from rows, then from text. Those to questions without a query are counted in, too."""
_INPUT_FROM_ROWS = 0.85
"""Input of an answer where a query was written, for that of an answer from text, which is what is planned."""
_REPAIR_INPUT, _REPAIR_REPLY = 1.3, 1.25
"""A repair for its query: it has the query, its issues and what was tried before, too."""
_PRIOR_INPUTS = 2
"""Prompts of the sizes planned that count beside those of a method that followed its queries."""
_NO_BOUND = ", nine times in ten within the interval, which is no bound"
_NORMAL = 1.645
"""Standard deviations on either side that cover nine of ten."""
_SCHEMAS_COUNTED = 0.5
"""Of a service that nothing was paid to: some count the schema of a reply, others do not, and the interval has both."""
_DECLARED_OFF = 0.3
"""Standard deviation of the ratio of real to declared replies of a prompt, from one round to another."""
_DECLARED_SPREAD, _PRIOR_REPLIES = 0.6, 3
"""Standard deviation of a single reply, as a share of its planned length, and for how many replies that counts: of 188
recorded answers .56. With .4 intervals of single questions had 82 % of them, now 88."""
_TEXT_OFF = 0.1
"""Standard deviation of what a service counts for a token of text, before it was paid for any: assumed."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Sums over the paid completions of one prompt: tokens planned and taken, squares and products of output tokens.

    ``planned_schema`` is the part of ``planned_input`` that is the schemas of replies.
    """

    count: int = 0
    planned_input: int = 0
    input: int = 0
    planned: int = 0
    taken: int = 0
    planned_squares: float = 0.0
    products: float = 0.0
    taken_squares: float = 0.0
    planned_schema: int = 0

    @classmethod
    def of(cls, plan: Usage, paid: Usage, schema: int = 0) -> Lengths:
        """Return what one completion adds; ``schema`` is the part of the planned input that is its schema."""
        expected, taken = plan.output_tokens, paid.output_tokens
        squares = float(expected**2), float(expected * taken), float(taken**2)
        return cls(1, plan.input_tokens, paid.input_tokens, expected, taken, *squares, schema)

    def __add__(self, other: Lengths) -> Lengths:
        """Add up two."""
        return Lengths(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @property
    def of_input(self) -> Lengths:
        """What they say of input alone, as where replies were planned by what another header declared."""
        return Lengths(planned_input=self.planned_input, input=self.input, planned_schema=self.planned_schema)

    @property
    def relative_variance(self) -> float:
        """Variance of a reply about ratio times plan, as a share of the square of its length; beside a usual one."""
        prior, degrees = _DECLARED_SPREAD**2, max(0, self.count - 1)
        if not degrees or not self.taken:
            return prior
        ratio = self.taken / self.planned
        residual = max(0.0, self.taken_squares - 2 * ratio * self.products + ratio**2 * self.planned_squares)
        own = residual / degrees * self.count / (ratio**2 * self.planned_squares)
        return (_PRIOR_REPLIES * prior + degrees * own) / (_PRIOR_REPLIES + degrees)

    @property
    def weight(self) -> float:
        """For how much these replies count, from 0 to 1; what their header declares has the rest."""
        if not self.planned:
            return 0.0
        sure = self.relative_variance * self.planned_squares / self.planned**2
        return _DECLARED_OFF**2 / (_DECLARED_OFF**2 + sure)

    def ratio(self, declared: float) -> float:
        """Return the tokens that a reply takes for each that is planned, where a header alone leads to ``declared``."""
        return declared + self.weight * (self.taken / self.planned - declared) if self.planned else declared


@dataclass(frozen=True, slots=True)
class Counting:
    """What a service counts for each token that is planned: of texts and replies, and of the schemas of replies.

    ``unsure``: how much more or less of a schema it may count, as far as is known.
    """

    text: float = 1.0
    schema: float = 1.0
    unsure: float = 0.0

    @classmethod
    def learnt(cls, known: Mapping[str, Lengths], *, unpaid: float = 1.0) -> Counting:
        """Return it by all prompts that were paid; before any with a schema was, ``unpaid`` of the schemas.

        Four characters are about a token everywhere, so schemas are counted or not by what makes that truer.

        >>> Counting.learnt({"a": Lengths(1, 500, 500, planned_schema=100)}), Counting.learnt({})
        (Counting(text=1.0, schema=1.0, unsure=0.0), Counting(text=1.0, schema=1.0, unsure=0.0))
        >>> Counting.learnt({"a": Lengths(1, 500, 404, planned_schema=100)})
        Counting(text=1.01, schema=0.0, unsure=0.0)
        >>> Counting.learnt({"a": Lengths(1, 500, 500)}, unpaid=0.5)
        Counting(text=1.0, schema=0.5, unsure=0.5)
        """
        counted, whole, schemas = (
            sum(getattr(one, name) for one in known.values()) for name in ("input", "planned_input", "planned_schema")
        )
        if not schemas or not counted:
            text = counted / whole if counted and whole else 1.0
            return cls(text, unpaid * text, 1 - unpaid)
        with_schemas, without = counted / whole, counted / max(1, whole - schemas)
        if abs(math.log(without)) < abs(math.log(with_schemas)):
            return cls(without, 0.0)
        return cls(with_schemas, with_schemas)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What prompts will cost about: each count is from ``least`` to ``most``, nine times in ten.

    ``learnt`` has the prompts whose replies were learnt from, with how many were; ``declared`` the others. ``queries``
    are those that the method paid for, by which goes how often and how long what follows one is; None where nothing
    follows.
    """

    usage: Usage = field(default_factory=Usage)
    least: Usage = field(default_factory=Usage)
    most: Usage = field(default_factory=Usage)
    learnt: Mapping[str, int] = field(default_factory=dict)
    declared: tuple[str, ...] = ()
    queries: int | None = None

    @property
    def note(self) -> str:
        """What the tokens go by, for a person."""
        paid = ", ".join(f"{count:,} paid replies to {name}" for name, count in sorted(self.learnt.items()))
        told = ", ".join(sorted(self.declared))
        parts = [f"as long as {paid}" if paid else "", f"as recorded of other models for {told}" if told else ""]
        lengths = f"replies are taken to be {' and '.join(filter(None, parts))}{_NO_BOUND}" if paid or told else ""
        if self.queries is None:
            return lengths
        here = (
            f"{self.queries:,} queries that were paid for here, beside {_PRIOR_QUERIES}" if self.queries else "queries"
        )
        return f"{lengths}; what follows a query (repairs, further answers), to be as after {here} of other models"

    def counts(self) -> dict[str, int]:
        """Return it as the counts of a dry run."""
        names = ("completions", "input_tokens", "output_tokens")
        return {f"{name}{end}": getattr(usage, name) for name in names for end, usage in self._ends}

    def priced(self, price: Price | None) -> dict[str, float]:
        """Return the counts of a dry run, and what they cost where the price of the model is known."""
        ends = () if price is None else self._ends
        return {**self.counts(), **{f"price{end}": rounded_money(price.of(usage), 6) for end, usage in ends if price}}

    @property
    def _ends(self) -> tuple[tuple[str, Usage], ...]:
        return ("", self.usage), ("_least", self.least), ("_most", self.most)


@dataclass(frozen=True, slots=True)
class _Planned:
    """Prompts of one name: requests and tokens as planned, the squares of output tokens, and how sure their number is.

    ``schema`` is the part of the input that is schemas; ``unsure`` the standard deviation of how many will be asked, as
    a share of it.
    """

    completions: float = 0.0
    input: float = 0.0
    output: float = 0.0
    squares: float = 0.0
    schema: float = 0.0
    unsure: float = 0.0

    def __add__(self, other: _Planned) -> _Planned:
        both = _Planned(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))
        # those of either are as unsure as they were, and it is not said of all of them
        off = self.unsure * self.completions + other.unsure * other.completions
        return replace(both, unsure=off / both.completions if off else 0.0)

    def times(self, rate: float, deviation: float) -> _Planned:
        """Return as many times as much, with the deviation of that number."""
        scaled = (rate * each for each in (self.completions, self.input, self.output, self.squares, self.schema))
        return replace(_Planned(*scaled), unsure=deviation / rate if rate else 0.0)


class Plan:
    """Prompts that are to be asked, added up by name; ``usage`` is what they cost as their headers declare."""

    def __init__(self, prompts: Iterable[Prompt] = ()) -> None:
        self._by_prompt: dict[str, _Planned] = {}
        for prompt in prompts:
            self.add(prompt)

    def add(self, prompt: Prompt, times: int = 1) -> Usage:
        """Add a prompt, as often as it is asked in other words; return what one of it costs."""
        one = planned(prompt)
        counts = (1, one.input_tokens, one.output_tokens, one.output_tokens**2, schema_tokens(prompt))
        here = _Planned(*(float(times * each) for each in counts))
        self._by_prompt[prompt.name] = self._by_prompt.get(prompt.name, _Planned()) + here
        return one

    def __add__(self, other: Plan) -> Plan:
        """Return the prompts of both."""
        both = Plan()
        for plan in (self, other):
            for name, one in plan._by_prompt.items():
                both._by_prompt[name] = both._by_prompt.get(name, _Planned()) + one
        return both

    def divided(self, rate: float, deviation: float) -> Plan:
        """Return the same text in so many times as many prompts; the standard deviation is of that rate."""
        divided = Plan()
        for name, one in self._by_prompt.items():
            divided._by_prompt[name] = replace(one.times(rate, deviation), input=one.input, schema=one.schema)
        return divided

    @property
    def usage(self) -> Usage:
        """What the prompts cost as declared."""
        return _rounded(self._by_prompt.values())

    def forecast(self, known: Mapping[str, Lengths], asked: Mapping[str, Usage] | None = None) -> Forecast:
        """Return what the prompts will cost.

        Args:
            known: of each prompt that was paid before, how long its replies were.
            asked: what the method that is planned for paid for each prompt before, from which goes what follows a
                query; None for a model that writes none.
        """
        written = self._by_prompt.get(_WRITING)
        queries = None if asked is None or written is None else asked.get(_WRITING, Usage()).completions
        counting = Counting.learnt(known, unpaid=1.0 if asked is None else _SCHEMAS_COUNTED)
        tokens = {name: _in_tokens(here, known, name, counting) for name, here in self._by_prompt.items()}
        if asked is not None and written is not None:
            tokens = _with_what_follows(tokens, known, asked)
        variances = [_variances(here, known.get(name, Lengths())) for name, here in tokens.items()]
        usage = _rounded(tokens.values())
        widths = [_NORMAL * math.sqrt(sum(of_one)) for of_one in zip(*variances, strict=True)] or [0.0] * 3
        by_schema = counting.unsure * sum(one.schema for one in self._by_prompt.values())
        by_text = 0.0
        if asked is not None:  # rules count as the plan does
            replies = sum(one.count for one in known.values())
            texts = sum(one.input - one.schema for one in self._by_prompt.values())
            by_text = _NORMAL * _TEXT_OFF / math.sqrt(1 + replies) * texts
        widths[1] = math.hypot(widths[1], by_text) + by_schema
        certain = [one for one in tokens.values() if not one.unsure]
        completions = min(usage.completions, sum(math.ceil(one.completions) for one in certain))
        sure = Usage(completions, int(sum(one.input for one in certain) - by_text - by_schema), completions)
        learnt = {name: known[name].count for name in tokens if known.get(name, Lengths()).count}
        declared = tuple(name for name in tokens if name not in learnt)
        return Forecast(usage, _end(usage, widths, -1, sure), _end(usage, widths, 1, sure), learnt, declared, queries)


def _end(usage: Usage, widths: Iterable[float], sign: int, sure: Usage) -> Usage:
    """Return an end of an interval; what is sure is asked at least, and a reply has a token at least."""
    middle = (usage.completions, usage.input_tokens, usage.output_tokens)
    least = (sure.completions, sure.input_tokens, sure.output_tokens)
    return Usage(
        *(max(low, round(here + sign * width)) for low, here, width in zip(least, middle, widths, strict=True))
    )


def _in_tokens(plan: _Planned, known: Mapping[str, Lengths], name: str, counting: Counting) -> _Planned:
    """Return prompts of one name in tokens as the service counts them, as long as replies to them were."""
    lengths = known.get(name, Lengths())
    texts = lengths.planned_input - lengths.planned_schema
    # of two prompts of one name the longer one has more text and no more schema
    per_text = (lengths.input - counting.schema * lengths.planned_schema) / texts if texts else counting.text
    asked = (plan.input - plan.schema) * per_text + plan.schema * counting.schema
    ratio = lengths.ratio(counting.text)
    return replace(plan, input=asked, output=plan.output * ratio, squares=plan.squares * ratio**2)


def _variances(plan: _Planned, lengths: Lengths) -> tuple[float, float, float]:
    """Return the variances of the number of requests, their input and output."""
    by_number = [(plan.unsure * each) ** 2 for each in (plan.completions, plan.input, plan.output)]
    of_ratio = (1 - lengths.weight) * _DECLARED_OFF**2 * plan.output**2
    return by_number[0], by_number[1], by_number[2] + of_ratio + lengths.relative_variance * plan.squares


def _with_what_follows(
    tokens: Mapping[str, _Planned], known: Mapping[str, Lengths], asked: Mapping[str, Usage]
) -> dict[str, _Planned]:
    """Return the prompts in tokens, those behind a query as often and as long as they are asked."""
    query, follow = tokens[_WRITING], _Following(asked, over_data=_WITHOUT_ROWS not in tokens)
    found = {**tokens, _REPAIRING: _repair(query, known)}
    for name in (_REPAIRING, _WITHOUT_ROWS, _ANSWERING):
        if name in found and (name == _REPAIRING or _WITHOUT_ROWS in found):
            one = follow.sized(name, found[name])
            found[name] = one.times(follow.rate(name), follow.deviation(name, query.completions))
    return found


def _repair(query: _Planned, known: Mapping[str, Lengths]) -> _Planned:
    """Return one repair for each query: as much longer as those of others were, or as long as those that were paid."""
    reply = _REPAIR_REPLY * query.output
    paid = known.get(_REPAIRING, Lengths())
    if paid.count:
        reply += paid.weight * (query.completions * paid.taken / paid.count - reply)
    return _Planned(query.completions, _REPAIR_INPUT * query.input, reply, reply**2 / query.completions)


@dataclass(frozen=True, slots=True)
class _Following:
    """How often what may follow a query does, and how long it is, by what a method paid for before.

    ``over_data``: the method asks for queries alone.
    """

    asked: Mapping[str, Usage]
    over_data: bool = False

    @property
    def _queries(self) -> int:
        return _PRIOR_QUERIES + self.asked.get(_WRITING, Usage()).completions

    def rate(self, name: str) -> float:
        """Return how often a prompt is asked for each query."""
        expected = _REPAIRS_OVER_DATA if self.over_data and name == _REPAIRING else _AFTER_A_QUERY[name]
        before = _PRIOR_QUERIES * expected + self.asked.get(name, Usage()).completions
        rate = before / self._queries
        return min(rate, {_WITHOUT_ROWS: 1.0, _ANSWERING: _MAX_ANSWERS}.get(name, rate))

    def deviation(self, name: str, queries: float) -> float:
        """Return the standard deviation of the rate over some queries: by chance, and as it is known from few."""
        unsure = abs(self.rate(name) - (name == _ANSWERING))  # one answer is sure
        return math.sqrt(unsure / queries + unsure / self._queries)

    def sized(self, name: str, plan: _Planned) -> _Planned:
        """Return prompts with the input that those of the method had, beside what is planned for them."""
        paid = self.asked.get(name, Usage())
        expected = plan.input * (_INPUT_FROM_ROWS if name == _ANSWERING else 1.0)
        mean = (_PRIOR_INPUTS * expected / plan.completions + paid.input_tokens) / (_PRIOR_INPUTS + paid.completions)
        return replace(plan, input=plan.completions * mean)


def _rounded(parts: Iterable[_Planned]) -> Usage:
    listed = list(parts)
    sums = (sum(getattr(part, name) for part in listed) for name in ("completions", "input", "output"))
    return Usage(*map(round, sums))


def forecast(plan: Plan, model: LanguageModel) -> Forecast:
    """Return what the prompts of a plan will cost, by what this model took before where that is kept."""
    lengths: Any = getattr(model, "reply_lengths", dict)
    asked: Any = getattr(model, "asked_of_method", dict)
    return plan.forecast(lengths(), None if is_by_rules(model.identity) else asked())
