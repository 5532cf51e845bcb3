"""The condensed layer: triples merged around the attributes of the ontology, with where each comes from.

PolyRAG, section 3.3. Graph written: one triple graph, layer "condensed", whose statements are derived from those of the
layer as it was taken; these stay. Retrieval reads the condensed layer where there is one. Queries read:
``poly_rag/phrases``, those of ``kgrag.mapping``.

Triples that say the same of one thing, merged; every one of them stays reachable from what it was merged into.

PolyRAG, section 3.3. Each attribute of the ontology is an anchor, with its k nearest triples by the vector index; a
triple goes to the anchor that it is nearest to. Triples of one anchor with the same subject and object become one,
under the attribute's words; all others stay as they are. Nothing is compared with everything: an anchor costs one
search of the index, a triple one look into a table.

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
    "Stated",
    "anchored",
    "condense",
    "condensed",
]

NEAREST = 50
"""How many triples an anchor looks at; the paper names no number."""

LEAST = 0.75
"""The cosine of a relation with an attribute from which it takes its words, unless they are those of another one."""


def condense(
    store: TripleStore, index: VectorIndex, embedder: Embedder, *, nearest: int = NEAREST, least: float = LEAST
) -> dict[str, int]:
    """Publish the condensed layer; condensing again, over the same triples and ontology, changes nothing.

    Args:
        store: holds the layers.
        index: the space ``triple``, up to date.
        embedder: embeds attributes and relations.
        nearest: k, how many triples an anchor looks at.
        least: cosine from which a relation takes the words of an attribute.

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
    """Give the merged triples, and the name of every end of one."""
    subject_iri, object_iri = _entities(rows, names)
    words = sorted({words_of(one.label) for one in ontology.properties.values()})
    anchors = [
        Anchor(names.minted_property(label).value, label, vector)
        for label, vector in zip(words, embedder.embed(words, "passage"), strict=True)
    ]
    relations = {row[2]: row[3] for row in rows}
    spelt = sorted(relations)
    near = embedder.embed([relations[iri] for iri in spelt], "passage")
    vectors = dict(zip(spelt, near, strict=True))

    known = {anchor.relation for anchor in anchors}

    def alike(relation: str, place: int) -> bool:
        if relation in known:
            return relation == anchors[place].relation
        return float(vectors[relation] @ anchors[place].vector) >= limits[1]

    stated = [Stated(row[0], subject_iri[row[1]], row[2], object_iri[row[4]]) for row in rows]
    merged = condensed(stated, anchors, anchored(anchors, index, k=limits[0], least=0.0), alike=alike)
    labels = {iri: name for name, iri in [*subject_iri.items(), *object_iri.items()]}
    return merged, {**labels, **relations, **{anchor.relation: anchor.label for anchor in anchors}}


def _entities(rows: Sequence[tuple[str, ...]], names: Names) -> tuple[dict[str, str], dict[str, str]]:
    subjects = {row[1]: names.entity(entity_key(row[1])).value for row in rows}
    objects = {row[4]: names.entity(entity_key(row[4])).value for row in rows}
    return subjects, objects


def _triples(merged: Sequence[Merged], labels: dict[str, str], names: Names) -> Iterator[ox.Triple]:
    named: dict[str, None] = {}
    for one in merged:
        ends = (one.subject, one.relation, one.object)
        node = names.statement("condensed", *ends)
        yield ox.Triple(node, RDF.type, KG.Statement)
        for predicate, end in zip((RDF.subject, RDF.predicate, RDF.object), ends, strict=True):
            yield ox.Triple(node, predicate, ox.NamedNode(end))
        yield ox.Triple(node, KG.text, ox.Literal(" ".join(labels[end] for end in ends)))
        for original in one.originals:
            yield ox.Triple(node, PROV.wasDerivedFrom, ox.NamedNode(original))
        named.update(dict.fromkeys(ends))
    for iri in named:
        yield ox.Triple(ox.NamedNode(iri), RDFS.label, ox.Literal(labels[iri]))


@dataclass(frozen=True, slots=True)
class Anchor:
    """A class and attribute of the ontology, as a phrase with its vector, and the relation that it stands for."""

    relation: str
    label: str
    vector: Vectors


@dataclass(frozen=True, slots=True)
class Stated:
    """A triple of the layer: its statement, its ends and its relation by IRI."""

    statement: str
    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class Merged:
    """A condensed triple, and the statements that it stands for; ``label`` is "" where it keeps its own relation."""

    subject: str
    relation: str
    object: str
    label: str
    originals: tuple[str, ...]


def anchored(anchors: Sequence[Anchor], index: VectorIndex, *, k: int, least: float) -> dict[str, int]:
    """Give statement -> place of the anchor that it is nearest to, among the k nearest statements of each anchor.

    Args:
        anchors: the attributes.
        index: the statements' vectors.
        k: how many statements an anchor looks at, at least 1.
        least: the cosine that a statement has with its anchor at least, 0 to 1.
    """
    best: dict[str, tuple[float, int]] = {}
    for place, anchor in enumerate(anchors):
        for statement, cosine in index.search(anchor.vector, k):
            if cosine >= least and (statement not in best or cosine > best[statement][0]):
                best[statement] = (cosine, place)
    return {statement: place for statement, (_, place) in best.items()}


def condensed(
    stated: Iterable[Stated],
    anchors: Sequence[Anchor],
    nearest: Mapping[str, int],
    *,
    alike: Callable[[str, int], bool],
) -> list[Merged]:
    """Merge the triples that say the same, in the order of the first of each.

    Args:
        stated: every triple of the layer.
        anchors: the attributes.
        nearest: what ``anchored`` gave.
        alike: says of a relation's IRI and an anchor's place whether the one may take the words of the other.

    Returns:
        Every statement stands in the originals of exactly one merged triple.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    labels: dict[tuple[str, str, str], str] = {}
    for one in stated:
        place = nearest.get(one.statement)
        taken = place is not None and alike(one.relation, place)
        relation = anchors[place].relation if place is not None and taken else one.relation
        key = (one.subject, relation, one.object)
        groups.setdefault(key, []).append(one.statement)
        if place is not None and taken:
            labels.setdefault(key, anchors[place].label)
    return [Merged(*key, labels.get(key, ""), tuple(originals)) for key, originals in groups.items()]
