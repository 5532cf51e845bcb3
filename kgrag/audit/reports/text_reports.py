"""Reports for a terminal and for a program, and the phrases that all reports share: titles, headline, short IRIs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import groupby

from kgrag.audit.checks import Check
from kgrag.audit.findings import Audit
from kgrag.audit.reports.line_numbers import place_finder
from kgrag.audit.reports.term_names import name_writer
from kgrag.late_patterns import late_re

__all__ = [
    "as_explanation",
    "as_json",
    "as_text",
    "headline",
    "printable",
    "shortened",
    "title",
]


_CONTROL_CHARACTER = late_re("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_json(audit: Audit) -> str:
    """Return the audit's JSON form, indented, with the place of each finding as far as it is known."""
    document, place = audit.to_json(), place_finder(audit)
    for written, finding in zip(document["findings"], audit.findings, strict=True):
        if where := place(finding):
            written["place"] = where
    return json.dumps(document, ensure_ascii=False, indent=2)


def as_text(audit: Audit) -> str:
    """Return an audit as plain text: the worst first, grouped by check, then what was not decided."""
    return printable("\n".join(_lines(audit)))


def as_explanation(check: Check) -> str:
    """Return a description of a check: what it looks for, why, how to mend it, its anchors, its severity by profile."""
    severities = ", ".join(f"{profile} {level}" for profile, level in check.severities.items())
    decided = check.query or check.step or " ".join(check.shapes)
    fields = {
        "severity": f"{check.severity}{f' ({severities})' if severities else ''}",
        "why": check.rationale,
        "mend": check.mend,
        "caution": check.caution,
        "the same": ", ".join(check.anchors),
        "decided": f"{check.file.name}: {decided}",
        "safe fix": check.fix,
    }
    lines = [f"{name:<9} {text}" for name, text in fields.items() if text]
    example = [f"\nviolates it:\n{text.strip()}" for text in check.violating[:1]]
    return "\n".join([f"{check.identifier}  {check.label}", *lines, *example])


def _lines(audit: Audit) -> Iterator[str]:
    short, named = name_writer(audit.namespaces, audit.prefixes, audit.labels)
    place = place_finder(audit)
    yield f"{audit.target}  (profile {audit.profile})" if audit.profile else audit.target
    yield from (f"names like :this are in {namespace}" for namespace in named)
    for (severity, check), findings in groupby(audit.findings, key=lambda f: (f.severity, f.check)):
        yield ""
        total = audit.levels.get((severity, check), audit.totals[check])
        yield f"{severity:<9} {short(check)}  {title(audit, check)}  ({total})"
        listed = 0
        for finding in findings:
            listed += 1
            subject = "" if finding.focus in finding.message else f"{short(finding.focus)}: "
            where = "" if audit.profile else place(finding)  # terms of an ontology are found by their names
            yield f"    {subject}{short(finding.message)}{f'  [{where}]' if where else ''}"
        if total > listed:
            yield f"    ... and {total - listed} more"
    if audit.not_decided:
        yield ""
    for undecided in audit.not_decided:
        yield f"not decided  {short(undecided.check)}  {title(audit, undecided.check)}: {undecided.reason}"
    for text in audit.unused_suppressions:
        yield f"suppression  {text}"
    yield ""
    if audit.without_nodes:
        yield f"{unmatched(audit)}: {', '.join(map(short, audit.without_nodes))}"
    yield from (f"{name:<24} {value:>12}" for name, value in audit.metrics.items())
    yield headline(audit)


def unmatched(audit: Audit) -> str:
    """Return how many shapes had no node to check, in words."""
    number = len(audit.without_nodes)
    return f"{number} of {len(audit.shapes)} shape{'s' if len(audit.shapes) != 1 else ''} had no node to check"


def title(audit: Audit, check: str) -> str:
    """Return the label of a check; "" for a user's own shape, which has a name only."""
    return audit.checks[check].label if check in audit.checks else ""


def printable(text: str) -> str:
    """Return text with U+FFFD in place of control characters, which terminals execute and XML forbids."""
    return _CONTROL_CHARACTER.sub("\ufffd", text)


def shortened(audit: Audit) -> Callable[[str], str]:
    """Return a function that writes the IRIs in a text shorter, as ``name_writer`` does, with labels."""
    return name_writer(audit.namespaces, audit.prefixes, audit.labels)[0]


def headline(audit: Audit) -> str:
    """Return the counts of an audit in one line."""
    violations, warnings = audit.counts["Violation"], audit.counts["Warning"]
    parts = [
        f"{violations} violation{'s' if violations != 1 else ''}",
        f"{warnings} warning{'s' if warnings != 1 else ''}",
        f"{audit.counts['Info']} info",
    ]
    parts += [f"{audit.counts['suppressed']} suppressed"] if audit.counts["suppressed"] else []
    parts += [f"{audit.counts['not_decided']} not decided"] if audit.counts["not_decided"] else []
    return ", ".join(parts)
