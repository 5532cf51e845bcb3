"""Media types, and which of them a client prefers (RFC 9110, section 12.5.1).

>>> choose("text/csv;q=0.5, application/sparql-results+xml", RESULTS)
'application/sparql-results+xml'
>>> choose("image/png", RESULTS)
''
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

__all__ = ["RDF", "RESULTS", "choose", "content_type", "main_type"]

RESULTS = (
    "application/sparql-results+json",
    "application/sparql-results+xml",
    "text/csv",
    "text/tab-separated-values",
    "application/json",
    "application/xml",
    "text/xml",
)
"""For tables and truth values, best first."""

RDF = (
    "text/turtle",
    "application/n-triples",
    "application/trig",
    "application/n-quads",
    "application/ld+json",
    "application/rdf+xml",
)
"""For graphs, best first."""

_MAX_CACHED_CHARACTERS = 500
"""Longer Accept headers are not cached: their sender decides how much memory they take."""


def choose(accept: str, offers: Sequence[str]) -> str:
    """Return the offer with the highest quality, the first of equals; "" when the client accepts none of them."""
    return _cached_choice(accept, tuple(offers)) if len(accept) < _MAX_CACHED_CHARACTERS else _choice(accept, offers)


def _choice(accept: str, offers: Sequence[str]) -> str:
    ranges = [_range(part) for part in accept.split(",") if part.strip()] or [("*/*", 1.0)]
    best = max(offers, key=lambda offer: _quality(offer, ranges))
    return best if _quality(best, ranges) > 0 else ""


_cached_choice = lru_cache(maxsize=256)(_choice)


def _range(part: str) -> tuple[str, float]:
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return name, min(max(float(value), 0.0), 1.0)
            except ValueError:
                return name, 0.0
    return name, 1.0


def _quality(offer: str, ranges: Sequence[tuple[str, float]]) -> float:
    """Return the quality of an offer by the most specific range that it falls into."""
    for wanted in (offer, f"{offer.partition('/')[0]}/*", "*/*"):
        qualities = [quality for name, quality in ranges if name == wanted]
        if qualities:
            return max(qualities)
    return 0.0


def main_type(header: str) -> tuple[str, str]:
    """Return type and character set of a Content-Type header, in lower case; "" for what it does not name."""
    name, *parameters = (piece.strip().lower() for piece in header.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "charset":
            return name, value.strip().strip("\"'")
    return name, ""


def content_type(media: str) -> str:
    """Return the Content-Type header for a result."""
    return f"{media}; charset=utf-8" if media.startswith("text/") else media
