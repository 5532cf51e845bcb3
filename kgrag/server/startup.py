"""Opens what is to be served, and listens until the process is asked to stop."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import uvicorn
from starlette.types import ASGIApp

from kgrag.errors import InvalidSettings
from kgrag.knowledge_base import KnowledgeBase
from kgrag.llm.embedders import SentenceTransformerEmbedder
from kgrag.server.access_keys import Keys
from kgrag.server.app import create_app
from kgrag.server.http_transport import BatchedHttpProtocol
from kgrag.server.key_file import read_keys
from kgrag.server.paid_access import PaidAccess, is_loopback, paid_access_of
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.request_log import LogFormat, RequestLog
from kgrag.server.served_data import CataloguedDataset, PlainDataset
from kgrag.server.server_state import AccessRules, ServerLogs
from kgrag.server.write_log import WriteLog
from kgrag.store.plain_dataset import PlainStore

__all__ = ["Access", "Address", "Logging", "announce_in", "listen", "serve", "serve_scratch"]

_MAX_GRACE_SECONDS = 30.0
"""Time that requests under way have to end, once the server is asked to stop."""


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
        gate: a profile of the audit, or a file of SHACL shapes; writes that bring ontologies, or data, new violations
            of it are refused.
        open_ask: whether everybody may ask, also where answers cost money.
        keep_chats: whether conversations of the chat page, and feedback on them, are kept in the store.
        local_writes: whether whoever sits at this machine may write without a key.
    """

    read_only: bool = False
    private: bool = False
    keys: Path | None = None
    gate: str | None = None
    open_ask: bool = False
    keep_chats: bool = False
    local_writes: bool = False


@dataclass(frozen=True)
class Logging:
    """What is logged: a line per request in ``form``, with queries or not; writes in a file of their own.

    ``writes`` is None for ``writes.jsonl`` in the folder of the knowledge base.
    """

    form: LogFormat = "none"
    queries: bool = False
    writes: Path | None = None


def serve(
    kb: KnowledgeBase,
    address: Address,
    *,
    access: Access | None = None,
    logging: Logging | None = None,
    limits: ServerLimits | None = None,
) -> None:
    """Serve a knowledge base until the process is asked to stop; queries under way then end first.

    While it serves, the file ``store.server`` has its URL, for whoever finds the knowledge base locked. One that is
    open for reading only locks nothing and leaves no such file: others of its kind may be served beside it, and one
    process may write, whose changes are found within a second.

    Raises:
        InvalidSettings: the address cannot be listened on, the keys or a log file are unusable, or the knowledge base
            has no folder.
        UnknownName: there is no such profile for the gate.
    """
    if kb.path is None:
        raise InvalidSettings("a knowledge base in memory cannot be served. Give it a folder.")
    access, logging, limits = access or Access(), logging or Logging(), limits or ServerLimits()
    if access.local_writes and not is_loopback(address.host):
        raise InvalidSettings(f"--local-writes is for loopback (--host 127.0.0.1), not for {address.host}. Use keys.")
    paid_access = PaidAccess() if access.open_ask else paid_access_of(kb.settings, address.host)
    if isinstance(kb.embedder.inner, SentenceTransformerEmbedder):
        kb.embedder.inner.move_apart()
    note = None if kb.read_only else kb.path / "store.server"
    kb.path.mkdir(parents=True, exist_ok=True)
    with (
        closing(WriteLog(logging.writes or kb.path / "writes.jsonl")) as writes,
        _folder_of_copies(kb, kb.path / "cache" / "snapshots") as copies,
    ):
        app = create_app(
            CataloguedDataset(kb.store),
            copies,
            rules=AccessRules(_keys(kb, access), paid_access, access.gate, access.keep_chats),
            limits=limits,
            kb=kb,
            logs=ServerLogs(RequestLog(logging.form, queries=logging.queries), writes),
        )
        try:
            listen(app, replace(address, announce=partial(_announce, note, address)), limits)
        finally:
            if note is not None:
                note.unlink(missing_ok=True)


@contextmanager
def _folder_of_copies(kb: KnowledgeBase, usual: Path) -> Iterator[Path]:
    """Return where copies of the store go: near it, by links, or where many servers read one, each its own place."""
    if not kb.read_only:
        yield usual
    else:
        with tempfile.TemporaryDirectory(prefix="kgrag-copies-") as folder:
            yield Path(folder, "snapshots")


def _keys(kb: KnowledgeBase, access: Access) -> Keys:
    more = [] if access.keys is None else read_keys(access.keys)
    simple = kb.settings.api_keys.get_secret_value()
    if access.private and not more and not simple.strip(", "):
        raise InvalidSettings("a private server needs keys. Give --keys FILE, or set KGRAG_API_KEYS.")
    writing: Literal["never", "here", "with a key"] = "here" if access.local_writes else "with a key"
    return Keys(simple, writing="never" if access.read_only else writing, more=more, private=access.private)


def _announce(note: Path | None, address: Address, url: str) -> None:
    if note is not None:
        announce_in(note, url)
    address.announce(url)


def announce_in(note: Path, url: str, *, tenant: str = "") -> None:
    """Write the URL of this server into a file, for other processes on this machine, and whose folder it is there."""
    local_url = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")
    served = {"url": local_url, "pid": os.getpid(), **({"tenant": tenant} if tenant else {})}
    note.write_text(json.dumps(served) + "\n", encoding="utf-8")


def serve_scratch(address: Address, *, logging: Logging | None = None, limits: ServerLimits | None = None) -> None:
    """Serve an empty plain dataset that everybody may write to and that is gone at the end, on loopback only.

    Raises:
        InvalidSettings: the address cannot be listened on, or is not loopback.
    """
    if not is_loopback(address.host):
        raise InvalidSettings(f"a scratch data set has no keys, so it is served on 127.0.0.1 only, not {address.host}.")
    logging, limits = logging or Logging(), limits or ServerLimits()
    with tempfile.TemporaryDirectory(prefix="kgrag-scratch-") as folder:
        dataset = PlainDataset(PlainStore(Path(folder, "store")))
        rules = AccessRules(Keys(writing="always"))
        logs = ServerLogs(RequestLog(logging.form, queries=logging.queries))
        app = create_app(dataset, Path(folder, "snapshots"), rules=rules, limits=limits, logs=logs)
        listen(app, address, limits)


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


def listen(app: ASGIApp, address: Address, limits: ServerLimits) -> None:
    """Serve an application until the process is asked to stop.

    Raises:
        InvalidSettings: the address cannot be listened on.
    """
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
            app,
            http=BatchedHttpProtocol,
            ws="none",
            log_level="warning",
            access_log=False,
            # a second more than a query may take, so that its own limit ends it, with an answer
            timeout_graceful_shutdown=math.ceil(min(limits.seconds, _MAX_GRACE_SECONDS)) + 1,
        )
        _Server(config).run(sockets=[listener])
