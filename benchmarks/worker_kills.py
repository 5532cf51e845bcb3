"""What is lost, torn, doubled or paid twice when workers, the driver or the loader of an intake are killed.

    python -m benchmarks.worker_kills                            50 kills each of a worker, the driver, the loader
    python -m benchmarks.worker_kills --kills 10 --kinds worker --seed 7
    python -m benchmarks.worker_kills --kills 6 --fault tear     must find what is done to the store: the check can fail

A knowledge base lives through ten rounds. In each, files of a folder change and come, and a process of its own takes
the folder in by two workers (``process://2``), with small tasks and publications of ten documents. What is killed by
``kill -9``, at a place that was chosen (a worker at each of its stages; the driver before anything of the round is
stored; the loader while it publishes, between publications, while it notes what it took in, embeds, or closes) and a
random while after it: two workers of one run, which must end well by itself; or the driver or loader, once or twice,
behind which another process must end well. The place at which each died is counted.

Right after a kill each graph must be as it was before the round or as it is after it; else it is torn. At the end of
a round graphs, vectors and what a search by words finds must be those of a knowledge base that went through the same
changes without workers and without kills: what is missing is lost, what is there besides doubled, what differs torn.
``paid twice`` counts texts that were embedded although a finished task had left their vectors; texts of tasks that died
with a worker are embedded again, and counted apart. ``left`` counts workers that outlive their driver, and shards that
outlive a run.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import pyoxigraph as ox
from pyarrow import parquet

from benchmarks.killed_intake import HashedWords
from benchmarks.killed_run import Found, KilledRun, State, compare
from benchmarks.workers import graph_hashes, vectors_of
from kgrag import KnowledgeBase
from kgrag.errors import StorageFailed
from kgrag.settings import Settings

__all__ = ["main"]

_ROUNDS_PER_LIFE = 10
_FILES, _CHANGED_FILES, _RECORDS_PER_FILE = 24, 12, 3
_KINDS = ("worker", "driver", "loader")
_PLACES = {
    "worker": ("starting", "Read", "Chunk", "Validate", "Embed", "writing", "idle"),
    "driver": ("starting", "opened", "working"),
    "loader": ("publishing", "published", "noting", "embedding", "closing"),
}
"""What is killed -> where: the last that it reported."""
_FAULTS = ("lose", "tear", "double", "pay")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of everything; return 1 where anything is lost, torn, doubled, left or paid twice."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=50, help="of each kind")
    parser.add_argument("--kinds", nargs="+", default=_KINDS, choices=_KINDS)
    parser.add_argument("--seed", type=int, default=20, help="another one draws other moments")
    parser.add_argument("--fault", default="", choices=_FAULTS, help="do this behind the first kill of each round")
    given = parser.parse_args(arguments)
    found = {kind: Found() for kind in given.kinds}
    for kind in given.kinds:
        chance, places = random.Random(f"{given.seed} {kind}"), cycle(_PLACES[kind])
        while found[kind].kills < given.kills:
            with tempfile.TemporaryDirectory(prefix="kgrag-worker-kills-") as name:
                life = _Life(Path(name), chance, found[kind], given.fault)
                for _ in range(_ROUNDS_PER_LIFE):
                    if found[kind].kills < given.kills:
                        life.round(kind, places)
    for kind, each in found.items():
        print(each.line(kind, "embeddings", "as their task died"), flush=True)
    return int(any(each.faults() for each in found.values()))


class _Life:
    """A knowledge base that processes fill which are killed, beside one in memory that nobody kills."""

    def __init__(self, place: Path, chance: random.Random, found: Found, fault: str) -> None:
        self._folder, self._path = place / "texts", place / "kb"
        self._folder.mkdir()
        self._trace = place / "trace"
        self._chance, self._found, self._fault = chance, found, fault
        self._whole = KnowledgeBase(None, settings=Settings(), embedder=HashedWords())
        self._before: State = {}
        self._number = 0

    def round(self, kind: str, places: Iterator[str]) -> None:
        """Change the folder, have it taken in beside kills, and compare."""
        begun = time.monotonic()
        self._change()
        self._whole.ingest(self._folder)
        after = _state(self._whole)
        kept, kills = set[str](), 0
        while True:
            given = [str(self._folder), str(self._path)]
            run = KilledRun("benchmarks.killed_intake", given, self._trace, self._chance)
            if kind == "worker":
                died = [run.kill_worker(next(places)) for _ in range(2)]
            elif not kills or (kills == 1 and self._chance.random() < 0.5):
                died = [run.kill(next(places))]
            else:
                died = []
            died = [place for place in died if place]
            self._found.left += run.ended()
            self._count(died, run, kept)
            kept |= _vectors_left(self._path)
            kills += len(died)
            if kind == "worker" or not died:
                self._found.failed += run.failed
                break
            self._look_behind_a_kill(after)
            self._do_wrong(kills)
        if kind == "worker":
            self._do_wrong(1)
        with _opened(self._path) as kb:
            compare(after, _state(kb), self._found)
        self._found.left += len(_shards(self._path, "*"))
        self._before = after
        self._found.seconds += time.monotonic() - begun
        print(kind, json.dumps({name: each for name, each in vars(self._found).items() if each}), flush=True)

    def _change(self) -> None:
        """Write files that are new, or have other records than before."""
        self._number += 1
        numbers = range(_FILES) if self._number == 1 else self._chance.sample(range(2 * _FILES), _CHANGED_FILES)
        for number in numbers:
            if number % 3 == 0:
                text = (
                    f"# Farm {number}\n\nRye is cut in June {self._number}. {f'It is sown in hall {number}. ' * 40}\n"
                )
                (self._folder / f"{number}.md").write_text(text, encoding="utf-8")
                continue
            records = range(self._chance.randint(1, 2 * _RECORDS_PER_FILE - 1))
            lines = [
                {
                    "id": f"{number}-{n}",
                    "text": f"Record {n} of farm {number}, {self._chance.randrange(3)}. Oats are sown.",
                }
                for n in records
            ]
            content = "".join(f"{json.dumps(line)}\n" for line in lines)
            (self._folder / f"{number}.jsonl").write_text(content, encoding="utf-8")

    def _count(self, died: Sequence[str], run: KilledRun, kept: set[str]) -> None:
        """Count kills, and what a run embedded: what tasks of earlier runs had left, and what the driver did itself."""
        self._found.kills += len(died)
        self._found.places.update(died)
        self._found.paid += len(run.embedded)
        self._found.paid_twice += sum(text in kept or not by_worker for by_worker, text in run.embedded)
        self._found.paid_again += len(run.embedded) - len(set(run.embedded))

    def _do_wrong(self, kills: int) -> None:
        if self._fault and kills == 1 and (self._path / "store").exists():
            _do_wrong(self._fault, self._path)

    def _look_behind_a_kill(self, after: State) -> None:
        """Count graphs that are neither as they were nor as they will be."""
        if not (self._path / "store").exists():
            return
        with _opened(self._path) as kb:
            there = _graphs(kb)
            catalogue = f"graph {kb.store.names.catalogue.value}"
        self._found.torn += sum(
            each not in (self._before.get(name), after.get(name)) for name, each in there.items() if name != catalogue
        )


def _shards(path: Path, pattern: str) -> list[Path]:
    return list((path / "cache").glob(f"shards/*/{pattern}"))


def _vectors_left(path: Path) -> set[str]:
    """Return the SHA-256 of each text whose vector is in what a finished task left."""
    left: set[str] = set()
    for listing in _shards(path, "*.json"):
        for name in json.loads(listing.read_text(encoding="utf-8")):
            table = parquet.read_table(listing.with_name(name))
            if "sha256" in table.column_names and "vectors" in table.column_names:
                left |= {text for row in table.column("sha256").to_pylist() for text in row or ()}
    return left


def _opened(path: Path) -> KnowledgeBase:
    """Open a knowledge base for reading; one whose making was killed is made whole first, as its message says."""

    def opened(*, read_only: bool) -> KnowledgeBase:
        return KnowledgeBase(path, settings=Settings(), embedder=HashedWords(), read_only=read_only)

    try:
        return opened(read_only=True)
    except StorageFailed as error:
        if "making was cut short" not in str(error):
            raise
        opened(read_only=False).close()
        return opened(read_only=True)


def _state(kb: KnowledgeBase) -> State:
    """Return a hash of each graph, each vector, and what searches by words find."""
    vectors = {f"vector {key}": row.tobytes() for key, row in vectors_of(kb).items()}
    hits = kb.retrieve("sown in hall", method="passages:signal=bm25", k=50)
    return {**_graphs(kb), **vectors, **{f"hit {hit.iri}": round(hit.score, 6) for hit in hits}}


def _graphs(kb: KnowledgeBase) -> State:
    return {f"graph {name}": each for name, each in graph_hashes(kb).items()}


def _do_wrong(fault: str, path: Path) -> None:
    """Damage what a killed run left."""
    if fault == "pay":
        for listing in _shards(path, "*.json"):
            listing.unlink()
        return
    store = ox.Store(str(path / "store"))
    graph = next(each for each in store.named_graphs() if "/document/" in str(each))
    quads = list(store.quads_for_pattern(None, None, None, graph))
    if fault == "lose":
        store.remove_graph(graph)
    elif fault == "tear":
        store.remove(quads[0])
    else:
        copy = ox.NamedNode(f"{graph.value}-copy")
        store.extend(ox.Quad(quad.subject, quad.predicate, quad.object, copy) for quad in quads)
    store.flush()


if __name__ == "__main__":
    sys.exit(main())
