"""The trees of SiReRAG as graphs, to be published and read back. Nothing is read or written here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import pyoxigraph as ox

from kgrag.methods.sire_rag.aggregates import Aggregate
from kgrag.methods.sire_rag.summary_trees import SummaryNode, SummaryTree
from kgrag.model import GraphDraft, plain
from kgrag.vocab import DCTERMS, KG, PROV, RDF, Names, number

__all__ = ["METHOD", "chunk_tree_draft", "read_tree", "relatedness_draft"]

METHOD = "sire_rag"


def chunk_tree_draft(
    chunks: Iterable[str], summaries: Iterable[SummaryNode], *, names: Names, tree: str = "similarity"
) -> GraphDraft:
    """Return a tree whose leaves are chunks: that of similar chunks, or "dual", clustered twice (ablation E)."""
    leaves = (triple for chunk in chunks for triple in _node_triples(ox.NamedNode(chunk), 0))
    return _tree_draft(tree, [*leaves, *_summary_triples(summaries)], names)


def relatedness_draft(aggregates: Iterable[Aggregate], summaries: Iterable[SummaryNode], *, names: Names) -> GraphDraft:
    """Return the tree whose leaves are aggregates."""
    leaves = (triple for aggregate in aggregates for triple in _aggregate_triples(aggregate))
    return _tree_draft("relatedness", [*leaves, *_summary_triples(summaries)], names)


def read_tree(triples: Iterable[ox.Triple]) -> SummaryTree:
    """Read a tree back from its graph."""
    levels: dict[str, int] = {}
    texts: dict[str, str] = {}
    children: dict[str, list[str]] = defaultdict(list)
    for triple in triples:
        if triple.predicate == KG.level:
            levels[plain(triple.subject)] = int(plain(triple.object))
        elif triple.predicate == KG.text:
            texts[plain(triple.subject)] = plain(triple.object)
        elif triple.predicate == KG.hasChild:
            children[plain(triple.subject)].append(plain(triple.object))
    summaries = [
        SummaryNode(iri, texts.get(iri, ""), level, tuple(sorted(children[iri])))
        for iri, level in sorted(levels.items())
        if level
    ]
    return SummaryTree(frozenset(iri for iri, level in levels.items() if not level), tuple(summaries))


def _tree_draft(tree: str, triples: Sequence[ox.Triple], names: Names) -> GraphDraft:
    return GraphDraft(names.tree_graph(tree), KG.TreeGraph, triples, mode="replace", method=METHOD)


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


def _summary_triples(summaries: Iterable[SummaryNode]) -> Iterator[ox.Triple]:
    for summary in summaries:
        node = ox.NamedNode(summary.iri)
        yield from _node_triples(node, summary.level)
        yield ox.Triple(node, KG.text, ox.Literal(summary.text))
        for child in summary.children:
            yield ox.Triple(node, KG.hasChild, ox.NamedNode(child))


def _node_triples(node: ox.NamedNode, level: int) -> Iterator[ox.Triple]:
    yield ox.Triple(node, RDF.type, KG.TreeNode)
    yield ox.Triple(node, KG.level, number(level))
