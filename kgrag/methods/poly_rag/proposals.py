"""Proposals: attributes that the ontology may lack, and names that may be of one entity, for a person to decide.

PolyRAG, section 3.2. A proposal is a triple with the statements that are its evidence: a new property with the class
that it would belong to, or an owl:sameAs between two entities. Nothing changes until it is accepted. Accepting a
property adds it to the accepted schema and makes instances of the triples that have it; rejecting it, or opening it
again, takes that back. Graphs written: proposal graphs, the accepted schema, assertion graphs, provenance. Queries
read: ``poly_rag/{phrases,proposals,statements,layers}`` and those of ``kgrag.mapping``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyoxigraph as ox

from kgrag import mapping, queries
from kgrag.errors import NotBuilt, UnknownName
from kgrag.late_patterns import late_re
from kgrag.mapping import Ontology
from kgrag.methods.poly_rag import completion
from kgrag.methods.poly_rag.completion import Medoid, Space
from kgrag.methods.poly_rag.layer_drafts import METHOD, Fact, instance_triples
from kgrag.model import GraphDraft
from kgrag.ports import Embedder, TripleStore
from kgrag.resources import closest
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.text.sentences import entity_key
from kgrag.vocab import KG, OWL, PROV, RDF, RDFS, XSD, Names, local_name, words_of

__all__ = [
    "Completion",
    "Decision",
    "Proposal",
    "decide",
    "listed",
    "proposed_aliases",
    "proposed_attributes",
    "wordings",
]

Decision = Literal["open", "accepted", "rejected"]

_LAYERS = ("proposals", "aliases")  # of proposed attributes, and of proposed links between entities
_MAX_STATEMENTS_PER_ATTRIBUTE = 20
_MAX_STATEMENTS_PER_NAME = 5
_DIMENSIONS = 20  # of the embeddings, after their reduction
_EQUALS = " = "  # between the two names in the label of a proposed alias
_BRACKET = late_re(r"\s*\([^()]*\)$")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed triple, in words and as terms; ``weight`` falls from 1 for the first proposal towards 0 for the last.

    ``evidence`` are statements; a decision outlives them when the documents behind them are forgotten.
    """

    iri: str
    label: str
    subject: str
    predicate: str
    object: str
    weight: float
    decision: Decision
    evidence: tuple[str, ...]
    layer: str = "proposals"


@dataclass(frozen=True, slots=True)
class Completion:
    """Both layers in the reduced space, the medoids with their labels, and the proposals made of them."""

    space: Space
    medoids: tuple[Medoid, ...]
    labels: tuple[str, ...]
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class _LayerTriple:
    """A triple of the graph layer: IRIs of statement, predicate and chunk; subject, relation and object in words."""

    statement: str
    subject: str
    predicate: str
    relation: str
    object: str
    chunk: str


def listed(store: TripleStore) -> list[Proposal]:
    """Return every proposal: of attributes, then of aliases, each by weight."""
    return [proposal for layer in _LAYERS for proposal in _read(layer, store)]


def _read(layer: str, store: TripleStore) -> Iterator[Proposal]:
    rows = store.select(queries.bind("poly_rag/proposals", graph=store.names.layer_graph(layer))).values()
    statements_of: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for *columns, evidence in rows:
        statements_of[tuple(columns)] += [evidence] if evidence else []
    for (iri, label, subject, predicate, value, weight, decision), statements in statements_of.items():
        known: Decision = "accepted" if decision == "accepted" else "rejected" if decision == "rejected" else "open"
        yield Proposal(iri, label, subject, predicate, value, float(weight), known, tuple(statements), layer)


def wordings(proposals: Iterable[Proposal], store: TripleStore) -> dict[str, str]:
    """Return the IRI of each proposal with evidence -> the words of its first statement, "" where that is gone."""
    first = {proposal.iri: proposal.evidence[0] for proposal in proposals if proposal.evidence}
    nodes = [ox.NamedNode(statement) for statement in dict.fromkeys(first.values())]
    rows = store.select(queries.bind("poly_rag/statements", statements=nodes)).values()
    texts = {row[0]: row[1] for row in rows}
    return {iri: texts.get(statement, "") for iri, statement in first.items()}


