"""Answers of a server while it takes in 1,000 documents: how long its askers wait, and whether any answer fails.

    python -m benchmarks.live_intake                    32 askers, 5,000 documents beforehand
    python -m benchmarks.live_intake --documents 20000 --askers 16

A ``kgrag serve`` in a process of its own, with the embedding model that it has by default, holds documents of one or
two sentences. Askers send different questions to ``/ask``, each on a connection of its own, and rest a second between
two questions, or none (``--rest 0``: the server is always full). Each question was asked once before, by when the
sentences that answer are kept. Four times: alone; while one writer sends new documents one by one
(``PUT /documents/{id}``, 200 at most); while 1,000 are taken in as one upload; alone again. ``x`` is the p95 over the
lower one of those alone. The writer asks after every tenth document whether it is found, and ``seen`` is how many were
sent by then, if all were.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import httpx
import numpy as np

from kgrag import Document, KnowledgeBase
from kgrag.client import Client

__all__ = ["main"]

_MAX_ONE_BY_ONE = 200
_ROW = "{:11}  {:>8}  {:>7}  {:>7}  {:>6}  {:>9}  {:>6}"


@dataclass
class _Asked:
    """What the askers met: seconds of each answer, and what failed."""

    seconds: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def p(self, percent: float) -> float:
        return float(np.percentile(self.seconds, percent)) * 1000


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per kind of asker and of writer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--documents", type=int, default=5_000, help="documents beforehand")
    parser.add_argument("--added", type=int, default=1_000, help="documents that come")
    parser.add_argument("--askers", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=20, help="length of a part without a writer")
    parser.add_argument("--rest", type=float, default=1, help="seconds between two questions of an asker")
    options = parser.parse_args(arguments)
    numbers = count(options.documents)
    with tempfile.TemporaryDirectory(prefix="kgrag-intake-") as folder:
        with KnowledgeBase(Path(folder) / "kb") as kb:
            kb.add_many(_record(number) for number in range(options.documents))
        with _served(Path(folder) / "kb") as (url, key):
            print(_ROW.format("writer", "answers", "p50 ms", "p95 ms", "failed", "seconds", "seen"))
            _ask_each(url, options.documents)
            tails: list[tuple[str, float]] = []
            for writer in (_nothing(options.seconds), _one_by_one, _upload, _nothing(options.seconds)):
                records = [_record(next(numbers)) for _ in range(options.added)]
                asking = _asking(url, options.askers, options.rest, options.documents)
                with Client(url, key) as client, asking as asked:
                    started = time.perf_counter()
                    seen = writer(client, records)
                    took = time.perf_counter() - started
                kind = writer.__name__.strip("_").replace("_", " ")
                tails.append((kind, asked.p(95)))
                figures = [f"{asked.p(50):.0f}", f"{asked.p(95):.0f}", len(asked.failed), f"{took:.0f}"]
                print(_ROW.format(kind, len(asked.seconds), *figures, "" if seen is None else f"{seen:,}"), flush=True)
                for reason in sorted(set(asked.failed)):
                    print(f"  failed: {reason}")
            alone = min(tail for kind, tail in tails if kind == "nothing")
            print("; ".join(f"{kind} {tail / alone:.2f} x" for kind, tail in tails if kind != "nothing"))


_Writer = Callable[[Client, list[Document]], int | None]


def _nothing(seconds: float) -> _Writer:
    def nothing(client: Client, records: list[Document]) -> None:
        time.sleep(seconds)

    return nothing


def _one_by_one(client: Client, records: list[Document]) -> int:
    seen = 0
    for number, record in enumerate(records[:_MAX_ONE_BY_ONE], 1):
        client.put_document(record.id, record.text)
        if number % 10 == 0 and record.text in str(client.retrieve(_question(int(record.id))).hits):
            seen += 10
    return seen


def _upload(client: Client, records: list[Document]) -> None:
    lines = "\n".join(json.dumps({"id": record.id, "text": record.text}) for record in records)
    client.end_of_job(client.upload(lines.encode()).id)


def _record(number: int) -> Document:
    text = f"Pump {number} is in hall {number % 97}. It takes the {number % 89}th valve, and was seen on day {number}."
    return Document(text, id=str(number))


def _question(number: int) -> str:
    return f"In which hall is pump {number}?"


def _ask_each(url: str, documents: int) -> None:
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client, ThreadPoolExecutor(8) as askers:
        asked = [{"question": _question(number)} for number in range(documents)]
        for answer in askers.map(lambda question: client.post("/ask", json=question), asked):
            answer.raise_for_status()


@contextmanager
def _asking(url: str, askers: int, rest: float, documents: int) -> Iterator[_Asked]:
    """Ask for as long as this lasts; all answers are in what is yielded when it ends."""
    asked, over, numbers = _Asked(), threading.Event(), count(secrets.randbelow(1 << 30))

    def ask() -> None:
        over.wait(rest * secrets.randbelow(1000) / 1000)
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
            while not over.is_set():
                started = time.perf_counter()
                try:
                    client.post("/ask", json={"question": _question(next(numbers) % documents)}).raise_for_status()
                    asked.seconds.append(time.perf_counter() - started)
                except httpx.HTTPError as error:
                    asked.failed.append(str(error).partition("\n")[0])
                over.wait(rest)

    threads = [threading.Thread(target=ask) for _ in range(askers)]
    for thread in threads:
        thread.start()
    try:
        yield asked
    finally:
        over.set()
        for thread in threads:
            thread.join()


@contextmanager
def _served(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve the knowledge base, and yield the server's address and a key for writing; the server ends afterwards."""
    key = secrets.token_hex(16)
    process = subprocess.Popen(
        [sys.executable, "-m", "kgrag", "serve", "--kb", str(folder), "--port", "0", "--log", "none"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "KGRAG_API_KEYS": key},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("serving "):
            sys.exit(f"the server did not begin: {line}")
        url = line.removeprefix("serving ").strip().removesuffix("/sparql")
        for number in range(20):  # what is loaded at the first question
            httpx.post(f"{url}/ask", json={"question": _question(number)}, timeout=60, trust_env=False)
        yield url, key
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
