"""One turn for writing: what a write does, what the log of writes tells of it, and which tags change."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from starlette.requests import Request
from starlette.types import Scope

from kgrag.server.problems import problem_of
from kgrag.server.request_log import Record, record_of
from kgrag.server.site import Site, site_of
from kgrag.server.write_log import Entry

__all__ = ["refused", "write"]


async def write(request: Request, work: Callable[[], object], *, status: int = 204) -> None:
    """Do a write in a thread; whoever calls holds ``site.turn``, and has put operation and graphs into the record.

    The thread also logs it: a write that is done has its line, whatever became of the request meanwhile.

    Raises:
        KgragError: what the work raises.
        Problem: what the work raises.
        StorageFailed: the log of writes cannot be written; nothing was done.
    """
    site, record = site_of(request), record_of(request)
    if site.log is not None:
        site.log.check()
    record.written = True
    await asyncio.to_thread(_done, site, record, work, status)


def _done(site: Site, record: Record, work: Callable[[], object], status: int) -> None:
    before, touched = site.dataset.revision, _touched(site, record.graphs)
    try:
        work()
    except Exception as error:
        status, touched = problem_of(error).status, None
        raise
    finally:
        after = site.dataset.revision
        site.tags.note(touched, before, after)
        _log(site, record, (before, after), status)


def _touched(site: Site, graphs: Collection[str] | None) -> set[str] | None:
    """Give every graph that changes with these."""
    if graphs is None:
        return None
    names = site.dataset.names
    stored = {site.dataset.stored_as(graph) for graph in graphs}
    return stored | {names.lexical_graph(graph).value for graph in stored} | {names.catalogue.value, ""}


def _log(site: Site, record: Record, revisions: tuple[int, int], status: int) -> None:
    site.metrics.write(record.operation, status)
    if site.log is not None:
        before, after = revisions
        site.log.add(
            Entry(record.id, record.key, record.operation, record.graphs, before, after, record.received, status)
        )


def refused(scope: Scope, record: Record) -> None:
    """Log a write that was refused to a key before its turn came."""
    site: Site = scope["app"].state.site
    _log(site, record, (site.dataset.revision,) * 2, record.status)
