"""Answers a question that goes from a name over relations to a value, with one sentence of the evidence for each step.

``Where was the director of Rain born?`` takes the passage about Rain, in which a sentence names the director, and the
passage about the director, in which one has a place of birth. A name that no passage is about is returned to be looked
up. Wherever a step is unsure, there is no answer, and the step that is not stated is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgrag.llm.extractive.chained_questions import Chain, ChainedQuestion, chained
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.named_passages import Passage, passage_about, read_passages
from kgrag.llm.extractive.stated_values import Stated, stated

__all__ = ["SHARE_RIGHT", "Reading", "read_chain"]

SHARE_RIGHT: Mapping[str, float] = {
    "occupation": 0.66,
    "stated": 0.96,
    "value": 0.87,
    "largest": 0.97,
    "smallest": 0.97,
    "same": 0.88,
}
"""Share of right answers among the development questions of popqa, 2wiki, hotpot and musique that were answered so,
each with one right and one wrong answer more; "stated" is of one step."""
_GENDERS = {"father": "he", "mother": "she"}
_MAX_LOOKED_UP = 4
_MAX_VALUES = 3
_SEVERAL = frozenset({"occupation"})
"""What somebody may well have several of, which one sentence states together."""
_ALONE = frozenset(
    {"birth date", "death date", "birth place", "birth city", "death place", "death city", "burial place"}
)
"""Steps that are not guessed, also where they are all that is asked: of 66 sentences that were ranked for places of
birth on development questions of popqa, whose passages state none, no one was right."""
_MAX_TRIED = 3
"""Names for one step that are followed; the first that leads on is taken."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The reply, {} where there is none; ``look_up`` are the names whose passages it takes to go on.

    ``not_stated`` is the step at which a question of several steps ends ("the director of Rain"), or the date or place
    of a life that the passage about it does not have; "" for any other.
    """

    reply: Mapping[str, Any]
    look_up: tuple[str, ...] = ()
    not_stated: str = ""


@dataclass(frozen=True, slots=True)
class _Followed:
    """The steps of a chain as they are stated; ``ends`` are what its last step states."""

    path: tuple[Stated, ...]
    ends: tuple[Stated, ...]


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A step that nothing states, the name from which it goes, how many were followed before, and names to look up."""

    step: str
    name: str
    followed: int
    missing: tuple[str, ...] = ()


def read_chain(question: str, texts: Sequence[EvidenceText]) -> Reading:
    """Return the answer that follows from the passages by their titles, or the names that are missing."""
    readings = chained(question)
    passages = read_passages(texts) if readings else []
    stops: list[_Stopped] = []
    undecided = ""
    for reading in readings:
        rows = [_follow(chain, passages) for chain in reading.chains]
        followed = [row for row in rows if isinstance(row, _Followed)]
        stops += [row for row in rows if isinstance(row, _Stopped)]
        if len(followed) == len(rows):
            if reply := _reply(reading, followed):
                return Reading(reply)
            undecided = f"a difference in {reading.chains[0].steps[-1]} between {' and '.join(reading.options)}"
    missing = dict.fromkeys(name for stop in stops for name in stop.missing)
    has_several = any(len(reading.chains) > 1 or len(reading.chains[0].steps) > 1 for reading in readings)
    is_decided = has_several or any(stop.step in _ALONE and not stop.missing for stop in stops)
    not_stated = (undecided or _step_lacking(stops)) if passages and is_decided else ""
    return Reading({}, tuple(missing)[:_MAX_LOOKED_UP], not_stated)


def _step_lacking(stops: Sequence[_Stopped]) -> str:
    """Return the step at which most was followed before, in words."""
    last = max(stops, key=lambda stop: stop.followed)
    return f"what {last.name} is the capital of" if last.step == "capital of" else f"the {last.step} of {last.name}"


def _follow(chain: Chain, passages: Sequence[Passage]) -> _Followed | _Stopped:
    """Return the steps from the anchor to the end, or the one that no passage states."""
    name = chain.anchors[0]
    passage = passage_about(chain.anchors, passages)
    if passage is None:
        return _Stopped(chain.steps[0], name, 0, (name,))
    return _onwards(chain.steps, passage, (), passages, name)


