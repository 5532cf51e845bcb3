"""Value spaces of datatypes: whether the value of a literal is one of a datatype's.

XML Schema Definition Language 1.1, part 2; OWL 2 (W3C 2012), section 4: decimals and what is derived from them are one
space, in which 1.0 is an integer; floats, doubles, texts, booleans, IRIs, octets and times have spaces of their own.

Deviations: the built-in primitive datatypes of XML Schema that OWL 2 leaves out (dates, times, durations) count, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from math import inf
from typing import cast

import pyoxigraph as ox

from kgrag.late_patterns import late_re
from kgrag.vocab import RDF, XSD

__all__ = ["DATATYPES", "is_value_of"]

_PLAIN_LITERAL = f"{RDF.prefix}PlainLiteral"
_RANGES: dict[str, tuple[float, float]] = {
    "integer": (-inf, inf),
    "nonNegativeInteger": (0, inf),
    "positiveInteger": (1, inf),
    "nonPositiveInteger": (-inf, 0),
    "negativeInteger": (-inf, -1),
    **{name: (-(2**bits), 2**bits - 1) for name, bits in (("byte", 7), ("short", 15), ("int", 31), ("long", 63))},
    **{f"unsigned{name}": (0, 2**bits - 1) for name, bits in (("Byte", 8), ("Short", 16), ("Int", 32), ("Long", 64))},
}
_NAME = r"[^\W\d][\w.\-·]*"
_ZONE = r"(Z|[+-](0\d|1[0-3]):[0-5]\d|[+-]14:00)"
_YEAR = r"-?(?:[1-9]\d{3,}|0\d{3})"
_CLOCK = r"(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?|24:00:00(?:\.0+)?)"
_OCTETS = "(?:[A-Za-z0-9+/] ?)"
_TEXTS = {
    "string": late_re(r"(?s).*"),
    "normalizedString": late_re(r"[^\t\r\n]*"),
    "token": late_re(r"(?:[^\s]+(?: [^\s]+)*)?"),
    "language": late_re(r"[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*"),
    "NMTOKEN": late_re(r"[\w.\-·:]+"),
    "Name": late_re(r"(?:[^\W\d]|:)[\w.\-·:]*"),
    "NCName": late_re(_NAME),
}
_FORMS = {
    "boolean": late_re(r"true|false|0|1", flags=re.ASCII),
    "anyURI": late_re(r"(?s).*", flags=re.ASCII),
    "hexBinary": late_re(r"([0-9a-fA-F]{2})*", flags=re.ASCII),
    "base64Binary": late_re(rf"(?:{_OCTETS}{{4}})*(?:{_OCTETS}{{2}}= ?=|{_OCTETS}{{3}}=)?", flags=re.ASCII),
    "dateTime": late_re(rf"{_YEAR}-\d\d-\d\dT{_CLOCK}{_ZONE}?", flags=re.ASCII),
    "dateTimeStamp": late_re(rf"{_YEAR}-\d\d-\d\dT{_CLOCK}{_ZONE}", flags=re.ASCII),
    "date": late_re(rf"{_YEAR}-\d\d-\d\d{_ZONE}?", flags=re.ASCII),
    "time": late_re(rf"{_CLOCK}{_ZONE}?", flags=re.ASCII),
    "gYear": late_re(rf"{_YEAR}{_ZONE}?", flags=re.ASCII),
    "gYearMonth": late_re(rf"{_YEAR}-(0[1-9]|1[0-2]){_ZONE}?", flags=re.ASCII),
    "gMonth": late_re(rf"--(0[1-9]|1[0-2]){_ZONE}?", flags=re.ASCII),
    "gMonthDay": late_re(rf"--\d\d-\d\d{_ZONE}?", flags=re.ASCII),
    "gDay": late_re(rf"---(0[1-9]|[12]\d|3[01]){_ZONE}?", flags=re.ASCII),
    "duration": late_re(r"-?P(?=.)(\d+Y)?(\d+M)?(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?", flags=re.ASCII),
    "dayTimeDuration": late_re(r"-?P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?", flags=re.ASCII),
    "yearMonthDuration": late_re(r"-?P(?=.)(\d+Y)?(\d+M)?", flags=re.ASCII),
}
_NUMBER = late_re(r"[+-]?(\d+(\.\d*)?|\.\d+)", flags=re.ASCII)
_INTEGER = late_re(r"[+-]?\d+", flags=re.ASCII)
_FLOAT = late_re(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?INF|NaN", flags=re.ASCII)
_DAY = late_re(r"(-?\d{4,})-(\d\d)-(\d\d)|--(\d\d)-(\d\d)")
_DAYS_OF_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DERIVED = {
    "dateTimeStamp": "dateTime",
    "dayTimeDuration": "duration",
    "yearMonthDuration": "duration",
    **dict.fromkeys(_TEXTS, "string"),
    **dict.fromkeys(_RANGES, "decimal"),
}
"""Datatype -> the primitive one in whose space its values are."""
_NAMES = frozenset({"decimal", "float", "double", *_RANGES, *_TEXTS, *_FORMS})
DATATYPES = frozenset(
    {*(ox.NamedNode(XSD.prefix + name) for name in _NAMES), ox.NamedNode(_PLAIN_LITERAL), RDF.langString}
)
"""The datatypes of which the values are known."""


def is_value_of(literal: ox.Literal, datatype: ox.NamedNode) -> bool:
    """Return whether the value of a literal is one of a datatype's; True where either datatype is not known.

    >>> of = lambda text, own, other: is_value_of(
    ...     ox.Literal(text, datatype=ox.NamedNode(XSD.prefix + own)), ox.NamedNode(XSD.prefix + other)
    ... )
    >>> of("1.0", "decimal", "integer"), of("300", "integer", "byte"), of("old", "string", "integer")
    (True, False, False)
    >>> of("2023-02-29", "date", "date"), of("2024-02-29", "date", "date"), of("1", "double", "decimal")
    (False, True, False)
    """
    if literal.datatype not in DATATYPES or datatype not in DATATYPES:
        return True
    if RDF.langString in (literal.datatype, datatype):
        return literal.datatype == datatype or datatype.value == _PLAIN_LITERAL
    if datatype.value == _PLAIN_LITERAL:
        return _DERIVED.get(_name(literal.datatype)) == "string"
    own, other = _name(literal.datatype), _name(datatype)
    text = literal.value if own in _TEXTS else " ".join(literal.value.split())
    if not _is_well_formed(text, own):
        return False
    if own == other:
        return True
    return _DERIVED.get(own, own) == _DERIVED.get(other, other) and _is_among(text, other)


def _name(datatype: ox.NamedNode) -> str:
    return datatype.value.removeprefix(XSD.prefix)


def _is_well_formed(text: str, name: str) -> bool:
    """Return whether a text is in the lexical space of a datatype."""
    if name == "decimal":
        return _NUMBER.fullmatch(text) is not None
    if name in ("float", "double"):
        return _FLOAT.fullmatch(text) is not None
    if name in _RANGES:
        return _INTEGER.fullmatch(text) is not None and _is_among(text, name)
    return _is_among(text, name)


def _is_among(text: str, name: str) -> bool:
    """Return whether a text, which is well-formed in the primitive space of a datatype, stands for a value of it."""
    if name == "decimal":
        return True
    if name in _RANGES:
        least, most = _RANGES[name]
        number = Decimal(text)
        return number == number.to_integral_value() and least <= number <= most
    matches = cast("Callable[[str], object]", (_TEXTS.get(name) or _FORMS[name]).fullmatch)
    return matches(text) is not None and _has_day(text)


def _has_day(text: str) -> bool:
    """Return whether the day that a text begins with, if it does, is one of the calendar."""
    match = _DAY.match(text)
    if match is None:
        return True
    year, month, day = (match[1] or "2000", int(match[2] or match[4]), int(match[3] or match[5]))
    if not 1 <= month <= len(_DAYS_OF_MONTHS) or not 1 <= day <= _DAYS_OF_MONTHS[month - 1]:
        return False
    number = int(year)
    is_leap = number % 4 == 0 and (number % 100 != 0 or number % 400 == 0)
    return is_leap or (month, day) != (2, 29)
