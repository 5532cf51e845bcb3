"""Replies that a chat service streams as server-sent events: their text as it comes, and the whole reply at the end."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["StreamReader", "is_stream", "joined"]

_DATA = "data:"


def is_stream(text: str) -> bool:
    """Return whether a body is server-sent events; a service that does not stream sends JSON."""
    return text.lstrip().startswith((_DATA, ":", "event:", "id:", "retry:"))


def joined(text: str) -> dict[str, Any]:
    """Return streamed events as the reply that they would have been in one piece.

    Raises:
        ValueError: an event is no JSON object, or the stream ended before the reply did.
    """
    content, refusal, finish = [], [], None
    whole: dict[str, Any] = {}
    for event in map(_event, text.splitlines()):
        if event is None:
            continue
        if isinstance(event.get("error"), Mapping):
            return {"error": event["error"]}
        whole |= {name: event[name] for name in ("model", "usage") if event.get(name)}
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            content.append(delta.get("content") or "")
            refusal.append(delta.get("refusal") or "")
            finish = choice.get("finish_reason") or finish
    if finish is None:
        raise ValueError("the stream ended before the reply did")
    message = {"role": "assistant", "content": "".join(content), "refusal": "".join(refusal) or None}
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


class StreamReader:
    """Takes the bytes of a stream as they come, and passes on the text of the reply that is in them.

    ``failure`` is what ``on_text`` raised: it is no fault of the connection, and nothing more is passed on.
    """

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text = on_text
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._line = ""
        self.passed_on = False
        self.failure: Exception | None = None

    def feed(self, part: bytes) -> None:
        """Take some bytes; text goes on with each line that is complete."""
        *lines, self._line = (self._line + self._decode(part)).split("\n")
        for line in lines:
            try:
                event = _event(line.rstrip("\r"))
            except ValueError:
                continue  # the whole stream is read again at its end, which reports it
            for choice in (event or {}).get("choices") or ():
                text = (choice.get("delta") or {}).get("content") if isinstance(choice, Mapping) else None
                if isinstance(text, str) and text and self.failure is None:
                    self.passed_on = True
                    try:
                        self._on_text(text)
                    except Exception as error:
                        self.failure = error


def _event(line: str) -> dict[str, Any] | None:
    """Return what a line of a stream carries; None for a comment, an empty line or the end."""
    data = line.removeprefix(_DATA).strip()
    if not line.startswith(_DATA) or not data or data == "[DONE]":
        return None
    event = json.loads(data)
    if not isinstance(event, dict):
        raise ValueError("an event of the stream is no object")
    return event
