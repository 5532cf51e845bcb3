"""The triples of a graph with their literals as they were loaded.

A store keeps numbers and dates by their value, and the surface of each literal that it changed in a lexical graph
beside it (``Names.lexical_graph``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox

from kgrag.model import Term, plain
from kgrag.ports import TripleStore
from kgrag.vocab import KG, RDF

__all__ = ["as_loaded"]


def as_loaded(store: TripleStore, graph: ox.NamedNode) -> Iterator[ox.Triple]:
    """Yield the triples of a graph; where several literals became one, each of those that were changed."""
    known = _known(store, graph)
    for triple in store.triples(graph):
        literals = known.get((triple.subject, triple.predicate, triple.object))
        if literals is None:
            yield triple
        else:
            yield from (ox.Triple(triple.subject, triple.predicate, literal) for literal in literals)


def _known(store: TripleStore, graph: ox.NamedNode) -> dict[tuple[Term, Term, Term], list[ox.Literal]]:
    """Give what was loaded, by subject, predicate and the object that the store keeps."""
    records: dict[Term, dict[ox.NamedNode, Any]] = {}
    for triple in store.triples(store.names.lexical_graph(graph.value)):
        records.setdefault(triple.subject, {})[triple.predicate] = triple.object
    found: dict[tuple[Term, Term, Term], list[ox.Literal]] = {}
    for each in records.values():
        literal = ox.Literal(plain(each[KG.lexicalForm]), datatype=each[KG.lexicalDatatype])
        found.setdefault((each[RDF.subject], each[RDF.predicate], each[RDF.object]), []).append(literal)
    return found
