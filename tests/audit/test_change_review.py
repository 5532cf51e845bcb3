"""What a new version of an ontology breaks; each change beside the nearest one that breaks nothing."""

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag.audit import AuditOptions
from kgrag.audit.change_review import ChangeReview
from kgrag.knowledge_base.audit_runs import review_versions
from tests.audit.conftest import HEAD as PREFIXES

HEAD = f"{PREFIXES}@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
DECLARED = """
<https://example.org/o> a owl:Ontology ; owl:versionIRI <https://example.org/o/1.9> .
ex:Plant a owl:Class ; rdfs:label "plant"@en . ex:Crop a owl:Class ; rdfs:label "crop"@en ; rdfs:subClassOf ex:Plant .
ex:Rye a owl:Class ; rdfs:label "rye"@en ; rdfs:subClassOf ex:Crop . ex:Stone a owl:Class ; rdfs:label "stone"@en .
ex:sown a owl:ObjectProperty ; rdfs:label "sown"@en ; rdfs:range ex:Crop .
ex:height a owl:DatatypeProperty ; rdfs:label "height"@en ; rdfs:domain ex:Crop ; rdfs:range xsd:int .
ex:wheat a ex:Crop . ex:grows a owl:ObjectProperty , owl:FunctionalProperty .
ex:Stone rdfs:subClassOf [ owl:onProperty ex:grows ; owl:someValuesFrom ex:Stone ] .
"""
RAISED = ("/o/1.9>", "/o/1.10>")


def read(text: str) -> list[ox.Triple]:
    return [quad.triple for quad in ox.parse(input=HEAD + text, format=ox.RdfFormat.TURTLE)]


def review(*changes: tuple[str, str], old: str = DECLARED, raised: bool = True, **options: object) -> ChangeReview:
    new = old
    for was, now in (*changes, *([RAISED] if raised else [])):
        assert was in new, was
        new = new.replace(was, now)
    chosen = AuditOptions(**options)  # type: ignore[arg-type]
    return review_versions(read(old), read(new), names=("old.ttl", "new.ttl"), options=chosen)


def found(of: ChangeReview) -> list[tuple[str, str]]:
    return [(change.kind, change.term.removeprefix("https://example.org/o")) for change in of.changes]


