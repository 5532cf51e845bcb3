"""Connections to a PostgreSQL server: its address, a few connections that are used again, and errors in our words.

The address may contain a password, so that it comes from the environment only (``KGRAG_INDEX``) and is in no message,
log or file: what is reported of it is host, port and database. Needs the extra ``kgrag[postgres]``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit

from kgrag.errors import InvalidSettings, StorageFailed

__all__ = ["PostgresAddress", "PostgresServer", "Rows"]

Value = TypeVar("Value")
Rows: TypeAlias = list[tuple[Any, ...]]
Values: TypeAlias = Sequence[Any] | Mapping[str, Any]

_SCHEMES = ("postgresql", "postgres")
_LINKS_PER_NODE, _BUILDING_BREADTH, _BUILDING_MEGABYTES = 16, 100, 2_000
_OPTIONS = {
    "hnsw_m": (_LINKS_PER_NODE, 2, 100),
    "hnsw_ef_construction": (_BUILDING_BREADTH, 4, 1000),
    "hnsw_megabytes": (_BUILDING_MEGABYTES, 64, 1_000_000),
}
_MAX_IDLE = 8
_CONNECT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class PostgresAddress:
    """Where a server is, and how its neighbour graphs are to be made.

    Attributes:
        text: the address for the client library; may contain a password.
        shown: host, port and database.
        links: ``hnsw_m``, links of a vector in a neighbour graph.
        breadth: ``hnsw_ef_construction``, how many vectors are looked at for the links of one.
        megabytes: ``hnsw_megabytes``, the most memory that the server takes to make one.
    """

    text: str = field(repr=False)
    shown: str
    links: int = _LINKS_PER_NODE
    breadth: int = _BUILDING_BREADTH
    megabytes: int = _BUILDING_MEGABYTES

    @classmethod
    def of(cls, setting: str) -> PostgresAddress:
        """Read the setting ``index``.

        Raises:
            InvalidSettings: it is no address of a PostgreSQL server, or an option in it is out of its range.
        """
        try:
            parts = urlsplit(setting.strip())
            port = f":{parts.port}" if parts.port else ""
        except ValueError:
            parts, port = urlsplit(""), ""
        if parts.scheme not in _SCHEMES:
            raise InvalidSettings(
                "index: KGRAG_INDEX was expected to be postgresql://NAME:PASSWORD@HOST:PORT/DATABASE."
            )
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        options = {name: _option(name, dict(pairs).get(name)) for name in _OPTIONS}
        others = [(name, value) for name, value in pairs if name not in _OPTIONS]
        host = parts.hostname or dict(others).get("host", "localhost")
        text = parts._replace(query=urlencode(others)).geturl()
        shown = f"postgresql://{host}{port}{parts.path}"
        return cls(text, shown, *(options[name] for name in _OPTIONS))


def _option(name: str, given: str | None) -> int:
    default, least, most = _OPTIONS[name]
    if given is None:
        return default
    if not given.isdecimal() or not least <= int(given) <= most:
        raise InvalidSettings(f"index: {name} in KGRAG_INDEX is not a number from {least} to {most}.")
    return int(given)


@dataclass(slots=True)
class _Link:
    """A connection, and the settings of its session that were changed."""

    connection: Any
    settings: dict[str, str] = field(default_factory=dict)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Change settings of the session where they are others."""
        for name, value in settings.items():
            if self.settings.get(name) != value:
                self.connection.execute("SELECT set_config(%s, %s, false)", (name, value))
                self.settings[name] = value


class PostgresServer:
    """A PostgreSQL server. Safe to use from several threads; nothing is connected before the first use."""

    def __init__(self, address: str | PostgresAddress) -> None:
        """Name the server. Raises InvalidSettings."""
        self.address = PostgresAddress.of(address) if isinstance(address, str) else address
        self._idle: list[_Link] = []
        self._lock = threading.Lock()

    def run(self, work: Callable[[Any], Value]) -> Value:
        """Return what ``work`` returns, given a connection in a transaction, which is committed after it.

        Where the server broke off a connection that was idle, ``work`` is called again with a new one; it must come to
        the same when its transaction was committed before.

        Raises:
            StorageFailed: the server cannot be reached, refuses, or ends the connection. The transaction is undone,
                or, where the connection ended while it was being committed, may be done.
        """

        def in_transaction(link: _Link) -> Value:
            with link.connection.transaction():
                return work(link.connection)

        return self._with_link(in_transaction)

    def rows(self, statement: Any, values: Values = (), *, settings: Mapping[str, str] | None = None) -> Rows:
        """Return the rows of a SELECT in binary form; [] where the table or its schema is not there.

        Args:
            statement: text without user data, or composed by ``psycopg.sql``.
            values: of its parameters.
            settings: what the session is to have set.

        Raises:
            StorageFailed: the server cannot be reached, or refuses.
        """
        psycopg = _psycopg()

        def select(link: _Link) -> Rows:
            link.configure(settings or {})
            try:
                found: Rows = link.connection.execute(statement, values, binary=True).fetchall()
            except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
                return []
            return found

        return self._with_link(select)

    def statement(self, statement: Any) -> None:
        """Run a statement that cannot be in a transaction, such as VACUUM. Raises StorageFailed."""
        self._with_link(lambda link: link.connection.execute(statement))

    def close(self) -> None:
        """Close the connections that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for link in idle:
            with suppress(Exception):
                link.connection.close()

    def _with_link(self, work: Callable[[_Link], Value]) -> Value:
        psycopg = _psycopg()
        try:
            link, used = self._taken()
            try:
                try:
                    return work(link)
                except psycopg.OperationalError:
                    if not (used and link.connection.broken):
                        raise
                self.close()  # the others were broken off with it
                link = self._connected()
                return work(link)
            finally:
                self._give_back(link)
        except psycopg.Error as error:
            raise StorageFailed(f"{self.address.shown}: {self._without_password(error)}") from None

    def _taken(self) -> tuple[_Link, bool]:
        with self._lock:
            if self._idle:
                return self._idle.pop(), True
        return self._connected(), False

    def _give_back(self, link: _Link) -> None:
        with self._lock:
            if not link.connection.closed and len(self._idle) < _MAX_IDLE:
                self._idle.append(link)
                return
        link.connection.close()

    def _connected(self) -> _Link:
        # a plan that is made once for all arrays of allowed keys fits few of them, so that no statement is prepared
        connection = _psycopg().connect(
            self.address.text, autocommit=True, prepare_threshold=None, connect_timeout=_CONNECT_SECONDS
        )
        return _Link(connection)

    def _without_password(self, error: Exception) -> str:
        """Return the first line of a message; the client library's own may repeat parts of the address."""
        said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        password = urlsplit(self.address.text).password
        return f"{said.replace(password, '***') if password else said}. See that the server runs and lets kgrag in."


def _psycopg() -> Any:
    try:
        import psycopg  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise InvalidSettings("index: PostgreSQL needs the extra: pip install 'kgrag[postgres]'.") from error
    return psycopg
