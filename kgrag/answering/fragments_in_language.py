"""Fragments of German and French follow-ups: "Und die HS 450?", "Et en 2023 ?", put into the question before.

A fragment takes the place of the part that is like it: a year that of a year, a phrase that of the phrase with its
preposition, a thing that of the last one of its kind. A phrase that has none is put at the end ("Und für Gäste?"), a
thing that has none is not guessed. English has its own rules (``follow_ups``).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import regex

from kgrag.late_patterns import late_regex
from kgrag.text.sentences import word_set

__all__ = ["NOT_COMPLETED", "completed", "thing_in", "without_lead"]

NOT_COMPLETED: Final = MappingProxyType(
    {
        "de": "„{}“ ließ sich nicht zu einer vollen Frage machen; es wurde zusammen mit der vorigen Frage gestellt.",
        "fr": "« {} » n’a pas pu devenir une question complète ; posé avec la question précédente.",
    }
)
"""What is said of a fragment that has no like part, by language; ``{}`` is the fragment."""
_LEADS: Final = MappingProxyType(
    {
        "de": late_regex(
            r"(?:(?:und|oder|aber)(?:\s+(?:was|wie)\s+ist(?:\s+mit)?)?|(?:was|wie)\s+ist\s+mit)\s+",
            flags=regex.IGNORECASE,
        ),
        "fr": late_regex(r"(?:et|ou|mais)\s+(?:qu['’]en\s+est-il\s+)?(?:alors\s+)?", flags=regex.IGNORECASE),
    }
)
_PREPOSITIONS: Final = MappingProxyType(
    {
        "de": word_set(
            """in im ins an am auf aus bei beim mit nach seit von vom zu zum zur bis unter über vor hinter neben
            zwischen wegen während ohne gegen für ab pro um durch"""
        ),
        "fr": word_set(
            """à au aux en dans pour sur sous avec sans chez par depuis avant après pendant vers entre jusqu' contre"""
        ),
    }
)
_SAME: Final = MappingProxyType(
    {
        **dict.fromkeys(("in", "im", "ins"), "in"),
        **dict.fromkeys(("an", "am"), "an"),
        **dict.fromkeys(("bei", "beim"), "bei"),
        **dict.fromkeys(("von", "vom"), "von"),
        **dict.fromkeys(("zu", "zum", "zur"), "zu"),
        **dict.fromkeys(("à", "au", "aux"), "à"),
    }
)
"""Prepositions that are one, with and without their article."""
_ADVERBS: Final = MappingProxyType(
    {
        "de": word_set("vorher nachher früher davor danach heute gestern morgen jetzt sonntags samstags werktags"),
        "fr": word_set("avant après auparavant ensuite hier demain maintenant aujourd'hui"),
    }
)
_VERBS: Final = MappingProxyType(
    {
        "de": late_regex(
            r"(?<!\p{L})(?:ist|sind|war|waren|wird|werden|wurden?|hat|haben|hatten?|kann|können|darf|dürfen|muss|müssen"
            r"|soll|sollen|gibt|w(?:er|en|em|essen|as|ann|o\p{L}*|ie\p{L}*|arum|eshalb|elche[mnrs]?))(?!\p{L})",
            flags=regex.IGNORECASE,
        ),
        "fr": late_regex(
            r"(?<!\p{L})(?:est|sont|était|étaient|sera|seront|a|ont|avait|peut|peuvent|doit|doivent|faut|qui|quoi|quand"
            r"|où|comment|combien|pourquoi|quel(?:le)?s?|que|ils?|elles?)(?!\p{L})",
            flags=regex.IGNORECASE,
        ),
    }
)
"""Words of a whole question: a fragment has none."""
_YEAR: Final = late_regex(r"(?<![\p{L}\p{N}])(?:1[5-9]|20)\p{N}{2}(?![\p{L}\p{N}])")
_WEEKDAY: Final = late_regex(
    r"(?:le|les|ce|chaque)\s+(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|week-end)s?(?:\s+(?:matin|soir|midi))?",
    flags=regex.IGNORECASE,
)
"""When something is, without a preposition; German has one ("am Sonntag") or an adverb ("sonntags")."""
_OF_YEARS: Final = late_regex(r"(?:jahr(?:e[ns]?)?|ann?[ée]*e?s?)$", flags=regex.IGNORECASE)
_NAME: Final = r"(?:\s+(?:\p{Lu}|\p{N})[\p{L}\p{N}.-]*(?<!\.))*"
_GERMAN_NOUN: Final = rf"(?:\p{{Ll}}+e[nrsm]?\s+){{0,2}}(?:\p{{Lu}}|\p{{N}})[\p{{L}}\p{{M}}\p{{N}}-]*{_NAME}"
_NO_ADJECTIVE: Final = "|".join((*sorted(_PREPOSITIONS["fr"]), "de", "du", "des", "et", "ou"))
_FRENCH_NOUN: Final = (
    rf"\p{{L}}[\p{{L}}\p{{M}}\p{{N}}-]*(?:\s+(?!(?:{_NO_ADJECTIVE})\b)\p{{Ll}}{{3,}}(?!\p{{L}}))?{_NAME}"
)
_ARTICLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "de": r"(?:(?:d(?:er|ie|as|en|em|es)|ein(?:e[mnrs]?)?)\s+)",
        "fr": r"(?:(?:les?|la|une?|des|ce(?:t|tte|s)?)\s+|l['’]\s*)",
    }
)
_OWN: Final = MappingProxyType(
    {
        "de": late_regex(r"(?:sein|ihr)(?:e[nmrs]?)?\s+\p{Lu}[\p{L}-]*", flags=regex.IGNORECASE),
        "fr": late_regex(r"(?:son|sa|ses|leurs?)\s+\p{L}[\p{L}-]*", flags=regex.IGNORECASE),
    }
)
_OPENINGS: Final = MappingProxyType({"de": "Was ist", "fr": "Quel est"})
_LONGEST = 6  # words


