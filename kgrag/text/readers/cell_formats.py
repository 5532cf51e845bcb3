"""Cells of a workbook as they are shown: percentages, currencies and units of the format, dates only as far as shown.

A cell that shows 7 % stores 0.07, one that shows £12.50 stores 12.5. Figures keep up to two more decimals than are
shown, and none less; they get no marks between thousands, which a workbook leaves to the language of who opens it.
Dates are in ISO 8601.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from decimal import Decimal

import regex

from kgrag.late_patterns import late_regex

__all__ = ["shown"]

_MORE_DECIMALS = 2
_LITERAL = late_regex(
    r'"(?P<text>[^"]*)"|\[\$(?P<text>[^\]-]*)(?:-[^\]]*)?\]|\\(?P<text>.)|(?P<text>[€$£¥])|\[[^\]]*\]|_.|\*.'
)
"""What is shown as it is; and what is not shown: a colour, a condition, space of the width of a sign."""
_FIGURE = late_regex(r"[#0?](?:[#0?,]*[#0?])?(?P<scale>,*)(?:\.(?P<decimals>[0#?]+))?(?P<scale>,*)")
_PADDED = late_regex(r"0{2,}")


def shown(value: object, number_format: str) -> str:
    """Return the text of a cell; "" for a blank one.

    Args:
        value: as it is stored.
        number_format: its code, as "General", "0.0%" or "dd/mm/yyyy".

    >>> shown(0.07, "0%"), shown(12.5, '#,##0.00 "€"'), shown(6890, "#,##0.00"), shown(True, "General")
    ('7%', '12.50 €', '6890.00', 'true')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return _number(value, number_format)
    if isinstance(value, datetime):
        return _day(value, number_format) if value.time() == time() else value.isoformat(" ", "seconds")
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return value.isoformat() if isinstance(value, date | time) else str(value)


def _day(value: datetime, number_format: str) -> str:
    """Return a date; a month or year where the format shows no more."""
    shows = _LITERAL.sub("", number_format).lower()
    if "d" in shows or "y" not in shows:
        return value.date().isoformat()
    return f"{value:%Y-%m}" if "m" in shows else f"{value:%Y}"


def _number(value: float, number_format: str) -> str:
    plain = str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else str(value)
    first = number_format.partition(";")[0]
    texts = [found.captures("text")[0] if found.captures("text") else "" for found in _LITERAL.finditer(first)]
    code = _LITERAL.sub("\x00", first)
    figure = _FIGURE.search(code)
    if figure is None or any(figure.captures("scale")) or regex.search(r"[Ee][+-]|/|@", code):
        return plain
    if _PADDED.fullmatch(code) and plain.isdigit():
        return plain.zfill(len(code))
    before, behind = _marks(code[: figure.start()], texts), _marks(code[figure.end() :], texts)
    decimals = len(figure["decimals"] or "")
    if not (decimals or before.strip() or behind.strip()):
        return plain
    is_share = "%" in code
    amount = Decimal(str(value)) * (100 if is_share else 1)
    if not amount.is_finite():
        return plain
    least = 0 if is_share else (figure["decimals"] or "").count("0")
    text = _rounded(abs(amount), decimals, least)
    return f"{'-' if amount < 0 else ''}{before}{text}{behind}".strip()


def _marks(code: str, texts: list[str]) -> str:
    """Return what a part of a format shows beside the figure; takes its literals off the list."""
    return "".join(texts.pop(0) if mark == "\x00" else mark if mark in "% " else "" for mark in code)


def _rounded(amount: Decimal, decimals: int, least: int) -> str:
    """Return a figure with up to two more decimals than are shown, and with as many as are shown at least."""
    text = f"{amount:.{decimals + _MORE_DECIMALS}f}"
    whole, _, rest = text.partition(".")
    rest = rest.rstrip("0").ljust(least, "0")
    return f"{whole}.{rest}" if rest else whole
