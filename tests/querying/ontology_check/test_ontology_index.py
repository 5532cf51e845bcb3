"""The ontology index: expressions, closures, what is inherited, and its cache."""

import json
from pathlib import Path

import pytest

from kgrag.errors import InputError, InvalidRDF
from kgrag.querying.ontology_check import OntologyIndex, index_of_files, index_of_graphs, ontology_graphs
from kgrag.querying.ontology_check.ontology_graph import compatible
from kgrag.vocab import Names
from tests.querying.ontology_check.checks import INSURANCE, PREFIXES, checked, index, rules, store

NS = "http://example.org/insurance#"


def go(turtle: str, one: str, other: str) -> bool:
    known = index(turtle)
    return compatible(known, ((NS + one,),), ((NS + other,),))


COMPATIBLE = {
    "equal": ":A a owl:Class . :B a owl:Class . :B owl:equivalentClass :A .",
    "a subclass": ":B rdfs:subClassOf :A .",
    "a distant superclass": ":A rdfs:subClassOf :X . :X rdfs:subClassOf :B .",
    "a common subclass": ":C rdfs:subClassOf :A , :B .",
    "a member of an equivalent union": ":A owl:equivalentClass [ owl:unionOf ( :B :C ) ] .",
    "an intersection": ":A owl:equivalentClass [ owl:intersectionOf ( :B :C ) ] .",
    "a union above": ":A rdfs:subClassOf [ owl:unionOf ( :B :C ) ] .",
    "a disjoint union above": ":A owl:disjointUnionOf ( :B :C ) .",
    "a circle": ":A rdfs:subClassOf :X . :X rdfs:subClassOf :A , :B .",
}
INCOMPATIBLE = {
    "nothing in common": ":A a owl:Class . :B a owl:Class .",
    "siblings": ":A rdfs:subClassOf :X . :B rdfs:subClassOf :X .",
    "declared disjoint": ":C rdfs:subClassOf :A , :B . :A owl:disjointWith :B .",
    "disjoint above": ":A rdfs:subClassOf :X . :C rdfs:subClassOf :A , :B . :X owl:disjointWith :B .",
    "all disjoint": ":C rdfs:subClassOf :A , :B . [] a owl:AllDisjointClasses ; owl:members ( :A :B ) .",
    "a class and a datatype": ":A a owl:Class . :B a rdfs:Datatype .",
}


@pytest.mark.parametrize("turtle", COMPATIBLE.values(), ids=COMPATIBLE)
def test_classes_are_compatible(turtle: str) -> None:
    assert go(turtle, "A", "B")
    assert go(turtle, "B", "A")


@pytest.mark.parametrize("turtle", INCOMPATIBLE.values(), ids=INCOMPATIBLE)
def test_classes_are_incompatible(turtle: str) -> None:
    assert not go(turtle, "A", "B")
    assert not go(turtle, "B", "A")


def test_a_union_or_intersection_may_be_stated_of_the_class_itself() -> None:
    """OWL 1 wrote so, and OWL 2 reads it as an equivalence."""
    known = index(
        ":E a owl:Class ; owl:unionOf ( :A :D ) . :H a owl:Class ; owl:intersectionOf ( :A :X ) ."
        ":r a owl:ObjectProperty ; rdfs:domain :E . :h a owl:ObjectProperty ; rdfs:domain :A ."
        ":A a owl:Class . :D a owl:Class . :X a owl:Class . :Z a owl:Class ."
    )
    for text in ("?x a :D ; :r ?y", "?x a :H ; :h ?y"):
        assert not [each for each in checked(f"ASK {{ {text} }}", about=known).findings if each.severity == "error"]
    assert checked("ASK { ?x a :Z ; :r ?y }", about=known).findings[0].rule == "domain"


def test_a_property_without_a_domain_takes_that_of_its_super_property() -> None:
    known = index(":q rdfs:domain :A . :p rdfs:subPropertyOf :m . :m rdfs:subPropertyOf :q .")
    assert known.domain(f"{NS}p") == ((f"{NS}A",),)


def test_a_property_without_a_domain_takes_the_range_of_its_inverse() -> None:
    known = index(":p owl:inverseOf :q . :q rdfs:range :A .")
    assert known.domain(f"{NS}p") == ((f"{NS}A",),)


def test_several_domains_are_alternatives() -> None:
    known = index(":A a owl:Class . :B a owl:Class . :C a owl:Class . :p a owl:ObjectProperty ; rdfs:domain :A , :B .")
    assert rules("SELECT ?n { ?s a :B ; :p ?n }", known) == []
    assert rules("SELECT ?n { ?s a :C ; :p ?n }", known) == ["domain"]


