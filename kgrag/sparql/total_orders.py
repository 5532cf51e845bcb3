"""``ORDER BY`` written so that any two terms compare the same whatever else is sorted with them.

The engine compares numbers by value, texts by their characters, and a number with a text by characters too, so that
``2 < 10``, ``10 < "1a"`` and ``"1a" < 2`` go round in a circle; so do date-times of which only some have a zone. Its
sort notices that among about twenty rows or more, and ends the whole process. Keys in front of what is sorted by keep
apart what has no common order: among literals numbers come first, then each datatype by itself, texts by their
characters, and date-times with and without a zone. Kinds of terms follow each other as SPARQL has it (blank nodes,
IRIs, literals, triple terms), and where all values are of one kind the order is the engine's. A sort takes two to
four times as long.

Whatever runs a text calls this, as low as that can be: stores, scratch stores, copies that an update is tried on, and
the server before it hands a text to a reader. A stored query of kgrag is an ``OrderedText`` from the start.

>>> with_total_orders("SELECT ?v { ?s ?p ?v } ORDER BY DESC(?v) LCASE(?v) LIMIT 3").count("DESC(")
11
>>> with_total_orders("SELECT ?v { ?s ?p 'ORDER BY ?v' }")
"SELECT ?v { ?s ?p 'ORDER BY ?v' }"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from kgrag.late_patterns import late_re
from kgrag.queries import OrderedText
from kgrag.sparql.text_edits import TextEdit, edited
from kgrag.sparql.tokens import CLOSING, OPENING, Token, tokens

__all__ = ["with_total_orders"]

_MAYBE = late_re(r"\bORDER\b", flags=re.IGNORECASE)
_ENDS = frozenset({"LIMIT", "OFFSET", "VALUES", "HAVING"})
_DIRECTIONS = frozenset({"ASC", "DESC"})
_OF_ANY_KIND = frozenset({"COALESCE", "IF", "MAX", "MIN", "OBJECT", "PREDICATE", "SAMPLE", "SUBJECT", "TRIPLE"})
"""Functions that return what they are handed; what any other returns is of one kind."""
_KEYS_OF_TERM = (
    "isLITERAL({v})",
    'IF(isNUMERIC({v}), "", STR(DATATYPE({v})))',
    'IF(isNUMERIC({v}), "", COALESCE(STR(TZ({v}) = ""), STR({v})))',
)
_KEYS = (*_KEYS_OF_TERM, "{v}")
_SUBJECT_AND_PREDICATE = 'CONCAT(COALESCE(STR(SUBJECT({v})), ""), " ", STR(PREDICATE({v})))'
_INNER = 'COALESCE(STR(SUBJECT({v})), ""), " ", STR(PREDICATE({v})), " ", STR(isLITERAL(OBJECT({v}))), " "'
_TRIPLE_OF_OBJECT = f'CONCAT({_INNER}, COALESCE(STR(DATATYPE(OBJECT({{v}}))), ""), COALESCE(STR(OBJECT({{v}})), ""))'
_KEYS_WITH_TRIPLE_TERMS = (
    "isTRIPLE({v})",
    *_KEYS_OF_TERM,
    _SUBJECT_AND_PREDICATE,
    "isTRIPLE(OBJECT({v}))",
    *(key.format(v="OBJECT({v})") for key in _KEYS_OF_TERM),
    _TRIPLE_OF_OBJECT.format(v="OBJECT({v})"),
    "{v}",
)
"""Triple terms come last, by their subjects, predicates and objects; one within another as it is written."""

_MAX_KEPT_TEXTS, _MAX_KEPT_CHARACTERS = 512, 8_000  # rules are run on every query that is checked: the same texts


def with_total_orders(text: str, *, triple_terms: bool = True) -> str:
    """Return a query or an update that sorts by keys in front of whatever may be of several kinds; once only.

    Args:
        text: the query or update; one that does not parse is left for the parser.
        triple_terms: whether whoever runs it knows the functions of SPARQL 1.2 that take triple terms apart.
    """
    if isinstance(text, OrderedText) or not _MAYBE.search(text):
        return text
    return _ordered(text, triple_terms) if len(text) <= _MAX_KEPT_CHARACTERS else _written(text, triple_terms)


def _written(text: str, triple_terms: bool) -> OrderedText:
    keys = _KEYS_WITH_TRIPLE_TERMS if triple_terms else _KEYS
    return OrderedText(edited(text, _edits(text, list(tokens(text)), keys)))


_ordered = lru_cache(maxsize=_MAX_KEPT_TEXTS)(_written)


def _edits(text: str, found: Sequence[Token], keys: Sequence[str]) -> Iterator[TextEdit]:
    """Yield what has to change in those tokens of a text."""
    place = 0
    while place + 1 < len(found):
        words = [token.text.upper() for token in found[place : place + 2]]
        place += 1
        if words != ["ORDER", "BY"]:
            continue
        place += 1
        while place < len(found) and found[place].text.upper() not in _ENDS and found[place].kind not in ("}", "end"):
            behind = _behind(found, place)
            yield from _condition(text, found[place:behind], keys)
            place = behind


def _condition(text: str, found: Sequence[Token], keys: Sequence[str]) -> Iterator[TextEdit]:
    """Yield what has to change in one condition of an ORDER BY."""
    is_directed = found[0].text.upper() in _DIRECTIONS
    expression = _without_brackets(found[is_directed:])
    if _is_of_one_kind(expression):
        yield from _edits(text, found, keys)
        return
    sorted_by = edited(text, _edits(text, expression, keys), start=expression[0].start, end=expression[-1].end)
    if len(expression) > 1:
        sorted_by = f"({sorted_by})"
    direction = found[0].text.upper() if is_directed else "ASC"
    conditions = " ".join(f"{direction}({key.format(v=sorted_by)})" for key in keys)
    yield found[0].start, found[-1].end, f" {conditions} "


def _without_brackets(found: Sequence[Token]) -> Sequence[Token]:
    while len(found) > 2 and found[0].kind == "(" and _behind(found, 0) == len(found):
        found = found[1:-1]
    return found


def _is_of_one_kind(expression: Sequence[Token]) -> bool:
    """Return whether the values of an expression have an order: it calls a function, or is none that is known."""
    if len(expression) < 2:
        return not expression or expression[0].kind != "variable"
    first = expression[0]
    is_call = first.kind in ("word", "name", "iri") and _behind(expression, 0) == len(expression)
    return is_call and first.text.upper() not in _OF_ANY_KIND


def _behind(found: Sequence[Token], place: int) -> int:
    """Return the place behind a function or EXISTS with its brackets, or behind the brackets that a token opens."""
    depth = 0
    if found[place].text.upper() == "NOT" and place + 1 < len(found):
        place += 1
    if found[place].kind in ("word", "name", "iri") and place + 1 < len(found) and found[place + 1].kind in ("(", "{"):
        place += 1
    while place < len(found):
        depth += (found[place].kind in OPENING) - (found[place].kind in CLOSING)
        place += 1
        if depth <= 0:
            return place
    return place
