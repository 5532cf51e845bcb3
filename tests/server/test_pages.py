"""Pages as they are sent: what they say, what they link to, and that text stays text."""

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import lxml.html
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag import KnowledgeBase, queries
from kgrag.model import Document
from kgrag.server.pages.marked_text import Mark, pieces
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel
from kgrag.text import ingestion
from kgrag.vocab import KG
from tests.server.inside import HOSTILE, Inside, served

QUESTION = "When is chickpea sown in the Hill Zone?"
CROP = "https://w3id.org/kgrag/examples/crops#Crop"
PAGES = [
    "/",
    f"/?question={QUESTION}",
    "/?question=Which+varieties+of+lentil+are+grown+in+which+zone%3F&method=obqc",
    "/?question=Which+emperor+abolished+the+tax+on+silk%3F",
    "/?question=x&method=none",
    "/chat",
    "/catalogue",
    f"/catalogue?kind={KG.DocumentGraph.value.replace('#', '%23')}",
    f"/resource?iri={CROP.replace('#', '%23')}",
    "/resource?iri=urn:kgrag:graph/catalogue",
    "/explore",
    f"/explore?class={CROP.replace('#', '%23')}",
    f"/explore/around?iri={CROP.replace('#', '%23')}",
    "/explore/around?iri=urn:x:nothing",
    "/explore/pyramid",
    "/explore/tree",
    "/explore/shapes",
    "/resource?iri=urn:x:nothing",
    "/resource?iri=https://w3id.org/kgrag/ns%23",
    "/resource?iri=https://w3id.org/kgrag/vector%23near",
    "/editor",
    "/report",
    "/report?profile=publish",
    "/guide",
    "/guide/methods/og_rag",
    "/nothing/here",
]


def tree(reply: httpx.Response) -> lxml.html.HtmlElement:
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    return lxml.html.fromstring(reply.text)


def text_of(element: lxml.html.HtmlElement) -> str:
    return " ".join(element.text_content().split())


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_nothing_from_elsewhere_and_has_nothing_inline(demo: Inside, path: str) -> None:
    reply = demo.client.get(path, headers={"Accept": "text/html"})
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'; style-src 'self'; img-src 'self';" in policy
    assert "unsafe" not in policy
    assert "sha256" not in policy
    page = tree(reply)
    inline = page.xpath("//script[not(@src)] | //style | //@style | //iframe | //object | //base")
    # the forms of the chat are refused when another site sends them
    assert inline + page.xpath("//form[@method='post'][not(starts-with(@action, '/chat'))]") == []
    assert [name for element in page.iter("*") for name in element.attrib if name.startswith("on")] == []
    loaded = page.xpath("//script/@src | //link[@rel='stylesheet' or @rel='icon']/@href | //img/@src")
    assert [url for url in loaded if not url.startswith("/static/")] == []
    assert [url for url in loaded if demo.client.get(url).status_code != 200] == []


@pytest.mark.parametrize("path", PAGES)
def test_a_page_can_be_found_one_s_way_in_without_seeing_it(demo: Inside, path: str) -> None:
    page = tree(demo.client.get(path, headers={"Accept": "text/html"}))
    assert page.get("lang") == "en"
    assert page.findtext(".//title")
    for landmark in ("main", "header", "footer", "h1"):
        assert len(page.findall(f".//{landmark}")) == 1, landmark
    assert page.xpath("//a[@class='skip']/@href") == ["#content"]
    ids = Counter(page.xpath("//@id"))
    assert [name for name, count in ids.items() if count > 1] == []
    fields = page.xpath("//input[@type!='hidden'] | //select | //textarea")
    assert [
        field
        for field in fields
        if not (field.xpath("ancestor::label") or field.get("id") in page.xpath("//label/@for"))
    ] == []
    assert [text_of(link) for link in page.iter("a") if not text_of(link) and not link.get("aria-label")] == []
    assert [href for href in page.xpath("//a/@href") if href.startswith("#") and href[1:] not in ids] == []


