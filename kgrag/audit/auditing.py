"""Run an audit from beginning to end: target, context, checks, suppressions, counts.

Graphs read: the target's. Queries: ``audit/context_*``, those of the checks, ``audit/metric_*``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pyoxigraph as ox

from kgrag.audit.audit_context import AuditTarget, prepare
from kgrag.audit.check_runner import CheckResults, run_checks
from kgrag.audit.checks import SEVERITIES, Catalogue
from kgrag.audit.findings import Audit
from kgrag.audit.gathering import gathered
from kgrag.audit.import_catalogues import catalogued
from kgrag.audit.listed_findings import ENGINE, labels_of, limited
from kgrag.audit.ontology_metrics import measure
from kgrag.audit.profiles import Profile, catalogue_of, load_profile
from kgrag.audit.reports import as_text
from kgrag.audit.step_input import StepInput
from kgrag.audit.suppressions import read_baseline, read_suppressions, suppress
from kgrag.errors import InvalidSettings, ShapeViolation
from kgrag.model import GraphDraft
from kgrag.ports import Embedder, TripleStore, Workbench
from kgrag.store.lexical_forms import as_loaded
from kgrag.vocab import KG, OWL, RDF

__all__ = ["AuditOptions", "Examination", "audit", "audit_triples", "examine", "refuse_violations"]

MAX_FINDINGS_IN_REFUSAL = 5
"""How many findings per check the message of a refusal lists."""


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Options of an audit.

    ``profile`` is a name, or the path of a TOML file. ``limit`` is how many findings per check are listed; counts stay
    exact. ``reasoner`` asks for the checks that need one, as some profiles do by themselves, and ``seconds`` is the
    time it may take. ``metrics`` asks for metrics too. LOG-09 compares labels by ``embedder``, where its profile has
    that check. ``ungathered`` lists findings one by one that else read as one ("113 of 118 properties …"). Imports that
    one of ``catalogues`` has a file for, or the ``catalog-v001.xml`` next to a file, are at hand. ``competency``
    is a file or folder of competency questions, asked by ``kgrag.knowledge_base``; each may take ``seconds`` too.
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
    ungathered: bool = False
    catalogues: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Examination:
    """An audit, and its target in the scratch store, on which fixes are tried out."""

    audit: Audit
    target: AuditTarget


def audit(
    store: TripleStore,
    *,
    graphs: Sequence[ox.NamedNode],
    options: AuditOptions = AuditOptions(),
    open_bench: Callable[[], Workbench],
) -> Audit:
    """Audit the union of some named graphs of a store.

    Args:
        store: where the graphs are; the checks of whole knowledge bases read all of it.
        graphs: their union is the target; none = the knowledge base as a whole.
        options: profile, suppressions and the like.
        open_bench: opens a scratch store, e.g. ``kgrag.store.OxigraphScratch``.

    Raises:
        InvalidRDF: a file of checks or shapes does not parse, or contains an incomplete check.
        InvalidSettings: an option, a profile or a suppression is not valid.
        UnknownName: there is no such profile, or it names a family or a check that is not there.
    """
    parts = [list(as_loaded(store, graph)) for graph in graphs]
    names = sorted(graph.value for graph in graphs) or [store.names.knowledge_base.value]
    triples = [triple for part in parts for triple in part]
    apart = {ontology for part in parts for ontology in _only_ontology(part)} if len(parts) > 1 else ()
    return examine(triples, name=" ".join(names), options=options, bench=open_bench(), store=store, apart=apart).audit


def _only_ontology(triples: Iterable[ox.Triple]) -> set[object]:
    """Return the ontology that a graph declares, where it declares no other."""
    declared: set[object] = {
        each.subject for each in triples if each.predicate == RDF.type and each.object == OWL.Ontology
    }
    return declared if len(declared) == 1 else set()


def audit_triples(
    triples: Iterable[ox.Triple],
    *,
    name: str,
    bench: Workbench,
    options: AuditOptions = AuditOptions(),
    store: TripleStore | None = None,
) -> Audit:
    """Audit triples that are in no store; arguments and errors as of ``audit``, ``name`` is the target's."""
    return examine(triples, name=name, bench=bench, options=options, store=store).audit


