"""Reports for a terminal and for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from kgrag.audit.catalogue import Check
from kgrag.audit.findings import Audit
from kgrag.audit.reports.wording import headline, printable, shortened, title

__all__ = ["as_explanation", "as_json", "as_text"]


def as_json(audit: Audit) -> str:
    """Give the audit's JSON form."""
    return json.dumps(audit.to_json(), ensure_ascii=False, indent=2)


def as_text(audit: Audit) -> str:
    """Give an audit for a person: the worst first, grouped by check, then what was not decided."""
    return printable("\n".join(_lines(audit)))


def as_explanation(check: Check) -> str:
    """Say of one check what it looks for, why, how to mend it, where else it is checked, and how bad it is where."""
    severities = ", ".join(f"{profile} {level}" for profile, level in check.severities.items())
    decided = check.query or check.step or " ".join(check.shapes)
    told = {
        "severity": f"{check.severity}{f' ({severities})' if severities else ''}",
        "why": check.rationale,
        "mend": check.mend,
        "caution": check.caution,
        "the same": ", ".join(check.anchors),
        "decided": f"{check.file.name}: {decided}",
        "safe fix": check.fix,
    }
    lines = [f"{name:<9} {text}" for name, text in told.items() if text]
    example = [f"\nviolates it:\n{text.strip()}" for text in check.violating[:1]]
    return "\n".join([f"{check.identifier}  {check.label}", *lines, *example])


def _lines(audit: Audit) -> Iterator[str]:
    short = shortened(audit)
    yield f"{audit.target}  (profile {audit.profile})"
    yield from (f"a name like :this stands in {namespace}" for namespace in audit.namespaces)
    for (severity, check), findings in groupby(audit.findings, key=lambda f: (f.severity, f.check)):
        yield ""
        yield f"{severity:<9} {check}  {title(audit, check)}  ({audit.totals[check]})"
        shown = 0
        for finding in findings:
            shown += 1
            about = "" if finding.focus in finding.message else f"{short(finding.focus)}: "
            yield f"    {about}{short(finding.message)}"
        if audit.totals[check] > shown:
            yield f"    ... and {audit.totals[check] - shown} more"
    yield from [""] if audit.not_decided else []
    for each in audit.not_decided:
        yield f"not decided  {each.check}  {title(audit, each.check)}: {each.reason}"
    for text in audit.unused_suppressions:
        yield f"suppression  {text}"
    yield ""
    yield from (f"{name:<24} {value:>12}" for name, value in audit.metrics.items())
    yield headline(audit)