@pytest.mark.parametrize("path", PAGES)
def test_every_link_of_a_page_leads_somewhere(demo: Inside, path: str) -> None:
    page = tree(demo.client.get(path, headers={"Accept": "text/html"}))
    hrefs = sorted({href for href in page.xpath("//a/@href | //link/@href") if not href.startswith("#")})
    assert [href for href in hrefs if not href.startswith("/")] == []
    accept = {"Accept": "text/html, text/turtle, */*;q=0.1"}
    found = {href: demo.client.get(href, headers=accept).status_code for href in hrefs[:60]}
    # a term of another vocabulary may be known by nothing but its use, and then is
    assert {href: status for href, status in found.items() if status != 200} == {}


def test_every_term_of_the_own_vocabularies_is_on_the_page_of_its_vocabulary(demo: Inside) -> None:
    for space, term in (("https://w3id.org/kgrag/ns", KG.Chunk.value), ("https://w3id.org/kgrag/vector#", "kgv:near")):
        page = demo.page("/resource", iri=space)
        assert page.status_code == 200
        assert term in page.text
    described = demo.client.get("/sparql", headers={"Accept": "application/n-triples"}).text
    for search in ("near", "matches", "fused", "similarity"):
        function = f"https://w3id.org/kgrag/vector#{search}"
        assert f"/editor?example=search%2F{search}" in demo.page("/resource", iri=function).text
        assert f"<{function}>" in described


# --- ask ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["passages", "og_rag", "obqc"])
def test_each_number_leads_to_the_marked_words_of_its_citation(demo: Inside, method: str) -> None:
    question = "Which varieties of lentil are grown in which zone?" if method == "obqc" else QUESTION
    answer = demo.kb.ask(question, method=method)
    page = tree(demo.page("/", question=question, method=method))
    numbers = page.xpath("//a[@class='cite']")
    assert [link.text for link in numbers] == [str(n) for n in range(1, len(answer.citations) + 1)]
    assert answer.citations
    for number, citation in enumerate(answer.citations, 1):
        place = page.get_element_by_id(f"citation-{number}")
        mark = place if place.tag == "mark" else place.getparent()
        assert citation.quote.split()[0].startswith(mark.text_content().split()[0][:1])
        passage = mark.xpath("ancestor::article")[0]
        assert " ".join(citation.quote.split()) in without_numbers(passage)


def without_numbers(passage: lxml.html.HtmlElement) -> str:
    for link in passage.xpath(".//a[@class='back']"):
        link.drop_tree()
    return " ".join(passage.text_content().split())


def test_a_page_says_which_words_a_model_wrote_where_no_sentence_of_the_passage_carries_them(tmp_path: Path) -> None:
    rain = " ".join(f"Rain fell late in village {number}, and the river rose by a hand." for number in range(60))
    documents = [Document("Sowing in June gave most.", "Dates", cites=("Rain",)), Document(rain, "Rain")]
    said = {"text": "All this took very long.", "citations": [{"evidence": 1, "quote": "All this took very long"}]}
    model = ScriptedModel(
        {"cg_rag/neighbourhood": "All this took very long.", "answering/answer": json.dumps({"sentences": [said]})}
    )
    settings = Settings(completions="off")
    with KnowledgeBase(tmp_path / "kb", settings=settings, model=model, embedder=HashEmbedder()) as kb:
        ingestion.ingest(documents, store=kb.store)
        kb.build("cg_rag")
        with served(kb) as running:
            page = tree(running.page("/", question="When is sowing best?", method="cg_rag"))
    notes = [text_of(note) for note in page.xpath("//article[@class='passage']/p[@class='small']")]
    assert any("no sentence of this passage carries" in note and "took very long" in note for note in notes)


def test_a_passage_leads_to_its_place_in_the_whole_text(demo: Inside) -> None:
    page = tree(demo.page("/", question=QUESTION))
    citation = demo.kb.ask(QUESTION).citations[0]
    whole = tree(
        demo.client.get(page.xpath("//article[@class='passage']//h3/a/@href")[0], headers={"Accept": "text/html"})
    )
    assert whole.get_element_by_id("marked").text_content() == citation.quote


