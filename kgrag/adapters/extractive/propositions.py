"""Sentences that can be understood by themselves, and the names in them: fulfils ``sire_rag/rewrite`` and ``/facts``.

A sentence that begins with a pronoun gets the title of its document in place of the pronoun; one that names nothing of
the title gets the title in front. Names are spans of capitalised words, and the title itself. Scripts without case
have no such spans: there the title is the only name.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

import regex

from kgrag.stages.sentences import STOP_WORDS, split

__all__ = ["facts", "names_at", "rewrite"]

_PRONOUN = regex.compile(r"(?:he|she|it|they|his|her|its|their)\b", flags=regex.IGNORECASE)
_OWNS = frozenset({"his", "her", "its", "their"})
_IN_BRACKETS = regex.compile(r"\s*\([^()]*\)\s*$")
_WORD = r"(?:\p{Lu}\.(?=\s\p{Lu})|\p{Lu}[\p{L}\p{M}\p{N}'’.-]*[\p{L}\p{M}\p{N}]|\p{Lu})"
_LINK = r"(?:of|the|de|la|le|van|von|der|den|du|da|di|del|al|bin|ibn|y|and|for|in|on|at|to|a)"
_NAME = regex.compile(rf"{_WORD}(?:(?:\s+{_LINK}){{0,2}}\s+(?:{_WORD}|\p{{N}}+\b))*")
_POSSESSIVE = regex.compile(r"['’]s?$")


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NO_NAMES = _listed(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday american australian british canadian chinese danish dutch english french german "
    "indian irish italian japanese russian scottish spanish swedish although despite however list since"
)
_LEAST = 3


def rewrite(variables: Mapping[str, Any]) -> str:
    """Give the paragraph, a sentence a line, with the title wherever a sentence needs it.

    Args:
        variables: ``title`` and ``text``; what stands before the paragraph is not looked at.

    >>> rewrite({"title": "Ann Lee (singer)", "text": "She was born in Bath. Ann Lee sings."}).splitlines()
    ['Ann Lee was born in Bath.', 'Ann Lee sings.']
    """
    title = " ".join(str(variables["title"]).split())
    return "\n".join(_resolved(sentence, title) for sentence in _sentences(str(variables["text"])))


def facts(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Give every sentence as a fact, with the names in it.

    Args:
        variables: ``title`` and ``text`` (a rewritten paragraph).

    >>> facts({"title": "Bath", "text": "Bath was visited by Jane Austen of Steventon."})["facts"][0]["entities"]
    ['Bath', 'Jane Austen of Steventon', 'Jane Austen', 'Steventon']
    """
    title = " ".join(str(variables["title"]).split())
    found = [{"fact": said, "entities": list(_names(said, title))} for said in _sentences(str(variables["text"]))]
    return {"facts": found}


def names_at(sentence: str) -> list[tuple[int, int]]:
    """Give where the names of a sentence stand, as (start, end); what "and" or "in" joins are two names.

    >>> [("In 1963 Ann Lee met Bo."[start:end]) for start, end in names_at("In 1963 Ann Lee met Bo.")]
    ['Ann Lee', 'Bo']
    """
    found = []
    for match in _NAME.finditer(sentence):
        start = match.start()
        for part in regex.split(r"(\s+(?:and|or|in|on|at|to|for|a)\s+)", match[0]):
            name = _begun(part) if start == 0 else part
            whole = _POSSESSIVE.sub("", name)
            if whole.strip() and not all(word in STOP_WORDS for word in _plain(whole).split()):
                found.append((start + len(part) - len(name), start + len(part) - len(name) + len(whole)))
            start += len(part)
    return found


def _sentences(text: str) -> Iterator[str]:
    for start, end in split(text):
        yield " ".join(text[start:end].split())


def _resolved(sentence: str, title: str) -> str:
    name = _IN_BRACKETS.sub("", title)
    if not name or _holds(sentence, name):
        return sentence
    if pronoun := _PRONOUN.match(sentence):
        owner = "'s" if pronoun[0].lower() in _OWNS else ""
        return f"{name}{owner}{sentence[pronoun.end() :]}"
    return f"{title}: {sentence}"


def _holds(text: str, name: str) -> bool:
    return f" {_plain(name)} " in f" {_plain(text)} "


def _plain(text: str) -> str:
    return " ".join(regex.findall(r"[\p{L}\p{M}\p{N}]+", unicodedata.normalize("NFKC", text).casefold()))


def _names(sentence: str, title: str) -> Iterator[str]:
    """Yield the title if the sentence speaks of it, then every other name once, in order."""
    seen: set[str] = set()
    about = _IN_BRACKETS.sub("", title)
    if about and _holds(sentence, about):
        seen |= {_plain(title), _plain(about)}
        yield title
    for name in _spans(sentence):
        key = _plain(name)
        if key not in seen and _telling(name):
            seen.add(key)
            yield name


def _spans(sentence: str) -> Iterator[str]:
    for match in _NAME.finditer(sentence):
        begins = match.start() == 0 or sentence[: match.start()].endswith(": ")
        name = _begun(match[0]) if begins else match[0]
        whole = _POSSESSIVE.sub("", name)
        yield whole
        parts = [part for part in regex.split(rf"\s+{_LINK}(?:\s+{_LINK})?\s+", whole) if part]
        if len(parts) > 1:
            yield from (part for place, part in enumerate(parts) if place or " " in part)


def _begun(name: str) -> str:
    """Leave out the first words of a sentence where they are no part of a name: "In 1963 John" is John."""
    first, _, rest = name.partition(" ")
    while first and (first.isdigit() or first.casefold() in STOP_WORDS | _NO_NAMES):
        first, _, rest = rest.partition(" ")
    return f"{first} {rest}".rstrip()


def _telling(name: str) -> bool:
    words = _plain(name).split()
    if len("".join(words)) < _LEAST:
        return False
    return not all(word in STOP_WORDS or word in _NO_NAMES or word.isdigit() for word in words)
