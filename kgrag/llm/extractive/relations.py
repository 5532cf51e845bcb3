"""Relations that questions name and how English texts state them: ``director`` and "directed by".

One row per relation. A further row is all that a further relation needs: its nouns in questions, the verbs that ask for
it, and patterns of the text about its subject, in which ``NAME`` stands where the name of the object begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.nationalities import DEMONYM

__all__ = ["ATTRIBUTES", "COMPOSED", "NOUNS", "RELATIONS", "VERBS", "Relation", "names_stated"]


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation to somebody or something that has a name.

    Args:
        nouns: by which questions ask for it, without plural.
        patterns: of the text about its subject; ``NAME`` is where the object is.
        verbs: of questions ("who directed").
    """

    nouns: tuple[str, ...]
    patterns: tuple[str, ...]
    verbs: tuple[str, ...] = ()


_ALSO = r"(?:[\s,]+(?:and\s+|&\s*)?(?:co-?\s?)?(?:\p{Ll}+ed|written|sung|made|scored)\b)*"
"""Further participles before "by": "directed, produced, and co-written by"."""
_MARRIED = r"(?:was|is|were|has been|had been|got|later|first|secondly|then)?\s*(?:re)?married"


def _by(*verbs: str) -> tuple[str, ...]:
    """Return the patterns of a passive and of its noun with "by"."""
    return tuple(rf"\b(?:co-?\s?)?{verb}\b{_ALSO}\s+(?:for \S+ )?by\s+NAME" for verb in verbs)