def without_lead(message: str, language: str) -> str:
    """Return a message without the "und" or "et" that it begins with; "und sein Preis" as the question that it is.

    >>> without_lead("Und wann endet er?", "de")
    'Wann endet er?'
    >>> without_lead("Et son poids ?", "fr")
    'Quel est son poids ?'
    """
    lead = _LEADS[language].match(message)
    bare = message[lead.end() :] if lead else message
    if lead and _OWN[language].fullmatch(bare.rstrip(" ?!.")):
        return f"{_OPENINGS[language]} {bare}"
    return bare[:1].upper() + bare[1:]


def thing_in(message: str, language: str) -> str:
    """Return what a fragment names, without its preposition; "" for a whole question, an adverb or a year.

    >>> thing_in("Und für externe Firmen?", "de"), thing_in("Et l'entrée ?", "fr"), thing_in("Und samstags?", "de")
    ('externe Firmen', "l'entrée", '')
    """
    words, is_led = _fragment(message, language)
    first, _, rest = words.partition(" ")
    if first.casefold() in _PREPOSITIONS[language]:
        return "" if _YEAR.search(rest) else rest
    is_time = _YEAR.search(words) or _WEEKDAY.fullmatch(words) or first.casefold() in _ADVERBS[language]
    return "" if not is_led or is_time else words


def _fragment(message: str, language: str) -> tuple[str, bool]:
    """Return the words of a fragment without "und", and whether it had that; "" for a whole question."""
    lead = _LEADS[language].match(message)
    words = (message[lead.end() :] if lead else message).rstrip(" ?!.")
    is_whole = _VERBS[language].search(words) or _OWN[language].fullmatch(words)
    return ("" if is_whole or len(words.split()) > _LONGEST else words), lead is not None


def completed(message: str, question: str, language: str) -> str:
    """Return the question before with a fragment in the place of what is like it; "" for no fragment or no such part.

    >>> completed("Und die HS 450?", "Wie schwer ist die HS 350?", "de")
    'Wie schwer ist die HS 450?'
    >>> completed("Et en 2023 ?", "Quelle est la cotisation en 2024 ?", "fr")
    'Quelle est la cotisation en 2023 ?'
    >>> completed("Wer hat es geschrieben?", "Wie schwer ist die HS 350?", "de")
    ''
    """
    words, is_led = _fragment(message, language)
    parts = words.split()
    if not parts:
        return ""
    first = parts[0].casefold()
    is_phrase = first in _PREPOSITIONS[language]
    if not is_led and not is_phrase:
        return ""
    if (first in _ADVERBS[language] and len(parts) == 1) or _WEEKDAY.fullmatch(words):
        return _at_end(question, words)
    if _YEAR.search(words) and (year := _YEAR.search(question)):
        return _with_year(question, words, year)
    if is_phrase:
        return _with_phrase(question, words, language)
    return _with_thing(question, words, language)


