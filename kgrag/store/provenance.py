"""Statements for the provenance graph: what a method did, with which model, and what it used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.model import GraphDraft
from kgrag.vocab import KG, PROV, RDF, RDFS, Names

__all__ = ["Deed", "provenance_draft"]


@dataclass(frozen=True, slots=True)
class Deed:
    """An activity: its name, what was done, what it used, and further statements (model, tokens, times …)."""

    iri: ox.NamedNode
    label: str
    used: Sequence[ox.NamedNode] = ()
    said: Sequence[tuple[ox.NamedNode, ox.Literal]] = ()


def provenance_draft(deeds: Iterable[Deed], *, method: str, names: Names) -> GraphDraft:
    """Return the draft that adds the activities of one method to the provenance graph."""
    triples = [triple for deed in deeds for triple in _triples(deed, method)]
    return GraphDraft(names.provenance, KG.ProvenanceGraph, triples, mode="append")


def _triples(deed: Deed, method: str) -> Iterator[ox.Triple]:
    yield ox.Triple(deed.iri, RDF.type, PROV.Activity)
    yield ox.Triple(deed.iri, RDFS.label, ox.Literal(deed.label))
    yield ox.Triple(deed.iri, KG.method, ox.Literal(method))
    for used in deed.used:
        yield ox.Triple(deed.iri, PROV.used, used)
    for predicate, value in deed.said:
        yield ox.Triple(deed.iri, predicate, value)
