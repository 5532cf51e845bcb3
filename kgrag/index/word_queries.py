"""Searches by words with phrases, beginnings and misspelt words, over a BM25 index.

======================  ==========================================================================================
in a text               finds
======================  ==========================================================================================
``sowing depth``        texts with any of these words, as ever
``"winter barley"``     only texts with these words in this order; several phrases have to be there all
``germin*``             words that begin so; two letters at least
``lentel~``             words that differ in a letter (in two, from six letters on), and begin with the same one
======================  ==========================================================================================

Words are compared as the index has them: in small letters, without their endings, stop words left out, by the language
of each text. A beginning or a misspelt word stands for at most 50 words of the index, those that most texts have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from kgrag.index.bm25 import LexicalIndex
from kgrag.index.index_terms import question_terms, tokens_of
from kgrag.languages import ENGLISH, language_of
from kgrag.late_patterns import late_regex

__all__ = ["WordQuery", "read_words", "search", "snippet", "without_marks"]

Texts = Callable[[Sequence[str]], Mapping[str, str]]
"""Returns the texts of some keys."""

_MAX_EXPANSIONS = 50
_MAX_EXPANDED = 10
"""Beginnings and misspelt words of one text."""
_MIN_LETTERS = 2
_MIN_STEM, _MAX_ENDING = 4, 3
"""Letters of what is left of a word without its ending, and of an ending, where a beginning goes on into it."""
_LETTERS_FOR_TWO_ERRORS = 6
_TEXTS_READ_AT_ONCE = 200
_MAX_TEXTS_READ = 20_000
_PHRASE = late_regex(r'"([^"]*)"')
_MARKED = late_regex(r"(\w+)([*~])")
_SNIPPET_WORDS = 30


@dataclass(frozen=True, slots=True)
class WordQuery:
    """What a text asks for: terms, phrases of terms, beginnings of words, and words that may be misspelt.

    ``phrases`` are as texts of one language have them.
    """

    terms: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...] = ()
    beginnings: tuple[str, ...] = ()
    misspelt: tuple[str, ...] = ()


def read_words(text: str, language: str = ENGLISH, languages: Sequence[str] = ()) -> WordQuery:
    """Read what a text asks for; phrases that have only stop words are left out.

    Args:
        text: what was typed.
        language: that of the texts in which phrases are looked for.
        languages: those besides English of which the index has texts.

    >>> read_words('"winter barley" germin* lentel~ seeds')
    WordQuery(terms=('seed',), phrases=(('winter', 'barley'),), beginnings=('germin',), misspelt=('lentel',))
    """
    phrases = [tuple(tokens_of(phrase, language)) for phrase in _PHRASE.findall(text)]
    rest = _PHRASE.sub(" ", text)
    marked = [(word.lower(), mark) for word, mark in _MARKED.findall(rest) if len(word) >= _MIN_LETTERS]
    marked = marked[:_MAX_EXPANDED]
    plain = question_terms(_MARKED.sub(" ", rest), languages)
    beginnings = tuple(word for word, mark in marked if mark == "*")
    misspelt = tuple(word for word, mark in marked if mark == "~")
    return WordQuery(tuple(plain), tuple(phrase for phrase in phrases if phrase), beginnings, misspelt)


def without_marks(text: str) -> str:
    """Return a text without the marks of phrases, beginnings and misspelt words.

    >>> without_marks('"winter barley" germin*')
    'winter barley germin'
    """
    return str(_MARKED.sub(r"\1", text.replace('"', ""))).strip()


def search(
    index: LexicalIndex, text: str, k: int, within: Collection[str] | None = None, *, texts: Texts
) -> list[tuple[str, float]]:
    """Return at most k (IRI, score) pairs that a text asks for, best first, ties by IRI.

    Args:
        index: where is searched.
        text: what is asked for, as the module's table has it.
        k: how many are wanted.
        within: only these keys; None: all.
        texts: reads the texts that a phrase is looked for in, of at most 20,000 of those that have all its words.
    """
    languages = (ENGLISH, *index.languages)
    by_language = {code: read_words(text, code, index.languages) for code in languages}
    asked = by_language[ENGLISH]
    phrases = {code: query.phrases for code, query in by_language.items() if query.phrases}
    terms = [*asked.terms, *(term for each in phrases.values() for phrase in each for term in phrase)]
    terms += [term for word in asked.beginnings for term in _beginning(index, word)]
    terms += [term for word in asked.misspelt for term in _alike(index, word)]
    if not phrases:
        return index.search(terms, k, within)
    of_languages = [{term for phrase in each for term in phrase} for each in phrases.values()]
    having = frozenset[str]().union(*(_having(index, needed) for needed in of_languages))
    if within is not None:
        having &= frozenset(within)
    ranked = index.search(terms, min(len(having), _MAX_TEXTS_READ), having)
    found: list[tuple[str, float]] = []
    for first in range(0, len(ranked), _TEXTS_READ_AT_ONCE):
        batch = ranked[first : first + _TEXTS_READ_AT_ONCE]
        read = texts([iri for iri, _ in batch])
        found += [pair for pair in batch if _has_phrases(read.get(pair[0], ""), phrases)]
        if len(found) >= k:
            break
    return found[:k]


def _has_phrases(text: str, phrases: Mapping[str, Collection[tuple[str, ...]]]) -> bool:
    language = language_of(text)
    return language in phrases and _has_all(tokens_of(text, language), phrases[language])


def _has_all(tokens: Sequence[str], phrases: Collection[tuple[str, ...]]) -> bool:
    joined = f" {' '.join(tokens)} "
    return all(f" {' '.join(phrase)} " in joined for phrase in phrases)


def _having(index: LexicalIndex, terms: Collection[str]) -> frozenset[str]:
    """Return the keys of the texts that have all of some terms."""
    found: list[str] = []
    for part in index.parts:
        numbers = [part.segment.number(term) for term in sorted(terms)]
        if min(numbers) < 0:
            continue
        places = sorted((part.segment.postings(number)[0] for number in numbers), key=len)
        common = places[0]
        for others in places[1:]:
            common = np.intersect1d(common, others, assume_unique=True)
        if part.alive is not None:
            common = common[part.alive[common]]
        found += part.segment.iris.at(common)
    return frozenset(found)


def _most_frequent(index: LexicalIndex, terms: Collection[str]) -> list[str]:
    def frequency(term: str) -> int:
        numbers = [(part, part.segment.number(term)) for part in index.parts]
        return sum(part.frequency(number) for part, number in numbers if number >= 0)

    return sorted(sorted(terms), key=frequency, reverse=True)[:_MAX_EXPANSIONS]


def _beginning(index: LexicalIndex, word: str) -> list[str]:
    """Return the terms that begin with a word, and those that a word which begins so has without its ending."""
    terms = {term for part in index.parts for term in part.segment.terms_beginning(word)}
    forms = set(question_terms(word, index.languages))
    shorter = {word[:letters] for letters in range(max(_MIN_STEM, len(word) - _MAX_ENDING), len(word))}
    return _most_frequent(index, terms | _known(index, shorter | forms))


def _known(index: LexicalIndex, terms: Collection[str]) -> set[str]:
    return {term for term in terms if any(part.segment.number(term) >= 0 for part in index.parts)}


def _alike(index: LexicalIndex, word: str) -> list[str]:
    """Return the terms that differ from a word, or from what is left of it without its ending, in few letters."""
    forms = {word, *question_terms(word, index.languages)}
    errors = 2 if len(word) >= _LETTERS_FOR_TWO_ERRORS else 1
    terms = {term for part in index.parts for term in part.segment.terms_beginning(word[0])}
    return _most_frequent(index, {term for term in terms if any(_is_near(term, form, errors) for form in forms)})


def _is_near(one: str, other: str, errors: int) -> bool:
    """Return whether so many letters put in, left out, changed or exchanged with the next make one word of another.

    >>> _is_near("lentil", "lentel", 1), _is_near("lentil", "letnil", 1), _is_near("lentil", "lethal", 1)
    (True, True, False)
    """
    if abs(len(one) - len(other)) > errors:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for place, letter in enumerate(one, 1):
        before, last, row = row, before, [place]
        for at, its in enumerate(other, 1):
            least = min(before[at] + 1, row[at - 1] + 1, before[at - 1] + (letter != its))
            if place > 1 and at > 1 and letter == other[at - 2] and one[place - 2] == its:
                least = min(least, last[at - 2] + 1)
            row.append(least)
        if min(row) > errors:
            return False
    return row[-1] <= errors


def snippet(text: str, asked: str) -> str:
    """Return the 30 words of a text that have most of what was asked for, these in ``**``; its first ones for none.

    >>> snippet("Sow lentil early. Lentil seed is sown deep.", "lentils")
    'Sow **lentil** early. **Lentil** seed is sown deep.'
    """
    language = language_of(text)
    query = read_words(asked, language, [language])
    wanted = {*query.terms, *(term for phrase in query.phrases for term in phrase)}
    words = text.split()
    marks = [_is_wanted(word, wanted, query, language) for word in words]
    start = max(_starts(marks), key=lambda first: sum(marks[first : first + _SNIPPET_WORDS]), default=0)
    end = start + _SNIPPET_WORDS
    shown = [_marked(word) if mark else word for word, mark in zip(words[start:end], marks[start:end], strict=True)]
    return f"{'… ' if start else ''}{' '.join(shown)}{' …' if end < len(words) else ''}"


def _starts(marks: Sequence[bool]) -> Iterator[int]:
    yield 0
    yield from (max(0, place - 3) for place, mark in enumerate(marks) if mark)


def _is_wanted(word: str, wanted: Collection[str], query: WordQuery, language: str) -> bool:
    if any(term in wanted for term in tokens_of(word, language)):
        return True
    for small in regex.findall(r"\w\w+|\d", word.lower()):
        if small.startswith(query.beginnings):
            return True
        errors = 2 if len(small) >= _LETTERS_FOR_TWO_ERRORS else 1
        if any(small[0] == other[0] and _is_near(small, other, errors) for other in query.misspelt):
            return True
    return False


def _marked(word: str) -> str:
    return str(regex.sub(r"^(\W*)(.*?)(\W*)$", r"\1**\2**\3", word))
