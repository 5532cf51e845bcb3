"""The client of a server: generated from the description of the API, and used by the command line."""

import ast
import asyncio
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.client import AsyncClient, Client, NotThere, client_generator
from kgrag.client.client_generator import FILES, generated
from kgrag.errors import InputError, InvalidSettings, ServiceRefused, ServiceUnavailable
from kgrag.http_api.json_schemas import DocumentRequest, IngestReply
from kgrag.http_api.operations import OPERATIONS
from kgrag.http_api.write_schemas import JobReply
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, served

PACKAGE = Path(client_generator.__file__).parent
TEXT = "The lighthouse of Ostrel is 41 metres tall."
GRAPH = "urn:graph"
TRIPLE = ox.Triple(ox.NamedNode("urn:s"), ox.NamedNode("urn:p:p"), ox.Literal("é"))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder = tmp_path_factory.mktemp("client") / "kb"
    settings = Settings(model="extractive", completions="off")
    with KnowledgeBase(folder, settings=settings, embedder=HashEmbedder()) as kb, served(kb) as inside:
        yield inside


@pytest.fixture
def client(live: Inside) -> Iterator[Client]:
    with Client(live.url, KEY) as opened:
        yield opened


@pytest.mark.parametrize(("key", "module"), FILES.items(), ids=FILES.values())
def test_the_generated_file_is_what_the_description_generates(key: tuple[str, str], module: str) -> None:
    # a rebuild: python -m kgrag.client.client_generator, and ruff format
    stored = (PACKAGE / f"{module}.py").read_text(encoding="utf-8")
    assert ast.dump(ast.parse(stored)) == ast.dump(ast.parse(generated(*key)))


def test_both_clients_have_the_same_methods_with_the_same_arguments() -> None:
    def public(kind: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(value).parameters)
            for name, value in inspect.getmembers(kind, inspect.isfunction)
            if not name.startswith("_")
        }

    assert public(Client).keys() - public(AsyncClient).keys() == {"open_query"}
    assert {name: public(Client)[name] for name in public(AsyncClient)} == public(AsyncClient)
    assert {each.name for each in OPERATIONS} <= public(Client).keys()


def test_documents_come_in_are_asked_for_and_go(client: Client) -> None:
    added = client.add_documents(DocumentRequest(text=TEXT, id="T 7/a", metadata={"tenant": "a"}))
    assert isinstance(added, IngestReply)
    assert added.documents == 1
    answer = client.ask("How tall is the lighthouse of Ostrel?", where={"tenant": "a"}, explain=True)
    assert answer.citations[0].quote in TEXT
    assert answer.explain is not None
    assert client.retrieve("lighthouse", method="passages", k=1).hits[0].text == TEXT
    assert client.document("T 7/a").text == TEXT
    assert [each.remains for each in client.forget("T 7/a").root] == [0]
    with pytest.raises(NotThere, match="T 7/a"):
        client.document("T 7/a")


def test_a_job_is_followed_to_its_end(client: Client) -> None:
    steps: list[tuple[str, int, int]] = []
    job = client.upload(b'{"text": "One lamp."}\n{"text": "Two lamps."}')
    assert isinstance(job, JobReply)
    assert client.end_of_job(job.id, lambda *step: steps.append(step))["documents"] == 2
    assert {stage for stage, _, _ in steps} <= {"documents", "waiting", "running"}
    assert client.job(job.id).state == "done"
    assert client.end_of_job(client.build("passages").id)["method"] == "passages"
    failing = client.upload(b'{"text": "Three lamps."}\n{"text": "Four.", "feed": "a#b"}')
    with pytest.raises(InputError, match="#"):
        client.end_of_job(failing.id)


def test_queries_updates_and_graphs_by_a_client(client: Client) -> None:
    client.put_graph(GRAPH, [TRIPLE])
    assert client.graph(GRAPH) == [TRIPLE]
    client.update(f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <urn:s> <urn:p:q> 2 }} }}")
    rows = client.query(f"SELECT ?o {{ GRAPH <{GRAPH}> {{ ?s <urn:p:q> ?o }} }}")
    assert isinstance(rows, ox.QuerySolutions)
    assert [row["o"].value for row in rows] == ["2"]
    assert bool(client.query("ASK {}")) is True
    assert client.query(f"CONSTRUCT {{ ?s <urn:p:p> ?o }} {{ GRAPH <{GRAPH}> {{ ?s <urn:p:p> ?o }} }}") == [TRIPLE]
    client.delete_graph(GRAPH)
    with pytest.raises(NotThere, match=GRAPH):
        client.graph(GRAPH)


def test_texts_come_back_as_texts(client: Client) -> None:
    assert "kgrag_requests" in client.metrics()
    assert client.ready().status == "ready"


