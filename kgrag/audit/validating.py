"""Validate data against shapes of a user's own: no check of the catalogue is run, and no context is computed.

Graph written: ``aud:target`` of a scratch store, which holds the data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import cast

import pyoxigraph as ox

from kgrag import shacl
from kgrag.audit.audit_context import AuditTarget
from kgrag.audit.checks import SEVERITIES
from kgrag.audit.findings import Audit, AuditFinding, Undecided
from kgrag.audit.listed_findings import ENGINE, labels_of, level, with_fingerprints
from kgrag.errors import InputError
from kgrag.model import Violation, plain
from kgrag.ports import TripleStore, Workbench
from kgrag.shacl.empty_targets import without_nodes
from kgrag.shacl.pyshacl_validation import each_violation
from kgrag.shacl.shapes_graph import SH
from kgrag.vocab import AUDIT

__all__ = ["LoadedData", "ValidationOptions", "finding_of", "validate_data", "validate_triples"]

_BATCH = 50_000
_MAX_TRIPLES_IN_MEMORY = 2_000_000
"""About 1.3 GB in memory; from there on the data are on disk, and memory no longer grows with them."""
_FEW = 100
_MAX_FINDINGS_LABELLED = 1_000
_ALLOWED = frozenset({"Debug", "Trace"})
"""Severities of SHACL 1.2 whose results break no conformance, unless that is asked for."""
_ENTAILMENT = ox.NamedNode(SH + "entailment")
_RDFS = "http://www.w3.org/ns/entailment/RDFS"
_ALWAYS_APPLIED = frozenset({"http://www.w3.org/ns/entailment/Simple", SH + "Rules"})
_SHAPES_GRAPH = ox.NamedNode(SH + "shapesGraph")


@dataclass(frozen=True, slots=True)
class ValidationOptions:
    """Options of a validation.

    ``shape`` is the IRI of the only shape to run; ``focus`` are the IRIs of the only nodes to report, and with
    ``shape`` they are validated whatever its targets. ``limit`` is how many results per shape are listed; counts stay
    exact. ``inference`` names the rules, "rdfs" or "owl-rl", by which what follows from the data is validated as well.
    ``catalogues`` are XML catalogues (``catalog-v001.xml``) of what shapes import, besides those next to their files.
    ``disallows`` are the severities that break conformance, each the local name of one of SHACL's or an IRI; () = all
    but sh:Debug and sh:Trace, as in the draft of SHACL 1.2.
    """

    shape: str = ""
    focus: tuple[str, ...] = ()
    limit: int | None = None
    inference: str = ""
    catalogues: tuple[Path, ...] = ()
    disallows: tuple[str, ...] = ()

    def breaks_conformance(self, finding: AuditFinding) -> bool:
        """Return whether data with a result do not conform."""
        severity = finding.stated_severity or finding.severity
        return severity in self.disallows if self.disallows else severity not in _ALLOWED


@dataclass(frozen=True, slots=True)
class LoadedData:
    """Data in a scratch store, ready to be validated.

    ``shapes`` are the IRIs that the data name by sh:shapesGraph.
    """

    bench: Workbench
    written: shacl.Written = field(repr=False)
    shapes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, triples: Iterable[ox.Triple], bench: Workbench, *, parsed: bool = True, many: bool = False
    ) -> LoadedData:
        """Load data, batch after batch; beyond some millions of triples they are on disk.

        Args:
            triples: the data.
            bench: a scratch store; its former content is deleted.
            parsed: whether the literals are as they were written, and not as a store keeps them.
            many: whether they are known to be millions, which are put on disk at once.
        """
        bench.fill([])
        on_disk = many
        if many:
            bench.move_to_disk()
        reader = shacl.WrittenReader(bench, AUDIT.target)
        named: set[str] = set()
        rest, number = iter(triples), 0
        while batch := list(islice(rest, _BATCH)):
            named.update(plain(triple.object) for triple in batch if triple.predicate == _SHAPES_GRAPH)
            reader.take(batch)
            number += len(batch)
            if number > _MAX_TRIPLES_IN_MEMORY and not on_disk:
                bench.move_to_disk()
                on_disk = True
        bench.settle()
        return cls(bench, reader.written(whole=parsed), tuple(sorted(named)))


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
    """Return what shapes find in data, in the form of an audit.

    Args:
        triples: the data.
        shapes: triples of SHACL shapes.
        name: what the data are called in reports.
        bench: a scratch store; its former content is deleted.
        options: which shape and focus nodes, and how many results are listed.
        parsed: whether the literals are as they were written, and not as a store keeps them.
        prefixes: of the files of the shapes, for SELECTs that use them undeclared.

    Raises:
        InputError: there is no shape of the IRI that is asked for, no such severity, or the limit is below 0.
    """
    data = LoadedData.of(triples, bench, parsed=parsed)
    return validate_data(data, shapes, name=name, options=options, prefixes=prefixes)


def validate_data(
    data: LoadedData,
    shapes: Iterable[ox.Triple | ox.Quad],
    *,
    name: str,
    options: ValidationOptions = ValidationOptions(),
    prefixes: Mapping[str, str] | None = None,
    each: Callable[[AuditFinding], None] | None = None,
) -> Audit:
    """Return what shapes find in data that are loaded, as ``validate_triples`` does.

    With a limit, no more results than those of one constraint and those that are listed are in memory at a time.

    Args:
        data: the data.
        shapes: triples of SHACL shapes.
        name: what the data are called in reports.
        options: which shape and focus nodes, and how many results are listed.
        prefixes: of the files of the shapes, for SELECTs that use them undeclared.
        each: is called with every result as soon as it is found, without its fingerprint.

    Raises:
        InputError: there is no shape of the IRI that is asked for, no such severity, or the limit is below 0.
    """
    if options.limit is not None and options.limit < 0:
        raise InputError(f"the limit is {options.limit}. It counts results per shape, from 0.")
    if unknown := [each for each in options.disallows if each not in (*SEVERITIES, *_ALLOWED) and ":" not in each]:
        known = (*SEVERITIES, *sorted(_ALLOWED))
        raise InputError(f"there is no severity '{unknown[0]}'. Use an IRI, or one of {', '.join(known)}.")
    shapes = list(shapes)
    compiled = shacl.load_shapes((), triples=shapes, elsewhere=True, shape=options.shape, prefixes=prefixes)
    if options.shape and options.focus:
        compiled = compiled.aimed_at(options.shape, [ox.NamedNode(focus) for focus in options.focus])
    reasons: dict[str, str] = {}
    found = each_violation(
        cast("TripleStore", data.bench), compiled, reasons, graphs=[AUDIT.target], written=data.written
    )
    results = _Results(options)
    for violation in found:
        if not options.focus or violation.focus in options.focus:
            finding = finding_of(violation)
            results.add(finding)
            if each is not None:
                each(finding)
    undecided = [Undecided(shape, reason, asked=True) for shape, reason in sorted(reasons.items())]
    undecided += _unmet_entailments(shapes, options.inference)
    if not (compiled.constraints or compiled.elsewhere or undecided):
        reason = (
            "nothing was validated: no shape has both a target and a constraint. Name them with --shape and --focus"
        )
        undecided = [Undecided(options.shape or "shapes", reason, asked=True)]
    target = AuditTarget(data.bench, (), (), name, frozenset(), data.written)
    violated = {shape for _, shape in results.counts}
    empty = without_nodes(cast("TripleStore", data.bench), compiled, graphs=[AUDIT.target], violated=violated)
    return replace(_report(target, results, undecided, compiled), without_nodes=tuple(empty))


def _unmet_entailments(shapes: Iterable[ox.Triple | ox.Quad], inference: str) -> list[Undecided]:
    """Return the entailment regimes that shapes ask for by sh:entailment, but for those that are applied."""
    asked = {plain(triple.object) for triple in shapes if triple.predicate == _ENTAILMENT}
    applied = _ALWAYS_APPLIED | ({_RDFS} if inference else set())
    unmet = []
    for regime in sorted(asked - applied):
        advice = "Validate with --inference rdfs" if regime == _RDFS else "It is not covered, so that nobody knows"
        reason = f"the shapes ask for what follows by it (sh:entailment), and it was not applied. {advice}"
        unmet.append(Undecided(regime, reason, asked=True))
    return unmet


@dataclass(slots=True)
class _Results:
    """The results of a validation: exact counts, and of each shape those that are listed.

    These are the first ones in the order of the report, whatever the order in which they come.
    """

    options: ValidationOptions
    disallowed: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    listed: dict[str, list[AuditFinding]] = field(default_factory=dict)

    def add(self, finding: AuditFinding) -> None:
        self.counts[finding.severity, finding.check] += 1
        self.disallowed += self.options.breaks_conformance(finding)
        listed = self.listed.setdefault(finding.check, [])
        listed.append(finding)
        if self.limit is not None and len(listed) > 2 * self.limit + _FEW:
            listed[:] = sorted(listed, key=_order)[: self.limit]

    @property
    def limit(self) -> int | None:
        return self.options.limit

    def in_order(self) -> list[AuditFinding]:
        return sorted(
            (each for listed in self.listed.values() for each in sorted(listed, key=_order)[: self.limit]), key=_order
        )

    def totals(self) -> Counter[str]:
        totals: Counter[str] = Counter()
        for (_, check), count in self.counts.items():
            totals[check] += count
        return totals


def _order(finding: AuditFinding) -> tuple[int, str, str, str, str, str]:
    level = SEVERITIES.index(finding.severity)
    return (level, finding.check, finding.focus, finding.path, finding.value, finding.message)


def finding_of(violation: Violation) -> AuditFinding:
    """Return a violation as a finding, without its fingerprint."""
    terms = violation.terms
    focus, value = violation.focus, violation.value
    if terms is not None:  # a blank node is marked as one
        focus = f"_:{focus}" if isinstance(terms.focus, ox.BlankNode) else focus
        value = f"_:{value}" if isinstance(terms.value, ox.BlankNode) else value
    return AuditFinding(
        check=violation.shape,
        terms=terms,
        severity=level(violation.severity),
        focus=focus,
        message=violation.message,
        path=violation.path,
        value=value,
        component=violation.component,
        stated_severity="" if violation.severity in SEVERITIES else violation.severity,
    )


def _report(target: AuditTarget, results: _Results, undecided: Sequence[Undecided], shapes: shacl.Shapes) -> Audit:
    counts = {severity: sum(n for (of, _), n in results.counts.items() if of == severity) for severity in SEVERITIES}
    run = {constraint.shape for constraint in shapes.constraints} | shapes.elsewhere.keys()
    by_pyshacl = ", ".join(sorted(shapes.elsewhere))
    findings = tuple(with_fingerprints(results.in_order(), target))
    return Audit(
        target=target.name,
        profile="",
        counts={**counts, "suppressed": 0, "not_decided": len(undecided)},
        findings=findings,
        engine=f"{ENGINE}; by pyshacl: {by_pyshacl}" if by_pyshacl else ENGINE,
        not_decided=tuple(undecided),
        totals=dict(sorted(results.totals().items())),
        levels=results.counts,
        fingerprints=tuple(f.fingerprint for f in findings),
        shapes=tuple(sorted(run)),
        conforms_below="Info",
        disallowed=results.disallowed,
        labels=labels_of(findings[:_MAX_FINDINGS_LABELLED], target, data=True),
    )
