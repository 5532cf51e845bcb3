"""Graphs of a knowledge base come back as they were loaded."""

from pathlib import Path

from kgrag import KnowledgeBase

INTEGERS = '<urn:a> <urn:p> "01"^^<http://www.w3.org/2001/XMLSchema#int> , 1 , 1.50 .'


def test_a_graph_comes_back_with_literals_as_they_were_loaded_each_form_once(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "data.ttl").write_text(INTEGERS, encoding="utf-8")
    graph, *_ = kb.load(tmp_path / "data.ttl").published
    assert sorted(triple.object.value for triple in kb.graph(graph)) == ["01", "1", "1.50"]
    assert sorted(str(value) for value in kb.to_rdflib(graph).objects()) == ["01", "1", "1.50"]
