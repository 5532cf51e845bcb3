"""``ServerQuads``: the port ``QuadStore`` on a SPARQL server, over SPARQL 1.1 Protocol.

A change of the catalogue is one DELETE/INSERT that does nothing where its publication is stated already, and each
publication names the writer: a second writer is refused, or where the engine lets two in at one moment, detected.

Queries read: ``catalogue/quads``, ``catalogue/exchange_terms``, ``catalogue/everything``, ``catalogue/quad_count``,
``catalogue/filled_graphs``, ``catalogue/writers``, ``catalogue/drop_graphs``, ``catalogue/with_blank_nodes``,
``catalogue/drop_blank_nodes``, ``catalogue/graph_triples``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidSPARQL, StateError, StorageFailed, StoreLocked
from kgrag.model import plain
from kgrag.sparql.tokens import tokens
from kgrag.store import quad_files
from kgrag.store.engine import Results
from kgrag.store.quad_store import Pattern
from kgrag.store.skolem_names import named, named_quad, results_with_blank_nodes, unnamed, with_tests_of_names
from kgrag.store.sparql_connection import SparqlConnection
from kgrag.vocab import KG, PREFIXES, Names, local_name

__all__ = ["ServerQuads"]

_PATTERNS_PER_QUERY = 1_000
_QUADS_PER_FILL = 5_000
_ENDINGS = (b"]}}", b'"boolean":true}', b'"boolean":false}')
_ENDING_BYTES = 64
_UNION = {"union-default-graph": "true"}


class ServerQuads:
    """Implements ``kgrag.store.quad_store.QuadStore``.

    Args:
        connection: to the server.
        writer: the lineage that this writer's publications name.
    """

    def __init__(self, connection: SparqlConnection, *, writer: str) -> None:
        self.connection = connection
        self._writer = ox.Literal(writer)
        self.names: Names | None = None

    # reading

    def match(self, pattern: Pattern) -> Iterator[ox.Quad]:
        """Return the quads of a pattern, as they are at this moment."""
        return iter(self.matching([pattern])[0])

    def matching(self, patterns: Sequence[Pattern]) -> list[list[ox.Quad]]:
        """Return the quads of each of many patterns, a thousand in a request.

        Raises:
            ValueError: a pattern names no graph, or a predicate or an object alone.
        """
        found: dict[tuple[Any, ...], list[ox.Quad]] = {pattern: [] for pattern in patterns}
        waiting = iter(found)
        while batch := list(islice(waiting, _PATTERNS_PER_QUERY)):
            for quad in self._quads(queries.bind("catalogue/quads", **_parameters(batch))):
                for pattern in _patterns_of(quad):
                    if pattern in found:
                        found[pattern].append(quad)
        return [found[pattern] for pattern in patterns]

    def contained(self, quads: Collection[ox.Quad]) -> set[ox.Quad]:
        """Return those of the quads that are stored."""
        wanted = [(quad.subject, quad.predicate, quad.object, cast("ox.NamedNode", quad.graph_name)) for quad in quads]
        return {quad for found in self.matching(wanted) for quad in found}

    def _quads(self, query: str) -> Iterator[ox.Quad]:
        for row in cast("ox.QuerySolutions", self._results(query)):
            subject, predicate, value, graph = (row[name] for name in ("subject", "predicate", "object", "graph"))
            yield ox.Quad(subject, predicate, value, graph)

    def query(
        self,
        sparql: str,
        *,
        prefixes: Mapping[str, str] | None = None,
        union: bool = False,
        calls: Mapping[ox.NamedNode, Callable[..., Any]] | None = None,
    ) -> Results:
        """Run a query on the server, once the parser of this process has accepted it.

        Raises:
            InvalidSPARQL: it calls a function of this process, or the server refuses it.
            StorageFailed: the server cannot be reached, or its reply is not whole.
        """
        if calls:
            raise InvalidSPARQL(
                "a SPARQL server cannot call kgv:similarity, which compares vectors that kgrag has. Use kgv:near."
            )
        if prefixes is not None:  # from outside: the parser of this process says where a mistake is
            ox.Store().query(sparql, prefixes=dict(prefixes))
        return self._results(_with_prefixes(sparql, prefixes or {}), options=_UNION if union else None)

    def _results(self, sparql: str, *, options: Mapping[str, str] | None = None) -> Results:
        reply = self.connection.query(with_tests_of_names(sparql), options=options)
        try:
            if reply.is_triples:
                return _triples(ox.parse(reply.body, format=ox.RdfFormat.N_TRIPLES))
            if not b"".join(reply.body[-_ENDING_BYTES:].split()).endswith(_ENDINGS):
                raise ValueError("it ends too early")
            return ox.parse_query_results(results_with_blank_nodes(reply.body), format=ox.QueryResultsFormat.JSON)
        except (SyntaxError, ValueError) as error:  # a server that runs out of time says so in the middle of a reply
            raise StorageFailed(
                f"the reply of the server is not whole: {error}. Ask for less, or raise its time limit."
            ) from error

    def graphs(self) -> list[ox.NamedNode]:
        """Return every named graph that contains a triple."""
        rows = cast("ox.QuerySolutions", self._results(queries.bind("catalogue/filled_graphs")))
        return [cast("ox.NamedNode", row["graph"]) for row in rows]

    def __len__(self) -> int:
        """Count the quads."""
        rows = cast("ox.QuerySolutions", self._results(queries.bind("catalogue/quad_count")))
        return int(plain(next(iter(rows))["quads"]))

    # changing

    def add(self, quads: Sequence[ox.Quad]) -> None:
        """Put in quads in one operation."""
        self.exchange([], quads)

    def exchange(
        self, leaving: Sequence[ox.Quad], entering: Sequence[ox.Quad], dropped: Sequence[ox.NamedNode] = ()
    ) -> None:
        """Take out ``leaving``, put in ``entering``, and drop graphs, of which none is entered: in one request.

        Raises:
            StoreLocked: another writer wrote this revision first, and nothing entered; or it wrote it at the same time.
            StorageFailed: the server cannot be reached, or refuses.
        """
        node = self._publication(entering)
        text = queries.bind(
            "catalogue/exchange_terms",
            publication=[] if node is None else [node],
            writer=self._writer,
            catalogue=self._catalogue,
            dropped=list(dropped),
            **_columns("gone", leaving),
            **_columns("come", entering),
        )
        self._acknowledged(text, node)

    def update(self, text: str, *, revision: int) -> None:
        """Run a SPARQL Update; blank nodes that it makes get names.

        Raises:
            SyntaxError: it does not parse.
            StoreLocked: another writer wrote this revision.
        """
        with suppress(RuntimeError):  # it parses; the graphs that it needs are on the server
            ox.Store().update(text, prefixes=PREFIXES)
        names = cast("Names", self.names)
        node = names.publication(revision)
        if self._writers(node):
            raise self._another_writer(node)
        mark = ox.Quad(node, KG.lineage, self._writer, names.catalogue)
        marked = queries.bind(
            "catalogue/exchange_terms",
            publication=[],
            writer=self._writer,
            catalogue=names.catalogue,
            dropped=[],
            **_columns("gone", []),
            **_columns("come", [mark]),
        )
        self._acknowledged(_with_prefixes(f"{with_tests_of_names(text)}\n;\n{marked}", PREFIXES), node)
        if any(token.kind in ("label", "anon") or token.text in ("[", "(", "nil") for token in tokens(text)):
            self._name_blank_nodes()

    def _name_blank_nodes(self) -> None:
        made = list(self._quads(queries.bind("catalogue/with_blank_nodes")))
        if made:
            self.connection.update(queries.bind("catalogue/drop_blank_nodes"))
            self.exchange([], made)

    def _acknowledged(self, update: str, node: ox.NamedNode | None) -> None:
        """Run an update, and find out whether the publication that it writes is ours, also when no reply came."""
        unknown: ConnectionError | None = None
        try:
            self.connection.update(update)
        except ConnectionError as error:
            if node is None:
                raise StorageFailed(str(error)) from None
            unknown = error
        if node is None:
            return
        writers = self._writers(node)
        if writers == [self._writer]:
            return
        if unknown is not None and not writers:
            raise StorageFailed(f"{unknown} Nothing entered; ask again.")
        raise self._another_writer(node)

    def _writers(self, node: ox.NamedNode) -> list[Any]:
        query = queries.bind("catalogue/writers", catalogue=self._catalogue, publication=node)
        return [row["lineage"] for row in cast("ox.QuerySolutions", self._results(query))]

    def _another_writer(self, node: ox.NamedNode) -> StoreLocked:
        address = self.connection.address.query
        return StoreLocked(
            f"another writer wrote change {local_name(node.value)} of the store at {address}, and this one is behind. "
            "Let one process write; open the knowledge base again, and ask again."
        )

    def _publication(self, entering: Iterable[ox.Quad]) -> ox.NamedNode | None:
        """Return the publication that quads state; None where they state none, or the first of a new store."""
        if self.names is None:
            return None
        for quad in entering:
            if quad.predicate == KG.revision and plain(quad.object) != "0":
                node = self.names.publication(int(plain(quad.object)))
                if quad.subject == node:  # profiles name a revision, too
                    return node
        return None

    @property
    def _catalogue(self) -> ox.NamedNode:
        return (self.names or Names()).catalogue

    def fill(self, quads: Iterable[ox.Quad]) -> None:
        """Put in the quads of a whole store, some at a time, its catalogue last: what is cut short is not opened."""
        last: list[ox.Quad] = []

        def others() -> Iterator[ox.Quad]:
            for quad in quads:
                if quad.graph_name == self._catalogue:
                    last.append(quad)
                else:
                    yield quad

        rest = others()
        while batch := list(islice(rest, _QUADS_PER_FILL)):
            self._insert(batch)
        for first in range(0, len(last), _QUADS_PER_FILL):
            self._insert(last[first : first + _QUADS_PER_FILL])

    def _insert(self, quads: Sequence[ox.Quad]) -> None:
        names, self.names = self.names, None
        try:
            self.exchange([], quads)
        finally:
            self.names = names

    def forget_empty(self, graphs: Sequence[ox.NamedNode]) -> None:
        """Forget the names of graphs without a triple, which an engine may list."""
        if graphs:
            self.connection.update(queries.bind("catalogue/drop_graphs", graphs=list(graphs)))

    # whole stores

    def _everything(self) -> Iterator[ox.Quad]:
        """Yield every quad of one state. Raises StorageFailed: there are fewer than the server counts."""
        expected, count = len(self), 0
        for quad in self._quads(queries.bind("catalogue/everything")):
            count += 1
            yield quad
        if count < expected:
            raise StorageFailed(
                f"the server sent {count:,} quads of {expected:,}: it cuts long replies. Raise its limit of rows."
            )

    def dump(self, target: Path) -> int:
        """Write every quad as N-Quads and return their count."""
        return quad_files.dump(_in_memory(self._everything()), target)

    def snapshot(self, folder: Path) -> None:
        """Write a copy into a new folder; it takes as long as reading everything."""
        copy = ox.Store(str(folder))
        copy.bulk_extend(self._everything())
        copy.flush()

    def rewrite(self) -> None:
        """Refuse: the files of a server are its own. Raises StateError."""
        raise StateError(
            "the files of a SPARQL server are its own, so that kgrag cannot take deleted terms out of them. Export the "
            "knowledge base, and import it into a new server."
        )

    def damage(self) -> list[str]:
        """Read everything; return why less comes than the server counts."""
        try:
            for _ in self._everything():
                pass
        except StorageFailed as error:
            return [str(error)]
        return []

    def flush(self) -> None:
        """Do nothing: what a server has acknowledged is on its disk as far as its own settings say."""

    def close(self) -> None:
        """Close the connections."""
        self.connection.close()


def _parameters(patterns: Iterable[Pattern]) -> dict[str, list[Any]]:
    """Return the parameters of ``catalogue/quads``. Raises ValueError."""
    lists: dict[str, list[Any]] = {
        name: []
        for name in (
            *("graphs", "subjects", "subject_graphs", "pair_subjects", "pair_predicates", "pair_graphs"),
            *("quad_subjects", "quad_predicates", "quad_objects", "quad_graphs"),
        )
    }
    for pattern in patterns:
        subject, predicate, value, graph = pattern
        if graph is None or (subject is None and (predicate, value) != (None, None)) or (predicate is None and value):
            raise ValueError(f"a server is asked for quads of a named graph, not for {pattern}")
        if subject is None:
            lists["graphs"].append(graph)
        elif predicate is None:
            lists["subjects"].append(named(subject))
            lists["subject_graphs"].append(graph)
        elif value is None:
            lists["pair_subjects"].append(named(subject))
            lists["pair_predicates"].append(predicate)
            lists["pair_graphs"].append(graph)
        else:
            for name, term in zip(("subjects", "predicates", "objects", "graphs"), pattern, strict=True):
                lists[f"quad_{name}"].append(named(term))
    return lists


def _patterns_of(quad: ox.Quad) -> Iterator[tuple[Any, ...]]:
    """Yield the patterns that a server may have been asked for, of which a quad is."""
    graph = quad.graph_name
    yield (None, None, None, graph)
    yield (quad.subject, None, None, graph)
    yield (quad.subject, quad.predicate, None, graph)
    yield (quad.subject, quad.predicate, quad.object, graph)


def _columns(name: str, quads: Sequence[ox.Quad]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = defaultdict(list)
    columns.update({f"{name}_{column}": [] for column in ("graphs", "subjects", "predicates", "objects")})
    for quad in map(named_quad, quads):
        columns[f"{name}_graphs"].append(quad.graph_name)
        columns[f"{name}_subjects"].append(quad.subject)
        columns[f"{name}_predicates"].append(quad.predicate)
        columns[f"{name}_objects"].append(quad.object)
    return columns


def _with_prefixes(sparql: str, prefixes: Mapping[str, str]) -> str:
    return "".join(f"PREFIX {name}: <{iri}> " for name, iri in prefixes.items()) + sparql


def _triples(quads: Iterable[ox.Quad]) -> ox.QueryTriples:
    """Return triples as the engine's own results."""
    store = ox.Store()
    graph = Names().catalogue
    store.bulk_extend(ox.Quad(unnamed(quad.subject), quad.predicate, unnamed(quad.object), graph) for quad in quads)
    return cast("ox.QueryTriples", store.query(queries.bind("catalogue/graph_triples")))


def _in_memory(quads: Iterable[ox.Quad]) -> ox.Store:
    store = ox.Store()
    store.bulk_extend(quads)
    return store
