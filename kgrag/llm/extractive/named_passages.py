"""Passages by the names that they are about: their titles, and the names before "is" or "was" in their first sentence.

A name and a title are the same where their words are, without case, accents, punctuation and a remark in brackets.
Where several passages fit a name equally well, it is not known which is meant, and none is returned.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.text.sentences import split

__all__ = ["Passage", "passage_about", "passage_entitled", "read_passages"]

_REMARK = late_regex(r"\s*\([^()]*\)\s*$")
_COPULA = late_regex(r"\b(?:is|was|were|are)\b")
_WORD = late_regex(r"[\p{L}\p{N}]+")
_ACCENT, _APOSTROPHE = late_regex(r"\p{M}"), late_regex(r"['’`]")
_MIN_PERSON_WORDS = 2
_MAX_SENTENCE_CHARACTERS = 600
_RANK = late_regex(
    r"^(?:the\s+)?(?:Sir|Dame|Lord|Lady|King|Queen|Emperor|Empress|Prince|Princess|Duke|Duchess|Count|Countess|Earl|Baron"
    r"|Baroness|Margrave|Landgrave|Pope|Saint|Rev\.?|Dr\.?|General|Colonel|Captain)\s+(?=\p{Lu})"
)
_HE, _SHE = late_regex(r"\b(?:he|his|him)\b", regex.I), late_regex(r"\b(?:she|her|hers)\b", regex.I)


@dataclass(frozen=True)
class Passage:
    """A piece of evidence with a title, or several with the same one; ``sentences`` have the number of their piece."""

    title: str
    sentences: tuple[tuple[int, str], ...]

    @cached_property
    def lead(self) -> str:
        """The first sentence."""
        return self.sentences[0][1] if self.sentences else ""

    @cached_property
    def names(self) -> str:
        """The words of the first sentence before "is" or "was", outside of which nothing names the subject."""
        found = _COPULA.search(self.lead)
        return _comparable(self.lead[: found.start()] if found else "")

    @cached_property
    def gender(self) -> str:
        """The pronoun for its subject: "he", "she", or "" where it has neither."""
        text = " ".join(sentence for _, sentence in self.sentences)
        he, she = len(_HE.findall(text)), len(_SHE.findall(text))
        return "" if he == she else "he" if he > she else "she"

    @cached_property
    def full(self) -> str:
        """The title as it is compared."""
        return _comparable(self.title)

    @cached_property
    def bare(self) -> str:
        """The title as it is compared, without a remark in brackets at its end."""
        return _comparable(_REMARK.sub("", self.title))


def read_passages(texts: Sequence[EvidenceText]) -> list[Passage]:
    """Return the pieces of evidence that have a title, those of one document joined in their order."""
    by_title: dict[str, list[tuple[int, str]]] = {}
    for text in texts:
        if text.title:
            rows = by_title.setdefault(text.title, [])
            rows += [(text.number, sentence) for sentence in _whole_sentences(text.text)]
    return [Passage(title, tuple(rows)) for title, rows in by_title.items()]


def _whole_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; one that ends inside brackets goes on: ``(b. 1127 – d. Bath, 1201)``."""
    start: int | None = None
    for at, end in split(text):
        start = at if start is None else start
        sentence = text[start:end]
        if sentence.count("(") > sentence.count(")") and end - start < _MAX_SENTENCE_CHARACTERS:
            continue
        yield sentence
        start = None
    if start is not None:
        yield text[start:].rstrip()


def passage_about(names: Sequence[str], passages: Sequence[Passage]) -> Passage | None:
    """Return the passage about a name, which may be written in several forms; None where none or several are."""
    forms = [*names, *(bare for name in names if (bare := _RANK.sub("", name)) != name)]
    for fits in _WAYS:
        for name in forms:
            found = [passage for passage in passages if fits(name, passage)]
            if len(found) == 1:
                return found[0]
            if found:
                return None
    return None


def passage_entitled(name: str, passages: Sequence[Passage]) -> Passage | None:
    """Return the only passage whose title is a name, with or without a remark in brackets; None for none."""
    found = [one for one in passages if _same_title(name, one) or _same_without_remark(name, one)]
    return found[0] if len(found) == 1 else None


def _comparable(text: str) -> str:
    """Return a text as its words between spaces: lower case, no accents, no punctuation."""
    plain = unicodedata.normalize("NFKD", _APOSTROPHE.sub("", text)).casefold()
    return f" {' '.join(_WORD.findall(_ACCENT.sub('', plain)))} "


def _same_title(name: str, passage: Passage) -> bool:
    return _comparable(name) == passage.full


def _same_without_remark(name: str, passage: Passage) -> bool:
    return _comparable(_REMARK.sub("", name)) == passage.bare


def _same_head(name: str, passage: Passage) -> bool:
    """Return whether one of both goes on behind a comma or a word of descent: ``Ann Lee, 2nd Duchess of Rain``."""
    bare = _comparable(_REMARK.sub("", name))
    longer, shorter = sorted((bare, passage.bare), key=len, reverse=True)
    return len(shorter.split()) >= _MIN_PERSON_WORDS and longer.startswith(shorter)


def _same_words(name: str, passage: Passage) -> bool:
    """Return whether both have the same words in another order: ``Count Odo of Rain``, ``Odo, Count of Rain``."""
    words = _comparable(name).split()
    return len(words) > _MIN_PERSON_WORDS and sorted(words) == sorted(passage.bare.split())


def _in_lead(name: str, passage: Passage) -> bool:
    """Return whether the first sentence has a name before "is" or "was"."""
    return _comparable(_REMARK.sub("", name)) in passage.names and len(_comparable(name)) > _MIN_PERSON_WORDS + 2


def _abbreviated(name: str, passage: Passage) -> bool:
    """Return whether two names of a person have the same last word, and first words of which one may be an initial."""
    own, other = _comparable(_REMARK.sub("", name)).split(), passage.bare.split()
    if min(len(own), len(other)) < _MIN_PERSON_WORDS or own[-1] != other[-1]:
        return False
    return own[0][0] == other[0][0] and (own[0] == other[0] or 1 in (len(own[0]), len(other[0])))


_WAYS: tuple[Callable[[str, Passage], bool], ...] = (
    _same_title,
    _same_without_remark,
    _same_words,
    _same_head,
    _in_lead,
    _abbreviated,
)
