"""The slice of an ontology that a text is mapped onto, and which words of a text speak of it.

Things read from a text: a tree that grows, and is written as the objects of a JSON-LD ``@graph``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kgrag.llm.extractive.question_words import name_terms, term
from kgrag.vocab import local_name, words_of

__all__ = [
    "Class",
    "Property",
    "Slice",
    "Thing",
    "merged",
    "read_slice",
    "same_label",
    "written",
]

_NAMING = frozenset({"label", "name", "title"})
_MEASURES = frozenset({"amount", "dose", "quantiti", "rate", "valu"})
_VERBS = frozenset({"are", "has", "have", "is", "needs", "need", "with", "the", "list", "of"})
_ALIKE = 92.0


@dataclass(frozen=True)
class Property:
    """A property of a class: a name to write, and the class it leads to ("" for a literal)."""

    name: str
    range: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Terms of its label in order, without verbs of having and being."""
        return _phrase(self.name)

    @property
    def names_things(self) -> bool:
        """Whether its value is what a thing is called."""
        return not self.range and bool(_NAMING & set(words_of(self.name).split()))

    @property
    def measures(self) -> bool:
        """Whether it is a bare amount, so that the class says of what."""
        return not self.range and any(word in _MEASURES for word in self.words)


@dataclass(frozen=True)
class Class:
    """A class with its properties."""

    iri: str
    name: str
    properties: tuple[Property, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Terms of its label in order."""
        return _phrase(self.name)

    @cached_property
    def naming(self) -> Property | None:
        """The property that says what a thing of this class is called."""
        return next((item for item in self.properties if item.names_things), None)

    @cached_property
    def main(self) -> Property | None:
        """The property that a bare value is for: the name of a thing, else its amount, else its only literal."""
        literals = [item for item in self.properties if not item.range]
        measuring = [item for item in literals if item.measures]
        return self.naming or next(iter(measuring), literals[0] if len(literals) == 1 else None)

    def leading_to(self, other: Class) -> Property | None:
        """Give the property whose value is a thing of another class."""
        return next((item for item in self.properties if item.range == other.iri), None)

    def bounds(self) -> tuple[Property, Property] | None:
        """Give the properties that hold the first and the last day of a stretch of time."""
        literals = [item for item in self.properties if not item.range]
        first = [item for item in literals if {"start", "begin", "from"} & set(words_of(item.name).split())]
        last = [item for item in literals if {"end", "until", "to"} & set(words_of(item.name).split())]
        return (first[0], last[0]) if first and last else None


@dataclass(frozen=True)
class Slice:
    """The classes that a text may speak of."""

    classes: tuple[Class, ...]

    @cached_property
    def by_iri(self) -> Mapping[str, Class]:
        """Classes by IRI."""
        return {item.iri: item for item in self.classes}

    @cached_property
    def roots(self) -> tuple[Class, ...]:
        """Classes with a name that no property leads to."""
        ranges = {item.range for owner in self.classes for item in owner.properties}
        return tuple(item for item in self.classes if item.iri not in ranges and item.naming)

    def labelled(self, label: str) -> Iterator[tuple[Class, Property]]:
        """Yield the properties that a label in the text names, with the class that has them."""
        for owner in self.classes:
            for item in owner.properties:
                names = (item.name, f"{owner.name} {item.name}", f"{owner.name} {' '.join(item.words)}")
                if any(same_label(label, name) for name in names):
                    yield owner, item

    def heads(self, owner: Class) -> set[tuple[str, ...]]:
        """Give the phrases that speak of a class: its label, and its last word where no other class ends so."""
        if not owner.words:
            return set()
        last = owner.words[-1]
        alone = sum(last in item.words for item in self.classes) == 1
        return {owner.words, (last,)} if alone else {owner.words}


def same_label(label: str, name: str) -> bool:
    """Say whether a label in a text is a name of the ontology: the same terms, or all but a misspelling.

    >>> same_label("Seeding rates", "has_seeding_rate"), same_label("Sowing depth", "seeding depth")
    (True, False)
    """
    from rapidfuzz import fuzz

    left, right = _phrase(label), _phrase(name)
    if not left or not right:
        return False
    return sorted(left) == sorted(right) or (
        len(left) == len(right) and fuzz.ratio(" ".join(sorted(left)), " ".join(sorted(right))) >= _ALIKE
    )


def read_slice(data: Mapping[str, Any]) -> Slice:
    """Read the prompt's variable ``slice``; a range that is no class of the slice holds literals."""
    raw = list(data.get("classes") or ())
    known = {str(item["iri"]) for item in raw}
    return Slice(tuple(_read_class(item, known) for item in raw))


def _read_class(data: Mapping[str, Any], known: set[str]) -> Class:
    return Class(str(data["iri"]), _name(data), tuple(_read_properties(data.get("properties") or (), known)))


def _read_properties(data: Iterable[Mapping[str, Any]], known: set[str]) -> Iterator[Property]:
    for item in data:
        ends = str(item.get("range") or "")
        yield Property(_name(item), ends if ends in known else "")


def _name(data: Mapping[str, Any]) -> str:
    return str(data.get("label") or "").strip() or local_name(str(data["iri"]))


def _phrase(name: str) -> tuple[str, ...]:
    words = [word for word in words_of(name).split() if word not in _VERBS]
    return tuple(term(word) for word in words) or tuple(name_terms(name))


@dataclass(eq=False)
class Thing:
    """A thing of a class, with literal values (verbatim text) and things below it, by property name."""

    owner: Class
    literals: dict[str, list[str]] = field(default_factory=dict)
    below: dict[str, list[Thing]] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """Its name, or ""."""
        naming = self.owner.naming
        return self.literals.get(naming.name, [""])[0] if naming else ""

    def say(self, item: Property, value: str) -> None:
        """Add a literal value, once."""
        values = self.literals.setdefault(item.name, [])
        if value and value not in values:
            values.append(value)

    def put(self, item: Property, thing: Thing) -> None:
        """Put a thing below this one; one of the same name is joined with it."""
        self.below[item.name] = merged([*self.below.get(item.name, ()), thing])

    def join(self, other: Thing) -> None:
        """Take over what another thing holds."""
        for name, values in other.literals.items():
            mine = self.literals.setdefault(name, [])
            mine.extend(value for value in values if value not in mine)
        for name, things in other.below.items():
            self.below[name] = merged([*self.below.get(name, ()), *things])

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not any(self.literals.values()) and all(thing.empty for row in self.below.values() for thing in row)


def merged(things: Iterable[Thing]) -> list[Thing]:
    """Join things of the same class and name; things without a name stay apart unless they say the same."""
    kept: list[Thing] = []
    for thing in things:
        twin = next((other for other in kept if other is thing or _same(other, thing)), None)
        if twin is None:
            kept.append(thing)
        elif twin is not thing:
            twin.join(thing)
    return kept


def _same(left: Thing, right: Thing) -> bool:
    if left.owner is not right.owner:
        return False
    if left.called or right.called:
        return left.called.casefold() == right.called.casefold()
    return written([left]) == written([right])


def written(things: Iterable[Thing]) -> list[dict[str, Any]]:
    """Write things as JSON objects: one value as it is, several as a list; what says nothing is left out."""
    return [_written(thing) for thing in things if not thing.empty]


def _written(thing: Thing) -> dict[str, Any]:
    data: dict[str, Any] = {"@type": thing.owner.name}
    for name, values in thing.literals.items():
        if values:
            data[name] = values[0] if len(values) == 1 else values
    for name, things in thing.below.items():
        if objects := written(things):
            data[name] = objects[0] if len(objects) == 1 else objects
    return data
