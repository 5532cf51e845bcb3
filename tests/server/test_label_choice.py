"""Labels on pages: who may name what, and in which language."""

from collections.abc import Iterator
from pathlib import Path

import lxml.html
import pytest

from kgrag import KnowledgeBase
from kgrag.server.pages.label_choice import best_labels
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.vocab import KG, Names
from tests.server.inside import Inside, served

NAMES = Names("urn:kgrag:")
ZOO = "http://example.org/zoo"
LABEL, PREF = "http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2004/02/skos/core#prefLabel"
ONTOLOGY = f"""@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<{ZOO}> a owl:Ontology ; rdfs:label "Zoo" .
<{ZOO}#Cat> a owl:Class ; skos:prefLabel "猫"@ja ; rdfs:label "cat"@en , "Katze"@de .
<{ZOO}#Dog> a owl:Class ; rdfs:label "犬"@ja ."""
FORGED = f"""INSERT DATA {{ GRAPH <http://example.org/own> {{
  <urn:kgrag:graph/catalogue> rdfs:label "PWNED" . <{ZOO}> rdfs:label "PWNED" . <{ZOO}#Cat> a rdfs:Class ; rdfs:label "PWNED"@en .
  <{ZOO}#Dog> rdfs:label "PWNED"@en . <http://example.org/own> rdfs:label "My data" }} }}"""


@pytest.fixture(scope="module")
def forged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder = tmp_path_factory.mktemp("forged")
    Path(folder, "zoo.ttl").write_text(ONTOLOGY, encoding="utf-8")
    settings = Settings(model="extractive", completions="off")
    with KnowledgeBase(folder / "kb", settings=settings, embedder=HashEmbedder()) as kb:
        kb.load(folder / "zoo.ttl")
        kb.update(FORGED)
        with served(kb) as running:
            yield running


def _page(forged: Inside, iri: str, languages: str = "en") -> lxml.html.HtmlElement:
    headers = {"Accept": "text/html", "Accept-Language": languages}
    reply = forged.client.get("/resource", params={"iri": iri}, headers=headers)
    assert reply.status_code == 200
    return lxml.html.fromstring(reply.text)


@pytest.mark.parametrize("iri", ["urn:kgrag:graph/catalogue", ZOO, f"{ZOO}#Cat", f"{ZOO}#Dog"])
def test_a_graph_of_somebody_else_names_neither_graphs_nor_terms_of_an_ontology(forged: Inside, iri: str) -> None:
    page = _page(forged, iri)
    assert "PWNED" not in page.findtext(".//h1")
    links = [link.text_content() for link in page.xpath("//p[contains(@class, 'formats')]//a | //dt/a")]
    assert "PWNED" not in links


def test_a_graph_names_itself_and_a_page_shows_which_graph_a_label_comes_from(forged: Inside) -> None:
    assert _page(forged, "http://example.org/own").findtext(".//h1") == "My data"
    assert "Named by Zoo" in " ".join(_page(forged, f"{ZOO}#Cat").text_content().split())


@pytest.mark.parametrize(
    ("languages", "label"), [("en", "cat"), ("de-AT, en;q=0.5", "Katze"), ("ja", "猫"), ("fr", "cat"), ("", "cat")]
)
def test_the_language_of_the_visitor_goes_before_the_property(forged: Inside, languages: str, label: str) -> None:
    assert _page(forged, f"{ZOO}#Cat", languages).findtext(".//h1") == label


def test_a_label_in_a_language_nobody_asked_for_is_better_than_none(forged: Inside) -> None:
    assert _page(forged, f"{ZOO}#Dog").findtext(".//h1") == "犬"


def _row(thing: str, label: str, graph: str, kind: str = "", **more: str) -> dict[str, str]:
    shared = {"property": LABEL, "language": "", "created": "2024", "typed": "false"}
    return {"thing": thing, "label": label, "graph": graph, "kind": kind, **shared, **more}


def test_what_kgrag_made_is_named_by_what_kgrag_makes() -> None:
    own = _row("urn:kgrag:document/1", "A title", "urn:kgrag:graph/document/1", KG.DocumentGraph.value)
    forged = _row("urn:kgrag:document/1", "PWNED", "http://example.org/own", KG.OntologyGraph.value, typed="true")
    assert best_labels([forged, own], ["en"], NAMES)["urn:kgrag:document/1"].text == "A title"


def test_among_equals_the_graph_that_was_there_first_is_believed() -> None:
    first = _row("urn:x:a", "first", "urn:b:graph", KG.DataGraph.value, created="2024-01-01", typed="true")
    second = _row("urn:x:a", "second", "urn:a:graph", KG.DataGraph.value, created="2024-01-02", typed="true")
    assert best_labels([second, first], ["en"], NAMES)["urn:x:a"].text == "first"


def test_a_name_goes_before_a_text() -> None:
    text = _row("urn:x:a", "a long text", "urn:b:graph", KG.DataGraph.value, property=KG.text.value)
    name = _row("urn:x:a", "name", "urn:b:graph", KG.DataGraph.value, language="ja")
    assert best_labels([text, name], ["en"], NAMES)["urn:x:a"].text == "name"
