"""What a server answers about its content is what the Python API returns."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import jsonschema
import pyoxigraph as ox
import pytest
import typer.main
from typer.testing import CliRunner

from kgrag import KnowledgeBase, resources
from kgrag.capabilities import Traverses, capable
from kgrag.cli import app
from kgrag.client import Client, NotThere
from kgrag.drawing import tree_picture
from kgrag.errors import InputError, ServiceRefused
from kgrag.http_api.operations import OPERATIONS
from kgrag.model import Document
from kgrag.querying import data_profile
from kgrag.querying.saved_queries import QueryParameter, SavedQuery
from kgrag.reasoning import proof_forms
from kgrag.server.access_keys import Keys
from kgrag.server.paid_access import PaidAccess
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.text import documents
from tests.server.inside import KEY, Inside, served

ZOO = """@prefix : <http://example.org/zoo#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://example.org/zoo> a owl:Ontology .
:Animal a owl:Class ; rdfs:label "animal"@en . :Otter a owl:Class ; rdfs:subClassOf :Animal .
:ada a :Otter ; :eats "fish" ."""
OTTER = ["http://example.org/zoo#ada", "rdf:type", "http://example.org/zoo#Animal"]
RUN = (
    "SELECT ?o WHERE { GRAPH ?g { <http://example.org/zoo#ada> <http://example.org/zoo#eats> ?o } FILTER(?o = ?food) }"
)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder = tmp_path_factory.mktemp("content")
    (folder / "notes").mkdir()
    (folder / "notes" / "a.txt").write_text("The otter of Ostrel swims in the harbour.", encoding="utf-8")
    (folder / "zoo.ttl").write_text(ZOO, encoding="utf-8")
    settings = Settings(model="extractive", completions="off", prices={"m": {"input": 1.0, "output": 2.0}})
    with KnowledgeBase(folder / "kb", settings=settings, embedder=HashEmbedder()) as kb:
        kb.load(folder / "zoo.ttl")
        kb.ingest(folder / "notes")
        kb.add_many(
            Document(
                f"Ticket {number}: the lamp {number} of the lighthouse is broken.",
                id=f"T{number}",
                title=f"Ticket {number % 3}",
                metadata={"tenant": "ab"[number % 2], "weight": Decimal("1.5"), "tags": ("x", "y")},
            )
            for number in range(11)
        )
        kb.build("sire_rag")
        food = QueryParameter("food", "text")
        kb.save_query(SavedQuery("eaten", RUN, "What is eaten", parameters=(food,)))
        with served(kb) as inside:
            yield inside


@pytest.fixture
def client(live: Inside) -> Iterator[Client]:
    with Client(live.url, KEY) as opened:
        yield opened


@pytest.fixture
def command(live: Inside, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("KGRAG_SERVER_KEY", KEY)

    def run(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(app, [*words, "--server", live.url])
        assert done.exit_code == code, done.output
        return done.stdout

    return run


# --- documents ----------------------------------------------------------------------------------------------------


def _pages(client: Client, limit: int, where: list[str] | None = None) -> Iterator[list[Any]]:
    page = client.documents(limit=limit, where=where)
    yield page.documents
    while page.next:
        page = client.documents(limit=limit, where=where, after=page.next)
        yield page.documents


@pytest.mark.parametrize("limit", [1, 5, 12, 1000])
def test_pages_together_are_the_documents_of_the_python_api(live: Inside, client: Client, limit: int) -> None:
    pages = list(_pages(client, limit))
    listed = [each for page in pages for each in page]
    assert all(len(page) == limit for page in pages[:-1])
    known = {each.iri: each for each in live.kb.documents()}
    assert [each.iri for each in listed] == sorted(known)
    for each in listed:
        stored = known[each.iri]
        assert (each.id, each.title, each.url, each.chunks) == (stored.id, stored.title, stored.url, stored.chunks)
        assert each.locations == list(stored.locations)
        assert each.metadata.keys() == stored.metadata.keys()


@pytest.mark.parametrize(
    "where", [["tenant=a"], ["tenant=a", "id in T0,T1,T2"], ['?document <urn:p> "x"'], ["id=none"]]
)
def test_a_filter_is_that_of_a_search(live: Inside, client: Client, where: list[str]) -> None:
    listed = [each.iri for page in _pages(client, 2, where) for each in page]
    assert listed == sorted(each.iri for each in live.kb.documents(where))


def test_a_link_leads_to_the_next_page(live: Inside) -> None:
    reply = live.client.get("/documents", params={"where": ["tenant=a"], "limit": 4})
    target = urlsplit(reply.links["next"]["url"])
    following = live.client.get(f"{target.path}?{target.query}")
    assert len(following.json()["documents"]) == 2
    assert "next" not in following.links
    assert live.client.get("/documents", params={"limit": 0}).status_code == 400
    assert live.client.get("/documents", params={"where": "no filter"}).status_code == 400
    refused = live.client.get("/documents", params={"where": "tenat=a"})
    assert (refused.status_code, "'tenat'" in refused.text, "tenant" in refused.text) == (400, True, True)
    assert live.client.get("/documents", params={"after": "zzz", "limit": 3}).json() == {"documents": [], "next": ""}


def test_a_page_looks_at_few_documents(live: Inside, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    original = documents.described

    def counted(store: Any, named: Any) -> Any:
        asked.append(len(list(named)))
        return original(store, named)

    monkeypatch.setattr(documents, "described", counted)
    monkeypatch.setattr(documents, "listing", lambda _: pytest.fail("all documents were listed"))
    assert live.client.get("/documents", params={"limit": 3}).status_code == 200
    assert live.client.get("/documents/T1").json()["text"].startswith("Ticket 1:")
    assert asked == [3, 1]


def test_the_command_lists_through_a_server_what_it_lists_without(live: Inside, command: Any) -> None:
    # the decimal comes as an object of JSON-LD, and the same title is there several times
    there = json.loads(command("documents", "--format", "json", "--where", "tenant=a"))
    assert [(each["iri"], each["metadata"]) for each in there] == [
        (each.iri, {"tags": ["x", "y"], "tenant": "a", "weight": 1.5}) for each in live.kb.documents("tenant=a")
    ]
    assert "in: " in command("documents")


# --- sources ------------------------------------------------------------------------------------------------------


def test_sources_are_listed_renamed_and_moved(live: Inside, client: Client, command: Any, tmp_path: Path) -> None:
    assert [each.model_dump() for each in client.sources().sources] == [asdict(each) for each in live.kb.sources()]
    before = {each.name: each for each in client.sources().sources}
    assert before["notes"].documents == 1
    assert client.change_source("notes", new_name="harbour").name == "harbour"
    moved = client.change_source("harbour", root="/elsewhere/notes")  # of another machine
    assert (moved.root, moved.documents, moved.created) == ("/elsewhere/notes", 1, before["notes"].created)
    assert live.kb.documents("id=T0") == live.kb.documents("id=T0")
    assert "/elsewhere/notes  " not in command("sources", "--rename", "harbour", "--as", "notes")
    command("sources", "--move", "notes", "--to", str(tmp_path))
    assert {each.name: each.root for each in live.kb.sources()}["notes"] == str(tmp_path.resolve())
    for body in ({"new_name": "api"}, {"new_name": "a/b"}, {"root": "relative"}, {"root": "/a\0b"}):
        with pytest.raises(InputError):
            client.change_source("notes", **body)
    with pytest.raises(NotThere, match="no source 'none'"):
        client.change_source("none", new_name="x")


# --- figures ------------------------------------------------------------------------------------------------------


def test_figures_are_those_of_the_python_api(live: Inside, client: Client, command: Any) -> None:
    assert client.stats().root == live.kb.stats()
    assert client.stats(method="sire_rag").root == live.kb.stats("sire_rag")
    assert client.status().model_dump() == live.kb.status()
    assert client.status().stale == []
    assert client.costs().root == live.kb.priced_costs() == []
    assert json.loads(command("stats", "--format", "json")) == live.kb.stats()
    assert command("status") == "nothing is pending\n"
    command("stats", "--cost")
    with pytest.raises(InputError, match="og_rga"):
        client.stats(method="og_rga")
    with pytest.raises(InputError, match="passages"):
        client.stats(method="passages")


def test_figures_follow_what_is_written(live: Inside, client: Client) -> None:
    before = client.stats().root["documents"]
    client.put_document("extra", "One more document.")
    assert client.stats().root["documents"] == before + 1
    client.forget("extra")
    assert client.stats().root["documents"] == before


def test_a_profile_is_that_of_the_python_api(live: Inside, client: Client, command: Any) -> None:
    assert client.profile().model_dump() == live.kb.profile().to_json()
    own = client.profile(graph="http://example.org/zoo")
    assert own.model_dump() == live.kb.profile(graph="http://example.org/zoo").to_json()
    assert command("profile") == live.kb.profile().as_text() + "\n"
    stated = set(ox.parse(command("profile", "--format", "turtle").encode(), ox.RdfFormat.TURTLE))
    assert stated == set(
        ox.parse(data_profile.as_turtle(live.kb.profile(), live.kb.store.names).encode(), ox.RdfFormat.TURTLE)
    )
    assert not live.kb.store.described(live.kb.store.names.profile_graph)
    assert client.keep_profile().triples == live.kb.profile().triples
    assert live.kb.store.described(live.kb.store.names.profile_graph)
    with pytest.raises(NotThere):
        client.profile(graph="urn:none")


def test_conversations_and_plugins_are_those_of_the_python_api(live: Inside, client: Client, command: Any) -> None:
    live.kb.conversation("talk").ask("What swims in the harbour?")
    assert [each.model_dump() for each in client.conversations().root] == [asdict(o) for o in live.kb.conversations()]
    assert "poly_rag" in {each.name for each in client.plugins().root}
    assert "poly_rag" in command("plugins")


# --- trees and proofs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", ["", "Which lamp is broken?"])
def test_a_tree_is_that_of_the_python_api(live: Inside, client: Client, command: Any, question: str) -> None:
    view = capable(live.kb.method("sire_rag"), Traverses, "sire_rag").traverse(question, width=2)
    assert client.tree(question=question, width=2).model_dump() == tree_picture.plain(view)
    assert command("tree", question, "--width", "2", "--format", "svg") == tree_picture.svg(view) + "\n"
    with pytest.raises(InputError):
        client.tree(method="passages")


def test_a_proof_is_that_of_the_python_api(live: Inside, client: Client, command: Any) -> None:
    proof = client.why(triple=OTTER).root
    assert proof == client.why(triple=OTTER, graphs=["http://example.org/zoo"], profile="rdfs").root
    assert proof == proof_forms.as_json(live.kb.why((OTTER[0], OTTER[1], OTTER[2])))
    assert "zoo#Otter" in command("why", *OTTER)
    assert list(ox.parse(command("why", *OTTER, "--format", "turtle").encode(), ox.RdfFormat.TURTLE))
    finding = client.audit(target="http://example.org/zoo").findings[0]
    (grounds,) = client.why(finding=finding.fingerprint, graphs=["http://example.org/zoo"]).root
    assert grounds["rule"]  # type: ignore[index]
    query = "SELECT ?s { ?s a <http://example.org/zoo#Otter> }"
    assert client.why(query=query).root == [each.to_json() for each in live.kb.why_refused(query)]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"triple": ["a", "b"]},
        {"triple": OTTER, "query": "ASK {}"},
        {"triple": OTTER, "profile": "owl-dl"},
        {"triple": [*OTTER[:2], "http://example.org/zoo#Rock"]},
        {"triple": OTTER, "graphs": ["/etc/passwd"]},
        {"triple": OTTER, "graphs": ["pyproject.toml"]},
        {"finding": "none", "profile": "../x"},
    ],
)
def test_what_cannot_be_explained_is_refused(live: Inside, body: dict[str, Any]) -> None:
    assert live.post("/why", **body).status_code == 400


def test_reasoning_is_a_job(live: Inside, client: Client, command: Any) -> None:
    done = client.end_of_job(client.reason(graphs=["http://example.org/zoo"]).id)
    assert (done["sources"], done["triples"] > 0) == (["http://example.org/zoo"], True)
    assert live.kb.store.described(ox.NamedNode(done["graph"]))
    assert "unchanged" in command("reason", "http://example.org/zoo")
    assert command("reason", "--drop") == "1 inference graph dropped\n"
    with pytest.raises(InputError, match="no graph"):
        client.reason(graphs=["urn:none"])


def test_files_are_written_anew_as_a_job(client: Client, command: Any) -> None:
    assert client.end_of_job(client.vacuum().id)["documents"] == []
    assert command("vacuum").startswith("erased 0 documents")


def test_receipts_are_those_of_the_python_api(live: Inside, client: Client, command: Any) -> None:
    client.put_document("gone", "This one goes.")
    client.end_of_job(client.forget("gone", erase=True).id)  # type: ignore[union-attr]
    assert [tuple(each.documents) for each in client.receipts().root] == [each.documents for each in live.kb.receipts()]
    stated = [each.holds for each in live.kb.receipts()]
    assert command("receipts", code=0 if all(stated) else 1).count("signed with did:key") == sum(stated) > 0


# --- saved queries ------------------------------------------------------------------------------------------------


def test_a_saved_query_gets_its_values(live: Inside, client: Client, command: Any, tmp_path: Path) -> None:
    assert client.saved_text("eaten", values={"food": "fish"}).sparql == live.kb.saved_text("eaten", food="fish")
    with pytest.raises(InputError, match="no value"):
        client.saved_text("eaten")
    with pytest.raises(NotThere):
        client.saved_text("none")
    assert "fish" in command("saved", "eaten", "--run", "--set", "food=fish")
    assert command("saved", "eaten") == RUN + "\n"
    (tmp_path / "q.rq").write_text(RUN, encoding="utf-8")
    command("saved", "other", "--save", str(tmp_path / "q.rq"), "--parameter", "food:text=meat")
    assert "other" in command("saved")
    command("saved", "other", "--remove")
    assert [each.name for each in live.kb.saved_queries()] == ["eaten"]


# --- rights -------------------------------------------------------------------------------------------------------

READS = ["/documents", "/sources", "/stats", "/status", "/profile", "/tree", "/conversations", "/receipts"]
WRITES = {
    "/sources/notes": {"new_name": "x"},
    "/profile": None,
    "/reason": {},
    "/vacuum": None,
}


def test_reading_needs_no_key_and_writing_one(live: Inside) -> None:
    assert {live.client.get(path).status_code for path in READS} == {200}
    for path, body in WRITES.items():
        assert live.client.post(path, json=body).status_code == 401, path
    for path in ("/costs", "/plugins"):  # what the operator pays and has installed
        assert live.client.get(path).status_code == 401
    with Client(live.url, "wrong") as stranger, pytest.raises(ServiceRefused):
        stranger.vacuum()


def test_a_private_server_shows_nothing_without_a_key(live: Inside) -> None:
    rules = AccessRules(Keys(KEY, private=True))
    with served(live.kb, rules) as private:
        assert {private.client.get(path).status_code for path in READS} == {401}
        own = {"Authorization": f"Bearer {KEY}"}
        assert private.client.get("/documents", headers=own).status_code == 200


def test_a_walk_towards_a_question_costs_what_a_search_costs(live: Inside) -> None:
    with served(live.kb, AccessRules(Keys(KEY), PaidAccess(answers_cost=True, searches_cost=True))) as paid:
        assert paid.client.get("/tree").status_code == 200
        assert paid.client.get("/tree", params={"question": "lamps"}).status_code == 401


def test_replies_are_as_the_document_says(live: Inside) -> None:
    described = live.client.get("/openapi.json").json()
    own = {"Authorization": f"Bearer {KEY}"}
    for path in [*READS, "/costs", "/plugins"]:
        reply: httpx.Response = live.client.get(path, headers=own)
        schema = described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator({**schema, "components": described["components"]}).validate(reply.json())


# --- the guide ----------------------------------------------------------------------------------------------------


def test_the_guide_says_of_every_command_what_does_it_at_a_server() -> None:
    page = (resources.folder("guide") / "calling.md").read_text(encoding="utf-8")
    table = page.split("## Commands and addresses")[1].split("\n## ")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| `")]
    named = {name for commands, _ in rows for name in re.findall(r"`([a-z]+)`", commands)}
    assert named == set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    operations = {name for _, what in rows for name in re.findall(r"`([a-z_]+)`", what)} - {"history", "session"}
    assert operations <= {each.name for each in OPERATIONS}
    left = {each.name for each in OPERATIONS} - operations
    assert left == {"health", "ready", "metrics", "writes"}  # which no command has
