"""Watches every request: gives it an id, counts it, and logs it in one line on standard error.

No key and no body is ever logged; the text of a query is on request only.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any, Literal, cast

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgrag.server.request_metrics import Metrics

__all__ = ["Format", "Record", "RequestLog", "Watch", "record_of"]

Format = Literal["text", "json", "none"]

_PLACE = "kgrag.record"
_LEFT = 499
_START = secrets.token_hex(6)
_NUMBERS = count(1)
_QUERY = 10_000


@dataclass(slots=True)
class Record:
    """What is known of a request at its end.

    Attributes:
        id: its id: that of the header X-Request-Id, if there was a decent one.
        key: name of the key that it brought.
        operation: of a write: update, put, post, delete, keep; "" for others.
        graphs: of a write: the graphs that it speaks of; None: any.
        written: whether the log of writes tells of it already.
        rows: of a result, where rows are counted.
        query: its text.
        status: the HTTP status; 499 when the client left before the answer began.
        whole: whether the answer was sent to its end.
    """

    id: str
    key: str = ""
    operation: str = ""
    graphs: Collection[str] | None = None
    written: bool = False
    rows: int | None = None
    query: str = ""
    status: int = _LEFT
    whole: bool = False
    received: int = 0
    sent: int = 0
    begun: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long it has been under way."""
        return time.monotonic() - self.begun


def record_of(request: Request) -> Record:
    """Give the record of a request."""
    record: Record = request.scope[_PLACE]
    return record


class RequestLog:
    """Writes lines about requests.

    Args:
        form: "text": short lines; "json": one JSON object a line; "none": nothing.
        queries: whether the text of queries and updates is told, in JSON lines only.
    """

    def __init__(self, form: Format = "none", *, queries: bool = False) -> None:
        self._form = form
        self.queries = queries

    def add(self, scope: Scope, record: Record) -> None:
        """Write the line of a request."""
        if self._form == "json":
            _print(json.dumps(self._row(scope, record), ensure_ascii=False))
        elif self._form == "text":
            now, cut = f"{datetime.now(UTC):%H:%M:%S}", "" if record.whole else " cut"
            path = scope["path"].encode("unicode_escape").decode()[:200]
            took = f"{1000 * record.seconds:.1f} ms"
            _print(
                f"{now} {scope['method']} {path} {record.status}{cut} {took} {record.sent:,} B {record.key}".rstrip()
            )

    def _row(self, scope: Scope, record: Record) -> dict[str, Any]:
        row: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "request": record.id,
            "method": scope["method"],
            "path": scope["path"][:1000],
            "status": record.status,
            "milliseconds": round(1000 * record.seconds, 2),
            "received": record.received,
            "sent": record.sent,
            "whole": record.whole,
        }
        if record.key:
            row["key"] = record.key
        if record.rows is not None:
            row["rows"] = record.rows
        if self.queries and record.query:
            row["query"] = record.query[:_QUERY]
        return row


def _print(line: str) -> None:
    sys.stderr.write(f"{line}\n")


class Watch:
    """ASGI middleware around everything else.

    Args:
        app: what it stands around.
        metrics: counts requests.
        log: writes a line for each.
        paths: first parts of the paths that are told apart; others count as "other".
        refused: is told of a write that ended before it was done.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: Metrics,
        log: RequestLog,
        paths: Collection[str],
        refused: Callable[[Scope, Record], None],
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log
        self._paths = frozenset(paths)
        self._refused = refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = Record(_id_of(scope))
        scope[_PLACE] = record

        async def received() -> Message:
            message = await receive()
            record.received += len(message.get("body", b""))
            return message

        async def sent(message: Message) -> None:
            _note(record, message)
            await send(message)

        try:
            await self._app(scope, received, sent)
        except Exception:
            record.status = 500 if record.status == _LEFT else record.status
            raise
        finally:
            self._end(scope, record)

    def _end(self, scope: Scope, record: Record) -> None:
        first = scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else ""
        path = f"/{first}" if first in self._paths else "other"
        self._metrics.request(path, scope["method"], record.status, record.seconds)
        if record.key and record.operation and not record.written:
            self._refused(scope, record)
        self._log.add(scope, record)


def _note(record: Record, message: Message) -> None:
    if message["type"] == "http.response.start":
        record.status = message["status"]
        message["headers"] = [*message.get("headers", ()), (b"x-request-id", record.id.encode())]
    elif message["type"] == "http.response.body":
        record.sent += len(message.get("body", b""))
        record.whole = not message.get("more_body", False)


def _id_of(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and re.fullmatch(rb"[A-Za-z0-9._-]{1,64}", value):
            return cast("bytes", value).decode()
    return f"{_START}-{next(_NUMBERS):x}"
