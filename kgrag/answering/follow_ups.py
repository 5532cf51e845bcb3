"""Follow-up questions made full by rule, for English: pronouns and left-out parts are filled from the turn before.

Used where no language model does it; German and French have fewer rules (``follow_ups_in_language``,
``fragments_in_language``). These kinds
are resolved: pronouns and "this crop" (by the subject of the question before, or by what its answer names), fragments
("And lentil?", "In 2022?", "Why?": the question before with one part exchanged), corrections ("No, I mean lentil": the
same), "the two" (the subjects of the last two questions), "the second one" of what an answer lists, and "the year
before". What can be understood alone is returned as it is, and what the rules cannot resolve is returned with the
reason. ``python -m benchmarks.follow_ups`` measures them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import regex

from kgrag.answering.antecedents import Alike, Exchange, antecedent, without_markers
from kgrag.answering.counted_items import item_named, listed
from kgrag.answering.evidence_counterparts import exchanged_by_tables
from kgrag.answering.follow_ups_in_language import PRONOUN_LANGUAGES, is_whole, with_things
from kgrag.answering.fragments_in_language import NOT_COMPLETED, completed, thing_in, without_lead
from kgrag.answering.question_parts import (
    AUXILIARIES,
    FUNCTION_WORDS,
    PREPOSITIONS,
    QUESTION_WORDS,
    form_of,
    is_english,
    named_in,
    prepositional,
    spans,
    subject,
    tokens,
)
from kgrag.languages import ENGLISH, language_of
from kgrag.late_patterns import late_regex
from kgrag.text.sentences import split

__all__ = ["Alike", "Exchange", "Resolved", "resolve"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A question that can be understood alone; ``unresolved`` is why it may not be, "" where it can.

    ``put_in`` are the words that were put into the question before, and ``is_guess`` whether only their form or their
    nearness in meaning shows that they belong there.
    """

    text: str
    unresolved: str = ""
    put_in: str = ""
    is_guess: bool = False


_LEAD: Final = late_regex(r"^(?:(?:and|or|but|so|then)\b[ ,]*)?(?:(?:what|how) about\b[ ,]*)?", regex.IGNORECASE)
_CORRECTION: Final = late_regex(
    r"(?:(?:no|nope|sorry|wait|actually)\b[\s,.!:;–-]*)*(?P<said>i (?:mean|meant))\b[\s,:]*(?P<meant>.+)"
    r"|(?:no|nope|sorry)\s*[,.!:;–-]+\s*(?!\s|thank|ok\b|please)(?P<meant>.+)",
    regex.IGNORECASE,
)
_INSTEAD_OF: Final = late_regex(
    r"(?P<right>.+?),? (?:not|instead of|rather than) (?P<wrong>.+)|not (?P<wrong>.+?),? but (?P<right>.+)",
    regex.IGNORECASE,
)
_ABOUT: Final = late_regex(r"\b(?:what|how) about\b", regex.IGNORECASE)
_CLAUSE: Final = late_regex(
    r"(?<!^)(?:[,;]|\b(?:and|or|but|which|who|whose|that|if|when|while|because|than)\b)", regex.IGNORECASE
)
_EMPTY_WORDS: Final = late_regex(
    r"\b(?:is|was) it (?:true|possible|necessary|allowed|advisable|worth|certain|likely|known|correct|better|best)\b"
    r"|\b(?:does|did|will|would|can) it (?:matter|rain|snow)\b|\btime is it\b"
    r"|\b(?:(?:does|did|will|would|can) it take|it (?:takes|took))\b(?=.*\bto\b)"
    r"|\bit (?:is|was) (?:\w+ ){1,2}(?:to|that)\b|\b(?:is|are|was|were) there\b|\bthere (?:is|are|was|were)\b",
    regex.IGNORECASE,
)
_ANAPHOR: Final = late_regex(
    r"(?<![\w-])(?:(?P<two>(?:the|these|those) two|both)"
    r"|(?P<one>the (?P<which>first|second|third|fourth|fifth|last|next|other) one"
    r"|the (?P<which>former|latter|(?:first|second|third|fourth|fifth|last|next|other)(?=\s*[?.!]?$))(?!\s+\p{Ll}))"
    r"|(?P<year>(?:the|a|one) (?:(?:previous|preceding|following|next) year"
    r"|year (?:before|earlier|after|later)(?: that)?)(?=\s*[?.!,]|$))"
    r"|(?<=\b(?:before|after|since|until|till) )(?P<time>that|this|then)(?=\s*[?.!,]|$)"
    r"|(?P<person>he|him|she|(?:this|that|the) person)"
    r"|(?P<persons>his|hers?)"
    r"|(?P<its>its|their)"
    r"|(?P<it>it|they|them)"
    r"|(?P<place>there)"
    r"|(?P<noun>(?:this|these|those) (?!is\b|are\b|was\b|were\b|two\b)(?-i:\p{Ll})[\w-]*)"
    r"|(?P<that>that (?!is\b|are\b|was\b|were\b|right\b|true\b|correct\b|so\b|all\b|possible\b)(?-i:\p{Ll})[\w-]*)"
    r"|(?P<definite>the (?P<named>(?-i:\p{Ll})[\w-]*)(?=\s*[?.!]?$|\s+(?!that\b|which\b|who)(?-i:\p{Ll})+))"
    r"|(?P<this>(?:this|these|those)(?=\s*[?.!,]|\s+(?:is|are|was|were)\b|$)|that(?=\s*[?.!]|$)))(?![\w'’-])",
    regex.IGNORECASE,
)
_PRONOUNS: Final = frozenset({"it", "its", "they", "them", "their", "he", "him", "his", "she", "her", "there"})
_LONGEST_FRAGMENT = 8  # words
_SUBJECT_PRONOUNS: Final = frozenset({"i", "we", "you", "one", "they"})
_FEW_WORDS = 5
_OF_PLACES: Final = ("in", "for", "at", "from", "near", "of")
_ALIKE_NAMES = 0.4
"""Cosine from which two names behind different prepositions are taken for names of one kind."""
_ALIKE_ENOUGH = 0.25
"""Cosine from which a fragment is taken for a part of the question before."""


