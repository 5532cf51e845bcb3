"""What a question is about and a sentence is not: another building, side of a time, or opposite of its kind."""

from __future__ import annotations

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.designations import other_designation, says_only
from kgrag.llm.extractive.evidence_sentences import ProseSentence
from kgrag.llm.extractive.opposite_things import is_opposite
from kgrag.llm.extractive.question_languages import asked_in
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.time_relations import other_time

__all__ = ["other_thing"]

_TITLES = r"(?:(?:Mr|Mrs|Ms|Dr|Prof|Herrn?|Frau|M|Mme|Mlle)\b\.?\s+)*"
_DOES_TO = late_regex(
    rf"(?i:who|wer|qui)\s+(?!(?:is|are|was|were|ist|sind|war|est|sont|était)\b)(?P<verb>\p{{Ll}}{{4,}})\s+"
    rf"{_TITLES}\p{{Lu}}[\p{{L}}'’-]+(?:\s+\p{{Lu}}[\p{{L}}'’-]+)+\s*\?*\s*"
)
"""Asks who does something to a person, of which only the verb tells what: "Who replaces Ann Bell?"."""
_ATTRIBUTE = late_regex(
    r"\s*how\s+(?:high|much)\s+(?:is|was|are|were)\s+the\s+(?:\p{L}+\s){0,2}?(?P<noun>\p{L}+)(?=\s+(?:of|for|in|per|at)\b|\s*\?*\s*$)",
    flags=regex.IGNORECASE,
)
_COST_OF = late_regex(
    r"\s*(?:how\s+much|what)\s+(?:does|do|did)\s+(?:an?|the)\s+(?:[\p{L}-]+\s)*?(?P<thing>[\p{L}-]{3,})\s+cost\b",
    flags=regex.IGNORECASE,
)
_COSTS = (
    r"\s+(?!\p{L}+ly\b|(?:also|still|now|only|then|itself|alone|today)\b)(?P<other>\p{Ll}{3,})"
    r"\s+(?:costs?|is|are|was|were)\b"
)
_OF_ANY_PRICE = frozenset(terms("price cost amount total sum charge fee rate"))


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
    said = said or _word_lacking(question, one, language)
    return said or ("the one asked for" if is_opposite(question, (before, one.meaning)) else "")


def _word_lacking(question: str, one: ProseSentence, language: str) -> str:
    """Return the verb or attribute that alone says what is asked, where a sentence lacks it; "" otherwise."""
    found = _DOES_TO.fullmatch(question)
    if found and not set(terms(found["verb"], language)) & one.all_terms:
        return str(found["verb"])
    if language == ENGLISH and (found := _COST_OF.match(question)) and _costs_other(found["thing"], question, one.text):
        return str(found["thing"])
    found = _ATTRIBUTE.match(question) if language == ENGLISH else None
    noun = set(terms(found["noun"])) if found else set()
    return str(found["noun"]) if found and noun and not noun & (one.all_terms | _OF_ANY_PRICE) else ""


def _costs_other(thing: str, question: str, text: str) -> bool:
    """Return whether a text has the price of what a thing is only a part of the name of: a barrier card, no barrier."""
    found = regex.search(rf"\b{regex.escape(thing)}s?{_COSTS}", text, regex.IGNORECASE)
    said = set(terms(found["other"])) if found else set()
    return bool(said) and said.isdisjoint(terms(question))
