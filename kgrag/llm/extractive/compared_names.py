"""Answers questions about two names by what the passages about both of them state.

``Are A and B both guitarists?`` is *yes* where the passages about both have the words of what is asked. ``Which genus
has more species, A or B?`` compares numbers beside a word of the question. ``Which novelist was educated in London, A
or B?`` takes the one whose passage has more of what is asked. ``What profession do A and B share?`` takes what both are
called. A name that no passage is about is returned to be looked up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.named_passages import Passage, passage_about, passage_entitled, read_passages
from kgrag.llm.extractive.nationalities import countries_in
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.stated_values import stated
from kgrag.text.sentences import NUMBER_WORDS, word_set

__all__ = ["SHARE_RIGHT", "PairReading", "read_pair"]

Form = Literal["both", "either", "more", "less", "common"]
SHARE_RIGHT: Mapping[Form, float] = {"both": 0.89, "either": 0.67, "more": 0.75, "less": 0.75, "common": 0.67}
"""Share of right answers among the development questions of hotpot that were answered so (7 of 7, 5 of 7, 2 of 2, 1 of
1), each with one right and one wrong answer more, since these are few."""

_AUX = r"(?:is|are|was|were|do|does|did|has|have|had|can)"
_NAMED = r"(?-i:\p{Lu}|\d|the\s+\p{Lu}|[\"“])"
_BOTH_BEFORE = late_regex(rf"{_AUX}\s+both\s+(?P<first>.+?)\s+and\s+(?P<rest>{_NAMED}.+)", regex.IGNORECASE)
_BOTH_BETWEEN = late_regex(
    rf"{_AUX}\s+(?P<first>{_NAMED}.*?),?\s+and\s+(?P<second>.+?),?\s+(?:both|each|all)\s+(?P<rest>.+)", regex.IGNORECASE
)
_EITHER_FIRST = late_regex(rf"{_AUX}\s+(?P<first>{_NAMED}.*?)\s+or\s+(?P<rest>.+)", regex.IGNORECASE)
_EITHER_LAST = late_regex(
    r"(?P<asked>(?:between|of|out of)?.*?\b(?:which|what|who|whose|where)\b.+?)"
    r"(?:\s*[,:–—]\s*|\s+(?:between|among)\s+|(?<=\b\p{Ll}{2,}(?:er|est))\s+(?=(?:the\s+)?(?-i:\p{Lu})))"
    r"(?P<first>[^,]+?(?:,[^,]+?)??),?\s+(?:or|and)\s+(?P<second>.+)",
    regex.IGNORECASE,
)
_COMMON = (
    late_regex(
        rf"what\s+(?P<noun>[\p{{L}} ]+?)\s+{_AUX}\s+(?P<first>{_NAMED}.*?)\s+and\s+(?P<second>.+?)\s+"
        r"(?:have in common|both (?:hold|have|share|practi[cs]e)|share|in common)",
        regex.IGNORECASE,
    ),
    late_regex(
        rf"(?P<first>{_NAMED}.*?)\s+and\s+(?P<second>.+?)\s+(?:both\s+)?(?:share|have|had|shared)\s+(?:which|what)\s+"
        r"(?:common\s+)?(?P<noun>\p{L}+)(?:\s+in common)?",
        regex.IGNORECASE,
    ),
)
_KINDS = word_set("profession occupation job career professions occupations role line")
_MORE = late_regex(r"\b(?:more|most|greater number of|larger number of)\s+(?P<noun>\p{Ll}+(?:\s+\p{Ll}+)?)", regex.I)
_LESS = late_regex(r"\b(?:fewer|fewest|less|least)\s+(?P<noun>\p{Ll}+(?:\s+\p{Ll}+)?)", regex.I)
_TALLER = late_regex(r"\b(?:tall|high)(?:er|est)\b|\blonger\b|\blongest\b|\bdeep(?:er|est)\b", regex.I)
_LENGTH = late_regex(
    r"(?<![\w.,])(?P<number>\d[\d,]*(?:\.\d+)?)\s*-?\s*(?P<unit>m|met(?:er|re)s?|ft|feet|foot|km|mi(?:les)?)\b"
)
_UNITS = {"ft": 0.3048, "fe": 0.3048, "fo": 0.3048, "km": 1000.0, "mi": 1609.344}
_UNREADABLE = late_regex(
    r"\b(?:not|never|same|first|last|earlier|earliest|later|latest|older|oldest|younger|youngest|before|after|closer|"
    r"farther|further|longer|larger|largest|bigger|smaller|smallest|newer|better|more|most|less|fewer)\b",
    regex.IGNORECASE,
)
_ARTICLE = late_regex(r"^(?:the|a|an)\s+(?=\S)", regex.IGNORECASE)
_GENERAL = word_set("call consid know known type kind one")
_HEAD_END = late_regex(r"\b(?:of|in|from|at|by|that|who|which|for|with|on|based|located|to)\b", regex.IGNORECASE)
_MIN_SHARE = 0.7
"""Share of the words of what is asked that a passage has, of which it is then true."""
_ELSEWHERE = 0.6
"""What a word counts that stands behind the first sentence, where that has 1."""
_MIN_LEAD = 0.3
"""Share by which one of two passages has more of what is asked."""


@dataclass(frozen=True, slots=True)
class PairReading:
    """The reply, {} where there is none; ``look_up`` are the names whose passages it takes."""

    reply: Mapping[str, Any]
    look_up: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pair:
    form: Form
    names: tuple[str, str]
    asked: str


def read_pair(question: str, texts: Sequence[EvidenceText]) -> PairReading:
    """Return the answer to a question about two names, or the names that are missing.

    Args:
        question: as it was asked.
        texts: the evidence; only pieces with a title are about a name.
    """
    plain = " ".join(question.replace("’", "'").split()).rstrip(" ?.!")
    passages = read_passages(texts)
    pair = _pair(plain, passages)
    if pair is None or not passages:
        return PairReading({})
    found = [passage_about([name], passages) for name in pair.names]
    missing = tuple(name for name, passage in zip(pair.names, found, strict=True) if passage is None)
    first, second = found
    if first is None or second is None or first is second:
        return PairReading({}, missing)
    return PairReading(_READERS[pair.form](pair, (first, second)))


def _pair(question: str, passages: Sequence[Passage]) -> _Pair | None:
    """Return the two names of a question and what is asked about them; None where it has another form."""
    for pattern in _COMMON:
        if (found := pattern.fullmatch(question)) and found["noun"].split()[-1].lower() in _KINDS:
            return _Pair("common", (found["first"], found["second"]), found["noun"])
    if found := _BOTH_BETWEEN.fullmatch(question):
        return (
            None
            if _UNREADABLE.search(found["rest"])
            else _Pair("both", (found["first"], found["second"]), found["rest"])
        )
    if found := _BOTH_BEFORE.fullmatch(question):
        second, rest = _name_at(found["rest"], passages)
        is_read = second and rest and not _UNREADABLE.search(rest)
        return _Pair("both", (found["first"], second), rest) if is_read else None
    if found := _EITHER_FIRST.fullmatch(question):
        second, rest = _name_at(found["rest"], passages)
        return _either((found["first"], second), rest) if second and rest else None
    if (found := _EITHER_LAST.fullmatch(question)) and regex.search(r"\s(?:or|between|among)\s", question):
        return _either((found["first"], found["second"]), found["asked"])
    return None


def _either(names: tuple[str, str], asked: str) -> _Pair | None:
    bare = (_bare(names[0]), _bare(names[1]))
    for form, pattern in (("more", _MORE), ("less", _LESS)):
        if found := pattern.search(asked):
            return _Pair(form, bare, found["noun"])  # type: ignore[arg-type]
    if _TALLER.search(asked):
        return _Pair("more", bare, "")
    return None if _UNREADABLE.search(asked) else _Pair("either", bare, asked)


def _bare(name: str) -> str:
    return str(_ARTICLE.sub("", name.strip(' ,;:"“”')))


def _name_at(text: str, passages: Sequence[Passage]) -> tuple[str, str]:
    """Return the name at the beginning of a text and what follows: the longest that a passage has as its title.

    The name is "" where the text begins with none: "dry or humid" asks about one thing, and names no second.
    """
    words = text.split()
    for width in range(len(words), 0, -1):
        name = " ".join(words[:width]).strip(" ,")
        if passage_entitled(name, passages):
            return name, " ".join(words[width:])
    width = next((at for at, word in enumerate(words) if at and not word[0].isupper() and not word[0].isdigit()), 0)
    return " ".join(words[:width]).strip(" ,"), " ".join(words[width:])


def _asked_terms(pair: _Pair) -> list[str]:
    named = {term for name in pair.names for term in terms(name)}
    return [term for term in dict.fromkeys(terms(pair.asked)) if term not in named and term not in _GENERAL]


def _countries(text: str) -> frozenset[str]:
    return frozenset(country for _, country in countries_in(text))


def _share(asked: Sequence[str], text: str, passage: Passage) -> tuple[float, tuple[int, str]]:
    """Return the share of what is asked that a passage has, and the sentence that has most of it."""
    wanted = _countries(text)
    best, held = (0.0, passage.sentences[0]), dict.fromkeys(asked, 0.0)
    for at, (number, sentence) in enumerate(passage.sentences):
        own = frozenset(terms(sentence))
        has_country = bool(wanted & _countries(sentence))
        found = [term for term in asked if term in own or (has_country and _is_country(term, text))]
        for term in found:
            held[term] = max(held[term], _ELSEWHERE if at else 1.0)
        if len(found) > best[0]:
            best = (float(len(found)), (number, sentence))
    return sum(held.values()) / max(len(asked), 1), best[1]


def _is_country(term: str, text: str) -> bool:
    return any(term in terms(word) for word, _ in countries_in(text))


def _both(pair: _Pair, passages: tuple[Passage, Passage]) -> dict[str, Any]:
    """Return *yes* where both passages have what is asked, *no* where one lacks its noun or half of it."""
    asked = _asked_terms(pair)
    head = terms(_HEAD_END.split(pair.asked)[0])[-1:]
    if not asked:
        return {}
    rows = [_share(asked, pair.asked, passage) for passage in passages]
    has_head = [all(term in terms(" ".join(text for _, text in one.sentences)) for term in head) for one in passages]
    truth = all(has_head) and all(share >= _MIN_SHARE for share, _ in rows)
    value = {"kind": "boolean", "text": "yes" if truth else "no", "value": "true" if truth else "false"}
    return _reply(pair, [row for _, row in rows], value, at=0)


def _either_of(pair: _Pair, passages: tuple[Passage, Passage]) -> dict[str, Any]:
    asked = _asked_terms(pair)
    (first, row), (second, other) = (_share(asked, pair.asked, passage) for passage in passages)
    if abs(first - second) < _MIN_LEAD / max(1.0, len(asked) / 3):
        return {}
    chosen = 0 if first > second else 1
    value = {"kind": "choice", "text": pair.names[chosen], "value": ""}
    return _reply(pair, [row, other], value, at=chosen)


def _counted(pair: _Pair, passages: tuple[Passage, Passage]) -> dict[str, Any]:
    """Return the name with the larger (or smaller) number beside the noun that is asked for."""
    found = [_number(pair.asked, passage) for passage in passages]
    first, second = found
    if first is None or second is None or first[0] == second[0]:
        return {}
    chosen = 0 if (first[0] > second[0]) == (pair.form == "more") else 1
    value = {"kind": "choice", "text": pair.names[chosen], "value": ""}
    return _reply(pair, [first[1], second[1]], value, at=chosen)


def _number(noun: str, passage: Passage) -> tuple[float, tuple[int, str]] | None:
    if not noun:
        for row in passage.sentences:
            if found := _LENGTH.search(row[1]):
                scale = _UNITS.get(found["unit"][:2], 1.0)
                return float(found["number"].replace(",", "")) * scale, row
        return None
    spelt = "|".join(NUMBER_WORDS)
    pattern = regex.compile(
        rf"(?<![\w.,])(?P<number>\d[\d,]*|(?i:{spelt}))\s+(?:[\p{{L}}-]+\s+){{0,3}}?{regex.escape(noun.rsplit(maxsplit=1)[-1][:5])}"
    )
    for row in passage.sentences:
        if found := pattern.search(row[1]):
            text = found["number"].lower()
            return float(NUMBER_WORDS.index(text) if text in NUMBER_WORDS else text.replace(",", "")), row
    return None


def _common(pair: _Pair, passages: tuple[Passage, Passage]) -> dict[str, Any]:
    """Return what both are called: the last words that an occupation of one and of the other share."""
    first, second = (stated("occupation", passage) for passage in passages)
    for one in first:
        for other in second:
            if shared := _shared_end(one.text.split(), other.text.split()):
                value = {"kind": "text", "text": shared, "value": ""}
                return _reply(pair, [(one.number, one.sentence), (other.number, other.sentence)], value, at=0)
    return {}


def _shared_end(first: Sequence[str], second: Sequence[str]) -> str:
    width = 0
    while width < min(len(first), len(second)) and first[-1 - width] == second[-1 - width]:
        width += 1
    return " ".join(first[len(first) - width :])


def _reply(pair: _Pair, rows: Sequence[tuple[int, str]], value: Mapping[str, str], *, at: int) -> dict[str, Any]:
    places = {row: place for place, row in enumerate(dict.fromkeys(rows))}
    return {
        "unknown": False,
        "sentences": [
            {"text": " ".join(text.split()), "citations": [{"evidence": number, "quote": text}]}
            for number, text in places
        ],
        "values": [{**value, "sentence": places[rows[at]]}],
        "confidence": SHARE_RIGHT[pair.form],
    }


_READERS = {"both": _both, "either": _either_of, "more": _counted, "less": _counted, "common": _common}
