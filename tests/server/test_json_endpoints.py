"""The JSON API: what the commands give, over HTTP."""

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import jsonschema
import pytest
from starlette.routing import Route

from kgrag import KnowledgeBase
from kgrag.answering.json_forms import answer_json, hit_json
from kgrag.errors import ServiceUnavailable
from kgrag.model import Prompt
from kgrag.querying import ontology_check
from kgrag.server import pages
from kgrag.server.app import create_app
from kgrag.server.served_data import CataloguedDataset
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel
from tests.server.inside import DEMO, KEY, Inside, served

QUESTION = "When is chickpea sown in the Hill Zone?"
VARIETIES = "Which varieties of lentil are grown in which zone?"
BACKWARDS = (
    "PREFIX crops: <https://w3id.org/kgrag/examples/crops#> "
    "SELECT ?name WHERE { ?zone crops:hasGrowingZone ?crop . ?crop crops:name ?name . ?zone a crops:GrowingZone }"
)


def told(reply: httpx.Response) -> dict[str, object]:
    """The problem of a reply, as RFC 9457 has it."""
    assert reply.headers["content-type"] == "application/problem+json"
    problem = reply.json()
    assert problem["status"] == reply.status_code
    return problem


def events(reply: httpx.Response) -> list[tuple[str, object]]:
    """Event names with their data."""
    blocks = [block.split("\n") for block in reply.text.split("\n\n") if block and not block.startswith(":")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in blocks]


@pytest.mark.parametrize(
    ("method", "question"),
    [
        ("passages", QUESTION),
        ("passages:signal=bm25", QUESTION),
        ("og_rag", "What is the seeding rate of lentil LT 7 in the River Zone?"),
        ("obqc", VARIETIES),
        ("passages", "Which emperor abolished the tax on silk?"),
    ],
)
def test_ask_gives_what_the_command_prints(demo: Inside, method: str, question: str) -> None:
    reply = demo.post("/ask", question=question, method=method, k=4, explain=True)
    assert reply.json() == answer_json(demo.kb.ask(question, method=method, k=4), explain=True)


def test_retrieve_gives_the_hits_of_the_method(demo: Inside) -> None:
    reply = demo.post("/retrieve", question=QUESTION, k=3).json()
    assert reply["hits"] == [hit_json(hit) for hit in demo.kb.retrieve(QUESTION, k=3)]
    assert reply["latency_ms"].keys() == {"embed", "search", "total"}


def test_check_gives_the_findings_and_the_mended_query(demo: Inside) -> None:
    found = demo.kb.check(BACKWARDS)
    reply = demo.post("/check", query=BACKWARDS, repair=True).json()
    assert reply == {**found.to_json(), "repaired": ontology_check.mended(found, demo.kb.check).query}


def test_check_gives_no_mended_query_unasked(demo: Inside) -> None:
    reply = demo.post("/check", query=BACKWARDS).json()
    assert reply.keys().isdisjoint({"repaired", "patterns"})


def test_check_counts_what_each_pattern_matches(demo: Inside) -> None:
    reply = demo.post("/check", query=BACKWARDS, explain=True).json()
    assert reply["patterns"] == [each.to_json() for each in demo.kb.explain(BACKWARDS)]
    assert reply["patterns"][0]["matches"] is not None
    assert demo.post("/check", query="ASK { ?s", explain=True).json()["patterns"] == []


def test_audit_gives_what_the_knowledge_base_finds(demo: Inside) -> None:
    target = "https://w3id.org/kgrag/examples/crops"
    reply = demo.post("/audit", target=target, profile="fair").json()
    found = demo.kb.audit(target, profile="fair", limit=100).to_json()
    assert {**reply, "slow": []} == {**found, "slow": []}  # which checks took long differs from run to run


@pytest.mark.parametrize(
    "body",
    [{"profile": "none"}, {"target": "urn:x:none"}, {"target": "ontologies/crops.ttl"}],
    ids=["profile", "graph", "file"],
)
def test_nothing_but_graphs_and_known_profiles_is_audited(demo: Inside, body: dict[str, str]) -> None:
    assert told(demo.client.post("/audit", json=body))["status"] == 400


SHAPES = """
PREFIX sh: <http://www.w3.org/ns/shacl#>
PREFIX ex: <https://example.org/>
INSERT DATA {
  GRAPH ex:people { ex:ada a ex:Person . ex:bob a ex:Person . ex:nick rdfs:domain ex:Person . ex:cid ex:nick "C" }
  GRAPH ex:shapes {
    ex:Named a sh:NodeShape ; sh:targetClass ex:Person ; sh:property [ sh:path ex:name ; sh:minCount 1 ]
  }
}"""


