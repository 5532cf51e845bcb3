"""Refuses SPARQL from outside that would reach the network or kill the process, before the engine parses it.

The store's engine has no switch for ``SERVICE`` and ``LOAD``, which fetch any address, and its parser recurses on the
native stack: text that is nested or chained too deep ends the process without an exception. The gate reads the tokens
of the text. It is for text that people, programs or models send in; stored queries are ours and don't pass through it.
An update is refused, too, where it would write literals that nothing reads back (``kgrag.sparql.computed_terms``).

Where the engine cuts a text in another way than ``tokens`` does, something could hide:

* A keyword needs no blank after it: ``SERVICEex:a {`` and ``trueSERVICE<…>`` are calls. A word or a prefix that
  contains such a keyword is refused where one could be read.
* ``?a<x#>`` is a comparison and a comment, or an IRI. Only parsing decides, so such a text is refused where the
  other reading could hide something.
* A prefixed name that makes no IRI (``ex:SERVICE`` with ``PREFIX ex: <http://h:8>``) is cut after its colon. It is
  refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.late_patterns import late_re
from kgrag.sparql.computed_terms import may_need_a_language, typed_calls
from kgrag.sparql.tokens import CLOSING, IRI, OPENING, Token, string_fault, tokens, unescaped

__all__ = [
    "MAX_CHAIN",
    "MAX_CHARACTERS",
    "MAX_DEPTH",
    "MAX_PATH_STEPS",
    "AdmittedText",
    "check_query",
    "check_update",
    "harmless",
    "names_datasets",
]

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 50
MAX_CHAIN = 1_000
MAX_PATH_STEPS = 200
"""Steps of a property path (or divisions in an expression): the engine's work for them is worse than quadratic."""

