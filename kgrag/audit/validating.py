"""Validate data against shapes of a user's own: no check of the catalogue is run, and no context is computed.

Graph written: ``aud:target`` of a scratch store, which holds the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pyoxigraph as ox

from kgrag import shacl
from kgrag.audit.audit_context import AuditTarget
from kgrag.audit.auditing import ENGINE, limited
from kgrag.audit.check_runner import level, with_fingerprints
from kgrag.audit.checks import SEVERITIES
from kgrag.audit.findings import Audit, AuditFinding, Undecided
from kgrag.errors import InputError
from kgrag.model import Violation
from kgrag.ports import TripleStore, Workbench
from kgrag.shacl.pyshacl_validation import validate_shapes
from kgrag.vocab import AUDIT

__all__ = ["ValidationOptions", "validate_triples"]


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Options of a validation.

    ``shape`` is the IRI of the only shape to run; ``focus`` are the IRIs of the only nodes to report, and with
    ``shape`` they are validated whatever its targets. ``limit`` is how many results per shape are listed; counts stay
    exact. ``inference`` names the rules, "rdfs" or "owl-rl", by which what follows from the data is validated as well.
    ``catalogues`` are XML catalogues (``catalog-v001.xml``) of what shapes import, besides those next to their files.
    """

    shape: str = ""
    focus: tuple[str, ...] = ()
    limit: int | None = None
    inference: str = ""
    catalogues: tuple[Path, ...] = ()


def validate_triples(  # noqa: PLR0913 - each says something else about data or shapes
    triples: Iterable[ox.Triple],
    shapes: Iterable[ox.Triple | ox.Quad],
    *,
    name: str,
    bench: Workbench,
    options: ValidationOptions = ValidationOptions(),
    parsed: bool = True,
    prefixes: Mapping[str, str] | None = None,
) -> Audit:
    """Return what shapes find in data, in the form of an audit; a result of whatever severity breaks conformance.

    Args:
        triples: the data.
        shapes: triples of SHACL shapes.
        name: what the data are called in reports.
        bench: a scratch store; its former content is deleted.
        options: which shape and focus nodes, and how many results are listed.
        parsed: whether the literals are as they were written, and not as a store keeps them.
        prefixes: of the files of the shapes, for SELECTs that use them undeclared.

    Raises:
        InputError: there is no shape of the IRI that is asked for, or the limit is below 0.
    """
    if options.limit is not None and options.limit < 0:
        raise InputError(f"the limit is {options.limit}. It counts results per shape, from 0.")
    compiled = shacl.load_shapes((), triples=shapes, elsewhere=True, shape=options.shape, prefixes=prefixes)
    if options.shape and options.focus:
        compiled = compiled.aimed_at(options.shape, [ox.NamedNode(each) for each in options.focus])
    data = list(dict.fromkeys(triples))
    written = shacl.as_written(data, bench, whole=parsed)
    bench.fill([])
    bench.add(ox.Quad(triple.subject, triple.predicate, triple.object, AUDIT.target) for triple in data)
    blanks = frozenset(term.value for t in data for term in (t.subject, t.object) if isinstance(term, ox.BlankNode))
    target = AuditTarget(bench, (), (), name, blanks, written)
    found = validate_shapes(cast("TripleStore", bench), compiled, graphs=[AUDIT.target], written=written)
    findings = [
        _finding(violation, target)
        for violation in found.violations
        if not options.focus or violation.focus in options.focus
    ]
    findings.sort(key=lambda f: (SEVERITIES.index(f.severity), f.check, f.focus, f.path, f.value, f.message))
    undecided = [Undecided(shape, reason, asked=True) for shape, reason in sorted(found.undecided.items())]
    if not (compiled.constraints or compiled.elsewhere or undecided):
        reason = (
            "nothing was validated: no shape has both a target and a constraint. Name them with --shape and --focus"
        )
        undecided = [Undecided(options.shape or "shapes", reason, asked=True)]
    return _report(target, list(with_fingerprints(findings, target)), undecided, compiled, options)


def _finding(violation: Violation, target: AuditTarget) -> AuditFinding:
    focus, value = (f"_:{term}" if term in target.blanks else term for term in (violation.focus, violation.value))
    return AuditFinding(
        check=violation.shape,
        terms=violation.terms,
        severity=level(violation.severity),
        focus=focus,
        message=violation.message,
        path=violation.path,
        value=value,
        component=violation.component,
        stated_severity="" if violation.severity in SEVERITIES else violation.severity,
    )


def _report(
    target: AuditTarget,
    findings: Sequence[AuditFinding],
    undecided: Sequence[Undecided],
    shapes: shacl.Shapes,
    options: ValidationOptions,
) -> Audit:
    counts = {severity: sum(f.severity == severity for f in findings) for severity in SEVERITIES}
    run = {constraint.shape for constraint in shapes.constraints} | shapes.elsewhere.keys()
    by_pyshacl = ", ".join(sorted(shapes.elsewhere))
    return Audit(
        target=target.name,
        profile="",
        counts={**counts, "suppressed": 0, "not_decided": len(undecided)},
        findings=tuple(limited(findings, options.limit)),
        engine=f"{ENGINE}; by pyshacl: {by_pyshacl}" if by_pyshacl else ENGINE,
        not_decided=tuple(undecided),
        totals=dict(sorted(Counter(f.check for f in findings).items())),
        levels=Counter((f.severity, f.check) for f in findings),
        fingerprints=tuple(f.fingerprint for f in findings),
        shapes=tuple(sorted(run)),
        conforms_below="Info",
    )
