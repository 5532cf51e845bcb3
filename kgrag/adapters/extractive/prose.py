"""Answers from prose: sentences of the evidence, copied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from kgrag.adapters.extractive.claims import Claim, Piece
from kgrag.adapters.extractive.wording import Question, terms
from kgrag.stages.sentences import split

__all__ = ["Sentence", "prose_claims", "read_sentences"]

_HEADING = regex.compile(r"#+\s+(.*)", flags=regex.DOTALL)
_MARK = regex.compile(r"(?:[-*•‣◦▪·–—+]|\(?\p{N}{1,3}[.)])\s+")
_NAME = regex.compile(r"\p{Lu}[\p{L}\p{M}'’-]+")
_FIGURE = regex.compile(r"\p{N}")
_PRONOUN = regex.compile(r"(?:it|its|he|his|she|her|they|their|this|these|those)\b", flags=regex.IGNORECASE)
_CONTEXT = 0.6
_FITS = 0.08
_RANK = 0.02
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the evidence: its words as they stand, its terms, and those of headings and title above it.

    ``before`` is the sentence before one that begins with a pronoun, since it says what the pronoun stands for.
    """

    number: int
    text: str
    own: frozenset[str]
    around: frozenset[str]
    before: Sentence | None = None


def read_sentences(piece: Piece) -> Iterator[Sentence]:
    """Yield the sentences of a piece of evidence; a heading is no sentence, but what stands below it is about it."""
    text = piece.source or piece.text
    heading = frozenset(terms(piece.heading))
    around = heading
    last: Sentence | None = None
    for start, end in split(text):
        sentence = text[start:end]
        if title := _HEADING.fullmatch(sentence):
            around, last = heading | frozenset(terms(title[1])), None
            continue
        if mark := _MARK.match(sentence):
            sentence = sentence[mark.end() :]
        own = frozenset(terms(sentence))
        if not own or len(sentence) > _LONGEST:
            last = None
            continue
        before = last if _PRONOUN.match(sentence) else None
        last = Sentence(piece.number, sentence, own, around, before)
        yield last


def prose_claims(question: Question, sentences: Sequence[Sentence]) -> Iterator[Claim]:
    """Yield every sentence that shares a term with the question, behind the one that it needs to be understood."""
    for sentence in sentences:
        own = question.coverage(sentence.own)
        if own <= 0:
            continue
        needed = sentence.before
        if needed and question.coverage(needed.own - sentence.own) <= 0:
            needed = None
        said = [needed, sentence] if needed else [sentence]
        around = sentence.around.union(*(part.own for part in said))
        yield Claim(
            text=" ".join(" ".join(part.text.split()) for part in said),
            quotes=tuple((part.number, part.text) for part in said),
            found=around,
            score=own + _CONTEXT * question.coverage(around - sentence.own) + _bonus(question, sentence),
            links=frozenset(word for part in said for name in _NAME.findall(part.text) for word in terms(name)),
        )


def _bonus(question: Question, sentence: Sentence) -> float:
    """Give a little more to better evidence, and to a number where a date or an amount was asked for."""
    fits = bool(question.kinds & {"date", "quantiti"}) and bool(_FIGURE.search(sentence.text))
    return (_FITS if fits else 0.0) - _RANK * sentence.number
