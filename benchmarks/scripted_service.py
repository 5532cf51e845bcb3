"""A completion service on loopback that replies to what builds ask, always the same, and counts what it was asked.

It knows texts of one kind, ``Barley 7 is sown in May.``, and states of each such sentence what it states.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

__all__ = ["ScriptedService", "reply", "serving"]

_SENTENCE = re.compile(r"(?P<crop>[A-Z]\w+ \d+) is (?P<verb>sown|stored) in (?P<when>\w+)\.")
_PARAGRAPH = re.compile(r" paragraph (\d+)\n(.*?)(?=\n\S* (?:paragraph \d+|end of data)\n|\Z)", re.DOTALL)
_SECONDS_PER_REPLY = 0.02
_MAX_SUMMARY_SENTENCES = 3


class ScriptedService:
    """What was asked: the SHA-256 of each request, and how often."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.url = ""
        self._lock = Lock()

    def note(self, request: bytes) -> None:
        """Count a request."""
        with self._lock:
            self.asked[hashlib.sha256(request).hexdigest()] += 1


def reply(prompt: str) -> str:
    """Return what a model would say to a prompt of ``og_rag``, ``poly_rag`` or ``sire_rag``."""
    if '"things"' in prompt:
        rows = [
            {"paragraph": number, "subject": each["crop"], "relation": f"is {each['verb']} in", "object": each["when"]}
            for number, each in _stated(prompt)
        ]
        return json.dumps({"things": [], "triples": rows})
    if '"facts"' in prompt:
        facts = [{"paragraph": n, "fact": each[0], "entities": [each["crop"]]} for n, each in _stated(prompt)]
        return json.dumps({"facts": facts})
    sentences = list(_SENTENCE.finditer(prompt))
    if "@graph" in prompt:
        things = [{"@type": "crop", "name": each["crop"], "has sowing time": each["when"]} for each in sentences]
        return json.dumps({"@graph": things})
    return " ".join(dict.fromkeys(each[0] for each in sentences[:_MAX_SUMMARY_SENTENCES]))


def _stated(prompt: str) -> Iterator[tuple[int, re.Match[str]]]:
    for paragraph in _PARAGRAPH.finditer(prompt):
        for sentence in _SENTENCE.finditer(paragraph[2]):
            yield int(paragraph[1]), sentence


class _Handler(BaseHTTPRequestHandler):
    """Speaks as much of OpenAI's protocol as a chat completion needs."""

    protocol_version = "HTTP/1.1"
    service: ScriptedService

    def do_POST(self) -> None:
        request = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.service.note(request)
        time.sleep(_SECONDS_PER_REPLY)
        message = {"role": "assistant", "content": reply(json.loads(request)["messages"][0]["content"])}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        said = {"id": "scripted", "object": "chat.completion", "created": 0, "model": "scripted"}
        content = json.dumps(said | {"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Keep standard error clean."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """A client that was killed is none to report."""


@contextmanager
def serving() -> Iterator[ScriptedService]:
    """Serve on a free port while the block runs."""
    service = ScriptedService()
    server = _Server(("127.0.0.1", 0), type("_Serving", (_Handler,), {"service": service}))
    service.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
