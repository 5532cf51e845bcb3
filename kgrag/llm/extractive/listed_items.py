"""Items of a list that a sentence introduces, where the text has them as lines below it.

Readers of pages keep no marks of lists: below "Symptoms of overload are:" follow lines or paragraphs, with notes and
code between them, and nothing says where the list ends. Where the sentence counts its items ("There are three
reasons."), so many are taken.
"""

from __future__ import annotations

import regex

from kgrag.late_patterns import late_regex
from kgrag.text.sentences import NUMBER_WORDS, split

__all__ = ["items_below"]

_MAX_ITEMS = 8
_MAX_UNCOUNTED_PARAGRAPHS = 4
_MAX_ITEM_CHARACTERS = 400
_MAX_CHARACTERS = 1200
_MIN_WRAPPED_CHARACTERS = 55
"""A line as long as this whose next one begins in lower case is wrapped prose, not an item."""
_COUNT = late_regex(
    rf"\b(?P<count>[2-9]|{'|'.join(NUMBER_WORDS[2:])})\s+(?:[\p{{L}}-]+\s+){{0,2}}?\p{{L}}+s?\b", flags=regex.IGNORECASE
)
_MARK = late_regex(r"\s*(?:[-*•‣◦▪·–—+]|\(?(?:\p{N}{1,3}|[A-Za-z])[.)])\s+")
_GERUND = late_regex(r"\p{L}{2,}ing\b")
_NOTE = late_regex(r"(?:note|tip|warning|caution|important|example|see also)\b", flags=regex.IGNORECASE)
_BLANK = late_regex(r"\n[^\S\n]*\n\s*")


def items_below(sentence: str, below: str) -> tuple[str, ...]:
    r"""Return the items that a sentence introduces, as they are written; () where it introduces none.

    Args:
        sentence: the last one of its line.
        below: the text behind it.

    >>> items_below("The signs are:", "\n\nThe lamp is red.\n\nNote: Or off.\n\nThe fan stops. It may start.")
    ('The lamp is red.', 'The fan stops.')
    >>> items_below("There are 2 keys.", "\nKnow what.\nKnow how.\n\nThe end.")
    ('Know what.', 'Know how.')
    """
    count = _count_of(sentence)
    if not below.startswith("\n") or not (sentence.endswith(":") or (count and sentence.endswith("."))):
        return ()
    paragraphs = [part for part in _BLANK.split(below.strip("\n")) if part.strip()]
    lines = _lines_of(paragraphs[0]) if paragraphs else []
    items = lines if len(lines) > 1 else _paragraph_items(paragraphs, counted=bool(count))
    items = _parallel(items)[: count or _MAX_ITEMS]
    return _within(items) if len(items) > count / 2 else ()


def _parallel(items: list[str]) -> list[str]:
    """Return the items that begin as the first one does, if that is with "Knowing"; others are parts or examples."""
    alike = [item for item in items if _GERUND.match(item)]
    return alike if items and items[0] in alike and len(alike) > 1 else items


def _within(items: list[str]) -> tuple[str, ...]:
    """Return the first items, as many as an answer may have characters."""
    taken: list[str] = []
    for item in items:
        if sum(map(len, taken)) + len(item) > _MAX_CHARACTERS:
            break
        taken.append(item)
    return tuple(taken)


def _count_of(sentence: str) -> int:
    """Return how many items a sentence says there are; 0 where it does not."""
    match = _COUNT.search(sentence)
    if match is None:
        return 0
    word = match["count"].lower()
    return NUMBER_WORDS.index(word) if word in NUMBER_WORDS else int(word)


def _lines_of(paragraph: str) -> list[str]:
    """Return the items of a list whose lines stand close together; wrapped lines are one item."""
    items: list[str] = []
    for line in paragraph.splitlines():
        is_new = _MARK.match(line) or not items or not _is_wrapped(items[-1], line)
        if is_new:
            items.append(line)
        else:
            items[-1] += f"\n{line}"
    return [_without_mark(item) for item in items if item.strip()]


def _is_wrapped(above: str, line: str) -> bool:
    last = above.rpartition("\n")[2]
    return (
        len(last) >= _MIN_WRAPPED_CHARACTERS and line.lstrip()[:1].islower() and not last.rstrip().endswith((".", ";"))
    )


def _without_mark(item: str) -> str:
    match = _MARK.match(item)
    return item[match.end() if match else 0 :].strip()


def _paragraph_items(paragraphs: list[str], *, counted: bool) -> list[str]:
    """Return items that are paragraphs: their first sentences, without notes, up to what introduces something else."""
    items: list[str] = []
    for paragraph in paragraphs:
        if _NOTE.match(paragraph):
            continue
        start, end = split(paragraph)[0]
        first = paragraph[start:end]
        if paragraph.startswith("#") or len(first) > _MAX_ITEM_CHARACTERS:
            break
        items.append(_without_mark(first))
        is_last = first.endswith(":") or len(items) >= _MAX_UNCOUNTED_PARAGRAPHS
        if is_last and not counted:
            break
    return items