def test_graphs_are_validated_with_what_follows_from_them_and_counts_are_exact(demo: Inside) -> None:
    demo.kb.update(SHAPES)
    try:
        body = {"graphs": ["https://example.org/people"], "shapes": ["https://example.org/shapes"]}
        reply = demo.post("/validate", **body).json()
        assert (reply["conforms"], [each["focus"][-3:] for each in reply["findings"]]) == (False, ["ada", "bob"])
        more = demo.post("/validate", **body, inference="rdfs", limit=1).json()
        assert (more["counts"]["Violation"], len(more["findings"])) == (3, 1)
        one = demo.post("/validate", **body, focus=["https://example.org/bob"]).json()
        assert one["counts"]["Violation"] == 1
        assert demo.post("/validate", **body, conformance_disallows=["Warning"]).json()["conforms"] is True
        assert demo.client.post("/validate", json=body | {"conformance_disallows": ["warning"]}).status_code == 400
    finally:
        demo.kb.update("DROP GRAPH <https://example.org/people> ; DROP GRAPH <https://example.org/shapes>")


@pytest.mark.parametrize("name", ["/etc/passwd", "file:///etc/passwd", "urn:x:none"])
def test_nothing_but_graphs_is_validated(demo: Inside, name: str) -> None:
    assert told(demo.client.post("/validate", json={"graphs": [name], "shapes": [name]}))["status"] == 400


# --- the document -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/ask", {"question": QUESTION}),
        ("/ask", {"question": VARIETIES, "method": "obqc", "explain": True}),
        ("/retrieve", {"question": QUESTION}),
        ("/check", {"query": BACKWARDS, "repair": True}),
        ("/check", {"query": "SELECT nothing"}),
        ("/audit", {"profile": "publish"}),
        ("/validate", {"shapes": ["urn:x:none"]}),
        ("/validate", {"shapes": ["00"], "graphs": []}),
        ("/validate", {"shapes": ["0" * 300], "graphs": []}),  # longer than the name of a file may be
        ("/validate", {"shapes": ["urn:" + "0" * 300], "graphs": []}),
        ("/validate", {"graphs": ["/etc/passwd"], "shapes": []}),
        ("/audit", {"profile": "../secret.toml"}),
        ("/ask", {"question": ""}),
        ("/ask", {"question": QUESTION, "method": "none"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_requests_and_replies_are_as_the_document_says(demo: Inside, path: str, body: dict[str, object]) -> None:
    document = demo.client.get("/openapi.json").json()
    reply = demo.post(path, **body)
    operation = document["paths"][path]["post"]
    media = reply.headers["content-type"]
    schema = operation["responses"][str(reply.status_code)]["content"][media]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": document["components"]}).validate(reply.json())
    asked = operation["requestBody"]["content"]["application/json"]["schema"]
    valid = jsonschema.Draft202012Validator({**asked, "components": document["components"]}).is_valid(body)
    assert valid == (reply.status_code != 422)


def test_every_address_that_is_no_page_is_described(demo: Inside) -> None:
    document = demo.client.get("/openapi.json").json()
    app = create_app(CataloguedDataset(demo.kb.store), Path("unused"), kb=demo.kb)
    undescribed = {route.path for route in pages.ROUTES} | {"/openapi.json", "/v1/{rest:path}"}
    routes = [each for each in app.routes if isinstance(each, Route) and each.path not in undescribed]
    served = {(each.path.replace(":path}", "}"), method.lower()) for each in routes for method in each.methods or ()}
    described = {(path, method) for path, methods in document["paths"].items() for method in methods}
    # starlette answers HEAD wherever it answers GET; agents' protocol without sessions refuses GET and DELETE
    assert {each for each in served - described if each[1] != "head"} == {("/mcp", "get"), ("/mcp", "delete")}
    assert described <= served


def test_the_api_is_shown_to_people_without_another_host(demo: Inside) -> None:
    shown = demo.client.get("/docs")
    assert shown.status_code == 200
    document = demo.client.get("/openapi.json").json()
    for methods in document["paths"].values():
        for item in methods.values():
            assert f'id="{item["operationId"]}"' in shown.text
    assert re.findall(r'(?:src|href)="(?:https?:)?//', shown.text) == []


def test_the_document_is_openapi_3_1_and_whole(demo: Inside) -> None:
    document = demo.client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1.")
    named = {reference.rsplit("/", 1)[1] for reference in _references(document)}
    assert named == document["components"]["schemas"].keys()


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from [value["$ref"]] if "$ref" in value else []
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


# --- refusals -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/question"),
        ({"question": "  "}, "/question"),
        ({"question": 3}, "/question"),
        ({"question": "x" * 4001}, "/question"),
        ({"question": "x", "k": 0}, "/k"),
        ({"question": "x", "k": "5"}, "/k"),
        ({"question": "x", "k": 101}, "/k"),
        ({"question": "x", "limit/": 1}, "/limit~1"),
        ([], ""),
    ],
    ids=["none", "blank", "number", "long", "zero", "text", "many", "unknown", "list"],
)
def test_a_body_of_another_form_is_refused_with_the_place(demo: Inside, body: object, pointer: str) -> None:
    reply = demo.client.post("/ask", json=body)
    assert reply.status_code == 422
    assert [fault["pointer"] for fault in told(reply)["errors"]] == [pointer]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("content", "media", "status"),
    [
        (b"{", "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"{}", "text/plain", 415),
        (b"{}", "application/json; charset=latin-1", 415),
        (b" " * (1 << 20) + b"{}", "application/json", 413),
    ],
    ids=["cut", "bytes", "type", "charset", "large"],
)
def test_a_body_that_cannot_be_read_is_refused(demo: Inside, content: bytes, media: str, status: int) -> None:
    reply = demo.client.post("/ask", content=content, headers={"Content-Type": media})
    assert told(reply)["status"] == status


