"""Runs a request in a reader, and streams the result to the client.

The first 64 KiB are kept back until they are full, so that an early error still becomes a status. A later error closes
the connection without an end: a result that is cut short never looks whole. A client that leaves, or takes nothing for
a minute, ends its request. One that is slow takes the result from the server's memory and disk, and its reader is free
for others as soon as it has written all; where the disk is full too, the reader waits for the client for as long as a
query may work, and beyond that only while nobody else waits for it.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache

from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kgrag.errors import InputError, InvalidSPARQL, KgragError
from kgrag.server.media_types import content_type
from kgrag.server.problems import Problem
from kgrag.server.readers.reader_pool import ReaderPool
from kgrag.server.readers.reader_request import ReaderRequest, ReaderRun
from kgrag.server.request_log import RequestRecord, record_of
from kgrag.store.engine import engine

__all__ = ["collect_lines", "collect_result", "disconnected", "stream_result"]

_FIRST_BYTES = 1 << 16
_MAX_STALLED_SECONDS = 60.0
_SLOW_SECONDS = 1.0
_SLOW_PIECE_BYTES = 1 << 14
"""What a slow client is sent at once, so that it is seen to take something."""
_STALL_CHECK_SECONDS = 0.25
_STATUS = {"unacceptable": 406, "too large": 413, "failed": 500}


class _ResultStart:
    """The beginning of a result, or all of it."""

    def __init__(self) -> None:
        self.media = ""
        self.data: bytes | bytearray = bytearray()
        self.whole = False


async def stream_result(
    request: HttpRequest, pool: ReaderPool, task: ReaderRequest, headers: dict[str, str]
) -> Response:
    """Return the response with what a reader writes.

    Raises:
        Problem: the reader refuses the task.
        InvalidSPARQL: the query does not parse, or cannot be evaluated.
        ServiceUnavailable: no reader was free, or it ended, or took too long.
    """
    run = pool.run(task)
    record, disconnect = record_of(request), _StopOnDisconnect(request.receive, run)
    try:
        start = await _read_start(run, task)
    except BaseException:
        run.close()
        raise
    finally:
        await disconnect.cancel()
    if start.whole:
        run.close()
        record.rows = run.rows
        return _WholeResult(bytes(start.data), _raw_headers(start.media, *headers.items()))
    return _StreamedResult(run, start, headers, record)


async def collect_result(pool: ReaderPool, task: ReaderRequest) -> bytes:
    """Return all that a reader writes; raises what ``stream_result`` does."""
    run = pool.run(task)
    try:
        blocks: list[bytes] = []
        while True:
            letter, payload = await run.next_frame()
            if letter == b"W":
                return _media_and_data(payload)[1]
            if letter == b"Z":
                return b"".join(blocks)
            if letter == b"D":
                blocks.append(payload)
            elif letter == b"E":
                raise await _error(run, payload, task)
    finally:
        run.close()


async def collect_lines(
    pool: ReaderPool, task: ReaderRequest, *, lines: int, max_bytes: int
) -> tuple[str, list[bytes], bool]:
    """Return the media type and the first lines of a result, and whether it has more; its reader is stopped there.

    Raises what ``stream_result`` does.
    """
    run, media, data, whole = pool.run(task), "", bytearray(), False
    try:
        while not whole and data.count(b"\n") <= lines and len(data) <= max_bytes:
            letter, payload = await run.next_frame()
            if letter == b"W":
                media, block = _media_and_data(payload)
                data += block
            elif letter == b"H":
                media = payload.decode()
            elif letter == b"D":
                data += payload
            elif letter == b"E":
                raise await _error(run, payload, task)
            whole = letter in (b"W", b"Z")
    finally:
        run.close()
    found = bytes(data).splitlines() if whole else bytes(data).split(b"\n")[:-1]  # the last one may be cut
    return media, found[:lines], not whole or len(found) > lines


async def _read_start(run: ReaderRun, task: ReaderRequest) -> _ResultStart:
    start = _ResultStart()
    while len(start.data) < _FIRST_BYTES:
        letter, payload = await run.next_frame()
        if letter == b"W":
            start.media, start.data = _media_and_data(payload)
            start.whole = True
            break
        if letter == b"Z":
            start.whole = True
            break
        if letter == b"D":
            start.data += payload
        elif letter == b"H":
            start.media = payload.decode()
        else:
            raise await _error(run, payload, task)
    return start


def _media_and_data(payload: bytes) -> tuple[str, bytes]:
    """Return media type and bytes of a small result, a ``W`` frame."""
    end = 5 + payload[4]
    return payload[5:end].decode(), payload[end:]


async def _error(run: ReaderRun, payload: bytes, task: ReaderRequest) -> Exception:
    """Return the error of an ``E`` frame, once the reader is done with the request and can be used again."""
    while (await run.next_frame())[0] != b"Z":
        pass
    fault: dict[str, str] = json.loads(payload)
    kind, message = fault["kind"], fault["message"]
    if kind == "failed":
        return Problem(_STATUS[kind], "the reader failed at this. Its store may be damaged.")
    if kind in _STATUS:
        return Problem(_STATUS[kind], f"{message}.")
    if task.task == "parse":
        return InputError(f"the RDF does not parse: {message}. Correct it there.")
    try:
        with engine(task.body.decode() or " "):  # one place turns what the engine raises into our errors
            raise SyntaxError(message) if kind == "syntax" else ValueError(message)
    except InvalidSPARQL as error:
        return error


class _WholeResult(Response):
    """A result that is known as a whole; starlette would compute its headers anew for each."""

    def __init__(self, body: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.status_code = 200
        self.background = None
        self.body = body
        self.raw_headers = [*headers, (b"content-length", b"%d" % len(body))]


@lru_cache(maxsize=64)
def _raw_headers(media: str, *headers: tuple[str, str]) -> list[tuple[bytes, bytes]]:
    """Return headers in the form of ASGI; there are few different ones."""
    named = [*headers, ("content-type", content_type(media))]
    return [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in named]


class _StopOnDisconnect:
    """Stops a run when the client leaves; to wait for that costs a task, so it begins once the run takes some time."""

    def __init__(self, receive: Receive, run: ReaderRun) -> None:
        self._receive = receive
        self._run = run
        self._task: asyncio.Task[None] | None = None
        run.on_slow = self._begin

    def _begin(self) -> None:
        async def stop_run() -> None:
            await disconnected(self._receive)
            self._run.stop(Problem(499, "the client left."))

        self._task = asyncio.create_task(stop_run())

    async def cancel(self) -> None:
        """Wait for the client to leave no longer."""
        self._run.on_slow = None
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task


async def disconnected(receive: Receive) -> None:
    """Wait until a client leaves; the body of its request is read already."""
    while (await receive())["type"] != "http.disconnect":
        pass


class _StreamedResult(Response):
    """A result that its reader is still writing."""

    def __init__(self, run: ReaderRun, start: _ResultStart, headers: dict[str, str], record: RequestRecord) -> None:
        super().__init__(headers={**headers, "Content-Type": content_type(start.media)})
        del self.headers["content-length"]
        self._run = run
        self._start = start
        self._record = record
        self._slow_seconds = 0.0

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send the result until it ends, the client leaves, or an error comes."""
        sending, leaving = asyncio.create_task(self._send(send)), asyncio.create_task(disconnected(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sending, leaving):
                task.cancel()
                # the status is sent already; a body without its end is how the client learns of an error
                with suppress(asyncio.CancelledError, OSError, KgragError, Problem, TimeoutError):
                    await task
            self._run.close()

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        await self._send_block(send, bytes(self._start.data), more=True)
        while True:
            letter, payload = await self._run.next_frame()
            if letter == b"E":
                return
            if letter == b"Z":
                self._record.rows = self._run.rows
                await self._send_block(send, b"", more=False)
                return
            await self._send_block(send, payload, more=True)

    async def _send_block(self, send: Send, data: bytes, *, more: bool) -> None:
        """Send a part of the body, to a slow client in pieces.

        Raises:
            TimeoutError: the client takes nothing, or is slow while others wait for its reader.
        """
        while True:
            size = _SLOW_PIECE_BYTES if self._slow_seconds > _SLOW_SECONDS else len(data)
            piece, data = data[:size], data[size:]
            await self._send_piece(send, piece, more=more or bool(data))
            if not data:
                return

    async def _send_piece(self, send: Send, data: bytes, *, more: bool) -> None:
        sending = asyncio.ensure_future(send({"type": "http.response.body", "body": data, "more_body": more}))
        started = time.monotonic()
        try:
            while not sending.done():
                await asyncio.wait({sending}, timeout=_STALL_CHECK_SECONDS)
                stalled = time.monotonic() - started
                in_the_way = self._slow_seconds + stalled > self._run.seconds and self._run.is_in_the_way
                if not sending.done() and (in_the_way or stalled > _MAX_STALLED_SECONDS):
                    raise TimeoutError
            self._slow_seconds += time.monotonic() - started
            await sending
        finally:
            sending.cancel()
