"""Replies of a SPARQL server that the one writer of a store has read, until it changes the store."""

from __future__ import annotations

import threading
from collections import OrderedDict

from kgrag.store.sparql_connection import Reply

__all__ = ["KeptReplies"]

_MAX_BYTES = 32 * 2**20
_MAX_BYTES_OF_ONE = 2**19


class KeptReplies:
    """Replies by the text of their query, the latest ones that were asked for; may be used by several threads."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._replies: OrderedDict[str, Reply] = OrderedDict()
        self._bytes = 0
        self._state = 0

    @property
    def state(self) -> int:
        """How often the store has changed, to be read before a query is sent."""
        return self._state

    def get(self, text: str) -> Reply | None:
        """Return the reply to a query; None where it has to be asked."""
        with self._turn:
            if (reply := self._replies.get(text)) is not None:
                self._replies.move_to_end(text)
            return reply

    def put(self, text: str, reply: Reply, *, state: int) -> None:
        """Keep a reply, unless the store may have changed since its query was sent."""
        size = _size(text, reply)
        with self._turn:
            if state != self._state or size > _MAX_BYTES_OF_ONE or text in self._replies:
                return
            self._replies[text] = reply
            self._bytes += size
            while self._bytes > _MAX_BYTES:
                self._bytes -= _size(*self._replies.popitem(last=False))

    def forget(self) -> None:
        """Forget all replies: the store has changed, or may have."""
        with self._turn:
            self._state += 1
            self._replies.clear()
            self._bytes = 0


def _size(text: str, reply: Reply) -> int:
    return len(text) + len(reply.body)
