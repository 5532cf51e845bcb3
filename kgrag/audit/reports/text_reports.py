"""Reports for a terminal and for a program.

Words that several reports share.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import groupby

from kgrag.audit.checks import Check
from kgrag.audit.findings import Audit

__all__ = [
    "WELL_KNOWN",
    "as_explanation",
    "as_json",
    "as_text",
    "headline",
    "printable",
    "shortened",
    "title",
]


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


_CONTROL = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

WELL_KNOWN = {
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://purl.org/dc/terms/": "dcterms:",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
    "http://www.w3.org/2000/01/rdf-schema#": "rdfs:",
    "http://www.w3.org/2001/XMLSchema#": "xsd:",
    "http://www.w3.org/2002/07/owl#": "owl:",
    "http://www.w3.org/2004/02/skos/core#": "skos:",
    "http://www.w3.org/ns/prov#": "prov:",
    "http://www.w3.org/ns/shacl#": "sh:",
}


def title(audit: Audit, check: str) -> str:
    """Give what a check is called; shapes of a user's own have no more than their name."""
    return audit.checks[check].label if check in audit.checks else ""


def printable(text: str) -> str:
    """Put a mark in place of control characters, which no terminal, page or XML document should meet."""
    return _CONTROL.sub("\ufffd", text)


def shortened(audit: Audit) -> Callable[[str], str]:
    """Give a function that writes IRIs in a text shorter: own terms by ``:``, well-known ones by their prefix."""
    prefixes = {**WELL_KNOWN, **dict.fromkeys(audit.namespaces, ":")}
    longest = sorted(prefixes, key=len, reverse=True)
    found = re.compile("(" + "|".join(re.escape(each) for each in longest) + r")(?=[\w%.-])")
    return lambda text: found.sub(lambda match: prefixes[match[1]], text)


def headline(audit: Audit) -> str:
    """Give the counts in one line."""
    names = {"Violation": "violation", "Warning": "warning", "Info": "info"}
    told = [
        f"{count} {name}{'s' if count != 1 and severity != 'Info' else ''}"
        for severity, name in names.items()
        for count in [audit.counts[severity]]
    ]
    told += [f"{audit.counts['suppressed']} suppressed"] if audit.counts["suppressed"] else []
    told += [f"{audit.counts['not_decided']} not decided"] if audit.counts["not_decided"] else []
    return ", ".join(told)
