"""The terms that a text is indexed by: lower-case words, stop words left out, Snowball stems, by the text's language.

A text is indexed in the one language that it is in (``kgrag.languages``), so that the terms of English texts do not
depend on others. A question is looked for in its own language, in English, and in every other one of which the index
has texts: such a text has a term more, which names its language and which no question has.

A version (``4.1.3``), a name with dots (``gc.auto``) and a long option (``--dry-run``) is a term besides its parts,
behind them: the digits alone are in most texts, and a question may have the name in words. A short option (``-v``) is
one with its hyphen.

Deviations:
    A word of one letter is no term, but a single digit is: facts speak of "5 cm" and "zone 3".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from kgrag.languages import ENGLISH, LANGUAGES, STOP_WORDS, folded, language_of, stems
from kgrag.late_patterns import late_regex

__all__ = ["language_marks", "question_forms", "question_terms", "text_terms", "tokens_of"]

_WORD = late_regex(r"--[a-z][\w-]*\w|(?<![\w-])-[a-z0-9](?![\w.-])|\w+(?:\.\w+)+|\w\w+|\d")
_PART = late_regex(r"\w\w+|\d")
_STOP_WORDS = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of"}
    | {"on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will"}
    | {"with"}
)
"""The English stop words of Lucene."""


def tokens_of(text: str, language: str = ENGLISH) -> list[str]:
    """Return the index terms of a text in a language, in order, repeated as they occur.

    >>> tokens_of("The varieties are sown 5 cm deep.")
    ['varieti', 'sown', '5', 'cm', 'deep']
    >>> tokens_of("gc.auto of 4.1.3")
    ['gc', 'auto', 'gc.auto', '4', '1', '3', '4.1.3']
    >>> tokens_of("tar [-x|-C] --list")
    ['tar', '-x', '-c', 'list', '--list']
    >>> tokens_of("die Größe der Pakete", "de")
    ['gross', 'pak']
    """
    left_out = _stop_words(language)
    return stems([word for word in _words(text.lower()) if word not in left_out], language)


def text_terms(text: str) -> list[str]:
    """Return the terms that a text is indexed by: those of its language, and behind them the mark of another one.

    >>> text_terms("wie man die Pakete baut")
    ['pak', 'baut', '@de']
    """
    language = language_of(text)
    return [*tokens_of(text, language), *([] if language == ENGLISH else [_mark(language)])]


def language_marks() -> dict[str, str]:
    """Return the terms that mark texts of other languages than English: mark -> code."""
    return {_mark(code): code for code in LANGUAGES if code != ENGLISH}


def question_terms(question: str, languages: Collection[str] = ()) -> list[str]:
    """Return the terms by which a question is looked for, in order, those of ``question_forms`` one behind the other.

    >>> question_terms("Wie baut man Pakete?", ["de"]), question_terms("How deep is it sown?")
    (['baut', 'pak', 'paket', 'pakete'], ['how', 'deep', 'sown'])
    """
    return [form for forms in question_forms(question, languages) for form in forms]


def question_forms(question: str, languages: Collection[str] = ()) -> list[tuple[str, ...]]:
    """Return the words of a question, in order and repeated as they occur, each as the terms that stand for it.

    Where accents may be missing, a word is looked for as it is written, too.

    Args:
        question: a question, or some words.
        languages: codes of the languages besides English of which the index has texts.

    >>> question_forms("Wie baut man Pakete?", ["de"])
    [('baut',), ('pak', 'paket', 'pakete')]
    """
    own = language_of(question, "")
    if not languages and own in ("", ENGLISH):
        return list(zip(tokens_of(question), strict=True))
    asked = list(dict.fromkeys([own or ENGLISH, ENGLISH, *languages]))
    left_out = _stop_words(own) if own else frozenset[str]()
    forms = [_forms(word, asked) for word in _words(question.lower()) if word not in left_out]
    return [several for several in forms if several]


def _forms(word: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the terms that stand for a word in texts of some languages."""
    found = [stems([word], code)[0] for code in languages if word not in _stop_words(code)]
    has_others = any(code != ENGLISH for code in languages)
    return tuple(dict.fromkeys([*found, *([folded(word)] if found and has_others else [])]))


def _stop_words(language: str) -> frozenset[str]:
    return _STOP_WORDS if language == ENGLISH else STOP_WORDS[language]


def _mark(language: str) -> str:
    return f"@{language}"


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(text):
        if "." in word or word.startswith("--"):
            yield from _PART.findall(word)
        yield word
