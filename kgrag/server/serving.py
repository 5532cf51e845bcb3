"""Opens what is to be served, and listens."""

from __future__ import annotations

import ipaddress
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from kgrag.adapters.oxigraph.plain import PlainStore
from kgrag.adapters.readers import Limits
from kgrag.errors import InvalidSettings
from kgrag.knowledge_base import KnowledgeBase
from kgrag.server.app import create_app
from kgrag.server.datasets import Catalogued, Plain
from kgrag.server.keys import Keys

__all__ = ["Address", "serve", "serve_scratch"]

_GRACE = 10


@dataclass(frozen=True)
class Address:
    """Where to listen; port 0 takes a free one. ``announce`` is called with the URL once connections are taken."""

    host: str = "127.0.0.1"
    port: int = 8000
    announce: Callable[[str], None] = lambda _: None


def serve(kb: KnowledgeBase, address: Address, *, read_only: bool = False, limits: Limits | None = None) -> None:
    """Serve a knowledge base until the process is asked to stop.

    Raises:
        InvalidSettings: the address cannot be listened on, or the knowledge base has no folder.
    """
    if kb.path is None:
        raise InvalidSettings("a knowledge base in memory cannot be served. Give it a folder.")
    keys = Keys(kb.settings.api_keys.get_secret_value(), writing="never" if read_only else "with a key")
    _listen(create_app(Catalogued(kb.store), kb.path / "cache" / "snapshots", keys=keys, limits=limits), address)


def serve_scratch(address: Address, *, limits: Limits | None = None) -> None:
    """Serve an empty plain data set that everybody may write to and that is gone at the end, on loopback only.

    Raises:
        InvalidSettings: the address cannot be listened on, or is not loopback.
    """
    if not _loopback(address.host):
        raise InvalidSettings(f"a scratch data set has no keys, so it is served on 127.0.0.1 only, not {address.host}.")
    with tempfile.TemporaryDirectory(prefix="kgrag-scratch-") as folder:
        store = PlainStore(Path(folder, "store"))
        keys = Keys(writing="always")
        _listen(create_app(Plain(store), Path(folder, "snapshots"), keys=keys, limits=limits), address)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(app: Starlette, address: Address) -> None:
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
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=_GRACE)
        uvicorn.Server(config).run(sockets=[listener])
