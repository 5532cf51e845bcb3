"""Terms that an update must not write, since the engine stores them and no reader takes back what it writes of them.

They are literals of ``rdf:langString`` without a language or ``rdf:dirLangString`` alike, and blank nodes with a colon
in their label: neither Turtle nor the N-Quads of a dump can be read again. The gate refuses such literals in a text.
What ``STRDT`` and ``BNODE`` make is known when the update runs. ``with_readable_terms`` makes ``STRDT`` an error there,
as ``STRLANG`` is one with what is no language tag, so that its result is unbound; and it names the nodes of ``BNODE``
by the hash of what they are made of, which is as good as any other label.

>>> text = "INSERT { ?s ?p ?n, ?b } WHERE { ?s ?p ?o BIND(STRDT('a', DATATYPE(?o)) AS ?n) BIND(BNODE('x:y') AS ?b) }"
>>> text = with_readable_terms(text)
>>> text.count("IF((DATATYPE(?o)) IN ("), text.count("BNODE(SHA256('x:y'))")
(1, 1)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from kgrag.late_patterns import late_re
from kgrag.sparql.tokens import Token, tokens, unescaped
from kgrag.vocab import PREFIXES, RDF

__all__ = ["TypedCall", "may_need_a_language", "typed_calls", "with_readable_terms"]

_DATATYPES = (RDF.langString.value, RDF.dirLangString.value)
_ENDS_OF_RELATIVE = tuple(f"#{datatype.partition('#')[2]}" for datatype in _DATATYPES)
_SCHEME = late_re("[A-Za-z][A-Za-z0-9+.-]*:")
_CALLED = late_re(r"(?:STRDT|BNODE)\b", flags=re.IGNORECASE)
_OPENING, _CLOSING = frozenset({"(", "<<("}), frozenset({")", ")>>"})
_REFUSED_WITHIN = frozenset({"BNODE", "RAND", "STRDT", "STRUUID", "UUID"})
"""Not in a datatype that is computed, which is written twice: functions with another value each time, and STRDT."""


class TypedCall(NamedTuple):
    """A call of STRDT: where its second argument begins and ends in the text.

    ``datatype`` is that argument where it is an IRI or a prefixed name, else ""; ``function`` is one that may not stand
    in it, else "".
    """

    start: int
    end: int
    datatype: str
    function: str


def may_need_a_language(datatype: str, namespaces: Mapping[str, Sequence[str]]) -> bool:
    """Return whether a datatype may be one of those that need a language.

    Args:
        datatype: an IRI in angle brackets, or a prefixed name, as a text has it.
        namespaces: all that the text declares for each prefix.
    """
    if datatype.startswith("<"):
        return _needs_a_language(unescaped(datatype[1:-1]))
    prefix, _, local = datatype.partition(":")
    local = local.replace("\\", "")
    known = namespaces.get(prefix) or [PREFIXES[prefix]] if prefix in {*namespaces, *PREFIXES} else []
    if not known:  # the caller declares it
        return any(each.endswith(local) for each in _DATATYPES)
    return any(_needs_a_language(namespace + local) for namespace in known)


def _needs_a_language(iri: str) -> bool:
    return iri in _DATATYPES or (iri.endswith(_ENDS_OF_RELATIVE) and not _SCHEME.match(iri))


def typed_calls(text: str) -> Iterator[TypedCall]:
    """Yield the calls of STRDT with two arguments."""
    for arguments, _ in _calls("STRDT", list(tokens(text))):
        commas = [place for place, (depth, token) in enumerate(arguments) if depth == 1 and token.kind == ","]
        argument = [token for _, token in arguments[commas[0] + 1 :]] if commas else []
        if argument:
            first = argument[0]
            is_constant = len(argument) == 1 and first.kind in ("iri", "name")
            words = (token.text.upper() for token in argument if token.kind == "word")
            function = next((name for word in words for name in _REFUSED_WITHIN if word.endswith(name)), "")
            yield TypedCall(first.start, argument[-1].end, first.text if is_constant else "", function)


def _calls(function: str, found: Sequence[Token]) -> Iterator[tuple[list[tuple[int, Token]], Token]]:
    """Yield of each call of a function the tokens of its arguments with their depth, and the bracket that ends it."""
    for place, (name, bracket) in enumerate(pairwise(found)):
        if name.kind != "word" or not name.text.upper().endswith(function) or bracket.kind != "(":
            continue
        depth = 1
        arguments: list[tuple[int, Token]] = []
        for token in found[place + 2 :]:
            depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
            if depth == 0:
                yield arguments, token
                break
            arguments.append((depth, token))


def with_readable_terms(text: str) -> str:
    """Return an update, past the gate, in which STRDT and BNODE make nothing that no reader takes back."""
    if not _CALLED.search(text):
        return text
    refused = ", ".join(f"<{datatype}>" for datatype in _DATATYPES)
    edits = []
    for call in typed_calls(text):
        if not call.datatype:
            argument = text[call.start : call.end]
            edits.append((call.start, call.end, f"IF(({argument}) IN ({refused}), 1/0, {argument})"))
    for arguments, bracket in _calls("BNODE", list(tokens(text))):
        if arguments:
            first = arguments[0][1].start
            edits += [(first, first, "SHA256("), (bracket.start, bracket.start, ")")]
    for start, end, instead in sorted(edits, reverse=True):  # none is within another that is replaced
        text = f"{text[:start]}{instead}{text[end:]}"
    return text