def resolve(message: str, before: Sequence[Exchange], alike: Alike | None = None) -> Resolved:
    """Return a message of the user as a question that can be understood alone.

    Args:
        message: what the user wrote.
        before: the turns before, the oldest first.
        alike: compares words by meaning; without it only by their form.

    >>> before = [Exchange("When is chickpea sown in the Hill Zone?", "It is sown in March.")]
    >>> resolve("How is it irrigated?", before).text
    'How is chickpea irrigated?'
    >>> resolve("What about the Coastal Zone?", before).text
    'When is chickpea sown in the Coastal Zone?'
    >>> resolve("Who bred lentil?", before).text
    'Who bred lentil?'
    """
    text = " ".join(message.split())
    if not before or not text:
        return Resolved(text)
    if not is_english(f"{before[-1].question} {text}"):
        return _in_language(text, before)
    correction = _CORRECTION.fullmatch(text)
    if correction and (correction["said"] or _is_part(correction["meant"])):
        return _corrected(text, correction["meant"], before, alike)
    rest = _without_lead(text)
    text, rest = _with_counted_noun(text, before[-1].question), _with_counted_noun(rest, before[-1].question)
    words = [token[0].casefold() for token in tokens(rest)]
    if words and _is_fragment(text, words):
        return _completed(text, rest, before, alike, is_led=rest != text)
    return _with_antecedents(text, before, alike)


def _in_language(text: str, before: Sequence[Exchange]) -> Resolved:
    """Return a message of another language with its pronouns filled, as far as they are known."""
    last = before[-1]
    if (language := language_of(f"{last.question} {text}")) in PRONOUN_LANGUAGES:
        thing = thing_in(text, language)
        if thing and (made := exchanged_by_tables(thing, last.question, last.evidence, language)):
            return Resolved(made, put_in=thing)
        if made := completed(text, last.question, language):
            return Resolved(made, put_in=thing, is_guess=True)
        if is_whole(bare := without_lead(text, language), language):
            text = bare
        made, lacking = with_things(text, [before[-1].question, before[-1].answer], language)
        if lacking or made != text or is_whole(text, language):
            return Resolved(made, f"what {lacking} means could not be found in the conversation." if lacking else "")
    if len(text.split()) > _FEW_WORDS:
        return Resolved(text)
    if note := NOT_COMPLETED.get(language):
        return Resolved(f"{before[-1].question} {text}", note.format(text))
    return _joined(text, before, "the rules are for English, German and French")


