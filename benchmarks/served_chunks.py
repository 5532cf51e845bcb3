"""A knowledge base of made-up chunks, and a server of it in a process of its own, for the benchmarks of the endpoint.

    python -m benchmarks.served_chunks FOLDER             make it (60,000 chunks)
    python -m benchmarks.served_chunks FOLDER --serve     serve what was made, with the key of KGRAG_API_KEYS

Each document is one chunk of thirty words, drawn so that few are frequent and most are rare. Texts are embedded by a
hash: no time is that of an embedding model, which runs in a process of its own in ``kgrag serve``.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kgrag import Document, KnowledgeBase
from kgrag.server.startup import Access, Address, serve
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

__all__ = ["ServedChunks", "chunk_text", "made_chunks", "make_chunks", "opened", "options_of", "serving", "words_of"]

_WORDS, _VOCABULARY = 30, 20_000


@dataclass(frozen=True)
class ServedChunks:
    """A server that listens: its address, a key that may write, and its first process."""

    url: str
    key: str
    pid: int


def words_of(number: int) -> list[str]:
    """Return the words of a chunk; the same number has the same words everywhere."""
    drawn = np.random.default_rng(number).zipf(1.3, size=_WORDS) % _VOCABULARY
    return [f"w{word}x" for word in drawn.tolist()]


def chunk_text(number: int) -> str:
    """Return a chunk: its number, and its words."""
    return f"Record r{number}x: {' '.join(words_of(number))}."


def make_chunks(folder: Path, size: int) -> None:
    """Make the knowledge base, where there is none in the folder."""
    if (folder / "store").exists():
        return
    with opened(folder) as kb:
        kb.add_many(Document(chunk_text(number), id=str(number), title=f"Record {number}") for number in range(size))
        kb.retrieve("w1x")


def options_of(
    about: str | None, arguments: Sequence[str] | None, *, seconds: float, **flags: str
) -> argparse.Namespace:
    """Read the options of a benchmark that loads a server: size, seconds of each part, folder, and its own flags."""
    parser = argparse.ArgumentParser(description=(about or "").split("\n", 1)[0])
    parser.add_argument("--size", type=int, default=60_000)
    parser.add_argument("--seconds", type=float, default=seconds, help="length of each part")
    parser.add_argument("--folder", type=Path, help="where the chunks are, or are made and kept")
    for name, help_ in flags.items():
        parser.add_argument(f"--{name}", action="store_true", help=help_)
    return parser.parse_args(arguments)


@contextmanager
def made_chunks(options: argparse.Namespace) -> Iterator[Path]:
    """Make the chunks where they are not there yet, and yield their folder; what has no name is deleted."""
    with tempfile.TemporaryDirectory(prefix="kgrag-chunks-") as made:
        folder = options.folder or Path(made, "kb")
        make_chunks(folder, options.size)
        yield folder


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[ServedChunks]:
    """Serve the knowledge base of a folder; the server and its readers are killed at the end."""
    key = secrets.token_hex(16)
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.served_chunks", str(folder), "--serve", *options],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "KGRAG_API_KEYS": key},
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url.startswith("http"):
            sys.exit(f"the server did not begin: {url}")
        yield ServedChunks(url, key, process.pid)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def opened(folder: Path) -> KnowledgeBase:
    """Open the knowledge base of a folder, with texts embedded by a hash."""
    return KnowledgeBase(folder, settings=Settings(model="extractive", completions="off"), embedder=HashEmbedder())


def main(arguments: Sequence[str] | None = None) -> None:
    """Make or serve a knowledge base."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=60_000)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--keys", type=Path, help="a file of keys, beside the key of KGRAG_API_KEYS")
    options = parser.parse_args(arguments)
    if not options.serve:
        make_chunks(options.folder, options.size)
        return
    with opened(options.folder) as kb:
        kb.retrieve("w1x")  # indexes that a killed server left behind are brought up to date
        serve(kb, Address(port=0, announce=lambda url: print(url, flush=True)), access=Access(keys=options.keys))


if __name__ == "__main__":
    main()
