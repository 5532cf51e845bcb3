"""Conversations as they are kept: answer graphs with the name of a conversation and a turn, read back as answers.

A turn is an answer graph like any other (``kgrag.answering.kept_answers``): what is forgotten with a document takes the
turns along that cite it. Queries read: ``conversations/*``. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag import queries
from kgrag.late_patterns import late_regex
from kgrag.model import Answer, Citation, plain
from kgrag.ports import TripleStore

__all__ = ["KeptConversation", "answers", "conversations"]

_MARKERS = late_regex(r"(?:\s*\[\d+\])+\s*")


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """A kept conversation: its name, how many turns it has, its first question, and when the latest was kept (ISO).

    ``first`` is "" where the first turn was forgotten.
    """

    name: str
    turns: int
    first: str
    latest: str


def conversations(store: TripleStore) -> list[KeptConversation]:
    """Return the kept conversations, the one that was asked last first."""
    rows = store.select(queries.bind("conversations/listing", catalogue=store.names.catalogue)).values()
    return [KeptConversation(name, int(turns), first, latest) for name, turns, first, latest in rows]


def answers(name: str, store: TripleStore) -> list[Answer]:
    """Return the turns of a conversation in order; [] where none of this name is kept.

    A kept answer has no hits, and its sentences are those between the markers of its text.
    """
    bound = queries.bind("conversations/turns", conversation=store.names.conversation(name))
    rows = store.select(bound).values()
    cited = _citations([row[0] for row in rows], store)
    return [
        Answer(
            question,
            text,
            method,
            unknown=unknown == "true",
            sentences=() if unknown == "true" else tuple(filter(None, _MARKERS.split(text))),
            citations=cited.get(iri, ()),
            sparql=sparql,
            confidence=float(confidence) if confidence else None,
            not_stated=not_stated,
            asked=asked,
            unresolved=unresolved,
            conversation=name,
            turn=int(turn),
        )
        for iri, turn, asked, question, text, method, unknown, unresolved, sparql, confidence, not_stated in rows
    ]


def _citations(iris: Sequence[str], store: TripleStore) -> dict[str, tuple[Citation, ...]]:
    if not iris:
        return {}
    found: dict[str, tuple[Citation, ...]] = {}
    bound = queries.bind("conversations/citations", answers=[ox.NamedNode(iri) for iri in iris])
    for row in store.select(bound):
        answer, chunk, document, start, end, sentence, quote, derived = map(plain, row)
        citation = Citation(quote, document, chunk, int(start), int(end), int(sentence), derived)
        found[answer] = (*found.get(answer, ()), citation)
    return found
