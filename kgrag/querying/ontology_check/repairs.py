"""Deterministic repair: what a check is certain of is changed in the text, without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import pyoxigraph as ox

from kgrag.querying.ontology_check.check_findings import Check
from kgrag.sparql.syntax import Edit, Pattern, Query

__all__ = [
    "applied",
    "lengthened",
    "mend",
    "mended",
    "turned",
]

_MAX_ROUNDS = 5


def mend(check: Check) -> str | None:
    """Return the query with everything mended that is certain: prefixes, brackets, lost blanks, one change per fault.

    OBQC section 4 leaves all of it to a model; these faults need none. Check the result again: one mend can bring to
    light what another fault had hidden.

    Returns:
        The changed text, or None when nothing is certain.
    """
    first: dict[tuple[int, str], int] = {}
    edits = []
    for number, finding in enumerate(check.findings):
        if finding.mend is not None and first.setdefault((finding.root, finding.mend.text), number) == number:
            edits.append(finding.mend)
    text = applied(check.query, edits)
    return text if text != check.query else None


def mended(check: Check, recheck: Callable[[str], Check]) -> Check:
    """Mend and check again until nothing is left to mend; return the last check, which is the first when nothing was.

    A text that was there before ends it, and so does one with more faults than the one before.
    """
    seen = {check.query}
    for _ in range(_MAX_ROUNDS):
        text = mend(check)
        if text is None or text in seen:
            break
        seen.add(text)
        after = recheck(text)
        if _faults(after) > _faults(check):
            break
        check = after
    return check


def _faults(check: Check) -> int:
    """Count faults that block; a text that cannot be read has the most."""
    return 10**6 if check.read is None else sum(finding.blocks for finding in check.findings)


def applied(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with changes made; of two that overlap, the later one in the text is made.

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
    """Return the change that turns a triple round: its ends are swapped where nothing shares them, else with ``^``.

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
    """Whether subject, predicate and object follow each other, and nothing shares them."""
    subject, predicate, value = pattern.places
    between = text[subject.end : predicate.start] + text[predicate.end : value.start]
    before, after = text[: subject.start].rstrip()[-1:], text[value.end :].lstrip()[:1]
    simple = not any(text[place.start : place.end].startswith(("[", "(")) for place in (subject, value))
    return (
        simple and not between.strip() and before in ("{", ".") and after in (".", "}") and value.start > predicate.end
    )


def lengthened(query: Query, pattern: Pattern, *, before: str = "", after: str = "") -> Edit:
    """Return the change that makes a path of a property: steps that lead to its domain, or on from its range."""
    place = pattern.places[1]
    word = query.text[place.start : place.end]
    if query.text[max(0, place.start - 1) : place.start] == "^":
        before, after = _backwards(after), _backwards(before)
    return Edit(place.start, place.end, "/".join(part for part in (before, word, after) if part))


def _backwards(path: str) -> str:
    steps = reversed(re.split(r"/(?![^<]*>)", path)) if path else ()
    return "/".join(step[1:] if step.startswith("^") else f"^{step}" for step in steps)
