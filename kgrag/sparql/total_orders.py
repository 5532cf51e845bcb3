"""``ORDER BY ?v`` written so that any two terms compare the same whatever else is sorted with them.

The engine compares numbers by value, texts by their characters, and a number with a text by characters too, so that
``2 < 10``, ``10 < "1a"`` and ``"1a" < 2`` go round in a circle; so do date-times of which only some have a zone. Its
sort notices that among about twenty rows or more, and ends the whole process. Keys in front of the variable keep
apart what has no common order: numbers come first, then each datatype by itself, texts by their characters, and
date-times with and without a zone. Where all values are of one kind the order is the engine's. A sort takes two to
three times as long.

>>> with_total_orders("SELECT ?v { ?s ?p ?v } ORDER BY DESC(?v) LCASE(?v) LIMIT 3").count("DESC(")
4
>>> with_total_orders("SELECT ?v { ?s ?p 'ORDER BY ?v' }")
"SELECT ?v { ?s ?p 'ORDER BY ?v' }"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kgrag.sparql.tokens import CLOSING, OPENING, Token, tokens

__all__ = ["with_total_orders"]

_MAYBE = re.compile(r"\bORDER\b", flags=re.IGNORECASE)
_ENDS = frozenset({"LIMIT", "OFFSET", "VALUES", "HAVING"})
_DIRECTIONS = frozenset({"ASC", "DESC"})
_KEYS = (
    "isLITERAL({v})",
    'IF(isNUMERIC({v}), "", STR(DATATYPE({v})))',
    'IF(isNUMERIC({v}), "", COALESCE(STR(TZ({v}) = ""), STR({v}), '
    'CONCAT(STR(SUBJECT({v})), " ", STR(PREDICATE({v})), " ", STR(OBJECT({v})))))',
    "{v}",
)


def with_total_orders(text: str) -> str:
    """Return a query or an update in which every variable that is sorted by has the keys in front of it.

    Expressions are left as they are: what a function returns is of one kind.
    """
    if not _MAYBE.search(text):
        return text
    parts, last = [], 0
    for start, end, variable, direction in _sorted_by(list(tokens(text))):
        keys = (key.format(v=variable) for key in _KEYS)
        parts += [text[last:start], " ", " ".join(f"{direction}({key})" for key in keys), " "]
        last = end
    return "".join([*parts, text[last:]])


def _sorted_by(found: Sequence[Token]) -> Iterator[tuple[int, int, str, str]]:
    """Yield where each variable of an ORDER BY stands, from and to, with itself and its direction."""
    place = 0
    while place + 1 < len(found):
        words = [token.text.upper() for token in found[place : place + 2]]
        place += 1
        if words != ["ORDER", "BY"]:
            continue
        place += 1
        while place < len(found) and found[place].text.upper() not in _ENDS and found[place].kind not in ("}", "end"):
            token = found[place]
            direction = token.text.upper() if token.text.upper() in _DIRECTIONS else "ASC"
            bracket = place + (token.text.upper() in _DIRECTIONS)
            inside = found[bracket : bracket + 3]
            if token.kind == "variable":
                yield token.start, token.end, token.text, "ASC"
                place += 1
            elif [each.kind for each in inside] == ["(", "variable", ")"]:
                yield token.start, inside[2].end, inside[1].text, direction
                place = bracket + 3
            else:
                place = _behind(found, place)


def _behind(found: Sequence[Token], place: int) -> int:
    """Return the place behind a function or EXISTS with its brackets, or behind the brackets that a token opens."""
    depth = 0
    if found[place].kind in ("word", "name", "iri") and place + 1 < len(found) and found[place + 1].kind in ("(", "{"):
        place += 1
    while place < len(found):
        depth += (found[place].kind in OPENING) - (found[place].kind in CLOSING)
        place += 1
        if depth <= 0:
            return place
    return place
