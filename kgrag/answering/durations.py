"""Times of two units, which are one value: "4 minutes and 50 seconds", "2 h 30 min", "1 Stunde 20 Minuten"."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

import regex

from kgrag.late_patterns import late_regex
from kgrag.model import Value

__all__ = ["compound_times"]

_UNITS: Final = (
    ("years?|Jahren?|ans?|années?", 12, "months?|Monaten?|mois"),
    ("weeks?|Wochen?|semaines?", 7, "days?|Tagen?|jours?"),
    ("days?|Tagen?|jours?", 24, "hours?|Stunden?|heures?|h"),
    ("hours?|hrs?|Stunden?|heures?|Std\\.|h", 60, "minutes?|Minuten?|mins?"),
    ("minutes?|Minuten?|mins?", 60, "seconds?|Sekunden?|secondes?|secs?|s"),
)
"""A unit, how many of the next smaller one it has, and that one."""
_PATTERNS: Final = MappingProxyType(
    {
        late_regex(
            rf"(?<![\p{{L}}\p{{N}}.,])(?P<many>\p{{N}}{{1,4}})\s?(?:{unit})\s*(?:,|and|und|et)?\s*(?P<more>\p{{N}}{{1,3}})\s?"
            rf"(?P<unit>{smaller})(?!\p{{L}})",
            flags=regex.IGNORECASE,
        ): times
        for unit, times, smaller in _UNITS
    }
)


def compound_times(text: str) -> Iterator[Value]:
    """Yield the times of a text that have two units, as a number of the smaller one.

    >>> [(one.text, one.value, one.unit) for one in compound_times("It took 4 minutes and 50 seconds.")]
    [('4 minutes and 50 seconds', '290', 'seconds')]
    """
    for pattern, times in _PATTERNS.items():
        for found in pattern.finditer(text):
            total = int(found["many"]) * times + int(found["more"])
            yield Value("number", found[0], str(total), unit=found["unit"])
