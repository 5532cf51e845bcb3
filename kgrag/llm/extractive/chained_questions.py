"""Reads questions that go from a name over relations to a value.

Such a question (``When did the father of Ann Lee die?``) is an anchor, the relations that are followed from it
(``kgrag.llm.extractive.relations``), and what is done with what they lead to: it is the answer, or decides between two
names, or is the same for both of them or not.
Questions of other forms are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.relations import NOUNS, VERBS

__all__ = ["Chain", "ChainedQuestion", "chained"]

_KINDS = (
    r"(?:film|movie|song|novel|book|album|single|play|opera|magazine|band|company|university|school|college|lake|river"
    r"|village|town|city|game|video game|series|show|poem|story|airport|mountain|newspaper|track)"
)
_NOUN = "|".join(sorted(map(regex.escape, NOUNS), key=len, reverse=True))
_OF = late_regex(rf"(?:the\s+)?(?:{_KINDS}\s+)?(?P<noun>{_NOUN})s?\s+(?:of|for)\s+(?P<rest>.+)", regex.IGNORECASE)
_POSSESSIVE = late_regex(rf"(?P<rest>.+?)(?:['’]s|(?<=s)['’])\s+(?P<noun>{_NOUN})", regex.IGNORECASE)
_KIND = late_regex(rf"(?:the\s+)?(?:\d{{4}}\s+)?{_KINDS}s?\s+(?P<rest>.+)", regex.IGNORECASE)
_WHO = late_regex(
    rf"(?:the\s+)?(?:{_NOUN}|person|man|woman|one)\s+(?:who|that)\s+(?P<verb>{'|'.join(VERBS)})\s+(?P<rest>.+)",
    regex.IGNORECASE,
)

_CITIES = r"(?:in )?(?:what|which) (?:city|town|village)"
_PLACES = r"(?:where|(?:in )?(?:what|which) place)"
_DATES = r"(?:when|(?:in|on) (?:what|which) (?:year|date|day)|(?:what|which) (?:year|date))"
_AUX = r"(?:is|are|was|were|did|does|do)"
_DEATHS, _STUDIES = r"(?:die|died|pass away)", r"(?:study|studied|educated|graduate|graduate from|go to school|attend)"
_PLAIN = tuple(
    (late_regex(pattern, regex.IGNORECASE), attribute)
    for pattern, attribute in (
        (rf"{_DATES} {_AUX} (?P<of>.+?) born", "birth date"),
        (rf"{_DATES} {_AUX} (?P<of>.+?) {_DEATHS}", "death date"),
        (rf"{_CITIES} {_AUX} (?P<of>.+?) born(?: in| at)?", "birth city"),
        (rf"{_CITIES} {_AUX} (?P<of>.+?) {_DEATHS}(?: in| at)?", "death city"),
        (rf"{_PLACES} {_AUX} (?P<of>.+?) born(?: in| at)?", "birth place"),
        (rf"{_PLACES} {_AUX} (?P<of>.+?) {_DEATHS}(?: in| at)?", "death place"),
        (rf"{_PLACES} {_AUX} (?P<of>.+?) buried(?: in| at)?", "burial place"),
        (rf"(?:{_PLACES}|(?:which|what) \w+) {_AUX} (?P<of>.+?) {_STUDIES}", "school"),
        (r"where (?:does|did) (?P<of>.+?) work(?: at)?", "employer"),
        (rf"(?:which|what) (?:country|nation) {_AUX} (?P<of>.+?)(?: come)? (?:from|in|a citizen of)", "nationality"),
        (rf"(?:which|what) (?:country|nation) (?P<of>.+?) {_AUX}(?: come)? (?:from|in|a citizen of)", "nationality"),
        (rf"what (?:nationality|citizen) {_AUX} (?P<of>.+)", "nationality"),
        (rf"what {_AUX} (?P<of>.+?) the capital of", "capital of"),
        (rf"{_DATES} {_AUX} (?P<of>.+?) (?:released|published|come out)", "release date"),
        (rf"{_DATES} {_AUX} (?P<of>.+?) (?:founded|established|formed|started|created)", "founding date"),
        (r"(?:what|who|whom|where|when|which) (?:is|are|was|were) (?P<of>.+)", ""),
        (r"(?:what|which) is the name of (?P<of>.+)", ""),
        (rf"why did (?P<of>.+?) {_DEATHS}", "cause of death"),
    )
)
_WHO_DID = late_regex(rf"who (?P<verb>{'|'.join(VERBS)}) (?P<of>.+)", regex.IGNORECASE)

_FIRST, _LAST = r"(?:the )?(?:first|earlier|earliest)", r"(?:the )?(?:later|last|latest|more recently|most recently)"
_OUT = r"(?:released|published|premiered|out)"
_BEGUN = r"(?:founded|established|formed|started|created|launched|built|opened)"
_CRITERIA = tuple(
    (pattern, attribute, largest)
    for pattern, attribute, largest in (
        (rf"(?:born {_LAST}|younger|youngest)", "birth date", True),
        (rf"(?:born {_FIRST}|older|oldest|elder)", "birth date", False),
        (r"(?:older|oldest|came first)", "release date", False),
        (r"(?:older|oldest|came first)", "founding date", False),
        (rf"(?:died|die) {_LAST}", "death date", True),
        (rf"(?:died|die) {_FIRST}", "death date", False),
        (r"(?:lived|live) (?:a )?(?:longer|longest)(?: life)?", "lifespan", True),
        (rf"(?:(?:came |come )?{_OUT} {_LAST}|newer|more recent)", "release date", True),
        (rf"(?:came |come )?{_OUT} {_FIRST}", "release date", False),
        (rf"{_BEGUN} {_LAST}", "founding date", True),
        (rf"{_BEGUN} {_FIRST}", "founding date", False),
    )
)
_COMPARED = tuple(
    (
        late_regex(
            rf"(?P<head>(?:which|what|who|whose|between|of)\b.*?)\b(?:{pattern})(?: than the other)?"
            rf"(?:\s*[,:]|\s+(?:out of|between|among|from)|(?=\s+(?:the\s+)?(?-i:\p{{Lu}})))\s*(?P<options>.+)",
            regex.IGNORECASE,
        ),
        late_regex(rf"(?:was|were|is|are|did|has|have) (?P<options>.+?) (?:{pattern})", regex.IGNORECASE),
        attribute,
        largest,
    )
    for pattern, attribute, largest in _CRITERIA
)
_OF_BOTH = late_regex(
    rf"^(?:both\s+)?(?:(?P<noun>{_NOUN})s\s+of\s+)?(?:both\s+)?(?:the\s+)?"
    rf"(?:(?:{_KINDS}s|mountains|businesses|companies|universities|cities|\p{{Ll}}+s(?=[,:]))[,:]?\s+)?"
)
_SAME = (
    late_regex(
        r"(?i:do|does|did|are|is|were|was|have|has)\s+(?P<pair>.+?)(?P<tail>(?:\s+(?:films?|movies?|songs?|books?|bands?"
        r"|have|has|had|the|a|that|who|which|share|shared|from|of|located|situated|based|in|at|were|are|was|both"
        rf"|come|came|originate|born|die|died|(?:{_NOUN})s?))+)\s+same\s+(?P<what>[\w ]+)"
    ),
    late_regex(
        r"(?i:do|does|did|are|is|were|was|have|has)\s+(?P<pair>.+?)"
        r"(?P<tail>\s+(?:have|share|from|born in|die in|died in)(?:\s+the)?)"
        r"\s+same\s+(?P<what>\w+)\s+as\s+(?P<second>.+)"
    ),
)
_SAME_WHAT = {"country": "nationality", "nation": "nationality", "city": "place", "place": "place", "town": "place"}


_MAX_STEPS = 5
"""Relations of a chain, at most: each may have several names to try."""
_MAX_COMMON_WORDS = 2
"""Words of an anchor that begins with a small letter, at most."""


@dataclass(frozen=True, slots=True)
class Chain:
    """A name, in the forms in which it may be meant, and the relations that are followed from it."""

    anchors: tuple[str, ...]
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChainedQuestion:
    """A question as chains and what is done with their ends; ``options`` are the names as the question has them."""

    ends: Literal["value", "largest", "smallest", "same"]
    chains: tuple[Chain, ...]
    options: tuple[str, ...] = ()


def chained(question: str) -> list[ChainedQuestion]:
    """Return the ways in which a question may be read, the likeliest first; [] for one of no known form.

    >>> chained("When did Ann Lee's father die?")[0].chains
    (Chain(anchors=('Ann Lee',), steps=('father', 'death date')),)
    """
    plain = " ".join(question.replace("’", "'").split()).rstrip(" ?.!")
    readings = [*_compared(plain), *_same(plain), *_plain(plain)]
    return [one for one in readings if all(map(_can_be_followed, one.chains))]


def _can_be_followed(chain: Chain) -> bool:
    """Return whether a chain is short, and its anchor written like a name: not "actress who played the fairy"."""
    name = chain.anchors[0].removeprefix("the ")
    named = len(name.split()) <= _MAX_COMMON_WORDS or not name[0].islower()
    return named and len(chain.steps) <= _MAX_STEPS


def _plain(question: str) -> Iterator[ChainedQuestion]:
    for pattern, attribute in _PLAIN:
        if (found := pattern.fullmatch(question)) is None:
            continue
        chain = _chain(found["of"])
        if attribute or chain.steps:
            yield ChainedQuestion("value", (_extended(chain, *filter(None, [attribute])),))
            return
    if (found := _WHO_DID.fullmatch(question)) is not None:
        yield ChainedQuestion("value", (_extended(_chain(found["of"]), VERBS[found["verb"].lower()]),))


def _compared(question: str) -> Iterator[ChainedQuestion]:
    """Yield a comparison of two names, once for each place at which the two may be divided."""
    for listed, asked, attribute, largest in _COMPARED:
        found = listed.fullmatch(question) or asked.fullmatch(question)
        if found is None:
            continue
        between = _noun_in(found.groupdict().get("head") or "")
        for options in _pairs(found["options"], "or") or _pairs(found["options"], "and"):
            chains = (_chain(option) for option in options)
            ends: Literal["largest", "smallest"] = "largest" if largest else "smallest"
            yield ChainedQuestion(ends, tuple(_extended(one, *between, attribute) for one in chains), options)


def _same(question: str) -> Iterator[ChainedQuestion]:
    found = next(filter(None, (pattern.fullmatch(question) for pattern in _SAME)), None)
    if found is None:
        return
    last = _shared_value(found["what"].strip().lower(), found["tail"])
    second = found.groupdict().get("second")
    pairs = [(found["pair"], second)] if second else _pairs(found["pair"], "and")
    between = _noun_in(found["tail"]) or _shared_noun(found["pair"])
    for pair in pairs if last else ():
        chains = (_chain(option) for option in pair)
        yield ChainedQuestion("same", tuple(_extended(one, *between, *last) for one in chains), pair)


def _shared_value(what: str, before: str) -> tuple[str, ...]:
    """Return what is to be the same, by its noun and the words before it ("born in the same city"); () if unknown."""
    name = _SAME_WHAT.get(what)
    if name == "place":
        return ("birth city",) if "born" in before else ("death city",) if "die" in before else ()
    return (name,) if name else NOUNS.get(what, ())


def _pairs(text: str, joint: str) -> list[tuple[str, str]]:
    """Return the two names that a text joins; several pairs where a name may have the joint in it."""
    bare = _OF_BOTH.sub("", text.strip())
    found = regex.finditer(rf",?\s+{joint}\s+", bare)
    return [(bare[: one.start()].strip(" ,"), bare[one.end() :].strip(" ,")) for one in found]


def _shared_noun(pair: str) -> tuple[str, ...]:
    """Return the relations of both names of a pair: ``both directors of films A and B``."""
    found = _OF_BOTH.match(pair.strip())
    return NOUNS[found["noun"].lower()] if found and found["noun"] else ()


def _noun_in(text: str) -> tuple[str, ...]:
    """Return the relations of the last noun in the words around a comparison: ``which film has the director``."""
    found = regex.findall(
        rf"\b(?:has|have|had|whose|with|the|a)\s+(?:(?:the|a)\s+)?({_NOUN})s?\b", text, regex.IGNORECASE
    )
    return NOUNS[found[-1].lower()] if found else ()


def _chain(phrase: str) -> Chain:
    """Return a phrase as the name at its heart and the relations around it, those next to the name first."""
    phrase = phrase.strip()
    if found := _OF.fullmatch(phrase) or _POSSESSIVE.fullmatch(phrase):
        return _extended(_chain(found["rest"]), *NOUNS[found["noun"].lower()])
    if found := _WHO.fullmatch(phrase):
        return _extended(_chain(found["rest"]), VERBS[found["verb"].lower()])
    bare = phrase.removeprefix("the ").strip()
    kind = _KIND.fullmatch(phrase)
    return Chain(tuple(dict.fromkeys(filter(None, [kind["rest"] if kind else "", phrase, bare]))), ())


def _extended(chain: Chain, *steps: str) -> Chain:
    return Chain(chain.anchors, (*chain.steps, *steps))
