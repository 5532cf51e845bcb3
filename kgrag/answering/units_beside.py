"""Units that a value is cut off from: a currency before it ("CHF 60"), and two words behind it ("10 working days")."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import regex

from kgrag.late_patterns import late_regex
from kgrag.model import Value

__all__ = ["CURRENCY", "with_unit_beside"]

CURRENCY: Final = r"(?:CHF|EUR|USD|GBP|JPY|CNY|AUD|CAD|SEK|NOK|DKK|PLN|CZK|HUF|[€£$¥])"
_BEFORE: Final = late_regex(rf"(?<![\p{{L}}\p{{N}}])(?P<unit>{CURRENCY})\s?$")
_BEHIND: Final = late_regex(
    r"\s(?P<unit>(?:working|business|calendar|consecutive|full|school|banking)\s(?:days?|weeks?|months?|hours?|years?))\b"
    r"|\s(?P<unit>(?:jours?|mois|heures?)\s(?:ouvrables?|ouvrés?|calendaires?|francs))\b"
)


def with_unit_beside(value: Value, sentence: str) -> Value:
    """Return a number with the unit that stands beside it in a sentence, where it has none or only its first word.

    >>> with_unit_beside(Value("number", "60", "60"), "An allowance of CHF 60 is paid.").text
    'CHF 60'
    >>> with_unit_beside(Value("number", "10", "10"), "No later than 10 working days before.").text
    '10 working days'
    """
    if value.kind != "number":
        return value
    number = value.text.removesuffix(value.unit).strip()
    for found in regex.finditer(rf"(?<![\p{{N}}.,]){regex.escape(number)}(?![\p{{N}}]|[.,]\p{{N}})", sentence):
        before = None if value.unit else _BEFORE.search(sentence[: found.start()])
        behind = _BEHIND.match(sentence, found.end())
        if before:
            return replace(value, text=sentence[before.start() : found.end()], unit=before["unit"])
        if behind:
            return replace(value, text=sentence[found.start() : behind.end()], unit=behind["unit"])
    return value
