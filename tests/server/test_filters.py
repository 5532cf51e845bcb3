"""Filters over HTTP and on pages: the same documents as in Python, and patterns that are run where they can be stopped."""

from collections.abc import Iterator
from typing import Any

import lxml.html
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgrag import KnowledgeBase
from kgrag.model import Document
from kgrag.querying import document_filters
from kgrag.server import filter_reading
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.text import ingestion
from tests.server.inside import Inside, served

QUESTION = "Who grows lentil in the River Zone?"
URLS = ("https://example.org/0.pdf", "javascript:alert(1)", "https://example.org/2")


@pytest.fixture(scope="module")
def tenants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    """Six documents of three tenants, served."""
    with KnowledgeBase(tmp_path_factory.mktemp("tenants") / "kb", settings=Settings(), embedder=HashEmbedder()) as kb:
        ingestion.ingest(
            [
                Document(
                    f"Farm {number} grows lentil in the River Zone.",
                    title=f"Farm {number}",
                    url=URLS[number % 3],
                    metadata={"tenant": "abc"[number % 3], "year": 2020 + number},
                )
                for number in range(6)
            ],
            store=kb.store,
        )
        with served(kb) as running:
            yield running


def titles(reply: dict[str, Any]) -> set[str]:
    return {span["place"]["title"] for hit in reply["hits"] for span in hit["sources"]}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"tenant": "a"}, {"Farm 0", "Farm 3"}),
        ({"tenant": ["a", "b"], "year": {"from": 2023}}, {"Farm 3", "Farm 4"}),
        ("year<2021", {"Farm 0"}),
        (["tenant=b", "?document kgm:year ?year FILTER(?year > 2021)"], {"Farm 4"}),
        ({"tenant": "nobody"}, set()),
    ],
    ids=["one field", "two fields", "text", "pattern", "nobody"],
)
def test_a_filter_over_http_lets_the_same_documents_through(tenants: Inside, where: Any, expected: set[str]) -> None:
    assert titles(tenants.post("/retrieve", question=QUESTION, k=50, where=where).json()) == expected
    assert titles(tenants.post("/ask", question=QUESTION, k=50, where=where).json()) == expected


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(tenant=st.sampled_from("abc"), path=st.sampled_from(["/ask", "/retrieve"]), k=st.integers(1, 50))
@pytest.mark.parametrize("method", ["passages", "passages:signal=bm25"])
def test_http_never_answers_from_another_tenant(tenants: Inside, method: str, tenant: str, path: str, k: int) -> None:
    reply = tenants.post(path, question=QUESTION, method=method, k=k, where={"tenant": tenant}).json()
    found = [span["place"]["metadata"]["tenant"] for hit in reply["hits"] for span in hit["sources"]]
    found += [citation["place"]["metadata"]["tenant"] for citation in reply.get("citations", ())]
    assert set(found) == {tenant}


@pytest.mark.parametrize(
    "where",
    [{}, [], "", "tenant!=a", "} UNION { ?document ?p ?o", "SERVICE <http://x/> { ?document ?p ?o }", 5, {"a": None}],
)
def test_what_is_no_filter_is_refused(tenants: Inside, where: Any) -> None:
    assert tenants.post("/retrieve", question=QUESTION, where=where).status_code in (400, 422)


def test_a_method_that_cannot_keep_to_a_filter_is_refused(tenants: Inside) -> None:
    for path in ("/ask", "/retrieve"):
        reply = tenants.post(path, question=QUESTION, method="obqc", where={"tenant": "a"})
        assert (reply.status_code, "filter" in reply.text) == (400, True)


def test_a_pattern_that_takes_too_long_is_stopped(tenants: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filter_reading, "_SECONDS_PER_PATTERN", 0.5)
    product = " ".join(f"?s{n} ?p{n} ?o{n} ." for n in range(6))
    reply = tenants.post("/retrieve", question=QUESTION, where=f"?document ?p ?o . {product} FILTER(?s1 = ?o5)")
    assert reply.status_code == 504


def test_a_pattern_of_a_client_runs_in_no_thread_of_the_server(
    tenants: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_filters, "matching_query", None)  # what the knowledge base itself would call
    where = '?document kgm:tenant "a"'
    assert titles(tenants.post("/retrieve", question=QUESTION, k=9, where=where).json()) == {"Farm 0", "Farm 3"}


def test_the_page_of_an_answer_keeps_to_its_filter_and_links_to_sources(tenants: Inside) -> None:
    def page(where: str) -> lxml.html.HtmlElement:
        return lxml.html.fromstring(tenants.page("/", question=QUESTION, k="50", where=where).text)

    found = page("tenant=a")
    assert {link.get("href") for link in found.xpath("//a[text()='At its source']")} == {URLS[0]}
    assert found.xpath("//input[@name='where']/@value") == ["tenant=a"]
    assert "Farm 1" not in found.text_content()
    assert not page("tenant=b").xpath("//a[starts-with(@href, 'javascript')]")
    assert "is no filter" in page("tenant").text_content()
