"""A proof is a smallest set of statements and steps whose rules, run on their premises alone, conclude the same."""

from collections.abc import Iterator
from itertools import chain

import pyoxigraph as ox
import pytest

from kgrag.reasoning.inference import Contradiction, follows, materialise
from kgrag.reasoning.justification import smallest
from kgrag.reasoning.nearness import by_nearness
from kgrag.reasoning.proof_forms import as_json, as_text, as_triples
from kgrag.reasoning.proofs import Proof, prove, rerun
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import OWL, PROV, RDF, RDFS

PREFIXES = f"@prefix : <urn:e:> . @prefix owl: <{OWL.prefix}> . @prefix rdfs: <{RDFS.prefix}> .\n"
WORLD = f"""{PREFIXES}
:Cat rdfs:subClassOf :Feline . :Feline rdfs:subClassOf :Mammal . :Mammal rdfs:subClassOf :Animal .
:felix :purrsAt :tom . :purrsAt rdfs:domain :Cat ; rdfs:range :Person ; rdfs:subPropertyOf :knows .
:knows a owl:SymmetricProperty .
:Parent owl:equivalentClass [ a owl:Restriction ; owl:onProperty :hasChild ; owl:someValuesFrom :Person ] .
:ann :hasChild :bob . :bob a :Person ; :hasChild :cid .
:grandparentOf owl:propertyChainAxiom ( :hasChild :hasChild ) .
:Mother owl:intersectionOf ( :Parent :Woman ) . :ann a :Woman .
:Person owl:hasKey ( :passport ) . :bob :passport "7" . :robert a :Person ; :passport "7" .
:hasFather a owl:FunctionalProperty . :cid :hasFather :bob , :rob .
:Noise rdfs:subClassOf :Sound . :meow a :Noise ; :heardBy :ann .
"""
FOLLOWS = [
    ("rdfs", "felix", RDF.type, "Animal", {"rdfs2", "rdfs9", "rdfs11"}),
    ("rdfs", "felix", "knows", "tom", {"rdfs7"}),
    ("rdfs", "tom", RDF.type, "Person", {"rdfs3"}),
    ("owl-rl", "tom", "knows", "felix", {"prp-spo1", "prp-symp"}),
    ("owl-rl", "ann", RDF.type, "Parent", {"scm-sco, scm-eqc", "cls-svf1", "cax-sco"}),
    ("owl-rl", "ann", RDF.type, "Mother", {"scm-sco, scm-eqc", "cls-svf1", "cax-sco", "cls-int1"}),
    ("owl-rl", "ann", "grandparentOf", "cid", {"prp-spo2"}),
    ("owl-rl", "bob", OWL.sameAs, "robert", {"prp-key"}),
    ("owl-rl", "bob", OWL.sameAs, "rob", {"prp-fp"}),
]


def parsed(turtle: str) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(turtle.encode(), format=ox.RdfFormat.TURTLE)]


def triple(subject: str, predicate: str | ox.NamedNode, value: str) -> ox.Triple:
    named = predicate if isinstance(predicate, ox.NamedNode) else ox.NamedNode(f"urn:e:{predicate}")
    return ox.Triple(ox.NamedNode(f"urn:e:{subject}"), named, ox.NamedNode(f"urn:e:{value}"))


def proved(conclusion: ox.Triple | Contradiction, profile: str, world: list[ox.Triple]) -> Proof:
    proof = prove(OxigraphScratch(), world, conclusion, profile=profile)
    assert proof is not None
    return proof


def left_out(proof: Proof) -> Iterator[list[ox.Triple]]:
    for each in proof.stated:
        yield list(chain.from_iterable(other for other in proof.stated if other is not each))


def assert_sound_and_minimal(proof: Proof, world: list[ox.Triple]) -> None:
    bench = OxigraphScratch()
    assert set(chain.from_iterable(proof.stated)) <= set(world)
    known = {statement[0] for statement in proof.stated}
    for step in proof.steps:
        assert {premise[0] for premise in step.premises} <= known
        assert rerun(bench, step, profile=proof.profile), step
        known |= {step.conclusion}
    assert proof.steps[-1].conclusion == proof.conclusion
    used = {premise[0] for step in proof.steps for premise in step.premises}
    assert {statement[0] for statement in proof.stated} <= used
    for rest in left_out(proof):
        assert not follows(bench, rest, proof.conclusion, profile=proof.profile), rest


