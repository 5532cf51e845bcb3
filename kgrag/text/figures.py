"""Reads the quantities and dates of a text in a form in which two ways of writing them are equal.

``65 kg``, ``65.0kg`` and ``sixty-five kilograms`` are one quantity; ``5 July 2013``, ``July 5th, 2013`` and
``2013-07-05`` one date. Units are not converted: 2.4 t is not 2,400 kg. Number words are English; months and units of
time also German and French (``3. Oktober 1990``, ``1er mai 1990``), and so are numbers (``1.234,5``).

>>> [str(one) for one in quantities("Sow 65.0kg/ha, or 60–70 quintals per hectare.")]
['65 kg/ha', '60 quintal/ha', '70 quintal/ha']
>>> dates("between 20 June and July 5th, 2013")
[Date(day=20, month=6, year=0), Date(day=5, month=7, year=2013)]
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise

import regex

from kgrag.late_patterns import late_regex

__all__ = ["MONTHS", "Date", "Quantity", "dates", "denominators", "quantities", "units", "without_dates"]

_UNIT_FORMS = {
    "kg": "kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes",
    "g": "g gm gms gram grams gramme grammes",
    "mg": "mg milligram milligrams",
    "μg": "μg mcg ug microgram micrograms",
    "t": "t ton tons tonne tonnes",
    "quintal": "q quintal quintals",
    "lb": "lb lbs pound pounds",
    "oz": "oz ounce ounces",
    "l": "l litre litres liter liters",
    "ml": "ml millilitre millilitres milliliter milliliters cc",
    "gallon": "gal gallon gallons",
    "bushel": "bushel bushels",
    "km": "km kilometre kilometres kilometer kilometers",
    "m": "m metre metres meter meters",
    "cm": "cm centimetre centimetres centimeter centimeters",
    "mm": "mm millimetre millimetres millimeter millimeters",
    "nm": "nm nanometre nanometres nanometer nanometers",
    "mile": "mile miles mi",
    "foot": "ft foot feet",
    "inch": "inch inches",
    "yard": "yard yards yd",
    "ha": "ha hectare hectares",
    "acre": "acre acres",
    "second": "s sec secs second seconds sekunde sekunden seconde secondes",
    "ms": "ms millisecond milliseconds",
    "minute": "min mins minute minutes minuten",
    "hour": "h hr hrs hour hours stunde stunden heure heures",
    "day": "d day days tage tagen jour jours",
    "week": "week weeks woche wochen semaine semaines",
    "month": "month months monat monate monaten mois",
    "year": "yr yrs year years jahr jahre jahren ans année années",
    "decade": "decade decades",
    "century": "century centuries",
    "%": "% percent percentage pct",
    "°C": "°c celsius centigrade",
    "°F": "°f fahrenheit",
    "degree": "° degree degrees",
    "dollar": "$ usd dollar dollars us$",
    "euro": "€ eur euro euros",
    "pound sterling": "£ gbp",
    "rupee": "₹ rs inr rupee rupees",
    "yen": "¥ jpy yen",
    "byte": "byte bytes octet octets",
    "bit": "bit bits",
    "kB": "kb kilobyte kilobytes",
    "MB": "mb megabyte megabytes",
    "GB": "gb gigabyte gigabytes",
    "TB": "tb terabyte terabytes",
    "KiB": "kib",
    "MiB": "mib",
    "GiB": "gib",
    "Hz": "hz hertz",
    "kHz": "khz",
    "MHz": "mhz",
    "GHz": "ghz",
    "watt": "watt watts",
    "kW": "kw kilowatt kilowatts",
    "MW": "mw megawatt megawatts",
    "kWh": "kwh",
    "volt": "volt volts",
    "ppm": "ppm",
    "kcal": "kcal",
    "page": "page pages seite seiten",
}
_UNITS = {form: name for name, forms in _UNIT_FORMS.items() for form in forms.split()}
_SMALL_NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: number for number, word in enumerate(_SMALL_NUMBERS.split())} | {
    word: 10 * number for number, word in enumerate(_TENS.split(), start=2)
}
_MULTIPLES = {
    "hundred": 100,
    "thousand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "lakh": 10**5,
    "crore": 10**7,
}
_MONTH_NAMES = "january february march april may june july august september october november december"
MONTHS = {
    form: number
    for number, name in enumerate(_MONTH_NAMES.split(), start=1)
    for form in (name, name[:3], *(["sept"] if name == "september" else []))
}
"""Months by their names and abbreviations, in lower case."""
_GERMAN_MONTHS = "januar februar märz april mai juni juli august september oktober november dezember"
_FRENCH_MONTHS = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
_IN_ENGLISH = {"jänner": "january", "aout": "august"} | {
    name: english
    for names in (_GERMAN_MONTHS, _FRENCH_MONTHS)
    for name, english in zip(names.split(), _MONTH_NAMES.split(), strict=True)
}
_OTHER_MONTH = "|".join(sorted(_IN_ENGLISH, key=len, reverse=True))
_OTHER_DATES = (  # with the year, or behind a word that dates stand behind, since "mars" and "mai" are words elsewhere
    late_regex(
        rf"(?<=\b(?P<before>am|vom|zum|bis|ab|seit|den|dem|des|le|du|au|dès|depuis)\s)(?P<day>\d{{1,2}})(?:\.|er)?\s+(?P<month>{_OTHER_MONTH})\b"
    ),
    late_regex(rf"(?<![\d.,/-])(?P<day>\d{{1,2}})(?:\.|er)?\s+(?P<month>{_OTHER_MONTH})(?=\s+[12]\d{{3}}(?!\d))"),
    late_regex(rf"\b(?P<day>)(?P<month>{_OTHER_MONTH})(?=\s+[12]\d{{3}}(?!\d))"),
)

_SUPERSCRIPTS = late_regex(r"(?<=\p{L})[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+|[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_UNIT = "(?:" + "|".join(sorted(map(regex.escape, _UNITS), key=len, reverse=True)) + r")(?![\p{L}\p{N}])"
_PER = r"\s*(?:/|\bper\b|\ban?\b|\beach\b|\bevery\b)\s*"
_PER_UNIT = rf"{_PER}(?P<per>{_UNIT})(?:\s+and\s+(?P<per>{_UNIT}))?|\s(?P<per>ha)(?:-1)?"
_CHAIN = rf"(?!(?<=\d)s\b)[\s-]?\s?(?P<unit>{_UNIT})(?:{_PER_UNIT})?"  # no seconds in "1990s"
_DIGITS = r"\d+(?:[.,:]\d+)*"
_GROUPED = late_regex(r"(?<=\d)['’\u00a0\u202f\u2009](?=\d{3}(?!\d))")
_SPELLED = "|".join([*_WORDS, "hundred", "thousand"])
_NUMBER = late_regex(
    rf"(?P<currency>(?:us)?\$|€|£|¥|₹|\b(?:usd|eur|gbp|inr|rs)\.?)?\s?"
    rf"(?<![\p{{L}}\p{{N}}_])(?P<sign>(?<=^|[\s(])(?<![\d%]\s+)[-−–])?"
    rf"(?:(?P<digits>{_DIGITS})(?:st|nd|rd|th)?|(?P<spelled>(?:{_SPELLED})(?:(?:-|\s+(?:and\s+)?)(?:{_SPELLED}))*\b))"
    rf"(?:[\s-](?P<multiple>{'|'.join(_MULTIPLES)})\b)?(?:{_CHAIN})?"
)
_JOIN = late_regex(r"\s*(?:-|–|—|−|/|,|,?\s*\b(?:to|and|or|until)\b)\s*")
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_NO_QUANTITY = rf"(?!\d|\s*{_UNIT})"
_YEAR = r"(?P<year>[12]\d{3})(?!\d)"
_DATES = [
    late_regex(
        rf"(?<![\d.,/-]){_DAY}(?:\s*(?:-|–|,|\b(?:to|and|or)\b)\s*{_DAY})*\s*(?:of\s+)?\b{_MONTH}(?:,?\s+{_YEAR})?"
    ),
    late_regex(
        rf"\b{_MONTH}\s+(?:the\s+)?{_DAY}{_NO_QUANTITY}(?:\s*(?:-|–|\bto\b)\s*{_DAY}{_NO_QUANTITY})?(?:,?\s+{_YEAR})?"
    ),
    late_regex(rf"\b{_MONTH},?\s+(?:of\s+)?{_YEAR}"),
    late_regex(rf"(?<![\d.,/])(?P<day>\d{{1,2}})(?P<sign>[./])(?P<number>\d{{1,2}})(?P=sign){_YEAR}"),
    late_regex(r"(?<!\d)(?P<year>[12]\d{3})-(?P<number>\d{2})-(?P<day>\d{2})(?!\d)"),
]
_WHOLE_UNIT = late_regex(rf"(?<![\p{{L}}\p{{N}}])(?:{_UNIT})|(?<=[\p{{N}}/])(?:{_UNIT})")
_DENOMINATOR = late_regex(rf"(?:/|\bper\s+)(?P<unit>{_UNIT})")
_MIN_YEAR, _MAX_YEAR = 1000, 2100


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit ("" for none) and what it is per; ``value`` of a version or a time is its text.

    ``written`` is how the text has it; ``spelled`` says that it is a number word.
    """

    value: Decimal | str
    unit: str = ""
    per: tuple[str, ...] = ()
    written: str = ""
    spelled: bool = False

    def __str__(self) -> str:
        """Return number and unit in normal form."""
        value = f"{self.value:f}" if isinstance(self.value, Decimal) else self.value
        return value + (f" {'/'.join((self.unit, *self.per))}" if self.unit else "")

    @property
    def kind(self) -> str:
        """Its unit; without one "year" for a number that reads as one, else "number"."""
        whole = isinstance(self.value, Decimal) and self.value == self.value.to_integral_value()
        return self.unit or ("year" if whole and _MIN_YEAR <= Decimal(self.value) <= _MAX_YEAR else "number")


