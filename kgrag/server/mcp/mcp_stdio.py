"""The protocol over standard input and output, for an agent's program that starts ``kgrag mcp`` by itself."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import closing, nullcontext
from pathlib import Path

from mcp.server.stdio import stdio_server

from kgrag.knowledge_base import KnowledgeBase
from kgrag.server.access_keys import Keys
from kgrag.server.app import create_app
from kgrag.server.inner_requests import local_request
from kgrag.server.mcp.mcp_protocol import protocol_server
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.served_data import CataloguedDataset
from kgrag.server.server_state import AccessRules, ServerLogs
from kgrag.server.write_log import WriteLog

__all__ = ["serve_stdio"]


def serve_stdio(kb: KnowledgeBase, *, write: bool, limits: ServerLimits | None = None) -> None:
    """Serve a knowledge base over standard input and output until the input ends.

    Args:
        kb: the knowledge base, with a folder.
        write: whether the tools that write are there. Whoever starts the process needs no key.
        limits: what a call may use.
    """
    assert kb.path is not None
    rules = AccessRules(Keys(writing="always" if write else "never"))
    writes = closing(WriteLog(kb.path / "writes.jsonl")) if write else nullcontext()
    with _folder_near(kb.path) as folder, writes as log:
        logs = ServerLogs(writes=log)
        app = create_app(
            CataloguedDataset(kb.store), Path(folder, "snapshots"), rules=rules, limits=limits, kb=kb, logs=logs
        )

        async def run() -> None:
            async with app.router.lifespan_context(app):
                server = protocol_server(lambda _: local_request(app))
                async with stdio_server() as (received, sent):
                    await server.run(received, sent, server.create_initialization_options())

        asyncio.run(run())


def _folder_near(knowledge_base: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a folder for copies of the store: where hard links can be, unless that may only be read."""
    cache, prefix = knowledge_base / "cache", "kgrag-mcp-"
    try:
        cache.mkdir(exist_ok=True)
        return tempfile.TemporaryDirectory(prefix=prefix, dir=cache)
    except OSError:
        return tempfile.TemporaryDirectory(prefix=prefix)
