"""Objects of an ontology that sentences state: names next to the word for their class, figures next to theirs.

The rules hold for most texts; a clause that could be read in two ways is passed over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.ontology_slices import DraftObject, OntologySlice, SliceClass, SliceProperty
from kgrag.llm.extractive.question_words import term
from kgrag.text.sentences import STOP_WORDS

__all__ = ["TypedName", "names_in", "read_clause", "split_clauses"]

_CLAUSE = late_regex(r";\s+|,\s+(?=(?:and|but|while|whereas)\s)")
_TOKEN = late_regex(r"[\p{L}\p{M}\p{N}]+(?:[-.,/'’](?=[\p{L}\p{N}])[\p{L}\p{M}\p{N}]+)*")
_NAME = r"(?:\p{Lu}[\p{L}\p{M}\p{N}'’.-]*|\p{N}[\p{N}-]*)"
_NAMES = late_regex(rf"\p{{Lu}}[\p{{L}}\p{{M}}\p{{N}}'’-]*(?:\s+{_NAME})*")
# "Brena is an early …", of a clause up to the word for a class
_X_IS_A = late_regex(rf"(?:and\s+)?({_NAMES.pattern})\s+(?:is|was)\s+an?\s+(?:[\p{{Ll}}-]+\s+){{0,3}}$")
_NEGATED = late_regex(r"\b(?:not|never|no|nor|neither|without|except|avoid\w*)\b|n['’]t\b", flags=regex.IGNORECASE)
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b"
)
_DATE = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}(?:\s+\d{{4}})?|{_MONTH}\s+\d{{1,2}}(?:,\s*\d{{4}})?|\d{{4}}-\d\d-\d\d)"
)
_RANGE = late_regex(rf"(?:from|between)\s+({_DATE})\s+(?:to|and|until|till)\s+({_DATE})")
_ONE_DATE = late_regex(_DATE)
_NUMBER = r"\p{N}[\p{N}.,]*(?<=\p{N})"
_UNIT = r"(?:%|°\s?[CF]|\p{L}[\p{L}²³]*(?:/\p{L}[\p{L}²³]*)*)"
_AMOUNT = late_regex(
    rf"{_NUMBER}(?:\s*(?:-|–|to)\s*{_NUMBER})?\s*{_UNIT}(?:\s+(?:per|a|an)\s+\p{{L}}+|\s+\p{{L}}+/\p{{L}}+)*"
)
_NO_UNITS = frozenset(
    {"and", "or", "to", "in", "at", "on", "of", "from", "is", "are", "was", "were", "by", "until", "with"}
)
_MAX_GAP_CHARACTERS = 60  # from a phrase to its figure
_MAX_CHARACTERS_BEFORE = 40  # from the word for a stretch of time to its first day


@dataclass(frozen=True)
class _Token:
    term: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class TypedName:
    """A name in the text, and the class of the object that it names."""

    owner: SliceClass
    name: str


def split_clauses(sentence: str) -> list[str]:
    """Split a sentence where a new statement begins.

    >>> split_clauses("CP 12-4 takes 80 kg, and CP 30-1 takes 95 kg.")
    ['CP 12-4 takes 80 kg', 'and CP 30-1 takes 95 kg.']
    """
    return [clause for clause in _CLAUSE.split(sentence) if clause.strip()]


def read_clause(clause: str, ontology: OntologySlice, known: Collection[TypedName] = ()) -> list[DraftObject]:
    """Return the objects that a clause names, with its statements about them.

    Of a clause that denies, or that names several objects of one class, only the names are taken.

    Args:
        clause: a sentence or a part of one.
        ontology: the classes that may be named.
        known: names found elsewhere in the text; here they need no word for their class next to them.
    """
    tokens = _tokens(clause)
    whole_words = {name: rf"(?<![\p{{L}}\p{{N}}]){regex.escape(name.name)}(?![\p{{L}}\p{{N}}-])" for name in known}
    repeated = [name for name in known if regex.search(whole_words[name], clause)]
    names = list(dict.fromkeys([*_names(clause, tokens, ontology), *repeated]))
    objects = [DraftObject(name.owner) for name in names]
    for draft, name in zip(objects, names, strict=True):
        if name.owner.naming:
            draft.add(name.owner.naming, name.name)
    by_class = {draft.owner: draft for draft in objects}
    if _NEGATED.search(clause) or len(by_class) < len(objects):
        return objects
    _add_figures(clause, tokens, ontology, by_class)
    return _nested(list(by_class.values()))


def names_in(clause: str, ontology: OntologySlice) -> list[TypedName]:
    """Return the names next to the word for their class."""
    return list(_names(clause, _tokens(clause), ontology))


def _tokens(clause: str) -> list[_Token]:
    return [_Token(term(match[0]), match[0], match.start(), match.end()) for match in _TOKEN.finditer(clause)]


def _nested(objects: Sequence[DraftObject]) -> list[DraftObject]:
    """Put each object below the only other one that has a property for it; return the named ones of the others."""
    top = []
    for draft in objects:
        parents = [
            (other, item) for other in objects if (item := other.owner.leading_to(draft.owner)) and other is not draft
        ]
        if len(parents) == 1 and not draft.owner.leading_to(parents[0][0].owner):
            parents[0][0].put(parents[0][1], draft)
        elif not parents:
            top.append(draft)
    return [draft for draft in top if draft.name or any(child.name for row in draft.below.values() for child in row)]


def _names(clause: str, tokens: Sequence[_Token], ontology: OntologySlice) -> Iterator[TypedName]:
    for owner in ontology.classes:
        if not owner.naming:
            continue
        for first, last in _places(tokens, ontology.heads(owner)):
            name = _name_after(clause, tokens[last]) or _name_before(clause, tokens, first, last)
            if not name and (opening := _X_IS_A.match(clause[: tokens[first].start])):
                name = "" if _is_common(opening[1]) else opening[1]
            if name:
                yield TypedName(owner, name)


def _places(tokens: Sequence[_Token], phrases: set[tuple[str, ...]]) -> Iterator[tuple[int, int]]:
    """Yield first and last token of the phrases in a clause, the longest at each place."""
    taken = -1
    for first in range(len(tokens)):
        if first <= taken:
            continue
        for phrase in sorted(phrases, key=len, reverse=True):
            if tuple(token.term for token in tokens[first : first + len(phrase)]) == phrase:
                taken = first + len(phrase) - 1
                yield first, taken
                break


def _name_after(clause: str, token: _Token) -> str:
    """Return the name straight behind the word for a class: "variety CP 12-4"."""
    if not clause[token.end :].startswith(" "):
        return ""
    name = _NAMES.match(clause, token.end + 1)
    return name[0] if name and not _is_common(name[0]) else ""


def _name_before(clause: str, tokens: Sequence[_Token], first: int, last: int) -> str:
    """Return the name straight before the word for a class, with that word when it is capitalised: "Hill Zone"."""
    start = first
    while start and tokens[start - 1].text[0].isupper() and clause[tokens[start - 1].end : tokens[start].start] == " ":
        start -= 1
    while start < first and _is_common(tokens[start].text):
        start += 1
    if start == first or (start == 0 and first == 1 and not tokens[first].text[0].isupper()):
        return ""
    ends = last if tokens[first].text[0].isupper() else first - 1
    return clause[tokens[start].start : tokens[ends].end]


def _is_common(name: str) -> bool:
    return all(word.casefold() in STOP_WORDS for word in name.split())


def _add_figures(
    clause: str, tokens: Sequence[_Token], ontology: OntologySlice, objects: dict[SliceClass, DraftObject]
) -> None:
    """Add the figures of a clause to the object that they are about; a class without names gets a new object."""
    present = frozenset(token.term for token in tokens)
    for owner in ontology.classes:
        figures = dict(_figures(clause, tokens, owner, present))
        if not figures:
            continue
        if owner not in objects:
            if owner.naming or not any(other.leading_to(owner) for other in objects):
                continue
            objects[owner] = DraftObject(owner)
        for item, value in figures.items():
            objects[owner].add(item, value)


def _figures(
    clause: str, tokens: Sequence[_Token], owner: SliceClass, present: frozenset[str]
) -> Iterator[tuple[SliceProperty, str]]:
    """Yield the properties of a class whose figures a clause states; ``present`` are the terms of its tokens."""
    if owner.bounds and (days := _first_and_last_day(clause, tokens, owner)):
        yield from zip(owner.bounds, days, strict=True)
    for item, phrases in owner.figured:
        # most properties of an ontology are in no clause: their phrases are looked for only where all terms stand
        named = {phrase for phrase in phrases if present.issuperset(phrase)}
        for _, last in _places(tokens, named) if named else ():
            if value := _figure_after(clause, tokens[last].end):
                yield item, value
                break


def _first_and_last_day(clause: str, tokens: Sequence[_Token], owner: SliceClass) -> tuple[str, str] | None:
    """Return both days of "sown from 1 March to 15 March" for a class whose label begins with "sowing"."""
    days = _RANGE.search(clause)
    if not days or not owner.words:
        return None
    before = range(days.start() - _MAX_CHARACTERS_BEFORE, days.start())
    is_named = any(token.term == owner.words[0] and token.start in before for token in tokens)
    return (days[1], days[2]) if is_named else None


def _figure_after(clause: str, start: int) -> str:
    """Return the first amount or date after a phrase, near it and before the next comma, bracket or semicolon."""
    stop = regex.compile(r"[,;()]\s").search(clause, start)
    end = min(stop.start() if stop else len(clause), start + _MAX_GAP_CHARACTERS)
    matches = [match for pattern in (_ONE_DATE, _AMOUNT) if (match := pattern.search(clause, start, end))]
    if not matches:
        return ""
    first = min(matches, key=lambda match: (match.start(), -match.end()))
    # "Apollo 11 landed": the number of a name is no figure, and "1,533 and" no amount.
    if regex.search(r"\p{Lu}[\p{L}-]*\s?$", clause[: first.start()]) or first[0].split()[-1].casefold() in _NO_UNITS:
        return _figure_after(clause, first.end())
    value: str = first[0]
    return value
