"""A Virtuoso server of one's own on free ports of this machine, filled from N-Quads.

Its programs ``virtuoso-t`` and ``isql-vt`` come with Debian's ``virtuoso-opensource-7-bin``, which needs no installing:
unpack it with ``libpcre3``, and name the libraries in ``LD_LIBRARY_PATH``.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

import httpx

__all__ = ["VirtuosoServer"]

_SECONDS_TO_START = 120.0
_SETTINGS = """[Database]
DatabaseFile = {folder}/data.db
ErrorLogFile = {folder}/errors.log
LockFile = {folder}/data.lck
TransactionFile = {folder}/data.trx
xa_persistent_file = {folder}/data.pxa
[TempDatabase]
DatabaseFile = {folder}/temporary.db
TransactionFile = {folder}/temporary.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
NumberOfBuffers = 40000
MaxDirtyBuffers = 30000
DirsAllowed = {folder}
[HTTPServer]
ServerPort = 127.0.0.1:{http}
ServerRoot = {folder}
ServerThreads = 4
[SPARQL]
ResultSetMaxRows = 1000000
"""
_NQUADS = 512
"""The flag of Virtuoso's loader that a line may name its graph."""


class VirtuosoServer:
    """A server over a new folder, between ``with`` and its end.

    Args:
        folder: where its files are made.
        program: the path of ``virtuoso-t``; ``isql-vt`` is beside it.
    """

    def __init__(self, folder: Path, program: str) -> None:
        self._folder = folder
        self._program = shutil.which(program) or program
        self._sql, http = _free_port(), _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        settings = _SETTINGS.format(folder=folder, sql=self._sql, http=http)
        (folder / "virtuoso.ini").write_text(settings, encoding="utf-8")
        self._endpoint = f"http://127.0.0.1:{http}/sparql"
        self.address = f"{self._endpoint} {self._endpoint}"

    def load(self, quads: bytes) -> None:
        """Add N-Quads. Raises RuntimeError: Virtuoso refuses them."""
        path = self._folder / "quads.nq"
        path.write_bytes(quads)
        command = f"DB.DBA.TTLP(file_to_string_output('{path}'), '', 'urn:x:no-graph', {_NQUADS})"
        client = [str(Path(self._program).with_name("isql-vt")), f"127.0.0.1:{self._sql}", "dba", "dba"]
        done = subprocess.run([*client, f"exec={command}"], capture_output=True, text=True, check=False)
        if "Error" in done.stderr + done.stdout or done.returncode:
            raise RuntimeError(f"Virtuoso does not load the quads: {done.stdout[-500:]}{done.stderr[-500:]}")

    def __enter__(self) -> Self:
        """Start it and wait until it answers. Raises RuntimeError: it does not."""
        command = [self._program, "-f", "-c", str(self._folder / "virtuoso.ini")]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        latest = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < latest and self._process.poll() is None:
            try:
                httpx.get(self._endpoint, params={"query": "ASK {}"}, trust_env=False)
            except httpx.TransportError:
                time.sleep(0.2)
            else:
                return self
        self.__exit__()
        raise RuntimeError(f"{self._program} does not answer; {self._folder / 'errors.log'} may say why")

    def __exit__(self, *_: object) -> None:
        """End it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
