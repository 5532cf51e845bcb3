"""How a part of the schema is written for a model: a line per class, and under it a line per property of its things.

What the data have stands beside what the ontology states: how many things a class has, which datatype values have and
what one looks like, which property leads to what where the ontology does not say, and what no thing has. Labels,
comments and samples come from strangers: each is cut, put on one line and shown as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.model import plain
from kgrag.querying.data_profile import DataProfile, PropertyProfile, one_line
from kgrag.vocab import RDF, RDFS, XSD, local_name, words_of

__all__ = ["Details", "SliceWriter", "mentioned"]

_MAX_LABEL_CHARACTERS, _MAX_COMMENT_CHARACTERS, _MAX_SAMPLE_CHARACTERS = 80, 160, 24
_MAX_LISTED = 6
_MAX_CLASSES_PER_PROPERTY = 3
_MAX_DATATYPES = 2
_PROPERTY_KINDS = frozenset({"Property", "ObjectProperty", "DatatypeProperty", "AnnotationProperty"})
_ANY = ""
_ALIKE = frozenset({XSD.date.value, XSD.dateTime.value})
_BARE = frozenset({XSD.integer, XSD.decimal, XSD.double, XSD.boolean})

Details = Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class SliceWriter:
    """Writes terms: ``details`` are what ontologies state of them, ``profile`` is what the data have of them."""

    details: Details
    profile: DataProfile
    prefixes: Mapping[str, str]

    def text(self, terms: Sequence[str], longest: int) -> tuple[str, bool]:
        """Return the lines of terms and whether all are there; where too long, those that come first in ``terms``.

        Classes are in the order of their names, and so are the properties of each, whatever the question.
        """
        known = [term for term in terms if term in self.details]
        low, high = 0, len(known)
        while low < high:  # the most terms that fit
            middle = (low + high + 1) // 2
            low, high = (middle, high) if len(self._written(known[:middle])) <= longest else (low, middle - 1)
        return self._written(known[:low]), low == len(known)

    def _written(self, terms: Sequence[str]) -> str:
        under: dict[str, list[str]] = {term: [] for term in terms if not self._is_property(term)}
        for term in terms:
            for name in self._classes_of(term) if self._is_property(term) else ():
                under.setdefault(name, []).append(term)
        lines: list[str] = []
        seen: set[str] = set()
        for name in sorted(under, key=lambda name: (name == _ANY, self.short(name))):
            lines.append(self._class_line(name, detailed=name in terms))
            lines += [f"  {self._property_line(term, name, seen)}" for term in sorted(under[name], key=self.short)]
            lines += self._labels_of(name)
        return "\n".join(lines)

    def _is_property(self, term: str) -> bool:
        return any(local_name(kind) in _PROPERTY_KINDS for kind in self.details[term].get("kind", ()))

    def _classes_of(self, term: str) -> list[str]:
        """Return the classes that a property is listed under: its domain, or else what has it in the data, if few."""
        stated = list(self.details[term].get("domain", ()))
        if stated:
            return stated[:_MAX_CLASSES_PER_PROPERTY]
        used = self.profile.properties.get(term)
        by_use = sorted(name for name in used.domains if name) if used is not None else []
        return by_use if 0 < len(by_use) <= _MAX_CLASSES_PER_PROPERTY else [_ANY]

    def _class_line(self, name: str, *, detailed: bool) -> str:
        if name == _ANY:
            return "any class"
        details = self.details.get(name, {}) if detailed else {}
        count = self.profile.instances(name)
        things = f" ({count:,})" if self.profile.classes else ""
        parts = [f"class {self.short(name)}{things}", *self._label(name, details)]
        if details.get("super"):
            parts.append(f"below {self._listed(details['super'])}")
        return "; ".join(parts) + _comment(details)

    def _property_line(self, term: str, name: str, seen: set[str]) -> str:
        details, used = self.details[term], self.profile.properties.get(term)
        parts = [f"{self.short(term)} {self._leads_to(details, used, seen)}", *self._label(term, details)]
        further = [each for each in details.get("domain", ())[_MAX_CLASSES_PER_PROPERTY:] if each != name]
        if further:
            parts.append(f"also of {self._listed(further)}")
        if details.get("super"):
            parts.append(f"below {self._listed(details['super'])}")
        if details.get("inverse"):
            parts.append(f"inverse of {self._listed(details['inverse'])}")
        if used is None and self.profile.properties:
            parts.append("nothing has it")
        return "; ".join(parts) + _comment(details)

    def _leads_to(self, details: Mapping[str, Sequence[str]], used: PropertyProfile | None, seen: set[str]) -> str:
        """Return what a property leads to: the datatypes of its values with a sample, or the classes of things.

        All dates of a datatype are written alike, so the first sample will do; ``seen`` are the datatypes of these.
        """
        if used is not None and used.datatypes:
            kinds = sorted(used.datatypes, key=lambda kind: (-used.datatypes[kind], kind))[:_MAX_DATATYPES]
            known = seen.issuperset(kinds)
            seen |= _ALIKE.intersection(kinds)
            sample = "" if known else next((_sample(each) for each in used.samples if isinstance(each, ox.Literal)), "")
            return " or ".join(map(self._datatype, kinds)) + (f", e.g. {sample}" if sample else "")
        stated = list(details.get("range", ()))
        if not stated and used is not None:
            stated = [name for name in used.ranges if name]
        return f"to {self._listed(stated)}" if stated else "to anything"

    def _datatype(self, iri: str) -> str:
        return "text" if iri in (XSD.string.value, RDF.langString.value) else self.short(iri)

    def _labels_of(self, name: str) -> Iterator[str]:
        """Yield a line for ``rdfs:label`` where things of the class have one, though no ontology needs to say so."""
        used = self.profile.properties.get(RDFS.label.value)
        if used is not None and name and used.domains.get(name) and RDFS.label.value not in self.details:
            yield f"  {self.short(RDFS.label.value)} text"

    def _label(self, term: str, details: Mapping[str, Sequence[str]]) -> Iterator[str]:
        """Yield the labels that say something that the name does not."""
        labels = dict.fromkeys(_flat(label, _MAX_LABEL_CHARACTERS) for label in details.get("label", ()))
        telling = [label for label in labels if label and words_of(label) != words_of(local_name(term))]
        if telling:
            yield " / ".join(f'"{label}"' for label in telling[:2])

    def _listed(self, iris: Sequence[str]) -> str:
        shown = [self.short(iri) for iri in iris[:_MAX_LISTED]]
        return " or ".join([*shown, *(["…"] if len(iris) > _MAX_LISTED else [])])

    def short(self, iri: str) -> str:
        """Return an IRI as a query would write it."""
        for prefix, namespace in self.prefixes.items():
            local = iri.removeprefix(namespace)
            if local != iri and re.fullmatch(r"[A-Za-z_0-9](?:[\w-]*\w)?", local):
                return f"{prefix}:{local}"
        return f"<{iri}>"


def mentioned(terms: Iterable[str], details: Details, profile: DataProfile) -> list[str]:
    """Return the IRIs that the lines of terms write out, each once: the terms, and what they are said to lead to."""
    found = dict.fromkeys(terms)
    for term in terms:
        stated = details.get(term, {})
        for kind in ("super", "domain", "range", "inverse"):
            found |= dict.fromkeys(stated.get(kind, ()))
        used = profile.properties.get(term)
        if used is not None:
            found |= dict.fromkeys(name for name in (*used.domains, *used.ranges, *used.datatypes) if name)
    label = profile.properties.get(RDFS.label.value)
    if label is not None and any(label.domains.get(name) for name in found):
        found[RDFS.label.value] = None
    return [iri for iri in found if iri not in (XSD.string.value, RDF.langString.value)]


def _sample(value: ox.Literal) -> str:
    text = _flat(plain(value), _MAX_SAMPLE_CHARACTERS)
    return text if value.datatype in _BARE else f'"{text}"' if text else ""


def _comment(details: Mapping[str, Sequence[str]]) -> str:
    comment = _flat(next(iter(details.get("comment", ())), ""), _MAX_COMMENT_CHARACTERS)
    return f" -- {comment}" if comment else ""


def _flat(text: str, longest: int) -> str:
    return one_line(text.replace('"', "'"), longest)
