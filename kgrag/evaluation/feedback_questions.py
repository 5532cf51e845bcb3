"""Feedback of readers as a question set: what they found right has documents, what they corrected has answers.

Queries read: ``evaluation/feedback``.
"""

from __future__ import annotations

from kgrag import queries
from kgrag.errors import InputError
from kgrag.evaluation.datasets import Dataset, Question
from kgrag.ports import TripleStore

__all__ = ["feedback_dataset"]


def feedback_dataset(store: TripleStore) -> Dataset:
    """Return the questions that readers judged answers of.

    A question whose answer was found right is relevant to the documents that this answer cites. A comment on a wrong or
    missing answer is a right one. Of several verdicts on a question all count; one with neither is left out of the
    scores, with the verdict as the reason.

    Raises:
        InputError: there is no feedback.
    """
    relevant: dict[str, set[str]] = {}
    answers: dict[str, list[str]] = {}
    verdicts: dict[str, str] = {}
    for _, question, verdict, comment, identifier in store.select(queries.bind("evaluation/feedback")).values():
        verdicts[question] = verdict
        documents, given = relevant.setdefault(question, set()), answers.setdefault(question, [])
        if verdict == "right" and identifier:
            documents.add(identifier)
        if verdict != "right" and comment and comment not in given:
            given.append(comment)
    if not verdicts:
        raise InputError("there is no feedback. Readers give it on the chat page of `kgrag serve --keep-chats`.")
    questions = (
        Question(
            str(number),
            text,
            tuple(answers[text]),
            frozenset(relevant[text]),
            left_out="" if answers[text] or relevant[text] else f"its feedback is '{verdict}' and nothing more",
        )
        for number, (text, verdict) in enumerate(verdicts.items(), 1)
    )
    return Dataset("feedback", tuple(questions))