def _with_counted_noun(text: str, question: str) -> str:
    """Return "how many can they carry over?" with the noun of the question before: "how many days can they …".

    >>> _with_counted_noun("How many can they carry over?", "How many days of leave do trainees get?")
    'How many days can they carry over?'
    """
    bare = regex.search(rf"\bhow many(?= (?:{'|'.join(AUXILIARIES)})\b)", text, regex.IGNORECASE)
    counted = regex.match(r"how many (?P<noun>\p{L}+)", question, regex.IGNORECASE)
    if bare is None or counted is None or counted["noun"].casefold() in FUNCTION_WORDS:
        return text
    return f"{text[: bare.end()]} {counted['noun']}{text[bare.end() :]}"


def _without_lead(text: str) -> str:
    lead = _LEAD.match(text)
    return text[lead.end() :].strip() if lead else text


def _joined(text: str, before: Sequence[Exchange], why: str) -> Resolved:
    return Resolved(
        f"{before[-1].question} {text}",
        f"“{text}” could not be made a full question ({why}); it was asked together with the question before it.",
    )


# --- fragments -----------------------------------------------------------------------------------------------------


def _is_fragment(text: str, words: Sequence[str]) -> bool:
    """Return whether a message is only a part of a question: few words, no auxiliary, and a word that says so."""
    if not _is_part(text):
        return False
    if _ABOUT.search(text):
        return True
    asked = _question_word(words)
    if asked is not None:
        behind = len(words) - asked - 1
        return behind == 0 or (words[asked] in ("which", "how", "what") and behind <= 2)
    return _without_lead(text) != text or words[0] in PREPOSITIONS or (text.endswith("?") and len(words) <= 3)


def _is_part(text: str) -> bool:
    """Return whether words can be a part of a question: few, and no auxiliary or pronoun among them."""
    words = [token[0].casefold() for token in tokens(text)]
    return len(words) <= _LONGEST_FRAGMENT and not set(words) & (AUXILIARIES | _PRONOUNS)


def _question_word(words: Sequence[str]) -> int | None:
    """Return the place of a question word at the beginning, behind one word ("since when", "in which") at most."""
    return next((place for place, word in enumerate(words[:2]) if word in QUESTION_WORDS), None)


def _completed(text: str, fragment: str, before: Sequence[Exchange], alike: Alike | None, *, is_led: bool) -> Resolved:
    """Return the question before with a fragment in the place of a part of it."""
    last = before[-1]
    fragment, lacking = _with_counted(fragment.rstrip("?!. "), before, alike)
    words = [token[0].casefold() for token in tokens(fragment)]
    if not words or lacking:
        return _joined(text, before, f"what {lacking} means could not be found in the conversation")
    if _question_word(words) is not None:
        made, thing = _asked_otherwise(fragment, words, last), ""
    elif item := _with_item(fragment, before):
        made, thing = item, ""
    else:
        is_phrase = words[0] in PREPOSITIONS
        thing = fragment.partition(" ")[2] if is_phrase else fragment
        if shown := exchanged_by_tables(thing, last.question, last.evidence, ENGLISH):
            return Resolved(shown, put_in=thing)
        made = (
            _with_phrase(fragment, last.question, alike)
            if is_phrase
            else _exchanged(fragment, last.question, alike, is_led=is_led)
        )
    if not made:
        return _joined(text, before, "the question before has no part like it")
    return Resolved(made, put_in=thing, is_guess=form_of(thing) == "word")


def _corrected(text: str, meant: str, before: Sequence[Exchange], alike: Alike | None) -> Resolved:
    """Return the question before as a correction means it: "No, I mean lentil", "I meant the one in the Hill Zone"."""
    last = before[-1].question
    if not _is_part(meant):
        return _with_antecedents(meant[:1].upper() + meant[1:], before, alike)
    bare = regex.sub(r"^(?:the )?ones? (?=\p{Ll})", "", meant.rstrip("?!. "))
    instead = _INSTEAD_OF.fullmatch(bare)
    if instead and (wrong := regex.search(rf"(?<!\w){regex.escape(instead['wrong'])}(?!\w)", last, regex.IGNORECASE)):
        return Resolved(f"{last[: wrong.start()]}{instead['right']}{last[wrong.end() :]}")
    return _completed(text, instead["right"] if instead else bare, before, alike, is_led=True)


