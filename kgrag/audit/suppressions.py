"""Findings that an audit does not count: those that somebody decided to accept, and those of a baseline.

A file of suppressions is TOML::

    [[suppress]]
    check = "ANN-02"
    focus = "https://example.org/o#Thing"      # or: pattern = "https://example.org/o#Legacy*"
    reason = "Explains itself."
    expires = 2027-06-30                        # may be left out

A suppression past its day no longer counts; it is reported, as is one that matches nothing. A baseline is the JSON that
``--write-baseline`` writes: with it, only findings that are new since then count.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from kgrag.audit.findings import Audit, AuditFinding
from kgrag.errors import InvalidSettings

__all__ = ["QUESTION", "Suppression", "baseline_text", "read_baseline", "read_suppressions", "suppress"]

QUESTION = "CQ-"
"""Prefix of the name of a competency question, where a check's is expected."""
_KEYS = {"check", "expires", "focus", "pattern", "reason"}


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings of one check, on one focus or on those that match a pattern (``*``, ``?``), and the reason."""

    check: str
    reason: str
    focus: str = ""
    pattern: str = ""
    expires: date | None = None

    @property
    def of_question(self) -> bool:
        """Whether it is about a competency question; those run apart from the checks."""
        return self.check.startswith(QUESTION)

    def covers(self, finding: AuditFinding) -> bool:
        """Return whether it applies to a finding."""
        if finding.check != self.check:
            return False
        return finding.focus == self.focus if self.focus else fnmatchcase(finding.focus, self.pattern)

    def __str__(self) -> str:
        """Return check, focus and reason, as reports name it."""
        return f"{self.check} on {self.focus or self.pattern} ({self.reason})"


def read_suppressions(path: Path) -> tuple[Suppression, ...]:
    """Read a file of suppressions.

    Raises:
        InvalidSettings: it is no TOML, or an entry is incomplete; the message names the entry by number.
    """
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSettings(
            f"{path}: {error}. Suppressions are TOML: [[suppress]] with check, focus, reason."
        ) from error
    entries = read.get("suppress")
    if not isinstance(entries, list) or set(read) - {"suppress"}:
        raise InvalidSettings(
            f"{path}: only [[suppress]] tables were expected, with check, focus or pattern, and reason."
        )
    return tuple(_suppression(entry, f"{path}, suppression {number}") for number, entry in enumerate(entries, start=1))


def _suppression(entry: dict[str, Any], where: str) -> Suppression:
    if unknown := set(entry) - _KEYS:
        raise InvalidSettings(f"{where}: '{min(unknown)}' is not known. Use {', '.join(sorted(_KEYS))}.")
    texts = {name: str(entry.get(name, "")).strip() for name in ("check", "focus", "pattern", "reason")}
    if not texts["check"] or not texts["reason"] or bool(texts["focus"]) == bool(texts["pattern"]):
        raise InvalidSettings(f"{where}: it needs check, reason, and either focus or pattern.")
    expires = entry.get("expires")
    if expires is not None and type(expires) is not date:
        raise InvalidSettings(f"{where}: expires is {expires!r}, and a date such as 2027-06-30 was expected.")
    return Suppression(**texts, expires=expires)


@dataclass(frozen=True, slots=True)
class SuppressionResult:
    """The findings that still count, how many do not, and messages about suppressions without effect."""

    findings: tuple[AuditFinding, ...]
    suppressed: int = 0
    unused: tuple[str, ...] = field(default=())


def suppress(
    findings: Sequence[AuditFinding],
    suppressions: Iterable[Suppression],
    baseline: frozenset[str] = frozenset(),
    *,
    today: date,
) -> SuppressionResult:
    """Remove the findings that suppressions cover and those of a baseline."""
    unused: list[str] = []
    removed: set[int] = set()
    for suppression in suppressions:
        covered = {number for number, finding in enumerate(findings) if suppression.covers(finding)}
        if suppression.expires is not None and suppression.expires < today:
            unused.append(f"{suppression}: expired on {suppression.expires}, and no longer counts.")
        elif not covered:
            unused.append(f"{suppression}: matches nothing. Delete it.")
        else:
            removed |= covered
    removed |= {number for number, finding in enumerate(findings) if finding.fingerprint in baseline}
    left = tuple(finding for number, finding in enumerate(findings) if number not in removed)
    return SuppressionResult(left, len(removed), tuple(unused))


def baseline_text(audit: Audit) -> str:
    """Return as JSON the fingerprints of an audit's findings, those beyond its limit as well."""
    document = {"target": audit.target, "profile": audit.profile, "fingerprints": sorted(audit.fingerprints)}
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def read_baseline(path: Path) -> frozenset[str]:
    """Read the fingerprints of a baseline, or of an audit's JSON.

    Raises:
        InvalidSettings: it is neither.
    """
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        if "fingerprints" in read:
            return frozenset(str(mark) for mark in read["fingerprints"])
        marks = ([finding["fingerprint"], *finding.get("together", ())] for finding in read["findings"])
        return frozenset(str(mark) for found in marks for mark in found)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidSettings(
            f"{path}: this is no baseline ({type(error).__name__}: {error}). "
            "Write one with kgrag audit --write-baseline."
        ) from error