def test_where_nothing_carries_an_answer_the_page_says_so(demo: Inside) -> None:
    page = tree(demo.page("/", question="Which emperor abolished the tax on silk?"))
    assert text_of(page.xpath("//*[@class='unknown']")[0]) == "The evidence found does not carry an answer."
    nearest = page.xpath("//div[@class='sentences']/p")
    assert len(page.xpath("//article[@class='passage']//mark")) == len(nearest) > 0
    assert page.xpath("//h2[text()='Nearest passages']")


def test_a_filter_on_a_field_that_no_document_has_names_those_that_there_are(demo: Inside) -> None:
    page = tree(demo.page("/", question=QUESTION, where="tenat=a"))
    said = text_of(page.xpath("//*[@role='alert']")[0])
    assert "No document has the field 'tenat'. Fields: title, id" in said


def test_the_query_behind_rows_is_shown_and_opens_in_the_editor(demo: Inside) -> None:
    question = "Which varieties of lentil are grown in which zone?"
    page = tree(demo.page("/", question=question, method="obqc"))
    link, grounds = page.xpath("//details[@class='sparql']//a/@href")
    editor = tree(demo.client.get(link))
    assert editor.get_element_by_id("query").text.strip() == demo.kb.ask(question, method="obqc").sparql.strip()
    assert page.xpath("//details[@class='evidence']//a[text()='Why this']/@aria-label")[0] == "Why row 1"
    why = tree(demo.client.get(grounds))
    assert "It departs from none of them." in text_of(why.get_element_by_id("check").getparent())
    rows = why.xpath("//article")
    assert len(rows) == len(demo.kb.query(demo.kb.ask(question, method="obqc").sparql))
    stated = [text_of(each) for each in rows[0].xpath(".//li")]
    assert any(each.startswith("Lentil has growing zone Hill Zone Stated in") for each in stated)
    assert all(each.xpath(".//ul[@class='statements']/li") for each in rows)
    assert demo.page("/explore/query", query="SELECT * {").status_code == 400


@pytest.mark.parametrize(
    ("given_", "status"),
    [
        ({"method": "none"}, 400),
        ({"k": "0"}, 400),
        ({"k": "x"}, 400),
        ({"k": "51"}, 400),
        ({"question": "x" * 4001}, 400),
    ],
    ids=["method", "none", "word", "many", "long"],
)
def test_a_question_that_cannot_be_asked_is_refused_on_a_page(
    demo: Inside, given_: dict[str, str], status: int
) -> None:
    reply = demo.page("/", **{"question": "x", **given_})
    assert reply.status_code == status
    assert tree(reply).xpath("//*[@role='alert']")


# --- text is data -------------------------------------------------------------------------------------------------


def test_markup_in_a_document_is_shown_and_is_none(demo: Inside) -> None:
    reply = demo.page("/", question="When was the quarry of Ostrel opened?")
    assert "<script>window" not in reply.text
    page = tree(reply)
    assert page.xpath("//img[@src='x']") == []
    assert any(
        "<script>window.hacked = 3</script>" in text_of(passage)
        for passage in page.xpath("//article[@class='passage']")
    )


def test_the_whole_of_a_document_is_text(demo: Inside) -> None:
    (document,) = (
        ox.NamedNode(iri) for iri, title in _documents(demo) if "Quarry" in title and "Rotating" not in title
    )
    page = tree(demo.page("/resource", iri=document.value))
    assert " ".join(HOSTILE.split()) in text_of(page.xpath("//*[@class='prose']")[0])
    assert [script for script in page.iter("script") if not script.get("src")] == []


def _documents(demo: Inside) -> list[tuple[str, ...]]:
    return [(row[0], row[2]) for row in demo.kb.store.select(queries.bind("documents/listing")).values()]


