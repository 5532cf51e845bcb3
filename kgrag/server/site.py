"""What the endpoints share: the data set, the readers, the keys, one turn for writing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import cast

from starlette.requests import Request as HttpRequest

from kgrag.adapters.readers import ReaderPool
from kgrag.server.datasets import Dataset
from kgrag.server.keys import Keys

__all__ = ["Site", "address", "site_of"]


@dataclass(eq=False)
class Site:
    """One server's parts; ``turn`` is held by whoever writes."""

    dataset: Dataset
    pool: ReaderPool
    keys: Keys
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


def site_of(request: HttpRequest) -> Site:
    """Give the site that a request came to."""
    return cast("Site", request.app.state.site)


def address(request: HttpRequest, path: str) -> str:
    """Give the address of a path of this server, as the client reached it."""
    return f"{str(request.base_url).rstrip('/')}{path}"
