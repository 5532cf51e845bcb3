"""The hypergraph as drafts of named graphs, ready to be published (OG-RAG, section 4.1). Pure functions over values.

Graphs drafted: one graph per hyperedge, the hypernode graph, one assertion graph per extraction, one document per
mapped record (one line of text per fact), and quarantine graphs for replies that do not keep the ontology's contract.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyoxigraph as ox

from kgrag.mapping import MappedRecord
from kgrag.mapping.factual_blocks import Edge, line
from kgrag.model import Chunk, Document, GraphDraft
from kgrag.text.chunking import count_tokens
from kgrag.vocab import KG, RDF, Names, number

__all__ = [
    "METHOD",
    "assertion_draft",
    "hyperedge_draft",
    "hypernode_triples",
    "hypernodes_draft",
    "key_text",
    "quarantine_draft",
    "record_document",
]

METHOD = "og_rag"


def hyperedge_draft(edge: Edge, *, sources: Sequence[ox.NamedNode], activity: ox.NamedNode, names: Names) -> GraphDraft:
    """Return the graph of a hyperedge: each hypernode with its key and value."""
    triples = []
    for key, value in sorted(edge):
        node = names.hypernode(key, value)
        triples.append(ox.Triple(node, KG.key, ox.Literal(key)))
        triples.append(ox.Triple(node, KG.value, ox.Literal(value)))
    return GraphDraft(
        iri=names.hyperedge(edge),
        kind=KG.HyperedgeGraph,
        triples=triples,
        method=METHOD,
        sources=sources,
        activity=activity,
        described=[(KG.size, number(len(edge)))],
    )


def hypernode_triples(
    edges: Iterable[Edge], properties: Mapping[str, ox.NamedNode], names: Names
) -> Iterator[ox.Triple]:
    """Yield each hypernode once, with the terms that its key and its value are embedded under."""
    pairs = sorted({pair for edge in edges for pair in edge})
    for key, value in pairs:
        node = names.hypernode(key, value)
        yield ox.Triple(node, RDF.type, KG.Hypernode)
        yield ox.Triple(node, KG.keyTerm, names.hypernode_key(key))
        yield ox.Triple(node, KG.valueTerm, names.hypernode_value(value))
    for key in sorted({key for key, _ in pairs}):
        term = names.hypernode_key(key)
        yield ox.Triple(term, RDF.type, KG.HypernodeKey)
        yield ox.Triple(term, KG.text, ox.Literal(key_text(key)))
        if key in properties:
            yield ox.Triple(term, KG.onProperty, properties[key])
    for value in sorted({value for _, value in pairs}):
        yield ox.Triple(names.hypernode_value(value), RDF.type, KG.HypernodeValue)
        yield ox.Triple(names.hypernode_value(value), KG.text, ox.Literal(value))


def key_text(key: str) -> str:
    """Spell a key as it is embedded: words apart.

    >>> key_text("Crop has_growing_zones  name")
    'Crop has growing zones name'
    """
    return " ".join(key.replace("_", " ").split())


def hypernodes_draft(triples: Sequence[ox.Triple], names: Names) -> GraphDraft:
    """Return the draft that adds hypernodes to the one graph of all hypernodes."""
    return GraphDraft(names.hypernodes, KG.HypernodeGraph, triples, mode="append", method=METHOD)


def assertion_draft(
    graph: ox.NamedNode, triples: Sequence[ox.Triple], *, sources: Sequence[ox.NamedNode], activity: ox.NamedNode
) -> GraphDraft:
    """Return the graph of what an extraction states."""
    return GraphDraft(graph, KG.AssertionGraph, triples, method=METHOD, sources=sources, activity=activity)


def quarantine_draft(
    content: str, violation: str, *, graph: ox.NamedNode, sources: Sequence[ox.NamedNode], names: Names
) -> GraphDraft:
    """Return the graph of a reply that breaks the contract, kept as text so that no pattern matches what it states."""
    kept = names.quarantine_graph(graph.value, content)
    about_reply = (
        (KG.intendedGraph, graph),
        (KG.intendedKind, KG.AssertionGraph),
        (KG.content, ox.Literal(content)),
        (KG.violation, ox.Literal(violation)),
    )
    triples = [ox.Triple(kept, predicate, value) for predicate, value in about_reply]
    return GraphDraft(kept, KG.QuarantineGraph, triples, method=METHOD, sources=sources)


def record_document(record: MappedRecord, edges: Sequence[Edge]) -> tuple[Document, dict[Edge, Chunk]]:
    """Return a mapped record as a document with one line per fact, and fact -> the chunk that is its line."""
    chunks: dict[Edge, Chunk] = {}
    start = 0
    for order, edge in enumerate(edge for edge in edges if edge):
        text = line(edge)
        chunks[edge] = Chunk(text, start, start + len(text), order, count_tokens(text))
        start += len(text) + 1
    text = "\n".join(chunk.text for chunk in chunks.values())
    return Document(text, record.title, record.location, record.name, "application/ld+json"), chunks
