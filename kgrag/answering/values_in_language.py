"""Short answers in German and French: a date, number, version, yes or no, cut out of a sentence of the answer.

As in English (``short_answers``, which has more kinds of values): what *yes* and *no* need is in
``stated_truth``.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType

import regex

from kgrag.answering.durations import compound_times
from kgrag.answering.numbered_places import numbered_places
from kgrag.answering.persons_asked import persons_asked
from kgrag.answering.stated_truth import stated_truth
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_languages import QuestionLanguage, asked_in, question_language
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.value_owners import asks_price, counted_noun, is_year, numbers_of, share_of_clause
from kgrag.model import Value
from kgrag.text.figures import dates

__all__ = ["values_in"]

_TIMES = (
    r"Sekunden?|Minuten?|Stunden?|(?:Werk|Arbeits|Kalender)?[Tt]age?n?|Wochen?|Monate?n?|Jahre?n?|secondes?|minutes?|heures?"
    r"|jours?(?:\s(?:ouvrables|ouvrés|calendaires|francs))?|semaines?|mois|ans?|années?"
)
_UNIT = (
    rf"{_TIMES}|"
    r"%|‰|°C?|€|Euros?|euros?|EUR|CHF|Franken|francs?|Prozent|pour\s?cents?|[kMGT]i?B|[kMGT]?[Bb]its?|(?:Kilo|Mega|Giga)?[Bb]ytes?|[kKMG]?octets?|[kcm]?m[²³]?|qm|[km]?g|ms|s"
    r"|Uhr|Zeilen?|Zeichen|Seiten?|Mal|mal|Pixel|lignes?|caractères?|pages?|fois|pixels?"
)
_NUMBER = late_regex(
    rf"(?<![\p{{L}}\p{{N}}.,])(?P<number>\p{{N}}+(?:[.\u00a0\u202f ]\p{{N}}{{3}})*(?:,\p{{N}}+|\.\p{{N}}+)?)"
    rf"(?![\p{{N}}]|[.,]\p{{N}})(?:[\s-]?(?P<unit>{_UNIT})(?!\p{{L}}))?"
)
_CURRENCIES = frozenset({"€", "Euro", "Euros", "euro", "euros", "EUR", "CHF", "Franken", "franc", "francs"})
_BEFORE_SUM = late_regex(r"(?<!\p{L})(EUR|CHF|€)[\s\u00a0]?$")
_IN_LETTERS = late_regex(r"(?P<number>\p{L}+)(?P<unit>(?!))?")
_LETTERS = MappingProxyType(
    {
        word: str(number)
        for words in (
            "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
            "deux trois quatre cinq six sept huit neuf dix onze douze",
        )
        for number, word in enumerate(words.split(), start=2)
    }
)
_TENS = MappingProxyType(
    {
        word: str(10 * number)
        for words in (
            "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert",
            "vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix cent",
        )
        for number, word in enumerate(words.split(), start=2)
    }
)
_SPELLED = late_regex(
    rf"\b(?P<number>{'|'.join((*_LETTERS, *sorted(_TENS, key=len, reverse=True)))})"
    rf"\s(?P<unit>Euros?|Franken|francs|{_TIMES})\b",
    flags=regex.IGNORECASE,
)
_A_WORD = late_regex(r"une?|eine?[nmr]?", flags=regex.IGNORECASE)
_ONE = late_regex(
    rf"\b(?P<number>{_A_WORD.pattern})\s(?P<unit>{_TIMES})(?!\p{{L}})",
    flags=regex.IGNORECASE,
)
_ELLIPTIC = late_regex(
    rf"(?:,|\bund|\bsowie|\bet|\bdavon|\bdarunter|\bdont)\s+(?P<number>\p{{N}}+|(?i:{'|'.join(_LETTERS)}))"
    r"(?=\s+(?:für|bei|beim|im|in|am|an|auf|aus|mit|ohne|pour|dans|à|au|aux|chez|en|avec|sans)\s)"
)
_HOW_OFTEN = late_regex(r"\bwie\s+oft\b|\bcombien\s+de\s+fois\b", flags=regex.IGNORECASE)
_FREQUENCY = late_regex(
    r"\b(?:(?:ein|zwei|drei|vier|fünf|sechs|sieben|acht|zehn|\p{N}+[ -]?)mal"
    r"|(?:une|deux|trois|quatre|cinq|six|\p{N}+)\s+fois)\b"
    r"(?:\s+(?:im|pro|je|am|in\s+der|par)\s+\p{L}+)?|\b(?:täglich|wöchentlich|monatlich|vierteljährlich|halbjährlich|jährlich)\b"
    r"|\b(?:alle\s+(?:\p{L}+|\p{N}+)|tous\s+les(?:\s+(?:\p{L}+|\p{N}+))?|toutes\s+les(?:\s+(?:\p{L}+|\p{N}+))?)"
    r"\s+(?:Stunden|Tage|Wochen|Monate|Jahre|heures|jours|semaines|mois|ans)\b",
    flags=regex.IGNORECASE,
)
_MONTHS = (
    "Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|janvier|février|mars|avril"
    "|mai|juin|juillet|août|septembre|octobre|novembre|décembre"
)
_DATE = late_regex(
    r"(?<![\p{N}.,/-])\p{N}{1,2}(?:\.\s?\p{N}{1,2}\.\s?|/\p{N}{1,2}/)(?:1\d|20)\d\d(?![\p{N}])|"
    rf"(?:\p{{N}}{{1,2}}(?:\.|er)?\s+)?\b(?:{_MONTHS})\s+(?:1\d|20)\d\d\b|\p{{N}}{{1,2}}(?:\.|er)?\s+(?:{_MONTHS})\b"
    rf"|\b(?:1\d|20)\d\d\b(?![.,]\d)",
    flags=regex.IGNORECASE,
)
_VERSION = late_regex(r"\b[Vv]ersion\s+\p{N}+(?:\.\p{N}+)*|\p{N}+(?:\.\p{N}+)+")
_HOW_LONG = late_regex(r"\bwie\s+lange\b|\bcombien\s+de\s+temps\b|\bdurée\b", flags=regex.IGNORECASE)
_TITLED = late_regex(
    r"\b(?:Herrn?|Frau|M\.|Mme|Mlle|Monsieur|Madame|(?:Dr|Prof|Dipl)\.)(?:\s?(?:Dr|Prof|\p{Ll}{1,5})\.)*(?:-Ing\.)?\s+"
    r"(?P<name>\p{Lu}[\p{L}'’-]+(?:\s+(?:von|van|zu|de|du|le))?(?:\s+\p{Lu}[\p{L}'’-]+)*)"
)
_TITLE = late_regex(r"^(?:Herrn?|Frau|Mme|Mlle|Monsieur|Madame)\s+")
_NAMED = late_regex(r"(?<!^)(?<![.!?:]\s)(?P<name>(?<!\p{L}['’.-])\b\p{Lu}[\p{L}'’-]+(?:\s+\p{Lu}[\p{L}'’-]+)+)")
_SAID = late_regex(r"(?:(?P<yes>ja|oui)|nein|non(?!\s+\p{L}))\b", flags=regex.IGNORECASE)


def values_in(question: str, sentence: str, language: str) -> Iterator[Value]:
    """Yield what a question asks for as a sentence has it, what the question says left out; the likeliest first.

    Of several dates none is yielded, as which one is meant only the words around them say; a day is no number.

    Args:
        question: as it was asked.
        sentence: of its answer.
        language: the code of a language of which questions are read; of another one nothing is found.

    >>> [value.text for value in values_in("Wie lang ist der Schlüssel?", "Er hat mindestens 2048 Bit.", "de")]
    ['2048 Bit']
    """
    rules = question_language(language)
    kind = asked_in(question, language).kind
    if rules is None:
        return
    if kind == "boolean":
        yield from _truth(question, sentence, language, rules)
    elif kind == "date":
        found_dates = {found[0]: Value("date", found[0], _iso(found[0])) for found in _new(_DATE, question, sentence)}
        yield from found_dates.values() if len(found_dates) == 1 else ()
    elif kind == "version":
        yield from (Value("text", found[0]) for found in _new(_VERSION, question, sentence))
    elif kind == "person":
        yield from (Value("text", name) for name in _persons(question, sentence, language))
    elif kind == "number" and _HOW_LONG.search(question) and (times := list(compound_times(sentence))):
        yield from times
    elif kind == "number" and _HOW_OFTEN.search(question) and (often := _FREQUENCY.findall(sentence)):
        yield from (Value("text", found) for found in often)
    elif kind == "number":
        yield from map(_number, _numbers(question, sentence, language))


def _persons(question: str, sentence: str, language: str) -> list[str]:
    """Return the one person asked for: the name behind a title, or of French, whose nouns are small, any name."""
    patterns = (_TITLED, _NAMED) if language == "fr" else (_TITLED,)
    for pattern in patterns:
        names = [one for one in pattern.finditer(sentence) if _TITLE.sub("", one["name"]) not in question]
        if names:
            told = persons_asked(question, sentence, [one.span("name") for one in names], language)
            found = list(dict.fromkeys(one["name"] for one in names if one.span("name") in told))
            return found if len(found) == 1 else []
    return []


def _new(pattern: regex.Pattern[str], question: str, sentence: str) -> Iterator[regex.Match[str]]:
    return (found for found in pattern.finditer(sentence) if found[0].strip().casefold() not in question.casefold())


def _numbers(question: str, sentence: str, language: str) -> list[regex.Match[str]]:
    """Return the numbers that may be asked for: beside what is counted, with a currency, in the clause of the thing."""
    if counted_noun(question, language):
        places = sorted({*numbers_of(question, sentence, language), *_left_out(sentence)})
        places = [(at, end) for at, end in places if not regex.search(rf"\b{sentence[at:end]}\b", question)]
        found = [one for place in places for one in _read_at(sentence, *place)]
        return [*found, *_ones_of(counted_noun(question, language), sentence, language)]
    if _HOW_LONG.search(question):
        return _times_of(question, sentence, language)
    days = [found.span() for found in _DATE.finditer(sentence) if not found[0].isdecimal()]
    days += numbered_places(sentence, question)
    numbers = [
        found
        for found in _new(_NUMBER, question, sentence)
        if not any(at <= found.start() < end for at, end in days)
        and not is_year(sentence, found.start(), found.end("number"), language)
    ]
    if asks_price(question, language):
        numbers = [found for found in numbers if (found["unit"] or "") in _CURRENCIES or _paid_in(found)] or numbers
    numbers = numbers or list(_new(_SPELLED, question, sentence))
    return sorted(numbers, key=lambda found: -share_of_clause(question, sentence, found.start(), language))


def _times_of(question: str, sentence: str, language: str) -> list[regex.Match[str]]:
    """Return the numbers of units of time, the only ones that say how long: the price of a further hour does not."""
    found = [one for one in _new(_NUMBER, question, sentence) if regex.fullmatch(_TIMES, one["unit"] or "")]
    found += [one for pattern in (_SPELLED, _ONE) for one in _new(pattern, question, sentence) if one["unit"]]
    found = [one for one in found if regex.fullmatch(_TIMES, one["unit"], regex.IGNORECASE)]
    return sorted(found, key=lambda one: (-share_of_clause(question, sentence, one.start(), language), one.start()))


def _ones_of(noun: str, sentence: str, language: str) -> list[regex.Match[str]]:
    """Return where a sentence has one of a unit of time that is counted: "trois jours …, un jour pour les autres"."""
    return [one for one in _ONE.finditer(sentence) if set(terms(one["unit"], language)) & set(terms(noun, language))]


def _left_out(sentence: str) -> list[tuple[int, int]]:
    """Return where numbers stand by themselves behind another of what they count: "acht Autos und drei für Gäste"."""
    return [found.span("number") for found in _ELLIPTIC.finditer(sentence)]


def _read_at(sentence: str, start: int, end: int) -> Iterator[regex.Match[str]]:
    """Yield a number as it is at a place, one in letters as well."""
    found = _NUMBER.match(sentence, start) or _IN_LETTERS.match(sentence, start, end)
    if found:
        yield found


def _number(found: regex.Match[str]) -> Value:
    digits = regex.sub(r"[\s\u00a0\u202f]", "", found["number"])
    digits = (_LETTERS | _TENS).get(digits.casefold(), "1" if _A_WORD.fullmatch(digits) else digits)
    if "," in digits or regex.fullmatch(r"\p{N}{1,3}(?:\.\p{N}{3})+", digits):
        digits = digits.replace(".", "").replace(",", ".")
    if not found["unit"] and (currency := _paid_in(found)):  # "CHF 60"
        return Value("number", found.string[found.start() - len(currency[0]) : found.end()], digits, unit=currency[1])
    return Value("number", found[0].strip(), digits, unit=found["unit"] or "")


def _paid_in(found: regex.Match[str]) -> regex.Match[str] | None:
    """Return the currency that stands before a number."""
    return _BEFORE_SUM.search(found.string, endpos=found.start())


def _iso(text: str) -> str:
    """Return a date in the form of ISO 8601, as far as it is stated; a day without a year stays as it is."""
    if text.isdecimal():
        return text
    for date in dates(regex.sub(r"(?<=\p{N}\.)\s(?=\p{N})", "", text)):
        parts = [f"{date.year:04}"] if date.year else []
        parts += [f"{date.month:02}"] if parts and date.month else []
        return "-".join([*parts, *([f"{date.day:02}"] if len(parts) > 1 and date.day else [])])
    return ""


def _truth(question: str, sentence: str, language: str, rules: QuestionLanguage) -> Iterator[Value]:
    if said := _SAID.match(sentence):
        truth = said["yes"] is not None
    else:
        stated = stated_truth(question, sentence, language=language)
        if stated is None:
            return
        truth = stated
    yield Value("boolean", rules.yes if truth else rules.no, "true" if truth else "false")
