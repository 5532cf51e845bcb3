"""A server with a gate: a write may not bring ontologies new violations."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.server.conftest import KEY, Server, start

FARM = "http://example.org/farm"
TURTLE = {"Content-Type": "text/turtle"}
PREFIXES = """@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <http://example.org/farm#> .
"""
SOUND = f"""{PREFIXES}
<{FARM}> a owl:Ontology ; rdfs:label "Farm"@en .
:Plant a owl:Class ; rdfs:label "plant"@en .
:Crop a owl:Class ; rdfs:label "crop"@en ; rdfs:subClassOf :Plant .
"""
CYCLE = ":Plant rdfs:subClassOf :Crop ."
FLAWED = SOUND.replace(f"<{FARM}>", f"<{FARM}-flawed>") + CYCLE
UPDATE = "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX : <http://example.org/farm#> "


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("gated")
    plain = start(folder / "kb")
    assert _put(plain, f"{FARM}-flawed", FLAWED).status_code == 201
    plain.stop()
    running = start(folder / "kb", "--gate", "default", "--write-log", str(folder / "writes.jsonl"))
    yield running
    running.stop()


@pytest.fixture
def farm(gated: Server) -> Iterator[str]:
    """A sound ontology, put anew for each test."""
    assert _put(gated, FARM, SOUND).status_code in (201, 204)
    yield FARM
    gated.writer.delete("/graphs", params={"graph": FARM})


def _put(server: Server, graph: str, text: str, **headers: str) -> httpx.Response:
    return server.writer.put("/graphs", params={"graph": graph}, content=text, headers={**TURTLE, **headers})


def _state(server: Server, graph: str) -> tuple[int, str, list[str]]:
    answer = server.client.get("/graphs", params={"graph": graph}, headers={"Accept": "application/n-triples"})
    return server.client.get("/health").json()["revision"], answer.headers["etag"], sorted(answer.text.splitlines())


@pytest.mark.parametrize(
    "text",
    [
        f"INSERT DATA {{ GRAPH <{FARM}> {{ {CYCLE} }} }}",
        f"INSERT {{ GRAPH <{FARM}> {{ ?c rdfs:subClassOf :Crop }} }} WHERE {{ GRAPH <{FARM}> {{ ?c rdfs:label 'plant'@en }} }}",
        f"INSERT {{ GRAPH ?g {{ {CYCLE} }} }} WHERE {{ GRAPH ?g {{ <{FARM}> rdfs:label ?l }} }}",
        f"COPY <{FARM}-flawed> TO <{FARM}>",
    ],
    ids=["data", "where", "any-graph", "copy"],
)
def test_an_update_that_makes_an_ontology_worse_is_refused_and_nothing_changes(
    gated: Server, farm: str, text: str
) -> None:
    before = _state(gated, farm)
    answer = gated.update(UPDATE + text)
    assert answer.status_code == 422
    told = answer.json()
    assert told["graphs"][0]["graph"] == farm
    assert told["graphs"][0]["checks"]["HIE-01"] >= 1
    assert {finding["check"] for finding in told["graphs"][0]["findings"]} >= {"HIE-01"}
    assert "Nothing was written" in told["detail"]
    assert _state(gated, farm) == before


@pytest.mark.parametrize(
    "where",
    [
        "FILTER(RAND() < 0.5)",
        "FILTER(STRENDS(STRUUID(), '0'))",
        "FILTER(SECONDS(NOW()) < 30)",
        "{ SELECT * { VALUES ?x { 1 2 } } ORDER BYRAND() LIMIT 1 } FILTER(?x = 1)",
    ],
)
def test_an_update_that_may_do_otherwise_than_was_judged_is_refused_for_an_ontology(
    gated: Server, farm: str, where: str
) -> None:
    before = _state(gated, farm)
    text = f"INSERT {{ GRAPH <{FARM}> {{ {CYCLE} }} }} WHERE {{ {where} }}"
    answers = [gated.update(UPDATE + text) for _ in range(4)]
    assert {answer.status_code for answer in answers} == {422}
    assert "what was judged" in answers[0].json()["detail"]
    assert _state(gated, farm) == before


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_an_upload_that_makes_an_ontology_worse_is_refused_and_nothing_changes(
    gated: Server, farm: str, method: str
) -> None:
    before = _state(gated, farm)
    text = FLAWED if method == "PUT" else PREFIXES + CYCLE
    answer = gated.writer.request(method, "/graphs", params={"graph": farm}, content=text, headers=TURTLE)
    assert answer.status_code == 422
    assert "HIE-01" in answer.json()["graphs"][0]["checks"]
    assert _state(gated, farm) == before


def test_a_new_ontology_with_violations_is_refused_and_data_with_the_same_triples_passes(gated: Server) -> None:
    assert _put(gated, "urn:new", FLAWED).status_code == 422
    assert gated.client.get("/graphs", params={"graph": "urn:new"}).status_code == 404
    assert _put(gated, "urn:data", PREFIXES + CYCLE).status_code == 201
    assert gated.update(UPDATE + f"INSERT DATA {{ GRAPH <urn:data> {{ {CYCLE} :a :b :c }} }}").status_code == 204


def test_a_declaration_is_found_however_it_is_written(gated: Server) -> None:
    for text in ("<urn:a> a c:ss", "<urn:a> a <http://www.w3.org/2002/07/owl#Cl\\u0061ss>"):
        data = "PREFIX c: <http://www.w3.org/2002/07/owl#Cla> INSERT DATA { GRAPH <urn:hidden> { " + text + " } }"
        answer = gated.update(data)
        assert answer.status_code == 422
        assert "MET-01" in answer.json()["graphs"][0]["checks"]


def test_violations_that_were_there_before_hold_nobody_up(gated: Server) -> None:
    graph = f"{FARM}-flawed"
    assert (
        gated.update(UPDATE + f"INSERT DATA {{ GRAPH <{graph}> {{ :Crop rdfs:comment 'grown' }} }}").status_code == 204
    )
    assert _put(gated, graph, FLAWED).status_code == 204
    assert gated.update(UPDATE + f"DELETE DATA {{ GRAPH <{graph}> {{ {CYCLE} }} }}").status_code == 204
    assert _put(gated, graph, FLAWED).status_code == 422


def test_what_makes_an_ontology_better_or_takes_it_away_passes(gated: Server, farm: str) -> None:
    assert (
        gated.update(UPDATE + f"INSERT DATA {{ GRAPH <{farm}> {{ :Crop rdfs:comment 'grown'@en }} }}").status_code
        == 204
    )
    assert gated.writer.delete("/graphs", params={"graph": farm}).status_code == 204
    assert _put(gated, farm, SOUND).status_code == 201
    assert gated.update(f"DROP GRAPH <{farm}>").status_code == 204


def test_conditions_and_syntax_are_looked_at_before_the_gate(gated: Server, farm: str) -> None:
    assert _put(gated, farm, FLAWED, **{"If-Match": 'W/"other"'}).status_code == 412
    answer = gated.update("INSERT DATA { GRAPH <urn:g> { <urn:s> <urn:p:p> } }")
    assert answer.status_code == 400
    assert "line 1" in answer.json()["detail"]


def test_of_two_halves_of_a_flaw_sent_at_once_only_one_gets_in(gated: Server) -> None:
    def half(pair: str) -> int:
        return gated.update(UPDATE + f"INSERT DATA {{ GRAPH <{FARM}> {{ {pair} }} }}").status_code

    for _ in range(4):
        both = SOUND.replace(" ; rdfs:subClassOf :Plant", "")
        assert _put(gated, FARM, both).status_code in (201, 204)
        with ThreadPoolExecutor(2) as threads:
            told = list(threads.map(half, [":Crop rdfs:subClassOf :Plant", CYCLE]))
        assert sorted(told) == [204, 422]


def test_the_log_of_writes_tells_of_a_refusal(
    gated: Server, farm: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    revision = gated.client.get("/health").json()["revision"]
    assert _put(gated, farm, FLAWED).status_code == 422
    path = next(tmp_path_factory.getbasetemp().glob("gated*/writes.jsonl"))
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    assert (row["status"], row["operation"], row["graphs"]) == (422, "put", [farm])
    assert row["before"] == row["after"] == revision


def test_a_profile_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kgrag", "serve", "--kb", str(tmp_path / "kb"), "--port", "0", "--gate", "pubish"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert "publish" in done.stderr
    assert KEY not in done.stderr


def test_judging_that_takes_too_long_is_stopped_and_nothing_is_written(gated: Server, farm: str) -> None:
    numbers = " ".join(str(number) for number in range(200))
    where = " ".join(f"VALUES ?{name} {{ {numbers} }}" for name in "abcdef")
    text = f"INSERT {{ GRAPH <urn:late> {{ <urn:s> <urn:p:p> ?z }} }} WHERE {{ {where} FILTER(?z = 0) }}"
    assert gated.writer.post("/update", data={"update": text, "timeout": "0.5"}).status_code == 504
    assert gated.client.get("/graphs", params={"graph": "urn:late"}).status_code == 404
    assert _put(gated, farm, FLAWED).status_code == 422
