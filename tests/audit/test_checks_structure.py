"""What the examples of the checks of structure, hierarchy, properties, logic and platform cannot say."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag import queries, shacl
from kgrag.audit import hierarchy_steps, load_checks, platform_steps
from kgrag.audit.audit_context import prepare
from kgrag.audit.checks import Check
from kgrag.audit.step_input import StepInput, Unasked
from kgrag.audit.steps import STEPS
from kgrag.audit.term_steps import synonyms
from kgrag.errors import NotDecided
from kgrag.store.scratch import OxigraphScratch
from kgrag.testing import HashEmbedder
from kgrag.vocab import AUDIT, OWL, RDF, RDFS, local_name

OURS = [check for check in load_checks() if check.family in {"str", "hie", "pro", "log", "kg"}]
MENDED = [check for check in OURS if check.fix]
IDS = """
    STR-01 STR-02 STR-02x STR-03 STR-04 STR-05 STR-06 STR-07 STR-08 STR-09 HIE-01 HIE-02 HIE-03 HIE-04 HIE-05 HIE-07
    HIE-08 HIE-09 PRO-01 PRO-02 PRO-03 PRO-04 PRO-05 PRO-06 PRO-07 PRO-08 PRO-09 PRO-10 PRO-11 PRO-12 PRO-13 PRO-15
    LOG-01 LOG-02 LOG-03 LOG-04 LOG-05 LOG-06 LOG-07 LOG-08 LOG-09 LOG-10 LOG-12 LOG-13 KG-01 KG-02 KG-03 KG-04 KG-05
    KG-06 KG-07 KG-08 KG-09 KG-10 KG-11 KG-12 KG-13
