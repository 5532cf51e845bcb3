"""What is said beside a table of a group that its rows and columns lack: "Trainees attend all courses free of charge".

A cell alone is no answer for such a group. The sentence that names it is, with the cell behind it; without one the
answer is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_questions import TableQuestion
from kgrag.llm.extractive.table_rows import is_row, is_wide_row
from kgrag.text.sentences import split

__all__ = ["for_group", "said_in_prose"]

_MAX_SENTENCES = 2


def for_group(
    asked: TableQuestion, group: str, rows: Sequence[Mapping[str, Any]], texts: Sequence[EvidenceText]
) -> dict[str, Any]:
    """Return the reply to a question about a group: what the text beside a table says of it, then its row.

    Args:
        asked: a question.
        group: "trainees".
        rows: the sentence of the cell.
        texts: the pieces of evidence.
    """
    number = rows[0]["citations"][-1]["evidence"]
    title = next((text.title for text in texts if text.number == number), "")
    head = terms(group, asked.language)[-1]
    said = {
        sentence: text.number
        for text in sorted(texts, key=lambda one: one.number != number)
        if text.title == title
        for sentence in _sentences_beside(text)
        if asked.is_same(head, terms(sentence, asked.language))
    }
    if not said:
        told = str(rows[0]["text"]).rstrip(".")
        reason = f"The table has “{told}”, and nothing says that this is for “{group}”."
        nearest = [rows[0]["citations"][-1]]
        return {"unknown": True, "sentences": [], "values": [], "reason": reason, "nearest": nearest}
    beside = [
        {"text": " ".join(sentence.split()), "citations": [{"evidence": at, "quote": sentence}]}
        for sentence, at in [*said.items()][:_MAX_SENTENCES]
    ]
    return {"unknown": False, "sentences": [*beside, *rows], "values": []}


def _sentences_beside(text: EvidenceText) -> Iterator[str]:
    """Yield the sentences of a piece that are no rows."""
    body = text.source or text.text
    for start, end in split(body):
        if not (is_row(body[start:end]) or is_wide_row(body[start:end])):
            yield body[start:end]


def said_in_prose(asked: TableQuestion, reply: Mapping[str, Any], texts: Sequence[EvidenceText]) -> bool:
    """Return whether a sentence of prose has all words of a question, of which the rows of a reply lack one."""
    rows = [row for row in reply["sentences"] if row.get("computed")]
    numbers = {quote["evidence"] for row in rows for quote in row["citations"]}
    shown = [str(row["text"]) for row in rows] + [quote["quote"] for row in rows for quote in row["citations"]]
    shown += [f"{text.title} {text.heading}" for text in texts if text.number in numbers]
    known = frozenset(terms(" ".join(shown), asked.language))
    explained = known | asked.standing_for(known) | asked.of_extremes | asked.words.rows
    if all(asked.has(one, explained) for one in asked.terms):
        return False
    sentences = (sentence for text in texts for sentence in _sentences_beside(text))
    return any(asked.terms <= frozenset(terms(sentence, asked.language)) for sentence in sentences)
