"""Which of the persons of a sentence a question asks for: who has the office, or did what the question says.

"Mayor Ann Bell cut the ribbon; the architect Tom Roe had designed it" names two persons, and who designed it is not the
first of them. An office in brackets is that of the name before it; where no part of a sentence tells, nobody is meant.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms

__all__ = ["persons_asked"]

Span = tuple[int, int]

_OFFICE = late_regex(r"\s*\((?P<office>[^()]+)\)")
_BREAK = late_regex(
    r"(?P<strong>;(?=\s))|(?:,\s*)?\s(?:and|while|whereas|und|sowie|während|et|tandis\s+que)\s|,(?=\s)",
    flags=regex.IGNORECASE,
)
_IS = late_regex(
    r"\s*(?:who|wer|qui)\s+(?:is|was|are|were|ist|war|sind|waren|est|était|sont|étaient)\s+(?!\p{L}+(?:ed|en)\b)",
    flags=regex.IGNORECASE,
)
_OF = late_regex(r"\s(?:of|for|at|des|vom|von|du|de\s+la|de)\s")
"""Joins an office to what has it: "the deputy of the caretaker"."""
_HELPED = late_regex(
    r"\s*wer\s+(?:hat|hatte|haben|wird|wurde|ist|war|kann|darf|muss|soll|sollte)\s.*?(?P<verb>\p{L}+)[\s?.!]*$",
    flags=regex.IGNORECASE,
)
_ASKS = late_regex(
    r"\s*(?:who|wer|qui)\s+(?:(?:has|have|had|will|would|can|may|must|should|did|does|is|was|a|ont|avait|doit|peut|va|est)\s+)?"
    r"(?P<verb>\p{L}+)",
    flags=regex.IGNORECASE,
)
_BY = late_regex(r"\b(?:by|von|durch|par)\s+(?:(?:Mr|Mrs|Ms|Dr|Herrn?|Frau|M|Mme)\b\.?\s+)*$")
_WHO_IS_NAMED = late_regex(
    r"(?i:who|wer|qui)\s+(?i:is|was|ist|war|est|était)\s+(?:(?:Mr|Mrs|Ms|Dr|Prof|Herr|Frau|M|Mme)\b\.?\s+)*"
    r"(?P<name>\p{Lu}[\p{L}'’-]+(?:\s+\p{Lu}[\p{L}'’-]+)*)[\s?]*"
)
_LOWER = late_regex(r"(?<![\p{L}-])\p{Ll}{3,}")


def persons_asked(question: str, text: str, names: Sequence[Span], language: str = ENGLISH) -> list[Span]:
    """Return where the names stand of those whom a question asks for; [] where a sentence does not tell.

    Args:
        question: as it was asked, which begins with "who".
        text: the sentence.
        names: where it has names, in order.
        language: of both.

    >>> said, names = "Ann Bell (chair), Tom Roe (treasurer)", [(0, 8), (18, 25)]
    >>> persons_asked("Who is the treasurer?", said, names), persons_asked("Who is the secretary?", said, names)
    ([(18, 25)], [])
    """
    is_office = _IS.match(question) is not None
    if any(_is_named(question, text[slice(*name)]) for name in names):
        return []
    asked = set(terms(_OF.split(question, maxsplit=1)[0] if is_office else question, language))
    offices = {name: set(terms(found["office"], language)) for name in names if (found := _OFFICE.match(text, name[1]))}
    if is_office and (known := asked & set().union(*offices.values())):
        held = [name for name, office in offices.items() if known & office]
        return held if len(held) == 1 else []
    if is_office and offices and len(offices) == len(names):
        return []
    if is_office and asked & set(terms(text, language)):  # "The insurer was notified by Tom Roe" names no insurer
        names = [name for name in names if not _BY.search(text, endpos=name[0])]
    parts = _parts(text, names)
    if len(parts) == 1:
        return list(names)
    said = [set(terms(text[start:end], language)) for start, end in parts]
    own = [_terms_beside(text, part, names, language) for part in parts]
    verb = "" if is_office else _verb(question, language)
    at = _part_asked(asked, said, own, verb)
    return [] if at is None else [name for name in names if parts[at][0] <= name[0] < parts[at][1]]


def _is_named(question: str, name: str) -> bool:
    """Return whether a question asks who the person of a name is, which the name itself does not tell."""
    found = _WHO_IS_NAMED.fullmatch(question.strip())
    return found is not None and set(found["name"].split()) <= set(name.split())


def _part_asked(asked: set[str], said: Sequence[set[str]], own: Sequence[set[str]], verb: str) -> int | None:
    """Return which part of a sentence tells of what is asked: with its verb, or else with most of its words."""
    with_verb = [at for at, found in enumerate(said) if verb in found]
    without = [at for at, found in enumerate(own) if found and found <= asked and at not in with_verb]
    if with_verb and len(without) == 1 and not own[without[0]] <= said[with_verb[0]]:
        return without[0]  # "Mr Gill cleans the stairs, Mrs Poe the yard"
    among = with_verb or range(len(said))
    counts = {at: len(asked & said[at]) for at in among}
    best = [at for at, count in counts.items() if count == max(counts.values())]
    return best[0] if len(best) == 1 and counts[best[0]] else None


def _verb(question: str, language: str) -> str:
    """Return the term of the verb of a question; "" for none."""
    found = (_HELPED.match(question) if language == "de" else None) or _ASKS.match(question)
    return next(iter(terms(found["verb"], language)), "") if found else ""


def _parts(text: str, names: Sequence[Span]) -> list[Span]:
    """Return the parts of a sentence that tell of somebody each; between commas only where more than names stand."""
    found: list[Span] = []
    start = 0
    breaks = [
        match
        for match in _BREAK.finditer(text)
        if not any(begin < match.end() and match.start() < end for begin, end in names)
    ]
    for at, match in enumerate(breaks):
        stop = breaks[at + 1].start() if at + 1 < len(breaks) else len(text)
        left = any(start <= begin < match.start() for begin, _ in names)
        right = any(match.end() <= begin < stop for begin, _ in names)
        tells = _LOWER.search(_without(text, (start, match.start()), names)) is not None
        if match["strong"] or (left and right and tells):
            found.append((start, match.start()))
            start = match.end()
    return [*found, (start, len(text))]


def _without(text: str, part: Span, names: Sequence[Span]) -> str:
    """Return a part of a text without the names in it."""
    start, kept = part[0], []
    for begin, end in names:
        if part[0] <= begin < part[1]:
            kept.append(text[start:begin])
            start = end
    return " ".join([*kept, text[start : part[1]]])


def _terms_beside(text: str, part: Span, names: Sequence[Span], language: str) -> set[str]:
    return set(terms(_without(text, part, names), language))
