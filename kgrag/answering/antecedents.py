"""What a word of an English follow-up stands for in the turns before it: "it", "she", "there", "the two", "this crop".

Each rule takes what the last question was about, then what the questions before it were about; where "which" asked for
a thing, what the answer names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import regex

from kgrag.answering.counted_items import item_counted, neighbouring_year, year_in
from kgrag.answering.question_parts import (
    AUXILIARIES,
    FUNCTION_WORDS,
    asked_class,
    form_of,
    named_in,
    new_in,
    prepositional,
    subject,
    tokens,
)
from kgrag.answering.value_words import is_value, owner_in
from kgrag.late_patterns import late_regex
from kgrag.text.sentences import split

__all__ = ["Alike", "Exchange", "antecedent", "without_markers"]

Alike = Callable[[str, Sequence[str]], Sequence[float]]
"""How alike a text is to each of others, as a cosine; by the embedder."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question that can be understood alone, what was answered, and the texts in which that was looked for.

    ``answer`` is "" where there was none, and ``evidence`` () where it is not known.
    """

    question: str
    answer: str = ""
    evidence: tuple[str, ...] = ()


_MARKER: Final = late_regex(r"\s*\[\d+\]")
_NAMED_OWNER: Final = late_regex(r"\bof ((?:the )?\p{Lu}[\p{L}\p{N}_’-]*(?:\s+(?:\p{Lu}|\p{N})[\p{L}\p{N}_’-]*)*)")
_OF_PERSONS: Final = late_regex(
    r"\b(?:say|said|told?|think|thought|believe|want|know|knew|argue|explain|promise|decide|study|studied|marry|married"
    r"|teach|taught|write|wrote|born|die|died)\b"
)
"""What a ship does not do."""
_ASKS_FOR_PERSON: Final = late_regex(
    r"who (?:is|was|are|were) (?:the |responsible )?(?:[\p{Ll}-]+ ){0,3}?(?:of|at|for|in) (?P<thing>[^?.,;]+?)[?. ]*$",
    flags=regex.IGNORECASE,
)
_SAME_THING = 0.35
"""Cosine from which "the river" is taken for the Rhine."""


def without_markers(answer: str) -> str:
    """Return an answer without the numbers of what it cites."""
    return str(_MARKER.sub("", answer).strip())


def antecedent(found: regex.Match[str], before: Sequence[Exchange], alike: Alike | None) -> str | None:
    """Return what a word stands for; "" where it should stand for something, None where it may well not."""
    last = before[-1]
    if found["person"] or found["persons"]:
        is_she = found[0].casefold() in ("she", "her", "hers")
        may_be_ship = is_she and _OF_PERSONS.search(found.string) is None
        return _person(before) or (_ship(before) if may_be_ship else "")
    if found["place"]:
        return _place(last)
    if found["two"]:
        both = list(dict.fromkeys(filter(None, (subject(one.question) for one in before))))[-2:]
        return " and ".join(both) if len(both) == 2 else ""
    if found["one"]:
        return _counted(found, before)
    if found["year"] or found["time"]:
        return _dated(found, last)
    noun = found["noun"] or found["that"]
    named = (noun.partition(" ")[2] if noun else found["named"]) or ""
    return _described(named.casefold(), before, alike, certain=bool(noun)) if named else _done(found, before)


def _done(found: regex.Match[str], before: Sequence[Exchange]) -> str:
    """Return what "do that" means after "Who wrote X?", as "that (wrote X)"; else what "that", "it" and "its" mean."""
    if found["its"]:
        return _owner(before[-1].question) or _thing(before)
    asked = regex.fullmatch(r"who (?P<verb>\p{L}+)(?P<rest> .+?)[?.! ]*", before[-1].question, regex.IGNORECASE)
    is_deed = found["this"] and regex.search(r"\b(?:do|did|does|done|doing) $", found.string[: found.start()])
    if is_deed and asked and asked["verb"].casefold() not in AUXILIARIES:
        return f"{found[0]} ({asked['verb']}{asked['rest']})"
    return _thing(before)


def _dated(found: regex.Match[str], last: Exchange) -> str:
    """Return the year that "the year before" or the "that" of "before that" means; "" where no year was said."""
    year = year_in(last.question) or year_in(last.answer)
    if not year or found["time"]:
        return year
    has_preposition = regex.search(
        r"\b(?:in|during|for|since|until|of) $", found.string[: found.start()], regex.IGNORECASE
    )
    return f"{'' if has_preposition else 'in '}{neighbouring_year(found['year'], year)}"


def _counted(found: regex.Match[str], before: Sequence[Exchange]) -> str | None:
    """Return the thing of a list that "the second one" means, else the one with the name of the question before."""
    last = before[-1].question
    turns = ((exchange.question, exchange.answer) for exchange in reversed(before))
    item = item_counted(found["which"].casefold(), turns, last=last)
    if item is not None:
        return item
    if not found[0].endswith(" one"):
        return None
    about = subject(last).removeprefix("the ")
    names = [name for name in named_in(last) if name not in about]
    return f"the {found['which']} {names[-1]}" if names else ""


def _thing(before: Sequence[Exchange]) -> str:
    """Return what "it" means: what a question asked for by "which", else what it was about."""
    for exchange in reversed(before):
        asked = asked_class(exchange.question)
        if asked and (new := _asked_for(asked, exchange)):
            noun, of, whole = asked.partition(" of ")
            return f"the {noun} {new}{of}{whole}" if of else new
        if about := _of_person(exchange.question) or owner_in(subject(exchange.question)):
            return about
    return ""


def _of_person(question: str) -> str:
    """Return what "who" has a part in, since "it" and "they" mean no one person; "" where no question is for one.

    >>> _of_person("Who is the trainer of the fire wardens course?"), _of_person("Who is the contact at Voltis?")
    ('the fire wardens course', 'Voltis')
    """
    asked = _ASKS_FOR_PERSON.match(question)
    return asked["thing"] if asked and not is_value(asked["thing"]) else ""


def _owner(question: str) -> str:
    """Return the name of what has the attribute of a question: "its" never means "the quantity of X", but X.

    >>> _owner("What is the number of seats of the Lyra 2?"), _owner("How many of the Rake G2 are in stock?")
    ('the Lyra 2', 'the Rake G2')
    """
    owned = _NAMED_OWNER.findall(question)
    return owned[-1] if owned and not is_value(owned[-1]) else ""


def _ship(before: Sequence[Exchange]) -> str:
    """Return the thing with a name of its own that "she" may mean where no person was named: a ship."""
    about = _thing(before)
    return about if named_in(about) else ""


def _asked_for(asked: str, exchange: Exchange) -> str:
    """Return the name that answers "which RFC": "RFC 1059" before others, from the sentence most like the question."""
    wanted = {token[0].casefold() for token in tokens(exchange.question)} - FUNCTION_WORDS
    plain = without_markers(exchange.answer)
    sentences = [plain[start:end] for start, end in split(plain)]
    sentences.sort(key=lambda one: -len(wanted & {token[0].casefold() for token in tokens(one)}))
    new = [name for one in sentences for name in new_in(one, exchange.question) if not is_value(name, plain)]
    kind = asked.partition(" ")[0].casefold()
    return next((name for name in new if kind in name.casefold().split()), new[0] if new else "")


def _described(noun: str, before: Sequence[Exchange], alike: Alike | None, *, certain: bool) -> str | None:
    """Return what "this crop" or "the company" means; None for "the" with a noun that describes nothing said before."""
    last = before[-1]
    asked = asked_class(last.question)
    if asked.partition(" ")[0] == noun and (new := _asked_for(asked, last)):
        return new
    about = _thing(before)
    if certain:
        kinds = (name for text in (last.question, last.answer) for name in named_in(text))
        return next((f"the {name}" for name in kinds if name.casefold().endswith(f" {noun}")), about)
    if not about or not alike or noun in last.question.casefold():
        return None
    return about if alike(noun, [about])[0] >= _SAME_THING else None


def _person(before: Sequence[Exchange]) -> str:
    for exchange in reversed(before):
        asked_who = regex.match(r"(?:to |with |by |for )?who", exchange.question, regex.IGNORECASE)
        new = _persons(new_in(exchange.answer, exchange.question), exchange.answer)
        known = _persons(named_in(exchange.question), exchange.question)
        for names in (new, known) if asked_who else (known, new):
            if names:
                return names[0]
    return ""


def _persons(names: Sequence[str], text: str) -> list[str]:
    """Return the names that may be of persons: several words, without article, no date and no place."""
    names = [name for name in names if " " in name and not is_value(name, text)]
    return [name for name in names if not regex.search(rf"\b(?i:the|in|at) {regex.escape(name)}", text)]


def _place(last: Exchange) -> str:
    for text in (last.answer, last.question):
        for preposition in ("in", "at", "near", "on", "to", "from"):
            for words, start, end in prepositional(text, preposition):
                if form_of(words) == "name":
                    return text[start].lower() + text[start + 1 : end]
    return ""
