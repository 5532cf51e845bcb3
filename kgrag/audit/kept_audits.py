"""An audit as a named graph, so that it can be asked for later, with the activity that made it.

Graphs written: one audit graph (a SHACL validation report whose results have IRIs), and the provenance graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyoxigraph as ox

from kgrag.audit.findings import Audit, AuditFinding
from kgrag.audit.reports.rdf_reports import term_of
from kgrag.model import GraphDraft
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.vocab import AUDIT, DCTERMS, KG, PROV, RDF, XSD, Names, number

__all__ = ["audit_drafts"]

_SH = "http://www.w3.org/ns/shacl#"


def audit_drafts(
    audit: Audit, *, names: Names, times: tuple[str, str], graphs: Sequence[ox.NamedNode] = ()
) -> list[GraphDraft]:
    """Give the graph of an audit and its activity, ready to be published; the same findings kept twice are one graph.

    Args:
        audit: what was found.
        names: the IRIs of the knowledge base.
        times: when it began and ended, as xsd:dateTime.
        graphs: what was audited, as far as it stands in the store.
    """
    content = (audit.target, audit.profile, *sorted(audit.fingerprints))
    iri, graph = names.audit(*content), names.audit_graph(*content)
    said = [
        (KG.parameters, ox.Literal(f"profile={audit.profile}; {audit.engine}")),
        (PROV.startedAtTime, ox.Literal(times[0], datatype=XSD.dateTime)),
        (PROV.endedAtTime, ox.Literal(times[1], datatype=XSD.dateTime)),
    ]
    deed = Deed(names.activity("audit", *content, *times), f"audited {audit.target}", graphs, said)
    draft = GraphDraft(
        iri=graph,
        kind=KG.AuditGraph,
        triples=[*_report(audit, iri), *_results(audit, iri, names)],
        method="audit",
        sources=list(graphs),
        activity=deed.iri,
    )
    return [draft, provenance_draft([deed], method="audit", names=names)]


def _report(audit: Audit, iri: ox.NamedNode) -> Iterator[ox.Triple]:
    conforms = ox.Literal("true" if audit.conforms else "false", datatype=XSD.boolean)
    yield ox.Triple(iri, RDF.type, _sh("ValidationReport"))
    yield ox.Triple(iri, _sh("conforms"), conforms)
    yield ox.Triple(iri, DCTERMS.title, ox.Literal(audit.target))
    yield ox.Triple(iri, KG.parameters, ox.Literal(f"profile={audit.profile}"))
    yield ox.Triple(iri, KG.size, number(sum(audit.totals.values())))


def _results(audit: Audit, report: ox.NamedNode, names: Names) -> Iterator[ox.Triple]:
    for finding in audit.findings:
        iri = names.audit_finding(report.value, finding.fingerprint)
        yield ox.Triple(report, _sh("result"), iri)
        yield from _result(finding, iri)


def _result(finding: AuditFinding, iri: ox.NamedNode) -> Iterator[ox.Triple]:
    said = {"focusNode": finding.focus, "resultPath": finding.path, "value": finding.value}
    terms = {name: term_of(text) for name, text in said.items() if text}
    yield ox.Triple(iri, RDF.type, _sh("ValidationResult"))
    yield ox.Triple(iri, DCTERMS.identifier, ox.Literal(finding.fingerprint))
    yield ox.Triple(iri, _sh("resultMessage"), ox.Literal(finding.message))
    yield ox.Triple(iri, _sh("resultSeverity"), _sh(finding.severity))
    yield ox.Triple(iri, _sh("sourceShape"), ox.NamedNode(AUDIT.prefix + finding.check))
    for name, term in terms.items():
        if isinstance(term, ox.NamedNode) or (name == "value" and isinstance(term, ox.Literal)):
            yield ox.Triple(iri, _sh(name), term)


def _sh(name: str) -> ox.NamedNode:
    return ox.NamedNode(_SH + name)
