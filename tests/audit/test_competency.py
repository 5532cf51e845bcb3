"""Competency questions as tests: reading, asking, comparing, reporting; and those of the example ontologies."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kgrag.audit import Audit
from kgrag.audit.competency_tests import CompetencyVerdict, ask_questions, read_questions
from kgrag.audit.reports import forms, written
from kgrag.audit.suppressions import baseline_text
from kgrag.errors import InputError, InvalidSPARQL
from kgrag.knowledge_base import audit_runs
from tests.conftest import ROOT

DATA = """
@prefix ex: <https://example.org/o#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Rye rdfs:subClassOf ex:Crop ; rdfs:label "rye" .
ex:Oat rdfs:subClassOf ex:Crop ; rdfs:label "oat"@en .
ex:field ex:grows ex:Rye ; ex:size 2.5 .
ex:one a ex:Rye .
"""
HEAD = "PREFIX ex: <https://example.org/o#>\nPREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
LABELS = "SELECT ?crop ?label { ?crop rdfs:subClassOf ex:Crop ; rdfs:label ?label }"


class Bench:
    """A folder with an ontology and one competency question."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "o.ttl").write_text(DATA, encoding="utf-8")

    def question(self, expect: str, sparql: str, *more: str) -> Path:
        path = self.folder / "q.rq"
        lines = ["# question: What is grown?", f"# expect: {expect}", *more, HEAD + sparql]
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    def verdict(self, expect: str, sparql: str, *more: str, seconds: float = 60.0) -> CompetencyVerdict:
        from kgrag.store.scratch import OxigraphScratch

        questions = read_questions(self.question(expect, sparql, *more))
        triples = audit_runs.triples_of(self.folder / "o.ttl")
        (verdict,) = ask_questions(questions, triples, open_bench=OxigraphScratch, seconds=seconds)
        return verdict

    def expected(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


AS_EXPECTED = {
    "a truth": ("true", "ASK { ex:Rye rdfs:subClassOf ex:Crop }"),
    "a falsehood": ("false", "ASK { ex:Rye rdfs:subClassOf ex:Oat }"),
    "so many rows": ("rows 2", LABELS),
    "at least": ("rows >= 2", LABELS),
    "at most": ("rows <= 2", LABELS),
}
OTHERWISE = {
    "a truth": ("true", "ASK { ex:Rye rdfs:subClassOf ex:Oat }", "found false"),
    "so many rows": ("rows 3", LABELS, "found 2 rows"),
    "at least": ("rows >= 3", LABELS, "found 2 rows"),
    "at most": ("rows <= 1", LABELS, "found 2 rows"),
}


@pytest.mark.parametrize(("expect", "sparql"), AS_EXPECTED.values(), ids=AS_EXPECTED)
def test_an_answer_as_expected_passes(bench: Bench, expect: str, sparql: str) -> None:
    assert bench.verdict(expect, sparql).found == ""


@pytest.mark.parametrize(("expect", "sparql", "found"), OTHERWISE.values(), ids=OTHERWISE)
def test_an_answer_that_differs_says_what_was_found(bench: Bench, expect: str, sparql: str, found: str) -> None:
    assert bench.verdict(expect, sparql).found == found


OAT, RYE = "https://example.org/o#Oat", "https://example.org/o#Rye"
FILES = {
    "rows.csv": f"label,crop\nrye,{RYE}\noat,{OAT}\n",
    "rows.tsv": f'?crop\t?label\n<{RYE}>\t"rye"\n<{OAT}>\t"oat"@en\n',
    "rows.srj": json.dumps(
        {
            "head": {"vars": ["crop", "label"]},
            "results": {
                "bindings": [
                    {
                        "crop": {"type": "uri", "value": OAT},
                        "label": {"type": "literal", "value": "oat", "xml:lang": "en"},
                    },
                    {"crop": {"type": "uri", "value": RYE}, "label": {"type": "literal", "value": "rye"}},
                ]
            },
        }
    ),
}


@pytest.mark.parametrize(("name", "text"), FILES.items(), ids=FILES)
def test_rows_are_compared_with_a_file_in_whatever_order(bench: Bench, name: str, text: str) -> None:
    assert bench.verdict(bench.expected(name, text), LABELS).found == ""


def test_rows_that_are_missing_and_rows_that_were_not_expected_are_named(bench: Bench) -> None:
    name = bench.expected("rows.csv", f"crop,label\n{RYE},rye\n{OAT},oats\n")
    assert bench.verdict(name, LABELS).found == f"{OAT} oats missing; {OAT} oat not expected"


def test_a_language_counts_where_the_file_can_say_it(bench: Bench) -> None:
    name = bench.expected("rows.tsv", f'?crop\t?label\n<{RYE}>\t"rye"\n<{OAT}>\t"oat"\n')
    assert "missing" in bench.verdict(name, LABELS).found


def test_the_order_of_rows_counts_after_order_by(bench: Bench) -> None:
    name = bench.expected("rows.csv", "label\nrye\noat\n")
    assert (
        bench.verdict(name, f"SELECT ?label {{ {LABELS} }} ORDER BY ?label").found == "found the rows in another order"
    )


def test_columns_that_differ_are_named(bench: Bench) -> None:
    name = bench.expected("rows.csv", "crop,name\n")
    assert bench.verdict(name, LABELS).found == "found the columns crop, label, and rows.csv has crop, name"


def test_what_follows_is_asked_only_where_the_question_wants_it(bench: Bench) -> None:
    query = "ASK { ex:one a ex:Crop }"
    assert bench.verdict("true", query).found == "found false"
    assert bench.verdict("true", query, "# reasoning: rdfs").found == ""


def test_a_question_that_takes_too_long_is_ended_and_not_decided(bench: Bench) -> None:
    long = "SELECT ?a { VALUES ?x { 1 2 3 4 5 6 7 8 9 } " + " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(12)) + " }"
    verdict = bench.verdict("rows 1", long, seconds=0.3)
    assert not verdict.decided
    assert verdict.found == "it took more than 0.3 s"


