"""Where a term is declared, and where it is used: the graphs, with how many statements of each use it.

Query read: ``pages/uses``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox
from starlette.requests import Request

from kgrag.server.stored_rows import rows
from kgrag.vocab import OWL, PREFIXES, RDF, RDFS, SH

__all__ = ["Uses", "uses_of"]

_MAX_USES_COUNTED, _MAX_GRAPHS_SHOWN = 20_000, 50
_DECLARING = (OWL.prefix, RDFS.prefix, PREFIXES["skos"], SH.prefix)


@dataclass(frozen=True)
class Uses:
    """Graphs with the number of statements there that use a term as a property or as a value.

    ``declaring`` are the graphs that say what kind of term it is, ``others`` use it only; ``is_cut`` where the
    count came to its end before the uses did, or graphs are left out.
    """

    declaring: Sequence[tuple[ox.NamedNode, int]]
    others: Sequence[tuple[ox.NamedNode, int]]
    is_cut: bool

    @property
    def graphs(self) -> list[tuple[ox.NamedNode, int]]:
        """All graphs, those that declare the term first."""
        return [*self.declaring, *self.others]


async def uses_of(request: Request, node: ox.NamedNode, statements: Sequence[tuple[Any, ...]]) -> Uses:
    """Return where a term is declared and used; no graphs for what no statement declares."""
    if not any(_declares(row) for row in statements):
        return Uses((), (), is_cut=False)
    table = await rows(request, "pages/uses", thing=node, counted=_MAX_USES_COUNTED, limit=_MAX_GRAPHS_SHOWN)
    counts = {ox.NamedNode(graph): int(uses) for graph, uses in table.values()}
    declaring = sorted({row[2] for row in statements if _declares(row)}, key=str)
    others = [(graph, uses) for graph, uses in counts.items() if graph not in declaring]
    is_cut = sum(counts.values()) >= _MAX_USES_COUNTED or len(counts) == _MAX_GRAPHS_SHOWN
    return Uses([(graph, counts.get(graph, 0)) for graph in declaring], others, is_cut)


def _declares(row: tuple[Any, ...]) -> bool:
    kind = row[1]
    return row[0] == RDF.type and (
        kind == RDF.Property or (isinstance(kind, ox.NamedNode) and kind.value.startswith(_DECLARING))
    )
