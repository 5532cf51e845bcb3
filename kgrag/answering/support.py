"""Finds what a sentence of an answer says that what it cites does not: numbers, dates, units and names.

The rest of a sentence may be worded in any way, and whether it follows is the model's judgement; but a wrong amount or
a wrong name makes an answer false, and either is stated in the cited text or not. Compared are written forms
(``kgrag.text.figures``): nothing is converted or computed. A sum that the model made is therefore not supported.

Not found out: values of one cited text that were exchanged between things without names (between others:
``kgrag.answering.exchanged_values``), and a name of one word that begins a sentence and is nowhere in the evidence,
which cannot be told from a common word. Names are compared in English sentences only; other
languages inflect them, or begin every noun with a capital.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

import regex

from kgrag.answering.exchanged_values import exchanged
from kgrag.answering.opening_words import without_opening_word
from kgrag.late_patterns import late_regex
from kgrag.text.figures import MONTHS, Date, Quantity, dates, denominators, quantities, units, without_dates
from kgrag.text.sentences import STOP_WORDS, split, stem, word_set, words

__all__ = ["Ground", "unsupported"]

_MAX_COUNT = 12
"""Number words up to this one may count what the evidence lists, as in "nine varieties"."""
_SAME_UNITS = [{"degree", "°C", "°F"}, {"lb", "pound sterling"}]
_ENGLISH = word_set("the is are of and to with for by from at it be has have were that which this")
_PERHAPS_ENGLISH = word_set("a an in on was as or not first after under also")
_NOT_ENGLISH = word_set(
    "der die das den dem und ist im mit von wurde el la los del en y le les et est il di het een van"
)
_NEGATION = late_regex(r"\b(?:no|not|neither|nor|never|cannot|rather than|instead of|\p{L}+n't)\b", regex.IGNORECASE)
_NAME = late_regex(r"(?<![\p{L}\p{N}])\p{Lu}[\p{L}\p{M}\p{N}.]*(?:[ '’&-]{1,2}\p{Lu}[\p{L}\p{M}\p{N}.]*)*")
_CODE = late_regex(r"(?<![\p{L}\p{N}])\p{L}+[-–]?\d[\p{L}\p{N}-]*")
_CLAUSE_END = late_regex(r"[,;:.!?()]\s|\s(?:because|but|so|whereas|which|while)\s", regex.IGNORECASE)
_RANGE = late_regex(r"(?<![\p{L}\p{N}.,])(\d+(?:\.\d+)?)\s*(?:-|–|\bto\b)\s*(\d+(?:\.\d+)?)(?![\p{N}.]*\p{N})")
_LABELLED = late_regex(
    r"(?P<label>\p{Lu}[\p{L}\p{M}\p{N}]*|\b(?:version|release|code|port|page|chapter|section|step|line|level|number))"
    r"\s+v?(?P<number>\p{N}+(?:[.,]\p{N}+)*)",
)
"""A number in the place of a name or version: right behind a name, or a word that numbers are labels with."""
_RELEASE = late_regex(
    r"\b(?:version|release)s?\s+v?(?P<number>\p{N}+(?:\.\p{N}+)*)"
    r"|(?<![\p{L}\p{N}.])v?(?P<number>\p{N}+(?:\.\p{N}+)*)\s+(?:and|or)\s+(?:later|earlier|newer|older|above|below)\b",
    regex.IGNORECASE,
)
"""A number of a release: behind that word, or before "and later"."""
_PERHAPS_RELEASE = late_regex(
    r"\b(?:since|in|from|with|before|after|until|to|through|and|than)\s+v?(?P<number>\p{N}+)|(?P<number>\p{N}+(?:\.\p{N}+)+)",
    regex.IGNORECASE,
)
_GIVEN = late_regex(
    r"(?P<name>[\p{L}_$][\p{L}\p{M}\p{N}_.-]*)\s*(?:\(\s*(?P<label>\p{L}+)\s*[:=]?|(?P<label>=))\s*(?P<number>\p{N}+(?:[.,]\p{N}+)*)"
)
"""A number that is given to a name: "timeout (default: 30 s)", "timeout = 30"."""
_SHARES = tuple(
    (late_regex(rf"\b(?:{word})\b", regex.IGNORECASE), late_regex(rf"\b(?:{word}|{form})\b|{sign}", regex.IGNORECASE))
    for word, form, sign in (
        ("half|halves", "halv\\p{L}+|one in two|0?[.]5|[35]0|mid\\p{L}*", "½|1/2"),
        ("(?:a|one|two)[ -]thirds?", "thirds?|one in three|33|6[67]", "⅓|⅔|[12]/3"),
        ("(?:a|one|three)[ -]quarters?", "quarters?|quarterly|one in four|0?[.][27]5|15|25|45|75", "¼|¾|[13]/4"),
        ("twice|double|doubles|doubled", "doubl\\p{L}+|two|2|200|both", "×"),
        ("three times|thrice|triple|triples|tripled", "tripl\\p{L}+|treble\\p{L}*|three|3|300", "×"),
    )
)
"""Shares and multiples in words, each with the forms in which a text may have it."""
_TERM = late_regex(r"\p{N}+|[\p{L}\p{M}]+")
_DEMONYMS = frozenset({"n", "an", "ian", "i", "ese", "ish", "s", "es"})
_MIN_DEMONYM_STEM = 4


@dataclass(frozen=True, slots=True)
class Ground:
    """What a sentence may state.

    Args:
        cited: the source sentences that it cites, and the words of a model that are cited with whole chunks.
        about: texts that may name what the cited sentences are about: headings, and the sentences of a summary quoted.
        facts: the facts quoted, whole; their names and units count, not their numbers, which may be of other values.
        question: what was asked; its names may be repeated, its numbers where no cited number is in their place, and
            behind the same name or label as there.
        shown: all evidence that the model was shown; it decides what is a name and what a common word.
    """

    cited: tuple[str, ...]
    about: tuple[str, ...] = ()
    question: str = ""
    shown: str = ""
    facts: tuple[str, ...] = ()


def unsupported(sentence: str, ground: Ground) -> list[str]:
    """Return the dates, quantities and names of a sentence that its ground does not have, as it writes them.

    >>> ground = Ground(("In the Southern zone sow 65 kg per hectare on 5 July.",), question="How much for soybean?")
    >>> unsupported("The Southern zone sows 65.0 kg/ha of soybean on July 5th.", ground)
    []
    >>> unsupported("In the Northern zone sow 80 kg per hectare on 6 July.", ground)
    ['6 July', '80 kg per hectare', 'Northern']
    """
    cited = "\n".join(ground.cited)
    figures = [*_dates_missing(sentence, cited, ground), *_quantities_missing(sentence, cited, ground)]
    figures += [*_given_otherwise(sentence, cited), *_releases_missing(sentence, ground)]
    figures += [*exchanged(sentence, cited), *_shares_missing(sentence, ground)]
    return list(dict.fromkeys([*figures, *_names_missing(sentence, ground)]))


def _dates_missing(sentence: str, cited: str, ground: Ground) -> list[str]:
    stated, asked = dates("\n".join([cited, *ground.about])), dates(ground.question)
    years = {one.value for one in quantities("\n".join([cited, *ground.about, ground.question]))}
    may_repeat, denied = not dates(cited), {date for clause in _denied(sentence) for date in dates(clause)}

    def is_stated(date: Date) -> bool:
        """Return whether a stated date has every part of a date; a year may be stated by itself."""
        return any(
            date.month == other.month
            and date.day in (0, other.day)
            and (date.year in (0, other.year) or (not other.year and date.year in years))
            for other in (*stated, *(asked if may_repeat or date in denied else ()))
        )

    found = dates(sentence)
    missing = [date for date in found if not is_stated(date)]
    # 05/07/2013 was read as two dates
    return [str(date) for date in missing if Date(date.month, date.day, date.year) not in set(found) - set(missing)]


def _quantities_missing(sentence: str, cited: str, ground: Ground) -> list[str]:
    text = without_dates(sentence)
    basis = "\n".join([cited, *ground.about])
    stated, asked, named = (
        quantities(without_dates(basis)),
        quantities(ground.question),
        units("\n".join([basis, *ground.facts])),
    )
    of_dates = {one.value for one in quantities(basis)}
    rivals = {one.kind for one in quantities(without_dates(cited))} | {"year" for one in dates(cited) if one.year}
    missing, displaced, ranges = [], _displaced(sentence, ground.question), _RANGE.findall(cited)
    denied = {one.value for clause in _denied(text) for one in quantities(clause)}
    for one in quantities(text):
        counts = one.spelled and not one.unit and not isinstance(one.value, str) and abs(one.value) <= _MAX_COUNT
        # "taken as milliseconds" gives a bare number of the question its unit
        repeats = any(_same(one, other, units(cited)) for other in asked)
        repeats = repeats and (one.kind not in rivals or one.value in denied or _is_within(one, ranges))
        repeats = repeats and one.value not in displaced
        is_stated = any(_same(one, other, named) for other in stated) or (not one.unit and one.value in of_dates)
        if not (counts or repeats or is_stated):
            missing.append(one.written)
    per = denominators(text) - named - units(ground.question)
    return missing or [f"per {unit}" for unit in sorted(per)]


def _releases_missing(sentence: str, ground: Ground) -> list[str]:
    """Return the releases of a sentence that are stated as something else only: "default: 20" is no version 20."""
    stated = "\n".join([*ground.cited, *ground.about, *ground.facts, ground.question])
    known = {match["number"] for form in (_RELEASE, _LABELLED, _PERHAPS_RELEASE) for match in form.finditer(stated)}
    return [match["number"] for match in _RELEASE.finditer(sentence) if match["number"] not in known]


def _given_otherwise(sentence: str, cited: str) -> list[str]:
    """Return the numbers that a sentence gives to a name, where the cited text gives others to it under that label."""
    stated: dict[tuple[str, str], set[str]] = {}
    for match in _GIVEN.finditer(cited):
        stated.setdefault((match["name"].strip("$").casefold(), match["label"]), set()).add(match["number"])
    given = [(match["name"].casefold(), match["label"], match["number"]) for match in _GIVEN.finditer(sentence)]
    return [number for name, label, number in given if number not in stated.get((name, label), {number})]


def _shares_missing(sentence: str, ground: Ground) -> list[str]:
    """Return the shares and multiples in words of a sentence ("a quarter", "twice") that its ground has in no form."""
    stated = "\n".join([*ground.cited, *ground.about, *ground.facts, ground.question])
    return [
        match[0] for word, form in _SHARES for match in [word.search(sentence)] if match and not form.search(stated)
    ]


def _denied(sentence: str) -> list[str]:
    """Return the clauses of a sentence that deny something: "not 80 kg" may repeat a number that no citation has."""
    return [clause for clause in _CLAUSE_END.split(sentence) if _NEGATION.search(clause)]


def _is_within(one: Quantity, ranges: Sequence[tuple[str, str]]) -> bool:
    """Return whether a number lies in a range that is cited, as 2.4 in "2.3-2.5"."""
    if isinstance(one.value, str):
        return False
    return any(Decimal(low) <= one.value <= Decimal(high) for low, high in ranges)


def _displaced(sentence: str, question: str) -> set[object]:
    """Return the numbers behind a name or label which the question has, but behind another one, or none."""
    labels = [(match["label"].casefold(), match["number"]) for match in _LABELLED.finditer(question)]
    found = [match for match in _LABELLED.finditer(sentence) if match["label"].casefold() not in STOP_WORDS]
    own = {match["number"] for match in found if (match["label"].casefold(), match["number"]) not in labels}
    return {one.value for number in own for one in quantities(number)}


def _same(one: Quantity, stated: Quantity, named: set[str]) -> bool:
    """Return whether a quantity is stated; a unit may be named elsewhere, as in the header of a table."""
    if one.value != stated.value:
        return False
    alike = one.unit == stated.unit or any({one.unit, stated.unit} <= units for units in _SAME_UNITS)
    unit = not one.unit or alike or (not stated.unit and one.unit in named)
    return unit and set(one.per) <= (set(stated.per) or named)


def _names_missing(sentence: str, ground: Ground) -> list[str]:
    if not _is_english(sentence):
        return []
    places = [text[start:end] for text in ground.cited for start, end in split(text)]
    everywhere = _name_words("\n".join([ground.question, *ground.about, *ground.facts]))
    known = [everywhere | _name_words(place) for place in places] or [everywhere]
    shown = "\n".join([ground.question, *ground.about, *ground.facts, *ground.cited, ground.shown])
    missing = []
    for match in _NAME.finditer(sentence):
        name = match[0]
        if _opens(sentence, match.start()):
            rest = without_opening_word(name)
            name = rest if rest != name else _without_opening(name, shown)
        wanted = [word for word in _terms(name) if word not in STOP_WORDS]
        if wanted and not any(all(_known(word, place) for word in wanted) for place in known):
            missing.append(name.rstrip("."))
    whole = _terms("\n".join([ground.question, *ground.about, *ground.facts, *ground.cited]))
    codes = [match[0] for match in _CODE.finditer(sentence) if not _follow(_terms(match[0]), whole)]
    return [*missing, *(code for code in codes if not any(code in name for name in missing))]


def _is_english(sentence: str) -> bool:
    """Return whether the words between the names are English ones; True for a sentence of names only."""
    small = {word for word in sentence.split() if word.islower()}
    perhaps = not small or (not _PERHAPS_ENGLISH.isdisjoint(small) and _NOT_ENGLISH.isdisjoint(small))
    return perhaps or not _ENGLISH.isdisjoint(words(sentence))


def _opens(sentence: str, at: int) -> bool:
    """Return whether a word begins a sentence or what follows a colon or quotation mark, where all have a capital."""
    return not sentence[:at].strip(" \"'“‘«([-–—*") or sentence[:at].rstrip(" \"'“‘«")[-1:] in (":", ".", "!", "?")


def _without_opening(name: str, shown: str) -> str:
    """Return a name that begins a sentence without a first word that may be a common one.

    Of several words the first is common if the evidence has it in lower case; a single one, unless it has it with a
    capital in the middle of a sentence.
    """
    first, _, rest = name.partition(" ")
    escaped = regex.escape(first)
    if rest:
        common = regex.search(rf"(?<!\p{{L}}){escaped.lower()}(?!\p{{L}})", shown)
    else:
        common = not regex.search(rf"[\p{{L}}\p{{N}},:;(]\s+[\"'“‘(]?{escaped}(?!\p{{L}})", shown)
        common = common and not regex.search(r"\p{N}|(?<!^)\p{Lu}", first)
    return rest if common else name


def _name_words(text: str) -> frozenset[str]:
    """Return the words of a text as names are compared, with the initials of its names."""
    initials = [
        "".join(part[0] for part in regex.findall(r"\p{Lu}[\p{L}\p{M}]+", name)) for name in _NAME.findall(text)
    ]
    return frozenset(_terms(text)) | frozenset(one.casefold() for one in initials if len(one) > 1)


def _known(word: str, place: frozenset[str]) -> bool:
    """Return whether a place has a word, or the country of its people (Indian, India)."""
    if word in place:
        return True
    return any(
        longer.startswith(shorter) and longer[len(shorter) :] in _DEMONYMS
        for other in place
        for shorter, longer in [sorted([word, other], key=len)]
        if len(shorter) >= _MIN_DEMONYM_STEM
    )


def _follow(wanted: Sequence[str], terms: Sequence[str]) -> bool:
    length = len(wanted)
    return any(tuple(terms[at : at + length]) == tuple(wanted) for at in range(len(terms) - length + 1))


@lru_cache(maxsize=256)
def _terms(text: str) -> tuple[str, ...]:
    """Return the words of a text without accents and endings, letters and digits apart; months by their number."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", text) if not unicodedata.combining(one))
    return tuple(
        f"month {MONTHS[term]}" if term in MONTHS else stem(term)
        for word in words(bare)
        for term in _TERM.findall(word)
    )