@pytest.mark.parametrize(
    "path",
    [
        "/?question={}",
        "/?question=x&method={}",
        "/editor?query={}",
        "/resource?iri=urn:{}",
        "/catalogue?kind={}",
        "/{}",
    ],
)
def test_markup_in_an_address_is_no_markup(demo: Inside, path: str) -> None:
    hostile = "%22%27%3E%3C/textarea%3E%3Cscript%3Ealert(1)%3C/script%3E%7B%7B7919*7907%7D%7D"
    reply = demo.client.get(path.format(hostile), headers={"Accept": "text/html"})
    page = tree(reply)
    assert [script for script in page.iter("script") if not script.get("src")] == []
    assert "<script>alert" not in reply.text
    assert "62615533" not in text_of(page.find(".//main"))


marks = st.lists(st.builds(Mark, st.sampled_from("abc"), st.integers(-5, 40), st.integers(-5, 40)), max_size=5)


@given(st.text(max_size=30), marks)
def test_marks_leave_the_text_as_it_is_and_lie_on_their_own_characters(text: str, given_: list[Mark]) -> None:
    cut = pieces(text, given_)
    assert "".join(piece.text for piece in cut) == text
    at = 0
    for piece in cut:
        for place in range(at, at + len(piece.text)):
            on = {mark.name for mark in given_ if mark.start <= place < mark.end}
            assert set(piece.marks) == on
        at += len(piece.text)


@pytest.mark.parametrize("path", [f"/?question={QUESTION}", "/report?profile=fair"])
def test_another_site_cannot_set_work_to_be_done_unseen(demo: Inside, path: str) -> None:
    embedded = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert demo.client.get(path, headers=embedded).status_code == 403
    linked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert demo.client.get(path, headers=linked).status_code == 200


# --- catalogue ----------------------------------------------------------------------------------------------------


def test_the_catalogue_counts_what_the_store_counts(demo: Inside) -> None:
    page = tree(demo.page("/catalogue"))
    shown = {text_of(row.find(".//a")): int(text_of(row.findall("td")[0])) for row in page.xpath("//tbody/tr")}
    kinds = demo.kb.store.select(queries.bind("catalogue/kinds", catalogue=demo.kb.store.names.catalogue)).values()
    assert shown == {
        f"{re.sub('(?<=[a-z])(?=[A-Z])', ' ', kind.rpartition('#')[2]).lower()}": int(count) for kind, count in kinds
    }


def test_a_kind_lists_its_graphs_by_title(demo: Inside) -> None:
    page = tree(demo.page("/catalogue", kind=KG.DocumentGraph.value))
    titles = {text_of(link) for link in page.xpath("//tbody//th/a")}
    assert "Growing chickpea in the Marlow valley" in titles
    assert len(titles) == len(_documents(demo))


@pytest.mark.parametrize(
    ("given_", "status"),
    [({"kind": "urn:x:none"}, 404), ({"kind": "no iri"}, 400), ({"kind": KG.DocumentGraph.value, "page": "0"}, 400)],
    ids=["unknown", "none", "page"],
)
def test_a_kind_or_page_that_is_none_is_refused(demo: Inside, given_: dict[str, str], status: int) -> None:
    assert demo.page("/catalogue", **given_).status_code == status


# --- resources ----------------------------------------------------------------------------------------------------


def test_an_iri_has_its_label_types_properties_and_what_leads_to_it(demo: Inside) -> None:
    page = tree(demo.page("/resource", iri=CROP))
    assert text_of(page.find(".//h1")) == "crop"
    assert text_of(page.xpath("//p[@class='kinds']")[0]) == "owl:Class"
    properties = {
        text_of(group.find("dt")): [text_of(value) for value in group.findall("dd")]
        for group in page.xpath("//dl[@class='properties']/div")
    }
    assert properties["sub class of"] == ["cultivation subject"]
    assert "has growing zone" in properties["← domain"]


def test_a_passage_of_a_chunk_is_marked_by_characters_of_its_document(demo: Inside) -> None:
    citation = demo.kb.ask(QUESTION).citations[0]
    page = tree(demo.page("/resource", iri=citation.chunk, start=str(citation.start), end=str(citation.end)))
    assert page.get_element_by_id("marked").text_content() == citation.quote


