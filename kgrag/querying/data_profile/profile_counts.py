"""What facts have, counted: by reading all of them, or by what a change touches.

Every figure counts distinct statements or things, however many graphs state them: what a query over the merged facts
would count. ``facts`` reads all of them. ``adjusted`` brings figures up to date after a change by counting its
neighbourhood twice, as it was and as it is: the statements of the subjects that changed, and, where a thing has other
classes than before, the statements that lead to it. Both use ``_count``, so they cannot differ in what they count.

Queries read: ``profile/from``, ``profile/towards``, ``profile/classes``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Term
from kgrag.ports import TripleStore
from kgrag.store.graph_kinds import fact_kinds
from kgrag.vocab import OWL, RDF, RDFS

__all__ = ["LANGUAGE_TAGGED", "UNTYPED", "Counts", "adjusted", "counted", "facts"]

UNTYPED = ""
"""In the place of the class of a thing that has none."""
LANGUAGE_TAGGED = f"{RDF.prefix}langString"

_THINGS_PER_QUERY = 500
_SCHEMA = (OWL.prefix, RDF.prefix, RDFS.prefix)
_NAMING = (RDFS.label, RDFS.comment)

_Classes = Mapping[Term, Collection[str]]
Key = TypeVar("Key")


@dataclass(slots=True)
class Counts:
    """Figures of facts, by IRI.

    ``instances``: class -> things; ``statements`` and ``subjects``: property -> statements, and things that have it;
    ``domains`` and ``ranges``: (property, class) -> statements whose subject (object) is of the class;
    ``datatypes``: (property, datatype) -> statements. ``triples``: statements that were counted, types included.
    """

    triples: int = 0
    instances: Counter[str] = field(default_factory=Counter)
    statements: Counter[str] = field(default_factory=Counter)
    subjects: Counter[str] = field(default_factory=Counter)
    domains: Counter[tuple[str, str]] = field(default_factory=Counter)
    ranges: Counter[tuple[str, str]] = field(default_factory=Counter)
    datatypes: Counter[tuple[str, str]] = field(default_factory=Counter)

    def plus(self, gained: Counts, lost: Counts) -> Counts:
        """Return these figures with some added and others taken away."""
        return Counts(
            self.triples + gained.triples - lost.triples,
            _added(self.instances, gained.instances, lost.instances),
            _added(self.statements, gained.statements, lost.statements),
            _added(self.subjects, gained.subjects, lost.subjects),
            _added(self.domains, gained.domains, lost.domains),
            _added(self.ranges, gained.ranges, lost.ranges),
            _added(self.datatypes, gained.datatypes, lost.datatypes),
        )


def _added(base: Counter[Key], gained: Counter[Key], lost: Counter[Key]) -> Counter[Key]:
    figures = Counter(base)
    figures.update(gained)
    figures.subtract(lost)
    for key in (*gained, *lost):
        if not figures[key]:
            del figures[key]
    return figures


def facts(store: TripleStore, graph: ox.NamedNode | None = None) -> list[ox.Triple]:
    """Return all facts, or those of one graph, each once."""
    return list(dict.fromkeys(_all(store) if graph is None else store.triples(graph)))


def counted(triples: Collection[ox.Triple]) -> Counts:
    """Count facts, each of which is given once."""
    classes: dict[Term, list[str]] = defaultdict(list)
    for triple in triples:
        if triple.predicate == RDF.type and isinstance(triple.object, ox.NamedNode):
            classes[triple.subject].append(triple.object.value)
    return _count(triples, classes)


def _all(store: TripleStore) -> Iterator[ox.Triple]:
    left_out = store.names.competency_questions
    return (quad.triple for quad in store.quads_of_kinds(fact_kinds()) if quad.graph_name != left_out)


def _count(triples: Iterable[ox.Triple], classes: _Classes) -> Counts:
    """Count statements, each given once; those about classes, properties and ontologies are left out."""
    found, pairs = Counts(), set[tuple[Term, str]]()
    none: tuple[str, ...] = ()
    for triple in triples:
        subject, name, value = triple.subject, triple.predicate.value, triple.object
        own = classes.get(subject, none)
        if any(each.startswith(_SCHEMA) for each in own if each not in _OF_THINGS):
            continue
        if triple.predicate == RDF.type:
            if isinstance(value, ox.NamedNode) and value.value not in _OF_THINGS:
                found.triples += 1
                found.instances[value.value] += 1
            continue
        if name.startswith(_SCHEMA) and triple.predicate not in _NAMING:
            continue
        found.triples += 1
        found.statements[name] += 1
        pairs.add((subject, name))
        for each in own or (UNTYPED,):
            found.domains[name, each] += 1
        if isinstance(value, ox.Literal):
            found.datatypes[name, LANGUAGE_TAGGED if value.language else value.datatype.value] += 1
        else:
            for each in classes.get(value, none) or (UNTYPED,):
                found.ranges[name, each] += 1
    found.subjects.update(name for _, name in pairs)
    return found


_OF_THINGS = frozenset({OWL.Thing.value, OWL.NamedIndividual.value, RDFS.Resource.value})
"""Classes of OWL and RDFS that tell nothing of a thing, and do not make it a part of a schema."""


def adjusted(
    figures: Counts, store: TripleStore, added: Collection[ox.Quad], removed: Collection[ox.Quad]
) -> Counts | None:
    """Return figures after a change of the facts; None where blank nodes changed, which cannot be asked for.

    Args:
        figures: those before the change.
        store: as it is after the change.
        added: quads that came to graphs with facts.
        removed: quads that went.
    """
    left_out = store.names.competency_questions
    came = {quad for quad in added if quad.graph_name != left_out}
    gone = {quad for quad in removed if quad.graph_name != left_out}
    changed = came | gone
    subjects = {quad.subject for quad in changed}
    if any(not isinstance(end, ox.NamedNode | ox.Literal) for quad in changed for end in (quad.subject, quad.object)):
        return None
    now: dict[ox.Triple, set[object]] = _stating(_quads(store, "profile/from", subjects))
    before = {triple: set(graphs) for triple, graphs in now.items()}
    for quad in came:
        before.get(quad.triple, set()).discard(quad.graph_name)
    for quad in gone:
        before.setdefault(quad.triple, set()).add(quad.graph_name)
    after_triples = {triple for triple, graphs in now.items() if graphs}
    before_triples = {triple for triple, graphs in before.items() if graphs}
    after_classes, before_classes = _classes(after_triples), _classes(before_triples)
    retyped = [each for each in subjects if set(after_classes.get(each, ())) != set(before_classes.get(each, ()))]
    leading = {quad.triple for quad in _quads(store, "profile/towards", retyped) if quad.subject not in subjects}
    counted = (each for each in (*after_triples, *before_triples, *leading) if each.predicate != RDF.type)
    others = {end for triple in counted for end in (triple.subject, triple.object)}
    unchanged = _classes_of(store, others - subjects)
    return figures.plus(
        _count(after_triples | leading, {**unchanged, **after_classes}),
        _count(before_triples | leading, {**unchanged, **before_classes}),
    )


def _classes(triples: Iterable[ox.Triple]) -> dict[Term, list[str]]:
    classes: dict[Term, list[str]] = defaultdict(list)
    for triple in triples:
        if triple.predicate == RDF.type and isinstance(triple.object, ox.NamedNode):
            classes[triple.subject].append(triple.object.value)
    return classes


def _stating(quads: Iterable[ox.Quad]) -> dict[ox.Triple, set[object]]:
    stating: dict[ox.Triple, set[object]] = defaultdict(set)
    for quad in quads:
        stating[quad.triple].add(quad.graph_name)
    return dict(stating)


def _quads(store: TripleStore, query: str, things: Iterable[Term]) -> Iterator[ox.Quad]:
    for row in _rows(store, query, things):
        graph, subject, predicate, value = row
        if graph != store.names.competency_questions:
            yield ox.Quad(subject, predicate, value, graph)  # type: ignore[arg-type]


def _classes_of(store: TripleStore, things: Iterable[Term]) -> dict[Term, list[str]]:
    classes: dict[Term, list[str]] = defaultdict(list)
    for thing, name in _rows(store, "profile/classes", things):
        if isinstance(name, ox.NamedNode) and thing is not None:
            classes[thing].append(name.value)
    return classes


def _rows(store: TripleStore, query: str, things: Iterable[Term]) -> Iterator[tuple[Term | None, ...]]:
    nodes = sorted((each for each in things if isinstance(each, ox.NamedNode)), key=str)
    for first in range(0, len(nodes), _THINGS_PER_QUERY):
        values = {"catalogue": store.names.catalogue, "kinds": fact_kinds()}
        yield from store.select(queries.bind(query, **values, things=nodes[first : first + _THINGS_PER_QUERY]))
