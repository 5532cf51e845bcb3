"""What a model or a file gives as a value: refused when it is none, typed when it is a number or a date.

PolyRAG's authors published instances that are full of noise ("A", ")", whole sentences): those are no values.
"""

from __future__ import annotations

import re
from datetime import date

import pyoxigraph as ox

from kgrag.vocab import XSD

__all__ = ["refusal", "typed"]

_LONGEST = 200
_SENTENCE = 12
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,11})\.\d{0,10}[1-9]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def refusal(text: str) -> str:
    """Say why a text is no value or name, "" when it is one.

    >>> [refusal(text) for text in ("Bath", "7", "東")]
    ['', '', '']
    >>> refusal(")"), refusal("A")
    ('it has no letter and no digit', 'it is a single letter')
    """
    plain = " ".join(text.split())
    if not any(mark.isalnum() for mark in plain):
        return "it has no letter and no digit"
    if len(plain) == 1 and plain.isascii() and plain.isalpha():
        return "it is a single letter"
    if len(plain) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    if len(plain.split()) > _SENTENCE and plain[-1] in ".!?":
        return "it is a whole sentence"
    return ""


def typed(text: str) -> ox.Literal:
    """Give a value as the literal that it is: integer, decimal, date, or text as it is.

    Only canonical spellings get a datatype, so that the store gives back what was written.

    >>> print(typed("42"), typed("1999-13-31"), typed("007"))
    "42"^^<http://www.w3.org/2001/XMLSchema#integer> "1999-13-31" "007"
    """
    if _INTEGER.fullmatch(text) and text != "-0":
        return ox.Literal(text, datatype=XSD.integer)
    if _DECIMAL.fullmatch(text):
        return ox.Literal(text, datatype=XSD.decimal)
    if _DATE.fullmatch(text) and _exists(text):
        return ox.Literal(text, datatype=XSD.date)
    return ox.Literal(text)


def _exists(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
