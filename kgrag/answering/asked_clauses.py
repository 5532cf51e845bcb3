"""Which clause of a sentence a question is about, where one clause says that something is so and another that it isn't.

"Parking fees are reimbursed; parking fines are not" answers both "Are parking fees reimbursed?" and "Are parking fines
reimbursed?", each by another clause. A clause that leaves its predicate or its subject out ("dogs may not", "im Lager
nicht", "mais interdits dans le petit") has that of the clause before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms

__all__ = ["AskedClause", "asked_clause"]


def _caseless(text: str) -> regex.Pattern[str]:
    return late_regex(text, flags=regex.IGNORECASE)


_SEPARATOR = _caseless(
    r"\s*(?P<full>;)\s*|(?<=\p{Ll}{3}|[\p{N})]{2})(?P<full>[.!?])\s+(?=\p{Lu})|\s*,\s*(?P<full>aber|jedoch|sondern)\b\s*"
    r"|\s*,?\s*\b(?P<full>but|whereas|mais|tandis\s+que|alors\s+que)\b\s*"
    r"|\s*(?P<part>,)\s+(?:(?:and|und|et|while|während)\s+)?|\s+(?P<joint>and|und|et)\s+"
)
_FINITE = MappingProxyType(
    {
        ENGLISH: r"is|are|was|were|has|have|had|do|does|did|may|might|can|could|must|will|would|shall|should|need"
        r"|cannot",
        "de": r"ist|sind|war|waren|wird|werden|wurden?|darf|dürfen|durften?|kann|können|muss|müssen|soll|sollen|hat"
        r"|haben",
        "fr": r"est|sont|était|étaient|a|ont|peut|peuvent|doit|doivent|sera|seront",
    }
)
_PREPOSITION = MappingProxyType(
    {
        ENGLISH: r"in|on|at|to|for|by|with|from|of|into|under|over|during|before|after|within|inside|outside|near",
        "de": r"im|in|ins|am|an|auf|aus|bei|beim|mit|nach|von|vom|vor|zu|zum|zur|für|über|unter|während|außerhalb"
        r"|innerhalb",
        "fr": r"dans|en|au|aux|à|sur|sous|pour|avec|de|du|des|chez|pendant|avant|après|hors",
    }
)
_REMNANT = MappingProxyType(
    {
        ENGLISH: _caseless(
            r"\A(?:\P{L}*\p{L}[\p{L}'’-]*){0,7}?\P{L}*\b(?:(?:is|are|was|were|do|does|did|may|can|could|must|will|shall|should|has|have"
            r"|had)(?:n['’]t|\s+not)?|cannot|not)\W*\Z|\Anot\s"
        ),
        "de": _caseless(
            r"\A(?!.*\b(?:ge\p{L}+t|\p{L}+en)\s+(?:wird|werden|darf|dürfen)\b)(?:[^,;]*\s)?(?:nicht|schon|ja)\W*\Z|\Anicht\s(?!nur\b)"
        ),
        "fr": _caseless(
            r"\A[^,;]*?(?:\bne\s+(?:l[ea]s?\s+|l['’])?\p{L}+\s+pas|\bn['’]\p{L}+\s+pas|\bpas|\bnon|\boui|\bsi)\W*\Z|\Apas\s"
        ),
    }
)
"""A clause that has left out what its predicate is: "dogs may not", "im Lager nicht", "les amendes ne le sont pas"."""
_SUBJECTLESS = MappingProxyType(
    {
        ENGLISH: _caseless(rf"\A(?:(?:it|they|he|she)\s+(?=\p{{L}})|(?:this|these)\s+(?=(?:{_FINITE[ENGLISH]})\b))"),
        "de": _caseless(rf"\A(?:(?:es|er|sie)\s+(?=\p{{L}})|(?:diese[rs]?)\s+(?=(?:{_FINITE['de']})\b))"),
        "fr": _caseless(r"\A(?:ils?|elles?)\s+(?=\p{L}|n['’])"),
    }
)
"""Stands for the subject of the clause before: "it is not paid out"."""
_VERB_FIRST = MappingProxyType(
    {code: _caseless(rf"\A(?=(?:ne\s+|n['’])?(?:{verbs})\s+\p{{L}}+\s+\p{{L}})") for code, verbs in _FINITE.items()}
)
"""Begins a clause that has the subject of the one before it: "(and) may not enter the laboratory"."""
_SUBORDINATE = _caseless(
    r"\A\W*(?:if|when(?:ever)?|although|because|since|wenn|falls|sofern|obwohl|weil|si|s['’]ils?|lorsque|quand)\b[^,;]*\Z"
)
"""Opens a sentence with a clause that the main one needs."""
_PRONOUN = _caseless(r"\A[^,;]{1,40}\s(?:it|they|he|she|er|sie|es|ils?|elles?)\b")
"""Has a pronoun as its subject behind a time or place: "sonntags ist er zu"."""
_ONE_OF = _caseless(r"\A(?:celui|celle|ceux|celles|th(?:at|ose)\s+of|the\s+ones?)\b")
"""Stands for a noun of the clause before: "celui de la voiture est interdit"."""
_SAME_TIME_OR_PLACE = _caseless(
    r"\b(?:(?:an\s+diesem|an\s+diesen|zu\s+dieser|in\s+diesem|in\s+dieser)\s+\p{L}+|dort|dann|dabei|(?:on|in|at|during)\s+(?:that|this|these|those)"
    r"\s+\p{L}+|there(?!\s+(?:is|are|was|were))|then|ce\s+jour|ces\s+jours|à\s+cette\s+\p{L}+|dans\s+ce\s+cas|alors)\b"
)
"""Refers to when or where something is in the clause before: "an diesem Tag kann nicht geliefert werden"."""
_IMPLIED = MappingProxyType(
    {
        ENGLISH: frozenset(terms("use used wear worn carry take place possible allow happen")),
        "de": frozenset(
            terms(
                "tragen getragen trägt benutzen benutzt verwenden verwendet nutzen genutzt möglich darf dürfen werden",
                "de",
            )
        ),
        "fr": frozenset(terms("porter porté portée portés utiliser utilisé utilisée possible", "fr")),
    }
)
"""Terms of what one does with a thing of a rule, which need not be said: gloves are prescribed to be worn."""


@dataclass(frozen=True, slots=True)
class AskedClause:
    """A clause that a question is about.

    Args:
        text: what it says, with what it takes from the clause before it.
        remnant: whether it left out what its predicate is, so that only ``denies`` tells what it says.
        denies: whether it says that something isn't so or may not be.
    """

    text: str
    remnant: bool = False
    denies: bool = False


@dataclass(frozen=True, slots=True)
class _Clause:
    text: str
    terms: frozenset[str]
    denies: bool
    donor: _Clause | None  # the clause that has what this one left out
    contrast: frozenset[str] = frozenset()  # of the donor: what this clause has something else for

    @property
    def own(self) -> frozenset[str]:
        """The terms that the clause has and its donor has not."""
        return self.terms - self.donor.terms if self.donor else self.terms


def asked_clause(
    asked: Collection[str], sentence: str, context: str, language: str, denies: Callable[[str], bool], polar: str
) -> AskedClause | None:
    """Return the clause of a sentence that has what is asked; the sentence where all its clauses say the same.

    Args:
        asked: terms of a question, without words of rules.
        sentence: what may answer it, with opposites in the words of the question.
        context: label and headings.
        language: of both; one of English, German and French.
        denies: returns whether a clause says that something isn't so or may not be.
        polar: words that allow or forbid, as a pattern.

    Returns:
        None where two clauses have it, or none.

    >>> found = asked_clause({"cat"}, "Cats may be kept, dogs may not.", "", "en", lambda one: " not" in one, "allowed")
    >>> found.text
    'Cats may be kept'
    """
    clauses = _clauses(sentence, language, denies, polar)
    if len({one.denies for one in clauses}) < 2:
        return AskedClause(sentence)
    stated = frozenset[str]().union(*(one.terms for one in clauses))
    known = (frozenset(terms(context, language)) - stated) | _IMPLIED[language]
    found = [one for one in clauses if _is_about(one, clauses, frozenset(asked), known)]
    if len(found) != 1:
        return None
    one = found[0]
    text = f"{one.donor.text} {one.text}" if one.donor else one.text
    return AskedClause(text, remnant=one.donor is not None, denies=one.denies)


def _is_about(clause: _Clause, clauses: Sequence[_Clause], asked: frozenset[str], known: frozenset[str]) -> bool:
    """Return whether a clause has what is asked, and by something that tells it from those with the contrary."""
    donor = clause.donor
    said = clause.terms | known | (donor.terms if donor else frozenset())
    if not asked <= said:
        return False
    if donor:
        contrast = clause.contrast - clause.terms - known
        return bool(asked & clause.own) and not (contrast and contrast <= asked)
    contrary = [one for one in clauses if one.donor is clause and one.denies != clause.denies]
    return all(asked & (one.contrast - one.terms - known) for one in contrary)


def _clauses(sentence: str, language: str, denies: Callable[[str], bool], polar: str) -> list[_Clause]:
    """Return the clauses of a sentence; one that left something out has the one before it as its donor."""
    begun = regex.compile(
        rf"\A\W*(?:(?:{_FINITE[language]})\s+)?(?:not\s+|nicht\s+|ne\s+est\s+pas\s+)?(?:{polar})\b", regex.I
    )
    found: list[_Clause] = []
    for piece in _pieces(sentence, language, begun):
        text = piece
        donor = next((one for one in reversed(found) if one.donor is None), None)
        opening = _SUBJECTLESS[language].match(text) or _VERB_FIRST[language].match(text)
        short = (
            donor is not None
            and not (opening and opening[0])
            and (
                _REMNANT[language].search(text) is not None
                or _ONE_OF.search(text) is not None
                or begun.search(text) is not None
                or _is_verbless(text, language)
            )
        )
        if donor and not short and _SAME_TIME_OR_PLACE.search(text):
            text = f"{donor.text}, {text}"
        elif donor and not short and not opening and _PRONOUN.match(text):
            text = f"{_subject(donor.text, language)} {text}"
        elif donor and not short and opening:
            text = f"{_subject(donor.text, language)}{text[opening.end() :]}"
        contrast = _contrast(donor.text, text, language, polar) if short and donor else frozenset[str]()
        found.append(_Clause(text, frozenset(terms(text, language)), denies(text), donor if short else None, contrast))
    return found


def _subject(clause: str, language: str) -> str:
    """Return what a clause has before its verb; "" where it begins with it, or has none."""
    verb = regex.search(rf"\b(?:{_FINITE[language]})\b", clause, regex.IGNORECASE)
    return clause[: verb.start()] if verb else ""


def _is_verbless(text: str, language: str) -> bool:
    return not regex.search(rf"\b(?:{_FINITE[language]})\b", text, regex.IGNORECASE)


def _pieces(sentence: str, language: str, begun: regex.Pattern[str]) -> list[str]:
    """Return the parts of a sentence that say something by themselves."""
    marks = list(_SEPARATOR.finditer(sentence))
    starts = [0, *(mark.end() for mark in marks)]
    ends = [*(mark.start() for mark in marks), len(sentence)]
    pieces, last = [""], ""  # and the item of a list that the last piece ends with
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        text, mark = sentence[start:end].strip(), marks[at - 1] if at else None
        if not text:
            continue
        lasts = _REMNANT[language].search(text) or begun.search(text) or _has_own_verb(text, language)
        if mark and not _SUBORDINATE.match(pieces[-1]) and (mark["full"] or lasts):
            if mark["joint"] and last and not begun.search(text) and not _VERB_FIRST[language].match(text):
                pieces[-1], text = pieces[-1].removesuffix(last), f"{last.lstrip(', ')}{mark[0]}{text}"
            pieces.append(text)
            last = ""
        else:
            last = f"{mark[0] if mark else ''}{text}" if mark and mark["part"] else ""
            pieces[-1] += f"{mark[0] if mark else ''}{text}"
    return pieces


def _has_own_verb(text: str, language: str) -> bool:
    """Return whether a text is a clause with a verb of its own: "the cellar is closed", no "which is closed"."""
    if _SUBJECTLESS[language].match(text) or _VERB_FIRST[language].match(text):
        return True
    relative = r"which|that|who|where|if|when|as|weil|dass|wenn|falls|sofern|da|ob|qui|que|dont|où|si|car"
    pattern = rf"\A(?!(?:{relative})\b)(?:[\p{{L}}'’-]+\s+){{1,6}}?(?:{_FINITE[language]})\s+\p{{L}}"
    return regex.search(pattern, text, regex.IGNORECASE) is not None


def _contrast(donor: str, clause: str, language: str, polar: str) -> frozenset[str]:
    """Return the terms of a clause for which the clause behind it has something else: its places, or its subject."""
    bare = _unshared(clause, donor, language, polar)
    preposition = rf"\b(?:{_PREPOSITION[language]})\b"
    if regex.match(preposition, bare, regex.IGNORECASE):
        groups = regex.findall(rf"{preposition}(?:(?!\b(?:{_FINITE[language]}|{polar})\b).)*", donor, regex.IGNORECASE)
        return frozenset(terms(" ".join(groups), language))
    ahead = regex.split(rf"\b(?:{_FINITE[language]}|{polar})\b", donor, maxsplit=1, flags=regex.IGNORECASE)[0]
    return frozenset(terms(ahead, language)) or frozenset(terms(donor, language))


def _unshared(clause: str, donor: str, language: str, polar: str) -> str:
    """Return a clause without the verbs, words of rules and words of the clause before it that it begins with."""
    opening = regex.compile(rf"(?:not|nicht|pas|ne\s+est\s+pas|{_FINITE[language]}|{polar})\s+", regex.IGNORECASE)
    known = set(terms(donor, language))
    rest = clause.lstrip()
    while found := opening.match(rest) or regex.match(r"\p{L}+\s+", rest):
        said = set(terms(found[0], language))
        if not opening.match(rest) and not (said and said <= known):
            break
        rest = rest[found.end() :]
    return rest
