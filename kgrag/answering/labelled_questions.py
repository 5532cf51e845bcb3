"""Questions whose answering documents are known, from which a method may learn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Labelled", "common", "wording"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, identifiers of the documents that answer it, and of those that cannot (where it was taken from)."""

    text: str
    documents: frozenset[str]
    excluded: frozenset[str] = frozenset()


def wording(question: str) -> str:
    """Return a question without differences that make no other question: case, spaces, the mark at its end.

    >>> wording(" Who  sows? ") == wording("who sows")
    True
    """
    return " ".join(question.casefold().split()).rstrip("?!. ")


def common(first: Iterable[str], second: Iterable[str]) -> list[str]:
    """Return those of the first questions that are also among the second, in order."""
    known = {wording(question) for question in second}
    return [question for question in first if wording(question) in known]
