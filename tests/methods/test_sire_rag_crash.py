"""kill -9 while trees are built: the next build goes on, and ends where an undisturbed one ends."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.text import ingestion

ROOT = Path(__file__).parents[2]
MOMENTS = int(os.environ.get("KGRAG_CRASH_MOMENTS", "1"))
WORKER = """
import sys
from kgrag import KnowledgeBase
from kgrag.methods.sire_rag import propositions
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
propositions._CHUNKS_PER_PUBLICATION = 8
print("start", flush=True)
with KnowledgeBase(sys.argv[1], settings=Settings(), embedder=HashEmbedder()) as kb:
    kb.build("sire_rag:cluster_tokens=120", progress=lambda *step: print(*step, flush=True))
print("finished", flush=True)
"""


def filled(path: Path) -> Path:
    with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder()) as kb:
        towns = ("Bath", "York", "Leeds", "Hull")
        texts = (f"Singer {n} was born in {towns[n % 4]}. She sang with Ann Lee in {1900 + n}." for n in range(32))
        documents = [Document(text, f"Singer {n}") for n, text in enumerate(texts)]
        ingestion.ingest(documents, store=kb.store)
    return path


def build(path: Path, kill_after: float | None = None) -> float:
    """Build in a process of its own; SIGKILL it so many seconds after its first line. Gives the seconds it took."""
    command = [sys.executable, "-c", WORKER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as worker:
        assert worker.stdout is not None
        worker.stdout.readline()
        start = time.monotonic()
        timer = threading.Timer(kill_after or 3600, worker.send_signal, [signal.SIGKILL])
        timer.start()
        lines = worker.stdout.readlines()
        worker.wait()
        timer.cancel()
    assert kill_after or lines[-1] == "finished\n"
    return time.monotonic() - start


def content(path: Path) -> list[list[str]]:
    with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder()) as kb:
        assert not [finding for finding in kb.doctor() if finding.fault]
        graphs = [*map(kb.store.names.tree_graph, ("similarity", "relatedness")), kb.store.names.provenance]
        return [sorted(map(str, kb.store.triples(graph))) for graph in graphs]


def test_a_killed_build_goes_on_and_ends_in_the_same_trees(tmp_path: Path) -> None:
    seconds = build(filled(tmp_path / "whole.kb"))
    expected = content(tmp_path / "whole.kb")
    chance = random.Random(17)
    for moment in range(MOMENTS):
        path = filled(tmp_path / f"killed-{moment}.kb")
        build(path, kill_after=chance.uniform(0.02, 0.9 * seconds))
        build(path)
        assert content(path) == expected
