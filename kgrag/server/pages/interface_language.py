"""The language of the pages: English as the templates have it, or another through a catalogue of messages.

A catalogue is ``static/messages/LANGUAGE.json``: English text -> its translation; scripts of pages read the same file.
What stands between tags in a template, and in attributes that people read or hear, is a message by itself; texts within
expressions are marked as ``_("…")``. What has no translation stays English, and so do the guide, refusals, and what the
store has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from starlette.requests import Request

from kgrag.late_patterns import late_re
from kgrag.server.pages.label_choice import languages_of

__all__ = ["LANGUAGES", "Messages", "Place", "catalogue", "interface_language", "message_of", "translated_html"]

LANGUAGES = ("en", "de")
_FOLDER = Path(__file__).parent / "static" / "messages"
_READ_ATTRIBUTES = frozenset({"alt", "aria-label", "data-busy", "placeholder", "title"})
_UNREAD_ELEMENTS = frozenset({"code", "kbd"})
_NEXT = {"text": late_re("<"), "tag": late_re('[">]'), "value": late_re('"')}
_ATTRIBUTE_NAME = late_re(r"([\w-]+)=$")
_ELEMENT = late_re(r"(/?)([\w-]+)")
_WORDS = late_re(r"(\s*)(.*?)(\s*)", re.DOTALL)
_LETTERS = late_re(r"[^\W\d_]{2}")

Translate = Callable[[str], str | None]


def interface_language(request: Request) -> str:
    """Return the language of the pages for a client, by its ``Accept-Language``."""
    wanted = (language.partition("-")[0] for language in languages_of(request))
    return next((language for language in wanted if language in LANGUAGES), LANGUAGES[0])


@cache
def catalogue(language: str) -> dict[str, str]:
    """Return the messages of a language; none for English."""
    file = _FOLDER / f"{language}.json"
    if language == LANGUAGES[0]:
        return {}
    found: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return found


def message_of(text: str) -> str:
    """Return a text as the key of a catalogue; "" where it has no words."""
    return " ".join(text.split()) if _LETTERS.search(text) else ""


class Place:
    """Where in the HTML a template is after what was read of it: in text, in a tag, or in the value of an attribute."""

    def __init__(self) -> None:
        self.state = "text"
        self.is_read = True
        self.unread_element = ""

    def end(self, before: str, mark: str) -> None:
        """Take note of a mark, and of what stands before it."""
        if self.state == "value":
            self.state, self.is_read = "tag", False
        elif mark == '"':
            name = _ATTRIBUTE_NAME.search(before)
            self.state, self.is_read = "value", name is not None and name[1] in _READ_ATTRIBUTES
        elif mark == "<":
            self.state, self.is_read = "tag", False
        else:
            self.state, self.is_read = "text", not self.unread_element

    def begin_tag(self, after: str) -> None:
        """Take note of the element whose tag begins."""
        element = _ELEMENT.match(after)
        if element and element[2] in _UNREAD_ELEMENTS:
            self.unread_element = "" if element[1] else element[2]


def translated_html(text: str, place: Place, translate: Translate) -> str:
    """Return a part of a template's HTML with its messages translated; ``place`` is moved behind it."""
    parts, at = [], 0
    while True:
        mark = _NEXT[place.state].search(text, at)
        end = mark.start() if mark else len(text)
        piece = text[at:end]
        parts.append(_translated(piece, translate) if place.is_read else piece)
        if mark is None:
            return "".join(parts)
        place.end(piece, mark[0])
        if mark[0] == "<":
            place.begin_tag(text[mark.end() :])
        parts.append(mark[0])
        at = mark.end()


def _translated(text: str, translate: Translate) -> str:
    words = _WORDS.fullmatch(text)
    message = message_of(text)
    said = translate(message) if message else None
    return text if words is None or said is None else f"{words[1]}{said}{words[3]}"


class Messages(Extension):
    """Translates what stands in a template around its expressions into the ``language`` of its environment."""

    def filter_stream(self, stream: TokenStream) -> Iterable[Token]:
        """Yield the tokens of a template, with its texts in the language."""
        messages = catalogue(self.environment.globals["language"])
        place = Place()
        for token in stream:
            if token.type == "data":
                yield Token(token.lineno, "data", translated_html(token.value, place, messages.get))
            else:
                yield token
