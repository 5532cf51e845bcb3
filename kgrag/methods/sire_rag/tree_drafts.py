"""The graphs of SiReRAG as drafts: propositions of a chunk, activities, and trees."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyoxigraph as ox

from kgrag.methods.sire_rag.aggregates import Aggregate
from kgrag.methods.sire_rag.summary_trees import Standing, Summary
from kgrag.model import GraphDraft, plain
from kgrag.text.sentences import entity_key
from kgrag.vocab import DCTERMS, KG, PROV, RDF, RDFS, Names, number

__all__ = [
    "METHOD",
    "Statement",
    "dual_draft",
    "entity_key",
    "proposition_draft",
    "read_tree",
    "relatedness_draft",
    "similarity_draft",
    "with_parameters",
]

METHOD = "sire_rag"


@dataclass(frozen=True, slots=True)
class Statement:
    """A proposition in words, and the names of the entities that it mentions."""

    text: str
    entities: tuple[str, ...]


def proposition_draft(
    chunk: ox.NamedNode, statements: Sequence[Statement], *, activity: ox.NamedNode, origin: str, names: Names
) -> GraphDraft:
    """Give the graph of what a chunk states; ``origin`` says by what that was found (``model=…``, ``extraction=…``)."""
    triples: list[ox.Triple] = []
    labels: dict[ox.NamedNode, str] = {}
    for order, statement in enumerate(statements):
        node = names.proposition(chunk.value, str(order), statement.text)
        triples.append(ox.Triple(node, RDF.type, KG.Proposition))
        triples.append(ox.Triple(node, KG.text, ox.Literal(statement.text)))
        triples.append(ox.Triple(node, KG.order, number(order)))
        for name in statement.entities:
            if key := entity_key(name):
                labels.setdefault(names.entity(key), " ".join(name.split()))
                triples.append(ox.Triple(node, KG.mentions, names.entity(key)))
    triples += _entity_triples(labels)
    return GraphDraft(
        names.proposition_graph(chunk),
        KG.PropositionGraph,
        list(dict.fromkeys(triples)),
        mode="replace",
        method=METHOD,
        sources=[chunk],
        activity=activity,
        described=[(KG.parameters, ox.Literal(origin))],
    )


def _entity_triples(labels: Mapping[ox.NamedNode, str]) -> Iterator[ox.Triple]:
    for entity, label in labels.items():
        yield ox.Triple(entity, RDF.type, KG.Entity)
        yield ox.Triple(entity, RDFS.label, ox.Literal(label))


def similarity_draft(chunks: Iterable[str], summaries: Iterable[Summary], *, names: Names) -> GraphDraft:
    """Give the tree whose leaves are chunks."""
    return _tree_draft("similarity", [*_chunk_leaves(chunks), *_summary_triples(summaries)], names)


def dual_draft(chunks: Iterable[str], summaries: Iterable[Summary], *, names: Names) -> GraphDraft:
    """Give the tree whose leaves are chunks, clustered twice (ablation E)."""
    return _tree_draft("dual", [*_chunk_leaves(chunks), *_summary_triples(summaries)], names)


def relatedness_draft(aggregates: Iterable[Aggregate], summaries: Iterable[Summary], *, names: Names) -> GraphDraft:
    """Give the tree whose leaves are aggregates."""
    leaves = (triple for aggregate in aggregates for triple in _aggregate_triples(aggregate))
    return _tree_draft("relatedness", [*leaves, *_summary_triples(summaries)], names)


def with_parameters(draft: GraphDraft, parameters: str) -> GraphDraft:
    """Give a tree's draft with what it was grown with, for the catalogue."""
    return replace(draft, described=[(KG.parameters, ox.Literal(parameters))])


def read_tree(triples: Iterable[ox.Triple]) -> Standing:
    """Read a tree back from its graph."""
    level: dict[str, int] = {}
    text: dict[str, str] = {}
    children: dict[str, list[str]] = defaultdict(list)
    for triple in triples:
        if triple.predicate == KG.level:
            level[plain(triple.subject)] = int(plain(triple.object))
        elif triple.predicate == KG.text:
            text[plain(triple.subject)] = plain(triple.object)
        elif triple.predicate == KG.hasChild:
            children[plain(triple.subject)].append(plain(triple.object))
    summaries = [
        Summary(iri, text.get(iri, ""), at, tuple(sorted(children[iri]))) for iri, at in sorted(level.items()) if at
    ]
    return Standing(frozenset(iri for iri, at in level.items() if not at), tuple(summaries))


def _tree_draft(tree: str, triples: Sequence[ox.Triple], names: Names) -> GraphDraft:
    return GraphDraft(names.tree_graph(tree), KG.TreeGraph, triples, mode="replace", method=METHOD)


def _chunk_leaves(chunks: Iterable[str]) -> Iterator[ox.Triple]:
    return (triple for chunk in chunks for triple in _node_triples(ox.NamedNode(chunk), 0))


def _aggregate_triples(aggregate: Aggregate) -> Iterator[ox.Triple]:
    node = ox.NamedNode(aggregate.iri)
    yield from _node_triples(node, 0)
    yield ox.Triple(node, KG.text, ox.Literal(aggregate.text))
    for predicate, values in (
        (KG.about, aggregate.entities),
        (DCTERMS.hasPart, aggregate.propositions),
        (PROV.wasDerivedFrom, aggregate.chunks),
    ):
        for value in values:
            yield ox.Triple(node, predicate, ox.NamedNode(value))


def _summary_triples(summaries: Iterable[Summary]) -> Iterator[ox.Triple]:
    for summary in summaries:
        node = ox.NamedNode(summary.iri)
        yield from _node_triples(node, summary.level)
        yield ox.Triple(node, KG.text, ox.Literal(summary.text))
        for child in summary.children:
            yield ox.Triple(node, KG.hasChild, ox.NamedNode(child))


def _node_triples(node: ox.NamedNode, level: int) -> Iterator[ox.Triple]:
    yield ox.Triple(node, RDF.type, KG.TreeNode)
    yield ox.Triple(node, KG.level, number(level))
