"""Vectors and full text over HTTP: the same searches as in Python, and refused where they cannot be run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgrag.knowledge_base import KnowledgeBase
from kgrag.testing import toy_documents
from tests.server.conftest import Server, start
from tests.sparql.test_sorts_from_outside import INSERT, SELECT


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("searched")
    for document in toy_documents():
        Path(folder, f"{document.title}.txt").write_text(document.text, encoding="utf-8")
    with KnowledgeBase(folder / "kb") as kb:
        kb.ingest(*sorted(folder.glob("*.txt")))
    running = start(folder / "kb")
    yield running
    running.stop()


def _texts(server: Server, query: str) -> list[str]:
    answer = server.query(query)
    assert answer.status_code == 200, answer.text
    return [row["text"]["value"] for row in answer.json()["results"]["bindings"]]


def test_a_chunk_is_found_by_meaning_and_by_words(filled: Server) -> None:
    assert "beetle" in _texts(filled, 'SELECT ?text { ?n kgv:near ("insect pest of soya" 1) ; kg:text ?text }')[0]
    assert "armyworm" in _texts(filled, 'SELECT ?text { ?n kgv:matches ("armyworm") ; kg:text ?text }')[0]


def test_similarity_is_computed_by_the_reader_from_the_vectors_on_disk(filled: Server) -> None:
    order = 'ORDER BY DESC(kgv:similarity(?n, "insect pest of soya"))'
    ranked = _texts(filled, f"SELECT ?text {{ ?n a kg:Chunk ; kg:text ?text }} {order}")
    assert len(ranked) == 3
    assert "beetle" in ranked[0]


def test_a_wrong_search_is_a_client_error_with_its_place(filled: Server) -> None:
    answer = filled.query('SELECT * { ?n kgv:near ("a" 3 "chunks") }')
    assert answer.status_code == 400
    assert "line 1, column 15" in answer.text
    assert "'chunk'" in answer.text


def test_an_update_that_searches_is_refused(filled: Server) -> None:
    answer = filled.update('INSERT { GRAPH <urn:x:g> { ?n a <urn:x:Near> } } WHERE { ?n kgv:near ("a" 3) }')
    assert answer.status_code == 400
    assert "kgv:" in answer.text


def test_a_sort_of_mixed_values_ends_neither_the_server_nor_a_reader(filled: Server) -> None:
    headers = {"Content-Type": "application/sparql-update"}
    asked = [
        filled.client.post("/sparql", data={"query": SELECT}),
        filled.writer.post("/update/effect", content=INSERT, headers=headers),
        filled.update(INSERT),
    ]
    assert [answer.status_code for answer in asked] == [200, 200, 204]
