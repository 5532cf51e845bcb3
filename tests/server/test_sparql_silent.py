import pyoxigraph as ox
import pytest

from kgrag.server.update_rewriting import without_silent_calls


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
