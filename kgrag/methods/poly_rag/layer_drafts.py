"""Facts in words, and the layers of the pyramid made of them as drafts of named graphs (PolyRAG, section 3).

Drafted are instances, triples, a starter schema, and the quarantine of facts without a value. The instances that the
paper's authors published are full of noise ("A", ")", whole sentences): ``refusal`` names what is no name or value,
``in_its_words`` keeps advice and descriptions, which are sentences, where the text has them, and ``typed`` adds the
datatype of numbers and dates. Pure functions over values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import pyoxigraph as ox

from kgrag.answering.source_sentences import carrying
from kgrag.late_patterns import late_re
from kgrag.mapping import Ontology
from kgrag.model import GraphDraft
from kgrag.text.quotes import locate
from kgrag.text.sentences import entity_key
from kgrag.vocab import KG, OWL, PROV, RDF, RDFS, XSD, Names, words_of

__all__ = [
    "METHOD",
    "Fact",
    "Instances",
    "Origin",
    "faults",
    "in_its_words",
    "instance_triples",
    "instances_draft",
    "refusal",
    "refused_draft",
    "schema_draft",
    "triples_draft",
    "typed",
]

METHOD = "poly_rag"

_MAX_NAME_CHARACTERS = 200
"""Of what names a thing; a value of a property for text may be as long as the text that states it."""
_MAX_NAME_WORDS = 12  # a text of more words that ends like a sentence is one
# Canonical spellings within the store's precision, because it rewrites others.
_INTEGER = late_re(r"-?(?:0|[1-9]\d{0,17})")
_DECIMAL = late_re(r"-?(?:0|[1-9]\d{0,11})\.\d{0,10}[1-9]")
_DATE = late_re(r"\d{4}-\d\d-\d\d")
_NUMBER = late_re(r"\d")
_TEXT_TYPES = frozenset({XSD.string.value, RDF.langString.value, RDFS.Literal.value})


@dataclass(frozen=True, slots=True)
class Fact:
    """A triple in words, with the ontology (``domain``) and the subject's class (``concept``) where known, else ""."""

    subject: str
    relation: str
    value: str
    domain: str = ""
    concept: str = ""

    @property
    def text(self) -> str:
        """The triple as it is embedded and shown."""
        return f"{self.subject} {self.relation} {self.value}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The chunk that facts come from, the activity that read them, and by what means (``model=…``, ``loaded=…``)."""

    chunk: ox.NamedNode
    activity: ox.NamedNode
    by: str


@dataclass(slots=True)
class Instances:
    """Triples in the words of the ontology, minted properties with their labels, and refused facts with the reason."""

    triples: list[ox.Triple] = field(default_factory=list)
    minted: dict[ox.NamedNode, str] = field(default_factory=dict)
    refused: list[tuple[Fact, str]] = field(default_factory=list)


def instance_triples(facts: Iterable[Fact], ontology: Ontology, names: Names, source: str = "") -> Instances:
    """Return facts in the words of an ontology: entities with labels and classes, values with datatypes.

    A property for text may have whole sentences of ``source``, the text that the facts were taken from.
    """
    instances = Instances()
    for stated in facts:
        fact, reason = stated, refusal(stated.subject) or refusal(stated.value)
        if _is_statement(stated.value) and not refusal(stated.subject) and _takes_text(stated, ontology):
            worded = in_its_words(stated.value, source)
            fact = replace(stated, value=worded or stated.value)
            reason = "" if worded else f"{reason}, and no text to be found in what it was taken from"
        if reason:
            instances.refused.append((fact, reason))
        else:
            instances.triples += _fact_triples(fact, ontology, names, instances.minted)
    instances.triples = list(dict.fromkeys(instances.triples))
    return instances


def _takes_text(fact: Fact, ontology: Ontology) -> bool:
    """Return whether the property of a fact is known and its values may be any text."""
    known = ontology.property_of(fact.relation, ontology.concept(fact.concept) if fact.concept else "")
    ranges = ontology.properties[known].ranges if known else ()
    return bool(known) and _TEXT_TYPES.issuperset(ranges)


