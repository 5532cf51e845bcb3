"""The cues of an attribute of an ontology in a text: words that express it, and the kind of its values.

The wordings are a hand-made list of how texts express such attributes, in stems; it was written with training sentences
of Text2KGBench in view. An attribute that is not in it is looked for by the words of its own label.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import term, terms
from kgrag.text.sentences import word_set
from kgrag.vocab import words_of

__all__ = ["Attribute", "read_attribute"]

_MIN_SHARED_LETTERS = 4  # with which stems of one root begin: "creator", "creat"
_DATE_WORDS = word_set("date year inception epoch calendar gyear gyearmonth datetime aired")
_NUMBER_WORDS = word_set(
    """number integer double float decimal nonnegativeinteger count height length area population elevation runtime mass
    temperature speed weight density apoapsis periapsis period magnitude duration width depth budget gross"""
)
# Terms that express no attribute by themselves.
_GENERIC_TERMS = word_set(
    """place date year has person number or of and by in work title thing type field site total time metr second
    kilometr"""
)
_AGENT_LABEL = late_regex(r"(?:or|er|ist|ect|ing)$")
_ACTIVE_VERB = late_regex(r"(?:ed|wrote|s|led|built)$")
_PLACE_WORDS = word_set("place location site residence venue ground located")
_ROLE_LABELS = word_set("occupation profession")
_PREPOSITION_ENDINGS = (" by", " for", " on", " of", " in", " at")
_WORDINGS = {
    "birth place": "born",
    "birth date": "born",
    "birth year": "born",
    "death place": "died|passed away",
    "death date": "died|passed away",
    "death year": "died",
    "director": "directed",
    "writer": "written|wrote|screenplay",
    "screenwriter": "written|screenplay|wrote",
    "author": "novel by|book by|written by|story by|collection by|novels by|author",
    "lyrics by": "lyrics|written",
    "composer": "composed|music by|written",
    "music composer": "music|composed|score",
    "creator": "created",
    "founded by": "founded",
    "producer": "produced",
    "editor": "edited",
    "editing": "edited|editor",
    "illustrator": "illustrated|illustrations",
    "publisher": "published",
    "developer": "developed",
    "architect": "designed|architect",
    "builder": "built|builder",
    "manufacturer": "manufactured|made|produced",
    "performer": "song by|recorded by|performed by|album by|single by|sung by|recorded by|songs by",
    "artist": "album by|recorded by|artist",
    "record label": "label|released on|released by|released through|signed",
    "publication date": "released|published|premiered",
    "release date": "released",
    "inception": "founded|established|formed|created|launched",
    "starring": "starring|stars|starred",
    "cast member": "starring|stars|starred|features|cast|played by",
    "characters": "character|featuring|protagonist",
    "country of origin": "film from",
    "narrative location": "set in|takes place",
    "filming location": "filmed in|shot in|filmed at|shot at|took place",
    "based on": "based on|adaptation of|adapted from|inspired by",
    "award received": "won|received|awarded",
    "nominated for": "nominated|nomination",
    "production company": "produced",
    "distributor": "distributed",
    "discoverer": "discovered",
    "site of astronomical discovery": "discovered",
    "constellation": "constellation",
    "successor": "succeeded|successor|followed by",
    "predecessor": "preceded|predecessor",
    "followed by": "followed by|succeeded by",
    "preceded by": "preceded by",
    "operating organisation": "operated|run by|operates",
    "location": "located|situated|lies",
    "is part of": "part of",
    "part of": "album",
    "ethnic group": "ethnic group|ethnic groups",
    "leader": "led by|leader|leaders|mayor",
    "leader name": "led by|leader",
    "owner": "owned|owner|owns",
    "elevation above the sea level": "sea level|elevation|elevated",
    "elevation": "sea level|elevation",
    "residence": "resides|lived|lives|residence",
    "alma mater": "graduated|attended|alma|studied|educated",
    "spouse": "married|spouse|wife|husband",
    "award": "awarded|award|awards",
    "broadcasted by": "broadcast|aired|airs",
    "city served": "serves|served",
    "ground": "ground|grounds|home ground|play at|plays at|stadium",
    "home venue": "stadium|home venue|play at",
    "club": "plays for|played for|club|member of",
    "member of sports team": "plays for|played for|member of|signed|joined",
    "member of political party": "member of|party",
    "party": "party|member of",
    "league": "league|plays in|play in",
    "coach of sports team": "coach|manager|managed|coached",
    "manager": "managed|manager",
    "office": "served as|worked as|office of",
    "position held": "served as|elected|appointed|president|minister",
    "nationality": "nationality|national",
    "assembly": "assembled|assembly",
    "mission": "crew|mission|member of",
    "astronaut mission": "mission|crew|flew on|aboard",
    "battle": "fought|battle|involved in|participated|battles",
    "runtime": "runtime|running time|runs|minutes|long",
    "ingredient": "ingredient|ingredients|contains|includes",
    "main ingredient": "main ingredient|ingredients|ingredient|made from|made with",
    "population density": "population density|density",
    "population total": "population",
    "population metro": "metropolitan population|metropolitan|metro",
    "area total": "total area|area",
    "orbital period": "orbital period|orbit",
    "runway length": "runway length|length",
    "runway name": "runway name|runway",
    "floor count": "floors|storeys|stories",
    "height": "tall|height|high",
    "length": "long|length",
    "cost": "cost|costs",
    "capital": "capital",
    "currency": "currency",
    "language": "language|languages|spoken|speak",
    "language of work or name": "language",
    "languages spoken, written or signed": "language|wrote in|translated|speaks",
    "stylistic origin": "origins|origin|derived|originated",
    "derivative": "derivative",
    "genre": "genre|genres",
    "related mean of transportation": "related",
    "associated band/associated musical artist": "associated",
    "country": "dish from|from the country|country|located in|comes from",
    "region": "region",
    "head of state": "president|monarch|king|queen|head of state",
    "head of government": "prime minister|head of government|chancellor",
    "platform": "released for|available for|for the|on the|platform",
    "operating system": "operating system|runs on",
    "instrumentation": "for|scored for|instrumentation",
    "political ideology": "ideology",
    "completion date": "completed|finished|built in",
    "building start date": "construction|began",
    "launch site": "launched from|launched at|launch site|launched",
    "professional field": "field|fields",
    "known for": "known for|famous for",
    "former name": "formerly|former name|previously",
    "alternative name": "also known|alternative name|alternatively|nickname",
    "address": "address|located at",
    "tenant": "tenant|tenants|occupied by",
    "current tenants": "tenant|tenants|home to",
    "active years start date": "started|began|career|starting",
    "active years end date": "ended|retired",
    "epoch": "epoch",
    "foundation place": "founded in|founded at",
    "dish variation": "variation|variations|variant",
    "utc offset": "offset",
    "time zone": "time zone|zone",
    "demonym": "demonym",
    "origin": "originates|comes from|originated|from",
    "icao location identifier": "icao",
    "iata location identifier": "iata",
    "country for sport": "representing|represented|competed for",
    "tracklist": "tracks",
}


@dataclass(frozen=True, slots=True)
class Attribute:
    """The cues of an attribute (each the stems of words near each other) and the kind of its values.

    ``noun``: its label is a noun ("director"), so that a name before "is its director" is a value; ``agent``: its value
    does something ("director"); ``year``: of a date only the year is asked for; ``role``: its values are professions
    ("was a politician"); ``place``: its values are places; ``word`` is its label if that is one word, else "".
    """

    cues: tuple[tuple[str, ...], ...]
    kind: Literal["name", "date", "number"]
    noun: bool
    agent: bool
    year: bool = False
    role: bool = False
    place: bool = False
    word: str = ""

    def part(self, text: str) -> str:
        """Return the part of a date that is asked for."""
        year = regex.search(r"\d{4}", text) if self.year else None
        return year[0] if year else text

    def alike(self, stem: str, wanted: str) -> bool:
        """Return whether two stems begin alike: "creator" and "creat"."""
        if stem == wanted:
            return True
        shorter = min(len(stem), len(wanted))
        shared = max(_MIN_SHARED_LETTERS, shorter - 1)
        return shorter >= shared and stem[:shared] == wanted[:shared]

    @staticmethod
    def beginning(stem: str) -> str:
        """Return what is the same of all stems that are alike, for looking them up."""
        return stem[:_MIN_SHARED_LETTERS]

    def active(self, word: str, after: str) -> bool:
        """Return whether a word is a verb whose subject is the value: "created", not followed by "by"."""
        return self.agent and bool(_ACTIVE_VERB.search(word)) and not after.lstrip().startswith("by")


@cache
def read_attribute(label: str, range_: str) -> Attribute:
    """Return the cues and the kind of an attribute, from its label and range.

    >>> read_attribute("birthDate", "").kind, read_attribute("birthDate", "").cues
    ('date', (('birth',),))
    """
    name = words_of(label).strip().casefold()
    words, range_words = set(name.split()), set(words_of(range_).casefold().split())
    kind: Literal["name", "date", "number"] = "name"
    if (range_words | words) & _DATE_WORDS:
        kind = "date"
    elif range_words & _NUMBER_WORDS or (words & _NUMBER_WORDS and not range_words):
        kind = "number"
    wordings = [tuple(term(word) for word in wording.split()) for wording in _WORDINGS.get(name, "").split("|")]
    own = tuple(one for one in terms(name) if one not in _GENERIC_TERMS) or tuple(terms(name))
    return Attribute(
        cues=tuple(dict.fromkeys(cue for cue in [*wordings, own] if cue)),
        kind=kind,
        noun=not name.endswith(_PREPOSITION_ENDINGS),
        agent=kind == "name" and (bool(_AGENT_LABEL.search(name)) or name.endswith(" by")),
        year="year" in words,
        role=name in _ROLE_LABELS,
        place=bool(_PLACE_WORDS & words),
        word=name if len(words) == 1 else "",
    )
