"""What a check found: findings with place, message, severity, hint and root cause."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kgrag.stages.sparql_reader import Edit, Query

__all__ = ["Check", "Finding"]


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