def _at_end(question: str, words: str) -> str:
    bare = question.rstrip(" ?!.")
    return f"{bare} {words}{question[len(bare) :] or '?'}"


def _with_year(question: str, words: str, year: regex.Match[str]) -> str:
    """Return a question with another year: "in 2023" in the place of "in 2024", "2023" in that of "2024"."""
    said = _YEAR.search(words)
    return f"{question[: year.start()]}{said[0]}{question[year.end() :]}" if said else ""


def _with_phrase(question: str, words: str, language: str) -> str:
    """Return a question with a phrase in the place of the one with its preposition, else at its end.

    A French "pour un étudiant" is put in the place of "d'un membre" as well: whom something is for, and whose it is.
    """
    preposition, _, rest = words.partition(" ")
    preposition = preposition.casefold()
    words = f"{preposition} {rest}"
    same = [one for one in _PREPOSITIONS[language] if _SAME.get(one, one) == _SAME.get(preposition, preposition)]
    noun = _GERMAN_NOUN if language == "de" else _FRENCH_NOUN
    ahead = rf"(?<!\p{{L}})(?:{'|'.join(sorted(same))})\s+{_ARTICLES[language]}?"
    for found in regex.finditer(rf"{ahead}{noun}", question, regex.UNICODE):
        if end := _end_of_like(found[0], words):
            return f"{question[: found.start()]}{words}{question[found.start() + end :]}"
    whose = regex.search(rf"\bd['’]une? {_FRENCH_NOUN}", question) if language == "fr" else None
    if preposition == "pour" and whose and regex.match(r"une? ", rest):
        return f"{question[: whose.start()]}d'{rest}{question[whose.end() :]}"
    return _at_end(question, words)


def _end_of_like(phrase: str, words: str) -> int:
    """Return where the part of a phrase ends that another may replace: without its year; 0 where one has dates only."""
    year, other = _YEAR.search(phrase), _YEAR.search(words)
    if (year is None) == (other is None):
        return len(phrase)
    ahead = phrase[: year.start()].rstrip() if year else ""
    return len(ahead) if len(ahead.split()) > 1 and not _OF_YEARS.search(ahead) else 0


def _with_thing(question: str, words: str, language: str) -> str:
    """Return a question with a thing in the place of the last one of its kind; "" where there is none."""
    if language == "fr" and (one := regex.match(r"(?:celui|celle|ceux|celles) (d\S+(?: la| l['’])? ?)(.+)", words)):
        owned = list(regex.finditer(rf"\b(?:de la |de l['’]|du |des |de |d['’]){_FRENCH_NOUN}", question))
        return f"{question[: owned[-1].start()]}{one[1]}{one[2]}{question[owned[-1].end() :]}" if owned else ""
    noun = _GERMAN_NOUN if language == "de" else _FRENCH_NOUN
    thing = regex.fullmatch(rf"(?P<article>{_ARTICLES[language]})?(?P<noun>{noun})", words, regex.IGNORECASE)
    if thing is None:
        return ""
    behind = r"(?<!^)(?<!\p{L})"
    for article in (_ARTICLES[language], "") if thing["article"] or language == "fr" else ("", _ARTICLES[language]):
        begins = "" if article else r"(?=\p{Lu}|\p{N})"  # without its article an adjective looks like a verb
        if places := list(regex.finditer(rf"{behind}(?P<article>{article}){begins}(?P<noun>{noun})", question)):
            place = _likest(places, thing["noun"])
            put = words if thing["article"] and place["article"] else f"{place['article']}{thing['noun']}"
            return _contracted(f"{question[: place.start()]}{put}{question[place.end() :]}", language)
    return ""


def _contracted(question: str, language: str) -> str:
    """Return a French question with "d'" and "de" before another article as they are written: "d'la" is "de la"."""
    if language != "fr":
        return question
    apart: str = regex.sub(r"\bd['’](?=l(?:a|es?)\s)", "de ", question)
    plural: str = regex.sub(r"\bde\s+les\s", "des ", apart)
    return str(regex.sub(r"\bde\s+le\s", "du ", plural))


def _likest(places: list[regex.Match[str]], noun: str) -> regex.Match[str]:
    """Return the place whose noun shares a word with another or is a name like it, else the last."""
    parts = set(noun.casefold().split())
    is_name = regex.search(r"\p{N}", noun) is not None
    return max(
        reversed(places),
        key=lambda one: (
            len(parts & set(one["noun"].casefold().split())),
            is_name and bool(regex.search(r"\p{N}", one["noun"])),
        ),
    )
