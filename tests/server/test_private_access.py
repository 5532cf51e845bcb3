"""Keys with rights, on a private server with a key file."""

import json
from collections.abc import Iterator

import httpx
import pytest

from kgrag.vocab import Names
from tests.server.conftest import Server, start

TURTLE = {"Content-Type": "text/turtle"}
UPDATE = {"Content-Type": "application/sparql-update"}
KEYS = {"reader": "reader-key-0123456789", "loader": "loader-key-0123456789", "boss": "boss-key-01234567890"}


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("private")
    rights = {
        "reader": 'rights = "read"',
        "loader": 'graphs = ["urn:own", "http://example.org/data/*"]',
        "boss": 'rights = "admin"',
    }
    lines = [f'[[keys]]\nname = "{name}"\nkey = "{KEYS[name]}"\n{more}' for name, more in rights.items()]
    (folder / "keys.toml").write_text("\n".join(lines), encoding="utf-8")
    (folder / "keys.toml").chmod(0o600)
    options = ("--keys", str(folder / "keys.toml"), "--private", "--log", "json", "--log-queries")
    running = start(folder / "kb", *options, errors=folder / "errors.txt")
    yield running
    running.stop()
    said = (folder / "errors.txt").read_text(encoding="utf-8") + (folder / "kb" / "writes.jsonl").read_text("utf-8")
    assert not [key for key in (*KEYS.values(), "secret-for-tests") if key in said]


def _as(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {KEYS[name]}"}


def _update(server: Server, name: str, text: str) -> httpx.Response:
    return server.client.post("/update", content=text, headers={**UPDATE, **_as(name)})


def _put(server: Server, name: str, graph: str, **headers: str) -> httpx.Response:
    where = {"params": {"graph": graph}, "headers": {**TURTLE, **_as(name), **headers}}
    return server.client.put("/graphs", content="<urn:a> <urn:p:p> 1 .", **where)


@pytest.mark.parametrize("path", ["/sparql?query=ASK{}", "/void", "/graphs?default", "/metrics", "/", "/openapi.json"])
def test_on_a_private_server_reading_needs_a_key(private: Server, path: str) -> None:
    refused = private.client.get(path)
    assert refused.status_code == 401
    assert "Bearer" in refused.headers["www-authenticate"]
    assert private.client.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert private.client.get(path, headers=_as("reader")).status_code in (200, 404)


def test_health_is_open(private: Server) -> None:
    assert private.client.get("/health").json()["status"] == "ok"
    assert private.client.get("/health/ready").json()["status"] == "ready"


def test_a_key_that_reads_does_not_write(private: Server) -> None:
    assert _update(private, "reader", "CLEAR ALL").status_code == 403
    assert _put(private, "reader", "urn:own").status_code == 403


@pytest.mark.parametrize(
    ("update", "status"),
    [
        ("INSERT DATA { GRAPH <urn:own> { <urn:s> <urn:p:p> 1 } }", 204),
        ("PREFIX d: <http://example.org/data/> INSERT { GRAPH d:x { ?s ?p ?o } } WHERE { GRAPH <urn:own> { ?s ?p ?o } }", 204),
        ("INSERT DATA { GRAPH <urn:other> { <urn:s> <urn:p:p> 1 } }", 403),
        ("INSERT DATA { GRAPH <http://example.org/data/../other> { <urn:s> <urn:p:p> 1 } }", 403),
        ("INSERT DATA { <urn:s> <urn:p:p> 1 }", 403),
        ("INSERT DATA { GRAPH <urn:own> { <urn:s> <urn:p:p> 2 } } ; CLEAR GRAPH <urn:kgrag:graph/catalogue>", 403),
        ("DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } }", 403),
        ("PREFIX o: <urn:othe> PREFIX SILENTo: <http://example.org/data/> MOVE SILENTo:r TO <urn:own>", 403),
        ("CLEAR ALL", 403),
    ],
)  # fmt: skip
def test_a_key_for_some_graphs_writes_to_these_only(private: Server, update: str, status: int) -> None:
    before = private.client.get("/health").json()["revision"]
    assert _update(private, "loader", update).status_code == status
    assert private.client.get("/health").json()["revision"] == before + (status == 204)


def test_only_an_administrator_updates_a_graph_that_kgrag_makes(private: Server) -> None:
    body = '<urn:a> <urn:p:p> "01"^^<http://www.w3.org/2001/XMLSchema#int> .'
    where = {"params": {"graph": "urn:written"}, "headers": {**TURTLE, **_as("boss")}}
    assert private.client.put("/graphs", content=body, **where).status_code == 201
    lexical = Names().lexical_graph("urn:written")
    update = f"DELETE WHERE {{ GRAPH {lexical} {{ ?s ?p ?o }} }}"
    assert private.update(update).status_code == 403
    assert _update(private, "boss", update).status_code == 204


def test_a_key_for_some_graphs_puts_these_only(private: Server) -> None:
    assert _put(private, "loader", "http://example.org/data/put").status_code == 201
    assert _put(private, "loader", "urn:other").status_code == 403
    assert private.client.post("/graphs", content="", headers={**TURTLE, **_as("loader")}).status_code == 403
    gone = private.client.delete("/graphs", params={"graph": "urn:other"}, headers=_as("loader"))
    assert gone.status_code == 403


def test_the_log_of_writes_tells_who_did_what_and_what_was_refused(private: Server) -> None:
    _update(private, "loader", "INSERT DATA { GRAPH <urn:own> { <urn:s> <urn:p:logged> 1 } }")
    _update(private, "loader", "CLEAR ALL")
    _put(private, "boss", "urn:boss", **{"X-Request-Id": "my-request"})
    assert private.client.get("/writes", headers=_as("loader")).status_code == 403
    assert private.client.get("/writes", params={"last": "0"}, headers=_as("boss")).status_code == 400
    answer = private.client.get("/writes", params={"last": "3"}, headers=_as("boss"))
    done, refused, put = map(json.loads, answer.text.splitlines())
    assert (done["key"], done["operation"], done["graphs"], done["status"]) == ("loader", "update", ["urn:own"], 204)
    assert done["after"] == done["before"] + 1
    assert (refused["status"], refused["after"] - refused["before"]) == (403, 0)
    assert (put["key"], put["request"], put["operation"], put["bytes"]) == ("boss", "my-request", "put", 21)


def test_an_update_of_an_admin_is_run_at_once(private: Server) -> None:
    _update(private, "boss", "INSERT DATA { GRAPH <urn:trial> { <urn:s> <urn:p:p> 1 } }")
    text = "INSERT { GRAPH <urn:trial> { ?s ?p 2 } } WHERE { GRAPH <urn:trial> { ?s ?p 1 } }"
    assert _update(private, "boss", text).status_code == 204
    asked = private.client.get(
        "/sparql", params={"query": "ASK { GRAPH <urn:trial> { <urn:s> ?p 2 } }"}, headers=_as("reader")
    )
    assert asked.json()["boolean"] is True
