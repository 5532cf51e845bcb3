"""Parts of an English question, by rule: what it is about, the names in it, what an answer adds.

There is no tagger: an auxiliary separates the question word from the subject, and the last word of "does soybean need"
or "is chickpea sown" is the verb. Where these rules find nothing they return "".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import regex

from kgrag.languages import ENGLISH, language_of
from kgrag.late_patterns import late_regex
from kgrag.text.sentences import STOP_WORDS, word_set

__all__ = [
    "AUXILIARIES",
    "DETERMINERS",
    "FUNCTION_WORDS",
    "PREPOSITIONS",
    "QUESTION_WORDS",
    "asked_class",
    "form_of",
    "is_english",
    "named_in",
    "new_in",
    "prepositional",
    "spans",
    "subject",
    "tokens",
]

AUXILIARIES: Final = word_set(
    "is are was were do does did has have had can could will would shall should may might must"
)
QUESTION_WORDS: Final = word_set("who whom whose what which when where why how")
PREPOSITIONS: Final = word_set(
    "about after against at before below between by during for from in into near of on over per since through to under "
    "until with within without along across around behind beside beyond despite toward towards via"
)
DETERMINERS: Final = word_set("the a an my our your this that these those")
FUNCTION_WORDS: Final = STOP_WORDS | AUXILIARIES | QUESTION_WORDS | PREPOSITIONS | DETERMINERS
_HAVE: Final = word_set("has have had")
_BE: Final = word_set("is are was were")
_TOKEN: Final = late_regex(r"--?[\p{L}\p{N}][\p{L}\p{N}_-]*|[\p{L}\p{N}](?:[\p{L}\p{N}_.'’/@+#-]*[\p{L}\p{N}_+#])?")
_NAME: Final = late_regex(r"\p{Lu}[\p{L}\p{N}_.’-]*(?:\s+(?:\p{Lu}[\p{L}\p{N}_’-]*|\p{N}+\b))*")
_SPECIAL: Final = late_regex(r"(?<!\S)(?:--?\p{L}[\w-]*|\p{L}\w*_\w+)")
_PARTICIPLE: Final = late_regex(r"(?:ed|en|wn|rn|ept|ght|und|ilt|old|aid|ade|eld|ung|ut)$")
_LONGEST_SPAN = 4  # words


def tokens(text: str) -> list[regex.Match[str]]:
    """Return the words of a text with their places; options of commands and identifiers are one word each."""
    return list(_TOKEN.finditer(text))


def is_english(question: str) -> bool:
    """Return whether a question has a word that English questions are made with, and is in no other language.

    >>> is_english("What does it cost?"), is_english("Was kostet der Mixer?")
    (True, False)
    """
    if language_of(question, ENGLISH) != ENGLISH:
        return False
    words = {token[0].casefold() for token in tokens(question)}
    return bool(words & (AUXILIARIES | QUESTION_WORDS | {"the", "list", "name", "define", "describe"}))


def form_of(words: str) -> str:
    """Return the form of words: "number", "special" (an option or identifier), "name" or "word".

    >>> [form_of(each) for each in ("2022", "work_mem", "Hill Zone", "winter wheat")]
    ['number', 'special', 'name', 'word']
    """
    if regex.fullmatch(r"[\p{N}.,/-]+", words):
        return "number"
    if _SPECIAL.match(words):
        return "special"
    return "name" if regex.search(r"(?<![\p{L}\p{N}])\p{Lu}", words) else "word"


def subject(question: str) -> str:
    """Return what a question is about, with its article; "" where the rules find nothing.

    >>> [subject(each) for each in ("How much nitrogen does soybean need here?", "How long is the Rhine?")]
    ['soybean', 'the Rhine']
    >>> subject("Who is the author of rsync?")
    'the author of rsync'
    >>> subject("How many claims were filed against policy 4711?")
    'the claims filed against policy 4711'
    >>> subject("Which price list is valid?")
    'the price list'
    >>> subject("Who founded Nordwind Energy?")
    'Nordwind Energy'
    """
    words = tokens(question)
    places = [place for place, word in enumerate(words) if word[0].casefold() in AUXILIARIES]
    if not places:
        return _object(question, words)
    at = places[0]
    start = at + 1
    while start < len(words) and words[start][0].casefold() in DETERMINERS:
        start += 1
    end = start
    while end < len(words) and words[end][0].casefold() not in FUNCTION_WORDS:
        end += 1
    run = words[start:end]
    is_be = words[at][0].casefold() in _BE
    if run and _ends_in_verb([word[0] for word in run], is_be=is_be):
        run = run[:-1]
    named = max((place for place, word in enumerate(run, 1) if form_of(word[0]) != "word"), default=0)
    run = run[:named] if is_be and named else run  # what follows a name is said of it: "Is the Hill Zone accessible?"
    if not run:
        asked = _asked(words[:at])
        rest = question[words[at].end() :].strip().rstrip("?!. ")
        return f"the {asked} {rest}" if asked and is_be else ""
    if is_be and len(run) == 1 and run[0][0].islower() and (described := _described(words, at)):
        return described
    article = "the " if start > at + 1 and words[start - 1][0].casefold() == "the" else ""
    of = regex.match(r" of (?:the )?[\p{L}\p{N}_-]+(?:\s+(?:\p{Lu}|\p{N})[\p{L}\p{N}_-]*)*", question[run[-1].end() :])
    return article + question[run[0].start() : run[-1].end()] + (of[0] if of else "")


def _ends_in_verb(run: list[str], *, is_be: bool) -> bool:
    if is_be:
        return bool(_PARTICIPLE.search(run[-1])) and run[-1][:1].islower()
    return run[-1][:1].islower() and len(run) > 1


def _described(words: list[regex.Match[str]], at: int) -> str:
    """Return what "which" asks for where an adjective alone follows: "Which price list is valid?"."""
    asked = _asked(words[:at])
    return f"the {asked}" if asked and at + 2 == len(words) and words[0][0].casefold() == "which" else ""


def _asked(words: list[regex.Match[str]]) -> str:
    """Return the noun that a question word belongs to: "how many CLAIMS", "which OPTION"."""
    content = [word[0] for word in words if word[0].casefold() not in FUNCTION_WORDS]
    return " ".join(content) if words and words[0][0].casefold() in QUESTION_WORDS else ""


def _object(question: str, words: list[regex.Match[str]]) -> str:
    """Return the object of "Who founded X?" and "Which company built the X?"."""
    if not words or words[0][0].casefold() not in QUESTION_WORDS:
        return ""
    name = next((word for word in words[1:] if word[0][:1].isupper()), None)
    if name is not None:
        end = next(
            (word.start() for word in words if word.start() > name.start() and word[0].casefold() in FUNCTION_WORDS),
            len(question),
        )
        article = "the " if question[: name.start()].endswith("the ") else ""
        return article + question[name.start() : end].strip().rstrip("?!. ")
    rest = [word for word in words[2:] if word[0].casefold() not in FUNCTION_WORDS]
    return question[rest[0].start() :].strip().rstrip("?!. ") if rest and words[0][0].casefold() == "who" else ""


def asked_class(question: str) -> str:
    """Return what "which" or "what" asks for where it is the subject itself; "" of other questions.

    >>> asked_class("Which option of rsync deletes files on the receiving side?")
    'option of rsync'
    >>> asked_class("Which zone is it sown in?"), asked_class("Which pump has 40 kW?")
    ('', 'pump')
    """
    found = regex.match(
        r"(?:which|what) (?P<noun>\p{Ll}[\w-]*)(?P<of> of (?:the )?[\p{L}\p{N}_-]+)?\s+(?P<verb>\p{L}+)"
        r"(?P<number>\s+(?:at\s+\p{L}+\s+)?\p{N})?",
        question,
        regex.I,
    )
    if found is None or found["noun"] in AUXILIARIES:
        return ""
    has_value = found["number"] and found["verb"].casefold() in _HAVE
    if found["verb"].casefold() in AUXILIARIES | PREPOSITIONS and not has_value:
        return ""
    return f"{found['noun']}{found['of'] or ''}"


def named_in(text: str) -> list[str]:
    """Return the names in a text, in order; a first word that begins sentences is none.

    >>> named_in("In the Hill Zone, Marie Curie bred it.")
    ['Hill Zone', 'Marie Curie']
    """
    found = []
    for name in _NAME.findall(text):
        parts = name.split()
        while parts and parts[0].casefold() in FUNCTION_WORDS | {"list", "name", "define", "describe"}:
            parts = parts[1:]
        if parts:
            found.append(" ".join(parts).rstrip(".’"))
    return found


def new_in(answer: str, question: str) -> list[str]:
    """Return the names, options and identifiers that an answer adds to its question.

    >>> new_in("The option --delete removes them.", "Which option removes files?")
    ['--delete']
    """
    known = question.casefold()
    return [name for name in (*_SPECIAL.findall(answer), *named_in(answer)) if name.casefold() not in known]


def prepositional(question: str, preposition: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words behind a preposition, and where the whole phrase starts and ends."""
    words = tokens(question)
    for place, word in enumerate(words):
        if word[0].casefold() != preposition:
            continue
        first = place + 1
        while first < len(words) and words[first][0].casefold() in DETERMINERS:
            first += 1
        end = first
        while end < len(words) and words[end][0].casefold() not in FUNCTION_WORDS:
            if end > first and question[words[end - 1].end() : words[end].start()].strip():
                break
            end += 1
        if end > first:
            yield question[words[first].start() : words[end - 1].end()], word.start(), words[end - 1].end()


def spans(question: str) -> Iterator[tuple[str, int, int]]:
    """Yield every run of at most four words of content, with its start and end."""
    words = tokens(question)
    for first in range(len(words)):
        for end in range(first + 1, min(first + _LONGEST_SPAN, len(words)) + 1):
            if words[end - 1][0].casefold() in FUNCTION_WORDS:
                break
            between = question[words[end - 2].end() : words[end - 1].start()] if end - first > 1 else " "
            if between.strip():
                break
            yield question[words[first].start() : words[end - 1].end()], words[first].start(), words[end - 1].end()
