"""The layers of a pyramid as drafts of named graphs: instances, triples, a starter schema, and what was refused.

What a model or a file gives as a value: refused when it is none, typed when it is a number or a date.

PolyRAG's authors published instances that are full of noise ("A", ")", whole sentences): those are no values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

import pyoxigraph as ox

from kgrag.mapping import Ontology
from kgrag.methods.poly_rag.graph_facts import Fact
from kgrag.model import GraphDraft
from kgrag.text.sentences import entity_key
from kgrag.vocab import KG, OWL, PROV, RDF, RDFS, XSD, Names, words_of

__all__ = [
    "METHOD",
    "Instances",
    "Origin",
    "faults",
    "instances_draft",
    "instances_of",
    "refusal",
    "refused_draft",
    "schema_draft",
    "triples_draft",
    "typed",
]

METHOD = "poly_rag"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where facts come from: the chunk, the activity that took them, and by what (``model=…``, ``loaded=…``)."""

    chunk: ox.NamedNode
    activity: ox.NamedNode
    by: str


@dataclass(slots=True)
class Instances:
    """What facts say in the words of the ontology; what no loaded ontology has a property for; what is no value."""

    triples: list[ox.Triple] = field(default_factory=list)
    minted: dict[ox.NamedNode, str] = field(default_factory=dict)
    refused: list[tuple[Fact, str]] = field(default_factory=list)


def instances_of(facts: Iterable[Fact], ontology: Ontology, names: Names) -> Instances:
    """Say facts in the words of an ontology: entities with labels and classes, values with datatypes."""
    said = Instances()
    for fact in facts:
        if wrong := refusal(fact.subject) or refusal(fact.value):
            said.refused.append((fact, wrong))
            continue
        said.triples += _said(fact, ontology, names, said)
    said.triples = list(dict.fromkeys(said.triples))
    return said


def _said(fact: Fact, ontology: Ontology, names: Names, said: Instances) -> Iterator[ox.Triple]:
    found = _property(fact, ontology)
    predicate = ox.NamedNode(found) if found else names.minted_property(words_of(fact.relation))
    if not found:
        said.minted[predicate] = words_of(fact.relation)
    subject = names.entity(entity_key(fact.subject))
    yield from _thing(subject, fact.subject)
    if fact.concept and (concept := ontology.concept(fact.concept)):
        yield ox.Triple(subject, RDF.type, ox.NamedNode(concept))
    ranges = ontology.properties[found].ranges if found else ()
    value = typed(fact.value)
    if value.datatype.value.endswith("#string") and (not found or any(one in ontology.concepts for one in ranges)):
        thing = names.entity(entity_key(fact.value))
        yield from _thing(thing, fact.value)
        yield ox.Triple(subject, predicate, thing)
    else:
        yield ox.Triple(subject, predicate, value)


def _thing(iri: ox.NamedNode, name: str) -> Iterator[ox.Triple]:
    yield ox.Triple(iri, RDF.type, OWL.Thing)
    yield ox.Triple(iri, RDFS.label, ox.Literal(name))


def _property(fact: Fact, ontology: Ontology) -> str:
    """Give the property that a relation names: of the fact's domain before others, "" when no ontology has it."""
    concept = ontology.concept(fact.concept) if fact.concept else ""
    first = ontology.property_of(fact.relation, concept)
    if not first or not fact.domain or fact.domain in first:
        return first
    near = (iri for iri in ontology.named(fact.relation) if fact.domain in iri)
    return next(near, first)


def instances_draft(
    facts: Iterable[Fact], ontology: Ontology, origin: Origin, names: Names
) -> tuple[GraphDraft, Instances]:
    """Give the graph of what a chunk states in the words of the ontology, and what was minted and refused for it."""
    said = instances_of(facts, ontology, names)
    return _draft(names.instance_graph(origin.chunk), KG.AssertionGraph, said.triples, origin, layer="ontology"), said


def triples_draft(facts: Iterable[Fact], origin: Origin, names: Names) -> GraphDraft:
    """Give the graph of the triples that a chunk states, each a statement with its words."""
    triples: dict[ox.Triple, None] = {}
    labels: dict[ox.NamedNode, str] = {}
    for fact in facts:
        relation = words_of(fact.relation)
        if refusal(fact.subject) or refusal(fact.value) or not relation:
            continue
        ends = (
            names.entity(entity_key(fact.subject)),
            names.minted_property(relation),
            names.entity(entity_key(fact.value)),
        )
        for end, label in zip(ends, (fact.subject, relation, fact.value), strict=True):
            labels.setdefault(end, label)
        node = names.statement(origin.chunk.value, *(end.value for end in ends))
        triples.update(dict.fromkeys(_statement(node, ends, fact.text, origin.chunk)))
    triples.update((ox.Triple(iri, RDFS.label, ox.Literal(label)), None) for iri, label in labels.items())
    graph = names.triple_graph(origin.chunk)
    return _draft(graph, KG.TripleGraph, list(triples), origin, layer="graph")


