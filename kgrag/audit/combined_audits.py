"""Several audits as one, so that one report of a pipeline has them all; and checks of queries as an audit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kgrag.audit.checks import SEVERITIES
from kgrag.audit.findings import Audit, AuditFinding
from kgrag.audit.reports.line_numbers import line_finder
from kgrag.late_patterns import late_re
from kgrag.querying.ontology_check import Check
from kgrag.vocab import digest

__all__ = ["audit_of_broken", "audit_of_queries", "combined"]

_SEVERITY = {"refused": "Violation", "error": "Violation", "warning": "Warning", "info": "Info"}
_PREFIX = "query-"
_LINE = late_re(r"\bline (\d+)")


def combined(audits: Sequence[Audit], *, target: str) -> Audit:
    """Return one audit with all that some audits found; each finding keeps its file and line.

    A suppression is without effect where it is so in every audit; a check that several could not decide for the same
    reason counts once.

    Args:
        audits: at least one.
        target: what the whole is called.
    """
    found = [_placed(finding, audit) for audit in audits for finding in audit.findings]
    order = {severity: place for place, severity in enumerate(SEVERITIES)}
    found.sort(key=lambda each: (order[each.severity], each.check))
    counts: Counter[str] = Counter({name: 0 for audit in audits for name in audit.counts})
    totals: Counter[str] = Counter()
    levels: Counter[tuple[str, str]] = Counter()
    for audit in audits:
        counts.update(audit.counts)
        totals.update(audit.totals)
        levels.update(audit.levels)
    undecided = tuple(dict.fromkeys(each for audit in audits for each in audit.not_decided))
    counts["not_decided"] = len(undecided)
    unused = [
        text for text in audits[0].unused_suppressions if all(text in each.unused_suppressions for each in audits)
    ]
    return Audit(
        target,
        ", ".join(dict.fromkeys(audit.profile for audit in audits if audit.profile)),
        counts,
        tuple(found),
        slow=tuple(each for audit in audits for each in audit.slow),
        engine=", ".join(dict.fromkeys(audit.engine for audit in audits if audit.engine)),
        not_decided=undecided,
        unused_suppressions=tuple(unused),
        totals=totals,
        levels=levels,
        checks={name: check for audit in audits for name, check in audit.checks.items()},
        namespaces=tuple(dict.fromkeys(name for audit in audits for name in audit.namespaces)),
        files=tuple(dict.fromkeys(file for audit in audits for file in audit.files)),
        prefixes={prefix: name for audit in audits for prefix, name in audit.prefixes.items()},
        labels={term: label for audit in audits for term, label in audit.labels.items()},
        fingerprints=tuple(each for audit in audits for each in audit.fingerprints),
        shapes=tuple(dict.fromkeys(shape for audit in audits for shape in audit.shapes)),
    )


def _placed(finding: AuditFinding, audit: Audit) -> AuditFinding:
    return (
        finding if finding.place or not audit.files else replace(finding, place=line_finder(audit.files)(finding.focus))
    )


def audit_of_queries(checks: Mapping[Path, Check], *, known: frozenset[str] = frozenset()) -> Audit:
    """Return what was found in files with queries as an audit; a rule is named ``query-RULE``.

    Args:
        checks: the check of each file.
        known: fingerprints of findings that do not count.
    """
    found = [
        _finding(file, checked, number) for file, checked in checks.items() for number in range(len(checked.findings))
    ]
    return _audit(found, known, " ".join(map(str, checks)))


def audit_of_broken(files: Sequence[tuple[Path, str]], *, known: frozenset[str] = frozenset()) -> Audit:
    """Return RDF files that do not parse as an audit; the finding is named ``rdf-syntax``.

    Args:
        files: each with the reason, which names the line.
        known: fingerprints of findings that do not count.
    """
    found = []
    for file, reason in files:
        line = _LINE.search(reason)
        place = (str(file), int(line[1]) if line else 1)
        mark = digest("rdf-syntax", file.as_posix())
        found.append(AuditFinding("rdf-syntax", "Violation", file.as_posix(), reason, fingerprint=mark, place=place))
    return _audit(found, known, " ".join(str(file) for file, _ in files))


def _audit(found: Sequence[AuditFinding], known: frozenset[str], target: str) -> Audit:
    new = [finding for finding in found if finding.fingerprint not in known]
    counts = {severity: sum(each.severity == severity for each in new) for severity in SEVERITIES}
    return Audit(
        target,
        "",
        counts | {"suppressed": len(found) - len(new), "not_decided": 0},
        tuple(new),
        totals=Counter(each.check for each in new),
        levels=Counter((each.severity, each.check) for each in new),
        fingerprints=tuple(each.fingerprint for each in found),
    )


def _finding(file: Path, checked: Check, number: int) -> AuditFinding:
    one = checked.findings[number]
    message = f"{one.message} {one.hint}".strip()
    terms = (one.subject, one.predicate, one.object)
    # the same fault of the same terms twice in a file is two findings
    again = sum(
        each.rule == one.rule and (each.subject, each.predicate, each.object) == terms
        for each in checked.findings[:number]
    )
    mark = digest("query", file.as_posix(), one.rule, *terms, str(again))
    return AuditFinding(
        f"{_PREFIX}{one.rule}",
        _SEVERITY[one.severity],
        file.as_posix(),
        message,
        fingerprint=mark,
        place=(str(file), one.line),
    )
