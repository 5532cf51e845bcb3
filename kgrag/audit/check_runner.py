"""Runs checks on a target: shapes by the SHACL engine, stored queries, steps; each with the time it took.

The shapes of all checks are compiled once; each check then runs its own constraints, so that its time is known. What
the engine does not cover (in a user's shapes) goes to pyshacl and is named.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from kgrag import queries, shacl
from kgrag.audit.audit_context import Scope
from kgrag.audit.blank_node_names import BlankNodes
from kgrag.audit.checks import OFF, SEVERITIES, Catalogue, Check
from kgrag.audit.findings import AuditFinding, Undecided
from kgrag.audit.profiles import Profile
from kgrag.audit.steps import StepInput, Unasked, run_step
from kgrag.errors import NotDecided, UnknownName
from kgrag.model import Violation
from kgrag.ports import TripleStore
from kgrag.shacl.pyshacl_validation import by_pyshacl
from kgrag.vocab import AUDIT, digest, local_name

__all__ = ["Outcome", "compiled", "run_checks"]

_SLOW = 0.1
_DATA = (AUDIT.target, AUDIT.context)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the checks gave, before suppressions: findings, checks without a verdict, seconds by check."""

    findings: tuple[AuditFinding, ...]
    not_decided: tuple[Undecided, ...]
    seconds: Mapping[str, float]
    elsewhere: tuple[str, ...] = ()

    @property
    def slow(self) -> tuple[Mapping[str, Any], ...]:
        """The checks that took more than a tenth of a second, slowest first."""
        took = sorted(self.seconds.items(), key=lambda each: (-each[1], each[0]))
        return tuple({"check": name, "seconds": round(each, 3)} for name, each in took if each > _SLOW)


@cache
def compiled(files: tuple[Path, ...]) -> shacl.Shapes:
    """Give the shapes of some files, compiled; a shape beyond the engine is named in ``elsewhere``."""
    return shacl.load_shapes(files, elsewhere=True)


def run_checks(catalogue: Catalogue, profile: Profile, given: StepInput) -> Outcome:
    """Run the checks of a profile on a target.

    Args:
        catalogue: the checks, and the files of their shapes.
        profile: which of them run, and how bad their findings are.
        given: the target and what was asked for.
    """
    view = cast("TripleStore", given.scope.bench)
    validate = shacl.validation(view, graphs=_DATA, merged=True, written=given.scope.written)
    runner = _Runner(given, compiled(catalogue.files), catalogue.owners, validate)
    findings: list[AuditFinding] = []
    undecided: list[Undecided] = []
    seconds: dict[str, float] = {}
    for check in catalogue.checks:
        severity = profile.severity(check)
        if severity == OFF:
            continue
        begin = time.perf_counter()
        try:
            findings += [_stamped(found, check, severity) for found in runner.check(check)]
        except NotDecided as reason:
            undecided.append(Undecided(check.identifier, str(reason), not isinstance(reason, Unasked)))
        seconds[check.identifier] = time.perf_counter() - begin
    findings += runner.unowned()
    order = {severity: number for number, severity in enumerate(SEVERITIES)}
    findings.sort(key=lambda f: (order[f.severity], f.check, f.focus, f.path, f.value, f.message))
    marked = tuple(_marked(findings, given.scope))
    return Outcome(marked, tuple(undecided), seconds, tuple(sorted(runner.shapes.elsewhere)))


def _marked(findings: Sequence[AuditFinding], scope: Scope) -> Iterator[AuditFinding]:
    """Yield findings with fingerprints; blank nodes count by what is said of them, and their owner is named."""
    blank = any(text.startswith("_:") for finding in findings for text in (finding.focus, finding.value))
    nodes = BlankNodes.of(scope.bench.triples(AUDIT.target)) if blank else BlankNodes({}, {})
    seen: Counter[str] = Counter()
    for finding in findings:
        owner = nodes.owner(finding.focus[2:]) if finding.focus.startswith("_:") else ""
        focus, value = (nodes.names.get(text[2:], text) for text in (finding.focus, finding.value))
        mark = digest(finding.check, owner, focus, finding.path, value)
        seen[mark] += 1
        mark = mark if seen[mark] == 1 else digest(mark, str(seen[mark]))
        told = (
            f"{finding.message} It is part of {owner}." if owner and owner not in finding.message else finding.message
        )
        yield replace(finding, fingerprint=mark, message=told)


