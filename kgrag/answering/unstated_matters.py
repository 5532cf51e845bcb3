"""What a sentence only asks, plans or says of another time or limit, and so answers with neither yes nor no.

"The board will ask whether a permit is needed" has every word of "Is a permit needed?", "Before 2025 claims were
submitted on paper" those of "Can claims be submitted on paper?", and "not after 10 pm" most of "before 10 pm?".
"""

from __future__ import annotations

from collections.abc import Collection
from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms

__all__ = ["is_other_duty", "is_unstated"]


def _caseless(text: str) -> regex.Pattern[str]:
    return late_regex(text, flags=regex.IGNORECASE)


_FRAMES = MappingProxyType(
    {
        ENGLISH: _caseless(
            r"\b(?<!\b(?:is|are|be|was|were|you)\s)(?:ask(?:s|ed|ing)?|appl(?:y|ies|ied)(?=[^,;.]*\sfor\b)|requested(?=\sthat\b))"
            r"\s+(?:(?!for\b|to\b|that\b)\p{L}+\s+){0,5}?(?:for|to|that|whether|if)\b"
            r"|\bwhether\b|\b(?<!\b(?:you|users?)\s)(?:plan(?:s|ned|ning)?|intend(?:s|ed)?|hop(?:e|es|ed|ing)"
            r"|want(?:s|ed)?|wish(?:es|ed)?|aim(?:s|ed)?)\s+to\b|\b(?<!\b(?:is|are|be|was|were)\s)(?:propos(?:e|es|ed)"
            r"|consider(?:s|ed)?|discuss(?:es|ed)?|debat(?:es?|ed)|doubt(?:s|ed)?)\b"
            r"|\b(?:proposals?|motions?|plans?|ideas?|bids?)\s+(?:to|that)\b|\b(?:the|an?|their|his|her|our)\s+request\s+(?:to|for)\b"
        ),
        "de": _caseless(
            r"\bob\b(?!\s+\p{L}+\s+oder\b)|\b(?:plant|planen|plante|beabsichtigt|beabsichtigen|möchten?|wollen|wollten?|hofft"
            r"|hoffen|erwägt|erwägen|bat|baten|bittet|beantragten?|fordert|forderten?|wünscht|wünschen)\b|\bwill\b"
            r"|\b(?:Antrag|Vorschlag|Plan|Wunsch)\b\s*(?:,|auf\b|zu[mr]?\b)"
        ),
        "fr": _caseless(
            r"\b(?:examin\p{L}+|vérifi\p{L}+|demand\p{L}+|décid\p{L}+|étudi\p{L}+|savoir|ignor\p{L}+)\s+(?:[^,;.]*?\s)?"
            r"(?:si|s['’])\s*\b|\b(?:prévoit|prévoient|envisagent?|souhaitent?|espèrent?|veut|veulent|proposent?"
            r"|(?:a|ont)\s+demandé|(?:a|ont)\s+proposé)\b|\b(?:proposition|projet|demande|motion|idée)\s+(?:de|d['’])"
        ),
    }
)
"""Begin what is asked, planned, wished or proposed, and by itself not said to be so."""
_ONLY_PLANNED = MappingProxyType(
    {
        ENGLISH: _caseless(
            r"\b(?:asked|told|instructed|invited|urged|allowed|advised|promis(?:es?|ed)|agreed|decided)\s+(?:\p{L}+\s+)?to\b"
            r"|\b(?:recommend|suggest|advise|demand)(?:s|ed)?\b|\b(?:may|might|could|should|would|will|must|shall)\b"
        ),
        "de": _caseless(
            r"\b(?:empfiehlt|empfahl|empfohlen|versprach|versprochen|gebeten|aufgefordert|sollen|sollte[nt]?|soll|könnten?"
            r"|kann|können|darf|dürfen|muss|müssen|werde|würden?|beantragt)\b"
        ),
        "fr": _caseless(
            r"\b(?:promis|promet|recommand\p{L}+|conseill\p{L}+|invitée?s?|chargée?s?|devrai\p{L}*|pourrai\p{L}*|peut|peuvent"
            r"|doit|doivent)\b"
        ),
    }
)
"""Says what should or may come, which doesn't say that it came."""
_ASKS_DONE = MappingProxyType(
    {
        ENGLISH: _caseless(r"\A\s*(?:was|were|did|has|have|had)\b(?!.*\b(?:allowed|permitted|supposed|to)\b)"),
        "de": _caseless(r"\A\s*(?:hat|haben|hatten?|wurden?)\b"),
        "fr": _caseless(r"\b(?:a|ont)(?:-t)?-(?:ils?|elles?|on)\b"),
    }
)
_NEXT_CLAUSE = _caseless(r";|,\s+(?:and|but|und|aber|et|mais)\b")
_CONDITION = _caseless(
    r"(?:\A|[,;]\s+|(?<!\b(?:even|only|as|ask|asked|asks|whether|know|see|check|checks)\s)\b)(?:if|in\s+case|in\s+the\s+event|provided\s+that|wenn|falls|sofern"
    r"|vorausgesetzt|en\s+cas\s+d\p{L}*|à\s+condition|(?<=\A|,\s)si|(?<=\A|,\s)s['’]il\p{L}*)\b(?P<behind>[^,;.]*)"
)
"""Under what something is so; by itself it isn't said to be."""
_WITHOUT = _caseless(r"\b(?:without|ohne|sans)\b(?P<behind>[^,;.]*)")
_DENIED = _caseless(
    r"\b(?:not|no|nobody|never|cannot|none|neither|\w+n['’]t|forbidden|prohibited|nicht|kein\p{L}*|niemand|nie|verboten"
    r"|untersagt|ne|personne|interdite?s?|défendue?s?)\b|\bn['’]"
)
_PAST = _caseless(
    r"\b(?:before|until|till|up\s+to|prior\s+to|vor(?:\s+dem\s+Jahr)?|bis(?:\s+(?:zum\s+Jahr|Ende))?|avant|jusqu['’]en"
    r"|jusqu['’]à)\s+(?:\p{L}+\s+)?(?P<year>(?:19|20)\d\d)\b|\b(?:formerly|previously|used\s+to|in\s+the\s+past|früher"
    r"|ehemals|damals|seinerzeit|autrefois|jadis|auparavant)\b"
)
_SAYS_PAST = _caseless(
    r"\b(?:was|were|had|did|could|used\s+to|\p{L}{3,}ed|war|waren|wurden?|durften?|konnten?|mussten?|hatten?|galt|galten"
    r"|était|étaient|avait|avaient|\p{L}{2,}(?:ait|aient)|fut|furent)\b"
)
_ASKS_PAST = _caseless(
    r"\b(?:was|were|did|had|used\s+to|war|waren|wurden?|durften?|konnten?|mussten?|hatten?|galt|galten|était|étaient"
    r"|avaient|avait|\p{L}{2,}(?:ait|aient)|fut|furent|(?:a|ont)(?:-t)?-(?:ils?|elles?|on))\b"
)
_FIGURE = r"(?:(?:Uhr|Jahre?n?|the|dem|den|le|les)\s+)?(?P<figure>\p{N}+(?:[.,:]\p{N}+)*)"
_UPWARD = _caseless(
    r"\b(?:after|from|above|over|more\s+than|at\s+least|exceeding|later\s+than|nach|ab|über|mehr\s+als|mindestens|älter\s+als"
    rf"|après|plus\s+de|au-dessus\s+de|à\s+partir\s+de|dès|au\s+moins)\s+{_FIGURE}"
)
_DOWNWARD = _caseless(
    r"\b(?:before|until|till|below|under|less\s+than|fewer\s+than|up\s+to|at\s+most|earlier\s+than|vor|bis|unter"
    rf"|weniger\s+als|höchstens|jünger\s+als|avant|jusqu['’]à|moins\s+de|au-dessous\s+de|au\s+plus)\s+{_FIGURE}"
)
_DUTY = MappingProxyType(
    {
        ENGLISH: _caseless(
            r"\b(?:must(?!\s+not)|required?|requires|mandatory|compulsory|obligatory|need(?:s|ed)?|ha(?:s|ve)\s+to)\b"
        ),
        "de": _caseless(
            r"\b(?:muss|müssen|vorgeschrieben|Pflicht|verpflichtend|verpflichtet|erforderlich|nötig|notwendig|obligatorisch)\b"
        ),
        "fr": _caseless(r"\b(?:doit|doivent|obligatoires?|obligée?s?|nécessaires?|exigée?s?|faut)\b"),
    }
)
"""Says what has to be; denied it leaves open what may be."""
_LEAVE = MappingProxyType(
    {
        ENGLISH: _caseless(r"\b(?:may|can|allowed|permitted|permissible)\b"),
        "de": _caseless(r"\b(?:darf|dürfen|kann|können|erlaubt|gestattet|zulässig)\b"),
        "fr": _caseless(r"\b(?:peut|peuvent|permise?s?|permis|autorisée?s?)\b"),
    }
)


