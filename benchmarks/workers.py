"""What workers gain, and what is lost when they, the driver or the loader are killed.

``python -m benchmarks.workers speed FOLDER [ROUNDS]`` takes in a folder in one process with one thread for the model,
and by one and by two worker processes, in turn, and prints time by the clock, processor time, the speed-up against the
first, and whether quads are the same and by how much vectors differ.

``python -m benchmarks.workers kills [N [KINDS [SEED]]]`` kills N times each with ``kill -9`` at a random moment: a
worker; the driver, before anything is stored; the loader, while it stores. The run is then repeated, and must end by
itself. Afterwards every graph must be as it is without a kill: what is not is lost or torn, what is there besides is
doubled. KINDS are joined by ","; another SEED draws other moments, so that many kills can be done in several runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox

from kgrag import KnowledgeBase
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.text import ingestion
from kgrag.vocab import DCTERMS, KG

__all__ = ["main"]

_HISTORY = {DCTERMS.created, KG.publication, KG.revision, KG.lineage, KG.removedKind, KG.checksum}
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
_DOCUMENTS = 240
_KINDS = ("worker", "driver", "loader")


def main(what: str, *arguments: str) -> int:
    """Run a part; return 1 where graphs differ or anything is lost."""
    parts: dict[str, Callable[..., int]] = {"speed": speed, "kills": kills, "child": child}
    return parts[what](*arguments)


def graph_hashes(kb: KnowledgeBase) -> dict[str, str]:
    """Return a hash of every graph; of the catalogue what it says of graphs, not when or how they came."""
    store, hashes = kb.store, {}
    for graph in _graphs(kb):
        triples = list(store.triples(graph))
        if graph == store.names.catalogue:
            told = {KG.Publication, KG.Rewrite, KG.Build, KG.Source}
            history = {triple.subject for triple in triples if triple.object in told}
            triples = [t for t in triples if t.subject not in history and t.predicate not in _HISTORY]
        hashes[graph.value] = hashlib.sha256("\n".join(sorted(map(str, triples))).encode()).hexdigest()
    return hashes


def _graphs(kb: KnowledgeBase) -> set[ox.NamedNode]:
    with tempfile.TemporaryDirectory() as folder:
        kb.store.dump(Path(folder) / "all.nq")
        quads = ox.parse(path=Path(folder) / "all.nq", format=ox.RdfFormat.N_QUADS)
        return {quad.graph_name for quad in quads if isinstance(quad.graph_name, ox.NamedNode)}


def vectors_of(kb: KnowledgeBase) -> dict[str, Any]:
    """Return the vector of every chunk."""
    space = kb.spaces.space("chunk")
    keys = sorted(space.keys())
    return dict(zip(keys, space.vectors(keys), strict=True)) if keys else {}


def speed(folder: str, rounds: str = "1") -> int:
    """Print how long an intake takes, without workers and with one and two of them."""
    differences = 0
    with tempfile.TemporaryDirectory() as name:
        for number in range(int(rounds)):
            base, expected, expected_vectors = 0.0, dict[str, str](), dict[str, Any]()
            for label, more in _ways():
                path = Path(name) / f"{number}-{label}"
                clock, processor = _timed(folder, path, more)
                with KnowledgeBase(path, settings=Settings(), read_only=True) as kb:
                    hashes, vectors = graph_hashes(kb), vectors_of(kb)
                if not expected:
                    base, expected, expected_vectors = clock, hashes, vectors
                farthest = max(
                    (
                        float(np.abs(row - vectors[key]).max())
                        for key, row in expected_vectors.items()
                        if key in vectors
                    ),
                    default=0.0,
                )
                same = hashes == expected and vectors.keys() == expected_vectors.keys()
                differences += not same
                print(
                    f"{label:8} {clock:7.1f} s by the clock {processor:7.1f} s of processor, "
                    f"speed-up {base / clock:.2f}, {'same' if same else 'OTHER'} quads, {len(vectors)} vectors, "
                    f"largest difference {farthest:.1e}"
                )
    return int(differences > 0)


def _ways() -> list[tuple[str, list[str]]]:
    return [("plain", []), *((f"W={count}", ["--runner", f"process://{count}"]) for count in (1, 2))]


def _timed(folder: str, path: Path, more: list[str]) -> tuple[float, float]:
    """Return seconds by the clock and of the processor, with all processes that were started."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "kgrag", "-q", "ingest", folder, "--kb", str(path), *more],
        env={**os.environ, **_ONE_THREAD},
        stdout=subprocess.DEVNULL,
    )
    _, _, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - started, usage.ru_utime + usage.ru_stime