def _stamped(found: AuditFinding, check: Check, severity: str) -> AuditFinding:
    return replace(found, check=check.identifier, severity=severity, anchors=check.anchors, fix=check.fix)


@dataclass(frozen=True, slots=True)
class _Runner:
    """One run over one target."""

    given: StepInput
    shapes: shacl.Shapes
    owners: Mapping[str, str]
    validate: Callable[[shacl.Shapes], list[Violation]]
    left: dict[str, list[Violation]] = field(default_factory=dict)

    @property
    def scope(self) -> Scope:
        return self.given.scope

    def check(self, check: Check) -> list[AuditFinding]:
        """Give what one check finds.

        Raises:
            NotDecided: it comes to no verdict.
        """
        if check.step:
            return [self._from_row(row, check) for row in run_step(check.step, self.given)]
        if check.query:
            return self._asked(check)
        return self._validated(check.identifier)

    def unowned(self) -> list[AuditFinding]:
        """Give what shapes find that belong to no check; their own severity and name stand for a check's."""
        return [
            replace(finding, check=local_name(violation.shape), severity=violation.severity)
            for violation, finding in self._pairs("")
        ]

    def _validated(self, owner: str) -> list[AuditFinding]:
        return [finding for _, finding in self._pairs(owner)]

    def _pairs(self, owner: str) -> Iterator[tuple[Violation, AuditFinding]]:
        constraints = tuple(c for c in self.shapes.constraints if self.owners.get(c.shape, "") == owner)
        found: list[Violation] = []
        if constraints:
            found = self.validate(shacl.Shapes(constraints))
        for violation in [*found, *self._elsewhere().get(owner, [])]:
            finding = self._finding(violation.focus, violation.message, violation.path, violation.value)
            yield violation, replace(finding, component=violation.component)

    def _elsewhere(self) -> dict[str, list[Violation]]:
        """Give owner -> violations of the shapes that went to pyshacl; it is asked once."""
        if self.shapes.elsewhere and not self.left:
            self.left[""] = []
            bench = cast("TripleStore", self.scope.bench)
            for violation in by_pyshacl(bench, self.shapes, _DATA, written=self.scope.written):
                self.left.setdefault(self.owners.get(violation.shape, ""), []).append(violation)
        return self.left

    def _asked(self, check: Check) -> list[AuditFinding]:
        """Run a stored query: on the target and its context, or on the whole store where it wants the catalogue."""
        try:
            wanted = queries.describe(check.query).parameters
        except UnknownName:
            raise NotDecided(f"names the stored query '{check.query}', which is not there") from None
        values = {"target": AUDIT.target, "context": AUDIT.context}
        store: Any = self.scope.bench
        if "catalogue" in wanted:
            store = self.given.store
            if store is None:
                raise Unasked("looks at a whole knowledge base; name one with --kb")
            values["catalogue"] = store.names.catalogue
        table = store.select(queries.bind(check.query, **{name: values[name] for name in wanted}))
        names = table.variables
        return [self._from_row(dict(zip(names, row, strict=True)), check) for row in table.values()]

    def _from_row(self, row: Mapping[str, str], check: Check) -> AuditFinding:
        focus = row.get("focus") or self.scope.subject
        message = row.get("message") or _filled(_message(check), {**row, "focus": focus})
        return self._finding(focus, message, row.get("path", ""), row.get("value", ""))

    def _finding(self, focus: str, message: str, path: str, value: str) -> AuditFinding:
        shown = self.scope.subject if focus == AUDIT.target.value else self._named(focus)
        text = message.replace(AUDIT.target.value, self.scope.subject)
        told = "" if value == focus and not path else self._named(value)
        return AuditFinding("", "", shown, text, path=path, value=told)

    def _named(self, term: str) -> str:
        return f"_:{term}" if term in self.scope.blanks else term


def _message(check: Check) -> str:
    header = queries.describe(check.query).header if check.query else ""
    found = re.search(r"^message\s+(.*)$", header, flags=re.MULTILINE)
    return found[1] if found else f"{check.label}: {{focus}}"


def _filled(message: str, row: Mapping[str, str]) -> str:
    return re.sub(r"\{[?$]?(\w+)\}", lambda found: row.get(found[1], found[0]), message)[:500]
