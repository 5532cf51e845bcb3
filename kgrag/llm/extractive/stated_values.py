"""What a passage states about its subject: dates and places of birth and death, nationality, occupation, years.

Read from its sentences by the forms of English encyclopedias and registers: a life in brackets behind the name, "was
born on … in …", "is an American …", "is a 1957 film". A sentence about somebody else (``His father died in 1901.``)
does not count.
"""

from __future__ import annotations

import calendar
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.named_passages import Passage
from kgrag.llm.extractive.nationalities import countries_in, located_in
from kgrag.llm.extractive.relations import RELATIONS, names_stated
from kgrag.text.sentences import word_set, words

__all__ = ["Stated", "stated"]


@dataclass(frozen=True, slots=True)
class Stated:
    """A value with the sentence that states it: as it is written, and in normal form ("" where that is the same)."""

    kind: str
    text: str
    value: str
    number: int
    sentence: str

    @property
    def comparable(self) -> str:
        """What is compared."""
        return self.value or self.text.casefold()


_MONTHS = {name.lower(): at for at, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): at for at, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
_MONTH = rf"(?i:{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:1\d{3}|20\d{2}|[3-9]\d{2}(?!\d))"
# "1925" and "27 September" stand without anything between them in texts that lost their dashes
_END = rf"(?!\d)|(?=\d{{1,2}}\s+{_MONTH})"
_DATE_TEXT = (
    rf"(?<![\d,.-])(?:(?P<d>{_DAY})\s+(?:of\s+)?(?P<m>{_MONTH}),?\s+(?P<y>{_YEAR})(?:{_END})"
    rf"|(?P<m>{_MONTH})\s+(?P<d>{_DAY}),?\s+(?P<y>{_YEAR})(?:{_END})|(?P<m>{_MONTH}),?\s+(?P<y>{_YEAR})(?:{_END})"
    rf"|(?P<y>{_YEAR})(?:{_END}))"
)
_DATE = late_regex(_DATE_TEXT, regex.IGNORECASE)
_BRACKET = late_regex(r"\((?P<life>(?:[^()]|\([^()]*\))*)\)")
_LIFE_DASH = late_regex(r"\s*[–—−]\s*|\s-\s*|(?<=\d)-\s*(?=\p{L}|\d{1,2} )|(?<=\d{4})(?=\d{1,2}\s+\p{Lu})")
_DIED = late_regex(r"\b(?:died|d\.)(?=\s)", regex.IGNORECASE)
_BORN = late_regex(r"\b(?:born|b\.)(?=\s)", regex.IGNORECASE)
_UNSURE = late_regex(
    r"\b(?:aft|after|bef|before|baptis?zed|bapt|fl|flourished|or|between|early|late)\b\.?", regex.IGNORECASE
)
_OTHERS = late_regex(
    r"\b(?:his|her|their|whose)\s+(?:\p{L}+\s+){0,2}?(?:father|mother|wife|husband|son|daughter|brother|sister|parents|"
    r"children|family|child|grand\p{L}+|widow|uncle|aunt|cousin|friend)\b|\bchildren\b",
    regex.IGNORECASE,
)

