"""Changes of a text: where something else is to stand, from and to, and what."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import TypeAlias

__all__ = ["TextEdit", "edited"]

TextEdit: TypeAlias = tuple[int, int, str]


def edited(text: str, edits: Iterable[TextEdit], *, start: int = 0, end: int | None = None) -> str:
    """Return a text, or the piece of it from ``start`` to ``end``, with changes made; of those at one place in order.

    >>> edited("ASK { }", [(6, 6, "?s ?p ?o "), (0, 3, "SELECT *")])
    'SELECT * { ?s ?p ?o }'
    """
    parts, last = [], start
    for begin, behind, replacement in sorted(edits, key=itemgetter(0, 1)):
        parts += [text[last:begin], replacement]
        last = behind
    return "".join([*parts, text[last:end]])
