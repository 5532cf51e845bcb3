"""Who was at a meeting, by the lists of its minutes: "Present: …", "Excused: …", "Entschuldigt: …", "Absents : …".

A list has few words of "Was Ann Bell at the meeting in March?" beside her name, so that ranking finds it too
improbable, and the sentence "Excused: Ann Bell" has no negation. The meeting is told by what stands above the list: its
title, its date. Where two meetings are meant, or two persons, nothing is answered here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_facts import is_fact
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_languages import language_to_answer_in
from kgrag.llm.extractive.question_words import terms

__all__ = ["attended", "is_attendance_list", "read_attendance"]

_LABELS: Final = MappingProxyType(
    {
        ENGLISH: (
            r"(?:also\s+)?present|attending|attended|in\s+attendance|attendees|attendance|participants",
            r"excused|apologies(?:\s+for\s+absence)?|regrets",
            r"absent|not\s+present",
        ),
        "de": (
            r"anwesende?|teilnehmer(?:innen)?(?:\s+und\s+teilnehmer)?|teilnehmende",
            r"entschuldigte?",
            r"abwesende?|nicht\s+anwesend|unentschuldigt",
        ),
        "fr": (r"(?:étaient\s+)?présente?s?|participants", r"excusée?s?", r"absente?s?"),
    }
)
_LISTS: Final = MappingProxyType(
    {
        code: late_regex(
            rf"(?<![\p{{L}}])(?:(?P<present>{present})|(?P<excused>{excused})|(?P<absent>{absent}))"
            r"(?P<of>\s+[^:.;\n]{1,60})?\s*:\s*(?P<names>[^\n;:]+?)"
            r"(?=\.?\s*(?:\n|\Z)|[.;]\s+\p{Lu}[\p{L} ]{2,40}:|;)",
            flags=regex.IGNORECASE,
        )
        for code, (present, excused, absent) in _LABELS.items()
    }
)
_ASKS: Final = (
    (
        "excused",
        late_regex(
            r"\b(?:excused|apologi[sz]ed|sent\s+(?:his|her|their)\s+apologies|entschuldigt|excusée?s?)\b",
            flags=regex.IGNORECASE,
        ),
    ),
    (
        "absent",
        late_regex(
            r"\b(?:absente?s?|missing|not\s+(?:present|at\s+the\s+meeting|attend)|abwesend|fehlten?|gefehlt"
            r"|nicht\s+(?:anwesend|dabei|in\s+der\s+sitzung))\b",
            flags=regex.IGNORECASE,
        ),
    ),
    (
        "present",
        late_regex(
            r"\b(?:present|attend(?:ed|s)?|anwesend|dabei|présente?s?|assisté|assistait|participé|teilgenommen|participated?)\b"
            r"|\btook\s+part\b|\btake\s+part\b|\bnahm(?:en)?\b.*\bteil\b"
            r"|\b(?:at|in|bei|auf|à)\s+(?:the|der|dem|la|l['’])\s*(?:\p{L}+\s+){0,3}?"
            r"(?:meeting|session|assembly|\p{L}*(?:sitzung|versammlung|besprechung)|réunion|séance|assemblée)\b",
            flags=regex.IGNORECASE,
        ),
    ),
)
_WHO: Final = late_regex(r"(?:who|wer|qui)\b", flags=regex.IGNORECASE)
_CLOSED: Final = late_regex(
    r"(?:was|were|did|has|have|had|is|war|waren|nahm|nahmen|hat|haben|fehlte)\b|[^?]*-(?:t-)?(?:ils?|elles?)\b",
    flags=regex.IGNORECASE,
)
_PERSON: Final = late_regex(
    r"(?:(?:Dr|Prof|Mr|Mrs|Ms|Herrn?|Frau|Mme|Mlle|M)\b\.?\s+)*(?P<name>\p{Lu}[\p{L}'’-]+(?:\s+\p{Lu}[\p{L}'’-]+)*)"
)
_NO_NAMES: Final = late_regex(
    r"(?:Was|Were|Did|Has|Have|Had|Is|War|Waren|Nahm|Nahmen|Hat|Haben|Fehlte|Est|La|Le|Les)\s+|(?:January|February|March|April|May"
    r"|June|July|August|September|October|November|December|Januar|Februar|März|Mai|Juni|Juli|Oktober|Dezember)\b"
)
_SAID_OF_MEETINGS: Final = MappingProxyType(
    {
        ENGLISH: "meeting session attend attended present absent excused apologies take part participate minutes",
        "de": "sitzung versammlung besprechung anwesend abwesend entschuldigt dabei teilgenommen nahm teil fehlte",
        "fr": "réunion séance assemblée présent présente présents absent absente excusé excusée assisté participé",
    }
)
_TITLES: Final = "dr prof mr mrs ms herr herrn frau mme mlle"
_BETWEEN: Final = late_regex(r"\s*(?:,|\band\b|\bund\b|\bet\b|\bsowie\b)\s*")


@dataclass(frozen=True, slots=True)
class _List:
    """A list of a meeting: the number of its piece, its quote, what those named were, and what stands above it."""

    number: int
    quote: str
    state: str
    names: tuple[str, ...]
    title: str
    above: str


def is_attendance_list(sentence: str) -> bool:
    """Return whether a sentence is a list of those who were at a meeting, or were not.

    >>> is_attendance_list("Excused: Ann Bell."), is_attendance_list("Ann Bell was excused.")
    (True, False)
    """
    return any(pattern.match(sentence.strip()) for pattern in _LISTS.values())


def attended(question: str, sentence: str) -> bool | None:
    """Return whether somebody was what a question asks by such a list; None where the list doesn't tell.

    >>> attended("Was Ann Bell there, at the meeting?", "Excused: Ann Bell."), attended("Was Ann Bell absent?", "Ann.")
    (False, None)
    """
    lists = (pattern.match(sentence.strip()) for pattern in _LISTS.values())
    found, wanted = next(filter(None, lists), None), _state_asked(question)
    person = _person(question)
    if not found or not wanted or not person or not _names(_entries(found["names"]), person):
        return None
    return _agrees(wanted, _state(found))


def read_attendance(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply to who was at a meeting, or whether somebody was; {} for another, or where no list decides.

    Args:
        question: as it was asked.
        texts: the evidence.
    """
    plain, wanted = " ".join(question.split()), _state_asked(question)
    asks_who = _WHO.match(plain) is not None
    if not wanted or not (asks_who or _CLOSED.match(plain)):
        return {}
    language = language_to_answer_in(plain, [text.text for text in texts])
    if language not in _LISTS:
        return {}
    person = "" if asks_who else _person(plain)
    if not asks_who and not person:
        return {}
    known = set(terms(f"{person} {_TITLES} {_SAID_OF_MEETINGS[language]}", language))
    about = set(terms(plain, language)) - known
    read = (one for text in texts if not is_fact(text) for one in _lists(text, language))
    lists = [one for one in read if about <= set(terms(one.above, language))]
    if asks_who:
        return _who(wanted, lists)
    held = {one.quote: one for one in lists if _names(one.names, person)}
    if len(held) != 1 or len({one.title for one in lists}) != 1:
        return {}
    one = next(iter(held.values()))
    return {} if _agrees(wanted, one.state) is None else _reply([one], [])


