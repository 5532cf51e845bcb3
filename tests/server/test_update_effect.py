"""``/update/effect``: what an update would do, before it is run."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kgrag import KnowledgeBase
from kgrag.server.access_keys import Key, Keys, digest_of
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, served

WRITER = {"Authorization": f"Bearer {KEY}"}
SPARQL = {"Content-Type": "application/sparql-update"}
ONTOLOGY = """PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
INSERT DATA { GRAPH <http://e.org/o> { <http://e.org/o> a owl:Ontology . <http://e.org/o#A> a owl:Class } }"""
SOME = Key("some", digest_of("key-for-some-graphs"), graphs=("http://e.org/o",))


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder: Path = tmp_path_factory.mktemp("effect") / "kb"
    with KnowledgeBase(folder, settings=Settings(completions="off"), embedder=HashEmbedder()) as kb:
        kb.update('INSERT DATA { GRAPH <http://e.org/d> { <urn:a> <urn:p> "1" } }')
        with served(kb, AccessRules(Keys(KEY, more=[SOME]))) as inside:
            yield inside


def effect(live: Inside, text: str, key: str = KEY, **parameters: str) -> httpx.Response:
    headers = {**SPARQL, "Authorization": f"Bearer {key}"}
    return live.client.post("/update/effect", content=text, headers=headers, params=parameters)


def test_what_an_update_would_do_is_told_and_not_done(live: Inside) -> None:
    revision = live.kb.store.revision
    found = effect(live, 'DELETE DATA { GRAPH <http://e.org/d> { <urn:a> <urn:p> "1" } }').json()
    assert (found["added"], found["removed"], found["changed"]) == (0, 1, 1)
    assert found["graphs"][0]["removed_triples"] == ['<urn:a> <urn:p> "1"']
    assert (found["revision"], live.kb.store.revision) == (revision, revision)
    assert (found["refused"], found["profile"], found["changing"]) == ([], "", [])


def test_a_profile_says_what_an_ontology_would_get_worse_by(live: Inside) -> None:
    found = effect(live, ONTOLOGY, profile="publish").json()
    assert found["profile"] == "publish"
    (refused,) = found["refused"]
    assert refused["graph"] == "http://e.org/o"
    assert refused["new"] == sum(refused["checks"].values()) > 0
    assert effect(live, ONTOLOGY, profile="none").status_code == 400


def test_functions_that_change_are_named(live: Inside) -> None:
    text = "INSERT { GRAPH <http://e.org/d> { <urn:a> <urn:t> ?t } } WHERE { BIND(NOW() AS ?t) }"
    assert effect(live, text).json()["changing"] == ["NOW"]


def test_it_needs_the_key_that_the_update_needs(live: Inside) -> None:
    text = 'INSERT DATA { GRAPH <http://e.org/d> { <urn:a> <urn:p> "2" } }'
    assert live.client.post("/update/effect", content=text, headers=SPARQL).status_code == 401
    assert effect(live, text, "wrong").status_code == 401
    assert effect(live, text, "key-for-some-graphs").status_code == 403
    assert effect(live, ONTOLOGY, "key-for-some-graphs").status_code == 200


def test_an_update_that_does_not_parse_has_its_place(live: Inside) -> None:
    reply = effect(live, "INSERT DATA {\n <urn:a> <urn:p> }")
    assert (reply.status_code, "line 2" in reply.json()["detail"]) == (400, True), reply.text


def test_an_update_is_refused_when_the_store_is_no_longer_what_was_shown(live: Inside) -> None:
    text = 'INSERT DATA { GRAPH <http://e.org/d> { <urn:c> <urn:p> "3" } }'
    shown = effect(live, text).headers["ETag"]
    other = 'INSERT DATA { GRAPH <http://e.org/x> { <urn:d> <urn:p> "4" } }'
    assert live.client.post("/update", content=other, headers={**SPARQL, **WRITER}).status_code == 204
    late = live.client.post("/update", content=text, headers={**SPARQL, **WRITER, "If-Match": shown})
    assert late.status_code == 412
    shown = effect(live, text).headers["ETag"]
    assert live.client.post("/update", content=text, headers={**SPARQL, **WRITER, "If-Match": shown}).status_code == 204
