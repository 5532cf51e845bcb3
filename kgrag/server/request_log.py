"""Request ids, the record of a request, and the log of requests: one line each on standard error.

No key and no body is ever logged; the text of a query is on demand only.
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
from typing import Literal

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kgrag.server.server_metrics import ServerMetrics

__all__ = ["LogFormat", "RequestLog", "RequestRecord", "RequestTracker", "attach_record", "record_of"]

LogFormat = Literal["text", "json", "none"]

_SCOPE_KEY = "kgrag.record"
_CLIENT_LEFT = 499
_MAX_QUERY_CHARACTERS = 10_000


@dataclass(slots=True)
class RequestRecord:
    """What is known of a request at its end.

    Attributes:
        id: the value of its header X-Request-Id, if that is well-formed, or a new one.
        key: name of the key that it brought.
        operation: of a write: update, put, post, delete, keep; "" for others.
        graphs: of a write: the graphs that it may change; None: any.
        documents: of a write: the documents that it writes or forgets.
        success: of a write: the HTTP status of its answer, where it is done.
        written: whether the log of writes has its line already.
        rows: of a result, where rows are counted.
        query: its text.
        status: the HTTP status; 499 when the client left before the answer began.
        whole: whether the answer was sent to its end.
        received: bytes of its body.
        sent: bytes of the answer's body.
        started: when it came, by ``time.monotonic``.
    """

    id: str
    key: str = ""
    operation: str = ""
    graphs: Collection[str] | None = None
    documents: Collection[str] = ()
    success: int = 200
    written: bool = False
    rows: int | None = None
    query: str = ""
    status: int = _CLIENT_LEFT
    whole: bool = False
    received: int = 0
    sent: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """How long it has been under way."""
        return time.monotonic() - self.started


def record_of(request: Request) -> RequestRecord:
    """Return the record of a request."""
    record: RequestRecord = request.scope[_SCOPE_KEY]
    return record


def attach_record(scope: Scope) -> RequestRecord:
    """Put a new record into the scope of a request, and return it."""
    record = scope[_SCOPE_KEY] = RequestRecord(_request_id(scope))
    return record


class RequestLog:
    """Writes a line per request on standard error.

    Args:
        form: "text": short lines; "json": one JSON object per line; "none": nothing.
        queries: whether JSON lines have the text of queries and updates.
        tenant: whose requests they are; "" where a server has one knowledge base.
    """

    def __init__(self, form: LogFormat = "none", *, queries: bool = False, tenant: str = "") -> None:
        self._form = form
        self._queries = queries
        self._tenant = tenant

    def add(self, scope: Scope, record: RequestRecord) -> None:
        """Write the line of a request."""
        if self._form == "json":
            sys.stderr.write(json.dumps(self._row(scope, record), ensure_ascii=False) + "\n")
        elif self._form == "text":
            now, cut = f"{datetime.now(UTC):%H:%M:%S}", "" if record.whole else " cut"
            path = scope["path"].encode("unicode_escape").decode()[:200]  # no line breaks or control codes of clients
            duration = f"{1000 * record.seconds:.1f} ms"
            who = "/".join(filter(None, (self._tenant, record.key)))
            line = f"{now} {scope['method']} {path} {record.status}{cut} {duration} {record.sent:,} B {who}"
            sys.stderr.write(line.rstrip() + "\n")

    def _row(self, scope: Scope, record: RequestRecord) -> dict[str, object]:
        row: dict[str, object] = {
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
        if self._tenant:
            row["tenant"] = self._tenant
        if record.key:
            row["key"] = record.key
        if record.rows is not None:
            row["rows"] = record.rows
        if self._queries and record.query:
            row["query"] = record.query[:_MAX_QUERY_CHARACTERS]
        return row


class RequestTracker:
    """ASGI middleware around all other parts: gives each request an id and a record, counts and logs it at its end.

    Args:
        app: the rest of the application.
        metrics: counts requests.
        log: writes a line for each.
        paths: first parts of the paths that are counted apart; others count as "other".
        log_refused_write: called with a write to a known key that ended before it was done.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        metrics: ServerMetrics,
        log: RequestLog,
        paths: Collection[str],
        log_refused_write: Callable[[Scope, RequestRecord], None],
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log
        self._paths = frozenset(paths)
        self._log_refused_write = log_refused_write

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count and log it when it is over."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = attach_record(scope)

        async def receive_counted() -> Message:
            message = await receive()
            record.received += len(message.get("body", b""))
            return message

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", record.id.encode())]
            elif message["type"] == "http.response.body":
                record.sent += len(message.get("body", b""))
                record.whole = not message.get("more_body", False)
            await send(message)

        try:
            await self._app(scope, receive_counted, send_counted)
        except Exception:
            record.status = 500 if record.status == _CLIENT_LEFT else record.status
            raise
        finally:
            first = scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else ""
            # clients choose paths: each of them as a label would let them fill the memory
            path = f"/{first}" if first in self._paths else "other"
            self._metrics.count_request(path, scope["method"], record.status, record.seconds)
            if record.key and record.operation and not record.written:
                self._log_refused_write(scope, record)
            self._log.add(scope, record)


def _request_id(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and re.fullmatch(rb"[A-Za-z0-9._-]{1,64}", value):
            return str(value, "ascii")
    return secrets.token_hex(8)  # a number in order would reveal to each client how much others ask
