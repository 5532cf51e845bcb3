"""HermiT as a process: verdicts, explanations, and everything that keeps it from a verdict."""

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag.audit import Audit, Check, load_checks
from kgrag.errors import NotDecided
from kgrag.reasoning import hermit
from kgrag.reasoning.axioms import read_axioms, words
from kgrag.reasoning.explanations import explain
from kgrag.reasoning.hermit import classify
from kgrag.vocab import OWL, local_name
from tests.audit.conftest import ONTOLOGY

java = pytest.mark.skipif(shutil.which("java") is None, reason="HermiT needs Java, which is not installed here")

APART = "ex:Crop a owl:Class ; owl:disjointWith ex:Zone . ex:Zone a owl:Class .\n"
INCONSISTENT = ONTOLOGY + APART + "ex:x a owl:NamedIndividual , ex:Crop , ex:Zone .\n"
UNSATISFIABLE = ONTOLOGY + APART + "ex:Bad a owl:Class ; rdfs:subClassOf ex:Crop , ex:Zone .\n"


def read(source: str | Path) -> list[ox.Triple]:
    quads = ox.parse(source, format=ox.RdfFormat.TURTLE) if isinstance(source, str) else ox.parse(path=source)
    return [quad.triple for quad in quads]


def real(path: Path) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(path=path, format=ox.RdfFormat.RDF_XML)]


@java
def test_koala_has_three_unsatisfiable_classes(data: Path) -> None:
    found = classify(real(data / "reasoning" / "koala.owl"))
    assert found.consistent
    assert [local_name(name) for name in found.unsatisfiable] == ["Koala", "KoalaWithPhD", "Quokka"]


@java
def test_pizza_has_two_unsatisfiable_classes_and_two_equivalences_that_nobody_stated(data: Path) -> None:
    found = classify(real(data / "ontologies" / "pizza.owl"))
    assert [local_name(name) for name in found.unsatisfiable] == ["CheeseyVegetableTopping", "IceCream"]
    assert [local_name(group[0]) for group in found.equivalents] == ["SpicyPizza", "VegetarianPizzaEquivalent1"]
    assert ("CheeseyPizza", "Pizza") in {(local_name(one), local_name(other)) for one, other in found.subclasses}


@java
def test_why_a_koala_cannot_be_is_told_in_axioms_none_of_which_can_be_spared(data: Path) -> None:
    triples = real(data / "reasoning" / "koala.owl")
    koala = next(name for name in classify(triples).unsatisfiable if name.endswith("#Koala"))
    axioms = explain(triples, wanted=koala)
    assert sorted(words(axiom) for axiom in axioms) == [
        "Koala SubClassOf Marsupials",
        "Koala SubClassOf isHardWorking value false",
        "Person DisjointWith Marsupials",
        "isHardWorking Domain Person",
    ]
    ontology = read_axioms(triples)
    without = [[*axioms[:place], *axioms[place + 1 :]] for place in range(len(axioms))]
    tries = [ontology.as_triples(each, koala) for each in without]
    assert hermit.first_departure(tries, wanted=koala, seconds=60) == len(tries)


@java
def test_an_inconsistent_ontology_is_a_verdict_and_is_explained() -> None:
    triples = read(INCONSISTENT)
    assert not classify(triples).consistent
    assert sorted(map(words, explain(triples))) == ["Crop DisjointWith Zone", "x Type Crop", "x Type Zone"]


@java
def test_what_is_satisfiable_has_no_explanation() -> None:
    with pytest.raises(NotDecided, match="does not follow"):
        explain(read(UNSATISFIABLE), wanted="https://example.org/o#Crop")


@java
def test_text_outside_ascii_and_odd_names_do_not_confuse_the_reading_of_an_ontology() -> None:
    odd = 'ex:Bad rdfs:label "Überraschung \\"(ü)\\"\\n"@de . ex:Bad rdfs:seeAlso <https://example.org/a%20(b)> .'
    assert classify(read(UNSATISFIABLE + odd)).unsatisfiable == ("https://example.org/o#Bad",)