@dataclass(frozen=True, slots=True)
class Date:
    """A date, 0 for a part that is not stated."""

    day: int
    month: int
    year: int

    def __str__(self) -> str:
        """Return day, month and year, as far as they are stated."""
        month = _MONTH_NAMES.split()[self.month - 1].capitalize()
        return " ".join(filter(None, [str(self.day or ""), month, str(self.year or "")]))


def quantities(text: str) -> list[Quantity]:
    """Return the numbers of a text in order; those of a range or list have the unit behind its last."""
    plain = _plain(text)
    found: list[Quantity] = []
    matches = list(_NUMBER.finditer(plain))
    gaps = [(0, 0), *((one.end(), after.start()) for one, after in pairwise(matches))]
    joined = [_JOIN.fullmatch(plain, *gap) is not None for gap in gaps[: len(matches)]]
    for match, is_joined in zip(matches, joined, strict=True):
        found.append(_quantity(match, found[-1] if is_joined else None))
    for at in range(len(found) - 2, -1, -1):
        one, after = found[at], found[at + 1]
        if joined[at + 1] and after.unit and one.kind == "number":
            found[at] = replace(one, unit=after.unit, per=after.per, written=f"{one.written} {after.unit}")
    return found


def _quantity(match: regex.Match[str], before: Quantity | None) -> Quantity:
    value = _spelled_value(match["spelled"]) if match["spelled"] else _value(match["digits"], before)
    if isinstance(value, Decimal):
        value *= _MULTIPLES.get(match["multiple"] or "", 1)
        value = (-value if match["sign"] else value).normalize()
    unit = _UNITS.get(match["unit"] or (match["currency"] or "").rstrip("."), "")
    per = tuple(_UNITS[one] for one in match.captures("per"))
    return Quantity(value, unit, per, match[0].strip(), bool(match["spelled"]))


