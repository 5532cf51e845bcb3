"""How long something is kept, which a text often says by when it is deleted ("Logs are erased after 14 days").

A question for the one is asked again for the other, with a word for it that the evidence has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_languages import language_to_answer_in

__all__ = ["answered_by_end", "asks_kept", "says_end"]

_MAX_ASKED: Final = 3


class _Words(NamedTuple):
    """How a language asks how long something is kept, and says that it is deleted after a time.

    Args:
        asks: asks it, with the ``verb`` in a group.
        ends: verbs of deleting, and of keeping.
        after: the time, with what stands before it.
    """

    asks: regex.Pattern[str]
    ends: regex.Pattern[str]
    after: regex.Pattern[str]


def _caseless(text: str) -> regex.Pattern[str]:
    return late_regex(text, flags=regex.IGNORECASE)


_WORDS: Mapping[str, _Words] = MappingProxyType(
    {
        "en": _Words(
            _caseless(
                r"\bhow\s+(?:long|many\s+(?:hours|days|weeks|months|years))\b.*\b(?P<verb>stored?|kept|keep|retain(?:ed)?|held|preserved?|archived?)\b"
            ),
            _caseless(
                r"\b(?:deleted|erased|removed|destroyed|wiped|discarded|purged|shredded|stored|kept|retained|held|archived)\b"
            ),
            _caseless(
                r"\b(?:after|within|for)\s+(?:\p{L}+\s+)?(?:\p{N}|\p{L}+\s+(?:hours?|days?|weeks?|months?|years?))"
            ),
        ),
        "de": _Words(
            _caseless(
                r"\bwie\s+(?:lange|viele\s+(?:Stunden|Tage|Wochen|Monate|Jahre))\b.*\b(?P<verb>gespeichert|aufbewahrt|behalten|vorgehalten|archiviert|aufgehoben)\b"
            ),
            _caseless(r"\b(?:gelöscht|vernichtet|entfernt|entsorgt|geschreddert|gespeichert|aufbewahrt|archiviert)\b"),
            _caseless(
                r"(?:\b(?:nach|binnen|innerhalb\s+von|für)\s+(?:\p{L}+\s+)?)?\b(?:\p{N}+|\p{L}+)\s+(?:Stunden?|Tagen?|Wochen?|Monaten?|Jahren?)\b"
            ),
        ),
        "fr": _Words(
            _caseless(
                r"\bcombien\s+(?:de\s+temps|d[e’'’]\s*(?:heures|jours|semaines|mois|ans|années))\b.*\b(?P<verb>(?:conserv|gard|stock|archiv|enregistr)ée?s?)\b"
            ),
            _caseless(r"\b(?:supprimée?s?|effacée?s?|détruite?s?|éliminée?s?|conservée?s?|gardée?s?|archivée?s?)\b"),
            _caseless(
                r"\b(?:après|pendant|durant|au\s+bout\s+d[e’'])\s*(?:\p{N}|\p{L}+\s+(?:heures?|jours?|semaines?|mois|ans?|années?))"
            ),
        ),
    }
)


def answered_by_end(
    asked: str, texts: Sequence[EvidenceText], answer: Callable[[str], dict[str, Any]]
) -> dict[str, Any]:
    """Return the reply to a question; to how long something is kept also by when it is deleted, or by another word.

    Args:
        asked: the question.
        texts: the evidence.
        answer: returns the reply to a question.
    """
    found, said = answer(asked), [one.text for one in texts]
    language = language_to_answer_in(asked, said)
    for other in _asked_otherwise(asked, language, said) if found["unknown"] else ():
        again = answer(other)
        if says_end(" ".join(row["text"] for row in again["sentences"][:1]), language):
            return again
    return found


def _asked_otherwise(question: str, language: str, texts: Sequence[str]) -> list[str]:
    """Return a question for how long something is kept with other words for it, which texts have.

    >>> _asked_otherwise("How long are logs kept?", "en", ["Logs are erased after 14 days."])
    ['How long are logs erased?']
    """
    words = _WORDS.get(language)
    asked = words.asks.search(question) if words else None
    if words is None or asked is None:
        return []
    said = [found[0] for text in texts if says_end(text, language) for found in words.ends.finditer(text)]
    start, end = asked.span("verb")
    return [f"{question[:start]}{one}{question[end:]}" for one in dict.fromkeys(said)][:_MAX_ASKED]


def says_end(text: str, language: str) -> bool:
    """Return whether a text says that something is deleted after a time.

    >>> says_end("Die Daten werden nach 30 Tagen gelöscht.", "de"), says_end("Sie werden gelöscht.", "de")
    (True, False)
    """
    words = _WORDS.get(language)
    return words is not None and bool(words.ends.search(text)) and bool(words.after.search(text))


def asks_kept(question: str, language: str) -> bool:
    """Return whether a question asks how long something is kept."""
    words = _WORDS.get(language)
    return words is not None and words.asks.search(question) is not None
