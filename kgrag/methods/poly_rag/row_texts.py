"""Rows of a query that a model wrote, beside the passages that state them, as evidence to answer from.

A query finds what its patterns allow, which need not be what was asked: it may widen a filter, or return a name for a
number. And a row says less than its text, which has the condition, the alternative and the reason. So rows that were
taken from text are answered from as all other evidence is, and whether they answer at all is judged on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kgrag.methods.poly_rag.layers import TextLayer
from kgrag.model import Answer, Hit, Value
from kgrag.ports import TripleStore
from kgrag.text import documents
from kgrag.text.quotes import places

__all__ = ["evidence", "values_of"]


def evidence(question: str, rows: Answer, text: TextLayer, chunks: int, *, store: TripleStore) -> list[Hit]:
    """Return the rows of an answer, in words, and after them the passages behind them that are nearest to a question.

    Args:
        question: what was asked.
        rows: the answer that has a sentence for each row.
        text: finds passages.
        chunks: how many, at most.
        store: contains them.

    Returns:
        [] where a row has no text behind it, as those of loaded data: it could not be cited.
    """
    behind = [
        list(dict.fromkeys(one.chunk for one in rows.citations if one.sentence == place))
        for place in range(len(rows.sentences))
    ]
    if not all(behind):
        return []
    stating = {span.chunk for hit in rows.hits for span in hit.sources}.union(*behind)
    passages = replace(text, among=frozenset(stating)).search(question, chunks).hits
    if not passages:
        return []
    spans = documents.spans(store, sorted(stating))
    iris = [hit.iri for hit in rows.hits]
    worded = [
        Hit(
            iri=iris[rank - 1] if rank <= len(iris) else store.names.row(rows.sparql, sentence).value,
            kind="row",
            text=sentence,
            score=1.0 / rank,
            sources=tuple(spans[chunk] for chunk in found if chunk in spans),
        )
        for rank, (sentence, found) in enumerate(zip(rows.sentences, behind, strict=True), start=1)
    ]
    return [*worded, *passages]


def values_of(answer: Answer, rows: Sequence[Value]) -> tuple[Value, ...]:
    """Return the values of rows that an answer states, each with its first citation that has it; else the answer's."""
    stated = [(value, _citation(value.text, answer)) for value in rows if places(value.text, answer.text)]
    return tuple(replace(value, citation=at) for value, at in stated if at >= 0) or answer.values


def _citation(value: str, answer: Answer) -> int:
    return next((at for at, one in enumerate(answer.citations) if places(value, one.quote)), -1)
