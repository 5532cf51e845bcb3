import pyoxigraph as ox
import pytest

from kgrag.errors import InvalidSPARQL
from kgrag.server.update_rewriting import with_dataset, without_silent_calls

A, B = ox.NamedNode("urn:a"), ox.NamedNode("urn:b")


def _store() -> ox.Store:
    store = ox.Store()
    for graph in (A, B):
        store.add(ox.Quad(graph, ox.NamedNode("urn:p:p"), ox.Literal(1), graph))
    return store


def test_every_operation_with_a_where_reads_the_graphs_of_the_request() -> None:
    text = "INSERT { ?s <urn:p:q> 2 } WHERE { ?s ?p 1 } ; DELETE { ?s <urn:p:q> 2 } WHERE { { ?s ?p 1 } FILTER(false) }"
    store = _store()
    store.update(with_dataset(text, [A], []))
    assert [quad.subject for quad in store.quads_for_pattern(None, None, None, ox.DefaultGraph())] == [A]


def test_named_graphs_of_the_request_are_those_that_graph_finds() -> None:
    store = _store()
    store.update(with_dataset("INSERT { ?s <urn:p:q> 2 } WHERE { GRAPH ?g { ?s ?p 1 } }", [], [B]))
    assert [quad.subject for quad in store.quads_for_pattern(None, None, None, ox.DefaultGraph())] == [B]


@pytest.mark.parametrize(
    "text",
    [
        "WITH <urn:g> DELETE { ?s ?p 1 } WHERE { ?s ?p 1 }",
        "DELETE { ?s ?p 1 } USING <urn:g> WHERE { ?s ?p 1 }",
        "DELETE WHERE { ?s ?p 1 }",
    ],
)
def test_an_update_that_cannot_take_a_dataset_is_refused(text: str) -> None:
    with pytest.raises(InvalidSPARQL):
        with_dataset(text, [A], [])


def test_an_update_without_a_dataset_of_the_request_stays_as_it_is() -> None:
    assert with_dataset("DELETE WHERE { ?s ?p 1 }", [], []) == "DELETE WHERE { ?s ?p 1 }"


def _rows(query: str) -> list[list[object]]:
    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p:p"), ox.Literal(1)))
    return [list(row) for row in store.query(query)]  # type: ignore[union-attr]


def test_a_silent_service_gives_one_solution_without_bindings() -> None:
    text = without_silent_calls("SELECT ?s ?r { ?s ?p ?o SERVICE SILENT <http://127.0.0.1:1/> { ?s ?q ?r } }")
    assert _rows(text) == [[ox.NamedNode("urn:s"), None]]


def test_a_silent_service_within_another_or_around_a_subquery_is_taken_out_whole() -> None:
    inner = "SERVICE silent ?where { SELECT * { ?a ?b ?c } }"
    text = without_silent_calls("SELECT * { service SILENT <urn:x> { ?d ?e ?f " + inner + " } }")
    assert "ervice" not in text
    assert len(_rows(text)) == 1


@pytest.mark.parametrize("into", ["", "INTO GRAPH <urn:g>", "INTO GRAPH :g"])
def test_a_silent_load_does_nothing_and_the_rest_is_done(into: str) -> None:
    text = without_silent_calls(f"PREFIX : <urn:> LOAD SILENT <http://127.0.0.1:1/> {into} ; INSERT DATA {{ :s :p 1 }}")
    store = ox.Store()
    store.update(text)
    assert "LOAD" not in text
    assert len(store) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ('SERVICE SILENT <urn:x> {' AS ?silent) {}",
        "SELECT * { ?s ?p ?o } # SERVICE SILENT <urn:x> {",
        "SELECT * { SERVICE SILENT <urn:x> {",
        "SELECT * { SERVICE <urn:silent> { } }",
        "CLEAR SILENT GRAPH <urn:g>",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert without_silent_calls(text) == text