def in_its_words(statement: str, source: str) -> str:
    r"""Return a statement as a text words it; "" where no sentences of the text carry it.

    A statement that the text has word for word is returned as the text spells it, another one as the sentences that
    have its numbers, its names and most of its words.

    >>> source = "max_slots (integer)\n\nSets how many slots\nthere are. Raise it when standbys lag behind."
    >>> in_its_words("sets how many slots there are", source), in_its_words("Set it to 3 when standbys lag.", source)
    ('Sets how many slots there are', '')
    """
    place = locate(statement, source)
    found = [place] if place else [(start, end) for _, start, end in carrying(statement, [source])]
    return " … ".join(" ".join(source[start:end].split()) for start, end in found)


def _fact_triples(fact: Fact, ontology: Ontology, names: Names, minted: dict[ox.NamedNode, str]) -> Iterator[ox.Triple]:
    """Yield the triples of a fact; a property that no ontology has joins ``minted``."""
    concept = ontology.concept(fact.concept) if fact.concept else ""
    known = ontology.property_of(fact.relation, concept)
    if known and fact.domain and fact.domain not in known:
        known = next((iri for iri in ontology.named(fact.relation) if fact.domain in iri), known)
    predicate = ox.NamedNode(known) if known else names.minted_property(phrase_of(fact.relation))
    if not known:
        minted[predicate] = phrase_of(fact.relation)
    subject, value = names.entity(entity_key(fact.subject)), typed(fact.value)
    yield from _entity(subject, fact.subject)
    if concept:
        yield ox.Triple(subject, RDF.type, ox.NamedNode(concept))
    ranges = ontology.properties[known].ranges if known else ()
    # A text is the name of an entity where the range is a class, or nothing is known of the property.
    if value.datatype.value.endswith("#string") and (not known or any(iri in ontology.concepts for iri in ranges)):
        entity = names.entity(entity_key(fact.value))
        yield from _entity(entity, fact.value)
        yield ox.Triple(subject, predicate, entity)
    else:
        yield ox.Triple(subject, predicate, value)


def phrase_of(relation: str) -> str:
    """Return a relation as lower-case words; in several, numbers with their signs and identifiers stay as they are.

    >>> phrase_of("hasGrowing_zones"), phrase_of("uses, if -1 is specified,"), phrase_of("is set by wal_level")
    ('has growing zones', 'uses if -1 is specified', 'is set by wal_level')
    """
    parts = relation.split()
    kept = [bool(_NUMBER.search(word)) or ("_" in word and len(parts) > 1) for word in parts]
    words = (word.strip(",.;:()") if keep else words_of(word) for word, keep in zip(parts, kept, strict=True))
    return " ".join(filter(None, words)).lower()


def _entity(iri: ox.NamedNode, name: str) -> Iterator[ox.Triple]:
    yield ox.Triple(iri, RDF.type, OWL.Thing)
    yield ox.Triple(iri, RDFS.label, ox.Literal(name))


def instances_draft(
    facts: Iterable[Fact], ontology: Ontology, origin: Origin, names: Names, source: str = ""
) -> tuple[GraphDraft, Instances]:
    """Return the graph of what a chunk states in the words of the ontology, with what was minted and refused for it.

    ``source`` is the text of the chunk.
    """
    instances = instance_triples(facts, ontology, names, source)
    graph = names.instance_graph(origin.chunk)
    return _draft(graph, KG.AssertionGraph, instances.triples, origin, layer="ontology"), instances


