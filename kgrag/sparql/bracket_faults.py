"""Finds the bracket of a SPARQL text that has no partner, or one of another kind."""

from __future__ import annotations

from collections.abc import Sequence

from kgrag.sparql.syntax import Edit
from kgrag.sparql.tokens import Token

__all__ = ["Fault", "bracket_fault"]

Fault = tuple[str, str, int, int, Edit | None]
"""What is wrong, what to do, where it begins and ends, and the change that does it."""

_PARTNER = {"{": "}", "(": ")", "[": "]"}


def bracket_fault(text: str, found: Sequence[Token]) -> Fault | None:
    """Return the first fault of brackets; None where each has its partner.

    >>> bracket_fault("ASK { ?s ?p ?o", [Token("{", "{", 4, 5)])
    ('the { of line 1, column 5 is not closed', 'Write } where its group ends', 4, 5, Edit(start=14, end=14, text=' }'))
    """
    opened: list[Token] = []
    for token in found:
        if token.kind in _PARTNER:
            opened.append(token)
        elif token.kind in _PARTNER.values():
            if not opened:
                what = f"this {token.kind} closes nothing"
                return what, "Leave it out", token.start, token.end, Edit(token.start, token.end, "")
            partner = _PARTNER[opened[-1].kind]
            if token.kind != partner:
                return _mismatch(text, opened, token)
            opened.pop()
    if not opened:
        return None
    last = opened[-1]
    end = len(text.rstrip())
    what = f"the {last.kind} of {_place(text, last.start)} is not closed"
    closing = " ".join(_PARTNER[token.kind] for token in reversed(opened))
    return (
        what,
        f"Write {_PARTNER[last.kind]} where its group ends",
        last.start,
        last.end,
        Edit(end, end, f" {closing}"),
    )


def _mismatch(text: str, opened: Sequence[Token], token: Token) -> Fault:
    """Return the fault of a bracket that closes one of another kind."""
    last = opened[-1]
    if len(opened) > 1 and _PARTNER[opened[-2].kind] == token.kind:  # the inner one was forgotten
        what = f"the {last.kind} of {_place(text, last.start)} is not closed before this {token.kind}"
        before = Edit(token.start, token.start, f"{_PARTNER[last.kind]} ")
        return what, f"Write {_PARTNER[last.kind]} before it", token.start, token.end, before
    if last.kind == "(" and token.kind == "}":  # WHERE ( … }
        what = f"a ( of {_place(text, last.start)} is closed by }}"
        return what, "Groups of patterns stand in { }", last.start, last.end, Edit(last.start, last.end, "{")
    what = f"the {last.kind} of {_place(text, last.start)} is closed by {token.kind}"
    partner = _PARTNER[last.kind]
    return what, f"Write {partner}", token.start, token.end, Edit(token.start, token.end, partner)


def _place(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"
