"""Steps over single terms: ill-typed literals, and classes whose labels mean about the same.

LOG-09, which compares labels by an embedding model, is opt-in: a person has to judge every pair, since opposites look
alike to a model, too. Blocks of rows are compared at once, so that memory stays small; the time grows with the square
of the number of classes, which is limited.

Queries: ``audit/log_13``, ``audit/log_09``, ``audit/log_09_related``.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.step_input import Row, StepInput, Unasked
from kgrag.errors import NotDecided
from kgrag.model import plain
from kgrag.ports import Vectors
from kgrag.shacl.components import is_of
from kgrag.vocab import AUDIT, local_name

__all__ = ["MAX_CLASSES_COMPARED", "MIN_COSINE", "ill_typed", "synonyms"]

MIN_COSINE = 0.9
"""The least cosine of two labels that are reported."""
MAX_CLASSES_COMPARED = 20_000
"""The largest number of classes that are compared pair by pair."""
MAX_VALUE_CHARACTERS = 80
"""How much of a literal a message quotes."""
ROWS_PER_BLOCK = 1_000
"""How many vectors are compared with all others at once."""


def ill_typed(given: StepInput) -> Iterator[Row]:
    """Yield each statement whose literal is ill-typed: not a number, not a date, or out of its datatype's range.

    LOG-13. What is out of range is known where the target was read from a file, or loaded from one: the store itself
    keeps ``"300"^^xsd:byte`` as 300.
    """
    statements = given.target.bench.select(queries.bind("audit/log_13", target=AUDIT.target)).values()
    for (subject, predicate, _), literals in given.target.written.literals.items():
        for literal in literals:
            if isinstance(literal, ox.Literal) and not is_of(literal, literal.datatype):
                statements.append((plain(subject), plain(predicate), literal.value, literal.datatype.value))
    for focus, path, value, datatype in statements:
        message = f"The value {value[:MAX_VALUE_CHARACTERS]!r} of {local_name(path)} is no {local_name(datatype)}."
        yield {"focus": focus, "path": path, "value": value, "message": message}


def synonyms(given: StepInput) -> Iterator[Row]:
    """Yield pairs of classes with labels alike and no stated relation; ``focus`` sorts before ``value``.

    Raises:
        Unasked: no embedder was given.
        NotDecided: there are more than ``MAX_CLASSES_COMPARED`` classes.
    """
    if given.embedder is None:
        raise Unasked("compares labels by an embedder; give one (AuditOptions.embedder) and turn the check on")
    bench = given.target.bench
    labelled = bench.select(queries.bind("audit/log_09", context=AUDIT.context)).values()
    if len(labelled) > MAX_CLASSES_COMPARED:
        raise NotDecided(
            f"there are {len(labelled)} classes, and at most {MAX_CLASSES_COMPARED} are compared pair by pair"
        )
    related = {
        frozenset(pair) for pair in bench.select(queries.bind("audit/log_09_related", target=AUDIT.target)).values()
    }
    vectors = given.embedder.embed([label for _, label in labelled], "passage")
    for first, second, cosine in _similar_pairs(vectors):
        (focus, label), (value, second_label) = labelled[first], labelled[second]
        if frozenset((focus, value)) not in related and label.casefold() != second_label.casefold():
            message = f"'{label}' and '{second_label}' may be one class under two names (cosine {cosine:.2f})."
            yield {"focus": focus, "value": value, "message": message}


def _similar_pairs(vectors: Vectors) -> Iterator[tuple[int, int, float]]:
    """Yield (row, later row, cosine) of unit vectors, shape (n, d), with a cosine of at least ``MIN_COSINE``."""
    for begin in range(0, len(vectors), ROWS_PER_BLOCK):
        cosines = vectors[begin : begin + ROWS_PER_BLOCK] @ vectors.T
        for row, column in zip(*(cosines >= MIN_COSINE).nonzero(), strict=True):
            if column > begin + row:
                yield begin + int(row), int(column), float(cosines[row, column])
