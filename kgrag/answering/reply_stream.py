"""The sentences of an answer while its JSON is still being written.

A sentence is complete when its object is; what stands before ``sentences`` decides whether any may be shown: a reply
that has not said that it is no *unknown* is held back until it is whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kgrag.late_patterns import late_regex

__all__ = ["ReplyStream"]

_BEGINNING = late_regex(r'"sentences"\s*:\s*\[')
_KNOWN = late_regex(r'"unknown"\s*:\s*false\b')
_DECODER = json.JSONDecoder()


class ReplyStream:
    """Takes the text of a reply piece by piece.

    >>> stream = ReplyStream()
    >>> list(stream.feed('{"unknown": false, "sentences": [{"text": "Sow in March.", "cita'))
    []
    >>> list(stream.feed('tions": []}, {"te'))
    [{'text': 'Sow in March.', 'citations': []}]
    """

    def __init__(self) -> None:
        self._text = ""
        self._at = -1
        self._is_held = False

    def feed(self, piece: str) -> Iterator[object]:
        """Yield each sentence, as the JSON that it is, that this piece completes."""
        self._text += piece
        if self._is_held:
            return
        if self._at < 0:
            begins = _BEGINNING.search(self._text)
            if begins is None:
                return
            # what thinks aloud first may write a draft of its reply there
            is_json = self._text.lstrip().startswith(("{", "```"))
            self._is_held = not is_json or _KNOWN.search(self._text, 0, begins.start()) is None
            self._at = begins.end()
        while not self._is_held:
            start = self._at + len(self._text[self._at :]) - len(self._text[self._at :].lstrip(" \t\r\n,"))
            try:
                sentence, end = _DECODER.raw_decode(self._text, start)
            except json.JSONDecodeError:
                return
            self._at = end
            yield sentence
