"""Pictures on pages: what is linked to a thing, classes with counts, a pyramid, a summary tree, class expressions."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import lxml.html
import pytest

from kgrag import KnowledgeBase
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.vocab import KG
from tests.server.inside import Inside, served

ZOO = "http://example.org/zoo#"
ONTOLOGY = f"""@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <{ZOO}> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://example.org/zoo> a owl:Ontology ; rdfs:label "Zoo" .
:alias rdfs:subPropertyOf :called . :Cat :alias "puss" , "mog" , "moggy" , "tabby" .
:eats a owl:ObjectProperty . :Animal a owl:Class ; rdfs:label "animal" . :Cat a owl:Class ; rdfs:label "cat" ;
  rdfs:subClassOf :Animal , [ a owl:Restriction ; owl:onProperty :eats ; owl:someValuesFrom [ owl:unionOf ( :Mouse :Bird ) ] ] ,
    [ a owl:Restriction ; owl:onProperty :eats ; owl:maxQualifiedCardinality 3 ; owl:onClass :Mouse ] ;
  owl:equivalentClass [ owl:intersectionOf ( :Animal [ owl:complementOf :Mouse ] ) ] .
:Mouse a owl:Class ; rdfs:subClassOf :Animal . :Bird a owl:Class ; rdfs:subClassOf :Animal .
"""
BEINGS = f"""@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix : <{ZOO}> . <http://example.org/beings> a owl:Ontology ; rdfs:label "Beings" .
:Animal rdfs:subClassOf :Being . :Being a owl:Class ; rdfs:label "being" ; rdfs:subClassOf :Animal .
:eats rdfs:subPropertyOf :takes . :takes a owl:ObjectProperty ; rdfs:domain :Animal .
"""
TOM = "http://example.org/tom"


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    folder = tmp_path_factory.mktemp("zoo")
    Path(folder, "zoo.ttl").write_text(ONTOLOGY, encoding="utf-8")
    Path(folder, "beings.ttl").write_text(BEINGS, encoding="utf-8")
    Path(folder, "tom.txt").write_text("Tom is a cat. Tom eats mice and birds. Jerry is a mouse.", encoding="utf-8")
    with KnowledgeBase(folder / "kb", settings=Settings(completions="off"), embedder=HashEmbedder()) as kb:
        kb.load(folder / "zoo.ttl")
        kb.load(folder / "beings.ttl")
        kb.reason("http://example.org/beings", "http://example.org/zoo")
        kb.ingest(folder / "tom.txt")
        mice = " ".join(
            f"<urn:mouse:{number}> a <{ZOO}Mouse> ; rdfs:label 'mouse {number}' ." for number in range(3000)
        )
        eaten = " , ".join(f"<urn:mouse:{number}>" for number in range(3000))
        kb.update(f"INSERT DATA {{ GRAPH <urn:data> {{ {mice} <{TOM}> a <{ZOO}Cat> ; <{ZOO}eats> {eaten} }} }}")
        kb.update(f"INSERT DATA {{ GRAPH <urn:more> {{ <{TOM}> rdfs:label 'Tom <b>' }} }}")
        kb.update(
            f"INSERT DATA {{ GRAPH <http://example.org/zoo> {{ <{ZOO}Bird> rdfs:comment 'has wings' }} }}"
        )  # what follows is older now
        kb.build("sire_rag")
        with served(kb) as running:
            yield running


def _tree(zoo: Inside, path: str, **parameters: str) -> lxml.html.HtmlElement:
    reply = zoo.page(path, **parameters)
    assert reply.status_code == 200, reply.text
    return lxml.html.fromstring(reply.text)


def _texts(page: lxml.html.HtmlElement, xpath: str) -> list[str]:
    return [" ".join(each.text_content().split()) for each in page.xpath(xpath)]


def test_three_thousand_neighbours_are_one_group_with_a_count_and_pages(zoo: Inside) -> None:
    page = _tree(zoo, "/explore/around", iri=TOM)
    assert "eats" in _texts(page, "//*[@class='heading']")
    (more,) = [link for link in page.xpath("//a[*[@class='more']]") if "2,996 more" in link.text_content()]
    opened = {name: values[0] for name, values in parse_qs(urlsplit(more.get("href")).query).items()}
    seen: set[str] = set()
    for offset in ("0", "40"):
        found = _tree(zoo, "/explore/around", **opened, offset=offset).xpath("//a[rect]//text/title/text()")
        assert len(found) == 40
        seen.update(found)
    assert len(seen) == 80


def test_a_picture_has_links_that_lead_on_and_texts_stay_texts(zoo: Inside) -> None:
    page = _tree(zoo, "/explore/around", iri=TOM)
    assert "Tom <b>" in _texts(page, "//*[@class='value' or @class='centre']")[0] or "Tom <b>" in page.text_content()
    for href in page.xpath("//a[rect]/@href")[:5]:
        assert zoo.client.get(href, headers={"Accept": "text/html"}).status_code == 200


def test_statements_of_one_graph_can_be_looked_at_alone(zoo: Inside) -> None:
    page = _tree(zoo, "/explore/around", iri=TOM, graph="urn:more")
    assert _texts(page, "//*[@class='heading']") == ["label"]


def test_classes_are_shown_with_how_many_things_they_have(zoo: Inside) -> None:
    page = _tree(zoo, "/explore")
    (animal,) = page.xpath("//div[a[text()='animal']]")
    assert "3,001, 0 its own" in animal.text_content()
    assert "mouse" in page.text_content()


def test_a_summary_tree_is_walked_down_towards_a_question(zoo: Inside) -> None:
    page = _tree(zoo, "/explore/tree", question="What does Tom eat?")
    assert page.xpath("//ul[@class='tree']//a[contains(@href, '/resource?iri=')]")
    assert zoo.page("/explore/tree", node="urn:x:none").status_code == 400


def test_there_is_no_pyramid_before_one_is_built(zoo: Inside) -> None:
    assert zoo.page("/explore/pyramid").status_code == 404


def test_class_expressions_are_written_in_manchester_syntax_with_links(zoo: Inside) -> None:
    page = _tree(zoo, "/resource", iri=f"{ZOO}Cat")
    found = _texts(page, "//dd[@class='manchester']")
    assert sorted(found) == [
        "animal and (not zoo:Mouse)",
        "zoo:eats max 3 zoo:Mouse",
        "zoo:eats some (zoo:Mouse or zoo:Bird)",
    ]
    assert page.xpath("//dd[@class='manchester']/a/@href")


def test_what_follows_stands_beside_what_is_stated_and_says_from_what(zoo: Inside) -> None:
    def inferred(iri: str) -> list[str]:
        return sorted(_texts(_tree(zoo, "/resource", iri=iri), "//dd[@class='inferred']"))

    assert inferred(TOM) == ["animal Inferred through cat", "being Inferred through animal"]
    assert inferred(f"{ZOO}eats") == ["animal Inferred through zoo:takes"]
    (being,) = inferred(f"{ZOO}Cat")
    assert being == "being Inferred in What follows from Beings, Zoo"
    page = _tree(zoo, "/resource", iri=f"{ZOO}Cat")
    assert _texts(page, "//details[@class='texts']/summary") == ["4 texts"]
    assert len(page.xpath("//details[@class='texts']/p[@class='inferred']")) == 4
    (notice,) = page.xpath("//p[@class='notice stale']")
    assert "What follows from Beings, Zoo may be older" in notice.text_content()
    graph = parse_qs(urlsplit(notice.xpath("a/@href")[0]).query)["iri"][0]
    assert _texts(_tree(zoo, "/resource", iri=graph), "//p[@class='notice stale']")
    stated = _texts(_tree(zoo, "/resource", iri=f"{ZOO}Cat"), "//section[@aria-labelledby='properties']//dd")
    assert "animal" in stated
    assert "being" not in stated


def test_a_term_says_where_it_is_declared_and_where_else_it_is_used(zoo: Inside) -> None:
    page = _tree(zoo, "/resource", iri=f"{ZOO}eats")
    assert _texts(page, "//dd[@class='declared']") == ["Zoo 2 uses"]
    assert "urn:data 3,000 uses" in _texts(page, "//dd[@class='used']")
    assert not _tree(zoo, "/resource", iri=TOM).xpath("//dd[@class='declared' or @class='used']")


def test_a_hyperedge_is_titled_by_what_it_says_and_shows_its_pairs(demo: Inside) -> None:
    query = f"SELECT ?e {{ GRAPH ?c {{ ?e a <{KG.HyperedgeGraph.value}> }} }} ORDER BY ?e LIMIT 1"
    edge = demo.client.get("/sparql", params={"query": query}).json()["results"]["bindings"][0]["e"]["value"]
    page = lxml.html.fromstring(demo.page("/resource", iri=edge).text)
    title = page.findtext(".//h1")
    chips = page.xpath("//ul[@class='chips']/li")
    assert chips
    assert " · " in title
    assert "hyperedge/" not in title
    assert all(chip.xpath("span[@class='key']") and chip.xpath("a") for chip in chips)
    picture = lxml.html.fromstring(demo.page("/explore/around", iri=edge).text)
    keys = {key[:30] for key in _texts(page, "//ul[@class='chips']/li/span")}
    assert keys <= {heading[:30] for heading in _texts(picture, "//*[@class='heading']")}


def test_hits_of_an_answer_lead_to_why_they_were_found(demo: Inside) -> None:
    page = lxml.html.fromstring(
        demo.page("/", question="When is chickpea sown in the Hill Zone?", method="og_rag").text
    )
    links = page.xpath("//a[text()='Why this']/@href")
    assert links
    assert {demo.client.get(href, headers={"Accept": "text/html"}).status_code for href in links} == {200}
