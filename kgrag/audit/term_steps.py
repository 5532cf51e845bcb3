"""A step over literals: those that are not what their datatype wants.

Queries: ``audit/log_13``.

Classes whose labels mean about the same to an embedding model: candidates for one class under two names.

LOG-09, opt-in: a person has to judge every pair, since opposites look alike to a model, too. Blocks of rows are
compared at once, so that memory stays small; the time grows with the square of the number of classes, which is limited.

Queries: ``audit/log_09``, ``audit/log_09_related``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.steps import Unasked
from kgrag.errors import NotDecided
from kgrag.model import plain
from kgrag.shacl.components import is_of
from kgrag.vocab import AUDIT, local_name

if TYPE_CHECKING:
    from kgrag.audit.steps import StepInput
    from kgrag.ports import Vectors


__all__ = [
    "LIKE",
    "MOST",
    "ill_typed",
    "synonyms",
]


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


LIKE = 0.9
"""The least cosine of two labels that are reported."""
MOST = 20_000
"""The largest number of classes that are compared."""

_BLOCK = 1_000


def synonyms(given: StepInput) -> Iterator[dict[str, str]]:
    """Yield pairs of classes with labels alike and no stated relation; ``focus`` sorts before ``value``.

    Raises:
        Unasked: no embedder was given.
        NotDecided: there are more than ``MOST`` classes.
    """
    if given.embedder is None:
        raise Unasked("compares labels by an embedder; give one (AuditOptions.embedder) and turn the check on")
    bench = given.scope.bench
    rows = bench.select(queries.bind("audit/log_09", context=AUDIT.context)).values()
    if len(rows) > MOST:
        raise NotDecided(f"there are {len(rows)} classes, and at most {MOST} are compared pair by pair")
    related = {
        frozenset(pair) for pair in bench.select(queries.bind("audit/log_09_related", target=AUDIT.target)).values()
    }
    vectors = given.embedder.embed([label for _, label in rows], "passage")
    for first, second, cosine in _alike(vectors):
        (one, name), (other, second_name) = rows[first], rows[second]
        if frozenset((one, other)) not in related and name.casefold() != second_name.casefold():
            message = f"'{name}' and '{second_name}' may be one class under two names (cosine {cosine:.2f})."
            yield {"focus": one, "value": other, "message": message}


def _alike(vectors: Vectors) -> Iterator[tuple[int, int, float]]:
    """Yield (row, later row, cosine) of unit vectors, shape (n, d), that are at least ``LIKE``."""
    for begin in range(0, len(vectors), _BLOCK):
        cosines = vectors[begin : begin + _BLOCK] @ vectors.T
        pairs: Sequence[tuple[int, int]] = [(int(a), int(b)) for a, b in zip(*(cosines >= LIKE).nonzero(), strict=True)]
        yield from ((begin + a, b, float(cosines[a, b])) for a, b in pairs if b > begin + a)
