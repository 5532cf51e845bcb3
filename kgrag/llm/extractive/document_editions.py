"""Editions of one document, "Travel policy 2025" and "Travel policy 2026": the old one has ended, and says so.

A question without a year asks for what is in force. What an old edition says is passed over only where it states that
it ended or was replaced, and a newer one is among the evidence; else it may be the only one that has the matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText

__all__ = ["in_force"]

_YEAR = late_regex(r"(?<!\p{N})(?:19|20)\p{N}{2}(?!\p{N})")
_EARLIER = late_regex(
    r"\b(?:was|were|did|had|former|previous|old|until|before|war|waren|wurden?|hatten?|bisher\p{L}*|früher\p{L}*|alte[nrs]?"
    r"|était|étaient|avait|ancien(?:ne)?s?|avant|between|from|changed?|geändert|changé)\b"
    r"|^(?:who|which\s+\p{L}+|what)\s+\p{L}{3,}ed\b",
    flags=regex.IGNORECASE,
)
_ENDED = late_regex(
    r"\b(?:ended|expired|lapsed|superseded|withdrawn|no\s+longer\s+(?:valid|in\s+force)|(?:is|are|was|were)\s+replaced\s+by"
    r"|valid\s+(?:[^.\n]{1,60}\s)?(?:until|to)\s|in\s+force\s+until|außer\s+Kraft|ersetzt\s+durch|abgelaufen|aufgehoben|(?:gültig|galt|gilt)\s+(?:[^.\n]{1,40}\s)?bis"
    r"|(?:est|sont|a\s+été|ont\s+été)\s+(?:remplacée?s?\s+par|abrogée?s?)|caduque?s?|valables?\s+jusqu|en\s+vigueur\s+jusqu)",
    flags=regex.IGNORECASE,
)


def in_force(question: str, texts: Sequence[EvidenceText]) -> list[EvidenceText]:
    """Return the evidence without old editions that have ended, for a question that asks for no year and no past.

    >>> old = EvidenceText(1, "chunk", "", "This policy ended on 31 December 2025.", title="Travel policy 2025")
    >>> new = EvidenceText(2, "chunk", "", "Flights need an approval.", title="Travel policy 2026")
    >>> [text.number for text in in_force("Who approves flights?", [old, new])]
    [2]
    """
    if _YEAR.search(question) or _EARLIER.search(question):
        return list(texts)
    years = {text.title: _edition(text.title) for text in texts}
    ended = {text.title for text in texts if _ENDED.search(f"{text.before} {text.text}")}
    newest = {name: max(year for other, year in years.values() if other == name) for name, _ in years.values()}
    old = {title for title, (name, year) in years.items() if name and title in ended and year < newest[name]}
    return [text for text in texts if text.title not in old]


def _edition(title: str) -> tuple[str, int]:
    """Return what a title has beside its one year, and that year; ("", 0) for a title of none."""
    years = _YEAR.findall(title)
    name = " ".join(regex.findall(r"[\p{L}\p{N}]+", _YEAR.sub(" ", title.replace("_", " ")).casefold()))
    return (name, int(years[0])) if len(years) == 1 and name else ("", 0)
