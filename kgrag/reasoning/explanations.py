"""Why a class is unsatisfiable, or an ontology inconsistent: a smallest set of axioms from which it follows.

A black box does it: HermiT is asked about ever smaller sets of axioms. In the order of their nearness to the class,
the shortest beginning of the list that still makes it unsatisfiable ends in an axiom that no smaller set can do
without; that axiom is kept, those behind it are dropped, and the rest is asked again. No axiom of what is left can be
dropped. There may be other such sets.

Source: Kalyanpur, Parsia, Horridge, Sirin, *Finding all justifications of OWL DL entailments*, 2007, section 4.1.

Deviations: not one axiom is dropped at a time: 64 beginnings are put to one process at once, so that a set of *k* out
of *n* axioms takes about *k* log64 *n* processes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyoxigraph as ox

from kgrag.errors import NotDecided
from kgrag.reasoning.axioms import Axiom, Axioms, read_axioms
from kgrag.reasoning.hermit import first_departure
from kgrag.vocab import OWL

__all__ = ["explain"]

_AT_ONCE = 64


def explain(triples: Sequence[ox.Triple], *, wanted: str = OWL.Thing.value, seconds: float = 60.0) -> tuple[Axiom, ...]:
    """Give a smallest set of axioms by which a class is unsatisfiable.

    Args:
        triples: the ontology.
        wanted: the class; owl:Thing asks why the ontology is inconsistent.
        seconds: the time that it may take, by the clock.

    Raises:
        NotDecided: the time is up, HermiT fails, or the class is satisfiable after all.
    """
    ontology = read_axioms(triples)
    until = time.monotonic() + seconds
    rest = ontology.near(wanted)
    kept: list[Axiom] = []
    while True:
        needed = _shortest(ontology, kept, rest, wanted=wanted, until=until)
        if needed == 0:
            return tuple(kept)
        if needed > len(rest):
            raise NotDecided(f"<{wanted}> does not follow to be unsatisfiable from what the ontology states as axioms")
        kept.append(rest[needed - 1])
        rest = rest[: needed - 1]


def _shortest(ontology: Axioms, kept: Sequence[Axiom], rest: Sequence[Axiom], *, wanted: str, until: float) -> int:
    """Give the length of the shortest beginning of ``rest`` that departs with ``kept``; more than its length: none."""
    low, high = 0, len(rest) + 1
    first = True
    while low < high:
        sizes = _steps(low, high - 1, geometric=first)
        tries = [ontology.as_triples([*kept, *rest[:size]], wanted) for size in sizes]
        found = first_departure(tries, wanted=wanted, seconds=until - time.monotonic())
        high = sizes[found] if found < len(sizes) else high
        low = sizes[found - 1] + 1 if found else low
        first = False
    return low


def _steps(low: int, high: int, *, geometric: bool) -> list[int]:
    """Give at most 64 sizes from ``low`` to ``high``, with both; closer together at the beginning if wanted.

    >>> _steps(0, 100, geometric=True)
    [0, 1, 2, 4, 8, 16, 32, 64, 100]
    >>> _steps(3, 6, geometric=False)
    [3, 4, 5, 6]
    """
    if geometric and high - low >= _AT_ONCE:
        return sorted({low, *(low + 2**power for power in range(14) if low + 2**power < high), high})
    span = high - low
    count = min(_AT_ONCE - 1, span)
    return sorted({low + round(span * part / count) for part in range(count + 1)}) if count else [low]
