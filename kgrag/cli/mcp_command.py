"""The command that serves a knowledge base to an agent over standard input and output: mcp."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from typing import Annotated

import typer

from kgrag.cli.options import (
    AnswerBudgetOption,
    AnswerCompletionsOption,
    AnswerTokensOption,
    KbOption,
    budget_of,
    open_kb,
)
from kgrag.errors import InvalidSettings

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(mcp)


def mcp(
    kb: KbOption = None,
    write: Annotated[
        bool, typer.Option("--write", help="Let the agent add and forget documents; others cannot write meanwhile.")
    ] = False,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds that a query may work.", min=0.1)] = 30.0,
    readers: Annotated[int, typer.Option("--readers", help="Queries at work at once.", min=1, max=64)] = 2,
    max_completions: AnswerCompletionsOption = None,
    max_tokens: AnswerTokensOption = None,
    money: AnswerBudgetOption = None,
) -> None:
    """Serve the Model Context Protocol over standard input and output, to the agent that starts this command."""
    if any(importlib.util.find_spec(name) is None for name in ("mcp", "starlette", "prometheus_client")):
        raise InvalidSettings("the Model Context Protocol is not installed. Install it: pip install '.[mcp]'")
    from kgrag.server.mcp.mcp_stdio import serve_stdio
    from kgrag.server.readers.reader_request import ServerLimits

    with open_kb(kb, access="write" if write else "read") as opened:
        answer = budget_of(opened, max_completions, max_tokens, money)
        serve_stdio(opened, write=write, limits=ServerLimits(readers=readers, seconds=timeout, answer=answer))
    if threading.active_count() > 1:  # a question whose agent is gone is still worked on; all files are closed by now
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
