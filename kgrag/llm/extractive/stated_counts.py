"""Rows of a table that state how many: ``columns per index | 32``, and ``bigint | 8 bytes`` for a question for bytes.

"How many columns can an index have?" is not answered by counting rows where a row is about columns of an index and
gives a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import term, terms
from kgrag.text.sentences import NUMBER_WORDS

__all__ = ["counts_stated", "states_count"]

_COUNTED = late_regex(r"\bhow many\s+(?P<noun>\p{L}+(?:\s+\p{L}+)?)", flags=regex.IGNORECASE)
_BETWEEN = frozenset(map(term, ("per", "each", "every")))
_CELLS = late_regex(r"\s*\|\s*")
_AMOUNT = rf"(?:\p{{N}}[\p{{N}}.,]*|unlimited|{'|'.join(NUMBER_WORDS)})"
_IS_AMOUNT = late_regex(_AMOUNT, flags=regex.IGNORECASE)
_AMOUNT_OF = late_regex(rf"(?<![\w.]){_AMOUNT}\s+(?P<noun>\p{{L}}+)", flags=regex.IGNORECASE)


def states_count(question: str, row: str) -> bool:
    """Return whether a row of a table states the number that a question asks for.

    Its first cell is only about what the question says, what is counted included, and another cell is a number; or the
    first cell is in the question, and another has a number of what is counted.

    >>> states_count("How many columns can an index have?", "columns per index | 32 | can be increased")
    True
    >>> states_count("How many bytes does bigint take?", "bigint | 8 bytes | large-range integer")
    True
    >>> states_count("How many pumps weigh 14 kg?", "Falcon pump | 14 | 300")
    False
    """
    counted = _COUNTED.search(question)
    name, *cells = _CELLS.split(row.strip(" |"))
    about, asked = frozenset(terms(name)) - _BETWEEN, frozenset(terms(question))
    if counted is None or not about or not about <= asked:
        return False
    nouns = frozenset(terms(counted["noun"]))
    if nouns & about:
        return len(about) > 1 and any(_IS_AMOUNT.fullmatch(cell) for cell in cells)
    return any(term(found["noun"]) in nouns for cell in cells for found in _AMOUNT_OF.finditer(cell))


def counts_stated(question: str, reply: Mapping[str, Any]) -> bool:
    """Return whether a quote of a reply is a row that states the number that a question asks for."""
    quotes = (quote["quote"] for sentence in reply["sentences"] for quote in sentence["citations"])
    return any(states_count(question, quote) for quote in quotes)
