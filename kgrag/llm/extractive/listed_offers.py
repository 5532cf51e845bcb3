"""Which of the offers that a sentence lists is the cheapest: "Ash 18,400 EUR, Norvent 16,950 EUR, Aero 21,300 EUR"."""

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

__all__ = ["read_offer"]

_OFFER: Final = late_regex(
    r"\b(?:offers?|quotes?|quotations?|bids?|tenders?|estimates?|angebote?|kostenvoranschl\p{L}+|offres?|devis)\b",
    flags=regex.IGNORECASE,
)
_LEAST: Final = late_regex(
    r"\b(?:the\s+)?(?:cheapest|lowest|least\s+expensive|günstigste[nrs]?|billigste[nrs]?|niedrigste[nrs]?"
    r"|(?:la\s+|le\s+)?(?:moins\s+ch[eè]re?s?|plus\s+basse?s?|meilleur\s+marché))\b",
    flags=regex.IGNORECASE,
)
_MOST: Final = late_regex(
    r"\b(?:the\s+)?(?:most\s+expensive|highest|dearest|teuerste[nrs]?|höchste[nrs]?"
    r"|(?:la\s+|le\s+)?(?:plus\s+ch[eè]re?s?|plus\s+élevée?s?))\b",
    flags=regex.IGNORECASE,
)
_ASKS: Final = late_regex(
    r"(?:which|what|who|whose|welche[rs]?|wer|wessen|was|quel(?:le)?|qui)\b", flags=regex.IGNORECASE
)
_ASKS_ONE: Final = late_regex(rf"{_ASKS.pattern}\s+{_OFFER.pattern}", flags=regex.IGNORECASE)
_SUM: Final = r"(?P<sum>\p{N}{1,3}(?:[.,'’\u00a0\u202f ]\p{N}{3})+(?:[.,]\p{N}{1,2})?|\p{N}+(?:[.,]\p{N}{1,2})?)"
_CURRENCY: Final = r"(?:[£$€]|EUR|GBP|USD|CHF|euros?|pounds?|francs?|Franken)"
_PRICED: Final = late_regex(
    r"(?P<name>\p{Lu}[\p{L}\p{N}&'’.-]*(?:\s+(?:\p{Lu}[\p{L}\p{N}&'’.-]*|&))*)\s*(?:\(|:|–|-|,|at|for|with|mit|zu|à|avec)?\s*"
    rf"(?:{_CURRENCY}\s?{_SUM}|{_SUM}\s?{_CURRENCY})(?!\p{{L}})"
)
_LEAST_OFFERS: Final = 2


def read_offer(question: str, texts: Sequence[EvidenceText]) -> dict[str, Any]:
    """Return the reply that names the cheapest or dearest offer of the one list that a question means; {} otherwise.

    Args:
        question: as it was asked.
        texts: the evidence.
    """
    plain = " ".join(question.split())
    least, most = (pattern.search(plain) for pattern in (_LEAST, _MOST))
    if not _ASKS.match(plain) or not _OFFER.search(plain) or bool(least) == bool(most):
        return {}
    language = language_to_answer_in(plain, [text.text for text in texts])
    rest = _MOST.sub(" ", _LEAST.sub(" ", _OFFER.sub(" ", plain)))
    wanted = set(terms(regex.sub(r"\b(?:made|submitted|obtained|received|gemacht|reçue?)\b", " ", rest), language))
    if _ASKS_ONE.match(plain) and not any(_OFFER.search(text.text) for text in texts):
        return {"unknown": True, "sentences": [], "reason": "The evidence lists no offers."}
    lists = {quote: (number, offers) for text in texts for number, quote, offers in _lists(text, wanted, language)}
    if len(lists) != 1:
        return {}
    quote, (number, offers) = next(iter(lists.items()))
    pick = min if least else max
    best = pick(offers.values())
    names = [name for name, amount in offers.items() if amount == best]
    if len(names) != 1:
        return {}
    sentence = {"text": " ".join(quote.split()), "citations": [{"evidence": number, "quote": quote}]}
    value = {"kind": "text", "text": names[0], "value": "", "sentence": 0}
    return {"unknown": False, "sentences": [sentence], "values": [value]}


def _lists(text: EvidenceText, wanted: set[str], language: str) -> Iterator[tuple[int, str, dict[str, float]]]:
    """Yield the sentences of a piece that list offers: its number, the sentence, the sum of each name."""
    if is_fact(text) or not wanted <= set(terms(f"{text.title} {text.heading} {text.text}", language)):
        return
    for start, end in split(text.text):
        sentence = text.text[start:end]
        offers = {found["name"].strip(" ."): _amount(found["sum"]) for found in _PRICED.finditer(sentence)}
        if len(offers) >= _LEAST_OFFERS and _OFFER.search(sentence):
            yield text.number, sentence, offers


def _amount(written: str) -> float:
    """Return a sum as a number: a mark before three digits parts thousands.

    >>> _amount("18,400"), _amount("8.200,50")
    (18400.0, 8200.5)
    """
    plain = regex.sub(r"[.,'’\u00a0\u202f ](?=\p{N}{3}(?!\p{N}))", "", written)
    return float(plain.replace(",", "."))
