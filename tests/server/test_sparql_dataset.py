import pyoxigraph as ox
import pytest

from kgrag.errors import InvalidSPARQL
from kgrag.server.update_rewriting import with_dataset

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
