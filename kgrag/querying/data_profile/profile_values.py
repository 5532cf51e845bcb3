"""``DataProfile``: what facts have, as values; as JSON and as text for a person.

Labels and samples come from strangers' data: in the text each is put on one line and cut, and nothing else is done
with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from kgrag.model import plain
from kgrag.querying.data_profile.profile_counts import UNTYPED
from kgrag.vocab import local_name

__all__ = ["ClassProfile", "DataProfile", "PropertyProfile", "one_line"]

_MAX_SHOWN = 4
_MAX_SAMPLE_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class ClassProfile:
    """A class: how many things have it, by themselves and not by a subclass; 0 for one that is only defined."""

    iri: str
    instances: int
    label: str = ""


@dataclass(frozen=True, slots=True)
class PropertyProfile:
    """A property as it is used: counts are of distinct statements, ``subjects`` of things that have it.

    ``domains`` and ``ranges`` have the classes of subjects and objects, "" for things without a class; ``datatypes``
    those of literals. ``samples`` are a few of its values.
    """

    iri: str
    statements: int
    subjects: int
    label: str = ""
    domains: Mapping[str, int] = field(default_factory=dict)
    ranges: Mapping[str, int] = field(default_factory=dict)
    datatypes: Mapping[str, int] = field(default_factory=dict)
    samples: tuple[ox.NamedNode | ox.Literal, ...] = ()


@dataclass(frozen=True, slots=True)
class DataProfile:
    """What the facts of a knowledge base have, at a revision: classes, and properties as they are used.

    ``classes`` has those with instances, ``empty`` those that ontologies define and no thing has; both by IRI.
    """

    revision: int
    triples: int
    classes: Mapping[str, ClassProfile]
    properties: Mapping[str, PropertyProfile]
    empty: Mapping[str, ClassProfile]

    def instances(self, name: str) -> int:
        """Return how many things have a class by themselves."""
        return self.classes[name].instances if name in self.classes else 0

    def properties_of(self, name: str) -> list[PropertyProfile]:
        """Return the properties that things of a class have, most used first."""
        having = [each for each in self.properties.values() if each.domains.get(name)]
        return sorted(having, key=lambda each: (-each.domains[name], each.iri))

    def to_json(self) -> dict[str, Any]:
        """Return the profile as one JSON document; classes and properties by IRI, "" where there is no class."""
        return {
            "revision": self.revision,
            "triples": self.triples,
            "classes": [_class_json(each) for each in self.classes.values()],
            "properties": [_property_json(each) for each in self.properties.values()],
            "empty_classes": [_class_json(each) for each in self.empty.values()],
        }

    def as_text(self) -> str:
        """Return the profile for a person: each class with what its things have, then what has no class."""
        lines = [f"{self.triples:,} statements, {len(self.classes)} classes, {len(self.properties)} properties"]
        by_count = sorted(self.classes.values(), key=lambda each: (-each.instances, each.iri))
        for each in by_count:
            things = "thing" if each.instances == 1 else "things"
            lines += ["", f"{_named(each.iri, each.label)}: {each.instances:,} {things}"]
            lines += [_line(prop, each.iri) for prop in self.properties_of(each.iri)]
        untyped = self.properties_of(UNTYPED)
        if untyped:
            lines += ["", "things without a class", *(_line(prop, UNTYPED) for prop in untyped)]
        if self.empty:
            lines += ["", "classes that no thing has", *(f"  {_named(e.iri, e.label)}" for e in self.empty.values())]
        return "\n".join(lines)


def _class_json(each: ClassProfile) -> dict[str, Any]:
    return {"iri": each.iri, "label": each.label, "instances": each.instances}


def _property_json(each: PropertyProfile) -> dict[str, Any]:
    return {
        "iri": each.iri,
        "label": each.label,
        "statements": each.statements,
        "subjects": each.subjects,
        "domains": dict(each.domains),
        "ranges": dict(each.ranges),
        "datatypes": dict(each.datatypes),
        "samples": [plain(sample) for sample in each.samples],
    }


def _named(iri: str, label: str) -> str:
    shown = one_line(label, 2 * _MAX_SAMPLE_CHARACTERS)
    return f"{local_name(iri)} ({shown})" if shown and shown != local_name(iri) else local_name(iri)


def _line(prop: PropertyProfile, name: str) -> str:
    to = ", ".join(_kinds(prop))
    samples = "; ".join(filter(None, (one_line(plain(each), _MAX_SAMPLE_CHARACTERS) for each in prop.samples)))
    line = f"  {_named(prop.iri, prop.label)}: {prop.domains[name]:,} to {to}"
    return f"{line}, e.g. {samples}" if samples else line


def _kinds(prop: PropertyProfile) -> Iterator[str]:
    counts = sorted({**prop.datatypes, **prop.ranges}.items(), key=lambda pair: (-pair[1], pair[0]))
    yield from (local_name(kind) if kind else "things without a class" for kind, _ in counts[:_MAX_SHOWN])
    if len(counts) > _MAX_SHOWN:
        yield "…"


def one_line(text: str, longest: int) -> str:
    r"""Put a text on one line without control characters, and cut it.

    >>> one_line("a\n\x07b  c", 4)
    'a b…'
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
