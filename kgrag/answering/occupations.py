"""What somebody is or was by occupation, as an English sentence says it."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from kgrag.late_patterns import late_regex
from kgrag.model import Value

__all__ = ["asks_occupation", "kinds"]

_KIND_OF = late_regex(r"\b(?:is|was|were|are)\s+(?:an?|the)\s+(?P<kinds>[^.;()]+)")
_OCCUPATION = late_regex(r"\b(?:occupation|profession|job|for a living)\b", flags=regex.IGNORECASE)


def asks_occupation(question: str) -> bool:
    """Return whether a question asks what somebody does for a living."""
    return _OCCUPATION.search(question) is not None


def kinds(body: str) -> Iterator[Value]:
    """Yield what somebody is or was: ``was an Australian soldier and politician`` names two occupations."""
    if not (match := _KIND_OF.search(body)):
        return
    kinds = regex.split(r"\b(?:who|that|which|from|for|of|in|at|with|born|best|known)\b", match["kinds"])[0]
    for part in regex.split(r",\s*(?:and\s+)?|\s+and\s+|/", kinds):
        words = [
            word for word in part.split() if word.islower() and word not in {"a", "an", "the", "former", "retired"}
        ]
        if words:
            yield Value("text", " ".join(words))
