"""Instances of attributes in a text, by their words and the kind of value: a part of ``poly_rag/facts``.

A word of the attribute, or of a wording that means the same ("born" for a birth place), is its cue. The value is the
date, number or name that the cue leads to: behind it ("directed by Ann Lee") or before it ("Ann Lee is the director",
"Ann Lee directed Auron"), as the wording asks. The subject is the owner of the cue ("the director of Auron", "Auron's
director"), the name that a relative clause follows, or else the topic of the sentence.

Each rule was switched off alone on the test sentences of Text2KGBench; one that does not raise F1 there, nor the names
that are found for questions of PopQA, is not here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.attributes import Attribute, read_attribute
from kgrag.llm.extractive.question_words import term
from kgrag.llm.extractive.sentence_facts import MentionSpan, mentions
from kgrag.text.sentences import entity_key, split

__all__ = ["instances"]

_LINKS = "of|the|on|in|for|and|a|an|to|at|with|from|de|la|le|van|von|del|di|da|y|&|-"
_IS_VERB = "is|are|was|were|has|had"
_CAPITALISED = r"[\p{Lu}\d][\p{L}\p{M}\d'’.&/:!?-]*"
_LOWER = rf"(?!(?:{_IS_VERB}|and|in|on)\b)\p{{Ll}}[\p{{L}}-]+"
_HEAD = late_regex(
    rf"(?:The\s+)?{_CAPITALISED}(?:,?\s+(?:(?:{_LINKS})\s+){{0,3}}{_CAPITALISED})*(?:\s+{_LOWER}){{0,2}}"
    rf"(?=\s+(?:{_IS_VERB}|have|can|comes|originates)\s|\s*\(|,\s)"
)
_MAX_HEAD_WORDS = 10
_WORD = late_regex(r"[\p{L}\p{M}][\p{L}\p{M}'’-]*")
_PRONOUN = late_regex(r"(?:he|she|it|they|his|her|its|their|this|these)\b", flags=regex.IGNORECASE)
_GENERIC = late_regex(rf"(?:[Tt]he|[Tt]his)\s+\p{{Ll}}[\p{{L}}-]*(?:\s+\p{{Ll}}[\p{{L}}-]*)?(?=\s+(?:{_IS_VERB})\b)")
_OPENING = late_regex(
    r"(?:\p{Lu}\p{Ll}+(?:ed|ing)|In|On|At|From|By|With|After|Before|Born|As|Like|During|When|While|Although|Despite|For|An?)\b"
)
_OWNED = late_regex(r"['’]s?\s+\p{Ll}.*$")
_FILLER = late_regex(r"\s+(?:place|date|name|year)s?\b")
_DEMONYM = late_regex(r"\p{Lu}\p{L}+(?:ish|ian|ean|ese|can|nch|tch|man|eli|qi)")
_MAX_CUE_DISTANCE = 4  # words from one word of a cue to the next

_AFTER = late_regex(
    r"(?:[\s,:]|[\"“’'(]|\b(?:was|is|were|are|be|been|by|in|at|on|of|to|from|the|a|an|for|with|as|and|which|who|it|its"
    r"|his|her|called|named|known|total|date|place|year|name|city|town|village|state|club|team|band|company|first|also|album|film"
    r"|movie|song|single|book|novel|series|group|both|near|include|includes|including|about|around|\p{Ll}+(?:er|or|ist|ian|man))\b)*"
)
_BEFORE = late_regex(
    r"[\s,]*(?:(?:who|which|that|and)\s+)*(?:(?:is|was|are|were|became|serves?|served|has been|being)\s+)?"
    r"(?:(?:as|also|currently|the|a|an|one|of|its|his|her)\s+)*(?:[\p{Ll}-]+\s+){0,2}"
)
_VERB_BEFORE = late_regex(r"[\s,]*(?:(?:who|which|that|also|has|had)\s+)*")
_VERB = late_regex(
    r"(?:\p{L}ed|born|written|wrote|built|led|made|won|shot|set|lies|runs|flew|broadcast|stars|plays?|owns)\b"
)
_IS = late_regex(r"\b(?:is|was|are|were|as|became)\b|,")
_OF = late_regex(r"\s+(?:of|for)\s+(?:the\s+)?(?:\p{Ll}+\s+){0,2}")
_OWNS = late_regex(r"['’]s?\s+(?:[\p{Ll}-]+\s+){0,2}")
_NAMED = late_regex(r"\s*,?\s*(?:is|was|are|were)\s+(?:called\s+|named\s+|the\s+|by\s+)*")
_RELATIVE = late_regex(r",?\s*(?:which|who|whose|that|where)\b|,\s*(?:an?|the)\s+\p{Ll}")
_LIST = late_regex(r"\s*(?:\p{Ll}+,|,|,?\s*(?:and|or|&|as well as)|/)\s*(?:the\s+)?")
_IS_A = late_regex(
    r"\b(?:is|was)\s+(?:an?|the)\s+((?:(?!(?:who|which|that|from|in|for|of|by|at|with|to|on|as|born|whose|where)\b)[\p{L}-]+"
    r"(?:,\s+(?:and\s+)?|\s+)?)+)"
)
_DOES = late_regex(
    r"(?:or|er|ist|ian|man|woman|ress|ant|ent|ar|eur|ete|ect|ic|poet|chef|model|judge|priest|nun|pilot)$"
)
_PRAISE = late_regex(
    r"\b(?:\p{Lu}[\p{L}-]*|former|retired|professional|famous|noted|prominent|leading|early|late|the|an?)\s+"
)
_NEARLY = late_regex(
    r"\s*(?:by|in|at|on|of|to|from|with|for|as)\s+(?:(?:the|an?|its|his|her|their)\s+)?"
    r"(?:(?!(?:who|which|that|where|and|is|was|are|were|by|in|at|on|of|to|from|with|for)\b)[\p{Ll}-]+\s+){0,3}[\"“'‘]?"
)
_BY = late_regex(r"\bby\s+(?:(?:the|an?)\s+)?(?:\p{Lu}\p{L}+\s+)?(?:[\p{Ll}-]+\s+){0,3}$")
_AT = late_regex(r"\b(?:in|at|near)\s+(?:(?:the|an?)\s+)?(?:[\p{Ll}-]+\s+(?:of\s+)?){0,2}$")
_MAX_GAP_CHARACTERS = 60  # between a cue and its value
_FAR_CHARACTERS, _NEAR_CHARACTERS = 24, 18  # a figure this far behind a cue gives way to one this near before it


@dataclass(frozen=True, slots=True)
class _AnalysedSentence:
    """A sentence with its mentions, its topic, and the words outside of names: start, end, word and stem.

    ``places`` has the places of words by the beginning of their stem, for each sentence is asked for every attribute.
    """

    text: str
    mentions: tuple[MentionSpan, ...]
    topic: str
    words: tuple[tuple[int, int, str, str], ...]
    places: Mapping[str, Sequence[int]]


def instances(attributes: Iterable[tuple[str, str]], text: str) -> list[tuple[str, str, str]]:
    """Return (subject, attribute, value) as a text states them; an attribute is a label and what its values are.

    >>> instances([("creator", "Person")], "Marv Wolfman created Auron.")
    [('Auron', 'creator', 'Marv Wolfman')]
    """
    sentences = list(_analysed(text))
    stated: dict[tuple[str, str, str], None] = {}
    for label, range_ in attributes:
        attribute = read_attribute(label, range_)
        for sentence in sentences:
            for subject, value in _stated(sentence, attribute):
                if entity_key(subject) != entity_key(value) and subject and value:
                    stated.setdefault((subject, label, value), None)
    return list(stated)


def _analysed(text: str) -> Iterator[_AnalysedSentence]:
    topic = ""
    for start, end in split(text):
        line = " ".join(text[start:end].split())
        spans = tuple(mentions(line))
        topic = _topic(line, spans, topic)
        in_mentions = {place for span in spans for place in range(span.start, span.end)}
        found = [match for match in _WORD.finditer(line) if match.start() not in in_mentions]
        words = tuple((match.start(), match.end(), match[0], term(match[0])) for match in found)
        places: dict[str, list[int]] = defaultdict(list)
        for place, (*_, stem) in enumerate(words):
            places[Attribute.beginning(stem)].append(place)
        yield _AnalysedSentence(line, spans, topic, words, dict(places))


def _topic(line: str, spans: Sequence[MentionSpan], before: str) -> str:
    """Return the topic of a sentence: its beginning, the topic before it for a pronoun, else its first name."""
    if _PRONOUN.match(line) or _GENERIC.match(line):
        return before
    names = [span for span in spans if span.kind in ("name", "quote")]
    if _OPENING.match(line):
        comma = line.find(", ")
        names = [span for span in names if span.start > comma > 0] or names
    elif (head := _HEAD.match(line)) and len(head[0].split()) <= _MAX_HEAD_WORDS and names:
        is_whole = names[0].start < head.end() and names[0].text in head[0]
        return _OWNED.sub("", head[0].strip()) if is_whole else names[0].text
    return names[0].text if names else before


def _stated(sentence: _AnalysedSentence, attribute: Attribute) -> Iterator[tuple[str, str]]:
    """Yield (subject, value) of an attribute in a sentence."""
    if attribute.role:
        # "was an American politician and journalist"
        stated = _IS_A.search(sentence.text)
        roles = regex.split(r",\s*(?:and\s+)?|\s+and\s+", _PRAISE.sub("", stated[1])) if stated else []
        yield from ((sentence.topic, role.strip()) for role in roles if _DOES.search(role.strip()))
        return
    cues = list(_cues(sentence, attribute))
    if not cues and not (attribute.word and attribute.kind == "name"):
        return
    fitting = [span for span in sentence.mentions if _can_be_value(span, attribute, sentence.text)]
    has_values = False
    for start, end, active in cues:
        values, side = _values(sentence.text, attribute, (start, end), fitting, active=active)
        if values:
            has_values = True
            subject = _subject(sentence, (start, end), values, side)
            yield from ((subject, attribute.part(value.text)) for value in values)
    if not has_values and attribute.kind == "name":
        # A name that contains its kind needs no cue: "Premier League" for a league.
        words = [(span.text, _WORD.findall(span.text)) for span in fitting]
        yield from ((sentence.topic, name) for name, row in words if row[1:] and row[-1].casefold() == attribute.word)


def _can_be_value(span: MentionSpan, attribute: Attribute, text: str) -> bool:
    """Return whether a mention is of the attribute's kind, and no adjective before a noun ("the American singer")."""
    if _DEMONYM.fullmatch(span.text) and regex.match(r"\s+\p{L}", text[span.end : span.end + 3]):
        return False
    if attribute.kind == "name":
        return span.kind in ("name", "quote")
    is_year = span.kind == "date" and len(span.text) == len("1928")
    return span.kind == attribute.kind or (attribute.kind == "number" and is_year)


