"""What a knowledge base says of itself, computed again: names made of content, spans, hashes, counts, orders, sums.

``recomputed`` reads every graph once and compares what is written with what it was made from. An IRI that is derived
from content is minted again; the text of a chunk is cut out of its document again; sizes, orders, tokens and checksums
are counted again. What a shape asks for (a value is there, once, of such a datatype) is not repeated here: a thing that
lacks what its name is made of is left to its shape. A graph that lost a source is not compared with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import pyoxigraph as ox

from kgrag.audit.account_recomputation import account_rows, first_account
from kgrag.audit.catalogue_recomputation import activity_rows, catalogue_rows
from kgrag.audit.method_recomputation import MethodGraphs
from kgrag.audit.stated_content import StatedGraph, StatedNode, differing, fault, nodes_of, unless_missing
from kgrag.audit.step_input import Row
from kgrag.model import plain
from kgrag.ports import TripleStore
from kgrag.store.lexical_forms import ending_with
from kgrag.text.chunking import count_tokens
from kgrag.text.documents import PLAIN_TEXT
from kgrag.vocab import DCTERMS, KG, METADATA, PROV, RDF, Names, local_name

__all__ = ["recomputed"]

_OF_DOCUMENT_NAME = (DCTERMS.identifier, KG.cites, KG.url)


def recomputed(store: TripleStore) -> Iterator[Row]:
    """Yield what a knowledge base states and what does not come out so when it is computed again.

    Args:
        store: read as a whole, one graph in memory at a time.
    """
    names = store.names
    catalogue = nodes_of(store.triples(names.catalogue))
    own, of_methods = _OwnGraphs(store), MethodGraphs(store)
    provenance, since = None, first_account(catalogue.values())
    for entry in catalogue.values():
        kind = next(iter(entry.values.get(RDF.type, ())), None)
        if kind is None or KG.publication not in entry.values or entry.iri == names.catalogue:
            continue
        graph = StatedGraph(entry, kind, list(store.triples(ox.NamedNode(plain(entry.iri)))))
        yield from unless_missing(account_rows(graph, since))
        rows = (*own.rows(graph), *of_methods.rows(graph))
        yield from rows
        provenance = graph if kind == KG.ProvenanceGraph else provenance
    yield from of_methods.hypernode_rows()
    if provenance is not None:
        yield from activity_rows(provenance.nodes, catalogue, names)
    yield from catalogue_rows(catalogue, names)


class _OwnGraphs:
    """The graphs that belong to no method."""

    def __init__(self, store: TripleStore) -> None:
        self._store = store
        self._names: Names = store.names

    def rows(self, graph: StatedGraph) -> Iterator[Row]:
        """Yield what is wrong with one graph."""
        if graph.kind == KG.DocumentGraph:
            for document in graph.of(KG.Document):
                yield from unless_missing(self._document(graph, document))
        elif graph.kind == KG.AnswerGraph:
            yield from unless_missing(self._answer(graph))
        elif graph.kind == KG.LexicalGraph:
            yield from unless_missing(self._lexical(graph))
        elif graph.kind == KG.QuarantineGraph:
            for node in graph.having(KG.content):
                yield from unless_missing(self._quarantined(node))
        elif graph.kind == KG.InferenceGraph and KG.stale not in graph.entry.values:
            yield from unless_missing(self._inferred(graph))
        elif graph.kind == KG.AuditGraph:
            yield from unless_missing(self._audit(graph))

    def _misnamed(self, node: StatedNode, expected: ox.NamedNode) -> Iterator[Row]:
        """Yield a row where a name that kgrag made is not that of the content; others' names are theirs to choose."""
        if node.iri != expected and plain(node.iri).startswith(self._names.base):
            yield fault(node, RDF.type, f"has a name that is not that of its content, {expected.value}")

    def _document(self, graph: StatedGraph, document: StatedNode) -> Iterator[Row]:
        chunks = graph.of(KG.Chunk)
        text = document.one(KG.text)
        for chunk in chunks:
            yield from unless_missing(self._chunk(chunk, document, text))
        yield from unless_missing(_misordered(chunks))
        yield from self._misnamed(document, self._document_name(document))
        yield from self._misnamed(graph.entry, self._names.document_graph(ox.NamedNode(plain(document.iri))))
        hashed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        yield from differing(document, KG.contentHash, hashed, "that of its text")
        tokens = sum(chunk.number(KG.tokens) for chunk in chunks) if chunks else count_tokens(text)
        yield from differing(document, KG.tokens, tokens, "its text has")
        if not set(document.all(DCTERMS.identifier)) <= set(graph.entry.all(DCTERMS.identifier)):
            yield fault(graph.entry, DCTERMS.identifier, "is listed without the identifier of its document")

    def _document_name(self, document: StatedNode) -> ox.NamedNode:
        nobody = ox.NamedNode("urn:kgrag:document")
        stated = sorted(
            str(ox.Triple(nobody, predicate, value))
            for predicate, values in document.values.items()
            for value in values
            if predicate in _OF_DOCUMENT_NAME or predicate.value.startswith(METADATA)
        )
        title = document.one(DCTERMS.title) if DCTERMS.title in document.values else ""
        named = (document.one(KG.text), title)
        # the first versions named a document by its text and title only, and later ones not by its format
        earlier = {name.value: name for name in (self._names.document(*named), self._names.document(*named, *stated))}
        media_type = document.one(DCTERMS.format)
        stated += [media_type] if media_type != PLAIN_TEXT else []
        return earlier.get(plain(document.iri)) or self._names.document(*named, *stated)

    def _chunk(self, chunk: StatedNode, document: StatedNode, text: str) -> Iterator[Row]:
        start, end = chunk.number(KG.start), chunk.number(KG.end)
        yield from differing(chunk, KG.text, text[start:end], "its span of the document")
        yield from differing(chunk, KG.tokens, count_tokens(text[start:end]), "its text has")
        yield from differing(chunk, DCTERMS.isPartOf, plain(document.iri), "its graph's document")
        yield from self._misnamed(chunk, self._names.chunk(chunk.node(DCTERMS.isPartOf), start, end))

    def _answer(self, graph: StatedGraph) -> Iterator[Row]:
        citations = graph.of(KG.Citation)
        for citation in citations:
            yield from unless_missing(self._citation(citation))
        cited = {source for citation in citations for source in citation.all(PROV.wasDerivedFrom)}
        listed = set(graph.entry.all(PROV.wasDerivedFrom))
        # a follow-up has words of the answers before it, and comes from what those cite as well
        is_follow_up = any(answer.all(KG.asked) for answer in graph.of(KG.Answer))
        if not (cited <= listed if is_follow_up else cited == listed):
            yield fault(graph.entry, PROV.wasDerivedFrom, "is listed with other sources than its answer cites")
        for answer in graph.of(KG.Answer):
            if local_name(plain(answer.iri)) != local_name(plain(graph.entry.iri)):
                yield fault(answer, RDF.type, f"is kept in the graph of another answer, {plain(graph.entry.iri)}")
            yield from differing(graph.entry, KG.method, answer.one(KG.method), "its answer")

    def _citation(self, citation: StatedNode) -> Iterator[Row]:
        chunk = citation.one(PROV.wasDerivedFrom)
        place = (chunk, citation.one(KG.start), citation.one(KG.end), citation.one(KG.sentence))
        name = self._names.citation(citation.one(DCTERMS.isPartOf), *place, *citation.all(KG.derived))
        yield from self._misnamed(citation, name)
        document = ox.NamedNode(f"{self._names.base}document/{local_name(chunk).rsplit('-', 2)[0]}")
        stated = nodes_of(self._store.triples(self._names.document_graph(document)))
        if document in stated:  # a source that is gone is another finding
            text = stated[document].one(KG.text)[citation.number(KG.start) : citation.number(KG.end)]
            yield from differing(citation, KG.quote, text, "the text that it cites")

    def _lexical(self, graph: StatedGraph) -> Iterator[Row]:
        source = graph.entry.node(PROV.wasDerivedFrom)
        yield from self._misnamed(graph.entry, self._names.lexical_graph(source.value))
        stored = set(self._store.triples(source))
        for node in graph.having(KG.lexicalForm):
            yield from unless_missing(self._written(node, source, stored))

    def _written(self, node: StatedNode, source: ox.NamedNode, stored: set[ox.Triple]) -> Iterator[Row]:
        (subject,), (predicate,), (value,) = (node.values[end] for end in (RDF.subject, RDF.predicate, RDF.object))
        if isinstance(subject, ox.Literal) or not isinstance(predicate, ox.NamedNode):
            return
        if ox.Triple(subject, predicate, value) not in stored:
            yield fault(node, RDF.object, "is the writing of a literal that its graph does not have")
        # the name of a blank node may have been another when the record was named
        if isinstance(subject, ox.NamedNode):
            literal = ox.Literal(node.one(KG.lexicalForm), datatype=node.node(KG.lexicalDatatype))
            written = ending_with(value, literal)
            name = self._names.lexical(source.value, str(ox.Triple(subject, predicate, written)))
            yield from self._misnamed(node, name)

    def _quarantined(self, node: StatedNode) -> Iterator[Row]:
        name = self._names.quarantine_graph(node.one(KG.intendedGraph), node.one(KG.content))
        yield from self._misnamed(node, name)

    def _inferred(self, graph: StatedGraph) -> Iterator[Row]:
        if graph.entry.all(KG.method) == ["poly_rag"]:  # which has one for its layers, whatever they are
            yield from self._misnamed(graph.entry, self._names.layer_graph("inferred"))
            return
        yield from differing(graph.entry, KG.method, "reason", "that of reasoning")
        profile = graph.entry.one(KG.parameters).partition("profile=")[2].partition(";")[0]
        name = self._names.inference_graph(profile, *sorted(graph.entry.all(PROV.wasDerivedFrom)))
        yield from self._misnamed(graph.entry, name)

    def _audit(self, graph: StatedGraph) -> Iterator[Row]:
        (report,) = graph.having(KG.size)
        for node in graph.having(DCTERMS.identifier):
            name = self._names.audit_finding(plain(report.iri), node.one(DCTERMS.identifier))
            yield from self._misnamed(node, name)


def _misordered(chunks: Sequence[StatedNode]) -> Iterator[Row]:
    """Yield a row where the orders of chunks do not count from 0, or not as their spans follow each other."""
    orders = sorted((chunk.number(KG.order), chunk.number(KG.start), plain(chunk.iri)) for chunk in chunks)
    starts = sorted(start for _, start, _ in orders)
    for place, (order, start, iri) in enumerate(orders):
        if (order, start) != (place, starts[place]):
            yield fault(iri, KG.order, f"has the order {order}, and does not come {place + 1}. in its document")
            return