def test_an_equivalent_property_is_not_followed() -> None:
    known = index(":q rdfs:domain :A . :p owl:equivalentProperty :q ; a owl:ObjectProperty .")
    assert known.domain(f"{NS}p") == ()


@pytest.mark.parametrize(
    "domain",
    ["[ a owl:Restriction ; owl:onProperty :q ; owl:someValuesFrom :A ]", "owl:Thing", "[ owl:complementOf :A ]"],
)
def test_what_names_no_class_accepts_everything(domain: str) -> None:
    known = index(f":A a owl:Class . :B a owl:Class . :p a owl:ObjectProperty ; rdfs:domain {domain} .")
    assert rules("SELECT ?n { ?s a :B ; :p ?n }", known) == []


def test_a_list_that_runs_in_a_circle_ends() -> None:
    turtle = "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . _:l rdf:first :A ; rdf:rest _:l . :p rdfs:domain [ owl:unionOf _:l ] ."
    assert index(turtle).domain(f"{NS}p") == ((f"{NS}A",),)


def test_an_index_comes_back_from_json() -> None:
    known = index()
    assert OntologyIndex.from_json(json.loads(json.dumps(known.to_json()))) == known


@pytest.mark.parametrize("data", [{}, {"kinds": 3}, {"classes": None}])
def test_json_that_is_no_index_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="no ontology index"):
        OntologyIndex.from_json(data)


def write(path: Path, turtle: str) -> Path:
    path.write_text(PREFIXES + turtle, encoding="utf-8")
    return path


def test_an_index_is_kept_by_content(tmp_path: Path) -> None:
    path, cache = write(tmp_path / "o.ttl", INSURANCE), tmp_path / "cache"
    first = index_of_files([path], names=Names(), cache=cache)
    assert index_of_files([path], names=Names(), cache=cache) is first
    write(path, INSURANCE + ":New a owl:Class .")
    assert f"{NS}New" in index_of_files([path], names=Names(), cache=cache).classes


def test_a_damaged_cache_is_built_anew(tmp_path: Path) -> None:
    turtle = INSURANCE + ":Damaged a owl:Class ."
    path, cache = write(tmp_path / "o.ttl", turtle), tmp_path / "cache"
    index_of_files([path], names=Names(), cache=cache)
    from kgrag.querying.ontology_check import ontology_loading

    ontology_loading._LATEST.clear()
    for kept in cache.iterdir():
        kept.write_text("{", encoding="utf-8")
    assert f"{NS}Damaged" in index_of_files([path], names=Names(), cache=cache).classes


def test_turtle_and_rdf_xml_and_json_ld_give_the_same_index(tmp_path: Path) -> None:
    import pyoxigraph as ox

    path = write(tmp_path / "o.ttl", INSURANCE)
    triples = [quad.triple for quad in ox.parse(path=path)]
    expected = index_of_files([path], names=Names())
    for suffix, form in ((".rdf", ox.RdfFormat.RDF_XML), (".nt", ox.RdfFormat.N_TRIPLES)):
        other = tmp_path / f"o{suffix}"
        ox.serialize(triples, str(other), format=form)
        found = index_of_files([other], names=Names())
        assert (found.kinds, found.domains, found.ranges) == (expected.kinds, expected.domains, expected.ranges)


def test_ontologies_of_a_store_are_found_and_indexed() -> None:
    opened = store()
    from kgrag.model import GraphDraft
    from kgrag.vocab import KG
    from tests.querying.ontology_check.checks import ox, triples

    opened.publish([GraphDraft(ox.NamedNode("urn:t:o"), KG.OntologyGraph, triples(INSURANCE), mode="replace")])
    graphs = ontology_graphs(opened)
    assert [graph.value for graph in graphs] == ["urn:t:o"]
    assert f"{NS}Agent" in index_of_graphs(opened, graphs).classes


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRDF, match=r"none\.ttl cannot be read"):
        index_of_files([tmp_path / "none.ttl"], names=Names())


@pytest.mark.parametrize("turtle", ["", "# nothing but a comment", "<urn:a> <urn:b> <urn:c> ."])
def test_an_ontology_that_defines_nothing_is_refused(tmp_path: Path, turtle: str) -> None:
    with pytest.raises(InputError, match="defines no class and no property"):
        index_of_files([write(tmp_path / "o.ttl", turtle)], names=Names())


def test_ten_megabytes_of_comments_are_read_over(tmp_path: Path) -> None:
    path = write(tmp_path / "o.ttl", "# a comment that says nothing at all\n" * 280_000 + INSURANCE)
    assert path.stat().st_size > 10_000_000
    assert f"{NS}Agent" in index_of_files([path], names=Names()).classes