_PLACE_WORD = r"\p{Lu}[\p{L}\p{M}'’.]*(?:[-–]\s?\p{L}[\p{L}\p{M}'’.]*)*"
_PLACE_NAME = (
    rf"{_PLACE_WORD}(?:\s+(?:(?:of|de|la|le|del|di|da|do|von|the|upon|am|an|der|sur)\s+){{0,2}}{_PLACE_WORD})*"
)
_PLACE = rf"(?P<place>(?!{_MONTH}\b)(?:the\s+)?{_PLACE_NAME}(?:,\s+(?!{_MONTH}\b){_PLACE_NAME})*)"
_ON_DATE = rf"(?:\s*,?\s*(?:on|in|c\.|circa)?\s*(?:{_DATE_TEXT})\s*,?)?"
_AT = r"\s*(?:in|at|near|to a \p{Ll}+ family in|into a[\p{Ll} ]+ in)\s+(?:the (?:city|town|village) of\s+)?"
_BORN_AT = late_regex(rf"(?<!-)\b[Bb]orn\b(?:\s+[^.;()]{{0,45}}?)??{_ON_DATE}{_AT}{_PLACE}")
_BORN_ANYWHERE = late_regex(rf"(?<!-)\b[Bb]orn\b[^.;()]{{0,80}}?\b(?:in|at)\s+{_PLACE}")
_DIED_AT = late_regex(rf"\b(?:died|death|killed|murdered|passed away)\b{_ON_DATE}[^.;()]{{0,60}}?{_AT}{_PLACE}")
_IN_PLACE = late_regex(rf"\b(?:in|at)\s+{_PLACE}")
_PLACE_ALONE = late_regex(rf"(?:^|\|)[\s,]*{_PLACE}\s*,?\s*(?:\||$)")
_BURIED_AT = late_regex(rf"\b(?:buried|interred|laid to rest)\b[^.;()]{{0,40}}?{_AT}{_PLACE}")
_CAUSE = late_regex(
    r"\bdied\b[^.;]{0,60}?\b(?:of|from|due to|because of)\s+(?:an?\s+|complications (?:of|from)\s+)?"
    r"(?P<cause>\p{L}[\p{L}-]*(?:\s\p{Ll}+){0,2}?)(?=\s+(?:in|at|on|and|while|aged)\b|[,.;])"
)
_KIND_OF = late_regex(r"\b(?:is|was|were|are)\s+(?:considered\s+)?(?:an?|the|one of the)\s+(?P<kinds>.+)", regex.DOTALL)
_CLAUSE_END = late_regex(r"\b(?:who|that|which|whose|known|best|from|for|based|directed|written|starring|since)\b|;|\)")
_OF_THE_YEAR = late_regex(rf"\b(?:is|was)\s+(?:an?|the)\s+(?:\p{{L}}+\s+){{0,3}}?(?P<when>{_YEAR})\b")
_RELEASED = late_regex(
    rf"\b(?i:released|premiered|published|debuted|premiere|first shown|publication since)\b[^.;]{{0,60}}?"
    rf"(?P<when>{_DATE_TEXT})"
)
_IN_YEAR = late_regex(rf"\b(?:of|in|from)\s+(?:the\s+)?(?P<when>{_YEAR})\b")
_FOUNDED = late_regex(
    rf"\b(?i:founded|established|formed|started|launched|created|opened|built|published|began|inception|active)\b[^.;]{{0,60}}?"
    rf"(?P<when>{_DATE_TEXT})"
)
_NO_OCCUPATION = word_set(
    """a an and also award-winning best-known born double famous first former is late leading living member noted
    notable party politically professional prominent retired senior the triple well-known"""
)
"""Words before an occupation that are no part of it."""
_OCCUPATION_END = late_regex(
    r"(?<!-)(?<!\p{Lu}\p{Ll}+\s)\bborn\b|\b(?:who|that|which|from|for|of|in|at|with|best|during|since|known|writing|living"
    r"|famous)\b|[.;(]"
)
_FROM_PLACE = late_regex(rf"^[^.;]*?\b(?:is|was)\s+(?:an?|the)\b[^.;]*?\bfrom\s+(?!the\b){_PLACE}")
_BORN_IN_BRACKETS = late_regex(rf"^[^()]*\([^()]*\b[Bb]orn\b[^()]*\),?\s+(?:in|at)\s+{_PLACE}")
_PLACE_AND_DATE = late_regex(rf"^[^()]*\((?:[^();]*;\s*)?{_PLACE},\s+(?:{_DATE_TEXT})\s*\)")


def stated(what: str, passage: Passage) -> list[Stated]:
    """Return what a passage states of its subject, the surest first; [] where no form of words states it.

    Args:
        what: a relation or attribute of ``relations``, or "lifespan", whose value is a number of days.
        passage: one with the subject as its title.
    """
    if what in RELATIONS:
        rows = (
            Stated("text", name, "", number, sentence)
            for number, sentence in passage.sentences
            if what in _OF_OTHERS or not _OTHERS.match(sentence)
            for name in names_stated(what, sentence)
        )
        return list(dict.fromkeys(rows))
    return list(dict.fromkeys(_READERS[what](passage)))


_OF_OTHERS = frozenset({"father", "mother", "spouse", "child", "sibling"})


def _of_subject(pattern: regex.Pattern[str], passage: Passage) -> Iterator[tuple[int, str, regex.Match[str]]]:
    """Yield what matches in the sentences of a passage, with no word for somebody else before it."""
    for number, text in passage.sentences:
        for found in pattern.finditer(text):
            if not _OTHERS.search(text, 0, found.start()):
                yield number, text, found


