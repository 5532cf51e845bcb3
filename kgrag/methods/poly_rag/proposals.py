"""Proposals: what the ontology may lack, and which names may be of one thing; nothing changes until a person decides.

PolyRAG, section 3.2. A proposal is a triple with the statements that it stands on, in a graph of its own: a new
property with the class that it would belong to, or an owl:sameAs between two entities. Accepting a property puts it
into a schema graph of its own and makes instances of the triples that have it; rejecting, or deciding again, takes that
back. Graphs written: proposal graphs, an ontology graph, assertion graphs. Queries read: ``poly_rag/phrases``,
``poly_rag/proposals``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyoxigraph as ox

from kgrag import mapping, queries
from kgrag.errors import NotBuilt, UnknownName
from kgrag.mapping import Ontology
from kgrag.methods.poly_rag import completion
from kgrag.methods.poly_rag.completion import Medoid, Space
from kgrag.methods.poly_rag.graph_facts import Fact
from kgrag.methods.poly_rag.layer_drafts import METHOD, Origin, instances_of
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

_GRAPHS = ("proposals", "aliases")
_MOST_EVIDENCE = 20
_DIMENSIONS = 20
_EQUALS = " = "
_BRACKET = re.compile(r"\s*\([^()]*\)$")


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed triple, in words and as terms; ``weight`` is the share of the candidates that it goes before.

    ``evidence`` are statements; a decision may outlive them, when the documents that spoke for it are forgotten.
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
    """What a completion saw and proposes: both layers in the reduced space, the medoids by name, the proposals."""

    space: Space
    medoids: tuple[Medoid, ...]
    labels: tuple[str, ...]
    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True)
class _Stated:
    """A triple of the graph layer."""

    statement: str
    subject: str
    predicate: str
    relation: str
    object: str
    chunk: str


def listed(store: TripleStore) -> list[Proposal]:
    """Give every proposal: of attributes, then of aliases, each by weight."""
    return [one for layer in _GRAPHS for one in _read(layer, store)]


def _read(layer: str, store: TripleStore) -> Iterator[Proposal]:
    rows = store.select(queries.bind("poly_rag/proposals", graph=store.names.layer_graph(layer))).values()
    behind: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for *said, evidence in rows:
        behind[tuple(said)] += [evidence] if evidence else []
    for (iri, label, subject, predicate, value, weight, decision), statements in behind.items():
        known: Decision = "accepted" if decision == "accepted" else "rejected" if decision == "rejected" else "open"
        yield Proposal(iri, label, subject, predicate, value, float(weight), known, tuple(statements), layer)


def wordings(proposals: Iterable[Proposal], store: TripleStore) -> dict[str, str]:
    """Give the IRI of each proposal -> the words of the first statement that it stands on, "" where there is none."""
    first = {one.iri: one.evidence[0] for one in proposals if one.evidence}
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

    Relations whose words an attribute has already are left out: they need no proposal. What was decided stays.

    Args:
        store: holds the layers.
        embedder: embeds the phrases of both.
        clusters: how many proposals at most.
        fraction: share of the phrases, by priority, that is clustered.
        whole: embed class and attribute, subject and relation, as the paper does; else attribute and relation alone.

    Raises:
        NotBuilt: there is no ontology with attributes, or no triple.

    Deviations:
        Without the subject, an attribute that was removed is found more often (``benchmarks.poly_rag_completion``):
        names of things outweigh the relation otherwise.
    """
    ontology, stated = mapping.read_ontology(store), _stated(store)
    attributes = [(concept, one.label) for one in ontology.properties.values() for concept in one.domains or ("",)]
    phrases = list(dict.fromkeys((one.subject, one.relation) for one in stated))
    if len(attributes) < 2 or len(phrases) < 2:
        raise NotBuilt(
            "poly_rag has no two layers to compare: it needs an ontology with attributes and a graph layer. "
            "Run `kgrag load ONTOLOGY` and `kgrag build poly_rag` first."
        )
    above = embedder.embed([_phrase(_name(one, ontology), label, whole) for one, label in attributes], "passage")
    below = embedder.embed([_phrase(subject, relation, whole) for subject, relation in phrases], "passage")
    space = completion.reduced(above, below, dimensions=_DIMENSIONS)
    priority = completion.priorities(space.graph, completion.fitted(space.ontology), completion.fitted(space.graph))
    known = {words_of(label) for _, label in attributes}
    new = np.array([place for place, (_, relation) in enumerate(phrases) if words_of(relation) not in known], dtype=int)
    found = (
        completion.medoids(space.graph[new], priority[new], fraction=fraction, clusters=clusters) if len(new) else []
    )
    placed = [replace(one, place=int(new[one.place]), members=tuple(int(new[m]) for m in one.members)) for one in found]
    nearest = [attributes[int(np.argmax(above @ below[one.place]))][0] for one in placed]
    proposals = _of_medoids(placed, nearest, phrases, stated, store.names)
    labels = tuple(phrases[one.place][1] for one in placed)
    return Completion(space, tuple(placed), labels, tuple(_kept(proposals, "proposals", store)))