@java
def test_literals_of_a_datatype_that_owl_does_not_have_are_left_out_and_that_is_said() -> None:
    date = 'ex:d a owl:DatatypeProperty . ex:x a owl:NamedIndividual ; ex:d "2026-11-21"^^xsd:date .'
    found = classify(read("@prefix xsd: <http://www.w3.org/2001/XMLSchema#> ." + UNSATISFIABLE + date))
    assert found.unsatisfiable == ("https://example.org/o#Bad",)
    assert "left out" in found.note


@java
def test_an_ontology_that_can_be_read_in_part_only_is_not_decided_unless_that_part_is_wrong() -> None:
    circle = "ex:A a owl:Class ; rdfs:subClassOf _:b . _:b a owl:Class ; owl:intersectionOf ( _:b ex:A ) .\n"
    with pytest.raises(NotDecided, match="a part of the ontology only"):
        classify(read(ONTOLOGY + circle))
    assert classify(read(UNSATISFIABLE + circle)).unsatisfiable == ("https://example.org/o#Bad",)


@java
def test_a_property_that_an_import_would_declare_is_taken_for_what_its_restriction_makes_of_it() -> None:
    text = """
        @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        ex:Bad a owl:Class ; rdfs:subClassOf
          [ a owl:Restriction ; owl:onProperty ex:far ; owl:someValuesFrom owl:Nothing ] ,
          [ a owl:Restriction ; owl:onProperty ex:size ; owl:someValuesFrom xsd:integer ] .
    """
    assert classify(read(ONTOLOGY + text)).unsatisfiable == ("https://example.org/o#Bad",)


@java
def test_imports_are_not_fetched() -> None:
    text = UNSATISFIABLE + "<https://example.org/o> owl:imports <http://127.0.0.1:9/none.owl> ."
    assert classify(read(text)).consistent


@java
def test_a_reasoner_that_exceeds_its_time_limit_is_not_decided() -> None:
    with pytest.raises(NotDecided, match=r"took more than 0\.01 s"):
        classify(read(UNSATISFIABLE), seconds=0.01)


def test_without_java_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(NotDecided, match="apt-get install -y default-jre-headless"):
        classify(read(UNSATISFIABLE))


