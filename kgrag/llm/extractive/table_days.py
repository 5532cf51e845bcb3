"""Days as cells write them: "2026-11-03", "03.11.2026", "3 November 2026", "3. November 2026", "November 3, 2026"."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex

__all__ = ["MONTHS", "day_of", "is_day"]

MONTHS = MappingProxyType(
    {
        ENGLISH: "january february march april may june july august september october november december",
        "de": "januar februar märz april mai juni juli august september oktober november dezember",
        "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    }
)
"""Names of the months, by language."""
_PLACES = MappingProxyType({name: at for names in MONTHS.values() for at, name in enumerate(names.split(), start=1)})
_MONTH = rf"(?P<name>{'|'.join(_PLACES)})"
_DAY = late_regex(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)|(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})"
    rf"|(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th|er)?\s+{_MONTH}\s+(?P<year>\d{{4}})"
    rf"|{_MONTH}\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}})",
    flags=regex.IGNORECASE,
)


@lru_cache(maxsize=16_384)
def day_of(text: str) -> int | None:
    """Return the day that a text is, as a figure of ISO 8601; None for any other text.

    >>> day_of("16.02.2026"), day_of("3 November 2026"), day_of("in 2026")
    (20260216, 20261103, None)
    """
    day = _DAY.fullmatch(text)
    if not day:
        return None
    month = int(day["month"]) if day["month"] else _PLACES[day["name"].casefold()]
    return int(day["year"]) * 10_000 + month * 100 + int(day["day"])


def is_day(text: str) -> bool:
    """Return whether a text is a day."""
    return day_of(text) is not None
