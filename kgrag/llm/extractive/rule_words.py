"""Words of rules, such as "allowed" and "forbidden", which name nothing: a rule is about the rest of a question.

A sentence with "erlaubt" about paints is no answer to "Sind Hunde erlaubt?", one with "gestattet" about dogs is.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from types import MappingProxyType

from kgrag.languages import ENGLISH
from kgrag.llm.extractive.question_words import terms

__all__ = ["rule_terms", "topic_lacking"]

_WORDS = MappingProxyType(
    {
        ENGLISH: "prohibited prohibition forbid forbidden forbade ban banned barred disallowed deny illegal unlawful"
        " impermissible outlawed excluded ruled allowed permitted permissible permission authorised authorized lawful"
        " legal",
        "de": "verboten verbietet verbieten verbot untersagt untersagen unzulässig unstatthaft ausgeschlossen erlaubt"
        " gestattet zulässig zugelassen genehmigt kann dürfen können",
        "fr": "interdit interdite interdisent interdire interdiction défendu défendue défend proscrit proscrite prohibé"
        " illégal exclu exclue permis permise permet permettent autorisé autorisée autorise licite peut peuvent peux",
    }
)
_OPPOSITES = MappingProxyType(
    {
        "de": "angenommen abgelehnt bewilligt gebilligt verworfen zugestimmt geöffnet offen geschlossen enthalten"
        " inbegriffen kostenlos kostenpflichtig gebührenpflichtig vorgeschrieben verpflichtend freiwillig möglich"
        " erforderlich nötig",
        "fr": "accepté acceptée refusé refusée rejeté rejetée approuvé approuvée adopté adoptée admis admise ouvert"
        " ouverte fermé fermée inclus incluse compris gratuit gratuite payant payante obligatoire facultatif possible"
        " nécessaire",
    }
)
"""What is asked of a topic, of which a sentence that answers may have the contrary."""


@lru_cache(maxsize=8)
def rule_terms(language: str) -> frozenset[str]:
    """Return the terms of words of rules in a language."""
    return frozenset(terms(_WORDS.get(language, ""), language))


def topic_lacking(question: str, found: Collection[str], language: str) -> str:
    """Return a term of what a question is about that a text lacks; "" where it lacks none.

    Args:
        question: one that yes or no answers.
        found: the terms of a text, with those of its headings.
        language: of both.

    >>> topic_lacking("Sind Hunde im Hof erlaubt?", {"hund", "hof", "gestattet"}, "de")
    ''
    """
    rules = rule_terms(language) | set(terms(_OPPOSITES.get(language, ""), language))
    return next((term for term in terms(question, language) if term not in rules and term not in found), "")