def is_unstated(question: str, asked: Collection[str], sentence: str, language: str) -> bool:
    """Return whether a sentence leaves open what is asked although it has the words.

    Args:
        question: one that yes or no answers.
        asked: its terms, without words of rules.
        sentence: what may answer it.
        language: of both; one of English, German and French.

    >>> is_unstated("Is a permit needed?", {"need"}, "The board will ask whether a permit is needed.", "en")
    True
    """
    return (
        _is_framed(question, asked, sentence, language)
        or _is_of_the_past(question, sentence)
        or _is_conditional(question, sentence, language)
        or _is_beyond_limit(question, sentence)
    )


def is_other_duty(question: str, sentence: str, language: str, *, denied: bool) -> bool:
    """Return whether a question asks what may be of a duty that is denied, or for a duty what is only allowed."""
    duty, leave = _DUTY[language], _LEAVE[language]
    if duty.search(question):
        return bool(not denied and leave.search(sentence) and not duty.search(sentence))
    return bool(denied and leave.search(question) and duty.search(sentence) and not leave.search(sentence))


def _is_framed(question: str, asked: Collection[str], sentence: str, language: str) -> bool:
    """Return whether something asked stands only behind a word of asking or planning that the question hasn't."""
    frame = None if _FRAMES[language].search(question) else _FRAMES[language].search(sentence)
    planned = _ONLY_PLANNED[language]
    if frame is None and _ASKS_DONE[language].search(question) and not planned.search(question):
        frame = planned.search(sentence)
    if frame is None:
        return False
    end = _NEXT_CLAUSE.search(sentence, frame.end())
    stop = end.start() if end else len(sentence)
    elsewhere = set(terms(f"{sentence[: frame.start()]} {sentence[stop:]}", language))
    return bool((set(asked) & set(terms(sentence[frame.start() : stop], language))) - elsewhere)


