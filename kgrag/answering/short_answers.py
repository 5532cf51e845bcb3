"""Short answers: the date, number, name, yes or no that a question asks for, cut out of the sentences of an answer.

The same rules serve every model: what a question asks for is read from its words (``question_types``), and a value
counts only where a quoted text of its sentence contains it, so that no value is without a source. Codes such as
``318875313`` or ``CP 12-4`` stay text: a number is one only beside a question for a number.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import regex

from kgrag.answering.counted_items import listed
from kgrag.answering.durations import compound_times
from kgrag.answering.numbered_places import numbered_places
from kgrag.answering.occupations import asks_occupation, kinds
from kgrag.answering.persons_asked import persons_asked
from kgrag.answering.stated_truth import stated_truth
from kgrag.answering.units_beside import CURRENCY, with_unit_beside
from kgrag.answering.value_clauses import lacks_period, values_with
from kgrag.answering.values_in_language import values_in
from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.asked_measures import unit_of_label
from kgrag.llm.extractive.excepted_groups import exception_among
from kgrag.llm.extractive.opposite_things import is_opposite
from kgrag.llm.extractive.question_languages import asked_in, language_to_answer_in
from kgrag.llm.extractive.question_types import Asked, asked_for
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.several_answers import several_asked
from kgrag.llm.extractive.table_rows import is_wide_row
from kgrag.llm.extractive.value_vetoes import FREQUENCY, not_counted
from kgrag.model import Citation, Value
from kgrag.text.quotes import places
from kgrag.text.sentences import NUMBER_WORDS, word_set

__all__ = ["LEAST_CONFIDENCE", "short_answers"]

LEAST_CONFIDENCE = 0.2
"""Confidence of a reply from which its sentences have a short answer: of 21 values below it, of 460 development
questions, one was right, while half of the sentences had the answer somewhere."""
_MAX_VALUES = 3
_HOW_LONG = late_regex(r"\bhow (?:long|much time)\b", flags=regex.IGNORECASE)
_HOW_OFTEN = late_regex(r"\bhow (?:often|frequently)\b", flags=regex.IGNORECASE)
_MAX_ITEMS = 10  # of a list
_MAX_TEXT_WORDS = 12
_MONTHS = [*calendar.month_name][1:]
_MONTH = rf"(?:{'|'.join(_MONTHS)})"
_DATE_WORDS = rf"(?:(?:\d{{1,2}}\s+)?(?:{_MONTH}\s+)(?:\d{{1,2}},\s+)?)?(?:1\d{{3}}|20\d{{2}})"
_DATE = late_regex(
    rf"\b(?P<iso>\d{{4}}-\d\d-\d\d)\b|\b(?:(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?)?(?P<m1>{_MONTH})(?:\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,?)?"
    rf",?\s+(?P<y1>\d{{4}})\b|(?<![\d.,-])(?P<y2>1\d{{3}}|20\d{{2}})(?![\d.,-]?\d)"
)
_BETWEEN = late_regex(
    rf"\b(?:between\s+(?P<first>{_DATE_WORDS})\s+and|from\s+(?P<first>{_DATE_WORDS})\s+to)\s+(?P<last>{_DATE_WORDS})"
)
_NUMBER = late_regex(
    r"(?<![\w.\[-])(?P<number>[-+]?\p{N}+(?:[.,]\p{N}+)*|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|unlimited)(?![\w\]]|\s*[-–]\s*\p{N})(?P<unit>\s?%|\s(?:working|business|calendar)\s+days?|\s?[°\p{L}][\p{L}/²³]*(?:\s+per\s+(?!each\b|every\b)\p{L}+)?)?(?!\w)",
    flags=regex.IGNORECASE,
)
"""A number with its unit; no number of a note in brackets, and no end of a range."""
_UNITLESS = word_set("a an and are as at be but by for if in is it of on or the this to was when which will with")
_UNIT = late_regex(
    r"(?:%|°.*|(?:[kmcdnµgt]?(?:m|g|l|s|b|w|v|a|hz|pa|j)|[kmgt]i?b|t|h|k|min|ha|px|pt|rpm|dpi)[²³]?(?:/.*)?|percent|celsius|fahrenheit|kelvin|hertz|feet|litres?|liters?|met(?:er|re)s?|gram|tonne|bytes?|bits?"
    r"|hundred|thousand|million|billion|trillion"
    r"|inch|mile|bar|eur|usd|chf|gbp|euro|pound|dollar|second|minute|hour|day|week|month|year)(?:\s+per\s.*)?|(?:working|business|calendar)\s+days?|\p{L}+(?<!s)s(?:\s+per\s.*)?",
    flags=regex.IGNORECASE,
)
"""A measure, or things counted: a plural. "Three growing zones" are no "three growing"."""
_LIST_MARK = late_regex(r"(?:^|\n)\s*\(?\p{N}{1,3}[.)](?=\s)|\(\p{N}\)(?=\s+\p{Lu})")
_ONE = late_regex(
    r"\b(?:the|this|that|each|every|another|other|old|new|first|last|next|only|\p{L}{2,}(?:er|est))\s+(?P<one>one)\b",
    flags=regex.IGNORECASE,
)
"""Stands for a thing: "the old one"."""
_DAY = late_regex(rf"\b\p{{N}}{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\b")
_NAMED_NUMBER = late_regex(rf"(?<![\w.-])(?!{CURRENCY}\b)(?:\p{{Lu}}{{1,4}}|{_MONTH})[ -]?(?=\p{{N}})")
"""What stands before the number of a name ("LT 11") or of a day."""
_YEAR = late_regex(
    r"\b(?i:in|since|until|by|during|before|after|from)\s+(?P<year>1[5-9]\d\d|20\d\d)\b(?!\s+\p{Ll}+s\b)"
)
_VERSION = late_regex(
    r"(?<![\w.])\p{N}+(?:\.\p{N}+)+(?![\w]|\.\p{N})|(?<=\b(?:version|release|PostgreSQL|Python)\s)\p{N}+"
)
_DEFAULT = late_regex(
    r"(?:default(?: value)? (?:is|of|=)|defaults? to|set to)\s+(?:the\s+)?(?:typically\s+)?[\"'“‘]?"
    r"(?P<value>[^\s,;()]+?)[\"'”’]?[.,;]?(?=\s|$|\))",
    flags=regex.IGNORECASE,
)
_NAME = late_regex(
    r"\p{Lu}[\p{L}\p{M}'’.-]*(?:\s+(?:(?:of|de|la|van|von|der|den|du|di|da|the|and|bin|al)\s+){0,2}\p{Lu}[\p{L}\p{M}'’.-]*)*"
    r"(?:(?<=\p{Lu}{2})[ -]\p{N}{1,3}(?:-\p{N}{1,3})?(?![\p{L}\p{N}]))?"
)
_PLACE = late_regex(rf"\b(?:in|at|near|from|to)\s+(?:the\s+)?(?P<place>{_NAME.pattern})")
_BORN = late_regex(rf"\bborn\b[^.;]*?\b(?:in|at|near)\s+(?:the\s+)?(?P<place>(?!{_MONTH}){_NAME.pattern})")
_OPTION = late_regex(r"(?<![\w-])--?[A-Za-z][\w-]*(?:=\S+)?")
_ASKS_FOR_ONE = late_regex(
    r"(?:which|what)\s+(?!(?:is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|must|may|happens?)\b)"
    r"|what\s+(?:is|are|was|were)\s+the\s+names?\b",
    flags=regex.IGNORECASE,
)
"""Names a class of things, one of which it asks for: "Which variety", not "What does it do?"."""
_OPENERS = word_set(
    """however note tip similarly since another someone several some such otherwise although furthermore therefore thus
    moreover additionally also usually everything nothing there this these those that it they here for if when see"""
)
_SUBJECT_OF = late_regex(
    r"(?:'s)?\s+(?:is|are|was|were|has|have|had|can|could|may|might|will|would|must|should|does|did|\p{Ll}+s\b(?<!ss))"
)
_POLES = (("on", "off"), ("true", "false"), ("yes", "no"), ("enabled", "disabled"), ("allowed", "disallowed"))
_COMPARES = late_regex(
    r"\b(?:is|are|was|were|costs?|has|have|had|runs?|goes|ist|sind|war|waren|kostet|hat|haben|läuft|fährt|est|sont|coûte|a)"
    r"\s+(?P<degree>\p{L}{2,}er|more|less|fewer|mehr|plus|moins)\b",
    flags=regex.IGNORECASE,
)
_LATER = late_regex(
    r"\b(?:later|latest|younger|youngest|more recent(?:ly)?|newer|last|after)\b", flags=regex.IGNORECASE
)
_EARLIER = late_regex(r"\b(?:first|earlier|earliest|older|oldest|before)\b", flags=regex.IGNORECASE)
_SUPERLATIVE = late_regex(
    r"\b(?:largest|biggest|highest|greatest|longest|most|maximum|smallest|lowest|least|shortest|fewest|minimum|"
    r"how many)\b",
    flags=regex.IGNORECASE,
)
_DIED = late_regex(r"\b(?:die[ds]?|death)\b", flags=regex.IGNORECASE)
_GENERAL = late_regex(
    r"when\s+(?:(?:is|does)\s+an?\b|(?:are|do)\s+(?!the\b|these\b|those\b|my\b|our\b|your\b|his\b|her\b|its\b|their\b|(?-i:\p{Lu})))",
    flags=regex.IGNORECASE,
)
"""Asks for every such thing ("When is a leap second inserted?"), so that the date of one of them is no answer."""
_BOTH = late_regex(r"\b(?:both|same)\b", flags=regex.IGNORECASE)


@dataclass(frozen=True)
class _Cited:
    """A sentence of an answer with the numbers of its citations and their quotes."""

    text: str
    quotes: tuple[tuple[int, str], ...]

    def citation_of(self, value: str) -> int | None:
        """Return the number of the citation whose quote contains a value; None where none does."""
        return next((number for number, quote in self.quotes if places(value, quote)), None)

    @cached_property
    def body(self) -> str:
        """The sentence without the term that it explains."""
        label, colon, rest = self.text.partition(": ")
        if not colon or not self.quotes:
            return self.text
        first = self.quotes[0][1]
        heading = r"\s+".join(map(regex.escape, label.split()))
        is_heading = regex.match(rf"{heading}[ \t]*\n", first) is not None
        return rest if is_heading or (len(self.quotes) > 1 and places(label, first)) else self.text


def short_answers(
    question: str,
    sentences: Sequence[str],
    citations: Sequence[Citation],
    headings: Sequence[str] = (),
    language: str = "",
) -> tuple[Value, ...]:
    """Return what a question asks for, cut out of the sentences of its answer; () where no rule finds it.

    Args:
        question: as it was asked.
        sentences: those of the answer, in order.
        citations: what carries them; ``citation.sentence`` counts sentences from 0.
        headings: titles and headings of what is cited, which name what its sentences are about.
        language: code of the language that question and evidence have in common; "" takes that of the sentences.
    """
    several = several_asked(question)
    if several.first:
        parts = several.first, several.second
        each = (short_answers(part, sentences, citations, headings, language) for part in parts)
        return tuple(dict.fromkeys(value for values in each for value in values))
    quotes: dict[int, list[tuple[int, str]]] = {}
    for number, citation in enumerate(citations):
        quotes.setdefault(citation.sentence, []).append((number, citation.derived or citation.quote))
    cited = [_Cited(text, tuple(quotes.get(at, []))) for at, text in enumerate(sentences)]
    language = language or language_to_answer_in(question, sentences)
    if lacks_period(question, language, [*sentences, *headings]) or is_opposite(question, [*sentences[:1], *headings]):
        return ()
    if excepted := exception_among(question, sentences, language):
        at, has_sum = excepted
        cited = [cited[at]] if has_sum else []  # the price of all is not that of a group that is free
    if language != ENGLISH:
        return _in_language(question, cited, language, " ".join(headings))
    asked, around = asked_for(question), " ".join(headings)
    if cited and asked.kind == "boolean":
        return _truth(question, cited, headings)
    return (
        _choice(question, asked, cited, headings)
        if asked.kind == "choice"
        else _cut_out(question, asked, cited, around)
    )


def _in_language(question: str, cited: Sequence[_Cited], language: str, around: str) -> tuple[Value, ...]:
    """Return the first value in the first sentence that has one; whether something is so only the first one says."""
    kind = asked_in(question, language).kind
    cut = partial(values_in, question, language=language)
    for sentence in cited:
        for value in values_with(question, sentence.body, language, kind, cut, around):
            if value.kind == "boolean":
                return (replace(value, citation=sentence.quotes[0][0] if sentence.quotes else 0),)
            value = with_unit_beside(value, sentence.body)  # noqa: PLW2901 - the same value
            if (place := sentence.citation_of(value.text)) is not None:
                return (replace(value, citation=place),)
        if kind == "boolean":
            break
    return ()


def _cut_out(question: str, asked: Asked, cited: Sequence[_Cited], around: str) -> tuple[Value, ...]:
    """Return the values of the kind asked for in the first sentence that has one."""
    if asked.kind == "number" and _SUPERLATIVE.search(question) and len(cited) > 1 and _are_facts(cited):
        return ()
    for sentence in cited:
        if is_wide_row(sentence.body):  # which of its cells is asked for, only its labels tell
            continue
        found = []
        for value in _values_asked(question, asked, sentence, around):
            value = with_unit_beside(value, sentence.body)  # noqa: PLW2901 - the same value
            if (place := sentence.citation_of(value.text)) is None and value.unit:  # which the label of the value has
                place = sentence.citation_of(value.text.removesuffix(f" {value.unit}"))
            if place is not None:
                found.append(Value(value.kind, value.text, value.value, value.unit, citation=place))
        if found:
            return tuple(dict.fromkeys(found))[: _MAX_ITEMS if asked.kind == "text" else _MAX_VALUES]
    return ()


def _values_asked(question: str, asked: Asked, sentence: _Cited, around: str) -> Sequence[Value]:
    """Return the values of a sentence that stand with what the question says of them."""
    known = frozenset(terms(question))

    def cut(part: str) -> Iterator[Value]:
        return _values(question, asked, sentence if part == sentence.body else _Cited(part, ()), known)

    return values_with(question, sentence.body, ENGLISH, asked.kind, cut, f"{around} {sentence.text}")


def _are_facts(cited: Sequence[_Cited]) -> bool:
    """Return whether sentences are facts, several of which may have another value; there may be more than are shown."""
    return all(" – " in sentence.text and not places(sentence.text, sentence.quotes[0][1]) for sentence in cited)


def _values(question: str, asked: Asked, sentence: _Cited, known: frozenset[str]) -> Iterator[Value]:
    """Yield the values of the kind that is asked for, the most likely one first."""
    body = sentence.body
    if asks_occupation(question):
        yield from kinds(body)
    elif asked.kind == "date":
        yield from _dates(question, body, known)
    elif asked.kind == "version":
        yield from (Value("text", found[0]) for found in _VERSION.finditer(body) if not known & set(terms(found[0])))
    elif asked.kind == "number" and _HOW_OFTEN.search(question):
        yield from (Value("text", found[0]) for found in FREQUENCY.finditer(body))
    elif asked.kind == "number":
        yield from list(compound_times(body) if _HOW_LONG.search(question) else ()) or _numbers(question, body, known)
    elif asked.kind == "place":
        pattern = _BORN if regex.search(r"\bborn\b|\bbirth\b", question) and _BORN.search(body) else _PLACE
        yield from (
            Value("text", found["place"].split(",", maxsplit=1)[0].rstrip("."))
            for found in _new(pattern.finditer(body), known)
        )
    elif asked.kind == "person":
        by = [found.start() for found in regex.finditer(r"\bby\s+(?=\p{Lu})", body)]
        names = [found for found in _new(_NAME.finditer(body), known) if " " in found[0].strip()]
        told = persons_asked(question, body, [found.span() for found in names])
        names = [found for found in names if found.span() in told]
        names.sort(key=lambda found: (not any(0 <= found.start() - at <= 3 for at in by), found.start()))
        yield from (Value("text", found[0].rstrip(".")) for found in names[:1])
    else:
        yield from _texts(question, sentence, known)


def _texts(question: str, sentence: _Cited, known: frozenset[str]) -> Iterator[Value]:
    """Yield the option, setting or name that a question asks for by its class, else a short text as it is."""
    label = sentence.text.removesuffix(sentence.body).rstrip(": ")
    if regex.match(
        r"(?:which|what)\s+(?:option|flag|switch|setting|parameter|directive|function|command|variable)\b",
        question,
        regex.IGNORECASE,
    ):
        options = list(dict.fromkeys(_OPTION.findall(label or sentence.body)))
        names = options or ([label] if label else [])
        yield from (Value("text", name) for name in names if len(name.split()) <= _MAX_TEXT_WORDS)
        return
    if _ASKS_FOR_ONE.match(question):
        found = sorted(_new(_NAME.finditer(sentence.body), known), key=_distance_from(question, sentence.body))
        names = [match[0].rstrip(".") for match in found]
        items = [item for item in listed(question, sentence.body) if not set(terms(item)) <= known]
        yield from (Value("text", name) for name in (items if len(items) > 1 else names[:1]))


def _distance_from(question: str, body: str) -> Callable[[regex.Match[str]], int]:
    """Return how far a match is behind the nearest number of the question in a text; 0 where there is none."""
    numbers = [found[0] for found in regex.finditer(r"(?<![\w.-])\p{N}+(?![\w.-])", question)]
    ends = [end for number in numbers for _, end in places(number, body)]
    return lambda match: min((abs(match.start() - end) for end in ends), default=0)


def _new(found: Iterator[regex.Match[str]], known: frozenset[str]) -> Iterator[regex.Match[str]]:
    """Yield the matches that say more than the question does, and are no word at the beginning of a sentence only."""
    for match in found:
        said = set(terms(match[0]))
        if said and not said <= known and not _is_opening(match) and match[0] not in _MONTHS:
            yield match


def _is_opening(match: regex.Match[str]) -> bool:
    """Return whether a single word has its capital only since a sentence begins with it: "However", "Specifies"."""
    before, behind = match.string[: match.start()], match.string[match.end() :]
    word = match[0]
    if not regex.fullmatch(r"\p{Lu}\p{Ll}+", word) or not regex.search(r"(?:^|[.!?:•]['\"”)]*\s+|^\W+)$", before):
        return False
    return word.lower() in _OPENERS or _SUBJECT_OF.match(behind) is None


def _dates(question: str, body: str, known: frozenset[str]) -> Iterator[Value]:
    """Yield the dates of a sentence: of a life in brackets the one asked for, else in reading order."""
    if _GENERAL.match(question):
        return
    found = [match for match in _DATE.finditer(body) if not set(terms(match[0])) <= known]
    if len(found) > 1 and _DIED.search(question) and not regex.search(r"\bdie", body):
        found = found[1:]
    wants_year = regex.search(r"\b(?:what|which) year\b", question, regex.IGNORECASE)
    if (span := _BETWEEN.search(body)) and not set(terms(span[0])) <= known:
        ends = [_iso(match) for name in ("first", "last") for match in [_DATE.search(span[name])] if match]
        yield Value("date", span[0], "/".join(ends))
        return
    for match in found:
        year = match["y1"] or match["y2"] or (match["iso"] or "")[:4]
        if wants_year:
            yield Value("date", year, year)
            continue
        yield Value("date", match[0], _iso(match))


def _iso(match: regex.Match[str]) -> str:
    """Return a date as ISO 8601 writes it, as far as it goes."""
    if match["iso"]:
        return str(match["iso"])
    month = f"-{_MONTHS.index(match['m1']) + 1:02}" if match["m1"] else ""
    day = f"-{int(match['d1'] or match['d2']):02}" if match["d1"] or match["d2"] else ""
    return f"{match['y1'] or match['y2']}{month}{day}"


def _numbers(question: str, body: str, known: frozenset[str]) -> Iterator[Value]:
    """Yield the numbers of a sentence that the question lacks, with their units; those behind "default is" first.

    A number in letters counts only for a question how many, how much or how often.
    """
    after = [match.start("value") for match in _DEFAULT.finditer(body)] if "default" in question.lower() else []
    others = [*_no_amounts(body), *not_counted(question, body), *numbered_places(body, question)]
    counts = regex.search(r"\bhow\b", question, regex.IGNORECASE) is not None
    matches = [
        match
        for match in _NUMBER.finditer(body)
        if not any(start <= match.start() < end for start, end in others)
        and (not set(terms(match["number"])) <= known or not known)
        and (counts or match["number"].lower() not in NUMBER_WORDS)
    ]
    matches.sort(key=lambda match: (not any(abs(match.start() - at) <= 1 for at in after), match.start()))
    for match in matches:
        number, unit = match["number"], (match["unit"] or "").strip()
        unit = "" if unit.lower() in _UNITLESS or not _UNIT.fullmatch(unit) else unit
        of_label = "" if unit else unit_of_label(body[: match.start()])
        plain = number.replace(",", "") if regex.fullmatch(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?", number) else number
        plain = str(NUMBER_WORDS.index(number.lower())) if number.lower() in NUMBER_WORDS else plain
        text = body[match.start() : match.end("unit")] if unit else f"{number} {of_label}".rstrip()
        yield Value("number", text, plain, unit or of_label)
    if not matches and after:
        yield from (Value("text", match["value"]) for match in _DEFAULT.finditer(body))


def _no_amounts(body: str) -> list[tuple[int, int]]:
    """Return where a text has numbers that count nothing: of dates, names ("LT 11") and items of a list."""
    spans = [match.span() for match in _DATE.finditer(body) if not match["y2"]]
    spans += [match.span() for pattern in (_LIST_MARK, _DAY) for match in pattern.finditer(body)]
    spans += [match.span("year") for match in _YEAR.finditer(body)]
    spans += [match.span("one") for match in _ONE.finditer(body)]
    spans += [(match.end(), match.end() + 1) for match in _NAMED_NUMBER.finditer(body)]
    return spans


def _truth(question: str, cited: Sequence[_Cited], headings: Sequence[str]) -> tuple[Value, ...]:
    """Return yes or no: what a sentence begins with, else what it states; () where that is not decided."""
    sentence = cited[0]
    if said := regex.match(r"(yes|no(?!\s+\p{L}))\b", sentence.text, regex.IGNORECASE):
        return (_boolean(said[1].lower() == "yes", sentence),)
    if len(cited) > 1 and _BOTH.search(question):
        return (_boolean(_agree(question, cited), sentence),)
    asked, words = question.lower().split(), regex.findall(r"\w+", sentence.body.lower())
    for positive, negative in _POLES:
        if positive in [word.strip("?.,") for word in asked] and negative in words and positive not in words:
            return (_boolean(False, sentence),)
    default = _DEFAULT.search(sentence.body)
    if "default" in asked and default and default["value"].lower() in {"no", "off", "false", "yes", "on", "true"}:
        return (_boolean(default["value"].lower() in {"yes", "on", "true"}, sentence),)
    label = sentence.text.removesuffix(sentence.body)
    truth = stated_truth(question, sentence.body, " ".join((label, *headings)))
    return () if truth is None else (_boolean(truth, sentence),)


def _agree(question: str, cited: Sequence[_Cited]) -> bool:
    """Return whether two sentences say the same of their subjects: what the question names, else a common name."""
    first, second = (set(terms(sentence.text)) for sentence in cited[:2])
    if regex.search(r"\bsame\b", question, regex.IGNORECASE):
        names = [{found[0] for found in _NAME.finditer(sentence.body)} for sentence in cited[:2]]
        known = set(terms(question))
        return any(not set(terms(name)) <= known for name in names[0] & names[1])
    asked = set(terms(question.rpartition(" both ")[2]))
    return bool(asked & first) and bool(asked & second)


def _boolean(truth: bool, sentence: _Cited) -> Value:
    text = "yes" if truth else "no"
    return Value(
        "boolean", text, "true" if truth else "false", citation=sentence.quotes[0][0] if sentence.quotes else 0
    )


def _choice(question: str, asked: Asked, cited: Sequence[_Cited], headings: Sequence[str]) -> tuple[Value, ...]:
    """Return the option that the dates of the options decide for, else the one that a sentence has, or has nearer.

    A sentence that lacks a name of the question is about something else.
    """
    if _LATER.search(question) or _EARLIER.search(question):
        return _by_date(question, asked.options, cited)
    rest = [term for term in terms(question) if not any(term in terms(option) for option in asked.options)]
    compared = _COMPARES.search(question)
    for sentence in cited:
        if compared and not regex.search(rf"\b{compared['degree']}\b", sentence.body, flags=regex.IGNORECASE):
            continue  # it has what each of them is, and not which is more of it
        named = [(option, places(option, sentence.body)) for option in asked.options]
        held = [(option, spots) for option, spots in named if spots]
        if not held or _lacks_a_name(question, asked, (sentence.text, *headings)):
            continue
        option = min(held, key=lambda one: _apart(one[1], rest, sentence.body))[0]
        number = sentence.citation_of(option)
        if number is not None:
            return (Value("choice", option, citation=number),)
    return ()


def _apart(spots: Sequence[tuple[int, int]], rest: Sequence[str], text: str) -> tuple[int, int]:
    """Return how many of some terms are in another part of a sentence than an option, and how far off they all are."""
    anchors = [starts for term in rest if (starts := _starts(term, text))]
    clauses = [match.span() for match in regex.finditer(r"[^,;]+", text)]
    lacking = [
        sum(not any(start <= anchor < end for anchor in starts) for starts in anchors)
        for start, end in clauses
        if any(start <= spot < end for spot, _ in spots)
    ]
    distance = sum(min(abs(spot - anchor) for spot, _ in spots for anchor in starts) for starts in anchors)
    return min(lacking, default=0), distance


def _lacks_a_name(question: str, asked: Asked, texts: Sequence[str]) -> bool:
    """Return whether texts lack a name that a question has beside its options."""
    options, said = {term for option in asked.options for term in terms(option)}, set(terms(" ".join(texts)))
    names = (
        found[0] for found in _NAME.finditer(question, question.find(" ") + 1) if question[found.start() - 1] == " "
    )
    return any(term not in said and term not in options for name in names for term in terms(name))


def _starts(term: str, text: str) -> list[int]:
    return [match.start() for match in regex.finditer(r"[\p{L}\p{N}_]+", text) if term in terms(match[0])]


def _by_date(question: str, options: Sequence[str], cited: Sequence[_Cited]) -> tuple[Value, ...]:
    """Return the option with the earlier or later date, where each option has a sentence with a date."""
    dated: dict[str, tuple[str, int]] = {}
    for option in options:
        wanted = set(terms(option))
        for sentence in cited:
            if not wanted <= set(terms(sentence.text)):
                continue
            dates = list(_dates(question, sentence.body, frozenset()))
            number = next((sentence.citation_of(date.text) for date in dates), None)
            if dates and number is not None:
                dated.setdefault(option, (dates[0].value, number))
    if len(dated) < len(options):
        return ()
    pick = max if _LATER.search(question) else min
    option = pick(dated, key=lambda one: dated[one][0])
    return (Value("choice", option, citation=dated[option][1]),)