STONE = 'ex:Stone a owl:Class ; rdfs:label "stone"@en .'
BREAKING = {
    "a term is gone": ((STONE, ""), [("removed", "#Stone")], "is gone, and was not deprecated"),
    "a term has another name": (("ex:Stone", "ex:Rock"), [("removed", "#Stone")], "#Rock now"),
    "a term has another namespace and its label is spelt otherwise": (
        ("ex:Stone a owl:Class ; rdfs:label", "<https://example.org/oSTONE> a owl:Class ; rdfs:label 'a stone'@en , "),
        [("removed", "#Stone")], "https://example.org/oSTONE now",
    ),
    "a class is a property": (
        (STONE, 'ex:Stone a owl:ObjectProperty ; rdfs:label "stone"@en .'),
        [("kind", "#Stone")], "was a class, and is an object property",
    ),
    "a domain is wanted": (
        ("rdfs:range ex:Crop", "rdfs:range ex:Crop ; rdfs:domain ex:Plant"), [("narrowed", "#sown")], "anything"
    ),
    "a range is a class below": (("rdfs:range ex:Crop", "rdfs:range ex:Rye"), [("narrowed", "#sown")], "#Rye now"),
    "a range is one of a union": (
        ("rdfs:range ex:Crop", "rdfs:range [ owl:unionOf ( ex:Rye ex:Stone ) ]"), [("narrowed", "#sown")], "#Rye or"
    ),
    "a datatype is narrower": (("rdfs:range xsd:int", "rdfs:range xsd:byte"), [("narrowed", "#height")], "byte now"),
    "a superclass is gone": (
        ("; rdfs:subClassOf ex:Plant", ""), [("lost", "#Crop")], "is no longer below https://example.org/o#Plant"
    ),
    "a class is below two disjoint ones": (
        (STONE, f"{STONE} ex:Plant owl:disjointWith ex:Stone . ex:Rye rdfs:subClassOf ex:Stone ."),
        [("unsatisfiable", "#Rye"), ("constrained", "#Plant")], "can have no instance",
    ),
    "an individual is gone": (("ex:wheat a ex:Crop .", ""), [("removed", "#wheat")], "(individual) is gone"),
    "a property is functional": (
        ("ex:sown a owl:ObjectProperty", "ex:sown a owl:ObjectProperty , owl:FunctionalProperty"),
        [("constrained", "#sown")], "is functional now",
    ),
    "two classes are disjoint": (
        (STONE, f"{STONE} ex:Plant owl:disjointWith ex:Stone ."),
        [("constrained", "#Plant")], "is disjoint with https://example.org/o#Stone now",
    ),
    "a class has only such values": (
        (STONE, f"{STONE} ex:Rye rdfs:subClassOf [ owl:onProperty ex:sown ; owl:allValuesFrom ex:Crop ] ."),
        [("constrained", "#Rye")], "#sown only https://example.org/o#Crop now",
    ),
    "a class has at most one value": (
        (STONE, f"{STONE} ex:Rye rdfs:subClassOf [ owl:onProperty ex:sown ; owl:maxCardinality 1 ] ."),
        [("constrained", "#Rye")], "#sown at most 1 now",
    ),
    "an individual is of another class": (
        ("ex:wheat a ex:Crop", "ex:wheat a ex:Plant"), [("lost", "#wheat")], "is no longer of",
    ),
}  # fmt: skip
HARMLESS = {
    "a property is no longer functional": ((" , owl:FunctionalProperty", ""), [("loosened", "#grows")]),
    "a property is transitive": (
        ("owl:FunctionalProperty", "owl:FunctionalProperty , owl:TransitiveProperty"),
        [("gained", "#grows")],
    ),
    "a class has some such value, and no longer another": (
        ("owl:someValuesFrom ex:Stone", "owl:someValuesFrom ex:Plant"),
        [("gained", "#Stone"), ("loosened", "#Stone")],
    ),
    "an individual is of a class below": (("ex:wheat a ex:Crop", "ex:wheat a ex:Rye"), [("gained", "#wheat")]),
    "nothing": (("rye", "rye"), []),
    "a label": (('"rye"@en', '"secale"@en'), []),
    "a term is new": ((STONE, f"{STONE} ex:Oat a owl:Class ."), [("added", "#Oat")]),
    "a term is deprecated": ((STONE, f"{STONE} ex:Stone owl:deprecated true ."), [("deprecated", "#Stone")]),
    "a term is deprecated and leaves the hierarchy": (
        ("rdfs:subClassOf ex:Crop .", "rdfs:subClassOf ex:Old ; owl:deprecated true ."),
        [("deprecated", "#Rye")],
    ),
    "a range is a class above": (("rdfs:range ex:Crop", "rdfs:range ex:Plant"), [("widened", "#sown")]),
    "a range is a union with more": (
        ("rdfs:range ex:Crop", "rdfs:range [ owl:unionOf ( ex:Crop ex:Stone ) ]"),
        [("widened", "#sown")],
    ),
    "a range is everything": (("rdfs:range ex:Crop", "rdfs:range owl:Thing"), [("widened", "#sown")]),
    "a domain is gone": (("rdfs:domain ex:Crop ;", ""), [("widened", "#height")]),
    "a datatype is wider": (("rdfs:range xsd:int", "rdfs:range xsd:integer"), [("widened", "#height")]),
    "a superclass is stated by way of another": (
        ("rdfs:subClassOf ex:Plant", "rdfs:subClassOf ex:Grass . ex:Grass a owl:Class ; rdfs:subClassOf ex:Plant"),
        [("added", "#Grass")],
    ),
    "a superclass follows from an equivalence": (
        ("rdfs:subClassOf ex:Plant", "owl:equivalentClass [ owl:intersectionOf ( ex:Plant ex:Stone ) ]"),
        [("gained", "#Crop")],
    ),
}


@pytest.mark.parametrize("name", BREAKING)
def test_what_breaks_users_of_the_old_version_is_named(name: str) -> None:
    change, expected, words = BREAKING[name]
    of = review(change)
    assert [(each.kind, each.term.removeprefix("https://example.org/o")) for each in of.breaking] == expected
    assert words in of.breaking[0].message


