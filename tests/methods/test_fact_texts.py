"""What hyperedges state and where that was read, beside the hypergraph's arrays."""

import json
from dataclasses import replace

import numpy as np
import pyoxigraph as ox
import pytest

from kgrag import queries
from kgrag.index import change_feed
from kgrag.index.vector_folder import FolderSpaces
from kgrag.methods.og_rag import OgRagOptions, fact_texts
from kgrag.methods.og_rag.fact_texts import FactTexts
from kgrag.methods.og_rag.method import OgRag
from kgrag.store.lineage import lineage
from kgrag.store.oxigraph import OxigraphStore
from kgrag.testing import HashEmbedder, ScriptedModel

RYE = {"@type": "crop", "name": "Rye", "sown_in": "October", "note": "Süd\nhang"}
PEA = {"@type": "crop", "name": "Pea", "sown_in": "March"}


@pytest.fixture
def built(tmp_path):
    """A method over two records that share the fact about rye, and the folder of its files."""
    path = tmp_path / "two.jsonl"
    path.write_text("\n".join(json.dumps({"file": name, "graph": [RYE, PEA | {"zone": name}]}) for name in "ab"))
    store, embedder = OxigraphStore.open(None), HashEmbedder()
    spaces = FolderSpaces(None, identity=embedder.identity, dimension=embedder.dimension)
    method = OgRag(store, spaces, embedder, ScriptedModel({}), lexical=tmp_path / "lexical")
    method.build(OgRagOptions(mapped=path))
    return method


def test_a_question_is_answered_without_a_query(built, monkeypatch):
    built.retrieve("When is pea sown?", 2)
    asked = []
    select = OxigraphStore.select
    monkeypatch.setattr(OxigraphStore, "select", lambda store, query: asked.append(query) or select(store, query))
    assert built.retrieve("When is rye sown?", 2)
    assert asked == []


def test_a_hit_states_what_its_hyperedge_states_as_it_is_written(built):
    hits = built.retrieve("When is rye sown?", 5)
    rows = built.store.select(queries.bind("og_rag/facts", edges=[ox.NamedNode(hit.iri) for hit in hits])).values()
    stated = {hit.iri: {key: value for edge, _, key, value in rows if edge == hit.iri} for hit in hits}
    assert {hit.iri: dict(hit.attributes) for hit in hits} == stated
    assert any(value == "Süd\nhang" for pairs in stated.values() for value in pairs.values())


def rye(method):
    return next(hit for hit in method.retrieve("When is rye sown?", 5) if "Rye" in hit.text)


def graph_of(method, span):
    return method.store.names.document_graph(ox.NamedNode(span.document))


def test_a_document_that_goes_takes_its_spans_with_it(built):
    both = rye(built).sources
    assert len({span.document for span in both}) == 2
    built.store.remove([graph_of(built, both[0])])
    assert [span.document for span in rye(built).sources] == [both[1].document]


def test_a_document_whose_going_is_known_is_followed_without_reading_the_facts_again(built, monkeypatch):
    both = rye(built).sources
    built.store.remove([graph_of(built, both[0])])
    change_feed.note_removed(built.store, built.store.revision, [both[0].chunk])
    with monkeypatch.context() as patch:
        patch.setattr(fact_texts, "_read", lambda *_: pytest.fail("all facts were read again"))
        assert [span.document for span in rye(built).sources] == [both[1].document]
    assert built.file_faults() == []
    assert both[0].document not in list(FactTexts.load(built.lexical / "facts.npz").documents.at([0]))


def test_the_file_is_read_again_and_one_with_other_words_is_a_fault(built, tmp_path):
    path = tmp_path / "lexical" / "facts.npz"
    stored = FactTexts.load(path)
    graph, first = built._graph(None), np.array([0])
    assert stored.pairs(graph, first) == fact_texts.fresh(built.store, path.parent, graph).pairs(graph, first) != [[]]
    assert built.file_faults() == []
    other = fact_texts.Texts.of([f"not {key}" for key in stored.keys.at(np.arange(len(stored.keys.bounds) - 1))])
    replace(stored, keys=other).save(path, lineage=lineage(built.store, stored.revision))
    assert [fault.path for fault in built.file_faults()] == [path]
