"""Maps a text onto a slice of an ontology by rules: fulfils ``og_rag/map``; finds little, and only what the text has.

Read are ``label: value`` lines and tables whose labels are names of the ontology, a heading that names the only
subject, names next to the word for their class ("variety CP 12-4", "Hill Zone"), and amounts and dates next to theirs.
Every value is copied as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import regex

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.ontology_slices import (
    DraftObject,
    OntologySlice,
    SliceClass,
    SliceProperty,
    merged,
    read_slice,
    same_label,
    written,
)
from kgrag.llm.extractive.question_words import term
from kgrag.llm.extractive.statements import names_in, read_clause, split_clauses
from kgrag.text.sentences import split
from kgrag.vocab import words_of

__all__ = ["LabelledLines", "cells_of", "pair_of", "reply"]

_HEADING = late_regex(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*", flags=regex.DOTALL)
_PAIR = late_regex(
    r"\s*(?:[-*•·–+]\s+|\(?\p{N}{1,3}[.)]\s+)?[*_]{0,2}([\p{L}][^:\n|*]{0,60}?)[*_]{0,2}\s*:[*_]{0,2}\s+(\S.*)"
)
_RULE = late_regex(r"[\s|:+-]+")
_MAX_VALUE_CHARACTERS = 400
_MAX_TITLE_WORDS = 3
_UNRELATED = 99


def reply(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return the reply to ``og_rag/map``: ``{"@graph": [...]}`` with class and property labels of the slice.

    Args:
        variables: ``slice`` (classes with properties) and ``text`` (to be mapped).
    """
    ontology = read_slice(variables["slice"])
    text = str(variables["text"])
    lines = LabelledLines(ontology)
    clauses: list[str] = []
    for start, end in split(text):
        sentence = text[start:end]
        if heading := _HEADING.fullmatch(sentence):
            lines.close()
            lines.heading(len(heading[1]), heading[2])
        elif not lines.read(sentence):
            clauses += split_clauses(sentence)
    known = dict.fromkeys(name for clause in clauses for name in names_in(clause, ontology))
    stated = merged(draft for clause in clauses for draft in read_clause(clause, ontology, known))
    # Statements of sentences go below the only subject of the lines, where it has a property for them.
    objects = list(lines.objects)
    subject = objects[0] if len(objects) == 1 else None
    for draft in stated:
        item = subject.owner.leading_to(draft.owner) if subject else None
        if subject and item:
            subject.put(item, draft)
        else:
            objects.append(draft)
    return {"@graph": written(merged(objects))}


def pair_of(line: str) -> tuple[str, str] | None:
    """Return label and value of a line ``label: value``, with or without a list mark before it; None for others.

    >>> pair_of("- **Seeding rate**: 55 kg/ha")
    ('Seeding rate', '55 kg/ha')
    """
    pair = _PAIR.fullmatch(line.rstrip())
    return (pair[1].strip(), pair[2].strip()) if pair and len(pair[2]) <= _MAX_VALUE_CHARACTERS else None


def cells_of(line: str) -> list[str]:
    """Return the cells of a table row; [] for a line that is none.

    >>> cells_of("| Variety | Rate |"), cells_of("no row")
    (['Variety', 'Rate'], [])
    """
    separator = "|" if "|" in line else "\t"
    if separator not in line or _RULE.fullmatch(line):
        return []
    return [cell.strip() for cell in line.strip().strip("|").split(separator)]


