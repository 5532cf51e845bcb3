"""What the sentence of an answer has to hold beside the words of the question: a value of the kind that is asked for.

A sentence about the largest file is no answer to "How large may a file be?" where it has no number, and one without a
percentage is none to "By what percentage …?", however near it is. "When is a leap second inserted?" asks for a time or
a condition, which the number of "leap seconds inserted since 1972" is not. Where a question names its options, one of
them has to be there.
"""

from __future__ import annotations

import calendar

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import NUMBER_WORDS

__all__ = ["FREQUENCY", "not_counted", "value_lacking"]

_COUNTS = "|".join(
    (*NUMBER_WORDS[:1], *NUMBER_WORDS[2:], "hundred", "thousand", "million", "unlimited", "infinite", "no limit")
)
_NUMBER = (
    rf"\p{{N}}|\b(?:{_COUNTS})\b|\bone\s+(?:second|minute|hour|day|week|month|year|byte|megabyte|gigabyte|percent)s?\b"
)
_MONTHS = "|".join(calendar.month_name[1:])
_VERSION = (
    r"\p{N}+\.\p{N}|\b(?:version|release)\s+\p{N}"
    rf"|\b(?-i:(?!{_MONTHS})\p{{Lu}}\p{{L}}+)\s\p{{N}}{{1,3}}(?!\w|\.\p{{N}})"
)
"""Also a name with a number behind it: "Beginning in Python 3"."""
_DEFAULT = (
    rf"\bdefaults?\b(?: value)?(?: is| to| of|:|=)|\bby default\b|\bdefault\b.*(?:{_NUMBER})|(?:{_NUMBER}).*\bdefault\b"
    r"|\A\w+[._]\w[\w.]*\s\((?!string|integer|boolean|enum|real|float|text)[^()\n]{1,40}\):"
)
"""Also a term with its default in brackets, as manuals have them: ``queue_warn_time (300s): …``."""
_DATE = (
    rf"\b(?:1\d{{3}}|20\d{{2}})\b|\bin\s+\p{{N}}{{3}}\b|\b(?-i:{_MONTHS})\b"
    r"|\b\p{N}{1,4}\s*(?:BC|BCE|AD|CE)\b|\bcentury\b"
)
"""What a question in the past asks for; one in the present ("When does it run?") may ask for a condition."""
_PERIOD = (
    r"seconds|minutes?|hours?|days?|nights?|weeks?|fortnights?|months?|quarters?|years?|seasons?|stages?|spring|summer|"
    r"autumn|winter|morning|noon|afternoon|evening|midnight|(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
)
_OCCASION = (
    r"\b(?:if|when(?:ever)?|once|until|till|unless|before|after|while|during|upon|following|always|never|immediately|"
    rf"as soon as|each|every|hourly|daily|nightly|weekly|monthly|yearly|annually|{_PERIOD})\b|{_DATE}"
    r"|\b(?:at|on|by|in|near|towards?)\s+(?:the\s+)?(?:end|beginning|start|startup|time|moment|first|last|next|boot|"
    r"reboot|shutdown|exit|log-?in|log-?out|install(?:ation)?|upgrade|removal)\b"
)
"""A time or a condition, which a question in the present asks for ("When does it run?")."""
_SINCE = late_regex(r"\bsince\s[^,;]*?\b\p{N}{4}\b", flags=regex.IGNORECASE)
_PASSIVE = late_regex(r"when\s+(?:is|are)\s.*\b(?P<verb>\p{L}{2,}(?:ed|en|n|t))\s*\?*\s*", flags=regex.IGNORECASE)
_SPELT = rf"(?:\p{{N}}+|{'|'.join(NUMBER_WORDS[1:])}|several|many)"
_TIME = r"(?:second|minute|hour|day|night|week|fortnight|month|quarter|season|year)s?"
_FREQUENCY = (
    rf"\b(?:once|twice|thrice|{_SPELT}\s+times)(?:\s+(?:an?|per|each|every|in)\s+(?:{_SPELT}\s+)?{_TIME})?\b"
    rf"|\b(?:every|each|per)\s+(?:{_SPELT}\s+|other\s+)?{_TIME}\b|\b(?:every|each) time\b"
    r"|\b(?:hourly|daily|nightly|weekly|monthly|quarterly|yearly|annually|always|never|rarely|seldom|continuously|regularly)\b"
)
FREQUENCY = late_regex(_FREQUENCY, flags=regex.IGNORECASE)
"""How often something happens."""
_PERSON = r"\b(?-i:\p{Lu}[\p{L}'’.-]+(?:\s+\p{Ll}{1,3})?\s+\p{Lu}[\p{L}'’-]+)|\bby\s+(?:the\s+|an?\s+)?(?-i:\p{Lu})"
_SIZE = r"\p{N}\s*(?:bytes?|[kmgt]i?b|[kmg](?![\p{L}])|kilobytes?|megabytes?|gigabytes?|pages?|percent|%)"
_RULES = tuple(
    (name, late_regex(asks, flags=regex.IGNORECASE), late_regex(holds, flags=regex.IGNORECASE))
    for name, asks, holds in (
        ("percentage", r"\b(?:what|which)\s+percentage\b|\bhow many percent\b", r"%|\bper\s?cent"),
        (
            "amount of memory",
            r"\bhow much (?:\p{L}+\s+)?(?:memory|space|ram|storage)\b|\bin (?:mega|kilo|giga)?bytes\b",
            _SIZE,
        ),
        ("number of years", r"\bin years\b|\bhow many years\b", rf"(?:{_NUMBER})\+?\s*years?\b"),
        ("version", r"\b(?:which|what)\s+(?:\w+\s+){0,2}?(?:version|release)\b(?!s)", _VERSION),
        ("date", r"^(?:when|what year|which year|in what year|in which year)\s+(?:was|were|did)\b", _DATE),
        ("time or condition", r"^when\s+(?:is|are|do|does|will|can|should|must|may)\b", _OCCASION),
        ("default", r"\bdefault value\b|\bthe default (?:of|for)\b", _DEFAULT),
        ("frequency", r"\bhow (?:often|frequently)\b", rf"{_FREQUENCY}|\bwhen(?:ever)?\b"),
        ("person", r"^who\s+(?:\p{Ll}+ed|wrote|built|made|won|sang|drew|began|led)\b", _PERSON),
        (
            "number",
            r"\bhow (?:many|long)\b|\b(?:maximum|minimum) (?:number|size)\b|\blargest\b|\bsmallest\b",
            _NUMBER,
        ),
    )
)
"""Name, the questions that ask for such a value, and what holds one; the first that fits a question counts."""
_COUNTED = late_regex(r"\bhow many\s+(?P<noun>\p{L}+)", flags=regex.IGNORECASE)
_MEASURE = (
    r"(?:(?:kilo|mega|giga|tera)?(?:byte|bit)s?|[kmgt]i?b|(?:milli|micro)?seconds?|minutes?|hours?|days?|weeks?|months?|"
    r"years?|ms|percent|%|(?:kilo|centi|milli)?(?:gram|met(?:er|re)|lit(?:er|re))s?|kg|mg|g|km|cm|mm|m|ha|hectares?|acres?|"
    r"tonnes?|tons?|degrees?)"
)
_MEASURED = late_regex(rf"\p{{N}}(?:[\p{{N}}.,]*\p{{N}})?[\s-]?{_MEASURE}(?![\p{{L}}\p{{N}}])", flags=regex.IGNORECASE)
_MONEY = late_regex(r"[$€£¥]\s?\p{N}[\p{N}.,]*(?:\s+(?:thousand|million|billion|trillion)\b)?")
_OF_A_DATE = late_regex(
    rf"\b\p{{N}}{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?-i:{_MONTHS})\b|\b(?-i:{_MONTHS})\s+\p{{N}}{{1,2}}\b"
    r"|\b(?:in|since|until|by|during|before|after)\s+(?:1[5-9]\d\d|20\d\d)\b(?!\s+\p{Ll}+s\b)",
    flags=regex.IGNORECASE,
)
_VERSION_NUMBER = late_regex(
    r"\b(?:versions?|releases?)\s+(?:before\s+|after\s+)?\p{N}[\p{N}.]*", flags=regex.IGNORECASE
)
_AMOUNT_OF = late_regex(
    rf"\bhow (?:many|much)\s+(?:{_MEASURE}|(?:kilo|milli)?grams?|kg|tonnes?|tons?|litres?|liters?|met(?:er|re)s?)"
    r"\s+of\s+(?:the\s+|an?\s+)?(?P<what>[\p{L}-]+)",
    flags=regex.IGNORECASE,
)
_IN_BRACKETS = late_regex(r"\((?P<one>[^()]+?),?\s+or\s+(?P<other>[^()]+)\)")


