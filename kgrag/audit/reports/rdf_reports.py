"""An audit as RDF: a SHACL validation report, and metrics in the Data Quality Vocabulary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox

from kgrag.audit.findings import Audit, AuditFinding
from kgrag.vocab import AUDIT, RDF, XSD

__all__ = ["as_dqv", "as_shacl", "term_of"]

_DQV = "http://www.w3.org/ns/dqv#"
_SH = "http://www.w3.org/ns/shacl#"
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*")


def as_shacl(audit: Audit) -> str:
    """Give an audit as a SHACL validation report in Turtle; the source shape of a result is the check."""
    prefixes = {"aud": AUDIT.prefix, "sh": _SH, "xsd": XSD.prefix, "rdf": RDF.prefix}
    data = ox.serialize(_triples(audit), format=ox.RdfFormat.TURTLE, prefixes=prefixes)
    return (data or b"").decode()


def _triples(audit: Audit) -> Iterator[ox.Triple]:
    report = ox.BlankNode("report")
    conforms = ox.Literal("false" if audit.findings else "true", datatype=XSD.boolean)
    yield ox.Triple(report, RDF.type, _sh("ValidationReport"))
    yield ox.Triple(report, _sh("conforms"), conforms)
    results = [ox.BlankNode(f"result{number}") for number in range(len(audit.findings))]
    yield from (ox.Triple(report, _sh("result"), result) for result in results)
    for result, finding in zip(results, audit.findings, strict=True):
        yield from _result(result, finding)


def _result(result: ox.BlankNode, finding: AuditFinding) -> Iterator[ox.Triple]:
    component = finding.component
    name = "SPARQL" if component == "sparql" else component[:1].upper() + component[1:]
    yield ox.Triple(result, RDF.type, _sh("ValidationResult"))
    yield ox.Triple(result, _sh("focusNode"), term_of(finding.focus))
    if (path := term_of(finding.path)) and isinstance(path, ox.NamedNode):
        yield ox.Triple(result, _sh("resultPath"), path)
    if finding.value:
        yield ox.Triple(result, _sh("value"), term_of(finding.value))
    yield ox.Triple(result, _sh("resultMessage"), ox.Literal(finding.message))
    yield ox.Triple(result, _sh("resultSeverity"), _sh(finding.severity))
    yield ox.Triple(result, _sh("sourceConstraintComponent"), _sh(f"{name}ConstraintComponent"))
    yield ox.Triple(result, _sh("sourceShape"), ox.NamedNode(AUDIT.prefix + re.sub(r"[^\w-]", "-", finding.check)))


def term_of(text: str) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    """Read a term back from a finding: an IRI, a blank node, else a plain literal."""
    if text.startswith("_:") and re.fullmatch(r"_:\w+", text):
        return ox.BlankNode(text[2:])
    try:
        return ox.NamedNode(text) if _IRI.fullmatch(text) else ox.Literal(text)
    except ValueError:
        return ox.Literal(text)


def _sh(name: str) -> ox.NamedNode:
    return ox.NamedNode(_SH + name)


def as_dqv(audit: Audit) -> str:
    """Give the metrics of an audit as quality measurements in Turtle; nothing where none were asked for."""
    prefixes = {"dqv": _DQV, "aud": AUDIT.prefix, "xsd": XSD.prefix, "rdf": RDF.prefix}
    return (ox.serialize(_measurements(audit), format=ox.RdfFormat.TURTLE, prefixes=prefixes) or b"").decode()


def _measurements(audit: Audit) -> Iterator[ox.Triple]:
    about = term_of(Path(audit.files[0]).absolute().as_uri() if audit.files else audit.target)
    for name, value in audit.metrics.items():
        node = ox.BlankNode(name)
        kind = XSD.integer if isinstance(value, int) else XSD.decimal
        yield ox.Triple(node, RDF.type, ox.NamedNode(_DQV + "QualityMeasurement"))
        yield ox.Triple(node, ox.NamedNode(_DQV + "computedOn"), about)
        yield ox.Triple(node, ox.NamedNode(_DQV + "isMeasurementOf"), ox.NamedNode(f"{AUDIT.prefix}metric-{name}"))
        yield ox.Triple(node, ox.NamedNode(_DQV + "value"), ox.Literal(str(value), datatype=kind))
