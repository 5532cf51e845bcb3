"""Writes the dataset that the protocol gives with an update into the update itself.

SPARQL 1.1 Protocol, section 2.2.3: ``using-graph-uri`` and ``using-named-graph-uri`` stand for USING clauses in every
operation that has a WHERE. The engine takes no such arguments, so the clauses are put before each WHERE that follows a
DELETE or INSERT template.

>>> with_dataset('DELETE { ?s ?p 1 } ' 'WHERE { ?s ?p 1 }', [ox.NamedNode("urn:a")], [])
'DELETE { ?s ?p 1 } USING <urn:a> WHERE { ?s ?p 1 }'
"""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.stages.sparql_gate import check_update, tokens

__all__ = ["with_dataset"]


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
        kind, value = token.lastgroup, token.group()
        depth += (kind == "open") - (kind == "close")
        if depth == 0 and kind == "word" and value.upper() == "WHERE":
            if before == "DELETE":
                raise InvalidSPARQL(
                    "DELETE WHERE cannot be given a dataset by the request. Write DELETE with a template and WHERE."
                )
            found.append(token.start())
        before = value.upper()
    return found