def _dates_in(text: str, start: int = 0) -> Iterator[tuple[str, str]]:
    for found in _DATE.finditer(text, start):
        yield found[0], _iso(found)


def _iso(found: regex.Match[str]) -> str:
    """Return a date as ISO 8601 writes it, as far as it goes."""
    day, month, year = (next(iter(found.captures(part)), "") for part in ("d", "m", "y"))
    digits = "".join(filter(str.isdigit, day))
    return f"{int(year):04}" + (
        f"-{_MONTHS[month.lower().rstrip('.')]:02}" + (f"-{int(digits):02}" if digits else "") if month else ""
    )


def _life(passage: Passage) -> tuple[str, str]:
    """Return what the brackets behind the subject's name have of its birth and of its death, "" for nothing."""
    for bracket in _BRACKET.finditer(passage.lead):
        life = bracket["life"]
        if not _DATE.search(life):
            continue
        born, died = _BORN.search(life), _DIED.search(life)
        if died:
            return life[born.start() : died.start()] if born else life[: died.start()], life[died.end() :]
        if born:
            life = life[born.start() :]
        parts = _LIFE_DASH.split(life)
        halves = [" ".join(parts[:at]) for at in range(1, len(parts))]
        for at, left in enumerate(halves, 1):
            right = " ".join(parts[at:])
            if _DATE.search(left) and _DATE.search(right):
                return left, right
        dates = list(_DATE.finditer(life))
        if len(dates) == 2 and not born:
            return life[: dates[1].start()], life[dates[1].start() :]
        if born:
            return life, ""
        if len(parts) == 2 and not parts[0].strip(" ;,"):
            return "", parts[1]
    return "", ""


def _date_of(part: str, passage: Passage) -> Iterator[Stated]:
    """Yield the last date of a half of a life in brackets: what stands before it may be another calendar's."""
    dates = list(_dates_in(part))
    if dates and not _UNSURE.search(part):
        number, sentence = passage.sentences[0]
        yield Stated("date", *dates[0], number, sentence)


def _birth_date(passage: Passage) -> Iterator[Stated]:
    yield from _date_of(_life(passage)[0], passage)
    yield from _dated(r"\b[Bb]orn\b[^.;]{0,80}?", passage)


def _death_date(passage: Passage) -> Iterator[Stated]:
    yield from _date_of(_life(passage)[1], passage)
    yield from _dated(r"\b(?:died|death|killed)\b[^.;]{0,60}?", passage)


def _dated(before: str, passage: Passage) -> Iterator[Stated]:
    pattern = regex.compile(rf"{before}(?P<when>{_DATE_TEXT})", regex.IGNORECASE)
    yield from _when(pattern, passage)


def _lifespan(passage: Passage) -> Iterator[Stated]:
    """Yield the time from birth to death in days, shorter by what is not stated."""
    birth, death = next(_birth_date(passage), None), next(_death_date(passage), None)
    if birth and death:
        days = _days(death.value) - _days(birth.value)
        yield Stated("number", death.text, f"{days:06}", death.number, death.sentence)


def _days(iso: str) -> int:
    year, month, day = (*map(int, iso.split("-")), 0, 0)[:3]
    return year * 365 + month * 30 + day


def _places(pattern: regex.Pattern[str], passage: Passage) -> Iterator[Stated]:
    for number, text, found in _of_subject(pattern, passage):
        if place := _trimmed(found["place"], passage):
            yield Stated("text", place, "", number, text)


def _trimmed(place: str, passage: Passage) -> str:
    """Return a place up to the comma behind which the subject is named: ``Born in Bath, Lee became …``."""
    known = set(words(passage.title))
    parts = list(itertools.takewhile(lambda part: not known & set(words(part)), place.split(",")))
    return ",".join(parts).strip().rstrip(".,")


def _of_life(part: str, passage: Passage) -> Iterator[Stated]:
    """Yield the place in a half of a life in brackets: ``(Bath, 4 May 1901 – York, 1957)``."""
    if not _DATE.search(part):
        return
    number, sentence = passage.sentences[0]
    bare = _DATE.sub(" | ", part)
    # "(born Ann May Lee, 4 May 1901)" has a name and no place
    found = _IN_PLACE.search(bare) or (None if _BORN.search(bare) else _PLACE_ALONE.search(bare))
    if found and (place := _trimmed(found["place"], passage)):
        yield Stated("text", place, "", number, sentence)