def _who(wanted: str, lists: Sequence[_List]) -> dict[str, Any]:
    """Return the reply with the names of the lists that a question asks for, where they are of one meeting."""
    exact = [one for one in lists if one.state == wanted]
    own = {one.quote: one for one in exact or lists if _agrees(wanted, one.state)}
    if not own or len({one.title for one in own.values()}) != 1:
        return {}
    found = list(own.values())
    return _reply(found, [(at, name) for at, one in enumerate(found) for name in one.names])


def _reply(lists: Sequence[_List], values: Sequence[tuple[int, str]]) -> dict[str, Any]:
    sentences = [
        {"text": " ".join(one.quote.split()), "citations": [{"evidence": one.number, "quote": one.quote}]}
        for one in lists
    ]
    named = [{"kind": "text", "text": name, "value": "", "sentence": at} for at, name in values]
    return {"unknown": False, "sentences": sentences} | ({"values": named} if named else {})


def _lists(text: EvidenceText, language: str) -> Iterator[_List]:
    for found in _LISTS[language].finditer(text.text):
        above = " ".join((text.title, text.heading, text.before, text.text[: found.start()], found["of"] or ""))
        yield _List(text.number, found[0].strip(), _state(found), _entries(found["names"]), text.title, above)


def _state_asked(question: str) -> str:
    return next((name for name, pattern in _ASKS if pattern.search(question)), "")


def _state(found: regex.Match[str]) -> str:
    return next(name for name in ("excused", "absent", "present") if found[name])


def _agrees(wanted: str, state: str) -> bool | None:
    """Return whether who was so was what is asked; None where somebody absent may have been excused."""
    if wanted == state or (wanted, state) == ("absent", "excused"):
        return True
    return None if (wanted, state) == ("excused", "absent") else False


def _entries(names: str) -> tuple[str, ...]:
    """Return the names of a list without what stands behind them in brackets."""
    plain = regex.sub(r"\s*\([^()]*\)", "", names)
    return tuple(name.strip(" .") for name in _BETWEEN.split(plain) if name.strip(" ."))


def _person(question: str) -> str:
    """Return the one person whom a question names; "" where it names none, or several."""
    rest = _NO_NAMES.sub(" ", question)
    rest = regex.sub(r"\A\s*(?:Was|Were|Did|War|Nahm|Hat)\b", " ", rest)
    found = [match["name"] for match in _PERSON.finditer(rest) if not _ASKS[2][1].search(f"at the {match['name']}")]
    full = [name for name in found if " " in name] or found
    return full[0] if len(full) == 1 else ""


def _names(entries: Sequence[str], person: str) -> bool:
    """Return whether one entry of a list, and no other, has all words of a name."""
    wanted = set(person.casefold().split())
    return sum(wanted <= set(entry.casefold().split()) for entry in entries) == 1
