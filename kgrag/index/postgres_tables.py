"""The tables of vector spaces in a PostgreSQL schema: their statements, and rows on their way there and back.

Values are bound; names of tables, and numbers that cannot be bound, are put in by ``psycopg.sql``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kgrag.index.vector_table import SlotTable
from kgrag.ports import Vectors
from kgrag.store.postgres_connection import PostgresAddress

__all__ = [
    "ABSENT",
    "DELETE_ROWS",
    "DROP_TABLE",
    "FORGET_HEAD",
    "LOOK_AT_EACH",
    "READ_HEAD",
    "READ_HEADS",
    "READ_VERSIONS",
    "REWRITE",
    "SEARCH_GRAPH",
    "Asked",
    "Head",
    "building_megabytes",
    "composed",
    "locked_head",
    "make_graph",
    "make_table",
    "received",
    "write_head",
    "write_rows",
]

_MIN_BUILDING_MEGABYTES = 64
_ROWS_PER_WRITE = 4_096

_COPY_HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
_COPY_END = struct.pack(">h", -1)

READ_HEAD = (
    "SELECT number, identity, dimension, revision, lineage, generation, vectors, graph FROM {space} WHERE name = %s"
)
READ_HEADS = (
    "SELECT name, number, identity, dimension, revision, lineage, generation, vectors, graph FROM {space} ORDER BY name"
)
_LOCK_HEAD = READ_HEAD + " FOR UPDATE"
# rows are sorted by number, since a sort that carries their vectors along takes ten times as long
LOOK_AT_EACH = (
    "SELECT iri, vector_send(vector) FROM {table} WHERE id IN (SELECT id FROM {table} "
    "WHERE (%(allowed)s::bigint[] IS NULL OR id = ANY(%(allowed)s::bigint[])) "
    "AND (%(hidden)s::text[] IS NULL OR iri <> ALL(%(hidden)s::text[])) "
    "ORDER BY vector <#> %(vector)s::vector, iri LIMIT %(count)s)"
)
SEARCH_GRAPH = (
    "SELECT iri, vector_send(vector) FROM {table} WHERE id IN (SELECT id FROM {table} "
    "WHERE (%(allowed)s::bigint[] IS NULL OR id = ANY(%(allowed)s::bigint[])) "
    "AND (%(hidden)s::text[] IS NULL OR iri <> ALL(%(hidden)s::text[])) "
    "ORDER BY vector::halfvec({dimension}) <#> %(vector)s::vector::halfvec({dimension}) LIMIT %(count)s)"
)
DELETE_ROWS = "DELETE FROM {table} WHERE iri = ANY(%s::text[])"
DROP_TABLE = "DROP TABLE IF EXISTS {table}"
FORGET_HEAD = "DELETE FROM {space} WHERE name = %s"
REWRITE = "VACUUM (FULL) {table}"
READ_VERSIONS = (
    "SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'vector')"
)
_NEW_HEAD = "INSERT INTO {space} (name, identity, dimension) VALUES (%s, %s, %s) ON CONFLICT (name) DO NOTHING"
_WRITE_HEAD = (
    "UPDATE {space} SET identity = %s, dimension = %s, revision = %s, lineage = %s, generation = %s, vectors = %s, "
    "graph = %s WHERE number = %s"
)
_HAS_SPACES = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = 'space'"
_HAS_EXTENSION = "SELECT 1 FROM pg_extension WHERE extname = 'vector'"
_SPACES = (
    "CREATE TABLE IF NOT EXISTS {space} (name text PRIMARY KEY, number integer GENERATED ALWAYS AS IDENTITY, "
    "identity text NOT NULL, dimension integer NOT NULL, revision bigint NOT NULL DEFAULT -1, "
    "lineage text NOT NULL DEFAULT '', generation bigint NOT NULL DEFAULT 0, vectors bigint NOT NULL DEFAULT 0, "
    "graph boolean NOT NULL DEFAULT false)"
)
_NEW_TABLE = (
    "CREATE TABLE IF NOT EXISTS {table} (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
    'iri text COLLATE "C" NOT NULL UNIQUE, vector vector({dimension}) NOT NULL)'
)
_NEW_GRAPH = (
    "CREATE INDEX ON {table} USING hnsw ((vector::halfvec({dimension})) halfvec_ip_ops) "
    "WITH (m = {links}, ef_construction = {breadth})"
)
_PUT = (
    "WITH written AS (INSERT INTO {table} AS kept (iri, vector) SELECT iri, vector FROM arrived ON CONFLICT (iri) "
    "DO UPDATE SET vector = excluded.vector WHERE kept.vector <> excluded.vector RETURNING (xmax = 0) AS is_new) "
    "SELECT count(*) FILTER (WHERE is_new) FROM written"
)


@dataclass(frozen=True, slots=True)
class Head:
    """The row of a space: what it is, and how far it is. ``number`` is 0 for a space that is absent."""

    number: int
    identity: str
    dimension: int
    revision: int
    lineage: str
    generation: int
    vectors: int
    graph: bool


ABSENT = Head(0, "", 0, -1, "", 0, 0, graph=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """A search: a vector, how many rows, and which may be found.

    Attributes:
        vector: of length 1.
        count: how many rows are wanted.
        allowed: the only rows that may be found, by number, as PostgreSQL writes an array; None for all.
        hidden: keys that may not be found.
    """

    vector: Vectors
    count: int
    allowed: str | None = None
    hidden: Sequence[str] = ()

    def values(self) -> dict[str, Any]:
        """Return the values of the parameters of ``LOOK_AT_EACH`` and ``SEARCH_GRAPH``."""
        written = f"[{','.join(map(repr, self.vector.tolist()))}]"
        return {"allowed": self.allowed, "hidden": list(self.hidden) or None, "vector": written, "count": self.count}


def composed(statement: str, schema: str, number: int = 0, **numbers: int) -> Any:
    """Return a statement of this module with the names of a schema's tables, and numbers, in their places."""
    from psycopg import sql  # type: ignore[import-not-found,unused-ignore]

    template: Any = sql.SQL
    names = {"space": sql.Identifier(schema, "space"), "table": sql.Identifier(schema, f"vector_{number}")}
    return template(statement).format(**names, **{name: sql.Literal(value) for name, value in numbers.items()})


