"""A server whose gate is a file of SHACL shapes: no write may bring the data a new violation, by whatever door."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InvalidSettings
from kgrag.server.access_keys import Keys
from kgrag.server.data_gate_program import gate_shapes
from kgrag.server.server_state import AccessRules
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, served

HEAD = "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
SHAPES = f"""{HEAD}
:Worker a sh:NodeShape ; sh:targetClass :Person ;
  sh:property [ sh:path ( :worksFor :seat ) ; sh:minCount 1 ; sh:class :Town ] ;
  sh:property [ sh:path :age ; sh:maxCount 1 ] ;
  sh:property [ sh:path :mail ; sh:minCount 1 ; sh:severity sh:Warning ] .
"""
FIRMS = ":dyer :seat :ulm . :ulm a :Town ."
PEOPLE = (
    ":ann a :Person ; :worksFor :dyer ; :age 30 . :old a :Person ; :age 70 , 71 ."
    " :seth a :Person ; :worksFor :dyer ; :age 256 ."
)
P = "PREFIX : <http://example.org/> "


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("gated")
    (folder / "shapes.ttl").write_text(SHAPES, encoding="utf-8")
    for name, text in (("firms", FIRMS), ("people", PEOPLE)):
        (folder / f"{name}.ttl").write_text(HEAD + text, encoding="utf-8")
    with KnowledgeBase(folder / "kb", embedder=HashEmbedder()) as kb:
        kb.load(folder / "firms.ttl", graph="urn:firms")
        kb.load(folder / "people.ttl", graph="urn:people")
        with served(kb, AccessRules(Keys(KEY), gate=str(folder / "shapes.ttl"))) as running:
            running.client.headers["Authorization"] = f"Bearer {KEY}"
            running.client.timeout = 120  # the process that judges starts now, beside whatever else runs
            yield running.client


def update(client: httpx.Client, text: str) -> httpx.Response:
    return client.post("/update", content=P + text, headers={"Content-Type": "application/sparql-update"})


REFUSED = {
    "data": "INSERT DATA { GRAPH <urn:people> { :bob a :Person } }",
    "the far end of a path": "DELETE DATA { GRAPH <urn:firms> { :ulm a :Town } }",
    "another graph": "INSERT DATA { GRAPH <urn:more> { :ann :age 31 } }",
    # an engine that keeps numbers on disk finds 256 when it looks up 255, and would take it for what was there before
    "a number before that of the data": "INSERT DATA { GRAPH <urn:people> { :seth :age 255 } }",
    "default graph": "INSERT DATA { :ann :age 31 }",
    "where": "DELETE { GRAPH ?g { :dyer :seat ?t } } WHERE { GRAPH ?g { :dyer :seat ?t } }",
    "clear": "CLEAR GRAPH <urn:firms>",
    "several": "INSERT DATA { GRAPH <urn:firms> { :x :seat :ulm } } ; DELETE DATA { GRAPH <urn:people> { :ann :worksFor :dyer } }",
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_an_update_that_brings_a_new_violation_is_refused(gated: httpx.Client, text: str) -> None:
    answer = update(gated, text)
    assert answer.status_code == 422
    assert "of the shapes 'shapes.ttl' that <urn:" in answer.json()["detail"]
    (graph,) = answer.json()["graphs"]
    assert graph["checks"].keys() == {"http://example.org/Worker"}
    assert ":old" not in str(graph)  # what was wrong before is nobody's fault


def test_what_brings_none_is_written_and_a_warning_refuses_nothing(gated: httpx.Client) -> None:
    assert update(gated, "INSERT DATA { GRAPH <urn:people> { :eve a :Person ; :worksFor :dyer } }").status_code == 204
    assert update(gated, "DELETE { ?p :age 71 } WHERE { GRAPH ?g { ?p :age 71 } }").status_code == 204
    assert update(gated, "INSERT DATA { GRAPH <urn:people> { :old :age 72 } }").status_code == 204


def test_uploads_and_deletions_are_judged_too(gated: httpx.Client) -> None:
    turtle = {"Content-Type": "text/turtle"}
    firms = {"graph": "urn:firms"}
    assert gated.put("/graphs", params=firms, content=HEAD + ":dyer :seat :bonn .", headers=turtle).status_code == 422
    assert gated.post("/graphs", params=firms, content=HEAD + ":zoe a :Person .", headers=turtle).status_code == 422
    assert gated.delete("/graphs", params=firms).status_code == 422
    assert gated.put("/graphs", params=firms, content=HEAD + FIRMS + ":a :b :c .", headers=turtle).status_code == 204


@pytest.mark.parametrize(
    "text",
    [":S sh:targetClass :C ; sh:property [ sh:minCount 1 ] .", ":S a sh:NodeShape ."],
    ids=["unread", "no target"],
)
def test_shapes_that_would_let_any_write_pass_are_refused_at_the_start(tmp_path: Path, text: str) -> None:
    path = tmp_path / "shapes.ttl"
    path.write_text(HEAD + text, encoding="utf-8")
    with pytest.raises(InvalidSettings, match="let any write pass|nothing to judge by"):
        gate_shapes(str(path))
