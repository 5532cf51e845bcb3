"""What could be said in answer, whatever it was drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Claim", "Piece", "read_piece"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A numbered piece of evidence as the prompt holds it; ``source`` is the text behind a hyperedge."""

    number: int
    kind: str
    heading: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A possible sentence of the answer.

    ``found`` are the terms that it and its place cover, ``score`` is comparable within one question, ``links`` are the
    terms by which another claim may go on from it, ``fact`` says that it was drawn from ``key: value`` pairs.
    """

    text: str
    quotes: tuple[tuple[int, str], ...]
    found: frozenset[str]
    score: float
    links: frozenset[str] = frozenset()
    fact: bool = False


def read_piece(data: Mapping[str, Any]) -> Piece:
    """Read one piece of evidence from the prompt's variables."""
    return Piece(
        number=int(data["number"]),
        kind=str(data.get("kind", "")),
        heading=str(data.get("heading", "")),
        text=str(data["text"]),
        source=str(data.get("source", "")),
    )
