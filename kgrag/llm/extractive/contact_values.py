"""Telephone numbers and mail addresses that a question asks for: those of the one sentence with all its other words.

A signature or list of contacts has few words beside names, so that ranking finds its sentences too improbable.
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
from kgrag.llm.extractive.table_days import is_day
from kgrag.text.sentences import split

__all__ = ["read_contact"]

_KINDS: Final = (
    (
        late_regex(
            r"\b(?:tele)?phone(?:\s+number)?\b|\bTelefon(?:nummer)?\b|\bHandynummer\b|\bMobilnummer\b"
            r"|\b(?:numéro\s+(?:de\s+)?)?téléphone\b",
            flags=regex.IGNORECASE,
        ),
        late_regex(r"(?<![\p{L}\p{N}.,-])\+?\(?\p{N}[\p{N} ()/-]{5,}\p{N}(?![\p{L}\p{N}]|[.,]\p{N})"),
    ),
    (
        late_regex(
            r"\be-?mail(?:\s*-?\s*address|-?adresse)?\b|\bmail(?:\s+address|adresse)\b|\bcourriel\b|\badresse\s+électronique\b",
            flags=regex.IGNORECASE,
        ),
        late_regex(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    ),
)
_ASKS: Final = late_regex(
    r"(?:what|which|how|wie|welche[rns]?|was|unter|quel(?:le)?|à|comment)\b", flags=regex.IGNORECASE
)
_LEAST_DIGITS: Final = 6
_LABEL: Final = late_regex(r"(?:^|; )[^:;\n]{1,80}: [^:;\n]*$")
"""The label of the cell that a text ends in, in a row of pairs."""
_OF_NUMBERS: Final = late_regex(
    r"phone|\btel|mobil|handy|cell|portable|fax|\bcall|kontakt|contact|nummer|num[ée]ro|number", flags=regex.IGNORECASE
)


def read_contact(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply to a question for a telephone number or mail address; {} for another, or where none is certain.

    Args:
        question: as it was asked.
        texts: the evidence.
    """
    plain = " ".join(question.split())
    kind = next((one for one in _KINDS if one[0].search(plain)), None)
    if kind is None or not _ASKS.match(plain):
        return {}
    asks, pattern = kind
    language = language_to_answer_in(plain, [text.text for text in texts])
    wanted = set(terms(asks.sub(" ", plain), language))
    found = [one for text in texts if not is_fact(text) for one in _sentences(text, wanted, pattern, language)]
    if not wanted or len({value for _, _, value in found}) != 1:
        return {}
    number, quote, value = found[0]
    sentence = {"text": " ".join(quote.split()), "citations": [{"evidence": number, "quote": quote}]}
    return {
        "unknown": False,
        "sentences": [sentence],
        "values": [{"kind": "text", "text": value, "value": "", "sentence": 0}],
    }


def _sentences(
    text: EvidenceText, wanted: set[str], pattern: regex.Pattern[str], language: str
) -> Iterator[tuple[int, str, str]]:
    """Yield the sentences with all that is wanted and a value: the number of the text, the sentence, each value."""
    for start, end in split(text.text):
        sentence = text.text[start:end]
        if wanted <= set(terms(sentence, language)):
            for match in pattern.finditer(sentence):
                is_number = sum(map(str.isdigit, match[0])) >= _LEAST_DIGITS and not is_day(match[0].strip())
                if "@" in match[0] or (is_number and _may_be_number(sentence[: match.start()])):
                    yield text.number, sentence, match[0].strip()


def _may_be_number(before: str) -> bool:
    """Return whether a text before some digits lets them be a telephone number: no label of a cell says otherwise."""
    label = _LABEL.search(before)
    return label is None or _OF_NUMBERS.search(label[0]) is not None
