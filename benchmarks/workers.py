"""What workers gain.

``python -m benchmarks.workers FOLDER [ROUNDS]`` takes in a folder in one process with one thread for the model,
and by one and by two worker processes, in turn, and prints time by the clock, processor time, the speed-up against the
first, and whether quads are the same and by how much vectors differ.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox

from kgrag import KnowledgeBase
from kgrag.settings import Settings
from kgrag.vocab import DCTERMS, KG, PROV

__all__ = ["graph_hashes", "main", "vectors_of"]

_HISTORY = {DCTERMS.created, KG.publication, KG.revision, KG.lineage, KG.removedKind, KG.checksum}
_TIMES = {PROV.startedAtTime, PROV.endedAtTime}
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def graph_hashes(kb: KnowledgeBase) -> dict[str, str]:
    """Return a hash of every graph; of catalogue and provenance what they say of graphs, not when or how they came."""
    graphs: dict[str, list[ox.Triple]] = {}
    with tempfile.TemporaryDirectory() as folder:
        kb.store.dump(Path(folder) / "all.nq")
        for quad in ox.parse(path=Path(folder) / "all.nq", format=ox.RdfFormat.N_QUADS):
            graphs.setdefault(quad.graph_name.value, []).append(quad.triple)
    catalogue = kb.store.names.catalogue.value
    told = {KG.Publication, KG.Rewrite, KG.Build, KG.Source}
    history = {triple.subject for triple in graphs.get(catalogue, ()) if triple.object in told}
    graphs[catalogue] = [
        triple
        for triple in graphs.get(catalogue, ())
        if triple.subject not in history and triple.predicate not in _HISTORY
    ]
    made_by = kb.store.names.provenance.value
    if made_by in graphs:
        graphs[made_by] = [triple for triple in graphs[made_by] if triple.predicate not in _TIMES]
    return {
        graph: hashlib.sha256("\n".join(sorted(map(str, triples))).encode()).hexdigest()
        for graph, triples in graphs.items()
    }


def vectors_of(kb: KnowledgeBase) -> dict[str, Any]:
    """Return the vector of every chunk."""
    space = kb.spaces.space("chunk")
    keys = sorted(space.keys())
    return dict(zip(keys, space.vectors(keys), strict=True)) if keys else {}


def main(folder: str, rounds: str = "1") -> int:
    """Print how long an intake takes, without workers and with one and two of them; return 1 where graphs differ."""
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


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
