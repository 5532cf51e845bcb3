"""Cuts SPARQL into tokens, one at a time, because what ``<`` or ``?`` begins depends on where it stands.

The token before the parser is always ``kind``, ``start``, ``end``. Keywords need no blank after them, as in the store's
parser: ``SELECTDISTINCT`` is two. Every expression is possessive, so that cutting takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NoReturn

from kgrag.errors import InvalidSPARQL
from kgrag.sparql.syntax import Limits, Place

__all__ = ["Scanner"]

_BASE = "A-Za-zÀ-ÖØ-öø-˿Ͱ-ͽͿ-῿\u200c\u200d⁰-↏Ⰰ-⿯、-퟿豈-\ufdcfﷰ-\ufffd"
_MORE = "·\u0300-\u036f\u203f\u2040"
_CHARS = rf"[-0-9_{_BASE}{_MORE}]"
_ESCAPED = r"%[0-9A-Fa-f]{2}|\\[-_~.!$&'()*+,;=/?\#@%]"
_LOCAL = rf"(?:[_:0-9{_BASE}]|{_ESCAPED})(?:[-0-9_:{_BASE}{_MORE}]|{_ESCAPED})*+"
_LOCAL += rf"(?:\.++(?:[-0-9_:{_BASE}{_MORE}]|{_ESCAPED})++)*+"
_TOKEN = re.compile(
    rf"""
    (?:[ \t\r\n]++|\#[^\r\n]*+)*+
    (?:(?P<variable>[?$][0-9_{_BASE}][0-9_{_BASE}{_MORE}]*+)
    | (?P<name>(?:[{_BASE}]{_CHARS}*+(?:\.++{_CHARS}++)*+)?+:(?:{_LOCAL})?+)
    | (?P<word>[A-Za-z][A-Za-z0-9_]*+)
    | (?P<iri><[^<>"{{}}|^`\x00-\x20]*+>)
    | (?P<string>\"{{3}}(?:[^\"\\]|\\.|\"{{1,2}}+(?!\"))*+\"{{3}} | '{{3}}(?:[^'\\]|\\.|'{{1,2}}+(?!'))*+'{{3}}
        | \"(?:[^\"\\\r\n]|\\.)*+\" | '(?:[^'\\\r\n]|\\.)*+')
    | (?P<number>(?:[0-9]++\.[0-9]*+|\.[0-9]++|[0-9]++)[eE][-+]?[0-9]++|[0-9]*+\.[0-9]++|[0-9]++)
    | (?P<nil>\([ \t\r\n]*+\))
    | (?P<anon>\[[ \t\r\n]*+\])
    | (?P<sign>[{{](?!\|)|[}}(\[\];,]|\)(?!>>)|\.|\{{\||\|\}}|\|\|?|&&|!=|<<\(|\)>>|<<|>>|[<>]=|\^\^|[<>^=*/+!?~-])
    | (?P<label>_:[0-9_{_BASE}]{_CHARS}*+(?:\.++{_CHARS}++)*+)
    | (?P<language>@[A-Za-z]++(?:-[A-Za-z0-9]++)*+(?:--[A-Za-z]++)?+)
    | (?P<end>\Z)
    | (?P<other>.))
    """,
    flags=re.VERBOSE | re.DOTALL,
)
_SHOWN = 40


class Scanner:
    """Walks over a text; knows the token at hand, and how deep the brackets are."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.limits = limits
        self.kind = ""
        self.word = ""
        self.start = self.end = self.last = 0
        self.depth = 0
        self._lines: list[int] = []
        if len(text) > limits.characters:
            what = f"the query has {len(text):,} characters; at most {limits.characters:,} are allowed"
            self.refuse(what, "Put long lists into data, or raise the limit", at=limits.characters)
        self.advance()

    def advance(self) -> None:
        """Go to the next token."""
        self.last = self.end
        self._cut(self.end)

    def _cut(self, at: int) -> None:
        match = _TOKEN.match(self.text, at)
        kind = match.lastgroup if match else "other"
        if match is None or kind is None:  # pragma: no cover - the expression matches anything
            raise InvalidSPARQL(f"nothing can be read at {at}")
        self.start, self.end = match.span(kind)
        self.word = ""
        if kind == "sign":
            kind = self.text[self.start : self.end]
        elif kind == "word":
            self.word = self.text[self.start : self.end].upper()
        self.kind = kind

    def shorten(self, length: int) -> None:
        """Take only the first characters of the token at hand as the token, and go to what follows them."""
        self.end = self.start + length
        self.advance()

    def recut(self, sign: str) -> None:
        """Read the token at hand as this sign, whatever it looked like."""
        self.kind, self.word, self.end = sign, "", self.start + len(sign)

    def take(self, kind: str) -> bool:
        """Step over a token of this kind, if it stands here."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    def need(self, kind: str, where: str) -> int:
        """Step over a token of this kind; give where it starts."""
        if self.kind != kind:
            self.expected(f"'{kind}' {where}")
        start = self.start
        self.advance()
        return start

    def check_open(self, where: str) -> None:
        """Refuse anything but an opening bracket."""
        if self.kind != "(":
            self.expected(f"'(' {where}")

    def take_word(self, keyword: str) -> bool:
        """Step over a keyword (in capitals), if it stands here, in any case, even glued to what follows."""
        if not self.word.startswith(keyword):
            return False
        self.shorten(len(keyword))
        return True

    def need_word(self, keyword: str, where: str) -> None:
        """Step over a keyword that has to stand here."""
        if not self.take_word(keyword):
            self.expected(f"{keyword} {where}")

    def deeper(self) -> None:
        """Enter the bracket that was just stepped over."""
        self.depth += 1
        if self.depth > self.limits.depth:
            what = f"brackets are nested more than {self.limits.depth} deep"
            self.refuse(what, "Write it flatter", at=self.last - 1)

    def place(self, start: int, end: int) -> Place:
        """Say where a piece of the text stands."""
        line, column = self.position(start)
        return Place(start, end, line, column)

    def position(self, at: int) -> tuple[int, int]:
        """Give line and column of a character, both from 1."""
        if not self._lines:
            self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def expected(self, what: str) -> NoReturn:
        """Refuse the token at hand, saying what should stand here."""
        found = "the end of the query"
        if self.kind != "end":
            found = repr(self.text[self.start : min(self.end, self.start + _SHOWN)])
        if self.kind == "other" and self.text[self.start] in "\"'":
            self.refuse(f"a string opened by {self.text[self.start]} is not closed", f"Close it; expected {what}")
        self.refuse(f"found {found}, expected {what}", "Correct it there")

    def refuse(self, what: str, instead: str, *, at: int | None = None) -> NoReturn:
        """Raise InvalidSPARQL for a place: here, unless said otherwise."""
        line, column = self.position(self.start if at is None else at)
        raise InvalidSPARQL(f"line {line}, column {column}: {what}. {instead}.", line=line, column=column)