def _is_of_the_past(question: str, sentence: str) -> bool:
    """Return whether a sentence says how something was once, and the question asks how it is."""
    past = _PAST.search(sentence)
    if past is None or not _SAYS_PAST.search(sentence) or _ASKS_PAST.search(question):
        return False
    return not (past["year"] and past["year"] in question)


def _is_conditional(question: str, sentence: str, language: str) -> bool:
    """Return whether a sentence says something only under a condition of which the question says nothing."""
    known = set(terms(question, language))
    clauses = [found["behind"] for found in _CONDITION.finditer(sentence)]
    clauses += [
        found["behind"]
        for found in _WITHOUT.finditer(sentence)
        if _DENIED.search(sentence.replace(found[0], "")) and not _DENIED.search(question)
    ]
    return any((said := set(terms(clause, language))) and not said & known for clause in clauses)


def _is_beyond_limit(question: str, sentence: str) -> bool:
    """Return whether a question asks for the other side of a figure than the sentence is about."""
    for mine, other in ((_UPWARD, _DOWNWARD), (_DOWNWARD, _UPWARD)):
        wanted = {found["figure"] for found in mine.finditer(question)}
        stated = {found["figure"] for found in mine.finditer(sentence)}
        contrary = {found["figure"] for found in other.finditer(sentence)}
        if (wanted & contrary) - stated:
            return True
    return False