def proposed_attributes(
    store: TripleStore,
    embedder: Embedder,
    *,
    clusters: int = 10,
    fraction: float = 0.2,
    whole: bool = False,
) -> Completion:
    """Propose attributes where the graph layer is dense and the ontology sparse, and publish the proposals.

    Relations with the words of an attribute are left out, since they need no proposal. Decisions stay.

    Args:
        store: contains the layers.
        embedder: embeds the phrases of both.
        clusters: the largest number of proposals.
        fraction: the share of the phrases, by priority, that is clustered.
        whole: embed class and attribute, subject and relation, as the paper does; else attribute and relation alone.

    Raises:
        NotBuilt: there is no ontology with attributes, or no triple.

    Deviations:
        Without the subject, an attribute that was removed is found more often (``benchmarks.poly_rag_completion``):
        names of entities outweigh the relation otherwise.
    """
    ontology, triples = mapping.read_ontology(store), _layer_triples(store)
    attributes = [(concept, prop.label) for prop in ontology.properties.values() for concept in prop.domains or ("",)]
    phrases = list(dict.fromkeys((triple.subject, triple.relation) for triple in triples))
    if len(attributes) < 2 or len(phrases) < 2:
        raise NotBuilt(
            "poly_rag has no two layers to compare: it needs an ontology with attributes and a graph layer. "
            "Run `kgrag load ONTOLOGY` and `kgrag build poly_rag` first."
        )
    named = [(_concept_name(concept, ontology), label) for concept, label in attributes]
    attribute_vectors = embedder.embed([_phrase(*pair, whole) for pair in named], "passage")
    phrase_vectors = embedder.embed([_phrase(*pair, whole) for pair in phrases], "passage")
    space = completion.reduced(attribute_vectors, phrase_vectors, dimensions=_DIMENSIONS)
    priority = completion.priorities(space.graph, completion.fitted(space.ontology), completion.fitted(space.graph))
    known = {words_of(label) for _, label in attributes}
    new = np.array([place for place, (_, relation) in enumerate(phrases) if words_of(relation) not in known], dtype=int)
    medoids = (
        completion.medoids(space.graph[new], priority[new], fraction=fraction, clusters=clusters) if len(new) else []
    )
    # Their places are among the new phrases; from here on they are among all phrases.
    medoids = [
        replace(medoid, place=int(new[medoid.place]), members=tuple(int(new[member]) for member in medoid.members))
        for medoid in medoids
    ]
    concepts = [attributes[int(np.argmax(attribute_vectors @ phrase_vectors[medoid.place]))][0] for medoid in medoids]
    labels = [phrases[medoid.place][1] for medoid in medoids]
    proposals = _attribute_proposals(labels, concepts, triples, store.names)
    return Completion(space, tuple(medoids), tuple(labels), tuple(_published(proposals, "proposals", store)))


def _phrase(subject: str, relation: str, whole: bool) -> str:
    return f"{subject} {words_of(relation)}" if whole else words_of(relation)


def _concept_name(concept: str, ontology: Ontology) -> str:
    if concept in ontology.concepts:
        return ontology.concepts[concept].label
    return words_of(local_name(concept)) if concept else "thing"


def _layer_triples(store: TripleStore) -> list[_LayerTriple]:
    rows = store.select(queries.bind("poly_rag/phrases", catalogue=store.names.catalogue)).values()
    return [_LayerTriple(*row) for row in rows]


def _attribute_proposals(
    relations: Sequence[str], concepts: Sequence[str], triples: Sequence[_LayerTriple], names: Names
) -> list[Proposal]:
    """Return one proposal per relation, by rank, with its class and the statements that have the relation."""
    by_relation: dict[str, list[_LayerTriple]] = defaultdict(list)
    for triple in triples:
        by_relation[triple.relation].append(triple)
    proposals: dict[str, Proposal] = {}
    for rank, (relation, concept) in enumerate(zip(relations, concepts, strict=True)):
        subject, predicate, value = by_relation[relation][0].predicate, RDFS.domain.value, concept or OWL.Thing.value
        iri = names.proposal(subject, predicate, value).value
        weight = round(1 - rank / len(relations), 4)
        evidence = tuple(triple.statement for triple in by_relation[relation][:_MAX_STATEMENTS_PER_ATTRIBUTE])
        # Several medoids may have one relation, with other subjects: the best stays.
        proposals.setdefault(relation, Proposal(iri, relation, subject, predicate, value, weight, "open", evidence))
    return list(proposals.values())


