"""Which elements of a page are navigation: decided by element, role, name, and how much of the text is links.

* ``nav``, ``button``, ``select``, the roles of navigation, and a ``footer`` of the page: always.
* Elements whose class is a name for navigation (``navbar``, ``breadcrumb``): unless they have a main heading. If it is
  their id, which is often made of the words of a heading: unless they have any heading.
* ``header`` and ``aside`` of the page, and names that are also given to content (``sidebar``, ``menu``, ``toc``): where
  half of the text is links, and without a main heading.
* Short blocks of which half is links with words such as "Previous", "Up" and "Home".
* Links that are only a mark behind a heading (``\u00b6``).

What is outside of ``main`` is left out too, where there is one ``main`` with a fifth of the text or more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kgrag.late_patterns import late_re
from kgrag.text.readers.sources import Heading
from kgrag.text.sentences import word_set

__all__ = [
    "CONTENT",
    "MAX_BAR_CHARACTERS",
    "MAX_BAR_LINKS",
    "Element",
    "Region",
    "is_bar_link",
    "is_navigation",
    "kind_of",
    "main_span",
]

CONTENT = word_set("main article section blockquote figure td")
"""Elements whose header, footer or aside is not that of the page."""

_ALWAYS = word_set("nav button select")
_ROLES = word_set("navigation search menu menubar contentinfo toolbar")
_DOUBTFUL_ROLES = word_set("banner complementary")
_BLOCKS = word_set("p div table ul ol dl center")
_NAMES = late_re(
    r"(?:.*[-_])?(?:nav|navbar|navigation|breadcrumbs?|pagination|pager|footer|skip-?(?:link|nav|to-content)s?"
    r"|search-?(?:box|form|bar))(?:[-_].*)?"
    r"|(?:page|site|global)-?header|nav(?:header|footer|path|row|panel|list|menu)s?|(?:top|bottom|sub|main|mobile|site|side|doc)-?(?:nav|menu)s?"
)
_DOUBTFUL_NAMES = late_re(
    r"header|banner|menu|(?:.*[-_])?(?:sphinx)?sidebar(?:[-_].*)?|(?:.*[-_])?toc(?:[-_].*)?|(?:top|bottom)-?lang(?:uages?)?"
    r"|path|up|top|related|toolbar|masthead"
)
_BAR_WORDS = word_set(
    """prev previous next up home top index contents back start first last toc search modules parent forward begin
    fast"""
)
_TOP = late_re(r"(?:\W|back|go|to|the|of|page|this|return)*top(?:\W|of|the|page|this)*", flags=re.IGNORECASE)
_MARKS = frozenset(("\u00b6", "#", "\u00a7", "\U0001f517", "\uf0c1"))
MAX_BAR_CHARACTERS = 500
"""The longest block that is taken for a bar of links."""

MAX_BAR_LINKS = 60
"""The most links of such a block."""

_LEAST_MAIN_SHARE = 5


@dataclass(frozen=True, slots=True)
class Region:
    """An open element: its kind, ``rel``, and how much of each list of the page there was when it began."""

    tag: str
    kind: str
    rel: str
    parts: int
    length: int
    linked: int
    links: int
    headings: int
    main_headings: int
    heading: int


@dataclass(frozen=True, slots=True)
class Element:
    """An element that has ended.

    Args:
        words: its text, "" where it is longer than a bar of links.
        length: of its text.
        linked: how many characters of it are words of links.
        links: words and ``rel`` of its links, one more than a bar has at most.
        headings: how many it has.
        main_headings: how many of level 1 and 2.
    """

    words: str
    length: int
    linked: int
    links: Sequence[tuple[str, str]]
    headings: int
    main_headings: int


def kind_of(tag: str, attributes: Mapping[str, str], *, of_the_page: bool) -> str:
    """Return what an element is by its start: "always", "class", "id", "doubtful", "block", "link", "main", or "".

    Args:
        tag: its name.
        attributes: its attributes.
        of_the_page: whether it is in no element of ``CONTENT``.
    """
    role, classes = attributes.get("role", "").lower(), attributes.get("class", "").lower().split()
    identifier = attributes.get("id", "").lower()
    if tag in _ALWAYS or role in _ROLES or (tag == "footer" and of_the_page):
        kind = "always"
    elif tag == "main" or role == "main":
        kind = "main"
    elif tag in ("html", "body", "article", "span"):
        kind = ""
    elif tag == "a":
        kind = "link"
    elif any(map(_NAMES.fullmatch, classes)):
        kind = "class"
    elif _NAMES.fullmatch(identifier):
        kind = "id"
    elif role in _DOUBTFUL_ROLES or any(map(_DOUBTFUL_NAMES.fullmatch, (*classes, identifier))):
        kind = "doubtful"
    elif tag in _BLOCKS:
        kind = "block"
    else:
        kind = "doubtful" if tag in ("header", "aside") and of_the_page else ""
    return kind


def is_navigation(kind: str, element: Element) -> bool:
    """Return whether an element that has ended is navigation."""
    match kind:
        case "always":
            return True
        case "link":
            return element.words in _MARKS
        case "class":
            return not element.main_headings
        case "id":
            return not element.headings
        case "doubtful":
            return not element.main_headings and element.linked * 2 >= element.length
        case _:
            return kind == "block" and not element.headings and _is_bar(element)


def _is_bar(element: Element) -> bool:
    links = element.links
    if not element.words or not 0 < len(links) <= MAX_BAR_LINKS:
        return False
    if len(links) == 1:
        return bool(_TOP.fullmatch(element.words))
    if element.linked * 2 < element.length and not all(_bar_words(rel) for _, rel in links):
        return False
    known = [label for label, rel in links if _bar_words(label) or _bar_words(rel)]
    return len(known) >= 2 and len(known) * 3 >= len(links)


def is_bar_link(words: str, rel: str) -> bool:
    """Return whether a link is one of a bar of links, wherever it is: "Next", "Up", or any with such a ``rel``.

    >>> is_bar_link("Next", ""), is_bar_link("Next steps", ""), is_bar_link("Sowing", "prev")
    (True, False, True)
    """
    named = re.findall(r"[a-z]+", words.lower())
    return _bar_words(rel) or (bool(named) and all(word in _BAR_WORDS for word in named))


def _bar_words(text: str) -> bool:
    words = re.findall(r"[a-z]+", text.lower())
    return bool(words) and words[0] in _BAR_WORDS and len(words) <= 3


def main_span(mains: Sequence[tuple[int, int]], headings: Sequence[Heading], length: int) -> tuple[int, int]:
    """Return where the main text begins and ends.

    Args:
        mains: start and end of each main element.
        headings: of the whole page; a title above the main element, which has none of its own, belongs to it.
        length: of the text of the page.
    """
    if len(mains) != 1 or (mains[0][1] - mains[0][0]) * _LEAST_MAIN_SHARE < length:
        return 0, length
    start, end = mains[0]
    titles = [heading.start for heading in headings if heading.level == 1 and heading.start < end]
    if titles and titles[-1] < start:
        start = titles[-1]
    return start, end
