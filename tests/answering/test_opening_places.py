"""Every hit and citation carries where a person can open it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgrag import KnowledgeBase
from kgrag.answering.json_forms import answer_json, place_json
from kgrag.answering.opening_places import page_url
from kgrag.cli import app
from kgrag.model import Document, Place, Section
from kgrag.testing import HashEmbedder
from kgrag.text import ingestion

_TEXT = "Barley is sown in March.\n\nThe canal is fed by the river Marl."
_QUESTION = "Which river is the canal fed by?"
_MANUAL = Document(
    _TEXT,
    title="Sowing",
    location="/docs/sowing.pdf",
    id="S-1",
    sections=(Section(0, len(_TEXT), heading="Cereals", page=3),),
    url="https://example.org/sowing.pdf",
    metadata={"tenant": "a", "year": 2024},
)
_PLACE = Place(
    "Sowing",
    "S-1",
    ("/docs/sowing.pdf",),
    "https://example.org/sowing.pdf",
    3,
    "Cereals",
    {"tenant": "a", "year": 2024},
)


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    filled = KnowledgeBase(embedder=HashEmbedder())
    ingestion.ingest([_MANUAL], store=filled.store)
    return filled


def test_a_hit_carries_where_its_passage_can_be_opened(kb: KnowledgeBase) -> None:
    (hit,) = kb.retrieve("When is barley sown?")
    assert [span.place for span in hit.sources] == [_PLACE]


def test_a_citation_carries_where_it_can_be_opened(kb: KnowledgeBase) -> None:
    answer = kb.ask(_QUESTION)
    assert [citation.place for citation in answer.citations] == [_PLACE]
    assert [span.place for hit in answer.hits for span in hit.sources] == [_PLACE]


def test_a_citation_has_the_heading_of_its_own_section_where_small_ones_share_a_chunk() -> None:
    canal = _TEXT.index("The canal")
    sections = (Section(0, canal, "Cereals"), Section(canal, len(_TEXT), "Canals"))
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        ingestion.ingest([replace(_MANUAL, sections=sections)], store=kb.store)
        cited = [*kb.ask(_QUESTION).citations, *kb.ask("When is barley sown?").citations]
    assert [one.place.heading for one in cited if one.place] == ["Canals", "Cereals"]


def test_a_document_at_two_locations_has_both() -> None:
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        ingestion.ingest([_MANUAL, replace(_MANUAL, location="/copy/sowing.pdf")], store=kb.store)
        (hit,) = kb.retrieve("When is barley sown?")
        assert hit.sources[0].place is not None
        assert hit.sources[0].place.locations == ("/copy/sowing.pdf", "/docs/sowing.pdf")


def test_the_json_of_an_answer_has_the_places(kb: KnowledgeBase) -> None:
    document = json.loads(json.dumps(answer_json(kb.ask(_QUESTION))))
    (citation,) = document["citations"]
    assert citation["place"] == document["hits"][0]["sources"][0]["place"] == place_json(_PLACE)


def test_a_citation_has_the_page_that_its_own_words_begin_on() -> None:
    texts = ("Sorghum on black soil.", "Sorghum is a grain of dry land.", "On black soil, sorghum is sown 6 cm deep.")
    starts = (0, len(texts[0]) + 2, len(texts[0]) + len(texts[1]) + 4)
    pages = tuple(
        Section(start, start + len(text), page=number)
        for text, start, number in zip(texts, starts, (1, 2, 5), strict=True)
    )
    manual = Document("\n\n".join(texts), title="Sorghum", sections=pages, url="https://example.org/s.pdf")
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        ingestion.ingest([manual], store=kb.store)
        answer = kb.ask("How deep is sorghum sown on black soil?")
    cited = {citation.quote: citation.place for citation in answer.citations}
    assert (place := cited[texts[2]]) and (place.page, page_url(place)) == (5, "https://example.org/s.pdf#page=5")
    assert {span.place.page for hit in answer.hits for span in hit.sources if span.place} == {1}


def test_an_answer_is_kept_once_with_places_and_without(kb: KnowledgeBase) -> None:
    answer = kb.ask(_QUESTION, keep=True)
    bare = replace(answer, citations=tuple(replace(citation, place=None) for citation in answer.citations))
    before = kb.store.revision
    kb.keep(bare)
    assert bare == answer
    assert kb.store.revision == before


def test_the_command_line_shows_where_a_quote_can_be_opened(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text(json.dumps({"title": "Sowing", "text": _TEXT, "id": "S-1"}))

    def run(*words: str) -> str:
        done = CliRunner().invoke(app, ["--kb", str(tmp_path / "kb"), *words])
        assert done.exit_code == 0, done.output
        return done.stdout

    run("ingest", str(file))
    assert f"      Sowing, characters 26-61, {file.resolve()}#S-1\n" in run("ask", _QUESTION)
    assert f"        in Sowing, {file.resolve()}#S-1\n" in run("retrieve", _QUESTION)
