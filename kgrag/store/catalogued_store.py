"""``CataloguedStore``: named graphs, a catalogue, and publications that are whole or absent, above any ``QuadStore``.

Readers see one state for the length of a query and never wait. Writers wait for each other, in one process.

The default graph is always empty: what an update writes there moves to the graph ``{base}graph/data/default``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, InvalidSPARQL, StateError, StorageFailed
from kgrag.model import GraphDraft, Publication, Table
from kgrag.ports import TripleStore, Validator
from kgrag.sparql.computed_terms import with_readable_terms
from kgrag.sparql.gate import check_query, check_update
from kgrag.sparql.update_targets import written
from kgrag.store import fact_journal, identity, kind_journal, migrations, publication_plan, quad_files
from kgrag.store import lineage as lineages
from kgrag.store.engine import Results, engine, table_of
from kgrag.store.locking import OpenedFolder, WriterLock
from kgrag.store.publishing import Publishing
from kgrag.store.quad_store import QuadStore, of_graph
from kgrag.store.update_record import Rewriting
from kgrag.vocab import KG, PREFIXES, RDF, Names

__all__ = ["CataloguedStore"]


class CataloguedStore:
    """Implements ``kgrag.ports.OpenedStore``; ``OxigraphStore`` and ``ServerStore`` make one with ``open``."""

    def __init__(
        self,
        quads: QuadStore,
        names: Names,
        *,
        validator: Validator | None = None,
        lock: WriterLock | None = None,
        read_only: bool = False,
        folder: Path | None = None,
    ) -> None:
        self._quads = quads
        self._folder = folder
        self._names = names
        self._validator = validator
        self._lock = lock
        self._read_only = read_only
        self._opened = OpenedFolder(folder, writing=lock is not None)
        self._closed = False
        self._turn = threading.RLock()
        self._stated: Sequence[ox.Quad] = ()
        self._revision = identity.revision(quads, names)
        self._unwritten_lineage = lineages.drawn()

    def _rehearsed(self, quads: Iterable[ox.Quad]) -> TripleStore:
        """Return a store in memory with quads that are to be validated."""
        raise NotImplementedError

    @property
    def names(self) -> Names:
        """The IRIs of this knowledge base."""
        return self._names

    @property
    def revision(self) -> int:
        """Count of changes so far; 0 for a store just created."""
        return self._revision

    def follow(self) -> int:
        """Learn of changes that another process made, where that can be; return the revision.

        An embedded store that is open for reading is as it was when it was opened, and a writer is alone.
        """
        return self._revision

    def reach(self) -> None:
        """Ask the server that the triples are on whether it answers; an embedded store is on none."""

    # reading

    def select(self, query: str) -> Table:
        """Run a SELECT of our own.

        Raises:
            InvalidSPARQL: it does not parse, or is no SELECT.
        """
        with engine(query):
            return table_of(self._opened_quads().query(query))

    def ask(self, query: str) -> bool:
        """Run an ASK of our own.

        Raises:
            InvalidSPARQL: it does not parse, or is no ASK.
        """
        with engine(query):
            result = self._opened_quads().query(query)
            if not isinstance(result, ox.QueryBoolean):
                raise InvalidSPARQL("an ASK was expected, and this is another form of query. Write ASK.")
            return bool(result)

    def construct(self, query: str) -> list[ox.Triple]:
        """Run a CONSTRUCT or DESCRIBE of our own.

        Raises:
            InvalidSPARQL: it does not parse, or is neither.
        """
        with engine(query):
            results = self._opened_quads().query(query)
            try:
                if not isinstance(results, ox.QueryTriples):
                    raise InvalidSPARQL("a CONSTRUCT or DESCRIBE was expected. Write one of them.")
                return list(results)
            finally:
                del results  # a traceback must not keep the folder open

    def query(
        self, sparql: str, *, union: bool = False, calls: Mapping[ox.NamedNode, Callable[..., Any]] | None = None
    ) -> Results:
        """Run a query from outside, past the gate, and return the engine's own results.

        They belong to the thread that asked for them. ``union`` makes the default graph the union of all named
        graphs, unless the query itself says FROM. ``calls`` are functions that it may call.

        Raises:
            InvalidSPARQL: the gate or the parser refuses it.
        """
        reading = check_query(sparql)
        with engine(sparql):
            union = union and not reading.chooses_dataset
            return self._opened_quads().query(sparql, prefixes=PREFIXES, union=union, calls=calls)

    def triples(self, *graphs: ox.NamedNode) -> Iterator[ox.Triple]:
        """Yield the triples of named graphs."""
        with engine():
            yield from map(attrgetter("triple"), self._opened_quads().of_graphs(graphs))

    def quads_of_kinds(self, kinds: Sequence[ox.NamedNode]) -> Iterator[ox.Quad]:
        """Yield the quads of every graph that the catalogue says is of one of these kinds.

        Raises:
            StorageFailed: a SPARQL server sent fewer than it counts.
        """
        with engine():
            yield from self._opened_quads().of_kinds(kinds, self._names.catalogue)

    def described(self, graph: ox.NamedNode) -> bool:
        """Return whether the catalogue lists this graph."""
        with engine():
            return graph in publication_plan.kinds_of([graph], self._opened_quads(), self._names.catalogue)

    def graphs(self) -> list[str]:
        """Return the IRI of every named graph that contains a triple, sorted."""
        with engine():
            return sorted(graph.value for graph in self._opened_quads().graphs())

    def __len__(self) -> int:
        """Count the quads."""
        with engine():
            return len(self._opened_quads())

    # writing

    def publish(self, drafts: Sequence[GraphDraft], *, conforming: Collection[ox.NamedNode] = ()) -> Publication:
        """Validate drafts in a scratch store, then let all that conform in at once; the rest goes to quarantine.

        New graphs, added triples and their entries enter in one atomic step. Where something has to leave (a "replace"
        draft whose graph differs), all "replace" drafts enter before, in a step of their own. The same changes nothing.

        Args:
            drafts: graphs as they are to be.
            conforming: graphs whose drafts were validated elsewhere, by the same shapes, each as a new graph; one that
                is new here is not validated again.

        Raises:
            InvalidRDF: two drafts of one graph contradict each other, or a literal of ours is not canonical.
            ShapeViolation: something failed its shape that belongs to no draft.
            StorageFailed: the disk refused; nothing entered.
        """
        with self._writing() as store:
            publishing = Publishing(
                store, self._names, self._revision, stated=self._stated, lineage=self._unwritten_lineage
            )
            with engine():
                publishing.compare(drafts)
            if self._validator is not None and (unproven := publishing.unproven(conforming)):
                scratch = self._rehearsed(publishing.rehearsal(unproven))
                found = self._validator(scratch, [change.draft for change in unproven])
                with engine():
                    publishing.put_aside(found)
            try:
                with engine():
                    publishing.write()
                fact_journal.note(self, self._revision, publishing.revision, publishing.facts())
                kind_journal.note(self, self._revision, publishing.revision, publishing.kinds)
            finally:
                self._advance(publishing.revision)  # of two atomic steps the first may have entered
            return publishing.outcome()

    def update(
        self, update: str, *, graphs: Sequence[ox.NamedNode] | None = None, subjects: Collection[str] | None = None
    ) -> int:
        """Run an update from outside, past the gate, and set the catalogue right, all in one atomic step.

        The catalogue gains a revision, which the graphs that changed name; graphs that are new to it become data
        graphs; graphs left empty are struck from it; counts are made anew; the default graph's triples move to
        ``{base}graph/data/default``.

        Args:
            update: one or more operations.
            graphs: whose triples it may change, for an update of our own that edits the catalogue without changing what
                a graph is; None reads from the text which graphs it writes to.
            subjects: the IRIs whose texts it may change or take away; None reads all that these graphs speak of, before
                and afterwards.

        Returns:
            The new revision; the old one for an update without an operation.

        Raises:
            InvalidSPARQL: the gate or the parser refuses it.
        """
        reading = check_update(update)
        with self._writing() as store, engine(update):
            if reading.does_nothing:  # its prologue may still be wrong
                ox.Store().update(update, prefixes=PREFIXES)
                return self._revision
            text = f"{with_readable_terms(update)}\n{'' if reading.last == ';' else ';'}\n"
            stated = publication_plan.by_update(self._revision + 1, self._names) if graphs is None else []
            if graphs is None:
                targets = written(update, PREFIXES).graphs
                # an update that edits the catalogue may change what any graph is
                if targets is not None and self._names.catalogue.value not in targets:
                    graphs = [ox.NamedNode(graph) for graph in sorted(targets - {""})]
            try:
                one_way, inserts = not reading.adds_and_removes, reading.only_inserts_data
                self._rewrite(store, text, graphs, subjects=subjects, one_way=one_way, inserts=inserts, stated=stated)
            except SyntaxError:
                # raises with the place in the caller's text, not in ours: it ends there, before anything is sorted
                ox.Store().update(update, prefixes=PREFIXES)
                raise
            return self._revision

    def _rewrite(  # noqa: PLR0913 - what is known of one update
        self,
        store: QuadStore,
        update: str,
        graphs: Sequence[ox.NamedNode] | None,
        *,
        subjects: Collection[str] | None = None,
        one_way: bool = False,
        inserts: bool = False,
        stated: Sequence[ox.Quad] = (),
    ) -> None:
        revision, lineage = self._revision + 1, self._unwritten_lineage
        stated = [*stated, *self._stated, *publication_plan.lineage_of(revision, self._names, lineage)]
        touched = None if graphs is None else [*graphs, self._names.default_data]
        insertion = update if inserts else None
        seen = fact_journal.Seen(store, touched, self._names, insertion=insertion, subjects=subjects)
        record = Rewriting(store, self._names, revision=revision, graphs=graphs, one_way=one_way, stated=stated)
        record.write(update)
        if identity.write_founding(store, self._names) and not lineage:
            store.add(publication_plan.lineage_of(revision, self._names, lineages.drawn()))
        reached = identity.revision(store, self._names)
        try:
            seen.note(self, self._revision, reached)
        finally:
            self._advance(reached)
        record.settle()

    def remove(self, graphs: Sequence[ox.NamedNode]) -> int:
        """Drop graphs, their lexical companions and their catalogue entries in one atomic step.

        Returns:
            How many of the graphs existed; with 0 nothing changes.

        Raises:
            InputError: the catalogue itself is among them.
        """
        with self._writing() as store:
            if self._names.catalogue in graphs:
                raise InputError("the catalogue graph cannot be removed; it describes all the others. Leave it out.")
            distinct = list(dict.fromkeys(graphs))
            lexical = {graph: self._names.lexical_graph(graph.value) for graph in distinct}
            with engine():
                there = self._existing([*distinct, *lexical.values()])
            existing = [graph for graph in distinct if graph in there]
            if not existing:
                return 0
            dropped = list(
                dict.fromkeys([*existing, *(lexical[graph] for graph in existing if lexical[graph] in there)])
            )
            entries = [quad for graph in dropped for quad in there[graph]]
            kinds = [quad.object for quad in entries if quad.predicate == RDF.type]
            statements = publication_plan.publication(
                self._revision + 1,
                KG.Publication,
                publication_plan.now(),
                self._names,
                removed=kinds,
                lineage=self._unwritten_lineage,
            )
            facts = fact_journal.quads_of(store, dropped, self._names)
            with engine():
                store.exchange(entries, [*statements, *self._stated], dropped)
            fact_journal.note_difference(self, self._revision, self._revision + 1, facts, set())
            touched = [kind for kind in kinds if isinstance(kind, ox.NamedNode)]
            kind_journal.note(self, self._revision, self._revision + 1, touched)
            self._advance(self._revision + 1)
            return len(existing)

    def restate(self, leaving: Sequence[ox.Quad], entering: Sequence[ox.Quad]) -> int:
        """Take statements that describe no graph out of the catalogue and put others in, in one atomic step.

        Returns:
            The new revision, in which no graph has changed.
        """
        with self._writing() as store:
            lineage = self._unwritten_lineage
            node = publication_plan.publication(
                self._revision + 1, KG.Publication, publication_plan.now(), self._names, lineage=lineage
            )
            with engine():
                store.exchange(leaving, [*node, *self._stated, *entering])
            fact_journal.note_difference(self, self._revision, self._revision + 1, set(), set())
            kind_journal.note(self, self._revision, self._revision + 1, ())
            self._advance(self._revision + 1)
            return self._revision

    @contextmanager
    def stating(self, statements: Sequence[ox.Quad]) -> Iterator[None]:
        """Write statements to the catalogue with the first change that is made meanwhile, in the same atomic step.

        Without a change nothing is written. One such account at a time: an inner one takes the place of the outer.
        """
        self._stated = statements
        try:
            yield
        finally:
            self._stated = ()

    def _advance(self, revision: int) -> None:
        """Set the revision; the first change of this writer has named its lineage, and stated what there was.

        What changed is noted before: another thread that sees the revision asks for it at once.
        """
        if revision != self._revision:
            if self._unwritten_lineage:
                lineages.note(self, self._revision + 1, self._unwritten_lineage)
            self._revision, self._unwritten_lineage, self._stated = revision, "", ()

    def _existing(self, graphs: Sequence[ox.NamedNode]) -> dict[ox.NamedNode, list[ox.Quad]]:
        """Return the catalogue's entries of those graphs that it lists or that contain a triple."""
        distinct = list(dict.fromkeys(graphs))
        catalogue = self._names.catalogue
        entries = self._quads.matching([(graph, None, None, catalogue) for graph in distinct])
        unlisted = [graph for graph, entry in zip(distinct, entries, strict=True) if not entry]
        filled = {graph for graph in unlisted if next(self._quads.match(of_graph(graph)), None) is not None}
        return {graph: e for graph, e in zip(distinct, entries, strict=True) if e or graph in filled}

    # whole stores

    def dump(self, target: Path) -> int:
        """Write every quad as N-Quads (gzipped when the name ends in .gz) and return their count.

        Raises:
            StorageFailed: the file cannot be written.
        """
        self._opened.refuse()
        with self._turn, engine():
            return self._opened_quads().dump(target)

    def load(self, source: Path) -> int:
        """Fill a store that was just created from an N-Quads file, in one atomic step, and return the count of quads.

        A dump of a knowledge base brings its catalogue along; other graphs are listed as data graphs afterwards.

        Raises:
            StateError: the store is not empty.
            InvalidRDF: the file does not parse, or a statement names no graph.
            SchemaMismatch: it is a dump with another base IRI, or of a newer kgrag.
        """
        with self._writing() as store:
            if self._revision or len(store) > identity.FOUNDING_QUADS:
                raise StateError("only an empty knowledge base can be filled from a dump. Create a new one for it.")
            count = 0

            def counted() -> Iterator[ox.Quad]:
                nonlocal count
                for quad in quad_files.read(source, self._names):
                    count += 1
                    yield quad

            with engine():
                # the dump brings the catalogue's own beginning along, and two of them would contradict each other
                store.exchange(identity.creation_quads(store, self._names), [])
                try:
                    store.fill(counted())
                    migrations.migrate(store, self._names)
                finally:
                    identity.write_founding(store, self._names)
                    self._revision = identity.revision(store, self._names)
            if self.select(queries.bind("catalogue/uncatalogued", catalogue=self._names.catalogue)).rows:
                self._rewrite(store, "", None)
            return count

    def snapshot(self, folder: Path) -> None:
        """Write a consistent copy of the store into a new folder, by hard links where the file system allows it.

        Raises:
            StorageFailed: the folder exists, or cannot be made.
        """
        if folder.exists():
            raise StorageFailed(f"{folder} exists; a snapshot needs a new folder. Choose another name.")
        self._opened.refuse()
        with self._turn, engine():
            self._opened_quads().snapshot(folder)

    def rewrite(self) -> None:
        """Write the whole store anew, so that no file of its folder has a term that no triple has.

        The engine never takes a deleted term out of its files. The new folder takes the place of the old one by two
        renames, once nobody is at a result; the next ``open`` for writing puts right what a process that dies leaves.

        Raises:
            StorageFailed: the disk refused; the old folder is then still in use.
        """
        with self._writing() as store, engine():
            self.flush()
            if self._folder is not None:
                self._opened = OpenedFolder(self._folder, writing=False)  # it is about to be moved by us
                try:
                    store.rewrite()
                finally:
                    self._opened = OpenedFolder(self._folder, writing=True)

    def damage(self) -> list[str]:
        """Read every block of the store; return what is damaged, one sentence each. Takes 2 s per 100,000 quads.

        Raises:
            StorageFailed: it cannot be opened once more.
        """
        self.flush()
        with engine():
            return self._opened_quads().damage()

    def flush(self) -> None:
        """Make all that was acknowledged survive a power cut."""
        self._opened.refuse()
        with self._turn, engine():
            self._opened_quads().flush()

    def close(self) -> None:
        """Flush and release the lock; a second call does nothing, nor does one in a process that inherited it."""
        if self._opened.inherited:
            return
        with self._turn:
            if self._closed:
                return
            try:
                if not self._opened.moved:
                    self.flush()
            finally:
                self._closed = True
                self._quads.close()
                if self._lock is not None:
                    self._lock.release()

    def __enter__(self) -> Self:
        """Return the store itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _opened_quads(self) -> QuadStore:
        self._opened.refuse()
        if self._closed:
            raise StateError("this store is closed. Open it again.")
        return self._quads

    @contextmanager
    def _writing(self) -> Iterator[QuadStore]:
        self._opened.refuse()
        with self._turn:
            if self._read_only:
                raise StateError("this store was opened for reading only. Open it for writing to change it.")
            yield self._opened_quads()
