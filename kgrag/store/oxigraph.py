"""``OxigraphStore``: named graphs, a catalogue, one writer, and publications that are whole or absent.

What is acknowledged survives the death of the process; ``flush`` and ``close`` make it survive a power cut.
Readers see one state for the length of a query and never wait. Writers wait for each other, in one process; a second
process is refused, and may open the folder for reading.

The default graph is always empty: what an update writes there moves to the graph ``{base}graph/data/default``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, InvalidSPARQL, StateError, StorageFailed
from kgrag.model import GraphDraft, Publication, Table
from kgrag.ports import Validator
from kgrag.sparql.gate import check_query, check_update
from kgrag.sparql.update_targets import written
from kgrag.store import fact_journal, identity, migrations, publication_plan, quad_files, rewriting, verification
from kgrag.store.engine import Results, engine, release, table_of
from kgrag.store.lineage import drawn
from kgrag.store.locking import OpenedFolder, WriterLock
from kgrag.store.publishing import Publishing, exchange
from kgrag.store.update_record import Rewriting
from kgrag.vocab import KG, PREFIXES, RDF, Names

__all__ = ["OxigraphStore"]


class OxigraphStore:
    """A knowledge base's triples in an Oxigraph folder, or in memory. Make one with ``open``.

    >>> store = OxigraphStore.open(None)
    >>> store.revision, store.graphs()
    (0, ['urn:kgrag:graph/catalogue'])
    """

    def __init__(
        self,
        store: ox.Store,
        names: Names,
        *,
        validator: Validator | None = None,
        lock: WriterLock | None = None,
        read_only: bool = False,
        folder: Path | None = None,
    ) -> None:
        self._store = store
        self._folder = folder
        self._names = names
        self._validator = validator
        self._lock = lock
        self._read_only = read_only
        self._opened = OpenedFolder(folder, writing=lock is not None)
        self._closed = False
        self._turn = threading.RLock()
        self._stated: Sequence[ox.Quad] = ()
        self._revision = identity.revision(store, names)
        self._unwritten_lineage = drawn()

    @classmethod
    def open(
        cls,
        folder: Path | None,
        *,
        base: str | None = None,
        validator: Validator | None = None,
        read_only: bool = False,
    ) -> Self:
        """Open a store, or create it.

        Args:
            folder: where it lives; None keeps it in memory. ``<folder>.lock`` and ``<folder>.pid`` exist next to it
                while a writer has it open.
            base: its base IRI; None takes the recorded one, or the default for a new store.
            validator: checks drafts in a scratch store before ``publish`` lets them in.
            read_only: open without the lock, whether or not a writer runs; the view stays as it is at opening.

        Raises:
            StoreLocked: another process writes to it; the message names the process.
            SchemaMismatch: it was written by a newer kgrag, or has another base IRI, or is to be read only and was
                written by an earlier one.
            StorageFailed: the folder cannot be read or written, or is to be read only and does not exist.
        """
        lock = WriterLock(folder) if folder is not None and not read_only else None
        store = None
        try:
            with engine():
                if folder is not None and not read_only:
                    rewriting.finish(folder)
                store = identity.open_folder(folder, read_only=read_only)
                names = identity.recorded_names(store, base)
                if read_only:
                    migrations.refuse_earlier(store, names)
                else:
                    migrations.migrate(store, names)
                    identity.write_founding(store, names)
                return cls(store, names, validator=validator, lock=lock, read_only=read_only, folder=folder)
        except BaseException:
            if store is not None:
                release(store)
            if lock is not None:
                lock.release()
            raise

    @property
    def names(self) -> Names:
        """The IRIs of this knowledge base."""
        return self._names

    @property
    def revision(self) -> int:
        """Count of changes so far; 0 for a store just created."""
        return self._revision

    # reading

    def select(self, query: str) -> Table:
        """Run a SELECT of our own.

        Raises:
            InvalidSPARQL: it does not parse, or is no SELECT.
        """
        with engine(query):
            return table_of(self._engine().query(query))

    def ask(self, query: str) -> bool:
        """Run an ASK of our own.

        Raises:
            InvalidSPARQL: it does not parse, or is no ASK.
        """
        with engine(query):
            result = self._engine().query(query)
            if not isinstance(result, ox.QueryBoolean):
                raise InvalidSPARQL("an ASK was expected, and this is another form of query. Write ASK.")
            return bool(result)

    def construct(self, query: str) -> list[ox.Triple]:
        """Run a CONSTRUCT or DESCRIBE of our own.

        Raises:
            InvalidSPARQL: it does not parse, or is neither.
        """
        with engine(query):
            results = self._engine().query(query)
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
            return self._engine().query(
                sparql,
                prefixes=PREFIXES,
                use_default_graph_as_union=union and not reading.chooses_dataset,
                custom_functions=dict(calls or {}),
            )

    def triples(self, graph: ox.NamedNode) -> Iterator[ox.Triple]:
        """Yield the triples of one named graph."""
        with engine():
            for quad in self._engine().quads_for_pattern(None, None, None, graph):
                yield quad.triple

    def described(self, graph: ox.NamedNode) -> bool:
        """Return whether the catalogue lists this graph."""
        with engine():
            return publication_plan.kind_of(graph, self._engine(), self._names.catalogue) is not None

    def graphs(self) -> list[str]:
        """Return the IRI of every named graph that contains a triple, sorted."""
        with engine():
            return sorted(graph.value for graph in self._engine().named_graphs())

    def __len__(self) -> int:
        """Count the quads."""
        with engine():
            return len(self._engine())

    def default_graph_size(self) -> int:
        """Count the triples outside every named graph; 0 unless the folder was written by something else."""
        with engine():
            return sum(1 for _ in self._engine().quads_for_pattern(None, None, None, ox.DefaultGraph()))

    # writing

    def publish(self, drafts: Sequence[GraphDraft]) -> Publication:
        """Validate drafts in a scratch store, then let all that conform in at once; the rest goes to quarantine.

        New graphs, added triples and their entries enter in one atomic step. Where something has to leave (a "replace"
        draft whose graph differs), all "replace" drafts enter before, in a step of their own. The same changes nothing.

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
            if self._validator is not None and publishing.writes():
                scratch = OxigraphStore.open(None, base=self._names.base)
                scratch._store.extend(publishing.rehearsal())
                publishing.put_aside(self._validator(scratch, publishing.drafts()))
            try:
                with engine():
                    publishing.write()
            finally:
                before = self._revision
                self._advance(publishing.revision)  # of two atomic steps the first may have entered
            fact_journal.note(self, before, self._revision, publishing.facts())
            return publishing.outcome()

    def update(self, update: str, *, graphs: Sequence[ox.NamedNode] | None = None) -> int:
        """Run an update from outside, past the gate, and set the catalogue right, all in one atomic step.

        The catalogue gains a revision, which the graphs that changed name; graphs that are new to it become data
        graphs; graphs left empty are struck from it; counts are made anew; the default graph's triples move to
        ``{base}graph/data/default``.

        Args:
            update: one or more operations.
            graphs: whose triples it may change, for an update of our own that edits the catalogue without changing what
                a graph is; None reads from the text which graphs it writes to.

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
            text = f"{update}\n{'' if reading.last == ';' else ';'}\n"
            if graphs is None:
                targets = written(update, PREFIXES).graphs
                # an update that edits the catalogue may change what any graph is
                if targets is not None and self._names.catalogue.value not in targets:
                    graphs = [ox.NamedNode(graph) for graph in sorted(targets - {""})]
            try:
                one_way, inserts = not reading.adds_and_removes, reading.only_inserts_data
                self._rewrite(store, text, graphs, one_way=one_way, inserts=inserts)
            except SyntaxError:
                ox.Store().update(update, prefixes=PREFIXES)  # raises with the place in the caller's text, not in ours
                raise
            return self._revision

    def _rewrite(
        self,
        store: ox.Store,
        update: str,
        graphs: Sequence[ox.NamedNode] | None,
        *,
        one_way: bool = False,
        inserts: bool = False,
    ) -> None:
        revision, lineage = self._revision + 1, self._unwritten_lineage
        stated = [*self._stated, *publication_plan.lineage_of(revision, self._names, lineage)]
        touched = None if graphs is None else [*graphs, self._names.default_data]
        seen = fact_journal.Seen(store, touched, self._names, insertion=update if inserts else None)
        record = Rewriting(store, self._names, revision=revision, graphs=graphs, one_way=one_way, stated=stated)
        record.write(update)
        identity.write_founding(store, self._names)
        before = self._revision
        self._advance(identity.revision(store, self._names))
        record.settle()
        seen.note(self, before, self._revision)

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
            existing = [graph for graph in dict.fromkeys(graphs) if self._exists(graph)]
            if not existing:
                return 0
            lexical = [self._names.lexical_graph(graph.value) for graph in existing]
            dropped = list(dict.fromkeys([*existing, *(graph for graph in lexical if self._exists(graph))]))
            catalogue = self._names.catalogue
            entries = [quad for graph in dropped for quad in store.quads_for_pattern(graph, None, None, catalogue)]
            kinds = [quad.object for quad in entries if quad.predicate == RDF.type]
            statements = publication_plan.publication(
                self._revision + 1,
                KG.Publication,
                publication_plan.now(),
                self._names,
                removed=kinds,
                lineage=self._unwritten_lineage,
            )
            facts, before = fact_journal.quads_of(store, dropped, self._names), self._revision
            with engine():
                exchange(store, entries, [*statements, *self._stated], dropped)
            self._advance(self._revision + 1)
            fact_journal.note_difference(self, before, self._revision, facts, set())
            return len(existing)

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
        """Set the revision; the first change of this writer has named its lineage, and stated what there was."""
        if revision != self._revision:
            self._revision, self._unwritten_lineage, self._stated = revision, "", ()

    def _exists(self, graph: ox.NamedNode) -> bool:
        return self._store.contains_named_graph(graph) or self.described(graph)

    # whole stores

    def dump(self, target: Path) -> int:
        """Write every quad as N-Quads (gzipped when the name ends in .gz) and return their count.

        Raises:
            StorageFailed: the file cannot be written.
        """
        self._opened.refuse()
        with self._turn, engine():
            return quad_files.dump(self._engine(), target)

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
                exchange(store, identity.creation_quads(store, self._names), [])
                try:
                    store.bulk_extend(counted())
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
            store = self._engine()
            if self._lock is None and not self._read_only:  # a store in memory has no files to link
                copy = ox.Store(str(folder))
                copy.bulk_extend(store)
                copy.flush()
            else:
                store.backup(str(folder))

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
                    rewriting.rewrite(store, self._folder)
                finally:
                    self._opened = OpenedFolder(self._folder, writing=True)

    def damage(self) -> list[str]:
        """Read every block of the store; return what is damaged, one sentence each. Takes 8 s per 100,000 quads.

        Raises:
            StorageFailed: it cannot be opened once more.
        """
        if self._folder is None:
            return verification.damage(self._engine())
        self.flush()
        another = identity.open_folder(self._folder, read_only=True)  # this one has blocks in memory that it read
        try:
            return verification.damage(another)
        finally:
            release(another)

    def flush(self) -> None:
        """Make all that was acknowledged survive a power cut."""
        self._opened.refuse()
        if not self._read_only:
            with self._turn, engine():
                self._engine().flush()

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
                release(self._store)
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

    def _engine(self) -> ox.Store:
        self._opened.refuse()
        if self._closed:
            raise StateError("this store is closed. Open it again.")
        return self._store

    @contextmanager
    def _writing(self) -> Iterator[ox.Store]:
        self._opened.refuse()
        with self._turn:
            if self._read_only:
                raise StateError("this store was opened for reading only. Open it for writing to change it.")
            yield self._engine()
