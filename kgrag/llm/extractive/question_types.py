"""What kind of value a question asks for, read from its words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import regex

from kgrag.late_patterns import late_regex

__all__ = ["Asked", "asked_for"]

Kind = Literal["boolean", "choice", "number", "date", "version", "person", "place", "name", "text"]

_AUXILIARY = late_regex(
    r"(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|shall|must|may|might)(?:n't)?\b",
    flags=regex.IGNORECASE,
)
_OR = late_regex(r"\s+or\s+", flags=regex.IGNORECASE)
_PATTERNS: tuple[tuple[Kind, str], ...] = (
    (
        "number",
        r"\bhow (?:many|much|long|old|large|big|high|deep|often|far|tall|wide|fast|heavy|thick|loud|expensive)\b",
    ),
    (
        "version",
        r"\b(?:(?:which|what|since which|from which)\s+(?:\w+\s+){0,3}(?:version|release)|minimum version)\b",
    ),
    (
        "date",
        r"(?:^|\b(?:since|until|by|and)\s)when\b|\b(?:what|which|in what|on what)\s+(?:year|date|day|month)\b",
    ),
    ("date", r"\bdate of (?:birth|death)\b|\b(?:birth|release) ?date\b|\b(?:birthday|year of)\b"),
    (
        "number",
        r"^(?:what|which)\s+(?:is|are|was|were)\s+the\s+(?:\p{L}+\s+){0,2}?(?:weight|height|width|length|depth|thickness|diameter|"
        r"price|cost|speed|power|volume|temperature|capacity|pressure|voltage|noise)\s+of\b",
    ),
    ("person", r"^(?:and )?(?:who|whom|whose)\b"),
    ("place", r"^where\b|\b(?:what|which)\s+(?:city|town|country|place|state|county|province|village)\b"),
    ("place", r"\bplace of (?:birth|death|burial)\b|\bin (?:what|which) (?:city|country|town)\b"),
    (
        "number",
        r"\b(?:default|maximum|minimum|largest|smallest|highest|lowest|number|amount|size|port|limit)\b",
    ),
)
_TYPES = tuple((kind, late_regex(pattern, flags=regex.IGNORECASE)) for kind, pattern in _PATTERNS)
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class Asked:
    """The kind of value that a question asks for, the options of one that names them (two, else none), and its text."""

    kind: Kind
    options: tuple[str, ...] = ()
    text: str = field(default="", repr=False)


def asked_for(question: str) -> Asked:
    """Return what a question asks for; "text" where its words do not tell.

    >>> asked_for("When was Ann Lee born?"), asked_for("Is the port 22 or 80?")
    (Asked(kind='date', options=()), Asked(kind='choice', options=('22', '80')))
    >>> asked_for("Which film is older, Blind Shaft or The Mask?").options
    ('Blind Shaft', 'The Mask')
    """
    plain = " ".join(question.split()).rstrip(" ?.!")
    is_closed = _AUXILIARY.match(plain) is not None
    if options := _options(plain, is_closed=is_closed):
        return Asked("choice", options, plain)
    if is_closed:
        return Asked("boolean", (), plain)
    return Asked(next((kind for kind, pattern in _TYPES if pattern.search(plain)), "text"), (), plain)


def _options(question: str, *, is_closed: bool) -> tuple[str, ...]:
    """Return the two options that a question names, without articles; () where it names none."""
    parts = _OR.split(question)
    if len(parts) != 2 or not all(parts):
        return ()
    left, right = parts[0].split(), parts[1].split()
    if not is_closed:
        before = regex.split(r"[,:–—]\s+", parts[0])
        listed = len(before) > 1 and regex.match(r"(?:who|which|what|whose|between)\b", question, regex.IGNORECASE)
        return (_bare(before[-1]), _bare(parts[1].strip(" ,"))) if listed else ()
    if right[0].lower() in _ARTICLES or left[-1:] == left[:1]:
        starts = [at for at, word in enumerate(left) if word.lower() in _ARTICLES]
        count = len(left) - starts[-1] if starts else 1
        width = count if starts else 2
        return _bare(" ".join(left[-count:])), _bare(" ".join(right[:width]))
    # Both sides begin alike ("git stash pop or git stash apply"), else each is one word.
    starts = [at for at in range(len(left) - 1, 0, -1) if left[at] == right[0]]
    count = len(left) - starts[0] if starts else 1
    return _bare(" ".join(left[-count:])), _bare(" ".join(right[:count]))


def _bare(option: str) -> str:
    """Return an option without the article before it and punctuation around it."""
    words = option.strip(" ,;:").split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in _ARTICLES else words)
