"""A model that one thread at a time may use, shared by many: what they ask at once goes through it together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kgrag.ports import Vectors

__all__ = ["SharedPasses"]

_LONG = 400
"""Characters of a text from which it is long; long texts and short ones go in passes apart, which spares padding."""
_TEXTS, _CHARACTERS = 64, 4_000
"""Most of one pass. A question waits for the pass under way, so none is longer than it must be: a text of 200 words
costs the same in passes of four as of sixty-four, a question in passes of eight a quarter of what it costs alone."""


class _Request:
    """Texts of one thread, shortest first, and the rows that are there of them."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        self.texts = [texts[place] for place in self.order]
        self.rows: list[Any] = []
        self.failure: Exception | None = None

    @property
    def ended(self) -> bool:
        return self.failure is not None or len(self.rows) == len(self.texts)

    def next(self, long: bool, texts: int, characters: int) -> list[str]:
        """Return what it has for a pass of long or short texts in which so much place is left."""
        taken: list[str] = []
        for text in self.texts[len(self.rows) : len(self.rows) + texts]:
            characters -= len(text)
            if (len(text) >= _LONG) != long or characters < 0:
                break
            taken.append(text)
        return taken

    def result(self) -> Vectors:
        if self.failure is not None:
            raise self.failure
        rows: Vectors = np.empty((len(self.texts), *np.shape(self.rows[0])), np.float32)
        rows[self.order] = self.rows
        return rows


class SharedPasses:
    """Calls of a model from several threads; the one whose turn it is takes what the others wait for along.

    A pass takes from the requests in order of what they still lack, so that a question does not wait for a thousand
    documents; every second pass begins with the oldest request, so that these go on beside any number of questions.
    """

    def __init__(self, model: Callable[[list[str]], Vectors]) -> None:
        """Take what returns one row per text; it is never called from two threads at once."""
        self._model = model
        self._changed = threading.Condition()
        self._busy = False
        self._waiting: list[_Request] = []
        self._oldest_first = False

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array with one row per text, of which there is at least one.

        Raises:
            Exception: what the model raises for these texts; that of another thread's texts concerns that one alone.
        """
        request = _Request(texts)
        with self._changed:
            self._waiting.append(request)
        try:
            while self._has_turn(request):
                try:
                    self._pass()
                finally:
                    with self._changed:
                        self._busy = False
                        self._changed.notify_all()
        finally:
            with self._changed:
                self._waiting.remove(request)
        return request.result()

    def _has_turn(self, request: _Request) -> bool:
        """Wait for the model; return False where a pass of another thread was the last that the request needed."""
        with self._changed:
            self._changed.wait_for(lambda: request.ended or not self._busy)
            if request.ended:
                return False
            self._busy = True
            return True

    def _pass(self) -> None:
        parts = self._parts()
        try:
            rows = list(self._model([text for _, part in parts for text in part]))
        except Exception as failure:
            if len(parts) == 1:
                parts[0][0].failure = failure
                return
            for request, part in parts:
                self._alone(request, part)
            return
        for request, part in parts:
            request.rows += rows[: len(part)]
            del rows[: len(part)]

    def _alone(self, request: _Request, part: list[str]) -> None:
        try:
            request.rows += list(self._model(part))
        except Exception as failure:
            request.failure = failure

    def _parts(self) -> list[tuple[_Request, list[str]]]:
        """Return what goes through the model next, by request; the first text goes whatever its length."""
        with self._changed:
            requests = [request for request in self._waiting if not request.ended]
        oldest = requests[0]
        requests.sort(key=lambda request: len(request.texts) - len(request.rows))
        if self._oldest_first:
            requests.insert(0, requests.pop(requests.index(oldest)))
        self._oldest_first = not self._oldest_first
        first = requests[0].texts[len(requests[0].rows)]
        long = len(first) >= _LONG
        texts, characters = _TEXTS, max(_CHARACTERS, len(first))
        parts = []
        for request in requests:
            if part := request.next(long, texts, characters):
                texts, characters = texts - len(part), characters - sum(map(len, part))
                parts.append((request, part))
        return parts
