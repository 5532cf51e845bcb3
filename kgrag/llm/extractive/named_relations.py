"""Relations between a thing and a value as English asks for them and states them: director, father, date of birth.

A relation is asked for by words of a question and stated by patterns of text about its subject. A *link* leads to
another thing, of which something is asked in turn ("the mother of the director of film X"); an *attribute* is a value.
The patterns are those of encyclopaedias and reference texts: dates in brackets behind a name, "directed by", "the son
of"; none is of a data set. Patterns of one relation are tried in order, the most certain first.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from typing import Final, Literal

import regex

__all__ = ["DATE", "NAME", "RELATIONS", "Relation", "date_key", "iso_of"]

Kind = Literal["person", "date", "place", "nationality", "name", "text"]

_MONTH: Final = rf"(?:{'|'.join([*calendar.month_name][1:])})"
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR: Final = r"(?:1\d{3}|20\d{2}|[1-9]\d{2})"
DATE: Final = (
    rf"(?:{_DAY}(?:\sor\s\d{{1,2}})?\s+{_MONTH},?\s+{_YEAR}|{_MONTH}\s+{_DAY},?\s+{_YEAR}|{_MONTH},?\s+{_YEAR}|{_YEAR})"
    rf"(?=\D|$|\d{{1,2}}\s+{_MONTH})"
)
"""A date with a year: "24 December 1886", "May 4, 1961", "July 1922", "995"."""
_WORD: Final = (
    r"(?:(?:St|Jr|Sr|Dr|Mt|Ft)\.|\p{Lu}\.(?:\s?\p{Lu}\.)*"
    r"|\p{Lu}[\p{L}\p{M}\p{N}]*(?:['’](?!s\s)[\p{L}\p{M}]+)*(?:-[\p{L}\p{M}'’]+)*"
    r"|[IVX]+\b|d['’]\p{Lu}\p{L}+|al-\p{Lu}\p{L}+)"
)
_PARTICLE: Final = (
    r"(?:of|the|de|da|do|dos|das|di|du|del|della|la|le|van|von|der|den|zu|ibn|bin|bint|al|el|af|av|y|e|ap|Von|De)"
)
NAME: Final = rf"{_WORD}(?:(?:\s+{_PARTICLE}){{0,2}}\s+(?:\"[^\"]{{1,20}}\"\s+)?{_WORD})*"
"""A name of several words with a capital, with particles between them."""
_RANK: Final = (
    r"(?:Duke|Duchess|Count|Countess|Earl|Baron|Prince|Princess|Margrave|Marquess|Marquis|Viscount|Lord|Lady|Elector"
    r"|King|Queen|Landgrave)"
)
_TITLED: Final = rf"{NAME}(?:,\s(?:\d+\w\w\s)?{_RANK}\s(?:of|de)\s{NAME})?"
_PEOPLE: Final = r"\p{Lu}[\p{L}-]*(?:an|ish|ese|ench|lsh|tch|eek|wiss|i)(?=(?:[\s-]+(?:born|American))?[\s-]\s*\p{Ll})"
_HONORIFIC: Final = (
    r"(?:King|Queen|Sir|Dr\.?|Lord|Lady|Emperor|Empress|Sultan|President|Prince|Princess|Duke|Count|Archduke"
    r"|Archduchess)"
)
_PERSON: Final = (
    rf"(?:(?:the|a|an|his|her|their|its)\s+)?(?:(?:[\p{{Ll}}-]+|{_PEOPLE})\s+){{0,5}}(?:{_HONORIFIC}\s+)?"
    rf"(?P<value>{_TITLED})"
)
_PLACE_NAME: Final = rf"(?:the\s+)?(?P<value>{NAME})"
_OPEN: Final = r"\(\s*"
_DASH: Final = r"\s*(?:[-–—]|to|until)\s*"
_ABOUT: Final = r"(?:c(?:\.|irca)|ca\.?|about|around|after|before|aft\.?|bef\.?|between)?\s*"


@dataclass(frozen=True)
class Relation:
    """A relation.

    Args:
        name: in a few words.
        kind: of its value.
        asks: words of a question that ask for it.
        says: patterns of a sentence about the subject; the group "value" is the value.
        inverse: patterns of a sentence about the *value* ("X is the mother of SUBJECT"), with SUBJECT in its place.
        link: whether something may be asked of the value in turn.
    """

    name: str
    kind: Kind
    asks: regex.Pattern[str]
    says: tuple[regex.Pattern[str], ...]
    inverse: tuple[str, ...] = ()
    link: bool = False


def _relation(name: str, kind: Kind, asks: str, *says: str, inverse: tuple[str, ...] = ()) -> Relation:
    return Relation(
        name,
        kind,
        regex.compile(asks, flags=regex.IGNORECASE),
        tuple(regex.compile(one) for one in says),
        inverse,
        link=kind == "person",
    )


_CHILD: Final = (
    r"(?:(?:eldest|oldest|youngest|only|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|"
    r"illegitimate|natural|legitimate|younger|elder|older|surviving|posthumous|adopted|and)\s+|[-,]\s*)*"
    r"(?:son|daughter|child|heir|bastard|offspring|issue)"
)

RELATIONS: Final = (
    _relation(
        "director",
        "person",
        r"\bdirectors?\b|\bdirected\b",
        rf"\b[Dd]irected(?:,?\s+[\p{{Ll}}-]+){{0,6}},?\s+by\s+{_PERSON}",
        rf"\b(?:film|movie|drama|comedy|thriller|western|musical|documentary|short)s?\s+(?:from\s+\d{{4}}\s+)?by\s+"
        rf"{_PERSON}",
        rf"\b(?:film|movie)[^.]{{0,60}}?\s(?:from|by)\s+(?:[\p{{L}}-]+\s+)?director\s+{_PERSON}",
        rf"\bdirector\s+(?:was\s+|is\s+)?(?P<value>{NAME})",
        rf"(?P<value>{NAME})['’]s?\s+(?:[\p{{L}}-]+\s+){{0,4}}(?:film|movie|directorial)",
        rf"\bdirection\s+by\s+{_PERSON}",
        inverse=(r"\b(?:directed|director of)\b[^.]*SUBJECT",),
    ),
    _relation(
        "producer",
        "person",
        r"\bproducers?\b|\bproduced\b",
        rf"\b[Pp]roduced(?:\s+(?:and|,)\s+[\p{{Ll}}]+)?(?:\s+[\p{{Ll}}]+){{0,3}}\s+by\s+{_PERSON}",
        inverse=(r"\bproduced\b[^.]*SUBJECT",),
    ),
    _relation(
        "composer",
        "person",
        r"\bcomposers?\b|\bcomposed\b",
        rf"\b(?:[Cc]omposed|scored)(?:\s+and\s+[\p{{Ll}}]+)?\s+by\s+{_PERSON}",
        rf"\b(?:music|score|soundtrack|songs?)(?:\s+[\p{{Ll}}]+){{0,6}}\s+by\s+{_PERSON}",
        rf"\b(?:[Ww]ritten|penned)(?:\s+[\p{{Ll}},]+){{0,4}}\s+by\s+{_PERSON}",
        rf"\bsong\s+by\s+{_PERSON}",
        rf"\bcomposer\s+(?P<value>{NAME})",
        rf"(?P<value>{NAME})['’]s?\s+(?:music|score|composition)",
    ),
    _relation(
        "performer",
        "person",
        r"\bperformers?\b|\bperformed\b|\bsingers?\b|\bsung\b|\bartist behind\b|\bartist\b",
        rf"\b(?:song|single|album|ballad|track|record|EP|hit|cover|duet|music video)\b(?:\s+(?:recorded|performed|s"
        rf"ung|released|written|co-written|made))*(?:\s+[\p{{Ll}}]+){{0,5}}?\s+by\s+{_PERSON}",
        rf"\b(?:recorded|performed|sung|released|popularized|popularised)(?:\s+[\p{{Ll}}]+){{0,3}}\s+by\s+{_PERSON}",
        rf"\b(?:singer|rapper|musician|band|artist|group|duo|singer-songwriter)\s+(?P<value>{NAME})",
        rf"(?P<value>{NAME})['’]s?\s+(?:[\p{{L}}-]+\s+){{0,4}}(?:album|single|EP|song)",
    ),
    _relation(
        "author",
        "person",
        r"\bauthors?\b|\bwriters?\b|\bwrote\b|\bwritten\b",
        rf"\b(?:[Ww]ritten|authored|penned)(?:\s+and\s+[\p{{Ll}}]+)?\s+by\s+{_PERSON}",
        rf"\b(?:book|novel|story|play|poem|series|memoir|essay|work|novella|collection|biography|pamphlet)\b(?:\s+["
        rf"\p{{Ll}}]+){{0,3}}\s+by\s+{_PERSON}",
        rf"\b(?:author|writer|novelist|playwright|poet)\s+(?P<value>{NAME})",
        rf"(?P<value>{NAME})['’]s?\s+(?:[\p{{L}}-]+\s+){{0,3}}(?:novel|book|play|story)",
        inverse=(r"\b(?:author of|wrote|written)\b[^.]*SUBJECT",),
    ),
    _relation(
        "founder",
        "person",
        r"\bfounders?\b|\bfounded by\b|\bcreators?\b|\bcreated by\b|\bestablished by\b|^who (?:founded|created)\b",
        rf"\b(?:[Ff]ounded|established|created|started|launched|formed|developed)(?:\s+(?:in|on|as|and|by\s+decree"
        rf"\s+of)\b[^.;]{{0,40}}?)?\s+by\s+{_PERSON}",
        rf"\b(?:founder|creator|co-founder)s?(?:\s+(?:is|was|and))*\s+(?:[\p{{Ll}}]+\s+)*(?P<value>{NAME})",
        rf"(?P<value>{NAME})\s+(?:founded|established|created)\s+(?:it|the)\b",
        inverse=(r"\b(?:founded|founder of|created|creator of|co-founder of)\b[^.]*SUBJECT",),
    ),
    _relation(
        "editor",
        "person",
        r"\beditors?\b|\bedited by\b",
        rf"\bedited\s+by\s+{_PERSON}",
        rf"\beditor(?:-in-chief)?(?:\s+(?:is|was))?\s+(?P<value>{NAME})",
        inverse=(r"\beditor of\b[^.]*SUBJECT",),
    ),
    _relation(
        "mother",
        "person",
        r"\bmother\b",
        rf"\b{_CHILD}\s+(?:and\s+heir\s+)?of\s+[^.;]*?(?:\band|\bby|\bwith)\s+(?:(?:his|her|the|their)\s+(?:\w+\s+)"
        rf"?(?:wife|consort|spouse|concubine|mistress|queen)\s*(?:consort\s+)?,?\s+)?{_PERSON}",
        rf"\bmother(?:\s+(?:was|is)(?:\s+the)?|,)?\s+(?:(?!of\b|to\b|and\b|in\b)[\p{{Ll}}]+\s+){{0,3}}(?P<value>"
        rf"{_TITLED})",
        rf"\bborn\s+to\s+[^.;]*?\band\s+(?:his\s+wife,?\s+)?{_PERSON}",
        rf"\b(?:son|daughter|child)\s+of\s+(?:actress|singer|Queen|Empress|Princess|writer)\s+(?P<value>{_TITLED})",
        inverse=(r"\bmother of\b[^.]*SUBJECT",),
    ),
    _relation(
        "father",
        "person",
        r"\bfather\b|\bdad\b",
        rf"\b{_CHILD}\s+(?:and\s+(?:heir|successor)\s+)?(?:of|to)\s+{_PERSON}",
        rf"\bfather(?:\s+(?:was|is)(?:\s+the)?|,)?\s+(?:(?!of\b|to\b|and\b|in\b)[\p{{Ll}}]+\s+){{0,3}}(?:King\s+|Si"
        rf"r\s+|Emperor\s+)?(?P<value>{_TITLED})",
        rf"\bborn\s+to\s+{_PERSON}",
        inverse=(r"\b(?:father of|children?|sons?|daughters?)\b[^.]*SUBJECT",),
    ),
    _relation(
        "spouse",
        "person",
        r"\bspouse\b|\bwife\b|\bhusband\b|\bmarried\b|\bmarry\b|\bmarries\b|\bwedded\b|\bpartner\b",
        rf"\b(?:wife|husband|spouse|consort|widow|widower)\s+of\s+{_PERSON}",
        rf"\b(?:[Mm]arried|wed)\s+(?:[\p{{Ll}}]+\s+){{0,4}}?{_PERSON}",
        rf"\bmarriage\s+(?:to|with)\s+{_PERSON}",
        rf"\b(?:wife|husband|spouse|consort|widow)(?:\s+(?:was|is)|,)?\s+(?:(?!of\b|and\b|in\b|from\b)[\p{{Ll}}]+\s"
        rf"+){{0,3}}?(?P<value>{_TITLED})",
        rf"\b[Qq]ueen\s+(?:consort\s+)?(?:of\s+\p{{Lu}}\p{{L}}+\s+)?(?:[\p{{Ll}}]+\s+)*(?:by\s+marriage\s+to|to|wit"
        rf"h)\s+{_PERSON}",
        inverse=(r"\b(?:married|wife|husband|spouse|consort|marriage)\b[^.]*SUBJECT",),
    ),
    _relation(
        "sibling",
        "person",
        r"\bsiblings?\b|\bbrother\b|\bsister\b",
        rf"\b(?:brother|sister|sibling|twin)s?\s+(?:of|to)\s+{_PERSON}",
        rf"\b(?:brother|sister|sibling|twin)s?(?:\s+(?:is|was|are|were)|,)?\s+(?:[\p{{Ll}}]+\s+){{0,2}}(?P<value>"
        rf"{_TITLED})",
        inverse=(r"\b(?:brother|sister)\b[^.]*SUBJECT",),
    ),
    _relation(
        "child",
        "person",
        r"\bchild\b|\bson\b|\bdaughter\b|\bchildren\b",
        rf"\b(?:father|mother)\s+(?:of|to)\s+{_PERSON}",
        rf"\b(?:son|daughter|child|children)(?:\s+(?:was|is|were|are|named|called)|,)*\s+(?:[\p{{Ll}}]+\s+){{0,2}}("
        rf"?P<value>{_TITLED})",
        inverse=(rf"\b{_CHILD}\s+of\b[^.]*SUBJECT",),
    ),
    _relation(
        "date of death",
        "date",
        r"\bdate of death\b|\bdeath date\b|\bwhen\b.*\bdie\b|\byear\b.*\bdie\b|\bdie(?:d|s)?\s+(?:first|earlier|lat"
        r"er|before|last)\b",
        rf"{_OPEN}[^()]*?{_DASH}(?:[^()\d]*?,\s*)?{_ABOUT}(?:\d{{1,2}}\s+or\s+)?(?P<value>{DATE})",
        rf"{_OPEN}(?:[^()]*?[;,]\s*)?(?:died|d\.)\s*(?:on|in)?\s*{_ABOUT}(?P<value>{DATE})",
        rf"\b(?:died|was\s+killed|was\s+murdered|was\s+executed|was\s+assassinated|drowned|committed\s+suicide)\b[^"
        rf".;()]*?\b(?:on|in)\s+{_ABOUT}(?P<value>{DATE})",
        rf"\b(?:until|to)\s+(?:his|her)\s+death\s+(?:on|in)\s+(?P<value>{DATE})",
        rf"\bdeath\b[^.;()]{{0,60}}?\b(?P<value>{DATE})",
        rf"{_OPEN}{_YEAR}{_DASH}(?P<value>{_YEAR})\s*\)",
        rf"{_OPEN}[^()]*?\d{{4}}(?P<value>{DATE})\)",
    ),
    _relation(
        "date of birth",
        "date",
        r"\bdate of birth\b|\bbirth ?dates?\b|\bbirthday\b|\bwhen\b.*\bborn\b|\byear\b.*\bborn\b|\bborn\s+(?:first|"
        r"earlier|later|before|last|in (?:what|which) year)\b|\b(?:older|younger|oldest|youngest)\b",
        rf"{_OPEN}(?:[^()]*?[;,]\s*)?(?:born|b\.)\s*(?:[\p{{Lu}}][^()\d]*?[,;]\s*)?(?:on|in)?\s*{_ABOUT}(?P<value>"
        rf"{DATE})",
        rf"{_OPEN}(?:[^()\d]*?[;,]?\s*)?{_ABOUT}(?P<value>{DATE})(?:\s*/\s*\d+)?(?:,[^()]*?|\s+in\s[^()\d]*?)?\s*(?"
        rf":[-–—]|to\b|(?={_MONTH})|(?=\d{{1,2}}\s+{_MONTH})|\d{{4}}\))",
        rf"\bborn\b[^.;()]*?\b(?:on|in)\s+(?:the\s+)?{_ABOUT}(?P<value>{DATE})",
        rf"{_OPEN}{_ABOUT}(?P<value>{DATE})\s+[^()\d]*\)",
        rf"\bborn\s+{_ABOUT}(?P<value>{DATE})",
        rf"{_OPEN}{_ABOUT}(?P<value>{DATE})\s*\)",
    ),
    _relation(
        "place of death",
        "place",
        r"\bplace of death\b|\bwhere\b.*\b(?:die|died)\b|\b(?:city|town|country|place|state)\b.*\bdie[ds]?\b|\bplac"
        r"e\b.*\bdied\b",
        rf"\b(?:died|was\s+killed|was\s+murdered|was\s+executed|was\s+assassinated|drowned)\b[^.;]*?\b(?:in|at|near"
        rf")\s+{_PLACE_NAME}(?<!{_MONTH})(?<!{_MONTH}\s\d{{4}})",
        rf"{_OPEN}[^()]*?{_DASH}(?:{DATE},?\s+(?:in|at)?\s*(?P<value>{NAME}))",
        rf"{_OPEN}[^()]*?{_DASH}(?:in\s+)?(?P<value>(?!{_MONTH}){NAME})",
        rf"\bdeath\b[^.;]*?\b(?:in|at)\s+{_PLACE_NAME}(?<!{_MONTH})",
    ),
    _relation(
        "place of birth",
        "place",
        r"\bplace of birth\b|\bbirth ?place\b|\bwhere\b.*\bborn\b|\b(?:city|town|country|place|state|county|village"
        r")\b.*\bborn\b",
        rf"\b[Bb]orn\b[^.;()]*?\b(?:in|at|near)\s+(?:the\s+(?:\p{{Ll}}+\s+){{1,4}}of\s+|(?:a|the)\s+(?:\p{{Ll}}+\s+"
        rf"){{0,4}}(?:in|at)\s+)?(?:the\s+)?(?!{_MONTH}\b)(?P<value>{NAME})",
        rf"{_OPEN}(?:born|b\.)[^()]*?\b(?:in|at)\s+(?P<value>(?!{_MONTH}\b){NAME})",
        rf"{_OPEN}(?:born|b\.)\s*{DATE}\s*,\s*(?P<value>(?!{_MONTH}\b){NAME})",
        rf"{_OPEN}(?:born\s+)?(?P<value>(?!{_MONTH}\b){NAME})(?:,\s*{NAME})*,\s*{DATE}\s*[-–—]",
        rf"{_OPEN}{DATE},?\s+(?:in\s+)?(?P<value>(?!{_MONTH}\b){NAME})(?:,\s*{NAME})*\s*[-–—]",
        rf"{_OPEN}{_ABOUT}{DATE}\s+in\s+(?P<value>{NAME})",
        rf"{_OPEN}born[^()]*\)\s+(?:in|at|from)\s+{_PLACE_NAME}",
        rf"{_OPEN}(?P<value>(?!{_MONTH}\b){NAME})(?:,\s*{NAME})*,\s*{DATE}\s*\)",
        rf"\b(?:native|resident)\s+of\s+{_PLACE_NAME}",
        rf"\b(?:hails|comes|originally|is|was)\s+from\s+{_PLACE_NAME}",
        rf"\b(?:grew\s+up|raised)\s+in\s+{_PLACE_NAME}",
        rf"\b(?:[Ff]rom|based\s+in)\s+{_PLACE_NAME}",
    ),
    _relation(
        "place of burial",
        "place",
        r"\bburi(?:ed|al)\b",
        rf"\b(?:buried|interred|laid\s+to\s+rest|entombed)\b[^.;]*?\b(?:in|at)\s+{_PLACE_NAME}",
    ),
    _relation(
        "cause of death",
        "text",
        r"\bcause of death\b|\b(?:why|how|of what)\b.*\b(?:die|died)\b",
        r"\b(?:died|dies|death)\b[^.;]*?\b(?:of|from)\s+(?:an?\s+|the\s+)?(?P<value>[\p{Ll}][\p{Ll}\s-]*?)(?=\s+(?:"
        r"in|on|at|and|after|when|while|during|shortly|aged)\b|[.,;()]|$)",
        r"\bcommitted\s+(?P<value>suicide)\b",
        r"\bwas\s+(?P<value>murdered|assassinated|executed|killed|hanged)\b",
    ),
    _relation(
        "award",
        "name",
        r"\bawards?\b|\bprize\b|\bmedal\b|\bhonou?r\b",
        rf"\b(?:won|received?|receiving|winning|earned|awarded|recipient\s+of|winner\s+of|honou?red\s+with)\b[^.;]*"
        rf"?(?P<value>{NAME}\s+(?:Award|Prize|Medal|Order|Fellowship)s?(?:\s+(?:for|of)\s+{NAME})?)",
        rf"\b(?:won|received|awarded|earned)\s+(?:the|an?)\s+(?P<value>{NAME})",
    ),
    _relation(
        "education",
        "name",
        r"\bgraduate[ds]?\b|\beducated\b|\bstud(?:y|ied)\b|\balma mater\b|\battend(?:ed)?\b",
        rf"\b(?:graduated|graduating|graduate)\b[^.;]*?\b(?:from|of|at)\s+(?:the\s+)?(?P<value>{NAME})",
        rf"\b(?:educated|studied|studying|studies|study|degree|doctorate|Ph\.?D\.?|diploma)\b[^.;]*?\b(?:at|from)\s"
        rf"+(?:the\s+)?(?P<value>{NAME})",
        rf"\b(?:attended|attending|alumnus\s+of|enrolled\s+(?:at|in)|entered)\s+(?:the\s+)?(?P<value>{NAME})",
        rf"(?P<value>{NAME}\s+(?:University|College|School|Institute|Academy))\b",
    ),
    _relation(
        "employer",
        "name",
        r"\bwork(?:s|ed)?\s+(?:at|for)\b|\bemployer\b|\bemployed\b|\bwork at\b",
        rf"\b(?:professor|lecturer|teacher|researcher|faculty|fellow|instructor|dean|taught|teaches|works?|worked|w"
        rf"orking|employed|joined)\b[^.;]*?\b(?:at|for|of|with|by)\s+(?:the\s+)?(?P<value>{NAME}(?:\s+(?:University"
        rf"|College|School|London))?)",
        rf"(?P<value>{NAME}\s+(?:University|College|School|Institute|Academy))\b",
    ),
    _relation(
        "occupation",
        "text",
        r"\boccupation\b|\bprofession\b|\bfor a living\b|\bjob\b",
        r"\b(?:is|was|were|are)\s+(?:an?|the)\s+(?P<value>[^.;()]+)",
    ),
    _relation(
        "date of publication",
        "date",
        r"\b(?:came|come|comes) out\b|\breleased?\b|\bpublished\b|\bpublication date\b|\bolder film\b|\bpremiered?\b",
        rf"\b(?:is|was|are)\s+(?:an?|the)\s+(?:[\p{{L}}\s-]+,\s+)?(?P<value>{_YEAR})\b",
        rf"\b(?:released|published|premiered|issued|came\s+out|first\s+aired|debuted|broadcast|opened|aired)\b[^.;]"
        rf"*?\b(?:on|in|of|from)\s+(?P<value>{DATE})",
        rf"\b(?:film|album|song|novel|book|single|series|movie|game|play|EP|magazine|drama|comedy)\b[^.;]{{0,40}}?"
        rf"\b(?:from|of|in)\s+(?P<value>{DATE})",
        rf"{_OPEN}(?P<value>{_YEAR})\s*\)",
        rf"\b(?P<value>{_YEAR})\s+(?:[\p{{L}}-]+\s+){{0,4}}(?:film|album|song|novel|movie|single|series|comedy|drama)",
        rf"\bin\s+(?P<value>{DATE})",
    ),
    _relation(
        "inception",
        "date",
        r"\b(?:founded|established|formed|created|started|launched|built|opened|incorporated|inception|constructed)\b",
        rf"\b(?:[Ff]ounded|established|formed|created|started|launched|built|opened|incorporated|organi[sz]ed|const"
        rf"ructed|completed|began|begun|inaugurated|initially|originated)\b[^.;]*?\b(?:in|on|since|of)\s+(?:the\s+)"
        rf"?(?:early\s+|late\s+)?{_ABOUT}(?P<value>{DATE})",
        rf"\b(?:since|from)\s+(?P<value>{DATE})",
        rf"{_OPEN}(?:est\.?|founded|formed)?\s*(?P<value>{_YEAR})",
        rf"\bin\s+(?P<value>{DATE})",
    ),
    _relation(
        "country",
        "nationality",
        r"\bnationality\b|\bcitizenship\b|\bsame country\b|\bwh(?:ich|at) country\b|\bfrom (?:the same|wh\w+) count"
        r"ry\b|\bcountry\b|\bwhat nationality\b",
    ),
)
"""In the order in which words of a question are taken: of two relations that ask with the same words the first one."""

_MONTHS: Final = {name: number for number, name in enumerate(calendar.month_name) if name}


def date_key(date: str) -> tuple[int, int, int]:
    """Return year, month and day of a date, to compare it; 0 where it has none.

    >>> date_key("May 4, 1961") < date_key("10 August 1961"), date_key("995")
    (True, (995, 0, 0))
    """
    year = regex.search(r"(?<!\d)\d{3,4}(?!\d)", date)
    month = next((number for name, number in _MONTHS.items() if name in date), 0)
    day = regex.search(r"(?<!\d)\d{1,2}(?!\d)", date)
    return (int(year[0]) if year else 0), month, (int(day[0]) if day and month else 0)


def iso_of(date: str) -> str:
    """Return a date as ISO 8601 writes it, as far as it goes.

    >>> iso_of("May 4, 1961"), iso_of("July 1922"), iso_of("995")
    ('1961-05-04', '1922-07', '0995')
    """
    year, month, day = date_key(date)
    return f"{year:04}" + (f"-{month:02}" if month else "") + (f"-{day:02}" if day else "")