_CHILD = r"\b(?:son|daughter|child)\s+(?:and \p{Ll}+ )?(?:of|to)\s+NAME"
RELATIONS: Mapping[str, Relation] = {
    "director": Relation(
        ("director", "film director", "movie director", "filmmaker"),
        (*_by("directed"), r"\bdirector,?\s+NAME", r"\bfilm\s+(?:by|of)\s+NAME", r"\bdirection of\s+NAME"),
        ("directed",),
    ),
    "producer": Relation(("producer", "film producer"), (*_by("produced"), r"\bproducer,?\s+NAME"), ("produced",)),
    "screenwriter": Relation(
        ("screenwriter", "scriptwriter", "writer of the screenplay"),
        (r"\bscreen\s?play\b[^.;]{0,12}\bby\s+NAME", r"\bscript\b[^.;]{0,12}\bby\s+NAME", *_by("written")),
        ("wrote the screenplay for",),
    ),
    "author": Relation(
        ("author", "writer", "novelist", "playwright"),
        (
            *_by("written", "authored"),
            r"\b(?:novel|book|play|story|poem|memoir|essay|work|trilogy|series|comic|manga|collection)\b(?:\s+\p{Ll}+){0,3}\s+(?:by|of)\s+NAME",
            r"\b(?:author|novelist|writer)\s+NAME",
        ),
        ("wrote", "authored"),
    ),
    "composer": Relation(
        ("composer", "songwriter", "lyricist"),
        (
            *_by("composed", "scored"),
            r"\bmusic\b[^.;]{0,25}\bby\s+NAME",
            r"\bscore\b[^.;]{0,15}\bby\s+NAME",
            r"\bcomposer,?\s+NAME",
            r"\b(?:song|opera|ballet|symphony|operetta|concerto|hymn|march)\b[^.;]{0,25}\bby\s+NAME",
            *_by("written"),
        ),
        ("composed", "scored"),
    ),
    "performer": Relation(
        ("performer", "singer", "recording artist", "artist"),
        (
            *_by("performed", "recorded", "sung", "released"),
            r"\b(?:song|single|album|track|EP|ballad|hit)\b[^.;]{0,40}\b(?:by|of)\s+NAME",
        ),
        ("performed", "sang", "recorded"),
    ),
    "founder": Relation(
        ("founder", "co-founder"),
        (*_by("founded", "established", "set up", "started"), r"\bfounder,?\s+(?:was |is )?NAME"),
        ("founded", "established", "started"),
    ),
    "creator": Relation(("creator",), (*_by("created", "designed", "painted", "developed"),), ("created", "painted")),
    "developer": Relation(("developer",), (*_by("developed"),), ("developed",)),
    "publisher": Relation(("publisher",), (*_by("published"),), ("published",)),
    "editor": Relation(("editor",), (*_by("edited"),), ("edited",)),
    "architect": Relation(("architect",), (*_by("designed"), r"\barchitect,?\s+NAME"), ("designed",)),
    "inventor": Relation(("inventor",), (*_by("invented"),), ("invented",)),
    "owner": Relation(("owner",), (*_by("owned"),), ("owns", "owned")),
    "father": Relation(("father", "dad"), (r"\bfather(?:,| was| is)?\s+(?:the\s+)?NAME", _CHILD, r"\bborn to\s+NAME")),
    "mother": Relation(
        ("mother", "mom", "mum"),
        (r"\bmother(?:,| was| is)?\s+(?:the\s+)?NAME", _CHILD, r"\bborn to\s+NAME"),
    ),
    "spouse": Relation(
        ("spouse", "wife", "husband", "partner", "consort", "widow", "widower"),
        (
            r"\b(?:wife|husband|spouse|widow|widower|consort|partner)\s+of\s+NAME",
            r"\b(?:his|her|whose)\s+(?:\p{Ll}+\s+)?(?:wife|husband|spouse)(?:,| was| is)?\s+(?:the\s+)?NAME",
            rf"\b{_MARRIED}\s+(?:to\s+)?(?:the\s+)?NAME",
            r"\bmarriage (?:to|with)\s+NAME",
            r"\bduring the reign of\s+NAME",
        ),
        ("married", "is married to", "was married to"),
    ),
    "child": Relation(
        ("child", "son", "daughter"),
        (
            r"\b(?:father|mother|parent)\s+of\s+(?:the\s+)?NAME",
            r"\b(?:his|her|their|one)\s+(?:\p{Ll}+\s+)?(?:son|daughter|child)(?:,| was| is)?\s+NAME",
        ),
    ),
    "sibling": Relation(
        ("sibling", "brother", "sister"),
        (
            r"\b(?:brother|sister|sibling)\s+of\s+(?:the\s+)?NAME",
            r"\b(?:his|her)\s+(?:\p{Ll}+\s+)?(?:brother|sister|sibling)(?:,| was| is)?\s+NAME",
        ),
    ),
    "capital": Relation(("capital", "capital city"), (r"\bcapital(?: city)?(?: is| was|,)\s+NAME",)),
    "capital of": Relation((), (r"\bcapital(?:\s+\p{Ll}+){0,4}\s+of\s+(?:the\s+)?NAME",)),
    "employer": Relation(("employer",), (r"\b(?:works|worked|working) (?:for|at)\s+(?:the\s+)?NAME",)),
    "school": Relation(
        ("alma mater", "school", "university", "college"),
        (
            r"\b(?:educated|studied|enrolled|taught)\b[^.;]{0,50}?\b(?:at|in)\s+(?:the\s+)?NAME",
            r"\b(?:graduat\w+|degree)\b[^.;]{0,50}?\b(?:from|at)\s+(?:the\s+)?NAME",
            r"\b(?:attended|attending)\s+(?:the\s+)?NAME",
        ),
    ),
}
"""The relations by their names."""

COMPOSED: Mapping[str, tuple[str, ...]] = {
    "paternal grandfather": ("father", "father"),
    "paternal grandmother": ("father", "mother"),
    "maternal grandfather": ("mother", "father"),
    "maternal grandmother": ("mother", "mother"),
    "father-in-law": ("spouse", "father"),
    "mother-in-law": ("spouse", "mother"),
    "child-in-law": ("child", "spouse"),
    "son-in-law": ("child", "spouse"),
    "daughter-in-law": ("child", "spouse"),
    "stepmother": ("father", "spouse"),
    "stepfather": ("mother", "spouse"),
}
"""Relations that are several others, in the order in which they are followed."""

ATTRIBUTES: Mapping[str, tuple[str, ...]] = {
    "birth date": ("date of birth", "birth date", "birthdate", "birthday", "year of birth"),
    "death date": ("date of death", "death date", "year of death"),
    "birth place": ("place of birth", "birthplace", "birth place"),
    "death place": ("place of death", "death place", "deathplace"),
    "burial place": ("place of burial", "burial place", "burialplace"),
    "nationality": ("nationality", "country of citizenship", "citizenship", "country of origin", "country"),
    "occupation": ("occupation", "profession", "job"),
    "cause of death": ("cause of death",),
    "release date": ("release date", "date of release", "publication date", "date of publication"),
    "founding date": ("date of foundation", "founding date", "date of establishment", "inception"),
}
"""What a passage states about its subject that is no name of somebody, by the nouns of questions."""

