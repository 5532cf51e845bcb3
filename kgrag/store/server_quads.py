"""``ServerQuads``: the port ``QuadStore`` on a SPARQL server, over SPARQL 1.1 Protocol.

A writer has a lease, whose number it states when it opens the store. Each change is one request that fails whole where
the store has seen a higher number or the publication is stated already, and it names the writer. What was read is kept
until this writer changes the store.

Queries read: ``catalogue/quads``, ``catalogue/exchange_terms``, ``catalogue/everything``, ``catalogue/quad_count``,
``catalogue/filled_graphs``, ``catalogue/writers``, ``catalogue/drop_graphs``, ``catalogue/with_blank_nodes``,
``catalogue/drop_blank_nodes``, ``catalogue/quads_of_kinds``, ``catalogue/fence``, ``catalogue/unless_behind``,
``probe/guarded``, ``probe/drop``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidSPARQL, StateError, StorageFailed, StoreLocked
from kgrag.model import plain
from kgrag.queries import OrderedText
from kgrag.sparql.made_blank_nodes import makes_blank_nodes
from kgrag.sparql.merged_graphs import with_merged_graphs
from kgrag.sparql.tokens import tokens
from kgrag.sparql.total_orders import with_total_orders
from kgrag.store import quad_files, server_dialect
from kgrag.store.engine import Results
from kgrag.store.kept_replies import KeptReplies
from kgrag.store.quad_store import Pattern, of_graph
from kgrag.store.server_replies import parsed, whole_reply
from kgrag.store.server_traits import UNION, FoundTraits, ServerTraits, merges_graphs
from kgrag.store.skolem_names import named, named_quad, unnamed, with_tests_of_names
from kgrag.store.sparql_connection import SparqlConnection
from kgrag.store.sparql_leases import LEASE_PREFIX, resource_iri
from kgrag.vocab import KG, PREFIXES, Names, local_name

__all__ = ["ServerQuads"]

_PATTERNS_PER_QUERY = 1_000
_GRAPHS_PER_QUERY = 100
_QUADS_PER_FILL = 5_000
_DECLARES = frozenset({"BASE", "PREFIX", "VERSION"})


class ServerQuads:
    """Implements ``kgrag.store.quad_store.QuadStore``.

    Args:
        connection: to the server.
        writer: the lineage that this writer's publications name.
        keeps: whether what was read is kept until this writer changes the store, as nobody else does.
        known: what a stored profile says of the server; who may not write goes by it, where it is of this very server.
    """

    def __init__(
        self, connection: SparqlConnection, *, writer: str, keeps: bool = False, known: FoundTraits | None = None
    ) -> None:
        self.connection = connection
        self.traits = ServerTraits(connection)
        self._known = known
        self._merging: bool | None = None
        self._writer = ox.Literal(writer)
        self._guard = ox.NamedNode(f"urn:kgrag:guard:{writer}")
        self._latest: ox.NamedNode | None = None
        self._leased: tuple[ox.NamedNode, int] | None = None
        self._kept = KeptReplies() if keeps else None
        self.names: Names | None = None

    def refuse_unfit(self) -> None:
        """Find out whether the server can be written to.

        Raises:
            StorageFailed: it cannot, as a request does not fail whole: what two writers do would mix, and what is cut
                short would stay; or it cannot be reached.
        """
        graph = ox.NamedNode(f"{self._guard.value}:probe")
        fails = False
        try:
            self._change(queries.bind("probe/guarded", graph=graph, guard=self._guard))
        except (InvalidSPARQL, StorageFailed):
            fails = not any(self.matching([of_graph(graph), of_graph(self._guard)]))
        if not fails:
            for left in (graph, self._guard):
                self._change(queries.bind("probe/drop", graph=left))
            raise StorageFailed(
                f"the server at {self.connection.address.query} cannot be written to: a request of several operations "
                "does not depend on what is stored, or is not undone whole when one of them fails. Run `kgrag doctor "
                "--store ADDRESS` for all that it lacks, and take another server."
            )

    def take_over(self, resource: str, number: int) -> None:
        """State the number of the lease that this writer has of a resource: whoever had an earlier one is refused.

        Raises:
            StorageFailed: the server cannot be reached.
        """
        self._leased = resource_iri(resource), number
        text = queries.bind("catalogue/fence", catalogue=self._catalogue, resource=self._leased[0], number=number)
        try:
            self._change(text)
        except ConnectionError as error:
            raise StorageFailed(str(error)) from None

    # reading

    def match(self, pattern: Pattern) -> Iterator[ox.Quad]:
        """Return the quads of a pattern, as they are at this moment."""
        return iter(self.matching([pattern])[0])

    def of_graphs(self, graphs: Sequence[ox.NamedNode]) -> Iterator[ox.Quad]:
        """Yield the quads of many graphs, a hundred in a request."""
        for first in range(0, len(graphs), _GRAPHS_PER_QUERY):
            batch = [of_graph(graph) for graph in graphs[first : first + _GRAPHS_PER_QUERY]]
            yield from self._quads(queries.bind("catalogue/quads", **_parameters(batch)), keeps=True)

    def of_kinds(self, kinds: Sequence[ox.NamedNode], catalogue: ox.NamedNode) -> Iterator[ox.Quad]:
        """Yield the quads of every graph of some kinds, in one request. Raises StorageFailed: some are missing."""
        return self._whole(queries.bind("catalogue/quads_of_kinds", kinds=list(kinds), catalogue=catalogue))

    def matching(self, patterns: Sequence[Pattern]) -> list[list[ox.Quad]]:
        """Return the quads of each of many patterns, a thousand in a request.

        Raises:
            ValueError: a pattern names no graph, or a predicate or an object alone.
        """
        found: dict[tuple[Any, ...], list[ox.Quad]] = {pattern: [] for pattern in patterns}
        waiting = iter(found)
        while batch := list(islice(waiting, _PATTERNS_PER_QUERY)):
            for quad in self._quads(queries.bind("catalogue/quads", **_parameters(batch)), keeps=True):
                for pattern in _patterns_of(quad):
                    if pattern in found:
                        found[pattern].append(quad)
        return [found[pattern] for pattern in patterns]

    def contained(self, quads: Sequence[ox.Quad]) -> list[bool]:
        """Return of each quad whether it is stored."""
        wanted = [(quad.subject, quad.predicate, quad.object, cast("ox.NamedNode", quad.graph_name)) for quad in quads]
        return [bool(found) for found in self.matching(wanted)]

    def _quads(self, query: str, *, keeps: bool = False) -> Iterator[ox.Quad]:
        for row in cast("ox.QuerySolutions", self._results(query, keeps=keeps)):
            subject, predicate, value, graph = (row[name] for name in ("subject", "predicate", "object", "graph"))
            if not predicate.value.startswith(LEASE_PREFIX):
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
            ox.Store().query(with_total_orders(sparql), prefixes=dict(prefixes))
            merged = self._merged(_with_prefixes(sparql, prefixes), several=union)
            return self._results(merged, options=UNION if union else None)
        merged = self._merged(sparql, several=union)
        return self._results(merged, options=UNION if union else None, keeps=not union)

    def _results(self, sparql: str, *, options: Mapping[str, str] | None = None, keeps: bool = False) -> Results:
        kept = self._kept if keeps else None
        if kept is not None and (known := kept.get(sparql)) is not None:
            return parsed(known)
        state = 0 if kept is None else kept.state
        with whole_reply():
            text = with_tests_of_names(self._ordered(sparql))
            reply = server_dialect.replied(self.connection, text, options, is_virtuoso=self.traits.speaks_virtuoso)
        results = parsed(reply)
        if kept is not None:
            kept.put(sparql, reply, state=state)
        return results

    def _ordered(self, text: str) -> str:
        """Return a text whose sorts do not end a server; Oxigraph's has the fault of its engine."""
        ordered = with_total_orders(text, triple_terms=False)
        return with_total_orders(text) if ordered != text and self.traits.has_triple_terms else ordered

    def _merged(self, text: str, *, several: bool) -> str:
        """Return a query that counts a triple of several graphs once, as written where the server is found to merge."""
        if isinstance(text, OrderedText):  # stored queries name their graphs by GRAPH
            return text
        merged = with_merged_graphs(text, several=several)
        return text if merged != text and self._merges() else merged

    def _merges(self) -> bool:
        """Return whether the server is known to merge graphs; who may write finds out, once."""
        if self._leased is None:
            return self._known is not None and self._known == self.traits.found(merges=True)
        if self._merging is None:
            with suppress(InvalidSPARQL, StorageFailed, ConnectionError):  # then it is asked at the next query
                self._merging = merges_graphs(self.connection, self._change)
        return bool(self._merging)

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
        self._acknowledged(_exchange(leaving, entering, dropped), node)

    def update(self, text: str, *, revision: int) -> None:
        """Run a SPARQL Update; blank nodes that it makes get names.

        Raises:
            SyntaxError: it does not parse.
            StoreLocked: another writer wrote this revision.
        """
        with suppress(RuntimeError):  # it parses; the graphs that it needs are on the server
            ox.Store().update(with_total_orders(text), prefixes=PREFIXES)
        names = cast("Names", self.names)
        node = names.publication(revision)
        asked = with_tests_of_names(self._ordered(text))
        # engines take declarations at the beginning only
        start = next(
            (t.start for t in tokens(asked) if t.kind == "word" and t.text.upper() not in _DECLARES), len(asked)
        )
        self._acknowledged(asked[start:], node, declared=_with_prefixes(asked[:start], PREFIXES))
        if makes_blank_nodes(text):  # to look for them reads everything there is
            self._name_blank_nodes()

    def _name_blank_nodes(self) -> None:
        made = list(self._quads(queries.bind("catalogue/with_blank_nodes")))
        if made:
            self._change(f"{queries.bind('catalogue/drop_blank_nodes')}\n;\n{_exchange([], made)}")

    def _acknowledged(self, update: str, node: ox.NamedNode | None, *, declared: str = "") -> None:
        """Run an update, where it writes a publication as the only one that does; find out what a lost reply said."""
        try:
            self._change(update if node is None else f"{declared}\n{self._unless_behind(node)}\n;\n{update}")
        except ConnectionError as error:
            if node is None:
                raise StorageFailed(str(error)) from None
            if not self._wrote(node):
                raise StorageFailed(f"{error} Nothing entered; ask again.") from None
        except (InvalidSPARQL, StorageFailed) as error:
            if node is not None and self._guard.value in str(error):
                raise self._another_writer(node) from None
            raise
        self._latest = node

    def _unless_behind(self, node: ox.NamedNode) -> str:
        resource, number = cast("tuple[ox.NamedNode, int]", self._leased)
        return queries.bind(
            "catalogue/unless_behind",
            guard=self._guard,
            catalogue=self._catalogue,
            publication=node,
            resource=resource,
            number=number,
            before=[] if self._latest is None else [self._latest],
            writer=self._writer,
        )

    def _change(self, update: str) -> None:
        """Send an update; what was read before may have changed, whatever becomes of it."""
        try:
            self.connection.update(update)
        finally:
            if self._kept is not None:
                self._kept.forget()

    def _wrote(self, node: ox.NamedNode) -> bool:
        """Return whether this writer wrote a publication. Raises StoreLocked: another one did."""
        writers, _ = self._writers(node)
        if writers and writers != {self._writer}:
            raise self._another_writer(node)
        return bool(writers)

    def _writers(self, node: ox.NamedNode) -> tuple[set[Any], int]:
        """Return who wrote a publication, and the number that changes have to bring."""
        resource, _ = cast("tuple[ox.NamedNode, int]", self._leased)
        query = queries.bind("catalogue/writers", catalogue=self._catalogue, publication=node, resource=resource)
        rows = list(cast("ox.QuerySolutions", self._results(query)))
        numbers = [int(plain(row["fence"])) for row in rows if row["fence"] is not None]
        return {row["writer"] for row in rows if row["writer"] is not None}, max(numbers, default=0)

    def _another_writer(self, node: ox.NamedNode) -> StoreLocked:
        address, (writers, fence) = self.connection.address.query, self._writers(node)
        _, number = cast("tuple[ox.NamedNode, int]", self._leased)
        happened = f"another writer wrote change {local_name(node.value)} of the store at {address}"
        if writers <= {self._writer}:
            happened = (
                f"the lease of the store at {address} (number {number}) is over: another writer has number {fence}"
            )
        return StoreLocked(
            f"{happened}, and this one is behind; nothing of it entered. Let one process write; open the knowledge "
            "base again, and ask again."
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
            self._change(queries.bind("catalogue/drop_graphs", graphs=list(graphs)))

    # whole stores

    def _whole(self, text: str) -> Iterator[ox.Quad]:
        """Yield the quads of a reply as they come. Raises StorageFailed: they are not as many as it counts."""
        expected, count = "an unknown number", 0
        is_virtuoso = self.traits.speaks_virtuoso
        with server_dialect.streamed(self.connection, text, is_virtuoso=is_virtuoso) as (body, read), whole_reply():
            for row in cast("ox.QuerySolutions", ox.parse_query_results(body, format=ox.QueryResultsFormat.JSON)):
                if row["count"] is not None:
                    expected = f"{int(plain(row['count'])):,}"
                    continue
                count += 1
                if not row["predicate"].value.startswith(LEASE_PREFIX):
                    yield ox.Quad(unnamed(row["subject"]), row["predicate"], unnamed(read(row["object"])), row["graph"])
        if expected != f"{count:,}":
            sent = f"the server sent {count:,} quads of {expected}"
            raise StorageFailed(f"{sent}: it cuts long replies. Raise its limit of rows.")

    def _everything(self) -> Iterator[ox.Quad]:
        return self._whole(queries.bind("catalogue/everything"))

    def dump(self, target: Path) -> int:
        """Write every quad as N-Quads, as they come, and return their count."""
        count = 0

        def counted() -> Iterator[ox.Quad]:
            nonlocal count
            for quad in self._everything():
                count += 1
                yield quad

        def write(output: IO[bytes]) -> int:
            ox.serialize(counted(), output, ox.RdfFormat.N_QUADS)
            return count

        return quad_files.dump(write, target)

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


def _exchange(leaving: Iterable[ox.Quad], entering: Iterable[ox.Quad], dropped: Iterable[ox.NamedNode] = ()) -> str:
    values = {"gone": list(map(named_quad, leaving)), "come": list(map(named_quad, entering))}
    return queries.bind("catalogue/exchange_terms", dropped=list(dropped), **values)


def _with_prefixes(sparql: str, prefixes: Mapping[str, str]) -> str:
    return "".join(f"PREFIX {name}: <{iri}> " for name, iri in prefixes.items()) + sparql
