"""The operations of an update one by one, and a query each that returns the graphs which it may write to.

A template such as ``INSERT { GRAPH ?g { … } }`` names no graph. Its WHERE does: what it binds ``?g`` to is found by a
SELECT, before the operation is run, with as much work as the operation itself has.

>>> [each.select for each in operations("DELETE WHERE { GRAPH ?g { ?s ?p 1 } } ; INSERT DATA { <urn:a> <urn:b> 2 }")]
['SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p 1 } }', '']
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kgrag.late_patterns import late_re
from kgrag.sparql.tokens import Token, tokens

__all__ = ["Operation", "operations"]

_OPENING, _CLOSING = frozenset("{(["), frozenset("})]")
_IN_TEMPLATES = frozenset({"A", "FALSE", "GRAPH", "TRUE"})
_BY_NAME = frozenset({"ADD", "CLEAR", "COPY", "CREATE", "DROP", "MOVE"})
_ABSOLUTE = late_re(r"<[A-Za-z][\w+.-]*://[^\\]*$")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: ``text`` with the prologue that it needs.

    ``select`` returns the graphs that it may write to in its columns, "" where it writes to none with a name; None
    where that cannot be told by such a query.
    """

    text: str
    select: str | None


def operations(update: str) -> list[Operation]:
    """Return the operations of an update that the gate let pass; one with ``select`` None where it cannot be cut.

    >>> operations("CLEAR ALL")
    [Operation(text='CLEAR ALL', select=None)]
    """
    found = [token for token in tokens(update) if token.kind != "end"]
    if _is_disguised(update, found):
        return [Operation(update, None)]
    prologue, cut = "", []
    for part in _split(found):
        begin = _after_prologue(part)
        if begin:
            prologue += update[part[0].start : part[begin - 1].end] + "\n"
        if begin < len(part):
            text = update[part[begin].start : part[-1].end]
            select = _select(update, part[begin:])
            cut.append(Operation(prologue + text, prologue + select if select else select))
    return cut


def _is_disguised(update: str, found: Sequence[Token]) -> bool:
    """Return whether the engine might cut a text into other words than these tokens."""
    return "\\u" in update.lower() or any(
        (token.kind == "iri" and re.search(r"['\\]", token.text) and not _ABSOLUTE.match(token.text))
        or (token.kind == "name" and token.text.upper().startswith(("GRAPH", "SILENT")))
        for token in found
    )


def _split(found: Sequence[Token]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
        if token.kind == ";" and not depth:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def _after_prologue(part: Sequence[Token]) -> int:
    """Return the place behind PREFIX and BASE."""
    at = 0
    while at < len(part) and part[at].kind == "word" and part[at].text.upper() in ("BASE", "PREFIX"):
        at += 2 if part[at].text.upper() == "BASE" else 3
    return min(at, len(part))


def _select(update: str, part: Sequence[Token]) -> str | None:
    words, blocks = _outline(part)
    if words[:1] and words[0] in _BY_NAME:
        named = [token.text for token in part if token.kind in ("iri", "name")]
        return None if {"ALL", "NAMED"} & set(words) else _query([], named, "{}")
    shapes = {
        ("INSERT", "DATA", "{"): (1, False),
        ("DELETE", "DATA", "{"): (1, False),
        ("DELETE", "WHERE", "{"): (1, True),
        ("INSERT", "{", "WHERE", "{"): (1, True),
        ("INSERT", "{", "{"): (1, True),
        ("DELETE", "{", "WHERE", "{"): (1, True),
        ("DELETE", "{", "{"): (1, True),
        ("DELETE", "{", "INSERT", "{", "WHERE", "{"): (2, True),
        ("DELETE", "{", "INSERT", "{", "{"): (2, True),
    }
    if tuple(words) not in shapes:  # WITH and USING choose what WHERE is matched against
        return None
    templates, searches = shapes[tuple(words)]
    variables: list[str] = []
    named = []
    for block in blocks[:templates]:
        for word, name in pairwise(block):
            if word.kind == "word" and word.text.upper() not in _IN_TEMPLATES:
                return None
            if word.kind == "word" and word.text.upper() == "GRAPH":
                (variables if name.kind == "variable" else named).append(name.text)
    where = update[blocks[-1][0].start : blocks[-1][-1].end] if searches else "{}"
    return _query(variables, named, where)


def _query(variables: Sequence[str], named: Sequence[str], where: str) -> str:
    columns = [*dict.fromkeys(variables)]
    columns += [f"({name} AS ?kgragGraph{number})" for number, name in enumerate(dict.fromkeys(named))]
    return f"SELECT DISTINCT {' '.join(columns)} WHERE {where}" if columns else ""


def _outline(part: Sequence[Token]) -> tuple[list[str], list[list[Token]]]:
    """Return the words outside all braces with "{" for each block, and the tokens of the blocks, braces included."""
    words: list[str] = []
    blocks: list[list[Token]] = []
    depth = 0
    for token in part:
        if token.kind == "{" and not depth:
            blocks.append([])
            words.append("{")
        if token.kind == "{":
            depth += 1
        if depth:
            blocks[-1].append(token)
        else:
            words.append(token.text.upper() if token.kind == "word" else token.kind)
        if token.kind == "}":
            depth -= 1
    return words, blocks
