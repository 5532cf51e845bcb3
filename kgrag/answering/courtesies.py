"""Messages that ask nothing, as "Thanks!", and the "Why?" behind an answer that could not be given.

Nothing is searched for either: the one has no question, the other asks for the reason that the turn before has.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import regex

from kgrag.languages import language_of
from kgrag.late_patterns import late_regex

__all__ = ["asks_why", "is_courtesy", "reply_to_courtesy", "why_unknown"]

_COURTESIES: Final = (
    r"(?:many\s+|a\s+thousand\s+)?thanks?|thank\s+you|thx|cheers|you(?:'re|\s+are)\s+welcome|hello|hi|good\s+(?:morning|afternoon"
    r"|evening|night)|(?:good)?bye|ok(?:ay)?|alright|all\s+right|great|perfect|super|excellent|wonderful|nice|cool|fine|got\s+it"
    r"|i\s+see|understood|that(?:'s|\s+is)\s+all|no|yes|very\s+much|so\s+much|a\s+lot|again|for\s+(?:your|the)\s+help"
    r"|(?:vielen|besten|herzlichen|lieben|schönen)\s+dank|dank(?:e)?(?:\s*(?:schön|sehr))?|hallo|guten\s+(?:tag|morgen|abend)"
    r"|(?:auf\s+wiedersehen|tschüss)|alles\s+klar|verstanden|prima|wunderbar|sehr\s+gut|gut|schon|das\s+war\s+alles|nein|ja"
    r"|für\s+(?:die|ihre|deine)\s+hilfe|merci|beaucoup|bien|bonjour|bonsoir|au\s+revoir|d'accord|parfait|très|compris"
    r"|c'est\s+tout|non|oui|(?:pour|de)\s+votre\s+aide|mille\s+fois"
)
_COURTESY: Final = late_regex(rf"(?:(?:{_COURTESIES})(?![\p{{L}}\p{{N}}])\W*)+", flags=regex.IGNORECASE)
_WHY: Final = late_regex(
    r"(?:(?:and|but|so|und|aber|et|mais)\s+)?(?:why(?:\s+not)?|how\s+come|warum(?:\s+nicht)?|wieso(?:\s+nicht)?|weshalb(?:\s+nicht)?"
    r"|pourquoi(?:\s+(?:pas|non))?)\W*",
    flags=regex.IGNORECASE,
)
_NOTHING_ASKED: Final = MappingProxyType(
    {
        "de": "Darin steht keine Frage; es wurde nichts gesucht.",
        "fr": "Ce message ne pose pas de question ; rien n’a été cherché.",
    }
)
_NO_REASON: Final = MappingProxyType(
    {
        "de": "Keine der gefundenen Stellen enthält eine Antwort; mehr wurde zu der vorigen Frage nicht festgehalten.",
        "fr": "Aucun des passages trouvés ne contient de réponse ; rien d’autre n’a été noté pour cette question.",
    }
)


def is_courtesy(message: str) -> bool:
    """Return whether a message asks nothing: words of courtesy or assent alone, or no word at all.

    >>> [is_courtesy(one) for one in ("Thanks a lot!", "Vielen Dank", "👍", "Thanks, and lentil?", "Merci de quoi ?")]
    [True, True, True, False, False]
    """
    plain = message.replace("’", "'").strip()
    return _COURTESY.fullmatch(plain) is not None or not regex.search(r"[\p{L}\p{N}?？؟]", plain)


def asks_why(message: str) -> bool:
    """Return whether a message asks only why.

    >>> [asks_why(one) for one in ("Why?", "Und warum nicht?", "Pourquoi ?", "Why is it closed?")]
    [True, True, True, False]
    """
    return _WHY.fullmatch(message.strip()) is not None


def reply_to_courtesy(message: str, before: str) -> str:
    """Return what is said to a message that asks nothing, in its language, else that of the question before."""
    english = "This message asks nothing, so nothing was searched."
    return _NOTHING_ASKED.get(language_of(message, "") or language_of(before), english)


def why_unknown(reason: str, question: str) -> str:
    """Return why a question has no answer: the reason that was noted, else that none was."""
    english = "None of the passages found has an answer; no other reason is kept of the question before."
    return reason or _NO_REASON.get(language_of(question), english)
