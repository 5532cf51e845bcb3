"""Takes quads out of a store and puts others in, in one atomic step.

The engine has no transactions but updates. Quads are handed to an update as row numbers that functions turn into
terms: no term is written as text, and blank nodes keep their names. Measured: about 40,000 quads/s.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pyoxigraph as ox

from kgrag import queries

__all__ = ["exchange", "functions"]

_ROW = "https://w3id.org/kgrag/row#"

_Function = Callable[..., ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None]


def exchange(
    store: ox.Store,
    gone: Sequence[ox.Quad],
    come: Sequence[ox.Quad],
    dropped: Sequence[ox.NamedNode] = (),
) -> None:
    """Drop graphs, then take out ``gone``, then put in ``come``: all of it or nothing.

    Raises:
        OSError: the disk refused.
    """
    rows = [*gone, *come]
    text = queries.bind(
        "catalogue/exchange",
        dropped=list(dropped),
        gone=list(range(len(gone))),
        come=list(range(len(gone), len(rows))),
    )
    store.update(text, custom_functions=functions(rows))


def functions(rows: Sequence[ox.Quad]) -> dict[ox.NamedNode, _Function]:
    """Give the functions ``row:graph``, ``row:subject``, ``row:predicate`` and ``row:object`` of a row number."""
    return {
        ox.NamedNode(f"{_ROW}graph"): lambda row: cast("ox.NamedNode", rows[int(row.value)].graph_name),
        ox.NamedNode(f"{_ROW}subject"): lambda row: rows[int(row.value)].subject,
        ox.NamedNode(f"{_ROW}predicate"): lambda row: rows[int(row.value)].predicate,
        ox.NamedNode(f"{_ROW}object"): lambda row: rows[int(row.value)].object,
    }
