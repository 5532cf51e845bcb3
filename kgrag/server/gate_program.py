"""What a write would do to ontologies, judged in a reader process; nothing that the server writes to is touched.

It runs there, not in the server: an audit takes long, and a process can be killed. An update is run on a copy of the
store that is thrown away. Of the graphs that it changes, those are judged that are ontologies: listed as such by the
catalogue, or with the declaration of an ontology or a class. The violations of each by itself, as ``kgrag audit GRAPH``
finds them, are compared with those of the graph as it is: a write is only to blame for what was not there before.

Each public function takes the header and the body of a request and a store, and returns a JSON object.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from kgrag.audit import AuditFinding, AuditOptions, audit_triples
from kgrag.ports import TripleStore
from kgrag.server import data_gate_program
from kgrag.server.data_gate_program import are_shapes
from kgrag.store.embedded_quads import EmbeddedQuads
from kgrag.store.oxigraph import OxigraphStore
from kgrag.store.rdf_files import is_ontology
from kgrag.store.scratch import OxigraphScratch
from kgrag.vocab import KG, OWL, RDF, RDFS, Names

__all__ = ["declares", "judge", "refused_by", "warm"]

_DECLARED_CLASSES = (OWL.Ontology, OWL.Class, RDFS.Class)
_MAX_FINDINGS_PER_GRAPH = 20
"""More are counted, not listed."""

_Header = Mapping[str, Any]
_Triples = list[ox.Triple]


def warm(_header: _Header, _body: bytes, _past: ox.Store) -> dict[str, object]:
    """Do nothing: that all is imported by now is the purpose."""
    return {}


def declares(header: _Header, body: bytes, empty: ox.Store) -> dict[str, object]:
    """Return whether an update that does not search writes the declaration of an ontology or a class.

    What it writes does not depend on what is stored, so an empty store shows it.
    """
    empty.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])
    return {"declares": next(_declarations(empty, None), None) is not None}


def judge(header: _Header, body: bytes, past: ox.Store) -> dict[str, object]:
    """Return what a write would bring: for each graph that gets worse, its new violations.

    Args:
        header: ``profile``, or in its place the path of SHACL shapes for data (``data_gate_program``); ``names``: the
            base IRI of the knowledge base; ``graphs``: those that the write may change (None: any); for an update
            ``copy``, a folder that may be written to, ``base`` and ``prefixes``; for an upload ``add``, whether its
            triples are added to the graph.
        body: the update, or N-Triples.
        past: the store as it is.

    Returns:
        ``refused``: a list of objects with ``graph``, ``new`` (how many), ``checks`` (how many of each), ``findings``.

    Raises:
        SyntaxError: the update does not parse.
        ValueError: it cannot be evaluated.
    """
    if are_shapes(header["profile"]):
        return data_gate_program.judge(header, body, past)
    if header["copy"] is None:
        return {"refused": _refused(header, past, _changes_by_upload(header, body, past))}
    present = ox.Store(header["copy"])
    present.update(body.decode(), base_iri=header["base"] or None, prefixes=header["prefixes"])
    return {"refused": refused_by(header, past, present)}


def refused_by(header: _Header, past: ox.Store, present: ox.Store) -> list[dict[str, object]]:
    """Return each graph that an update has made worse, as ``judge`` does.

    Args:
        header: as of ``judge``.
        past: the store as it was.
        present: a copy on which the update was run.
    """
    if are_shapes(header["profile"]):
        return data_gate_program.refused_by(header, past, present)
    return _refused(header, present, _changes_by_update(header, past, present))


def _refused(header: _Header, present: ox.Store, changes: Iterable[_OntologyChange]) -> list[dict[str, object]]:
    store = OxigraphStore(EmbeddedQuads(present, read_only=True), Names(header["names"]), read_only=True)
    changed = (change for change in changes if set(change.before) != set(change.after))
    verdicts = (_verdict(change, header["profile"], store) for change in changed)
    return [verdict for verdict in verdicts if verdict["new"]]


@dataclass(frozen=True, slots=True)
class _OntologyChange:
    """An ontology as it is, and as a write would leave it."""

    graph: ox.NamedNode
    before: _Triples
    after: _Triples


def _changes_by_upload(header: _Header, body: bytes, past: ox.Store) -> Iterator[_OntologyChange]:
    """Yield what an upload does to its graph, if that is an ontology or becomes one."""
    (graph,) = map(ox.NamedNode, header["graphs"])
    sent = [quad.triple for quad in ox.parse(body, ox.RdfFormat.N_TRIPLES)]
    kept = header["add"] and _declares(past, graph)
    if kept or is_ontology(sent) or _is_listed(past, graph, header):
        before = _triples(past, graph)
        yield _OntologyChange(graph, before, [*(before if header["add"] else ()), *sent])


def _changes_by_update(header: _Header, past: ox.Store, present: ox.Store) -> Iterator[_OntologyChange]:
    """Yield what an update does to the ontologies among the graphs that it may change."""
    if header["graphs"] is None:
        named = {quad.graph_name for store in (past, present) for quad in _declarations(store, None)}
        graphs = sorted((node for node in named if isinstance(node, ox.NamedNode)), key=lambda node: node.value)
    else:
        graphs = [ox.NamedNode(iri) for iri in header["graphs"]]
    default = Names(header["names"]).default_data
    for graph in graphs:
        places: list[ox.NamedNode | ox.DefaultGraph] = [graph]
        if graph == default:
            places.append(ox.DefaultGraph())  # its triples move there when the update is done
        if _is_listed(past, graph, header) or any(_declares(present, place) for place in places):
            after = [triple for place in places for triple in _triples(present, place)]
            yield _OntologyChange(graph, _triples(past, graph), after)


def _declarations(store: ox.Store, graph: ox.NamedNode | ox.DefaultGraph | None) -> Iterator[ox.Quad]:
    """Yield the declarations of ontologies and classes in a graph, or in all of them."""
    for kind in _DECLARED_CLASSES:
        yield from store.quads_for_pattern(None, RDF.type, kind, graph)


def _declares(store: ox.Store, graph: ox.NamedNode | ox.DefaultGraph) -> bool:
    return next(_declarations(store, graph), None) is not None


def _is_listed(past: ox.Store, graph: ox.NamedNode, header: _Header) -> bool:
    """Return whether the catalogue lists a graph as an ontology."""
    return ox.Quad(graph, RDF.type, KG.OntologyGraph, Names(header["names"]).catalogue) in past


def _triples(store: ox.Store, graph: ox.NamedNode | ox.DefaultGraph) -> _Triples:
    return [quad.triple for quad in store.quads_for_pattern(None, None, None, graph)]


def _verdict(change: _OntologyChange, profile: str, store: TripleStore) -> dict[str, object]:
    """Return the violations of a graph that it did not have before."""

    def violations(triples: _Triples) -> list[AuditFinding]:
        if not triples:
            return []
        options, name = AuditOptions(profile=profile), change.graph.value
        audit = audit_triples(triples, name=name, bench=OxigraphScratch(), options=options, store=store)
        return [finding for finding in audit.findings if finding.severity == "Violation"]

    after = violations(change.after)
    before = {finding.fingerprint for finding in violations(change.before)} if after else set()
    new = [finding for finding in after if finding.fingerprint not in before]
    return {
        "graph": change.graph.value,
        "new": len(new),
        "checks": dict(sorted(Counter(finding.check for finding in new).items())),
        "findings": [finding.to_json() for finding in new[:_MAX_FINDINGS_PER_GRAPH]],
    }
