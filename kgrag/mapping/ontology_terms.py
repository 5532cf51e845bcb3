"""The loaded ontologies as classes and properties that can be looked up by label or local name.

Query read: ``og_rag/ontology_terms``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kgrag import queries
from kgrag.ports import TripleStore
from kgrag.vocab import RDFS, local_name, words_of

__all__ = ["Concept", "Ontology", "Property", "read_ontology"]

_MAX_LABEL_CHARACTERS = 200
_PREFERRED_LANGUAGES = ("en", "")
_NAMING_WORDS = frozenset({"name", "title", "label", "headline"})
_NAMING_TERMS = frozenset({"prefLabel", "label", "name", "title", "headline"})


@dataclass(frozen=True, slots=True)
class Concept:
    """A class: its label on one line (its local name where it has none), and a comment."""

    iri: str
    label: str
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Property:
    """A property, with the classes that have it and the classes or datatypes of its values, as IRIs."""

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
        """Return whether it has any class or property."""
        return bool(self.concepts or self.properties)

    def concept(self, name: str) -> str:
        """Return the IRI of the class that a type names by IRI, prefixed name, local name or label; "" if none does."""
        if name in self.concepts:
            return name
        return self._concepts.get(words_of(local_name(name)), [""])[0] or self._concepts.get(words_of(name), [""])[0]

    def property_of(self, name: str, concept: str = "") -> str:
        """Return the IRI of the property that a key names, one of the class ``concept`` first; "" if none does."""
        if name in self.properties:
            return name
        named = self.named(name)
        classes = {concept, *self.above.get(concept, ())}
        own = [iri for iri in named if classes.intersection(self.properties[iri].domains)]
        free = [iri for iri in named if not self.properties[iri].domains]
        return next(iter([*own, *free, *named]), "")

    def named(self, name: str) -> list[str]:
        """Return the IRIs of all properties that a key names by label or local name."""
        return list(self._properties.get(words_of(name)) or self._properties.get(words_of(local_name(name))) or [])

    def properties_of(self, concept: str) -> list[Property]:
        """Return the properties of a class and of the classes above it, by label."""
        classes = {concept, *self.above.get(concept, ())}
        properties = {term for iri in classes for term in self._by_domain.get(iri, ())}
        return sorted(properties, key=lambda term: (term.label, term.iri))

    def naming(self, concept: str) -> str:
        """Return the label of the property that says what a thing of a class is called; "" where none does."""
        naming = [term for term in [*self.properties_of(concept), *self.free_properties] if _names(term)]
        return min(naming, key=lambda term: (len(term.label), term.label)).label if naming else ""

    def with_names(self) -> Ontology:
        """Return this ontology, with a property "name" (rdfs:label) of every class whose things no property names.

        Without one, a text that is mapped onto it has no place for what such a thing is called. A class gets none where
        one below it has a property of its own for that: what is of the lower class would have two names.
        """
        named = {iri for iri in self.concepts if self.naming(iri)}
        nameless = self.concepts.keys() - named - {upper for iri in named for upper in self.above.get(iri, ())}
        lower = {iri for iri in nameless if nameless.intersection(self.above.get(iri, ())) - {iri}}
        highest = tuple(sorted(nameless - lower))
        if not highest or RDFS.label.value in self.properties:
            return self
        name = Property(RDFS.label.value, "name", "What the text calls it.", highest if named else ())
        return replace(self, properties={**self.properties, name.iri: name})

    @cached_property
    def free_properties(self) -> list[Property]:
        """The properties without a domain among the classes, by label."""
        properties = [term for term in self.properties.values() if self.concepts.keys().isdisjoint(term.domains)]
        return sorted(properties, key=lambda term: (term.label, term.iri))

    @cached_property
    def _concepts(self) -> dict[str, list[str]]:
        return _by_words(self.concepts.values())

    @cached_property
    def _properties(self) -> dict[str, list[str]]:
        return _by_words(self.properties.values())

    @cached_property
    def _by_domain(self) -> dict[str, list[Property]]:
        by_domain: dict[str, list[Property]] = defaultdict(list)
        for term in self.properties.values():
            for domain in term.domains:
                by_domain[domain].append(term)
        return by_domain


def _names(term: Property) -> bool:
    """Return whether a property says what things are called: ``crop name``, ``title``, ``skos:prefLabel``."""
    last = words_of(term.label).rpartition(" ")[2]
    return last in _NAMING_WORDS or local_name(term.iri) in _NAMING_TERMS


def _by_words(terms: Iterable[Concept | Property]) -> dict[str, list[str]]:
    """Return IRIs by their names, spelled as words: those with that label first, then by IRI."""
    has_label: dict[str, dict[str, bool]] = defaultdict(dict)
    for term in sorted(terms, key=lambda term: term.iri):
        has_label[words_of(local_name(term.iri))].setdefault(term.iri, False)
        has_label[words_of(term.label)][term.iri] = True
    return {words: sorted(iris, key=lambda iri: (not iris[iri], iri)) for words, iris in has_label.items()}


def read_ontology(store: TripleStore) -> Ontology:
    """Return the classes and properties of every loaded ontology; an empty one when none is loaded."""
    rows = store.select(queries.bind("og_rag/ontology_terms", catalogue=store.names.catalogue)).values()
    classes = [row[1:5] for row in rows if row[0] == "class"]
    properties = [row[1:7] for row in rows if row[0] == "property"]
    above: dict[str, set[str]] = defaultdict(set)
    for what, below, *_, upper in rows:
        if what == "above":
            above[below].add(upper)
    terms = {}
    for iri, rows in _by_iri(properties).items():
        domains = tuple(dict.fromkeys(row[3] for row in rows if row[3]))
        ranges = tuple(dict.fromkeys(row[4] for row in rows if row[4]))
        terms[iri] = Property(iri, *_wording(iri, rows), domains=domains, ranges=ranges)
    return Ontology(
        concepts={iri: Concept(iri, *_wording(iri, rows)) for iri, rows in _by_iri(classes).items()},
        properties=terms,
        above={iri: frozenset(uppers) for iri, uppers in above.items()},
    )


def _by_iri(rows: Iterable[tuple[str, ...]]) -> dict[str, list[tuple[str, ...]]]:
    grouped: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for iri, *rest in rows:
        grouped[iri].append(tuple(rest))
    return grouped


def _wording(iri: str, rows: Sequence[tuple[str, ...]]) -> tuple[str, str]:
    """Return label and comment, each on one line: English or without language before others."""

    def rank(row: tuple[str, ...]) -> tuple[bool, int, str]:
        label, language = row[0], row[1][:2]
        preferred = language in _PREFERRED_LANGUAGES
        return not label, _PREFERRED_LANGUAGES.index(language) if preferred else len(_PREFERRED_LANGUAGES), label

    ranked = sorted(rows, key=rank)
    label = next((row[0] for row in ranked if row[0].strip()), local_name(iri))
    comment = next((row[2] for row in ranked if row[2].strip()), "")
    return _one_line(label), _one_line(comment)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LABEL_CHARACTERS else f"{line[: _MAX_LABEL_CHARACTERS - 1]}…"