def _cues(sentence: _AnalysedSentence, attribute: Attribute) -> Iterator[tuple[int, int, bool]]:
    """Yield start and end of the attribute's cues outside names, and whether each is an active verb."""
    words = sentence.words
    for cue in attribute.cues:
        for place in sentence.places.get(attribute.beginning(cue[0]), ()):
            if (
                attribute.alike(words[place][3], cue[0])
                and (last := _last_of_cue([stem for *_, stem in words], place, cue, attribute)) is not None
            ):
                start, end = words[place][0], words[last][1]
                end = filler.end() if (filler := _FILLER.match(sentence.text, end)) else end
                yield start, end, len(cue) == 1 and attribute.active(words[place][2], sentence.text[end : end + 4])
                break


def _last_of_cue(stems: Sequence[str], place: int, cue: Sequence[str], attribute: Attribute) -> int | None:
    """Return the place of the last word of a cue whose first word is at ``place``; None when not all are there."""
    last = place
    for wanted in cue[1:]:
        near = range(last + 1, min(last + _MAX_CUE_DISTANCE + 1, len(stems)))
        following = next((index for index in near if attribute.alike(stems[index], wanted)), None)
        if following is None:
            return None
        last = following
    return last


def _values(
    text: str, attribute: Attribute, cue: tuple[int, int], fitting: Sequence[MentionSpan], *, active: bool
) -> tuple[list[MentionSpan], str]:
    """Return the values that a cue leads to, and their side: "after" it, its "agent", or after its owner ("of")."""
    after = [span for span in fitting if span.start >= cue[1]]
    before = [span for span in fitting if span.end <= cue[0]]
    if attribute.kind != "name":
        return _figures(cue, before, after), "after"
    gap_after = text[cue[1] : after[0].start] if after else ""
    linked = len(gap_after) <= _MAX_GAP_CHARACTERS and (_AFTER.fullmatch(gap_after) or _NEARLY.fullmatch(gap_after))
    linked = bool(after and linked)
    gap = text[before[-1].end : cue[0]] if before else ""
    if active and before and linked and _VERB_BEFORE.fullmatch(gap):
        return [before[-1]], "agent"
    if _VERB.search(text[cue[0] : cue[1]]):
        led_to = after if linked and not attribute.agent else _attached(text, attribute, cue, after)
        return _listed(text, led_to), "after"
    named_before = bool(before) and attribute.noun and bool(_IS.search(gap) and _BEFORE.fullmatch(gap))
    owned = _OF.match(text, cue[1])
    if named_before and owned:
        return _listed_before(text, before), "agent"
    if owned and after:
        return _values_of_owner(text, after)
    return (_listed(text, after), "after") if linked else ([before[-1]] if named_before else [], "agent")