def _statement(
    node: ox.NamedNode, ends: Sequence[ox.NamedNode], text: str, source: ox.NamedNode
) -> Iterator[ox.Triple]:
    yield ox.Triple(node, RDF.type, KG.Statement)
    for predicate, end in zip((RDF.subject, RDF.predicate, RDF.object), ends, strict=True):
        yield ox.Triple(node, predicate, end)
    yield ox.Triple(node, KG.text, ox.Literal(text))
    yield ox.Triple(node, PROV.wasDerivedFrom, source)


def _draft(
    graph: ox.NamedNode, kind: ox.NamedNode, triples: Sequence[ox.Triple], origin: Origin, *, layer: str
) -> GraphDraft:
    return GraphDraft(
        graph,
        kind,
        triples,
        mode="replace",
        method=METHOD,
        sources=[origin.chunk],
        activity=origin.activity,
        described=[(KG.layer, ox.Literal(layer)), (KG.parameters, ox.Literal(origin.by))],
    )


def schema_draft(minted: Mapping[ox.NamedNode, str], standing: Iterable[ox.Triple], names: Names) -> GraphDraft:
    """Give the starter schema: what stands in it, and the properties that instances have and no ontology defines."""
    graph = names.layer_graph("schema")
    triples = [ox.Triple(graph, RDF.type, OWL.Ontology), ox.Triple(graph, RDFS.label, ox.Literal("starter schema"))]
    for iri, label in minted.items():
        triples += [ox.Triple(iri, RDF.type, RDF.Property), ox.Triple(iri, RDFS.label, ox.Literal(label))]
    described = [(KG.layer, ox.Literal("ontology"))]
    whole = list(dict.fromkeys([*standing, *triples]))
    return GraphDraft(graph, KG.OntologyGraph, whole, mode="replace", method=METHOD, described=described)


def faults(refused: Sequence[tuple[Fact, str]], origin: Origin) -> list[str]:
    """Give a line for each fact that goes to quarantine, and why."""
    return [f"in quarantine: <{origin.chunk.value}>: {fact.text!r} holds no value: {why}." for fact, why in refused]


def refused_draft(refused: Sequence[tuple[Fact, str]], origin: Origin, names: Names) -> GraphDraft:
    """Give the quarantine graph of facts that hold no values: kept as text, so that no pattern finds them."""
    intended = names.instance_graph(origin.chunk)
    content = "".join(
        f"{names.entity(entity_key(fact.subject))} {names.minted_property(fact.relation)} {ox.Literal(fact.value)} .\n"
        for fact, _ in refused
    )
    graph = names.quarantine_graph(intended.value, content)
    triples = [
        ox.Triple(graph, KG.intendedGraph, intended),
        ox.Triple(graph, KG.intendedKind, KG.AssertionGraph),
        ox.Triple(graph, KG.content, ox.Literal(content)),
        *(ox.Triple(graph, KG.violation, ox.Literal(f"{fact.text!r} holds no value: {why}.")) for fact, why in refused),
    ]
    return GraphDraft(graph, KG.QuarantineGraph, triples, method=METHOD)


_LONGEST = 200
_SENTENCE = 12
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,11})\.\d{0,10}[1-9]")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def refusal(text: str) -> str:
    """Say why a text is no value or name, "" when it is one.

    >>> [refusal(text) for text in ("Bath", "7", "東")]
    ['', '', '']
    >>> refusal(")"), refusal("A")
    ('it has no letter and no digit', 'it is a single letter')
    """
    plain = " ".join(text.split())
    if not any(mark.isalnum() for mark in plain):
        return "it has no letter and no digit"
    if len(plain) == 1 and plain.isascii() and plain.isalpha():
        return "it is a single letter"
    if len(plain) > _LONGEST:
        return f"it is longer than {_LONGEST} characters"
    if len(plain.split()) > _SENTENCE and plain[-1] in ".!?":
        return "it is a whole sentence"
    return ""


def typed(text: str) -> ox.Literal:
    """Give a value as the literal that it is: integer, decimal, date, or text as it is.

    Only canonical spellings get a datatype, so that the store gives back what was written.

    >>> print(typed("42"), typed("1999-13-31"), typed("007"))
    "42"^^<http://www.w3.org/2001/XMLSchema#integer> "1999-13-31" "007"
    """
    if _INTEGER.fullmatch(text) and text != "-0":
        return ox.Literal(text, datatype=XSD.integer)
    if _DECIMAL.fullmatch(text):
        return ox.Literal(text, datatype=XSD.decimal)
    if _DATE.fullmatch(text) and _exists(text):
        return ox.Literal(text, datatype=XSD.date)
    return ox.Literal(text)


def _exists(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
