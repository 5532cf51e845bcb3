"""Reports for a terminal and for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby

from kgrag.audit.findings import Audit
from kgrag.audit.reports.wording import headline, shortened, title

__all__ = ["as_json", "as_text"]


def as_json(audit: Audit) -> str:
    """Give the audit's JSON form."""
    return json.dumps(audit.to_json(), ensure_ascii=False, indent=2)


def as_text(audit: Audit) -> str:
    """Give an audit for a person: the worst first, grouped by check, then what was not decided."""
    return "\n".join(_lines(audit))


def _lines(audit: Audit) -> Iterator[str]:
    short = shortened(audit)
    yield f"{audit.target}  (profile {audit.profile})"
    for (severity, check), findings in groupby(audit.findings, key=lambda f: (f.severity, f.check)):
        yield ""
        yield f"{severity:<9} {check}  {title(audit, check)}  ({audit.totals[check]})"
        shown = 0
        for finding in findings:
            shown += 1
            yield f"    {short(finding.focus)}: {short(finding.message)}"
        if audit.totals[check] > shown:
            yield f"    ... and {audit.totals[check] - shown} more"
    for each in audit.not_decided:
        yield ""
        yield f"not decided  {each.check}  {title(audit, each.check)}: {each.reason}"
    for text in audit.unused_suppressions:
        yield f"suppression  {text}"
    yield ""
    yield headline(audit)
