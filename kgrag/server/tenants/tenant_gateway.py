"""The ASGI application in front of tenants: a request goes to the knowledge base whose key it brings.

Nothing else of a request chooses: no part of its address, no header, no text. The tenant's application then asks for
the key again, and knows the keys of this tenant only: a request that came to the wrong one is refused there.

A header ``Kgrag-Tenant`` can only refuse: commands over the folder of a tenant (``--kb north.kb``) send it, so that
with the key of another nothing of the one is written to the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from starlette.types import Message, Receive, Scope, Send

from kgrag.errors import KgragError
from kgrag.server.access_keys import digest_of, key_of
from kgrag.server.problems import Problem
from kgrag.server.request_log import RequestLog
from kgrag.server.tenants.open_tenants import OpenTenants
from kgrag.server.tenants.operator_paths import OPERATOR_PATHS, REFUSAL, operator_app
from kgrag.server.tenants.tenant_file import Tenant, TenantFile
from kgrag.server.tenants.tenant_opening import OpenTenant, TenantMemory, TenantRules, open_tenant

__all__ = ["TenantGateway"]


class TenantGateway:
    """Passes each request on to the application of its tenant.

    Args:
        declared: the tenants and their keys.
        rules: what is the same for all of them.

    Attributes:
        pool: what is open.
        front: the application for requests that are no tenant's.
        url: of this server, for processes that find a folder locked; "" until it is known.
    """

    def __init__(self, declared: TenantFile, rules: TenantRules) -> None:
        self.url = ""
        self._tenants: Mapping[str, Tenant] = declared.tenants
        self._by_key = {key.digest: tenant.name for tenant in declared.tenants.values() for key in tenant.keys}
        self._memories = {name: TenantMemory() for name in declared.tenants}
        self._rules = rules
        self.pool: OpenTenants[OpenTenant] = OpenTenants(declared.tenants, self._open, limit=declared.max_open)
        log = RequestLog(rules.log, queries=rules.log_queries)
        self.front = operator_app(declared.operators, declared.tenants, self.pool, self._memories, log)

    async def _open(self, name: str) -> OpenTenant:
        return await open_tenant(self._tenants[name], self._rules, self._memories[name], url=self.url)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        # digests are looked up: who tries keys does not choose their digests, so that time reveals nothing
        name = self._by_key.get(digest_of(key_of(_header(scope, b"authorization"))))
        meant = _header(scope, b"kgrag-tenant")
        if name is None:
            await self.front(scope, receive, send)
        elif meant and meant != name:
            refusal = Problem(403, f"this key opens the knowledge base of another tenant than '{meant}'.")
            await self.front({**scope, REFUSAL: refusal}, receive, send)
        elif scope["path"] in OPERATOR_PATHS:
            refusal = Problem(403, f"{scope['path']} concerns all tenants of this server, and needs an operator's key.")
            await self.front({**scope, REFUSAL: refusal}, receive, send)
        else:
            await self._pass_on(name, scope, receive, send)

    async def _pass_on(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            opened = await self.pool.borrow(name)
        except KgragError as error:
            await self.front({**scope, REFUSAL: error}, receive, send)
            return
        try:
            await opened.app(scope, receive, partial(_send_for_one, send))
        finally:
            self.pool.give_back(name)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Answer the server's start and end; at the end everything is closed."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.pool.close()
                await send({"type": "lifespan.shutdown.complete"})
                return


async def _send_for_one(send: Send, message: Message) -> None:
    """Send a part of an answer, marked as one for this key alone: addresses are the same for all tenants."""
    if message["type"] == "http.response.start":
        message["headers"] = [*message.get("headers", ()), (b"vary", b"Authorization")]
    await send(message)


def _header(scope: Scope, wanted: bytes) -> str:
    for name, value in scope["headers"]:
        if name == wanted:
            return str(value, "latin-1")
    return ""
