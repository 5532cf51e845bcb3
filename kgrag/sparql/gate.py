"""Refuses SPARQL from outside that would reach the network or kill the process, before the parser sees it.

The store's engine has no switch for ``SERVICE`` and ``LOAD`` (both fetch any address), and its parser recurses on the
native stack: text that is nested or chained too deep ends the process without an exception. The gate reads the text
with a small tokenizer that knows strings, comments and IRIs. It is for text that people, programs or models send in;
stored queries are ours and don't pass through it.

The engine wants no blank between a keyword and what follows: ``SERVICEex:a {`` and ``trueSERVICE<…>`` are calls of a
service. The gate therefore refuses a word or a prefix that *contains* such a keyword where one could stand. One spot of
SPARQL can't be read without parsing: ``?a<x#>`` is a comparison and a comment, or an IRI. Such text is refused only
where the other reading could hide something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kgrag.errors import InvalidSPARQL

__all__ = [
    "MAX_CHAIN",
    "MAX_CHARACTERS",
    "MAX_DEPTH",
    "Reading",
    "check_query",
    "check_update",
    "harmless",
    "names_datasets",
    "tokens",
]

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 50
MAX_CHAIN = 1_000

_TOKEN = re.compile(
    r"""
      (?P<blank>[ \t\r\n]+)
    | (?P<comment>\#[^\r\n]*)
    | (?P<string>\"{3}(?:[^\"\\]++|\\.|\"{1,2}+(?!\"))*+\"{3} | '{3}(?:[^'\\]++|\\.|'{1,2}+(?!'))*+'{3}
        | (?!\"{3}|'{3})(?:\"(?:[^\"\\\r\n]++|\\.)*+\" | '(?:[^'\\\r\n]++|\\.)*+'))
    | (?P<quote>["'])
    | (?P<iri><[^<>"{}|^`\x00-\x20]*>)
    | (?P<variable>[?$]\w+)
    | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<label>_:\w(?:[\w.·-]*[\w·-])?)
    | (?P<name>(?:[^\W\d_][\w.·-]*+)?:
        (?:(?:[\w:]|%[0-9A-Fa-f]{2}|\\.)(?:(?:[\w:.·-]|%[0-9A-Fa-f]{2}|\\.)*(?:[\w:·-]|%[0-9A-Fa-f]{2}|\\.))?)?)
    | (?P<word>[^\W\d][\w.·-]*+ | \d[\w.]*+)
    | (?P<open><<(?!{iri})|[{(\[])
    | (?P<close>>>|[})\]])
    | (?P<datatype>\^\^)
    | (?P<chain>&&|\|\||[-+*/|!^])
    | (?P<other>.)
    """.replace("{iri}", r"""[^<>"{}|^`\x00-\x20]*>"""),
    flags=re.VERBOSE | re.DOTALL,
)
_DELICATE = ("service", "load", "silent", "from", "using", "with", '"', "'", "\\")
_CHAINS = frozenset({"UNION", "OPTIONAL", "MINUS", "FILTER", "BIND", "EXISTS", "LATERAL", "AS"})
_ADDING = frozenset({"INSERT", "ADD", "COPY", "MOVE"})
_REMOVING = frozenset({"DELETE", "CLEAR", "DROP", "COPY", "MOVE"})
_PROLOGUE = frozenset({"BASE", "PREFIX", "VERSION"})
_BEFORE_NAME = frozenset({"PREFIX", "WITH", "NAMED", "USING", "GRAPH", "TO", "ADD", "MOVE", "COPY", "SILENT", "DROP"})
_BEFORE_NAME |= {"CLEAR", "CREATE", "INTO"}


@dataclass(slots=True)
class Reading:
    """What the gate learnt of a text.

    ``words`` are those outside strings, comments, IRIs and names, in capitals; ``last`` is the last token.
    """

    words: set[str] = field(default_factory=set)
    last: str = ""

    @property
    def chooses_dataset(self) -> bool:
        """Whether the text itself says which graphs make up the default graph (FROM, USING)."""
        return bool(self.words & {"FROM", "USING", "WITH"})

    @property
    def adds_and_removes(self) -> bool:
        """Whether an update may both add triples and take some away, so that as many may be others."""
        return bool(self.words & _ADDING) and bool(self.words & _REMOVING)

    @property
    def does_nothing(self) -> bool:
        """Whether an update has no operation at all."""
        return self.words <= _PROLOGUE


def harmless(text: str) -> bool:
    """Say whether a short query has nothing that the gate looks for, whatever its tokens are.

    Then ``check_query`` would let it pass with a ``Reading`` that chooses no dataset: each bracket and each operator of
    a chain takes a character, and no string can be open. Saves the tokenizer for small queries.
    """
    if len(text) > MAX_CHAIN or not text.isascii() or sum(map(text.count, "{([<")) > MAX_DEPTH:
        return False
    small = text.lower()
    return not any(map(small.__contains__, _DELICATE))


def check_query(text: str) -> Reading:
    """Let a query pass, or say why not.

    Raises:
        InvalidSPARQL: it is too long, nested or chained too deep, or names a remote service.
    """
    return _read(text, update=False)


def check_update(text: str) -> Reading:
    """Let an update pass, or say why not.

    Raises:
        InvalidSPARQL: it is too long, nested or chained too deep, names a remote service, or loads from an address.
    """
    return _read(text, update=True)


def names_datasets(text: str) -> bool:
    """Say whether a query names the graphs of its default graph itself (FROM).

    Raises:
        InvalidSPARQL: the gate refuses it.
    """
    return check_query(text).chooses_dataset


def _read(text: str, *, update: bool) -> Reading:
    if len(text) > MAX_CHARACTERS:
        raise InvalidSPARQL(
            f"the text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are allowed. "
            "Send it in parts, or load data as a file."
        )
    walk = _Walk(text, update)
    for token in tokens(text):
        walk.step(token)
    return Reading(words=walk.words, last=walk.last)


def tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield the tokens of a text without blanks and comments; ``lastgroup`` tells the kind of each."""
    for token in _TOKEN.finditer(text):
        if token.lastgroup not in ("blank", "comment"):
            yield token


class _Walk:
    """Goes through the tokens once, keeping what decides: brackets, chain length, and the token before."""

    def __init__(self, text: str, update: bool) -> None:
        self.text = text
        self.update = update
        self.words: set[str] = set()
        self.last = ""
        self._before = ""
        self._open: list[tuple[str, bool]] = []
        self._chain = 0
        self._data = False
        self._suspicious = bool(re.search(r"service|load", text, flags=re.IGNORECASE))
        self._brackets = len(re.findall(r"[{(\[]|<<", text))

    def step(self, token: re.Match[str]) -> None:
        kind, value = token.lastgroup or "", token.group()
        handler = getattr(self, f"_on_{kind}", None)
        if handler is not None:
            handler(value, token.start())
        self.last = value
        self._before = value.upper() if kind == "word" else kind

    def _on_quote(self, value: str, at: int) -> None:
        self._refuse(at, f"a string opened by {value} is not closed", "Close it, and write line breaks in it as \\n")

    def _on_open(self, value: str, at: int) -> None:
        if value == "{" and self._before == "name":
            self._refuse_service_prefix(at)
        self._open.append((value, self._in_data() or (self._data and value == "{")))
        if value == "{":
            self._data = False
            if not self._in_data():
                self._count(at)
        if len(self._open) > MAX_DEPTH:
            self._refuse(at, f"brackets are nested more than {MAX_DEPTH} deep", "Split it into several requests")

    def _on_close(self, value: str, _at: int) -> None:
        if value == ">>" and (not self._open or self._open[-1][0] != "<<"):
            return
        if self._open:
            self._open.pop()

    def _on_iri(self, value: str, at: int) -> None:
        ambiguous = re.search(r"['#]", value) and not re.match(r"<[A-Za-z][\w+.-]*://", value)
        if ambiguous and (self._suspicious or self._brackets > MAX_DEPTH):
            self._refuse(at, f"{value[:80]} can be read as an IRI or as a comparison", "Write the IRI with a prefix")

    def _on_word(self, value: str, at: int) -> None:
        text = value.upper()
        for keyword in ("SERVICE", "LOAD"):
            if keyword in text:
                self._refuse(at, f"{keyword} reaches the network and is switched off", "Load the data first, as a file")
        for word in re.findall(r"\w+", text):
            self.words.add(word)
            if word in ("VALUES", "DATA"):
                self._data = True
            elif word in _CHAINS:
                self._count(at)
        self._on_chains(value.count("-"), at)

    def _on_name(self, value: str, at: int) -> None:
        prefix = value.partition(":")[0].upper()
        at_statement = self.update and not self._open and self._before not in _BEFORE_NAME
        if "LOAD" in prefix and at_statement:
            self._refuse(at, f"{value[:80]} can be read as LOAD, which reaches the network", "Rename the prefix")

    def _on_chain(self, value: str, at: int) -> None:
        if not (self._in_data() and value in "+-"):
            self._count(at)

    def _on_chains(self, times: int, at: int) -> None:
        for _ in range(times):
            self._count(at)

    def _in_data(self) -> bool:
        return bool(self._open) and self._open[-1][1]

    def _count(self, at: int) -> None:
        self._chain += 1
        if self._chain > MAX_CHAIN:
            what = f"more than {MAX_CHAIN:,} operators and groups are chained"
            self._refuse(at, what, "Use VALUES or IN for long lists, or split it into several requests")

    def _refuse_service_prefix(self, at: int) -> None:
        prefix = self.last.partition(":")[0].upper()
        if "SERVICE" in prefix:
            what = f"{self.last[:80]} {{ can be read as SERVICE, which reaches the network"
            self._refuse(at, what, "Rename the prefix")

    def _refuse(self, at: int, what: str, instead: str) -> None:
        line = self.text.count("\n", 0, at) + 1
        column = at - self.text.rfind("\n", 0, at)
        raise InvalidSPARQL(f"line {line}, column {column}: {what}. {instead}.")
