"""Queries from models: over the facts alone, with limits on rows, time and memory, in a process that dies."""

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.model import Document, GraphDraft
from kgrag.querying.query_process import QueryProcess
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.text.chunking import chunk
from kgrag.text.documents import document_draft
from kgrag.vocab import KG, XSD


def _draft(graph: str, *triples: ox.Triple, kind: ox.NamedNode = KG.DataGraph) -> GraphDraft:
    return GraphDraft(ox.NamedNode(graph), kind, triples, mode="replace")


def _fact(number: int) -> ox.Triple:
    value = ox.Literal(str(number), datatype=XSD.integer)
    return ox.Triple(ox.NamedNode(f"urn:s{number}"), ox.NamedNode("urn:p"), value)


@pytest.fixture
def runner(kb: KnowledgeBase) -> QueryProcess:
    kb.store.publish([_draft("urn:g", *map(_fact, range(60)))])
    return kb.runner


def test_rows_come_back_as_the_terms_they_are(kb: KnowledgeBase) -> None:
    subject, prop = ox.NamedNode("urn:s"), ox.NamedNode("urn:p")
    values = [
        ox.NamedNode("urn:o"),
        ox.Literal('a "quoted"\n☃'),
        ox.Literal("hallo", language="de"),
        ox.Literal("1", datatype=XSD.integer),
    ]
    kb.store.publish([_draft("urn:g", *(ox.Triple(subject, prop, value) for value in values))])
    rows = kb.runner("SELECT ?o ?unbound { ?s ?p ?o }").rows
    assert {row[0] for row in rows} == set(values)
    assert {row[1] for row in rows} == {None}


def test_ask_and_construct_give_rows_too(runner: QueryProcess) -> None:
    assert runner("ASK { <urn:s1> <urn:p> ?x }").values() == [("true",)]
    built = runner("CONSTRUCT { ?s <urn:q> 1 } WHERE { ?s ?p 7 }")
    assert (built.variables, built.values()) == (("subject", "predicate", "object"), [("urn:s7", "urn:q", "1")])


def test_texts_and_bookkeeping_cannot_be_seen(kb: KnowledgeBase) -> None:
    document = Document(text="A secret text.", title="secret")
    kb.store.publish([document_draft(document, chunk(document), names=kb.store.names), _draft("urn:g", _fact(1))])
    assert kb.runner("SELECT ?s ?o { ?s ?p ?o }").values() == [("urn:s1", "1")]
    assert kb.runner("SELECT ?g { GRAPH ?g { ?s ?p ?o } }").empty


def test_the_row_limit_stops_the_engine(runner: QueryProcess) -> None:
    cut = runner("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }", rows=5)
    assert (len(cut.rows), cut.truncated) == (5, True)
    assert not runner("SELECT * { ?s ?p ?o }", rows=60).truncated


def test_the_time_limit_kills_the_query(runner: QueryProcess) -> None:
    slow = runner("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n1 ?o }", seconds=1)
    assert slow.rows == ()
    assert "stopped after 1 seconds" in slow.problem


@pytest.mark.parametrize(
    "sparql",
    [
        "",
        "no SPARQL",
        "SELECT * { ?s ?p",
        "DROP ALL",
        "SELECT * { SERVICE <http://192.0.2.1/> { ?s ?p ?o } }",
        "{" * 99_999,
    ],
)
def test_a_bad_query_is_a_problem_and_no_error(runner: QueryProcess, sparql: str) -> None:
    assert runner(sparql).problem


def test_the_copy_follows_the_facts_and_nothing_else(kb: KnowledgeBase, runner: QueryProcess) -> None:
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    assert runner(count).values() == [("60",)]
    copies = sorted(runner._folder.iterdir())
    document = Document(text="Another text.", title="text")
    kb.store.publish([document_draft(document, chunk(document), names=kb.store.names)])
    assert (runner(count).values(), sorted(runner._folder.iterdir())) == ([("60",)], copies)
    kb.store.publish([_draft("urn:h", *map(_fact, range(58, 62)))])
    assert runner(count).values() == [("62",)]
    assert len(list(runner._folder.iterdir())) == 1


def test_a_knowledge_base_in_a_folder_keeps_the_copy_and_one_in_memory_drops_it(tmp_path: Path) -> None:
    for path in (tmp_path / "kept.kb", None):
        with KnowledgeBase(path, settings=Settings(), embedder=HashEmbedder()) as opened:
            opened.store.publish([_draft("urn:g", _fact(1))])
            opened.runner("ASK { ?s ?p ?o }")
            folder = opened.runner._folder
        assert folder.is_dir() is (path is not None)


def test_reading_beside_a_writer_works(tmp_path: Path) -> None:
    settings, embedder = Settings(), HashEmbedder()
    with KnowledgeBase(tmp_path / "a.kb", settings=settings, embedder=embedder) as writer:
        writer.store.publish([_draft("urn:g", _fact(1))])
        writer.store.flush()
        with KnowledgeBase(tmp_path / "a.kb", settings=settings, embedder=embedder, read_only=True) as reader:
            assert reader.runner("ASK { ?s ?p 1 }").values() == [("true",)]
