"""``/update/effect``: what an update would do, before it is run."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from kgrag import KnowledgeBase
from kgrag.server.access_keys import Key, Keys, Rights, digest_of
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from tests.server.inside import KEY, Inside, served

WRITER = {"Authorization": f"Bearer {KEY}"}
SPARQL = {"Content-Type": "application/sparql-update"}
ONTOLOGY = """PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
INSERT DATA { GRAPH <http://e.org/o> { <http://e.org/o> a owl:Ontology . <http://e.org/o#A> a owl:Class } }"""
OWN = "urn:kgrag:graph/provenance"
TO_ANY = "INSERT { GRAPH ?g { <urn:n> <urn:p> ?t } } WHERE { "
REFUSED = {
    "a graph of kgrag's": TO_ANY + "BIND(<urn:kgrag:graph/catalogue> AS ?g) BIND(1 AS ?t) }",
    "a new graph with such a name": f"INSERT DATA {{ GRAPH <{OWN}> {{ <urn:n> <urn:p> 1 }} }}",
    "such a name by a variable": TO_ANY + f"BIND(IRI('{OWN}') AS ?g) BIND(1 AS ?t) }}",
    "an empty one": f"CREATE GRAPH <{OWN}>",
    "a copy": f"COPY <http://e.org/d> TO <{OWN}>",
    "with a relative IRI": f"BASE <{OWN}> INSERT {{ GRAPH <#> {{ <urn:n> <urn:p> 1 }} }} WHERE {{}}",
    "by what an earlier operation wrote": f"INSERT DATA {{ <urn:n> <urn:names> <{OWN}> }} ; "
    + TO_ANY.replace("?t", "1")
    + "?s <urn:names> ?g }",
    "with USING": TO_ANY.replace("WHERE", "USING <http://e.org/named> WHERE") + "?s <urn:p> ?g BIND(1 AS ?t) }",
    "by chance": TO_ANY + f"BIND(IF(RAND() < 0.01, <{OWN}>, <http://e.org/d>) AS ?g) BIND(1 AS ?t) }}",
    "by time": TO_ANY + f"BIND(NOW() AS ?t) BIND(IF(SECONDS(?t) < 1, <{OWN}>, <http://e.org/d>) AS ?g) }}",
    "in no order": TO_ANY + "{ SELECT ?g { GRAPH ?g { ?s ?p ?o } } LIMIT 1 } BIND(1 AS ?t) }",
    "by any of several": TO_ANY + "{ SELECT (SAMPLE(?s) AS ?g) { ?s ?p ?o } } BIND(1 AS ?t) }",
    "everything": "DELETE WHERE { GRAPH ?g { ?s ?p ?o } }",
}
SOME = Key("some", digest_of("key-for-some-graphs"), graphs=("http://e.org/o",))

ADMIN = Key("admin", digest_of("key-of-admin"), rights=Rights.ADMIN)
NAMED = ("a new graph with such a name", "an empty one", "a copy")


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder: Path = tmp_path_factory.mktemp("effect") / "kb"
    with KnowledgeBase(folder, settings=Settings(completions="off"), embedder=HashEmbedder()) as kb:
        kb.update('INSERT DATA { GRAPH <http://e.org/d> { <urn:a> <urn:p> "1" } }')
        kb.update(f"INSERT DATA {{ GRAPH <http://e.org/named> {{ <urn:a> <urn:p> <{OWN}> }} }}")
        with served(kb, AccessRules(Keys(KEY, more=[SOME, ADMIN]))) as inside:
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


@pytest.mark.parametrize("text", REFUSED.values(), ids=list(REFUSED))
def test_a_writer_changes_no_graph_that_kgrag_makes_whatever_names_it(live: Inside, text: str) -> None:
    before = {str(quad) for quad in live.kb.query("SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }")}
    shown, done = effect(live, text), live.client.post("/update", content=text, headers={**SPARQL, **WRITER})
    assert (shown.status_code, done.status_code) == (403, 403), (shown.text, done.text)
    assert shown.json()["detail"] == done.json()["detail"]
    assert {str(quad) for quad in live.kb.query("SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }")} == before


@pytest.mark.parametrize("case", REFUSED)
def test_an_administrator_has_to_name_the_graphs_of_kgrags_that_are_to_change(live: Inside, case: str) -> None:
    shown = effect(live, REFUSED[case], "key-of-admin")
    assert shown.status_code == (200 if case in NAMED else 403), shown.text
    if case not in NAMED:
        headers = {**SPARQL, "Authorization": "Bearer key-of-admin"}
        assert live.client.post("/update", content=REFUSED[case], headers=headers).json() == shown.json()


def test_chance_that_names_no_graph_is_allowed(live: Inside) -> None:
    text = "DELETE { GRAPH ?g { ?s <urn:at> ?old } } INSERT { GRAPH ?g { ?s <urn:at> ?t } } "
    text += "WHERE { GRAPH ?g { ?s <urn:p> '1' OPTIONAL { ?s <urn:at> ?old } } BIND(NOW() AS ?t) }"
    assert (effect(live, text).status_code, effect(live, text).json()["added"]) == (200, 1)
    assert live.client.post("/update", content=text, headers={**SPARQL, **WRITER}).status_code == 204


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


@pytest.mark.parametrize("key", [KEY, "key-for-some-graphs"])
def test_an_update_whose_graphs_cannot_be_told_for_a_mistake_is_told_the_mistake(live: Inside, key: str) -> None:
    text = "INSERT { GRAPH ?g { ?s ?p ?o }\nWHERE { GRAPH ?g { ?s ?p ?o } LIMIT 1"
    reply = live.client.post("/update", content=text, headers={**SPARQL, "Authorization": f"Bearer {key}"})
    assert (reply.status_code, "not closed" in reply.json()["detail"]) == (400, True), reply.text
    assert effect(live, text, key).json()["detail"] == reply.json()["detail"]


def test_an_update_is_refused_when_the_store_is_no_longer_what_was_shown(live: Inside) -> None:
    text = 'INSERT DATA { GRAPH <http://e.org/d> { <urn:c> <urn:p> "3" } }'
    shown = effect(live, text).headers["ETag"]
    other = 'INSERT DATA { GRAPH <http://e.org/x> { <urn:d> <urn:p> "4" } }'
    assert live.client.post("/update", content=other, headers={**SPARQL, **WRITER}).status_code == 204
    late = live.client.post("/update", content=text, headers={**SPARQL, **WRITER, "If-Match": shown})
    assert late.status_code == 412
    shown = effect(live, text).headers["ETag"]
    assert live.client.post("/update", content=text, headers={**SPARQL, **WRITER, "If-Match": shown}).status_code == 204
