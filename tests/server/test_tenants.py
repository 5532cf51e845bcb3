"""Tenants never see each other: every way in is asked with the keys of each, and nothing of another comes out."""

import asyncio
import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import httpx
import pytest
from starlette.routing import BaseRoute

from kgrag import cli
from kgrag.server.access_keys import Key, Rights, digest_of
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.tenants.tenant_file import Tenant, TenantFile
from kgrag.server.tenants.tenant_gateway import TenantGateway
from kgrag.server.tenants.tenant_opening import TenantRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import listening
from tests.server.tenant_requests import METHODS, Asked, Marks, Requests

ROUNDS = int(os.environ.get("KGRAG_TENANT_ROUNDS", "0"))
"""Rounds of random requests in depth, with every method built; 0: one round, quick."""
NORTH, SOUTH = Marks("nqzorvik", "nxkrelum"), Marks("sqjandor", "sxfimbra")
NOWHERE = Marks("wqtelpah", "wxnodrig")
VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)?|\b[0-9a-f]{16,}\b|\b(chatcmpl|resp|msg)[-_]\w+|\b\d+\.\d+(e-\d+)?\b|"
    r'"(seconds|created\w*|begun|completed_at)":\s*[\d."]+|chat=[\w-]{22}'
)
SHARED = "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n<https://example.org/shared> a owl:Ontology .\n<https://example.org/shared#Reactor> a owl:Class .\n"


def _gateway(folder: Path, limit: int = 8) -> TenantGateway:
    """Two tenants and an operator in a folder, with a quick embedder."""
    (folder / "shared.ttl").write_text(SHARED, encoding="utf-8")
    keys = {
        name: Key("app", digest_of(f"key-of-{name}"), Rights.ADMIN) for name in (NORTH.name, SOUTH.name, "operator")
    }
    tenants = {name: Tenant(name, folder / f"{name}.kb", (keys[name],)) for name in (NORTH.name, SOUTH.name)}
    declared = TenantFile(tenants, (replace(keys["operator"], rights=Rights.READ),), (folder / "shared.ttl",), limit)
    settings = Settings(model="extractive", completions="off")
    rules = TenantRules(settings, HashEmbedder(), declared.ontologies, keep_chats=True, limits=ServerLimits(readers=1))
    return TenantGateway(declared, rules)


class World:
    """Two tenants and an operator, met through the gateway in a loop of the test's own."""

    def __init__(self, folder: Path, *, limit: int = 8) -> None:
        self.gateway = _gateway(folder, limit)
        self.runner = asyncio.Runner()
        transport = httpx.ASGITransport(self.gateway)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://test", timeout=60, trust_env=False)

    def close(self) -> None:
        self.runner.run(self.client.aclose())
        self.runner.run(self.gateway.pool.close())
        self.runner.close()

    def ask(self, who: str, asked: Asked) -> httpx.Response:
        headers = {"Accept": asked.accept, **({"Content-Type": asked.media} if asked.media else {})}
        if who:
            headers["Authorization"] = f"Bearer key-of-{who}"
        return self.runner.run(self.client.request(asked.method, asked.path, content=asked.body, headers=headers))

    def get(self, who: str, path: str) -> httpx.Response:
        return self.ask(who, Asked("GET", path))

    def post(self, who: str, path: str, **body: object) -> httpx.Response:
        return self.ask(who, Asked("POST", path, json.dumps(body).encode(), "application/json"))

    def fill(self, marks: Marks) -> dict[str, str]:
        """Write things of each kind into a tenant's knowledge base; return the names of those that are not made of the mark."""
        name, content = marks.both
        who = name
        text = f"The code of the reactor of Vantor is {content}. The reactor {name} has the code {content}."
        body = {"text": text, "id": name, "title": f"Report {name}", "metadata": {"tenant": name, "note": content}}
        assert self.post(who, f"/documents?feed={name}", **body).status_code == 200
        turtle = f"<urn:s:{name}> <urn:p:{name}> '{content}' ; a <https://example.org/shared#Reactor> .".encode()
        assert self.ask(who, Asked("PUT", f"/graphs?graph=urn:g:{name}", turtle, "text/turtle")).status_code == 201
        query = f"SELECT ?s ?text WHERE {{ ?s ?p ?text FILTER(STR(?text) != '{content}x') }}"
        saved = Asked(
            "PUT",
            f"/saved-queries/{name}",
            json.dumps({"sparql": query, "title": content}).encode(),
            "application/json",
        )
        assert self.ask(who, saved).status_code == 201
        listed = f"SELECT ?iri ?text WHERE {{ GRAPH ?g {{ ?iri <urn:p:{name}> ?text }} }}"
        index = Asked(
            "PUT", f"/indexes/{name}", json.dumps({"sparql": listed, "title": content}).encode(), "application/json"
        )
        assert self.ask(who, index).status_code == 201
        question = f"question=What+is+the+code+of+the+reactor+{name}%3F&keep=1"
        chat = self.ask(
            who, Asked("POST", "/chat", question.encode(), "application/x-www-form-urlencoded", "text/html")
        )
        found = re.search(r"chat=([\w-]{22})", chat.headers.get("location", "") + chat.text)
        assert self.post(who, "/ask", question=f"What is the code of the reactor {name}?", keep=True).status_code == 200
        job = self.post(who, "/build/passages", options={}).json()
        lines = f'{{"text": "Also {content} in lines.", "id": "{name}-2"}}\n'.encode()
        self.ask(who, Asked("POST", f"/documents?feed={name}", lines, "application/x-ndjson"))
        for method in METHODS if ROUNDS else ():
            self.post(who, f"/build/{method}", options={})
        self.finish(who)
        graph, document = f"urn:g:{name}", self.get(who, f"/documents/{name}?feed={name}").json()["iri"]
        chunk = f"{document.replace('document', 'chunk')}-0-{len(text)}"
        return {
            "graph": graph,
            "iri": chunk,
            "chat": found[1] if found else name,
            "id": job["id"],
            "document": document,
            "chunk": chunk,
        }

    def finish(self, who: str) -> None:
        """Wait until the jobs of a tenant are over."""

        async def over() -> None:
            jobs = self.gateway.pool.places[who].opened.state.jobs  # type: ignore[union-attr]
            await asyncio.gather(*jobs._tasks)

        self.runner.run(over())


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    try:
        yield made
    finally:
        made.close()