def _values_of_owner(text: str, after: Sequence[MentionSpan]) -> tuple[list[MentionSpan], str]:
    """Return the value of "director of Auron is Ann Lee", else of "member of the Blue Party"."""
    for place, (owner, value) in enumerate(pairwise(after), start=1):
        if _NAMED.fullmatch(text[owner.end : value.start]):
            return _listed(text, after[place:]), "of"
    return _listed(text, after), "after"


def _attached(
    text: str, attribute: Attribute, cue: tuple[int, int], after: Sequence[MentionSpan]
) -> Sequence[MentionSpan]:
    """Return the mentions from the one to which a verb leads by a preposition: "found in 1936 by X at Y"."""
    preposition = _BY if attribute.agent else _AT if attribute.place else None
    for place, span in enumerate(after if preposition else ()):
        if preposition and preposition.search(text[cue[1] : span.start]):
            return after[place:]
    return []


def _listed(text: str, after: Sequence[MentionSpan]) -> list[MentionSpan]:
    """Return the first mention with those that "and" or a comma joins to it."""
    values = list(after[:1])
    for span in after[1:]:
        if not _LIST.fullmatch(text[values[-1].end : span.start]):
            break
        values.append(span)
    return values


def _listed_before(text: str, before: Sequence[MentionSpan]) -> list[MentionSpan]:
    """Return the last mention with those that "and" or a comma joins to it."""
    values = [before[-1]]
    for span in reversed(before[:-1]):
        if not _LIST.fullmatch(text[span.end : values[0].start]):
            break
        values.insert(0, span)
    return values


