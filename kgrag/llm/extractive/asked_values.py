"""The values of one attribute of one thing, from sentences that name the thing, by rules: "What is the LABEL of NAME?".

A word of the attribute is its cue (``attributes``). A figure or date is the one nearest to the cue; a country is what a
word for it or for its people says; anything else is the phrase that the cue leads to ("the genre of Ann is ska",
"celery is an ingredient of", "has a two door body style"), and what ``instances`` finds. Each sentence votes for its
values; of a figure or date the one with most votes counts, of other values those with at least half of the most.

The rules were written with questions of the set ``pyramid`` in view (``benchmarks.poly_rag_pyramid``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.attributes import Attribute, read_attribute
from kgrag.llm.extractive.instances import instances
from kgrag.llm.extractive.nationalities import countries_in
from kgrag.llm.extractive.question_words import term, terms, without_accents
from kgrag.llm.extractive.sentence_facts import mentions
from kgrag.text.sentences import entity_key, split, word_set
from kgrag.vocab import words_of

__all__ = ["AskedValue", "Place", "asked_values"]

_OWNERS = word_set("his her its their")
_PRONOUN = late_regex(r"(?:he|she|it|they|his|her|its|their)\b", flags=regex.IGNORECASE)
_THING = "§"  # stands for the thing in a sentence
_WORD = late_regex(r"[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*")
_IN_BRACKETS = late_regex(r"\s*\([^()]*\)")
_FIGURE = late_regex(r"(?<![\p{L}\d.,])[-+−]?\d[\d,]*(?:\.\d+)?(?![\d\p{Lu}])")
_MAX_WORDS_BETWEEN = 3  # from one word of a cue to the next
_MAX_FIGURE_CHARACTERS, _MAX_DATE_CHARACTERS = 60, 70  # from a cue to a figure, to a date
_BEFORE_CHARACTERS = 18  # a figure further ahead of its cue gives way to one behind it
_MAX_PHRASE_WORDS, _MAX_LISTED = 8, 8
_MIN_SHARE_OF_VOTES = 0.5
_PART_OF_NAME = 0.7  # the vote of a sentence that has "Albany" for "Albany, Oregon"
_COUNTRY = word_set("country nationality")
_NAMED_KINDS = word_set(
    """person place city country organisation organization company artist politician band airport university school
    party club league astronaut building settlement region state area scientist monument film airline"""
)
_ENDS_PHRASE = word_set(
    """which who whose where that with is was are were from in on at by for but has have had while when because since
    as after before during although also he she it they and or of among near into under over between through"""
)
_ENDS_WORD = tuple(".;,:)")
_ABBREVIATION = late_regex(r"(?:\p{Lu}\.)+|St\.|Jr\.|No\.")
_LONGER_NAME = late_regex(r"\b(?:New|North|South|East|West|Upper|Lower|Great|Saint|San|Santa|Lake|Mount|Fort|Port)\s+$")
_DETERMINERS = late_regex(
    r"^(?:(?:the|a|an|both|its|his|her|their|former|also|now|either|called|named)\s+)+", flags=regex.IGNORECASE
)
_OTHERWISE = late_regex(r"(?:\p{Ll}+(?:ed|ing)|made|built|born|led|resides?|cit(?:y|ies)|one|dish|is|was|had|used)\b")
_IS = late_regex(r"\b(?:is|was)\b")
_LEADS = late_regex(
    rf"\s*(?:{_THING}(?:['’]s)?)?\s*(?:(?:of|in|for|to|at)\s+(?:(?:the|an?)\s+)?(?:\p{{Ll}}+\s+){{0,2}}?{_THING}\s*)?[\s,]*"
    r"(?:(?:is|was|are|were|includes?|including|named|called|known|being|of|as|has|have|number|code|to|:|now|located"
    r"|in|on|at|by|from|currently)\s+)*(?:(?:the|an?|both|its|either)\s+)*[\"“'‘]?"
)
_IS_THE = late_regex(
    r"\b(?:is|are|was|were)\s+(?:(?:now|also|currently)\s+)?(?:(?:the|an?|one of the|one of its|its|part of the)\s+)?"
    r"(?:\p{Ll}+\s+){0,2}$"
)
_CLAUSE = late_regex(r"[,;.]\s+|\b(?:and|where|which|who|that|while|because|whose)\b")
_MODIFIES = late_regex(
    r"\b(?:an?|the|its|has|have|with|is|are|of|in|his|her|their|at the|as a)\s+((?:[\p{L}\p{N}'’./&-]+\s+){1,4})$"
)
_BY = late_regex(r"\s+by\b")
_OF_ANOTHER = late_regex(r"\s+(?:of|for|in)\s+(?:the\s+)?\p{Lu}")
_NEXT_OF_LIST = late_regex(r"[\"”’']?\s*(?:,\s*and|,|and|or|&)\s+(?:the\s+|an?\s+)?")
_NO_ITEM = late_regex(rf"(?:it|he|she|they|is|was|has|located|born|served)\b|(?:the\s+)?{_THING}")


_Cue = tuple[int, int]
Place = tuple[int, int, int]
"""Number of a text, start and end of a sentence in it."""


@dataclass(frozen=True, slots=True)
class AskedValue:
    """A value, and the sentences that it was read in, the first one first."""

    text: str
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked: the name of the thing, the words of the label and the ranges, and the kind of the values."""

    thing: str
    label: str
    ranges: str
    attribute: Attribute

    @property
    def named(self) -> bool:
        """Whether the values have names of their own."""
        return bool(_NAMED_KINDS & set(self.ranges.split()))

    @property
    def country(self) -> bool:
        return bool(_COUNTRY & {self.label, self.ranges})


