"""Vector spaces in a PostgreSQL database with pgvector, shared by the processes that use one knowledge base.

A knowledge base has a schema of its own, named after the first lineage of its store, so that several share a database.
In it, ``space`` has a row per space (embedder, revision, lineage), and ``vector_<number>`` its rows: IRI and float32
vector. From 5,000 rows on there is an HNSW graph over the vectors in half precision; what it finds is ranked again by
the cosines of the whole vectors, with the code that ranks those of ``kgrag.index.hnsw``, so that scores are the same.

Changes stay in memory until ``save``, which writes them and the revision that they reflect in one transaction. Where
another process has saved meanwhile, the newer revision stays. A space that was made from another store of the same
origin (a copy that went on by itself) is treated as absent.

pgvector 0.8: a graph is searched with ``hnsw.ef_search`` and goes on behind a filter with ``hnsw.iterative_scan``; both
are set per search, for its transaction. Its defaults find .91 of the ten nearest, and with a filter few or none.
"""

from __future__ import annotations

import logging
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kgrag.errors import EmbeddingMismatch
from kgrag.index import postgres_tables
from kgrag.index.postgres_tables import ABSENT, Asked, Head, composed, received
from kgrag.index.vector_table import SlotTable, check_space_name, rows_for, unit_rows
from kgrag.ports import Vectors
from kgrag.store.postgres_connection import PostgresServer, Rows

__all__ = ["PostgresIndex", "PostgresSpaces"]

_MIN_ROWS_FOR_GRAPH = 5_000  # fewer are looked at one by one in less time
_MAX_ALLOWED_RANKED_EXACTLY = 20_000  # allowed keys that are looked at one by one
_MIN_SEARCH_BREADTH, _MAX_SEARCH_BREADTH = 200, 1_000  # ef_search; pgvector takes no more
_MIN_CANDIDATES = 64  # ranked again by their whole vectors
_MAX_ROWS_SCANNED = 200_000  # of a graph behind a filter, before all allowed rows are looked at
_KEYS_PER_READ = 4_096
_MAX_SETS_KEPT = 8

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Allowed:
    """The rows that a search may find: how many, and their numbers as PostgreSQL writes an array; None for all."""

    count: int
    written: str | None


class PostgresSpaces:
    """Opens each space once (``ports.VectorSpaces``); safe to use from several threads."""

    def __init__(
        self,
        server: PostgresServer,
        *,
        origin: Callable[[], str],
        identity: str,
        dimension: int,
        read_only: bool = False,
        lineage: Callable[[int], str] | None = None,
    ) -> None:
        """Name the database; nothing is read or written yet.

        Args:
            server: where spaces are.
            origin: returns the first lineage of the store, "" while it is empty; names the schema.
            identity: of the embedder, recorded with every space.
            dimension: of its vectors.
            read_only: spaces can be changed in memory and are never written.
            lineage: returns the lineage of a revision of the store; None takes every space.
        """
        self.server = server
        self.identity, self.dimension, self.read_only = identity, dimension, read_only
        self._origin, self._lineage = origin, lineage
        self._open: dict[str, PostgresIndex] = {}
        self._lock = threading.Lock()

    def space(self, name: str) -> PostgresIndex:
        """Open a space; one that is absent, or was made from another store, is empty and has revision -1.

        Raises:
            EmbeddingMismatch: its vectors were made by another embedder.
            StorageFailed: the server cannot be reached, or refuses.
            UnknownName: the name has other characters than ``a-z``, ``0-9``, ``-`` and ``_``.
        """
        check_space_name(name)
        with self._lock:
            if name not in self._open:
                self._open[name] = PostgresIndex(name, self)
            opened = self._open[name]
        opened.refuse_another_embedder()
        return opened

    def names(self) -> list[str]:
        """Return the names of the spaces that exist, sorted. Raises StorageFailed."""
        with self._lock:
            opened = set(self._open)
        return sorted(opened | self.heads().keys())

    def heads(self) -> dict[str, Head]:
        """Return the rows of all spaces that exist, by name. Raises StorageFailed."""
        schema = self.schema()
        rows = [] if schema is None else self.server.rows(composed(postgres_tables.READ_HEADS, schema))
        return {name: Head(*row) for name, *row in rows}

    def drop(self, name: str) -> None:
        """Forget a space and remove its table. Raises StorageFailed, UnknownName."""
        check_space_name(name)
        with self._lock:
            self._open.pop(name, None)
        schema = self.schema()
        if schema is None or self.read_only:
            return

        def removed(connection: Any) -> None:
            read = connection.execute(composed(postgres_tables.READ_HEAD, schema), (name,))
            for number, *_ in read.fetchall():
                connection.execute(composed(postgres_tables.DROP_TABLE, schema, number))
                connection.execute(composed(postgres_tables.FORGET_HEAD, schema), (name,))

        if name in self.heads():
            self.server.run(removed)

    def reach(self) -> None:
        """Ask the server whether it answers. Raises StorageFailed."""
        self.server.rows("SELECT 1")

    def write_anew(self) -> None:
        """Write every table anew with the rows that it has, so that none of its files has a deleted one.

        What the server's write-ahead log, its backups and replicas have of them stays until they let go of it.

        Raises:
            StorageFailed: the server cannot be reached, or refuses.
        """
        schema = self.schema()
        if schema is None or self.read_only:
            return
        for head in self.heads().values():
            self.server.statement(composed(postgres_tables.REWRITE, schema, head.number))

    def described(self, revision: int) -> str:
        """Return server, versions and schema, and how far each space is behind a revision of the store.

        Raises:
            StorageFailed: the server cannot be reached, or refuses.
        """
        version, vector = self.server.rows(postgres_tables.READ_VERSIONS)[0]
        extension = f"pgvector {vector}" if vector else "pgvector is not there yet"
        words = f"{self.server.address.shown}: PostgreSQL {version}, {extension}, schema {self.schema()}"
        spaces = [f"'{name}' {_state(head, revision)}" for name, head in self.heads().items()]
        return "; ".join([words, *(spaces or ["nothing in it yet"])])

    def close(self) -> None:
        """Close the connections."""
        self.server.close()

    def schema(self) -> str | None:
        """Return the name of the schema; None while the store is empty."""
        origin = self._origin()
        return f"kgrag_{re.sub('[^a-z0-9]', '_', origin.lower())}"[:63] if origin else None

    def comes_from_this_store(self, name: str, head: Head) -> bool:
        """Return whether a space was made from this store, not from one with the same revision number."""
        if self._lineage is None or head.lineage == self._lineage(head.revision):
            return True
        _LOG.warning("Vector space '%s' was made from another store, and will be made again from this one.", name)
        return False

    def lineage_of(self, revision: int) -> str:
        """Return the lineage of a revision; "" where that is of no interest."""
        return self._lineage(revision) if self._lineage else ""


