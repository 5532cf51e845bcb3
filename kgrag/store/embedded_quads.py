"""``EmbeddedQuads``: the port ``QuadStore`` in an Oxigraph of this process, in a folder or in memory.

Queries read: ``catalogue/exchange``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.queries import OrderedText
from kgrag.sparql.merged_graphs import with_merged_graphs
from kgrag.sparql.total_orders import with_total_orders
from kgrag.store import identity, quad_files, rewriting, verification
from kgrag.store.engine import Results, opened, quads_of_pattern, release
from kgrag.store.quad_store import Pattern, of_graph
from kgrag.store.reading_views import link_copy
from kgrag.vocab import PREFIXES, RDF

__all__ = ["EmbeddedQuads"]

_MIN_QUADS_FOR_BULK = 2_000
"""From so many quads on, bulk (new files: 7 ms per call, then 8 µs per quad) is faster than a transaction."""

_ROW = "https://w3id.org/kgrag/row#"

_RowFunction = Callable[..., ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None]


class EmbeddedQuads:
    """Implements ``kgrag.store.quad_store.QuadStore``.

    Args:
        store: a stand-in made by ``kgrag.store.engine.closable``.
        folder: its folder; None in memory.
        read_only: whether it was opened for reading.
    """

    def __init__(self, store: ox.Store, *, folder: Path | None = None, read_only: bool = False) -> None:
        self.store = store
        self._folder = folder
        self._read_only = read_only

    def match(self, pattern: Pattern) -> Iterator[ox.Quad]:
        """Yield the quads of a pattern; of the store as it is now, whenever they are taken."""
        return quads_of_pattern(self.store, *pattern)

    def of_graphs(self, graphs: Sequence[ox.NamedNode]) -> Iterator[ox.Quad]:
        """Yield the quads of many graphs, each as it is when its turn comes."""
        for graph in graphs:
            yield from self.match(of_graph(graph))

    def of_kinds(self, kinds: Sequence[ox.NamedNode], catalogue: ox.NamedNode) -> Iterator[ox.Quad]:
        """Yield the quads of every graph of some kinds, each graph as it is when its turn comes."""
        of_kind = (quad for kind in kinds for quad in self.match((None, RDF.type, kind, catalogue)))
        graphs = {quad.subject for quad in of_kind if isinstance(quad.subject, ox.NamedNode)}
        return self.of_graphs(sorted(graphs, key=str))

    def matching(self, patterns: Sequence[Pattern]) -> list[list[ox.Quad]]:
        """Return the quads of each of many patterns."""
        return [list(quads_of_pattern(self.store, *pattern)) for pattern in patterns]

    def contained(self, quads: Sequence[ox.Quad]) -> list[bool]:
        """Return of each quad whether it is stored."""
        store = opened(self.store)
        return [quad in store for quad in quads]

    def query(
        self,
        sparql: str,
        *,
        prefixes: Mapping[str, str] | None = None,
        union: bool = False,
        calls: Mapping[ox.NamedNode, Callable[..., Any]] | None = None,
    ) -> Results:
        """Run a query; its results belong to the thread that asked for them."""
        if not isinstance(sparql, OrderedText):  # stored queries name their graphs by GRAPH, and may be very long
            sparql = with_total_orders(with_merged_graphs(sparql, prefixes=prefixes, several=union))
        return self.store.query(
            sparql,
            prefixes=None if prefixes is None else dict(prefixes),
            use_default_graph_as_union=union,
            custom_functions=dict(calls or {}),
        )

    def graphs(self) -> list[ox.NamedNode]:
        """Return every named graph that contains a triple."""
        return [graph for graph in self.store.named_graphs() if isinstance(graph, ox.NamedNode)]

    def __len__(self) -> int:
        """Count the quads."""
        return len(self.store)

    def add(self, quads: Sequence[ox.Quad]) -> None:
        """Put in quads in one transaction."""
        if len(quads) < _MIN_QUADS_FOR_BULK:
            self.store.extend(quads)
        else:
            self.store.bulk_extend(quads)

    def exchange(
        self, leaving: Sequence[ox.Quad], entering: Sequence[ox.Quad], dropped: Sequence[ox.NamedNode] = ()
    ) -> None:
        """Drop graphs, then take out ``leaving``, then put in ``entering``: all of it or nothing.

        The engine has no transactions but updates, so quads are handed to an update as row numbers that functions turn
        into terms: no term is written as text, and blank nodes keep their names. Measured: about 40,000 quads/s.

        Raises:
            OSError: the disk refused.
        """
        rows = [*leaving, *entering]
        text = queries.bind(
            "catalogue/exchange",
            dropped=list(dropped),
            gone=list(range(len(leaving))),
            come=list(range(len(leaving), len(rows))),
        )
        self.store.update(text, custom_functions=_functions(rows))

    def update(self, text: str, *, revision: int) -> None:  # noqa: ARG002 - nobody else changes this store
        """Run a SPARQL Update."""
        self.store.update(with_total_orders(text), prefixes=PREFIXES)

    def fill(self, quads: Iterable[ox.Quad]) -> None:
        """Put in the quads of a whole store, in one step."""
        self.store.bulk_extend(quads)

    def forget_empty(self, graphs: Sequence[ox.NamedNode]) -> None:
        """Forget the names of graphs without a triple, which the engine would list."""
        for graph in graphs:
            self.store.remove_graph(graph)

    def dump(self, target: Path) -> int:
        """Write every quad as N-Quads and return their count."""

        def write(output: IO[bytes]) -> int:
            self.store.dump(output, ox.RdfFormat.N_QUADS)
            return len(self.store)

        return quad_files.dump(write, target)

    def snapshot(self, folder: Path) -> None:
        """Write a copy into a new folder, by hard links where the file system allows it."""
        if self._folder is None:  # a store in memory has no files to link
            copy = ox.Store(str(folder))
            copy.bulk_extend(self.store)
            copy.flush()
        elif self._read_only or not link_copy(self._folder, folder):
            self.store.backup(str(folder))

    def rewrite(self) -> None:
        """Write the folder anew; the engine never takes a deleted term out of its files."""
        if self._folder is not None:
            rewriting.rewrite(self.store, self._folder)

    def damage(self) -> list[str]:
        """Read every block of the store; return what is damaged. Takes 2 s per 100,000 quads."""
        if self._folder is None:
            return verification.damage(self.store)
        another = identity.open_folder(self._folder, read_only=True)  # this one has blocks in memory that it read
        try:
            return verification.damage(another)
        finally:
            release(another)

    def flush(self) -> None:
        """Make all that was acknowledged survive a power cut."""
        if not self._read_only:
            self.store.flush()

    def close(self) -> None:
        """Release the folder."""
        release(self.store)


def _functions(rows: Sequence[ox.Quad]) -> dict[ox.NamedNode, _RowFunction]:
    """Return the functions ``row:graph``, ``row:subject``, ``row:predicate`` and ``row:object`` of a row number."""
    return {
        ox.NamedNode(f"{_ROW}graph"): lambda row: cast("ox.NamedNode", rows[int(row.value)].graph_name),
        ox.NamedNode(f"{_ROW}subject"): lambda row: rows[int(row.value)].subject,
        ox.NamedNode(f"{_ROW}predicate"): lambda row: rows[int(row.value)].predicate,
        ox.NamedNode(f"{_ROW}object"): lambda row: rows[int(row.value)].object,
    }
