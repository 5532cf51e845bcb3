"""Inference by rules: every rule of the tables, owlrl as oracle on generated and real graphs, and the store's graph."""

import warnings
from functools import partial
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgrag import KnowledgeBase
from kgrag.errors import InputError, NotDecided
from kgrag.knowledge_base import reasoning_runs
from kgrag.model import GraphDraft
from kgrag.reasoning.inference import PROFILES, Inferences, materialise
from kgrag.reasoning.rule_process import by_profile, infer_within
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import KG, OWL, RDF, RDFS
from tests.conftest import ROOT

PREFIXES = """
@prefix ex: <http://example.org/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""


def read(text: str) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(PREFIXES + text, format=ox.RdfFormat.TURTLE)]


def inferred(text: str, profile: str = "owl-rl") -> Inferences:
    return materialise(OxigraphScratch(), read(text), profile=profile)


RULES = {
    "rdfs2": ("ex:p rdfs:domain ex:C . ex:a ex:p 1 .", "ex:a a ex:C ."),
    "rdfs3": ("ex:p rdfs:range ex:C . ex:a ex:p ex:b , 1 .", "ex:b a ex:C ."),
    "rdfs5": (
        "ex:p rdfs:subPropertyOf ex:q . ex:q rdfs:subPropertyOf ex:r .",
        "ex:p rdfs:subPropertyOf ex:r .",
    ),
    "rdfs7": ("ex:p rdfs:subPropertyOf ex:q . ex:a ex:p 1 .", "ex:a ex:q 1 ."),
    "rdfs9": ("ex:C rdfs:subClassOf ex:D . ex:a a ex:C .", "ex:a a ex:D ."),
    "rdfs11": ("ex:C rdfs:subClassOf ex:D . ex:D rdfs:subClassOf ex:E .", "ex:C rdfs:subClassOf ex:E ."),
    "rdfs7, then rdfs9": ("ex:is rdfs:subPropertyOf rdf:type . ex:a ex:is ex:C .", "ex:a a ex:C ."),
}
OWL_RULES = {
    "eq-sym": ("ex:a owl:sameAs ex:b .", "ex:b owl:sameAs ex:a ."),
    "eq-trans": ("ex:a owl:sameAs ex:b . ex:b owl:sameAs ex:c .", "ex:a owl:sameAs ex:c ."),
    "eq-rep-s": ("ex:a owl:sameAs ex:b ; ex:p 1 .", "ex:b ex:p 1 ."),
    "eq-rep-p": ("ex:p owl:sameAs ex:q . ex:a ex:p 1 .", "ex:a ex:q 1 ."),
    "eq-rep-o": ("ex:a owl:sameAs ex:b . ex:c ex:p ex:a .", "ex:c ex:p ex:b ."),
    "prp-fp": ("ex:p a owl:FunctionalProperty . ex:a ex:p ex:b , ex:c .", "ex:b owl:sameAs ex:c ."),
    "prp-ifp": ("ex:p a owl:InverseFunctionalProperty . ex:a ex:p ex:c . ex:b ex:p ex:c .", "ex:a owl:sameAs ex:b ."),
    "prp-symp": ("ex:p a owl:SymmetricProperty . ex:a ex:p ex:b .", "ex:b ex:p ex:a ."),
    "prp-trp": ("ex:p a owl:TransitiveProperty . ex:a ex:p ex:b . ex:b ex:p ex:c .", "ex:a ex:p ex:c ."),
    "prp-spo2": (
        "ex:uncle owl:propertyChainAxiom ( ex:parent ex:parent ex:son ) . ex:a ex:parent ex:b . ex:b ex:parent ex:c . ex:c ex:son ex:d .",
        "ex:a ex:uncle ex:d .",
    ),
    "eq-rep-p, then prp-spo2": (
        "ex:p owl:sameAs ex:q . ex:r owl:propertyChainAxiom ( ex:p ex:p ) . ex:a ex:p ex:b . ex:b ex:q ex:c .",
        "ex:a ex:r ex:c .",
    ),
    "prp-eqp1": ("ex:p owl:equivalentProperty ex:q . ex:a ex:p 1 .", "ex:a ex:q 1 ."),
    "prp-eqp2": ("ex:p owl:equivalentProperty ex:q . ex:a ex:q 1 .", "ex:a ex:p 1 ."),
    "prp-inv1": ("ex:p owl:inverseOf ex:q . ex:a ex:p ex:b .", "ex:b ex:q ex:a ."),
    "prp-inv2": ("ex:p owl:inverseOf ex:q . ex:a ex:q ex:b .", "ex:b ex:p ex:a ."),
    "prp-key": (
        "ex:C owl:hasKey ( ex:p ex:q ) . ex:a a ex:C ; ex:p 1 ; ex:q 2 . ex:b a ex:C ; ex:p 1 ; ex:q 2 .",
        "ex:a owl:sameAs ex:b .",
    ),
    "cls-int1": ("ex:C owl:intersectionOf ( ex:D ex:E ) . ex:a a ex:D , ex:E . ex:b a ex:D .", "ex:a a ex:C ."),
    "cls-int2": ("ex:C owl:intersectionOf ( ex:D ex:E ) . ex:a a ex:C .", "ex:a a ex:D , ex:E ."),
    "cls-uni": ("ex:C owl:unionOf ( ex:D ex:E ) . ex:a a ex:E .", "ex:a a ex:C ."),
    "cls-oo": ("ex:C owl:oneOf ( ex:a ex:b ) .", "ex:a a ex:C . ex:b a ex:C ."),
    "cls-svf1": (
        "ex:C owl:someValuesFrom ex:D ; owl:onProperty ex:p . ex:a ex:p ex:b . ex:b a ex:D .",
        "ex:a a ex:C .",
    ),
    "cls-svf2": ("ex:C owl:someValuesFrom owl:Thing ; owl:onProperty ex:p . ex:a ex:p ex:b .", "ex:a a ex:C ."),
    "cls-avf": ("ex:C owl:allValuesFrom ex:D ; owl:onProperty ex:p . ex:a a ex:C ; ex:p ex:b .", "ex:b a ex:D ."),
    "cls-hv1": ("ex:C owl:hasValue 1 ; owl:onProperty ex:p . ex:a a ex:C .", "ex:a ex:p 1 ."),
    "cls-hv2": ("ex:C owl:hasValue 1 ; owl:onProperty ex:p . ex:a ex:p 1 .", "ex:a a ex:C ."),
    "cls-maxc2": (
        'ex:C owl:maxCardinality "1"^^xsd:nonNegativeInteger ; owl:onProperty ex:p . ex:a a ex:C ; ex:p ex:b , ex:c .',
        "ex:b owl:sameAs ex:c .",
    ),
    "cls-maxqc3": (
        "ex:C owl:maxQualifiedCardinality 1 ; owl:onProperty ex:p ; owl:onClass ex:D . ex:a a ex:C ; ex:p ex:b , ex:c , ex:d . ex:b a ex:D . ex:c a ex:D .",
        "ex:b owl:sameAs ex:c .",
    ),
    "cls-maxqc4": (
        "ex:C owl:maxQualifiedCardinality 1 ; owl:onProperty ex:p ; owl:onClass owl:Thing . ex:a a ex:C ; ex:p ex:b , ex:c .",
        "ex:b owl:sameAs ex:c .",
    ),
    "cax-eqc1": ("ex:C owl:equivalentClass ex:D . ex:a a ex:C .", "ex:a a ex:D ."),
    "cax-eqc2": ("ex:C owl:equivalentClass ex:D . ex:a a ex:D .", "ex:a a ex:C ."),
    "scm-eqc1": ("ex:C owl:equivalentClass ex:D .", "ex:C rdfs:subClassOf ex:D . ex:D rdfs:subClassOf ex:C ."),
    "scm-eqc2": ("ex:C rdfs:subClassOf ex:D . ex:D rdfs:subClassOf ex:C .", "ex:C owl:equivalentClass ex:D ."),
    "scm-eqp1": ("ex:p owl:equivalentProperty ex:q .", "ex:q rdfs:subPropertyOf ex:p ."),
    "scm-eqp2": ("ex:p rdfs:subPropertyOf ex:q . ex:q rdfs:subPropertyOf ex:p .", "ex:p owl:equivalentProperty ex:q ."),
    "scm-dom1": ("ex:p rdfs:domain ex:C . ex:C rdfs:subClassOf ex:D .", "ex:p rdfs:domain ex:D ."),
    "scm-dom2": ("ex:p rdfs:domain ex:C . ex:q rdfs:subPropertyOf ex:p .", "ex:q rdfs:domain ex:C ."),
    "scm-rng1": ("ex:p rdfs:range ex:C . ex:C rdfs:subClassOf ex:D .", "ex:p rdfs:range ex:D ."),
    "scm-rng2": ("ex:p rdfs:range ex:C . ex:q rdfs:subPropertyOf ex:p .", "ex:q rdfs:range ex:C ."),
    "scm-hv": (
        "ex:C owl:hasValue 1 ; owl:onProperty ex:p . ex:D owl:hasValue 1 ; owl:onProperty ex:q . ex:p rdfs:subPropertyOf ex:q .",
        "ex:C rdfs:subClassOf ex:D .",
    ),
    "scm-svf1": (
        "ex:C owl:someValuesFrom ex:A ; owl:onProperty ex:p . ex:D owl:someValuesFrom ex:B ; owl:onProperty ex:p . ex:A rdfs:subClassOf ex:B .",
        "ex:C rdfs:subClassOf ex:D .",
    ),
    "scm-svf2": (
        "ex:C owl:someValuesFrom ex:A ; owl:onProperty ex:p . ex:D owl:someValuesFrom ex:A ; owl:onProperty ex:q . ex:p rdfs:subPropertyOf ex:q .",
        "ex:C rdfs:subClassOf ex:D .",
    ),
    "scm-avf1": (
        "ex:C owl:allValuesFrom ex:A ; owl:onProperty ex:p . ex:D owl:allValuesFrom ex:B ; owl:onProperty ex:p . ex:A rdfs:subClassOf ex:B .",
        "ex:C rdfs:subClassOf ex:D .",
    ),
    "scm-avf2": (
        "ex:C owl:allValuesFrom ex:A ; owl:onProperty ex:p . ex:D owl:allValuesFrom ex:A ; owl:onProperty ex:q . ex:p rdfs:subPropertyOf ex:q .",
        "ex:D rdfs:subClassOf ex:C .",
    ),
    "scm-int": ("ex:C owl:intersectionOf ( ex:D ex:E ) .", "ex:C rdfs:subClassOf ex:D , ex:E ."),
    "scm-uni": ("ex:C owl:unionOf ( ex:D ex:E ) .", "ex:D rdfs:subClassOf ex:C . ex:E rdfs:subClassOf ex:C ."),
    "scm-cls, then cax-sco": ("ex:C a owl:Class . owl:Thing rdfs:subClassOf ex:All . ex:a a ex:C .", "ex:a a ex:All ."),
}
CONTRADICTIONS = {
    "eq-diff1": "ex:a owl:sameAs ex:b ; owl:differentFrom ex:b .",
    "eq-diff2": "[] a owl:AllDifferent ; owl:members ( ex:a ex:b ) . ex:a owl:sameAs ex:b .",
    "eq-diff3": "[] a owl:AllDifferent ; owl:distinctMembers ( ex:a ex:b ) . ex:a owl:sameAs ex:b .",
    "prp-irp": "ex:p a owl:IrreflexiveProperty . ex:a ex:p ex:a .",
    "prp-asyp": "ex:p a owl:AsymmetricProperty . ex:a ex:p ex:b . ex:b ex:p ex:a .",
    "prp-pdw": "ex:p owl:propertyDisjointWith ex:q . ex:a ex:p ex:b ; ex:q ex:b .",
    "prp-adp": "[] a owl:AllDisjointProperties ; owl:members ( ex:p ex:q ) . ex:a ex:p ex:b ; ex:q ex:b .",
    "prp-npa1": "[] owl:sourceIndividual ex:a ; owl:assertionProperty ex:p ; owl:targetIndividual ex:b . ex:a ex:p ex:b .",
    "prp-npa2": "[] owl:sourceIndividual ex:a ; owl:assertionProperty ex:p ; owl:targetValue 1 . ex:a ex:p 1 .",
    "prp-fp": "ex:p a owl:FunctionalProperty . ex:a ex:p 1 , 2 .",
    "cls-nothing2": "ex:a a owl:Nothing .",
    "cls-com": "ex:C owl:complementOf ex:D . ex:a a ex:C , ex:D .",
    "cls-maxc1": "ex:C owl:maxCardinality 0 ; owl:onProperty ex:p . ex:a a ex:C ; ex:p ex:b .",
    "cls-maxqc1": "ex:C owl:maxQualifiedCardinality 0 ; owl:onProperty ex:p ; owl:onClass ex:D . ex:a a ex:C ; ex:p ex:b . ex:b a ex:D .",
    "cls-maxqc2": "ex:C owl:maxQualifiedCardinality 0 ; owl:onProperty ex:p ; owl:onClass owl:Thing . ex:a a ex:C ; ex:p 1 .",
    "cax-dw": "ex:C owl:disjointWith ex:D . ex:E rdfs:subClassOf ex:C . ex:a a ex:E , ex:D .",
    "cax-adc": "[] a owl:AllDisjointClasses ; owl:members ( ex:C ex:D ) . ex:a a ex:C , ex:D .",
}
SOUND = {
    "one class of two that are disjoint": "ex:C owl:disjointWith ex:D . ex:a a ex:C . ex:b a ex:D .",
    "equal numbers": "ex:p a owl:FunctionalProperty . ex:a ex:p 1 , 1.0 .",
    "as many as allowed": "ex:C owl:maxCardinality 1 ; owl:onProperty ex:p . ex:a a ex:C ; ex:p ex:b .",
}


@pytest.mark.parametrize(("text", "conclusion"), RULES.values(), ids=RULES)
def test_a_rule_of_rdfs_gives_its_conclusion_by_both_profiles(text: str, conclusion: str) -> None:
    for profile in ("rdfs", "owl-rl"):
        assert set(read(conclusion)) <= set(inferred(text, profile).triples)


@pytest.mark.parametrize(("text", "conclusion"), OWL_RULES.values(), ids=OWL_RULES)
def test_a_rule_of_owl_rl_gives_its_conclusion(text: str, conclusion: str) -> None:
    found = inferred(text)
    assert set(read(conclusion)) <= set(found.triples)
    assert found.contradictions == ()


@pytest.mark.parametrize(("rule", "text"), CONTRADICTIONS.items(), ids=CONTRADICTIONS)
def test_a_contradiction_is_told_with_its_rule(rule: str, text: str) -> None:
    assert rule in {each.rule for each in inferred(text).contradictions}


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_what_is_no_contradiction_is_not_told(text: str) -> None:
    assert inferred(text).contradictions == ()


def test_nothing_that_was_stated_and_nothing_trivial_is_told_again() -> None:
    found = inferred("ex:C a owl:Class ; rdfs:subClassOf ex:D , ex:C . ex:D a owl:Class . ex:a a ex:C , ex:D .")
    assert found.triples == ()


def test_what_follows_about_a_blank_node_is_used_and_not_told() -> None:
    text = "ex:C rdfs:subClassOf [ owl:onProperty ex:p ; owl:hasValue ex:b ] . ex:a a ex:C ."
    assert {str(triple.object) for triple in inferred(text).triples} == {"<http://example.org/b>"}


def test_a_profile_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="no profile 'owl'"):
        materialise(OxigraphScratch(), [], profile="owl")


@pytest.mark.parametrize("step", ["rdfs:subClassOf", "rdfs:subPropertyOf", "owl:sameAs"])
def test_a_chain_from_which_too_much_would_follow_is_refused(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgrag.reasoning.inference.MAX_CONCLUSIONS", 1000)
    with pytest.raises(InputError, match="triples follow by s"):
        inferred(" ".join(f"ex:c{n} {step} ex:c{n + 1} ." for n in range(100)))


def test_rules_that_add_too_much_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgrag.reasoning.inference.MAX_CONCLUSIONS", 100)
    chain = " ".join(f"ex:t{n} ex:p ex:t{n + 1} ." for n in range(100))
    with pytest.raises(InputError, match="triples follow by owl-rl"):
        inferred("ex:p a owl:TransitiveProperty . " + chain)


def test_a_circle_of_classes_ends() -> None:
    found = inferred("ex:A rdfs:subClassOf ex:B . ex:B rdfs:subClassOf ex:C . ex:C rdfs:subClassOf ex:A .", "rdfs")
    assert len(found.triples) == 3


# --- owlrl as oracle ----------------------------------------------------------------------------------------------


def by_owlrl(triples: list[ox.Triple], profile: str) -> set[ox.Triple]:
    import owlrl
    import rdflib

    semantics = {"rdfs": owlrl.RDFS_Semantics, "owl-rl": owlrl.OWLRL_Semantics}[profile]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = rdflib.Graph().parse(data=ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES), format="nt")
        owlrl.DeductiveClosure(semantics, axiomatic_triples=False, datatype_axioms=False).expand(graph)
        lines = [f"{s.n3()} {p.n3()} {o.n3()} ." for s, p, o in graph if isinstance(s, rdflib.URIRef)]
    return {quad.triple for quad in ox.parse("\n".join(lines), format=ox.RdfFormat.TURTLE)}


def told(triple: ox.Triple) -> bool:
    """Whether this engine means to tell a conclusion, see its deviations."""
    subject, predicate, value = triple.subject, triple.predicate, triple.object
    built_in = (RDF.prefix, RDFS.prefix, OWL.prefix, "http://www.w3.org/2001/XMLSchema#")
    return not (
        isinstance(value, ox.BlankNode)
        or subject == value
        or (isinstance(subject, ox.NamedNode) and subject.value.startswith(built_in))
        or (predicate == RDF.type and value == RDF.Property)
        or value in (OWL.Thing, RDFS.Resource)
    )


def assert_as_owlrl(triples: list[ox.Triple], profile: str) -> None:
    mine = {triple for triple in materialise(OxigraphScratch(), triples, profile=profile).triples if told(triple)}
    theirs = {triple for triple in by_owlrl(triples, profile) - set(triples) if told(triple)}
    assert (sorted(map(str, mine - theirs)), sorted(map(str, theirs - mine))) == ([], [])


# A class is below itself only where it is declared; this engine takes that for granted.
DECLARED = "ex:A a owl:Class . ex:B a owl:Class . ex:C a owl:Class . ex:D a owl:Class . ex:E a owl:Class . "
DECLARED += "ex:p a owl:ObjectProperty . ex:q a owl:ObjectProperty . ex:r a owl:ObjectProperty . "

things = st.sampled_from(["ex:a", "ex:b", "ex:c"])
classes = st.sampled_from(["ex:A", "ex:B", "ex:C", "[ owl:onProperty ex:p ; owl:someValuesFrom ex:A ]"])
properties = st.sampled_from(["ex:p", "ex:q", "ex:r"])
statements = st.one_of(
    st.builds("{} a {} .".format, things, classes),
    st.builds("{} {} {} .".format, things, properties, things),
    st.builds("{} {} {} .".format, classes, st.sampled_from(["rdfs:subClassOf", "owl:equivalentClass"]), classes),
    st.builds("{} rdfs:{} {} .".format, properties, st.sampled_from(["domain", "range"]), classes),
    st.builds(
        "{} {} {} .".format,
        properties,
        st.sampled_from(["rdfs:subPropertyOf", "owl:inverseOf", "owl:equivalentProperty"]),
        properties,
    ),
    st.builds(
        "{} a owl:{}Property .".format, properties, st.sampled_from(["Symmetric", "Transitive", "Functional", "Object"])
    ),
    st.builds("ex:D owl:{} ( {} {} ) .".format, st.sampled_from(["intersectionOf", "unionOf"]), classes, classes),
    st.builds("ex:r owl:propertyChainAxiom ( {} {} ) .".format, properties, properties),
    st.builds("ex:E owl:allValuesFrom {} ; owl:onProperty {} . {} a ex:E .".format, classes, properties, things),
    st.builds("{} owl:sameAs {} .".format, things, things),
    st.builds("{} ex:size {} .".format, things, st.sampled_from(["1", '"t"'])),
)


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=st.lists(statements, min_size=1, max_size=9), profile=st.sampled_from(["rdfs", "owl-rl"]))
def test_generated_graphs_give_what_owlrl_gives(lines: list[str], profile: str) -> None:
    assert_as_owlrl(read(DECLARED + " ".join(lines)), profile)


# By RDFS, prov-o is left out: owlrl states its xsd:anyURI values once more, as plain strings.
REAL = [(name, "owl-rl") for name in ("foaf.ttl", "org.ttl", "prov-o.ttl", "skos.ttl")]
REAL += [(name, "rdfs") for name in ("foaf.ttl", "org.ttl", "skos.ttl")]


@pytest.mark.parametrize(("name", "profile"), REAL)
def test_a_real_ontology_gives_what_owlrl_gives(data: Path, name: str, profile: str) -> None:
    assert_as_owlrl([quad.triple for quad in ox.parse(path=data / "ontologies" / name)], profile)


# --- in the store -------------------------------------------------------------------------------------------------

SOURCE = ox.NamedNode("https://example.org/o")


@pytest.fixture
def store() -> OxigraphStore:
    opened = OxigraphStore.open(None)
    put(opened, "ex:C rdfs:subClassOf ex:D . ex:a a ex:C .")
    return opened


def put(store: OxigraphStore, text: str) -> None:
    store.publish([GraphDraft(SOURCE, KG.OntologyGraph, read(text), mode="replace")])


def test_what_follows_stands_in_a_graph_of_its_own_that_names_its_source(store: OxigraphStore) -> None:
    done = reasoning_runs.infer(store, [], profile="rdfs")
    assert [str(triple) for triple in store.triples(ox.NamedNode(done.graph))] == [
        "<http://example.org/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.org/D>"
    ]
    assert done.sources == (SOURCE.value,)
    assert reasoning_runs.stale(store) == []


def test_reasoning_again_writes_nothing_until_a_source_changed(store: OxigraphStore) -> None:
    graph = reasoning_runs.infer(store, [], profile="rdfs").graph
    revision = store.revision
    assert reasoning_runs.infer(store, [], profile="rdfs").found is None
    assert store.revision == revision
    put(store, "ex:C rdfs:subClassOf ex:D . ex:a a ex:C . ex:b a ex:C .")
    assert reasoning_runs.stale(store) == [graph]
    assert reasoning_runs.infer(store, [SOURCE.value], profile="rdfs").graph == graph
    assert len(list(store.triples(ox.NamedNode(graph)))) == 2
    assert reasoning_runs.stale(store) == []


SPARQL_PREFIXES = "PREFIX ex: <http://example.org/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "


@pytest.mark.parametrize(
    "update",
    [
        "INSERT DATA { GRAPH <https://example.org/o> { ex:b a ex:C } }",
        "WITH <https://example.org/o> DELETE { ?s a ex:C } INSERT { ?s a ex:E } WHERE { ?s a ex:C }",
        "DELETE { GRAPH ?g { ?s a ex:C } } INSERT { GRAPH ?g { ?s a ex:E } } WHERE { GRAPH ?g { ?s a ex:C } }",
    ],
)
def test_an_update_of_a_source_makes_what_followed_from_it_stale(store: OxigraphStore, update: str) -> None:
    graph = reasoning_runs.infer(store, [], profile="rdfs").graph
    store.update(SPARQL_PREFIXES + update)
    assert reasoning_runs.stale(store) == [graph]
    assert reasoning_runs.infer(store, [SOURCE.value], profile="rdfs").found is not None
    assert reasoning_runs.stale(store) == []


def test_an_update_of_another_graph_makes_nothing_stale(store: OxigraphStore) -> None:
    reasoning_runs.infer(store, [], profile="rdfs")
    store.update(SPARQL_PREFIXES + "INSERT DATA { GRAPH <https://example.org/other> { ex:b a ex:C } }")
    assert reasoning_runs.stale(store) == []


def test_a_change_from_which_the_same_follows_leaves_nothing_stale(store: OxigraphStore) -> None:
    reasoning_runs.infer(store, [], profile="rdfs")
    put(store, "ex:C rdfs:subClassOf ex:D . ex:a a ex:C ; ex:size 1 .")
    reasoning_runs.infer(store, [], profile="rdfs")
    assert reasoning_runs.stale(store) == []


def test_an_inference_graph_goes_when_nothing_follows_any_more(store: OxigraphStore) -> None:
    graph = reasoning_runs.infer(store, [], profile="rdfs").graph
    put(store, "ex:a a ex:C .")
    assert reasoning_runs.infer(store, [], profile="rdfs").graph == ""
    assert not store.described(ox.NamedNode(graph))


def test_inference_graphs_are_dropped_and_sources_are_not(store: OxigraphStore) -> None:
    reasoning_runs.infer(store, [], profile="rdfs")
    reasoning_runs.infer(store, [], profile="owl-rl")
    assert reasoning_runs.drop(store, [SOURCE.value], profile="owl-rl") == 1
    assert reasoning_runs.drop(store, []) == 1
    assert store.described(SOURCE)


def test_contradictions_are_told_each_time(store: OxigraphStore) -> None:
    put(store, "ex:C owl:disjointWith ex:D ; rdfs:subClassOf ex:E . ex:a a ex:C , ex:D .")
    for _ in range(2):
        found = reasoning_runs.infer(store, [], profile="owl-rl").found
        assert found is not None
        assert [each.rule for each in found.contradictions] == ["cax-dw"]


@pytest.mark.parametrize("profile", PROFILES)
def test_what_follows_within_a_time_limit_is_what_follows_without_one(store: OxigraphStore, profile: str) -> None:
    put(store, "ex:C owl:disjointWith ex:D ; rdfs:subClassOf ex:E . ex:a a ex:C , ex:D .")
    triples = list(store.triples(SOURCE))
    by = partial(by_profile, profile=profile, open_bench=OxigraphScratch)
    within = infer_within(60, triples, name=profile, infer=by)
    assert within == materialise(OxigraphScratch(), triples, profile=profile)


def test_rules_that_take_too_long_are_not_decided_and_nothing_is_written(store: OxigraphStore) -> None:
    revision = store.revision
    with pytest.raises(NotDecided, match=r"owl-rl were not through after 0\.001 s.*--timeout"):
        reasoning_runs.infer(store, [], profile="owl-rl", seconds=0.001)
    assert store.revision == revision


def test_what_the_rules_refuse_is_refused_within_a_time_limit_too() -> None:
    chain = "".join(f"ex:c{n} rdfs:subClassOf ex:c{n + 1} . " for n in range(3_200))
    with pytest.raises(InputError, match="more than 5,000,000 triples follow by subClassOf alone"):
        by = partial(by_profile, profile="rdfs", open_bench=OxigraphScratch)
        infer_within(60, read(chain), name="rdfs", infer=by)


def test_inferences_are_no_source_of_inferences(store: OxigraphStore) -> None:
    reasoning_runs.infer(store, [], profile="rdfs")
    assert reasoning_runs.sources(store, []) == [SOURCE]


def test_a_knowledge_base_reasons_over_what_was_loaded(kb: KnowledgeBase) -> None:
    kb.load(ROOT / "ontologies" / "crops.ttl")
    done = kb.reason()
    assert {triple.predicate for triple in kb.graph(done.graph)} == {RDFS.subClassOf}
    assert kb.doctor() == []
