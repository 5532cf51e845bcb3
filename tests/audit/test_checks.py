"""Every check of the catalogue against its own examples: one violates it, one conforms to it."""

from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag.audit import Check, load_checks
from kgrag.audit.audit_context import prepare
from kgrag.audit.check_runner import run_checks
from kgrag.audit.checks import Catalogue, shipped
from kgrag.audit.findings import AuditFinding
from kgrag.audit.profiles import Profile
from kgrag.audit.step_input import StepInput
from kgrag.audit.steps import STEPS
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.rdf_files import read_rdf
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import Names

ALONE = (
    "kgrag.audit.concept_steps",
    "kgrag.audit.hierarchy_steps",
    "kgrag.audit.platform_steps",
    "kgrag.audit.shape_steps",
)
CHECKS = [check for check in load_checks() if not check.step or STEPS[check.step].find_rows.__module__ in ALONE]
BAD = "https://example.org/o#bad"

VIOLATING = [
    pytest.param(check, text, id=f"{check.identifier}-{number}")
    for check in CHECKS
    for number, text in enumerate(check.violating)
]
CONFORMING = [
    pytest.param(check, text, id=f"{check.identifier}-{number}")
    for check in CHECKS
    for number, text in enumerate(check.conforming)
]


def found(check: Check, text: str, tmp_path: Path) -> list[AuditFinding]:
    """Run one check alone, as severe as a violation, on Turtle or TriG (which then is a whole knowledge base)."""
    path = tmp_path / "example.trig"
    path.write_text(text, encoding="utf-8")
    drafts = [] if check.family == "kg" else read_rdf(path, names=Names())
    triples = [triple for draft in drafts for triple in draft.triples]
    catalogue = shipped()
    alone = Catalogue((check,), catalogue.files, catalogue.owners)
    profile = Profile("test", "test", severities={check.identifier: "Violation"})
    scope = prepare(OxigraphScratch(), triples, name="example")
    outcome = run_checks(alone, profile, StepInput(scope, _store(text), reasoner=False, seconds=1))
    assert outcome.not_decided == ()
    return [finding for finding in outcome.findings if finding.check == check.identifier]


def _store(text: str) -> OxigraphStore:
    """Give a store that holds the graphs of an example as they are, its own catalogue included."""
    store = OxigraphStore.open(None)
    store._store.extend(ox.parse(input=text, format=ox.RdfFormat.TRIG, base_iri="https://example.org/"))
    return store


@pytest.mark.parametrize(("check", "text"), VIOLATING)
def test_the_violating_example_of_a_check_is_found(check: Check, text: str, tmp_path: Path) -> None:
    findings = found(check, text, tmp_path)
    assert findings, f"{check.identifier} finds nothing in its own violating example"
    if BAD in text or "ex:bad" in text:
        assert BAD in {finding.focus for finding in findings}


@pytest.mark.parametrize(("check", "text"), CONFORMING)
def test_the_conforming_example_of_a_check_has_no_finding(check: Check, text: str, tmp_path: Path) -> None:
    assert found(check, text, tmp_path) == []


@pytest.mark.parametrize("check", load_checks(), ids=lambda check: check.identifier)
def test_every_check_has_one_example_of_each_sort(check: Check) -> None:
    assert check.step or (check.violating and check.conforming)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.identifier)
def test_a_message_has_no_placeholder_left(check: Check, tmp_path: Path) -> None:
    for text in check.violating:
        assert [f.message for f in found(check, text, tmp_path) if "{" in f.message] == []
