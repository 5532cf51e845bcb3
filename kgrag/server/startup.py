"""Opens what is to be served, and listens."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import uvicorn
from starlette.applications import Starlette

from kgrag.errors import InvalidSettings
from kgrag.knowledge_base import KnowledgeBase
from kgrag.server.access_keys import Keys
from kgrag.server.app import create_app
from kgrag.server.key_file import read_keys
from kgrag.server.readers.reader_pool import Limits
from kgrag.server.request_log import Format, RequestLog
from kgrag.server.served_data import Catalogued, Plain
from kgrag.server.single_write import OneWrite
from kgrag.server.site import Logs, Rules
from kgrag.server.spending import Spending, is_loopback, spending_of
from kgrag.server.write_log import WriteLog
from kgrag.store.plain_dataset import PlainStore

__all__ = ["Access", "Address", "Logging", "serve", "serve_scratch"]

_GRACE = 30.0
"""Seconds that requests under way have at most to end, once the server is asked to stop."""


@dataclass(frozen=True)
class Address:
    """Where to listen; port 0 takes a free one. ``announce`` is called with the URL once connections are taken."""

    host: str = "127.0.0.1"
    port: int = 8000
    announce: Callable[[str], None] = lambda _: None


@dataclass(frozen=True)
class Access:
    """Who may do what.

    Attributes:
        read_only: whether nobody writes, whatever key is sent.
        private: whether reading needs a key too.
        keys: a file of more keys.
        gate: a profile of the audit; writes that bring ontologies new violations of it are refused.
        open_ask: whether everybody may ask, also where answers cost money.
    """

    read_only: bool = False
    private: bool = False
    keys: Path | None = None
    gate: str | None = None
    open_ask: bool = False


@dataclass(frozen=True)
class Logging:
    """What is told: a line a request in ``form``, with queries or not; writes to a file of their own.

    ``writes`` is None for ``writes.jsonl`` in the folder of the knowledge base.
    """

    form: Format = "none"
    queries: bool = False
    writes: Path | None = None


def serve(
    kb: KnowledgeBase,
    address: Address,
    *,
    access: Access | None = None,
    logging: Logging | None = None,
    limits: Limits | None = None,
) -> None:
    """Serve a knowledge base until the process is asked to stop; queries under way then end first.

    While it serves, ``<store>.server`` tells its URL to whoever finds the knowledge base locked.

    Raises:
        InvalidSettings: the address cannot be listened on, the keys or a log file are unusable, or the knowledge base
            has no folder.
        UnknownName: there is no such profile for the gate.
    """
    if kb.path is None:
        raise InvalidSettings("a knowledge base in memory cannot be served. Give it a folder.")
    access, logging = access or Access(), logging or Logging()
    writes = WriteLog(logging.writes or kb.path / "writes.jsonl")
    app = create_app(
        Catalogued(kb.store),
        kb.path / "cache" / "snapshots",
        rules=_rules(kb, access, address),
        limits=limits,
        kb=kb,
        logs=Logs(RequestLog(logging.form, queries=logging.queries), writes),
    )
    note = kb.path / "store.server"
    try:
        _listen(app, _noted(address, note), _grace(limits))
    finally:
        note.unlink(missing_ok=True)
        writes.close()


def _rules(kb: KnowledgeBase, access: Access, address: Address) -> Rules:
    spending = Spending() if access.open_ask else spending_of(kb.settings, address.host)
    return Rules(_keys(kb, access), spending, access.gate)


def _keys(kb: KnowledgeBase, access: Access) -> Keys:
    more = [] if access.keys is None else read_keys(access.keys)
    simple = kb.settings.api_keys.get_secret_value()
    if access.private and not more and not simple.strip(", "):
        raise InvalidSettings("a private server needs keys. Give --keys FILE, or set KGRAG_API_KEYS.")
    writing: Literal["never", "with a key"] = "never" if access.read_only else "with a key"
    return Keys(simple, writing=writing, more=more, private=access.private)


def _noted(address: Address, note: Path) -> Address:
    """Give an address that also writes the URL beside the lock, for other processes."""

    def announce(url: str) -> None:
        near = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
        note.write_text(json.dumps({"url": near, "pid": os.getpid()}) + "\n", encoding="utf-8")
        address.announce(url)

    return replace(address, announce=announce)


def serve_scratch(address: Address, *, logging: Logging | None = None, limits: Limits | None = None) -> None:
    """Serve an empty plain data set that everybody may write to and that is gone at the end, on loopback only.

    Raises:
        InvalidSettings: the address cannot be listened on, or is not loopback.
    """
    if not is_loopback(address.host):
        raise InvalidSettings(f"a scratch data set has no keys, so it is served on 127.0.0.1 only, not {address.host}.")
    logging = logging or Logging()
    with tempfile.TemporaryDirectory(prefix="kgrag-scratch-") as folder:
        store = PlainStore(Path(folder, "store"))
        logs = Logs(RequestLog(logging.form, queries=logging.queries))
        app = create_app(
            Plain(store), Path(folder, "snapshots"), rules=Rules(Keys(writing="always")), limits=limits, logs=logs
        )
        _listen(app, address, _grace(limits))


def _grace(limits: Limits | None) -> int:
    return math.ceil(min((limits or Limits()).seconds, _GRACE)) + 1


class _Server(uvicorn.Server):
    """Ends with exit code 0 when it is asked to stop; uvicorn would raise the signal again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM as the wish to stop."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _listen(app: Starlette, address: Address, grace: int) -> None:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listener = socket.create_server((address.host, address.port), family=family, backlog=512)
    except OSError as error:
        raise InvalidSettings(
            f"{address.host}:{address.port} cannot be listened on: {error.strerror}. Choose another --port."
        ) from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer waits 40 ms for its last part
    with listener:
        host = f"[{address.host}]" if family == socket.AF_INET6 else address.host
        address.announce(f"http://{host}:{listener.getsockname()[1]}")
        config = uvicorn.Config(
            app, http=OneWrite, ws="none", log_level="warning", access_log=False, timeout_graceful_shutdown=grace
        )
        _Server(config).run(sockets=[listener])
