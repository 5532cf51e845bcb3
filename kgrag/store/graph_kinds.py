"""The kinds of named graph: those that the platform writes, and with them those that methods declare.

``kinds()`` is what forgetting, the catalogue's shape and the audit go by; ``overview`` counts the graphs of each kind
in a store. ``shapes/graphs/kinds.ttl`` is what ``catalogue_shapes`` makes of kgrag's own kinds, for ontologists to
read; a test refuses drift, and ``pytest --rewrite-golden`` writes it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import pyoxigraph as ox

from kgrag import plugins, queries
from kgrag.declarations import GraphKind
from kgrag.model import plain
from kgrag.ports import TripleStore
from kgrag.vocab import KG, PROV, local_name

__all__ = ["PLATFORM", "catalogue_shapes", "fact_kinds", "holds_facts", "kinds", "overview"]

PLATFORM = (
    GraphKind(
        KG.AnswerGraph,
        "answer graph",
        "A graph that keeps one answer: the question, its sentences, and the quotes that carry them.",
        shape="answer",
        when_source_goes="drop_if_any",
        homes_of=(KG.Answer, KG.Citation, KG.Conversation),
    ),
    GraphKind(
        KG.AssertionGraph,
        "assertion graph",
        "A graph of what one extraction says that its sources state.",
        shape="assertion",
        holds_facts=True,
    ),
    GraphKind(
        KG.AuditGraph,
        "audit graph",
        "A graph that keeps one audit: a SHACL validation report with its results, each with an IRI.",
        shape="audit",
    ),
    GraphKind(
        KG.CatalogueGraph,
        "catalogue graph",
        "The graph that describes every named graph, itself included.",
        shape="catalogue",
        when_source_goes="trim",
        lists_only=True,
        counted=False,
    ),
    GraphKind(KG.DataGraph, "data graph", "A graph of data as it was loaded.", holds_facts=True),
    GraphKind(
        KG.DocumentGraph,
        "document graph",
        "A graph of one document and its chunks.",
        shape="document",
        homes_of=(KG.Chunk,),
    ),
    GraphKind(
        KG.FeedbackGraph,
        "feedback graph",
        "A graph of what one reader found one answer to be, with the chunks that the answer cites.",
        shape="feedback",
        when_source_goes="drop_if_any",
        homes_of=(KG.Feedback,),
    ),
    GraphKind(
        KG.InferenceGraph,
        "inference graph",
        "A graph of what follows from other graphs by the rules of RDFS or OWL 2 RL and is stated in none of them.",
        shape="inference",
        when_source_goes="drop_if_any",
        holds_facts=True,
    ),
    GraphKind(
        KG.LexicalGraph,
        "lexical graph",
        "A graph that keeps literals of another graph as they were written, where the store rewrites them.",
        shape="lexical",
    ),
    GraphKind(KG.OntologyGraph, "ontology graph", "A graph of one ontology as it was loaded.", holds_facts=True),
    GraphKind(
        KG.ProfileGraph,
        "profile graph",
        "The graph of what the facts have: classes with their counts, and properties as they are used.",
        shape="profile",
        when_source_goes="trim",
    ),
    GraphKind(
        KG.ProvenanceGraph,
        "provenance graph",
        "The graph of the activities that made other graphs.",
        shape="provenance",
        when_source_goes="trim",
        lists_only=True,
        subject_goes=True,
        counted=False,
        homes_of=(PROV.Activity,),
    ),
    GraphKind(
        KG.QuarantineGraph,
        "quarantine graph",
        "A graph that keeps, as text, what was to be published and did not conform to its shape.",
        shape="quarantine",
    ),
    GraphKind(
        KG.QueryGraph,
        "query graph",
        "A graph of one query or update that somebody saved, with the parameters that it takes.",
        shape="query",
        homes_of=(KG.SavedQuery,),
    ),
    GraphKind(
        KG.IndexGraph,
        "index graph",
        "A graph of one index that a user declared: which texts can be searched for, as a query.",
        shape="index",
        homes_of=(KG.TextIndex,),
    ),
)
"""Kinds that belong to no method."""


@cache
def kinds() -> Mapping[str, GraphKind]:
    """Return IRI -> kind of every kind of named graph, the platform's first, then those of methods by name."""
    declared = [kind for method in plugins.methods().values() for kind in method.graph_kinds]
    return MappingProxyType({kind.iri.value: kind for kind in (*declared, *PLATFORM)})


