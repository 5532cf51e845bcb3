"""Who may ask where an answer costs money: a language model or an embedding model behind a key.

A page of any site can make its visitor's browser send requests here, and the answers of this server are for every
origin to read; that is as it should be for open data, and not for a bill. So a paid model is asked only for requests
with a key, and, where the server listens on loopback only, for requests from this machine: they name a loopback host (a
site whose name was made to point here does not), and come from no page of another site.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request

from kgrag.server.access_keys import Keys, authorization_of
from kgrag.server.problems import Problem
from kgrag.server.request_log import record_of
from kgrag.settings import EXTRACTIVE, MINILM, Settings

__all__ = ["PaidAccess", "is_cross_site", "is_from_here", "is_loopback", "paid_access_of"]

_OWN_SITE = ("", "same-origin", "none")
"""What a browser puts into Sec-Fetch-Site of a request that no other site caused; "" is no browser, or an old one."""
_PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-forwarded-host", "via")


@dataclass(frozen=True)
class PaidAccess:
    """What costs money.

    Attributes:
        answers_cost: whether an answer does.
        searches_cost: whether a search for what is near a text does.
        on_loopback: whether the server listens on loopback only.
    """

    answers_cost: bool = False
    searches_cost: bool = False
    on_loopback: bool = False

    def check(self, request: Request, keys: Keys) -> None:
        """Check that a request may cost something, and store the name of its key in its record.

        Raises:
            Problem: 401: it needs a key. 403: it needs one, and this server has none; or another site sent it.
        """
        if not self.answers_cost:
            return
        authorization = authorization_of(request)
        key = keys.reader(authorization)
        if key.name:
            record_of(request).key = key.name
        if key.name and authorization[:7].lower() == "bearer ":  # no page can make a browser send that
            return
        if is_cross_site(request):
            raise Problem(403, "answers cost money here, and a page of another site sent this. Send a key as Bearer.")
        if not key.name and not (self.on_loopback and _is_from_this_machine(request)):
            raise keys.key_wanted("answers cost money here: asking needs a key that is known")


def paid_access_of(settings: Settings, host: str) -> PaidAccess:
    """Return what costs money with these settings, on a server that listens on a host: models behind a key."""
    has_key = bool(settings.api_key.get_secret_value())
    searches_cost = has_key and settings.embedder != MINILM
    answers_cost = searches_cost or (has_key and settings.model != EXTRACTIVE)
    return PaidAccess(answers_cost, searches_cost, is_loopback(host))


def is_cross_site(request: Request) -> bool:
    """Return whether a browser sent a request because a page of another site made it."""
    origin, site = request.headers.get("origin", ""), request.headers.get("sec-fetch-site", "")
    if origin == "null":  # of a page that sends no referrer, or of one that may be anybody's
        return site != "same-origin"
    foreign = bool(origin) and urlsplit(origin).netloc != request.headers.get("host", "")
    return foreign or site not in _OWN_SITE


def is_from_here(request: Request) -> bool:
    """Return whether whoever sits at this machine sent a request, and no page of another site did."""
    return not is_cross_site(request) and _is_from_this_machine(request)


def _is_from_this_machine(request: Request) -> bool:
    """Return whether a request names a loopback host, and no proxy declares that it passed it on."""
    host = urlsplit(f"//{request.headers.get('host', '')}").hostname or ""
    return is_loopback(host) and not any(name in request.headers for name in _PROXY_HEADERS)


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is this machine's own.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "example.org", "localhost.example.org")]
    [True, True, True, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