def test_the_same_for_asyncio(live: Inside) -> None:
    async def work() -> None:
        async with AsyncClient(live.url, KEY) as client:
            job = await client.upload(b'{"text": "The harbour of Ostrel freezes.", "id": "async"}')
            assert (await client.end_of_job(job.id))["documents"] == 1
            answer, health = await asyncio.gather(client.ask("What freezes?"), client.health())
            assert (answer.question, health.status) == ("What freezes?", "ok")
            await client.put_graph(GRAPH, [TRIPLE])
            await client.update(f"DELETE WHERE {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}")
            assert bool(await client.query(f"ASK {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}")) is False
            with pytest.raises(InputError, match="question"):
                await client.ask("")
            await client.forget("async")

    asyncio.run(work())


def test_a_refusal_is_an_error_of_ours(live: Inside, client: Client) -> None:
    with pytest.raises(InputError, match="Did you mean 'passages'"):
        client.retrieve("x", method="pasages")
    with Client(live.url, "wrong") as stranger, pytest.raises(ServiceRefused, match="KGRAG_SERVER_KEY"):
        stranger.update("CLEAR DEFAULT")
    with Client("http://127.0.0.1:1") as nobody, pytest.raises(ServiceUnavailable, match="Is it running"):
        nobody.health()
    for url in ("file:///etc/passwd", "http://", "kgrag.example"):
        with pytest.raises(InvalidSettings):
            Client(url)


def _answering(reply: httpx.Response) -> tuple[Client, list[httpx.Request]]:
    seen: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return reply

    return Client("http://kb.example/", "secret", transport=httpx.MockTransport(answer)), seen


def test_the_key_goes_to_nobody_that_a_server_redirects_to() -> None:
    client, seen = _answering(httpx.Response(302, headers={"Location": "http://other.example/health"}))
    with pytest.raises(ServiceUnavailable, match="302"):
        client.health()
    assert [request.url.host for request in seen] == ["kb.example"]


def test_what_another_program_answers_is_no_reply() -> None:
    for reply in (httpx.Response(200, json={"hello": 1}), httpx.Response(200, text="<html>")):
        client, _ = _answering(reply)
        with pytest.raises(ServiceUnavailable, match="another version"):
            client.health()


def test_nothing_is_sent_for_what_was_left_out() -> None:
    client, seen = _answering(httpx.Response(503, json={"detail": "full"}))
    with pytest.raises(ServiceUnavailable, match="full"):
        client.put_document("a/b", TEXT, embed=False)
    assert str(seen[0].url) == "http://kb.example/documents/a%2Fb?embed=false"
    assert seen[0].content == b'{"text":"' + TEXT.encode() + b'"}'


def _store_at(revisions: list[int]) -> tuple[httpx.MockTransport, list[str | None]]:
    """Answer requests as a store whose revisions are these; return what revisions the requests named, too."""
    named: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        named.append(request.headers.get("Kgrag-Revision"))
        revision = revisions.pop(0)
        refused = int(named[-1] or 0) > revision
        headers = {"Kgrag-Revision": str(revision)}
        return httpx.Response(412, headers=headers) if refused else httpx.Response(204, headers=headers)

    return httpx.MockTransport(answer), named


def test_each_request_names_the_latest_revision_of_the_answers_before_it() -> None:
    transport, named = _store_at([5, 7, 7])
    with Client("http://kb.example", transport=transport) as client:
        for _ in range(3):
            client.update("CLEAR ALL")
    assert named == [None, "5", "7"]


def test_a_revision_that_a_store_went_back_behind_is_named_no_longer(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> list[str | None]:
        transport, named = _store_at([5, 2, 2, 3])
        async with AsyncClient("http://kb.example", transport=transport) as client:
            for _ in range(3):
                await client.update("CLEAR ALL")
        return named

    assert asyncio.run(work()) == [None, "5", "2", "2"]
    assert "at revision 2, and was at 5" in caplog.text
    transport, named = _store_at([5, 2, 2, 3])
    with Client("http://kb.example", transport=transport) as client:
        for _ in range(3):
            client.update("CLEAR ALL")
    assert named == [None, "5", "2", "2"]


def test_a_condition_that_does_not_hold_is_refused_once() -> None:
    client, seen = _answering(httpx.Response(412, headers={"Kgrag-Revision": "5"}, json={"detail": "not as it was"}))
    for _ in range(2):
        with pytest.raises(InputError, match="not as it was"):
            client.update("CLEAR ALL")
    assert len(seen) == 2


def test_after_a_job_the_revision_is_that_of_what_it_wrote() -> None:
    done = JobReply(id="a", kind="build", state="done", progress={}, seconds=1).model_dump(mode="json")

    def answer(request: httpx.Request) -> httpx.Response:
        if "event-stream" in request.headers["Accept"]:
            return httpx.Response(200, headers={"Kgrag-Revision": "5"}, text=f"data: {json.dumps(done)}\n\n")
        return httpx.Response(
            200, headers={"Kgrag-Revision": "6", "X-Named": request.headers["Kgrag-Revision"]}, json=done
        )

    with Client("http://kb.example", transport=httpx.MockTransport(answer)) as client:
        client.end_of_job("a")
        with client.open_query("ASK {}", "application/json") as response:
            assert response.headers["X-Named"] == "6"


def test_the_client_loads_no_server_and_no_model() -> None:
    code = "import sys, kgrag.client; print({'torch', 'starlette', 'uvicorn', 'hnswlib'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
