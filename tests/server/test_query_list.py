"""Queries under way, and their end; downloads, pages of the VoID description, and limits of FROM."""

import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from kgrag import KnowledgeBase
from kgrag.knowledge_base import user_queries
from kgrag.server import sparql_endpoints
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.settings import Settings
from kgrag.sparql.constant_lists import with_values_for_lists
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, served

WRITER = {"Authorization": f"Bearer {KEY}"}
LONG = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o }"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder = tmp_path_factory.mktemp("queries") / "kb"
    with KnowledgeBase(folder, settings=Settings(completions="off"), embedder=HashEmbedder()) as kb:
        rows = " ".join(f"GRAPH <urn:x:{number:02}> {{ <urn:s> <urn:p> {number} }}" for number in range(40))
        kb.update(f"INSERT DATA {{ {rows} }}")
        with served(kb, limits=ServerLimits(readers=1)) as inside:
            yield inside


def test_a_query_under_way_is_listed_and_ended_with_a_key(live: Inside) -> None:
    replies: list[httpx.Response] = []
    asking = threading.Thread(
        target=lambda: replies.append(httpx.get(f"{live.url}/sparql", params={"query": LONG}, timeout=60))
    )
    asking.start()
    for _ in range(200):
        listed = live.client.get("/queries", headers=WRITER).json()
        if listed and listed[0]["state"] == "running":
            break
        time.sleep(0.05)
    (query,) = listed
    assert (query["text"], query["client"]) == (LONG, "127.0.0.1")
    assert live.client.get("/queries").status_code == 401
    assert live.client.delete(f"/queries/{query['id']}").status_code == 401
    assert live.client.delete(f"/queries/{query['id']}", headers=WRITER).status_code == 204
    asking.join(20)
    assert (replies[0].status_code, "cancelled" in replies[0].json()["detail"]) == (503, True)
    assert live.client.delete(f"/queries/{query['id']}", headers=WRITER).status_code == 404
    assert live.client.get("/sparql", params={"query": "ASK {}"}).json()["boolean"] is True


@pytest.mark.parametrize(
    ("form", "media"), [("csv", "text/csv"), ("json", "application/sparql-results+json"), ("xml", "xml")]
)
def test_a_form_gets_a_result_as_a_file(live: Inside, form: str, media: str) -> None:
    sent = {"query": "SELECT ?o { ?s <urn:p> ?o } ORDER BY ?o", "download": form}
    reply = live.client.post("/sparql", data=sent, headers={"Accept": "text/html"})
    assert (reply.status_code, media in reply.headers["content-type"]) == (200, True)
    assert reply.headers["content-disposition"] == f'attachment; filename="result.{form}"'
    assert live.client.post("/sparql", data={**sent, "download": "docx"}).status_code == 400


def test_from_is_limited_as_the_parameters_are(live: Inside) -> None:
    def rows(count: int) -> httpx.Response:
        clauses = " ".join(f"FROM <urn:x:{number:02}>" for number in range(count))
        return live.client.get("/sparql", params={"query": f"SELECT ?o {clauses} {{ ?s <urn:p> ?o }}"})

    assert len(rows(20).json()["results"]["bindings"]) == 20
    refused = rows(21)
    assert (refused.status_code, "FROM" in refused.json()["detail"]) == (400, True)


def test_a_filter_by_a_long_list_gives_what_the_list_gives_as_a_join(
    live: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    joined = []
    for module in (sparql_endpoints, user_queries):
        monkeypatch.setattr(
            module,
            "with_values_for_lists",
            lambda text, prefixes: joined.append(with_values_for_lists(text, prefixes)) or joined[-1],
        )
    listed = ", ".join(f"<urn:x:{number:02}>" for number in range(0, 400, 2))
    text = f"SELECT ?g {{ GRAPH ?g {{ ?s <urn:p> ?o }} FILTER(?g IN ({listed})) }}"
    assert len(live.client.post("/sparql", data={"query": text}).json()["results"]["bindings"]) == 20
    assert len(live.kb.query(text)) == 20  # type: ignore[arg-type]
    assert ["VALUES" in each for each in joined] == [True, True]


def test_void_comes_in_pages_that_link_to_each_other(live: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgrag.server.service_description._GRAPHS_PER_PAGE", 15)
    found: list[str] = []
    address, pages = "/void", 0
    while address:
        reply = live.client.get(address, headers={"Accept": "application/n-triples"})
        lines = [line for line in reply.text.splitlines() if line.endswith("void#Dataset> .")]
        found += lines
        pages += 1
        address = reply.links.get("next", {}).get("url", "")
    assert (pages, len(found), len(set(found))) == (3, 41, 41)
    assert live.client.get("/void?page=4").status_code == 404
    assert live.client.get("/void?page=x").status_code == 400