def _birth_place(passage: Passage) -> Iterator[Stated]:
    yield from _of_life(_life(passage)[0], passage)
    yield from _places(_BORN_AT, passage)
    opening = replace(passage, sentences=passage.sentences[:1])
    yield from _places(_BORN_IN_BRACKETS, opening)
    yield from _places(_PLACE_AND_DATE, opening)
    yield from _places(_BORN_ANYWHERE, passage)
    # "a singer from Los Angeles" was born there in every such case of the development questions of popqa
    yield from (one for one in _places(_FROM_PLACE, opening) if not any(countries_in(one.text.split(",")[0])))


def _death_place(passage: Passage) -> Iterator[Stated]:
    yield from _of_life(_life(passage)[1], passage)
    yield from _places(_DIED_AT, passage)


def _cities(reader: Callable[[Passage], Iterator[Stated]]) -> Callable[[Passage], Iterator[Stated]]:
    """Return a reader of places that leaves out what stands behind a comma: the county, the state, the country."""
    return lambda passage: (replace(one, text=one.text.partition(",")[0]) for one in reader(passage))


def _burial_place(passage: Passage) -> Iterator[Stated]:
    return _places(_BURIED_AT, passage)


def _cause_of_death(passage: Passage) -> Iterator[Stated]:
    for number, text, found in _of_subject(_CAUSE, passage):
        yield Stated("text", found["cause"], "", number, text)


def _kinds(passage: Passage) -> str:
    """Return what the first sentence says that its subject is, up to the next clause."""
    found = _KIND_OF.search(_BRACKET.sub(lambda bracket: " " * len(bracket[0]), passage.lead))
    return found["kinds"] if found else ""


def _nationality(passage: Passage) -> Iterator[Stated]:
    """Yield the countries of "is an American …", then those of "from India", then where something is located."""
    if not passage.sentences:
        return
    number, sentence = passage.sentences[0]
    kinds = _kinds(passage)
    end = _CLAUSE_END.search(kinds)
    first = kinds[: end.start()] if end else kinds
    rows = list(countries_in(first)) or list(countries_in(kinds))
    if rows:
        yield from (Stated("text", word, country, number, sentence) for word, country in rows)
        return
    for at, text in passage.sentences[:3]:
        if rows := list(located_in(text)):
            yield from (Stated("text", word, country, at, text) for word, country in rows)
            return


def _occupation(passage: Passage) -> Iterator[Stated]:
    kinds = _OCCUPATION_END.split(_kinds(passage))[0]
    for part in regex.split(r",\s*(?:and\s+)?|\s+and\s+|/", kinds):
        kind = [word for word in part.split() if word.islower() and word not in _NO_OCCUPATION]
        if kind:
            yield Stated("text", " ".join(kind), "", *passage.sentences[0])


def _when(pattern: regex.Pattern[str], passage: Passage) -> Iterator[Stated]:
    for number, text, found in _of_subject(pattern, passage):
        yield Stated("date", *next(_dates_in(text, found.start("when"))), number, text)


def _release_date(passage: Passage) -> Iterator[Stated]:
    """Yield dates of release that agree with the year of "is a 1957 film", then that year."""
    opening = replace(passage, sentences=passage.sentences[:1])
    years, released = list(_when(_OF_THE_YEAR, opening)), list(_when(_RELEASED, passage))
    yield from (one for one in released if not years or one.value[:4] == years[0].value[:4])
    yield from years
    if not years and not released:
        yield from _when(_IN_YEAR, opening)


def _founding_date(passage: Passage) -> Iterator[Stated]:
    yield from _when(_FOUNDED, passage)


_READERS: Mapping[str, Callable[[Passage], Iterator[Stated]]] = {
    "birth date": _birth_date,
    "death date": _death_date,
    "birth place": _birth_place,
    "death place": _death_place,
    "birth city": _cities(_birth_place),
    "death city": _cities(_death_place),
    "burial place": _burial_place,
    "cause of death": _cause_of_death,
    "nationality": _nationality,
    "occupation": _occupation,
    "release date": _release_date,
    "founding date": _founding_date,
    "lifespan": _lifespan,
}
