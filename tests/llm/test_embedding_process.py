"""The embedding model in a process of its own gives the rows that it gives here, and its death is survived."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from kgrag.errors import ServiceError
from kgrag.llm.embedders import SentenceTransformerEmbedder
from kgrag.llm.embedding_process import EmbeddingProcess

TEXTS = ["Rye is sown in autumn.", "\ud800 half a pair", "Ä"]


@pytest.fixture(scope="module")
def apart() -> Iterator[SentenceTransformerEmbedder]:
    embedder = SentenceTransformerEmbedder("float32")
    embedder.move_apart()
    yield embedder
    embedder.close()


def test_rows_are_those_of_the_model_here(apart: SentenceTransformerEmbedder) -> None:
    here = SentenceTransformerEmbedder("float32").embed(TEXTS, "passage")
    there = apart.embed(TEXTS, "passage")
    assert there.shape == (3, 384)
    assert np.allclose(here, there, atol=1e-5)
    assert apart.embed([], "query").shape == (0, 384)


def test_a_process_that_died_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def echoing(self: EmbeddingProcess) -> subprocess.Popen[bytes]:
        """Answer one request with zeros, the next time of two, and end."""
        rows = len(started) + 1
        started.append(rows)
        program = (
            "import sys; from kgrag.llm.embedding_process import read_frame, write_frame; read_frame(sys.stdin.buffer);"
            f"write_frame(sys.stdout.buffer, b'.' + bytes(4 * 2 * {rows}))"
        )
        return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(EmbeddingProcess, "_started", echoing)
    process = EmbeddingProcess("float32", 2)
    assert process(["one"]).shape == (1, 2)
    assert process(["one", "two"]).shape == (2, 2)
    assert started == [1, 2]
    process.close()


def test_it_has_no_key_of_this_process_and_ends_with_its_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGRAG_API_KEY", "secret")
    process = EmbeddingProcess("float32", 384)._started()
    assert b"KGRAG_API_KEY" not in Path(f"/proc/{process.pid}/environ").read_bytes()
    assert process.communicate(timeout=60) == (b"", None)
    assert process.returncode == 0


def test_what_ends_the_process_each_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(self: EmbeddingProcess) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["true"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    monkeypatch.setattr(EmbeddingProcess, "_started", started)
    with pytest.raises(ServiceError, match="ended while it worked"):
        EmbeddingProcess("float32", 384)(["x"])


def test_closing_does_not_wait_for_a_model_that_is_being_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    started = threading.Event()

    def silent(self: EmbeddingProcess) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(["sleep", "600"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        started.set()
        return process

    monkeypatch.setattr(EmbeddingProcess, "_started", silent)
    embedding = EmbeddingProcess("float32", 384)
    with ThreadPoolExecutor(1) as threads:
        asked = threads.submit(embedding, ["x"])
        assert started.wait(60)
        embedding.close()
        with pytest.raises(ServiceError, match="closed while it worked"):
            asked.result()


def test_a_failure_of_the_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    process = EmbeddingProcess("float32", 384)
    monkeypatch.setattr(process, "_asked", lambda request: b"!RuntimeError: no memory")
    with pytest.raises(ServiceError, match="no memory"):
        process(["x"])