def child(folder: str, path: str) -> int:
    """Take in a folder by two workers, and print when it begins to store."""
    ingestion._BATCH_DOCUMENTS = 100
    with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder()) as kb:
        publish = kb.store.publish

        def told(*arguments: Any, **named: Any) -> Any:
            print("storing", flush=True)
            return publish(*arguments, **named)

        kb.store.__dict__["publish"] = told
        kb.ingest(folder, runner="process://2")
    return 0


def kills(count: str = "10", kinds: str = ",".join(_KINDS), seed: str = "20") -> int:
    """Print what became of the graphs behind kills, and how long each took. Raises KeyError: a kind is unknown."""
    chance, chosen = random.Random(int(seed)), kinds.split(",")
    found = {kind: {"kills": 0, "lost": 0, "torn": 0, "doubled": 0, "left": 0} for kind in _KINDS}
    with tempfile.TemporaryDirectory() as name:
        folder, whole = Path(name) / "texts", Path(name) / "whole"
        _write_corpus(folder)
        seconds = _run(folder, whole, "", 0.0)
        expected = _read(whole)
        for kind in chosen * int(count):
            begun = time.monotonic()
            path = Path(name) / f"{kind}-{found[kind]['kills']}"
            window = seconds["loading"] if kind == "loader" else seconds["working"]
            _run(folder, path, kind, chance.uniform(0, window))
            _run(folder, path, "", 0.0)
            _compare(expected, _read(path), found[kind])
            found[kind]["left"] += sum(1 for _ in (path / "cache").glob("shards/*"))
            print(kind, json.dumps(found[kind]), f"{time.monotonic() - begun:.0f} s", flush=True)
    return int(any(figure for kind in found.values() for name, figure in kind.items() if name != "kills"))


def _write_corpus(folder: Path) -> None:
    folder.mkdir()
    (folder / "records.jsonl").write_text(
        "".join(f'{{"text": "Record {n} of {n % 7} farms. {"Oats are sown. " * 60}"}}\n' for n in range(_DOCUMENTS)),
        encoding="utf-8",
    )
    for number in range(_DOCUMENTS // 4):
        (folder / f"{number}.txt").write_text(f"Farm {number}. {'Rye is cut in June. ' * 60}", encoding="utf-8")


def _run(folder: Path, path: Path, kind: str, after: float) -> dict[str, float]:
    """Run an intake, kill one of its processes after some seconds, and return how long its two phases took."""
    started, begun = time.monotonic(), threading.Event()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.workers", "child", str(folder), str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    storing = [0.0]

    def listen(lines: Any) -> None:
        for _ in lines:
            storing[0] = storing[0] or time.monotonic()
            begun.set()

    listener = threading.Thread(target=listen, args=(process.stdout,))
    listener.start()
    if kind == "loader":
        begun.wait()
    if kind:
        time.sleep(after)
        with suppress(ProcessLookupError, IndexError):
            os.kill(process.pid if kind != "worker" else random.choice(_workers_of(process.pid)), signal.SIGKILL)
    process.wait()
    listener.join()
    return {"working": storing[0] - started, "loading": time.monotonic() - storing[0]}


def _workers_of(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
    return [int(pid) for pid in children if "spawn_main" in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")]


def _read(path: Path) -> dict[str, str]:
    with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder(), read_only=True) as kb:
        rows = {f"vector {key}": row.tobytes().hex() for key, row in vectors_of(kb).items()}
        return {**graph_hashes(kb), **rows}


def _compare(expected: Mapping[str, str], there: Mapping[str, str], figures: dict[str, int]) -> None:
    figures["kills"] += 1
    figures["lost"] += len(expected.keys() - there.keys())
    figures["doubled"] += len(there.keys() - expected.keys())
    figures["torn"] += sum(there[name] != hash_ for name, hash_ in expected.items() if name in there)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
