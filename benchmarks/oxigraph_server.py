"""An Oxigraph server of one's own on a free port of this machine, to be started, killed and started again.

The program comes with the PyPI package ``oxigraph``; it is looked for next to this Python, then on the path.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

import httpx

__all__ = ["OxigraphServer", "program"]

_SECONDS_TO_START = 20.0


def program() -> str | None:
    """Return the path of the server's program; None where it is not installed."""
    beside = Path(sys.executable).with_name("oxigraph")
    return str(beside) if beside.exists() else shutil.which("oxigraph")


class OxigraphServer:
    """A server over a folder, between ``with`` and its end; ``options`` are those of its program."""

    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start the server and wait until it answers. Raises RuntimeError: it does not."""
        command = [str(program()), "serve", "--location", str(self._folder), "--bind", f"127.0.0.1:{self._port}"]
        self._process = subprocess.Popen(
            [*command, *self._options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        latest = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < latest and self._process.poll() is None:
            try:
                httpx.get(self.address, trust_env=False)
            except httpx.TransportError:
                time.sleep(0.02)
            else:
                return
        raise RuntimeError(f"the Oxigraph server over {self._folder} does not answer")

    @property
    def pid(self) -> int:
        """The number of its process; 0 where there is none."""
        return self._process.pid if self._process is not None else 0

    def kill(self) -> None:
        """End the server as ``kill -9`` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self.kill()