def _figures(cue: tuple[int, int], before: Sequence[MentionSpan], after: Sequence[MentionSpan]) -> list[MentionSpan]:
    """Return the figure nearest to a cue, rather behind it than before it."""
    distance_before = cue[0] - before[-1].end if before else _MAX_GAP_CHARACTERS
    distance_after = after[0].start - cue[1] if after else _MAX_GAP_CHARACTERS + 1
    is_far = distance_after > _FAR_CHARACTERS and distance_before < _NEAR_CHARACTERS
    if distance_after <= _MAX_GAP_CHARACTERS and not is_far:
        return [after[0]]
    return [before[-1]] if before and distance_before <= _MAX_GAP_CHARACTERS // 2 else []


def _subject(sentence: _AnalysedSentence, cue: tuple[int, int], values: Sequence[MentionSpan], side: str) -> str:
    """Return the owner of the cue, the name before a relative clause, or the topic of the sentence."""
    text, value_starts = sentence.text, {value.start for value in values}
    names = [span for span in sentence.mentions if span.kind in ("name", "quote") and span.start not in value_starts]
    owned = _OF.match(text, cue[1])
    behind = next((span for span in names if span.start >= cue[1]), None)
    owner = behind if behind and owned and behind.start == owned.end() else None
    if owner and (side != "after" or owner.end < values[0].start):
        return owner.text
    if side == "agent" and behind and behind.start - cue[1] <= _MAX_GAP_CHARACTERS // 2:
        return behind.text
    ahead = next((span for span in reversed(names) if span.end <= cue[0]), None)
    if ahead and _OWNS.fullmatch(text[ahead.end : cue[0]]):
        return ahead.text
    if ahead and _RELATIVE.match(text, ahead.end):
        return sentence.topic if ahead.text in sentence.topic else ahead.text
    return sentence.topic if entity_key(sentence.topic) != entity_key(values[0].text) else ""
