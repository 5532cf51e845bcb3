"""Compares two rows of tables by a column: "Which is heavier, the Heron or the Tern?", "Is A dearer than B?".

Each of the two is the name of one row, or a part of it that no other row has; both rows are of tables with the same
columns, and one column is what the comparative asks for. Anything else is left to the rules for sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from kgrag.llm.extractive.question_languages import question_language
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_columns import decimal_mark, figure
from kgrag.llm.extractive.table_names import rows_named
from kgrag.llm.extractive.table_questions import TableQuestion
from kgrag.llm.extractive.table_rows import Cell, Row, Table

__all__ = ["read_comparison"]

_Named = tuple[Table, Row, Cell]


def read_comparison(asked: TableQuestion, tables: Sequence[Table]) -> dict[str, Any]:
    """Return which of two rows has more of what is asked for, or whether the first has; {} where that is not clear."""
    comparative = asked.words.comparative.search(asked.text)
    by_labels: dict[frozenset[str], list[_Named]] = {}
    for table in tables if comparative else ():
        by_labels.setdefault(frozenset(table.labels), []).extend((table, *one) for one in rows_named(asked, table))
    pairs = [named for named in by_labels.values() if len(named) == len({one[2].text.casefold() for one in named}) == 2]
    if comparative is None or len(pairs) != 1:
        return {}
    named = pairs[0]
    named.sort(key=lambda one: _place(asked, one[2]))
    found = [(cells, values) for cells in _columns(asked, named) if (values := _values(asked, named, cells))]
    if len(found) != 1:
        return {}
    cells, (first, second) = found[0]
    is_less = comparative["less"] is not None
    is_first = first < second if is_less else first > second
    if asked.asked.kind == "boolean":
        rules = question_language(asked.language)
        text = (rules.yes if is_first else rules.no) if rules else ("yes" if is_first else "no")
        value = {"kind": "boolean", "text": text, "value": str(is_first).lower(), "sentence": 0}
    elif first == second:
        return {}
    else:
        value = {"kind": "text", "text": named[0 if is_first else 1][2].text, "value": "", "sentence": 0}
    return _reply(named, cells) | {"values": [value | {"unit": "", "computed": True}]}


def _place(asked: TableQuestion, cell: Cell) -> int:
    """Return where a question names a row."""
    words = asked.text.split()
    return next((at for at, word in enumerate(words) if cell.terms & set(terms(word, asked.language))), len(words))


def _columns(asked: TableQuestion, named: Sequence[_Named]) -> list[tuple[Cell, Cell]]:
    """Return the cells of the two rows in the columns that fit best what is asked for."""
    others = {cell.label: cell for cell in named[1][1].cells}
    pairs = [(cell, others[cell.label]) for cell in named[0][1].cells]
    known = named[0][2].terms | named[1][2].terms
    fits = [asked.label_fit(first.label_terms, known) for first, _ in pairs]
    best = max(fits, default=0.0)
    return [pair for fit, pair in zip(fits, pairs, strict=True) if fit == best and best > 0]


def _values(
    asked: TableQuestion, named: Sequence[_Named], cells: tuple[Cell, Cell]
) -> tuple[Decimal, Decimal] | tuple[()]:
    texts = [cell.text for table, *_ in named for row in table.rows for cell in row.cells]
    first, second = (figure(cell.text, decimal_mark(texts, asked.language)) for cell in cells)
    return () if first is None or second is None else (first, second)


def _reply(named: Sequence[_Named], cells: tuple[Cell, Cell]) -> dict[str, Any]:
    told = "; ".join(f"{one[2].text} – {cell.label}: {cell.text}" for one, cell in zip(named, cells, strict=True))
    quotes = [
        {"evidence": table.number, "quote": quote}
        for table, row, _ in named
        for quote in (table.header, row.line)
        if quote
    ]
    citations = [quote for at, quote in enumerate(quotes) if quote not in quotes[:at]]
    return {
        "unknown": False,
        "sentences": [{"text": f"{told}.", "citations": citations, "computed": True}],
        "confidence": 0.9,
    }
