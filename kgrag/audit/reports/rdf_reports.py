"""An audit as RDF: a SHACL validation report, metrics in the Data Quality Vocabulary, and a graph for the store.

Graphs written (as drafts): one audit graph, a validation report whose results have IRIs, and the provenance graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyoxigraph as ox

from kgrag.audit.findings import Audit, AuditFinding
from kgrag.late_patterns import late_re
from kgrag.model import GraphDraft, ViolationTerms
from kgrag.store.provenance import Deed, provenance_draft
from kgrag.vocab import AUDIT, DCTERMS, KG, PROV, RDF, XSD, Names, number

__all__ = ["as_dqv", "as_shacl", "audit_drafts"]

_DQV = "http://www.w3.org/ns/dqv#"
_SH = "http://www.w3.org/ns/shacl#"
_IRI = late_re(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")
_Node = ox.NamedNode | ox.BlankNode


def as_shacl(audit: Audit) -> str:
    """Return a SHACL validation report in Turtle.

    The source shape of a result is the check; a result of a user's own shape has the terms of data and shapes. What was
    asked for and has no verdict breaks conformance, and is named with the reason (``aud:notDecided``).
    """
    report = ox.BlankNode("report")
    results = {ox.BlankNode(f"result{number}"): finding for number, finding in enumerate(audit.findings)}
    # SHACL has results of whatever severity break conformance, unlike an audit
    clean = audit.conforms and not (audit.disallowed is None and audit.totals)
    undecided = [ox.BlankNode(f"undecided{place}") for place, _ in enumerate(_undecided(audit))]
    triples = [*_report(report, results, conforms=clean), *_not_decided(report, undecided, audit)]
    for result, finding in results.items():
        if finding.terms is not None:
            triples += _of_terms(result, finding.terms)
            continue
        component = "SPARQL" if finding.component == "sparql" else finding.component[:1].upper() + finding.component[1:]
        check = ox.NamedNode(AUDIT.prefix + re.sub(r"[^\w-]", "-", finding.check))
        triples += _result(result, finding, check)
        triples += [
            ox.Triple(result, _sh(name), term)
            for name, term in _terms(finding).items()
            if name != "resultPath" or isinstance(term, ox.NamedNode)
        ]
        triples.append(ox.Triple(result, _sh("sourceConstraintComponent"), _sh(f"{component}ConstraintComponent")))
    return _turtle(list(dict.fromkeys(triples)), {"aud": AUDIT.prefix, "sh": _SH, "xsd": XSD.prefix, "rdf": RDF.prefix})


def audit_drafts(
    audit: Audit, *, names: Names, times: tuple[str, str], graphs: Sequence[ox.NamedNode] = ()
) -> list[GraphDraft]:
    """Return the graph of an audit and its activity, ready to be published; the same findings twice are one graph.

    Args:
        audit: what was found.
        names: the IRIs of the knowledge base.
        times: when it began and ended, as xsd:dateTime.
        graphs: what was audited, as far as it is in the store.
    """
    content = (audit.target, audit.profile, *sorted(audit.fingerprints), *sorted(_undecided(audit)))
    report = names.audit(*content)
    results = {names.audit_finding(report.value, finding.fingerprint): finding for finding in audit.findings}
    triples = [
        *_report(report, results, conforms=audit.conforms),
        ox.Triple(report, DCTERMS.title, ox.Literal(audit.target)),
        ox.Triple(report, KG.parameters, ox.Literal(f"profile={audit.profile}")),
        ox.Triple(report, KG.size, number(sum(audit.totals.values()))),
    ]
    for result, finding in results.items():
        triples += _result(result, finding, ox.NamedNode(AUDIT.prefix + finding.check))
        triples.append(ox.Triple(result, DCTERMS.identifier, ox.Literal(finding.fingerprint)))
        # blank nodes of the target mean nothing in another graph
        triples += [
            ox.Triple(result, _sh(name), term)
            for name, term in _terms(finding).items()
            if isinstance(term, ox.NamedNode) or (name == "value" and isinstance(term, ox.Literal))
        ]
    undecided = [names.audit_finding(report.value, words) for words in _undecided(audit)]
    triples += _not_decided(report, undecided, audit)
    details = [
        (KG.parameters, ox.Literal(f"profile={audit.profile}; {audit.engine}")),
        (PROV.startedAtTime, ox.Literal(times[0], datatype=XSD.dateTime)),
        (PROV.endedAtTime, ox.Literal(times[1], datatype=XSD.dateTime)),
    ]
    deed = Deed(names.activity("audit", *content, *times), f"audited {audit.target}", graphs, details)
    draft = GraphDraft(
        iri=names.audit_graph(*content),
        kind=KG.AuditGraph,
        triples=triples,
        method="audit",
        sources=list(graphs),
        activity=deed.iri,
    )
    return [draft, provenance_draft([deed], method="audit", names=names)]


def as_dqv(audit: Audit) -> str:
    """Return the metrics of an audit as quality measurements in Turtle; nothing where none were asked for."""
    target = _term(Path(audit.files[0]).absolute().as_uri() if audit.files else audit.target)
    triples: list[ox.Triple] = []
    for name, value in audit.metrics.items():
        node = ox.BlankNode(name)
        datatype = XSD.integer if isinstance(value, int) else XSD.decimal
        triples += [
            ox.Triple(node, RDF.type, ox.NamedNode(_DQV + "QualityMeasurement")),
            ox.Triple(node, ox.NamedNode(_DQV + "computedOn"), target),
            ox.Triple(node, ox.NamedNode(_DQV + "isMeasurementOf"), ox.NamedNode(f"{AUDIT.prefix}metric-{name}")),
            ox.Triple(node, ox.NamedNode(_DQV + "value"), ox.Literal(str(value), datatype=datatype)),
        ]
    return _turtle(triples, {"dqv": _DQV, "aud": AUDIT.prefix, "xsd": XSD.prefix, "rdf": RDF.prefix})


def _report(report: _Node, results: Iterable[_Node], *, conforms: bool) -> Iterator[ox.Triple]:
    yield ox.Triple(report, RDF.type, _sh("ValidationReport"))
    yield ox.Triple(report, _sh("conforms"), ox.Literal("true" if conforms else "false", datatype=XSD.boolean))
    yield from (ox.Triple(report, _sh("result"), result) for result in results)


def _undecided(audit: Audit) -> list[str]:
    """Return what was asked for and has no verdict, with the reasons."""
    return [f"{each.check}: {each.reason}" for each in audit.not_decided if each.asked]


def _not_decided(report: _Node, nodes: Iterable[_Node], audit: Audit) -> Iterator[ox.Triple]:
    """Yield what was asked for and has no verdict, one node for each."""
    asked = (each for each in audit.not_decided if each.asked)
    for node, each, words in zip(nodes, asked, _undecided(audit), strict=True):
        shape = _term(each.check)
        if not isinstance(shape, ox.NamedNode):
            shape = ox.NamedNode(AUDIT.prefix + re.sub(r"[^\w-]", "-", each.check))
        yield ox.Triple(report, AUDIT.notDecided, node)
        yield ox.Triple(node, RDF.type, AUDIT.UndecidedCheck)
        yield ox.Triple(node, _sh("resultMessage"), ox.Literal(words))
        yield ox.Triple(node, _sh("sourceShape"), shape)


def _result(result: _Node, finding: AuditFinding, check: ox.NamedNode) -> Iterator[ox.Triple]:
    yield ox.Triple(result, RDF.type, _sh("ValidationResult"))
    yield ox.Triple(result, _sh("resultMessage"), ox.Literal(finding.message))
    yield ox.Triple(result, _sh("resultSeverity"), _sh(finding.severity))
    yield ox.Triple(result, _sh("sourceShape"), check)


def _of_terms(result: ox.BlankNode, terms: ViolationTerms) -> Iterator[ox.Triple]:
    """Yield a result in the terms of data and shapes, and the results that it is due to."""
    yield ox.Triple(result, RDF.type, _sh("ValidationResult"))
    stated = {
        "focusNode": terms.focus,
        "resultPath": terms.path,
        "resultSeverity": terms.severity,
        "sourceConstraint": terms.constraint,
        "sourceConstraintComponent": terms.component,
        "sourceShape": terms.shape,
        "value": terms.value,
    }
    yield from (ox.Triple(result, _sh(name), term) for name, term in stated.items() if term is not None)
    yield from (ox.Triple(result, _sh("resultMessage"), message) for message in terms.messages)
    yield from terms.described
    for place, detail in enumerate(terms.details):
        node = ox.BlankNode(f"{result.value}d{place}")
        yield ox.Triple(result, _sh("detail"), node)
        yield from _of_terms(node, detail)


def _terms(finding: AuditFinding) -> dict[str, _Node | ox.Literal]:
    texts = {"focusNode": finding.focus, "resultPath": finding.path, "value": finding.value}
    return {name: _term(text) for name, text in texts.items() if text}


def _term(text: str) -> _Node | ox.Literal:
    """Read a term back from a finding: an IRI, a blank node, else a plain literal."""
    if re.fullmatch(r"_:\w+", text):
        return ox.BlankNode(text[2:])
    try:
        return ox.NamedNode(text) if _IRI.fullmatch(text) else ox.Literal(text)
    except ValueError:  # has the form of an IRI and is none
        return ox.Literal(text)


def _turtle(triples: Sequence[ox.Triple], prefixes: Mapping[str, str]) -> str:
    return (ox.serialize(triples, format=ox.RdfFormat.TURTLE, prefixes=dict(prefixes)) or b"").decode()


def _sh(name: str) -> ox.NamedNode:
    return ox.NamedNode(_SH + name)
