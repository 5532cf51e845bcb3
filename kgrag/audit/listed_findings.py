"""What findings of audits and of validations have in common: fingerprints, severities, labels, how many are listed.

Queries: ``audit/context_labels``, ``audit/data_labels``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.audit_context import AuditTarget
from kgrag.audit.blank_node_names import BlankNodes
from kgrag.audit.checks import SEVERITIES
from kgrag.audit.findings import AuditFinding
from kgrag.audit.reports.term_names import iris_in
from kgrag.vocab import AUDIT, digest

__all__ = ["ENGINE", "labels_of", "level", "limited", "with_fingerprints"]

ENGINE = "kgrag SHACL engine on Oxigraph"


def level(severity: str) -> str:
    """Return which of the three severities one counts as that a shape states: one of a user's own is a violation.

    ``Debug`` and ``Trace`` are those of SHACL 1.2 below ``Info``.
    """
    if severity in ("Debug", "Trace"):
        return "Info"
    return severity if severity in SEVERITIES else "Violation"


def with_fingerprints(findings: Sequence[AuditFinding], target: AuditTarget) -> Iterator[AuditFinding]:
    """Yield findings with fingerprints; a blank node counts by its content, and the message names its owner."""
    blank = any(text.startswith("_:") for finding in findings for text in (finding.focus, finding.value))
    nodes = BlankNodes.of(target.bench.triples(AUDIT.target)) if blank else BlankNodes({}, {})
    seen: Counter[str] = Counter()
    for finding in findings:
        owner = nodes.owner(finding.focus[2:]) if finding.focus.startswith("_:") else ""
        focus, value = (nodes.names.get(text[2:], text) for text in (finding.focus, finding.value))
        mark = digest(finding.check, owner, focus, finding.path, value)
        seen[mark] += 1
        # two blank nodes with the same content are two findings, and a baseline has to count both
        mark = mark if seen[mark] == 1 else digest(mark, str(seen[mark]))
        message = finding.message
        if owner and owner not in message:
            message = f"{message} It is part of {owner}."
        yield replace(finding, fingerprint=mark, message=message)


def limited(findings: Sequence[AuditFinding], limit: int | None) -> Iterable[AuditFinding]:
    """Yield the first findings of each check, at most ``limit``; None = all."""
    listed: Counter[str] = Counter()
    for finding in findings:
        listed[finding.check] += 1
        if limit is None or listed[finding.check] <= limit:
            yield finding


def labels_of(findings: Iterable[AuditFinding], target: AuditTarget, *, data: bool = False) -> dict[str, str]:
    """Return term -> label of the terms that findings name: an English label, else one without a language, else any.

    Args:
        findings: as they are listed.
        target: what was audited or validated.
        data: its nodes are no terms of an ontology, whose labels were gathered.
    """
    named: set[ox.NamedNode] = set()
    for iri in iris_in(text for f in findings for text in (f.focus, f.path, f.value, f.message)):
        with suppress(ValueError):  # what looks like an IRI and is none has no label
            named.add(ox.NamedNode(iri))
    if not named:
        return {}
    terms = sorted(named, key=str)
    asked = queries.bind("audit/context_labels", context=AUDIT.context, terms=terms)
    if data:
        asked = queries.bind("audit/data_labels", graph=AUDIT.target, terms=terms)
    rows = target.bench.select(asked).values()
    preferred = ("en", "")
    ranked = sorted(rows, key=lambda row: (preferred.index(row[2]) if row[2] in preferred else 2, row), reverse=True)
    return {term: label for term, label, _ in ranked}
