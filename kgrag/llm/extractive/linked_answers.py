"""Short answers by plan: the value at the end of links between passages, or a comparison of two things.

Each answer names the sentences that it was read from, one per step. What speaks for it is summed up in a few features,
from which ``answer_certainty`` makes a probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import regex

from kgrag.llm.extractive.linked_facts import Finding, Passage, Step, follow
from kgrag.llm.extractive.named_relations import RELATIONS, Relation, date_key, iso_of
from kgrag.llm.extractive.question_plans import Plan, Thing, key_of, plan_of
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import word_set

__all__ = ["LINKED_FEATURES", "LinkedAnswer", "linked_answer"]

Kind = Literal["text", "number", "date", "boolean", "choice"]

LINKED_FEATURES = (
    "one",
    "log certainty",
    "steps",
    "rival",
    "named",
    "comparison",
    "boolean",
    "text kind",
    "unexplained",
    "words left",
)
_DATES = {
    name: next(one for one in RELATIONS if one.name == name)
    for name in ("date of birth", "date of death", "date of publication", "inception")
}
_UNDATED = ("date of birth", "date of publication", "inception")
_USUAL = word_set(
    """film movi song album band group person peopl director composer perform singer magazin univers compani busi place
    locat countri nation citizen same both share born older younger first earlier later last recent more than one other
    die live longer come came out releas which that had have state citi town airport villag paternal matern grandfath
    grandmoth birth birthday work studi graduat earn win get received award burial buri origin from found direct have"""
)
_MANY_WORDS_LEFT = 5
_MANY_DAYS = 366
_MAX_WORDS_OF_LINKS = 10
_KIND_WORDS = regex.compile(r"\b(?:who|that|which|from|for|of|in|at|with|born|best|known|by|and was|and is)\b")


@dataclass(frozen=True)
class LinkedAnswer:
    """A short answer with the steps that lead to it; ``features`` are in the order of ``LINKED_FEATURES``."""

    kind: Kind
    text: str
    value: str
    steps: tuple[Step, ...]
    features: tuple[float, ...]


def linked_answer(question: str, passages: Sequence[Passage]) -> LinkedAnswer | None:
    """Return the answer that a plan leads to; None where there is no plan, or a step finds nothing."""
    plan = plan_of(question, [one.title for one in passages])
    answer = _by_plan(question, plan, passages)
    if answer is None:
        return None
    left = [one for one in terms(plan.rest) if one not in _USUAL]
    said = {term for step in answer.steps for term in terms(step.sentence)}
    unexplained = sum(one not in said for one in left)
    features = (*answer.features, min(unexplained / _MANY_WORDS_LEFT, 2.0), min(len(left) / _MANY_WORDS_LEFT, 2.0))
    return replace(answer, features=features)


def _by_plan(question: str, plan: Plan, passages: Sequence[Passage]) -> LinkedAnswer | None:
    if not plan.things or not (plan.links or plan.attribute or plan.comparison):
        return None
    if plan.comparison and len(plan.things) > 1:
        return _compared(question, plan, passages)
    if not (plan.links or plan.attribute) or not _asks_for_end(question, plan):
        return None
    things = sorted(plan.things, key=lambda one: -max((passage.about(one.text) for passage in passages), default=0.0))
    findings = follow(things[0], plan, passages)
    if not findings:
        return None
    best = findings[0]
    relation = plan.attribute or plan.links[-1]
    value = _value(best.value, relation)
    if not value:
        return None
    kind: Kind = "date" if relation.kind == "date" else "text"
    return LinkedAnswer(
        kind, value, iso_of(value) if kind == "date" else "", best.steps, _features(findings, things[0], passages, plan)
    )


def _asks_for_end(question: str, plan: Plan) -> bool:
    """Return whether a question asks for the end of its plan: a date for a date, and nothing further of a person."""
    asked = asked_for(question)
    if plan.attribute is not None:
        dated = plan.attribute.kind == "date"
        return (
            dated == (asked.kind == "date") if "date" in (plan.attribute.kind, asked.kind) else asked.kind != "number"
        )
    short = len(question.split()) - sum(len(one.text.split()) for one in plan.things) <= _MAX_WORDS_OF_LINKS
    return asked.kind == "person" or (asked.kind == "text" and short)


def _value(value: str, relation: Relation) -> str:
    """Return a value as an answer has it: of an occupation the first kind."""
    if relation.name != "occupation":
        return value
    kinds = occupations(value)
    return kinds[0] if kinds else ""


def occupations(text: str) -> list[str]:
    """Return what somebody is, of the words behind "is a": "Australian soldier and politician" is two kinds.

    >>> occupations("Australian soldier and politician who served")
    ['soldier', 'politician']
    """
    kinds = []
    for part in regex.split(r",\s*(?:and\s+)?|\s+and\s+|/|;", _KIND_WORDS.split(text)[0]):
        words = [one for one in part.split() if one[:1].islower() and one not in _NO_KINDS]
        if words:
            kinds.append(" ".join(words))
    return kinds


_NO_KINDS = word_set(
    """a an the former retired late early professional one famous noted prominent senior female male communist
    conservative liberal republican democratic socialist mythical independent amateur award-winning
    contemporary modern"""
)


def _features(
    findings: Sequence[Finding], thing: Thing, passages: Sequence[Passage], plan: Plan, *, kind: str = ""
) -> tuple[float, ...]:
    best = findings[0]
    rival = next((one for one in findings[1:] if key_of(one.value) != key_of(best.value)), None)
    about = max((passage.about(thing.text) for passage in passages), default=0.0)
    return (
        1.0,
        math.log(max(best.certainty, 1e-3)),
        float(len(best.steps)),
        rival.certainty / best.certainty if rival else 0.0,
        about,
        float(bool(plan.comparison)),
        float(kind == "boolean"),
        float(plan.attribute is not None and plan.attribute.kind in ("text", "name", "nationality")),
    )


def _compared(question: str, plan: Plan, passages: Sequence[Passage]) -> LinkedAnswer | None:
    first, second = plan.things[0], plan.things[-1]
    if plan.comparison == "longest":
        return _by_span(plan, (first, second), passages)
    if plan.comparison in ("earliest", "latest"):
        return _by_date(plan, (first, second), passages)
    if plan.comparison == "same" and (plan.links or plan.attribute):
        return _same(plan, (first, second), passages)
    if plan.comparison == "both" and not plan.links:
        return _both(question, (first, second), passages)
    return None


def _pair(
    plan: Plan, things: tuple[Thing, Thing], passages: Sequence[Passage], attribute: Relation | None
) -> tuple[list[Finding], list[Finding]] | None:
    """Return what both things have at the end of the plan; None where one has nothing."""
    found = [follow(thing, plan, passages, attribute=attribute) for thing in things]
    return (found[0], found[1]) if all(found) else None


def _by_date(plan: Plan, things: tuple[Thing, Thing], passages: Sequence[Passage]) -> LinkedAnswer | None:
    asked = plan.attribute.name if plan.attribute and plan.attribute.kind == "date" else ""
    for name in dict.fromkeys([*([asked] if asked else []), *(_UNDATED if not plan.links or not asked else ())]):
        pair = _pair(plan, things, passages, _DATES[name])
        if pair is None:
            continue
        keys = [date_key(found[0].value) for found in pair]
        if keys[0] == keys[1]:
            return None
        if keys[0][0] == keys[1][0] and 0 in (keys[0][1], keys[1][1]):
            return None  # of one year, and a month is missing
        best = (min if plan.comparison == "earliest" else max)(range(2), key=lambda at: keys[at])
        return _chosen(plan, things, passages, pair, best)
    return None


def _by_span(plan: Plan, things: tuple[Thing, Thing], passages: Sequence[Passage]) -> LinkedAnswer | None:
    births = _pair(plan, things, passages, _DATES["date of birth"])
    deaths = _pair(plan, things, passages, _DATES["date of death"])
    if births is None or deaths is None:
        return None
    lived = [_days(deaths[at][0].value) - _days(births[at][0].value) for at in range(2)]
    best = max(range(2), key=lambda at: lived[at])
    steps = ([*births[at], *deaths[at]] for at in range(2))
    joined = [
        [Finding(found[0].value, tuple(dict.fromkeys(step for one in found for step in one.steps)), found[0].certainty)]
        for found in steps
    ]
    return _chosen(plan, things, passages, (joined[0], joined[1]), best)


def _days(date: str) -> int:
    year, month, day = date_key(date)
    return year * _MANY_DAYS + month * 31 + day


def _chosen(
    plan: Plan,
    things: tuple[Thing, Thing],
    passages: Sequence[Passage],
    pair: tuple[list[Finding], list[Finding]],
    best: int,
) -> LinkedAnswer:
    option = next((one for one in plan.options if key_of(one) == things[best].key), things[best].text)
    features = _joined(plan, things, passages, pair, kind="choice")
    return LinkedAnswer("choice", option, "", (*pair[0][0].steps, *pair[1][0].steps), features)


def _joined(
    plan: Plan,
    things: tuple[Thing, Thing],
    passages: Sequence[Passage],
    pair: tuple[list[Finding], list[Finding]],
    *,
    kind: str,
) -> tuple[float, ...]:
    rows = [_features(found, thing, passages, plan, kind=kind) for found, thing in zip(pair, things, strict=True)]
    return tuple(pick(values) for pick, values in zip(_JOINED, zip(*rows, strict=True), strict=True))


_JOINED: tuple[Callable[[Sequence[float]], float], ...] = (max, sum, max, max, min, max, max, max)
"""How each feature of two things becomes one, in the order of the features of a plan."""


def _same(plan: Plan, things: tuple[Thing, Thing], passages: Sequence[Passage]) -> LinkedAnswer | None:
    pair = _pair(plan, things, passages, plan.attribute)
    if pair is None:
        return None
    first, second = ({one.country or key_of(one.value) for one in found[:1]} for found in pair)
    truth = bool(first & second)
    features = _joined(plan, things, passages, pair, kind="boolean")
    steps = (*pair[0][0].steps, *pair[1][0].steps)
    return LinkedAnswer("boolean", "yes" if truth else "no", "true" if truth else "false", steps, features)


def _both(question: str, things: tuple[Thing, Thing], passages: Sequence[Passage]) -> LinkedAnswer | None:
    """Return whether the opening sentences of two passages have what the question says of both."""
    named = {term for thing in things for term in terms(thing.text)}
    wanted = [term for term in terms(question) if term not in named and term != "both"]
    steps, shares = [], []
    for thing in things:
        passage = max(passages, key=lambda one, thing=thing: one.about(thing.text))  # type: ignore[misc]
        if passage.about(thing.text) < 0.7 or not passage.sentences or not wanted:
            return None
        opening = " ".join(passage.sentences[:3])
        have = set(terms(opening))
        shares.append(sum(one in have for one in wanted) / len(wanted))
        steps.append(Step(passage.sentences[0], passage.number, passage.sentences[0], "is", 1.0))
    truth = min(shares) > 0.99
    features = (1.0, math.log(max(abs(min(shares) - 0.5), 1e-2)), 2.0, 0.0, 1.0, 1.0, 1.0, 1.0)
    return LinkedAnswer("boolean", "yes" if truth else "no", "true" if truth else "false", tuple(steps), features)
