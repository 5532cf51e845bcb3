"""A small OpenAI-compatible service on loopback, for tests: standard library only.

In a test::

    with FakeOpenAI([status(429, headers={"Retry-After": "7"}), say('{"crop": "soybean"}')]) as server:
        ...  # server.url, server.requests, server.counts

Actions are used one a request, in the order of arrival; when they are used up, ``reply(prompt)`` gives the text of
every further reply. As a process of its own, for tests that kill their client::

    python tests/fake_openai.py --port 0 --log served.txt [--reply TEXT] [--function file.py:name] [--hold-after 5]

prints its URL on the first line, and appends one line a request to the log before replying: the SHA-256 of the
request's JSON. ``--hold-after N`` leaves every request after the N-th without a reply.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import runpy
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

FIXED = '{"answer": "fixed"}'
DIMENSION = 8


@dataclass(frozen=True)
class Request:
    """A request as it was received; ``key`` is the SHA-256 of its JSON."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]
    key: str


class Handler(BaseHTTPRequestHandler):
    """Records a request and lets an action reply to it."""

    protocol_version = "HTTP/1.1"
    fake: FakeOpenAI

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = json.loads(content)
        key = content_key(body)
        request = Request(self.path, {k.title(): v for k, v in self.headers.items()}, body, key)
        action = self.fake.received(request)
        if self.path.endswith("/embeddings") and action is None:
            action = embeddings()
        self.fake.stopping.wait(self.fake.delay)
        (action or say(self.fake.reply(prompt_of(body))))(self, body)

    def do_GET(self) -> None:
        self.send(404, b'{"error": {"message": "no such address"}}')

    def send(self, code: int, content: bytes, headers: Mapping[str, str] | None = None, *, length: int = -1) -> None:
        self.send_response(code)
        given = {"Content-Type": "application/json", **(headers or {})}
        for name, value in given.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) if length < 0 else length))
        self.end_headers()
        self.wfile.write(content)

    def hang_up(self, *, reset: bool = False) -> None:
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Keep standard error clean."""


Action = Callable[[Handler, Mapping[str, Any]], None]


def content_key(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def prompt_of(body: Mapping[str, Any]) -> str:
    return body["messages"][0]["content"] if body.get("messages") else ""


def completion(text: str | None, *, finish: str = "stop", usage: Any = True, **message: Any) -> dict[str, Any]:
    """The body of a chat reply; ``usage``: True for a plausible one, else what to send (None: leave it out)."""
    body: dict[str, Any] = {
        "id": "chatcmpl-fake",
        "object": "chat.completion",
        "created": 0,
        "model": "fake-1",
        "choices": [
            {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
        ],
    }
    if usage is True:
        usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return body if usage is None else {**body, "usage": usage}


def say(text: str | None, **details: Any) -> Action:
    """A good reply."""
    return reply_json(completion(text, **details))


def reply_json(body: Any, code: int = 200) -> Action:
    return lambda handler, _: handler.send(code, json.dumps(body).encode())


def status(
    number: int, message: str = "try later", *, headers: Mapping[str, str] | None = None, **error: Any
) -> Action:
    """An error in OpenAI's form."""
    content = json.dumps({"error": {"message": message, "type": None, "param": None, "code": None, **error}}).encode()
    return lambda handler, _: handler.send(number, content, headers)


def html(code: int = 200, content_type: str = "text/html") -> Action:
    """The page of a proxy that stands in between."""
    page = b"<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>"
    return lambda handler, _: handler.send(code, page, {"Content-Type": content_type})


def malformed() -> Action:
    """Status 200, JSON by its header, cut within."""
    return lambda handler, _: handler.send(200, json.dumps(completion("x")).encode()[:-20])


def truncated() -> Action:
    """A connection that ends before the announced length."""

    def act(handler: Handler, _: Mapping[str, Any]) -> None:
        content = json.dumps(completion("cut off")).encode()
        handler.send(200, content[:30], length=len(content))
        handler.hang_up()

    return act


def reset() -> Action:
    """No reply at all: the connection is reset."""
    return lambda handler, _: handler.hang_up(reset=True)


def silence() -> Action:
    """No reply until the server stops."""

    def act(handler: Handler, _: Mapping[str, Any]) -> None:
        handler.fake.stopping.wait()
        handler.hang_up()

    return act


