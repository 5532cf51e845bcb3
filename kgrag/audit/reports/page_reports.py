"""Reports to be read as a page: Markdown for a merge request, and one HTML file for an auditor.

The HTML loads nothing from outside (its own content policy forbids it), can be read without scripts and printed, and
follows the reader's choice of light or dark. With scripts it filters by severity, check and text, and groups by
check or term.
"""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any

import jinja2

from kgrag.audit.checks import SEVERITIES
from kgrag.audit.findings import Audit, AuditFinding
from kgrag.audit.reports.line_numbers import place_finder
from kgrag.audit.reports.text_reports import headline, printable, shortened, title, unmatched
from kgrag.late_patterns import late_re

__all__ = ["as_html", "as_markdown"]

_MARKS = late_re(r"[\\`*_\[\]<>|#~&]")
BAR_WIDTH_PIXELS = 420


def as_markdown(audit: Audit) -> str:
    """Return an audit as Markdown: counts, then a table per check."""
    return "\n".join(_markdown(audit)) + "\n"


def _markdown(audit: Audit) -> Iterator[str]:
    short = shortened(audit)
    yield f"# Audit of {_cell(audit.target)}"
    yield ""
    yield f"Profile `{audit.profile}`: {headline(audit)}." if audit.profile else f"{headline(audit)}."
    for (severity, check), found in groupby(audit.findings, key=lambda f: (f.severity, f.check)):
        yield from ("", f"## {severity}: {check} {title(audit, check)} ({audit.totals[check]})", "")
        if check in audit.checks:
            yield from (f"{_cell(audit.checks[check].rationale)} *Mend:* {_cell(audit.checks[check].mend)}", "")
        yield from ("| term | finding |", "| --- | --- |")
        rows = [f"| {_cell(short(finding.focus))} | {_cell(short(finding.message))} |" for finding in found]
        yield from rows
        if audit.totals[check] > len(rows):
            yield f"| | ... and {audit.totals[check] - len(rows)} more |"
    if audit.not_decided:
        yield from ("", "## Not decided", "")
        yield from (f"- {item.check} {title(audit, item.check)}: {_cell(item.reason)}" for item in audit.not_decided)
    if audit.without_nodes:
        yield from ("", f"## {unmatched(audit)}", "")
        yield from (f"- {_cell(short(shape))}" for shape in audit.without_nodes)
    if audit.unused_suppressions:
        yield from ("", "## Suppressions without effect", "")
        yield from (f"- {_cell(text)}" for text in audit.unused_suppressions)


def _cell(text: str) -> str:
    """Return text that Markdown renders literally."""
    flat = " ".join(printable(text).split())
    return _MARKS.sub(lambda mark: f"&#{ord(mark[0])};" if mark[0] in "<>&|" else f"\\{mark[0]}", flat)


def as_html(audit: Audit) -> str:
    """Return an audit as one HTML file."""
    style, script = (_part(name) for name in ("report.css", "report.js"))
    policy = f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'"
    by_term: dict[str, list[tuple[int, AuditFinding]]] = defaultdict(list)
    for number, finding in enumerate(audit.findings, start=1):
        by_term[finding.focus].append((number, finding))
    page = _template().render(
        audit=audit,
        unmatched=unmatched(audit),
        style=style,
        script=script,
        policy=policy,
        short=shortened(audit),
        severities=SEVERITIES,
        groups=_groups(audit),
        terms=sorted(by_term.items(), key=lambda pair: (-len(pair[1]), pair[0])),
        families=_families(audit),
        headline=headline(audit),
        title=lambda check: title(audit, check),
        place=place_finder(audit),
    )
    return printable(page)


def _groups(audit: Audit) -> list[dict[str, Any]]:
    """Return the findings by check, worst first, each with its number in the report."""
    numbered = list(enumerate(audit.findings, start=1))
    return [
        {"severity": severity, "check": check, "found": list(found), "total": audit.totals[check]}
        for (severity, check), found in groupby(numbered, key=lambda pair: (pair[1].severity, pair[1].check))
    ]


def _families(audit: Audit) -> list[dict[str, Any]]:
    """Return a bar per family: its counts by severity, where the parts begin and how wide they are."""
    counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(SEVERITIES, 0))
    severity = {finding.check: finding.severity for finding in audit.findings}
    for check, total in audit.totals.items():
        family = audit.checks[check].family if check in audit.checks else "own"
        if check in severity:
            counts[family][severity[check]] += total
    largest = max((sum(of_family.values()) for of_family in counts.values()), default=0)
    bars = {name: _bar(of_family, largest) for name, of_family in sorted(counts.items())}
    return [
        {"name": name, "total": sum(counts[name].values()), "parts": bar, "wide": bar[-1]["x"] + bar[-1]["width"]}
        for name, bar in bars.items()
        if bar
    ]


def _bar(counts: dict[str, int], largest: int) -> list[dict[str, Any]]:
    parts, begin = [], 0.0
    for severity, count in counts.items():
        width = BAR_WIDTH_PIXELS * count / largest
        if count:
            parts.append(
                {"severity": severity, "count": count, "x": round(begin, 1), "width": round(max(width, 1.0), 1)}
            )
        begin += width
    return parts


def _part(name: str) -> str:
    return (files("kgrag.audit.reports") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_part("report.html.j2"))
