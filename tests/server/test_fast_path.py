"""The short way to ``/sparql``: it gives what the long one gives, and lets nothing past the gate."""

import json

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.server.update_rewriting import without_silent_calls
from kgrag.sparql.gate import check_query, harmless
from tests.server.conftest import Server

ONE = "SELECT (1 AS ?one) {}"
LONG = {"Origin": "http://example.org", "Accept-Encoding": "gzip"}
PIECES = [
    "SELECT * ", "{ ", "} ", "( ", "<< ", "<urn:a> ", "?a<b#> ", "# note\n", "'", '"', "'''", "\\u0053", "service", "SERVICE ",
    "SILENT ", "Load ", "FROM ", "fr", "om ", "using ", "WITH ", "UNION ", "|| ", "- ", "ſervice ", "ex:a ", "é ",
]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "accept", "status"),
    [
        (ONE, "application/sparql-results+json", 200),
        (ONE, "text/csv;q=0.5, application/sparql-results+xml", 200),
        (ONE, "image/png", 406),
        ("SELECT * {", "*/*", 400),
        ("SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", "*/*", 400),
        ("CONSTRUCT { <urn:s> <urn:p:p> 1 } {}", "application/n-triples", 200),
    ],
)
def test_the_short_way_gives_the_answer_of_the_long_one(server: Server, query: str, accept: str, status: int) -> None:
    asked = {"params": {"query": query}}
    plain = server.client.get("/sparql", headers={"Accept": accept, "Accept-Encoding": "identity"}, **asked)
    long = server.client.get("/sparql", headers={"Accept": accept, **LONG}, **asked)
    assert plain.status_code == long.status_code == status
    assert plain.content == long.content
    assert plain.headers["content-type"] == long.headers["content-type"]
    assert "Origin" in plain.headers["vary"]
    assert "access-control-allow-origin" not in plain.headers
    assert long.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH"])
def test_a_method_without_meaning_is_refused(server: Server, method: str) -> None:
    assert server.client.request(method, "/sparql").status_code == 405


@pytest.mark.parametrize(
    ("text", "status"), [("query=%FF", 400), ("query=", 400), ("query=SELECT%20(1%20AS%20?a)+{}", 200), ("query=a&query=b", 400)]
)  # fmt: skip
def test_the_query_of_a_url_is_read_as_a_form(server: Server, text: str, status: int) -> None:
    url = httpx.URL(str(server.client.base_url), raw_path=f"/sparql?{text}".encode())
    assert server.client.get(url).status_code == status


def test_a_small_answer_has_its_length_and_one_with_an_odd_host_comes_too(server: Server) -> None:
    for host in ("localhost", "h" * 400):
        answer = server.client.get("/sparql", params={"query": ONE}, headers={"Host": host})
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert json.loads(answer.content)["head"]["vars"] == ["one"]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=70))
def test_what_is_called_harmless_passes_the_gate_and_chooses_no_dataset(pieces: list[str]) -> None:
    text = "".join(pieces)
    if harmless(text):
        assert not check_query(text).chooses_dataset
        assert without_silent_calls(text) == text


def test_a_small_query_is_harmless_and_a_delicate_one_is_not() -> None:
    assert harmless("SELECT ?o { <http://example.org/a#b> ex:p ?o } LIMIT 5")
    for text in (
        "SELECT * { SeRvIcE <x> {} }",
        "ASK { ?s ?p '' }",
        "SELECT * FROM <x> {}",
        "{" * 51,
        " " * 1001,
        "ASK \\u007b",
    ):
        assert not harmless(text)