def test_a_graph_lists_what_it_speaks_of(demo: Inside) -> None:
    citation = demo.kb.ask(QUESTION).citations[0]
    graph = demo.kb.store.names.document_graph(ox.NamedNode(citation.document))
    page = tree(demo.page("/resource", iri=graph.value))
    listed = {parse_qs(urlsplit(href).query)["iri"][0] for href in page.xpath("//ul[@class='things']//a/@href")}
    assert listed == {triple.subject.value for triple in demo.kb.store.triples(graph)}  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("text/turtle", "text/turtle; charset=utf-8"),
        ("application/ld+json", "application/ld+json"),
        ("application/n-triples", "application/n-triples"),
        ("text/html;q=0.5, application/rdf+xml", "application/rdf+xml"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html; charset=utf-8"),
        ("*/*", "text/html; charset=utf-8"),
    ],
    ids=["turtle", "json-ld", "n-triples", "weights", "browser", "any"],
)
def test_a_client_gets_the_form_that_it_wants(demo: Inside, accept: str, media: str) -> None:
    reply = demo.client.get("/resource", params={"iri": CROP}, headers={"Accept": accept})
    assert reply.headers["content-type"] == media
    assert reply.headers["vary"].startswith("Accept")


def test_a_description_as_rdf_is_what_the_store_says(demo: Inside) -> None:
    reply = demo.client.get("/resource", params={"iri": CROP, "format": "ntriples"})
    found = {quad.triple for quad in ox.parse(reply.content, ox.RdfFormat.N_TRIPLES)}
    said = demo.kb.query(f"CONSTRUCT {{ <{CROP}> ?p ?o }} WHERE {{ <{CROP}> ?p ?o }}")
    assert found == set(said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given_", "status"),
    [
        ({"iri": "urn:x:nothing"}, 404),
        ({"iri": "no iri"}, 400),
        ({}, 400),
        ({"iri": CROP, "format": "docx"}, 400),
        ({"iri": CROP, "incoming": "-1"}, 400),
        ({"iri": CROP, "incoming": "1e9"}, 400),
    ],
    ids=["unknown", "none", "missing", "format", "negative", "number"],
)
def test_what_is_no_resource_is_refused_on_a_page(demo: Inside, given_: dict[str, str], status: int) -> None:
    reply = demo.page("/resource", **given_)
    assert reply.status_code == status
    assert tree(reply).xpath("//*[@role='alert']")


@pytest.fixture(scope="module")
def at_home(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """A knowledge base whose base IRI is an address, with a class of many things, a list and a restriction."""
    folder = tmp_path_factory.mktemp("home")
    source = folder / "zoo.ttl"
    animals = "".join(f"ex:animal{number:03} a ex:Animal .\n" for number in range(120))
    source.write_text(
        "@prefix ex: <https://example.org/zoo#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        "ex:Animal a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:eats ; owl:someValuesFrom ex:Food ] .\n"
        f"ex:long rdfs:comment '{'word ' * 200}' .\n{animals}",
        encoding="utf-8",
    )
    (folder / "shapes.ttl").write_text(
        """@prefix ex: <https://example.org/zoo#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:KeeperShape a sh:NodeShape ; rdfs:label "a keeper" ; sh:targetClass ex:Keeper ; sh:closed true ; sh:property ex:Named, [
    sh:path ( ex:feeds [ sh:inversePath ex:livesIn ] ) ; sh:minCount 1 ; sh:in ( ex:rex 3 ) ; sh:severity sh:Warning ; sh:message "Feeds nobody." ] ;
  sh:or ( ex:OtherShape [ sh:path ex:age ; sh:minInclusive 18 ; ex:own 7 ; sh:datatype xsd:integer ] ) ; sh:memberShape ex:M .
[] sh:sourceShape ex:KeeperShape ; sh:focusNode ex:bob ; sh:resultMessage "Too young." .
""",
        encoding="utf-8",
    )
    settings = Settings(base_iri="http://data.example.org/kb/", completions="off")
    with KnowledgeBase(folder / "kb", settings=settings, embedder=HashEmbedder()) as kb:
        kb.load(source)
        kb.load(folder / "shapes.ttl")
        with served(kb) as running:
            yield running