def fact_kinds() -> list[ox.NamedNode]:
    """Return the kinds whose graphs have facts."""
    return [kind.iri for kind in kinds().values() if kind.holds_facts]


def holds_facts(kind: ox.NamedNode | None) -> bool:
    """Return whether graphs of a kind have facts; not those of an unknown kind, or of none."""
    return kind is not None and (known := kinds().get(kind.value)) is not None and known.holds_facts


def overview(store: TripleStore) -> dict[str, Any]:
    """Count quads, documents, chunks, and the named graphs of each kind.

    Queries read: ``catalogue/kinds``, ``documents/count``.
    """
    graphs_by_kind = {
        local_name(plain(kind)): int(plain(graphs))
        for kind, graphs in store.select(queries.bind("catalogue/kinds", catalogue=store.names.catalogue))
    }
    chunks = store.select(queries.bind("documents/count")).values()[0][0]
    return {
        "quads": len(store),
        "revision": store.revision,
        "documents": graphs_by_kind.get(local_name(KG.DocumentGraph.value), 0),
        "chunks": int(chunks),
        "graphs": graphs_by_kind,
    }


def catalogue_shapes(of: Iterable[GraphKind]) -> str:
    """Return, as Turtle, the shapes of the catalogue that list kinds of graph.

    Args:
        of: the kinds that a graph may be of; ``kinds().values()`` for those of this installation.
    """
    every = sorted(of, key=lambda kind: kind.iri.value)
    return _TURTLE.format(
        every=_lines(" , ".join(_term(kind) for kind in every), 4),
        listed=_lines(" ".join(_term(kind) for kind in every), 6),
        counted=_lines(" , ".join(_term(kind) for kind in every if kind.counted), 4),
    )


def _lines(text: str, indent: int) -> str:
    return textwrap.fill(text, 120, initial_indent=" " * indent, subsequent_indent=" " * indent, break_long_words=False)


def _term(kind: GraphKind) -> str:
    iri = kind.iri.value
    return f"kg:{iri.removeprefix(KG.prefix)}" if iri.startswith(KG.prefix) else str(kind.iri)


_TURTLE = """\
# The kinds of named graph that a catalogue may list. Generated from the declarations of kgrag and of its methods
# (kgrag/store/graph_kinds.py, kgrag/methods/*/__init__.py); the kinds of plug-ins join when kgrag runs.

@prefix kg: <https://w3id.org/kgrag/ns#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix shape: <https://w3id.org/kgrag/shapes/graphs#> .
@prefix void: <http://rdfs.org/ns/void#> .

shape:CatalogueEntry
  sh:targetClass
{every} .

shape:KnownGraphKind
  a sh:NodeShape ;
  rdfs:comment "A graph's entry says of what kind the graph is."@en ;
  kg:targetGraphKind kg:CatalogueGraph ;
  sh:targetSubjectsOf kg:publication ;
  sh:targetClass
{every} ;
  sh:property [
    sh:path rdf:type ;
    sh:minCount 1 ;
    sh:maxCount 1 ;
    sh:in (
{listed}
    ) ;
    sh:message "A named graph is of exactly one kind, and kgrag knows that kind."
  ] .

shape:CountedGraph
  a sh:NodeShape ;
  rdfs:comment "A graph that is written in one piece says how many triples it holds, so that damage shows."@en ;
  kg:targetGraphKind kg:CatalogueGraph ;
  sh:targetClass
{counted} ;
  sh:property [
    sh:path void:triples ;
    sh:minCount 1 ;
    sh:message "A graph that is written in one piece has a count of triples."
  ] , [
    sh:path kg:checksum ;
    sh:maxCount 1 ;
    sh:message "A graph that is written in one piece has one checksum."
  ] .
"""