def _phrase(subject: str, relation: str, whole: bool) -> str:
    return f"{subject} {words_of(relation)}" if whole else words_of(relation)


def _stated(store: TripleStore) -> list[_Stated]:
    rows = store.select(queries.bind("poly_rag/phrases", catalogue=store.names.catalogue)).values()
    return [_Stated(*row) for row in rows]


def _name(concept: str, ontology: Ontology) -> str:
    known = ontology.concepts.get(concept)
    return known.label if known else words_of(local_name(concept)) if concept else "thing"


def _of_medoids(
    found: Sequence[Medoid],
    concepts: Sequence[str],
    phrases: Sequence[tuple[str, str]],
    stated: Sequence[_Stated],
    names: Names,
) -> list[Proposal]:
    """Give a proposal a relation, the first medoid of each, with the statements that have the relation."""
    by_relation: dict[str, list[_Stated]] = defaultdict(list)
    for one in stated:
        by_relation[one.relation].append(one)
    made: dict[str, Proposal] = {}
    for rank, (medoid, concept) in enumerate(zip(found, concepts, strict=True)):
        relation = phrases[medoid.place][1]
        evidence = by_relation[relation]
        subject, value = evidence[0].predicate, concept or OWL.Thing.value
        weight = round(1 - rank / len(found), 4)
        iri = names.proposal(subject, RDFS.domain.value, value).value
        said = tuple(each.statement for each in evidence[:_MOST_EVIDENCE])
        made.setdefault(relation, Proposal(iri, relation, subject, RDFS.domain.value, value, weight, "open", said))
    return list(made.values())


def proposed_aliases(store: TripleStore) -> list[Proposal]:
    """Propose that a name with a bracket and the same name without are of one thing, where only one such pair is.

    "Asterix (comicsCharacter)" and "Asterix" are proposed; with "Asterix (film)" beside them nothing is. Published like
    the other proposals, in a graph of its own.
    """
    of_name: dict[str, list[_Stated]] = defaultdict(list)
    names: dict[str, str] = {}
    for one in _stated(store):
        for name in (one.subject, one.object):
            of_name[entity_key(name)].append(one)
            names.setdefault(entity_key(name), name)
    bare: dict[str, list[str]] = defaultdict(list)
    for key in of_name:
        if (plain := _BRACKET.sub("", key)) != key:
            bare[plain].append(key)
    pairs = [(plain, keys[0]) for plain, keys in sorted(bare.items()) if len(keys) == 1 and plain in of_name]
    made = [_alias(plain, key, of_name, names, store.names) for plain, key in pairs]
    return _kept(made, "aliases", store)


def _alias(plain: str, key: str, of_name: dict[str, list[_Stated]], names: dict[str, str], minted: Names) -> Proposal:
    one, other = minted.entity(plain).value, minted.entity(key).value
    iri = minted.proposal(one, OWL.sameAs.value, other).value
    evidence = tuple(dict.fromkeys(each.statement for each in [*of_name[plain][:5], *of_name[key][:5]]))
    label = f"{names[plain]}{_EQUALS}{names[key]}"
    return Proposal(iri, label, one, OWL.sameAs.value, other, 1.0, "open", evidence, "aliases")


def _kept(made: Sequence[Proposal], layer: str, store: TripleStore) -> list[Proposal]:
    """Publish proposals beside those that were decided; the open ones of before go."""
    decided = {one.iri: one for one in _read(layer, store) if one.decision != "open"}
    whole = [*decided.values(), *(one for one in made if one.iri not in decided)]
    _publish(whole, layer, store)
    return whole


def _publish(proposals: Sequence[Proposal], layer: str, store: TripleStore) -> None:
    triples = [triple for one in proposals for triple in _triples(one)]
    graph = store.names.layer_graph(layer)
    described = [(KG.layer, ox.Literal("proposals"))]
    if triples or store.described(graph):
        draft = GraphDraft(graph, KG.ProposalGraph, triples, mode="replace", method=METHOD, described=described)
        store.publish([draft])


def _triples(one: Proposal) -> Iterator[ox.Triple]:
    node = ox.NamedNode(one.iri)
    yield ox.Triple(node, RDF.type, KG.Proposal)
    yield ox.Triple(node, RDFS.label, ox.Literal(one.label))
    for predicate, value in ((RDF.subject, one.subject), (RDF.predicate, one.predicate), (RDF.object, one.object)):
        yield ox.Triple(node, predicate, ox.NamedNode(value))
    yield ox.Triple(node, KG.weight, ox.Literal(_decimal(one.weight), datatype=XSD.decimal))
    yield ox.Triple(node, KG.decision, ox.Literal(one.decision))
    for statement in one.evidence:
        yield ox.Triple(node, PROV.wasDerivedFrom, ox.NamedNode(statement))


