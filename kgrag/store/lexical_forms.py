"""Literals that the engine rewrites: which they are, and how they are kept as they were written.

Oxigraph stores numbers, dates, times, durations and booleans by value: ``"01"^^xsd:int`` comes back as
``"1"^^xsd:integer``. What is rewritten is found by a round trip through a store in memory, so it is exact for the
engine in use. A graph of somebody else's RDF gets a companion, its lexical graph (``Names.lexical_graph``), that keeps
each rewritten literal, and ``as_loaded`` reads the two together; a graph of our own must contain canonical literals.
Of a triple term it keeps the literal at its end, since nothing else in one is rewritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.model import GraphDraft, Term, plain
from kgrag.ports import TripleStore
from kgrag.store.readable_terms import DATATYPES, refuse_unreadable
from kgrag.vocab import KG, RDF, XSD, Names

__all__ = [
    "as_loaded",
    "as_stored",
    "canonical",
    "companions",
    "ending_with",
    "may_be_rewritten",
    "refuse_rewritten",
    "written",
]

_NEVER_REWRITTEN = DATATYPES | {XSD.string}


def as_stored(values: Iterable[ox.Literal | ox.Triple]) -> dict[ox.Literal | ox.Triple, Term]:
    """Return those literals and triple terms that the engine rewrites, each with what it becomes.

    Raises:
        InvalidRDF: one could not be read again (``readable_terms``).
    """
    distinct, tagged = [], []
    for value in dict.fromkeys(values):
        datatype = getattr(value, "datatype", None)
        if datatype in DATATYPES:
            tagged.append(value)
        elif datatype != XSD.string:
            distinct.append(value)
    refuse_unreadable(tagged)
    if not distinct:
        return {}
    refuse_unreadable(value for value in distinct if isinstance(value, ox.Triple))
    scratch = ox.Store()
    # the row number is the subject, since two literals may become one
    scratch.extend(ox.Quad(ox.NamedNode(f"urn:{row}"), RDF.object, value) for row, value in enumerate(distinct))
    after = {quad.subject.value: quad.object for quad in scratch}
    pairs = ((value, after[f"urn:{row}"]) for row, value in enumerate(distinct))
    return {before: stored for before, stored in pairs if before != stored}


def refuse_rewritten(graphs: Mapping[ox.NamedNode, Sequence[ox.Triple]]) -> None:
    """Accept graphs of our own if their literals are canonical.

    Raises:
        InvalidRDF: one is not, or a term could not be read again; the message shows how to write it.
    """
    rewritten = as_stored(value for triples in graphs.values() for value in _values(triples))
    if not rewritten:
        return
    graph, written = next(
        (graph, value) for graph, triples in graphs.items() for value in _values(triples) if value in rewritten
    )
    raise InvalidRDF(
        f"graph {graph.value} contains {written}, which the store would rewrite to {rewritten[written]}. "
        "Write it so, and add the surface as a string where it matters."
    )


def canonical(draft: GraphDraft, rewritten: Mapping[ox.Literal | ox.Triple, Term]) -> GraphDraft:
    """Return the draft with its literals as the engine stores them, each triple once."""

    def stored(triple: ox.Triple) -> ox.Triple:
        value = triple.object
        if isinstance(value, ox.Literal | ox.Triple) and value in rewritten:
            return ox.Triple(triple.subject, triple.predicate, rewritten[value])
        return triple

    return replace(draft, triples=list(dict.fromkeys(map(stored, draft.triples))))


def companions(drafts: Iterable[GraphDraft], names: Names) -> list[GraphDraft]:
    """Return drafts as they will be stored, each followed by its lexical graph where a literal is rewritten.

    Raises:
        InvalidRDF: a term could not be read again.
    """
    stored = []
    for draft in drafts:
        rewritten = as_stored(_values(draft.triples))
        stored.append(canonical(draft, rewritten))
        if rewritten and draft.kind != KG.LexicalGraph:
            stored.append(_lexical_graph(draft, rewritten, names))
    return stored


def _lexical_graph(draft: GraphDraft, rewritten: Mapping[ox.Literal | ox.Triple, Term], names: Names) -> GraphDraft:
    records: dict[ox.Triple, None] = {}
    # a canonical literal is kept too where another one became it, or it would seem never to have been written
    joined = {
        (triple.subject, triple.predicate, rewritten[triple.object])
        for triple in draft.triples
        if isinstance(triple.object, ox.Literal | ox.Triple) and triple.object in rewritten
    }
    for triple in draft.triples:
        whole, written = triple.object, _literal(triple.object)
        if not isinstance(whole, ox.Literal | ox.Triple) or written is None:
            continue
        stored = rewritten.get(whole, whole)
        if (triple.subject, triple.predicate, stored) in joined:
            node = names.lexical(draft.iri.value, str(triple))
            records[ox.Triple(node, RDF.subject, triple.subject)] = None
            records[ox.Triple(node, RDF.predicate, triple.predicate)] = None
            records[ox.Triple(node, RDF.object, stored)] = None
            records[ox.Triple(node, KG.lexicalForm, ox.Literal(written.value))] = None
            records[ox.Triple(node, KG.lexicalDatatype, written.datatype)] = None
    return GraphDraft(
        iri=names.lexical_graph(draft.iri.value),
        kind=KG.LexicalGraph,
        triples=list(records),
        mode="replace",
        sources=(draft.iri,),
    )


def _literal(term: Term) -> ox.Literal | None:
    """Return a literal itself, and of a triple term the literal at its end; None where there is none."""
    while isinstance(term, ox.Triple):
        term = term.object
    return term if isinstance(term, ox.Literal) else None


def may_be_rewritten(term: Term) -> bool:
    """Return whether a term is, or ends with, a literal of a datatype that the engine keeps by value."""
    literal = _literal(term)
    return literal is not None and literal.datatype not in _NEVER_REWRITTEN


def ending_with(term: Term, literal: ox.Literal) -> ox.Literal | ox.Triple:
    """Return a literal, or in place of a triple term the same one with this literal at its end."""
    if isinstance(term, ox.Triple):
        return ox.Triple(term.subject, term.predicate, ending_with(term.object, literal))
    return literal


def _values(triples: Iterable[ox.Triple]) -> Iterator[ox.Literal | ox.Triple]:
    """Yield the literals and triple terms among the objects.

    Raises:
        InvalidRDF: a blank node could not be read again.
    """
    for triple in triples:
        subject, value = triple.subject, triple.object
        if isinstance(subject, ox.BlankNode):
            refuse_unreadable((subject,))
        if isinstance(value, ox.Literal | ox.Triple):
            yield value
        elif isinstance(value, ox.BlankNode):
            refuse_unreadable((value,))


def as_loaded(store: TripleStore, graph: ox.NamedNode) -> Iterator[ox.Triple]:
    """Yield the triples of a graph; where several literals became one, each of them."""
    return written(store.triples(graph), store.triples(store.names.lexical_graph(graph.value)))


def written(triples: Iterable[ox.Triple], lexical: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
    """Yield the triples of a graph as they were written.

    Args:
        triples: as the engine keeps them.
        lexical: the triples of the graph's lexical graph; none for a graph without one.
    """
    records: dict[Term, dict[ox.NamedNode, Any]] = {}
    for triple in lexical:
        records.setdefault(triple.subject, {})[triple.predicate] = triple.object
    loaded: dict[tuple[Term, Term, Term], list[ox.Literal]] = {}
    for record in records.values():
        literal = ox.Literal(plain(record[KG.lexicalForm]), datatype=record[KG.lexicalDatatype])
        loaded.setdefault((record[RDF.subject], record[RDF.predicate], record[RDF.object]), []).append(literal)
    for triple in triples:
        literals = loaded.get((triple.subject, triple.predicate, triple.object))
        if literals is None:
            yield triple
        else:
            ends = (ending_with(triple.object, literal) for literal in literals)
            yield from (ox.Triple(triple.subject, triple.predicate, end) for end in ends)