def _with_counted(fragment: str, before: Sequence[Exchange], alike: Alike | None) -> tuple[str, str]:
    """Return a fragment with things and years in the place of "the second one", "the year before", "before that".

    The second text names what was not found; "" where all was.
    """
    pieces, at, lacking = [], 0, []
    for found in _ANAPHOR.finditer(fragment):
        if not (found["one"] or found["year"] or found["time"] or found["noun"] or found["that"]):
            continue
        if named := antecedent(found, before, alike):
            pieces += [fragment[at : found.start()], named]
            at = found.end()
        elif named is not None:
            lacking.append(f"“{found[0]}”")
    return "".join([*pieces, fragment[at:]]), ", ".join(lacking)


def _with_item(words: str, before: Sequence[Exchange]) -> str:
    """Return the question before about another thing of a list, or only what it is about; "" for what is in no list."""
    last = before[-1].question
    for exchange in reversed(before):
        items = listed(exchange.question, exchange.answer)
        if words in items:
            here = item_named(items, last)
            return f"What about {words}?" if here is None else last.replace(items[here], words)
    return ""


def _asked_otherwise(fragment: str, words: Sequence[str], last: Exchange) -> str:
    """Return the question before with other words that ask: "How deep?" -> "How deep is the Rhine?"; "" for none."""
    if words[0] == "why" and last.answer:
        stated = _first_sentence(last.answer).rstrip(". ")
        is_name = stated.split(" ", 1)[0].casefold() not in FUNCTION_WORDS
        return f"Why is it that {stated if is_name else stated[:1].lower() + stated[1:]}?"
    auxiliary = next((word for word in tokens(last.question) if word[0].casefold() in AUXILIARIES), None)
    if auxiliary is None:
        return ""
    tail = last.question[auxiliary.start() :].rstrip("?!. ")
    if words[0] in PREPOSITIONS and tail.rpartition(" ")[2] in PREPOSITIONS:
        tail = tail.rpartition(" ")[0]
    return f"{fragment[:1].upper()}{fragment[1:]} {tail}?"


def _first_sentence(answer: str) -> str:
    plain = without_markers(answer)
    start, end = next(iter(split(plain)), (0, len(plain)))
    sentence: str = plain[start:end]
    return sentence


def _with_phrase(phrase: str, question: str, alike: Alike | None) -> str:
    """Return a question with a phrase ("in 2022") in the place of one of its kind, else at its end.

    "In Rome" is of the kind of "for Paris" as well: a name is put in the place of the one that it is most like.
    """
    phrase = phrase[:1].lower() + phrase[1:]
    preposition, _, words = phrase.partition(" ")
    if form_of(words) == "number" and (dated := regex.search(r"\b(?:in|during|for) (?:1[5-9]|20)\d\d\b", question)):
        return f"{question[: dated.start()]}{phrase}{question[dated.end() :]}"
    for found, start, end in prepositional(question, preposition):
        if form_of(found) == form_of(regex.sub(r"^(?:the|a|an) ", "", words)):
            return f"{question[:start]}{phrase}{question[end:]}"
    if alike and preposition in _OF_PLACES and form_of(words) == "name":
        places = [one for other in _OF_PLACES for one in prepositional(question, other) if form_of(one[0]) == "name"]
        nearness = alike(words, [name for name, _, _ in places]) if places else []
        if (best := max(zip(nearness, places, strict=True), default=None)) and best[0] >= _ALIKE_NAMES:
            return f"{question[: best[1][1]]}{phrase}{question[best[1][2] :]}"
    return f"{question.rstrip('?!. ')} {phrase}?"


