"""Rows of a query that a model wrote, beside the passages that state them, as evidence to answer from.

A query finds what its patterns allow, which need not be what was asked: it may widen a filter, or return a name for a
number. And a row says less than its text, which has the condition, the alternative and the reason. So rows that were
taken from text are answered from as all other evidence is, and whether they answer at all is judged on the way. What
comes first, last or next among rows no text of a single row says: such a sentence cites them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import regex

from kgrag.late_patterns import late_regex
from kgrag.methods.poly_rag.layers import TextLayer
from kgrag.model import Answer, Citation, Hit, Value
from kgrag.ports import TripleStore
from kgrag.querying.text_to_sparql import marked
from kgrag.text import documents
from kgrag.text.quotes import places
from kgrag.text.sentences import content_words

__all__ = ["evidence", "values_of", "with_compared"]

_COMPARES = late_regex(
    r"\b(?<!\bat )(?:first|second|third|last|next|previous|earli(?:er|est)|lat(?:er|est)|new(?:er|est)|old(?:er|est)"
    r"|most|least|fewe(?:r|st)|more|less|high(?:er|est)|low(?:er|est)|larg(?:er|est)|small(?:er|est)|great(?:er|est)"
    r"|long(?:er|est)|short(?:er|est)|fast(?:er|est)|slow(?:er|est)|best|worst|than|only|both|all|none|same|other)\b",
    regex.IGNORECASE,
)
"""Words by which a sentence says how one thing stands among others."""
_MIN_SHARE_SHOWN = 0.5
"""Share of the words of a row that citations have which show it, at least; names of properties are in few texts."""


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


def with_compared(answer: Answer, rows: Answer) -> Answer:
    """Return an answer whose sentences that order or compare cite every row, not only the one that they name.

    A sentence compares by a word such as "first", "highest" or "only", where what it cites does not have that word
    itself: then the text says so. It compares the rows where it cites one of them. Rows that it shows already are left.

    Args:
        answer: was written from the rows and the passages behind them.
        rows: the answer that has a sentence for each row, with citations.
    """
    cited: list[Citation] = []
    for place, text in enumerate(answer.sentences):
        own = [one for one in answer.citations if one.sentence == place]
        added: list[Citation] = []
        if len(rows.sentences) > 1 and _compares(text, own) and _meet(own, rows.citations):
            unseen = {at for at, row in enumerate(rows.sentences) if not _shown(row, own)}
            others = dict.fromkeys(replace(one, sentence=place) for one in rows.citations if one.sentence in unseen)
            added = [one for one in others if not any(_within(one, each) for each in {*own, *others} - {one})]
        cited += [one for one in own if not any(_within(one, each) for each in added)] + added
    if cited == list(answer.citations):
        return answer
    values = tuple(replace(one, citation=_place_of(one.citation, answer, cited)) for one in answer.values)
    text = " ".join(marked(answer.sentences, cited))
    return replace(answer, citations=tuple(cited), values=values, text=text)


def _place_of(number: int, answer: Answer, cited: Sequence[Citation]) -> int:
    """Return the place of a citation of an answer, or of one that has all its text, among others; -1 for none."""
    if number < 0:
        return -1
    was = answer.citations[number]
    return next(at for at, one in enumerate(cited) if one.sentence == was.sentence and _within(was, one))


def _compares(sentence: str, cited: Sequence[Citation]) -> bool:
    stated = {word.casefold() for one in cited for word in _COMPARES.findall(one.quote)}
    return any(word.casefold() not in stated for word in _COMPARES.findall(sentence))


def _shown(row: str, cited: Sequence[Citation]) -> bool:
    """Return whether citations have the numbers of a row and most of its words."""
    stated = {word for one in cited for word in content_words(one.quote)}
    of_row = set(content_words(row))
    numbers = {word for word in of_row if word[0].isnumeric()}
    return numbers <= stated and len(of_row & stated) >= _MIN_SHARE_SHOWN * len(of_row)


def _meet(cited: Sequence[Citation], others: Sequence[Citation]) -> bool:
    """Return whether a citation has text of one of the others."""
    return any(
        one.chunk == other.chunk and one.start < other.end and other.start < one.end
        for one in cited
        for other in others
    )


def _within(one: Citation, other: Citation) -> bool:
    """Return whether a citation has all text of the first."""
    return one.chunk == other.chunk and other.start <= one.start and one.end <= other.end


def _citation(value: str, answer: Answer) -> int:
    return next((at for at, one in enumerate(answer.citations) if places(value, one.quote)), -1)