NOUNS: Mapping[str, tuple[str, ...]] = {
    **{noun: (name,) for name, relation in RELATIONS.items() for noun in relation.nouns},
    **{noun: (name,) for name, nouns in ATTRIBUTES.items() for noun in nouns},
    **COMPOSED,
}
"""Noun of a question -> the relations and attributes that are followed for it."""
VERBS: Mapping[str, str] = {verb: name for name, relation in RELATIONS.items() for verb in relation.verbs}
"""Verb of a question -> relation."""

_WORD = r"(?:\p{Lu}[\p{L}\p{M}'’.]*(?:-\s?\p{Lu}?[\p{L}\p{M}'’.]+)*|(?:[A-Z]\.\s?)+)"
_PARTICLE = r"(?:of|de|la|le|los|las|van|von|der|den|du|di|da|dos|del|della|the|bin|ibn|bint|al|el|y|zu|ter|ten|af|av)"
_RANK = (
    r"(?:,\s+(?:\d+(?:st|nd|rd|th)\s+)?(?:Earl|Duke|Baron|Baronet|Count|Marquess|Marquis|Viscount|King|Prince|Lord|"
    rf"Landgrave|Margrave|Elector|Duchess|Countess|Baroness|Queen|Princess)\b(?:\s+of(?:\s+the)?(?:\s+{_WORD})+|"
    rf"\s+{_WORD})?)?"
)
_NO_NAME = rf"(?:{DEMONYM}(?:-\p{{L}}+)?|\p{{Lu}}[\p{{L}}-]*-(?:based|born|language))"
_FULL_NAME = rf"(?!{_NO_NAME}\s){_WORD}(?:\s+(?:{_PARTICLE}\s+){{0,3}}{_WORD})*(?:,\s+(?:Jr|Sr)\.)?{_RANK}"
_BEFORE = rf"(?:(?:\p{{Ll}}[\p{{L}}-]*|(?:\p{{L}}+-)?{_NO_NAME}),?\s+){{0,5}}?"
"""Words between a pattern and the name: "by American singer …"."""
_SECOND = (
    r"(?:\s*\([^)]*\)|,\s+(?:\p{Ll}[^,.;]{2,60}),)?,?\s+(?:and|by|with)(?:\s+(?:by|with))?\s+(?:(?:his|her)\s+)?(?:\p{Ll}+\s+){0,3}?"
    rf"(?P<second>{_FULL_NAME})"
)
_FEMALE = late_regex(r"\b(?:actress|Queen|Princess|Lady|Countess|Duchess|Empress|Baroness|mother|wife|Dame|Mrs)\b")
_RULER = late_regex(r"^(?:Duke|Count|King|Queen|Emperor|Empress|Margrave|Landgrave)\s+(?=\p{Lu}\p{Ll}+\s)")
_COMPILED: dict[str, list[regex.Pattern[str]]] = {}


def _compiled(relation: str) -> list[regex.Pattern[str]]:
    if relation not in _COMPILED:
        _COMPILED[relation] = [
            regex.compile(
                pattern.replace(" ", r"\s+").replace(
                    "NAME", rf"(?P<role>{_BEFORE})[\"“]?(?P<name>{_FULL_NAME})(?:{_SECOND})?"
                )
            )
            for pattern in RELATIONS[relation].patterns
        ]
    return _COMPILED[relation]


def names_stated(relation: str, sentence: str) -> Iterator[str]:
    """Yield the names to which a sentence about a subject states a relation, the surest pattern first."""
    for pattern in _compiled(relation):
        for found in pattern.finditer(sentence):
            for name in _named(relation, found):
                yield _RULER.sub("", name.strip().rstrip(".,").removesuffix("'s").removesuffix("’s"))


def _named(relation: str, found: regex.Match[str]) -> Iterator[str]:
    """Yield the name; of two parents the one that is likely meant first."""
    first, second = found["name"], found["second"] or ""
    if relation not in ("father", "mother") or regex.match(r"father|mother", found[0]):
        yield from filter(None, [first, second])
        return
    mother_first = _FEMALE.search(found["role"] + first) is not None
    father_first = relation == "father" and not mother_first
    if father_first or (relation == "mother" and mother_first) or not second:
        yield from filter(None, [first, second])
    else:
        yield from (second, first)
