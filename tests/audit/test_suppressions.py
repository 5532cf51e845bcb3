"""Suppressions and baselines: what counts no longer, and what is said of those that do nothing."""

import json
from datetime import date

import pytest

from kgrag.audit import AuditFinding
from kgrag.audit.suppressions import Suppression, baseline_text, read_suppressions, suppress
from kgrag.errors import InvalidSettings
from tests.audit.conftest import FLAWED

TODAY = date(2026, 11, 21)
RYE = AuditFinding("ANN-01", "Warning", "https://example.org/o#Rye", "no label", fingerprint="f1")
OAT = AuditFinding("ANN-01", "Warning", "https://example.org/o#Oat", "no label", fingerprint="f2")


def test_a_suppression_takes_out_its_finding_only() -> None:
    kept = suppress([RYE, OAT], [Suppression("ANN-01", "known", focus=RYE.focus)], today=TODAY)
    assert (kept.findings, kept.suppressed, kept.unused) == ((OAT,), 1, ())


def test_a_pattern_takes_out_what_it_matches() -> None:
    kept = suppress([RYE, OAT], [Suppression("ANN-01", "known", pattern="*#?*")], today=TODAY)
    assert (kept.findings, kept.suppressed) == ((), 2)


def test_a_suppression_that_matches_nothing_is_told() -> None:
    kept = suppress([RYE], [Suppression("ANN-02", "known", focus=RYE.focus)], today=TODAY)
    assert kept.findings == (RYE,)
    assert "matches nothing" in kept.unused[0]


def test_a_suppression_that_is_over_counts_no_longer_and_is_told() -> None:
    old = Suppression("ANN-01", "known", focus=RYE.focus, expires=date(2026, 11, 20))
    kept = suppress([RYE], [old], today=TODAY)
    assert (kept.findings, kept.suppressed) == ((RYE,), 0)
    assert "expired on 2026-11-20" in kept.unused[0]


def test_a_file_of_suppressions_is_used_and_counted(write, audited) -> None:
    path = write(
        '[[suppress]]\ncheck = "ANN-01"\nfocus = "https://example.org/o#Rye"\nreason = "x"\nexpires = 9999-01-01\n',
        "s.toml",
    )
    found = audited(FLAWED, suppressions=path)
    assert (found.counts["suppressed"], found.totals["ANN-01"]) == (1, 1)


FAULTS = {
    "no TOML": ("[[", "Suppressions are TOML"),
    "something else": ("x = 1", "only \\[\\[suppress\\]\\] tables"),
    "no reason": ('[[suppress]]\ncheck = "A-1"\nfocus = "x"', "suppression 1: it needs check, reason"),
    "focus and pattern": ('[[suppress]]\ncheck = "A-1"\nfocus = "x"\npattern = "x"\nreason = "r"', "either focus or"),
    "an unknown key": ('[[suppress]]\ncheck = "A-1"\nfocus = "x"\nreason = "r"\nuntil = "2"', "'until' is not known"),
    "no date": ('[[suppress]]\ncheck = "A-1"\nfocus = "x"\nreason = "r"\nexpires = "soon"', "expires is 'soon'"),
}


@pytest.mark.parametrize(("text", "told"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_file_is_refused_with_the_entry(write, text: str, told: str) -> None:
    with pytest.raises(InvalidSettings, match=told):
        read_suppressions(write(text, "s.toml"))


def test_with_a_baseline_only_what_is_new_counts(write, audited) -> None:
    path = write(baseline_text(audited(FLAWED)), "baseline.json")
    found = audited(FLAWED + "ex:Millet a owl:Class .", baseline=path)
    assert {f.focus for f in found.findings if f.check == "ANN-01"} == {"https://example.org/o#Millet"}
    assert found.counts["suppressed"] > 2


def test_an_audit_in_json_is_a_baseline_too(write, audited) -> None:
    path = write(json.dumps(audited(FLAWED).to_json()), "old.json")
    assert audited(FLAWED, baseline=path).findings == ()


def test_a_baseline_holds_what_a_limit_hides(audited) -> None:
    every, few = (json.loads(baseline_text(audited(FLAWED, limit=n)))["fingerprints"] for n in (None, 0))
    assert every == few


def test_what_is_no_baseline_is_refused(write, audited) -> None:
    with pytest.raises(InvalidSettings, match="this is no baseline"):
        audited(FLAWED, baseline=write("[]", "b.json"))
