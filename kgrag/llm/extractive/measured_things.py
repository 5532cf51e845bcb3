"""Which sentence states the measure of a thing: "the Heron reaches 18 knots" answers "How fast is the Heron?".

Such a sentence shares but a name with its question, so that words and meaning put it low; the unit tells all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import ProseSentence
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.sentence_ranking import RankedSentence
from kgrag.llm.extractive.time_relations import states_time

__all__ = ["states_asked", "states_measure", "with_measure_first"]

_NUMBER = r"\p{N}[\p{N}.,]*\s*"
_ASKS = late_regex(
    r"\s*how\s+(?P<measure>fast|large|big|hot|warm)\s+(?:is|are|was|were)\s+(?P<thing>[^?]+?)\s*\?*\s*$",
    flags=regex.IGNORECASE,
)
_SPEED = rf"{_NUMBER}(?:knots?|kn|km/h|kph|mph|m/s|(?:miles|kilomet(?:er|re)s)\s+(?:an|per)\s+hour)\b"
_AREA = rf"{_NUMBER}(?:m²|ha\b|km²|sq\.?\s*(?:m|ft)\b|square\s+\p{{L}}+|hectares?\b|acres?\b)"
_HEAT = rf"{_NUMBER}(?:°\s?[CF]?|degrees?\b)"
_HOLDS = {
    name: late_regex(pattern, flags=regex.IGNORECASE)
    for pattern, names in ((_SPEED, "fast"), (_AREA, "large big"), (_HEAT, "hot warm"))
    for name in names.split()
}
_CLAUSE_END = late_regex(r";\s|,\s(?!\p{N})|\s(?:and|while|whereas|but)\s")
_AMONG = 8


def states_measure(question: str, text: str) -> bool:
    """Return whether a part of a text has the thing whose size, speed or heat is asked for, and a value with its unit.

    >>> states_measure("How fast is the Heron?", "The Skylark reaches 22 knots, while the Heron reaches 18 knots.")
    True
    >>> states_measure("How fast is the Heron?", "The Skylark reaches 22 knots, the Heron is being repaired.")
    False
    """
    asked = _ASKS.match(question)
    if asked is None:
        return False
    thing, held = set(terms(asked["thing"])), _HOLDS[asked["measure"].lower()]
    parts = _CLAUSE_END.split(text)
    return bool(thing) and any(thing <= set(terms(part)) and held.search(part) for part in parts)


def states_asked(question: str, one: ProseSentence) -> bool:
    """Return whether a sentence states the measure that a question asks for, or what is so after a time it names."""
    before = one.before.text if one.before else ""
    return states_measure(question, one.text) or states_time(question, one.text, before)


def with_measure_first(question: str, rows: Sequence[RankedSentence]) -> list[RankedSentence]:
    """Return ranked sentences, the best first that states the measure or time which is asked for, if one near does."""
    found = next((row for row in rows[:_AMONG] if states_asked(question, row.sentence)), None)
    return list(rows) if found is None else [found, *(row for row in rows if row is not found)]
