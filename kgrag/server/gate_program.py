"""What a write would do to ontologies, judged in a reader process; nothing that the server writes to is touched.

Runs there, not in the server: an audit takes long, and a process can be killed. An update is run on a copy of the store
that is thrown away. Of the graphs that it changes, those are judged that are ontologies: listed as such by the
catalogue, or with the declaration of an ontology or a class. The violations of each by itself, as ``kgrag audit GRAPH``
finds them, are compared with those of the graph as it is: a write is only to blame for what was not there before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from kgrag.audit import AuditFinding, AuditOptions, audit_triples
from kgrag.ports import TripleStore
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.rdf_files import is_ontology
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import KG, OWL, RDF, RDFS, Names

__all__ = ["declares", "judge", "warm"]

_DECLARING = (OWL.Ontology, OWL.Class, RDFS.Class)
_SHOWN = 20
"""Findings of a graph that are told in full."""

_Triples = list[ox.Triple]


def warm(_header: Mapping[str, Any], _body: bytes, _past: ox.Store) -> dict[str, Any]:
    """Do nothing: all is imported by now."""
    return {}


def declares(header: Mapping[str, Any], body: bytes, empty: ox.Store) -> dict[str, Any]:
    """Say whether an update that does not search writes the declaration of an ontology or a class.

    What it writes does not depend on what is stored, so an empty store shows it.
    """
    empty.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])
    found = any(next(empty.quads_for_pattern(None, RDF.type, kind), None) is not None for kind in _DECLARING)
    return {"declares": found}


def judge(header: Mapping[str, Any], body: bytes, past: ox.Store) -> dict[str, Any]:
    """Give what a write would bring: for each graph that gets worse, its new violations.

    Args:
        header: ``profile``; ``names``: the base IRI of the knowledge base; ``graphs``: those that the write speaks of
            (None: any); for an update ``copy``, a folder that may be written to, ``base`` and ``prefixes``; for an
            upload ``add``, whether its triples join the graph.
        body: the update, or N-Triples.
        past: the store as it is.

    Returns:
        ``refused``: a list of objects with ``graph``, ``new`` (how many), ``checks`` (how many of each), ``findings``.

    Raises:
        SyntaxError: the update does not parse.
        ValueError: it cannot be evaluated.
    """
    names = Names(header["names"])
    if header["copy"] is None:
        present, changes = past, _upload(header, body, past)
    else:
        present = _updated(header, body)
        changes = _update(header, past, present)
    store = OxigraphStore(present, names, read_only=True)
    told = [_told(change, header["profile"], store) for change in changes if set(change.before) != set(change.after)]
    return {"refused": [each for each in told if each["new"]]}


@dataclass(frozen=True, slots=True)
class _Change:
    """An ontology as it is, and as a write would leave it."""

    graph: ox.NamedNode
    before: _Triples
    after: _Triples


def _upload(header: Mapping[str, Any], body: bytes, past: ox.Store) -> Iterator[_Change]:
    """Yield what an upload does to its graph, if that is an ontology or becomes one."""
    (graph,) = map(ox.NamedNode, header["graphs"])
    sent = [quad.triple for quad in ox.parse(body, ox.RdfFormat.N_TRIPLES)]
    kept = header["add"] and _declares(past, graph)
    if kept or is_ontology(sent) or _listed(past, graph, header):
        before = _triples(past, graph)
        yield _Change(graph, before, [*(before if header["add"] else ()), *sent])


def _update(header: Mapping[str, Any], past: ox.Store, present: ox.Store) -> Iterator[_Change]:
    """Yield what an update does to the ontologies among the graphs that it speaks of."""
    graphs = _declaring(past, present) if header["graphs"] is None else map(ox.NamedNode, header["graphs"])
    default = Names(header["names"]).default_data
    for graph in graphs:
        places: list[ox.NamedNode | ox.DefaultGraph] = [graph]
        if graph == default:
            places.append(ox.DefaultGraph())  # its triples move there when the update is done
        if _listed(past, graph, header) or any(_declares(present, place) for place in places):
            after = [triple for place in places for triple in _triples(present, place)]
            yield _Change(graph, _triples(past, graph), after)


def _updated(header: Mapping[str, Any], body: bytes) -> ox.Store:
    store = ox.Store(header["copy"])
    store.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])
    return store


def _declaring(*stores: ox.Store) -> list[ox.NamedNode]:
    """Give the named graphs of stores in which an ontology or a class is declared."""
    quads = (quad for store in stores for kind in _DECLARING for quad in store.quads_for_pattern(None, RDF.type, kind))
    found = {quad.graph_name for quad in quads}
    return sorted((graph for graph in found if isinstance(graph, ox.NamedNode)), key=lambda graph: graph.value)


def _declares(store: ox.Store, graph: ox.NamedNode | ox.DefaultGraph) -> bool:
    return any(next(store.quads_for_pattern(None, RDF.type, kind, graph), None) is not None for kind in _DECLARING)


def _listed(past: ox.Store, graph: ox.NamedNode, header: Mapping[str, Any]) -> bool:
    """Say whether the catalogue calls a graph an ontology."""
    return ox.Quad(graph, RDF.type, KG.OntologyGraph, Names(header["names"]).catalogue) in past


def _triples(store: ox.Store, graph: ox.NamedNode | ox.DefaultGraph) -> _Triples:
    return [quad.triple for quad in store.quads_for_pattern(None, None, None, graph)]


def _told(change: _Change, profile: str, store: TripleStore) -> dict[str, Any]:
    """Give the violations of a graph that it did not have before."""

    def violations(triples: _Triples) -> Iterable[AuditFinding]:
        options, name = AuditOptions(profile=profile), change.graph.value
        found = audit_triples(triples, name=name, bench=OxigraphScratch(), options=options, store=store)
        return (finding for finding in found.findings if finding.severity == "Violation")

    new = _new(change, violations)
    return {
        "graph": change.graph.value,
        "new": len(new),
        "checks": dict(sorted(Counter(finding.check for finding in new).items())),
        "findings": [finding.to_json() for finding in new[:_SHOWN]],
    }


def _new(change: _Change, violations: Callable[[_Triples], Iterable[AuditFinding]]) -> list[AuditFinding]:
    after = list(violations(change.after)) if change.after else []
    known = {finding.fingerprint for finding in violations(change.before)} if after and change.before else set()
    return [finding for finding in after if finding.fingerprint not in known]
