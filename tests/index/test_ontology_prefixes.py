"""Prefixes of loaded ontologies: preferred ones, derived ones, and that they work in queries and updates everywhere."""

from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InvalidSPARQL
from kgrag.index.ontology_prefixes import ontology_prefixes
from kgrag.testing import HashEmbedder
from kgrag.vocab import PREFIXES
from tests.server.inside import KEY, served

HEAD = "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix vann: <http://purl.org/vocab/vann/> . "
ZOO = HEAD + "<http://example.org/zoo> a owl:Ontology . <http://example.org/zoo#Cat> a owl:Class ."
FARM = (
    HEAD
    + """<http://example.org/f/1.0/> a owl:Ontology ; vann:preferredNamespacePrefix "farm" ;
  vann:preferredNamespaceUri "http://example.org/f#" . <http://example.org/f#Cow> a owl:Class ."""
)
THIEF = (
    HEAD
    + """<http://example.org/t> a owl:Ontology ; vann:preferredNamespacePrefix "kg" ;
  vann:preferredNamespaceUri "http://example.org/t#" ."""
)


@pytest.fixture
def kb(tmp_path: Path) -> KnowledgeBase:
    kb = KnowledgeBase(tmp_path / "kb", embedder=HashEmbedder())
    for name, text in (("zoo", ZOO), ("farm", FARM), ("thief", THIEF)):
        Path(tmp_path, f"{name}.ttl").write_text(text, encoding="utf-8")
        kb.load(tmp_path / f"{name}.ttl")
    return kb


def test_an_ontology_gives_its_preferred_prefix_or_one_by_its_name_and_none_of_kgrag_s_own(kb: KnowledgeBase) -> None:
    with kb:
        found = {**ontology_prefixes(kb.store)}
        assert {name: found.pop(name) for name in ("zoo", "farm")} == {
            "zoo": "http://example.org/zoo#",
            "farm": "http://example.org/f#",
        }
        assert found == PREFIXES


def test_terms_below_the_name_of_their_ontology_have_a_prefix_too(tmp_path: Path) -> None:
    kb = KnowledgeBase(tmp_path / "kb", embedder=HashEmbedder())
    text = ZOO.replace("zoo#", "zoo/animals.owl#") + " <http://example.org/zoo/plants#Oak> a owl:Class ."
    Path(tmp_path, "zoo.ttl").write_text(f"{text} <http://example.org/zoo/animals.owl#Dog> a owl:Class .", "utf-8")
    kb.load(tmp_path / "zoo.ttl")
    with kb:
        assert ontology_prefixes(kb.store)["animals"] == "http://example.org/zoo/animals.owl#"
        assert "plants" not in ontology_prefixes(kb.store)


def test_they_are_known_in_queries_and_updates_and_follow_what_is_loaded(kb: KnowledgeBase, tmp_path: Path) -> None:
    with kb:
        assert kb.query("ASK { zoo:Cat a owl:Class }")
        kb.update("INSERT DATA { GRAPH <urn:g> { <urn:tom> a zoo:Cat } }")
        assert kb.query("ASK { <urn:tom> a zoo:Cat }")
        with pytest.raises(InvalidSPARQL, match="the prefix barn: is not declared"):
            kb.query("ASK { ?s a barn:Door }")
        Path(tmp_path, "barn.ttl").write_text(ZOO.replace("zoo", "barn"), encoding="utf-8")
        kb.load(tmp_path / "barn.ttl")
        assert kb.query("ASK { barn:Cat a owl:Class }")


def test_the_server_knows_them_too_and_tells_mistakes_with_their_mend(kb: KnowledgeBase) -> None:
    with kb, served(kb) as running:
        assert running.client.get("/sparql", params={"query": "ASK { zoo:Cat a owl:Class }"}).json()["boolean"]
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/sparql-update"}
        text = "INSERT DATA { GRAPH <urn:g> { <urn:tom> a zoo:Cat } }"
        assert running.client.post("/update", content=text, headers=headers).status_code == 204
        told = running.client.get("/sparql", params={"query": "SELECT * { ?s dcat:title ?t }"}).json()
        assert (told["status"], told["line"], told["column"]) == (400, 1, 15)
        assert told["mend"] == {"start": 0, "end": 0, "text": "PREFIX dcat: <http://www.w3.org/ns/dcat#>\n"}
        told = running.client.post("/update", content="INSERT DATA { <urn:a> dcat:b 1", headers=headers).json()
        assert "is not closed" in told["detail"]
        known = running.client.get("/editor/terms").json()
        assert known["declared"]["zoo"] == "http://example.org/zoo#"
        query = "SELECT (COUNT(?n) AS ?names) { ?s a zoo:Cat ; kg:text ?n . ?s barn:door ?d }"
        found = running.client.post("/check", json={"query": query}).json()["findings"]
        undeclared = [each["message"] for each in found if each["rule"] == "undeclared-prefix"]
        assert undeclared == ["The prefix barn: isn't declared."]
