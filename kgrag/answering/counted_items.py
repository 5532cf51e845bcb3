"""What "the second one" and "the year before" mean: by rule, from the questions and answers before, for English.

An answer lists things where its question asks for several ("Which variables …", "List the …"): its lines with a bullet
or number, else what stands behind "are", "include" or a colon, else the names that it adds, in order. Where less is
found than the message counts to, "" is returned, so that the caller can say so.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import regex

from kgrag.answering.question_parts import AUXILIARIES, PREPOSITIONS, new_in, tokens
from kgrag.late_patterns import late_regex

__all__ = ["item_counted", "item_named", "listed", "neighbouring_year", "year_in"]

_ORDINALS: Final = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}
_ASKS_TO_LIST: Final = late_regex(r"(?:list|name|give|show)\b|(?:what|which) (?:are|were)\b", regex.IGNORECASE)
_LINE: Final = late_regex(r"^\s*(?:[-*•]|\d+[.)])\s+([^\n:–—]{1,80})", regex.MULTILINE)
_FRAMED: Final = late_regex(
    r"(?:\b(?:are|were|includes?)|:)\s+((?:[^,.;:\n]{1,40}, )*[^,.;:\n]{1,40}?)"
    r",? (?:and|or) ([^,.;:\n]{1,40}?)\s*(?=[.;\n]|$)"
)
_MARKER: Final = late_regex(r"\s*\[\d+\]")
_MONTH: Final = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR: Final = late_regex(
    r"(?:\b(?:in|since|until|by|from|during|before|after|of|for|year)\s+(?:the\s+)?|\("
    rf"|{_MONTH}\s+(?:\d{{1,2}},?\s+)?)(?P<year>(?:1[5-9]|20)\d\d)\b(?!\s+\p{{Ll}}+s\b)"
)


def listed(question: str, answer: str) -> list[str]:
    """Return the things that an answer lists, in order; [] where its question asks for one, or it has fewer than two.

    >>> listed("Which variables does cron set?", "SHELL is set to /bin/sh, and LOGNAME and HOME from the entry.")
    ['SHELL', 'LOGNAME', 'HOME']
    >>> listed("Which crops are grown there?", "The crops are winter wheat, lentil and maize.")
    ['winter wheat', 'lentil', 'maize']
    """
    if not _asks_for_several(question):
        return []
    plain = _MARKER.sub("", answer)
    lines = [line.strip() for line in _LINE.findall(plain)]
    framed = [one for found in _FRAMED.finditer(plain) for one in (*found[1].split(", "), found[2])]
    for items in (lines, framed, _names(plain, question)):
        distinct = list(dict.fromkeys(regex.sub(r"^(?:the|an?) ", "", item.strip(" *`.")) for item in items))
        if len(distinct) > 1:
            return distinct
    return []


def _asks_for_several(question: str) -> bool:
    """Return whether a question wants a list: it says so, or the noun behind "which" or "what" is a plural."""
    if _ASKS_TO_LIST.match(question):
        return True
    words = [token[0].casefold() for token in tokens(question)]
    if words[:1] not in (["which"], ["what"]) or (words[1:2] and words[1] in AUXILIARIES):
        return False
    end = next((place for place, word in enumerate(words) if word in AUXILIARIES | PREPOSITIONS), 0)
    noun = words[end - 1] if end > 1 and words[end] in AUXILIARIES else words[min(1, len(words) - 1)]
    return bool(regex.search(r"(?<![suio])s$", noun))


def _names(answer: str, question: str) -> list[str]:
    """Return the names, options and identifiers that an answer adds, in order; the first word of a sentence is none."""
    begins = {found[1] for found in regex.finditer(r"(?:^|[.!?:]\s+)(\p{Lu}\p{Ll}+)(?![\w-])", answer)}
    return sorted((name for name in new_in(answer, question) if name not in begins), key=answer.find)


def item_counted(which: str, before: Iterable[tuple[str, str]], *, last: str) -> str | None:
    """Return the thing that a message counts to; "" where no such thing is listed, None where nothing is.

    Args:
        which: "first", "second", …, "last", "next", "other", "former" or "latter".
        before: questions with their answers, the last one first.
        last: the question before the message; "next" and "other" are seen from the thing that it names.
    """
    items = next((found for question, answer in before if (found := listed(question, answer))), None)
    if items is None:
        return None
    here = item_named(items, last)
    if which in _ORDINALS:
        place = _ORDINALS[which]
        return items[place] if place < len(items) else ""
    if which == "next" and here is not None:
        return items[here + 1] if here + 1 < len(items) else ""
    if which == "latter":
        return items[1] if len(items) == 2 else ""
    return items[1 - here] if which == "other" and here is not None and len(items) == 2 else ""


def item_named(items: list[str], question: str) -> int | None:
    """Return the place of the first of some things that a question names; None where it names none or several."""
    named = [place for place, item in enumerate(items) if regex.search(rf"(?<!\w){regex.escape(item)}(?!\w)", question)]
    return named[0] if len(named) == 1 else None


def year_in(text: str) -> str:
    """Return the last year that a text names; "" where there is none, and for amounts.

    >>> year_in("It was revised in 1998 and in May 2004."), year_in("Crontabs are limited to 2000 lines.")
    ('2004', '')
    """
    return next((found["year"] for found in reversed(list(_YEAR.finditer(text)))), "")


def neighbouring_year(words: str, year: str) -> str:
    """Return the year that "the year before" or "a year later" means.

    >>> neighbouring_year("the year before", "1998"), neighbouring_year("one year later", "1998")
    ('1997', '1999')
    """
    is_earlier = regex.search(r"before|earlier|previous|preceding", words, regex.IGNORECASE)
    return str(int(year) + (-1 if is_earlier else 1))