def test_an_answer_is_planned_and_none_is_asked_that_may_cost_more_than_its_limit(tmp_path: Path) -> None:
    settings = Settings(prices={"scripted": {"input": 1.0, "output": 2.0}}, model="scripted")
    model = ScriptedModel('{"unknown": true, "sentences": []}')
    with KnowledgeBase(tmp_path / "kb", settings=settings, embedder=HashEmbedder(), model=model) as kb:
        kb.ingest(DEMO / "texts")
        with served(kb) as running:
            cost = running.post("/ask/cost", question=QUESTION, method="passages").json()
            assert cost["completions"] == 1
            assert cost["price_most"] == (cost["input_tokens_most"] + 2 * cost["output_tokens_most"]) / 1e6
            most = cost["input_tokens_most"] + cost["output_tokens_most"]
            limits: list[dict[str, float]] = [{"max_completions": 0}, {"max_tokens": most - 1}, {"max_cost": 1e-6}]
            for limit in limits:
                refused = running.post("/ask", question=QUESTION, method="passages", **limit)
                assert (refused.status_code, "Nothing was asked of the model" in str(told(refused))) == (429, True)
            assert model.prompts == []
            assert running.post("/ask", question=QUESTION, method="passages", max_tokens=most).status_code == 200
            assert len(model.prompts) == 1
            both = {"history": [{"role": "user", "content": QUESTION}], "session": "visit"}
            assert running.post("/ask/cost", question="And lentil?", **both).status_code == 422


def test_an_unknown_method_is_named(demo: Inside) -> None:
    reply = demo.post("/ask", question="x", method="pasages")
    assert reply.status_code == 400
    assert "Did you mean 'passages'?" in told(reply)["detail"]  # type: ignore[operator]


def test_a_get_is_refused(demo: Inside) -> None:
    assert demo.client.get("/ask").status_code == 405


def test_another_form_of_answer_is_not_to_be_had(demo: Inside) -> None:
    reply = demo.client.post("/ask", json={"question": "x"}, headers={"Accept": "text/html"})
    assert told(reply)["status"] == 406


def test_an_answer_is_kept_with_a_key_only(demo: Inside) -> None:
    body = {"question": QUESTION, "keep": True}
    assert told(demo.client.post("/ask", json=body))["status"] == 401
    before = len(demo.kb.store)
    reply = demo.client.post("/ask", json=body, headers={"Authorization": f"Bearer {KEY}"})
    assert reply.status_code == 200
    assert len(demo.kb.store) > before


# --- events -------------------------------------------------------------------------------------------------------


