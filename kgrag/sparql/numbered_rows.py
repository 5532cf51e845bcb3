"""Rows of VALUES with a number each, so that no two of them go with one solution."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest

from kgrag.sparql.tokens import Token, tokens

__all__ = ["with_row_numbers"]

_OPENS_DATUM = frozenset({"<<("})


def with_row_numbers(text: str, tag: Callable[[], str]) -> str | None:
    """Return a block of VALUES whose rows are numbered; None where a column of different IRIs tells them apart.

    Args:
        text: what follows the word VALUES; it was read without a mistake.
        tag: returns the variable that is to have the numbers.

    >>> with_row_numbers("?x { 1 'a'@en 1 }", lambda: "?n")
    "(?x ?n) {(1 0)('a'@en 1)(1 2)}"
    >>> with_row_numbers("(?x ?y) { (<urn:a> 1) (<urn:b> UNDEF) }", lambda: "?n") is None
    True
    """
    found = [token for token in tokens(text) if token.kind != "end"]
    opens = next(place for place, token in enumerate(found) if token.kind == "{")
    variables = [token.text for token in found[:opens] if token.kind == "variable"]
    inside = found[opens + 1 : -1]
    rows = list(_rows(inside)) if found[0].kind in ("(", "nil") else [[datum] for datum in _data(inside)]
    if any(_tells_apart(column) for column in zip_longest(*rows)) or len(rows) < 2:
        return None
    written = "".join(f"({' '.join([*map(_text, row), str(number)])})" for number, row in enumerate(rows))
    return f"({' '.join([*variables, tag()])}) {{{written}}}"


def _rows(found: Sequence[Token]) -> Iterator[list[list[Token]]]:
    """Yield the rows in round brackets, each datum as its tokens."""
    row: list[Token] = []
    for token in found:
        if token.kind == ")":
            yield list(_data(row))
            row = []
        elif token.kind == "nil":
            yield []
        elif token.kind != "(":
            row.append(token)


def _data(found: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each datum: a term of one token, a string with what follows it, a triple term."""
    datum: list[Token] = []
    depth = 0
    before = ""
    for token in found:
        goes_on = depth or before in ("^^", "+", "-") or token.kind in ("^^", "language")
        if datum and not goes_on:
            yield datum
            datum = []
        datum.append(token)
        depth += (token.kind in _OPENS_DATUM) - (token.kind == ")>>")
        before = token.kind
    if datum:
        yield datum


def _tells_apart(column: Iterable[list[Token] | None]) -> bool:
    """Return whether the terms of a column are IRIs, all written in one way, and no two of them the same."""
    seen: set[str] = set()
    forms: set[str] = set()
    for datum in column:
        if datum is None or len(datum) != 1 or datum[0].kind not in ("iri", "name") or "\\" in datum[0].text:
            return False
        (token,) = datum
        if token.text in seen:
            return False
        seen.add(token.text)
        forms.add("<" if token.kind == "iri" else token.text.partition(":")[0])
    return len(forms) == 1


def _text(datum: Sequence[Token]) -> str:
    return "".join(f"{token.text} " if token.kind in ("iri", "name", "word") else token.text for token in datum).strip()