def streamed(*pieces: str, pause: Callable[[int], None] = lambda _: None, ends: bool = True) -> Action:
    """A reply in pieces as server-sent events; ``pause`` is called with the number of each before it is sent.

    Without ``ends`` the connection breaks off behind the last piece. One that was not asked for as a stream comes whole.
    """

    def act(handler: Handler, body: Mapping[str, Any]) -> None:
        if not body.get("stream"):
            say("".join(pieces))(handler, body)
            return
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()

        def event(**members: Any) -> None:
            content = json.dumps({"id": "chatcmpl-fake", "model": "fake-1", **members})
            handler.wfile.write(f"data: {content}\n\n".encode())
            handler.wfile.flush()

        for number, piece in enumerate(pieces):
            pause(number)
            event(choices=[{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
        if ends:
            event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
            event(choices=[], usage={"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18})
            handler.wfile.write(b"data: [DONE]\n\n")
        handler.hang_up()

    return act


def dripping(every: float = 0.01) -> Action:
    """One blank every so often, for ever: no single read times out."""

    def act(handler: Handler, _: Mapping[str, Any]) -> None:
        handler.send(200, b" ", length=10**9)
        with suppress(OSError):
            while not handler.fake.stopping.wait(every):
                handler.wfile.write(b" ")
        handler.hang_up()

    return act


def refuse_formats(*forms: str, then: Action | None = None, code: int = 400) -> Action:
    """Refuse these ``response_format`` types; say ``FIXED`` (or do ``then``) to others."""

    def act(handler: Handler, body: Mapping[str, Any]) -> None:
        asked = body.get("response_format", {}).get("type")
        refusal = status(code, f"response_format type '{asked}' is not supported by this server")
        (refusal if asked in forms else then or say(FIXED))(handler, body)

    return act


def refuse_parameter(name: str, message: str, *, then: Action | None = None) -> Action:
    """Refuse requests that carry a parameter."""

    def act(handler: Handler, body: Mapping[str, Any]) -> None:
        refusal = status(400, message, param=name, code="unsupported_parameter")
        (refusal if name in body else then or say(FIXED))(handler, body)

    return act


def embeddings(dimension: int = DIMENSION, *, shuffled: bool = False) -> Action:
    """Vectors that depend on the text, of any length but 1."""

    def act(handler: Handler, body: Mapping[str, Any]) -> None:
        data = [{"index": i, "embedding": vector(text, dimension)} for i, text in enumerate(body["input"])]
        handler.send(200, json.dumps({"data": data[::-1] if shuffled else data, "model": body["model"]}).encode())

    return act


def vector(text: str, dimension: int = DIMENSION) -> list[float]:
    return [byte - 127.5 for byte in hashlib.shake_128(text.encode()).digest(dimension)]


@dataclass
class FakeOpenAI:
    """The service; a context manager.

    ``reply`` gives the text of a reply from that of a prompt, ``always`` is an action for every request that the script
    does not reach, ``delay`` is waited (seconds) before each reply, and requests after the ``hold_after``-th get none.
    """

    script: Iterable[Action] = ()
    reply: Callable[[str], str] = lambda prompt: FIXED
    always: Action | None = None
    delay: float = 0.0
    log: Path | None = None
    port: int = 0
    hold_after: int = -1
    requests: list[Request] = field(default_factory=list)
    stopping: Event = field(default_factory=Event)

    def __post_init__(self) -> None:
        self._script = iter(self.script)
        self._lock = Lock()
        handler = type("FakeHandler", (Handler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def counts(self) -> Counter[str]:
        """How often each request arrived, by content."""
        return Counter(request.key for request in self.requests)

    def prompts(self) -> list[str]:
        """The first message of every request so far, in the order of arrival."""
        return [prompt_of(request.body) for request in self.requests]

    def clear(self) -> None:
        """Forget the requests so far."""
        self.requests.clear()

    def received(self, request: Request) -> Action | None:
        """Record a request and give the action that replies to it; None: the usual reply."""
        with self._lock:
            self.requests.append(request)
            if self.log is not None:
                with self.log.open("a", encoding="utf-8") as file:
                    file.write(f"{request.key}\n")
            if 0 <= self.hold_after < len(self.requests):
                return silence()
            return next(self._script, self.always)

    def start(self) -> FakeOpenAI:
        self._thread.start()
        return self

    def stop(self) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> FakeOpenAI:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description="A fake OpenAI-compatible service on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--reply", default=FIXED, help="text of every reply")
    parser.add_argument("--function", help="file.py:name of a function from the text of a prompt to that of its reply")
    parser.add_argument("--hold-after", type=int, default=-1)
    given = parser.parse_args()
    reply: Callable[[str], str] = lambda prompt: given.reply  # noqa: E731
    if given.function:
        file, _, name = given.function.rpartition(":")
        reply = runpy.run_path(file)[name]
    with FakeOpenAI(reply=reply, log=given.log, port=given.port, hold_after=given.hold_after) as server:
        print(server.url, flush=True)
        with suppress(KeyboardInterrupt):
            Event().wait()


if __name__ == "__main__":
    main()
