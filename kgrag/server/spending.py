"""Who may ask where an answer costs money: a language model or an embedding model behind a key.

A page of any site can make its visitor's browser send requests here, and the answers of this server are for every
origin to read; that is as it should be for open data, and not for a bill. So a paid model is asked for whoever brings a
key, and, where the server listens on loopback only, for whoever sits at this machine: the request then names a loopback
host (a site whose name was made to point here does not), and comes from no page of another site.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request

from kgrag.server.access_keys import Keys
from kgrag.server.problems import Problem
from kgrag.server.request_log import record_of
from kgrag.settings import EXTRACTIVE, MINILM, Settings

__all__ = ["Spending", "from_elsewhere", "is_loopback", "spending_of"]

_OWN = ("", "same-origin", "none")
"""What a browser says in Sec-Fetch-Site of a request that no other site caused; "" is no browser, or an old one."""
_FORWARDED = ("forwarded", "x-forwarded-for", "x-forwarded-host", "via")


@dataclass(frozen=True)
class Spending:
    """What costs money.

    Attributes:
        costs: whether an answer does.
        embeds: whether looking for what is near a text does.
        local: whether the server listens on loopback only.
    """

    costs: bool = False
    embeds: bool = False
    local: bool = False

    def admit(self, request: Request, keys: Keys) -> None:
        """Let a request pass that may cost something, and note the name of its key.

        Raises:
            Problem: 401: it needs a key. 403: it needs one, and this server has none; or another site sent it.
        """
        if not self.costs:
            return
        authorization = request.headers.get("authorization", "")
        key = keys.reader(authorization)
        if key.name:
            record_of(request).key = key.name
        if key.name and authorization[:7].lower() == "bearer ":
            return
        if from_elsewhere(request):
            raise Problem(403, "answers cost money here, and a page of another site sent this. Send a key as Bearer.")
        if key.name or (self.local and _at_this_machine(request)):
            return
        raise keys.wanted("answers cost money here: asking needs a key that is known")


def spending_of(settings: Settings, host: str) -> Spending:
    """Say what costs money with these settings, on a server that listens on a host: models behind a key."""
    key = bool(settings.api_key.get_secret_value())
    embeds = key and settings.embedder != MINILM
    return Spending(embeds or (key and settings.model != EXTRACTIVE), embeds, is_loopback(host))


def from_elsewhere(request: Request) -> bool:
    """Say whether a browser sent a request because a page of another site wanted it to."""
    origin = request.headers.get("origin", "")
    foreign = bool(origin) and urlsplit(origin).netloc != request.headers.get("host", "")
    return foreign or request.headers.get("sec-fetch-site", "") not in _OWN


def _at_this_machine(request: Request) -> bool:
    """Say whether a request names a loopback host, and no proxy says that it handed it on."""
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    return is_loopback(host) and not any(name in request.headers for name in _FORWARDED)


def is_loopback(host: str) -> bool:
    """Say whether a name or an address is this machine's own.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "example.org", "localhost.example.org")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
