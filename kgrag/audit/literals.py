"""A step over literals: those that are not what their datatype wants.

Queries: ``audit/log_13``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import plain
from kgrag.stages.shacl.components import is_of
from kgrag.vocab import AUDIT, local_name

if TYPE_CHECKING:
    from kgrag.audit.steps import StepInput

__all__ = ["ill_typed"]


def ill_typed(given: StepInput) -> Iterator[dict[str, str]]:
    """Yield each statement whose literal is ill-typed: no number, no date, or out of the range of its datatype.

    LOG-13. What is out of range is known where the target was read from a file, or loaded from one: the store itself
    keeps ``"300"^^xsd:byte`` as 300.
    """
    table = given.scope.bench.select(queries.bind("audit/log_13", target=AUDIT.target))
    for focus, path, value, datatype in table.values():
        yield _row(focus, path, value, datatype)
    for (subject, predicate, _), literals in given.scope.written.literals.items():
        for literal in literals:
            if isinstance(literal, ox.Literal) and not is_of(literal, literal.datatype):
                yield _row(plain(subject), plain(predicate), literal.value, literal.datatype.value)


def _row(focus: str, path: str, value: str, datatype: str) -> dict[str, str]:
    message = f"The value {value[:80]!r} of {local_name(path)} is no {local_name(datatype)}."
    return {"focus": focus, "path": path, "value": value, "message": message}
