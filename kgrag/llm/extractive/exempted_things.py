"""What is exempt from a rule: "All doors are locked with a card. Room 2.09 is exempt." answers which room is.

The sentence that exempts something rarely repeats the rule, which the one before it has.
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
from kgrag.text.sentences import split

__all__ = ["read_exempted"]

_EXEMPT: Final = (
    r"(?:exempt(?:ed)?|excepted|excluded|ausgenommen|befreit|freigestellt|exemptée?s?|exclue?s?|dispensée?s?"
    r"|exonérée?s?)"
)
_ASKS: Final = late_regex(
    rf"(?:(?:which|what|welche[rsnm]?|quel(?:le)?s?)\s+(?!(?:is|are|ist|sind|est|sont)\b)(?P<kind>\p{{L}}+)|who|what|wer|was|qui)"
    rf"\s+(?P<rest>.*\b(?P<word>{_EXEMPT})\b.*)",
    flags=regex.IGNORECASE,
)
_EXEMPTS: Final = late_regex(
    rf"(?P<what>(?:[^.;:]|\.(?=\p{{N}}))+?)\s+(?:is|are|was|were|ist|sind|bleibt|bleiben|est|sont)\s+(?:\p{{L}}+\s+){{0,6}}?(?P<word>{_EXEMPT})\b",
    flags=regex.IGNORECASE,
)


def read_exempted(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply that names what is exempt from the rule of a question; {} where no one sentence does.

    Args:
        question: as it was asked.
        texts: the evidence.
    """
    asked = _ASKS.match(" ".join(question.split()))
    if asked is None:
        return {}
    language = language_to_answer_in(question, [text.text for text in texts])
    wanted = set(terms(asked["rest"].replace(asked["word"], " "), language))
    read = (one for text in texts if wanted and not is_fact(text) for one in _exempting(text, wanted, language))
    found = {quotes: (number, what) for number, quotes, what in read}
    if len(found) != 1:
        return {}
    quotes, (number, what) = next(iter(found.items()))
    sentences = [
        {"text": " ".join(quote.split()), "citations": [{"evidence": number, "quote": quote}]} for quote in quotes
    ]
    value = {"kind": "text", "text": what, "value": "", "sentence": len(sentences) - 1}
    return {"unknown": False, "sentences": sentences, "values": [value]}


def _exempting(text: EvidenceText, wanted: set[str], language: str) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield the sentences that exempt something of what is wanted: number, quotes with the rule before, what."""
    before = ""
    for start, end in split(text.text):
        sentence = text.text[start:end]
        if found := _EXEMPTS.match(sentence):
            own = set(terms(sentence, language))
            if wanted <= own:
                yield text.number, (sentence,), found["what"].strip()
            elif before and wanted <= own | set(terms(before, language)):
                yield text.number, (before, sentence), found["what"].strip()
        before = sentence
