"""Loading a file of RDF again replaces what it had, whatever its graphs are named by."""

import logging
from pathlib import Path

import pytest

from kgrag import KnowledgeBase

V1, V2 = '<urn:a> <urn:b> "v1" .\n', '<urn:a> <urn:b> "v2" .\n'
ONTOLOGY = "<{0}> a <http://www.w3.org/2002/07/owl#Ontology> . <urn:C> a <http://www.w3.org/2002/07/owl#Class> .\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def values(kb: KnowledgeBase) -> list[str]:
    return [row[0] for row in kb.query("SELECT ?v { GRAPH ?g { <urn:a> <urn:b> ?v } } ORDER BY ?v").values()]


def graphs(kb: KnowledgeBase) -> list[str]:
    query = "SELECT DISTINCT ?g { GRAPH ?c { ?g a ?k FILTER(?k IN (kg:DataGraph, kg:OntologyGraph)) } } ORDER BY ?g"
    return [row[0] for row in kb.query(query).values()]


def test_a_changed_file_of_data_replaces_what_it_had(kb: KnowledgeBase, tmp_path: Path) -> None:
    data = write(tmp_path / "d.ttl", V1)
    (first,) = kb.load(data).published
    other = write(tmp_path / "e.ttl", '<urn:a> <urn:b> "other" .\n')
    kb.load(other)
    write(data, V2)
    assert kb.load(data).removed == (first,)
    assert values(kb) == ["other", "v2"]
    assert kb.load(data, other).removed == ()
    assert [each.message for each in kb.doctor() if each.fault] == []


def test_a_graph_that_two_files_have_stays_until_none_has_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    one, two = write(tmp_path / "1.ttl", V1), write(tmp_path / "2.ttl", V1)
    kb.load(one)
    kb.load(two)
    write(two, V2)
    assert kb.load(two).removed == ()
    assert values(kb) == ["v1", "v2"]
    write(one, V2)
    assert len(kb.load(one).removed) == 1
    assert values(kb) == ["v2"]


def test_a_file_with_another_ontology_or_graph_leaves_none_of_the_old_ones(kb: KnowledgeBase, tmp_path: Path) -> None:
    ontology = write(tmp_path / "o.ttl", ONTOLOGY.format("urn:o:1"))
    quads = write(tmp_path / "q.nq", '<urn:a> <urn:b> "1" <urn:g1> .\n<urn:a> <urn:b> "2" <urn:g2> .\n')
    kb.load(ontology, quads)
    write(ontology, ONTOLOGY.format("urn:o:2"))
    write(quads, '<urn:a> <urn:b> "1" <urn:g1> .\n')
    assert sorted(kb.load(ontology, quads).removed) == ["urn:g2", "urn:o:1"]
    assert graphs(kb) == ["urn:g1", "urn:o:2"]


def test_a_file_that_is_loaded_with_a_name_stays_under_it(kb: KnowledgeBase, tmp_path: Path) -> None:
    data = write(tmp_path / "d.ttl", V1)
    kb.load(data, graph="urn:kept")
    kb.load(data)
    write(data, V2)
    kb.load(data)
    assert values(kb) == ["v1", "v2"]
    assert "urn:kept" in graphs(kb)


def test_what_an_ontology_is_called_by_is_said_where_that_is_not_plain(
    kb: KnowledgeBase, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bare = "<urn:bare> a <http://www.w3.org/2002/07/owl#Ontology> .\n"
    text = bare + ONTOLOGY.format("urn:whole") + '<urn:whole> <http://purl.org/dc/terms/title> "Whole" .\n'
    with caplog.at_level(logging.WARNING, "kgrag"):
        assert kb.load(write(tmp_path / "two.ttl", text)).published == ("urn:whole",)
        one, two = (write(tmp_path / f"{n}.ttl", ONTOLOGY.format("urn:o")) for n in (1, 2))
        kb.load(one, two)
    assert "declared beside it: urn:bare" in caplog.messages[0]
    assert f"{one} and {two} are one graph together, urn:o" in caplog.messages[1]
