"""Audits of files and of graphs, in a scratch store; mends are written to their source, audits to graphs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgrag.errors import InputError, InvalidSettings, NotDecided, NothingToCheck
from kgrag.model import GraphDraft
from kgrag.ports import TripleStore
from kgrag.resources import closest
from kgrag.store import rdf_files
from kgrag.store.lexical_forms import as_loaded
from kgrag.vocab import KG, PROV, XSD, Names

if TYPE_CHECKING:
    from kgrag.audit import Audit, AuditOptions
    from kgrag.audit.change_review import Change, ChangeReview
    from kgrag.audit.fixes import Mend
    from kgrag.audit.ontology_versions import OntologyVersion

__all__ = [
    "apply_to_graph",
    "audit",
    "audit_files",
    "audit_graphs",
    "gate",
    "gate_files",
    "keep",
    "mend_file",
    "mend_graph",
    "now",
    "ontologies",
    "read_options",
    "review_versions",
    "triples_of",
]


def audit(store: TripleStore, target: str | Path | None, options: Mapping[str, Any]) -> Audit:
    """Audit a file, a graph of a store by its IRI, or all its ontology graphs.

    Raises:
        InputError: there is no such file or graph, or no ontology at all.
        InvalidSettings: an audit has no such option.
    """
    chosen = read_options(options)
    if target is None:
        return audit_graphs(store, [], chosen)
    if isinstance(target, Path) or Path(target).exists() or ":" not in target:
        return audit_files([Path(target)], chosen)
    return audit_graphs(store, [target], chosen)


def read_options(values: Mapping[str, Any]) -> AuditOptions:
    """Return the options of an audit by the names of their fields. Raises InvalidSettings for another name."""
    from kgrag.audit import AuditOptions

    known = {each.name for each in fields(AuditOptions)}
    if unknown := values.keys() - known:
        raise InvalidSettings(f"an audit has no option '{min(unknown)}'. {closest(min(unknown), known)}")
    files = ("suppressions", "baseline", "competency")
    paths: dict[str, Any] = {name: Path(values[name]) for name in files if values.get(name) is not None}
    if "catalogues" in values:
        paths["catalogues"] = tuple(Path(each) for each in values["catalogues"])
    return AuditOptions(**{**values, **paths})


def audit_files(paths: Sequence[Path], options: AuditOptions) -> Audit:
    """Audit the union of some RDF files, without a knowledge base.

    Raises:
        InvalidRDF: a file does not parse.
    """
    from kgrag.audit import audit_triples
    from kgrag.audit.import_catalogues import beside
    from kgrag.audit.reports.line_numbers import declared_prefixes
    from kgrag.store.scratch import OxigraphScratch

    options = replace(options, catalogues=(*beside(paths), *options.catalogues))
    read = (triple for path in paths for triple in triples_of(path))
    triples = (
        read if options.competency is None else list(read)
    )  # a generator keeps no triples in memory, and can be read only once
    name = " ".join(str(path) for path in paths)
    found = audit_triples(triples, name=name, options=options, bench=OxigraphScratch())
    found = _with_competency(found, triples, options)
    return replace(found, files=tuple(str(path) for path in paths), prefixes=declared_prefixes(paths))


def _with_competency(found: Audit, triples: Iterable[ox.Triple], options: AuditOptions) -> Audit:
    """Add to an audit how the competency questions that it names come out over the same triples.

    Raises:
        InputError: there is no question, or one is not sound.
    """
    if options.competency is None:
        return found
    from kgrag.audit.competency_tests import ask_questions, read_questions, with_verdicts
    from kgrag.audit.suppressions import read_baseline, read_suppressions
    from kgrag.store.scratch import OxigraphScratch

    questions = read_questions(options.competency)
    verdicts = ask_questions(questions, list(triples), open_bench=OxigraphScratch, seconds=options.seconds)
    accepted = read_suppressions(options.suppressions) if options.suppressions else ()
    known = read_baseline(options.baseline) if options.baseline else frozenset()
    return with_verdicts(found, verdicts, suppressions=accepted, baseline=known)


def review_versions(
    old: Sequence[ox.Triple], new: Sequence[ox.Triple], *, names: tuple[str, str], options: AuditOptions
) -> ChangeReview:
    """Return what a new version of an ontology breaks for those who use the old one.

    With ``options.competency``, the questions are asked of both; with ``options.reasoner``, HermiT too.

    Raises:
        InputError: a question is not sound, or too much follows from a version.
    """
    from kgrag.audit.change_review import question_changes, review_changes
    from kgrag.audit.comparison import compare_versions
    from kgrag.audit.competency_tests import ask_questions, read_questions
    from kgrag.audit.ontology_versions import read_version
    from kgrag.store.scratch import OxigraphScratch

    undecided: list[str] = []

    def read(triples: Sequence[ox.Triple], name: str) -> OntologyVersion:
        try:
            if options.reasoner:
                return read_version(triples, OxigraphScratch(), name=name, reasoner=True, seconds=options.seconds)
        except NotDecided as reason:
            undecided.append(f"{name}: {reason}")
        return read_version(triples, OxigraphScratch(), name=name)

    versions = [read(triples, name) for triples, name in zip((old, new), names, strict=True)]
    also: list[Change] = []
    if options.competency is not None:
        questions = read_questions(options.competency)
        asked = [
            ask_questions(questions, triples, open_bench=OxigraphScratch, seconds=options.seconds)
            for triples in (old, new)
        ]
        also += question_changes(*asked)
    differs = compare_versions(old, new).changes
    return replace(review_changes(*versions, names=names, differs=differs, also=also), undecided=tuple(undecided))


def triples_of(path: Path) -> list[ox.Triple]:
    """Return the triples of every graph of an RDF file.

    Raises:
        InvalidRDF: it does not parse.
    """
    return [triple for draft in _drafts(path) for triple in draft.triples]


def _drafts(path: Path, rdf_format: str | None = None) -> list[GraphDraft]:
    return rdf_files.read_rdf(path, rdf_format=rdf_format, names=Names())


def audit_graphs(store: TripleStore, graphs: Sequence[str], options: AuditOptions) -> Audit:
    """Audit the union of some graphs of a store; of all its ontology graphs when none is named.

    With profile "kg" and no graph, the target is the knowledge base itself.

    Raises:
        InputError: there is no such graph.
        NothingToCheck: there is no ontology.
    """
    from kgrag.audit import audit
    from kgrag.store.scratch import OxigraphScratch

    whole = options.profile == "kg" and not graphs
    nodes = [] if whole else [_graph(store, each) for each in graphs] or ontologies(store)
    if not nodes and not whole:
        raise NothingToCheck(
            "nothing to check: there is no ontology in this knowledge base. Load one (kgrag load FILE), or name files."
        )
    found = audit(store, graphs=nodes, options=options, open_bench=OxigraphScratch)
    return _with_competency(found, [triple for node in nodes for triple in store.triples(node)], options)


def ontologies(store: TripleStore) -> list[ox.NamedNode]:
    """Return the ontology graphs of a store."""
    from kgrag.querying.ontology_check import ontology_graphs

    return ontology_graphs(store)


def _graph(store: TripleStore, name: str) -> ox.NamedNode:
    try:
        node = ox.NamedNode(name)
    except ValueError as error:
        raise InputError(f"{name!r} is no absolute IRI ({error}) and no file. Name a file or a graph.") from None
    if not store.described(node):
        raise InputError(f"there is no graph <{name}>. queries/catalogue/graphs lists them.")
    return node


# --- mends ------------------------------------------------------------------------------------------------------


def mend_file(path: Path, options: AuditOptions, *, target: Path | None = None) -> Mend:
    """Return what the safe mends would change in a file; with ``target``, write the mended triples there.

    Raises:
        InputError: the file holds several graphs, or the target's suffix is that of no RDF format.
    """
    drafts = _drafts(path)
    if len(drafts) != 1:
        raise InputError(
            f"{path} holds {len(drafts)} graphs, and mending takes one. Split it, or load it and name a graph."
        )
    mend = _mended(drafts[0].triples, str(path), options, None)
    if target is not None and mend.changes:
        _write(mend, path, target)
    return mend


def _write(mend: Mend, source: Path, target: Path) -> None:
    from kgrag.audit.reports.line_numbers import declared_prefixes

    form = rdf_files.SUFFIXES.get(target.suffix.lower(), "")
    known = {"turtle": ox.RdfFormat.TURTLE, "rdfxml": ox.RdfFormat.RDF_XML, "ntriples": ox.RdfFormat.N_TRIPLES}
    if form not in known:
        raise InputError(f"{target}: mended triples are written as .ttl, .rdf, .owl or .nt. Choose such a name.")
    # an .owl file may be Turtle as well as RDF/XML, and is written as what it was
    if form == "rdfxml" and target.suffix == ".owl" and b"@prefix" in source.read_bytes()[:10_000]:
        form = "turtle"
    prefixes = declared_prefixes([source])  # what is written reads like it
    target.write_bytes(ox.serialize(mend.after, format=known[form], prefixes=prefixes) or b"")


def mend_graph(store: TripleStore, name: str, options: AuditOptions) -> Mend:
    """Return what the safe mends would change in a graph of a store; nothing is written."""
    graph = _graph(store, name)
    return _mended(as_loaded(store, graph), name, options, store)


def _mended(triples: Any, name: str, options: AuditOptions, store: TripleStore | None) -> Mend:
    from kgrag.audit.auditing import examine
    from kgrag.audit.fixes import mended
    from kgrag.store.scratch import OxigraphScratch

    done = examine(triples, name=name, options=options, bench=OxigraphScratch(), store=store)
    return mended(done.target, done.audit)


def apply_to_graph(store: TripleStore, name: str, mend: Mend) -> None:
    """Write a mend to its graph, and the activity that records which checks' updates were run."""
    from kgrag.store.provenance import Deed, provenance_draft

    graph, at = ox.NamedNode(name), now()
    run = ", ".join(f"{check} by {update}" for check, update in mend.run)
    activity = store.names.activity("mend", name, run, at)
    time = ox.Literal(at, datatype=XSD.dateTime)
    times = [(PROV.startedAtTime, time), (PROV.endedAtTime, time)]
    deed = Deed(activity, f"mended {name}: {run}", [graph], times)
    draft = GraphDraft(graph, KG.OntologyGraph, list(mend.after), mode="replace", activity=activity)
    store.publish([draft, provenance_draft([deed], method="audit", names=store.names)])
    store.flush()