"""
CHAIN = 10_000


def named(name: str) -> ox.NamedNode:
    return ox.NamedNode(f"https://example.org/o#{name}")


def asked(triples: Iterable[ox.Triple], **options: object) -> StepInput:
    scope = prepare(OxigraphScratch(), list(triples), name="example")
    return StepInput(scope, None, reasoner=False, seconds=1, **options)  # type: ignore[arg-type]


def classes(edges: Iterable[tuple[str, str]]) -> list[ox.Triple]:
    pairs = list(edges)
    names = sorted({name for pair in pairs for name in pair})
    typed = [ox.Triple(named(name), RDF.type, OWL.Class) for name in names]
    return [*typed, *(ox.Triple(named(below), RDFS.subClassOf, named(above)) for below, above in pairs)]


def turtle(text: str) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(input=text, format=ox.RdfFormat.TURTLE, base_iri="https://example.org/")]


def test_no_check_of_the_catalogue_is_left_out() -> None:
    assert set(IDS.split()) <= {check.identifier for check in OURS}


def test_every_step_that_is_named_has_a_place() -> None:
    assert {check.step for check in OURS if check.step} <= STEPS.keys()


# --- hierarchies ------------------------------------------------------------------------------------------------


def test_a_chain_of_ten_thousand_superclasses_has_no_cycle_and_nothing_redundant() -> None:
    chain = asked(classes((f"C{number:05}", f"C{number + 1:05}") for number in range(CHAIN)))
    assert [*hierarchy_steps.cycles(chain), *hierarchy_steps.redundant(chain)] == []


def test_a_chain_of_ten_thousand_superclasses_that_is_closed_is_one_cycle() -> None:
    ring = ((f"C{number:05}", f"C{(number + 1) % CHAIN:05}") for number in range(CHAIN))
    found = list(hierarchy_steps.cycles(asked(classes(ring))))
    assert [row["focus"] for row in found] == ["https://example.org/o#C00000"]
    assert "and 9994 more" in found[0]["message"]


def test_every_second_step_up_a_long_chain_is_redundant() -> None:
    ladder = [(f"C{number:05}", f"C{number + step:05}") for number in range(2_000) for step in (1, 2)]
    assert len(list(hierarchy_steps.redundant(asked(classes(ladder))))) == 1_999


EDGES = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=14)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(EDGES)
def test_components_are_the_nodes_that_reach_one_another(pairs: list[tuple[str, str]]) -> None:
    edges: dict[str, list[str]] = {}
    for below, above in pairs:
        edges.setdefault(below, []).append(above)
    found = hierarchy_steps.components(edges)
    nodes = {node for pair in pairs for node in pair}
    expected = {frozenset(n for n in nodes if m in _above(n, edges) and n in _above(m, edges)) for m in nodes}
    assert {frozenset(members) for members in found} == expected
    order = {node: number for number, members in enumerate(found) for node in members}
    assert all(order[above] <= order[below] for below, above in pairs)


def _above(node: str, edges: dict[str, list[str]]) -> set[str]:
    found, waiting = {node}, [node]
    while waiting:
        new = set(edges.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


@settings(derandomize=True, max_examples=25, deadline=None)
@given(EDGES)
def test_what_is_redundant_can_be_deleted_without_changing_what_follows(pairs: list[tuple[str, str]]) -> None:
    acyclic = {(below, above) for below, above in pairs if below < above}
    gone = {
        (local_name(row["focus"]), local_name(row["value"]))
        for row in hierarchy_steps.redundant(asked(classes(acyclic)))
    }
    assert _closed(acyclic - gone) == _closed(acyclic)
    assert all(_closed(acyclic - gone - {pair}) != _closed(acyclic) for pair in acyclic - gone)


def _closed(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    edges: dict[str, list[str]] = {}
    for below, above in pairs:
        edges.setdefault(below, []).append(above)
    return {(below, above) for below in edges for above in _above(below, edges)}


def test_classes_below_an_unsatisfiable_class_are_not_named_beside_it() -> None:
    text = """@prefix : <https://example.org/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
      @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
      :A a owl:Class ; owl:disjointWith :B . :B a owl:Class . :x a owl:Class ; rdfs:subClassOf :A , :B .
      :y a owl:Class ; rdfs:subClassOf :x . :i a :y ."""
    found = asked(turtle(text))
    assert [local_name(row["focus"]) for row in hierarchy_steps.disjoint_superclasses(found)] == ["x"]
    assert list(hierarchy_steps.disjoint_types(found)) == []


# --- fixes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", MENDED, ids=lambda check: check.identifier)
def test_a_fix_mends_an_example_and_leaves_conforming_data_as_it_is(check: Check) -> None:
    assert _mended(check, check.conforming[0]) == (_triples(check.conforming[0]), 0)
    assert 0 in [_mended(check, text)[1] for text in check.violating]


def _triples(text: str) -> set[str]:
    return {str(triple) for triple in asked(turtle(text)).target.bench.triples(AUDIT.target) if _is_plain(triple)}


def _is_plain(triple: ox.Triple) -> bool:
    return not any(isinstance(term, ox.BlankNode) for term in (triple.subject, triple.object))


def _mended(check: Check, text: str) -> tuple[set[str], int]:
    from kgrag.audit.check_runner import run_checks
    from kgrag.audit.checks import Catalogue, shipped
    from kgrag.audit.profiles import Profile

    bench = OxigraphScratch()
    prepare(bench, turtle(text), name="example")
    bench.change(queries.bind(check.fix, target=AUDIT.target))
    mended = list(bench.triples(AUDIT.target))
    catalogue = shipped()
    alone = Catalogue((check,), catalogue.files, catalogue.owners)
    outcome = run_checks(alone, Profile("test", "test", severities={check.identifier: "Info"}), asked(mended))
    found = [finding for finding in outcome.findings if finding.check == check.identifier]
    return {str(triple) for triple in mended if _is_plain(triple)}, len(found)


# --- a whole knowledge base -------------------------------------------------------------------------------------


def test_every_shape_of_the_platform_graphs_belongs_to_exactly_one_check() -> None:
    names = {constraint.shape for constraint in shacl.graph_shapes().constraints}
    held = [
        {constraint.shape for constraint in platform_steps._shapes_of_check(check.identifier).constraints}
        for check in OURS
        if check.family == "kg"
    ]
    assert set().union(*held) == names
    assert sum(len(each) for each in held) == len(names)
    assert platform_steps._CHECK_OF_SHAPE.keys() <= {local_name(name) for name in names}


@pytest.mark.parametrize("check", [check for check in OURS if check.family == "kg"], ids=lambda check: check.identifier)
def test_a_platform_check_without_a_knowledge_base_is_not_decided(check: Check) -> None:
    if not check.step:
        assert "catalogue" in queries.describe(check.query).parameters
        return
    step = STEPS[check.step].find_rows
    with pytest.raises(Unasked, match="name one with --kb"):
        list(step(asked([])))


# --- labels that mean the same ----------------------------------------------------------------------------------


def labelled(labels: Sequence[str]) -> list[ox.Triple]:
    nodes = [named(f"C{number}") for number in range(len(labels))]
    typed = [ox.Triple(node, RDF.type, OWL.Class) for node in nodes]
    return [*typed, *(ox.Triple(n, RDFS.label, ox.Literal(t)) for n, t in zip(nodes, labels, strict=True))]


def test_labels_of_the_same_words_are_taken_for_synonyms_and_others_are_not() -> None:
    triples = labelled(["winter barley field", "field, winter barley", "harvest machine", "Harvest Machine"])
    found = list(synonyms(asked(triples, embedder=HashEmbedder())))
    assert [(local_name(row["focus"]), local_name(row["value"])) for row in found] == [("C0", "C1")]


def test_classes_that_the_ontology_relates_are_no_synonyms() -> None:
    triples = labelled(["winter barley field", "field, winter barley"])
    related = ox.Triple(named("C1"), RDFS.subClassOf, named("C0"))
    assert list(synonyms(asked([*triples, related], embedder=HashEmbedder()))) == []


def test_synonyms_without_an_embedder_are_not_decided() -> None:
    with pytest.raises(Unasked, match="embedder"):
        list(synonyms(asked(labelled(["a", "b"]))))


def test_too_many_classes_to_compare_are_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgrag.audit.term_steps.MAX_CLASSES_COMPARED", 1)
    with pytest.raises(NotDecided, match="at most 1 are compared"):
        list(synonyms(asked(labelled(["a", "b"]), embedder=HashEmbedder())))


# --- real ontologies --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real() -> Path:
    folder = Path(os.environ.get("KGRAG_DATA", Path(__file__).parents[2].parent / "shared" / "data")) / "ontologies"
    if not folder.is_dir():
        pytest.skip("real ontologies are not at hand; set KGRAG_DATA to the folder that holds ontologies/")
    return folder


@pytest.mark.parametrize(
    ("file", "check", "foci"),
    [
        ("pizza.owl", "LOG-04", {"CheeseyVegetableTopping"}),
        ("prov-o.ttl", "PRO-02", set()),  # a union beside a class is meant so
        ("goodrelations.ttl", "PRO-04", {"equal", "nonEqual"}),
        ("iptc-sport.ttl", "PRO-07", {"participation"}),
        ("foaf.ttl", "HIE-03", {"homepage"}),
        ("skos.ttl", "HIE-01", set()),
    ],
)
def test_what_is_known_of_real_ontologies_is_found(real: Path, file: str, check: str, foci: set[str]) -> None:
    from kgrag.audit import AuditOptions, audit_triples

    forms = {".ttl": ox.RdfFormat.TURTLE, ".owl": ox.RdfFormat.RDF_XML}
    path = real / file
    quads = ox.parse(path=path, format=forms[path.suffix], base_iri="https://example.org/")
    found = audit_triples((quad.triple for quad in quads), name=file, bench=OxigraphScratch(), options=AuditOptions())
    assert {local_name(each.focus) for each in found.findings if each.check == check} == foci
