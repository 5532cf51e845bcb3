"""What is lost, torn, doubled or paid twice when workers, the driver or the loader of a build are killed.

    python -m benchmarks.build_kills FOLDER                                  50 kills each of a worker, driver, loader
    python -m benchmarks.build_kills FOLDER --kills 10 --kinds worker --methods og_rag --minutes 5
    python -m benchmarks.build_kills NEW_FOLDER --kills 3 --fault tear       must find what is done to the store

``og_rag``, ``poly_rag`` and ``sire_rag`` are built by turns over 24 documents, by two workers (``process://2``) in a
process of its own, in small tables and publications. The model is a service on loopback, which counts what it is asked.
What is killed by ``kill -9``, at a place that was chosen and a random while after it: three workers of one build, at a
table, between tables, or while they start, which must end well by itself; the driver, before anything is stored or
while replies come in; or the loader, at a publication or when it ends. Behind a driver or loader another process must
end well. FOLDER keeps the counts: the same command goes on where it was ended (``--minutes``: no build is begun after
so long).

At the end graphs and vectors must be those of a build without workers and without kills, but for times, and tokens that
an earlier process paid for: what is missing is lost, what is there besides (a doctor's finding, too) doubled, what
differs torn. A completion is ``paid twice`` where the service was asked for it again, but for as many per dead driver
or loader as it had under way at once (four): these are counted apart. Of a worker's death nothing may be asked again.
``left`` counts workers that outlive their driver, and what they left.

Exit code 0: nothing is wrong; 1: something is; 3: kills are left for the next piece.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyoxigraph as ox

from benchmarks.killed_build import CONCURRENCY, built
from benchmarks.killed_intake import HashedWords
from benchmarks.killed_run import Found, KilledRun, State, compare
from benchmarks.scripted_service import ScriptedService, serving
from benchmarks.workers import graph_hashes
from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.vocab import KG, PROV

__all__ = ["count_paid", "main"]

_METHODS = ("og_rag", "poly_rag", "sire_rag")
_PLACES = {
    "worker": ("starting", "EmbedTexts", "ReadReplies", "writing", "idle"),
    "driver": ("starting", "opened", "working", "asking", "answered"),
    "loader": ("publishing", "published", "closing"),
}
"""What is killed -> where: the last that it reported."""
_STAGE_OF_OG_RAG = "ReadReplies"
_OF_ONE_RUN = (PROV.startedAtTime, PROV.endedAtTime, KG.inputTokens, KG.outputTokens, KG.revision)
"""What differs by who made a graph, and in how many publications: a reply that is there costs no tokens."""

_DOCUMENTS = 24
_KILLS_ARE_LEFT = 3
_KILLS_PER_BUILD = 3  # of workers, at places that differ: of three at one task it is given up
_CROPS = ("Barley", "Rye", "Oats", "Lentil", "Vetch", "Spelt")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of everything; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="keeps counts, and what builds begin with")
    parser.add_argument("--kills", type=int, default=50, help="of each kind")
    parser.add_argument("--kinds", nargs="+", default=list(_PLACES), choices=_PLACES)
    parser.add_argument("--methods", nargs="+", default=_METHODS, choices=_METHODS)
    parser.add_argument("--seed", type=int, default=20, help="another one draws other moments")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no build is begun after so long")
    parser.add_argument("--fault", default="", choices=("lose", "tear"), help="do this behind each build")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    begun, is_left = time.monotonic(), False
    with serving() as service:
        bench = _Bench(given.folder, service, given.fault)
        for kind in given.kinds:
            file = given.folder / f"{kind}.json"
            found = Found.read(file)
            while found.kills < given.kills and time.monotonic() - begun < 60 * given.minutes:
                bench.kill(kind, given.methods, found, random.Random(f"{given.seed} {kind} {found.rounds}"))
                found.keep(file)
            is_left |= found.kills < given.kills
            print(found.line(kind, "completions", "as they were under way"), flush=True)
    faults = sum(Found.read(given.folder / f"{kind}.json").faults() for kind in given.kinds)
    return 1 if faults else _KILLS_ARE_LEFT if is_left else 0


class _Bench:
    """Builds that are killed, and those that nobody kills."""

    def __init__(self, place: Path, service: ScriptedService, fault: str) -> None:
        self._place, self._service, self._fault = place, service, fault
        self._ready, self._path = place / "ready", place / "kb"
        self._whole: dict[str, State] = {}
        if not self._ready.exists():
            _take_in(place / "unfinished")
            (place / "unfinished").rename(self._ready)

    def kill(self, kind: str, methods: Sequence[str], found: Found, chance: random.Random) -> None:
        """Build a method beside kills, and count what is wrong."""
        begun, method = time.monotonic(), methods[found.rounds % len(methods)]
        places = [each for each in _PLACES[kind] if each != _STAGE_OF_OG_RAG or method == "og_rag"]
        whole = self._without_kills(method)
        self._begin(self._path)
        died: list[str] = []
        while True:
            given = [str(self._path), method, self._service.url]
            run = KilledRun("benchmarks.killed_build", given, self._place / "trace", chance)
            if kind == "worker":
                now = [run.kill_worker(place) for place in chance.sample(places, _KILLS_PER_BUILD)]
            elif len(died) <= found.rounds % 2:
                now = [run.kill(places[(found.rounds + len(died)) % len(places)])]
            else:
                now = []
            died += filter(None, now)
            found.left += run.ended()
            if kind == "worker" or not any(now):
                found.failed += run.failed
                break
        found.kills += len(died)
        found.places.update(died)
        count_paid(self._service.asked, found, deaths=0 if kind == "worker" else len(died))
        self._do_wrong()
        there = _state(self._path)
        compare(whole, there, found)
        for name in [name for name in whole.keys() | there.keys() if whole.get(name) != there.get(name)]:
            print(f"other than without kills: {name}", file=sys.stderr)
        found.left += len(list((self._path / "cache").glob("build_shards/**/*.parquet")))
        found.rounds += 1
        found.seconds += time.monotonic() - begun
        print(f"{kind} of {method}: {', '.join(died) or 'none'}; {found.faults()} faults so far", flush=True)

    def _without_kills(self, method: str) -> State:
        """Return what is there behind a build without workers."""
        if method not in self._whole:
            self._begin(self._path)
            built(str(self._path), method, self._service.url)
            self._whole[method] = _state(self._path)
        return self._whole[method]

    def _begin(self, path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self._ready, path)
        self._service.asked.clear()

    def _do_wrong(self) -> None:
        if not self._fault:
            return
        store = ox.Store(str(self._path / "store"))
        graph = next(each for each in store.named_graphs() if "/document/" in str(each))
        if self._fault == "lose":
            store.remove_graph(graph)
        else:
            store.remove(next(store.quads_for_pattern(None, None, None, graph)))
        store.flush()


def count_paid(asked: Counter[str], found: Found, *, deaths: int) -> None:
    """Count what was asked; what was asked again is paid twice, but for what dead processes can have had under way."""
    again = asked.total() - len(asked)
    under_way = min(again, CONCURRENCY * deaths)
    found.paid += asked.total()
    found.paid_again += under_way
    found.paid_twice += again - under_way


def _take_in(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    with _opened(path, read_only=False) as kb:
        kb.load(folder("ontologies") / "crops.ttl")
        kb.add_many([Document(_text(n), title=f"Note {n}", id=str(n)) for n in range(_DOCUMENTS)])


def _text(number: int) -> str:
    crop, other = (f"{_CROPS[(number + n) % len(_CROPS)]} {number}" for n in (0, 1))
    month = ("May", "June", "July")[number % 3]
    return f"{crop} is sown in {month}. {crop} is stored in hall{number % 5}.\n\n{other} is sown in April."


def _opened(path: Path, *, read_only: bool = True) -> KnowledgeBase:
    return KnowledgeBase(path, settings=Settings(), embedder=HashedWords(), read_only=read_only)


def _state(path: Path) -> State:
    """Return a hash of each graph, each vector, and what a doctor finds wrong."""
    with _opened(path) as kb:
        state: dict[str, object] = {f"graph {name}": each for name, each in graph_hashes(kb).items()}
        for graph in (kb.store.names.provenance, kb.store.names.profile_graph):
            said = {str(each) for each in kb.store.triples(graph) if each.predicate not in _OF_ONE_RUN}
            state[f"graph {graph.value}"] = frozenset(said)
        for name in kb.spaces.names():
            space = kb.spaces.space(name)
            keys = space.keys()
            state |= {f"{name} {key}": row.tobytes() for key, row in zip(keys, space.vectors(keys), strict=True)}
        return state | {f"fault {finding.message}": 1 for finding in kb.doctor() if finding.fault}


if __name__ == "__main__":
    sys.exit(main())
