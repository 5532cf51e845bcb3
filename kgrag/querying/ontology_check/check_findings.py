"""What a check found: findings with place, message, severity, hint and root cause.

A check as text for a person: each finding with the line of the query it is about, and a caret under the place.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kgrag.sparql.syntax import Edit, Query

__all__ = [
    "Check",
    "Finding",
    "as_text",
]


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which a query departs from the ontology, the data, or what may be run.

    ``severity`` is "info", "warning", "error" or "refused". ``line`` and ``column`` count from 1, ``start`` and ``end``
    are offsets into the query. Findings of one fault share ``root``. ``mend`` is set where one change of the text is
    certain to do away with the fault.
    """

    rule: str
    severity: str
    message: str
    subject: str = ""
    predicate: str = ""
    object: str = ""
    line: int = 1
    column: int = 1
    start: int = 0
    end: int = 0
    hint: str = ""
    root: int = 0
    mend: Edit | None = None

    @property
    def blocks(self) -> bool:
        """Whether the query must not be run as it stands."""
        return self.severity in ("error", "refused")

    def to_json(self) -> dict[str, Any]:
        """Give the finding as CLI.md fixes it; what is empty is left out."""
        data = asdict(self)
        data.pop("mend")
        optional = ("subject", "predicate", "object", "hint")
        return {name: value for name, value in data.items() if value != "" or name not in optional}


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of a check; ``read`` is None for a text that is no SPARQL. ``notes`` are for a person."""

    query: str
    findings: tuple[Finding, ...] = ()
    read: Query | None = None
    notes: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether nothing found is an error or refused."""
        return not any(finding.blocks for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """Give the check as CLI.md fixes it."""
        document: dict[str, Any] = {"valid": self.valid, "findings": [finding.to_json() for finding in self.findings]}
        if self.notes:
            document["notes"] = list(self.notes)
        return document


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
