"""Which words of a question a fragment ("And the joining fee?") replaces, by the tables of the evidence before it.

"Joining fee" is the label of a column and "students" a cell: in "What is the yearly fee for students?" the one replaces
"yearly fee", another label, and "families" replaces "students", a cell of its column. Words alone do not show that, nor
does an embedder: to it, breakfast is as near to a night as lentils are to chickpeas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

import regex

from kgrag.answering.question_parts import tokens
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.question_words import terms
from kgrag.llm.extractive.table_rows import Table, read_tables

__all__ = ["exchanged_by_tables", "names_all"]

_MAX_TERMS = 6
"""Terms of a cell that names something; a longer one is a sentence."""
_LONGEST_SPAN = 6  # words
_ARTICLE: Final = late_regex(
    r"(?:the|an?|der|die|das|den|dem|des|eine?[nmrs]?|les?|la|une?|du|aux?)\s+|l['’]\s*", flags=regex.IGNORECASE
)
_ENDS_WITH_ARTICLE: Final = late_regex(
    r"(?<!\p{L})(?:(?:the|an?|der|die|das|den|dem|eine?[nmrs]?|les?|la|une?)\s+|l['’]\s*)$", flags=regex.IGNORECASE
)
_OF: Final = MappingProxyType({"en": "What is {} of {}?", "de": "Wie lautet {} von {}?", "fr": "Quel est {} pour {} ?"})
"""Asks for another column of a row, by language."""
_Span = tuple[int, int]


def exchanged_by_tables(fragment: str, question: str, texts: Sequence[str], language: str) -> str:
    r"""Return a question with a fragment in the place of what has its part in a table; "" where no table shows that.

    Args:
        fragment: a label of a column or a cell, with its article or none.
        question: the question before.
        texts: the evidence of its answer.
        language: of all of them.

    >>> table = "| Group | Joining fee | Yearly fee |\n| Students | 20 | 140 |\n| Families | 90 | 480 |"
    >>> exchanged_by_tables("the joining fee", "What is the yearly fee for students?", [table], "en")
    'What is the joining fee for students?'
    >>> exchanged_by_tables("families", "What is the yearly fee for students?", [table], "en")
    'What is the yearly fee for families?'
    >>> exchanged_by_tables("parking", "What is the yearly fee for students?", [table], "en")
    ''
    """
    article = _ARTICLE.match(fragment)
    wanted = frozenset(terms(fragment[article.end() :] if article else fragment, language))
    if not wanted or all(term.isdigit() for term in wanted):
        return ""
    put = partial(_put, fragment, question)
    for table in _tables(texts, language):
        labels = [cell.label_terms for cell in table.rows[0].cells]
        if any(wanted <= label for label in labels):
            if span := _longest(question, [one for one in labels if not wanted <= one], language):
                return put(span)
            if span := _longest(question, [cell.terms for row in table.rows for cell in row.cells[:1]], language):
                return _OF[language].format(fragment, question[span[0] : span[1]]) if language in _OF else ""
            continue
        for column in range(len(labels)):
            cells = [row.cells[column].terms for row in table.rows if len(row.cells[column].terms) <= _MAX_TERMS]
            if any(wanted <= cell for cell in cells) and (span := _other_cell(question, table, cells, language)):
                return put(span)
    return ""


def names_all(words: str, text: str, language: str) -> bool:
    """Return whether a text has more than half of the terms of words; those without any term are taken as there.

    >>> names_all("external firms", "Firms of external owners pay 5 EUR.", "en"), names_all("lunch", "Dinner.", "en")
    (True, False)
    """
    wanted, known = set(terms(words, language)), set(terms(text, language))
    return 2 * len(wanted & known) > len(wanted) or not wanted


def _tables(texts: Sequence[str], language: str) -> Iterator[Table]:
    for number, text in enumerate(texts):
        for table in read_tables(EvidenceText(number, "chunk", "", text), language):
            if table.rows:
                yield table


def _other_cell(question: str, table: Table, cells: Sequence[frozenset[str]], language: str) -> _Span | None:
    """Return where a question has another cell of a column, else any cell that names something."""
    everywhere = [
        cell.terms for row in table.rows for cell in row.cells if any(not term.isdigit() for term in cell.terms)
    ]
    return _longest(question, cells, language) or _longest(question, everywhere, language)


def _longest(question: str, parts: Sequence[frozenset[str]], language: str) -> _Span | None:
    """Return the longest words of a question that one of some sets of terms has, the last of them; None for none."""
    words = tokens(question)
    best: tuple[int, _Span] | None = None
    for first in range(len(words)):
        for end in range(first + 1, min(first + _LONGEST_SPAN, len(words)) + 1):
            ends = [frozenset(terms(words[place][0], language)) for place in (first, end - 1)]
            if not all(ends):  # begins or ends with a word that names nothing
                continue
            span = words[first].start(), words[end - 1].end()
            said = frozenset(terms(question[span[0] : span[1]], language))
            if any(said <= part for part in parts) and (best is None or len(said) >= best[0]):
                best = len(said), span
    return best[1] if best else None


def _put(fragment: str, question: str, span: _Span) -> str:
    start, end = span
    article, inner = _ARTICLE.match(fragment), _ARTICLE.match(question[start:end])
    own = _ENDS_WITH_ARTICLE.search(question[:start])
    bare = fragment
    if regex.match(r"d['’]", question[start:end]):  # "le tarif d'entrée": French "of" without an article
        plain = fragment[article.end() :] if article else fragment
        bare = f"d'{plain}" if regex.match(r"[aeiouyhàâéèêîôœ]", plain, regex.IGNORECASE) else f"de {plain}"
    elif article and own:
        start = own.start()
    elif article and not inner:
        bare = fragment[article.end() :]
    elif inner and not article:
        start += inner.end()
    owned = "’s" if regex.search(r"['’]s$", question[start:end]) and not regex.search(r"['’]s$", bare) else ""
    return f"{question[:start]}{bare}{owned}{question[end:]}"
