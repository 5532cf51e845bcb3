"""What is served: a knowledge base, or a plain scratch dataset.

In a knowledge base every triple is in a named graph that the catalogue lists. So the default graph of a query is the
union of the named graphs, and the default graph that a client writes to is the graph ``{base}graph/data/default``.
What comes in through the Graph Store Protocol is published as a data or ontology graph; the graphs that kgrag makes
itself are read-only there. A plain dataset is as the standards have it, with a real default graph.

Queries read: ``catalogue/is_ontology``, ``catalogue/kind_of``, ``catalogue/size``.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pyoxigraph as ox

from kgrag import queries
from kgrag.index.ontology_prefixes import COMMON_PREFIXES, known_prefixes, ontology_prefixes
from kgrag.model import GraphDraft, plain
from kgrag.ports import TripleStore
from kgrag.server.problems import Problem
from kgrag.sparql.query_help import with_declarations
from kgrag.sparql.update_targets import written
from kgrag.store.language_tags import by_lower_case, language_tags
from kgrag.store.lexical_forms import as_loaded
from kgrag.store.plain_dataset import PlainStore
from kgrag.store.rdf_files import is_ontology
from kgrag.vocab import DEFAULT_BASE, KG, PREFIXES, Names

__all__ = ["CataloguedDataset", "PlainDataset", "ServedDataset"]


class ServedDataset(Protocol):
    """Named graphs that are served; "" is the default graph.

    Attributes:
        union: whether the default graph of a query is the union of the named graphs.
        epoch: part of each ETag, for revisions that begin again with each start.
    """

    union: bool
    epoch: str

    @property
    def prefixes(self) -> Mapping[str, str]:
        """Prefixes that a text may use without declaring them."""

    @property
    def known_prefixes(self) -> Mapping[str, str]:
        """Prefixes that can be proposed to whoever uses them without declaring them."""

    @property
    def names(self) -> Names:
        """The IRIs that are minted for it."""

    @property
    def revision(self) -> int:
        """Count of changes so far."""

    def stored_as(self, graph: str) -> str:
        """Return the name that a graph has in the store; only that of the default graph may differ."""

    def lexical_graph(self, graph: str) -> str:
        """Return the name of the graph of a graph's literals as they were written, "" where there is none."""

    def contains(self, graph: str) -> bool:
        """Return whether a graph exists."""

    def is_ontology(self, graph: str) -> bool:
        """Return whether a graph is listed as an ontology, or declares one or a class."""

    def refuse_own(self, graphs: Iterable[str]) -> None:
        """Refuse to write to graphs of the program's own making. Raises Problem."""

    def refuse_catalogue(self, graphs: Iterable[str]) -> None:
        """Refuse to write to the list of all graphs, whoever asks. Raises Problem."""

    def update(self, update: str, base: str) -> None:
        """Run an update. Raises InvalidSPARQL."""

    def language_tags(self, graph: str) -> list[str]:
        """Return the language tags of a graph as they were written, of those that are not in lower case."""

    def put(self, graph: str, triples: Sequence[ox.Triple], *, add: bool, tags: Sequence[str] = ()) -> None:
        """Replace the content of a graph by triples, or add them to it; ``tags`` as of ``language_tags``.

        Raises:
            Problem: the graph cannot be written.
        """

    def drop(self, graph: str) -> None:
        """Remove a graph. Raises Problem."""

    def quads(self) -> int | None:
        """Return the number of triples; None where it would be expensive."""

    def snapshot(self, folder: Path) -> None:
        """Write a copy into a new folder. Raises StorageFailed."""


