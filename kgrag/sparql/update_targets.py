"""Which graphs an update may write to, by its text: graphs that it only reads are not among them.

SPARQL 1.1 Update, section 3, and the grammar from rule 29 on. The text is read by its tokens. What could be
read in another way than by these tokens is left undecided: a key that may write to some graphs only is then refused,
and the store counts every graph as changed.

>>> written("PREFIX ex: <http://example.org/> WITH ex:a DELETE { ?s ?p 1 } " "WHERE { ?s ?p 1 }", {}).graphs
frozenset({'http://example.org/a'})
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import pyoxigraph as ox

from kgrag.late_patterns import late_re
from kgrag.sparql.tokens import Token, tokens

__all__ = ["Written", "written"]

_DEFAULT = ""
_OPERATORS = frozenset({"=", "!=", "<", ">", "<=", ">=", "&&", "||", "|", "+", "-", "*", "/", "!", "^", "?", "~", "^^"})
_PUNCTUATION = frozenset(".,;")
_IN_TRIPLES = frozenset({"iri", "name", "variable", "label", "number", "string", "language", "nil", "anon"})
_IN_TRIPLES |= {*".,;+-~()[]", "<<", ">>", "<<(", ")>>", "^^"}
_WORDS_IN_TRIPLES = frozenset({"A", "TRUE", "FALSE"})
_ABSOLUTE = late_re(r"<[A-Za-z][\w+.-]*://[^\\]*$")
"""An IRI that cannot be the end of a comparison and a call, as ``<b:c('…'`` can, and has no escape."""


@dataclass(frozen=True)
class Written:
    """What was read of an update.

    ``graphs`` are those that it may write to, "" the default graph; None where its text does not tell, and ``reason``
    says why. ``text`` is the update with its tokens set apart: the engine cannot cut it into other words than those
    that were looked at.
    """

    text: str
    graphs: frozenset[str] | None
    reason: str = ""


class _Undecided(Exception):
    """The text does not tell which graphs are written to."""


def written(update: str, prefixes: Mapping[str, str]) -> Written:
    """Return the graphs that an update may write to.

    Args:
        update: a text that the gate let pass.
        prefixes: those that the text may use without declaring them.
    """
    found = list(tokens(update))
    try:
        return Written(_apart(found), frozenset(_Walk(update, found, dict(prefixes)).graphs()))
    except _Undecided as undecided:
        return Written(update, None, str(undecided))


def _apart(found: list[Token]) -> str:
    """Return the text without comments, with a line break wherever two words touch, and after an IRI with ``#``.

    Operators stay where they touch: what is cut as an IRI may be a comparison, ``?a<3&&?b>=2``.
    """
    parts: list[str] = []
    before: Token | None = None
    for token in found:
        if before is not None:
            touching = before.end == token.start
            ends_a_line = before.kind == "iri" and "#" in before.text
            glued = touching and not ends_a_line and not {before.kind, token.kind}.isdisjoint(_OPERATORS)
            parts.append("" if glued else "\n")
        parts.append(token.text)
        before = token
    return "".join(parts)


@dataclass
class _Walk:
    """Goes through the operations of an update, one token after the other."""

    text: str
    found: list[Token]
    prefixes: dict[str, str]
    at: int = 0
    seen: set[str] = field(default_factory=set)

    def graphs(self) -> set[str]:
        self._refuse_disguises()
        while self.at < len(self.found):
            word = self._word()
            handler = getattr(self, f"_on_{word.lower()}", None)
            if handler is None:
                self._undecided("no operation that can be told apart")
            self.at += 1
            handler()
        return self.seen

    def _refuse_disguises(self) -> None:
        for token in self.found:
            kind, value = token.kind, token.text
            if kind == "iri" and re.search(r"['\\]", value) and not _ABSOLUTE.match(value):
                self._undecided("an IRI with ' or \\ in it", token)
            if kind == "name" and value.upper().startswith(("GRAPH", "SILENT")):
                self._undecided("a prefix that begins with GRAPH or SILENT", token)

    # prologue

    def _on_prefix(self) -> None:
        name, iri = self._next(), self._next()
        if name.kind != "name" or not name.text.endswith(":") or iri.kind != "iri":
            self._undecided("a PREFIX that cannot be read", name)
        self.prefixes[name.text[:-1]] = iri.text[1:-1]

    # operations

    def _on_insert(self) -> None:
        if self._takes("DATA"):
            self._block(_DEFAULT)
        else:
            self._block(_DEFAULT)
            self._pattern()
        self._end()

    def _on_delete(self) -> None:
        if self._takes("DATA") or self._takes("WHERE"):
            self._block(_DEFAULT)
        else:
            self._block(_DEFAULT)
            if self._takes("INSERT"):
                self._block(_DEFAULT)
            self._pattern()
        self._end()

    def _on_with(self) -> None:
        own = self._graph()
        blocks = 0
        for word in ("DELETE", "INSERT"):
            if self._takes(word):
                self._block(own)
                blocks += 1
        if not blocks:
            self._undecided("a WITH that neither deletes nor inserts")
        self._pattern()
        self._end()

    def _on_create(self) -> None:
        self._takes("SILENT")
        self.seen.add(self._named())
        self._end()

    def _on_clear(self) -> None:
        self._takes("SILENT")
        if self._is("ALL", "NAMED"):
            self._undecided("CLEAR or DROP of all graphs")
        self.seen.add(self._place())
        self._end()

    _on_drop = _on_clear

    def _on_add(self) -> None:
        self._transfer(source=False)

    _on_copy = _on_add

    def _on_move(self) -> None:
        self._transfer(source=True)

    def _transfer(self, *, source: bool) -> None:
        self._takes("SILENT")
        begins = self._place()
        if not self._takes("TO"):
            self._undecided("a graph without TO behind it")
        self.seen.add(self._place())
        if source:
            self.seen.add(begins)
        self._end()

    # parts

    def _place(self) -> str:
        """Read DEFAULT, GRAPH and an IRI, or an IRI."""
        if self._takes("DEFAULT"):
            return _DEFAULT
        self._takes("GRAPH")
        return self._graph()

    def _named(self) -> str:
        if not self._takes("GRAPH"):
            self._undecided("no GRAPH where one is expected")
        return self._graph()

    def _graph(self) -> str:
        """Read the IRI of a graph."""
        token = self._next()
        value = token.text
        if token.kind == "iri":
            whole = value[1:-1]
        elif token.kind == "name" and "\\" not in value:
            prefix, _, local = value.partition(":")
            whole = self.prefixes.get(prefix, "") + local if prefix in self.prefixes else ""
        else:
            whole = ""
        try:
            return ox.NamedNode(whole).value
        except ValueError:
            self._undecided(f"a graph named by {value[:80]}, which is no whole IRI", token)

    def _block(self, outside: str) -> None:
        """Read a template or data: triples outside GRAPH go to the graph ``outside``."""
        self._expects("{")
        inside = False
        while True:
            token = self._next()
            if token.kind == "}":
                if not inside:
                    return
                inside = False
            elif token.kind == "word" and token.text.upper() == "GRAPH" and not inside:
                self.seen.add(self._graph())
                self._expects("{")
                inside = True
            else:
                self._check_plain(token)
                if not inside and token.kind not in _PUNCTUATION:
                    self.seen.add(outside)

    def _check_plain(self, token: Token) -> None:
        """Let what may stand in a triple pass."""
        if token.kind not in _IN_TRIPLES and token.text.upper() not in _WORDS_IN_TRIPLES:
            self._undecided(f"{token.text[:80]} among triples", token)

    def _pattern(self) -> None:
        """Read past USING and WHERE."""
        while self._takes("USING"):
            self._takes("NAMED")
            self._graph()
        self._takes("WHERE")
        self._expects("{")
        depth = 1
        while depth:
            kind = self._next().kind
            depth += (kind == "{") - (kind == "}")

    def _end(self) -> None:
        if self.at < len(self.found) and self._next().kind != ";":
            self._undecided("no ; between two operations", self.found[self.at - 1])

    # tokens

    def _word(self) -> str:
        token = self.found[self.at]
        return token.text.upper() if token.kind == "word" else "no word"

    def _is(self, *words: str) -> bool:
        return self.at < len(self.found) and self._word() in words

    def _takes(self, word: str) -> bool:
        there = self._is(word)
        self.at += there
        return there

    def _next(self) -> Token:
        if self.at >= len(self.found):
            self._undecided("an end that comes too early")
        self.at += 1
        return self.found[self.at - 1]

    def _expects(self, mark: str) -> None:
        token = self._next()
        if token.kind != mark:
            self._undecided(f"{token.text[:80]} where {mark} is expected", token)

    def _undecided(self, what: str, token: Token | None = None) -> NoReturn:
        place = (token or self.found[min(self.at, len(self.found) - 1)]).start
        line = self.text.count("\n", 0, place) + 1
        raise _Undecided(f"line {line}: {what}.")
