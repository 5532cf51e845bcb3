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

__all__ = ["for_group", "sentences_beside"]

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
        for sentence in sentences_beside(text)
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


def sentences_beside(text: EvidenceText) -> Iterator[str]:
    """Yield the sentences of a piece that are no rows."""
    body = text.source or text.text
    for start, end in split(body):
        if not (is_row(body[start:end]) or is_wide_row(body[start:end])):
            yield body[start:end]
