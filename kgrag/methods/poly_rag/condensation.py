"""The condensed layer: triples that say the same, merged around the attributes of the ontology (PolyRAG, section 3.3).

Each attribute is an anchor with its k nearest triples by the vector index; a triple belongs to the anchor that it is
nearest to. Triples of one anchor with the same subject and object become one, in the attribute's words; all others stay
as they are. An anchor costs one search of the index and a triple one look-up, so nothing grows with their product.

Graph written: one triple graph, layer "condensed", whose statements are derived from those of the graph layer, which
stay. Retrieval reads the condensed layer where there is one. Queries read: ``poly_rag/phrases``, those of
``kgrag.mapping``.

Deviations:
    The paper asks a model to write the merged triples (f_con); here they take the words of the anchor, so that nothing
    can be lost or invented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag import mapping, queries
from kgrag.errors import NotBuilt
from kgrag.methods.poly_rag.layer_drafts import METHOD
from kgrag.model import GraphDraft
from kgrag.ports import Embedder, TripleStore, VectorIndex, Vectors
from kgrag.text.sentences import entity_key
from kgrag.vocab import KG, PROV, RDF, RDFS, Names, words_of

__all__ = [
    "LEAST",
    "NEAREST",
    "Anchor",
    "Merged",
    "SourceTriple",
    "anchored",
    "condense",
    "condensed",
]

NEAREST = 50
"""k, how many nearest triples each anchor may take; the paper names no number."""

LEAST = 0.75
"""The cosine from which a relation is written in the words of an attribute, unless it is an attribute itself."""


def condense(
    store: TripleStore, index: VectorIndex, embedder: Embedder, *, nearest: int = NEAREST, least: float = LEAST
) -> dict[str, int]:
    """Publish the condensed layer; condensing again, over the same triples and ontology, changes nothing.

    Args:
        store: contains the layers.
        index: the space ``triple``, up to date.
        embedder: embeds attributes and relations.
        nearest: k, how many nearest triples each anchor may take.
        least: the cosine from which a relation is written in the words of an attribute.

    Raises:
        NotBuilt: there is no triple, or no ontology with attributes.
    """
    rows = store.select(queries.bind("poly_rag/phrases", catalogue=store.names.catalogue)).values()
    ontology = mapping.read_ontology(store)
    if not rows or not ontology.properties:
        raise NotBuilt(
            "poly_rag has nothing to condense: it needs a graph layer, and an ontology with attributes. "
            "Run `kgrag load ONTOLOGY` and `kgrag build poly_rag` first."
        )
    merged, labels = _merged(rows, ontology, index, embedder, (nearest, least), store.names)
    chunks = sorted({row[5] for row in rows})
    triples = list(_triples(merged, labels, store.names))
    described = [(KG.layer, ox.Literal("condensed")), (KG.parameters, ox.Literal(f"nearest={nearest}, least={least}"))]
    draft = GraphDraft(
        store.names.layer_graph("condensed"),
        KG.TripleGraph,
        triples,
        mode="replace",
        method=METHOD,
        sources=[ox.NamedNode(chunk) for chunk in chunks],
        described=described,
    )
    store.publish([draft])
    return {"condensed": len(merged), "condensed_from": len(rows)}


def _merged(
    rows: Sequence[tuple[str, ...]],
    ontology: mapping.Ontology,
    index: VectorIndex,
    embedder: Embedder,
    limits: tuple[int, float],
    names: Names,
) -> tuple[list[Merged], dict[str, str]]:
    """Return the merged triples, and the label of each of their subjects, relations and objects."""
    entities = {name: names.entity(entity_key(name)).value for row in rows for name in (row[1], row[4])}
    words = sorted({words_of(attribute.label) for attribute in ontology.properties.values()})
    anchors = [
        Anchor(names.minted_property(label).value, label, vector)
        for label, vector in zip(words, embedder.embed(words, "passage"), strict=True)
    ]
    relations = {row[2]: row[3] for row in rows}
    in_order = sorted(relations)
    embedded = embedder.embed([relations[iri] for iri in in_order], "passage")
    vectors = dict(zip(in_order, embedded, strict=True))
    attributes = {anchor.relation for anchor in anchors}

    def alike(relation: str, place: int) -> bool:
        if relation in attributes:  # "director" is never written as "writer", however near the two are
            return relation == anchors[place].relation
        return float(vectors[relation] @ anchors[place].vector) >= limits[1]

    stated = [SourceTriple(row[0], entities[row[1]], row[2], entities[row[4]]) for row in rows]
    merged = condensed(stated, anchors, anchored(anchors, index, k=limits[0], least=0.0), alike=alike)
    labels = {entities[name]: name for column in (1, 4) for name in dict.fromkeys(row[column] for row in rows)}
    return merged, {**labels, **relations, **{anchor.relation: anchor.label for anchor in anchors}}


def _triples(merged: Sequence[Merged], labels: dict[str, str], names: Names) -> Iterator[ox.Triple]:
    labelled: dict[str, None] = {}
    for triple in merged:
        ends = (triple.subject, triple.relation, triple.object)
        node = names.statement("condensed", *ends)
        yield ox.Triple(node, RDF.type, KG.Statement)
        for predicate, end in zip((RDF.subject, RDF.predicate, RDF.object), ends, strict=True):
            yield ox.Triple(node, predicate, ox.NamedNode(end))
        yield ox.Triple(node, KG.text, ox.Literal(" ".join(labels[end] for end in ends)))
        for original in triple.originals:
            yield ox.Triple(node, PROV.wasDerivedFrom, ox.NamedNode(original))
        labelled.update(dict.fromkeys(ends))
    for iri in labelled:
        yield ox.Triple(ox.NamedNode(iri), RDFS.label, ox.Literal(labels[iri]))


@dataclass(frozen=True, slots=True)
class Anchor:
    """A class and attribute of the ontology, as a phrase with its vector, and the relation that it stands for."""

    relation: str
    label: str
    vector: Vectors


@dataclass(frozen=True, slots=True)
class SourceTriple:
    """A triple of the graph layer: the IRIs of its statement, subject, relation and object."""

    statement: str
    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class Merged:
    """A condensed triple and the statements that it replaces; ``label`` is "" where it keeps its own relation."""

    subject: str
    relation: str
    object: str
    label: str
    originals: tuple[str, ...]


def anchored(anchors: Sequence[Anchor], index: VectorIndex, *, k: int, least: float) -> dict[str, int]:
    """Return statement -> place of its nearest anchor, for the k nearest statements of each anchor.

    Args:
        anchors: the attributes.
        index: the statements' vectors.
        k: how many nearest statements each anchor may take, at least 1.
        least: the smallest cosine of a statement with its anchor, 0 to 1.
    """
    best: dict[str, tuple[float, int]] = {}
    for place, anchor in enumerate(anchors):
        for statement, cosine in index.search(anchor.vector, k):
            if cosine >= least and (statement not in best or cosine > best[statement][0]):
                best[statement] = (cosine, place)
    return {statement: place for statement, (_, place) in best.items()}


def condensed(
    stated: Iterable[SourceTriple],
    anchors: Sequence[Anchor],
    nearest: Mapping[str, int],
    *,
    alike: Callable[[str, int], bool],
) -> list[Merged]:
    """Merge the triples that say the same, in the order of the first of each.

    Args:
        stated: every triple of the layer.
        anchors: the attributes.
        nearest: statement -> place of its anchor, from ``anchored``.
        alike: whether a relation (its IRI) may be written in the words of an anchor (its place).

    Returns:
        The merged triples; every statement is among the originals of exactly one.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    labels: dict[tuple[str, str, str], str] = {}
    for triple in stated:
        place = nearest.get(triple.statement)
        anchor = anchors[place] if place is not None and alike(triple.relation, place) else None
        key = (triple.subject, anchor.relation if anchor else triple.relation, triple.object)
        groups.setdefault(key, []).append(triple.statement)
        if anchor:
            labels.setdefault(key, anchor.label)
    return [Merged(*key, labels.get(key, ""), tuple(originals)) for key, originals in groups.items()]