def _onwards(
    steps: Sequence[str], passage: Passage, path: tuple[Stated, ...], passages: Sequence[Passage], name: str
) -> _Followed | _Stopped:
    found = stated(steps[0], passage)
    if not found:
        return _Stopped(steps[0], name, len(path))
    if len(steps) == 1:
        return _Followed(path, tuple(found))
    stops: list[_Stopped] = []
    for row in found[:_MAX_TRIED]:
        after = passage_about([row.text], passages)
        if after is None:
            stops.append(_Stopped(steps[1], row.text, len(path) + 1, (row.text,)))
            continue
        if after is passage or (steps[0] in _GENDERS and after.gender not in ("", _GENDERS[steps[0]])):
            continue
        further = _onwards(steps[1:], after, (*path, row), passages, row.text)
        if isinstance(further, _Followed):
            return further
        stops.append(further)
    furthest = max(stops, key=lambda stop: stop.followed, default=_Stopped(steps[0], name, len(path)))
    missing = tuple(name for stop in stops for name in stop.missing)
    return _Stopped(furthest.step, furthest.name, furthest.followed, missing)


def _reply(reading: ChainedQuestion, followed: Sequence[_Followed]) -> dict[str, Any]:
    """Return the reply of a model for what the chains lead to; {} where that does not decide."""
    if reading.ends == "value":
        one = followed[0]
        last = reading.chains[0].steps[-1]
        found = one.ends[:_MAX_VALUES] if last in _SEVERAL else one.ends[:1]
        values = [{"kind": row.kind, "text": row.text, "value": row.value} for row in found]
        return _answer(reading, [*one.path, one.ends[0]], values, at=len(one.path))
    if reading.ends == "same":
        return _same(reading, followed)
    first, second = (one.ends[0] for one in followed)
    width = min(len(first.comparable), len(second.comparable))
    left, right = first.comparable[:width], second.comparable[:width]
    if left == right:
        return {}
    wins = (left > right) == (reading.ends == "largest")
    chosen = 0 if wins else 1
    choice = {"kind": "choice", "text": reading.options[chosen], "value": ""}
    rows = [row for one in followed for row in (*one.path, one.ends[0])]
    place = len(followed[0].path) if wins else len(rows) - 1
    return _answer(reading, rows, [choice], at=place)


def _same(reading: ChainedQuestion, followed: Sequence[_Followed]) -> dict[str, Any]:
    first, second = ({row.comparable for row in one.ends} for one in followed)
    shared = bool(first & second)
    ends = [next((row for row in one.ends if row.comparable in first & second), one.ends[0]) for one in followed]
    rows = [row for one, end in zip(followed, ends, strict=True) for row in (*one.path, end)]
    truth = {"kind": "boolean", "text": "yes" if shared else "no", "value": "true" if shared else "false"}
    return _answer(reading, rows, [truth], at=len(followed[0].path))


def _answer(
    reading: ChainedQuestion, rows: Sequence[Stated], values: Sequence[dict[str, str]], *, at: int
) -> dict[str, Any]:
    """Return the reply: each sentence once, in the order of the steps; ``at`` is the row that has the value."""
    places: dict[tuple[int, str], int] = {}
    for row in rows:
        places.setdefault((row.number, row.sentence), len(places))
    return {
        "unknown": False,
        "sentences": [
            {"text": " ".join(text.split()), "citations": [{"evidence": number, "quote": text}]}
            for number, text in places
        ],
        "values": [value | {"sentence": places[rows[at].number, rows[at].sentence]} for value in values],
        "confidence": SHARE_RIGHT[_form(reading)],
    }


def _form(reading: ChainedQuestion) -> str:
    steps = reading.chains[0].steps
    one = steps[-1] if steps[-1] in SHARE_RIGHT else "stated"
    return one if reading.ends == "value" and len(steps) == 1 else reading.ends
