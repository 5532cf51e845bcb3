r"""SPARQL cut into tokens exactly as the store's engine cuts it: for the gate, the reader and the server's updates.

The engine has no tokenizer of its own: it parses character by character, so that what ``<``, ``?`` or a keyword begins
depends on the place. ``tokens`` cuts without that knowledge; ``Scanner`` goes token by token, and lets a parser cut
again where it knows better. Keywords need no blank after them: a word is all that a colon could make a prefix, so that
``SELECTDISTINCT`` and ``true.OPTIONAL`` are one token here and several for a parser.

What the engine does not accept as a string, an IRI or a name is not cut as one either. With ``\x`` in it, a string in
three quotation marks is an empty string and more text, and a gate that took it for a string would not read that text.

Every expression is possessive, and what is looked at for a name is taken as a word: cutting takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from kgrag.errors import InvalidSPARQL
from kgrag.late_patterns import late_re
from kgrag.sparql.syntax import Limits, Place

__all__ = ["CLOSING", "IRI", "OPENING", "Scanner", "Token", "string_fault", "tokens", "unescaped"]

OPENING = frozenset({"{", "(", "[", "<<", "<<(", "{|"})
CLOSING = frozenset({"}", ")", "]", ">>", ")>>", "|}"})

_BASE = "A-Za-zÀ-ÖØ-öø-˿Ͱ-ͽͿ-῿\u200c\u200d⁰-↏Ⰰ-⿯、-퟿豈-\ufdcfﷰ-\ufffd"
_MORE = "·\u0300-\u036f\u203f\u2040"
_CHARS = rf"[-0-9_{_BASE}{_MORE}]"
_WORD = rf"[{_BASE}]{_CHARS}*+(?:\.++{_CHARS}++)*+"
_HEX = "[0-9A-Fa-f]"
_ESCAPED = rf"%{_HEX}{{2}}|\\[-_~.!$&'()*+,;=/?\#@%]"
_LOCAL = rf"(?:[_:0-9{_BASE}]|{_ESCAPED})(?:[-0-9_:{_BASE}{_MORE}]|{_ESCAPED})*+"
_AFTER_DOTS = rf"(?:\.++(?:[-0-9_:{_BASE}{_MORE}]|{_ESCAPED})++)"
# Code points only: the engine refuses the halves of surrogate pairs and what is beyond U+10FFFF.
_UNICODE = rf"\\u(?![dD][89A-Fa-f]){_HEX}{{4}}"
_UNICODE += rf"|\\U(?:0000(?![dD][89A-Fa-f])|000[1-9A-Fa-f]|0010){_HEX}{{4}}"
_ESCAPE = rf"\\[tbnrf\"'\\]|{_UNICODE}"
_IRI = rf"<(?:[^<>\"{{}}|^`\\\x00-\x20]++|{_UNICODE})*+>"
IRI = late_re(_IRI)
_TOKEN = late_re(
    rf"""
    (?:[ \t\r\n]++|\#[^\r\n]*+)*+
    (?:(?P<variable>[?$][0-9_{_BASE}][0-9_{_BASE}{_MORE}]*+)
    | (?P<name>(?:{_WORD})?+:(?:{_LOCAL}{_AFTER_DOTS}?+)?+)
    | (?P<word>{_WORD})
    | (?P<iri>{_IRI})
    | (?P<string>\"{{3}}(?:[^\"\\]++|{_ESCAPE}|\"{{1,2}}+(?!\"))*+\"{{3}}
        | '{{3}}(?:[^'\\]++|{_ESCAPE}|'{{1,2}}+(?!'))*+'{{3}}
        | \"(?:[^\"\\\r\n]++|{_ESCAPE})*+\" | '(?:[^'\\\r\n]++|{_ESCAPE})*+')
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
_MORE_DOTS = late_re(rf"{_AFTER_DOTS}++")
_BROKEN_IRI = late_re(r"<[^<>\"{}|^`\x00-\x20]*+>")
_ESCAPED_CHARACTER = late_re(r"""\\(?:([tbnrf"'\\])|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))""")
_LETTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_MAX_CHARACTERS_SHOWN = 40


