"""Pronouns of German and French follow-up questions, in whose place the thing of the question before is put.

A pronoun takes the noun phrase of its gender and number, of the last question first, then of its answer; an attribute
that has a value ("der Preis des Mixers") comes after what has it, and a unit, currency or date is none. English has its
own rules (``follow_ups``), with more of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import regex

from kgrag.answering.value_words import is_measure, is_value
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_languages import question_language
from kgrag.text.sentences import word_set

__all__ = ["PRONOUN_LANGUAGES", "is_whole", "with_things"]


class _Thing(NamedTuple):
    """A noun phrase without its article, and the genders that it may have: m, f, n, and p for several.

    ``is_name`` is a name of its own, which has no article in French.
    """

    words: str
    genders: str
    is_name: bool = False


_GERMAN_ARTICLES: Final = MappingProxyType(
    {
        **dict.fromkeys(["den", "einen", "diesen"], "m"),
        **dict.fromkeys(["dem", "einem", "im", "vom", "zum", "beim", "am", "des", "eines", "diesem", "dieses"], "mn"),
        **dict.fromkeys(["die", "diese"], "fp"),
        **dict.fromkeys(["eine", "einer", "zur", "ihre", "ihrer", "unsere", "unserer"], "f"),
        **dict.fromkeys(["das"], "n"),
        **dict.fromkeys(["ein", "kein", "unser"], "mn"),
        **dict.fromkeys(["herr", "herrn"], "m"),
        "frau": "f",
    }
)
_GERMAN_THING: Final = late_regex(
    rf"(?:(?<!\p{{L}})(?P<article>(?i:der|{'|'.join(_GERMAN_ARTICLES)}))\s+)"
    r"(?:\p{Ll}+e[nrsm]?\s+){0,2}(?P<noun>\p{Lu}[\p{L}\p{M}\p{N}-]*)(?P<name>(?:\s+(?:\p{Lu}|\p{N})[\p{L}\p{M}\p{N}.-]*)*)"
)
_GERMAN_BARE: Final = late_regex(
    r"(?<=\p{L}\s)(?P<noun>\p{Lu}[\p{L}\p{M}\p{N}-]*)(?P<name>(?:\s+(?:\p{Lu}|\p{N})[\p{L}\p{M}\p{N}.-]*)*)"
)
_GERMAN_PREPOSITIONS: Final = word_set(
    "in an auf aus bei mit nach seit von zu bis unter über vor hinter neben zwischen wegen während trotz"
)
_GERMAN_PRONOUN: Final = late_regex(
    r"(?<![\p{L}-])(?:(?P<own>(?:sein|ihr)(?:e[nmrs]?)?\s+(?:\p{Ll}+\s+)?\p{Lu}[\p{L}-]*)|(?P<word>er|ihn|ihm|sie|ihr|es))(?![\p{L}-])"
)
_GERMAN_EMPTY: Final = late_regex(
    r"\b(?i:gibt|gab|geht|ging|handelt|regnet|schneit|dauert|kommt|lohnt|reicht|klappt|stimmt|bedarf|braucht)\s+es\b"
    r"|\bwie\s+(?:spät|warm|kalt|lange)\s+\p{L}+\s+es\b"
    r"|\b(?i:ist|war|wird|wäre)\s+es\s+(?=.*\b(?:erlaubt|verboten|möglich|nötig|notwendig|erforderlich|zulässig|gestattet"
    r"|üblich|richtig|wahr|sinnvoll|untersagt|zu\s+\p{Ll}+n|dass)\b)",
    flags=regex.IGNORECASE,
)
_GERMAN_GENDERS: Final = MappingProxyType({"er": "m", "ihn": "m", "ihm": "mn", "sie": "fp", "ihr": "f", "es": "n"})
_GERMAN_BY_PRONOUN: Final = MappingProxyType(
    {"er": "der", "ihn": "den", "ihm": "dem", "sie": "die", "ihr": "der", "es": "das"}
)
_FRENCH_ARTICLES: Final = MappingProxyType(
    {
        **dict.fromkeys(["le", "un", "du", "au", "ce", "cet", "mon"], "m"),
        **dict.fromkeys(["la", "une", "cette", "ma"], "f"),
        **dict.fromkeys(["les", "des", "aux", "ces", "mes", "nos", "vos"], "p"),
        **dict.fromkeys(("l'", "l’", "notre", "votre"), "mf"),
        "m.": "m",
        "monsieur": "m",
        "mme": "f",
        "madame": "f",
    }
)
_FRENCH_THING: Final = late_regex(
    r"(?<![\p{L}-])(?P<article>(?i:l['’]|(?:le|la|les|une?|du|des|aux?|ce|cet|cette|ces|mon|ma|mes|notre|votre|nos|vos|M\."
    r"|Monsieur|Mme|Madame)\s+))(?P<noun>\p{L}[\p{L}\p{N}-]*)(?P<name>(?:\s+(?:\p{Lu}|\p{N})[\p{L}\p{N}.-]*)*"
    r"(?:\s+(?:de\s+la\s+|de\s+l['’]|du\s+|des\s+|de\s+|d['’])\p{L}[\p{L}\p{N}-]*(?:\s+(?:\p{Lu}|\p{N})[\p{L}\p{N}.-]*)*)?)"
)
_FRENCH_PRONOUN: Final = late_regex(
    r"(?P<own>\b(?P<its>son|sa|ses|leurs?)\s+(?P<owned>\p{L}[\p{L}-]*))"
    r"|(?P<verb>(?<![\p{L}-])\p{L}+)-(?:t-)?(?P<word>ils?|elles?)(?![\p{L}-])"
    r"|(?P<that>\bqu['’])(?P<word>ils?|elles?)(?![\p{L}-])|(?<![\p{L}'’-])(?P<word>ils?|elles?)(?![\p{L}-])",
    flags=regex.IGNORECASE,
)
_FRENCH_EMPTY: Final = late_regex(
    r"\by\s+(?:a|avait|aura|aurait)(?:-t)?-il\b|\b(?:faut|faudra|fallait|s['’]agit|existe|reste|manque|pleut|convient|suffit|vaut)"
    r"(?:-t)?-il\b|\bheure\s+est-il\b|\best-il\s+(?:\p{L}+ment\s+)?\p{L}+\s+(?:de\b|d['’]|que\b|qu['’])"
    r"|\bil\s+(?:faut|y\s+a|s['’]agit|existe|est\s+\p{L}+\s+(?:de\b|d['’]|que\b|qu['’]))|\bpeut-il\s+y\s+avoir\b",
    flags=regex.IGNORECASE,
)
_FRENCH_GENDERS: Final = MappingProxyType({"il": "m", "elle": "f", "ils": "p", "elles": "p"})
_FRENCH_OWN: Final = MappingProxyType({"son": "le", "sa": "la", "ses": "les", "leur": "le", "leurs": "les"})
_VOWEL: Final = late_regex(r"[aeiouyhàâéèêîôœ]", flags=regex.IGNORECASE)

_ASKED_THING: Final = late_regex(
    r"^(?:und\s+)?(?:welche[mnrs]?|wie\s*viel)\s+\p{Lu}[\p{L}-]*(?=\s+(?:hat|haben|hatten?|braucht|brauchen)\s*$)",
    flags=regex.IGNORECASE,
)
"""What a question asks for ("Welche Leistung hat sie?") is not what its pronoun means."""
_ASKED_PLACE: Final = late_regex(r"^(?:[Uu]nd\s+)?\p{L}+\s+welche[mnrs]?\s+(?:\p{Ll}+e[nrsm]?\s+)?\p{Lu}[\p{L}-]*")
"""Where something is ("In welchem Zimmer sitzt sie?") is not what is spoken of."""
_NAMED_OWNER: Final = late_regex(r"\s+(?:von|de|d['’])\s*(?P<owner>\p{Lu}.*)")
"""A name without an article behind a noun: that of whom the noun is."""
_ASKS: Final = late_regex(
    r"(?:\p{L}{2,4}\s+)?(?:w(?:er|en|em|essen|as|ann|o\p{L}*|ie\p{L}*|arum|eshalb|elche[mnrs]?)"
    r"|qui|quoi|quand|où|comment|combien|pourquoi|quel(?:le)?s?|que)\b",
    flags=regex.IGNORECASE,
)

PRONOUN_LANGUAGES: Final = frozenset({"de", "fr"})
"""Languages whose pronouns are known here."""


def with_things(message: str, texts: Sequence[str], language: str) -> tuple[str, str]:
    """Return a message with things in the place of its pronouns, and the pronouns for which none was found.

    Args:
        message: what the user wrote.
        texts: in which to look for the things, the likeliest first: the question before, and its answer.
        language: of all of them; one of ``PRONOUN_LANGUAGES``.

    >>> with_things("Ist er auf Lager?", ["Wie hoch ist der Preis des Mixers Dora?", "480 EUR."], "de")
    ('Ist der Mixer Dora auf Lager?', '')
    >>> with_things("Est-il en stock ?", ["Combien coûte le mixeur Dora ?"], "fr")
    ('Le mixeur Dora est-il en stock ?', '')
    """
    pronoun, empty = (_GERMAN_PRONOUN, _GERMAN_EMPTY) if language == "de" else (_FRENCH_PRONOUN, _FRENCH_EMPTY)
    unmeant = [found.span() for found in empty.finditer(message)]
    pieces, at, lacking = [], 0, []
    for found in pronoun.finditer(message):
        if any(start <= found.start() < end for start, end in unmeant):
            continue
        genders = _genders(found, language)
        ahead = _ASKED_THING.sub("", message[: found.start()])
        if any(_fits(thing, genders) for thing in _things(ahead, language)):
            continue
        if language == "fr" and found["verb"] and any(own["own"] for own in pronoun.finditer(ahead)):
            continue  # "sa décision est-elle": the pronoun repeats the subject
        thing = next((one for text in texts if (one := _thing_of(text, genders, language))), None)
        if thing is None:
            lacking.append(found["word"] or found[0])
            continue
        put = _in_german(found, thing) if language == "de" else _in_french(found, thing)
        pieces += [message[at : found.start()], put]
        at = found.end()
    made = "".join([*pieces, message[at:]])
    return made[:1].upper() + made[1:], ", ".join(f"“{word}”" for word in dict.fromkeys(lacking))


def is_whole(message: str, language: str) -> bool:
    """Return whether a message is a question and no part of one, by what it begins with.

    >>> [is_whole(message, "fr") for message in ("Faut-il payer d'avance ?", "Quand ?", "Et la pompe ?")]
    [True, False, False]
    """
    rules = question_language(language)
    begins = rules is not None and (rules.closed.match(message) or _ASKS.match(message))
    return bool(begins) and len(message.rstrip(" ?!.").split()) > 2


def _genders(found: regex.Match[str], language: str) -> str:
    """Return the genders of the things that a pronoun may mean."""
    if language == "de":
        if found["own"]:
            return "mn" if found["own"].startswith("sein") else "fp"
        return str(_GERMAN_GENDERS[found["word"]])
    if found["own"]:
        return "p" if found["its"].casefold().startswith("leur") else "mf"
    return str(_FRENCH_GENDERS[found["word"].casefold()])


def _fits(thing: _Thing, genders: str) -> bool:
    return not set(thing.genders).isdisjoint(genders)


def _thing_of(text: str, genders: str, language: str) -> _Thing | None:
    """Return the first thing of a text that has one of some genders; an attribute of something named comes last."""
    text = _ASKED_PLACE.sub("", text)
    fitting = [one for one in _things(text, language) if _fits(one, genders)]

    def is_attribute(one: _Thing) -> bool:
        behind = _NAMED_OWNER.match(text, text.find(one.words) + len(one.words)) if one.words in text else None
        return behind is not None or is_measure(one.words.split()[0])

    return min(fitting, key=is_attribute, default=None)


def _things(text: str, language: str) -> Iterator[_Thing]:
    """Yield the noun phrases of a text that are no values."""
    for thing in _german_things(text) if language == "de" else _french_things(text):
        if not is_value(thing.words, text):
            yield thing


def _german_things(text: str) -> Iterator[_Thing]:
    ends = []
    for found in _GERMAN_THING.finditer(text):
        ends.append((found.start("article"), found.end()))
        article, noun = found["article"].casefold(), found["noun"]
        genders = _GERMAN_ARTICLES.get(article) or _genders_of_der(text[: found.start()])
        if article in ("des", "eines"):
            noun = regex.sub(r"(?<=\p{L}{3})(?:es|s)$", "", noun)
        yield _Thing(f"{noun}{found['name']}", genders)
    for found in _GERMAN_BARE.finditer(text):
        if not any(start <= found.start() < end for start, end in ends):
            yield _Thing(found[0], "mfn")


def _genders_of_der(ahead: str) -> str:
    """Return the genders of what "der" stands before: behind a noun or preposition it is "die" in another case."""
    before = ahead.split()[-1:] or [""]
    is_noun = before[0][:1].isupper() and len(ahead.split()) > 1
    return "fp" if is_noun or before[0].casefold() in _GERMAN_PREPOSITIONS else "m"


def _french_things(text: str) -> Iterator[_Thing]:
    for found in _FRENCH_THING.finditer(text, overlapped=True):
        article = found["article"].strip().casefold()
        if owner := _NAMED_OWNER.fullmatch(found["name"]):
            yield _Thing(owner["owner"], "mf", is_name=True)
        name = "" if is_measure(found["noun"]) else found["name"]
        yield _Thing(f"{found['noun']}{name}", _FRENCH_ARTICLES[article])


def _in_german(found: regex.Match[str], thing: _Thing) -> str:
    """Return what stands in the place of a pronoun: "er" -> "der Mixer Dora", "sein" -> "sein (Mixer Dora)"."""
    if found["own"]:
        return f"{found[0]} ({thing.words})"
    return f"{_GERMAN_BY_PRONOUN[found['word']]} {thing.words}"


def _in_french(found: regex.Match[str], thing: _Thing) -> str:
    """Return what stands in the place of a pronoun with its verb: "est-il" -> "le mixeur est-il"."""
    if found["own"]:
        owner = _with_article(thing, "m" if "m" in thing.genders else thing.genders[:1])
        article = _FRENCH_OWN[found["its"].casefold()]
        owned = (
            f"l’{found['owned']}"
            if article != "les" and _VOWEL.match(found["owned"])
            else f"{article} {found['owned']}"
        )
        return f"{owned} {_of(owner)}"
    named = _with_article(thing, _FRENCH_GENDERS[found["word"].casefold()])
    if found["verb"]:
        return f"{named} {found[0][:1].lower()}{found[0][1:]}"
    return f"{found['that'][:2]}e {named}" if found["that"] else named


def _with_article(thing: _Thing, gender: str) -> str:
    if thing.is_name:
        return thing.words
    articles: Mapping[str, str] = {"m": "le", "f": "la", "p": "les"}
    if gender != "p" and _VOWEL.match(thing.words):
        return f"l’{thing.words}"
    return f"{articles[gender]} {thing.words}"


def _of(named: str) -> str:
    """Return a noun phrase with "de" before it.

    >>> _of("le mixeur"), _of("la pompe")
    ('du mixeur', 'de la pompe')
    """
    article, _, rest = named.partition(" ")
    elided = f"d’{named}" if named[:1].isupper() and _VOWEL.match(named) else f"de {named}"
    return {"le": f"du {rest}", "les": f"des {rest}"}.get(article, elided)
