"""What a question asks of which thing, as a plan: "the mother of the director of X" is X, then director, then mother.

The thing is a title of the evidence that the question names, else a name in it. Relations of the question (``named_
relations``) are put in order by how near they are to it; an attribute comes last. Two things of which the same is asked
are compared.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import regex

from kgrag.llm.extractive.named_relations import RELATIONS, Relation
from kgrag.llm.extractive.question_types import asked_for

__all__ = ["Comparison", "Plan", "Thing", "key_of", "plan_of"]

Comparison = Literal["", "earliest", "latest", "longest", "same", "both"]

_BY_NAME = {relation.name: relation for relation in RELATIONS}
_KINSHIP: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"paternal grandfather", ("father", "father")),
    (r"paternal grandmother", ("father", "mother")),
    (r"maternal grandfather", ("mother", "father")),
    (r"maternal grandmother", ("mother", "mother")),
    (r"father-in-law", ("spouse", "father")),
    (r"mother-in-law", ("spouse", "mother")),
    (r"stepmother", ("father", "spouse")),
    (r"stepfather", ("mother", "spouse")),
    (r"(?:sibling|brother|sister)-in-law", ("spouse", "sibling")),
    (r"(?:uncle|aunt)", ("father", "sibling")),
    (r"grandfather", ("father", "father")),
    (r"grandmother", ("father", "mother")),
)
_LATEST = regex.compile(
    r"\b(?:later|latest|younger|youngest|more recent(?:ly)?|most recent(?:ly)?|newer|newest|last|second)\b", regex.I
)
_EARLIEST = regex.compile(r"\b(?:first|earlier|earliest|older|oldest|before)\b", flags=regex.IGNORECASE)
_LONGEST = regex.compile(r"\b(?:lived (?:a )?longer|longer life|longest life)\b", flags=regex.IGNORECASE)
_SAME = regex.compile(r"\b(?:same|share|common)\b", flags=regex.IGNORECASE)
_BOTH = regex.compile(r"\bboth\b", flags=regex.IGNORECASE)
_SPAN = regex.compile(
    r"\p{Lu}[\p{L}\p{M}\p{N}.'’&!:-]*(?:\s+(?:(?:of|the|de|la|and|von|van|in|to|on|for|a|ibn|bin)\s+){0,2}\p{Lu}[\p{L}\p{M}\p{N}.'’&!:-]*)*"
)
_QUOTED = regex.compile(r"[\"“]([^\"”]+)[\"”]")
_BRACKETS = regex.compile(r"\s*\([^)]*\)")
_MIN_TITLE_CHARACTERS = 3


@dataclass(frozen=True)
class Thing:
    """A thing that a question names: its words there, and where they are (in the key of the question)."""

    text: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """Its name as it is compared."""
        return key_of(self.text)


@dataclass(frozen=True)
class Plan:
    """What is asked: of which things, over which links, which attribute; how two things are compared."""

    things: tuple[Thing, ...]
    links: tuple[Relation, ...] = ()
    attribute: Relation | None = None
    comparison: Comparison = ""
    options: tuple[str, ...] = field(default=())
    rest: str = field(default="", compare=False)
    """The words of the question that neither name a thing nor ask for a relation."""


def key_of(name: str) -> str:
    """Return a name as it is compared: without accents, case, punctuation and what stands in brackets.

    >>> key_of("Aldri annet enn Bråk (film)") == key_of("Aldri Annet Enn Bråk")
    True
    """
    bare = unicodedata.normalize("NFKD", _BRACKETS.sub("", name) or name)
    kept = "".join(one for one in bare if not unicodedata.combining(one)).casefold().replace("ł", "l")
    plain = regex.sub(r"[^\p{L}\p{N}\s'’]", " ", regex.sub(r"(?<=\p{L})['’]s\b", "", kept))
    return " ".join(regex.sub(r"['’]", "", plain).split())


def plan_of(question: str, titles: Iterable[str]) -> Plan:
    """Return what a question asks; ``titles`` are those of the evidence."""
    asked = asked_for(question)
    whole = key_of(question.replace("(", " ").replace(")", " "))
    things = _things(question, whole, titles, asked.options)
    outside = _without(whole, things)
    links, attribute = _relations(outside, things, question)
    comparison = _comparison(question, things, asked.kind)
    rest = outside
    for relation in (*links, *([attribute] if attribute else ())):
        rest = relation.asks.sub(" ", rest)
    return Plan(things, links, attribute, comparison, asked.options, rest)


def _things(question: str, whole: str, titles: Iterable[str], options: Sequence[str]) -> tuple[Thing, ...]:
    """Return the titles that a question has, those in options that name none as they are; else its last name."""
    found: list[Thing] = []
    for title in sorted(set(titles), key=len, reverse=True):
        key = key_of(title)
        if len(key) < _MIN_TITLE_CHARACTERS:
            continue
        full = key_of(title.replace("(", " ").replace(")", " "))
        match = _find(full, whole) or _find(key, whole)
        if match and not any(match[0] < one.end and one.start < match[1] for one in found):
            found.append(Thing(title, *match))
    for option in options:
        match = _find(key_of(option.replace("(", " ").replace(")", " ")), whole) or _find(key_of(option), whole)
        if match and not any(match[0] < one.end and one.start < match[1] for one in found):
            found.append(Thing(option, *match))
    if not found:
        for name in [*_QUOTED.findall(question), *_SPAN.findall(question)[::-1]]:
            match = _find(key_of(regex.sub(r"['’]s?$", "", name)), whole)
            if match and match[0] > 0:
                found.append(Thing(name, *match))
                break
    return tuple(sorted(found, key=lambda one: one.start))


def _find(key: str, whole: str) -> tuple[int, int] | None:
    if not key:
        return None
    match = regex.search(rf"(?<!\w){regex.escape(key)}(?:s)?(?!\w)", whole)
    return (match.start(), match.end()) if match else None


def _without(whole: str, things: Sequence[Thing]) -> str:
    """Return the key of a question with blanks in the place of the things that it names."""
    for one in things:
        whole = whole[: one.start] + " " * (one.end - one.start) + whole[one.end :]
    return whole


def _relations(outside: str, things: Sequence[Thing], question: str) -> tuple[tuple[Relation, ...], Relation | None]:
    """Return the links, nearest to the thing first, and the attribute."""
    asked_kind = asked_for(question).kind
    places: list[tuple[int, int, Relation]] = []
    for phrase, names in _KINSHIP:
        pattern = phrase.replace("-", "[ -]")
        if match := regex.search(rf"\b{pattern}\b", outside):
            places += [
                (_distance(match.start(), match.end(), things), at, _BY_NAME[name]) for at, name in enumerate(names)
            ]
            outside = outside[: match.start()] + " " * (match.end() - match.start()) + outside[match.end() :]
            break
    attribute = None
    for relation in RELATIONS:
        match = relation.asks.search(outside)
        if match is None:
            continue
        if not relation.link:
            if attribute is None and _fits(relation, asked_kind, outside):
                attribute = relation
            continue
        # the last word of "who did X marry" and "when did X's mother die" alike is nearest
        spot = match.group(0)
        at = outside.rfind(spot) if outside.count(spot) == 1 else match.start()
        places.append((_distance(at, at + len(spot), things), 0, relation))
    places.sort(key=lambda one: one[:2])
    return tuple(relation for *_, relation in places), attribute


def _fits(relation: Relation, kind: str, outside: str) -> bool:
    """Return whether a relation is of the kind that is asked for: "where … born" is no date."""
    if kind == "place":
        return relation.kind in ("place", "name", "nationality")
    if kind == "date":
        return relation.kind == "date"
    if kind == "person":
        return relation.kind == "date" and bool(_EARLIEST.search(outside) or _LATEST.search(outside))
    return True


def _distance(start: int, end: int, things: Sequence[Thing]) -> int:
    return min((min(abs(one.start - end), abs(start - one.end)) for one in things), default=start)


def _comparison(question: str, things: Sequence[Thing], kind: str) -> Comparison:
    if kind == "choice" or (len(things) > 1 and kind != "boolean" and regex.search(r"\b(?:or|and)\b", question)):
        if _LONGEST.search(question):
            return "longest"
        if _LATEST.search(question):
            return "latest"
        return "earliest" if _EARLIEST.search(question) else ""
    if kind == "boolean" and len(things) > 1:
        return "same" if _SAME.search(question) else "both"
    return ""
