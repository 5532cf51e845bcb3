"""The names and numbers of a question, which what answers it has to have: in its sentences, their term, or headings.

A sentence about the noise of one machine is no answer to a question for that of another, however alike they are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_types import asked_for
from kgrag.llm.extractive.question_words import terms
from kgrag.text.sentences import STOP_WORDS, word_set

__all__ = ["NamesAsked", "name_lacking", "names_asked", "names_by_piece"]

_NAME = late_regex(r"\p{N}+(?:[.,:/-]\p{N}+)+|(?:\p{Lu}|\p{N})[\p{L}\p{M}\p{N}'’-]*")
_PRODUCT = late_regex(r"\p{Lu}\p{L}*")
_WORD = late_regex(r"[\p{L}\p{N}]")
_BEGINS = word_set(
    """describe explain give identify list name say show state summarize tell according can could did do does has have
    had is are was were will would should must may might"""
)
_MIN_ALIKE = 4
_ENDINGS = frozenset(
    ("", "n", "an", "ian", "ish", "ese", "i", "a", "ia", "s", "es", "e", "d", "ed", "er", "ic", "al", "ing", "ly", "y")
)
"""What one of two words has behind the other where both name the same: India, Indian."""


def names_asked(question: str) -> tuple[str, ...]:
    """Return the words of a question that have a capital or begin with a digit, but for the first of a sentence.

    Those of options that it names are none: an answer has one of them.

    >>> names_asked("What is the noise of the Mixer Alba in 2012?")
    ('Mixer', 'Alba', '2012')
    """
    plain = " ".join(question.split())
    found: list[str] = []
    for match in _NAME.finditer(plain):
        before = plain[: match.start()]
        if before and _WORD.match(before[-1]):
            continue
        opens = not _WORD.search(before) or before.rstrip(" \"'“‘").endswith((".", "!", "?", ":"))
        follows = _NAME.match(plain, match.end() + 1) and plain[match.end() : match.end() + 1] == " "
        word = match[0].casefold()
        if opens and (not follows or word in STOP_WORDS or word in _BEGINS):
            continue
        found.append(match[0])
    options = {one for option in asked_for(question).options for one in terms(option)}
    return tuple(name for name in dict.fromkeys(found) if not options.intersection(terms(name)))


@dataclass(frozen=True)
class NamesAsked:
    """The names of a question that an answer from a piece of evidence has to have, by the number of the piece."""

    by_piece: Mapping[int, tuple[str, ...]]

    def lacking(self, number: int, found: Collection[str]) -> str:
        """Return the first name of which an answer that begins in a piece lacks a term; "" for none."""
        return name_lacking(self.by_piece.get(number, ()), found)


def names_by_piece(question: str, texts: Sequence[EvidenceText]) -> NamesAsked:
    """Return the names that a question has.

    A document names its product once ("PostgreSQL"): such a name may be in any piece of the same document.
    """
    names = names_asked(question)
    said: dict[str, set[str]] = {}
    for text in texts:
        whole = " ".join((text.heading, text.before, text.text, text.following))
        products = (name for name in names if _PRODUCT.fullmatch(name))
        said.setdefault(text.title, set()).update(name for name in products if name in whole)
    elsewhere = {text.number: said[text.title] if text.title else set[str]() for text in texts}
    return NamesAsked({at: tuple(name for name in names if name not in known) for at, known in elsewhere.items()})


def name_lacking(names: Collection[str], found: Collection[str]) -> str:
    """Return the first of some names that has a term which some terms lack; "" for none.

    >>> name_lacking(["Indian", "Alba"], ["india", "mixer"])
    'Alba'
    """
    return next((name for name in names if not all(_is_held(one, found) for one in terms(name))), "")


def _is_held(one: str, found: Collection[str]) -> bool:
    if one in found:
        return True
    return any(_are_alike(one, other) for other in found)


def _are_alike(one: str, other: str) -> bool:
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared >= _MIN_ALIKE and one[shared:] in _ENDINGS and other[shared:] in _ENDINGS
