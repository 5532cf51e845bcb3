"""What steps and stored queries share: their input, their rows, their messages, and the error of one not asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgrag import queries
from kgrag.audit.audit_context import AuditTarget
from kgrag.errors import NotDecided
from kgrag.ports import Embedder, TripleStore

__all__ = ["Row", "StepInput", "Unasked", "filled", "message_template"]

Row = Mapping[str, str]
"""A finding as a stored query returns it: ``focus``, ``path``, ``value`` and whatever the message names."""


class Unasked(NotDecided):
    """A step reached no verdict because nobody asked for it, or it was not given what it needs."""


@dataclass(frozen=True, slots=True)
class StepInput:
    """What a step may read: the target with its context, the store where there is one, and what was asked for.

    ``catalogued`` are the imports that a catalogue has a local file for, with that file.
    """

    target: AuditTarget
    store: TripleStore | None
    reasoner: bool
    seconds: float
    embedder: Embedder | None = None
    catalogued: Mapping[str, Path] = field(default_factory=dict)


def message_template(query: str) -> str:
    """Return the line ``message`` in the header of a stored query, "" where it has none."""
    line = re.search(r"^message\s+(.*)$", queries.describe(query).header, flags=re.MULTILINE)
    return line[1] if line else ""


def filled(template: str, row: Row) -> str:
    """Return a message with the values of a row in place of their names; a name without a value stays.

    >>> filled("{focus} has no {?what}, see {why}", {"focus": "ex:A", "what": "label"})
    'ex:A has no label, see {why}'
    """
    return re.sub(r"\{[?$]?(\w+)\}", lambda name: row.get(name[1], name[0]), template)