def asked_values(thing: str, label: str, range_: str, texts: Sequence[str]) -> list[AskedValue]:
    """Return the values of an attribute of a thing that texts state, those of most sentences first.

    Args:
        thing: its name, with or without what tells it from others: "Airman (comicsCharacter)", "Albany, Oregon".
        label: of the attribute.
        range_: label of the class or datatype of its values; "" where not known.
        texts: to read, sentence by sentence; those that do not name the thing are passed over.

    >>> asked_values("Bakso", "ingredient", "Ingredient", ["Celery is an ingredient of Bakso, a dish of Indonesia."])
    [AskedValue(text='Celery', places=((0, 0, 54),))]
    >>> asked_values("NR-1", "ship beam", "number", ["The NR-1 is from 1969. It has a ship beam of 3.8 m."])
    [AskedValue(text='3.8', places=((0, 23, 51),))]
    """
    label, range_ = words_of(label).casefold(), words_of(range_).casefold()
    asked = _Asked(thing, label, range_, read_attribute(label, range_))
    votes: defaultdict[str, float] = defaultdict(float)
    found: dict[str, AskedValue] = {}
    for number, text in enumerate(texts):
        for (start, end), masked, share in _sentences(text, thing):
            for key, value in {_key(value): value for value in _read(masked, asked)}.items():
                votes[key] += share
                known = found.get(key, AskedValue(value, ()))
                found[key] = AskedValue(known.text, (*known.places, (number, start, end)))
    return [found[key] for key in _elected(votes, one=asked.attribute.kind != "name")]


def _sentences(text: str, thing: str) -> Iterator[tuple[tuple[int, int], str, float]]:
    """Yield the sentences about a thing: place, words with a sign for the thing, and how much their votes count."""
    share = 0.0
    for start, end in split(text):
        line = _IN_BRACKETS.sub(" ", " ".join(text[start:end].split()))
        masked, named = _masked(line, thing)
        if named:
            share = named
        elif share and (pronoun := _PRONOUN.match(line)):
            owner = "'s" if pronoun[0].casefold() in _OWNERS else ""
            masked = f"{_THING}{owner}{line[pronoun.end() :]}"
        else:
            continue
        yield (start, end), masked, share


def _elected(votes: dict[str, float], *, one: bool) -> list[str]:
    """Return the keys with most votes; what another key has among its words votes for that one."""
    for key in sorted(votes, key=lambda key: (votes[key], key)):
        longer = [other for other in votes if other != key and f" {key} " in f" {other} "]
        if not one and longer and votes[best := max(longer, key=lambda other: (votes[other], other))] * 2 >= votes[key]:
            votes[best] += votes.pop(key)
    ranked = sorted(votes, key=lambda key: (-votes[key], key))
    return ranked[:1] if one else [key for key in ranked if votes[key] >= _MIN_SHARE_OF_VOTES * votes[ranked[0]]]


def _key(value: str) -> str:
    """Return a value in the form in which two spellings of it are equal."""
    return " ".join(_WORD.findall(without_accents(entity_key(value)).replace(".", "").replace("-", " "))) or value