def triples_draft(facts: Iterable[Fact], origin: Origin, names: Names, source: str = "") -> GraphDraft:
    """Return the graph of the triples that a chunk states, each a statement with its words.

    What is said of a thing may be whole sentences of ``source``, the text of the chunk.
    """
    triples: dict[ox.Triple, None] = {}
    labels: dict[ox.NamedNode, str] = {}
    for stated in facts:
        relation, fact = phrase_of(stated.relation), stated
        reason = refusal(stated.subject) or refusal(stated.value)
        if _is_statement(stated.value) and not refusal(stated.subject):
            fact = replace(stated, value=in_its_words(stated.value, source))
            reason = "" if fact.value else reason
        if reason or not relation:
            continue
        ends = (
            names.entity(entity_key(fact.subject)),
            names.minted_property(relation),
            names.entity(entity_key(fact.value)),
        )
        for end, label in zip(ends, (fact.subject, relation, fact.value), strict=True):
            labels.setdefault(end, label)
        node = names.statement(origin.chunk.value, *(end.value for end in ends))
        described: list[tuple[ox.NamedNode, ox.NamedNode | ox.Literal]] = [
            (RDF.type, KG.Statement),
            *zip((RDF.subject, RDF.predicate, RDF.object), ends, strict=True),
            (KG.text, ox.Literal(fact.text)),
            (PROV.wasDerivedFrom, origin.chunk),
        ]
        triples.update((ox.Triple(node, predicate, value), None) for predicate, value in described)
    triples.update((ox.Triple(iri, RDFS.label, ox.Literal(label)), None) for iri, label in labels.items())
    graph = names.triple_graph(origin.chunk)
    return _draft(graph, KG.TripleGraph, list(triples), origin, layer="graph")


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


def schema_draft(minted: Mapping[ox.NamedNode, str], known: Iterable[ox.Triple], names: Names) -> GraphDraft:
    """Return the starter schema: its triples so far, and the properties of instances that no ontology defines."""
    graph = names.layer_graph("schema")
    triples = [ox.Triple(graph, RDF.type, OWL.Ontology), ox.Triple(graph, RDFS.label, ox.Literal("starter schema"))]
    for iri, label in minted.items():
        triples += [ox.Triple(iri, RDF.type, RDF.Property), ox.Triple(iri, RDFS.label, ox.Literal(label))]
    described = [(KG.layer, ox.Literal("ontology"))]
    whole = list(dict.fromkeys([*known, *triples]))
    return GraphDraft(graph, KG.OntologyGraph, whole, mode="replace", method=METHOD, described=described)


def faults(refused: Sequence[tuple[Fact, str]], origin: Origin) -> list[str]:
    """Return a line for each fact that goes to quarantine, with the reason."""
    return [f"in quarantine: <{origin.chunk.value}>: {fact.text!r} holds no value: {why}." for fact, why in refused]


def refused_draft(refused: Sequence[tuple[Fact, str]], origin: Origin, names: Names) -> GraphDraft:
    """Return the quarantine graph of facts that hold no values, kept as text so that no pattern matches them."""
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


def refusal(text: str) -> str:
    """Return why a text is no value or name, "" when it is one.

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
    if len(plain) > _MAX_NAME_CHARACTERS:
        return f"it is longer than {_MAX_NAME_CHARACTERS} characters"
    return "it is a whole sentence" if _is_statement(plain) else ""


def _is_statement(text: str) -> bool:
    plain = " ".join(text.split())
    return len(plain) > _MAX_NAME_CHARACTERS or (len(plain.split()) > _MAX_NAME_WORDS and plain[-1] in ".!?")


def typed(text: str) -> ox.Literal:
    """Return a value as a literal: an integer, a decimal, a date, or the text as it is.

    Only canonical spellings get a datatype, so that the store returns what was written.

    >>> print(typed("42"), typed("1999-13-31"), typed("007"))
    "42"^^<http://www.w3.org/2001/XMLSchema#integer> "1999-13-31" "007"
    """
    if _INTEGER.fullmatch(text) and text != "-0":
        return ox.Literal(text, datatype=XSD.integer)
    if _DECIMAL.fullmatch(text):
        return ox.Literal(text, datatype=XSD.decimal)
    try:
        if _DATE.fullmatch(text) and date.fromisoformat(text):
            return ox.Literal(text, datatype=XSD.date)
    except ValueError:  # 1999-13-31 is no date
        pass
    return ox.Literal(text)
