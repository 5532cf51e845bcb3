"""Reports for machines that gate a change: SARIF 2.1.0 for code scanners, JUnit XML for build servers."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from kgrag.audit.checks import Check
from kgrag.audit.findings import Audit, AuditFinding, Undecided
from kgrag.audit.reports.line_numbers import line_finder
from kgrag.audit.reports.text_reports import printable, shortened, title
from kgrag.resources import version
from kgrag.vocab import AUDIT

__all__ = ["as_junit", "as_sarif"]

_LEVELS = {"Violation": "error", "Warning": "warning", "Info": "note", "Off": "none"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def as_sarif(audit: Audit) -> str:
    """Return an audit as SARIF 2.1.0: one rule per check, one result per finding, with file and line where known.

    What was not decided is a notification of the run.
    """
    names = sorted({*audit.checks, *(finding.check for finding in audit.findings)})
    index = {name: number for number, name in enumerate(names)}
    driver = {
        "name": "kgrag",
        "version": version(),
        "informationUri": AUDIT.prefix.rstrip("#"),
        "rules": [_rule(name, audit.checks.get(name)) for name in names],
    }
    find_line, short = line_finder(audit.files), shortened(audit)
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": not audit.undecided_though_asked,
                "toolExecutionNotifications": list(_notifications(audit)),
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [
            _result(finding, index, finding.place or find_line(finding.focus), short(finding.message))
            for finding in audit.findings
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=2)


def _rule(name: str, check: Check | None) -> dict[str, Any]:
    if check is None:
        return {"id": name}
    words = re.sub(r"\W+", " ", check.label).title().replace(" ", "")
    return {
        "id": name,
        "name": words,
        "shortDescription": {"text": check.label},
        "fullDescription": {"text": check.rationale},
        "help": {"text": check.mend},
        "defaultConfiguration": {"level": _LEVELS[check.severity], "enabled": check.severity != "Off"},
        "properties": {"tags": [check.family, *check.anchors]},
    }


def _result(
    finding: AuditFinding, index: dict[str, int], place: tuple[str, int] | None, message: str
) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": finding.focus, "kind": "resource"}]}
    if place is not None:
        file, line = place
        region = {"region": {"startLine": line}} if line else {}
        location["physicalLocation"] = {"artifactLocation": {"uri": _uri(file)}, **region}
    extra = {name: text for name, text in (("path", finding.path), ("value", finding.value)) if text}
    return {
        "ruleId": finding.check,
        "ruleIndex": index[finding.check],
        "level": _LEVELS[finding.severity],
        "message": {"text": message},
        "locations": [location],
        "partialFingerprints": {"kgrag/v1": finding.fingerprint},
        **({"properties": extra} if extra else {}),
    }


def _uri(file: str) -> str:
    path = Path(file)
    if path.is_absolute():
        return path.as_uri()
    return quote(path.as_posix())


def _notifications(audit: Audit) -> Iterator[dict[str, Any]]:
    for undecided in audit.not_decided:
        text = f"{undecided.check} is not decided: {undecided.reason}."
        level = "error" if undecided.asked else "warning"
        yield {"level": level, "message": {"text": text}, "associatedRule": {"id": undecided.check}}
    for text in audit.unused_suppressions:
        yield {"level": "note", "message": {"text": f"Suppression {text}"}}


def as_junit(audit: Audit) -> str:
    """Return an audit as JUnit XML: one test case per check, failed by violations and warnings.

    A check without a verdict is skipped, and an error where it was asked for.
    """
    found: dict[str, list[AuditFinding]] = defaultdict(list)
    for finding in audit.findings:
        found[finding.check].append(finding)
    undecided = {each.check: each for each in audit.not_decided}
    families: dict[str, list[str]] = defaultdict(list)
    for name in sorted({*audit.checks, *audit.shapes, *found, *undecided}):
        families[audit.checks[name].family if name in audit.checks else "own"].append(name)
    root = ElementTree.Element("testsuites", name=printable(f"kgrag audit of {audit.target}"))
    for family, names in sorted(families.items()):
        suite = ElementTree.SubElement(root, "testsuite", name=f"audit.{family}", tests=str(len(names)))
        for name in names:
            _case(suite, audit, name, found[name], undecided.get(name))
        suite.set("failures", str(len(suite.findall("testcase/failure"))))
        suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
        suite.set("errors", str(len(suite.findall("testcase/error"))))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _case(
    suite: ElementTree.Element, audit: Audit, name: str, found: list[AuditFinding], undecided: Undecided | None
) -> None:
    label = f"{name} {title(audit, name)}".strip()
    case = ElementTree.SubElement(suite, "testcase", name=printable(label), classname=suite.get("name", ""))
    if undecided is not None:
        kind = "error" if undecided.asked else "skipped"
        ElementTree.SubElement(case, kind, message=printable(f"not decided: {undecided.reason}"))
    if not found:
        return
    short = shortened(audit)
    lines = [f"{finding.focus}: {short(finding.message)}" for finding in found]
    if audit.totals[name] > len(found):
        lines.append(f"... and {audit.totals[name] - len(found)} more")
    worst = found[0].severity
    if worst == "Info":
        ElementTree.SubElement(case, "system-out").text = printable("\n".join(lines))
        return
    failure = ElementTree.SubElement(case, "failure", message=f"{audit.totals[name]} found", type=worst)
    failure.text = printable("\n".join(lines))