# --- keeping and gate ---------------------------------------------------------------------------------------------


def keep(store: TripleStore, found: Audit, *, began: str) -> str:
    """Publish an audit as a graph with its activity; returns the graph's IRI.

    Args:
        store: where it is kept.
        found: the audit, without a limit where every finding is to be kept.
        began: when the audit began, as xsd:dateTime.
    """
    from kgrag.audit.reports.rdf_reports import audit_drafts

    graphs = [ox.NamedNode(each) for each in found.target.split() if not found.files]
    drafts = audit_drafts(found, names=store.names, times=(began, now()), graphs=graphs)
    store.publish(drafts)
    store.flush()
    return drafts[0].iri.value


def gate_files(paths: Sequence[Path], profile: str, *, rdf_format: str | None = None) -> None:
    """Refuse files whose ontologies have violations by a profile, without a knowledge base.

    Raises:
        ShapeViolation: one has; the message is the report.
        InvalidRDF: a file does not parse.
    """
    gate(None, [each for path in paths for each in _drafts(path, rdf_format)], profile)


def gate(store: TripleStore | None, drafts: Sequence[GraphDraft], profile: str) -> None:
    """Refuse drafts of ontologies that have violations by a profile.

    Raises:
        ShapeViolation: one has; the message is the report.
    """
    from kgrag.audit.auditing import refuse_violations
    from kgrag.store.scratch import OxigraphScratch

    refuse_violations(drafts, profile=profile, open_bench=OxigraphScratch, store=store)


def now() -> str:
    """Return the time, as xsd:dateTime to the second."""
    return datetime.now(tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
