"""Maps a text onto a slice of an ontology by rules; finds little, and nothing that is not in the text.

Read are ``label: value`` lines, tables, a heading that names the one subject, names beside the word for their class
("variety CP 12-4", "Hill Zone"), and amounts and dates beside theirs. Every value is copied as it stands.

Reads ``label: value`` lines and tables whose labels are names of the ontology.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import regex

from kgrag.llm.extractive.ontology_slices import Class, Property, Slice, Thing, merged, read_slice, same_label, written
from kgrag.llm.extractive.question_words import term
from kgrag.llm.extractive.statements import mentions_in, read_clause, split_clauses
from kgrag.text.sentences import split
from kgrag.vocab import words_of

__all__ = [
    "Records",
    "cells_of",
    "pair_of",
    "reply",
]

_HEADING = regex.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*", flags=regex.DOTALL)
_TITLE_WORDS = 3


def reply(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Give the reply to ``og_rag/map``: ``{"@graph": [...]}`` with class and property labels of the slice.

    Args:
        variables: ``slice`` (classes with properties) and ``text`` (what is to be mapped).
    """
    ontology = read_slice(variables["slice"])
    text = str(variables["text"])
    records = Records(ontology)
    clauses: list[str] = []
    for start, end in split(text):
        clauses.extend(_read(text[start:end], records, ontology))
    known = dict.fromkeys(mention for clause in clauses for mention in mentions_in(clause, ontology))
    stated = [thing for clause in clauses for thing in read_clause(clause, ontology, known)]
    return {"@graph": written(_joined(records, stated))}


def _read(sentence: str, records: Records, ontology: Slice) -> list[str]:
    """Read a heading, pair or row; give back the clauses of anything else."""
    if found := _HEADING.fullmatch(sentence):
        records.close()
        _read_heading(len(found[1]), found[2], records, ontology)
        return []
    return [] if records.line(sentence) else split_clauses(sentence)


def _read_heading(level: int, title: str, records: Records, ontology: Slice) -> None:
    """Read a heading as a pair, or the first one as the name of the one thing that a text can be about."""
    if records.line(title) or level > 1 or records.subject:
        return
    if len(ontology.roots) == 1 and 0 < len(title.split()) <= _TITLE_WORDS and title[:1].isupper():
        records.pair(ontology.roots[0].name, title)


def _joined(records: Records, stated: list[Thing]) -> list[Thing]:
    """Put what sentences state below the subject of the text where it has a property for it, else beside it."""
    things = list(records.things)
    subject = things[0] if len(things) == 1 else None
    for thing in merged(stated):
        item = subject.owner.leading_to(thing.owner) if subject else None
        if subject and item:
            subject.put(item, thing)
        else:
            things.append(thing)
    return merged(things)


_PAIR = regex.compile(
    r"\s*(?:[-*•·–+]\s+|\(?\p{N}{1,3}[.)]\s+)?[*_]{0,2}([\p{L}][^:\n|*]{0,60}?)[*_]{0,2}\s*:[*_]{0,2}\s+(\S.*)"
)
_RULE = regex.compile(r"[\s|:+-]+")
_LONGEST_VALUE = 400


def pair_of(line: str) -> tuple[str, str] | None:
    """Read a line ``label: value``, with or without a list mark before it.

    >>> pair_of("- **Seeding rate**: 55 kg/ha")
    ('Seeding rate', '55 kg/ha')
    """
    found = _PAIR.fullmatch(line.rstrip())
    if not found or len(found[2]) > _LONGEST_VALUE:
        return None
    return found[1].strip(), found[2].strip()


def cells_of(line: str) -> list[str]:
    """Read the cells of a table row; [] for a line that is none.

    >>> cells_of("| Variety | Rate |"), cells_of("no row")
    (['Variety', 'Rate'], [])
    """
    separator = "|" if "|" in line else "\t"
    if separator not in line or _RULE.fullmatch(line):
        return []
    return [cell.strip() for cell in line.strip().strip("|").split(separator)]


