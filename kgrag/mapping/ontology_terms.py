"""The loaded ontologies as classes and properties that can be looked up by label or local name.

Queries read: ``og_rag/classes``, ``og_rag/properties``, ``og_rag/superclasses``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kgrag import queries
from kgrag.ports import TripleStore
from kgrag.vocab import local_name, words_of

__all__ = ["Concept", "Ontology", "Property", "read_ontology"]

_LABEL = 200
_LANGUAGES = ("en", "")


@dataclass(frozen=True, slots=True)
class Concept:
    """A class: its label on one line (its local name where it has none), and a comment."""

    iri: str
    label: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Property:
    """A property, with the classes that have it and what its values are, as IRIs."""

    iri: str
    label: str
    comment: str = ""
    domains: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ontology:
    """Classes and properties by IRI, and the classes above each class."""

    concepts: Mapping[str, Concept] = field(default_factory=dict)
    properties: Mapping[str, Property] = field(default_factory=dict)
    above: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Say whether there is anything in it."""
        return bool(self.concepts or self.properties)

    def concept(self, name: str) -> str:
        """Give the IRI of the class that a type names by IRI, prefixed name, local name or label; "" if none does."""
        if name in self.concepts:
            return name
        return self._concepts.get(words_of(local_name(name)), [""])[0] or self._concepts.get(words_of(name), [""])[0]

    def property_of(self, name: str, concept: str = "") -> str:
        """Give the IRI of the property that a key names, "" if none does; one of the class ``concept`` is preferred."""
        if name in self.properties:
            return name
        found = self._properties.get(words_of(name)) or self._properties.get(words_of(local_name(name))) or []
        near = {concept, *self.above.get(concept, ())}
        own = [iri for iri in found if near.intersection(self.properties[iri].domains)]
        free = [iri for iri in found if not self.properties[iri].domains]
        return next(iter([*own, *free, *found]), "")

    def named(self, name: str) -> list[str]:
        """Give the IRIs of all properties that a key names by label or local name."""
        return list(self._properties.get(words_of(name)) or self._properties.get(words_of(local_name(name))) or [])

    def properties_of(self, concept: str) -> list[Property]:
        """Give the properties of a class and of the classes above it, by label."""
        near = {concept, *self.above.get(concept, ())}
        found = {one.iri: one for iri in near for one in self._by_domain.get(iri, ())}
        return sorted(found.values(), key=lambda one: (one.label, one.iri))

    @cached_property
    def free_properties(self) -> list[Property]:
        """The properties that no class is named for, by label."""
        return sorted(
            (one for one in self.properties.values() if not one.domains), key=lambda one: (one.label, one.iri)
        )

    @cached_property
    def _concepts(self) -> dict[str, list[str]]:
        return _by_words(self.concepts.values())

    @cached_property
    def _properties(self) -> dict[str, list[str]]:
        return _by_words(self.properties.values())

    @cached_property
    def _by_domain(self) -> dict[str, list[Property]]:
        found: dict[str, list[Property]] = defaultdict(list)
        for one in self.properties.values():
            for domain in one.domains:
                found[domain].append(one)
        return found


def _by_words(terms: Iterable[Concept | Property]) -> dict[str, list[str]]:
    """Give IRIs by what they are called, spelled as words: those with that label first, then by IRI."""
    found: dict[str, dict[str, bool]] = defaultdict(dict)
    for term in sorted(terms, key=lambda term: term.iri):
        found[words_of(local_name(term.iri))].setdefault(term.iri, False)
        found[words_of(term.label)][term.iri] = True
    return {words: sorted(iris, key=lambda iri: (not iris[iri], iri)) for words, iris in found.items()}


def read_ontology(store: TripleStore) -> Ontology:
    """Give the classes and properties of every loaded ontology; an empty one when none is loaded."""
    catalogue = store.names.catalogue
    classes = store.select(queries.bind("og_rag/classes", catalogue=catalogue)).values()
    properties = store.select(queries.bind("og_rag/properties", catalogue=catalogue)).values()
    pairs = store.select(queries.bind("og_rag/superclasses", catalogue=catalogue)).values()
    above: dict[str, set[str]] = defaultdict(set)
    for below, upper in pairs:
        above[below].add(upper)
    return Ontology(
        concepts={iri: Concept(iri, *_wording(iri, rows)) for iri, rows in _grouped(classes).items()},
        properties={iri: _property(iri, rows) for iri, rows in _grouped(properties).items()},
        above={iri: frozenset(uppers) for iri, uppers in above.items()},
    )


def _grouped(rows: Iterable[tuple[str, ...]]) -> dict[str, list[tuple[str, ...]]]:
    found: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for iri, *rest in rows:
        found[iri].append(tuple(rest))
    return dict(found)


def _property(iri: str, rows: Sequence[tuple[str, ...]]) -> Property:
    domains = tuple(dict.fromkeys(row[3] for row in rows if row[3]))
    ranges = tuple(dict.fromkeys(row[4] for row in rows if row[4]))
    return Property(iri, *_wording(iri, rows), domains=domains, ranges=ranges)


def _wording(iri: str, rows: Sequence[tuple[str, ...]]) -> tuple[str, str]:
    """Give label and comment, each on one line: English or without language before others."""
    ranked = sorted(rows, key=lambda row: (not row[0], _rank(row[1]), row[0]))
    label = next((row[0] for row in ranked if row[0].strip()), local_name(iri))
    comment = next((row[2] for row in ranked if row[2].strip()), "")
    return _one_line(label), _one_line(comment)


def _rank(language: str) -> int:
    return _LANGUAGES.index(language[:2]) if language[:2] in _LANGUAGES else len(_LANGUAGES)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LABEL else f"{line[: _LABEL - 1]}…"
