"""Words around an answer in the language of its question: what is cited, what comes nearest, what is left out.

What the pages have in their own catalogue too is worded as it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kgrag.languages import language_of
from kgrag.llm.extractive.question_languages import language_to_answer_in, question_language
from kgrag.model import Answer, Hit

__all__ = [
    "LOW_CONFIDENCE",
    "NO_REPLY",
    "UNKNOWN",
    "in_language_of",
    "is_unknown_text",
    "reply_words",
    "unknown_answer",
]

LOW_CONFIDENCE = 0.5
"""Below it an answer is rather wrong than right, and is shown as one."""
UNKNOWN = "The evidence found does not carry an answer."
NO_REPLY = "The reply of the language model could not be used, so there is no answer."

_OF_MODEL = "words of a model, which no sentence carries; written from"
_GERMAN = MappingProxyType(
    {
        "Answer": "Antwort",
        "No answer": "Keine Antwort",
        "confidence": "Sicherheit",
        "low confidence": "geringe Sicherheit",
        "Reason:": "Grund:",
        "Cited": "Zitiert",
        "Cited passages": "Zitierte Stellen",
        "Nearest passages": "Nächste Stellen",
        "Nearest sentences": "Nächste Sätze",
        "The nearest sentences:": "Die nächsten Sätze:",
        "Not in the evidence:": "Nicht in den Belegen:",
        "Asked as:": "Gefragt wurde:",
        "asked as:": "gefragt wurde:",
        "characters": "Zeichen",
        "not supported by what it cites, left out:": "von dem, was zitiert ist, nicht gedeckt und weggelassen:",
        NO_REPLY: "Die Antwort des Sprachmodells war nicht zu gebrauchen; deshalb gibt es keine Antwort.",
        _OF_MODEL: "Worte eines Modells, die kein Satz trägt; geschrieben aus",
    }
)
_FRENCH = MappingProxyType(
    {
        "Answer": "Réponse",
        "No answer": "Pas de réponse",
        "confidence": "confiance",
        "low confidence": "confiance faible",
        "Reason:": "Raison :",
        "Cited": "Cité",
        "Cited passages": "Passages cités",
        "Nearest passages": "Passages les plus proches",
        "Nearest sentences": "Phrases les plus proches",
        "The nearest sentences:": "Les phrases les plus proches :",
        "Not in the evidence:": "Absent des passages trouvés :",
        "Asked as:": "Question posée :",
        "asked as:": "question posée :",
        "characters": "caractères",
        "not supported by what it cites, left out:": "non étayé par ce qui est cité, omis :",
        NO_REPLY: "La réponse du modèle de langage était inutilisable ; il n’y a donc pas de réponse.",
        _OF_MODEL: "mots d’un modèle qu’aucune phrase n’étaye ; tirés de",
    }
)
_WORDS: Mapping[str, Mapping[str, str]] = MappingProxyType({"de": _GERMAN, "fr": _FRENCH})


def reply_words(language: str) -> Mapping[str, str]:
    """Return the words around an answer in a language, by the English ones; none for one that is not known here."""
    return _WORDS.get(language, MappingProxyType({}))


def in_language_of(question: str, words: str) -> str:
    """Return English words around an answer in the language of its question, else as they are.

    >>> in_language_of("Wie hoch ist die Kaution?", "Nearest passages"), in_language_of("How high is it?", "Answer")
    ('Nächste Stellen', 'Answer')
    """
    return reply_words(language_of(question)).get(words, words)


def is_unknown_text(text: str) -> bool:
    """Return whether the text of an answer begins by saying that there is none, in any language known here."""
    rules = filter(None, map(question_language, _WORDS))
    return text.startswith((UNKNOWN, *(one.unknown for one in rules)))


def unknown_answer(question: str, hits: Sequence[Hit], method: str) -> Answer:
    """Return that there is no answer, in the language of the question; where it does not tell, of the evidence."""
    language = language_of(question, "") or language_to_answer_in(question, [hit.text for hit in hits])
    rules = question_language(language)
    text = rules.unknown if rules else UNKNOWN
    nothing = {"quotes": 0, "sentences": 0, "unsupported": 0}
    return Answer(question, text, method, unknown=True, hits=tuple(hits), dropped=nothing)