def locked_head(connection: Any, schema: str, new: tuple[str, str, int]) -> Head:
    """Return the row of a space, which nobody else changes until the transaction ends; make what is missing.

    Args:
        connection: in a transaction.
        schema: of the knowledge base.
        new: name of the space, identity of the embedder and dimension; the latter are of a row that is made.
    """
    if not connection.execute(_HAS_SPACES, (schema,)).fetchall():
        _make_schema(connection, schema)
    connection.execute(composed(_NEW_HEAD, schema), new)
    head = Head(*connection.execute(composed(_LOCK_HEAD, schema), new[:1]).fetchone())
    make_table(connection, schema, head)
    return head


def make_table(connection: Any, schema: str, head: Head) -> None:
    """Make the table of a space where there is none."""
    connection.execute(composed(_NEW_TABLE, schema, head.number, dimension=head.dimension))


def _make_schema(connection: Any, schema: str) -> None:
    from psycopg import sql

    # of two processes that make it at the same moment one would be refused by the server's catalogue
    connection.execute("SELECT pg_advisory_xact_lock(hashtext('kgrag'))")
    if not connection.execute(_HAS_EXTENSION).fetchall():
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
    connection.execute(composed(_SPACES, schema))


def write_head(connection: Any, schema: str, head: Head) -> None:
    """Write the row of a space."""
    values = (head.identity, head.dimension, head.revision, head.lineage, head.generation, head.vectors, head.graph)
    connection.execute(composed(_WRITE_HEAD, schema), (*values, head.number))


def make_graph(connection: Any, schema: str, head: Head, address: PostgresAddress) -> None:
    """Make the neighbour graph of a table, in memory as far as the address allows."""
    megabytes = min(building_megabytes(head, address.links), address.megabytes)
    connection.execute("SELECT set_config('maintenance_work_mem', %s, true)", (f"{megabytes}MB",))
    numbers = {"dimension": head.dimension, "links": address.links, "breadth": address.breadth}
    connection.execute(composed(_NEW_GRAPH, schema, head.number, **numbers))


def building_megabytes(head: Head, links: int) -> int:
    """Return the memory that pgvector needs to make the graph of a space; with less it makes the rest on the disk.

    A vector has its half-precision numbers, some 250 bytes, and 2 ``links`` neighbours of 16 bytes in the lowest layer
    (pgvector 0.8.5: 20,000 vectors of 384 dimensions fit); a seventh is added for the upper layers.

    >>> building_megabytes(Head(1, "", 384, 0, "", 0, 1_000_000, graph=False), 16)
    1760
    """
    per_vector = 2 * head.dimension + 32 * links + 250
    return max(_MIN_BUILDING_MEGABYTES, 1 + head.vectors * per_vector * 23 // 20_000_000)


def write_rows(connection: Any, schema: str, number: int, table: SlotTable) -> int:
    """Put rows into the table of a space; return how many of their keys are new."""
    keys = table.keys()
    if not keys:
        return 0
    new_table = "CREATE TEMP TABLE arrived (iri text, vector vector({dimension})) ON COMMIT DROP"
    connection.execute(composed(new_table, schema, dimension=table.dimension))
    with connection.cursor().copy("COPY arrived FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(_COPY_HEADER)
        for first in range(0, len(keys), _ROWS_PER_WRITE):
            some = keys[first : first + _ROWS_PER_WRITE]
            copy.write(_sent(some, table.rows_of(some)))
        copy.write(_COPY_END)
    (new,) = connection.execute(composed(_PUT, schema, number)).fetchone()
    return int(new)


def _sent(iris: Sequence[str], rows: Vectors) -> bytes:
    """Return keys and vectors as COPY takes them in binary form."""
    head = struct.pack(">hh", rows.shape[1], 0)
    parts: list[bytes] = []
    for iri, row in zip(iris, rows.astype(">f4"), strict=True):
        key, values = iri.encode(), head + row.tobytes()
        parts += (struct.pack(">hi", 2, len(key)), key, struct.pack(">i", len(values)), values)
    return b"".join(parts)


def received(sent: bytes) -> Vectors:
    """Return a vector that ``vector_send`` wrote."""
    return np.frombuffer(sent, ">f4", offset=4).astype(np.float32)