def test_what_leads_to_a_thing_is_paged_without_loss(at_home: Inside) -> None:
    seen: list[str] = []
    path = "/resource?iri=https://example.org/zoo%23Animal"
    while path:
        page = tree(at_home.client.get(path))
        seen += page.xpath("//section[@aria-labelledby='incoming-list']//dd/a/@title")
        path = "".join(page.xpath("//section[@aria-labelledby='incoming-list']//a[@rel='next']/@href"))
    assert sorted(seen) == [f"https://example.org/zoo#animal{number:03}" for number in range(120)]


def test_what_a_profile_counts_does_not_lead_to_a_class_and_graphs_say_what_they_are_of(demo: Inside) -> None:
    page = tree(demo.page("/resource", iri=CROP))
    assert demo.kb.query(f"ASK {{ GRAPH <urn:kgrag:graph/profile> {{ ?counted ?property <{CROP}> }} }}")
    leading = page.xpath("//section[@aria-labelledby='incoming-list']//dd/a/@title")
    assert leading
    assert [iri for iri in leading if "profile/" in iri] == []
    assert "assertion of Lentil" in {text_of(link) for link in page.xpath("//main//dd/a")}


def test_no_page_shows_a_folder_of_the_server(demo: Inside) -> None:
    places = demo.kb.query("SELECT ?graph ?place { GRAPH ?g { ?graph kg:location ?place } } ORDER BY ?place").values()
    for graph, place in (places[0], places[-1]):
        for path in ("/resource", "/explore/around"):
            page = demo.page(path, iri=graph).text
            assert path != "/resource" or f"…/{Path(place).name}" in page  # a picture has the first properties alone
            assert str(Path(place).parent) not in page


def test_a_shape_says_what_it_asks_of_whom_and_who_departs_from_it(at_home: Inside) -> None:
    listed, zoo = tree(at_home.page("/explore/shapes")), "https://example.org/zoo#"
    (link,) = listed.xpath("//ul[@class='things']//a[.='a keeper']/@href")
    assert "Shapes" in text_of(listed.xpath("//nav[@class='tabs']")[0])
    page = tree(at_home.client.get(link, headers={"Accept": "text/html"})).xpath("//section[@aria-labelledby='shape']")[
        0
    ]
    asked = {
        text_of(group.find("dt")): [text_of(each) for each in group.findall("dd")] for group in page.xpath(".//dl/div")
    }
    assert asked == {
        "Of": [f"everything of the class {zoo}Keeper"],
        "the node itself": [
            "no properties but those that are named here",
            f"member shape {zoo}M",
            f"one or more of: the shape {zoo}OtherShape; (age: values of the datatype xsd:integer, at least 18)",
            f"what the shape asks: {zoo}Named",
            "Violation",
        ],
        "feeds / inverse of lives in": [f"one of {zoo}rex, 3", "at least one value", "Warning Feeds nobody."],
    }
    assert text_of(page.xpath(".//li[@class='failure']")[0]).startswith(f"{zoo}bob Too young.")


def test_a_blank_node_is_told_where_it_is_met(at_home: Inside) -> None:
    page = tree(at_home.page("/resource", iri="https://example.org/zoo#Animal"))
    nested = {text_of(group.find("dt")): text_of(group.find("dd")) for group in page.xpath("//dl[@class='nested']/div")}
    assert nested == {
        "on property": "eats" if "eats" in nested.get("on property", "") else nested["on property"],
        **nested,
    }
    assert nested["some values from"].endswith("Food")


