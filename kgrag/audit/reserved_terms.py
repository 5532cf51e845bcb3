"""Terms that well-known vocabularies define, and the namespaces in which nobody else may declare any.

Most of them come from rdflib, which lists the terms of 22 vocabularies. What it lacks is in
``shapes/ontology/reserved.ttl``: further vocabularies, and terms that are newer than its lists.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import cache

import pyoxigraph as ox

from kgrag.resources import folder
from kgrag.vocab import AUDIT, RDF

__all__ = ["is_reserved", "reserved_among"]

_OF_RDFLIB = (
    "CSVW DC DCAM DCAT DCMITYPE DCTERMS DOAP FOAF ODRL2 ORG OWL PROV QB RDF RDFS SDO SH SKOS SOSA SSN TIME VANN VOID"
)
_SCHEMA, _SCHEMA_HTTP = "https://schema.org/", "http://schema.org/"


def reserved_among(mentioned: Iterable[object]) -> list[ox.Triple]:
    """Return a statement for every reserved namespace, and for every reserved term among those mentioned.

    >>> iris = [ox.NamedNode(f"http://www.w3.org/2004/02/skos/core#{name}") for name in ("broader", "broadest")]
    >>> [triple.subject.value for triple in reserved_among(iris) if triple.predicate == RDF.type]
    ['http://www.w3.org/2004/02/skos/core#broader']
    """
    stated = [ox.Triple(ox.NamedNode(each), AUDIT.reserves, ox.Literal(each)) for each in _vocabularies()[0]]
    named = (term for term in mentioned if isinstance(term, ox.NamedNode) and is_reserved(term.value))
    return [*stated, *(ox.Triple(term, RDF.type, AUDIT.ReservedTerm) for term in named)]


def is_reserved(term: str) -> bool:
    """Return whether an IRI is a term of a vocabulary in wide use.

    >>> is_reserved("http://www.w3.org/2002/07/owl#Thing"), is_reserved("http://www.w3.org/2002/07/owl#Thingy")
    (True, False)
    """
    vocabularies, newer = _vocabularies()
    start = max(term.rfind("#"), term.rfind("/")) + 1
    namespace, name = term[:start], term[start:]
    # rdflib's classes count their own private attributes, and rdf:_1, as terms
    listed = name[:1] not in ("", "_") and name in vocabularies.get(namespace, ())
    return listed or term.replace(_SCHEMA_HTTP, _SCHEMA) in newer


@cache
def _vocabularies() -> tuple[Mapping[str, Container[str]], frozenset[str]]:
    """Return namespace -> the names that rdflib lists in it, and the terms of ``reserved.ttl``."""
    from rdflib import namespace  # it takes 0.07 s, which only an audit is to pay

    known: dict[str, Container[str]] = {}
    newer: set[str] = set()
    for name in _OF_RDFLIB.split():
        vocabulary = getattr(namespace, name)
        known[str(vocabulary)] = vocabulary
    known[_SCHEMA_HTTP] = known[_SCHEMA]
    for quad in ox.parse(path=folder("shapes") / "ontology" / "reserved.ttl"):
        if isinstance(quad.subject, ox.NamedNode) and isinstance(quad.object, ox.NamedNode):
            known.setdefault(quad.subject.value, ())
            newer.add(quad.object.value)
    return known, frozenset(newer)
