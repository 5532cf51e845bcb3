"""What workers gain in builds, and what share of a build the loader does alone.

    python -m benchmarks.build_workers FOLDER                                 poly_rag, og_rag and sire_rag
    python -m benchmarks.build_workers FOLDER --methods poly_rag --passages 1000 --rounds 3

The passages of ``2wiki_6119`` and the ontology of the demonstration are taken in once, embedded by the embedder of the
settings (``--hashed``: by a hash); each build is of a copy of that, in a process of its own whose libraries have one
thread: without workers, by one and by two processes. FOLDER keeps what was measured, a line per build: a run that was
ended goes on there, so that it can be done in pieces (``--minutes 8`` begins no build after so long).

Printed per method: seconds by the clock (medians of the rounds) and of the processor, those of the loader apart; the
speed-up by the clock against the build without workers; and ``bound``, the speed-up that these seconds of processor
allow where loader and workers take turns: all / (loader + workers / W). ``same`` compares the hashes of all graphs with
those of the build without workers. The clock tells something on a machine without other work alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import data_folder, dataset_layouts
from benchmarks.workers import graph_hashes
from kgrag import KnowledgeBase
from kgrag.resources import folder
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.vocab import digest

__all__ = ["main"]

_METHODS = ("poly_rag", "og_rag", "sire_rag")
_RUNNERS = ("", "process://1", "process://2")
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
) | {"TOKENIZERS_PARALLELISM": "false"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table per method; return 1 where graphs differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="keeps what was measured")
    parser.add_argument("--methods", nargs="+", default=_METHODS)
    parser.add_argument("--passages", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no build is begun after so long")
    parser.add_argument("--hashed", action="store_true", help="embed by a hash, which costs next to nothing")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "RUNNER", "KB"), help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        method, runner, place = given.one
        print(json.dumps(_built(method, runner, Path(place), hashed=given.hashed)))
        return 0
    if not data_folder().is_dir():
        print(f"skipped: no {data_folder()}; set KGRAG_DATA")
        return 0
    given.folder.mkdir(parents=True, exist_ok=True)
    log = given.folder / f"builds-{given.passages}{'-hashed' if given.hashed else ''}.jsonl"
    _measure(given, log)
    return _print(_lines(log), given.methods)


def _measure(given: argparse.Namespace, log: Path) -> None:
    """Build what was not built yet, and add a line for each build."""
    begun = time.monotonic()
    for number in range(given.rounds):
        for method in given.methods:
            for runner in _RUNNERS:
                done = [line for line in _lines(log) if (line["method"], line["runner"]) == (method, runner)]
                if len(done) > number or time.monotonic() - begun > 60 * given.minutes:
                    continue
                line = _in_a_process(method, runner, given)
                with log.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"method": method, "runner": runner, **line}) + "\n")
                print(f"{method} {runner or 'plain'}: {line['clock']:.1f} s", file=sys.stderr, flush=True)


def _in_a_process(method: str, runner: str, given: argparse.Namespace) -> dict[str, Any]:
    ready = given.folder / f"ready-{given.passages}{'-hashed' if given.hashed else ''}"
    if not ready.exists():
        unfinished = ready.with_name(f"{ready.name}-unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        _take_in(unfinished, given.passages, hashed=given.hashed)
        unfinished.rename(ready)
    copy = given.folder / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(ready, copy)
    command = [sys.executable, "-m", "benchmarks.build_workers", str(given.folder), "--one", method, runner, str(copy)]
    try:
        done = subprocess.run(
            [*command, *(["--hashed"] if given.hashed else [])],
            env={**os.environ, **_ONE_THREAD},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    line: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return line


def _take_in(place: Path, passages: int, *, hashed: bool) -> None:
    with _opened(place, hashed=hashed) as kb:
        kb.load(folder("ontologies") / "crops.ttl")
        kb.add_many(islice(dataset_layouts.read(data_folder() / "multihop" / "2wiki_6119").documents(), passages))


def _opened(place: Path, *, hashed: bool) -> KnowledgeBase:
    settings = Settings(model="extractive")
    return KnowledgeBase(place, settings=settings, embedder=HashEmbedder() if hashed else None)


def _built(method: str, runner: str, place: Path, *, hashed: bool) -> dict[str, Any]:
    """Return seconds by the clock and of the processor of one build, and a digest of all its graphs."""
    with _opened(place, hashed=hashed) as kb:
        kb.retrieve("Who directed the film?")  # what both ways load before, the embedder among it
        clock, loader = time.perf_counter(), time.process_time()
        kb.build(method, runner=runner)
        line: dict[str, Any] = {"clock": time.perf_counter() - clock, "loader": time.process_time() - loader}
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        hashes = graph_hashes(kb)
    line |= {"workers": used.ru_utime + used.ru_stime, "graphs": len(hashes)}
    return line | {"digest": digest(*(f"{name} {hashes[name]}" for name in sorted(hashes)))}


def _lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []


def _print(lines: Sequence[dict[str, Any]], methods: Sequence[str]) -> int:
    differing = 0
    for method in methods:
        plain = [line for line in lines if (line["method"], line["runner"]) == (method, "")]
        for count, runner in enumerate(_RUNNERS):
            some = [line for line in lines if (line["method"], line["runner"]) == (method, runner)]
            if not some or not plain:
                continue
            clock, loader, workers = (median(line[key] for line in some) for key in ("clock", "loader", "workers"))
            base = median(line["clock"] for line in plain)
            same = all(line["digest"] == plain[0]["digest"] for line in some)
            differing += not same
            bound = (loader + workers) / (loader + workers / max(count, 1))
            print(
                f"{method:9} {runner or 'plain':11} {clock:7.1f} s by the clock, of processor loader {loader:6.1f} "
                f"workers {workers:6.1f}, speed-up {base / clock:.2f}, bound {bound:.2f}, {some[0]['graphs']} graphs "
                f"{'same' if same else 'OTHER'}, rounds {len(some)}"
            )
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
