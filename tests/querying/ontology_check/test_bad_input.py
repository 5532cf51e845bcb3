"""What no check may stumble over: bombs, megabytes, updates, services, triple terms, prose, rules of one's own."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.errors import InputError, InvalidSPARQL, KgragError
from kgrag.querying.ontology_check import as_text, mend
from tests.querying.ontology_check.checks import checked, index, rules


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(text: str) -> None:
    found = checked("# x\n" + text)
    assert found.valid or found.findings
    assert as_text(found)


BOMBS = {
    "groups": "SELECT ?n { " + "{" * 100_000,
    "closed groups": "SELECT ?n { " + "{" * 2_000 + "}" * 2_000 + "}",
    "brackets": "ASK { ?s ?p " + "[ ?p " * 5_000,
    "expressions": "SELECT ?n { ?p ?q ?n FILTER(" + "(" * 50_000,
    "paths": "ASK { ?s " + "^" * 50_000 + "<urn:p> ?o }",
    "path groups": "ASK { ?s " + "(" * 50_000 + "<urn:p>" + ")" * 50_000 + " ?o }",
    "not": "SELECT ?n { ?p ?q ?n FILTER(" + "!" * 50_000 + "?n) }",
    "lists": "ASK { ?s ?p " + "( " * 50_000,
    "alternatives": "ASK { ?s " + "|".join(["<urn:p>"] * 20_000) + " ?o }",
    "sequences": "ASK { ?s " + "/".join(["<urn:p>"] * 5_000) + " ?o }",
    "unions": "ASK { " + " UNION ".join(["{ ?s ?p ?o }"] * 5_000) + " }",
    "one subject": "ASK { " + " ".join(f"?s <urn:p{n}> ?o{n} ." for n in range(5_000)) + " }",
    "filters": "ASK { ?s ?p ?o " + " ".join("FILTER(?o > 3)" for _ in range(5_000)) + " }",
    "selected": "SELECT " + " ".join(f"?v{n}" for n in range(8_000)) + " { ?s ?p ?o }",
    "a megabyte": "SELECT ?n { ?p ?q ?n FILTER(?n = '" + "x" * 999_900 + "') }",
    "many values": "SELECT ?n { ?p ?q ?n VALUES ?n { " + "1 " * 160_000 + "} }",
    "more than a megabyte": "SELECT ?n { ?p ?q ?n FILTER(?n = '" + "x" * 1_100_000 + "') }",
}


@pytest.mark.parametrize("query", BOMBS.values(), ids=BOMBS)
def test_a_bomb_gets_a_verdict_in_seconds(query: str) -> None:
    start = time.process_time()
    found = checked("# x\n" + query)
    assert as_text(found)
    assert mend(found) is None or not found.valid
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    "query",
    ["SELECT ?n { <<( ?p ?q ?n )>> ?r ?s }", "SELECT ?n { ?p ?q ?n {| ?r ?s |} }", "SELECT ?n { ?p ?q ?n ~ ?r }"],
)
def test_triple_terms_are_not_analysed_and_said_so(query: str) -> None:
    assert "not-analysed" in rules(query)


def test_an_unresolved_import_is_named_and_not_fetched() -> None:
    known = index("<urn:o> a owl:Ontology ; owl:imports <http://127.0.0.1:9/other> . :p a owl:ObjectProperty .")
    assert known.imports == ("http://127.0.0.1:9/other",)
    (note,) = checked("SELECT ?n { ?s :p ?n }", known).notes
    assert "http://127.0.0.1:9/other" in note
    assert "not fetched" in note


def test_an_import_that_is_among_the_files_is_resolved() -> None:
    known = index("<urn:o> a owl:Ontology ; owl:imports <urn:i> . <urn:i> a owl:Ontology . :p a owl:ObjectProperty .")
    assert known.imports == ()


RULE = """# Short names
#
# id       short-name
# severity warning
# Problem  {varname} says nothing.
# Repair   Write a word instead of ?{varname}.
# message  The variable ?{varname} has a short name.
#
# param query: IRI    graph with the query's triple patterns
# returns ?selection ?varname    one row a variable
# reads   the graphs of one check

PREFIX check: <https://w3id.org/kgrag/check#>

SELECT ?selection ?varname
WHERE {
  GRAPH {{ query }} { ?selection a check:Selection ; check:variable ?variable . ?variable check:name ?varname . }
  FILTER (STRLEN(?varname) < 3)
}
ORDER BY ?selection
"""


def rule(folder: Path, text: str = RULE, name: str = "short-name") -> Path:
    (folder / f"{name}.rq").write_text(text, encoding="utf-8")
    return folder


def test_a_rule_of_ones_own_runs_beside_ours(tmp_path: Path) -> None:
    found = checked("SELECT ?n { ?p :policyNumber ?n }", rules=rule(tmp_path)).findings
    (finding,) = (each for each in found if each.rule == "short-name")
    assert (finding.message, finding.hint) == ("The variable ?n has a short name.", "Write a word instead of ?n.")


WRONG = {
    "no message": (RULE.replace("# message", "# remark"), "no 'message' line"),
    "another id": (RULE.replace("short-name", "long-name"), "id is 'long-name'"),
    "a severity that is none": (RULE.replace("severity warning", "severity bad"), "severity is 'bad'"),
    "a name that is not selected": (RULE.replace("?{varname} has", "?{variable} has"), "which the SELECT does not return"),
    "a template that breaks off": (RULE.replace("The variable ?{varname}", "The variable ?{varname"), "no template"),
    "a graph that is none": (RULE.replace("param query", "param other").replace("{{ query }}", "{{ other }}"), "takes query, ontology and data"),
    "a service": (RULE.replace("FILTER (", "SERVICE <http://127.0.0.1:9/> { ?a ?b ?c } FILTER ("), "SERVICE reaches the network"),
    "no sparql": (RULE.replace("FILTER (", "FILTR ("), "rule 'short-name'"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
def test_a_rule_that_is_not_as_it_should_be_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(KgragError, match=told):
        checked("SELECT ?n { ?p :policyNumber ?n }", rules=rule(tmp_path, text))


def test_a_folder_without_rules_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no rule"):
        checked("SELECT ?n { ?p :policyNumber ?n }", rules=tmp_path)


def test_a_template_of_a_rule_reaches_nothing(tmp_path: Path) -> None:
    text = RULE.replace("has a short name", "{varname.__class__.__mro__}")
    with pytest.raises((InvalidSPARQL, InputError, Exception), match=r"unsafe|undefined"):
        checked("SELECT ?n { ?p :policyNumber ?n }", rules=rule(tmp_path, text))