@pytest.mark.parametrize("name", HARMLESS)
def test_what_breaks_nothing_is_told_beside(name: str) -> None:
    change, expected = HARMLESS[name]
    of = review(change)
    assert of.breaking == ()
    assert found(of) == expected


def test_a_higher_maximum_contradicts_nothing() -> None:
    old = f"{DECLARED} ex:Rye rdfs:subClassOf [ owl:onProperty ex:sown ; owl:maxCardinality 3 ] ."
    assert found(review(("owl:maxCardinality 3", "owl:maxCardinality 5"), old=old)) == [("loosened", "#Rye")] * 2
    assert review(("owl:maxCardinality 3", "owl:maxCardinality 2"), old=old).breaking


def test_an_inverse_that_came_or_went_is_listed() -> None:
    old = f"{DECLARED} ex:grows owl:inverseOf ex:sown ."
    assert ("loosened", "#grows") in found(review((" ex:grows owl:inverseOf ex:sown .", ""), old=old))


def test_a_term_that_was_deprecated_may_go() -> None:
    old = f"{DECLARED} ex:Stone owl:deprecated true ."
    assert found(review((STONE, ""), ("ex:Stone owl:deprecated true .", ""), old=old)) == [("retired", "#Stone")]


def test_a_term_whose_iri_continues_that_of_the_ontology_is_its_own() -> None:
    old = (
        f"{DECLARED} <https://example.org/oStones> a owl:Class ; rdfs:label 'heap of stones' . ex:heap ex:of ex:Stone ."
    )
    renamed = (
        "<https://example.org/oStones> a owl:Class ; rdfs:label 'heap of",
        "ex:Stones a owl:Class ; rdfs:label 'HeapOf",
    )
    of = review(renamed, old=old)
    assert [(each.kind, each.term, each.message[:34]) for each in of.changes] == [
        ("removed", "https://example.org/oStones", "is https://example.org/o#Stones no")
    ]


def test_a_loss_is_told_once_for_all_classes_below() -> None:
    of = review(("rdfs:subClassOf ex:Crop", "rdfs:subClassOf ex:Crop , ex:Stone"), ("; rdfs:subClassOf ex:Plant", ""))
    assert found(of) == [("lost", "#Crop"), ("gained", "#Rye")]


def test_a_version_that_says_what_it_was_is_named_and_a_lower_one() -> None:
    assert found(review((STONE, f"{STONE} ex:Oat a owl:Class ."), raised=False))[0] == ("version", "/1.9")
    assert found(review(("/o/1.9>", "/o/1.8>"), raised=False)) == [("version", "/1.8")]
    assert found(review(raised=False)) == []


def test_a_question_that_the_old_version_answered_is_asked_of_both(tmp_path: Path) -> None:
    for name, expect in (("crops", "true"), ("stones", "true"), ("none", "true")):
        wanted = {
            "crops": "ex:Crop rdfs:subClassOf ex:Plant",
            "stones": "ex:Stone a owl:Class",
            "none": "ex:No a ex:No",
        }
        prefixes = HEAD.replace("@prefix", "PREFIX").replace(" .\n", "\n")
        query = f"# question: {name}?\n# expect: {expect}\n{prefixes}\nASK {{ {wanted[name]} }}\n"
        (tmp_path / f"{name}.rq").write_text(query, encoding="utf-8")
    of = review(("; rdfs:subClassOf ex:Plant", ""), competency=tmp_path)
    assert found(of) == [("lost", "#Crop"), ("question", "crops")]


def test_a_review_reads_as_text_and_as_markdown_without_marks_of_its_terms() -> None:
    of = review((STONE, ""), ('"rye"@en', '"rye | <b>"@en'), ("ex:Crop ;", "ex:Crop ; ex:a_b_c ex:Crop ;"))
    assert "  ! :Stone (class) is gone" in of.text()
    assert of.text().endswith("1 breaking change, 0 others")
    assert "- :Stone (class) is gone, and was not deprecated" in of.markdown()
    assert of.to_json()["changes"][0]["breaking"] is True
