"""A check as text for a person: each finding with the line of the query it is about, and a caret under the place."""

from __future__ import annotations

from kgrag.stages.sparql_check.findings import Check, Finding

__all__ = ["as_text"]

_WIDE = 160


def as_text(check: Check) -> str:
    """Give a check as text.

    >>> finding = Finding("demo", "error", "Wrong.", column=8, start=7, end=9, hint="Mend it.")
    >>> print(as_text(Check("SELECT ?x {}", (finding,))))
    error demo, line 1, column 8: Wrong.
        SELECT ?x {}
               ^^
        hint: Mend it.
    1 error
    """
    lines = check.query.split("\n")
    parts = [_finding(finding, lines) for finding in check.findings]
    return "\n".join([*parts, *(f"note: {note}" for note in check.notes), _summary(check)])


def _finding(finding: Finding, lines: list[str]) -> str:
    told = [f"{finding.severity} {finding.rule}, line {finding.line}, column {finding.column}: {finding.message}"]
    if finding.line <= len(lines) and lines[finding.line - 1].strip():
        told += _pointed(lines[finding.line - 1], finding)
    if finding.hint:
        told.append(f"    hint: {finding.hint}")
    return "\n".join(told)


def _pointed(line: str, finding: Finding) -> list[str]:
    """Cut a long line to what is near the place; tabs keep their width under the caret."""
    at = min(finding.column - 1, len(line))
    left = max(0, at - _WIDE // 2) if len(line) > _WIDE else 0
    shown = line[left : left + _WIDE].rstrip()
    pad = "".join("\t" if character == "\t" else " " for character in line[left:at])
    width = max(1, min(finding.end - finding.start, len(shown) - (at - left)))
    return [f"    {shown}", f"    {pad}{'^' * width}"]


def _summary(check: Check) -> str:
    counts = {kind: sum(finding.severity == kind for finding in check.findings) for kind in _KINDS}
    told = [f"{count} {kind}{_KINDS[kind] if count > 1 else ''}" for kind, count in counts.items() if count]
    return ", ".join(told) or "nothing found"


_KINDS = {"refused": "", "error": "s", "warning": "s", "info": "s"}
