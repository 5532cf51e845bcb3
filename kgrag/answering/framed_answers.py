"""Answers as JSON-LD in one shape: the answer with its citations inside, as JSON to programs and as RDF to all others.

It states what the graph of a kept answer states (``kept_answers``), no more and no less, so a reader who loads it has
that graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pyoxigraph as ox

from kgrag.answering.kept_answers import answer_draft
from kgrag.model import Answer, plain
from kgrag.vocab import DCTERMS, KG, PROV, RDF, XSD, Names, local_name

__all__ = ["answer_jsonld"]

_PARTS = {KG.Citation: "citations", KG.ShortAnswer: "values", KG.UnsupportedSentence: "unsupported"}
_NAMES = {DCTERMS.isPartOf: "conversation", PROV.used: "hits", PROV.wasDerivedFrom: "from"}
_SEVERAL = frozenset({PROV.used, KG.missing})
_PREFIXES = {
    "dcterms": "http://purl.org/dc/terms/",
    "kg": KG.prefix,
    "prov": PROV.prefix,
    "rdf": RDF.prefix,
    "xsd": XSD.prefix,
}

_Node = dict[str, Any]


def answer_jsonld(answer: Answer, names: Names) -> _Node:
    """Return an answer as a JSON-LD document with its context inside.

    Args:
        answer: the answer.
        names: of the knowledge base, which name the answer and its citations as it does when it keeps them.
    """
    by_subject: dict[str, list[ox.Triple]] = defaultdict(list)
    for triple in answer_draft(answer, names=names).triples:
        by_subject[plain(triple.subject)].append(triple)
    root = next(subject for subject, triples in by_subject.items() if _type(triples) == KG.Answer)
    terms: dict[str, Any] = {}
    document = _node(root, by_subject, terms)
    for subject, triples in by_subject.items():
        if (name := _PARTS.get(_type(triples))) is not None:
            terms[name] = {"@reverse": "dcterms:isPartOf", "@container": "@set"}
            inner = [triple for triple in triples if triple.predicate != DCTERMS.isPartOf]
            document.setdefault(name, []).append(_node(subject, {subject: inner}, terms))
    return {"@context": {"id": "@id", "type": "@type", **_PREFIXES, **dict(sorted(terms.items()))}, **document}


def _type(triples: Iterable[ox.Triple]) -> Any:
    return next((triple.object for triple in triples if triple.predicate == RDF.type), None)


def _node(subject: str, by_subject: dict[str, list[ox.Triple]], terms: dict[str, Any]) -> _Node:
    node: _Node = {"id": subject}
    for triple in by_subject[subject]:
        predicate, value = triple.predicate, triple.object
        if predicate == RDF.type:
            node["type"] = _compact(plain(value))
            continue
        name = _NAMES.get(predicate) or local_name(predicate.value)
        terms[name] = {"@id": _compact(predicate.value), **({"@container": "@set"} if predicate in _SEVERAL else {})}
        if isinstance(value, ox.NamedNode) and predicate == DCTERMS.isPartOf:
            written: Any = _node(value.value, by_subject, terms)
        else:
            written = _written(value)
        if predicate in _SEVERAL:
            node.setdefault(name, []).append(written)
        else:
            node[name] = written
    return node


def _written(value: Any) -> Any:
    """Return a term as JSON-LD has it: natively where that means the same term."""
    if not isinstance(value, ox.Literal):
        return {"id": plain(value)}
    if value.datatype == XSD.string:
        return value.value
    if value.datatype == XSD.boolean:
        return value.value == "true"
    if value.datatype == XSD.integer:
        return int(value.value)
    return {"@value": value.value, "@type": _compact(value.datatype.value)}


def _compact(iri: str) -> str:
    for prefix, namespace in _PREFIXES.items():
        if iri.startswith(namespace):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return iri
