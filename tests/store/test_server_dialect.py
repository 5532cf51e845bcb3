"""Virtuoso is asked in its dialect, and read as other servers are."""

import json
from collections.abc import Mapping, Sequence

import pyoxigraph as ox
import pytest

from kgrag.store import server_dialect
from kgrag.store.server_quads import ServerQuads
from kgrag.store.sparql_connection import Reply, ServerAddress, SparqlConnection

BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"


class Virtuoso(SparqlConnection):
    """Answers every query alike, as Virtuoso does, and keeps what it was asked, but for what it is."""

    def __init__(self, *cells: Mapping[str, str], triples: bytes = b"", truth: str = "1", own: str = "") -> None:
        super().__init__(ServerAddress.of("http://127.0.0.1:9"))
        self.asked: list[tuple[str, bool]] = []
        self._body = body_of([{"v": cell} for cell in cells])
        self._triples = triples
        graph = {"own": {"type": "uri", "value": own}} if own else {}
        self._what_it_is = body_of([{"boolean": {"type": "literal", "value": truth}, **graph}])

    def _sent(self, address: str, form: Mapping[str, str], *, only_triples: bool = False) -> Reply:
        if "?boolean" in form["query"]:
            return Reply(self._what_it_is, is_triples=False)
        self.asked.append((form["query"], only_triples))
        return Reply(self._triples, is_triples=True) if self._triples else Reply(self._body, is_triples=False)


def body_of(rows: Sequence[Mapping[str, Mapping[str, str]]]) -> bytes:
    head = sorted({name for row in rows for name in row})
    return json.dumps({"head": {"vars": head}, "results": {"bindings": rows}}).encode()


def rows(connection: SparqlConnection, sparql: str) -> list[str]:
    return [str(row["v"]) for row in ServerQuads(connection, writer="reader").query(sparql)]  # type: ignore[union-attr]


def test_graphs_of_its_own_are_left_out_where_a_graph_is_a_variable() -> None:
    others = " && ".join(f"?v != <{graph}>" for graph in server_dialect.OWN_GRAPHS)
    asked = server_dialect.asked(
        "SELECT ?v { OPTIONAL { GRAPH ?v { ?s ?p ?o . { ?s a ?o } } } GRAPH <urn:g> { ?s ?p ?o } }"
    )
    assert asked == (
        f"SELECT ?v {{ OPTIONAL {{ GRAPH ?v {{ ?s ?p ?o . {{ ?s a ?o }} }} FILTER({others})  }} "
        "GRAPH <urn:g> { ?s ?p ?o } }"
    )
    ox.Store().query(asked)


def test_a_list_of_graphs_is_asked_by_their_triples() -> None:
    asked = server_dialect.asked("SELECT ?v { FILTER EXISTS { GRAPH ?v { } } }")
    assert "GRAPH ?v { ?kgragSubject ?kgragProperty ?kgragValue  }" in asked
    ox.Store().query(asked)


def test_a_query_of_one_graph_is_sent_as_it_is() -> None:
    text = "SELECT ?v FROM <urn:g> { ?v ?p 'GRAPH ?g { }' }"
    assert server_dialect.asked(text) == text


@pytest.mark.parametrize(("value", "read"), [("1", "true"), ("0", "false")])
def test_a_boolean_is_read_as_other_servers_send_it(value: str, read: str) -> None:
    server = Virtuoso({"type": "typed-literal", "datatype": BOOLEAN, "value": value})
    assert rows(server, "SELECT ?v { ?s ?p ?v }") == [f'"{read}"^^<{BOOLEAN}>']
    line = b'<urn:s> <urn:p> "%s"^^<%s> .\n' % (value.encode(), BOOLEAN.encode())
    (triple,) = ServerQuads(Virtuoso(triples=line), writer="reader").query("CONSTRUCT WHERE { ?s ?p ?o }")  # type: ignore[misc]
    assert str(triple.object) == f'"{read}"^^<{BOOLEAN}>'


def test_text_that_looks_like_a_boolean_is_left_alone() -> None:
    line = b'<urn:s> <urn:p> "\\"1\\"^^<http://www.w3.org/2001/XMLSchema#boolean>" .\n'
    assert server_dialect.triples_read(line) == line


def test_an_iri_of_values_that_comes_as_text_is_an_iri() -> None:
    text, other = {"type": "literal", "value": "urn:x"}, {"type": "literal", "value": "urn:y"}
    named = {"type": "literal", "value": "urn:x", "xml:lang": "en"}
    query = "SELECT ?v { VALUES ?v { <urn:x> } ?v ?p ?o }"
    assert rows(Virtuoso(text, other, named), query) == ["<urn:x>", '"urn:y"', '"urn:x"@en']
    assert rows(Virtuoso(text), "SELECT ?v { VALUES ?v { <urn:x> <urn:y> } ?v ?p ?o }") == ['"urn:x"']
    assert rows(Virtuoso(text), "SELECT ?v { { VALUES ?v { <urn:x> } } UNION { VALUES ?v { 'urn:x' } } }") == [
        '"urn:x"'
    ]
    assert rows(Virtuoso(text, truth="true"), query) == ['"urn:x"']


@pytest.mark.parametrize(
    ("truth", "own", "is_virtuoso"), [("1", "", True), ("true", "", False), ("true", "urn:g", True)]
)
def test_how_it_answers_decides_how_it_is_asked_and_not_what_it_calls_itself(
    truth: str, own: str, is_virtuoso: bool
) -> None:
    server = Virtuoso(truth=truth, own=own)
    server.software = "nginx" if is_virtuoso else "Virtuoso/07.20.3229"
    quads = ServerQuads(server, writer="reader")
    for _ in range(2):
        quads.query("SELECT ?v { GRAPH ?v { ?s ?p ?o } }")
    quads.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    assert ["FILTER" in text for text, _ in server.asked] == [is_virtuoso, is_virtuoso, False]
    assert [only_triples for _, only_triples in server.asked] == [False, False, is_virtuoso]
