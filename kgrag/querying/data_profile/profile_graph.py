"""A data profile as a named graph, in the terms of VoID, and back.

The profile is a ``void:Dataset`` with a ``void:classPartition`` per class (``void:class``, ``void:entities``) and a
``void:propertyPartition`` per property (``void:property``, ``void:triples``, ``void:distinctSubjects``). VoID has no
words for what a property leads to: a property's partition has partitions of its own, ``kg:subjectPartition`` per class
of its subjects, ``kg:objectPartition`` per class or datatype of its objects, each with ``void:triples``. Things without
a class are of ``rdfs:Resource``. ``kg:sample`` is a value. A class that no thing has has 0 ``void:entities``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import pyoxigraph as ox

from kgrag.model import GraphDraft, Term, plain
from kgrag.querying.data_profile.profile_counts import UNTYPED, Counts
from kgrag.querying.data_profile.profile_values import ClassProfile, DataProfile, PropertyProfile
from kgrag.vocab import KG, PREFIXES, RDF, RDFS, VOID, Names, number

__all__ = ["as_turtle", "counts_of", "draft", "read"]

_CLASS = VOID.all()["class"]


def draft(profile: DataProfile, names: Names) -> GraphDraft:
    """Return the draft of the graph of a profile."""
    return GraphDraft(names.profile_graph, KG.ProfileGraph, list(_triples(profile, names)), mode="replace")


def as_turtle(profile: DataProfile, names: Names) -> str:
    """Return the graph of a profile as Turtle."""
    prefixes = {name: PREFIXES[name] for name in ("kg", "rdf", "rdfs", "void", "xsd")}
    data = ox.serialize(_triples(profile, names), format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    return (data or b"").decode()


def _triples(profile: DataProfile, names: Names) -> Iterator[ox.Triple]:
    """Yield the statements of a profile."""
    whole = names.profile_graph
    about = (
        (RDF.type, VOID.Dataset),
        (KG.revision, number(profile.revision)),
        (VOID.triples, number(profile.triples)),
        (VOID.classes, number(len(profile.classes))),
        (VOID.properties, number(len(profile.properties))),
    )
    yield from (ox.Triple(whole, predicate, value) for predicate, value in about)
    for each in (*profile.classes.values(), *profile.empty.values()):
        part = names.profile_part("class", each.iri)
        yield ox.Triple(whole, VOID.classPartition, part)
        yield ox.Triple(part, _CLASS, ox.NamedNode(each.iri))
        yield ox.Triple(part, VOID.entities, number(each.instances))
        yield from _label(part, each.label)
    for prop in profile.properties.values():
        yield from _property(prop, names)


def _label(part: ox.NamedNode, label: str) -> Iterator[ox.Triple]:
    if label:
        yield ox.Triple(part, RDFS.label, ox.Literal(label))


def _property(prop: PropertyProfile, names: Names) -> Iterator[ox.Triple]:
    part = names.profile_part("property", prop.iri)
    yield ox.Triple(names.profile_graph, VOID.propertyPartition, part)
    yield ox.Triple(part, VOID.property, ox.NamedNode(prop.iri))
    yield ox.Triple(part, VOID.triples, number(prop.statements))
    yield ox.Triple(part, VOID.distinctSubjects, number(prop.subjects))
    yield from _label(part, prop.label)
    yield from (ox.Triple(part, KG.sample, sample) for sample in prop.samples)
    uses = (
        (KG.subjectPartition, _CLASS, prop.domains),
        (KG.objectPartition, _CLASS, prop.ranges),
        (KG.objectPartition, KG.datatype, prop.datatypes),
    )
    for leads, by, counts in uses:
        for name, count in counts.items():
            use = names.profile_part(plain(leads), plain(by), prop.iri, name)
            yield ox.Triple(part, leads, use)
            yield ox.Triple(use, by, ox.NamedNode(name) if name else RDFS.Resource)
            yield ox.Triple(use, VOID.triples, number(count))


_About = Mapping[ox.NamedNode, list[Term]]


def read(stated: Iterable[ox.Triple], names: Names) -> DataProfile | None:
    """Return the profile of a graph; None when it is none, or not whole."""
    about: dict[Term, dict[ox.NamedNode, list[Term]]] = defaultdict(lambda: defaultdict(list))
    for triple in stated:
        about[triple.subject][triple.predicate].append(triple.object)
    whole = about.get(names.profile_graph)
    if whole is None:
        return None
    try:
        classes = sorted((_class(about[part]) for part in whole[VOID.classPartition]), key=_iri)
        properties = sorted((_read_property(about[part], about) for part in whole[VOID.propertyPartition]), key=_iri)
        return DataProfile(
            _integer(whole, KG.revision),
            _integer(whole, VOID.triples),
            {each.iri: each for each in classes if each.instances},
            {each.iri: each for each in properties},
            {each.iri: each for each in classes if not each.instances},
        )
    except (LookupError, ValueError):
        return None  # somebody edited it: it is made anew


def _iri(each: ClassProfile | PropertyProfile) -> str:
    return each.iri


def _integer(about: _About, predicate: ox.NamedNode) -> int:
    return int(plain(about[predicate][0]))


def _class(about: _About) -> ClassProfile:
    label = plain(next(iter(about[RDFS.label]), None))
    return ClassProfile(plain(about[_CLASS][0]), _integer(about, VOID.entities), label)


def _read_property(about: _About, parts: Mapping[Term, _About]) -> PropertyProfile:
    return PropertyProfile(
        plain(about[VOID.property][0]),
        _integer(about, VOID.triples),
        _integer(about, VOID.distinctSubjects),
        plain(next(iter(about[RDFS.label]), None)),
        _uses([parts[part] for part in about[KG.subjectPartition]], _CLASS),
        _uses([parts[part] for part in about[KG.objectPartition]], _CLASS),
        _uses([parts[part] for part in about[KG.objectPartition]], KG.datatype),
        tuple(sorted((each for each in about[KG.sample] if not isinstance(each, ox.BlankNode | ox.Triple)), key=str)),
    )


def _uses(parts: Iterable[_About], by: ox.NamedNode) -> dict[str, int]:
    counts = {plain(part[by][0]): _integer(part, VOID.triples) for part in parts if part[by]}
    return {UNTYPED if name == RDFS.Resource.value else name: count for name, count in sorted(counts.items())}


def counts_of(profile: DataProfile) -> Counts:
    """Return the figures of a profile, to be brought up to date."""
    properties = profile.properties.values()

    def uses(name: str) -> Counter[tuple[str, str]]:
        return Counter({(each.iri, key): count for each in properties for key, count in getattr(each, name).items()})

    return Counts(
        profile.triples,
        Counter({each.iri: each.instances for each in profile.classes.values()}),
        Counter({each.iri: each.statements for each in properties}),
        Counter({each.iri: each.subjects for each in properties}),
        uses("domains"),
        uses("ranges"),
        uses("datatypes"),
    )
