r"""Regular expressions of shapes: from the form of XML Schema and XPath to the one that stores read.

SHACL's ``sh:pattern`` is what SPARQL's REGEX takes: a regular expression of XPath, which are those of XML Schema with
anchors and reluctant quantifiers. Engines of stores read most of that, but neither the escapes for characters of names
(``\i``, ``\c``) nor the subtraction of classes (``[a-z-[aeiou]]``), and have operators in classes that XPath lacks.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from kgrag.late_patterns import late_re

__all__ = ["engine_expression", "needs_backtracking", "python_search"]

_BEGINS_NAME = (
    ":A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
"""NameStartChar of XML 1.0, section 2.3."""
_IN_NAME = _BEGINS_NAME + "\\-.0-9\u00b7\u0300-\u036f\u203f-\u2040"
_ESCAPES = {
    "\\i": f"[{_BEGINS_NAME}]",
    "\\I": f"[^{_BEGINS_NAME}]",
    "\\c": f"[{_IN_NAME}]",
    "\\C": f"[^{_IN_NAME}]",
}
_OPENING = ("[", "[^")
_OPERATORS_OF_ENGINES = frozenset("&~[")
_PIECE = late_re(r"(?s)\\.|\[\^?|.")
_CLASS = r"\[\^?\]?(?:\\.|[^]\\])*\]"
_NEEDS_BACKTRACKING = late_re(rf"(?s)(?:\\[^1-9]|{_CLASS}|[^\\[(]|\((?!\?<?[=!]))*+(?:\\[1-9]|\(\?<?[=!])")
_PLAIN = late_re(r"(?!.*([*+?}]\+|\(\?|\[[^]]*\[))[]A-Za-z0-9^$()[{}|*+?.,:/_-]*")


@cache
def python_search(expression: str) -> Callable[[str], object] | None:
    """Return Python's search for a regular expression that means the same to Python and to every store; else None."""
    if not _PLAIN.fullmatch(expression):
        return None
    with suppress(re.error):
        return re.compile(expression).search
    return None


def needs_backtracking(expression: str) -> bool:
    r"""Return whether it looks around or refers back, which engines that never backtrack cannot.

    >>> needs_backtracking("^a(?<!x)$"), needs_backtracking(r"(a)\1"), needs_backtracking(r"\((?:a)[(?=]")
    (True, True, False)
    """
    return _NEEDS_BACKTRACKING.match(expression) is not None


@cache
def engine_expression(expression: str) -> str:
    r"""Return a regular expression of XPath as the engines of stores read it; what is wrong with it stays as it is.

    >>> engine_expression("^[a-z-[aeiou]]+$")
    '^[[a-z]&&[^aeiou]]+$'
    >>> engine_expression(r"^[R&&D]\p{L}$")
    '^[R\\&\\&D]\\p{L}$'
    """
    pieces, read = deque(_PIECE.findall(expression)), []
    while pieces:
        piece = pieces.popleft()
        read.append(_class(pieces, piece) if piece in _OPENING else _ESCAPES.get(piece, piece))
    return "".join(read)


def _class(pieces: deque[str], opening: str) -> str:
    """Return a class of characters, of which the opening has been read."""
    content: list[str] = []
    without, end = "", ""
    while pieces and not end:
        piece = pieces.popleft()
        if piece == "]" and content:
            end = piece
        elif piece == "-" and pieces and pieces[0] in _OPENING and content:
            without = _class(pieces, pieces.popleft())
        elif piece in _OPERATORS_OF_ENGINES or piece == "]":
            content.append(f"\\{piece}")
        else:
            content.append(_ESCAPES.get(piece, piece.replace("[", "\\[")))
    own = f"{opening}{''.join(content)}{end}"
    if not without:
        return own
    return f"[{own}&&{without.replace('[^', '[', 1) if without.startswith('[^') else without.replace('[', '[^', 1)}]"
