"""What the endpoints share: the data set, the readers, the keys, one turn for writing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import lru_cache

from starlette.requests import Request as HttpRequest

from kgrag.server.access_keys import Keys
from kgrag.server.graph_etags import Tags
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.request_log import RequestLog
from kgrag.server.request_metrics import Metrics
from kgrag.server.served_data import Dataset
from kgrag.server.spending import Spending
from kgrag.server.write_gate import Gate
from kgrag.server.write_log import WriteLog

__all__ = ["Logs", "Rules", "Site", "address", "site_of"]


_SHORT = 256
"""Bytes of a Host header that is worth remembering."""


@dataclass(frozen=True)
class Logs:
    """Where requests and writes are told of."""

    requests: RequestLog = field(default_factory=RequestLog)
    writes: WriteLog | None = None


@dataclass(frozen=True)
class Rules:
    """Who may do what: keys, who may ask where that costs money, and the profile that ontologies are judged by."""

    keys: Keys = field(default_factory=Keys)
    spending: Spending = field(default_factory=Spending)
    gate: str | None = None


@dataclass(eq=False)
class Site:
    """One server's parts; ``turn`` is held by whoever writes, ``log`` tells of it, ``tags`` change by it."""

    dataset: Dataset
    pool: ReaderPool
    keys: Keys
    spending: Spending = field(default_factory=Spending)
    gate: Gate | None = None
    metrics: Metrics = field(default_factory=Metrics)
    log: WriteLog | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    tags: Tags = field(init=False)

    def __post_init__(self) -> None:
        """Begin to count changes."""
        self.tags = Tags(self.dataset.epoch, lambda: self.dataset.revision)


def site_of(request: HttpRequest) -> Site:
    """Give the site that a request came to."""
    site: Site = request.scope["app"].state.site
    return site


def address(request: HttpRequest, path: str) -> str:
    """Give the address of a path of this server, as the client reached it."""
    scope = request.scope
    host = b""
    for name, value in scope["headers"]:
        if name == b"host":
            host = value
            break
    if not 0 < len(host) < _SHORT:
        return f"{str(request.base_url).rstrip('/')}{path}"
    return _base(scope["scheme"], scope.get("app_root_path", scope.get("root_path", "")), host) + path


@lru_cache(maxsize=64)
def _base(scheme: str, root: str, host: bytes) -> str:
    """Give what ``Request.base_url`` says; most requests name one of few hosts."""
    scope = {"type": "http", "scheme": scheme, "root_path": root, "path": "/", "headers": [(b"host", host)]}
    return str(HttpRequest(scope).base_url).rstrip("/")
