"""An audit from beginning to end: target, context, checks, suppressions, counts.

Graphs read: the target's. Queries: ``audit/context_*``, those of the checks, ``audit/metric_*``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pyoxigraph as ox

from kgrag.audit.audit_context import Scope, prepare
from kgrag.audit.check_runner import Outcome, run_checks
from kgrag.audit.checks import SEVERITIES, Catalogue, load_catalogue, shipped
from kgrag.audit.findings import Audit, AuditFinding
from kgrag.audit.ontology_metrics import measure
from kgrag.audit.profiles import Profile, load_profile
from kgrag.audit.steps import StepInput
from kgrag.audit.suppressions import read_baseline, read_suppressions, suppress
from kgrag.errors import InvalidSettings
from kgrag.ports import Embedder, TripleStore, Workbench
from kgrag.store.lexical_forms import as_loaded

__all__ = ["AuditOptions", "Examination", "audit", "audit_triples", "examine"]

ENGINE = "kgrag SHACL engine on Oxigraph"


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """How an audit goes.

    ``profile`` is a name, or the path of a TOML file. ``limit`` is how many findings of a check are shown; counts stay
    exact. ``seconds`` is the time a reasoner may take. ``metrics`` asks for those too.
    LOG-09 compares labels by ``embedder``, where its profile has that check. ``competency`` is a file or folder of
    competency questions, asked by ``kgrag.knowledge_base``; each may take ``seconds`` too.
    """

    profile: str = "default"
    namespace: str | None = None
    limit: int | None = None
    suppressions: Path | None = None
    baseline: Path | None = None
    reasoner: bool = False
    seconds: float = 60.0
    metrics: bool = False
    embedder: Embedder | None = None
    competency: Path | None = None


@dataclass(frozen=True, slots=True)
class Examination:
    """An audit, and the scratch store as it left it: what mends are tried out on."""

    audit: Audit
    scope: Scope


def audit(
    store: TripleStore,
    *,
    graphs: Sequence[ox.NamedNode],
    options: AuditOptions = AuditOptions(),
    open_bench: Callable[[], Workbench],
) -> Audit:
    """Audit the union of some named graphs of a store.

    Args:
        store: where the graphs are; the checks of whole knowledge bases look at all of it.
        graphs: their union is the target; none = the knowledge base as a whole.
        options: profile, suppressions and the like.
        open_bench: gives a scratch store, e.g. ``kgrag.store.OxigraphScratch``.

    Raises:
        InvalidRDF: a file of checks or shapes does not parse, or holds what is no check.
        InvalidSettings: an option, a profile or a suppression is not sound.
        UnknownName: there is no such profile.
    """
    triples = [triple for graph in graphs for triple in as_loaded(store, graph)]
    names = sorted(graph.value for graph in graphs) or [store.names.knowledge_base.value]
    return audit_triples(triples, name=" ".join(names), options=options, bench=open_bench(), store=store)


def audit_triples(
    triples: Iterable[ox.Triple],
    *,
    name: str,
    bench: Workbench,
    options: AuditOptions = AuditOptions(),
    store: TripleStore | None = None,
) -> Audit:
    """Audit triples that stand in no store; arguments and errors as of ``audit``, ``name`` is the target's."""
    return examine(triples, name=name, bench=bench, options=options, store=store).audit


def examine(
    triples: Iterable[ox.Triple],
    *,
    name: str,
    bench: Workbench,
    options: AuditOptions = AuditOptions(),
    store: TripleStore | None = None,
) -> Examination:
    """Audit as ``audit_triples`` does, and give the scratch store as well."""
    if options.limit is not None and options.limit < 0:
        raise InvalidSettings(f"the limit is {options.limit}. It counts findings a check, from 0.")
    profile = load_profile(options.profile)
    catalogue = _catalogue(profile)
    namespace = options.namespace or profile.namespace
    parsed = store is None  # a graph may have been changed since by updates, which leave no trace of a surface
    scope = prepare(bench, list(dict.fromkeys(triples)), name=name, namespace=namespace, parsed=parsed)
    outcome = run_checks(
        catalogue, profile, StepInput(scope, store, options.reasoner, options.seconds, options.embedder)
    )
    found = _audit(scope, (profile, catalogue), outcome, options)
    return Examination(replace(found, metrics=measure(scope)) if options.metrics else found, scope)


def _catalogue(profile: Profile) -> Catalogue:
    ours = shipped()
    return load_catalogue((*ours.files, *profile.shapes)) if profile.shapes else ours


def _audit(scope: Scope, chosen: tuple[Profile, Catalogue], outcome: Outcome, options: AuditOptions) -> Audit:
    profile, catalogue = chosen
    suppressions = read_suppressions(options.suppressions) if options.suppressions else ()
    baseline = read_baseline(options.baseline) if options.baseline else frozenset()
    of_checks = (each for each in suppressions if not each.of_question)
    kept = suppress(outcome.findings, of_checks, baseline, today=datetime.now(tz=UTC).date())
    counts = {severity: sum(f.severity == severity for f in kept.findings) for severity in SEVERITIES}
    return Audit(
        target=scope.name,
        profile=profile.name,
        counts={**counts, "suppressed": kept.suppressed, "not_decided": len(outcome.not_decided)},
        findings=tuple(_limited(kept.findings, options.limit)),
        slow=outcome.slow,
        engine=_engine(outcome),
        not_decided=outcome.not_decided,
        unused_suppressions=kept.unused,
        totals=dict(sorted(Counter(f.check for f in kept.findings).items())),
        checks={check.identifier: check for check in catalogue.checks if check.identifier in outcome.seconds},
        namespaces=scope.namespaces,
        fingerprints=tuple(f.fingerprint for f in kept.findings),
    )


def _engine(outcome: Outcome) -> str:
    return f"{ENGINE}; by pyshacl: {', '.join(outcome.elsewhere)}" if outcome.elsewhere else ENGINE


def _limited(findings: Sequence[AuditFinding], limit: int | None) -> Iterable[AuditFinding]:
    shown: Counter[str] = Counter()
    for finding in findings:
        shown[finding.check] += 1
        if limit is None or shown[finding.check] <= limit:
            yield finding
