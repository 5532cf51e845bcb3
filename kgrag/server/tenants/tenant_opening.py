"""The knowledge base of one tenant while it is open: its application, and what it counts and remembers.

Counters, jobs that are over and chats in memory outlive a closing; they are of this tenant alone, as its log of writes
is, which is in its folder.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from starlette.applications import Starlette

from kgrag.errors import InvalidSettings, KgragError, ServiceUnavailable
from kgrag.knowledge_base import KnowledgeBase
from kgrag.llm.budget import Budget
from kgrag.ports import Embedder
from kgrag.server.access_keys import Keys
from kgrag.server.app import create_app
from kgrag.server.jobs import JobQueue
from kgrag.server.pages import Chats
from kgrag.server.paid_access import PaidAccess
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.request_log import LogFormat, RequestLog
from kgrag.server.served_data import CataloguedDataset
from kgrag.server.server_metrics import ServerMetrics
from kgrag.server.server_state import AccessRules, ServerLogs, ServerState
from kgrag.server.startup import announce_in
from kgrag.server.tenants.tenant_file import Tenant
from kgrag.server.write_log import WriteLog
from kgrag.settings import Settings
from kgrag.store.rdf_files import read_rdf

__all__ = ["OpenTenant", "TenantMemory", "TenantRules", "open_tenant"]

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class TenantRules:
    """What is the same for all tenants.

    Attributes:
        settings: of each knowledge base, but for its folder.
        embedder: one model for all; None: each has that of the settings.
        ontologies: files that each reads, and that it may not change.
        read_only: whether nobody writes.
        gate: as of ``kgrag serve --gate``.
        keep_chats: as of ``kgrag serve --keep-chats``.
        paid_access: what costs money.
        limits: what a request may use; readers and queue are for each tenant.
        log: form of the lines of requests.
        log_queries: whether they have the text of queries.
    """

    settings: Settings
    embedder: Embedder | None = None
    ontologies: Sequence[Path] = ()
    read_only: bool = False
    gate: str | None = None
    keep_chats: bool = False
    paid_access: PaidAccess = field(default_factory=PaidAccess)
    limits: ServerLimits = field(default_factory=ServerLimits)
    log: LogFormat = "none"
    log_queries: bool = False


@dataclass(eq=False)
class TenantMemory:
    """What of a tenant outlives a closing of its knowledge base."""

    metrics: ServerMetrics = field(default_factory=lambda: ServerMetrics(process=False))
    jobs: JobQueue = field(default_factory=JobQueue)
    chats: Chats = field(default_factory=Chats)


class OpenTenant:
    """A knowledge base that is open, with the application that serves it."""

    def __init__(self, kb: KnowledgeBase, app: Starlette, parts: AsyncExitStack) -> None:
        self.kb = kb
        self.app = app
        self._parts = parts

    @property
    def state(self) -> ServerState:
        """The state of its application."""
        state: ServerState = self.app.state.server
        return state

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way in it."""
        return self.state.is_idle

    async def set_gauges(self) -> None:
        """Set the gauges of its metrics to what is so now."""
        dataset = self.state.dataset
        quads = await asyncio.to_thread(dataset.quads)
        self.state.metrics.set_gauges(self.state.pool, revision=dataset.revision, quads=quads)

    async def close(self) -> None:
        """Close the application, then the knowledge base and its log."""
        with suppress(KgragError):  # of a disk that refuses: the figures stay as they were
            await self.set_gauges()
        await self._parts.aclose()


async def open_tenant(tenant: Tenant, rules: TenantRules, memory: TenantMemory, *, url: str = "") -> OpenTenant:
    """Open the knowledge base of a tenant; its folder is made where there is none.

    Args:
        tenant: whose.
        rules: what is the same for all.
        memory: what outlives a closing.
        url: of this server, for other processes that find the folder locked; "" is not written down.

    Raises:
        ServiceUnavailable: it cannot be opened; the server's log has the reason.
    """
    async with AsyncExitStack() as parts:
        try:
            kb, shared = await asyncio.to_thread(_open_kb, tenant, rules)
            parts.push_async_callback(asyncio.to_thread, kb.close)
            writes = WriteLog(tenant.folder / "writes.jsonl")
            parts.callback(writes.close)
            if url:
                announce_in(tenant.folder / "store.server", url, tenant=tenant.name)
                parts.callback((tenant.folder / "store.server").unlink, missing_ok=True)
        except (KgragError, OSError) as error:
            _LOG.error("the knowledge base of tenant %s cannot be opened: %s", tenant.name, error)
            raise ServiceUnavailable("this knowledge base cannot be opened now. Ask whoever runs the server.") from None
        keys = Keys(
            writing="never" if rules.read_only else "with a key",
            more=[replace(key, protected=shared) for key in tenant.keys],
            private=True,
        )
        log = RequestLog(rules.log, queries=rules.log_queries, tenant=tenant.name)
        app = create_app(
            CataloguedDataset(kb.store),
            tenant.folder / "cache" / "snapshots",
            rules=AccessRules(keys, rules.paid_access, rules.gate, rules.keep_chats),
            limits=rules.limits,
            kb=kb,
            logs=ServerLogs(log, writes, memory.metrics),
        )
        app.state.jobs = memory.jobs
        await parts.enter_async_context(app.router.lifespan_context(app))
        app.state.chats = memory.chats
        return OpenTenant(kb, app, parts.pop_all())


def _open_kb(tenant: Tenant, rules: TenantRules) -> tuple[KnowledgeBase, frozenset[str]]:
    """Return the knowledge base, and the graphs in it that all tenants share.

    Raises:
        KgragError: it cannot be opened, or a shared ontology cannot be read.
    """
    kb = KnowledgeBase(
        tenant.folder, settings=rules.settings.model_copy(update={"kb": tenant.folder}), embedder=rules.embedder
    )
    try:
        if tenant.budget is not None:
            own = tenant.budget
            kb.limit_spending(Budget(own.completions, own.tokens, own.money, kb.price()), own.period)
        return kb, _share(kb, rules.ontologies, tenant.name)
    except BaseException:
        kb.close()
        raise


def _share(kb: KnowledgeBase, ontologies: Sequence[Path], name: str) -> frozenset[str]:
    """Put the shared ontologies into a knowledge base, in the place of earlier ones, and return their graphs."""
    names = kb.store.names
    drafts = [draft for path in ontologies for draft in read_rdf(path, names=names)]
    known = {draft.iri.value for draft in drafts if kb.store.described(draft.iri)}
    done = kb.store.publish(drafts)
    if done.faults:
        raise InvalidSettings(f"a shared ontology is not sound: {'; '.join(done.faults[:3])}")
    for graph in sorted(known.intersection(done.published)):
        _LOG.warning("tenant %s: the shared ontology <%s> took the place of what was there", name, graph)
    if done.published:
        kb.store.flush()
    graphs = [draft.iri.value for draft in drafts]
    return frozenset([*graphs, *(names.lexical_graph(graph).value for graph in graphs)])
