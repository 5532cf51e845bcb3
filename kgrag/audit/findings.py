"""An audit and its findings: values, and their JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kgrag.audit.checks import SEVERITIES, Check
from kgrag.model import ViolationTerms

__all__ = ["Audit", "AuditFinding", "Undecided"]


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One violation of a check.

    ``focus`` is an IRI or the name of a blank node, ``path`` a property or "", ``value`` a term as text or "".
    ``fingerprint`` stays the same from audit to audit while check, focus, path and value do. ``component`` is the SHACL
    component that was violated, "sparql" for a finding of a query or a step. ``stated_severity`` is what a shape states
    that is none of the three severities; the finding then counts as ``severity``. ``together`` are the
    fingerprints of the findings that read as this one. ``terms`` are those of the result, where a shape of a user's own
    found it. ``place`` is file and line (0: not known), where they are not to be looked for by the focus.
    """

    check: str
    severity: str
    focus: str
    message: str
    path: str = ""
    value: str = ""
    anchors: tuple[str, ...] = ()
    fix: str = ""
    fingerprint: str = ""
    component: str = "sparql"
    stated_severity: str = ""
    together: tuple[str, ...] = ()
    terms: ViolationTerms | None = field(default=None, repr=False, compare=False)
    place: tuple[str, int] | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Return its part of the audit's JSON form, without empty fields."""
        return {
            "check": self.check,
            "severity": self.severity,
            **({"stated_severity": self.stated_severity} if self.stated_severity else {}),
            "focus": self.focus,
            **({"path": self.path} if self.path else {}),
            **({"value": self.value} if self.value else {}),
            "message": self.message,
            **({"component": self.component} if self.terms is not None else {}),
            "anchors": list(self.anchors),
            **({"fix": self.fix} if self.fix else {}),
            "fingerprint": self.fingerprint,
            **({"together": list(self.together)} if self.together else {}),
        }


@dataclass(frozen=True, slots=True)
class Undecided:
    """A check without a verdict; where it was ``asked`` for, that is a failure."""

    check: str
    reason: str
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit of one target.

    ``counts`` are exact: by severity, of what suppressions or a baseline removed, and of checks without a verdict.
    ``findings`` are at most ``limit`` per check, worst first, then by check, focus, path and value. ``slow`` lists
    checks that took more than a tenth of a second. ``totals`` has the exact count of each check with a finding,
    ``levels`` that of each severity and check,
    ``checks`` describes those that were run, ``fingerprints`` are those of all findings, ``namespaces`` the target's
    own, ``files`` where it was read from, ``prefixes`` what these declare, ``labels`` those of terms in findings.
    ``shapes`` names a user's own shapes that were run, ``without_nodes`` those whose targets match nothing.
    ``sources`` says where nodes of a knowledge base are stated
    that findings are about: title of a document, file, or graph. From the severity
    ``conforms_below`` on, a finding breaks conformance; of a validation by shapes, ``disallowed`` counts those that do.
    """

    target: str
    profile: str
    counts: Mapping[str, int]
    findings: tuple[AuditFinding, ...] = ()
    slow: tuple[Mapping[str, Any], ...] = ()
    engine: str = ""
    not_decided: tuple[Undecided, ...] = ()
    unused_suppressions: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    totals: Mapping[str, int] = field(default_factory=dict)
    levels: Mapping[tuple[str, str], int] = field(default_factory=dict, repr=False)
    checks: Mapping[str, Check] = field(default_factory=dict, repr=False)
    namespaces: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict, repr=False)
    labels: Mapping[str, str] = field(default_factory=dict, repr=False)
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)
    fingerprints: tuple[str, ...] = field(default=(), repr=False)
    shapes: tuple[str, ...] = ()
    without_nodes: tuple[str, ...] = ()
    conforms_below: str = "Violation"
    disallowed: int | None = None

    @property
    def conforms(self) -> bool:
        """Whether all that was asked for has a verdict, and no finding is too bad: in an audit, no violation."""
        return not (self.departs or self.undecided_though_asked)

    @property
    def departs(self) -> bool:
        """Whether a finding is too bad to conform."""
        return bool(self.at_or_above(self.conforms_below) if self.disallowed is None else self.disallowed)

    @property
    def undecided_though_asked(self) -> bool:
        """Whether a check that was asked for reached no verdict."""
        return any(undecided.asked for undecided in self.not_decided)

    def at_or_above(self, severity: str) -> int:
        """Return how many findings are as bad as ``severity`` or worse; 0 for "never"."""
        if severity not in SEVERITIES:
            return 0
        return sum(self.counts[name] for name in SEVERITIES[: SEVERITIES.index(severity) + 1])

    def to_json(self) -> dict[str, Any]:
        """Return the audit's JSON form."""
        return {
            "target": self.target,
            "profile": self.profile,
            "conforms": self.conforms,
            "counts": dict(self.counts),
            "findings": [finding.to_json() for finding in self.findings],
            "slow": [dict(check) for check in self.slow],
            "engine": self.engine,
            "not_decided": [{"check": check.check, "reason": check.reason} for check in self.not_decided],
            "unused_suppressions": list(self.unused_suppressions),
            **({"without_nodes": list(self.without_nodes)} if self.without_nodes else {}),
            **({"labels": dict(self.labels)} if self.labels else {}),
            **({"sources": dict(self.sources)} if self.sources else {}),
            **({"metrics": dict(self.metrics)} if self.metrics else {}),
        }

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><td>{name}</td><td>{count}</td></tr>" for name, count in self.counts.items())
        return f"<table>{cells}</table>"
