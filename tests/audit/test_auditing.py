"""Audits from end to end: counts, limits, the JSON form, and input that is bad or odd."""

import json
import socket
from pathlib import Path

import pytest

from kgrag import Document, KnowledgeBase
from kgrag.audit import AuditOptions
from kgrag.errors import InputError, InvalidRDF, InvalidSettings
from kgrag.knowledge_base.audit_runs import audit_files
from tests.audit.conftest import CHECK, FLAWED, HEAD, ONTOLOGY

DATA = (
    "bfo-core.ttl",
    "foaf.ttl",
    "org.ttl",
    "prov-o.ttl",
    "skos.ttl",
    "sosa.ttl",
    "pizza.owl",
    "fibo-fnd-parties.rdf",
)


def test_the_json_form_is_the_one_that_was_fixed(audited) -> None:
    form = json.loads(json.dumps(audited(FLAWED).to_json()))
    assert {"target", "profile", "conforms", "counts", "findings", "slow", "engine"} <= form.keys()
    assert form["counts"].keys() == {"Violation", "Warning", "Info", "suppressed", "not_decided"}
    first = form["findings"][0]
    assert {"check", "severity", "focus", "message", "anchors", "fingerprint"} <= first.keys()


def test_a_limit_hides_findings_and_keeps_counts(audited) -> None:
    every, few = audited(FLAWED), audited(FLAWED, limit=1)
    assert (few.counts, few.totals) == (every.counts, every.totals)
    assert [f.focus for f in few.findings if f.check == "ANN-01"] == ["https://example.org/o#Oat"]


def test_two_audits_of_one_file_are_equal(audited) -> None:
    one, two = audited(FLAWED), audited(FLAWED)
    assert one.findings == two.findings


def test_fingerprints_are_distinct_and_survive_another_naming_of_blank_nodes(audited) -> None:
    restriction = "ex:A a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:p ] ."
    one = audited(ONTOLOGY + restriction)
    two = audited(ONTOLOGY + "ex:B a owl:Class ; rdfs:subClassOf [ a owl:Class ; rdfs:label 'x' ] . " + restriction)
    marks = [f.fingerprint for f in one.findings]
    assert len(set(marks)) == len(marks)
    assert {f.fingerprint for f in one.findings if f.check == "STR-06"} <= {f.fingerprint for f in two.findings}


def test_a_finding_about_a_blank_node_says_what_it_is_part_of(audited, write) -> None:
    shape = (
        'sh:targetClass owl:Restriction ; sh:property [ sh:path owl:hasValue ; sh:minCount 1 ; sh:message "bare" ] .'
    )
    head = CHECK[: CHECK.index("aud:OWN-01 a")]
    write(f"{head} aud:Bare a sh:NodeShape ; {shape}", "own.ttl")
    profile = str(write('shapes = ["own.ttl"]\nfamilies = []\n', "p.toml"))
    text = ONTOLOGY + "ex:A a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:p ] ."
    (finding,) = audited(text, profile=profile).findings
    assert finding.focus.startswith("_:")
    assert finding.message == "bare It is part of https://example.org/o#A."


def test_what_was_not_asked_for_is_not_decided_and_no_failure(audited) -> None:
    found = audited(FLAWED)
    assert {each.check for each in found.not_decided} >= {"LOG-01", "LOG-02"}
    assert found.counts["not_decided"] == len(found.not_decided)
    assert not found.undecided_though_asked


def test_a_step_that_is_not_at_hand_is_not_decided_and_was_asked_for(audited, write) -> None:
    head = CHECK[: CHECK.index("aud:OWN-01-shape a")].replace("aud:shape aud:OWN-01-shape", 'aud:step "augury"')
    write(head, "own.ttl")
    found = audited(FLAWED, profile=str(write('shapes = ["own.ttl"]\nfamilies = ["own"]\n', "p.toml")))
    assert [(each.check, each.asked) for each in found.not_decided] == [("OWN-01", True)]
    assert "there is no step 'augury'" in found.not_decided[0].reason


def test_an_empty_file_is_audited(audited) -> None:
    found = audited("# nothing\n")
    assert found.counts["Violation"] == found.totals.get("MET-01", 0)


BAD = {
    "no RDF": ("o.ttl", b"this is no RDF", r"o\.ttl, line 1"),
    "bytes that are no text": ("o.ttl", bytes(range(256)), "is not UTF-8"),
    "a suffix that is none": ("o.docx", b"", r"suffix '\.docx' is no RDF format"),
    "another format than its suffix says": ("o.ttl", b"<?xml version='1.0'?><rdf:RDF/>", r"o\.ttl, line 1"),
}


