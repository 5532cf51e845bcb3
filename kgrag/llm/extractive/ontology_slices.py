"""The part of an ontology that a text is mapped onto, and the objects that are read from the text.

Classes and properties are compared by the terms of their labels. Objects are trees that grow while a text is read, and
are written as the objects of a JSON-LD ``@graph``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from kgrag.llm.extractive.question_words import name_terms, term
from kgrag.vocab import local_name, words_of

__all__ = [
    "DraftObject",
    "OntologySlice",
    "SliceClass",
    "SliceProperty",
    "merged",
    "read_slice",
    "same_label",
    "written",
]

_NAMING_WORDS = frozenset({"label", "name", "title"})
_MEASURE_TERMS = frozenset({"amount", "dose", "quantiti", "rate", "valu"})
_IGNORED_WORDS = frozenset({"are", "has", "have", "is", "needs", "need", "with", "the", "list", "of"})
_FIRST_DAY_WORDS = frozenset({"start", "begin", "from"})
_LAST_DAY_WORDS = frozenset({"end", "until", "to"})


@dataclass(frozen=True)
class SliceProperty:
    """A property of a class: the name to write, and the class of its values ("" for literals)."""

    name: str
    range: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Terms of its label in order, without verbs of having and being."""
        return _phrase(self.name)

    @cached_property
    def is_name(self) -> bool:
        """Whether its value is the name of an object."""
        return not self.range and bool(_NAMING_WORDS & set(words_of(self.name).split()))

    @cached_property
    def is_measure(self) -> bool:
        """Whether it is a bare amount, so that the class names what is measured."""
        return not self.range and any(word in _MEASURE_TERMS for word in self.words)


@dataclass(frozen=True)
class SliceClass:
    """A class with its properties."""

    iri: str
    name: str
    properties: tuple[SliceProperty, ...]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Terms of its label in order."""
        return _phrase(self.name)

    @cached_property
    def literals(self) -> tuple[SliceProperty, ...]:
        """Its properties with literal values."""
        return tuple(item for item in self.properties if not item.range)

    @cached_property
    def naming(self) -> SliceProperty | None:
        """The property with the name of an object of this class."""
        return next((item for item in self.properties if item.is_name), None)

    @cached_property
    def main(self) -> SliceProperty | None:
        """The property that a bare value belongs to: the name, else the amount, else the only literal."""
        measure = next((item for item in self.literals if item.is_measure), None)
        return self.naming or measure or (self.literals[0] if len(self.literals) == 1 else None)

    def leading_to(self, other: SliceClass) -> SliceProperty | None:
        """Return the property whose values are objects of another class."""
        return next((item for item in self.properties if item.range == other.iri), None)

    @cached_property
    def figured(self) -> tuple[tuple[SliceProperty, frozenset[tuple[str, ...]]], ...]:
        """Its properties that a figure may be the value of, with the phrases that stand before such a figure."""
        literals = [item for item in self.literals if not item.is_name]
        measures = [item for item in literals if item.is_measure]
        return tuple(
            (item, frozenset({self.words if measures == [item] else item.words, (*self.words, *item.words)}))
            for item in literals
        )

    @cached_property
    def bounds(self) -> tuple[SliceProperty, SliceProperty] | None:
        """The properties with the first and the last day of a stretch of time."""
        first = [item for item in self.literals if _FIRST_DAY_WORDS & set(words_of(item.name).split())]
        last = [item for item in self.literals if _LAST_DAY_WORDS & set(words_of(item.name).split())]
        return (first[0], last[0]) if first and last else None


@dataclass(frozen=True)
class OntologySlice:
    """The classes that a text may be about."""

    classes: tuple[SliceClass, ...]

    @cached_property
    def by_iri(self) -> Mapping[str, SliceClass]:
        """Classes by IRI."""
        return {item.iri: item for item in self.classes}

    @cached_property
    def roots(self) -> tuple[SliceClass, ...]:
        """Classes with a name that no property leads to."""
        ranges = {item.range for owner in self.classes for item in owner.properties}
        return tuple(item for item in self.classes if item.iri not in ranges and item.naming)

    def labelled(self, label: str) -> Iterator[tuple[SliceClass, SliceProperty]]:
        """Yield the properties that a label in the text names, with their classes."""
        terms = tuple(sorted(_phrase(label)))
        if terms:
            yield from self._by_terms.get(terms, ())

    @cached_property
    def _by_terms(self) -> Mapping[tuple[str, ...], tuple[tuple[SliceClass, SliceProperty], ...]]:
        """Properties with their classes by the sorted terms of their names, alone and behind that of the class."""
        found: dict[tuple[str, ...], dict[tuple[int, int], tuple[SliceClass, SliceProperty]]] = {}
        for place, owner in enumerate(self.classes):
            for number, item in enumerate(owner.properties):
                for name in (item.name, f"{owner.name} {item.name}", f"{owner.name} {' '.join(item.words)}"):
                    found.setdefault(tuple(sorted(_phrase(name))), {})[place, number] = (owner, item)
        return {terms: tuple(pairs.values()) for terms, pairs in found.items()}

    @cached_property
    def _classes_with(self) -> Counter[str]:
        """In the labels of how many classes each term stands."""
        return Counter(word for item in self.classes for word in set(item.words))

    def heads(self, owner: SliceClass) -> set[tuple[str, ...]]:
        """Return the phrases that name a class: its label, and the last word of that where no other label has it."""
        if not owner.words:
            return set()
        last = owner.words[-1]
        return {owner.words, (last,)} if self._classes_with[last] == 1 else {owner.words}


def same_label(label: str, name: str) -> bool:
    """Return whether a label in a text is a name of the ontology: whether both have the same terms.

    >>> same_label("Seeding rates", "has_seeding_rate"), same_label("Sowing depth", "seeding depth")
    (True, False)
    """
    terms = sorted(_phrase(label))
    return bool(terms) and terms == sorted(_phrase(name))


def read_slice(data: Mapping[str, Any]) -> OntologySlice:
    """Read the prompt's variable ``slice``; a property whose range is no class of the slice has literal values."""
    rows = list(data.get("classes") or ())
    known = {str(row["iri"]) for row in rows}
    classes = []
    for row in rows:
        ranges = [(_label(item), str(item.get("range") or "")) for item in row.get("properties") or ()]
        properties = tuple(SliceProperty(label, range_ if range_ in known else "") for label, range_ in ranges)
        classes.append(SliceClass(str(row["iri"]), _label(row), properties))
    return OntologySlice(tuple(classes))