def _value(digits: str, before: Quantity | None) -> Decimal | str:
    """Return a number written in digits; a version (4.2.0) or a time (10:30) as text."""
    grouped = digits
    if regex.fullmatch(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?", grouped):
        grouped = grouped.replace(",", "")
    elif regex.fullmatch(r"\d{1,3}(?:\.\d{3})+,\d+", grouped):
        grouped = grouped.replace(".", "").replace(",", ".")
    elif regex.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", grouped):
        grouped = grouped.replace(".", "")
    elif regex.fullmatch(r"\d+,\d+", grouped):
        grouped = grouped.replace(",", ".")
    if not regex.fullmatch(r"\d+(?:\.\d+)?", grouped):
        return grouped
    if before is not None and before.kind == "year" and len(grouped) == 2 and "-" not in str(before):
        century = int(Decimal(before.value)) // 100 * 100
        if century + int(grouped) > Decimal(before.value):  # 2010-11
            return Decimal(century + int(grouped))
    return Decimal(grouped)


def _spelled_value(text: str) -> Decimal:
    total = group = 0
    for word in regex.split(r"[-\s]+", text):
        if word == "hundred":
            group = (group or 1) * 100
        elif word == "thousand":
            total, group = total + (group or 1) * 1000, 0
        else:
            group += _WORDS.get(word, 0)
    return Decimal(total + group)


def dates(text: str) -> list[Date]:
    """Return the dates of a text that have a month and a day or a year, in order."""
    return [date for _, date in sorted(_found_dates(text), key=lambda pair: pair[0])]


def without_dates(text: str) -> str:
    """Return a text with spaces in the place of its dates, so that their numbers are not read as quantities."""
    plain = _plain(text)
    for pattern in _DATES:
        plain = pattern.sub(lambda match: " " * len(match[0]), plain)
    return plain


def _found_dates(text: str) -> Iterator[tuple[int, Date]]:
    plain = _plain(text)
    for pattern in _DATES:
        for match in pattern.finditer(plain):
            groups = match.groupdict()
            month, year = groups.get("month"), int(groups["year"] or 0)
            days = [int(day) for day in match.captures("day")] if "day" in groups else [0]
            pairs = [(day, MONTHS[month] if month else int(groups["number"])) for day in days]
            if groups.get("sign"):  # 05/07/2013: which of the two is the month depends on the country
                pairs += [(number, day) for day, number in pairs]
            yield from ((match.start(), Date(*pair, year)) for pair in pairs if pair[1] <= 12)
        plain = pattern.sub(lambda match: " " * len(match[0]), plain)


def units(text: str) -> set[str]:
    """Return the units that a text names, behind a number or by themselves."""
    return {_UNITS[match[0]] for match in _WHOLE_UNIT.finditer(_plain(text))}


def denominators(text: str) -> set[str]:
    """Return the units behind "per" or a slash in a text.

    >>> sorted(denominators("25 kg of N per hectare, and 2 ml/l"))
    ['ha', 'l']
    """
    return {_UNITS[match["unit"]] for match in _DENOMINATOR.finditer(_plain(text))}


def _plain(text: str) -> str:
    """Return a text in lower case and compatibility forms, without superscripts; ``per cent`` is one word."""
    shown = unicodedata.normalize("NFKC", _GROUPED.sub("", _SUPERSCRIPTS.sub("", text)))
    shown = regex.sub(r"\b(?:per|pour)\s+cent\b|\bProzent\b", "percent", shown, flags=regex.IGNORECASE).lower()
    for pattern in _OTHER_DATES:
        shown = pattern.sub(lambda match: f"{match['day']} {_IN_ENGLISH[match['month']]}".strip(), shown)
    return str(regex.sub(r"°\s+(?=[cf]\b)", "°", shown))
