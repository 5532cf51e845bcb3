"""Carries out what SPARQL says of a remote call that fails SILENTly: here every remote call fails.

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

from kgrag.stages.sparql_gate import MAX_CHARACTERS, tokens

__all__ = ["without_silent_calls"]

_NOTHING = "DELETE DATA {}"
_NO_MATCH = "OPTIONAL { FILTER(false) "
_TARGETS = ("iri", "name", "variable")

_Edit = tuple[int, int, str]


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


def _services(found: Sequence[re.Match[str]]) -> list[_Edit]:
    edits: list[_Edit] = []
    for place in _calls(found, "SERVICE"):
        opening = place + 3
        closing = _closing(found, opening)
        if closing is not None and found[opening].group() == "{":
            edits.append((found[place].start(), found[opening].start(), _NO_MATCH))
            edits.append((found[closing].end(), found[closing].end(), " }"))
    return edits


def _loads(found: Sequence[re.Match[str]]) -> list[_Edit]:
    edits: list[_Edit] = []
    for place in _calls(found, "LOAD"):
        end = place + 2
        if [token.group().upper() for token in found[end + 1 : end + 3]] == ["INTO", "GRAPH"]:
            end = min(end + 3, len(found) - 1)
        edits.append((found[place].start(), found[end].end(), _NOTHING))
    return edits


def _calls(found: Sequence[re.Match[str]], keyword: str) -> list[int]:
    """Give where ``keyword SILENT target`` stands."""
    return [
        place
        for place, (first, second, target) in enumerate(zip(found, found[1:], found[2:], strict=False))
        if (first.group().upper(), second.group().upper()) == (keyword, "SILENT") and target.lastgroup in _TARGETS
    ]


def _closing(found: Sequence[re.Match[str]], opening: int) -> int | None:
    depth = 0
    for place in range(opening, len(found)):
        kind = found[place].lastgroup
        depth += (kind == "open") - (kind == "close")
        if depth == 0:
            return place
    return None
