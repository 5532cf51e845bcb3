"""Many findings of one design decision as one: "113 of 118 properties have no rdfs:domain".

A check says by ``aud:together`` how several of its findings read as one, and by ``aud:among`` of which terms they are.
They are gathered by check and severity, and by property where the sentence names it; what was suppressed or known is
out before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kgrag.audit.audit_context import AuditTarget
from kgrag.audit.checks import Check
from kgrag.audit.findings import AuditFinding
from kgrag.model import plain
from kgrag.vocab import AUDIT, RDF, digest

__all__ = ["LISTS_THEM", "MIN_FINDINGS_TOGETHER", "gathered"]

MIN_FINDINGS_TOGETHER = 3
"""From so many findings on, one line says more than they do."""
_MAX_EXAMPLES = 3
LISTS_THEM = "`--all` lists them."
"""Ends a message; the option is that of the command line."""


def gathered(findings: Sequence[AuditFinding], checks: Mapping[str, Check], target: AuditTarget) -> list[AuditFinding]:
    """Return findings with those of each design decision as one, in the place of the first of them."""

    def group_of(finding: AuditFinding) -> tuple[str, str, str]:
        check = checks.get(finding.check)
        return finding.check, finding.severity, finding.path if check and "{path}" in check.together else ""

    groups: dict[tuple[str, str, str], list[AuditFinding]] = defaultdict(list)
    for finding in findings:
        if finding.check in checks and checks[finding.check].together:
            groups[group_of(finding)].append(finding)
    many = {key: group for key, group in groups.items() if len(group) >= MIN_FINDINGS_TOGETHER}
    together: list[AuditFinding] = []
    for finding in findings:
        key = group_of(finding)
        if key not in many:
            together.append(finding)
        elif group := many[key]:
            together.append(_as_one(group, checks[finding.check], target))
            many[key] = []
    return together


def _as_one(group: Sequence[AuditFinding], check: Check, target: AuditTarget) -> AuditFinding:
    first = group[0]
    of_values = len({finding.focus for finding in group}) == 1
    named = list(dict.fromkeys(finding.value if of_values else finding.focus for finding in group))
    more = len(named) - _MAX_EXAMPLES
    examples = ", ".join(named[:_MAX_EXAMPLES]) + (f" and {more:,} more" if more > 0 else "")
    marks = tuple(sorted(finding.fingerprint for finding in group))
    count, among = len(group), _among(check, target)
    share = f"{count} of {among}" if among >= count else str(count)
    message = check.together.format(share=share, path=first.path, examples=examples)
    return replace(
        first,
        focus=first.focus if of_values else target.subject,
        value="",
        message=f"{message} {LISTS_THEM}",
        fingerprint=digest(check.identifier, first.path, *marks),
        together=marks,
        terms=None,
    )


def _among(check: Check, target: AuditTarget) -> int:
    """Return how many terms of the target the check looks at, 0 where it does not say which."""
    classes = {AUDIT.prefix + name for name in check.among}
    typed = (t for t in target.bench.triples(AUDIT.context) if classes and t.predicate == RDF.type)
    return len({triple.subject for triple in typed if plain(triple.object) in classes})