def _masked(sentence: str, thing: str) -> tuple[str, float]:
    """Return a sentence with a sign in place of the thing, and how much its vote counts; 0 where it isn't named."""
    bare = _IN_BRACKETS.sub("", thing).strip()
    first = bare.partition(", ")[0]
    for name, share in ((bare, 1.0), (first, _PART_OF_NAME)):
        spelt = r"[\s.,-]*".join(_letters(word) for word in _WORD.findall(name))
        for found in regex.finditer(rf"(?<![\p{{L}}\p{{N}}]){spelt}(?![\p{{L}}\p{{N}}])", sentence, regex.IGNORECASE):
            if not _LONGER_NAME.search(sentence[: found.start()]):  # Mexico is not New Mexico
                return f"{sentence[: found.start()]}{_THING}{sentence[found.end() :]}", share
    return sentence, 0.0


def _letters(word: str) -> str:
    """Return a pattern of a word; a letter with an accent may lack it."""
    return "".join(
        regex.escape(letter) if letter.isascii() else f"(?:{regex.escape(letter)}|{without_accents(letter)})"
        for letter in word
    )


def _read(masked: str, asked: _Asked) -> Iterator[str]:
    cues = _cues(masked, asked.attribute)
    if asked.attribute.kind != "name":
        yield from _figure(masked, cues, asked.attribute)
    elif asked.country and (country := _country(masked)):
        yield country
    else:
        readings = (list(_by_instances(masked, asked)), *_readings(masked, cues, asked))
        yield from next((values for values in readings if values), [])


def _by_instances(masked: str, asked: _Asked) -> Iterator[str]:
    for subject, _, value in instances([(asked.label, asked.ranges)], masked.replace(_THING, asked.thing)):
        if _is_about(subject, asked.thing) and _fits(clean := _clean(value, asked), asked):
            yield clean


def _is_about(subject: str, thing: str) -> bool:
    one, other = _key(subject), _key(_IN_BRACKETS.sub("", thing))
    return one in other or other in one


def _cues(sentence: str, attribute: Attribute) -> list[_Cue]:
    """Return where the first cue of each wording stands, start and end, in the order of the wordings."""
    places: list[_Cue] = []
    words = [(found.start(), found.end(), term(found[0])) for found in _WORD.finditer(sentence)]
    for cue in attribute.cues:
        for place, (start, end, stem) in enumerate(words):
            if attribute.alike(stem, cue[0]) and (end_ := _end_of_cue(words[place:], cue, attribute)):
                places.append((start, max(end, end_)))
                break
    return places


def _end_of_cue(words: Sequence[tuple[int, int, str]], cue: Sequence[str], attribute: Attribute) -> int:
    """Return where the last word of a cue ends that begins with the first of the words; 0 where one is not near."""
    last = 0
    for wanted in cue[1:]:
        near = range(last + 1, min(last + 1 + _MAX_WORDS_BETWEEN, len(words)))
        following = next((place for place in near if attribute.alike(words[place][2], wanted)), None)
        if following is None:
            return 0
        last = following
    return words[last][1]


def _figure(sentence: str, cues: Sequence[_Cue], attribute: Attribute) -> Iterator[str]:
    """Yield the figure or date nearest to a cue, rather behind it than before it."""
    if attribute.kind == "date":
        spans = [(one.start, one.end, attribute.part(one.text)) for one in mentions(sentence) if one.kind == "date"]
        most = _MAX_DATE_CHARACTERS
    else:
        spans = [(found.start(), found.end(), found[0].rstrip(",")) for found in _FIGURE.finditer(sentence)]
        most = _MAX_FIGURE_CHARACTERS
    distances = [
        (start - behind if start >= behind else ahead - end + (0 if ahead - end <= _BEFORE_CHARACTERS else most), text)
        for ahead, behind in cues
        for start, end, text in spans
        if start >= behind or end <= ahead
    ]
    if distances and min(distances)[0] < most:
        yield min(distances)[1]


def _country(masked: str) -> str:
    """Return the country whose word stands nearest to the thing."""
    at = masked.find(_THING)
    near = [(abs(masked.find(word) - at), country) for word, country in countries_in(masked)]
    return min(near)[1] if near else ""


