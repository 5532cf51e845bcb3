"""Finds literals that the engine rewrites, and keeps them as they were written.

Oxigraph stores numbers, dates, times, durations and booleans by value: ``"01"^^xsd:int`` comes back as
``"1"^^xsd:integer``. What is rewritten is found by a round trip through a store in memory, so it is exact for the
engine in use. A graph of somebody else's RDF gets a companion graph that keeps each rewritten literal; a graph of our
own must hold canonical literals.

The triples of a graph with their literals as they were loaded.

A store keeps numbers and dates by their value, and the surface of each literal that it changed in a lexical graph
beside it (``Names.lexical_graph``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.model import GraphDraft, Term, plain
from kgrag.ports import TripleStore
from kgrag.vocab import KG, RDF, XSD, Names

__all__ = [
    "as_loaded",
    "as_stored",
    "canonical",
    "companions",
    "refuse_rewritten",
]

_KEPT = frozenset({XSD.string, ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#langString")})


def as_stored(literals: Iterable[ox.Literal]) -> dict[ox.Literal, ox.Literal]:
    """Return those literals that the engine rewrites, each with what it becomes."""
    distinct = [literal for literal in dict.fromkeys(literals) if literal.datatype not in _KEPT]
    if not distinct:
        return {}
    scratch = ox.Store()
    scratch.extend(ox.Quad(ox.NamedNode(f"urn:{row}"), RDF.object, literal) for row, literal in enumerate(distinct))
    after = {quad.subject.value: quad.object for quad in scratch}
    pairs = ((literal, after[f"urn:{row}"]) for row, literal in enumerate(distinct))
    return {before: stored for before, stored in pairs if before != stored}


def refuse_rewritten(graphs: Mapping[ox.NamedNode, Sequence[ox.Triple]]) -> None:
    """Accept graphs of our own if their literals are canonical.

    Raises:
        InvalidRDF: one is not; the message tells how to write it.
    """
    rewritten = as_stored(literal for triples in graphs.values() for literal in _literals(triples))
    if not rewritten:
        return
    graph, written = next(
        (graph, literal) for graph, triples in graphs.items() for literal in _literals(triples) if literal in rewritten
    )
    raise InvalidRDF(
        f"graph {graph.value} holds {written}, which the store would rewrite to {rewritten[written]}. "
        "Write it so, and keep the surface as a string beside it where it matters."
    )


def canonical(draft: GraphDraft, rewritten: Mapping[ox.Literal, ox.Literal]) -> GraphDraft:
    """Return the draft with its literals as the engine stores them, each triple once."""
    triples = dict.fromkeys(_stored(triple, rewritten) for triple in draft.triples)
    return replace(draft, triples=list(triples))


def companions(drafts: Iterable[GraphDraft], names: Names) -> list[GraphDraft]:
    """Return drafts as they will be stored, each followed by its lexical graph where a literal is rewritten."""
    found = []
    for draft in drafts:
        rewritten = as_stored(_literals(draft.triples))
        found.append(canonical(draft, rewritten))
        if rewritten and draft.kind != KG.LexicalGraph:
            found.append(_lexical_graph(draft, rewritten, names))
    return found


def _lexical_graph(draft: GraphDraft, rewritten: Mapping[ox.Literal, ox.Literal], names: Names) -> GraphDraft:
    kept = [triple for triple in draft.triples if triple.object in rewritten]
    return GraphDraft(
        iri=names.lexical_graph(draft.iri.value),
        kind=KG.LexicalGraph,
        triples=list(dict.fromkeys(part for triple in kept for part in _record(triple, rewritten, draft.iri, names))),
        mode="replace",
        sources=(draft.iri,),
    )


def _record(
    triple: ox.Triple, rewritten: Mapping[ox.Literal, ox.Literal], graph: ox.NamedNode, names: Names
) -> list[ox.Triple]:
    written = cast("ox.Literal", triple.object)
    node = names.lexical(graph.value, str(triple))
    return [
        ox.Triple(node, RDF.subject, triple.subject),
        ox.Triple(node, RDF.predicate, triple.predicate),
        ox.Triple(node, RDF.object, rewritten[written]),
        ox.Triple(node, KG.lexicalForm, ox.Literal(written.value)),
        ox.Triple(node, KG.lexicalDatatype, written.datatype),
    ]


def _literals(triples: Iterable[ox.Triple]) -> Iterable[ox.Literal]:
    for triple in triples:
        value = triple.object
        if isinstance(value, ox.Literal):
            yield value


def _stored(triple: ox.Triple, rewritten: Mapping[ox.Literal, ox.Literal]) -> ox.Triple:
    value = triple.object
    if isinstance(value, ox.Literal) and value in rewritten:
        return ox.Triple(triple.subject, triple.predicate, rewritten[value])
    return triple


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
    """Return what was loaded, by subject, predicate and the object that the store keeps."""
    records: dict[Term, dict[ox.NamedNode, Any]] = {}
    for triple in store.triples(store.names.lexical_graph(graph.value)):
        records.setdefault(triple.subject, {})[triple.predicate] = triple.object
    found: dict[tuple[Term, Term, Term], list[ox.Literal]] = {}
    for each in records.values():
        literal = ox.Literal(plain(each[KG.lexicalForm]), datatype=each[KG.lexicalDatatype])
        found.setdefault((each[RDF.subject], each[RDF.predicate], each[RDF.object]), []).append(literal)
    return found
