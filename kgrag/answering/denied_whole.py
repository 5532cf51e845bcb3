"""Whether a denial answers a question with a plain *no*: it has to deny all that is asked, of no smaller thing.

"Visitors must not park bicycles in the yard" and "Used goods cannot be returned" are near to "May visitors park in the
yard?" and "Can goods be returned?", and leave both open.
"""

from __future__ import annotations

from collections.abc import Collection

import regex

from kgrag.languages import ENGLISH
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import terms

__all__ = ["denies_all"]

_MONTH = (
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December|(?:Mon|Tues|Wednes|Thurs"
    r"|Fri|Satur|Sun)day)\b"
)
_DENIAL = late_regex(
    r"\b(?:not|never|cannot|no\s+longer|\w+n['’]t)\b(?:\s+(?:be|been|have|permitted|allowed)\b)*", regex.I
)
_MODAL = late_regex(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|must|may|can|could|will|shall|should|might)\s*$", regex.I
)
_ADVERB = late_regex(r"\b(?:yet|still|currently|automatically|also|even|therefore|always|\p{L}+ly)\b", regex.I)
_CLAUSE = late_regex(r";|,\s|\b(?:because|since|so\s+that|as\s+the|and|but)\b", regex.I)
_LIMIT = late_regex(
    r"\b(?:if|when|unless|while|during|before|after|between|at\s+night|on\s+(?=\p{Lu})|in\s+(?=\p{Lu}|winter|summer)|without"
    r"|under|over|above|below|more\s+than|less\s+than|(?:only|just)\s+because)\b(?P<behind>.*)",
    regex.I,
)
_OBJECT = late_regex(r"^\s*(?P<verb>\p{Ll}+)\s+(?:(?:the|a|an|any|their|your|his|her|its|our)\s+)?(?P<object>\p{L}+)")
_BEHIND_VERB = late_regex(
    r"(?:in|on|at|to|for|by|with|from|of|into|onto|as|than|that|which|who|and|or|until|any|out|up|off|down|away|back|over"
    r"|there|here|anywhere|more|much)$",
    regex.I,
)
_CONTRARY = ("non", "un", "in", "im", "dis", "a")
_SAYS_LITTLE = frozenset({"possibl", "use", "allow", "permit", "work", "support", "exist", "happen", "need", "us"})


def denies_all(question: str, asked: Collection[str], sentence: str, context: str, language: str) -> bool:
    """Return whether a sentence that denies something denies all that a question asks.

    Args:
        question: one that yes or no answers.
        asked: its terms, without words of rules.
        sentence: says that something isn't so.
        context: label and headings, which name what the sentence is about.
        language: of both.

    >>> denies_all("Can goods be returned?", {"good", "return"}, "Used goods cannot be returned.", "", "en")
    False
    >>> denies_all("Can goods be returned?", {"good", "return"}, "Goods cannot be returned.", "", "en")
    True
    """
    said = set(terms(f"{sentence} {context}", language))
    little = _SAYS_LITTLE if language == ENGLISH else frozenset[str]()
    if any(term not in said and term not in little and not _is_contrary(term, said) for term in asked):
        return False
    if language != ENGLISH:
        return True
    months = {found[0] for found in regex.finditer(_MONTH, question[1:])}
    return months <= set(regex.findall(_MONTH, sentence)) and not _is_narrower(
        {*asked, *terms(question)}, sentence, context
    )


def _is_contrary(term: str, said: set[str]) -> bool:
    """Return whether a text has the contrary of a term, as "nonrefundable" is of "refundable"."""
    return any(f"{one}{term}" in said or (term.startswith(one) and term[len(one) :] in said) for one in _CONTRARY)


def _is_narrower(asked: set[str], sentence: str, context: str) -> bool:
    """Return whether what an English sentence denies is of a smaller thing, or under a condition, than is asked."""
    denial = _DENIAL.search(sentence)
    if denial is None:
        return False
    known = asked | set(terms(context)) | (_SAYS_LITTLE - {"use", "us"})
    ahead = _MODAL.sub("", sentence[: denial.start()])
    subject = _ADVERB.sub(" ", _CLAUSE.split(ahead)[-1])
    behind = _CLAUSE.split(sentence[denial.end() :])[0]
    limit = _LIMIT.search(behind)
    taken = _OBJECT.match(_ADVERB.sub(" ", behind))
    narrower = [subject, limit["behind"] if limit else ""]
    if taken and not _BEHIND_VERB.match(taken["object"]) and set(terms(taken["verb"])) & asked:
        narrower.append(taken["object"])
    return any(set(terms(part)) - known for part in narrower)