def proposed_aliases(store: TripleStore) -> list[Proposal]:
    """Propose that a name with a bracket and the same name without are of one entity, where there is one such pair.

    "Asterix (comicsCharacter)" and "Asterix" are proposed; with "Asterix (film)" in the layer as well nothing is.
    Published like the other proposals, in a graph of their own.
    """
    statements: dict[str, list[str]] = defaultdict(list)
    names: dict[str, str] = {}
    for triple in _layer_triples(store):
        for name in (triple.subject, triple.object):
            statements[entity_key(name)].append(triple.statement)
            names.setdefault(entity_key(name), name)
    bare: dict[str, list[str]] = defaultdict(list)
    for key in statements:
        if (plain := _BRACKET.sub("", key)) != key:
            bare[plain].append(key)
    proposals = []
    for plain, keys in sorted(bare.items()):
        if len(keys) > 1 or plain not in statements:
            continue
        first, second = store.names.entity(plain).value, store.names.entity(keys[0]).value
        iri = store.names.proposal(first, OWL.sameAs.value, second).value
        label = f"{names[plain]}{_EQUALS}{names[keys[0]]}"
        both = [*statements[plain][:_MAX_STATEMENTS_PER_NAME], *statements[keys[0]][:_MAX_STATEMENTS_PER_NAME]]
        evidence = tuple(dict.fromkeys(both))
        proposals.append(Proposal(iri, label, first, OWL.sameAs.value, second, 1.0, "open", evidence, "aliases"))
    return _published(proposals, "aliases", store)


def _published(proposals: Sequence[Proposal], layer: str, store: TripleStore) -> list[Proposal]:
    """Publish proposals after those that were decided, which stay, and return both; earlier open ones go."""
    decided = {proposal.iri: proposal for proposal in _read(layer, store) if proposal.decision != "open"}
    whole = [*decided.values(), *(proposal for proposal in proposals if proposal.iri not in decided)]
    _publish(whole, layer, store)
    return whole


def _publish(proposals: Sequence[Proposal], layer: str, store: TripleStore) -> None:
    triples = [triple for proposal in proposals for triple in _triples(proposal)]
    graph = store.names.layer_graph(layer)
    described = [(KG.layer, ox.Literal("proposals"))]
    if triples or store.described(graph):
        draft = GraphDraft(graph, KG.ProposalGraph, triples, mode="replace", method=METHOD, described=described)
        store.publish([draft])


def _triples(proposal: Proposal) -> Iterator[ox.Triple]:
    node = ox.NamedNode(proposal.iri)
    ends = (proposal.subject, proposal.predicate, proposal.object)
    yield ox.Triple(node, RDF.type, KG.Proposal)
    yield ox.Triple(node, RDFS.label, ox.Literal(proposal.label))
    for predicate, value in zip((RDF.subject, RDF.predicate, RDF.object), ends, strict=True):
        yield ox.Triple(node, predicate, ox.NamedNode(value))
    canonical = f"{proposal.weight:.4f}".rstrip("0").rstrip(".")  # as the store writes it, so that nothing changes
    yield ox.Triple(node, KG.weight, ox.Literal(canonical, datatype=XSD.decimal))
    yield ox.Triple(node, KG.decision, ox.Literal(proposal.decision))
    for statement in proposal.evidence:
        yield ox.Triple(node, PROV.wasDerivedFrom, ox.NamedNode(statement))


def decide(name: str, decision: Decision, *, store: TripleStore) -> Proposal:
    """Accept or reject a proposal by its IRI or label, or open it again; schema and instances follow the decision.

    One that is opened again and has no evidence left is removed.

    Raises:
        UnknownName: there is no such proposal.
    """
    known = listed(store)
    proposal = next((proposal for proposal in known if name in (proposal.iri, proposal.label)), None)
    if proposal is None:
        raise UnknownName(f"there is no proposal {name!r}. {closest(name, [proposal.label for proposal in known])}")
    decided = replace(proposal, decision=decision)
    updated = [decided if other.iri == proposal.iri else other for other in known]
    kept = [proposal for proposal in updated if proposal.evidence or proposal.decision != "open"]
    _publish([proposal for proposal in kept if proposal.layer == decided.layer], decided.layer, store)
    _apply([proposal for proposal in kept if proposal.decision == "accepted"], store)
    return decided


