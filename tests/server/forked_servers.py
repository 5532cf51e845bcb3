"""Servers forked from one process that has imported what all of them import, which takes each 2 s of a processor.

``ForkedServer`` has what tests use of ``subprocess.Popen``. The process that forks has no threads. For each server it
forks a process that waits for it, and writes its number and its exit code to a pipe.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import IO

__all__ = ["ForkedServer"]

_PROGRAM = """
import runpy
from tests.server.forked_servers import asked_for
import httptools, prometheus_client, uvicorn, uvloop
import kgrag.cli.serve_command, kgrag.server.app, kgrag.server.startup
asked_for()
runpy.run_module("kgrag", run_name="__main__", alter_sys=True)
"""
_NUMBER = struct.Struct("<i")
_MAX_REQUEST_BYTES = 1 << 17


class ForkedServer:
    """A command of ``kgrag`` that runs in a forked process, with arguments, environment and files of its own."""

    def __init__(self, arguments: Sequence[str], environment: dict[str, str], errors: IO[str] | None) -> None:
        output, its_output = os.pipe()
        self._status, its_status = os.pipe()
        request = json.dumps([["kgrag", *arguments], environment, str(Path.cwd())]).encode()
        files = [its_output, 2 if errors is None else errors.fileno(), its_status]
        socket.send_fds(_forking(), [request], files)
        os.close(its_output)
        os.close(its_status)
        self.stdout = os.fdopen(output, encoding="utf-8")
        self.pid = self._number()
        self.returncode: int | None = None

    def _number(self) -> int:
        return int(_NUMBER.unpack(os.read(self._status, _NUMBER.size))[0])

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, the negative number of the signal that ended it. Raises TimeoutExpired."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("kgrag", timeout or 0)
            self.returncode = self._number()
            os.close(self._status)
        return self.returncode

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        try:
            return self.wait(0)
        except subprocess.TimeoutExpired:
            return None

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@cache
def _forking() -> socket.socket:
    """Return the socket of the process that forks; it ends with the socket, so with this process."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-c", _PROGRAM, str(its.fileno())]
    process = subprocess.Popen(
        command,
        pass_fds=[its.fileno()],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    its.close()
    atexit.register(lambda: (ours.close(), process.wait(20)))
    return ours


def asked_for() -> None:
    """Fork for each request; return in the server alone, which has the arguments and files of its request by then."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those that wait for servers are waited for by nobody
    while True:
        request, files, _, _ = socket.recv_fds(requests, _MAX_REQUEST_BYTES, 3)
        if not request:
            sys.exit()
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if (number := os.fork()) == 0:
                return _become(request, files)
            _report(number, files)
        for one in files:
            os.close(one)


def _report(number: int, files: Sequence[int]) -> None:
    """Write the number of a server, wait for its end, and write its exit code."""
    output, errors, status = files
    for one in (output, errors):  # whoever reads what the server prints is not to wait for this process
        os.close(one)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    os.write(status, _NUMBER.pack(number))
    os.write(status, _NUMBER.pack(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])))
    os._exit(0)


def _become(request: bytes, files: Sequence[int]) -> None:
    arguments, environment, folder = json.loads(request)
    output, errors, status = files
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for one in (output, errors, status):
        os.close(one)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.path += [one for one in environment.get("PYTHONPATH", "").split(os.pathsep) if one not in sys.path]
    sys.argv[:] = arguments
