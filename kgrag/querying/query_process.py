"""Runs queries that a model wrote: read-only, over the facts alone, with limits on rows, time and memory.

The engine has no way to stop a query, so each one runs in a process of its own (``query_worker``), which is killed when
its time is up. That process reads a copy of the facts: the triples of graphs whose kind has facts (ontologies, data,
assertions, inferences, and what methods declare so), merged into one graph, so that a fact that two graphs state counts
once, and nothing of catalogue, texts, kept answers or quarantine can be seen. The copy lies in the knowledge base's
cache folder, or in a temporary one, and is made anew when such a graph changed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL, StorageFailed
from kgrag.index import change_feed
from kgrag.model import Term
from kgrag.ports import TripleStore
from kgrag.querying import query_worker
from kgrag.querying.text_to_sparql import Execution
from kgrag.sparql.gate import check_query
from kgrag.sparql.total_orders import with_total_orders
from kgrag.store.child_environment import child_environment
from kgrag.store.engine import engine
from kgrag.store.graph_kinds import fact_kinds
from kgrag.telemetry import span
from kgrag.vocab import PREFIXES

__all__ = ["QueryProcess", "run_in_process"]

_MAX_RESULT_CHARACTERS = 5_000_000
_MAX_BYTES = 4 << 30
_OUT_OF_TIME = -24
"""How a process ends that has used up its processor time (SIGXCPU)."""
_SECONDS_TO_START = 5.0
"""Seconds that a process may take to start, besides those of the query."""


class QueryProcess:
    """A ``Runner``: runs each query in a process of its own, and never raises for a bad one.

    Args:
        store: contains the facts.
        folder: where the copy of the facts is kept between runs; None: a temporary folder, removed with this object.
    """

    def __init__(self, store: TripleStore, folder: Path | None) -> None:
        self._store = store
        self._turn = threading.Lock()
        self._folder = folder or Path(tempfile.mkdtemp(prefix="kgrag-facts-"))
        self._removed = None if folder else weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def __call__(
        self, sparql: str, *, rows: int = 1000, seconds: float = 10.0, max_bytes: int = _MAX_BYTES
    ) -> Execution:
        """Run a query; return its rows, or what went wrong.

        Args:
            sparql: what a model or a person wrote.
            rows: how many rows are returned at most.
            seconds: how long the query may work.
            max_bytes: how much memory its process may take.

        Raises:
            StorageFailed: the copy of the facts cannot be written.
        """
        try:
            check_query(sparql)
        except InvalidSPARQL as error:
            return Execution(problem=str(error))
        request = {
            "folder": str(self._facts()),
            "sparql": with_total_orders(sparql),
            "prefixes": PREFIXES,
            "rows": rows,
            "characters": _MAX_RESULT_CHARACTERS,
            "seconds": seconds,
            "bytes": max_bytes,
        }
        with span("sparql query", {"db.system.name": "oxigraph", "db.operation.name": "query"}) as add:
            done = run_in_process(request)
            add({"error.type": "query"} if done.problem else {"db.response.returned_rows": len(done.rows)})
        return done

    def close(self) -> None:
        """Remove the copy of the facts, when it is a temporary one."""
        if self._removed is not None:
            self._removed()

    # the copy of the facts

    def _facts(self) -> Path:
        """Return the folder of the copy, made anew when it is behind the store."""
        with self._turn:
            copies = [path.name.removeprefix("facts-") for path in self._folder.glob("facts-*")]
            revision = max((int(name) for name in copies if name.isdigit()), default=-1)
            copy = self._folder / f"facts-{revision}"
            if revision < 0 or not copy.is_dir() or self._changed(revision):
                copy = self._copied()
            return copy

    def _changed(self, since: int) -> bool:
        now = self._store.revision
        if since == now:
            return False
        return since > now or any(change_feed.changed(kind, store=self._store, since=since) for kind in fact_kinds())

    def _copied(self) -> Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix="making-", dir=self._folder))
        try:
            revision = self._store.revision
            with engine():
                copy = ox.Store(str(making))
                copy.bulk_extend(self._quads())
                copy.flush()
                del copy
            return self._put(making, self._folder / f"facts-{revision}")
        finally:
            shutil.rmtree(making, ignore_errors=True)

    def _put(self, making: Path, place: Path) -> Path:
        """Move a copy to its place, where another process may have put the same one meanwhile; drop older ones."""
        try:
            making.rename(place)
        except OSError as error:
            if not place.is_dir():
                raise StorageFailed(f"{place} can't be written: {error}. Make its folder writable.") from error
        for old in self._folder.glob("facts-*"):
            if old != place:
                shutil.rmtree(old, ignore_errors=True)
        return place

    def _quads(self) -> Iterator[ox.Quad]:
        for quad in self._store.quads_of_kinds(fact_kinds()):
            if quad.graph_name != self._store.names.competency_questions:
                yield ox.Quad(quad.subject, quad.predicate, quad.object)


def run_in_process(request: Mapping[str, Any]) -> Execution:
    """Return the rows of a query that ``query_worker`` ran, or what went wrong; the request is as that has it."""
    seconds = request["seconds"]
    try:
        done = subprocess.run(  # noqa: S603 - our own program; the query goes to its standard input
            [sys.executable, "-P", str(Path(query_worker.__file__))],
            input=json.dumps(request),
            capture_output=True,
            encoding="utf-8",
            timeout=seconds + _SECONDS_TO_START,
            check=False,
            env=child_environment(),
        )
    except subprocess.TimeoutExpired:
        return Execution(problem=_too_long(seconds))
    if done.returncode == _OUT_OF_TIME:
        return Execution(problem=_too_long(seconds))
    if done.returncode:
        ended = f"its process ended with {done.returncode}"
        return Execution(problem=f"the query needed too much memory, or failed within the engine ({ended}). Narrow it.")
    reply = json.loads(done.stdout)
    if problem := reply.get("problem"):
        return Execution(problem=f"{str(problem).rstrip('.')}.")
    rows = tuple(tuple(_term(item) for item in row) for row in reply["rows"])
    return Execution(tuple(reply["variables"]), rows, truncated=reply["truncated"])


def _too_long(seconds: float) -> str:
    return f"the query was stopped after {seconds:g} seconds. Join patterns that share no variable, or narrow it."


def _term(packed: list[Any] | None) -> Term | None:
    if packed is None:
        return None
    kind, value = packed[0], packed[1]
    if kind == "i":
        return ox.NamedNode(value)
    if kind == "b":
        return ox.BlankNode(value)
    if kind == "t":
        return ox.Triple(*(_term(part) for part in packed[1:]))  # type: ignore[arg-type]
    return ox.Literal(value, language=packed[3]) if packed[3] else ox.Literal(value, datatype=ox.NamedNode(packed[2]))
