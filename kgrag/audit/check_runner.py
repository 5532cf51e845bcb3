"""Run the checks of a profile on a target: shapes by the SHACL engine, stored queries, and steps.

The shapes of all checks are compiled once; each check then runs its own constraints, so that its time is known. What
the engine does not cover (in a user's shapes) goes to pyshacl, and the results name it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from kgrag import queries, shacl
from kgrag.audit.checks import OFF, SEVERITIES, Catalogue, Check
from kgrag.audit.findings import AuditFinding, Undecided
from kgrag.audit.listed_findings import level, with_fingerprints
from kgrag.audit.profiles import Profile
from kgrag.audit.step_input import Row, StepInput, Unasked, filled, message_template
from kgrag.audit.steps import run_step
from kgrag.errors import NotDecided, UnknownName
from kgrag.model import Violation
from kgrag.ports import TripleStore, Workbench
from kgrag.shacl.pyshacl_validation import by_pyshacl
from kgrag.vocab import AUDIT, local_name

__all__ = ["CheckResults", "compiled", "run_checks"]

SLOW_SECONDS = 0.1
"""A check that took longer is listed as slow."""
MAX_MESSAGE_CHARACTERS = 500
"""How long a message may get that quotes values of the target."""

_GRAPHS = (AUDIT.target, AUDIT.context)


@dataclass(frozen=True, slots=True)
class CheckResults:
    """What the checks found, before suppressions: findings, checks without a verdict, seconds by check.

    ``by_pyshacl`` names the shapes that the engine does not cover.
    """

    findings: tuple[AuditFinding, ...]
    not_decided: tuple[Undecided, ...]
    seconds: Mapping[str, float]
    by_pyshacl: tuple[str, ...] = ()

    @property
    def slow(self) -> tuple[Mapping[str, Any], ...]:
        """The checks that took more than a tenth of a second, slowest first."""
        slowest_first = sorted(self.seconds.items(), key=lambda pair: (-pair[1], pair[0]))
        return tuple({"check": name, "seconds": round(took, 3)} for name, took in slowest_first if took > SLOW_SECONDS)


@cache
def compiled(files: tuple[Path, ...]) -> shacl.Shapes:
    """Return the shapes of some files, compiled; a shape that the engine does not cover is in ``elsewhere``."""
    return shacl.load_shapes(files, elsewhere=True)


def run_checks(catalogue: Catalogue, profile: Profile, given: StepInput) -> CheckResults:
    """Return what the checks of a profile find in a target.

    Args:
        catalogue: the checks, and the files of their shapes.
        profile: which of them run, and how bad their findings are.
        given: the target and what was asked for.
    """
    view = cast("TripleStore", given.target.bench)
    shapes = compiled(catalogue.files)
    unread = dict(shapes.undecided)
    validate = shacl.validation(view, graphs=_GRAPHS, merged=True, written=given.target.written, undecided=unread)
    runner = _Runner(given, shapes, catalogue.owners, validate, unread)
    findings: list[AuditFinding] = []
    undecided: list[Undecided] = []
    seconds: dict[str, float] = {}
    for check in catalogue.checks:
        severity = profile.severity(check)
        if severity == OFF:
            continue
        begin = time.perf_counter()
        try:
            findings += [
                replace(finding, check=check.identifier, severity=severity, anchors=check.anchors, fix=check.fix)
                for finding in runner.findings(check)
            ]
        except NotDecided as reason:
            undecided.append(Undecided(check.identifier, str(reason), not isinstance(reason, Unasked)))
        seconds[check.identifier] = time.perf_counter() - begin
    findings += runner.unowned()
    off = {check.identifier for check in catalogue.checks if profile.severity(check) == OFF}
    for shape, why in sorted(unread.items()):
        if (owner := catalogue.owners.get(shape, "")) not in off:
            undecided.append(Undecided(owner or local_name(shape), why, asked=True))
    order = {severity: number for number, severity in enumerate(SEVERITIES)}
    findings.sort(key=lambda f: (order[f.severity], f.check, f.focus, f.path, f.value, f.message))
    marked = tuple(with_fingerprints(findings, given.target))
    return CheckResults(marked, tuple(undecided), seconds, tuple(sorted(runner.shapes.elsewhere)))


@dataclass(frozen=True, slots=True)
class _Runner:
    """One run over one target."""

    given: StepInput
    shapes: shacl.Shapes
    owners: Mapping[str, str]
    validate: Callable[[shacl.Shapes], list[Violation]]
    unread: dict[str, str]
    by_owner: dict[str, list[Violation]] = field(default_factory=dict)

    def findings(self, check: Check) -> list[AuditFinding]:
        """Return what one check finds, without its name and severity.

        Raises:
            NotDecided: it comes to no verdict.
        """
        if check.shapes:
            return [self._from_violation(violation) for violation in self._violations(check.identifier)]
        rows = run_step(check.step, self.given) if check.step else self._query_rows(check.query)
        return [self._from_row(row, check) for row in rows]

    def unowned(self) -> list[AuditFinding]:
        """Return the violations of shapes that belong to no check, with the shape's own name and severity."""
        return [
            replace(
                self._from_violation(v),
                check=local_name(v.shape),
                severity=level(v.severity),
                terms=v.terms,
                stated_severity="" if v.severity in SEVERITIES else v.severity,
            )
            for v in self._violations("")
        ]

    def _violations(self, owner: str) -> list[Violation]:
        constraints = tuple(c for c in self.shapes.constraints if self.owners.get(c.shape, "") == owner)
        by_engine = self.validate(shacl.Shapes(constraints)) if constraints else []
        if self.shapes.elsewhere and not self.by_owner:
            self.by_owner[""] = []  # marks the run of pyshacl as done, whatever it finds
            bench = cast("TripleStore", self.given.target.bench)
            violations, failed = by_pyshacl(bench, self.shapes, _GRAPHS, written=self.given.target.written)
            self.unread.update(failed)
            for violation in violations:
                self.by_owner.setdefault(self.owners.get(violation.shape, ""), []).append(violation)
        return [*by_engine, *self.by_owner.get(owner, [])]

    def _query_rows(self, query: str) -> list[Row]:
        """Return the rows of a stored query on the target, or on the whole store where it needs the catalogue."""
        try:
            parameters = queries.describe(query).parameters
        except UnknownName:
            raise NotDecided(f"names the stored query '{query}', which does not exist") from None
        values = {"target": AUDIT.target, "context": AUDIT.context}
        if "catalogue" not in parameters:
            asked: Workbench | TripleStore = self.given.target.bench
        elif self.given.store is None:
            raise Unasked("looks at a whole knowledge base; name one with --kb")
        else:
            asked = self.given.store
            values["catalogue"] = self.given.store.names.catalogue
        table = asked.select(queries.bind(query, **{name: values[name] for name in parameters}))
        return [dict(zip(table.variables, row, strict=True)) for row in table.values()]

    def _from_row(self, row: Row, check: Check) -> AuditFinding:
        focus = row.get("focus") or self.given.target.subject
        template = (message_template(check.query) if check.query else "") or f"{check.label}: {{focus}}"
        message = row.get("message") or filled(template, {**row, "focus": focus})[:MAX_MESSAGE_CHARACTERS]
        return self._finding(focus, message, row.get("path", ""), row.get("value", ""))

    def _from_violation(self, violation: Violation) -> AuditFinding:
        finding = self._finding(violation.focus, violation.message, violation.path, violation.value)
        return replace(finding, component=violation.component)

    def _finding(self, focus: str, message: str, path: str, value: str) -> AuditFinding:
        target = self.given.target
        named_focus, named_value = (f"_:{term}" if term in target.blanks else term for term in (focus, value))
        return AuditFinding(
            check="",
            severity="",
            focus=target.subject if focus == AUDIT.target.value else named_focus,
            message=message.replace(AUDIT.target.value, target.subject),
            path=path,
            # a node shape repeats its focus as the value, which adds nothing
            value="" if value == focus and not path else named_value,
        )
