"""Words that open an English sentence without being a part of the name behind them: "Therefore Rex", "Only Rex".

A sentence begins with a capital, so that such a word looks like the first one of a name, and its stem, like a word that
the cited text should have. It ties a sentence to the one before, or says when and how far it holds; what is stated
needs no source for it. These words are a closed class; an adjective or a noun that begins a name is none of them.
"""

from __future__ import annotations

from kgrag.text.sentences import STOP_WORDS, stem, word_set

__all__ = ["OPENING_STEMS", "opens_only", "without_opening_word"]

_CONNECTIVES = word_set(
    """accordingly additionally afterwards alternatively besides consequently conversely eventually finally firstly
    furthermore hence however indeed instead lastly likewise meanwhile moreover nevertheless next nonetheless otherwise
    secondly similarly subsequently therefore thirdly thus yes"""
)
_ADVERBS = word_set(
    """already always currently especially even generally initially mainly mostly never normally often optionally
    originally particularly rarely sometimes specifically still typically usually"""
)
_PREPOSITIONS = word_set(
    """across although among around beyond despite except given inside like near outside per since though toward towards
    unless unlike upon using via whereas whether within without"""
)
_QUANTIFIERS = word_set("another either every everything neither none nothing several")
_OPENING = _CONNECTIVES | _ADVERBS | _PREPOSITIONS | _QUANTIFIERS | STOP_WORDS

OPENING_STEMS = frozenset(map(stem, _CONNECTIVES))
"""Stems of the words that only tie a sentence to the one before: no cited text has to have them."""


def opens_only(word: str) -> bool:
    """Return whether a word that begins a sentence is no part of a name.

    >>> [opens_only(word) for word in ("Therefore", "Because", "Northern")]
    [True, True, False]
    """
    return word.casefold() in _OPENING


def without_opening_word(name: str) -> str:
    """Return a name that begins a sentence without a first word that only opens it.

    >>> without_opening_word("Hence Ann Lee"), without_opening_word("Ann Lee"), without_opening_word("Thus")
    ('Ann Lee', 'Ann Lee', '')
    """
    first, _, rest = name.partition(" ")
    return rest if opens_only(first) else name