class Token(NamedTuple):
    """One token, ``text`` at ``[start:end]`` of what was cut; the ``kind`` of a bracket or an operator is its text."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text without blanks and comments; a character that begins none is of kind "other"."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        if kind == "end":
            return
        value = match[kind]
        start, end = match.span(kind)
        yield Token(value if kind == "sign" else kind, value, start, end)


def unescaped(text: str) -> str:
    r"""Return what the inside of a string or an IRI means; its escapes are valid, or it would not be a token.

    >>> unescaped(r"\t\u0041") == "\tA"
    True
    """

    def character(match: re.Match[str]) -> str:
        letter, short, long = match.groups()
        return _LETTERS[letter] if letter else chr(int(short or long, 16))

    return _ESCAPED_CHARACTER.sub(character, text) if "\\" in text else text


def string_fault(text: str, at: int) -> tuple[str, str, int]:
    """Return what is wrong with a string that is not cut as one, what to do about it, and where.

    Args:
        text: what was cut.
        at: where a quotation mark is of kind "other".
    """
    quote = text[at]
    of_three = text.startswith(quote * 2, at - 2) if at > 1 else False  # the first two were cut as an empty string
    body = rf"[^\\{quote}]|{quote}{{1,2}}+(?!{quote})" if of_three else rf"[^\\{quote}\r\n]"
    match = re.compile(rf"(?:{body}|{_ESCAPE})*+").match(text, at + 1)
    end = at if match is None else match.end()
    if text.startswith("\\", end):
        return f"{text[end : end + 2]!r} is no escape", "Write a backslash as \\\\", end
    return f"a string opened by {quote} is not closed", "Close it, and write line breaks in it as \\n", at


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

    def take_dotted(self) -> bool:
        """Add to the name at hand what follows further dots, which the engine cuts off; False without any."""
        parts = _MORE_DOTS.match(self.text, self.end)
        if parts is not None:
            self.end = parts.end()
        return parts is not None

    def take(self, kind: str) -> bool:
        """Step over a token of this kind, if it is here."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    def need(self, kind: str, where: str) -> int:
        """Step over a token of this kind; return where it starts."""
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
        """Step over a keyword (in capitals), if it is here, in any case, even glued to what follows."""
        if not self.word.startswith(keyword):
            return False
        self.shorten(len(keyword))
        return True

    def need_word(self, keyword: str, where: str) -> None:
        """Step over a keyword that has to be here."""
        if not self.take_word(keyword):
            self.expected(f"{keyword} {where}")

    def deeper(self) -> None:
        """Enter the bracket that was just stepped over."""
        self.depth += 1
        if self.depth > self.limits.depth:
            what = f"brackets are nested more than {self.limits.depth} deep"
            self.refuse(what, "Write it flatter", at=self.last - 1)

    def place(self, start: int, end: int) -> Place:
        """Return the place of a piece of the text."""
        line, column = self.position(start)
        return Place(start, end, line, column)

    def position(self, at: int) -> tuple[int, int]:
        """Return line and column of a character, both from 1."""
        if not self._lines:
            self._lines = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect_right(self._lines, at)
        return line, at - self._lines[line - 1] + 1

    def expected(self, what: str) -> NoReturn:
        """Refuse the token at hand, and report what is expected here."""
        found = "the end of the query"
        if self.kind != "end":
            found = repr(self.text[self.start : min(self.end, self.start + _MAX_CHARACTERS_SHOWN)])
        if self.kind == "other" and self.text[self.start] in "\"'":
            fault, instead, at = string_fault(self.text, self.start)
            self.refuse(fault, f"{instead}; expected {what}", at=at)
        if broken := _BROKEN_IRI.match(self.text, self.start):
            self.refuse(f"{broken[0][:80]} is no IRI", "Write a backslash as %5C")
        self.refuse(f"found {found}, expected {what}", "Correct it there")

    def refuse(self, what: str, instead: str, *, at: int | None = None) -> NoReturn:
        """Raise InvalidSPARQL for a place: the token at hand, unless ``at`` is given."""
        line, column = self.position(self.start if at is None else at)
        raise InvalidSPARQL(f"line {line}, column {column}: {what}. {instead}.", line=line, column=column)
