"""What running a query gives, and who may run it: the store is never handed text that a model wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kgrag.model import Term, plain

__all__ = ["Execution", "Runner"]


@dataclass(frozen=True, slots=True)
class Execution:
    """The rows of a query, or why there are none.

    ``rows[i][j]`` is the term of ``variables[j]``, None where it is unbound. An ASK gives one row with the variable
    ``answer``; a CONSTRUCT gives rows of subject, predicate and object. ``truncated`` says that the row limit cut it
    short. ``problem`` is "" when it ran; otherwise it says for a person what went wrong, and there are no rows.
    """

    variables: tuple[str, ...] = ()
    rows: tuple[tuple[Term | None, ...], ...] = ()
    truncated: bool = False
    problem: str = ""

    @property
    def empty(self) -> bool:
        """Whether it ran and found nothing: no row, or only rows without any value."""
        return not self.problem and not any(term is not None for row in self.rows for term in row)

    def values(self) -> list[tuple[str, ...]]:
        """Give every term as plain text, "" where unbound."""
        return [tuple(plain(term) for term in row) for row in self.rows]


class Runner(Protocol):
    """Runs a query over the facts, read-only; raises nothing for a bad query."""

    def __call__(self, sparql: str, *, rows: int, seconds: float) -> Execution:
        """Give at most ``rows`` rows, and stop the query after ``seconds``."""