class PostgresIndex:
    """One vector space (``ports.VectorIndex``): its table, and in memory what was changed since the last save."""

    def __init__(self, name: str, spaces: PostgresSpaces) -> None:
        self._name, self._spaces = name, spaces
        self._lock = threading.RLock()
        self._head = ABSENT
        self._checked = (-1, -1)  # number and generation whose lineage was compared
        self._is_of_this_store = True
        self._allowed: OrderedDict[frozenset[str], _Allowed] = OrderedDict()
        self._forget_changes()

    def _forget_changes(self) -> None:
        self._added = SlotTable(self._spaces.dimension)
        self._gone: set[str] = set()
        self._begun: Head | None = None  # the head that the changes were made on
        self._shown: int | None = None  # the revision of the changes, where they are only kept in memory

    @property
    def revision(self) -> int:
        """The store revision that the saved vectors reflect, as it is now; -1 before anything was saved."""
        head = self._read_head()
        with self._lock:
            if self._shown is not None:
                if self._begun is not None and self._begun.generation == head.generation:
                    return self._shown
                self._forget_changes()  # somebody who may write has saved since
            return head.revision

    def __len__(self) -> int:
        """Count the keys."""
        changed, head = self._changed_keys(), self._read_head()
        return head.vectors - len(self._there(changed)) + self._added.live

    def __contains__(self, iri: object) -> bool:
        """Return whether a key is there."""
        return isinstance(iri, str) and not self.lacking([iri])

    def lacking(self, iris: Sequence[str]) -> list[str]:
        """Return those keys that are not there, in their order."""
        with self._lock:
            added, gone = set(self._added.keys()), set(self._gone)
        there = self._there([iri for iri in iris if iri not in added and iri not in gone])
        return [iri for iri in iris if iri not in added and iri not in there]

    def keys(self) -> list[str]:
        """Return every key, in the order they came in."""
        changed = set(self._changed_keys())
        saved = [iri for (iri,) in self._read("SELECT iri FROM {table} ORDER BY id") if iri not in changed]
        return saved + self._added.keys()

    def upsert(self, iris: Sequence[str], vectors: Vectors) -> None:
        """Add or replace vectors, shape (len(iris), d); of an IRI that comes twice the last one stays.

        Raises:
            ValueError: another shape, or a number that is not finite.
        """
        rows = rows_for(iris, vectors, self._spaces.dimension)
        with self._lock:
            self._begin_changes()
            self._added.put(iris, rows)
            self._gone.difference_update(iris)

    def delete(self, iris: Collection[str]) -> None:
        """Drop keys; unknown ones are ignored."""
        if not iris:
            return
        with self._lock:
            self._begin_changes()
            for iri in iris:
                self._added.drop(iri)
            self._gone.update(iris)

    def vectors(self, iris: Sequence[str]) -> Vectors:
        """Return the stored vectors of known keys, float32 of shape (len(iris), d). Raises KeyError."""
        with self._lock:
            rows = {iri: self._added.rows_of([iri])[0] for iri in iris if iri in self._added}
            gone = set(self._gone)
        wanted = [iri for iri in dict.fromkeys(iris) if iri not in rows and iri not in gone]
        for first in range(0, len(wanted), _KEYS_PER_READ):
            some = wanted[first : first + _KEYS_PER_READ]
            found = self._read("SELECT iri, vector_send(vector) FROM {table} WHERE iri = ANY(%s::text[])", some)
            rows.update({iri: received(sent) for iri, sent in found})
        out = np.empty((len(iris), self._spaces.dimension), np.float32)
        for place, iri in enumerate(iris):
            out[place] = rows[iri]
        return out

    def search(self, vector: Vectors, k: int, within: Collection[str] | None = None) -> list[tuple[str, float]]:
        """Return at most k (IRI, cosine) pairs, best first, ties by IRI.

        Args:
            vector: shape (d,) or (1, d); need not be of length 1.
            k: none are given below 1.
            within: only these keys, unknown ones ignored; None means all.

        Raises:
            StorageFailed: the server cannot be reached, or refuses.
            ValueError: another shape, or a number that is not finite.
        """
        target = unit_rows(np.atleast_2d(vector), self._spaces.dimension)
        if len(target) != 1:
            raise ValueError(f"search takes one vector, got {len(target)}.")
        if k < 1:
            return []
        with self._lock:
            slots = None if within is None else self._added.slots_of(within)
            ranked = self._added.best(target[0], k, slots)
            hidden = self._changed_keys()
        if (within is None or within) and self._known_head().vectors:
            found = self._candidates(target[0], k, within, hidden)
            rows = np.array([received(sent) for _, sent in found], np.float32).reshape(
                len(found), self._spaces.dimension
            )
            table = SlotTable(self._spaces.dimension, blocks=[rows] if found else [], keys=[iri for iri, _ in found])
            ranked += table.best(target[0], k)
        return sorted(ranked, key=lambda pair: (-pair[1], pair[0]))[:k]

    def save(self, revision: int) -> None:
        """Write what is new, and the revision, in one transaction; the graph with it, when that is due.

        Raises:
            StorageFailed: the server cannot be reached, or refuses; what was saved is intact, and nothing in memory is
                lost.
        """
        with self._lock:
            schema = self._spaces.schema()
            if self._spaces.read_only or schema is None:
                self._begin_changes()
                self._shown = revision
                return
            begun = self._known_head()
            if begun.revision == revision and not len(self._added) and not self._gone:
                return
            head = self._spaces.server.run(lambda connection: self._written(connection, schema, revision))
            if head is not None:
                self._forget_changes()
                self._allowed.clear()
                self._head, self._checked, self._is_of_this_store = head, (head.number, head.generation), True

    def refuse_another_embedder(self) -> None:
        """Raise EmbeddingMismatch if the vectors were made by another embedder."""
        head = self._known_head() if self._head is not ABSENT else self._read_head()
        spaces = self._spaces
        if head.number and (head.identity, head.dimension) != (spaces.identity, spaces.dimension):
            raise EmbeddingMismatch(
                f"space '{self._name}' was embedded with {head.identity} ({head.dimension}), but the embedder is "
                f"{spaces.identity} ({spaces.dimension}). Run `kgrag doctor --repair` to embed it again, or go back to "
                "that embedder."
            )

    # the row of the space

    def _known_head(self) -> Head:
        return self._head if self._head is not ABSENT else self._read_head()

    def _read_head(self) -> Head:
        """Read the row of the space; one that was made from another store is absent."""
        schema = self._spaces.schema()
        if schema is None:
            return ABSENT
        rows = self._spaces.server.rows(composed(postgres_tables.READ_HEAD, schema), (self._name,))
        head = Head(*rows[0]) if rows else ABSENT
        with self._lock:
            if (head.number, head.generation) != self._checked:
                self._allowed.clear()
                self._is_of_this_store = not rows or self._spaces.comes_from_this_store(self._name, head)
                self._checked = head.number, head.generation
            self._head = head if self._is_of_this_store else replace(ABSENT, generation=head.generation)
            return self._head

    def _begin_changes(self) -> None:
        if self._begun is None:
            self._begun = self._read_head()

    def _changed_keys(self) -> list[str]:
        with self._lock:
            return [*self._added.keys(), *self._gone]

    # reading

    def _read(self, statement: str, *values: Any) -> Rows:
        """Return the rows of a SELECT from the table; [] where there is none."""
        head, schema = self._known_head(), self._spaces.schema()
        if schema is None or not head.number:
            return []
        return self._spaces.server.rows(composed(statement, schema, head.number), values)

    def _there(self, iris: Collection[str]) -> set[str]:
        rows = self._read("SELECT iri FROM {table} WHERE iri = ANY(%s::text[])", list(iris)) if iris else []
        return {iri for (iri,) in rows}

    def _allowed_of(self, within: Collection[str]) -> _Allowed:
        """Return the rows of some keys; those of the last few frozensets are kept, as their hashes are known."""
        with self._lock:
            kept = self._allowed.get(within) if isinstance(within, frozenset) else None
        if kept is not None:
            return kept
        rows = self._read("SELECT id FROM {table} WHERE iri = ANY(%s::text[]) ORDER BY id", list(within))
        found = _Allowed(len(rows), f"{{{','.join(str(number) for (number,) in rows)}}}")
        with self._lock:
            if isinstance(within, frozenset):
                self._allowed[within] = found
                while len(self._allowed) > _MAX_SETS_KEPT:
                    self._allowed.popitem(last=False)
        return found

    def _candidates(self, vector: Vectors, k: int, within: Collection[str] | None, hidden: Sequence[str]) -> Rows:
        """Return the rows that can be among the k nearest allowed ones, and some more."""
        head, schema = self._known_head(), self._spaces.schema()
        allowed = _Allowed(head.vectors, None) if within is None else self._allowed_of(within)
        if schema is None or not allowed.count:
            return []
        asked = Asked(vector, max(2 * k, _MIN_CANDIDATES), allowed.written, hidden)
        few = within is not None and allowed.count <= _MAX_ALLOWED_RANKED_EXACTLY
        if head.graph and not few and asked.count <= _MAX_SEARCH_BREADTH:
            found = self._in_graph(asked, head, schema)
            if len(found) >= min(k, allowed.count):
                return found
        statement = composed(postgres_tables.LOOK_AT_EACH, schema, head.number)
        return self._spaces.server.rows(statement, asked.values())

    def _in_graph(self, asked: Asked, head: Head, schema: str) -> Rows:
        statement = composed(postgres_tables.SEARCH_GRAPH, schema, head.number, dimension=head.dimension)
        breadth = min(_MAX_SEARCH_BREADTH, max(_MIN_SEARCH_BREADTH, 2 * asked.count))
        settings = {
            "hnsw.ef_search": str(breadth),
            "hnsw.iterative_scan": "relaxed_order",
            "hnsw.max_scan_tuples": str(_MAX_ROWS_SCANNED),
        }
        return self._spaces.server.rows(statement, asked.values(), settings=settings)

    # writing

    def _written(self, connection: Any, schema: str, revision: int) -> Head | None:
        """Write the changes; return the new row of the space, or None where they are to be kept for a later save."""
        spaces, address = self._spaces, self._spaces.server.address
        saved = postgres_tables.locked_head(connection, schema, (self._name, spaces.identity, spaces.dimension))
        begun = self._begun or self._head
        head = saved
        if saved.generation and not spaces.comes_from_this_store(self._name, saved):
            connection.execute(composed(postgres_tables.DROP_TABLE, schema, saved.number))
            head = replace(saved, identity=spaces.identity, dimension=spaces.dimension, revision=-1, vectors=0)
            head = replace(head, graph=False)
            postgres_tables.make_table(connection, schema, head)
        elif saved.generation != begun.generation and saved.revision > revision:
            # a newer state than ours; what is a step on the way to a newer one yet is kept for that one
            return None if revision == begun.revision else saved
        gone = connection.execute(composed(postgres_tables.DELETE_ROWS, schema, head.number), (list(self._gone),))
        new = postgres_tables.write_rows(connection, schema, head.number, self._added)
        made = replace(
            head,
            revision=revision,
            lineage=spaces.lineage_of(revision),
            generation=head.generation + 1,
            vectors=head.vectors - gone.rowcount + new,
        )
        if not made.graph and made.vectors >= _MIN_ROWS_FOR_GRAPH and revision != begun.revision:
            postgres_tables.make_graph(connection, schema, made, address)
            made = replace(made, graph=True)
        postgres_tables.write_head(connection, schema, made)
        return made


def _state(head: Head, revision: int) -> str:
    behind = f", {revision - head.revision} behind the store" if head.revision < revision else ""
    graph = "with a graph" if head.graph else "without a graph"
    return f"reflects revision {head.revision}{behind}, {head.vectors:,} vectors {graph}"
