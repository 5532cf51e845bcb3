"""Values of lines with a label: "Policy number: AS-7740" answers "What is the policy number?".

Such a line is no sentence, and has nothing of the question but its label, so that ranking finds it too improbable. A
label that stands before two values in the evidence is left to the rules for sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_facts import is_fact
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_languages import language_to_answer_in
from kgrag.llm.extractive.question_words import terms

__all__ = ["read_labelled"]

_ASKS: Final = late_regex(
    r"(?:(?:what|who)\s+(?:is|are)\s+(?:the|our|its)\s+(?P<label>[\p{L} -]{3,40}?)"
    r"(?:\s+(?:of|for|in|at)\s+(?P<of>.+?))?"
    r"|(?:wie|was|wer)\s+(?:lautet|ist|heißt)\s+(?:der|die|das|unsere?)\s+(?P<label>[\p{L}-]{3,40})"
    r"(?:\s+(?:von|vom|der|des|für|im|in)\s+(?P<of>.+?))?"
    r"|(?:quel(?:le)?|qui)\s+est\s+(?:l[ea]\s+|l['’]|notre\s+)(?P<label>[\p{L} '’-]{3,40}?)"
    r"(?:\s+(?:du|de\s+la|pour|à)\s+(?P<of>.+?))?)"
    r"\s*\?*\s*",
    flags=regex.IGNORECASE,
)
_LINE: Final = late_regex(
    r"(?:^[ \t]*(?:[-*]\s+)?|(?<=\.\s))(?P<quote>\*{0,2}(?P<label>\p{Lu}[\p{L} '’-]{2,39}?)\*{0,2}\s?:\*{0,2}[ \t]+"
    r"(?P<value>[^\n;|]{1,90}?))(?=\.?[ \t]*(?:\n|\Z)|\.\s+\p{Lu}[\p{L} -]{2,30}:"
    r"|(?<=\p{N}{4}|\p{Ll}{3})\.\s+\p{Lu}\p{Ll}+\s+\p{Ll})",
    flags=regex.MULTILINE,
)
_SENTENCE: Final = late_regex(r"[.!?]\s+\p{Lu}\p{Ll}+\s+\p{Ll}")


def read_labelled(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply with the one line that has a question's label and a value; {} where none is certain.

    Args:
        question: as it was asked.
        texts: the evidence.
    """
    asked = _ASKS.fullmatch(" ".join(question.split()))
    if asked is None:
        return {}
    language = language_to_answer_in(question, [text.text for text in texts])
    label, about = set(terms(asked["label"], language)), set(terms(asked["of"] or "", language))
    found = [one for text in texts if label and not is_fact(text) for one in _lines(text, label, about, language)]
    if len({value for _, _, value in found}) != 1:
        return {}
    number, quote, value = found[0]
    sentence = {"text": " ".join(quote.split()), "citations": [{"evidence": number, "quote": quote}]}
    return {
        "unknown": False,
        "sentences": [sentence],
        "values": [{"kind": "text", "text": value, "value": "", "sentence": 0}],
    }


def _lines(text: EvidenceText, label: set[str], about: set[str], language: str) -> Iterator[tuple[int, str, str]]:
    """Yield the lines with a label in a piece that is about what is asked: its number, the line, the value."""
    if not about <= set(terms(f"{text.title} {text.heading} {text.text}", language)):
        return
    for found in _LINE.finditer(text.text):
        if set(terms(found["label"], language)) == label and not _SENTENCE.search(found["value"]):
            yield text.number, found["quote"], found["value"].strip(" *")