def _label(data: Mapping[str, Any]) -> str:
    return str(data.get("label") or "").strip() or local_name(str(data["iri"]))


@lru_cache(maxsize=2**14)
def _phrase(name: str) -> tuple[str, ...]:
    words = [word for word in words_of(name).split() if word not in _IGNORED_WORDS]
    return tuple(term(word) for word in words) or tuple(name_terms(name))


@dataclass(eq=False)
class DraftObject:
    """An object of a class, with literal values (verbatim text) and objects below it, by property name."""

    owner: SliceClass
    literals: dict[str, list[str]] = field(default_factory=dict)
    below: dict[str, list[DraftObject]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name, or ""."""
        naming = self.owner.naming
        return self.literals.get(naming.name, [""])[0] if naming else ""

    @property
    def empty(self) -> bool:
        """Whether it states nothing."""
        return not any(self.literals.values()) and all(child.empty for row in self.below.values() for child in row)

    def add(self, item: SliceProperty, value: str) -> None:
        """Add a literal value, once."""
        values = self.literals.setdefault(item.name, [])
        if value and value not in values:
            values.append(value)

    def put(self, item: SliceProperty, child: DraftObject) -> None:
        """Put an object below this one; it is joined with one of the same name."""
        self.below[item.name] = merged([*self.below.get(item.name, ()), child])

    def join(self, other: DraftObject) -> None:
        """Take over the values and objects of another object."""
        for name, values in other.literals.items():
            own = self.literals.setdefault(name, [])
            own.extend(value for value in values if value not in own)
        for name, children in other.below.items():
            self.below[name] = merged([*self.below.get(name, ()), *children])


def merged(objects: Iterable[DraftObject]) -> list[DraftObject]:
    """Join objects of the same class and name; objects without a name only if they state the same."""
    kept: list[DraftObject] = []
    for draft in objects:
        twin = next((other for other in kept if other is draft or _same(other, draft)), None)
        if twin is None:
            kept.append(draft)
        elif twin is not draft:
            twin.join(draft)
    return kept


def _same(left: DraftObject, right: DraftObject) -> bool:
    if left.owner is not right.owner:
        return False
    if left.name or right.name:
        return left.name.casefold() == right.name.casefold()
    return written([left]) == written([right])


def written(objects: Iterable[DraftObject]) -> list[dict[str, Any]]:
    """Return objects as JSON: one value as it is, several as a list; empty objects are left out."""
    rows = []
    for draft in objects:
        if draft.empty:
            continue
        row: dict[str, Any] = {"@type": draft.owner.name}
        children: list[tuple[str, list[Any]]] = [(name, written(below)) for name, below in draft.below.items()]
        values = [*draft.literals.items(), *children]
        row |= {name: items[0] if len(items) == 1 else items for name, items in values if items}
        rows.append(row)
    return rows
