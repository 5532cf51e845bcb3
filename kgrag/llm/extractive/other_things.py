"""What a question is about and a sentence is not: another building, side of a time, or opposite of its kind."""

from __future__ import annotations

from kgrag.llm.extractive.designations import other_designation, says_only
from kgrag.llm.extractive.evidence_sentences import ProseSentence
from kgrag.llm.extractive.opposite_things import is_opposite
from kgrag.llm.extractive.question_languages import asked_in
from kgrag.llm.extractive.time_relations import other_time

__all__ = ["other_thing"]


def other_thing(question: str, one: ProseSentence, language: str) -> str:
    """Return what a question is about and a sentence is not, in words; "" where nothing tells.

    What holds of building A only answers whether it holds of building B.
    """
    before = one.before.text if one.before else ""
    if asked_in(question, language).kind == "boolean" and says_only(one.text):
        return ""
    said = other_designation(question, one.text, one.label, language) or other_time(
        question, one.text, before, language
    )
    return said or ("the one asked for" if is_opposite(question, (before, one.meaning)) else "")
