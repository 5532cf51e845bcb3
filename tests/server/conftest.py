"""A server in a process of its own, met over HTTP on loopback."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.server.forked_servers import ForkedServer
from tests.server.inside import Inside, demonstration, served

KEY = "secret-for-tests"


@dataclass
class Server:
    """A running ``kgrag serve``."""

    folder: Path
    process: subprocess.Popen[str] | ForkedServer
    client: httpx.Client
    writer: httpx.Client

    def query(self, text: str, **parameters: str | list[str]) -> httpx.Response:
        return self.client.get("/sparql", params={"query": text, **parameters})

    def update(self, text: str) -> httpx.Response:
        return self.writer.post("/update", content=text, headers={"Content-Type": "application/sparql-update"})

    def readers(self) -> list[int]:
        """The process ids of the readers."""
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="utf-8")
        return [int(number) for number in listed.split()]

    def stop(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.client.close()
        self.writer.close()


def kill(number: int) -> None:
    """End a process at once, and wait until it is gone; its parent has still to take note of that."""
    ended = os.pidfd_open(number)
    try:
        os.kill(number, signal.SIGKILL)
        assert select.select([ended], [], [], 30)[0]
    finally:
        os.close(ended)


def start(
    kb: Path, *options: str, keys: str = KEY, errors: Path | None = None, fresh: bool = False, **environment: str
) -> Server:
    """Start a server on a free port and wait until it listens; ``errors`` takes what it says on standard error.

    A ``fresh`` one is started as a user does, and imports all that it needs.
    """
    command = ["serve", "--kb", str(kb), "--port", "0", *options]
    environment = {**os.environ, "KGRAG_API_KEYS": keys, **environment}
    with (errors or Path(os.devnull)).open("w", encoding="utf-8") as said:
        stderr = None if errors is None else said
        process: subprocess.Popen[str] | ForkedServer
        if fresh:
            whole = [sys.executable, "-m", "kgrag", *command]
            process = subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment)
        else:
            process = ForkedServer(command, environment, stderr)
    assert process.stdout is not None
    base = process.stdout.readline().removeprefix("serving ").strip().removesuffix("/sparql")
    assert base.startswith("http://")
    options_ = {"base_url": base, "timeout": 30.0, "trust_env": False}
    return Server(
        kb, process, httpx.Client(**options_), httpx.Client(headers={"Authorization": f"Bearer {KEY}"}, **options_)
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start(tmp_path_factory.mktemp("served") / "kb")
    yield running
    running.stop()


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = start(tmp_path_factory.mktemp("scratch") / "kb", "--scratch", keys="")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """The demonstration, served from a thread of this process; tests leave it as it is, but for kept answers."""
    with demonstration(tmp_path_factory.mktemp("demo") / "kb") as kb, served(kb) as running:
        yield running