@pytest.mark.parametrize(("name", "content", "told"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_by_name(write, name: str, content: bytes, told: str) -> None:
    with pytest.raises(InvalidRDF, match=told):
        audit_files([write(content, name)], AuditOptions())


def test_a_shape_file_with_an_error_is_named_with_its_line(audited, write) -> None:
    write(CHECK.replace("aud:mend", "aud:mend aud:mend"), "own.ttl")
    with pytest.raises(InvalidRDF, match=r"own\.ttl, line 1\d: "):
        audited(FLAWED, profile=str(write('shapes = ["own.ttl"]\n', "p.toml")))


def test_a_negative_limit_is_refused(audited) -> None:
    with pytest.raises(InvalidSettings, match="the limit is -1"):
        audited(FLAWED, limit=-1)


def test_imports_in_a_circle_are_named_and_never_fetched(write, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError(f"the network was asked: {arguments}")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    head = HEAD + "<https://example.org/{0}> a owl:Ontology ; owl:imports <https://example.org/{1}> , <urn:{0}:gone> ."
    files = [write(head.format("a", "b"), "a.ttl"), write(head.format("b", "a"), "b.ttl")]
    found = audit_files(files, AuditOptions())
    assert {f.value for f in found.findings if f.check == "MET-10"} == {"urn:a:gone", "urn:b:gone"}


def test_a_chain_of_three_thousand_subclasses_is_audited(audited) -> None:
    chain = "".join(f"ex:C{n} a owl:Class ; rdfs:subClassOf ex:C{n + 1} .\n" for n in range(3_000))
    found = audited(ONTOLOGY + chain, limit=2)
    assert found.totals.keys() & {"HIE-01", "HIE-03", "LOG-04"} == set()
    assert found.totals["STR-02"] == 1


def test_a_web_of_blank_nodes_is_audited(audited) -> None:
    links = "".join(
        f"_:b{n} a owl:Class ; rdfs:subClassOf _:b{n * 7 % 500} , _:b{n * 11 % 500} .\n" for n in range(500)
    )
    assert audited(ONTOLOGY + f"ex:A a owl:Class ; rdfs:subClassOf _:b1 .\n{links}", limit=2).counts["Warning"] > 0


@pytest.mark.parametrize("name", DATA)
def test_a_real_ontology_is_audited_without_a_slip(data: Path, name: str) -> None:
    found = audit_files([data / "ontologies" / name], AuditOptions())
    assert found.counts["Info"] + found.counts["Warning"] > 0
    assert [each.reason for each in found.not_decided if each.asked] == []


def test_a_knowledge_base_audits_its_ontologies_one_graph_and_a_file(kb: KnowledgeBase, write) -> None:
    with pytest.raises(InputError, match="there is no ontology"):
        kb.audit()
    path = write(f'{FLAWED}<https://example.org/o> dcterms:title "O"@en .')
    kb.load(path)
    by_default, by_graph, by_file = kb.audit(), kb.audit("https://example.org/o"), kb.audit(path)
    assert by_default.totals == by_graph.totals == by_file.totals
    other = write(path.read_text(encoding="utf-8").replace("example.org/o", "example.org/other"), "other.ttl")
    kb.load(other)
    assert "MET-11" not in kb.audit().totals  # each has its graph
    assert audit_files([path, other], AuditOptions()).totals["MET-11"] == 2
    with pytest.raises(InputError, match="there is no graph <urn:none>"):
        kb.audit("urn:none")
    with pytest.raises(InvalidSettings, match="Did you mean 'profile'"):
        kb.audit(profil="publish")


def test_fields_of_documents_need_no_ontology(kb: KnowledgeBase) -> None:
    kb.add(Document("Oats are sown in spring.", id="oats", metadata={"language": "en", "field office": "Ulm"}))
    assert "KG-01" not in kb.audit(profile="kg").totals


def test_an_import_that_the_knowledge_base_holds_is_at_hand(kb: KnowledgeBase, write) -> None:
    kb.load(write(HEAD + "<urn:base> a owl:Ontology .", "base.ttl"))
    kb.load(write(ONTOLOGY + "<https://example.org/o> owl:imports <urn:base> ."))
    assert "MET-10" not in kb.audit("https://example.org/o").totals
