"""Documents come into a knowledge base and go out of it while it is served."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from kgrag import KnowledgeBase
from kgrag.server.access_keys import Key, Keys, digest_of
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, demonstration, served

WRITER = {"Authorization": f"Bearer {KEY}"}
XSD = "http://www.w3.org/2001/XMLSchema#"


def _opened(folder: Path) -> KnowledgeBase:
    return KnowledgeBase(folder, settings=Settings(model="extractive", completions="off"), embedder=HashEmbedder())


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Inside]:
    with _opened(tmp_path / "kb") as kb, served(kb) as inside:
        yield inside


def _put(live: Inside, name: str, **body: Any) -> httpx.Response:
    return live.client.put(f"/documents/{name}", json=body, headers=WRITER)


def _texts(live: Inside) -> list[str]:
    query = "SELECT ?t { ?d a <https://w3id.org/kgrag/ns#Document> ; <https://w3id.org/kgrag/ns#text> ?t } ORDER BY ?t"
    rows = live.client.get("/sparql", params={"query": query}).json()["results"]["bindings"]
    return [row["t"]["value"] for row in rows]


def _over(live: Inside, accepted: httpx.Response) -> dict[str, Any]:
    """The last state of a job, by its events."""
    assert accepted.status_code == 202, accepted.text
    with live.client.stream("GET", accepted.headers["Location"], headers={"Accept": "text/event-stream"}) as events:
        lines = list(events.iter_lines())
    names = [line.split(": ")[1] for line in lines if line.startswith("event: ")]
    assert names[-1] in ("done", "failed")
    assert set(names[:-1]) <= {"progress"}
    state: dict[str, Any] = json.loads(next(line for line in reversed(lines) if line.startswith("data: "))[6:])
    assert live.client.get(f"/jobs/{state['id']}").json() == state
    return state


def test_a_document_is_found_by_the_next_question_and_the_next_query(live: Inside) -> None:
    added = _put(live, "T-7", text="The lighthouse of Ostrel is 41 metres tall.", title="Lighthouse")
    assert (added.status_code, added.json()["documents"]) == (201, 1), added.text
    found = live.post("/retrieve", question="How tall is the lighthouse of Ostrel?").json()
    assert found["hits"][0]["text"] == "The lighthouse of Ostrel is 41 metres tall."
    assert _texts(live) == ["The lighthouse of Ostrel is 41 metres tall."]


def test_another_document_of_the_same_id_replaces_the_first(live: Inside) -> None:
    assert _put(live, "T-7", text="The lamp is green.").status_code == 201
    again = _put(live, "T-7", text="The lamp is red.")
    assert (again.status_code, again.json()["superseded"]) == (200, 1)
    assert _put(live, "T-7?feed=crm", text="The lamp is blue.").status_code == 201
    assert _texts(live) == ["The lamp is blue.", "The lamp is red."]
    assert _put(live, "T-7", text="The lamp is red.").json()["unchanged"] == 1


def test_a_document_is_returned_with_what_was_sent(live: Inside) -> None:
    day = {"@value": "2024-05-01", "@type": f"{XSD}date"}
    fields = {"tenant": "a", "year": 2024, "open": True, "tags": ["x", "y"], "day": day}
    sent = {"text": "A ticket.", "title": "Ticket", "url": "https://example.org/7", "metadata": fields}
    assert _put(live, "a/b c", **sent).status_code == 201
    stored = live.client.get("/documents/a/b c").json()
    assert {name: stored[name] for name in sent} == sent
    assert (stored["id"], stored["locations"]) == ("a/b c", ["api#a/b c"])
    assert live.client.get(f"/documents/{stored['iri']}").json() == stored


def test_a_document_with_a_location_is_in_the_feed_that_it_names(live: Inside) -> None:
    sent = [{"text": f"Lamp {n} is green.", "id": str(n), "location": f"/l/{n}.txt", "feed": "crm"} for n in (1, 2)]
    lines = "\n".join(map(json.dumps, sent))
    headers = WRITER | {"Content-Type": "application/jsonl"}
    assert _over(live, live.client.post("/documents", content=lines, headers=headers))["result"]["documents"] == 2
    stored = live.client.get("/documents/1", params={"feed": "crm"}).json()
    assert stored["locations"] == ["/l/1.txt", "crm#1"]
    assert [(one["name"], one["documents"]) for one in live.client.get("/sources").json()["sources"]] == [("crm", 2)]


def test_a_deleted_document_is_gone_and_an_unknown_one_is_not_found(live: Inside) -> None:
    live.client.post("/documents", json=[{"id": "1", "text": "One."}, {"id": "2", "text": "Two."}], headers=WRITER)
    gone = live.client.delete("/documents/1", headers=WRITER)
    assert [one["remains"] for one in gone.json()] == [0]
    assert _texts(live) == ["Two."]
    for method, path in (("GET", "/documents/1"), ("DELETE", "/documents/1"), ("GET", "/documents/2?feed=crm")):
        refused = live.client.request(method, path, headers=WRITER)
        assert refused.status_code == 404, refused.text
    assert live.client.get("/jobs/none").status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [("PUT", "/documents/1"), ("POST", "/documents"), ("DELETE", "/documents/1"), ("POST", "/build/passages")],
)
def test_who_may_not_write_takes_no_document_in_or_out(tmp_path: Path, method: str, path: str) -> None:
    some = Key("some", digest_of("key-for-some-graphs"), graphs=("urn:a",))
    with _opened(tmp_path / "kb") as kb, served(kb, AccessRules(Keys(KEY, more=[some]))) as live:
        for sent, status in (("", 401), ("Bearer wrong", 401), ("Bearer key-for-some-graphs", 403)):
            refused = live.client.request(method, path, json={"text": "x"}, headers={"Authorization": sent})
            assert refused.status_code == status, refused.text
        assert kb.store.revision == 0


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ("{", 400, "no JSON"),
        ('{"title": "x"}', 422, "/text"),
        ('{"text": "x", "colour": 1}', 422, "/colour"),
        ('{"text": "  "}', 400, "no text"),
        ('{"text": "x", "feed": "a#b"}', 400, "no name of a feed"),
        ('{"text": "x", "metadata": {"a": {"@id": "no iri"}}}', 400, "value object"),
        ("[]", 200, ""),
    ],
)
def test_what_is_no_document_is_refused_with_the_reason(live: Inside, body: str, status: int, reason: str) -> None:
    headers = {**WRITER, "Content-Type": "application/json"}
    refused = live.client.post("/documents", content=body, headers=headers)
    assert refused.status_code == status, refused.text
    assert reason in refused.json().get("detail", "")
    assert live.kb.documents() == []


def test_requests_that_make_no_sense_are_refused(live: Inside) -> None:
    def post(path: str, content: str, media: str) -> httpx.Response:
        return live.client.post(path, content=content, headers={**WRITER, "Content-Type": media})

    assert _put(live, "1", text="x", id="2").status_code == 400
    assert post("/documents", "<x/>", "application/xml").status_code == 415
    assert post("/documents?replaces=all", '{"text": "x"}', "application/json").status_code == 400
    for query in ("replaces=files", "replaces=folder&folder=/docs"):  # said nothing of a file, and was status 500
        refused = post(f"/documents?{query}", '{"text": "x"}', "application/json")
        assert (refused.status_code, "Send JSON Lines" in refused.text) == (400, True)
    for query in ("replaces=folder", "replaces=folder&folder=docs"):
        refused = post(f"/documents?{query}", '{"text": "x"}', "application/x-ndjson")
        assert (refused.status_code, "the real path" in refused.text) == (400, True)
    assert post("/documents?colour=1", '{"text": "x"}', "application/json").status_code == 400
    assert post("/documents?name=../x.txt", "x", "text/plain").status_code == 400
    assert post("/documents?name=x.exe", "x", "text/plain").status_code == 400
    assert "line 2" in post("/documents", '{"text": "x"}\n{"text": 1}', "application/x-ndjson").json()["detail"]
    assert post("/documents", "\n", "application/x-ndjson").status_code == 400
    assert post("/build/none", "{}", "application/json").status_code == 400
    assert post("/build/og_rag", '{"options": {"mapped": "/etc"}}', "application/json").status_code == 400
    assert live.kb.documents() == []


def test_a_body_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with _opened(tmp_path / "kb") as kb, served(kb, limits=ServerLimits(body=1000)) as live:
        assert _put(live, "1", text="x " * 1000).status_code == 413
        many = "\n".join(json.dumps({"text": "word " * 20}) for _ in range(50))
        headers = {**WRITER, "Content-Type": "application/x-ndjson"}
        assert live.client.post("/documents", content=many, headers=headers).status_code == 413
        assert kb.documents() == []


def test_many_documents_become_a_job_that_says_how_far_it_is(live: Inside) -> None:
    sent = [{"id": str(number), "text": f"Document number {number}."} for number in range(60)]
    state = _over(live, live.client.post("/documents", json=sent, headers=WRITER))
    assert (state["state"], state["result"]["documents"]) == ("done", 60)
    assert state["progress"] == {"stage": "documents", "done": 60, "total": 60}
    assert len(_texts(live)) == 60
    one = live.client.post("/documents", json={"text": "One."}, headers={**WRITER, "Prefer": "respond-async"})
    assert _over(live, one)["result"]["documents"] == 1
    assert not list((live.kb.path or Path()).glob("cache/uploads/*"))


def test_uploaded_files_are_read_and_replace_what_the_file_contained(live: Inside) -> None:
    records = '{"id": "1", "text": "First record."}\n{"id": "2", "text": "Second record."}\n'
    files = {
        "a": ("notes.md", b"# Lamp\n\nThe lamp is green.\n"),
        "b": ("records.jsonl", records.encode()),
        "c": ("broken.pdf", b"%PDF-1.4 nothing"),
    }
    state = _over(live, live.client.post("/documents", files=files, headers=WRITER))
    assert (state["state"], state["result"]["documents"]) == ("done", 3)
    (broken,) = state["result"]["broken"]
    assert broken.startswith("broken.pdf")
    assert str(live.kb.path) not in json.dumps(state)
    assert live.client.get("/documents/notes.md").json()["locations"] == ["api#notes.md"]
    assert live.client.get("/documents/records.jsonl#2".replace("#", "%23")).json()["text"] == "Second record."
    raw = live.client.post(
        "/documents", params={"name": "records.jsonl"}, content='{"id": "1", "text": "First record."}', headers=WRITER
    )
    assert _over(live, raw)["result"]["superseded"] == 1
    assert [text for text in _texts(live) if "record" in text] == ["First record."]
    unreadable = live.client.post("/documents", params={"name": "x.pdf"}, content="no pdf", headers=WRITER)
    failed = _over(live, unreadable)
    assert (failed["state"], failed["problem"]["status"]) == ("failed", 400)
    assert str(live.kb.path) not in json.dumps(failed)


def test_no_answer_fails_while_documents_come_in(tmp_path: Path) -> None:
    with _opened(tmp_path / "kb") as kb, served(kb) as live:
        _put(live, "first", text="The lighthouse of Ostrel is 41 metres tall.")
        over, failed, told = threading.Event(), [], []

        def ask() -> None:
            with httpx.Client(base_url=live.url, timeout=60.0, trust_env=False) as own:
                while not over.is_set():
                    answer = own.post("/ask", json={"question": "How tall is the lighthouse of Ostrel?"})
                    told.append(answer.status_code)
                    if answer.status_code != 200 or "41 metres" not in answer.text:
                        failed.append(answer.text)

        with ThreadPoolExecutor(32) as threads:
            asking = [threads.submit(ask) for _ in range(32)]
            try:
                sent = [
                    {"id": str(number), "text": f"Barn {number} stands in village {number % 7}."}
                    for number in range(60)
                ]
                state = _over(live, live.client.post("/documents", json=sent, headers=WRITER))
            finally:
                over.set()
            for each in asking:
                each.result(60)
        assert (state["state"], state["result"]["documents"], failed[:1]) == ("done", 60, [])
        assert len(told) > 32


def test_a_build_through_the_server_makes_what_a_build_makes_while_questions_are_answered(tmp_path: Path) -> None:
    with demonstration(tmp_path / "kb") as kb, served(kb) as live:
        over, told = threading.Event(), []

        def ask() -> None:
            with httpx.Client(base_url=live.url, timeout=60.0, trust_env=False) as own:
                while not over.is_set():
                    told.append(own.post("/retrieve", json={"question": "When is chickpea sown?"}).status_code)

        with ThreadPoolExecutor(4) as threads:
            asking = [threads.submit(ask) for _ in range(4)]
            try:
                accepted = live.client.post("/build/sire_rag", json={}, headers=WRITER)
                state = _over(live, accepted)
            finally:
                over.set()
            for each in asking:
                each.result(60)
        assert (state["state"], set(told)) == ("done", {200}), state
        through = kb.retrieve("When is chickpea sown?", method="sire_rag")
        assert live.client.post("/build/sire_rag", json={"options": {"colour": 1}}, headers=WRITER).status_code == 400
    with demonstration(tmp_path / "fresh" / "kb") as fresh:
        counts = dict(fresh.build("sire_rag").counts)
        assert state["result"]["counts"] == counts
        assert [hit.text for hit in fresh.retrieve("When is chickpea sown?", method="sire_rag")] == [
            hit.text for hit in through
        ]
