"""Reads things of the ontology out of sentences: names beside the word for their class, figures beside theirs.

Rules that hold for most texts and nothing more; where a clause could be read in two ways it is passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import regex

from kgrag.llm.extractive.ontology_slices import Class, Property, Slice, Thing
from kgrag.llm.extractive.question_words import term
from kgrag.text.sentences import STOP_WORDS

__all__ = ["Mention", "mentions_in", "read_clause", "split_clauses"]

_CLAUSE = regex.compile(r";\s+|,\s+(?=(?:and|but|while|whereas)\s)")
_TOKEN = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:[-.,/'’](?=[\p{L}\p{N}])[\p{L}\p{M}\p{N}]+)*")
_NAME = r"(?:\p{Lu}[\p{L}\p{M}\p{N}'’.-]*|\p{N}[\p{N}-]*)"
_NAMES = regex.compile(rf"\p{{Lu}}[\p{{L}}\p{{M}}\p{{N}}'’-]*(?:\s+{_NAME})*")
_NEGATED = regex.compile(r"\b(?:not|never|no|nor|neither|without|except|avoid\w*)\b|n['’]t\b", flags=regex.IGNORECASE)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b"
)
_DATE = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:\s+\d{{4}})?|{_MONTH}\s+\d{{1,2}}(?:,\s*\d{{4}})?|\d{{4}}-\d\d-\d\d)"
)
_RANGE = regex.compile(rf"(?:from|between)\s+({_DATE})\s+(?:to|and|until|till)\s+({_DATE})")
_ONE_DATE = regex.compile(_DATE)
_NUMBER = r"\p{N}[\p{N}.,]*(?<=\p{N})"
_UNIT = r"(?:%|°\s?[CF]|\p{L}[\p{L}²³]*(?:/\p{L}[\p{L}²³]*)*)"
_AMOUNT = regex.compile(
    rf"{_NUMBER}(?:\s*(?:-|–|to)\s*{_NUMBER})?\s*{_UNIT}(?:\s+(?:per|a|an)\s+\p{{L}}+|\s+\p{{L}}+/\p{{L}}+)*"
)
_NO_UNIT = frozenset(
    {"and", "or", "to", "in", "at", "on", "of", "from", "is", "are", "was", "were", "by", "until", "with"}
)
_NUMERIC = frozenset({"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "several", "most"})
_REACH = 60
_BEFORE = 40


@dataclass(frozen=True)
class _Token:
    term: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Mention:
    """A name in the text, and the class of what it names."""

    owner: Class
    name: str


def split_clauses(sentence: str) -> list[str]:
    """Split a sentence where a new statement begins.

    >>> split_clauses("CP 12-4 takes 80 kg, and CP 30-1 takes 95 kg.")
    ['CP 12-4 takes 80 kg', 'and CP 30-1 takes 95 kg.']
    """
    return [clause for clause in _CLAUSE.split(sentence) if clause.strip()]


def read_clause(clause: str, ontology: Slice, known: Collection[Mention] = ()) -> list[Thing]:
    """Give the things that a clause names, with what it says of them.

    A clause that denies, or that names several things of one class, gives their names and nothing else.

    Args:
        clause: a sentence or a part of one.
        ontology: what may be spoken of.
        known: names found elsewhere in the text; here they need no word for their class beside them.
    """
    tokens = _tokens(clause)
    mentions = list(dict.fromkeys([*_mentions(clause, tokens, ontology), *_repeated(clause, known)]))
    things = [_named(mention) for mention in mentions]
    several = Counter(mention.owner for mention in mentions)
    if _NEGATED.search(clause) or any(count > 1 for count in several.values()):
        return things
    by_class = {thing.owner: thing for thing in things}
    _measure(clause, tokens, ontology, by_class)
    return _nested(list(by_class.values()))


def mentions_in(clause: str, ontology: Slice) -> list[Mention]:
    """Give the names that stand beside the word for their class."""
    return list(_mentions(clause, _tokens(clause), ontology))


def _tokens(clause: str) -> list[_Token]:
    return [_Token(term(found[0]), found[0], found.start(), found.end()) for found in _TOKEN.finditer(clause)]


def _repeated(clause: str, known: Collection[Mention]) -> Iterator[Mention]:
    for mention in known:
        if regex.search(rf"(?<![\p{{L}}\p{{N}}]){regex.escape(mention.name)}(?![\p{{L}}\p{{N}}-])", clause):
            yield mention


def _named(mention: Mention) -> Thing:
    thing = Thing(mention.owner)
    if mention.owner.naming:
        thing.say(mention.owner.naming, mention.name)
    return thing


def _nested(things: Sequence[Thing]) -> list[Thing]:
    """Put each thing below the one other thing that has a property for it; give those that stay at the top."""
    top = []
    for thing in things:
        above = [
            (other, item) for other in things if (item := other.owner.leading_to(thing.owner)) and other is not thing
        ]
        if len(above) == 1 and not thing.owner.leading_to(above[0][0].owner):
            above[0][0].put(above[0][1], thing)
        elif not above:
            top.append(thing)
    return [
        thing for thing in top if thing.called or any(other.called for row in thing.below.values() for other in row)
    ]


# names


def _mentions(clause: str, tokens: Sequence[_Token], ontology: Slice) -> Iterator[Mention]:
    for owner in ontology.classes:
        if not owner.naming:
            continue
        for first, last in _places(tokens, ontology.heads(owner)):
            if name := _name_beside(clause, tokens, first, last):
                yield Mention(owner, name)


def _places(tokens: Sequence[_Token], phrases: set[tuple[str, ...]]) -> Iterator[tuple[int, int]]:
    """Yield where phrases stand (first and last token), the longest at each place."""
    taken = -1
    for first in range(len(tokens)):
        if first <= taken:
            continue
        for phrase in sorted(phrases, key=len, reverse=True):
            if tuple(token.term for token in tokens[first : first + len(phrase)]) == phrase:
                taken = first + len(phrase) - 1
                yield first, taken
                break


def _name_beside(clause: str, tokens: Sequence[_Token], first: int, last: int) -> str:
    """Give the name that stands beside the word for a class: "variety CP 12-4", "Hill Zone", "Brena is a variety"."""
    return (
        _name_after(clause, tokens[last])
        or _name_before(clause, tokens, first, last)
        or _name_is(clause, tokens[first])
    )


def _name_after(clause: str, token: _Token) -> str:
    if token.term != term(token.text) or not clause[token.end :].startswith(" "):
        return ""
    found = _NAMES.match(clause, token.end + 1)
    return found[0] if found and not _is_common(found[0]) else ""


def _name_before(clause: str, tokens: Sequence[_Token], first: int, last: int) -> str:
    """Give capitalised words straight before the word for the class, with it when it is capitalised as well."""
    start = first
    while start and tokens[start - 1].text[0].isupper() and clause[tokens[start - 1].end : tokens[start].start] == " ":
        start -= 1
    while start < first and _is_common(tokens[start].text):
        start += 1
    if start == first or (start == 0 and first == 1 and not tokens[first].text[0].isupper()):
        return ""
    ends = last if tokens[first].text[0].isupper() else first - 1
    return clause[tokens[start].start : tokens[ends].end]


def _name_is(clause: str, token: _Token) -> str:
    """Give X of "X is a … variety", when X opens the clause."""
    found = regex.match(
        rf"(?:and\s+)?({_NAMES.pattern})\s+(?:is|was)\s+an?\s+(?:[\p{{Ll}}-]+\s+){{0,3}}$", clause[: token.start]
    )
    return found[1] if found and not _is_common(found[1]) else ""


def _is_common(name: str) -> bool:
    return all(word.casefold() in STOP_WORDS | _NUMERIC for word in name.split())


# amounts and dates


def _measure(clause: str, tokens: Sequence[_Token], ontology: Slice, things: dict[Class, Thing]) -> None:
    """Add what a clause says in figures to the thing it is about; a class without names gets a thing of its own."""
    for owner in ontology.classes:
        said = dict(_figures(clause, tokens, owner))
        if not said:
            continue
        if owner not in things:
            if owner.naming or not any(other.leading_to(owner) for other in things):
                continue
            things[owner] = Thing(owner)
        for item, value in said.items():
            things[owner].say(item, value)


def _figures(clause: str, tokens: Sequence[_Token], owner: Class) -> Iterator[tuple[Property, str]]:
    if (bounds := owner.bounds()) and (found := _stretch(clause, tokens, owner)):
        yield from zip(bounds, found, strict=True)
    literals = [item for item in owner.properties if not item.range and not item.names_things]
    measuring = [item for item in literals if item.measures]
    for item in literals:
        phrases = {item.words, (*owner.words, *item.words)}
        if len(measuring) == 1 and item.measures:
            phrases = {owner.words, (*owner.words, *item.words)}
        for _, last in _places(tokens, phrases):
            if value := _figure_after(clause, tokens[last].end):
                yield item, value
                break


def _stretch(clause: str, tokens: Sequence[_Token], owner: Class) -> tuple[str, str] | None:
    """Give first and last day of "sown from 1 March to 15 March" for a class whose label begins with that word."""
    found = _RANGE.search(clause)
    if not found or not owner.words:
        return None
    before = [token.term for token in tokens if found.start() - _BEFORE <= token.start < found.start()]
    return (found[1], found[2]) if owner.words[0] in before else None


def _figure_after(clause: str, start: int) -> str:
    """Give the first amount or date after a phrase, near it and in the same breath."""
    stop = regex.compile(r"[,;()]\s").search(clause, start)
    end = min(stop.start() if stop else len(clause), start + _REACH)
    places = [found for pattern in (_ONE_DATE, _AMOUNT) if (found := pattern.search(clause, start, end))]
    if not places:
        return ""
    first = min(places, key=lambda found: (found.start(), -found.end()))
    if regex.search(r"\p{Lu}[\p{L}-]*\s?$", clause[: first.start()]) or first[0].split()[-1].casefold() in _NO_UNIT:
        return _figure_after(clause, first.end())
    value: str = first[0]
    return value
