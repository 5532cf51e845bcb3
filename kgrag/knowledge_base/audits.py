"""Audits, wired: what is audited, and the scratch store that it is audited in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgrag.errors import InputError, InvalidSettings
from kgrag.ports import TripleStore
from kgrag.resources import closest

if TYPE_CHECKING:
    from kgrag.audit import Audit, AuditOptions

__all__ = ["audit", "audit_files", "audit_graphs"]


def audit(store: TripleStore, target: str | Path | None, options: Mapping[str, Any]) -> Audit:
    """Audit a file, a graph of a store by its IRI, or all its ontology graphs.

    Raises:
        InputError: there is no such file or graph, or no ontology at all.
        InvalidSettings: an audit has no such option.
    """
    chosen = _options(options)
    if target is None:
        return audit_graphs(store, [], chosen)
    if isinstance(target, Path) or Path(target).exists() or ":" not in target:
        return audit_files([Path(target)], chosen)
    return audit_graphs(store, [target], chosen)


def _options(given: Mapping[str, Any]) -> AuditOptions:
    from kgrag.audit import AuditOptions

    known = {each.name for each in fields(AuditOptions)}
    if unknown := given.keys() - known:
        raise InvalidSettings(f"an audit has no option '{min(unknown)}'. {closest(min(unknown), known)}")
    paths = {name: Path(given[name]) for name in ("suppressions", "baseline") if given.get(name) is not None}
    return AuditOptions(**{**given, **paths})


def audit_files(paths: Sequence[Path], options: AuditOptions) -> Audit:
    """Audit the union of some RDF files, without a knowledge base.

    Raises:
        InvalidRDF: a file does not parse.
    """
    from kgrag.adapters.oxigraph import OxigraphScratch
    from kgrag.audit import audit_triples
    from kgrag.stages.rdf_files import read_rdf
    from kgrag.vocab import Names

    drafts = [draft for path in paths for draft in read_rdf(path, names=Names())]
    triples = [triple for draft in drafts for triple in draft.triples]
    name = " ".join(str(path) for path in paths)
    return audit_triples(triples, name=name, options=options, bench=OxigraphScratch())


def audit_graphs(store: TripleStore, graphs: Sequence[str], options: AuditOptions) -> Audit:
    """Audit the union of some graphs of a store; of all its ontology graphs when none is named.

    Raises:
        InputError: there is no such graph, or no ontology.
    """
    from kgrag.adapters.oxigraph import OxigraphScratch
    from kgrag.audit import audit
    from kgrag.stages.sparql_check import ontology_graphs

    nodes = [_graph(store, each) for each in graphs] or ontology_graphs(store)
    if not nodes and options.profile != "kg":
        raise InputError("there is no ontology in this knowledge base. Load one (kgrag load FILE), or name files.")
    return audit(store, graphs=nodes, options=options, open_bench=OxigraphScratch)


def _graph(store: TripleStore, name: str) -> ox.NamedNode:
    try:
        node = ox.NamedNode(name)
    except ValueError as error:
        raise InputError(f"{name!r} is no absolute IRI ({error}) and no file. Name a file or a graph.") from None
    if not store.described(node):
        raise InputError(f"there is no graph <{name}>. queries/catalogue/graphs lists them.")
    return node
