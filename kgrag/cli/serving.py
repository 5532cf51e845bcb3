"""The command that serves a knowledge base over HTTP: serve."""

from __future__ import annotations

import importlib.util
from typing import Annotated

import typer

from kgrag.cli.options import KbOption, open_kb
from kgrag.errors import InvalidSettings

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(serve)


def serve(
    kb: KbOption = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes a free one.", min=0, max=65535)] = 8000,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse writes, whatever key is sent.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that a query may work.", min=0.1)] = 30.0,
    readers: Annotated[int, typer.Option("--readers", help="Queries at work at once.", min=1, max=64)] = 4,
    scratch: Annotated[
        bool, typer.Option("--scratch", help="Serve an empty plain dataset instead, for conformance tests.")
    ] = False,
) -> None:
    """Serve SPARQL queries, updates and graphs over HTTP; writes need a key of KGRAG_API_KEYS."""
    if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn", "python_multipart")):
        raise InvalidSettings("the server is not installed. Install it: pip install '.[server]'")
    from kgrag import server
    from kgrag.adapters.readers import Limits

    limits = Limits(readers=readers, seconds=timeout)
    address = server.Address(host, port, lambda url: typer.echo(f"serving {url}/sparql"))
    if scratch:
        server.serve_scratch(address, limits=limits)
        return
    with open_kb(kb) as opened:
        server.serve(opened, address, read_only=read_only, limits=limits)