def pretended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a program in the place of java."""
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{script}\n", encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))


def test_a_reasoner_without_enough_memory_is_not_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretended(tmp_path, monkeypatch, "import sys; sys.exit('java.lang.OutOfMemoryError: Java heap space')")
    with pytest.raises(NotDecided, match="needs more than 1024 MiB"):
        classify(read(UNSATISFIABLE))


def test_what_a_reasoner_refuses_is_told_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = "Exception in thread main java.lang.IllegalArgumentException: Non-simple property ex:p"
    pretended(tmp_path, monkeypatch, f"import sys; sys.exit({told!r})")
    with pytest.raises(NotDecided, match="refuses the ontology: Non-simple property ex:p"):
        classify(read(UNSATISFIABLE))


def test_a_reasoner_that_is_late_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "process"
    pretended(
        tmp_path, monkeypatch, f"import os, time; open({str(marker)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )
    with pytest.raises(NotDecided, match="give it more time"):
        classify(read(UNSATISFIABLE), seconds=3)
    with pytest.raises(ProcessLookupError):
        os.kill(int(marker.read_text()), 0)


# --- steps of an audit --------------------------------------------------------------------------------------------

Audited = Callable[..., Audit]


@java
def test_the_checks_of_logic_are_decided_with_a_reasoner(audited: Audited) -> None:
    found = audited(UNSATISFIABLE, reasoner=True)
    assert [(each.check, each.focus) for each in found.findings if each.check in ("LOG-01", "LOG-02", "LOG-07")] == [
        ("LOG-02", "https://example.org/o#Bad")
    ]
    assert not found.undecided_though_asked


@java
def test_of_an_inconsistent_ontology_only_that_is_decided(audited: Audited) -> None:
    found = audited(INCONSISTENT, reasoner=True)
    assert [each.focus for each in found.findings if each.check == "LOG-01"] == ["https://example.org/o"]
    assert {each.check for each in found.not_decided if each.asked} == {"LOG-02", "LOG-07"}


@java
def test_equivalences_that_are_stated_are_no_finding(audited: Audited) -> None:
    defined = "owl:equivalentClass [ a owl:Restriction ; owl:onProperty ex:part ; owl:someValuesFrom ex:Pea ]"
    classes = (
        f"ex:part a owl:ObjectProperty . ex:Pea a owl:Class . ex:One a owl:Class ; {defined} . ex:Two a owl:Class ; "
    )
    same = f"{defined} . ex:Three a owl:Class ; owl:equivalentClass ex:Two ."
    found = audited(ONTOLOGY + classes + same, reasoner=True)
    pairs = [(local_name(each.focus), local_name(each.value)) for each in found.findings if each.check == "LOG-07"]
    assert pairs == [("One", "Three")]


@java
def test_a_time_limit_reads_not_decided_and_never_passed(audited: Audited) -> None:
    found = audited(UNSATISFIABLE, reasoner=True, seconds=0.01)
    assert {each.check for each in found.not_decided if each.asked} == {"LOG-01", "LOG-02", "LOG-07"}
    assert found.undecided_though_asked


# --- axioms -------------------------------------------------------------------------------------------------------

WORDS = {
    "ex:A rdfs:subClassOf [ owl:onProperty ex:p ; owl:someValuesFrom [ owl:unionOf ( ex:B ex:C ) ] ] .": (
        "A SubClassOf p some (B or C)"
    ),
    "ex:A owl:equivalentClass [ owl:intersectionOf ( ex:B [ owl:complementOf ex:C ] ) ] .": "A EquivalentTo B and not C",
    "ex:A rdfs:subClassOf [ owl:onProperty ex:p ; owl:minQualifiedCardinality 2 ; owl:onClass ex:B ] .": (
        "A SubClassOf p min 2 B"
    ),
    "ex:A rdfs:subClassOf [ owl:onProperty [ owl:inverseOf ex:p ] ; owl:allValuesFrom ex:B ] .": (
        "A SubClassOf inverse p only B"
    ),
    "ex:A owl:equivalentClass [ owl:oneOf ( ex:a ex:b ) ] .": "A EquivalentTo {a, b}",
    "ex:A owl:disjointUnionOf ( ex:B ex:C ) .": "A DisjointUnionOf B, C",
    "[] a owl:AllDisjointClasses ; owl:members ( ex:A ex:B ) .": "AllDisjointClasses: A, B",
    "ex:a ex:p 'x'@en .": 'a p "x"@en',
}


@pytest.mark.parametrize(("text", "expected"), WORDS.items(), ids=WORDS.values())
def test_an_axiom_is_put_into_words(text: str, expected: str) -> None:
    (axiom,) = read_axioms(read(ONTOLOGY + text)).axioms
    assert words(axiom) == expected


def test_declarations_and_annotations_are_no_axioms() -> None:
    text = 'ex:A a owl:Class ; rdfs:label "a" ; ex:note "n" . ex:note a owl:AnnotationProperty .'
    ontology = read_axioms(read(ONTOLOGY + text))
    assert ontology.axioms == ()
    assert OWL.Class in {triple.object for triple in ontology.declarations["https://example.org/o#A"]}


def test_axioms_near_a_class_come_first() -> None:
    text = "ex:Y rdfs:subClassOf ex:Z . ex:B rdfs:subClassOf ex:C . ex:A rdfs:subClassOf ex:B ."
    order = [words(axiom)[0] for axiom in read_axioms(read(ONTOLOGY + text)).near("https://example.org/o#A")]
    assert order == ["A", "B", "Y"]


# --- the checks' own examples -------------------------------------------------------------------------------------

LOGIC = [check for check in load_checks() if check.step in ("consistency", "unsatisfiable", "equivalent")]
EXAMPLES = [(check, text, True) for check in LOGIC for text in check.violating]
EXAMPLES += [(check, text, False) for check in LOGIC for text in check.conforming]


@java
@pytest.mark.parametrize(("check", "text", "bad"), EXAMPLES, ids=[f"{c.identifier}-{bad}" for c, _, bad in EXAMPLES])
def test_the_examples_of_a_check_violate_it_and_conform_to_it(
    audited: Audited, check: Check, text: str, *, bad: bool
) -> None:
    found = [each.focus for each in audited(text, reasoner=True).findings if each.check == check.identifier]
    about = "https://example.org/o#bad" if "ex:bad" in text else "https://example.org/o"
    assert found == ([about] if bad else [])
