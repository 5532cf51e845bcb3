"""Changes of a query's text."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pyoxigraph as ox

from kgrag.stages.sparql_reader import Edit, Pattern, Query

__all__ = ["applied", "lengthened", "turned"]


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Give the text with changes made; of two that overlap, the later one in the text is made.

    >>> applied("a b c", [Edit(2, 3, "x"), Edit(0, 0, "_")])
    '_a x c'
    """
    before = len(text) + 1
    for edit in sorted(set(edits), key=lambda each: (each.start, each.end), reverse=True):
        if edit.end <= before:
            text = text[: edit.start] + edit.text + text[edit.end :]
            before = edit.start
    return text


def turned(query: Query, pattern: Pattern) -> Edit | None:
    """Give the change that turns a triple round: its ends are swapped where they stand alone, else ``^`` is put in.

    None where the object is a literal, which can be no subject.
    """
    if isinstance(pattern.object, ox.Literal):
        return None
    text = query.text
    subject, predicate, value = pattern.places
    if pattern.path == "" and _alone(text, pattern):
        words = [text[place.start : place.end] for place in (value, predicate, subject)]
        return Edit(subject.start, value.end, " ".join(words))
    if text[max(0, predicate.start - 1) : predicate.start] == "^":
        return Edit(predicate.start - 1, predicate.end, text[predicate.start : predicate.end])
    word = text[predicate.start : predicate.end]
    return Edit(predicate.start, predicate.end, f"^{word}")


def _alone(text: str, pattern: Pattern) -> bool:
    """Whether subject, predicate and object stand side by side, and nothing shares them."""
    subject, predicate, value = pattern.places
    between = text[subject.end : predicate.start] + text[predicate.end : value.start]
    before, after = text[: subject.start].rstrip()[-1:], text[value.end :].lstrip()[:1]
    simple = not any(text[place.start : place.end].startswith(("[", "(")) for place in (subject, value))
    return (
        simple and not between.strip() and before in ("{", ".") and after in (".", "}") and value.start > predicate.end
    )


def lengthened(query: Query, pattern: Pattern, *, before: str = "", after: str = "") -> Edit:
    """Give the change that makes a path of a property: steps that lead to its domain, or on from its range."""
    place = pattern.places[1]
    word = query.text[place.start : place.end]
    if query.text[max(0, place.start - 1) : place.start] == "^":
        before, after = _backwards(after), _backwards(before)
    return Edit(place.start, place.end, "/".join(part for part in (before, word, after) if part))


def _backwards(path: str) -> str:
    steps = reversed(re.split(r"/(?![^<]*>)", path)) if path else ()
    return "/".join(step[1:] if step.startswith("^") else f"^{step}" for step in steps)
