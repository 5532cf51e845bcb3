"""The rows of a query, and these as evidence: labels for identifiers, and texts that the values were extracted from.

A query that a model wrote is run by a ``Runner``, never by the store itself. Facts that were loaded as RDF have no text
behind them, so their rows have no source. Queries read: ``facts/{labels,loaded,sources}``, and those
of ``kgrag.text.documents``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyoxigraph as ox

from kgrag import queries
from kgrag.llm.extractive.term_lines import with_term_line
from kgrag.model import Citation, Hit, Span, Term, plain
from kgrag.ports import TripleStore
from kgrag.querying.text_to_sparql.fact_sentences import stated_places
from kgrag.text import stored_passages
from kgrag.text.chunking import statements_around
from kgrag.text.sentences import content_words, stem

__all__ = ["Execution", "Row", "Runner", "cells", "citations", "from_text", "hits", "labels", "preferred"]

Row = tuple[Term | None, ...]
"""The terms of a row, None where its variable is unbound."""

_MAX_SOURCES_PER_ROW = 3


@dataclass(frozen=True, slots=True)
class Execution:
    """The rows of a query, or why there are none.

    ``rows[i][j]`` is the term of ``variables[j]``, None where it is unbound. An ASK has one row with the variable
    ``answer``; a CONSTRUCT has rows of subject, predicate and object. ``truncated``: the row limit cut it short.
    ``problem`` is "" when it ran; otherwise it describes for a person what went wrong, and there are no rows.
    """

    variables: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    truncated: bool = False
    problem: str = ""

    @property
    def empty(self) -> bool:
        """Whether it ran and found nothing: no row, or only rows without any value."""
        return not self.problem and not any(term is not None for row in self.rows for term in row)

    def values(self) -> list[tuple[str, ...]]:
        """Return every term as plain text, "" where unbound."""
        return [tuple(plain(term) for term in row) for row in self.rows]


class Runner(Protocol):
    """Runs a query over the facts, read-only; raises nothing for a bad query."""

    def __call__(self, sparql: str, *, rows: int, seconds: float) -> Execution:
        """Return at most ``rows`` rows, and stop the query after ``seconds``."""


def cells(variables: Sequence[str], rows: Sequence[Row], store: TripleStore) -> list[dict[str, str]]:
    """Return, for each row, variable -> its value for readers: the label of an IRI that has one, else plain text."""
    label_of = labels(rows, store)

    def shown(term: Term) -> str:
        return label_of.get(plain(term), plain(term)) if isinstance(term, ox.NamedNode) else plain(term)

    return [{name: shown(term) for name, term in zip(variables, row, strict=True) if term is not None} for row in rows]


def hits(
    execution: Execution, sparql: str, rows: Sequence[Row], chunks: Mapping[Row, Sequence[str]], *, store: TripleStore
) -> list[Hit]:
    """Return rows of a query as hits of kind ``row``.

    ``text`` reads ``variable: value; …`` with the values of ``cells``; ``attributes`` hold the terms as plain text;
    ``sources`` are those of ``chunks``, for a row that is not in it chunks that contain a value of the row.
    """
    sources = _sources([row for row in rows if row not in chunks], store)
    spans = stored_passages.spans(store, list(dict.fromkeys(chunk for found in chunks.values() for chunk in found)))
    for row, behind in chunks.items():
        sources[row] = tuple(spans[chunk] for chunk in behind if chunk in spans)[:_MAX_SOURCES_PER_ROW]
    return [
        Hit(
            iri=store.names.row(sparql, *map(str, row)).value,
            kind="row",
            text="; ".join(f"{name}: {value}" for name, value in shown.items()),
            score=1.0 / rank,
            sources=sources[row],
            attributes={
                name: plain(term) for name, term in zip(execution.variables, row, strict=True) if term is not None
            },
        )
        for rank, (row, shown) in enumerate(zip(rows, cells(execution.variables, rows, store), strict=True), start=1)
    ]


def labels(rows: Iterable[Sequence[Term | None]], store: TripleStore) -> dict[str, str]:
    """Return IRI -> label for the IRIs in rows that have one; an English one before others."""
    nodes = {term for row in rows for term in row if isinstance(term, ox.NamedNode)}
    query = queries.bind("facts/labels", catalogue=store.names.catalogue, things=sorted(nodes, key=str))
    return preferred(store.select(query) if nodes else ())


def preferred(labelled: Iterable[Sequence[Term | None]]) -> dict[str, str]:
    """Return IRI -> label of rows of an IRI and a label of it, in their order; an English one before others."""
    label_of: dict[str, str] = {}
    for node, label in labelled:
        english = isinstance(label, ox.Literal) and label.language in (None, "en")
        if english or plain(node) not in label_of:
            label_of[plain(node)] = plain(label)
    return label_of


def from_text(rows: Sequence[Row], store: TripleStore) -> set[Row]:
    """Return the rows of which a value was extracted from text, and none is stated by loaded data."""
    values = sorted({term for row in rows for term in row if isinstance(term, ox.Literal)}, key=str)
    if not values:
        return set()
    names = {"catalogue": store.names.catalogue, "values": values}
    extracted = {value for value, _ in store.select(queries.bind("facts/sources", **names))}
    loaded = {value for (value,) in store.select(queries.bind("facts/loaded", **names))} if extracted else set()
    return {row for row in rows if extracted.intersection(row) and not loaded.intersection(row)}


def _sources(rows: Sequence[Row], store: TripleStore) -> dict[Row, tuple[Span, ...]]:
    """Return, for each row, at most three chunks that its values were extracted from and that contain one as text."""
    values = {term for row in rows for term in row if isinstance(term, ox.Literal)}
    query = queries.bind("facts/sources", catalogue=store.names.catalogue, values=sorted(values, key=str))
    behind: dict[Term | None, list[str]] = defaultdict(list)
    for value, chunk in store.select(query) if values else ():
        behind[value].append(plain(chunk))
    chunks = list(dict.fromkeys(chunk for found in behind.values() for chunk in found))
    spans, texts = stored_passages.spans(store, chunks), stored_passages.texts(store, chunks)
    carrying = {
        value: [chunk for chunk in found if chunk in spans and stated_places(plain(value), texts.get(chunk, ""))]
        for value, found in behind.items()
    }
    return {row: _most(row, carrying, spans) for row in rows}


def _most(row: Row, carrying: dict[Term | None, list[str]], spans: dict[str, Span]) -> tuple[Span, ...]:
    """Return the chunks that contain the most values of a row first."""
    counts: dict[str, int] = defaultdict(int)
    for term in row:
        for chunk in carrying.get(term, ()):
            counts[chunk] += 1
    ranked = sorted(counts, key=lambda chunk: (-counts[chunk], chunk))
    return tuple(spans[chunk] for chunk in ranked[:_MAX_SOURCES_PER_ROW])


def citations(found: Sequence[Hit], numbers: Sequence[int], store: TripleStore, question: str = "") -> list[Citation]:
    """Return, for each hit, what its sources state with its values, as quotes with their characters.

    A value may stand in several places: the statement is cited that shares most words with the question and the row,
    the shortest of equals. A bare value would prove nothing of what it is the value of. ``numbers`` are those of the
    sentences.
    """
    texts = stored_passages.texts(store, [span.chunk for hit in found for span in hit.sources])
    cited = (
        citation
        for number, hit in zip(numbers, found, strict=True)
        for value in hit.attributes.values()
        for citation in _cited(str(value), question, hit, texts, number)
    )
    return list(dict.fromkeys(cited))


def _cited(value: str, question: str, hit: Hit, texts: dict[str, str], sentence: int) -> list[Citation]:
    wanted = {stem(word) for word in content_words(f"{question} {hit.text}")}
    statements = [
        (span, text[slice(*place)], place)
        for span in hit.sources
        for text in [texts.get(span.chunk, "")]
        for found in stated_places(value, text)
        for place in statements_around(text, *found)
    ]
    if not statements:
        return []
    shared = [len(wanted & {stem(word) for word in content_words(quote)}) for _, quote, _ in statements]
    best = max(range(len(statements)), key=lambda at: (shared[at], -len(statements[at][1])))
    span, _, place = statements[best]
    text = texts[span.chunk]
    return [
        Citation(text[start:end], span.document, span.chunk, span.start + start, span.start + end, sentence)
        for start, end in with_term_line(text, place, hit.text)
    ]
