"""The line with the term that a passage of a definition list defines, which what is said of "this flag" is about."""

from __future__ import annotations

from kgrag.llm.extractive.evidence_sentences import label_before
from kgrag.text.sentences import content_words

__all__ = ["term_line", "with_term_line"]

_MAX_DISTANCE = 1500
"""Characters between the line and a place in what is said of its term, at most."""
_MAX_TOGETHER = 700
"""Characters from the line to the end of such a place where both are one, at most."""


def term_line(text: str, start: int) -> tuple[int, int] | None:
    r"""Return where the line is that names what a place of a text is about; None for none, and below a heading.

    Args:
        text: a chunk, or any other text.
        start: where what is said begins, in characters.

    >>> text = "These are flags.\n\nnoquery\n\nDeny queries. This flag leaves the time service as it is."
    >>> text[slice(*term_line(text, text.index("This flag")))]
    'noquery'
    >>> term_line("Deny queries. This flag leaves the time service as it is.", 14)
    """
    before = text[max(0, start - _MAX_DISTANCE) : start]
    opening = "" if start > _MAX_DISTANCE else "\n"  # a text begins with a whole line
    label, _ = label_before(f"{opening}{before}")
    place = text.rfind(label, 0, start) if label else -1
    return (place, place + len(label)) if place >= 0 else None


def with_term_line(text: str, place: tuple[int, int], claim: str) -> list[tuple[int, int]]:
    r"""Return a place, and the line of its term where the claim has a word of this that the place lacks.

    Both are one place where they are near each other, since a term alone shows nothing.

    >>> text = "noquery\n\nDeny queries. This flag leaves the time service as it is."
    >>> [text[slice(*one)] for one in with_term_line(text, (9, 22), "The noquery flag denies queries.")]
    ['noquery\n\nDeny queries.']
    >>> with_term_line(text, (9, 22), "Queries are denied.")
    [(9, 22)]
    """
    line = term_line(text, place[0])
    lacking = set(content_words(claim)) - set(content_words(text[slice(*place)]))
    if line is None or not lacking & set(content_words(text[slice(*line)])):
        return [place]
    return [(line[0], place[1])] if place[1] - line[0] <= _MAX_TOGETHER else [line, place]