@pytest.mark.parametrize(("profile", "subject", "predicate", "value", "rules"), FOLLOWS)
def test_a_proof_is_minimal_and_its_rules_conclude_the_same_from_the_premises_alone(
    profile: str, subject: str, predicate: str | ox.NamedNode, value: str, rules: set[str]
) -> None:
    world = parsed(WORLD)
    proof = proved(triple(subject, predicate, value), profile, world)
    assert_sound_and_minimal(proof, world)
    assert {step.rule for step in proof.steps} == rules


def test_a_contradiction_has_a_proof() -> None:
    world = parsed(f"{WORLD} :Dog owl:disjointWith :Feline . :felix a :Dog .")
    (found,) = materialise(OxigraphScratch(), world, profile="owl-rl").contradictions
    proof = proved(found, "owl-rl", world)
    assert_sound_and_minimal(proof, world)
    assert proof.steps[-1].rule == "cax-dw"
    assert "contradiction: urn:e:felix" in as_text(proof).splitlines()[-1]


def test_a_list_is_left_out_as_a_whole_or_not_at_all() -> None:
    world = parsed(WORLD)
    proof = proved(triple("ann", RDF.type, "Mother"), "owl-rl", world)
    (of_list,) = [each for each in proof.stated if len(each) > 1]
    assert len(of_list) == 5
    assert "<urn:e:Mother> owl:intersectionOf ( <urn:e:Parent> <urn:e:Woman> ) ." in as_text(proof)


def test_what_is_stated_needs_no_step_and_what_does_not_follow_has_no_proof() -> None:
    world = parsed(WORLD)
    assert proved(triple("ann", RDF.type, "Woman"), "rdfs", world).steps == ()
    assert prove(OxigraphScratch(), world, triple("meow", RDF.type, "Animal"), profile="owl-rl") is None


def test_every_conclusion_of_a_world_has_a_proof() -> None:
    world = parsed(f"{PREFIXES} :A rdfs:subClassOf :B . :p rdfs:domain :A ; owl:inverseOf :q . :x :q :y . :y :r 1 .")
    for conclusion in materialise(OxigraphScratch(), world, profile="owl-rl").triples:
        assert_sound_and_minimal(proved(conclusion, "owl-rl", world), world)


def test_the_forms_of_a_proof_name_rules_premises_and_sources() -> None:
    world = parsed(WORLD)
    proof = proved(triple("felix", "knows", "tom"), "rdfs", world)
    assert as_json(proof)["steps"][0]["rule"] == "rdfs7"
    graph = as_triples(proof)
    (activity,) = {each.subject for each in graph if each.object == PROV.Activity}
    assert len([each for each in graph if each.subject == activity and each.predicate == PROV.used]) == 2
    assert len([each for each in graph if each.object == activity and each.predicate == PROV.wasGeneratedBy]) == 1


@pytest.mark.parametrize("wanted", [set(), {1}, {100}, {3, 50, 99}, set(range(5))])
def test_the_smallest_part_is_found_wherever_it_stands(wanted: set[int]) -> None:
    asked = 0

    def holds(part: object) -> bool:
        nonlocal asked
        asked += 1
        return wanted <= set(part)  # type: ignore[call-overload]

    assert set(smallest(range(101), holds) or ()) == wanted
    assert asked < 60
    assert smallest(range(101), lambda part: False) is None


def test_near_statements_come_first_and_other_instances_of_a_class_late() -> None:
    world = parsed(f"{PREFIXES} :o1 a :Cat . :o2 a :Cat . :Cat rdfs:subClassOf :Animal . :felix a :Cat . :far :is :x .")
    order = by_nearness(world, [ox.NamedNode("urn:e:felix")])
    assert [str(each.subject) for each in order[:2]] == ["<urn:e:felix>", "<urn:e:Cat>"]
    assert str(order[-1].subject) == "<urn:e:far>"
