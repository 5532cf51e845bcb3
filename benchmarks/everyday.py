"""What a user waits for: ``--help``, ingest of 6,119 passages and the embedder's share of it, a cold and a warm answer.

``python -m benchmarks.everyday`` prints one table; figures are of this machine, and only their ratios travel.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUESTIONS = (
    "Who was the father of Theodred II?",
    "Where was the director of the film born?",
    "Which bishop died between 995 and 997?",
    "Who was queen of Lotharingia by marriage?",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    data = Path(os.environ.get("KGRAG_DATA", Path(__file__).parents[2] / "shared" / "data"))
    parser.add_argument("--corpus", type=Path, default=data / "multihop" / "2wiki_6119" / "corpus.jsonl.gz")
    corpus = parser.parse_args().corpus
    if not corpus.is_file():
        print(f"skipped: no {corpus}; set KGRAG_DATA")
        return
    with tempfile.TemporaryDirectory(prefix="kgrag-everyday-") as folder:
        path = Path(folder) / "a.kb"
        rows = [("`kgrag --help`, s", f"{_command('--help'):.2f}")]
        rows += _ingest(path, corpus)
        rows.append(("`kgrag ask` of a new question, cold process, s", f"{_cold(path):.2f}"))
        rows += _warm(path)
    print("| what | figure |\n|---|---|")
    for name, figure in rows:
        print(f"| {name} | {figure} |")


def _command(*arguments: str) -> float:
    """Return the best of three wall times of a command, in seconds."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "kgrag", *arguments], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def _cold(path: Path) -> float:
    """Return the best of three wall times of an answer, each to a question that was never embedded before."""
    times = []
    for number in range(3):
        start = time.perf_counter()
        asked = f"{QUESTIONS[0]} {number}"
        subprocess.run(
            [sys.executable, "-m", "kgrag", "--kb", str(path), "ask", asked], check=True, capture_output=True
        )
        times.append(time.perf_counter() - start)
    return min(times)


def _ingest(path: Path, corpus: Path) -> list[tuple[str, str]]:
    """Ingest in a process of its own, so that its peak memory is its own."""
    command = [sys.executable, "-m", "benchmarks.everyday_ingest", str(path), str(corpus)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return [
        ("ingest, passages", f"{found['documents']:,}"),
        ("ingest, s", f"{found['seconds']:.1f}"),
        ("embedder's share of it", f"{found['embedding'] / found['seconds']:.0%}"),
        ("peak memory, MB", f"{found['megabytes']:.0f}"),
    ]


def _warm(path: Path) -> list[tuple[str, str]]:
    from kgrag import KnowledgeBase

    with KnowledgeBase(path) as kb:
        kb.ask(f"{QUESTIONS[0]} Once to load the model")
        times: list[float] = []
        for question in QUESTIONS * 5:
            start = time.perf_counter()
            kb.ask(question + " " * len(times))  # another text each time, so that it is embedded each time
            times.append(1000 * (time.perf_counter() - start))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [
        ("`kb.ask`, warm, p50 ms", f"{statistics.median(times):.1f}"),
        ("`kb.ask`, warm, longest ms", f"{max(times):.1f}"),
        ("peak memory while answering, MB", f"{peak:.0f}"),
    ]


if __name__ == "__main__":
    main()
