"""The command that serves a knowledge base over HTTP: serve."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgrag.cli.options import (
    AnswerBudgetOption,
    AnswerCompletionsOption,
    AnswerTokensOption,
    KbOption,
    budget_of,
    named_kb,
    open_kb,
)
from kgrag.cli.printing import note
from kgrag.errors import InvalidSettings, StoreLocked

if TYPE_CHECKING:
    from kgrag.knowledge_base import KnowledgeBase

__all__ = ["register"]


class LogForm(StrEnum):
    """How requests are logged on standard error."""

    TEXT = "text"
    JSON = "json"
    NONE = "none"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(serve)


def serve(
    kb: KbOption = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes a free one.", min=0, max=65535)] = 8000,
    read_only: Annotated[
        bool,
        typer.Option("--read-only", help="Refuse writes, whatever key is sent; on a SPARQL server, lock nothing."),
    ] = False,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that a query may work.", min=0.1)] = 30.0,
    readers: Annotated[int, typer.Option("--readers", help="Queries at work at once.", min=1, max=64)] = 4,
    queue: Annotated[int, typer.Option("--queue", help="Queries that may wait for a reader.", min=1)] = 256,
    rows: Annotated[int, typer.Option("--rows", help="Rows of a result at most; 0: any number.", min=0)] = 0,
    keys: Annotated[
        Path | None, typer.Option("--keys", help="TOML file of keys with rights and graphs.", show_default=False)
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Reading needs a key too.")] = False,
    gate: Annotated[
        str | None,
        typer.Option(
            "--gate",
            help="Refuse writes that bring an ontology new violations by this audit profile, or data by this file of "
            "SHACL shapes.",
        ),
    ] = None,
    open_ask: Annotated[
        bool, typer.Option("--open-ask", help="Everybody may ask, also where the model costs money.")
    ] = False,
    keep_chats: Annotated[
        bool,
        typer.Option("--keep-chats", help="Keep chats of the page, and feedback on them, as graphs."),
    ] = False,
    local_writes: Annotated[
        bool,
        typer.Option("--local-writes", help="Whoever sits at this machine writes without a key; on loopback only."),
    ] = False,
    log: Annotated[LogForm, typer.Option("--log", help="A line for each request: text, json, none.")] = LogForm.TEXT,
    log_queries: Annotated[bool, typer.Option("--log-queries", help="With --log json: the text of queries.")] = False,
    write_log: Annotated[
        Path | None,
        typer.Option("--write-log", help="File for a line a write [KB/writes.jsonl].", show_default=False),
    ] = None,
    scratch: Annotated[
        bool, typer.Option("--scratch", help="Serve an empty plain dataset instead, for conformance tests.")
    ] = False,
    tenants: Annotated[
        Path | None,
        typer.Option(
            "--tenants",
            help="TOML file of tenants: serve the knowledge base of each, to its own keys alone.",
            show_default=False,
        ),
    ] = None,
    max_completions: AnswerCompletionsOption = None,
    max_tokens: AnswerTokensOption = None,
    money: AnswerBudgetOption = None,
) -> None:
    """Serve SPARQL queries, updates and graphs over HTTP; writes need a key of KGRAG_API_KEYS."""
    if any(
        importlib.util.find_spec(name) is None
        for name in ("starlette", "uvicorn", "python_multipart", "prometheus_client")
    ):
        raise InvalidSettings("the server is not installed. Install it: pip install '.[server]'")
    if local_writes and (read_only or private):
        raise InvalidSettings("--local-writes goes without keys; leave out --read-only and --private, or it.")
    if keep_chats and read_only:
        raise InvalidSettings("--keep-chats writes to the store, and --read-only refuses that. Leave one of them out.")
    from kgrag import server
    from kgrag.server.paid_access import paid_access_of
    from kgrag.server.readers.reader_request import ServerLimits
    from kgrag.settings import read_settings

    answer = budget_of(read_settings(), max_completions, max_tokens, money)
    limits = ServerLimits(readers=readers, seconds=timeout, queue=queue, rows=rows, answer=answer)
    logging = server.Logging(log.value, log_queries, write_log)
    address = server.Address(host, port, lambda url: typer.echo(f"serving {url}/sparql"))
    if scratch:
        server.serve_scratch(address, logging=logging, limits=limits)
        return
    access = server.Access(read_only, private, keys, gate, open_ask, keep_chats, local_writes)
    if tenants is not None:
        if named_kb(kb) is not None:
            raise InvalidSettings("--tenants names the folders itself. Leave --kb out, or --tenants.")
        server.serve_tenants(tenants, read_settings(), address, access=access, logging=logging, limits=limits)
    else:
        with _opened(kb, read_only=read_only) as opened:
            if not open_ask and paid_access_of(opened.settings, host).answers_cost:
                note("answers cost money: asking needs a key, or a browser on this machine if --host is loopback")
            server.serve(opened, address, access=access, logging=logging, limits=limits)
    if threading.active_count() > 1:  # a question whose client is gone is still worked on; all files are closed by now
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _opened(kb: Path | None, *, read_only: bool) -> KnowledgeBase:
    from kgrag.settings import is_address, read_settings

    if read_only and is_address(read_settings().store):
        return open_kb(kb, access="read")
    try:
        return open_kb(kb)
    except StoreLocked as error:
        words = "A server needs the folder for itself, with --read-only too: serve a copy (kgrag backup)."
        raise StoreLocked(f"{str(error).rstrip('.')}. {words}", url=error.url) from None
