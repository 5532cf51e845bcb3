"""Whether triples answer a question, by their words: fulfils ``poly_rag/sufficient``.

A triple answers when the question names one of its ends and the words that are left are those of its relation; the
other end is the answer. What has a word more or less is not enough: this judgement rather says no.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import regex

from kgrag.stages.text_to_sparql.templates import attribute_words

__all__ = ["reply"]

_KIND = regex.compile(r"^\s*(?:in|on|at|from)\s+(?:what|which)\s+\w+(?=\s+(?:is|was|are|were|did|do|does)\b)", regex.I)
_FREE = frozenset({"list", "mani", "name", "show"})


def reply(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Give the reply to ``poly_rag/sufficient``.

    Args:
        variables: ``question`` (text) and ``triples`` (list of number, subject, relation, object).

    >>> triple = {"number": 1, "subject": "Auron", "relation": "creator", "object": "Marv Wolfman"}
    >>> reply({"question": "Who is the creator of Auron?", "triples": [triple]})["answers"]
    [{'triple': 1, 'text': 'Marv Wolfman'}]
    >>> reply({"question": "Who is the wife of the creator of Auron?", "triples": [triple]})["sufficient"]
    False
    """
    question = str(variables["question"])
    answers = [
        {"triple": triple["number"], "text": found}
        for triple in variables["triples"]
        if (found := _other_end(question, triple))
    ]
    return {"sufficient": bool(answers), "answers": answers}


def _other_end(question: str, triple: Mapping[str, Any]) -> str:
    relation = attribute_words(str(triple["relation"]))
    for end, other in (("subject", "object"), ("object", "subject")):
        rest = _without(question, str(triple[end]))
        if rest is None or not relation:
            continue
        if relation - _FREE in (attribute_words(rest) - _FREE, attribute_words(_KIND.sub(" ", rest)) - _FREE):
            return str(triple[other])
    return ""


def _without(question: str, name: str) -> str | None:
    """Give a question without a name that stands in it as whole words; None when it does not."""
    if not name.strip():
        return None
    pattern = (
        rf"(?<![\p{{L}}\p{{N}}]){regex.escape(name, literal_spaces=True)}(?![\p{{L}}\p{{N}}])(?:['’]s?(?!\p{{L}}))?"
    )
    left, found = regex.subn(pattern, " ", question, count=1, flags=regex.IGNORECASE)
    return left if found else None