def test_events_end_with_the_answer_that_json_gives(demo: Inside) -> None:
    body = {"question": VARIETIES, "method": "obqc", "k": 3}
    reply = demo.client.post("/ask", json=body, headers={"Accept": "text/event-stream"})
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    found = events(reply)
    answer = demo.post("/ask", **body).json()
    assert [name for name, _ in found] == ["hits", "sentence", "sentence", "sentence", "done"]
    assert found[0][1] == {"hits": answer["hits"]}
    assert found[-1][1] == answer
    cited = [citation for name, data in found if name == "sentence" for citation in data["citations"]]  # type: ignore[index]
    assert cited == answer["citations"]


def test_what_fails_before_the_hits_has_a_status(demo: Inside) -> None:
    body = {"question": "x", "method": "none"}
    reply = demo.client.post("/ask", json=body, headers={"Accept": "text/event-stream"})
    assert told(reply)["status"] == 400


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[Inside, threading.Event, list[Exception]]]:
    """A knowledge base whose model answers when it is let, or fails with what it is given."""
    let, failing = threading.Event(), []

    def reply(prompt: Prompt) -> str:
        assert let.wait(30)
        if failing:
            raise failing[0]
        return '{"sentences": []}'

    settings = Settings(completions="off")
    with KnowledgeBase(tmp_path / "kb", settings=settings, embedder=HashEmbedder(), model=ScriptedModel(reply)) as kb:
        kb.ingest(DEMO / "texts")
        with served(kb) as running:
            yield running, let, failing
            let.set()


def test_hits_come_before_the_model_has_answered(slow: tuple[Inside, threading.Event, list[Exception]]) -> None:
    running, let, _ = slow
    headers = {"Accept": "text/event-stream"}
    with running.client.stream("POST", "/ask", json={"question": QUESTION}, headers=headers) as reply:
        lines = reply.iter_lines()
        assert next(lines) == "event: hits"
        let.set()
        assert "event: done" in list(lines)


def test_a_client_that_leaves_costs_nobody_the_answer(
    slow: tuple[Inside, threading.Event, list[Exception]],
) -> None:
    running, let, _ = slow
    headers = {"Accept": "text/event-stream"}
    with running.client.stream("POST", "/ask", json={"question": QUESTION}, headers=headers) as reply:
        next(reply.iter_lines())
    let.set()
    assert running.post("/ask", question=QUESTION).status_code == 200


def test_a_page_begins_before_the_model_has_answered(
    slow: tuple[Inside, threading.Event, list[Exception]],
) -> None:
    running, let, _ = slow
    with running.client.stream("GET", "/", params={"question": QUESTION}) as reply:
        blocks = reply.iter_text()
        begun = next(blocks)
        assert "Working on an answer" in begun
        assert "</html>" not in begun
        let.set()
        rest = "".join(blocks)
    assert "does not carry an answer" in rest
    assert rest.rstrip().endswith("</html>")


def test_a_page_that_began_tells_what_went_wrong(slow: tuple[Inside, threading.Event, list[Exception]]) -> None:
    running, let, failing = slow
    failing.append(ServiceUnavailable("the model does not answer. Try again later."))
    with running.client.stream("GET", "/", params={"question": QUESTION}) as reply:
        blocks = reply.iter_text()
        next(blocks)
        let.set()
        assert "The model does not answer." in "".join(blocks)


def test_what_fails_after_the_hits_is_an_event(slow: tuple[Inside, threading.Event, list[Exception]]) -> None:
    running, let, failing = slow
    failing.append(ServiceUnavailable("the model does not answer. Try again later."))
    let.set()
    headers = {"Accept": "text/event-stream"}
    found = events(running.client.post("/ask", json={"question": QUESTION}, headers=headers))
    assert [name for name, _ in found] == ["hits", "problem"]
    assert found[1][1]["status"] == 503  # type: ignore[index]


def test_others_are_served_while_a_model_is_waited_for(
    slow: tuple[Inside, threading.Event, list[Exception]],
) -> None:
    running, let, _ = slow
    headers = {"Accept": "text/event-stream"}
    with running.client.stream("POST", "/ask", json={"question": QUESTION}, headers=headers) as reply:
        next(reply.iter_lines())
        assert running.client.get("/health").status_code == 200
        assert running.post("/retrieve", question=QUESTION).status_code == 200
        let.set()


def test_a_method_that_is_not_built_is_told(slow: tuple[Inside, threading.Event, list[Exception]]) -> None:
    reply = slow[0].post("/ask", question=QUESTION, method="og_rag")
    assert told(reply)["status"] == 409
    assert reply.json()["detail"].endswith("Send `POST /build/og_rag` first, or use /workbench.")
