"""The port below publishing: quads of named graphs, read by pattern or query and changed in atomic steps.

``CataloguedStore`` has catalogue, publications, updates and forgetting, once, above it. Its adapters are
``EmbeddedQuads`` (an Oxigraph in this process) and ``ServerQuads`` (SPARQL 1.1 Protocol). What each of them promises is
in the decision "One port below publishing" of the guide. Reading is batch-first, because a question to a server costs
more than its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyoxigraph as ox

from kgrag.store.engine import Results
from kgrag.vocab import RDF

__all__ = ["Pattern", "QuadStore", "kind_pattern", "of_graph"]

Pattern = tuple[
    ox.NamedNode | ox.BlankNode | ox.Triple | None,
    ox.NamedNode | None,
    ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple | None,
    ox.NamedNode | None,
]
"""Subject, predicate, object and graph of quads; None = any."""


class QuadStore(Protocol):
    """Quads in named graphs. The default graph is empty, but for what an update is just writing there."""

    # reading: each call sees one state

    def match(self, pattern: Pattern) -> Iterator[ox.Quad]:
        """Yield the quads of a pattern."""

    def of_graphs(self, graphs: Sequence[ox.NamedNode]) -> Iterator[ox.Quad]:
        """Yield the quads of many graphs."""

    def of_kinds(self, kinds: Sequence[ox.NamedNode], catalogue: ox.NamedNode) -> Iterator[ox.Quad]:
        """Yield the quads of every graph that a catalogue says is of one of these kinds."""

    def matching(self, patterns: Sequence[Pattern]) -> list[list[ox.Quad]]:
        """Return the quads of each of many patterns."""

    def contained(self, quads: Sequence[ox.Quad]) -> list[bool]:
        """Return of each quad whether it is stored."""

    def query(
        self,
        sparql: str,
        *,
        prefixes: Mapping[str, str] | None = None,
        union: bool = False,
        calls: Mapping[ox.NamedNode, Callable[..., Any]] | None = None,
    ) -> Results:
        """Run a query.

        Args:
            sparql: the query.
            prefixes: those that it may use without declaring them.
            union: whether all named graphs, merged, are its default graph.
            calls: functions that it may call.
        """

    def graphs(self) -> list[ox.NamedNode]:
        """Return every named graph that contains a triple."""

    def __len__(self) -> int:
        """Count the quads."""

    # changing: each call is one atomic step, and is on record when it returns

    def add(self, quads: Sequence[ox.Quad]) -> None:
        """Put in quads."""

    def exchange(
        self, leaving: Sequence[ox.Quad], entering: Sequence[ox.Quad], dropped: Sequence[ox.NamedNode] = ()
    ) -> None:
        """Drop graphs, then take out ``leaving``, then put in ``entering``: all of it or nothing."""

    def update(self, text: str, *, revision: int) -> None:
        """Run a SPARQL Update, which may use the prefixes of kgrag, as the change of this number."""

    def fill(self, quads: Iterable[ox.Quad]) -> None:
        """Put in the quads of a whole store, of which there may be more than memory has room for."""

    def forget_empty(self, graphs: Sequence[ox.NamedNode]) -> None:
        """Forget the names of graphs without a triple, where the engine keeps such."""

    # whole stores

    def dump(self, target: Path) -> int:
        """Write every quad as N-Quads (gzipped when the name ends in .gz) and return their count."""

    def snapshot(self, folder: Path) -> None:
        """Write a copy of one state into a new folder, as an embedded store that other processes can read."""

    def rewrite(self) -> None:
        """Write the whole store anew, so that no file of it has a term that no triple has."""

    def damage(self) -> list[str]:
        """Read everything; return what is damaged and the way out, one sentence each."""

    def flush(self) -> None:
        """Make all that was acknowledged survive a power cut."""

    def close(self) -> None:
        """Let go of the store."""


def kind_pattern(graph: ox.NamedNode, catalogue: ox.NamedNode) -> Pattern:
    """Return the pattern of the catalogue's statement of what kind a graph is."""
    return (graph, RDF.type, None, catalogue)


def of_graph(graph: ox.NamedNode) -> Pattern:
    """Return the pattern of all quads of a graph."""
    return (None, None, None, graph)
