"""Instances of attributes in a text, by their words and the kind of value: fulfils ``poly_rag/instances`` (f_ins).

A word of the attribute, or of a wording that means the same ("born" for a birth place), is its cue. The value is the
date, number or name that the cue leads to: behind it ("directed by Ann Lee"), before it ("Ann Lee is the director",
"Ann Lee directed Auron"), whichever the wording asks for. The subject is what owns the cue ("the director of Auron",
"Auron's director"), the name that a relative clause stands behind, or else what the sentence is about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import regex

from kgrag.llm.extractive.attributes import Attribute, read_attribute
from kgrag.llm.extractive.question_words import term
from kgrag.llm.extractive.sentence_facts import MentionSpan, mentions, without_dates
from kgrag.text.sentences import entity_key, split

__all__ = ["instances"]

_LINKS = "of|the|on|in|for|and|a|an|to|at|with|from|de|la|le|van|von|del|di|da|y|&|-"
_IS_VERB = "is|are|was|were|has|had"
_CAPITALISED = r"[\p{Lu}\d][\p{L}\p{M}\d'’.&/:!?-]*"
_LOWER = rf"(?!(?:{_IS_VERB}|and|in|on)\b)\p{{Ll}}[\p{{L}}-]+"
_HEAD = regex.compile(
    rf"(?:The\s+)?{_CAPITALISED}(?:,?\s+(?:(?:{_LINKS})\s+){{0,3}}{_CAPITALISED})*(?:\s+{_LOWER}){{0,2}}"
    rf"(?=\s+(?:{_IS_VERB}|have|can|comes|originates)\s|\s*\(|,\s)"
)
_LONGEST_HEAD = 10
_WORD = regex.compile(r"[\p{L}\p{M}][\p{L}\p{M}'’-]*")
_PRONOUN = regex.compile(r"(?:he|she|it|they|his|her|its|their|this|these)\b", flags=regex.IGNORECASE)
_GENERIC = regex.compile(rf"(?:[Tt]he|[Tt]his)\s+\p{{Ll}}[\p{{L}}-]*(?:\s+\p{{Ll}}[\p{{L}}-]*)?(?=\s+(?:{_IS_VERB})\b)")
_OPENING = regex.compile(
    r"(?:\p{Lu}\p{Ll}+(?:ed|ing)|In|On|At|From|By|With|After|Before|Born|As|Like|During|When|While|Although|Despite|For|An?)\b"
)
_OWNED = regex.compile(r"['’]s?\s+\p{Ll}.*$")
_FILLER = regex.compile(r"\s+(?:place|date|name|year)s?\b")
_DEMONYM = regex.compile(r"\p{Lu}\p{L}+(?:ish|ian|ean|ese|can|nch|tch|man|eli|qi)")
_CLOSE = frozenset({"by", "in", "at", "for", "on", "as", "of"})
_NEAR = 5

_AFTER = regex.compile(
    r"(?:[\s,:]|[\"“’'(]|\b(?:was|is|were|are|be|been|by|in|at|on|of|to|from|the|a|an|for|with|as|and|which|who|it|its"
    r"|his|her|called|named|known|total|date|place|year|name|city|town|village|state|club|team|band|company|first|also|album|film"
    r"|movie|song|single|book|novel|series|group|both|near|include|includes|including|about|around|\p{Ll}+(?:er|or|ist|ian|man))\b)*"
)
_BEFORE = regex.compile(
    r"[\s,]*(?:(?:who|which|that|and)\s+)*(?:(?:is|was|are|were|became|serves?|served|has been|being)\s+)?"
    r"(?:(?:as|also|currently|the|a|an|one|of|its|his|her)\s+)*(?:[\p{Ll}-]+\s+){0,2}"
)
_VERB_BEFORE = regex.compile(r"[\s,]*(?:(?:who|which|that|also|has|had)\s+)*")
_VERB = regex.compile(
    r"(?:\p{L}ed|born|written|wrote|built|led|made|won|shot|set|lies|runs|flew|broadcast|stars|plays?|owns)\b"
)
_IS = regex.compile(r"\b(?:is|was|are|were|as|became)\b|,")
_OF = regex.compile(r"\s+(?:of|for)\s+(?:the\s+)?(?:\p{Ll}+\s+){0,2}")
_OWNS = regex.compile(r"['’]s?\s+(?:[\p{Ll}-]+\s+){0,2}")
_NAMED = regex.compile(r"\s*,?\s*(?:is|was|are|were)\s+(?:called\s+|named\s+|the\s+|by\s+)*")
_RELATIVE = regex.compile(r",?\s*(?:which|who|whose|that|where)\b|,\s*(?:an?|the)\s+\p{Ll}")
_LIST = regex.compile(r"\s*(?:\p{Ll}+,|,|,?\s*(?:and|or|&|as well as)|/)\s*(?:the\s+)?")
_CLAUSE = regex.compile(r"[;.]\s")
_AGENT = regex.compile(r"\bby\s+(?:the\s+)?$")
_IS_A = regex.compile(
    r"\b(?:is|was)\s+(?:an?|the)\s+((?:(?!(?:who|which|that|from|in|for|of|by|at|with|to|on|as|born|whose|where)\b)[\p{L}-]+"
    r"(?:,\s+(?:and\s+)?|\s+)?)+)"
)
_DOES = regex.compile(
    r"(?:or|er|ist|ian|man|woman|ress|ant|ent|ar|eur|ete|ect|ic|poet|chef|model|judge|priest|nun|pilot)$"
)
_PRAISE = regex.compile(
    r"\b(?:\p{Lu}[\p{L}-]*|former|retired|professional|famous|noted|prominent|leading|early|late|the|an?)\s+"
)
_NEARLY = regex.compile(
    r"\s*(?:by|in|at|on|of|to|from|with|for|as)\s+(?:(?:the|an?|its|his|her|their)\s+)?"
    r"(?:(?!(?:who|which|that|where|and|is|was|are|were|by|in|at|on|of|to|from|with|for)\b)[\p{Ll}-]+\s+){0,3}[\"“'‘]?"
)
_BY = regex.compile(r"\bby\s+(?:(?:the|an?)\s+)?(?:\p{Lu}\p{L}+\s+)?(?:[\p{Ll}-]+\s+){0,3}$")
_AT = regex.compile(r"\b(?:in|at|near)\s+(?:(?:the|an?)\s+)?(?:[\p{Ll}-]+\s+(?:of\s+)?){0,2}$")
_NEXT = regex.compile(r"\b(?:which|who|where|whose)\b|\band\s+(?:was|is|has|\p{Ll}+ed)\b|[;.]\s")
_REACH = 60
_FAR, _BESIDE = 24, 18


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its mentions, what it is about, and the words outside of names: start, end, word and stem."""

    text: str
    mentions: tuple[MentionSpan, ...]
    topic: str
    words: tuple[tuple[int, int, str, str], ...]


