"""What a value has to stand with to answer a question in German or French: what it counts, costs, measures or names.

"Der Verein wurde 1923 gegründet" has a number and the subject of "Wie viele Mitglieder hat der Verein?", and no answer:
what is counted has to stand beside the number. So has the thing whose price is asked for, the person whom a date is
about, the dimension that is measured, and an office without "stellvertretende" before it. They may stand in the
sentence, in the term, row or headings above it, or in the sentence before one that begins with a pronoun.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import regex

from kgrag.languages import STOP_WORDS, folded, stems
from kgrag.late_patterns import late_regex
from kgrag.text.sentences import word_set

__all__ = ["asks_price", "counted_noun", "is_year", "nouns_of", "numbers_of", "owner_lacking", "share_of_clause"]

_ENDINGS = word_set("e n en er ern es s in innen nen x aux ne nes le les zahl anzahl")
"""What one form of a noun has behind another: also "Mitgliederzahl" for members."""
_MIN_STEM, _MIN_IN_COMPOUND = 4, 5
_MAX_WORDS_OF_PHRASE = 6
_WORD = late_regex(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*")
_CLAUSE_END = late_regex(r"[;:](?=\s)|,(?=\s)|\s(?:und|sowie|et|and)\s")
_CURRENCY = r"(?:€|EUR\b|[Ee]uros?\b|CHF\b|Franken\b|francs?\b|\$|USD\b|[Dd]ollars?\b|£|[Cc]ents?\b|centimes?\b)"
_PAID = late_regex(rf"\p{{N}}\s*{_CURRENCY}|{_CURRENCY}\s*\p{{N}}")
_CURRENCY_NAMED = late_regex(_CURRENCY)
_DIGITS = r"\p{N}+(?:[.\u00a0\u202f ]\p{N}{3})*(?:,\p{N}+|\.\p{N}+)?"
_MEASURED = r"\p{N}\s*(?:[cdkm]?m|meter)\s+"
_YEAR = late_regex(r"1\p{N}{3}|20\p{N}{2}")


@dataclass(frozen=True)
class _Rules:
    """How a language names what a value belongs to.

    Args:
        nouns: of a question, in group ``noun``.
        passed_over: nouns that name the value itself, or nothing.
        counted: asks how many of ``noun`` there are.
        price: asks what something costs.
        before_year: what a year stands behind.
        numbers: those in letters.
        next_noun: what follows a number that counts something.
        dimensions: what a question measures, and what its answer has to hold.
        deputies: make another office or time of an office.
        contraries: pairs of words, of which a text has the other one.
    """

    nouns: regex.Pattern[str]
    passed_over: frozenset[str]
    counted: regex.Pattern[str]
    price: regex.Pattern[str]
    before_year: regex.Pattern[str]
    numbers: str
    next_noun: str
    dimensions: Sequence[tuple[regex.Pattern[str], regex.Pattern[str]]]
    deputies: regex.Pattern[str]
    contraries: Sequence[tuple[regex.Pattern[str], regex.Pattern[str]]]


def _caseless(text: str) -> regex.Pattern[str]:
    return late_regex(text, flags=regex.IGNORECASE)


def _pairs(*pairs: tuple[str, str]) -> tuple[tuple[regex.Pattern[str], regex.Pattern[str]], ...]:
    return tuple((_caseless(one), _caseless(other)) for one, other in pairs)


_GERMAN = _Rules(
    nouns=late_regex(r"(?<!^)\b(?P<noun>\p{Lu}[\p{L}\p{N}]+|\p{Lu}(?=-)|\p{N}+(?=\s|$|\?))"),
    passed_over=word_set(
        """alter anzahl betrag breite datum dauer durchmesser euro gewicht größe höhe jahr jahre jahren kosten länge
        mal maß menge monat name nummer preis preise tag tiefe uhrzeit version ausgabe weite wert zahl zeit zeitpunkt
        ist sind hat kostet"""
    ),
    counted=late_regex(
        r"(?i:\bwie\s?viele?[nr]?)\s+(?:(?!d(?:er|ie|en)\b|eine[nr]?\b)\p{Ll}+(?:e|en|er)\s+){0,2}?(?P<noun>\p{Lu}[\p{L}\p{N}-]+)"
    ),
    price=_caseless(
        r"\bkoste(?:n|te?n?)\b|\bpreise?\b|\bwie\s+teuer\b|\b\p{L}*(?:gebühr|eintritt|miete|beitrag|tarif)\b"
    ),
    before_year=_caseless(
        r"\b(?:seit|ab|bis|jahre?|in|im|anno|von|vor|nach|um|wurden?|war|bereits|erst|schon|ende|anfang|mitte|\p{L}+er)\s+$"
    ),
    numbers="zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf",
    next_noun=r"\s+(?:\p{Ll}{4,}\s+){0,2}\p{Lu}\p{Ll}{2,}",
    dimensions=_pairs(
        (r"\bwie\s+lang\b|\blänge\b", rf"\A(?!.*{_MEASURED}(?:hoch|breit|tief|dick|weit)\b)|\blang|länge"),
        (r"\bwie\s+hoch\b|\bhöhe\b", rf"\A(?!.*{_MEASURED}(?:lang|breit|tief|dick|weit)\b)|\bhoch|höhe"),
        (r"\bwie\s+breit\b|\bbreite\b", r"\bbreit|breite\b"),
        (r"\bwie\s+tief\b|\btiefe\b", r"\btief|tiefe\b"),
        (r"\bwie\s+schwer\b|\bgewicht\b|\bwiegt\b", r"\bschwer\b|gewicht\b|\bwieg|\p{N}\s*(?:kg|g|t)\b|\bkilo|\btonne"),
        (r"\bwie\s+alt\b|\balter\b", r"\balt\b|\balter\b|\p{N}\s+jahren?\b|\bgeboren\b"),
    ),
    deputies=_caseless(
        r"\b(?:stellvertret\p{L}*|vize-?|zweite[rnms]?|dritte[rnms]?|ehemalige?[rnms]?|frühere?[rnms]?|alt-|ex-?"
        r"|kommissarische?[rnms]?|kooptierte?[rnms]?|designierte?[rnms]?)"
    ),
    contraries=_pairs(
        (r"\böffne", r"\b(?:ge)?schl(?:ie|o)(?:ß|ss)"),
        (r"\bbeginn|\bbegann", r"\bende[tn]?\b"),
        (r"\bgeboren\b|\bgeburt", r"\bgestorben\b|\bstarb\b|\btod\b"),
        (r"\bankunft|\bankommt", r"\babfahrt|\babflug"),
    ),
)
_FRENCH = _Rules(
    nouns=_caseless(
        r"\b(?:le|la|les|un|une|des|du|de|au|aux|cet?|cette|ces|sa|son|ses)\s+(?P<noun>\p{L}[\p{L}-]+)"
        r"|\b[ld]['’](?P<noun>\p{L}[\p{L}-]+)|(?<!^)\b(?P<noun>(?-i:\p{Lu})[\p{L}\p{N}]+)"
    ),
    passed_over=word_set(
        """année années coût date durée fois heure hauteur jour largeur longueur mois montant nombre nom poids
        prix profondeur superficie surface taille tarif temps version âge valeur"""
    ),
    counted=_caseless(r"\bcombien\s+d(?:e\s+|['’])(?P<noun>\p{L}[\p{L}-]+)"),
    price=_caseless(r"\bco[ûu]t(?:e|ent|ait|aient)\b|\bprix\b|\btarif\b|\bpa(?:ie|ye)(?:nt)?\b"),
    before_year=_caseless(r"\b(?:depuis|en|dès|avant|après|jusqu['’]en|vers|année|fin|début)\s+$"),
    numbers="deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze",
    next_noun=r"\s+(?!(?:de|du|des|en|au|aux|à|et|ou|par|pour|dans|sur|depuis|le|la|les)\b)\p{Ll}{3,}",
    dimensions=_pairs(
        (r"\bsurface\b|\bsuperficie\b", r"\bsurface\b|\bsuperficie\b|m²|\bhectares?\b|\p{N}\s*ha\b"),
        (r"\blargeur\b", r"\blarg"),
        (r"\bhauteur\b", r"\bhaut"),
        (r"\blongueur\b", r"\blong|\bau moins\s+\p{N}|\p{N}\s*(?:bits?|octets?|caractères?)\b"),
        (r"\bprofondeur\b", r"\bprofond"),
        (r"\bpoids\b|\bpèse\b", r"\bpoids\b|\bpès|\p{N}\s*(?:kg|g|t)\b|\bkilo|\btonne"),
        (r"\bâge\b", r"\bâg|\p{N}\s+ans\b|\bnée?\b"),
    ),
    deputies=_caseless(
        r"\b(?:adjointe?s?|suppléante?s?|secondes?|deuxièmes?|anciens?|anciennes?|future?s?)\b|\b(?:vice|ex)-"
    ),
    contraries=_pairs(
        (r"\bouvr", r"\bferm"), (r"\bcommenc|\bdébut", r"\bfini|\btermin"), (r"\bnée?\b|\bnaiss", r"\bmort|\bdécéd")
    ),
)
_RULES: Mapping[str, _Rules] = MappingProxyType({"de": _GERMAN, "fr": _FRENCH})
_VALUES = frozenset({"number", "date", "person"})


def owner_lacking(
    question: str, kind: str, text: str, context: str, language: str, earlier: Collection[str] = ()
) -> str:
    """Return what a sentence lacks of what the value belongs to that a question asks for; "" where it lacks nothing.

    Args:
        question: as it was asked.
        kind: of value; a question for anything but a number, date or person is passed over.
        text: the sentence.
        context: it with what stands above it, and the sentence that its pronoun is for.
        language: code of the language of all of them.
        earlier: terms of the sentences before, which may say where something is: "im Freibad".

    >>> owner_lacking("Was kostet ein Segelboot?", "number", "Ein Kanu kostet 9 €.", "Ein Kanu kostet 9 €.", "de")
    'Segelboot'
    """
    rules = _RULES.get(language)
    if rules is None or (kind not in _VALUES and not _is_phrase(question, language)):
        return ""
    nouns = nouns_of(question, language)
    checks = (
        _noun_lacking(nouns, question, context, language, earlier, kind),
        _count_lacking(question, text, language) if kind == "number" else "",
        _price_lacking(rules, question, text, context) if kind != "date" else "",
        _dimension_lacking(rules, question, context) if kind != "date" else "",
        _other_office(nouns, question, text, language) if kind == "person" else "",
        _contrary(rules, question, text),
    )
    return next(filter(None, checks), "")


def _noun_lacking(
    nouns: Sequence[str], question: str, context: str, language: str, earlier: Collection[str], kind: str
) -> str:
    """Return the first noun of a question that nothing around a sentence has; "" for none."""
    said = _words(context)
    for noun in nouns:
        is_known = kind != "person" and _is_known(noun, question)
        held = any(_same(noun, word, language) or (is_known and _is_compound(noun, word, language)) for word in said)
        if not held and not (_is_place(noun, question) and stems([noun.casefold()], language)[0] in earlier):
            return noun
    return ""


def _count_lacking(question: str, text: str, language: str) -> str:
    noun = counted_noun(question, language)
    return noun if noun and not numbers_of(question, text, language) else ""


def _price_lacking(rules: _Rules, question: str, text: str, context: str) -> str:
    is_stated = not rules.price.search(question) or _PAID.search(text) or _CURRENCY_NAMED.search(context)
    return "" if is_stated else "€"


def _dimension_lacking(rules: _Rules, question: str, context: str) -> str:
    """Return the dimension that a question asks for, where a text has none or another one; "" otherwise."""
    asked = ((asks.search(question), holds) for asks, holds in rules.dimensions)
    return next((match[0] for match, holds in asked if match and not holds.search(context)), "")


def _contrary(rules: _Rules, question: str, text: str) -> str:
    """Return the word of a question of which a text has the contrary only; "" for none."""
    for pair in rules.contraries:
        for one, other in (pair, pair[::-1]):
            asked = one.search(question)
            if asked and not other.search(question) and other.search(text) and not one.search(text):
                return str(asked[0])
    return ""


def nouns_of(question: str, language: str) -> list[str]:
    """Return the nouns and names of a question that a value has to stand with, in order."""
    rules = _RULES[language]
    plain = " ".join(question.split()).rstrip(" ?.!")
    found = [match["noun"] for match in rules.nouns.finditer(plain, overlapped=True)]
    if _is_phrase(question, language):
        found.insert(0, plain.split()[0])
    verbs = ("er", "ir", "oir", "re") if language == "fr" else ()
    kept = (
        noun
        for noun in found
        if noun.casefold() not in rules.passed_over
        and noun.casefold() not in STOP_WORDS[language]
        and not (
            verbs and noun.islower() and regex.search(rf"\bd(?:e\s+|['’]){noun}\b", plain) and noun.endswith(verbs)
        )
    )
    return list(dict.fromkeys(kept))


def _is_phrase(question: str, language: str) -> bool:
    """Return whether a question is but a noun with what belongs to it: "Eintritt für Kinder?"."""
    plain = question.strip(" ?.!").split()
    small = [word for word in plain[1:] if word.islower() and word not in STOP_WORDS[language]]
    begins = plain[:1] and plain[0][:1].isupper() and plain[0].casefold() not in STOP_WORDS[language]
    return language == "de" and bool(begins) and 1 < len(plain) <= _MAX_WORDS_OF_PHRASE and not small


def counted_noun(question: str, language: str) -> str:
    """Return what a question asks the number of; "" for what measures only ("Wie viel Zeit"), and for none."""
    rules = _RULES.get(language)
    found = rules.counted.search(question) if rules else None
    return "" if rules is None or found is None or found["noun"].casefold() in rules.passed_over else str(found["noun"])


def asks_price(question: str, language: str) -> bool:
    """Return whether a question asks what something costs."""
    return language in _RULES and _RULES[language].price.search(question) is not None


def numbers_of(question: str, text: str, language: str) -> list[tuple[int, int]]:
    """Return the places of the numbers that count what a question asks the number of; [] where it counts nothing.

    The noun follows the number, or the number it, or, where the text has no such noun, neither.

    >>> numbers_of("Wie viele Autos gibt es?", "Seit 1999 gibt es dort drei rote Autos.", "de")
    [(23, 27)]
    """
    noun = counted_noun(question, language)
    rules = _RULES.get(language)
    if rules is None or not noun:
        return []
    numbers = regex.compile(
        rf"(?<![\p{{L}}\p{{N}}.,])(?:{_DIGITS}|(?i:{rules.numbers}))(?![\p{{N}}\p{{L}}]|[.,]\p{{N}})"
    )
    spots = [word.span() for word in _WORD.finditer(text) if _same(noun, word[0], language)]
    beside, others = [], []
    for match in numbers.finditer(text):
        start, end = match.span()
        between = (_without_share(text[end:at], noun, question) for at, _ in spots if end < at)
        if any(map(_is_joined, between)):
            beside.append((start, end))
        elif not _counts_another(rules, text, end) and not is_year(text, start, end, language):
            others += [(start, end)] if not spots or _is_behind(spots, text, start) else []
    return beside or others


def _counts_another(rules: _Rules, text: str, end: int) -> bool:
    """Return whether a number counts something else: a noun, money or a share stands behind it."""
    return regex.compile(rf"{rules.next_noun}|\s*(?:%|{_CURRENCY})").match(text, end) is not None


def _is_behind(spots: Sequence[tuple[int, int]], text: str, at: int) -> bool:
    """Return whether a noun stands before a place in the same clause: "Mitglieder: 46"."""
    return any(end <= at and not _CLAUSE_END.search(text[end:at].replace(":", "")) for _, end in spots)


def _without_share(between: str, noun: str, question: str) -> str:
    """Return what is between a number and a noun without the percentage of what is no count: "2 % Skonto"."""
    counts = regex.search(r"\bwie\s?viele\b", question, flags=regex.IGNORECASE) or noun.endswith(("s", "x"))
    share = r"^\s*(?:%|Prozent\b|pour\s+cent\b)\s*(?:d['’]|de\s+)?"
    return between if counts else regex.sub(share, " ", between)


def _is_joined(between: str) -> bool:
    """Return whether a number and a noun have but adjectives between them."""
    return regex.fullmatch(r"\s+(?:\p{Ll}[\p{L}-]*\s+){0,2}", between) is not None


def is_year(text: str, start: int, end: int, language: str) -> bool:
    """Return whether a number is a year by what stands before it."""
    if not _YEAR.fullmatch(text[start:end]) or language not in _RULES:
        return False
    return _RULES[language].before_year.search(text[:start]) is not None


def share_of_clause(question: str, text: str, at: int, language: str) -> int:
    """Return how many of the nouns of a question are in the clause of a text that has a place."""
    ends = [match.span() for match in _CLAUSE_END.finditer(text)]
    start = max((end for _, end in ends if end <= at), default=0)
    stop = min((begin for begin, _ in ends if begin >= at), default=len(text))
    said = _words(text[start:stop])
    return sum(any(_same(noun, word, language) for word in said) for noun in nouns_of(question, language))


def _other_office(nouns: Sequence[str], question: str, text: str, language: str) -> str:
    """Return the office asked for, where a text has it with another word beside it only: "adjointe au maire"."""
    deputies = _RULES[language].deputies
    if asked := deputies.search(question):
        return "" if deputies.search(text) else asked[0]
    for noun in nouns:
        spots = [word.span() for word in _WORD.finditer(text) if _same(noun, word[0], language)]
        if spots and all(_is_another(text, start, end, deputies) for start, end in spots):
            return noun
    return ""


def _is_another(text: str, start: int, end: int, deputies: regex.Pattern[str]) -> bool:
    before = " ".join([*text[:start].split()[-2:], text[start:end]])
    return deputies.search(before) is not None or deputies.match(text, end + 1) is not None


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(_WORD.findall(text)))


def _same(noun: str, word: str, language: str) -> bool:
    """Return whether a word is a form of a noun."""
    one, other = noun.casefold(), word.casefold()
    if one == other or stems([one], language) == stems([other], language):
        return True
    short, long = sorted((folded(one), folded(other)), key=len)
    return len(short) >= _MIN_STEM and long.startswith(short) and long[len(short) :] in _ENDINGS


def _is_known(noun: str, question: str) -> bool:
    """Return whether a question speaks of one that is known: "das Museum" may be the "Stadtmuseum"."""
    return regex.search(rf"\b(?:d(?:er|ie|as|es|em|en)|im|am|ins|zum|zur|vom|beim)\s+{noun}\b", question) is not None


def _is_place(noun: str, question: str) -> bool:
    """Return whether a question has a noun as the place of what it asks about."""
    return (
        regex.search(rf"\b(?:im|am|beim|(?:in|an|auf|bei)\s+de[rmn]|dans\s+l[ea]|au|à\s+la)\s+{noun}\b", question)
        is not None
    )


def _is_compound(noun: str, word: str, language: str) -> bool:
    root, whole = (folded(stems([one.casefold()], language)[0]) for one in (noun, word))
    return language == "de" and len(root) >= _MIN_IN_COMPOUND and whole.endswith(root)
