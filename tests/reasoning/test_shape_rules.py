"""What follows by rules of SHACL shapes, beside what their specification says of them; in files and in the store."""

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.errors import InvalidRDF, NotDecided
from kgrag.knowledge_base import reasoning_runs
from kgrag.reasoning import shape_rules
from tests.reasoning.test_inference import PREFIXES

HEAD = f"{PREFIXES}@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
DATA = "ex:r ex:width 4 ; ex:height 4 ; a ex:Rectangle . ex:s ex:width 2 ; ex:height 3 ; a ex:Rectangle . ex:a ex:parent ex:b . ex:b ex:parent ex:c ."
SQUARE = """
ex:Square a sh:NodeShape ; sh:targetClass ex:Rectangle ; sh:rule [
  a sh:TripleRule ; sh:subject sh:this ; sh:predicate rdf:type ; sh:object ex:Square ;
  sh:condition [ sh:property [ sh:path ex:width ; sh:equals ex:height ] ] ] ."""
ANCESTOR = """
ex:Parent a sh:NodeShape ; sh:targetSubjectsOf ex:parent , ex:ancestor ; sh:rule [ a sh:SPARQLRule ; sh:construct
  "PREFIX ex: <http://example.org/> CONSTRUCT { $this ex:ancestor ?a } WHERE { { $this ex:parent ?a } UNION { $this ex:parent ?p . ?p ex:ancestor ?a } }" ] ."""
ENDLESS = """
ex:More a sh:NodeShape ; sh:targetSubjectsOf ex:parent ; sh:rule [ a sh:SPARQLRule ; sh:construct
  "CONSTRUCT { $this <http://example.org/count> ?n } WHERE { { SELECT $this (COUNT(?c) + 1 AS ?n) WHERE { $this <http://example.org/parent> ?p OPTIONAL { $this <http://example.org/count> ?c } } GROUP BY $this } }" ] ."""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {"data": DATA, "square": SQUARE, "ancestor": ANCESTOR, "endless": ENDLESS}
    for name, text in texts.items():
        (tmp_path / f"{name}.ttl").write_text(HEAD + text, encoding="utf-8")
    return {name: tmp_path / f"{name}.ttl" for name in texts}


def follows(files: dict[str, Path], *rules: str, seconds: float | None = None) -> set[str]:
    found = reasoning_runs.infer_files([files["data"]], rules=[files[name] for name in rules], seconds=seconds)
    return {str(triple).replace("http://example.org/", "") for triple in found.triples}


def test_a_triple_rule_concludes_of_the_focus_nodes_that_fit_its_condition(files: dict[str, Path]) -> None:
    assert follows(files, "square") == {"<r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <Square>"}


def test_rules_run_until_nothing_new_follows(files: dict[str, Path]) -> None:
    ancestors = {"<a> <ancestor> <b>", "<b> <ancestor> <c>", "<a> <ancestor> <c>"}
    assert follows(files, "ancestor") == ancestors
    assert follows(files, "square", "ancestor", seconds=60.0) > ancestors


def test_rules_that_never_end_are_not_decided(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_rules, "MAX_ROUNDS", 3)
    with pytest.raises(NotDecided, match="may never end"):
        follows(files, "endless")


def test_what_is_no_rule_and_what_asks_another_server_is_refused(files: dict[str, Path]) -> None:
    with pytest.raises(InvalidRDF, match=r"no sh:rule"):
        follows(files, "data")
    text = files["ancestor"].read_text(encoding="utf-8")
    files["ancestor"].write_text(text.replace("WHERE {", "WHERE { SERVICE <http://127.0.0.1:9/> { ?x ?y ?z }", 1))
    with pytest.raises(InvalidRDF, match="another server"):
        follows(files, "ancestor")


def test_what_follows_by_rules_is_a_graph_that_is_made_again_when_its_source_changed(
    kb: KnowledgeBase, files: dict[str, Path]
) -> None:
    kb.load(files["data"])
    done = kb.reason(rules=[files["ancestor"]])
    assert len(list(kb.graph(done.graph))) == 3
    assert kb.reason(rules=[files["ancestor"]]).found is None
    assert kb.doctor() == []
    other = kb.reason(rules=[files["square"]])
    assert other.graph != done.graph
    (source,) = done.sources
    kb.update(f"PREFIX ex: <http://example.org/> INSERT DATA {{ GRAPH <{source}> {{ ex:d ex:parent ex:a }} }}")
    assert {done.graph, other.graph} <= set(reasoning_runs.stale(kb.store))
    assert len(list(kb.graph(kb.reason(rules=[files["ancestor"]]).graph))) == 6
    assert reasoning_runs.drop(kb.store, done.sources, rules=[files["ancestor"]]) == 1
    assert ox.NamedNode(other.graph) in [ox.NamedNode(each) for each in reasoning_runs.stale(kb.store)]
