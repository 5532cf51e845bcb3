"""Words that a rendered page breaks at the end of a line: "De-", and below it "faults to 5"."""

from __future__ import annotations

from kgrag.late_patterns import late_regex

__all__ = ["unbroken"]

_BREAK = late_regex(r"(?<=\p{L}{2})[-\u00ad\u2010]\n[^\S\n]*(?=\p{Ll}{2})")


def unbroken(text: str) -> str:
    r"""Return a text with the words whole that it breaks; a compound broken at its own hyphen becomes one word, too.

    >>> unbroken("It de\u2010\n      faults to 5. A pre-\n fix -5\n is well-known.")
    'It defaults to 5. A prefix -5\n is well-known.'
    """
    return str(_BREAK.sub("", text))
