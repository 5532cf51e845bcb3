"""``kgrag tree`` and ``kgrag forget``, as a user has them."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from kgrag.cli import app
from kgrag.errors import InputError, NotBuilt, UnknownName
from kgrag.knowledge_base import KnowledgeBase
from kgrag.testing import HashEmbedder

TOWNS = ("Bath", "York", "Leeds", "Hull")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    monkeypatch.setattr(KnowledgeBase, "_configured_embedder", lambda self: HashEmbedder())
    monkeypatch.chdir(tmp_path)
    lines = (
        {"id": str(n), "title": f"Singer {n}", "text": f"Singer {n} was born in {TOWNS[n % 4]}. She sang with Ann Lee."}
        for n in range(30)
    )
    Path("singers.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("ingest", "singers.jsonl").exit_code == 0
    return str(tmp_path)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


def test_a_tree_is_printed_drawn_and_written(folder: str) -> None:
    assert run("build", "sire_rag:cluster_tokens=120").exit_code == 0
    done = run("tree", "Who was born in Hull?", "--width", "2")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("similarity tree\n")
    tree = json.loads(run("tree", "--format", "json", "-m", "sire_rag:tree=relatedness").stdout)
    assert tree["title"] == "relatedness tree"
    ElementTree.fromstring(run("tree", "--format", "svg").stdout)
    assert run("tree", "--format", "html", "--to", "tree.html").exit_code == 0
    assert Path("tree.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_tree_that_is_not_built_is_refused(folder: str) -> None:
    assert isinstance(run("tree").exception, NotBuilt)
    assert isinstance(run("tree", "-m", "passages").exception, InputError)


@pytest.mark.parametrize("name", ["Singer 7", "IRI", "location"])
def test_a_document_is_forgotten_by_title_iri_or_location(folder: str, name: str) -> None:
    asked = "PREFIX dcterms: <http://purl.org/dc/terms/> SELECT ?d ?l WHERE { GRAPH ?g { ?d dcterms:title 'Singer 7' } "
    asked += "GRAPH ?c { ?g <https://w3id.org/kgrag/ns#location> ?l } }"
    found = json.loads(run("query", asked, "--format", "json").stdout)["results"]["bindings"][0]
    done = run("forget", {"IRI": found["d"]["value"], "location": found["l"]["value"]}.get(name, name))
    assert done.exit_code == 0, done.output
    assert "forgot Singer 7" in done.stdout
    assert "0 traces found" in done.stdout
    assert isinstance(run("forget", "Singer 7").exception, UnknownName)
    assert "Singer 7 was" not in run("retrieve", "Where was Singer 7 born?", "-k", "50").stdout


def test_trees_grow_whole_when_that_is_asked_for(folder: str) -> None:
    run("build", "sire_rag:cluster_tokens=120")
    report = json.loads(run("build", "sire_rag:cluster_tokens=120", "--regrow", "--format", "json").stdout)
    assert report["counts"]["trees_grown"] == 2
