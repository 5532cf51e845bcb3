"""Findings of one design decision read as one."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kgrag.audit import Audit, AuditOptions
from kgrag.audit.reports import as_text, written
from kgrag.errors import InputError
from kgrag.knowledge_base.audit_runs import audit_files

PREFIXES = """@prefix ex: <https://example.org/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<https://example.org/o> a owl:Ontology .
ex:Crop a owl:Class ; rdfs:label "crop"@en .
"""
IMPORTS = "<https://example.org/o> owl:imports <https://example.org/a> , <https://example.org/b> ."
Audited = Callable[..., Audit]


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    def run(text: str, **options: object) -> Audit:
        path = tmp_path / "o.ttl"
        path.write_text(PREFIXES + text, encoding="utf-8")
        return audit_files([path], AuditOptions(**options))  # type: ignore[arg-type]

    return run


def messages(audit: Audit, check: str) -> list[str]:
    return [finding.message for finding in audit.findings if finding.check == check]


def properties(count: int) -> str:
    return "".join(f'ex:p{n} a owl:ObjectProperty ; rdfs:range ex:Crop ; rdfs:label "p{n}"@en . ' for n in range(count))


def test_many_properties_without_a_domain_are_one_line_that_says_how_many_of_all(audited: Audited) -> None:
    audit = audited(properties(5) + "ex:q a owl:ObjectProperty ; rdfs:domain ex:Crop ; rdfs:range ex:Crop .")
    (message,) = messages(audit, "PRO-01")
    assert message.startswith("5 of 6 properties have no ")
    assert message.endswith("#p1, https://example.org/o#p2 and 2 more. `--all` lists them.")
    assert audit.totals["PRO-01"] == 1
    assert len(messages(audited(properties(5), ungathered=True), "PRO-01")) == 5


def test_two_findings_stay_apart(audited: Audited) -> None:
    assert len(messages(audited(properties(2)), "PRO-01")) == 2


def test_a_baseline_knows_each_finding_that_was_gathered(audited: Audited, tmp_path: Path) -> None:
    from kgrag.audit.suppressions import baseline_text

    (tmp_path / "known.json").write_text(baseline_text(audited(properties(5))), encoding="utf-8")
    assert messages(audited(properties(6), baseline=tmp_path / "known.json"), "PRO-01") == [
        "https://example.org/o#p5 has no http://www.w3.org/2000/01/rdf-schema#domain: "
        "not stated, not inherited, not by its inverse."
    ]


def test_an_import_that_a_catalogue_has_a_file_for_is_at_hand(audited: Audited, tmp_path: Path) -> None:
    assert len(messages(audited(IMPORTS), "MET-10")) == 2
    (tmp_path / "a.ttl").write_text("", encoding="utf-8")
    catalogue = """<catalog prefer="public" xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">
      <uri name="https://example.org/a" uri="a.ttl"/><uri name="https://example.org/b" uri="gone.ttl"/></catalog>"""
    (tmp_path / "mine.xml").write_text(catalogue, encoding="utf-8")
    (left,) = messages(audited(IMPORTS, catalogues=(tmp_path / "mine.xml",)), "MET-10")
    assert "https://example.org/b" in left
    (tmp_path / "mine.xml").rename(tmp_path / "catalog-v001.xml")
    assert messages(audited(IMPORTS), "MET-10") == [left]
    with pytest.raises(InputError, match="no catalogue of imports"):
        audited(IMPORTS, catalogues=(tmp_path / "absent.xml",))


PART = """ex:Own a owl:Class ; rdfs:subClassOf ex:Declared , ex:Elsewhere ; ex:said ex:Declared .
ex:Declared a owl:Class . ex:Rye rdfs:subClassOf ex:Crop ; a owl:Class ."""


@pytest.mark.parametrize(
    ("imported", "unlabelled", "undeclared"),
    [
        ("", ["Own", "Declared", "Rye"], ["Elsewhere", "said"]),
        (
            "<https://example.org/o> owl:imports <https://example.org/p> .",
            ["Own", "Declared", "Rye"],
            ["Elsewhere", "said"],
        ),
        ("<https://example.org/o> owl:imports <https://example.org/o/part> .", ["Own", "Rye"], []),
    ],
)
def test_what_a_module_says_of_the_parts_that_are_not_at_hand_is_no_finding(
    audited: Audited, imported: str, unlabelled: list[str], undeclared: list[str]
) -> None:
    findings = audited(PART + imported, ungathered=True).findings
    found = {
        check: {f.focus.split("#")[-1] for f in findings if f.check in check} for check in ("ANN-01", "STR-02 STR-03")
    }
    assert found == {"ANN-01": set(unlabelled), "STR-02 STR-03": set(undeclared)}


def test_a_misspelt_datatype_is_one_finding(audited: Audited) -> None:
    audit = audited('ex:sown a owl:DatatypeProperty ; rdfs:range xsd:datetime ; rdfs:label "sown"@en .')
    assert messages(audit, "NAM-06") == []
    assert len(messages(audit, "PRO-13")) == 1


def test_a_flag_that_is_written_wrongly_many_times_is_one_line(audited: Audited) -> None:
    (message,) = messages(
        audited("".join(f'ex:c{n} a owl:Class ; owl:deprecated "True" . ' for n in range(4))), "STR-09"
    )
    assert message.startswith("4 terms have a deprecation that is written wrongly (http://www.w3.org/2002/07/owl#dep")


def test_an_ontology_outside_of_every_profile_is_one_line(audited: Audited) -> None:
    audit = audited("ex:Pea a owl:Class ; owl:disjointUnionOf ( ex:Crop ex:Bean ) .")
    (message,) = messages(audit, "LOG-08")
    assert all(profile in message for profile in ("EL", "QL", "RL"))


OBO = """@prefix obo: <http://purl.obolibrary.org/obo/> . @prefix far: <https://example.net/far#> .
<http://purl.obolibrary.org/obo/crop.owl> a owl:Ontology ; owl:imports <http://purl.obolibrary.org/obo/iao.owl> .
obo:CROP_0000001 a owl:Class ; rdfs:label "Sommergetreide"@de , "spring cereal"@en ; rdfs:subClassOf far:Seen .
obo:CROP_0000002 a owl:DatatypeProperty ; rdfs:label "kept\tfor" ; rdfs:domain obo:IAO_0000002 ; rdfs:range xsd:datetime .
"""


def test_reports_name_terms_as_their_readers_do_with_the_label_where_the_name_says_nothing(audited: Audited) -> None:
    audit = audited(OBO.replace("<https", "<urn:x"), namespace="http://purl.obolibrary.org/obo/CROP_")
    texts = [written(audit, form) for form in ("text", "html", "markdown", "sarif", "junit")]
    for text in texts:
        text = text.replace("\\_", "_")
        assert "The term CROP:0000001 (spring cereal) has no definition" in text
        assert "far:Seen of another namespace" in text
        assert "CROP:0000002 (kept for)" in text and "xsd:datetime" in text
    assert "names like :this" not in texts[0]
    assert audit.to_json()["labels"]["http://purl.obolibrary.org/obo/CROP_0000001"] == "spring cereal"


def test_own_terms_of_several_namespaces_are_told_apart(audited: Audited) -> None:
    more = "@prefix old: <https://example.org/old#> . old:Crop a owl:Class . ex:Crop a owl:Class ."
    both = "<https://example.org/o> <http://purl.org/vocab/vann/preferredNamespaceUri> 'https://example.org/old#', "
    text = as_text(audited(more + both + "'https://example.org/o#' ."))
    assert "The term old:Crop has no" in text and "The term ex:Crop has no" in text


def test_an_external_class_is_sought_in_imports_that_are_at_hand(audited: Audited, tmp_path: Path) -> None:
    audit = audited(OBO)
    (one, other) = messages(audit, "STR-02x")
    assert "IAO_0000002" in one and "nothing that was read describes it. The import http" in one and "iao.owl" in one
    (tmp_path / "iao.ttl").write_text(
        "<http://purl.obolibrary.org/obo/IAO_0000002> a <http://www.w3.org/2002/07/owl#Class> ."
        "<http://purl.obolibrary.org/obo/iao.owl> <http://www.w3.org/2002/07/owl#imports> <urn:bfo> .",
        encoding="utf-8",
    )
    (tmp_path / "catalog-v001.xml").write_text(
        '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'
        '<uri name="http://purl.obolibrary.org/obo/iao.owl" uri="iao.ttl"/></catalog>',
        encoding="utf-8",
    )
    assert messages(audited(OBO), "STR-02x") == [other.replace("http://purl.obolibrary.org/obo/iao.owl", "urn:bfo")]
    (tmp_path / "iao.ttl").write_text("this is not Turtle", encoding="utf-8")
    assert messages(audited(OBO), "STR-02x") == [one, other]


def test_the_text_report_counts_the_findings_of_a_shape_by_severity(audited: Audited, tmp_path: Path) -> None:
    from kgrag.audit.reports.text_reports import as_text as text_of

    (tmp_path / "s.ttl").write_text(
        PREFIXES
        + "ex:Shape a sh:NodeShape ; sh:targetNode ex:a , ex:b , ex:c ; sh:property [ sh:path ex:p ; sh:minCount 1 ; "
        "sh:severity sh:Warning ] ; sh:class ex:Crop . ex:b a ex:Crop . ex:c a ex:Crop .",
        encoding="utf-8",
    )
    (tmp_path / "profile.toml").write_text('families = []\nshapes = ["s.ttl"]\n', encoding="utf-8")
    text = text_of(audited("ex:b a ex:Crop . ex:c a ex:Crop .", profile=str(tmp_path / "profile.toml")))
    assert "Violation Shape    (1)" in text, text
    assert as_text is text_of
