"""Rewrites texts that the engine could not run as they are: datasets of the request, and remote calls that may fail.

``with_dataset`` writes the dataset that the protocol gives with an update into the update itself.

SPARQL 1.1 Protocol, section 2.2.3: ``using-graph-uri`` and ``using-named-graph-uri`` stand for USING clauses in every
operation that has a WHERE. The engine takes no such arguments, so the clauses are put before each WHERE that follows a
DELETE or INSERT template.

>>> with_dataset('DELETE { ?s ?p 1 } ' 'WHERE { ?s ?p 1 }', [ox.NamedNode("urn:a")], [])
'DELETE { ?s ?p 1 } USING <urn:a> WHERE { ?s ?p 1 }'

``without_silent_calls`` carries out what SPARQL lays down for a remote call that fails SILENTly: every one fails here.

SPARQL 1.1 Federated Query, section 2.2: a SERVICE SILENT that fails gives one solution without bindings. SPARQL 1.1
Update, section 3.1.4: a LOAD SILENT that fails does nothing. The engine would try the call first, and has no switch; so
the call is written out of the text, and the gate refuses whatever call is left.

>>> text = "SELECT * { ?s ?p ?o " "SERVICE SILENT <http://example.org/> { ?o ?q ?r } }"
>>> without_silent_calls(text)
'SELECT * { ?s ?p ?o OPTIONAL { FILTER(false) { ?o ?q ?r } } }'
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.sparql.gate import MAX_CHARACTERS, check_update
from kgrag.sparql.tokens import CLOSING, OPENING, Token, tokens

__all__ = ["with_dataset", "without_silent_calls"]

_NOTHING = "DELETE DATA {}"
_NO_MATCH = "OPTIONAL { FILTER(false) "
_TARGETS = ("iri", "name", "variable")

_Edit = tuple[int, int, str]


def with_dataset(update: str, default: Sequence[ox.NamedNode], named: Sequence[ox.NamedNode]) -> str:
    """Give the update with USING clauses for these graphs; the update itself when there are none.

    Raises:
        InvalidSPARQL: the gate refuses it, or it says itself which graphs it reads.
    """
    reading = check_update(update)
    if not default and not named:
        return update
    if reading.chooses_dataset:
        raise InvalidSPARQL(
            "the update has USING or WITH, and the request gives using-graph-uri or using-named-graph-uri too. "
            "Leave one of them out."
        )
    clauses = [f"USING {graph}" for graph in default] + [f"USING NAMED {graph}" for graph in named]
    parts, last = [], 0
    for place in _wheres(update):
        parts += [update[last:place], *(f"{clause} " for clause in clauses)]
        last = place
    return "".join([*parts, update[last:]])


def _wheres(update: str) -> list[int]:
    """Give where each WHERE begins that stands outside brackets."""
    depth, before, found = 0, "", []
    for token in tokens(update):
        depth += (token.kind in OPENING) - (token.kind in CLOSING)
        if depth == 0 and token.kind == "word" and token.text.upper() == "WHERE":
            if before == "DELETE":
                raise InvalidSPARQL(
                    "DELETE WHERE cannot be given a dataset by the request. Write DELETE with a template and WHERE."
                )
            found.append(token.start)
        before = token.text.upper()
    return found


def without_silent_calls(text: str) -> str:
    """Give the text with every SERVICE SILENT and LOAD SILENT as if it had failed; variables stay in scope.

    Text that is too long for the gate, or calls that are not written as usual, come back as they are.
    """
    if len(text) > MAX_CHARACTERS or not re.search("silent", text, flags=re.IGNORECASE):
        return text
    found = list(tokens(text))
    edits = sorted([*_services(found), *_loads(found)])
    parts, last = [], 0
    for start, end, instead in edits:
        parts += [text[last:start], instead]
        last = end
    return "".join([*parts, text[last:]])


def _services(found: Sequence[Token]) -> list[_Edit]:
    edits: list[_Edit] = []
    for place in _calls(found, "SERVICE"):
        opening = place + 3
        closing = _closing(found, opening)
        if closing is not None and found[opening].kind == "{":
            edits.append((found[place].start, found[opening].start, _NO_MATCH))
            edits.append((found[closing].end, found[closing].end, " }"))
    return edits


def _loads(found: Sequence[Token]) -> list[_Edit]:
    edits: list[_Edit] = []
    for place in _calls(found, "LOAD"):
        end = place + 2
        if [token.text.upper() for token in found[end + 1 : end + 3]] == ["INTO", "GRAPH"]:
            end = min(end + 3, len(found) - 1)
        edits.append((found[place].start, found[end].end, _NOTHING))
    return edits


def _calls(found: Sequence[Token], keyword: str) -> list[int]:
    """Give where ``keyword SILENT target`` stands."""
    return [
        place
        for place, (first, second, target) in enumerate(zip(found, found[1:], found[2:], strict=False))
        if (first.text.upper(), second.text.upper()) == (keyword, "SILENT") and target.kind in _TARGETS
    ]


def _closing(found: Sequence[Token], opening: int) -> int | None:
    depth = 0
    for place in range(opening, len(found)):
        kind = found[place].kind
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth == 0:
            return place
    return None