def _apply(accepted: Sequence[Proposal], store: TripleStore) -> None:
    """Publish the schema and instances of the accepted proposals, and remove those of proposals no longer accepted."""
    attributes = [proposal for proposal in accepted if proposal.layer == "proposals"]
    drafts = [_schema(attributes, store.names), *_instances(accepted, store)]
    wanted = {draft.iri for draft in drafts}
    rows = store.select(queries.bind("poly_rag/layers", catalogue=store.names.catalogue)).values()
    earlier = [ox.NamedNode(graph) for graph, _, _, parameters in rows if parameters == "accepted"]
    if outdated := [graph for graph in earlier if graph not in wanted]:
        store.remove(outdated)
    deed = Deed(store.names.activity(METHOD, "accepted"), "took in what was accepted", said=[])
    store.publish([*drafts, provenance_draft([deed], method=METHOD, names=store.names)])


def _schema(accepted: Sequence[Proposal], names: Names) -> GraphDraft:
    graph = names.layer_graph("accepted")
    triples = [ox.Triple(graph, RDF.type, OWL.Ontology), ox.Triple(graph, RDFS.label, ox.Literal("accepted schema"))]
    for proposal in accepted:
        node = ox.NamedNode(proposal.subject)
        triples += [ox.Triple(node, RDF.type, RDF.Property), ox.Triple(node, RDFS.label, ox.Literal(proposal.label))]
        if proposal.object != OWL.Thing.value:
            triples.append(ox.Triple(node, RDFS.domain, ox.NamedNode(proposal.object)))
    described = [(KG.layer, ox.Literal("ontology")), (KG.parameters, ox.Literal("accepted"))]
    return GraphDraft(graph, KG.OntologyGraph, triples, mode="replace", method=METHOD, described=described)


def _instances(accepted: Sequence[Proposal], store: TripleStore) -> Iterator[GraphDraft]:
    """Yield one graph per chunk: its facts with an accepted property, and the aliases that it is evidence for."""
    properties = {proposal.subject for proposal in accepted if proposal.layer == "proposals"}
    aliases = [proposal for proposal in accepted if proposal.layer == "aliases"]
    evidence = {statement for alias in aliases for statement in alias.evidence}
    facts: dict[str, list[Fact]] = defaultdict(list)
    chunk_of: dict[str, str] = {}
    for triple in _layer_triples(store) if accepted else ():
        if triple.predicate in properties:
            facts[triple.chunk].append(Fact(triple.subject, triple.relation, triple.object))
        if triple.statement in evidence:
            chunk_of[triple.statement] = triple.chunk
    for chunk in sorted({*facts, *chunk_of.values()}):
        supported = [alias for alias in aliases if any(chunk_of.get(iri) == chunk for iri in alias.evidence)]
        links = [triple for alias in supported for triple in _alias_triples(alias)]
        instances = instance_triples(facts[chunk], Ontology(), store.names).triples
        yield GraphDraft(
            store.names.assertion_graph(METHOD, "accepted", chunk),
            KG.AssertionGraph,
            list(dict.fromkeys([*instances, *links])),
            mode="replace",
            method=METHOD,
            sources=[ox.NamedNode(chunk)],
            activity=store.names.activity(METHOD, "accepted"),
            described=[(KG.layer, ox.Literal("ontology")), (KG.parameters, ox.Literal("accepted"))],
        )


def _alias_triples(alias: Proposal) -> Iterator[ox.Triple]:
    """Yield the link between two entities, and each with its name, because questions find entities by their labels."""
    ends = (ox.NamedNode(alias.subject), ox.NamedNode(alias.object))
    yield ox.Triple(ends[0], OWL.sameAs, ends[1])
    yield from (ox.Triple(end, RDF.type, OWL.Thing) for end in ends)
    names = alias.label.split(_EQUALS)
    if len(names) == len(ends):  # a name may contain the sign itself
        yield from (ox.Triple(end, RDFS.label, ox.Literal(name)) for end, name in zip(ends, names, strict=True))
