"""The entities that a question names: stretches of its words that are the value of some property of an entity.

Looked up by equality in the store's index, never by a scan, so that a large store costs no more than a small one.
Queries read: ``facts/entities``.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_re
from kgrag.model import plain
from kgrag.ports import TripleStore

__all__ = ["NamedEntity", "apart", "mentions", "places"]

_LANGUAGES = ("en", "de", "fr", "es")
_MAX_WORDS_PER_NAME = 6
_MAX_WORDS_PER_QUESTION = 60
_WORD = late_re(r"[^\s,;:?!()\"“”„]+")


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity that a question names: ``text`` is at characters ``start`` to ``end`` of the question.

    ``property`` is that of the entity with this text as its value, ``classes`` are the entity's. ``value`` is the value
    where it is not this text, letter by letter.
    """

    text: str
    start: int
    end: int
    entity: str
    property: str
    classes: tuple[str, ...] = ()
    value: str = ""


def mentions(question: str, store: TripleStore, *, limit: int = 12) -> list[NamedEntity]:
    """Return the entities that a question names, in order of their place; where names overlap, the longest one counts.

    Several entities may have the same name. A single word counts only when it is no common one: with a capital, a digit
    or an underscore (``wal_level``).
    """
    at = places(question)
    spellings = [(name, language) for name in at for language in (None, *_LANGUAGES)]
    terms = [ox.Literal(name, language=language) for name, language in spellings]
    query = queries.bind("facts/entities", catalogue=store.names.catalogue, names=terms)
    found: dict[str, dict[tuple[str, str], list[str]]] = {}
    for name, entity, prop, kind in (map(plain, row) for row in store.select(query)):
        classes = found.setdefault(name, {}).setdefault((entity, prop), [])
        classes += [kind] if kind else []
    kept = apart([(start, end) for name in found for start, end in [at[name]]])
    return [
        NamedEntity(name, start, end, entity, prop, tuple(classes))
        for name, (start, end) in sorted(((name, at[name]) for name in found), key=lambda pair: pair[1])
        if (start, end) in kept
        for (entity, prop), classes in found[name].items()
    ][:limit]


def places(question: str, *, every_word: bool = False) -> dict[str, tuple[int, int]]:
    """Return the stretches of a question that may be a name, with their characters from and to.

    Args:
        question: what was asked.
        every_word: also single words that are common ones by their letters.
    """
    words = list(_WORD.finditer(question))[:_MAX_WORDS_PER_QUESTION]
    found: dict[str, tuple[int, int]] = {}
    for first in range(len(words)):
        for last in range(first, min(first + _MAX_WORDS_PER_NAME, len(words))):
            start, end = _bracketed(question, words[first].start(), words[last].end())
            text = question[start:end].rstrip(".'’")
            if every_word or first < last or any(mark.isupper() or mark.isdigit() or mark == "_" for mark in text):
                found.setdefault(text, (start, start + len(text)))
                bare = re.sub(r"['’]s$", "", text)
                found.setdefault(bare, (start, start + len(bare)))
    found.pop("", None)
    return found


def _bracketed(question: str, start: int, end: int) -> tuple[int, int]:
    """Take the brackets in that belong to a name: "Auron (comics)", "(410777) 2009 FD".

    >>> _bracketed("Who drew Auron (comics)?", 9, 22)
    (9, 23)
    """
    inside = question[start:end]
    if inside.count("(") > inside.count(")") and question[end : end + 1] == ")":
        return start, end + 1
    if inside.count(")") > inside.count("(") and start and question[start - 1] == "(":
        return start - 1, end
    return start, end


def apart(spans: list[tuple[int, int]], *, first: Collection[tuple[int, int]] = ()) -> set[tuple[int, int]]:
    """Return the longest of spans that overlap; those of ``first`` before any other."""
    kept: set[tuple[int, int]] = set(first)
    for start, end in sorted(set(spans), key=lambda span: (span[0] - span[1], span)):
        if all(end <= other_start or start >= other_end for other_start, other_end in kept):
            kept.add((start, end))
    return kept