def value_lacking(question: str, text: str) -> str:
    """Return what a text lacks of the value that a question asks for, in words; "" where nothing tells.

    >>> value_lacking("What is the largest file that can be opened?", "A large file is opened.")
    'number'
    >>> value_lacking("Which curve (linear or cosine) is used?", "The linear one."), value_lacking("Who?", "Ann.")
    ('', '')
    """
    name, held = next(((name, held) for name, asks, held in _RULES if asks.search(question)), ("", None))
    if held is not None and not _holds_new(name, held, question, text):
        return name
    found = set(terms(text))
    if (amount := _AMOUNT_OF.search(question)) and not found & set(terms(amount["what"])):
        return str(amount["what"])
    options = asked_for(question).options
    if match := _IN_BRACKETS.search(question):
        options = (match["one"], match["other"])
    return " or ".join(options) if options and not any(found & set(terms(option)) for option in options) else ""


def _holds_new(name: str, held: regex.Pattern[str], question: str, text: str) -> bool:
    """Return whether a text has such a value that the question has not; the word "default" may be in both."""
    known = set(terms(question)) - {"default"}
    if name == "time or condition":
        if _tells_only_of_it(question, text):
            return False
        text = _SINCE.sub(" ", text)  # so long ago it began, and may happen at any time
    if name == "number":
        text = _VERSION_NUMBER.sub(" ", text)  # "in versions before 9.4" counts nothing
    for start, end in reversed(not_counted(question, text)):
        text = f"{text[:start]} {text[end:]}"  # "an 8192-byte page" counts no columns
    return any(not (said := set(terms(match[0]))) or not said <= known for match in held.finditer(text))


def not_counted(question: str, text: str) -> list[tuple[int, int]]:
    """Return where a text has measures, money, days, years, for a question how many things there are; [] for another.

    >>> not_counted("How many varieties are grown?", "Sown on 5 April at 160 kg per hectare.")
    [(8, 15), (19, 25)]
    """
    counted = _COUNTED.search(question)
    if not counted or regex.fullmatch(_MEASURE, counted["noun"], flags=regex.IGNORECASE):
        return []
    found = sorted(match.span() for pattern in (_MEASURED, _OF_A_DATE, _MONEY) for match in pattern.finditer(text))
    return [span for at, span in enumerate(found) if not at or span[0] >= found[at - 1][1]]


def _tells_only_of_it(question: str, text: str) -> bool:
    """Return whether a text only tells of what something happened to: "27 leap seconds inserted", not "is inserted"."""
    if not (passive := _PASSIVE.fullmatch(" ".join(question.split()))):
        return False
    known = set(terms(question))
    said = regex.findall(rf"(?:(\p{{L}}+)\s+)?\b{passive['verb']}\b", text, flags=regex.IGNORECASE)
    return bool(said) and all(known & set(terms(before)) for before in said)
