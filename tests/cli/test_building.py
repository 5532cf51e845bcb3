"""``kgrag build``: what is done, what is not, and the exit code of each, with a service that cuts its replies."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from click.testing import Result
from typer.testing import CliRunner

from kgrag.answering.reply_words import NO_REPLY
from kgrag.cli import app
from kgrag.knowledge_base import KnowledgeBase
from kgrag.methods.passages.method import Passages
from kgrag.model import BuildReport, GraphDraft
from kgrag.testing import HashEmbedder
from kgrag.vocab import KG
from tests.fake_openai import FakeOpenAI, prompt_of, say
from tests.methods.test_og_rag import ONTOLOGY
from tests.methods.test_poly_rag import SCHEMA, lines

FACTS = 120
Run = Callable[..., Result]


def mapped(text: str) -> str:
    found = re.findall(r"(Crop\d+) is sown at (\d+ kg)", text)
    graph = [{"@type": "crop", "name": name, "seeding rate": rate} for name, rate in found]
    return json.dumps({"@graph": graph}, indent=1)


class Limited(FakeOpenAI):
    """A service that maps the sentences it is sent; its replies end after ``limit`` characters, if not before."""

    limit = 100_000

    def cut(self, handler: Any, body: Mapping[str, Any]) -> None:
        whole = mapped(prompt_of(body).rpartition("\nData:\n")[2])
        limit = min(self.limit, 4 * body.get("max_tokens", self.limit))
        say(whole[:limit], finish="length" if len(whole) > limit else "stop")(handler, body)


@pytest.fixture
def service() -> Iterator[Limited]:
    with Limited() as server:
        server.always = server.cut
        yield server


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, service: Limited) -> Run:
    """Run one command beside a document of 120 facts and an ontology, with a quick embedder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(KnowledgeBase, "_configured_embedder", lambda self: HashEmbedder())
    monkeypatch.setenv("KGRAG_MODEL", "limited")
    monkeypatch.setenv("KGRAG_API_KEY", "none")
    monkeypatch.setenv("KGRAG_BASE_URL", service.url)
    (tmp_path / "farm.ttl").write_text(ONTOLOGY, encoding="utf-8")
    text = " ".join(f"Crop{n} is sown at {100 + n} kg." for n in range(FACTS))
    (tmp_path / "sowing.txt").write_text(text, encoding="utf-8")

    def go(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments))

    assert go("load", "farm.ttl").exit_code == 0
    assert go("ingest", "sowing.txt").exit_code == 0
    return go


def counts(done: Result) -> dict[str, int]:
    return {name: int(count) for name, count in re.findall(r"(\w+) ([\d,]+)(?=,|$)", done.stdout.splitlines()[-1])}


def edges(run: Run) -> int:
    return int(json.loads(run("stats", "og_rag", "--format", "json").stdout)["hyperedges"])


def test_a_document_whose_replies_are_cut_keeps_every_fact_and_the_build_is_done(run: Run, service: Limited) -> None:
    service.limit = 2_000
    done = run("build", "og_rag")
    assert (done.exit_code, edges(run)) == (0, FACTS)
    assert counts(run("build", "og_rag"))["unchanged"] == counts(done)["windows"]


def test_a_build_that_lacks_a_part_ends_with_4_names_it_and_goes_on_with_it(run: Run, service: Limited) -> None:
    service.limit = 300  # too little for an eighth of the text
    done = run("build", "og_rag")
    assert (done.exit_code, counts(done)["unchanged"]) == (4, 0)
    assert counts(done)["pending"] > 0
    assert re.search(r"pending: sowing, characters \d+ to \d+: the reply was cut after 7 tokens", done.output)
    kept = edges(run)
    assert kept < FACTS
    again = run("build", "og_rag", "--format", "json")
    assert again.exit_code == 4
    assert len(json.loads(again.stdout)["pending"]) == counts(done)["pending"]
    service.limit = 100_000
    assert run("build", "og_rag").exit_code == 0
    assert edges(run) == FACTS


def test_the_limit_that_is_set_is_asked_for_and_windows_fit_it(
    run: Run, service: Limited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGRAG_MAX_TOKENS", "1000")
    done = run("build", "og_rag")
    assert (done.exit_code, edges(run)) == (0, FACTS)
    assert {request.body["max_tokens"] for request in service.requests} == {1000}
    assert "halved" not in done.output


def test_without_a_limit_none_is_asked_for(run: Run, service: Limited) -> None:
    assert run("build", "og_rag").exit_code == 0
    assert not any("max_tokens" in request.body for request in service.requests)


def test_a_fact_that_goes_to_quarantine_ends_a_build_with_4_and_says_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "staff.ttl").write_text(SCHEMA)
    rows = [("Ann Lee", "birthPlace", "Bath"), ("Ann Lee", "award", ")")]
    lines(tmp_path / "instances.jsonl", rows)
    lines(tmp_path / "triples.jsonl", [("Ann Lee", "employer", "Royal Society")])
    done = run(
        "build", "poly_rag", "--schema", "staff.ttl", "--instances", "instances.jsonl", "--triples", "triples.jsonl"
    )
    assert done.exit_code == 4
    assert "it has no letter and no digit" in done.output


def test_a_graph_that_fails_its_shape_ends_a_build_with_4_whoever_published_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(self: Passages, options: object, *, progress: object = None, dry_run: bool = False) -> BuildReport:
        bad = ox.Triple(ox.NamedNode("urn:x"), KG.key, ox.NamedNode("urn:y"))
        self.store.publish([GraphDraft(ox.NamedNode("urn:edge"), KG.HyperedgeGraph, [bad])])
        return BuildReport("passages")

    monkeypatch.setattr(Passages, "build", build)
    done = run("build", "passages")
    assert done.exit_code == 4
    assert "pending: in quarantine: <urn:edge>: " in done.output


def test_an_answer_whose_reply_was_cut_says_so_and_has_the_exit_code_of_a_service(run: Run, service: Limited) -> None:
    service.limit = 20
    asked = run("ask", "When is Crop7 sown?")
    assert (asked.exit_code, asked.stdout.splitlines()[0]) == (3, NO_REPLY)
    assert "note: The model's reply could not be used: the reply was cut" in asked.stdout
