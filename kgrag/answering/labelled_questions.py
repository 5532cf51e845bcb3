"""Questions whose documents are known, which a method may learn from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Labelled", "common", "wording"]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question, identifiers of the documents that answer it, and of those that can't (where it was taken from)."""

    text: str
    documents: frozenset[str]
    excluded: frozenset[str] = frozenset()


def wording(question: str) -> str:
    """Give a question without the differences that make no other question: case, spaces, a mark at its end.

    >>> wording(" Who  sows? ") == wording("who sows")
    True
    """
    return " ".join(question.casefold().split()).rstrip("?!. ")


def common(first: Iterable[str], second: Iterable[str]) -> list[str]:
    """Give those of the first questions that are among the second, in order."""
    known = {wording(question) for question in second}
    return [question for question in first if wording(question) in known]