def _decimal(value: float) -> str:
    """Spell a weight as the store keeps it: 1, 0.5."""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def decide(name: str, decision: Decision, *, store: TripleStore) -> Proposal:
    """Accept or reject a proposal by its IRI or name, or open it again; what follows from it comes or goes.

    One that is opened again and has no evidence left is no proposal any more, and goes.

    Raises:
        UnknownName: there is no such proposal.
    """
    every = listed(store)
    found = next((one for one in every if name in (one.iri, one.label)), None)
    if found is None:
        raise UnknownName(f"there is no proposal {name!r}. {closest(name, [one.label for one in every])}")
    decided = [replace(one, decision=decision) if one.iri == found.iri else one for one in every]
    changed = [one for one in decided if one.evidence or one.decision != "open"]
    _publish([one for one in changed if one.layer == found.layer], found.layer, store)
    _apply([one for one in changed if one.decision == "accepted"], store)
    return replace(found, decision=decision)


def _apply(accepted: Sequence[Proposal], store: TripleStore) -> None:
    """Let schema and instances say what the accepted proposals say, and nothing of those that are not any more."""
    attributes = [one for one in accepted if one.layer == "proposals"]
    made = [_schema(attributes, store.names), *_instances(accepted, store)]
    wanted = {draft.iri for draft in made}
    rows = store.select(queries.bind("poly_rag/layers", catalogue=store.names.catalogue)).values()
    gone = [ox.NamedNode(graph) for graph, _, _, by in rows if by == "accepted" and ox.NamedNode(graph) not in wanted]
    if gone:
        store.remove(gone)
    deed = Deed(store.names.activity(METHOD, "accepted"), "took in what was accepted", said=[])
    store.publish([*made, provenance_draft([deed], method=METHOD, names=store.names)])


def _schema(accepted: Sequence[Proposal], names: Names) -> GraphDraft:
    graph = names.layer_graph("accepted")
    triples = [ox.Triple(graph, RDF.type, OWL.Ontology), ox.Triple(graph, RDFS.label, ox.Literal("accepted schema"))]
    for one in accepted:
        node = ox.NamedNode(one.subject)
        triples += [ox.Triple(node, RDF.type, RDF.Property), ox.Triple(node, RDFS.label, ox.Literal(one.label))]
        if one.object != OWL.Thing.value:
            triples.append(ox.Triple(node, RDFS.domain, ox.NamedNode(one.object)))
    described = [(KG.layer, ox.Literal("ontology")), (KG.parameters, ox.Literal("accepted"))]
    return GraphDraft(graph, KG.OntologyGraph, triples, mode="replace", method=METHOD, described=described)


def _instances(accepted: Sequence[Proposal], store: TripleStore) -> Iterator[GraphDraft]:
    """Give, for each chunk, what it states with an accepted property or of two names of one thing."""
    properties = {one.subject for one in accepted if one.layer == "proposals"}
    same = [one for one in accepted if one.layer == "aliases"]
    by_chunk: dict[str, list[_Stated]] = defaultdict(list)
    standing = {each for one in same for each in one.evidence}
    at: dict[str, str] = {}
    for one in _stated(store) if accepted else ():
        if one.predicate in properties:
            by_chunk[one.chunk].append(one)
        if one.statement in standing:
            at[one.statement] = one.chunk
            by_chunk.setdefault(one.chunk, [])
    activity = store.names.activity(METHOD, "accepted")
    for chunk, stated in sorted(by_chunk.items()):
        origin = Origin(ox.NamedNode(chunk), activity, "accepted")
        here = (one for one in same if any(at.get(each) == chunk for each in one.evidence))
        alike = [triple for one in here for triple in _same_thing(one)]
        yield _accepted_draft(stated, alike, origin, store.names)


def _same_thing(one: Proposal) -> Iterator[ox.Triple]:
    """Say that two entities are one thing; each with its name, by which a question finds it."""
    ends = (ox.NamedNode(one.subject), ox.NamedNode(one.object))
    yield ox.Triple(ends[0], OWL.sameAs, ends[1])
    yield from (ox.Triple(end, RDF.type, OWL.Thing) for end in ends)
    names = one.label.split(_EQUALS)
    if len(names) == len(ends):
        yield from (ox.Triple(end, RDFS.label, ox.Literal(name)) for end, name in zip(ends, names, strict=True))


def _accepted_draft(stated: Iterable[_Stated], alike: Iterable[ox.Triple], origin: Origin, names: Names) -> GraphDraft:
    facts = [Fact(one.subject, one.relation, one.object) for one in stated]
    triples = [*instances_of(facts, Ontology(), names).triples, *alike]
    return GraphDraft(
        names.assertion_graph(METHOD, "accepted", origin.chunk.value),
        KG.AssertionGraph,
        list(dict.fromkeys(triples)),
        mode="replace",
        method=METHOD,
        sources=[origin.chunk],
        activity=origin.activity,
        described=[(KG.layer, ox.Literal("ontology")), (KG.parameters, ox.Literal(origin.by))],
    )