def _readings(masked: str, cues: Sequence[_Cue], asked: _Asked) -> Iterator[list[str]]:
    """Yield the values of each phrase, or list of phrases, that a cue leads to."""
    own = set(terms(asked.label))
    for start, end in cues:
        labelled = own <= {term(word) for word in _WORD.findall(masked[start:end])}
        for phrases in _phrases(masked[:start], masked[end:], labelled=labelled, agent=asked.attribute.agent):
            yield [value for phrase in phrases if _fits(value := _clean(phrase, asked), asked)]


def _phrases(before: str, after: str, *, labelled: bool, agent: bool) -> Iterator[list[str]]:
    """Yield what stands before or behind a cue as a value; before it only where it has the label's own words."""
    of_another = _OF_ANOTHER.match(after)
    if labelled and (found := _IS_THE.search(before)) and not _BY.match(after) and not of_another:
        phrase = _CLAUSE.split(before[: found.start()])[-1].strip(' "')
        if _THING not in phrase and len(phrase.split()) <= _MAX_PHRASE_WORDS:
            yield [phrase]
    if (lead := _LEADS.match(after)) and not (agent and of_another):
        listed = _listed(after[lead.end() :], one=bool(_IS.search(lead[0])))
        if listed and (lead[0].strip(' ,"“') or not listed[0][0].islower()):
            yield listed
    if labelled and (found := _MODIFIES.search(before)):
        phrase = found[1].strip()
        if _THING not in phrase and not _ENDS_PHRASE & set(phrase.casefold().split()):
            yield [phrase]


def _listed(text: str, *, one: bool) -> list[str]:
    """Return the phrase that a text begins with, and those that a list joins to it.

    Args:
        text: what follows a cue and its verb.
        one: whether the verb says that it is one value: "the genre is rhythm and blues".
    """
    phrases: list[str] = []
    while phrase := _phrase(text):
        phrases.append(phrase)
        rest = text[text.find(phrase) + len(phrase) :]
        joined = _NEXT_OF_LIST.match(rest)
        text = rest[joined.end() :] if joined else ""
        if one and len(phrases) == 1 and joined and joined[0].strip() == "and" and text and not _NO_ITEM.match(text):
            return [f"{phrase} and {_phrase(text)}".removesuffix(" and ")]
        if len(phrases) == _MAX_LISTED or _NO_ITEM.match(text):
            break
    return phrases


def _phrase(text: str) -> str:
    """Return the words up to one that begins another part of the sentence, at most ``_MAX_PHRASE_WORDS``."""
    words: list[str] = []
    every = text.split()
    for place, word in enumerate(every):
        goes_on = bool(words) and _is_part_of_name(every, place)
        if not goes_on and (word.casefold().strip("\"“”'’(),.;:") in _ENDS_PHRASE or word.startswith(_THING)):
            break
        words.append(word)
        if len(words) == _MAX_PHRASE_WORDS or (word.endswith(_ENDS_WORD) and not _ABBREVIATION.fullmatch(word)):
            break
    return " ".join(words).strip(" .;,:\"“”'’()")


def _is_part_of_name(words: Sequence[str], place: int) -> bool:
    """Return whether a word is "of" between two with capitals, or "the" behind such a one: "College of William"."""
    before, after = words[place - 1], [one for one in words[place + 1 : place + 3] if one != "the"]
    if words[place] == "the":
        return before == "of"
    return words[place] == "of" and before[:1].isupper() and bool(after) and after[0][:1].isupper()


def _clean(value: str, asked: _Asked) -> str:
    """Return a value without determiners, and without the words that say what it is: "V12 engine" for an engine."""
    words = _DETERMINERS.sub("", value.strip(" ,.;:\"“”'’()")).split()
    generic = {*asked.label.split(), *asked.ranges.split()}
    while len(words) > 1 and words[-1].islower() and not generic.isdisjoint((words[-1], words[-1].rstrip("s"))):
        words.pop()
    while len(words) > 1 and words[0].islower() and words[0] in generic:
        words.pop(0)
    text = " ".join(words)
    return next((country for word, country in countries_in(text) if word == text and text.isupper()), text)  # "UK"


def _fits(value: str, asked: _Asked) -> bool:
    words = value.split()
    if len(value) <= 1 or value.casefold() in asked.label.split() or _OTHERWISE.match(value) or _THING in value:
        return False
    if any(one.kind == "date" for one in mentions(value)):
        return False
    return not asked.named or (not value.isdigit() and any(not word[0].islower() for word in words))
