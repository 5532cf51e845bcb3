"""Lets a reader work for a request, and streams what it writes.

The first 64 KiB are held back until they are full, so that what goes wrong early is still told by a status. What goes
wrong later closes the connection without an end: a result that is cut short never looks whole. A client that leaves, or
takes nothing for half a minute, frees its reader; one that is slow keeps it for as long as a query may work, and beyond
that only while nobody else waits for it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kgrag.errors import InputError, InvalidSPARQL, KgragError
from kgrag.server.media_types import content_type
from kgrag.server.problems import Problem
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.readers.reader_request import Request, Run
from kgrag.server.request_log import Record, record_of
from kgrag.store.engine import engine

__all__ = ["collected", "streamed"]

_HELD_BACK = 1 << 16
_PATIENCE = 30.0
_GLANCE = 0.25
_STATUS = {"unacceptable": 406, "too large": 413, "failed": 500}


class _Opening:
    """The beginning of a result."""

    def __init__(self) -> None:
        self.media = ""
        self.data: bytes | bytearray = bytearray()
        self.whole = False


async def streamed(request: HttpRequest, pool: ReaderPool, task: Request, headers: dict[str, str]) -> Response:
    """Answer with what a reader writes.

    Raises:
        Problem: the reader refuses the task.
        InvalidSPARQL: the query does not parse, or cannot be evaluated.
        ServiceUnavailable: no reader was free, or it ended, or took too long.
    """
    run = pool.run(task)
    record, leaving = record_of(request), _Leaving(request.receive, run)
    try:
        opening = await _opened(run, task)
    except BaseException:
        run.close()
        raise
    finally:
        await leaving.over()
    if opening.whole:
        run.close()
        record.rows = run.rows
        return _Whole(bytes(opening.data), _raw(opening.media, *headers.items()))
    return _Streamed(run, opening, headers, record)


async def collected(pool: ReaderPool, task: Request) -> bytes:
    """Give all that a reader writes; raises what ``streamed`` does."""
    run = pool.run(task)
    try:
        parts: list[bytes] = []
        while True:
            letter, payload = await run.frame()
            if letter == b"W":
                return _whole(payload)[1]
            if letter == b"Z":
                return b"".join(parts)
            if letter == b"D":
                parts.append(payload)
            elif letter == b"E":
                await _rest(run)
                raise _problem(json.loads(payload), task)
    finally:
        run.close()


async def _opened(run: Run, task: Request) -> _Opening:
    opening = _Opening()
    while len(opening.data) < _HELD_BACK:
        letter, payload = await run.frame()
        if letter == b"W":
            opening.media, opening.data = _whole(payload)
            opening.whole = True
            break
        if letter == b"Z":
            opening.whole = True
            break
        if letter == b"D":
            opening.data += payload
        elif letter == b"H":
            opening.media = payload.decode()
        else:
            await _rest(run)
            raise _problem(json.loads(payload), task)
    return opening


def _whole(payload: bytes) -> tuple[str, bytes]:
    """Give media type and bytes of a small result."""
    end = 5 + payload[4]
    return payload[5:end].decode(), payload[end:]


async def _rest(run: Run) -> None:
    """Let a reader that told of a problem come to its end, so that it can be used again."""
    while (await run.frame())[0] != b"Z":
        pass


def _problem(problem: dict[str, Any], task: Request) -> Exception:
    kind, message = problem["kind"], problem["message"]
    if kind in _STATUS:
        told = f"{message}." if kind != "failed" else "the reader failed at this. Its store may be damaged."
        return Problem(_STATUS[kind], told)
    if task.task == "parse":
        return InputError(f"the RDF does not parse: {message}. Correct it there.")
    try:
        with engine(task.body.decode() or " "):
            raise SyntaxError(message) if kind == "syntax" else ValueError(message)
    except InvalidSPARQL as error:
        return error


class _Whole(Response):
    """A result that is there as a whole."""

    def __init__(self, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.status_code = 200
        self.background = None
        self.body = body
        self.raw_headers = [*headers, (b"content-length", b"%d" % len(body))]


@lru_cache(maxsize=64)
def _raw(media: str, *headers: tuple[str, str]) -> list[tuple[bytes, bytes]]:
    """Give headers as ASGI has them; there are few of them."""
    named = [*headers, ("content-type", content_type(media))]
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in named]


class _Leaving:
    """Stops a run when the client leaves, which is looked for only once the run takes some time."""

    def __init__(self, receive: Receive, run: Run) -> None:
        self._receive = receive
        self._run = run
        self._task: asyncio.Task[None] | None = None
        run.noticed = self._look

    def _look(self) -> None:
        self._task = asyncio.create_task(self._stop())

    async def _stop(self) -> None:
        await _left(self._receive)
        self._run.stop(Problem(499, "the client left."))

    async def over(self) -> None:
        """Look no longer."""
        self._run.noticed = None
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class _Streamed(Response):
    """A result on its way."""

    def __init__(self, run: Run, opening: _Opening, headers: dict[str, str], record: Record) -> None:
        super().__init__(headers={**headers, "Content-Type": content_type(opening.media)})
        del self.headers["content-length"]
        self._run = run
        self._opening = opening
        self._record = record
        self._slow = 0.0

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send the result until it ends, or something does."""
        sending, leaving = asyncio.create_task(self._send(send)), asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
                with suppress(asyncio.CancelledError, OSError, KgragError, Problem, TimeoutError):
                    await task
            self._run.close()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._body(send, bytes(self._opening.data), more=True)
        while True:
            letter, payload = await self._run.frame()
            if letter == b"E":
                return
            if letter == b"Z":
                self._record.rows = self._run.rows
                await self._body(send, b"", more=False)
                return
            await self._body(send, payload, more=True)

    async def _body(self, send: Send, data: bytes, *, more: bool) -> None:
        """Send a block.

        Raises:
            TimeoutError: the client takes nothing, or is slow while others wait for its reader.
        """
        sending = asyncio.ensure_future(send({"type": "http.response.body", "body": data, "more_body": more}))
        begun = time.monotonic()
        try:
            while not sending.done():
                await asyncio.wait({sending}, timeout=_GLANCE)
                slow = time.monotonic() - begun
                held = self._slow + slow > self._run.seconds and self._run.wanted
                if not sending.done() and (held or slow > _PATIENCE):
                    raise TimeoutError
            self._slow += time.monotonic() - begun
            await sending
        finally:
            sending.cancel()
