"""Graphs of a knowledge base come back as they were loaded."""

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase

INTEGERS = """<urn:a> <urn:p> "01"^^<http://www.w3.org/2001/XMLSchema#int> , 1 , 1.50 .
<urn:r> <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( <urn:a> <urn:p> 1.50 )>> ."""
RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:u="urn:u#">
<rdf:Description rdf:about="urn:a"><u:p xml:lang="{}">xml:lang="de-ch"</u:p></rdf:Description></rdf:RDF>"""
JSON = '[{{"@id": "urn:a", "urn:u#p": [{{"@value": "\\"@language\\":\\"de-ch\\"", "@language": "{}"}}]}}]'
TURTLE = '<urn:a> <urn:u#p> """\'x\'@DE-CH""" , "a\\"@de-ch"@{} . # "@DE-CH'


def test_a_graph_comes_back_with_literals_as_they_were_loaded_each_form_once(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "data.ttl").write_text(INTEGERS, encoding="utf-8")
    graph, *_ = kb.load(tmp_path / "data.ttl").published
    asked = kb.query(f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}")
    for triples in (kb.graph(graph), asked):
        values = [t.object for t in triples]  # type: ignore[union-attr]
        assert sorted(value.value for value in values if isinstance(value, ox.Literal)) == ["01", "1", "1.50"]
        assert [str(term.object.value) for term in values if isinstance(term, ox.Triple)] == ["1.50"]


@pytest.mark.parametrize(("suffix", "text"), [(".rdf", RDF_XML), (".jsonld", JSON), (".ttl", TURTLE), (".nt", TURTLE)])
def test_a_graph_is_written_with_language_tags_as_they_were_loaded(
    kb: KnowledgeBase, tmp_path: Path, suffix: str, text: str
) -> None:
    file, written = tmp_path / f"data{suffix}", tmp_path / f"written{suffix}"
    for tag in ("de-CH", "de-ch"):
        file.write_text(text.format(tag), encoding="utf-8")
        kb.load(file, graph="urn:g", rdf_format="turtle" if suffix == ".nt" else None)
        kb.export_graphs(written, "urn:g")
        assert written.read_text(encoding="utf-8").count("de-CH") == (tag == "de-CH")
        assert tag in [value.language for value in kb.to_rdflib("urn:g").objects()]  # type: ignore[attr-defined]
    assert set(map(str, ox.parse(path=written))) == set(map(str, kb.graph("urn:g")))