_DELICATE = ("service", "load", "silent", "from", "using", "with", '"', "'", "\\")
_CALLS = late_re("service|load", flags=re.IGNORECASE)
_TYPES = late_re(r"strdt|\^\^", flags=re.IGNORECASE)
_CHAINED = late_re("UNION|OPTIONAL|MINUS|FILTER|BIND|EXISTS|LATERAL|AS")
_OPERATORS = frozenset({"&&", "||", "-", "+", "*", "/", "|", "!", "^", "?"})
_CHAIN_ELEMENT = late_re(rf"[-+*/|!^?&{{]|{_CHAINED.pattern}", flags=re.IGNORECASE)
_OPENS = late_re(r"[{(\[]|<<")
_PATH_ENDS = frozenset({".", ";", "{", "}", "variable"})
_NO_OPERAND = _OPERATORS | {"(", ",", "=", "!=", "<", ">", "<=", ">=", "^^", ""}
# What an IRI needs in it to be read as the rest of a comparison and more: its end, a comment, a string.
_COMPARISON = late_re(r"(?!<[A-Za-z][A-Za-z0-9+.-]*://)[^'#(),&]*['#(),&]")
_GLUED = late_re("ADD|CLEAR|COPY|DELETE|DROP|FROM|INSERT|MOVE|USING|WHERE|WITH")
_ADDING = frozenset({"INSERT", "ADD", "COPY", "MOVE"})
_REMOVING = frozenset({"DELETE", "CLEAR", "DROP", "COPY", "MOVE"})
_PROLOGUE = frozenset({"BASE", "PREFIX", "VERSION"})
_OF_INSERT_DATA = _PROLOGUE | {"INSERT", "DATA", "GRAPH", "A", "TRUE", "FALSE"}
_BEFORE_NAME = frozenset({"PREFIX", "WITH", "NAMED", "USING", "GRAPH", "TO", "ADD", "MOVE", "COPY", "SILENT", "DROP"})
_BEFORE_NAME |= {"CLEAR", "CREATE", "INTO"}
# In a local name, all that can keep it from making an IRI: a second "#", and characters that no IRI has.
_ODD_LOCAL = late_re("\\\\#|[\ufff0-\uffff]")
_ANY_NAMESPACE = "http://example.org/#"  # for a prefix that the caller declares: no namespace is odder
# What is appended to such a namespace becomes part of a host or a port.
_ENDS_IN_AUTHORITY = late_re(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


@dataclass(slots=True)
class AdmittedText:
    """A text that the gate let pass.

    ``words`` are those outside strings, comments, IRIs and names, in capitals, and the keywords that are glued together
    in one word; ``last`` is the last token; ``named_graphs`` is how often FROM stands in the text.
    """

    words: set[str] = field(default_factory=set)
    last: str = ""
    named_graphs: int = 0

    @property
    def chooses_dataset(self) -> bool:
        """Whether the text names the graphs that make up the default graph itself (FROM, USING)."""
        return bool(self.words & {"FROM", "USING", "WITH"})

    @property
    def adds_and_removes(self) -> bool:
        """Whether an update may both add triples and take some away, so that as many may be others."""
        return bool(self.words & _ADDING) and bool(self.words & _REMOVING)

    @property
    def only_inserts_data(self) -> bool:
        """Whether an update has no other operation than INSERT DATA, so that its text has all that it adds."""
        return "INSERT" in self.words and self.words <= _OF_INSERT_DATA

    @property
    def does_nothing(self) -> bool:
        """Whether an update has no operation at all."""
        return self.words <= _PROLOGUE


def harmless(text: str) -> bool:
    """Return whether a short query has nothing that the gate looks for, whatever its tokens are.

    Then ``check_query`` would let it pass with an ``AdmittedText`` that chooses no dataset: each bracket and each
    operator of a chain takes a character, and no string can be open. Saves cutting small queries into tokens.
    """
    if len(text) > MAX_CHAIN or not text.isascii() or sum(map(text.count, "{([<")) > MAX_DEPTH:
        return False
    small = text.lower()
    return not any(map(small.__contains__, _DELICATE))


def check_query(text: str) -> AdmittedText:
    """Return what the gate read of a query that may be run.

    Raises:
        InvalidSPARQL: it is too long, nested or chained too deep, or names a remote service.
    """
    return _Walk(text, update=False).admitted()


def check_update(text: str) -> AdmittedText:
    """Return what the gate read of an update that may be run.

    Raises:
        InvalidSPARQL: it is too long, nested or chained too deep, names a remote service, loads from an address, or has
            a literal that nothing reads back.
    """
    return _Walk(text, update=True).admitted()


def names_datasets(text: str) -> bool:
    """Return whether a query names the graphs of its default graph itself (FROM).

    Raises:
        InvalidSPARQL: the gate refuses it.
    """
    return check_query(text).chooses_dataset


class _Walk:
    """Goes through the tokens once, and keeps what decides: open brackets, chain length, namespaces, the last token."""

    def __init__(self, text: str, *, update: bool) -> None:
        if len(text) > MAX_CHARACTERS:
            raise InvalidSPARQL(
                f"the text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed. "
                "Send it in parts, or load data as a file."
            )
        self.text = text
        self.update = update
        self.words: set[str] = set()
        self.last = ""
        self._before = ""  # the kind of the last token, for a word the word itself
        self._open: list[tuple[str, bool]] = []  # brackets, and whether what is in them is data
        self._chain = 0
        self._steps = self._froms = 0
        self._data_follows = False
        self._base = ""
        self._namespaces: dict[str, list[str]] = {}  # all of a prefix, since only parsing decides which is valid
        self._declared: str | None = None
        self._datatypes: dict[str, int] = {}  # behind ^^, and where the first of each is

    def admitted(self) -> AdmittedText:
        """Read the whole text."""
        handlers = {
            "word": self._on_word,
            "name": self._on_name,
            "iri": self._on_iri,
            "other": self._on_other,
            **dict.fromkeys(OPENING, self._on_opening),
            **dict.fromkeys(CLOSING, self._on_closing),
            **dict.fromkeys(_OPERATORS, self._on_operator),
        }
        for token in tokens(self.text):
            kind = token.kind
            if handler := handlers.get(kind):
                handler(token)
            if kind in _PATH_ENDS:
                self._steps = 0
            self.last = token.text
            self._before = token.text.upper() if kind == "word" else kind
        if self.update:
            self._check_datatypes()
        return AdmittedText(self.words, self.last, self._froms)

    def _check_datatypes(self) -> None:
        """Refuse text in a language without the language, and STRDT where what it makes cannot be checked."""
        if any("STRDT" in word for word in self.words):
            for call in typed_calls(self.text):
                if call.datatype:
                    self._datatypes.setdefault(call.datatype, call.start)
                elif call.function:
                    what = f"the datatype of a STRDT is computed by {call.function}"
                    self._refuse(call.start, what, "Compute it with BIND before, and use the variable")
        for datatype, at in self._datatypes.items():
            if may_need_a_language(datatype, self._namespaces):
                what = (
                    f"{datatype[:80]} as datatype is text in a language without the language, which nothing reads back"
                )
                self._refuse(at, what, 'Write "..."@en or the language it is, or a plain string')

    def _on_other(self, token: Token) -> None:
        if token.text in "\"'":
            fault, instead, at = string_fault(self.text, token.start)
            self._refuse(at, fault, instead)

    def _on_opening(self, token: Token) -> None:
        kind = token.kind
        if kind == "{":
            if self._before == "name":
                prefix = self.last.partition(":")[0].upper()
                if "SERVICE" in prefix:
                    what = f"{self.last[:80]} {{ can be read as SERVICE, which reaches the network"
                    self._refuse(token.start, what, "Rename the prefix")
            data = self._in_data() or self._data_follows
            self._data_follows = False
            if not data:
                self._count(token.start)
        else:
            data = self._in_data()
            if kind == "{|" or not self._open:  # GROUP BY (1) (1) …, HAVING (1) (1) …
                self._count(token.start)
            elif kind in ("<<", "<<(") and (iri := IRI.match(self.text, token.start + 1)):
                self._check_comparison(iri[0], token.start)
        self._open.append((kind, data))
        if len(self._open) > MAX_DEPTH:
            what = f"brackets are nested more than {MAX_DEPTH} deep"
            self._refuse(token.start, what, "Split it into several requests")

    def _on_closing(self, token: Token) -> None:
        """Forget the last bracket; ``>>`` closes nothing where it can be two comparisons."""
        if self._open and (token.kind != ">>" or self._open[-1][0] == "<<"):
            self._open.pop()

    def _on_operator(self, token: Token) -> None:
        if not (token.kind in "+-" and self._in_data()):  # there it is the sign of a number
            self._count(token.start)
        if token.kind in "/|":
            self._steps += 1
            if self._steps > MAX_PATH_STEPS:
                what = f"a property path has more than {MAX_PATH_STEPS} steps"
                self._refuse(token.start, what, "Use + or *, or name nodes in between")

    def _on_word(self, token: Token) -> None:
        text = token.text.upper()
        for keyword in ("SERVICE", "LOAD"):
            if keyword in text:
                what = f"{keyword} reaches the network and is switched off"
                self._refuse(token.start, what, "Load the data first, as a file")
        self.words.update(re.findall(r"\w+", text))
        glued = _GLUED.findall(text)
        self.words.update(glued)
        self._froms += glued.count("FROM")
        self._data_follows |= text.endswith(("VALUES", "DATA"))
        self._count(token.start, text.count("-") + len(_CHAINED.findall(text)))

    def _on_iri(self, token: Token) -> None:
        if self._before == "^^":
            self._datatypes.setdefault(token.text, token.start)
        if self._declared is not None and self._before == "name":
            self._namespaces.setdefault(self._declared, []).append(self._resolved(token.text))
        elif self._before.endswith("BASE"):
            self._base = self._resolved(token.text)
        else:
            self._check_comparison(token.text, token.start)

    def _check_comparison(self, iri: str, at: int) -> None:
        """Refuse what can be read as an IRI or as a comparison, unless nothing could hide in the other reading.

        The engine reads a comparison within round brackets only, and only after an operand.
        """
        if self._before in _NO_OPERAND or not self._open or self._open[-1] != ("(", False):
            return
        if _COMPARISON.match(iri) and (
            _CALLS.search(self.text)
            or (self.update and _TYPES.search(self.text))
            or len(_OPENS.findall(self.text)) > MAX_DEPTH
            or len(_CHAIN_ELEMENT.findall(self.text)) > MAX_CHAIN
        ):
            what = f"{iri[:80]} can be read as an IRI or as a comparison"
            self._refuse(at, what, "Write the IRI with a prefix, or a blank after <")

    def _on_name(self, token: Token) -> None:
        if self._before == "^^":
            self._datatypes.setdefault(token.text, token.start)
        prefix, _, local = token.text.partition(":")
        keyword = prefix.upper()
        self._declared = prefix if self._before == "PREFIX" else prefix[6:] if keyword.startswith("PREFIX") else None
        self._check_makes_iri(prefix, local, token.start)
        if not self._in_data():
            self._count(token.start, keyword.count("FILTER"))  # FILTERex:function(…)
        at_statement = self.update and not self._open and self._before not in _BEFORE_NAME
        if at_statement and "LOAD" in keyword:
            what = f"{token.text[:80]} can be read as LOAD, which reaches the network"
            self._refuse(token.start, what, "Rename the prefix")

    def _check_makes_iri(self, prefix: str, local: str, at: int) -> None:
        """Refuse a name that makes no IRI: the engine reads it as the prefix alone, and what is left as keywords."""
        odd = _ODD_LOCAL.search(local)
        for namespace in self._namespaces.get(prefix, [_ANY_NAMESPACE]):
            if local and (odd or _ENDS_IN_AUTHORITY.fullmatch(namespace)):
                try:
                    ox.NamedNode(namespace + local.replace("\\", ""))
                except ValueError as error:
                    what = f"{prefix}:{local[:80]} makes no IRI with <{namespace[:80]}>: {error}"
                    self._refuse(at, what, "End the namespace with / or #, or write the IRI in angle brackets")

    def _resolved(self, iri: str) -> str:
        """Return the IRI that a declaration means; of a path only that it is one, which is all that matters here."""
        text = unescaped(iri[1:-1])
        if text.startswith("//"):
            return f"http:{text}"
        return text or self._base

    def _in_data(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def _count(self, at: int, times: int = 1) -> None:
        self._chain += times
        if self._chain > MAX_CHAIN:
            what = f"more than {MAX_CHAIN:,} operators and groups are chained"
            self._refuse(at, what, "Use VALUES or IN for long lists, or split it into several requests")

    def _refuse(self, at: int, what: str, instead: str) -> NoReturn:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        raise InvalidSPARQL(f"line {line}, column {column}: {what}. {instead}.")