def _said(response: httpx.Response) -> str:
    return f"{response.status_code} {response.headers} {response.text}"


def _steady(response: httpx.Response, mark: str = "") -> str:
    """What a response says, without what differs from one request to the next."""
    text = VOLATILE.sub("~", f"{response.status_code} {response.text}")
    return text.replace(mark, "MARK") if mark else text


def _routes(world: World) -> list[BaseRoute]:
    opened = world.gateway.pool.places[NORTH.name].opened
    assert opened is not None
    return [*opened.app.routes, *world.gateway.front.routes]


def _some(asked: Iterable[Asked], step: int) -> list[Asked]:
    """All requests in depth; else some of those that take a moment only."""
    return list(asked) if ROUNDS else [each for each in asked if each.is_quick][::step]


def _ask_all(world: World, random: Random, north: Marks, south: Marks) -> None:
    """Ask every path as the north, before the south has anything and after, about its things and about none."""
    routes = _routes(world)
    blind = _some((asked for asked in Requests(random, "", {}).every(routes) if asked.reads), 1)
    before = {asked: _steady(world.ask(north.name, asked)) for asked in blind}
    ids = world.fill(south)
    if not ROUNDS:  # so that what is kept by revision would be found by the other
        assert world.get(north.name, "/health").json() == world.get(south.name, "/health").json()
    shown = 0
    for asked in blind:
        of_south, of_north = (world.ask(marks.name, asked) for marks in (south, north))
        assert not [mark for mark in north.both if mark in _said(of_south)], asked
        assert not [mark for mark in south.both if mark in _said(of_north)], asked
        assert _steady(of_north) == before[asked], asked
        shown += south.content in _said(of_south)
    assert shown > 12  # there is something to see
    state = random.getstate()
    aimed = [*Requests(random, south.name, ids).every(routes)]
    assert len(aimed) > 100
    random.setstate(state)
    nowhere = {
        name: value.replace(south.name, NOWHERE.name) if south.name in value else f"{value[:-4]}0000"
        for name, value in ids.items()
    }
    compared = set(_some((asked for asked in aimed if asked.reads), 3))
    pairs = zip(aimed, Requests(random, NOWHERE.name, nowhere).every(routes), strict=True)
    # writes last: what the north writes under names of the south's is there from then on, and is its own
    for asked, astray in sorted(pairs, key=lambda pair: not pair[0].reads):
        answer = world.ask(north.name, asked)
        assert south.content not in _said(answer), asked
        if asked in compared:
            assert answer.status_code == world.ask(north.name, astray).status_code, asked
    world.finish(north.name)


