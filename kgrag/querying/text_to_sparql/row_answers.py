"""The rows of a query as an answer: sentences with citations where text is behind them, else their cells.

Rows of extracted facts become the sentences of ``fact_sentences``; those of loaded data, which have no text, stay the
cells that a table would have. A row that was taken from text, and that no text states in its words, is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from kgrag.model import Citation, Hit, Unsupported, Value
from kgrag.ports import TripleStore
from kgrag.querying.text_to_sparql import fact_sentences, row_evidence
from kgrag.querying.text_to_sparql.fact_sentences import StatedFact, in_words
from kgrag.querying.text_to_sparql.row_evidence import Execution, Row
from kgrag.querying.text_to_sparql.row_facts import Run, facts_behind
from kgrag.sparql.query_reader import read
from kgrag.text.quotes import places

__all__ = ["MAX_ROWS_SHOWN", "RowAnswer", "answer_of_rows"]

MAX_ROWS_SHOWN = 20
_YES_NO = {"true": "Yes.", "false": "No."}


@dataclass(frozen=True, slots=True)
class RowAnswer:
    """The first 20 rows as sentences, the citations of these, the rows as hits, and the short answers.

    ``unsupported`` are rows that were taken from text, and that no text states; they are no hits either. ``computed``
    counts sentences without a citation whose numbers were computed, as sums are.
    """

    sentences: tuple[str, ...]
    citations: tuple[Citation, ...]
    hits: tuple[Hit, ...]
    values: tuple[Value, ...]
    unsupported: tuple[Unsupported, ...] = ()
    computed: int = 0


def answer_of_rows(
    question: str,
    execution: Execution,
    sparql: str,
    k: int,
    *,
    run: Run,
    store: TripleStore,
) -> RowAnswer:
    """Return what rows answer; equal ones once.

    Args:
        question: what was asked.
        execution: the rows.
        sparql: the query that gave them.
        k: the most hits.
        run: runs the query once more, for the triples that are behind the rows.
        store: contains facts and text.
    """
    query = read(sparql)
    rows = list(dict.fromkeys(execution.rows))[: max(k, MAX_ROWS_SHOWN)]
    shown = rows[:MAX_ROWS_SHOWN]
    behind = facts_behind(query, execution, shown, run=run, store=store)
    cited = fact_sentences.citations([behind.get(row, ()) for row in shown], store, question)
    chunks: dict[Row, Sequence[str]] = {
        row: tuple(dict.fromkeys(one.chunk for one in cited if one.sentence == number))
        for number, row in enumerate(shown)
        if row in behind or query.aggregates  # what was computed is stated nowhere but by chance
    }
    hits = row_evidence.hits(execution, sparql, rows, chunks, store=store)
    others = [hit for hit, row in zip(hits, shown, strict=False) if row not in chunks]
    numbers = [number for number, row in enumerate(shown) if row not in chunks]
    cited += row_evidence.citations(others, numbers, store, question)
    counted = any(column.aggregate == "COUNT" for column in query.selected)
    cells = row_evidence.cells(execution.variables, shown, store)
    worded = {number: behind.get(row, ()) if cited else () for number, row in enumerate(shown)}
    sentences = tuple(
        _sentence(one, worded[number], [quote for quote in cited if quote.sentence == number], counted=counted)
        for number, one in enumerate(cells)
    )
    uncited = set(range(len(shown))) - {one.sentence for one in cited}
    extracted = row_evidence.from_text([shown[at] for at in sorted(uncited)], store)
    left_out = {
        at
        for at in uncited
        if any(fact.chunks for fact in behind.get(shown[at], ())) or (shown[at] in extracted and not query.aggregates)
    }
    computed = len(uncited - left_out) if query.aggregates else 0
    return _without(left_out, question, (sentences, cells, hits), cited, k, computed)


def _without(
    left_out: Collection[int],
    question: str,
    rows: tuple[Sequence[str], Sequence[Mapping[str, str]], Sequence[Hit]],
    cited: Iterable[Citation],
    k: int,
    computed: int,
) -> RowAnswer:
    """Return rows (their sentences, cells and hits) as an answer without those that no text states."""
    sentences, cells, hits = rows
    kept = [at for at in range(len(sentences)) if at not in left_out]
    place = {at: number for number, at in enumerate(kept)}
    citations = tuple(replace(one, sentence=place[one.sentence]) for one in sorted(cited, key=lambda one: one.sentence))
    unstated = tuple(
        Unsupported(sentences[at], tuple(cells[at].values()), sum(one < at for one in kept)) for at in sorted(left_out)
    )
    values = _values(question, [cells[at] for at in kept], citations)
    found = tuple(hit for at, hit in enumerate(hits) if at not in left_out)[:k]
    return RowAnswer(tuple(sentences[at] for at in kept), citations, found, values, unstated, computed)


def _sentence(
    cells: Mapping[str, str], facts: Sequence[StatedFact], cited: Sequence[Citation], *, counted: bool
) -> str:
    if list(cells) == ["answer"] and cells["answer"] in _YES_NO:
        plain_answer = _YES_NO[cells["answer"]]
        return f"{plain_answer.rstrip('.')}: {in_words(facts)}" if facts else plain_answer
    table = (
        "; ".join(f"{name}: {value}" for name, value in cells.items()) if len(cells) > 1 else "".join(cells.values())
    )
    if not facts:
        return table
    stated = in_words(facts)
    if counted:
        return f"{table}: {stated}"
    unsaid = [f"{name}: {value}" for name, value in cells.items() if not places(value, stated)]
    if unsaid:
        return "; ".join([stated.rstrip("."), *unsaid]) + "."
    condition = fact_sentences.condition_of(facts, cited, stated)
    return f"{stated.rstrip('.')}, where the text says: “{condition}”" if condition else stated


def _values(question: str, cells: Sequence[Mapping[str, str]], citations: Sequence[Citation]) -> tuple[Value, ...]:
    """Return the cells of the one column that the question does not name; () where several or none is so."""
    answering = {name for one in cells for name, value in one.items() if not places(value, question)}
    if len(answering) != 1 or answering == {"answer"}:
        return ()
    column = answering.pop()
    first = {one.sentence: number for number, one in reversed(list(enumerate(citations)))}
    return tuple(
        Value("text", one[column], citation=first.get(number, -1)) for number, one in enumerate(cells) if column in one
    )