class LabelledLines:
    """Objects built from labelled values, line by line.

    A label is read as a property of the current object, of one below it, or of one above it; a value for the name of a
    class begins a new object. A label that no class has is passed over.
    """

    def __init__(self, ontology: OntologySlice) -> None:
        self._ontology = ontology
        self._open: list[DraftObject] = []
        self._columns: list[tuple[SliceClass, SliceProperty] | None] = []
        self._depth = 1
        self.objects: list[DraftObject] = []

    def close(self) -> None:
        """End the current object: what follows is about the outermost one."""
        del self._open[1:]
        self._columns = []

    def heading(self, level: int, title: str) -> None:
        """Read a heading as a pair, or the first one as the name of the only object that a text can be about."""
        if self.read(title) or level > 1 or self._open:
            return
        roots = self._ontology.roots
        if len(roots) == 1 and 0 < len(title.split()) <= _MAX_TITLE_WORDS and title[:1].isupper():
            self._pair(roots[0].name, title)

    def read(self, line: str) -> bool:
        """Read a line; return whether it was a pair or a row that names a term of the ontology."""
        if cells := cells_of(line):
            return self._row(cells)
        if _RULE.fullmatch(line):
            return bool(self._columns)
        self._columns = []
        pair = pair_of(line)
        return pair is not None and self._pair(*pair)

    def _pair(self, label: str, value: str) -> bool:
        """Read a label and its value; return whether the ontology has the label."""
        if begun := self._begun(label):
            self._begin(*begun, value)
            return True
        terms = list(self._ontology.labelled(label))
        if not terms:
            return False
        return self._set(*min(terms, key=lambda pair: self._distance(pair[0])), value)

    def _begun(self, label: str) -> tuple[SliceClass, SliceProperty] | None:
        """Return the class that a label names, and the property for the value of the label."""
        words = tuple(term(word) for word in words_of(label).split())
        for owner in self._ontology.classes:
            if owner.main and (same_label(label, owner.name) or words in self._ontology.heads(owner)):
                return owner, owner.main
        return None

    def _begin(self, owner: SliceClass, item: SliceProperty, value: str) -> None:
        draft = DraftObject(owner)
        draft.add(item, value)
        self._place(draft)

    def _place(self, draft: DraftObject) -> None:
        """Put an object below the nearest open one that has a property for it, else at the top."""
        for place in range(len(self._open) - 1, -1, -1):
            if item := self._open[place].owner.leading_to(draft.owner):
                self._open[place].below.setdefault(item.name, []).append(draft)
                del self._open[place + 1 :]
                break
        else:
            self.objects.append(draft)
            is_next_subject = bool(self._open) and self._open[0].owner is draft.owner
            del self._open[0 if is_next_subject else 1 :]
        self._open.append(draft)

    def _distance(self, owner: SliceClass) -> int:
        """Return how far a class is from the current object: itself, one below it, above it, elsewhere."""
        for steps, draft in enumerate(reversed(self._open)):
            if draft.owner is owner:
                return 2 * steps
            if draft.owner.leading_to(owner):
                return 2 * steps + 1
        return _UNRELATED

    def _set(self, owner: SliceClass, item: SliceProperty, value: str) -> bool:
        if item.range:
            inner = self._ontology.by_iri[item.range]
            if inner.main:
                self._object_of(owner)
                self._begin(inner, inner.main, value)
            return inner.main is not None
        draft = self._object_of(owner)
        values = draft.literals.get(item.name)
        if values and value not in values and (item.is_name or owner.naming is None):
            # A second name, or a second value where no name identifies the object, begins the next object.
            self._open.pop()
            draft = DraftObject(owner)
            self._place(draft)
        draft.add(item, value)
        return True

    def _object_of(self, owner: SliceClass) -> DraftObject:
        """Return the open object of a class, which becomes the current one, or a new one."""
        for place in range(len(self._open) - 1, -1, -1):
            if self._open[place].owner is owner:
                del self._open[place + 1 :]
                return self._open[place]
        draft = DraftObject(owner)
        self._place(draft)
        return draft

    def _row(self, cells: Sequence[str]) -> bool:
        if self._columns:
            del self._open[self._depth :]
            for column, cell in zip(self._columns, cells, strict=False):
                if column and cell:
                    self._set(*column, cell)
            return True
        columns = []
        for cell in cells:
            literals = [pair for pair in self._ontology.labelled(cell) if not pair[1].range]
            columns.append(self._begun(cell) or min(literals, key=lambda pair: self._distance(pair[0]), default=None))
        if sum(column is not None for column in columns) < min(2, len(cells)):
            return len(cells) == 2 and self._pair(*cells)
        self._columns = columns
        self._depth = max(1, len(self._open))
        return True