@pytest.mark.parametrize("seed", range(max(ROUNDS, 1)))
def test_nothing_of_another_tenant_is_ever_seen(world: World, seed: int) -> None:
    world.fill(NORTH)
    _ask_all(world, Random(seed), NORTH, SOUTH)
    everything = "/sparql?query=SELECT+%3Fo+WHERE+%7B+GRAPH+%3Fg+%7B+%3Fs+%3Fp+%3Fo+%7D+%7D"
    assert SOUTH.content in world.get(SOUTH.name, everything).text  # what the other one wrote and deleted was its own
    assert NORTH.content not in world.get(SOUTH.name, everything).text
    assert SOUTH.content not in world.get(NORTH.name, everything).text  # nor was anything copied


def test_a_request_at_the_wrong_tenant_is_refused_there_too(world: World) -> None:
    world.gateway._by_key[digest_of(f"key-of-{SOUTH.name}")] = NORTH.name
    assert world.get(SOUTH.name, "/sparql?query=ASK+%7B%7D").status_code == 401
    assert world.get(SOUTH.name, "/").status_code == 401


def test_a_command_over_a_folder_changes_no_other_tenant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = _gateway(tmp_path)
    update = "INSERT DATA { GRAPH <urn:of:north> { <urn:a> <urn:b> 1 } }"
    with listening(gateway) as url:
        gateway.url = url
        codes = []
        for key in (SOUTH.name, NORTH.name):
            monkeypatch.setenv("KGRAG_SERVER_KEY", f"key-of-{key}")
            httpx.get(f"{url}/health", headers={"Authorization": f"Bearer key-of-{NORTH.name}"}, trust_env=False)
            monkeypatch.setattr("sys.argv", ["kgrag", "--kb", str(tmp_path / f"{NORTH.name}.kb"), "update", update])
            with pytest.raises(SystemExit) as stop:
                cli.main()
            codes.append(stop.value.code)
        graphs = [_graphs(url, marks) for marks in (NORTH, SOUTH)]
    assert codes == [3, 0]
    assert ["urn:of:north" in text for text in graphs] == [True, False]


def _graphs(url: str, marks: Marks) -> str:
    query = "SELECT DISTINCT ?g WHERE { GRAPH ?g { ?s ?p ?o } }"
    headers = {"Authorization": f"Bearer key-of-{marks.name}"}
    return httpx.get(f"{url}/sparql", params={"query": query}, headers=headers, trust_env=False).text


def test_shared_ontologies_are_read_by_all_and_written_by_none(world: World) -> None:
    seen = "/sparql?query=ASK+%7B+GRAPH+%3Chttps%3A%2F%2Fexample.org%2Fshared%3E+%7B+%3Fs+a+owl%3AClass+%7D+%7D"
    shared = Asked("PUT", "/graphs?graph=https://example.org/shared", b"<urn:a> <urn:b> 1 .", "text/turtle")
    assert world.ask(NORTH.name, shared).status_code == 403
    for update, status in (
        ("CLEAR ALL", 403),
        ("DROP GRAPH <https://example.org/shared>", 403),
        ("INSERT DATA { GRAPH <urn:own> { <urn:a> <urn:b> 1 } }", 204),
    ):
        sent = Asked("POST", "/update", update.encode(), "application/sparql-update")
        assert world.ask(NORTH.name, sent).status_code == status
    assert world.get(NORTH.name, seen).json() == world.get(SOUTH.name, seen).json() == {"head": {}, "boolean": True}


@pytest.mark.parametrize(("who", "status"), [("operator", 403), ("", 401), ("stranger", 401)])
def test_no_other_key_reads_content(world: World, who: str, status: int) -> None:
    for path in ("/", "/sparql?query=ASK+%7B%7D", "/jobs", "/writes", "/openapi.json", "/static/page.css"):
        assert world.get(who, path).status_code == status
    assert world.get(who, "/health").json() == {"status": "ok"}
    assert world.get(who, "/metrics").status_code == (200 if who == "operator" else 401)


def test_a_closed_tenant_keeps_its_chats_jobs_and_counts(tmp_path: Path) -> None:
    world = World(tmp_path, limit=1)
    try:
        asked = b"question=Where%3F"
        form = Asked("POST", "/chat", asked, "application/x-www-form-urlencoded", "text/html")
        page = world.ask(NORTH.name, form)
        chat = re.search(r"chat=([\w-]{22})", page.headers.get("location", "") + page.text)
        assert chat is not None
        assert world.get(SOUTH.name, f"/chat?chat={chat[1]}").status_code == 404
        assert [each["open"] for each in world.get("operator", "/tenants").json()] == [False, True]
        assert world.get(NORTH.name, f"/chat?chat={chat[1]}").status_code == 200
        counted = f'kgrag_requests_total{{method="GET",path="/chat",status="404",tenant="{SOUTH.name}"}} 1.0'
        assert counted in world.get("operator", "/metrics").text
    finally:
        world.close()
