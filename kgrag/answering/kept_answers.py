"""Answers as named graphs, so that an auditor can ask the store what was answered, from what, and quoting what.

Graphs written: one answer graph per answer, named by question, method, text and citations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyoxigraph as ox
import regex

from kgrag.model import Answer, Citation, GraphDraft, Value
from kgrag.vocab import DCTERMS, KG, PROV, RDF, XSD, Names, number

__all__ = ["answer_draft"]

_DATE_TYPES = (XSD.gYear, XSD.gYearMonth, XSD.date)
"""Datatypes of a date by the hyphens in it."""


def answer_draft(answer: Answer, *, names: Names, after: Sequence[Answer] = ()) -> GraphDraft:
    """Return the graph of an answer, ready to be published; the same answer kept twice is one graph.

    Args:
        answer: with the name of its conversation and its turn, where it is part of one.
        names: of the knowledge base.
        after: answers whose words its question may have; it is derived from what they cite too.
    """
    quotes = [f"{citation.chunk} {citation.start} {citation.end}" for citation in answer.citations]
    left_out = [one.sentence for one in answer.unsupported]
    turn = [answer.conversation, str(answer.turn)] if answer.conversation else []
    content = (answer.question, answer.method, answer.text, *quotes, *left_out, *turn)
    cited = [citation.chunk for one in (answer, *after) for citation in one.citations]
    iri = names.answer(*content)
    return GraphDraft(
        iri=names.answer_graph(*content),
        kind=KG.AnswerGraph,
        triples=[
            *_answer_triples(answer, iri),
            *_citation_triples(answer, iri, names),
            *_value_triples(answer, iri, names),
            *_unsupported_triples(answer, iri, names),
            *_turn_triples(answer, iri, names),
        ],
        method=answer.method,
        sources=[ox.NamedNode(chunk) for chunk in dict.fromkeys(cited)],
    )


def _answer_triples(answer: Answer, iri: ox.NamedNode) -> Iterator[ox.Triple]:
    yield ox.Triple(iri, RDF.type, KG.Answer)
    yield ox.Triple(iri, KG.question, ox.Literal(answer.question))
    yield ox.Triple(iri, KG.text, ox.Literal(answer.text))
    yield ox.Triple(iri, KG.method, ox.Literal(answer.method))
    yield ox.Triple(iri, KG.unknown, ox.Literal("true" if answer.unknown else "false", datatype=XSD.boolean))
    yield ox.Triple(iri, KG.dropped, number(sum(answer.dropped.values())))
    if answer.confidence is not None:
        yield ox.Triple(iri, KG.confidence, ox.Literal(answer.confidence))
    if answer.not_stated:
        yield ox.Triple(iri, KG.notStated, ox.Literal(answer.not_stated))
    if answer.sparql:
        yield ox.Triple(iri, KG.sparql, ox.Literal(answer.sparql))
    for hit in answer.hits:
        yield ox.Triple(iri, PROV.used, ox.NamedNode(hit.iri))


def _turn_triples(answer: Answer, iri: ox.NamedNode, names: Names) -> Iterator[ox.Triple]:
    """Yield what makes an answer a turn of a conversation; the conversation is described in each of its turns."""
    if answer.asked:
        yield ox.Triple(iri, KG.asked, ox.Literal(answer.asked))
    if answer.unresolved:
        yield ox.Triple(iri, KG.notResolved, ox.Literal(answer.unresolved))
    if answer.conversation:
        conversation = names.conversation(answer.conversation)
        yield ox.Triple(conversation, RDF.type, KG.Conversation)
        yield ox.Triple(conversation, DCTERMS.identifier, ox.Literal(answer.conversation))
        yield ox.Triple(iri, DCTERMS.isPartOf, conversation)
        yield ox.Triple(iri, KG.turn, number(answer.turn))


def _citation_iri(citation: Citation, answered: ox.NamedNode, names: Names) -> ox.NamedNode:
    place = (citation.chunk, str(citation.start), str(citation.end), str(citation.sentence))
    # "derived" joins the name only where there is one, so that graphs kept by earlier versions keep their IRIs.
    return names.citation(answered.value, *place, *filter(None, [citation.derived]))


def _unsupported_triples(answer: Answer, answered: ox.NamedNode, names: Names) -> Iterator[ox.Triple]:
    for one in dict.fromkeys(answer.unsupported):
        iri = names.citation(answered.value, one.sentence, *one.missing)
        yield ox.Triple(iri, RDF.type, KG.UnsupportedSentence)
        yield ox.Triple(iri, DCTERMS.isPartOf, answered)
        yield ox.Triple(iri, KG.text, ox.Literal(one.sentence))
        yield ox.Triple(iri, KG.sentence, number(one.place))
        for missing in one.missing:
            yield ox.Triple(iri, KG.missing, ox.Literal(missing))


def _citation_triples(answer: Answer, answered: ox.NamedNode, names: Names) -> Iterator[ox.Triple]:
    for citation in dict.fromkeys(answer.citations):
        iri = _citation_iri(citation, answered, names)
        yield ox.Triple(iri, RDF.type, KG.Citation)
        yield ox.Triple(iri, DCTERMS.isPartOf, answered)
        yield ox.Triple(iri, KG.quote, ox.Literal(citation.quote))
        yield ox.Triple(iri, KG.start, number(citation.start))
        yield ox.Triple(iri, KG.end, number(citation.end))
        yield ox.Triple(iri, KG.sentence, number(citation.sentence))
        yield ox.Triple(iri, PROV.wasDerivedFrom, ox.NamedNode(citation.chunk))
        if citation.derived:
            yield ox.Triple(iri, KG.derived, ox.Literal(citation.derived))


def _value_triples(answer: Answer, answered: ox.NamedNode, names: Names) -> Iterator[ox.Triple]:
    for place, value in enumerate(answer.values):
        iri = names.citation(answered.value, "value", str(place), value.kind, value.text)
        yield ox.Triple(iri, RDF.type, KG.ShortAnswer)
        yield ox.Triple(iri, DCTERMS.isPartOf, answered)
        yield ox.Triple(iri, KG.text, ox.Literal(value.text))
        yield ox.Triple(iri, RDF.value, ox.NamedNode(value.iri) if value.iri else _typed(value))
        if value.unit:
            yield ox.Triple(iri, KG.unit, ox.Literal(value.unit))
        if value.citation >= 0:
            quoted = _citation_iri(answer.citations[value.citation], answered, names)
            yield ox.Triple(iri, PROV.wasDerivedFrom, quoted)


def _typed(value: Value) -> ox.Literal:
    """Return a short answer as a literal of its kind, so that a query can compare and count."""
    if value.kind == "boolean" and value.value:  # "maybe" is no truth value
        return ox.Literal(value.value, datatype=XSD.boolean)
    if value.kind == "number" and regex.fullmatch(r"[-+]?\d+(?:\.\d+)?", value.value):
        return ox.Literal(value.value, datatype=XSD.decimal if "." in value.value else XSD.integer)
    if value.kind == "date" and regex.fullmatch(r"\d{4}(?:-\d\d){0,2}", value.value):  # an interval has no datatype
        return ox.Literal(value.value, datatype=_DATE_TYPES[value.value.count("-")])
    return ox.Literal(value.value or value.text)
