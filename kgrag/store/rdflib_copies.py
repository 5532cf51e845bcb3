"""Triples as a graph of rdflib, with literals as they are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.model import Term
from kgrag.vocab import XSD

if TYPE_CHECKING:
    import rdflib
    import rdflib.term

__all__ = ["rdflib_copy"]


def rdflib_copy(
    triples: Iterable[ox.Triple], *, identifier: str = "", exact: bool = True, tags: Mapping[str, str] | None = None
) -> rdflib.Graph:
    """Return triples as a graph of rdflib.

    Args:
        triples: of any graph.
        identifier: the IRI of the graph; "" for none.
        exact: keep literals as they are, and not in the one form that rdflib has per value.
        tags: language tags as they were written, by the same in lower case.

    Raises:
        InvalidRDF: there is a triple term, which rdflib does not know.
    """
    import rdflib

    spelled = tags or {}

    def copied(term: Term) -> rdflib.term.Node:
        if isinstance(term, ox.NamedNode):
            return rdflib.URIRef(term.value)
        if isinstance(term, ox.BlankNode):
            return rdflib.BNode(term.value)
        if isinstance(term, ox.Triple):
            raise InvalidRDF(f"rdflib, and with it pyshacl, knows no triple terms, and there is {term}.")
        if term.language or term.datatype == XSD.string:
            return rdflib.Literal(term.value, lang=spelled.get(term.language or "", term.language))
        return rdflib.Literal(term.value, datatype=rdflib.URIRef(term.datatype.value), normalize=not exact)

    graph = rdflib.Graph(identifier=identifier or None)
    for triple in triples:
        graph.add((copied(triple.subject), copied(triple.predicate), copied(triple.object)))
    return graph