def instances(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Fulfil f_ins: instances of a class with values of the attributes that are listed, copied from the text.

    >>> creator = {"label": "creator", "range": "Person"}
    >>> said = {"concept": "Comic", "attributes": [creator], "text": "Marv Wolfman created Auron."}
    >>> instances(said)["instances"]
    [{'subject': 'Auron', 'attribute': 'creator', 'value': 'Marv Wolfman'}]
    """
    sentences = list(_read(str(variables["text"])))
    found: dict[tuple[str, str, str], None] = {}
    for given in variables["attributes"]:
        attribute = read_attribute(str(given["label"]), str(given.get("range", "")))
        for sentence in sentences:
            for subject, value in _stated(sentence, attribute):
                if entity_key(subject) != entity_key(value) and subject and value:
                    found.setdefault((subject, str(given["label"]), value))
    return {"instances": [{"subject": one, "attribute": label, "value": value} for one, label, value in found]}


def _read(text: str) -> Iterator[Sentence]:
    topic = ""
    for start, end in split(text):
        said = " ".join(text[start:end].split())
        known = tuple(mentions(said))
        topic = _topic(said, known, topic)
        yield Sentence(said, known, topic, tuple(_words(said, known)))


def _words(said: str, known: Sequence[MentionSpan]) -> Iterator[tuple[int, int, str, str]]:
    taken = {place for one in known for place in range(one.start, one.end)}
    for match in _WORD.finditer(said):
        if match.start() not in taken:
            yield match.start(), match.end(), match[0], term(match[0])


def _topic(said: str, known: Sequence[MentionSpan], before: str) -> str:
    """Give what a sentence is about: what it begins with, the one before it for a pronoun, else its first name."""
    if _PRONOUN.match(said) or _GENERIC.match(said):
        return before
    names = [one for one in known if one.kind in ("name", "quote")]
    if _OPENING.match(said):
        comma = said.find(", ")
        names = [one for one in names if one.start > comma > 0] or names
    elif (head := _HEAD.match(said)) and len(head[0].split()) <= _LONGEST_HEAD and names:
        whole = names[0].start < head.end() and names[0].text in head[0]
        return _OWNED.sub("", head[0].strip()) if whole else names[0].text
    return names[0].text if names else before


def _stated(sentence: Sentence, attribute: Attribute) -> Iterator[tuple[str, str]]:
    """Yield (subject, value) of an attribute in a sentence."""
    if attribute.role:
        yield from ((sentence.topic, role) for role in _roles(sentence.text))
        return
    fitting = [one for one in sentence.mentions if _fits(one, attribute) and not _describes(one, sentence.text)]
    silent = True
    for start, end, active in _cues(sentence, attribute):
        values, side = _values(sentence.text, attribute, (start, end), fitting, active=active)
        if not values:
            continue
        silent = False
        subject = _subject(sentence, (start, end), values, side)
        yield from ((subject, attribute.part(value.text)) for value in values)
    if silent and attribute.kind == "name":
        yield from ((sentence.topic, one.text) for one in fitting if _is_called(one.text, attribute))


def _is_called(name: str, attribute: Attribute) -> bool:
    """Say whether a name says itself what it is: "Premier League" for a league."""
    words = _WORD.findall(name)
    return len(words) > 1 and words[-1].casefold() == attribute.word


def _roles(text: str) -> Iterator[str]:
    """Yield what the subject of a sentence is said to be: "was an American politician and journalist"."""
    if said := _IS_A.search(text):
        words = _PRAISE.sub("", said[1])
        parts = (part.strip() for part in regex.split(r",\s*(?:and\s+)?|\s+and\s+", words))
        yield from (part for part in parts if _DOES.search(part))


def _describes(one: MentionSpan, text: str) -> bool:
    """Say whether a name is an adjective before a noun: "the American singer"."""
    return bool(_DEMONYM.fullmatch(one.text)) and bool(regex.match(r"\s+\p{L}", text[one.end : one.end + 3]))


def _fits(one: MentionSpan, attribute: Attribute) -> bool:
    if attribute.kind == "name":
        return one.kind in ("name", "quote")
    return one.kind == attribute.kind or (attribute.kind == "number" and one.kind == "date" and len(one.text) == 4)


def _cues(sentence: Sentence, attribute: Attribute) -> Iterator[tuple[int, int, bool]]:
    """Yield where the words of an attribute stand, outside names; and whether they are an active verb."""
    words = sentence.words
    stems = [stem for *_, stem in words]
    for cue in attribute.cues:
        for place in range(len(words)):
            if attribute.alike(stems[place], cue[0]) and (last := _rest(stems, place, cue, attribute)) is not None:
                start, end = words[place][0], words[last][1]
                end = filler.end() if (filler := _FILLER.match(sentence.text, end)) else end
                yield start, end, len(cue) == 1 and attribute.active(words[place][2], sentence.text[end : end + 4])
                break


def _rest(stems: Sequence[str], place: int, cue: Sequence[str], attribute: Attribute) -> int | None:
    """Give the place of the last word of a cue of several words, which stand within four words; None when not there."""
    last = place
    for wanted in cue[1:]:
        near = range(last + 1, min(last + (2 if wanted in _CLOSE else _NEAR), len(stems)))
        found = next((one for one in near if attribute.alike(stems[one], wanted)), None)
        if found is None:
            return None
        last = found
    return last


def _values(
    text: str, attribute: Attribute, cue: tuple[int, int], fitting: Sequence[MentionSpan], *, active: bool
) -> tuple[list[MentionSpan], str]:
    """Give the values that a cue leads to, and their place: "after" it, its "agent", or after what owns it ("of")."""
    after = [one for one in fitting if one.start >= cue[1]]
    before = [one for one in fitting if one.end <= cue[0]]
    if attribute.kind != "name":
        return _figures(text, cue, before, after)
    linked = bool(after) and _linked(text[cue[1] : after[0].start])
    gap = text[before[-1].end : cue[0]] if before else ""
    if active and before and linked and _VERB_BEFORE.fullmatch(gap):
        return [before[-1]], "agent"
    if _VERB.search(text[cue[0] : cue[1]]):
        led = after if linked and not attribute.agent else _attached(text, attribute, cue, after)
        return (_listed(text, led) if led else []), "after"
    said_to_be = bool(before) and attribute.noun and bool(_IS.search(gap) and _BEFORE.fullmatch(gap))
    owned = _OF.match(text, cue[1])
    if said_to_be and owned:
        return _joined(text, before), "agent"
    if owned and after:
        return _of_owner(text, after)
    return (_listed(text, after), "after") if linked else ([before[-1]] if said_to_be else [], "agent")


def _attached(
    text: str, attribute: Attribute, cue: tuple[int, int], after: Sequence[MentionSpan]
) -> Sequence[MentionSpan]:
    """Give the mentions from the one on that a verb leads to by a preposition of its own: "found in 1936 by X at Y"."""
    stop = _NEXT.search(text, cue[1])
    wanted = _BY if attribute.agent else _AT if attribute.place else None
    for place, one in enumerate(after if wanted else ()):
        if stop and one.start > stop.start():
            break
        if wanted and wanted.search(text[cue[1] : one.start]):
            return after[place:]
    return []


def _of_owner(text: str, after: Sequence[MentionSpan]) -> tuple[list[MentionSpan], str]:
    """Read "director of Auron is Ann Lee", else "member of the Blue Party"."""
    for one, other in pairwise(after):
        if _NAMED.fullmatch(text[one.end : other.start]):
            return _listed(text, [each for each in after if each.start >= other.start]), "of"
    return _listed(text, after), "after"


def _joined(text: str, before: Sequence[MentionSpan]) -> list[MentionSpan]:
    values = [before[-1]]
    for one in reversed(before[:-1]):
        if not _LIST.fullmatch(text[one.end : values[0].start]):
            break
        values.insert(0, one)
    return values


def _linked(gap: str) -> bool:
    return len(gap) <= _REACH and bool(_AFTER.fullmatch(without_dates(gap)) or _NEARLY.fullmatch(gap))


def _listed(text: str, after: Sequence[MentionSpan]) -> list[MentionSpan]:
    values = [after[0]]
    for one in after[1:]:
        if not _LIST.fullmatch(text[values[-1].end : one.start]):
            break
        values.append(one)
    return values


def _figures(
    text: str, cue: tuple[int, int], before: Sequence[MentionSpan], after: Sequence[MentionSpan]
) -> tuple[list[MentionSpan], str]:
    """Take the figure that stands nearest, rather behind the cue than before it."""
    ahead = cue[0] - before[-1].end if before else _REACH
    behind = after[0].start - cue[1] if after else _REACH + 1
    parted = bool(after) and bool(_CLAUSE.search(text[cue[1] : after[0].start]))
    if behind <= _REACH and not parted and not (ahead < _BESIDE and behind > _FAR):
        return [after[0]], "after"
    return ([before[-1]] if ahead <= _REACH // 2 else []), "after"


def _subject(sentence: Sentence, cue: tuple[int, int], values: Sequence[MentionSpan], side: str) -> str:
    """Give what has the attribute: what owns the cue, what a relative clause is of, or what the sentence is about."""
    text, taken = sentence.text, {one.start for one in values}
    names = [one for one in sentence.mentions if one.kind in ("name", "quote") and one.start not in taken]
    owned = _OF.match(text, cue[1])
    behind = next((one for one in names if one.start >= cue[1]), None)
    owner = behind if behind and owned and behind.start == owned.end() else None
    if owner and (side != "after" or owner.end < values[0].start):
        return owner.text
    if side == "agent" and behind and behind.start - cue[1] <= _REACH // 2:
        return behind.text
    ahead = next((one for one in reversed(names) if one.end <= cue[0]), None)
    if ahead and _OWNS.fullmatch(text[ahead.end : cue[0]]):
        return ahead.text
    if ahead and _RELATIVE.match(text, ahead.end) and not _AGENT.search(text, 0, ahead.start):
        return sentence.topic if ahead.text in sentence.topic else ahead.text
    return sentence.topic if entity_key(sentence.topic) != entity_key(values[0].text) else ""
