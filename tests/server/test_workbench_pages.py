"""The workbench without a script: every form does its work, and nobody's else."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import lxml.html
import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.model import GraphDraft
from kgrag.server.access_keys import Keys
from kgrag.server.readers.reader_request import ServerLimits
from kgrag.server.server_state import AccessRules
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.vocab import KG, PROV, RDF, RDFS, XSD
from tests.methods.test_poly_rag import SCHEMA, lines
from tests.methods.test_poly_rag_growth import TRIPLES
from tests.server.inside import KEY, Inside, demonstration, served

PAGES = ["/workbench", "/workbench/graphs", "/workbench/build", "/workbench/proposals", "/workbench/update"]
PAGES += ["/workbench/jobs"]
ONTOLOGY = b"@prefix owl: <http://www.w3.org/2002/07/owl#> . <http://e.org/zoo> a owl:Ontology . <http://e.org/zoo#Ox> a owl:Class ."


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with demonstration(tmp_path_factory.mktemp("bench") / "kb") as kb, served(kb) as inside:
        yield inside


def empty(folder: Path) -> KnowledgeBase:
    return KnowledgeBase(folder, settings=Settings(model="extractive", completions="off"), embedder=HashEmbedder())


def sent(live: Inside, path: str, files: dict[str, tuple[str, bytes]] | None = None, **fields: str) -> httpx.Response:
    return live.client.post(path, data={"key": KEY, **fields}, files=files)


def text(reply: httpx.Response) -> str:
    return " ".join(lxml.html.fromstring(reply.text).find(".//main").text_content().split())


def ended(live: Inside, reply: httpx.Response) -> httpx.Response:
    """The page of a job once it is over."""
    assert reply.status_code == 303, text(reply)
    job = re.search(r"job=(\w+)", reply.headers["location"])
    assert job
    with live.client.stream("GET", f"/jobs/{job[1]}", headers={"Accept": "text/event-stream"}) as events:
        list(events.iter_lines())
    return live.client.get(reply.headers["location"])


@pytest.mark.parametrize("path", PAGES)
def test_each_page_has_a_form_with_a_key_and_nothing_inline(live: Inside, path: str) -> None:
    reply = live.client.get(path, params={"method": "sire_rag"} if path.endswith("build") else {})
    page = lxml.html.fromstring(reply.text)
    assert reply.status_code == 200
    assert page.xpath("//form[@method='post']//input[@name='key'][@type='password']") or path.endswith("proposals")
    assert (
        [script for script in page.iter("script") if not script.get("src")] == page.xpath("//@style | //@onclick") == []
    )


def test_files_become_documents_by_a_job(live: Inside) -> None:
    files = {"files": ("rye.md", b"# Rye\n\nRye is sown in October on the ridge.")}
    page = ended(live, sent(live, "/workbench", files, metadata="tenant = a\nyear = 2024", title="About rye"))
    assert "done" in text(page)
    stored = live.client.get("/documents/rye.md").json()
    assert (stored["title"], stored["metadata"]["year"]) == ("About rye", 2024)


def test_a_pasted_text_is_found_when_the_page_comes(live: Inside) -> None:
    reply = sent(live, "/workbench", text="Teff is cut in November.", id="teff", title="Teff")
    assert "Taken in" in text(reply)
    assert "Teff is cut" in live.post("/retrieve", question="When is teff cut?").text
    assert "Forgot Teff" in text(sent(live, "/workbench", what="forget", document="teff"))
    assert live.client.get("/documents/teff").status_code == 404


@pytest.mark.parametrize(
    ("path", "fields", "status", "said"),
    [
        ("/workbench", {"key": "wrong", "text": "x"}, 401, "needs a key"),
        ("/workbench", {}, 400, "neither a file nor a text"),
        ("/workbench", {"text": "x", "metadata": "nothing"}, 400, "field = value"),
        ("/workbench", {"what": "forget", "document": "no such"}, 404, "no such"),
        ("/workbench/graphs", {"rdf": "<a> <b>"}, 400, "does not parse"),
        ("/workbench/graphs", {"what": "remove", "graph": "urn:x:none"}, 404, "no graph"),
        ("/workbench/build", {"method": "cg_rag", "max_tokens": "many"}, 400, "number"),
        ("/workbench/update", {"query": "INSERT DATA { <urn:a> }"}, 400, "Line 1"),
        ("/workbench/jobs", {"what": "cancel", "job": "none"}, 404, "no such job"),
    ],
)
def test_what_cannot_be_done_is_told_on_the_page(
    live: Inside, path: str, fields: dict[str, str], status: int, said: str
) -> None:
    reply = sent(live, path, **fields)
    assert (reply.status_code, said in text(reply)) == (status, True), text(reply)
    assert lxml.html.fromstring(reply.text).xpath("//*[@role='alert']")


@pytest.mark.parametrize("path", PAGES)
def test_a_form_of_another_site_does_nothing(live: Inside, path: str) -> None:
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    reply = live.client.post(path, data={"key": KEY, "text": "x", "query": "CLEAR ALL"}, headers=headers)
    assert reply.status_code == 403


def test_a_new_version_of_an_ontology_is_compared_before_and_as_it_is_loaded(live: Inside) -> None:
    farm = ONTOLOGY.replace(b"zoo", b"farm")
    sent(live, "/workbench/graphs", {"files": ("farm.ttl", farm)})
    new = {"files": ("farm.ttl", farm.replace(b"#Ox", b"#Yak"))}
    shown = text(sent(live, "/workbench/graphs", new, step="compare"))
    assert "1 terms added 1 terms removed" in shown
    assert "Terms that are gone 1 breaking" in shown
    assert "- <http://e.org/farm#Ox>" in shown
    assert "Ox" in str(live.kb.graph("http://e.org/farm"))
    loaded = text(sent(live, "/workbench/graphs", new, mode="replace"))
    assert "1 terms added 1 terms removed" in loaded
    assert "Nothing changes" in text(sent(live, "/workbench/graphs", new, step="compare"))
    assert "Yak" in str(live.kb.graph("http://e.org/farm"))


def test_rdf_goes_into_the_graph_that_its_ontology_names_and_out_again(live: Inside) -> None:
    reply = sent(live, "/workbench/graphs", {"files": ("zoo.ttl", ONTOLOGY)})
    assert "zoo.ttl is in http://e.org/zoo" in text(reply)
    more = "<http://e.org/zoo#Cow> a <http://www.w3.org/2002/07/owl#Class> ."
    sent(live, "/workbench/graphs", rdf=more, graph="http://e.org/zoo", mode="add")
    assert len(live.kb.graph("http://e.org/zoo")) == 3
    assert "is removed" in text(sent(live, "/workbench/graphs", what="remove", graph="http://e.org/zoo"))
    assert not live.kb.store.described(live.kb.store.names.loaded_graph("x"))


def test_a_build_is_priced_first_and_then_done(live: Inside) -> None:
    page = ended(live, sent(live, "/workbench/build", method="sire_rag", step="dry run", max_tokens="70"))
    assert "dry run done" in text(page)
    again = lxml.html.fromstring(page.text).xpath("//a[text()='Build it']/@href")[0]
    assert KEY not in again
    form = lxml.html.fromstring(live.client.get(again).text)
    assert form.xpath("//h2[@id='what']/text() | //input[@name='max_tokens']/@value") == ["sire_rag", "70"]
    page = ended(live, sent(live, "/workbench/build", method="passages", step="build"))
    assert "build passages done" in text(page)


def test_an_update_is_shown_first_and_applied_only_if_nothing_changed_meanwhile(live: Inside) -> None:
    update = 'INSERT DATA { GRAPH <urn:x:shown> { <urn:a> <urn:p> "1" } }'
    without = live.client.post("/workbench/update", data={"query": update})
    assert lxml.html.fromstring(without.text).xpath("//textarea")[0].text.strip() == update
    shown = sent(live, "/workbench/update", query=update, step="effect")
    assert "1 triple added" in text(shown)
    etag = lxml.html.fromstring(shown.text).xpath("//input[@name='etag']/@value")[0]
    sent(live, "/workbench/update", query=update.replace("shown", "other"), step="apply")
    late = sent(live, "/workbench/update", query=update, step="apply", etag=etag)
    assert (late.status_code, "has changed since" in text(late)) == (412, True)
    etag = lxml.html.fromstring(sent(live, "/workbench/update", query=update).text).xpath(
        "//input[@name='etag']/@value"
    )[0]
    assert "Done" in text(sent(live, "/workbench/update", query=update, step="apply", etag=etag))
    assert len(live.kb.graph("urn:x:shown")) == 1


def test_proposals_are_accepted_and_refused(live: Inside) -> None:
    assert "Nothing is proposed" in text(live.client.get("/workbench/proposals"))
    names, iri = live.kb.store.names, "urn:kgrag:proposal/p1"
    ripens, crop = f"{names.base}property/ripens%20in", "https://w3id.org/kgrag/examples/crops#Crop"
    stated = [
        (RDF.type, KG.Proposal),
        (RDFS.label, ox.Literal("ripens in")),
        (RDF.subject, ox.NamedNode(ripens)),
        (RDF.predicate, RDFS.domain),
        (RDF.object, ox.NamedNode(crop)),
        (KG.weight, ox.Literal("0.75", datatype=XSD.decimal)),
        (KG.decision, ox.Literal("open")),
        (PROV.wasDerivedFrom, ox.NamedNode("urn:kgrag:statement/s1")),
    ]
    triples = [ox.Triple(ox.NamedNode(iri), predicate, value) for predicate, value in stated]
    live.kb.store.publish([GraphDraft(names.layer_graph("proposals"), KG.ProposalGraph, triples, method="poly_rag")])
    assert "ripens in" in text(live.client.get("/workbench/proposals"))
    for decision, was in (("accepted", "open"), ("rejected", "accepted")):
        reply = sent(live, "/workbench/proposals", **{f"decision {iri}": decision, f"was {iri}": was})
        assert "1 decision is kept" in text(reply), text(reply)
        (listed,) = live.client.get("/proposals").json()
        assert (listed["iri"], listed["decision"]) == (iri, decision)
    unknown = sent(live, "/workbench/proposals", **{"decision urn:x:none": "accepted", "was urn:x:none": "open"})
    assert (unknown.status_code, "no proposal" in text(unknown)) == (400, True)
    assert live.post("/proposals", accept=[iri]).status_code == 401


def test_both_layers_are_drawn_with_what_is_proposed(tmp_path: Path) -> None:
    (tmp_path / "staff.ttl").write_text(SCHEMA)
    triples = lines(tmp_path / "triples.jsonl", TRIPLES)
    settings = Settings(model="extractive", completions="off")
    with (
        KnowledgeBase(tmp_path / "kb", settings=settings, embedder=HashEmbedder()) as kb,
        served(kb) as inside,
    ):
        kb.build("poly_rag", schema=[tmp_path / "staff.ttl"], triples=triples)
        refused = sent(inside, "/workbench/proposals", step="draw", key="wrong")
        assert (refused.status_code, "<svg" in refused.text) == (401, False)
        drawn = lxml.html.fromstring(sent(inside, "/workbench/proposals", step="draw").text)
        assert "has published in" in drawn.xpath("string(//svg[contains(@class, 'layers')])")
        assert "has published in" in drawn.xpath("string(//form//legend)")
        assert drawn.xpath("//*[@style]") == []


def test_jobs_and_writes_are_listed_for_a_key(live: Inside) -> None:
    assert "Jobs" in text(sent(live, "/workbench/jobs", what="jobs"))
    assert sent(live, "/workbench/jobs", what="jobs", key="wrong").status_code == 401
    assert sent(live, "/workbench/jobs", what="history").status_code == 403


def test_a_read_only_server_says_so(tmp_path: Path) -> None:
    with empty(tmp_path / "kb") as kb, served(kb, AccessRules(Keys("")), ServerLimits(readers=1)) as closed:
        page = closed.client.get("/workbench")
        assert "read-only" in text(page)
        assert lxml.html.fromstring(page.text).xpath("//button[@type='submit'][not(@disabled)]") == []
    with empty(tmp_path / "kb2") as kb, served(kb, AccessRules(Keys(writing="here"))) as local:
        assert not lxml.html.fromstring(local.client.get("/workbench").text).xpath("//input[@name='key']")
        assert "Taken in" in text(local.client.post("/workbench", data={"text": "Millet is cut in May.", "id": "m"}))
        sites = {"Origin": "https://evil.example"}
        update = {"Content-Type": "application/sparql-update", **sites}
        assert local.client.post("/update", content="CLEAR ALL", headers=update).status_code in (401, 403)
        rebound = {"Host": "evil.example", "Content-Type": "application/sparql-update"}
        assert local.client.post("/update", content="CLEAR ALL", headers=rebound).status_code in (401, 403)
        proxied = {"X-Forwarded-For": "10.0.0.1", "Content-Type": "application/sparql-update"}
        assert local.client.post("/update", content="CLEAR ALL", headers=proxied).status_code in (401, 403)