def test_an_address_of_ours_leads_to_its_description(at_home: Inside) -> None:
    reply = at_home.client.get("/kb/graph/catalogue", headers={"Accept": "text/turtle"})
    assert reply.status_code == 303
    described = at_home.client.get(reply.headers["location"], headers={"Accept": "text/turtle"})
    assert "<http://data.example.org/kb/graph/catalogue>" in described.text


def test_an_address_of_nobody_is_not_found_in_the_form_that_is_wanted(demo: Inside) -> None:
    reply = demo.client.get("/chunk/none", headers={"Accept": "application/json"})
    assert (reply.status_code, reply.headers["content-type"]) == (404, "application/problem+json")
    assert demo.page("/chunk/none").status_code == 404


# --- audit --------------------------------------------------------------------------------------------------------


def test_the_report_tells_each_finding_with_its_term(demo: Inside) -> None:
    audit = demo.kb.audit("https://w3id.org/kgrag/examples/crops", profile="fair")
    page = tree(demo.page("/report", graph="https://w3id.org/kgrag/examples/crops", profile="fair"))
    shown = {
        text_of(group.find(".//b")): text_of(group.xpath(".//summary/span[@class='tag']")[0])
        for group in page.xpath("//details")
    }
    assert shown == {check: f"{count:,}" for check, count in audit.totals.items()}
    listed = page.xpath("//ul[@class='findings']/li")
    assert len(listed) == len(audit.findings)
    page = tree(demo.page("/report", graph="https://w3id.org/kgrag/examples/crops", profile="publish"))
    (found,) = [text_of(each) for each in page.xpath("//ul[@class='findings']/li") if "20 classes" in text_of(each)]
    assert "https://w3id.org/kgrag" not in found


@pytest.mark.parametrize("form", ["html", "json", "markdown", "sarif", "junit", "shacl", "dqv"])
def test_the_report_can_be_had_as_a_file(demo: Inside, form: str) -> None:
    reply = demo.client.get("/report", params={"profile": "default", "form": form})
    assert reply.status_code == 200
    assert reply.headers["content-disposition"].startswith("attachment; ")


@pytest.mark.parametrize(
    "given_",
    [
        {"profile": "none"},
        {"profile": "/etc/passwd"},
        {"profile": "default", "graph": "urn:x:none"},
        {"profile": "default", "graph": "/etc/passwd"},
        {"profile": "default", "form": "docx"},
    ],
    ids=["profile", "file", "graph", "path", "form"],
)
def test_what_cannot_be_audited_is_refused_on_a_page(demo: Inside, given_: dict[str, str]) -> None:
    assert demo.page("/report", **given_).status_code == 400


# --- editor -------------------------------------------------------------------------------------------------------


def test_every_example_runs_as_it_is_shown(demo: Inside) -> None:
    page = tree(demo.page("/editor"))
    names = page.xpath("//select[@id='example']//optgroup/option[not(@data-form)]/@value")
    assert {"catalogue/kinds", "documents/listing", "search/near", "search/matches", "search/similarity"} <= set(names)
    failed = {}
    for name in names:
        text = tree(demo.page("/editor", example=name)).get_element_by_id("query").text
        reply = demo.client.get("/sparql", params={"query": text})
        if reply.status_code != 200:
            failed[name] = reply.text
    assert failed == {}


def test_an_example_can_be_had_as_the_query_alone(demo: Inside) -> None:
    shown = tree(demo.page("/editor", example="catalogue/kinds")).get_element_by_id("query").text
    reply = demo.client.get(
        "/editor", params={"example": "catalogue/kinds"}, headers={"Accept": "application/sparql-query"}
    )
    assert reply.headers["content-type"].startswith("application/sparql-query")
    assert reply.headers["vary"].startswith("Accept")
    assert reply.text.strip() == shown.strip()