class CataloguedDataset:
    """A knowledge base."""

    union: bool = True
    epoch: str = "kb"

    def __init__(self, store: TripleStore) -> None:
        self._store = store
        self._quads_at_revision = (-1, 0)

    @property
    def prefixes(self) -> Mapping[str, str]:
        """Those of kgrag, and of the loaded ontologies."""
        return ontology_prefixes(self._store)

    @property
    def known_prefixes(self) -> Mapping[str, str]:
        """Common ones, and those of the loaded ontologies."""
        return known_prefixes(self._store)

    @property
    def names(self) -> Names:
        """The IRIs of the knowledge base."""
        return self._store.names

    @property
    def revision(self) -> int:
        """The store's revision."""
        return self._store.revision

    def stored_as(self, graph: str) -> str:
        """Return the graph itself, and for "" the graph that takes default triples."""
        return graph or self._store.names.default_data.value

    def lexical_graph(self, graph: str) -> str:
        """Return the graph of a graph's literals as they were written; "" where the engine keeps them as they are."""
        lexical = self._store.names.lexical_graph(self.stored_as(graph))
        return lexical.value if self._store.described(lexical) else ""

    def contains(self, graph: str) -> bool:
        """Return whether the catalogue lists a graph; the default graph always exists."""
        return not graph or self._store.described(ox.NamedNode(graph))

    def is_ontology(self, graph: str) -> bool:
        """Return what the catalogue and the graph itself state."""
        node = ox.NamedNode(self.stored_as(graph))
        return self._store.ask(queries.bind("catalogue/is_ontology", catalogue=self._store.names.catalogue, graph=node))

    def refuse_own(self, graphs: Iterable[str]) -> None:
        """Refuse to write to graphs that are neither data nor ontologies, or have names of kgrag's. Raises Problem."""
        for graph in graphs:
            self._writable(graph)

    def refuse_catalogue(self, graphs: Iterable[str]) -> None:
        """Refuse to write to the catalogue. Raises Problem."""
        if self._store.names.catalogue.value in graphs:
            raise Problem(403, f"the update writes to <{self._store.names.catalogue.value}>, which kgrag keeps itself.")

    def update(self, update: str, base: str) -> None:  # noqa: ARG002 - relative IRIs are refused by the engine
        """Run an update and bring the catalogue up to date, in one transaction."""
        text = with_declarations(update, self.prefixes)
        self.refuse_catalogue(written(text, PREFIXES).graphs or ())
        self._store.update(text)

    def language_tags(self, graph: str) -> list[str]:
        """Return what the catalogue lists."""
        return language_tags(self._store, ox.NamedNode(self.stored_as(graph)))

    def put(self, graph: str, triples: Sequence[ox.Triple], *, add: bool, tags: Sequence[str] = ()) -> None:
        """Publish triples as a data graph, or an ontology graph if they declare classes or an ontology."""
        node = self._writable(graph)
        spelled = by_lower_case([*(self.language_tags(graph) if add else ()), *tags])
        described = [(KG.languageTag, ox.Literal(tag)) for tag in spelled.values()]
        whole = [*as_loaded(self._store, node), *triples] if add else list(triples)
        kind = KG.OntologyGraph if is_ontology(whole) else KG.DataGraph
        publication = self._store.publish([GraphDraft(node, kind, whole, "replace", described=described)])
        if publication.violations:
            messages = "; ".join(violation.message for violation in publication.violations[:5])
            raise Problem(422, f"the graph does not conform to its shape and was put into quarantine: {messages}")

    def drop(self, graph: str) -> None:
        """Remove a data or ontology graph with its catalogue entry."""
        node = self._writable(graph)
        if not self._store.remove([node]) and graph:
            raise Problem(404, f"there is no graph <{graph}>.")

    def _writable(self, graph: str) -> ox.NamedNode:
        node = ox.NamedNode(self.stored_as(graph))
        query = queries.bind("catalogue/kind_of", catalogue=self._store.names.catalogue, graph=node)
        if self._store.names.is_own_graph(node.value, (row[0] for row in self._store.select(query))):
            raise Problem(403, f"<{node.value}> is a graph that kgrag makes itself, and read-only here.")
        return node

    def quads(self) -> int | None:
        """Return the sum of what the catalogue counts, computed once per revision."""
        revision = self.revision
        if self._quads_at_revision[0] != revision:
            table = self._store.select(queries.bind("catalogue/size", catalogue=self._store.names.catalogue))
            self._quads_at_revision = revision, int(plain(table.rows[0][0]))
        return self._quads_at_revision[1]

    def snapshot(self, folder: Path) -> None:
        """Write a hard-linked copy."""
        self._store.snapshot(folder)


class PlainDataset:
    """A plain dataset, for conformance tests."""

    union: bool = False
    prefixes: Mapping[str, str] = {}
    known_prefixes: Mapping[str, str] = COMMON_PREFIXES

    def __init__(self, store: PlainStore) -> None:
        self._store = store
        self.names = Names(DEFAULT_BASE)
        self.epoch = secrets.token_hex(4)

    @property
    def revision(self) -> int:
        """Count of changes since the start."""
        return self._store.revision

    def stored_as(self, graph: str) -> str:
        """Return the graph itself."""
        return graph

    def lexical_graph(self, graph: str) -> str:  # noqa: ARG002
        """Return "": a plain dataset has the literals of the engine."""
        return ""

    def contains(self, graph: str) -> bool:
        """Return whether a graph exists, empty or not."""
        return self._store.contains(_node(graph))

    def is_ontology(self, graph: str) -> bool:  # noqa: ARG002
        """Return False: nothing is judged here."""
        return False

    def refuse_own(self, graphs: Iterable[str]) -> None:
        """Refuse nothing: it has no graphs of its own."""

    def refuse_catalogue(self, graphs: Iterable[str]) -> None:
        """Refuse nothing: it has no catalogue."""

    def update(self, update: str, base: str) -> None:
        """Run an update."""
        self._store.update(update, base=base)

    def language_tags(self, graph: str) -> list[str]:  # noqa: ARG002
        """Return []: a plain dataset has the literals of the engine."""
        return []

    def put(self, graph: str, triples: Sequence[ox.Triple], *, add: bool, tags: Sequence[str] = ()) -> None:  # noqa: ARG002
        """Replace the content of a graph by triples, or add them to it."""
        self._store.put(_node(graph), triples, add=add)

    def drop(self, graph: str) -> None:
        """Remove a graph, or empty the default graph."""
        self._store.drop(_node(graph))

    def quads(self) -> int | None:
        """Return None: nobody counts them."""
        return None

    def snapshot(self, folder: Path) -> None:
        """Write a hard-linked copy."""
        self._store.snapshot(folder)


def _node(graph: str) -> ox.NamedNode | ox.DefaultGraph:
    return ox.NamedNode(graph) if graph else ox.DefaultGraph()
