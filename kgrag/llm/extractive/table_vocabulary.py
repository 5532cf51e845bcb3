"""What a language has for questions about tables: words for labels, extremes, comparisons, groups, and vague ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import regex

from kgrag.languages import ENGLISH, stems
from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.question_words import term

__all__ = ["TableWords", "caseless", "labels_meant"]


@dataclass(frozen=True)
class TableWords:
    """What a language has for questions about tables.

    Args:
        language: its code.
        label_words: words of questions, and those of the labels that they ask for.
        most: asks for the largest figure of a column.
        least: asks for the smallest.
        which: asks for one of what its ``noun`` names.
        who: asks for a name.
        how_many: asks for a number of things.
        comparisons: words before a figure, by the sign that they stand for.
        total: asks for a sum.
        average: asks for a mean.
        negation: denies something.
        until: asks when something ends.
        vague_words: those that say nothing of which rows are meant.
        row_words: those for the rows of any table.
        people_words: those for the rows of a table that names persons.
        listing: what stands behind the noun of a question for all rows: "Which boats are there?".
        plural: a question for several things, by the word behind "which".
        naming: words in the labels of columns that name rows.
        asked_thing: what a question asks for by a noun, in its ``phrase``: "the due date" of an invoice.
        quantities: words of labels whose figures say how many there are of the thing in a row.
        stock_words: those that ask for what is in stock.
        store_words: those of which a table about what is in stock has one.
        generic_words: words behind or before that of a label that say nothing more: the number of "phone number".
        ordinals: words before an extreme, by the place that they ask for.
        names: what names and codes look like.
        sum_of: stands before a sum.
        mean_of: stands before a mean.
        for_whom: says for whom something is asked, its ``group``.
        comparative: asks which of two is more, or less by the group ``less``.
        opposites: words of labels that exclude each other.
        and_more: stands behind the first of many names.
    """

    language: str
    label_words: Sequence[tuple[regex.Pattern[str], str]]
    most: regex.Pattern[str]
    least: regex.Pattern[str]
    which: regex.Pattern[str]
    who: regex.Pattern[str]
    how_many: regex.Pattern[str]
    comparisons: Mapping[str, regex.Pattern[str]]
    total: regex.Pattern[str]
    average: regex.Pattern[str]
    negation: regex.Pattern[str]
    until: regex.Pattern[str]
    vague_words: str
    row_words: str
    people_words: str
    listing: regex.Pattern[str]
    plural: regex.Pattern[str]
    naming: str
    names: regex.Pattern[str]
    asked_thing: regex.Pattern[str]
    quantities: str
    stock_words: str
    store_words: str
    generic_words: str
    ordinals: Mapping[int, regex.Pattern[str]]
    for_whom: regex.Pattern[str]
    comparative: regex.Pattern[str]
    opposites: Sequence[tuple[regex.Pattern[str], regex.Pattern[str]]]
    sum_of: str = "Total"
    mean_of: str = "Average"
    and_more: str = "and {} more"

    @cached_property
    def synonyms(self) -> tuple[tuple[regex.Pattern[str], frozenset[str]], ...]:
        """Words of questions, and terms of the labels that they ask for."""
        return tuple((asks, _terms(labels, self.language)) for asks, labels in self.label_words)

    @cached_property
    def vague(self) -> frozenset[str]:
        """Terms that say nothing of which rows are meant."""
        return _terms(self.vague_words, self.language)

    @cached_property
    def name_labels(self) -> frozenset[str]:
        """Terms of the labels of columns that name rows."""
        return _terms(self.naming, self.language)

    @cached_property
    def quantity_labels(self) -> frozenset[str]:
        """Terms of labels whose figures say how many there are of something."""
        return _terms(self.quantities, self.language)

    @cached_property
    def stock(self) -> frozenset[str]:
        """Terms that ask for what is in stock."""
        return _terms(self.stock_words, self.language)

    @cached_property
    def stores(self) -> frozenset[str]:
        """Terms of which a table about what is in stock has one."""
        return _terms(self.store_words, self.language)

    @cached_property
    def generic(self) -> frozenset[str]:
        """Terms beside that of a label which say nothing more."""
        return _terms(self.generic_words, self.language)

    @cached_property
    def people(self) -> frozenset[str]:
        """Terms for the rows of a table that names persons."""
        return _terms(self.people_words, self.language)

    @cached_property
    def rows(self) -> frozenset[str]:
        """Terms for the rows of any table."""
        return _terms(self.row_words, self.language)


def caseless(text: str) -> regex.Pattern[str]:
    """Return a pattern that is compiled when it is needed, whatever the case."""
    return late_regex(text, flags=regex.IGNORECASE)


def _terms(text: str, language: str) -> frozenset[str]:
    words = text.split()
    return frozenset(map(term, words) if language == ENGLISH else stems(words, language))


def labels_meant(rows: Sequence[tuple[str, str]]) -> tuple[tuple[regex.Pattern[str], str], ...]:
    """Return patterns of words of questions, each with the words of labels that it asks for."""
    return tuple((caseless(asks), labels) for asks, labels in rows)