def examine(
    triples: Iterable[ox.Triple],
    *,
    name: str,
    bench: Workbench,
    options: AuditOptions = AuditOptions(),
    store: TripleStore | None = None,
    apart: Collection[object] = (),
) -> Examination:
    """Audit as ``audit_triples`` does, and return the target in its scratch store as well.

    ``apart`` are ontologies that have a graph to themselves, though the target is the union of several.
    """
    if options.limit is not None and options.limit < 0:
        raise InvalidSettings(f"the limit is {options.limit}. It counts findings per check, from 0.")
    profile = load_profile(options.profile)
    catalogue = catalogue_of(profile)
    target = prepare(
        bench,
        list(dict.fromkeys(triples)),
        name=name,
        namespace=options.namespace or profile.namespace,
        # literals of a graph may be as an update left them, which keeps no record of how they were written
        parsed=store is None,
        apart=apart,
    )
    asked = options.reasoner or profile.reasoner
    at_hand = catalogued(options.catalogues)
    given = StepInput(target, store, asked, options.seconds, options.embedder, at_hand)
    report = _report(target, profile, catalogue, run_checks(catalogue, profile, given), options)
    return Examination(replace(report, metrics=measure(target)) if options.metrics else report, target)


def _report(
    target: AuditTarget, profile: Profile, catalogue: Catalogue, results: CheckResults, options: AuditOptions
) -> Audit:
    """Return the audit: what suppressions and a baseline leave of the results, counted and limited."""
    suppressions = read_suppressions(options.suppressions) if options.suppressions else ()
    baseline = read_baseline(options.baseline) if options.baseline else frozenset()
    # those of competency questions are applied when the questions are asked, and would count as unused here
    of_checks = (suppression for suppression in suppressions if not suppression.of_question)
    kept = suppress(results.findings, of_checks, baseline, today=datetime.now(tz=UTC).date())
    checks = {check.identifier: check for check in catalogue.checks if check.identifier in results.seconds}
    findings = kept.findings if options.ungathered else gathered(kept.findings, checks, target)
    listed = tuple(limited(findings, options.limit))
    counts = {severity: sum(f.severity == severity for f in findings) for severity in SEVERITIES}
    return Audit(
        target=target.name,
        profile=profile.name,
        counts={**counts, "suppressed": kept.suppressed, "not_decided": len(results.not_decided)},
        findings=listed,
        slow=results.slow,
        engine=f"{ENGINE}; by pyshacl: {', '.join(results.by_pyshacl)}" if results.by_pyshacl else ENGINE,
        not_decided=results.not_decided,
        unused_suppressions=kept.unused,
        totals=dict(sorted(Counter(f.check for f in findings).items())),
        levels=Counter((f.severity, f.check) for f in findings),
        checks=checks,
        namespaces=target.namespaces,
        labels=labels_of(listed, target),
        fingerprints=tuple(f.fingerprint for f in kept.findings),
    )


def refuse_violations(
    drafts: Sequence[GraphDraft],
    *,
    profile: str,
    open_bench: Callable[[], Workbench],
    store: TripleStore | None = None,
) -> tuple[Audit, ...]:
    """Audit the drafts of ontologies before they enter a knowledge base, and return the audits; nothing is written.

    Each draft is audited by itself, without the graphs that it imports: they have been audited on their own. Drafts of
    other kinds pass, since ``publish`` validates them by the shapes of their kind.

    Args:
        drafts: what is to enter.
        profile: a profile by name, or a TOML file.
        open_bench: opens a scratch store.
        store: where they are to enter; imports that it contains are at hand.

    Raises:
        ShapeViolation: a draft has violations, or a check that the profile asks for reached no verdict; the message is
            the report.
        UnknownName: there is no such profile.
    """
    options = AuditOptions(profile=profile, limit=MAX_FINDINGS_IN_REFUSAL)
    audits = tuple(
        audit_triples(draft.triples, name=draft.iri.value, bench=open_bench(), options=options, store=store)
        for draft in drafts
        if draft.kind == KG.OntologyGraph
    )
    refused = [as_text(audit) for audit in audits if not audit.conforms]
    if refused:
        reports = "\n\n".join(refused)
        raise ShapeViolation(f"{len(refused)} of {len(audits)} ontologies do not conform to '{profile}'.\n\n{reports}")
    return audits
