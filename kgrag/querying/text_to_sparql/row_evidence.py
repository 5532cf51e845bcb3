"""Rows of a query as evidence: labels instead of identifiers, and the texts that the values were extracted from.

Facts that were loaded as RDF have no text behind them, so their rows have no source. Queries read: ``facts/labels``,
``facts/sources``, and those of ``kgrag.text.documents``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import Citation, Hit, Span, Term, plain
from kgrag.ports import TripleStore
from kgrag.querying.text_to_sparql.execution import Execution
from kgrag.text import documents
from kgrag.text.quotes import places

__all__ = ["citations", "hits", "labels", "sentences"]

_MOST_SOURCES = 3


def hits(execution: Execution, sparql: str, k: int, *, store: TripleStore) -> list[Hit]:
    """Give the first k rows as hits of kind ``row``, in the query's order; equal rows once.

    ``text`` reads ``variable: value; …``, with a label in the place of an IRI that has one; ``attributes`` hold the
    terms as plain text; ``sources`` are chunks in which a value of the row stands.
    """
    rows = list(dict.fromkeys(execution.rows))[:k]
    named = labels(rows, store)
    behind = _sources(rows, store)
    return [
        Hit(
            iri=store.names.row(sparql, *map(str, row)).value,
            kind="row",
            text=_text(execution.variables, row, named),
            score=1.0 / rank,
            sources=behind[row],
            attributes={
                name: plain(term) for name, term in zip(execution.variables, row, strict=True) if term is not None
            },
        )
        for rank, row in enumerate(rows, start=1)
    ]


def labels(rows: Iterable[Sequence[Term | None]], store: TripleStore) -> dict[str, str]:
    """Give IRI -> label for the things in rows that have one; an English one before others."""
    things = {term for row in rows for term in row if isinstance(term, ox.NamedNode)}
    query = queries.bind("facts/labels", catalogue=store.names.catalogue, things=sorted(things, key=str))
    found: dict[str, str] = {}
    for thing, label in store.select(query) if things else ():
        english = isinstance(label, ox.Literal) and label.language in (None, "en")
        if english or plain(thing) not in found:
            found[plain(thing)] = plain(label)
    return found


def _text(variables: Sequence[str], row: Sequence[Term | None], named: dict[str, str]) -> str:
    return "; ".join(
        f"{name}: {_shown(term, named)}" for name, term in zip(variables, row, strict=True) if term is not None
    )


def _shown(term: Term | None, named: dict[str, str]) -> str:
    text = plain(term)
    return named.get(text, text) if isinstance(term, ox.NamedNode) else text


def _sources(
    rows: Sequence[tuple[Term | None, ...]], store: TripleStore
) -> dict[tuple[Term | None, ...], tuple[Span, ...]]:
    """Give the chunks behind the values of each row in which such a value stands as text, at most three a row."""
    values = {term for row in rows for term in row if isinstance(term, ox.Literal)}
    query = queries.bind("facts/sources", catalogue=store.names.catalogue, values=sorted(values, key=str))
    behind: dict[Term | None, list[str]] = defaultdict(list)
    for value, chunk in store.select(query) if values else ():
        behind[value].append(plain(chunk))
    chunks = list(dict.fromkeys(chunk for found in behind.values() for chunk in found))
    spans, texts = documents.spans(store, chunks), documents.texts(store, chunks)
    carrying = {
        value: [chunk for chunk in found if chunk in spans and _place(plain(value), texts.get(chunk, ""))]
        for value, found in behind.items()
    }
    return {row: _most(row, carrying, spans) for row in rows}


def _most(
    row: Sequence[Term | None], carrying: dict[Term | None, list[str]], spans: dict[str, Span]
) -> tuple[Span, ...]:
    """Give the chunks that carry the most values of a row first."""
    counts: dict[str, int] = defaultdict(int)
    for term in row:
        for chunk in carrying.get(term, ()):
            counts[chunk] += 1
    ranked = sorted(counts, key=lambda chunk: (-counts[chunk], chunk))
    return tuple(spans[chunk] for chunk in ranked[:_MOST_SOURCES])


def _place(quote: str, text: str) -> tuple[int, int] | None:
    return next(iter(places(quote, text)), None)


def citations(found: Sequence[Hit], store: TripleStore) -> list[Citation]:
    """Give, for each hit, its values that stand in its sources, as quotes with their characters."""
    texts = documents.texts(store, [span.chunk for hit in found for span in hit.sources])
    return list(
        dict.fromkeys(
            citation
            for number, hit in enumerate(found)
            for value in hit.attributes.values()
            for citation in _cited(str(value), hit, texts, number)
        )
    )


def _cited(value: str, hit: Hit, texts: dict[str, str], sentence: int) -> Iterable[Citation]:
    for span in hit.sources:
        text = texts.get(span.chunk, "")
        if place := _place(value, text):
            start, end = span.start + place[0], span.start + place[1]
            yield Citation(text[place[0] : place[1]], span.document, span.chunk, start, end, sentence)
            return


def sentences(execution: Execution, found: Sequence[Hit]) -> list[str]:
    """Say what a query gave: yes or no, the values of one column, or one line a row."""
    if execution.variables == ("answer",) and len(execution.rows) == 1:
        yes = {"true": "Yes.", "false": "No."}.get(plain(execution.rows[0][0]))
        if yes:
            return [yes]
    if len(execution.variables) == 1:
        return [hit.text.partition(": ")[2] for hit in found]
    return [hit.text for hit in found]