def test_a_stored_query_asks_for_its_parameters_and_takes_them_as_terms(demo: Inside) -> None:
    name = "documents/text"
    page = tree(demo.page("/editor", example=name))
    assert page.xpath("//form[@id='parameters']//input[@name='p.document']")
    hostile = {"example": name, "p.document": "urn:x> } ; DROP ALL #"}
    assert "no absolute IRI" in text_of(tree(demo.page("/editor", **hostile)).find(".//main"))
    (document, _), *_ = _documents(demo)
    wanted = {"example": name, "p.document": document}
    alone = demo.client.get("/editor", params=wanted, headers={"Accept": "application/sparql-query"})
    assert f"<{document}>" in alone.text
    assert demo.client.get("/sparql", params={"query": alone.text}).json()["results"]["bindings"]
    unfilled = demo.client.get("/editor", params={"example": name}, headers={"Accept": "application/sparql-query"})
    assert unfilled.status_code == 400


def test_an_unknown_example_is_refused(demo: Inside) -> None:
    assert demo.page("/editor", example="obqc/domain").status_code == 400


def test_a_graph_opens_in_the_editor_as_a_query_of_it(demo: Inside) -> None:
    text = tree(demo.page("/editor", graph="urn:kgrag:graph/catalogue")).get_element_by_id("query").text
    assert "GRAPH <urn:kgrag:graph/catalogue>" in text


def test_terms_for_completion_are_those_of_the_store(demo: Inside) -> None:
    terms = demo.client.get("/editor/terms").json()
    assert CROP in terms["classes"]
    assert "https://w3id.org/kgrag/examples/crops#hasGrowingZone" in terms["properties"]
    assert KG.Chunk.value in terms["classes"]
    assert terms["prefixes"]["kg"] == terms["declared"]["kg"] == "https://w3id.org/kgrag/ns#"
    assert "crops" in terms["declared"]
    assert "dcat" in terms["prefixes"].keys() - terms["declared"].keys()
    assert terms["labels"]["https://w3id.org/kgrag/examples/crops#hasGrowingZone"] == "has growing zone"
    assert max(len(terms["classes"]), len(terms["properties"])) <= 2000


# --- files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/static/../rendering.py",
        "/static/..%2frendering.py",
        "/static/%2e%2e/templates/ask.html",
        "/static//etc/passwd",
    ],
)
def test_nothing_but_static_files_is_served_from_the_package(demo: Inside, path: str) -> None:
    assert demo.client.get(path).status_code == 404


PAGES_FOLDER = Path(__file__).parents[2] / "kgrag" / "server" / "pages"
STATIC = sorted(path for path in (PAGES_FOLDER / "static").rglob("*") if path.is_file())


def test_every_file_of_the_pages_is_read_by_some_page() -> None:
    templates = "".join(path.read_text(encoding="utf-8") for path in (PAGES_FOLDER / "templates").iterdir())
    code = "".join(path.read_text(encoding="utf-8") for path in PAGES_FOLDER.glob("*.py"))
    scripts = "".join(path.read_text(encoding="utf-8") for path in STATIC if path.suffix == ".js")
    unused = [path.name for path in (PAGES_FOLDER / "templates").iterdir() if f'"{path.name}"' not in templates + code]
    for path in STATIC:
        name = path.relative_to(PAGES_FOLDER / "static").as_posix()
        if name.startswith("messages/"):  # the catalogue of a language, read by its code
            continue
        if f"static('{name}')" not in templates and f'from "./{path.name}"' not in scripts:
            unused.append(name)
    assert unused == []


@pytest.mark.parametrize("path", STATIC, ids=lambda path: path.name)
def test_what_a_page_loads_is_written_to_be_read_and_makes_no_code_of_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ".min." not in path.name
    assert max(len(line) for line in text.splitlines()) < 480
    if path.suffix == ".js":
        assert re.findall(r"\beval\b|\bFunction\(|innerHTML|outerHTML|insertAdjacentHTML|document\.write", text) == []


def test_a_browser_asks_each_time_whether_a_file_changed(demo: Inside) -> None:
    first = demo.client.get("/static/editor/main.js")
    assert (first.status_code, first.headers["cache-control"]) == (200, "no-cache")
    again = demo.client.get("/static/editor/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.headers["cache-control"]) == (304, "no-cache")
