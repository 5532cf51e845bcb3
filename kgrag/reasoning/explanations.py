"""Explanations of an unsatisfiable class, or of an inconsistent ontology: a smallest set of axioms that implies it.

HermiT is a black box here, asked about ever smaller sets of axioms. In the order of their distance from the class,
the shortest prefix of the list that still makes it unsatisfiable ends in an axiom that this prefix cannot do without;
that axiom is kept, those behind it are dropped, and the rest is asked again. No axiom of what is left can be
dropped. There may be other such sets.

Source: Kalyanpur, Parsia, Horridge, Sirin, *Finding all justifications of OWL DL entailments*, 2007, section 4.1.

Deviations: not one axiom is dropped at a time: 64 prefixes are put to one process at once, so that a set of *k* out
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

PREFIXES_PER_PROCESS = 64
"""How many sets of axioms one process of HermiT is asked about, since starting it takes most of the time."""


def explain(triples: Sequence[ox.Triple], *, wanted: str = OWL.Thing.value, seconds: float = 60.0) -> tuple[Axiom, ...]:
    """Return a smallest set of axioms by which a class is unsatisfiable.

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
    """Return the length of the shortest prefix of ``rest`` that is unsatisfiable with ``kept``; len(rest) + 1: none."""
    low, high = 0, len(rest) + 1
    first = True
    while low < high:
        sizes = _sizes(low, high - 1, geometric=first)
        tries = [ontology.as_triples([*kept, *rest[:size]], wanted) for size in sizes]
        first_unsatisfiable = first_departure(tries, wanted=wanted, seconds=until - time.monotonic())
        high = sizes[first_unsatisfiable] if first_unsatisfiable < len(sizes) else high
        low = sizes[first_unsatisfiable - 1] + 1 if first_unsatisfiable else low
        first = False
    return low


def _sizes(low: int, high: int, *, geometric: bool) -> list[int]:
    """Return at most 64 sizes from ``low`` to ``high``, with both; with ``geometric`` closer together at the beginning.

    >>> _sizes(0, 100, geometric=True)
    [0, 1, 2, 4, 8, 16, 32, 64, 100]
    >>> _sizes(3, 6, geometric=False)
    [3, 4, 5, 6]
    """
    if geometric and high - low >= PREFIXES_PER_PROCESS:
        return sorted({low, *(low + 2**power for power in range(14) if low + 2**power < high), high})
    span = high - low
    count = min(PREFIXES_PER_PROCESS - 1, span)
    return sorted({low + round(span * part / count) for part in range(count + 1)}) if count else [low]
