"""Queries that people save for each other."""

from dataclasses import replace

import pytest

from kgrag.errors import InputError, InvalidSPARQL, UnknownName
from kgrag.querying import saved_queries
from kgrag.querying.saved_queries import QueryParameter, SavedQuery
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG

ZONE = QueryParameter("zone", "IRI", "Where.", "urn:x:hill")
QUERY = SavedQuery(
    "crops-of-zone",
    "SELECT ?crop { ?crop <urn:x:zone> ?zone ; <urn:x:rank> ?rank }",
    "Crops of a zone",
    "What grows there.",
    "zones",
    "og_rag",
    (ZONE, QueryParameter("rank", "number")),
)


@pytest.fixture
def store() -> OxigraphStore:
    return OxigraphStore.open(None)


def test_a_saved_query_comes_back_as_it_was(store: OxigraphStore) -> None:
    saved = saved_queries.save(store, QUERY)
    assert saved == replace(QUERY, iri="urn:kgrag:query/crops-of-zone", created=saved.created)
    other = saved_queries.save(store, SavedQuery("all", "ASK {}"))
    assert saved_queries.listed(store) == [other, saved]
    assert any(triple.object == KG.SavedQuery for triple in store.triples(store.names.query_graph("all")))


def test_the_same_name_again_replaces(store: OxigraphStore) -> None:
    saved_queries.save(store, QUERY)
    saved_queries.save(store, replace(QUERY, title="", parameters=()))
    (found,) = saved_queries.listed(store)
    assert (found.title, found.parameters) == ("", ())
    saved_queries.remove(store, QUERY.name)
    assert saved_queries.listed(store) == []
    with pytest.raises(UnknownName):
        saved_queries.remove(store, QUERY.name)


def test_values_stand_where_the_variables_stood() -> None:
    assert (
        saved_queries.bound(QUERY, {"rank": "2"})
        == 'SELECT ?crop { ?crop <urn:x:zone> <urn:x:hill> ; <urn:x:rank> "2"^^<http://www.w3.org/2001/XMLSchema#integer> }'
    )


@pytest.mark.parametrize(
    ("values", "said"),
    [({}, "'rank'.* has no value"), ({"rank": "x"}, "no number"), ({"rank": "1", "zon": "x"}, "zone")],
)
def test_a_value_that_is_missing_wrong_or_of_nothing_is_refused(values: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        saved_queries.bound(QUERY, values)


@pytest.mark.parametrize(
    "query",
    [
        replace(QUERY, name="No name"),
        replace(QUERY, sparql=" "),
        replace(QUERY, parameters=(ZONE, ZONE)),
        replace(QUERY, parameters=(replace(ZONE, default="no iri"),)),
    ],
)
def test_what_cannot_be_run_is_not_saved(store: OxigraphStore, query: SavedQuery) -> None:
    with pytest.raises(InputError):
        saved_queries.save(store, query)
    assert saved_queries.listed(store) == []


def test_a_parameter_has_to_be_a_variable_of_the_query(store: OxigraphStore) -> None:
    with pytest.raises(InvalidSPARQL, match="no variable"):
        saved_queries.save(store, replace(QUERY, parameters=(QueryParameter("other"),)))
