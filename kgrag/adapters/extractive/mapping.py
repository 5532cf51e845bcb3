"""Maps a text onto a slice of an ontology by rules; finds little, and nothing that is not in the text.

Read are ``label: value`` lines, tables, a heading that names the one subject, names beside the word for their class
("variety CP 12-4", "Hill Zone"), and amounts and dates beside theirs. Every value is copied as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import regex

from kgrag.adapters.extractive.records import Records
from kgrag.adapters.extractive.slices import Slice, read_slice
from kgrag.adapters.extractive.statements import mentions_in, read_clause, split_clauses
from kgrag.adapters.extractive.things import Thing, merged, written
from kgrag.stages.sentences import split

__all__ = ["reply"]

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
