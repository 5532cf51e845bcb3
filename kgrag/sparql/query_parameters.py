"""Parameters of queries: variables that get RDF terms as their values when a query is run.

A value is put in as a term, written by the engine's own rules, so that no text can become syntax. Where a variable has
to stay one, in the list behind SELECT, it stays: ``SELECT ?zone`` becomes ``SELECT ("hill" AS ?zone)``.

>>> with_values("SELECT ?zone ?crop { ?crop <urn:zone> ?zone }", {"zone": ox.NamedNode("urn:hill")})
'SELECT (<urn:hill> AS ?zone) ?crop { ?crop <urn:zone> <urn:hill> }'
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Literal, get_args

import pyoxigraph as ox

from kgrag.errors import InputError, InvalidSPARQL
from kgrag.late_patterns import late_re
from kgrag.sparql.tokens import CLOSING, OPENING, Token, tokens
from kgrag.vocab import XSD

__all__ = ["KINDS", "ValueKind", "term_of", "variables_of", "with_values"]

ValueKind = Literal["IRI", "text", "number", "date", "boolean"]
KINDS: tuple[ValueKind, ...] = get_args(ValueKind)
_NUMBERS = (
    (late_re(r"[+-]?[0-9]+"), XSD.integer),
    (late_re(r"[+-]?[0-9]*\.[0-9]+"), XSD.decimal),
    (late_re(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+"), XSD.double),
)
_ENDS_OF_ORDER = frozenset({"LIMIT", "OFFSET", "VALUES"})


def term_of(kind: ValueKind, text: str, prefixes: Mapping[str, str] | None = None) -> ox.NamedNode | ox.Literal:
    """Return the term that a person wrote.

    Args:
        kind: what it is.
        text: an absolute IRI or a name with one of the prefixes; a text; a number; a date as 2026-05-31; true or false.
        prefixes: those that may stand in a name.

    Raises:
        InputError: it is none of this kind.

    >>> str(term_of("number", "1.5")), term_of("IRI", "ex:a", {"ex": "http://example.org/"}).value
    ('"1.5"^^<http://www.w3.org/2001/XMLSchema#decimal>', 'http://example.org/a')
    """
    given = text.strip()
    if kind == "text":
        return ox.Literal(text)
    if kind == "IRI":
        prefix, colon, local = given.strip("<>").partition(":")
        space = (prefixes or {}).get(prefix, "") if colon and not given.startswith("<") else ""
        try:
            return ox.NamedNode(space + local if space else given.strip("<>"))
        except ValueError:
            raise InputError(f"{given[:200]!r} is no absolute IRI. Write it whole, or with a known prefix.") from None
    if kind == "number":
        for form, datatype in _NUMBERS:
            if form.fullmatch(given):
                return ox.Literal(given, datatype=datatype)
    if kind == "boolean" and given in ("true", "false"):
        return ox.Literal(given, datatype=XSD.boolean)
    if kind == "date":
        try:
            return ox.Literal(date.fromisoformat(given).isoformat(), datatype=XSD.date)
        except ValueError:
            pass
    raise InputError(f"{given[:200]!r} is no {kind}. Write {_FORMS.get(kind, kind)}.")


_FORMS = {"number": "digits, as 12 or 1.5", "date": "year-month-day, as 2026-05-31", "boolean": "true or false"}


def variables_of(text: str) -> set[str]:
    """Return the names of the variables of a query or update."""
    return {token.text[1:] for token in tokens(text) if token.kind == "variable"}


def with_values(text: str, values: Mapping[str, ox.NamedNode | ox.Literal]) -> str:
    """Return a query or update with terms in the place of variables.

    Args:
        text: of the query.
        values: name of a variable, without its mark -> the term.

    Raises:
        InvalidSPARQL: the text has no such variable, or gives it a value itself (AS, VALUES, BOUND).
    """
    if missing := sorted(values.keys() - variables_of(text)):
        raise InvalidSPARQL(f"the query has no variable ?{missing[0]}. Name a parameter as one of its variables.")
    walk, parts, last = _Walk(), [], 0
    for token in tokens(text):
        walk.step(token)
        name = token.text[1:] if token.kind == "variable" else ""
        if name in values:
            if walk.assigns:
                raise InvalidSPARQL(
                    f"?{name} is a parameter, and the query gives it a value itself ({walk.assigns}). Use another name."
                )
            term = str(values[name])
            shown = f"({term} AS {token.text})" if walk.selects else f"({term})" if walk.orders else term
            parts += [text[last : token.start], shown]
            last = token.end
    return "".join([*parts, text[last:]])


class _Walk:
    """Where one is in a query: in the list behind SELECT, in that behind GROUP BY or ORDER BY, before a binding."""

    def __init__(self) -> None:
        self.selects = self.orders = False
        self.assigns = ""
        self._list = ""
        self._depth = self._values_depth = 0
        self._before: tuple[str, str] = ("", "")

    def step(self, token: Token) -> None:
        """Take the next token."""
        word = token.text.upper() if token.kind == "word" else ""
        if token.kind in ("{", "}"):
            self._list, self._depth = "", 0
        elif word == "SELECT":
            self._list, self._depth = "select", 0
        elif word == "BY":
            self._list, self._depth = "order", 0
        elif word in ("WHERE", "FROM", "HAVING") or word in _ENDS_OF_ORDER:
            self._list = ""
        else:
            self._depth += (token.kind in OPENING) - (token.kind in CLOSING)
        last, second = self._before
        in_values = last == "VALUES" or (self._values_depth > 0)
        if last == "VALUES" and token.kind == "(":
            self._values_depth = 1
        elif token.kind == ")" and self._values_depth:
            self._values_depth = 0
        self.assigns = "AS" if last == "AS" else "VALUES" if in_values else ""
        if (second, last) == ("BOUND", "("):
            self.assigns = "BOUND"
        self.selects = self._list == "select" and self._depth == 0
        self.orders = self._list == "order" and self._depth == 0
        self._before = (word or token.kind, last)