class Records:
    """Builds things from labelled values, line by line.

    A label is read as a property of the thing at hand, of a thing below it, or of one above it; a value for the name of
    a class begins a new thing. A label that no class has is passed over.
    """

    def __init__(self, ontology: Slice) -> None:
        self._ontology = ontology
        self._open: list[Thing] = []
        self._columns: list[tuple[Class, Property] | None] = []
        self._depth = 1
        self.things: list[Thing] = []

    @property
    def subject(self) -> Thing | None:
        """The outermost thing that is being described."""
        return self._open[0] if self._open else None

    def close(self) -> None:
        """End the thing at hand: what follows is about the outermost one."""
        del self._open[1:]
        self._columns = []

    def line(self, text: str) -> bool:
        """Read a line; say whether it was a pair or a row that named something of the ontology."""
        if cells := cells_of(text):
            return self._row(cells)
        if _RULE.fullmatch(text):
            return bool(self._columns)
        self._columns = []
        pair = pair_of(text)
        return pair is not None and self.pair(*pair)

    def pair(self, label: str, value: str) -> bool:
        """Read a label and its value; say whether the ontology has the label."""
        if begun := self._begun(label):
            self._begin(*begun, value)
            return True
        ways = list(self._ontology.labelled(label))
        if not ways:
            return False
        owner, item = min(ways, key=lambda way: self._distance(way[0]))
        return self._say(owner, item, value)

    def _begun(self, label: str) -> tuple[Class, Property] | None:
        """Give the class that a label speaks of and the property that its value is for."""
        words = tuple(term(word) for word in words_of(label).split())
        for owner in self._ontology.classes:
            if owner.main and (same_label(label, owner.name) or words in self._ontology.heads(owner)):
                return owner, owner.main
        return None

    def _begin(self, owner: Class, item: Property, value: str) -> None:
        thing = Thing(owner)
        thing.say(item, value)
        self._place(thing)

    def _place(self, thing: Thing) -> None:
        """Put a thing below the nearest open one that has a property for it, else at the top beside the subject."""
        for place in range(len(self._open) - 1, -1, -1):
            if item := self._open[place].owner.leading_to(thing.owner):
                self._open[place].below.setdefault(item.name, []).append(thing)
                del self._open[place + 1 :]
                break
        else:
            self.things.append(thing)
            another = bool(self._open) and self._open[0].owner is thing.owner
            del self._open[0 if another else 1 :]
        self._open.append(thing)

    def _distance(self, owner: Class) -> int:
        """Say how far a class is from the thing at hand: itself, one below it, above it, elsewhere."""
        for steps, thing in enumerate(reversed(self._open)):
            if thing.owner is owner:
                return 2 * steps
            if thing.owner.leading_to(owner):
                return 2 * steps + 1
        return 99

    def _say(self, owner: Class, item: Property, value: str) -> bool:
        if item.range:
            inner = self._ontology.by_iri[item.range]
            if inner.main:
                self._thing_of(owner)
                self._begin(inner, inner.main, value)
            return inner.main is not None
        thing = self._thing_of(owner)
        taken = thing.literals.get(item.name)
        if taken and value not in taken and (item.names_things or owner.naming is None):
            self._open.pop()
            thing = self._fresh(owner)
        thing.say(item, value)
        return True

    def _thing_of(self, owner: Class) -> Thing:
        """Give the open thing of a class, going back to it, or a new one."""
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place].owner is owner:
                del self._open[place + 1 :]
                return self._open[place]
        return self._fresh(owner)

    def _fresh(self, owner: Class) -> Thing:
        thing = Thing(owner)
        self._place(thing)
        return thing

    def _row(self, cells: Sequence[str]) -> bool:
        if self._columns:
            return self._read_row(cells)
        columns = [self._column(cell) for cell in cells]
        if sum(column is not None for column in columns) < min(2, len(cells)):
            return len(cells) == 2 and self.pair(*cells)
        self._columns = columns
        self._depth = max(1, len(self._open))
        return True

    def _column(self, label: str) -> tuple[Class, Property] | None:
        if begun := self._begun(label):
            return begun
        ways = [way for way in self._ontology.labelled(label) if not way[1].range]
        return min(ways, key=lambda way: self._distance(way[0]), default=None)

    def _read_row(self, cells: Sequence[str]) -> bool:
        del self._open[self._depth :]
        for column, cell in zip(self._columns, cells, strict=False):
            if column and cell:
                self._say(*column, cell)
        return True