def _exchanged(fragment: str, question: str, alike: Alike | None, *, is_led: bool) -> str:
    """Return a question with a fragment ("lentil") in the place of what is most like it; "" where nothing is.

    Where nothing is near enough and "and" or "what about" comes before it, that is what the question is about.
    """
    article, bare = regex.fullmatch(r"(the |a |an )?(.*)", fragment, regex.IGNORECASE).groups()
    form, parts = form_of(bare), set(bare.casefold().split())
    candidates = list(spans(question))
    shaped = [one for one in candidates if form_of(one[0]) == form and not _is_question_start(one, question)]
    if form == "name":
        names = named_in(question)
        shaped = [one for one in shaped if one[0] in names] or candidates
    if not shaped:
        return ""
    nearness = alike(bare, [words for words, _, _ in shaped]) if alike else [0.0] * len(shaped)
    about = subject(question).removeprefix("the ")

    def worth(place: int) -> tuple[float, bool, int]:
        words = shaped[place][0]
        shared = len(parts & set(words.casefold().split()))
        same = 1.0 if form != "word" else 0.0
        return nearness[place] + shared + same, words == about, len(words) if form == "name" else -len(words)

    best = max(range(len(shaped)), key=worth)
    if worth(best)[0] < (_ALIKE_ENOUGH if alike else 1):
        best = next((place for place, one in enumerate(shaped) if one[0] == about and is_led), -1)
    if best < 0:
        return ""
    _, start, end = shaped[best]
    had_article = regex.search(r"\bthe $", question[:start], regex.IGNORECASE)
    if article and had_article:
        start = had_article.start()
    owned = "’s" if regex.search(r"['’]s$", question[:end]) and not regex.search(r"['’]s$", bare) else ""
    return f"{question[:start]}{(article or '').lower()}{bare}{owned}{question[end:]}"


def _is_question_start(span: tuple[str, int, int], question: str) -> bool:
    return span[1] == 0 and tokens(question)[0][0].casefold() in QUESTION_WORDS


# --- pronouns ------------------------------------------------------------------------------------------------------


def _with_antecedents(text: str, before: Sequence[Exchange], alike: Alike | None) -> Resolved:
    """Return a message with names in the place of its pronouns."""
    empty = [found.span() for found in _EMPTY_WORDS.finditer(text)]
    pieces, at, lacking = [], 0, []
    for found in _ANAPHOR.finditer(text):
        if any(start <= found.start() < end for start, end in empty) or _is_bound(text, found):
            continue
        named = antecedent(found, before, alike)
        if named is None:
            continue
        if not named:
            lacking.append(found[0])
            continue
        is_object = found[0].casefold() == "her" and regex.match(r"\s*(?:[?.!,]|$)", text[found.end() :])
        is_possessive = (found["its"] or found["persons"]) and not is_object
        name = f"{named}’s" if is_possessive else named
        name = name[:1].upper() + name[1:] if found.start() == 0 else name
        pieces += [text[at : found.start()], name]
        at = found.end()
    made = "".join([*pieces, text[at:]])
    if pieces:
        made = _without_lead(made)
        made = made[:1].upper() + made[1:]
    if lacking:
        words = ", ".join(f"“{word}”" for word in dict.fromkeys(lacking))
        return Resolved(made, f"what {words} means could not be found in the conversation.")
    return Resolved(made)


def _is_bound(text: str, found: regex.Match[str]) -> bool:
    """Return whether a pronoun may mean something that the message itself names before it."""
    ahead = text[: found.start()]
    if found["its"] or found["persons"]:
        words = [token[0].casefold() for token in tokens(ahead)]
        after = next((place for place, word in enumerate(words) if word in AUXILIARIES), len(words))
        inner = [word for word in words[after:] if word not in FUNCTION_WORDS]
        return bool(inner) or bool(_CLAUSE.search(ahead) and set(words) - FUNCTION_WORDS)
    if found["that"]:  # "the firm that built" has a noun before it, "can I set that" a verb, "of that" neither
        words = ["", "", *(token[0].casefold() for token in tokens(ahead))]
        return words[-1] not in FUNCTION_WORDS | {""} and words[-2] not in _SUBJECT_PRONOUNS
    if found["definite"]:
        behind = [token[0].casefold() for token in tokens(text[found.end() :])]
        return bool(behind) and behind[0] in PREPOSITIONS
    if found["it"] or found["person"]:
        breaks = list(_CLAUSE.finditer(ahead))
        if not breaks:
            return False
        words = [token[0].casefold() for token in tokens(ahead[: breaks[-1].start()])]
        content = [word for word in words if word not in FUNCTION_WORDS]
        is_verb_only = len(content) == 1 and words[0] in QUESTION_WORDS and not set(words) & AUXILIARIES
        return bool(content) and not is_verb_only
    return False
