"""What a question measures, in which unit, and at what price: an answer has to hold the same.

"The clubhouse is 14 m long" is near to "How wide is the clubhouse?" and says nothing of it; a weight in kilograms is
no answer to a question for pounds, and what adults pay none to one about children.
"""

from __future__ import annotations

from collections.abc import Collection

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import word_set

__all__ = ["count_lacking", "measure_lacking", "price_lacking", "unit_of_label", "without_unit"]

_NUMBER = r"\p{N}[\p{N}.,]*\s*"
_DIMENSIONS = tuple(
    (late_regex(asks, flags=regex.IGNORECASE), late_regex(holds, flags=regex.IGNORECASE))
    for asks, holds in (
        (
            r"\bhow heavy\b|\bweigh\b|\bweight of\b",
            rf"\bweigh|\bheavy\b|\bmass\b|{_NUMBER}(?:kg|kilos?|lbs?|pounds|tons?|tonnes?)\b",
        ),
        (r"\bhow wide\b|\bwidth of\b", r"\bwid(?:e|th)\b|\bbreadth\b|\bbroad\b|\bdiameter\b|\bacross\b"),
        (r"\bhow tall\b|\bheight of\b", r"\btall\b|\bheight\b|\bhigh\b"),
        (r"\bhow thick\b|\bthickness of\b", r"\bthick"),
        (r"\bhow loud\b|\bnoise of\b", r"\bloud|\bnoise\b|\bsound\b|\bdB\b"),
        (
            r"\bhow expensive\b|\bhow much (?:does|do|did)\b.*\bcost\b|\b(?:price|cost) of\b",
            r"\bprices?\b|\bcosts?\b|[$€£¥]|\b(?:dollars|euros|pounds)\b",
        ),
    )
)
"""Words of a question that ask for a dimension, and those of which an answer to it has one."""
_UNITS = tuple(
    word_set(names)
    for names in (
        "kg kilo kilos kilogram kilograms kilogramme kilogrammes",
        "lb lbs pound pounds",
        "g gram grams",
        "t ton tons tonne tonnes",
        "oz ounce ounces",
        "m meter meters metre metres",
        "cm centimeter centimeters centimetre centimetres",
        "mm millimeter millimeters millimetre millimetres",
        "km kilometer kilometers kilometre kilometres",
        "mile miles mi",
        "foot feet ft",
        "inch inches in",
        "yard yards yd",
        "l liter liters litre litres",
        "gallon gallons gal",
        "w watt watts",
        "kw kilowatt kilowatts",
        "hp horsepower",
        "celsius °c",
        "fahrenheit °f",
        "dollar dollars usd $",
        "euro euros eur €",
        "franc francs chf",
        "yen jpy ¥",
    )
)
_BY_NAME = {name: names for names in _UNITS for name in names}
_ASKED_UNIT = late_regex(
    r"\b(?:in|how many)\s+(?P<unit>\p{L}+)(?=\s*\?|\s*$|\s+(?:does|do|did|is|are|was|were)\b)", flags=regex.IGNORECASE
)
_SAID_UNIT = late_regex(r"[$€£¥]|°[CF]\b|(?<!\p{L})\p{L}+(?!\p{L})")
_PRICE = late_regex(
    r"\bhow much (?:is|are|was|were)\b|\bhow much (?:does|do|did)\b.*\bcost\b|\b(?:price|cost|fee|fare) (?:of|for)\b",
    flags=regex.IGNORECASE,
)
_OF_PRICE = word_set("much cost price fee fare pay charg now current today")
_COUNTED = late_regex(
    r"\bhow many\s+(?:(?:other|different|more|new|total)\s+)?(?P<noun>\p{L}+)", flags=regex.IGNORECASE
)
_MEASURE = late_regex(
    r"(?:kilo|mega|giga|tera)?(?:byte|bit)s?|[kmgt]i?b|(?:milli|micro)?seconds?|minutes?|hours?|days?|weeks?|months?|years?"
    r"|percent|degrees?|times|of|hectares?|acres?",
    flags=regex.IGNORECASE,
)
_PEOPLE = frozenset({"peopl", "person", "popul", "inhabit", "resid", "citizen"})
_MAX_UNIT_CHARACTERS = 6
_LABEL_UNIT = late_regex(
    r"(?:\((?P<unit>[^()\p{N}\s]{1,12})\)|\bin\s+(?P<unit>[$€£¥%]|°[CF]|\p{L}{1,12}))\s*(?:\||:)\s*$"
)


def measure_lacking(question: str, text: str) -> str:
    """Return the dimension or unit that a question asks for and a text lacks; "" where it has both.

    >>> measure_lacking("How heavy is it in pounds?", "weight (kg): 48"), measure_lacking("How wide is it?", "9 m wide")
    ('pounds', '')
    """
    for asks, holds in _DIMENSIONS:
        if (dimension := asks.search(question)) and not holds.search(text):
            return str(dimension[0])
    asked = _ASKED_UNIT.search(question)
    wanted = _BY_NAME.get(asked["unit"].lower(), frozenset()) if asked else frozenset()
    said = {match[0].lower() for match in _SAID_UNIT.finditer(text)} - {"in"}
    return str(asked["unit"]) if asked and wanted and not wanted & said else ""


def price_lacking(question: str, found: Collection[str]) -> str:
    """Return the word of the thing whose price is asked for that some terms lack; "" for none, or another question."""
    if not _PRICE.search(question):
        return ""
    lacking = next((one for one in terms(question) if one not in found and one not in _OF_PRICE), "")
    return (
        next((word for word in question.rstrip(" ?.!").split() if lacking in terms(word)), lacking) if lacking else ""
    )


def count_lacking(question: str, found: Collection[str]) -> str:
    """Return the noun that a question asks the number of, where some terms lack it; "" for none, and for a measure.

    >>> count_lacking("How many blades has it?", ["price"]), count_lacking("How many people live there?", ["popul"])
    ('blades', '')
    """
    counted = _COUNTED.search(question)
    if not counted or _MEASURE.fullmatch(counted["noun"]) or counted["noun"].lower() in _BY_NAME:
        return ""
    wanted = set(terms(counted["noun"]))
    wanted |= _PEOPLE if wanted & _PEOPLE else set()
    return "" if not wanted or wanted & set(found) else str(counted["noun"])


def unit_of_label(before: str) -> str:
    """Return the unit that a label has, where a text ends with the label of a value; "" for none.

    >>> unit_of_label("| Weight (kg) | "), unit_of_label("price in €: "), unit_of_label("sold in shops: ")
    ('kg', '€', '')
    """
    match = _LABEL_UNIT.search(before)
    if not match:
        return ""
    unit = match["unit"]
    known = unit.lower() in _BY_NAME or unit == "%" or (match[0].startswith("(") and len(unit) <= _MAX_UNIT_CHARACTERS)
    return unit if known else ""


def without_unit(label: str) -> str:
    """Return a label without its unit.

    >>> without_unit("Machine weight (kg)"), without_unit("price in €"), without_unit("sold in shops")
    ('Machine weight', 'price', 'sold in shops')
    """
    match = _LABEL_UNIT.search(f"{label}: ")
    return label[: match.start()].rstrip() if match and unit_of_label(f"{label}: ") else label
