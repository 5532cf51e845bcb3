"""Questions that rows answer by a count, a sum, an extreme or a comparison, read without a model.

"How many varieties of lentil are there?", "Which variety of lentil has the highest seeding rate?", "Is the seeding rate
of LT 7 higher than that of LT 11?" say by a few fixed words what is computed, and by all others of what. ``read``
splits a question there; ``row_plans`` looks for what the other words name. A word that is neither is kept, so that no
reading can pass over a "not" or a "without". The paper (section 4) asks a model every time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kgrag.late_patterns import late_re
from kgrag.text.sentences import stem, word_set

__all__ = ["Form", "RowQuestion", "Wording", "precedes_templates", "read"]

Form = Literal["count", "list", "extreme", "most", "total", "average", "compare", "compare counts"]

_FIRST_NAME = 0xE000
"""Names stand in the text that is read as single characters from here on, which no spelling of a question has."""
_WORD = late_re(r"[\ue000-\uf8ff]|[^\W_]+(?:[-'’][^\W_]+)*")
_RESERVED = late_re(r"[\ue000-\uf8ff]")
_ASKING = word_set(
    """a an the of in on at for by with from to is are was were do does did has have had there which what who whose all
    any every each different distinct our we it its that those one ones"""
)
_LARGER = "highest|higher|largest|larger|greatest|greater|biggest|bigger|longest|longer|maximum|maximal"
_SMALLER = "lowest|lower|smallest|smaller|least|shortest|shorter|minimum|minimal"
_COUNT = late_re(r"(?:how many|what (?:is|was) the (?:total )?number of)\s+(?P<value>.+)", re.I)
_LIST = (
    late_re(r"(?:list|name|show|give|enumerate)(?: me)?\s+(?:all(?: of)?(?: the)?|every|the)\s+(?P<value>.+)", re.I),
    late_re(r"(?:which|what)\s+(?P<value>.+?)\s+(?:are there|do we have)", re.I),
)
_MOST = late_re(
    r"(?:which|what|who)\s+(?P<thing>.+?)\s+(?:has|have|had)\s+the\s+"
    r"(?:(?P<larger>most|(?:highest|largest|greatest) number of)|(?P<smaller>fewest|(?:lowest|smallest) number of))\s+"
    r"(?P<value>.+)",
    re.I,
)
_EXTREME = late_re(
    rf"(?:(?:in|for|at|on|of)\s+)?(?:which|what)\s+(?P<thing>.*?)\bthe\s+(?:(?P<larger>{_LARGER})|(?P<smaller>{_SMALLER}))"
    r"\s+(?P<value>.+)",
    re.I,
)
_TOTAL = late_re(
    r"what\s+(?:is|was|are|were)\s+the\s+(?:(?P<total>total|sum of(?: all| the)?)|average|mean)\s+(?P<value>.+)", re.I
)
_THAN = late_re(
    r"(?:is|are|was|were|do|does|did|has|have|had)\s+(?P<thing>.+?)\s+(?:an?\s+|the\s+)?"
    rf"(?:(?P<more>more)|(?P<fewer>fewer)|(?P<larger>{_LARGER})|(?P<smaller>{_SMALLER}|less))\s+(?P<value>.*?)\s*\bthan\s+"
    r"(?P<other>.+)",
    re.I,
)
_WHICH_OF_TWO = (
    late_re(
        rf"(?:which|what|who)\s+(?:one\s+)?(?:has|have|had)\s+(?:an?\s+|the\s+)?(?:(?P<more>more|most)|(?P<fewer>fewer|fewest)|"
        rf"(?P<larger>{_LARGER})|(?P<smaller>{_SMALLER}))\s+(?P<value>.+?)\s*[,:]\s*(?P<thing>[^,]+?),?\s+or\s+(?P<other>.+)",
        re.I,
    ),
    late_re(
        r"(?:which|what|who)\s+(?:one\s+)?of\s+(?P<thing>.+?)\s+and\s+(?P<other>.+?)\s+(?:has|have|had)\s+(?:an?\s+|the\s+)?"
        rf"(?:(?P<more>more|most)|(?P<fewer>fewer|fewest)|(?P<larger>{_LARGER})|(?P<smaller>{_SMALLER}))\s+(?P<value>.+)",
        re.I,
    ),
)
_ITS = late_re(r"\bits\b", re.I)


@dataclass(frozen=True, slots=True)
class Wording:
    """A part of a question: the stems of its words in their order, without those of asking, and its names by number."""

    stems: tuple[str, ...] = ()
    names: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RowQuestion:
    """What is computed, and of what.

    ``sign`` is 1 where the larger is asked for, -1 where the smaller. ``thing`` is what stands before the word that
    says so, ``value`` what stands behind; ``other`` is the second of a comparison, and ``chooses`` whether one of both
    is asked for, and not yes or no. ``word`` is the stem of that word, which may be part of a label: "maximum depth".
    """

    form: Form
    value: Wording
    thing: Wording = Wording()
    other: Wording = Wording()
    sign: int = 0
    chooses: bool = False
    word: str = ""


def read(question: str, spans: Sequence[tuple[int, int]]) -> RowQuestion | None:
    """Return what a question has computed; None for a question of another form.

    Args:
        question: as it was asked.
        spans: where its names begin and end, in order, none inside another; name 0, 1, …

    >>> read("How many varieties of Lentil are there?", [(22, 28)])
    RowQuestion(form='count', value=Wording(stems=('varieti',), names=(0,)), thing=Wording(stems=(), names=()), \
other=Wording(stems=(), names=()), sign=0, chooses=False, word='')
    """
    if _RESERVED.search(question):
        return None
    text = " ".join(_with_marks(question, spans).split()).rstrip(" ?.!")
    return next((asked for form in _READERS for asked in [form(text)] if asked), None)


def _read_count(text: str) -> RowQuestion | None:
    found = _COUNT.fullmatch(text)
    return RowQuestion("count", _wording(found["value"])) if found else None


def _read_most(text: str) -> RowQuestion | None:
    found = _MOST.fullmatch(text)
    return RowQuestion("most", _wording(found["value"]), _wording(found["thing"]), sign=_sign(found)) if found else None


def _read_total(text: str) -> RowQuestion | None:
    found = _TOTAL.fullmatch(text)
    if found is None:
        return None
    word = stem("total" if found["total"] else "average")
    return RowQuestion("total" if found["total"] else "average", _wording(found["value"]), word=word)


def _read_comparison(text: str) -> RowQuestion | None:
    if found := _THAN.fullmatch(text):
        return _compared(found, chooses=False)
    found = next((found for pattern in _WHICH_OF_TWO if (found := pattern.fullmatch(text))), None)
    return _compared(found, chooses=True) if found else None


def _read_extreme(text: str) -> RowQuestion | None:
    found = _EXTREME.fullmatch(text)
    if found is None:
        return None
    word = stem((found["larger"] or found["smaller"]).lower())
    return RowQuestion("extreme", _wording(found["value"]), _wording(found["thing"]), sign=_sign(found), word=word)


def _read_list(text: str) -> RowQuestion | None:
    found = next((found for pattern in _LIST if (found := pattern.fullmatch(text))), None)
    return RowQuestion("list", _wording(found["value"])) if found else None


_READERS = (_read_count, _read_most, _read_total, _read_comparison, _read_extreme, _read_list)


def precedes_templates(question: str) -> bool:
    """Return whether a question is better read here where ``question_templates`` would read it too.

    "The largest city of …" and "the total area of …" may themselves be properties, which are tried first.
    """
    asked = read(question, ())
    return asked is not None and asked.form not in ("extreme", "total", "average")


def _with_marks(question: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, start = [], 0
    for number, (begin, end) in enumerate(spans):
        parts += [question[start:begin], chr(_FIRST_NAME + number)]
        start = end
    return "".join([*parts, question[start:]])


def _wording(text: str) -> Wording:
    words = [word.lower() for word in _WORD.findall(text)]
    names = tuple(ord(word) - _FIRST_NAME for word in words if _RESERVED.fullmatch(word))
    plain = (re.sub(r"['’]s$", "", word) for word in words if not _RESERVED.fullmatch(word))
    return Wording(tuple(stem(word) for word in plain if word not in _ASKING and word not in ("s", "")), names)


def _sign(found: re.Match[str]) -> int:
    return 1 if found["larger"] else -1


def _compared(found: re.Match[str], *, chooses: bool) -> RowQuestion:
    thing, other = _wording(found["thing"]), _wording(found["other"])
    if _ITS.search(found["other"]):  # "… than its rate in the Hill Zone" is about the first thing as well
        other = Wording(other.stems, (*thing.names[:1], *other.names))
    counted = found["more"] or found["fewer"]
    return RowQuestion(
        "compare counts" if counted else "compare",
        _wording(found["value"]),
        thing,
        other,
        sign=1 if found["more"] or found["larger"] else -1,
        chooses=chooses,
    )
