"""Ranked chunks as hits."""

import pyoxigraph as ox

from kgrag import KnowledgeBase
from kgrag.answering.passage_hits import passage_hits
from kgrag.model import Document
from kgrag.text import documents, ingestion
from kgrag.vocab import KG


def chunk_of(kb: KnowledgeBase, document: Document) -> str:
    ingestion.ingest([document], store=kb.store)
    graph = kb.store.names.document_graph(documents.document_iri(document, kb.store.names))
    return next(triple.subject.value for triple in kb.store.triples(graph) if triple.object == KG.Chunk)


def test_a_hit_has_the_text_the_span_and_the_attributes_that_are_stored(kb: KnowledgeBase) -> None:
    titled = chunk_of(kb, Document("Lentil is sown deep.", "Lentil", id="L1"))
    bare = chunk_of(kb, Document("Barley is sown early.", ""))
    first, second = passage_hits(kb.store, [(bare, 0.5), (titled, 0.25)])
    assert (first.iri, first.kind, first.score, first.attributes) == (bare, "passage", 0.5, {})
    assert second.attributes == {"title": "Lentil", "identifier": "L1"}
    (span,) = second.sources
    assert documents.document_text(kb.store, span.document)[span.start : span.end] == second.text


def test_a_chunk_that_is_not_stored_is_left_out(kb: KnowledgeBase) -> None:
    chunk = chunk_of(kb, Document("Lentil is sown deep.", "Lentil"))
    gone = ox.NamedNode(f"{kb.store.names.base}chunk/gone-0-9").value
    assert [hit.iri for hit in passage_hits(kb.store, [(gone, 0.9), (chunk, 0.1)])] == [chunk]


def test_an_empty_ranking_gives_no_hit(kb: KnowledgeBase) -> None:
    assert passage_hits(kb.store, []) == []