REFUSED = {
    "no question": ("# expect: true\nASK {}", InputError, "no line '# question: ...'"),
    "no expectation": ("# question: A?\nASK {}", InputError, "no line '# expect: ...'"),
    "a SELECT for a truth": (
        "# question: A?\n# expect: true\nSELECT * {}",
        InputError,
        "an ASK is needed; found SELECT",
    ),
    "an update": ("# question: A?\n# expect: rows 1\nDELETE WHERE { ?s ?p ?o }", InputError, "found none"),
    "no such file": ("# question: A?\n# expect: none.csv\nSELECT * {}", InputError, "nor a file in its folder"),
    "no such reasoning": ("# question: A?\n# expect: true\n# reasoning: magic\nASK {}", InputError, "no reasoning"),
    "a service": ("# question: A?\n# expect: true\nASK { SERVICE <urn:x> {} }", InvalidSPARQL, "q.rq"),
}


@pytest.mark.parametrize(("text", "error", "match"), REFUSED.values(), ids=REFUSED)
def test_an_unsound_question_is_refused(tmp_path: Path, text: str, error: type[Exception], match: str) -> None:
    path = tmp_path / "q.rq"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(error, match=match):
        read_questions(path)


def test_a_query_that_does_not_parse_is_refused_with_its_file(bench: Bench) -> None:
    with pytest.raises(InvalidSPARQL, match=r"q\.rq"):
        bench.verdict("true", "ASK { ?s ?p }")


def test_a_folder_without_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no competency question"):
        read_questions(tmp_path)


# --- reports ------------------------------------------------------------------------------------------------------


def test_a_failed_question_is_a_violation_in_every_report(bench: Bench, audited: Callable[..., Audit]) -> None:
    found = audited(DATA, competency=bench.question("rows 5", LABELS))
    (finding,) = [each for each in found.findings if each.check == "CQ-q"]
    assert finding.message == "What is grown? Expected rows 5: found 2 rows."
    assert not found.conforms
    assert found.findings[0].severity == "Violation"
    for form in forms():
        assert "CQ-q" in written(found, form) or form == "dqv"


def test_a_question_that_passes_is_a_test_case_in_junit(bench: Bench, audited: Callable[..., Audit]) -> None:
    found = audited(DATA, competency=bench.question("rows 2", LABELS))
    assert '<testcase name="CQ-q What is grown?" classname="audit.cq" />' in written(found, "junit")


SUPPRESSED = '[[suppress]]\ncheck = "CQ-q"\npattern = "*"\nreason = "Comes with version 2."\n'


def test_a_suppression_accepts_a_question_that_fails(bench: Bench, audited: Callable[..., Audit], write) -> None:
    accepted = write(SUPPRESSED, "accepted.toml")
    found = audited(DATA, competency=bench.question("rows 5", LABELS), suppressions=accepted)
    assert [each.check for each in found.findings if each.check.startswith("CQ-")] == []
    assert (found.counts["suppressed"], found.unused_suppressions) == (1, ())


@pytest.mark.parametrize(
    ("expect", "expires", "told"),
    [("rows 2", "", "matches nothing"), ("rows 5", "expires = 2020-01-01\n", "expired on 2020-01-01")],
)
def test_a_suppression_of_a_question_is_told_once_when_it_does_nothing(
    bench: Bench, audited: Callable[..., Audit], write, expect: str, expires: str, told: str
) -> None:
    accepted = write(SUPPRESSED + expires, "accepted.toml")
    found = audited(DATA, competency=bench.question(expect, LABELS), suppressions=accepted)
    (line,) = found.unused_suppressions
    assert told in line
    assert found.counts["suppressed"] == 0


def test_a_question_that_is_in_the_baseline_counts_no_more(bench: Bench, audited: Callable[..., Audit], write) -> None:
    question = bench.question("rows 5", LABELS)
    before = audited(DATA, competency=question)
    known = write(baseline_text(before), "known.json")
    after = audited(DATA, competency=question, baseline=known)
    assert (after.findings, after.counts["suppressed"]) == ((), len(before.fingerprints))


@pytest.mark.parametrize("name", ["crops", "news"])
def test_the_example_ontologies_answer_their_competency_questions(name: str) -> None:
    from kgrag.audit import AuditOptions

    options = AuditOptions(competency=ROOT / "ontologies" / "competency" / name)
    found = audit_runs.audit_files([ROOT / "ontologies" / f"{name}.ttl"], options)
    assert [each.message for each in found.findings if each.check.startswith("CQ-")] == []
    assert sum(check.startswith("CQ-") for check in found.checks) >= 1
