"""What an OWL 2 DL reasoner decides of an ontology: consistency, unsatisfiable classes, equivalences, and why.

And what follows by rules, within a time limit (``infer_within``).
The steps of the checks LOG-01, LOG-02 and LOG-07 stand here; they share one run of the reasoner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag.errors import NotDecided
from kgrag.reasoning.hermit import Classification, classify
from kgrag.vocab import AUDIT, OWL, local_name

if TYPE_CHECKING:
    from kgrag.audit.steps import StepInput


__all__ = [
    "consistency",
    "equivalent",
    "unsatisfiable",
]

_Row = dict[str, str]


def consistency(given: StepInput) -> Iterator[_Row]:
    """Yield one row when the target is inconsistent (LOG-01).

    Raises:
        NotDecided: the reasoner comes to no verdict.
    """
    if not _classified(given).consistent:
        yield {
            "focus": given.scope.subject,
            "message": "The ontology is inconsistent: it has no model, and everything follows from it.",
        }


def unsatisfiable(given: StepInput) -> Iterator[_Row]:
    """Yield the target's classes that can have no instance (LOG-02).

    Raises:
        NotDecided: the reasoner comes to no verdict, or the ontology is inconsistent.
    """
    for name in _consistent(given).unsatisfiable:
        yield {"focus": name, "message": f"The class {local_name(name)} is unsatisfiable: it can have no instance."}


def equivalent(given: StepInput) -> Iterator[_Row]:
    """Yield classes that follow to be the same without that being stated (LOG-07).

    Raises:
        NotDecided: the reasoner comes to no verdict, or the ontology is inconsistent.
    """
    found = _consistent(given)
    stated = [(str(t.subject), str(t.object)) for t in _triples(given) if t.predicate == OWL.equivalentClass]
    for group in found.equivalents:
        names = sorted(group, key=lambda name: (name.casefold(), name))
        first, *others = _unconnected(names, stated)
        for other in others:
            message = f"The classes {local_name(first)} and {local_name(other)} follow to have the same instances."
            yield {"focus": first, "path": OWL.equivalentClass.value, "value": other, "message": message}


def _unconnected(names: Sequence[str], stated: Sequence[tuple[str, str]]) -> list[str]:
    """Give one name of each set of names that stated equivalences connect, the first of each."""
    owner = {f"<{name}>": f"<{name}>" for name in names}

    def top(name: str) -> str:
        while owner[name] != name:
            name = owner[name]
        return name

    for one, other in stated:
        if one in owner and other in owner:
            owner[top(other)] = top(one)
    firsts: dict[str, str] = {}
    for name in names:
        firsts.setdefault(top(f"<{name}>"), name)
    return list(firsts.values())


def _consistent(given: StepInput) -> Classification:
    found = _classified(given)
    if not found.consistent:
        raise NotDecided("the ontology is inconsistent, so that every class is unsatisfiable and equal to every other")
    return found


def _triples(given: StepInput) -> list[ox.Triple]:
    return list(given.scope.bench.triples(AUDIT.target))


def _classified(given: StepInput) -> Classification:
    found = _remembered(tuple(sorted(_triples(given), key=str)), given.seconds)
    if isinstance(found, str):
        raise NotDecided(found)
    return found


@lru_cache(maxsize=1)
def _remembered(triples: tuple[ox.Triple, ...], seconds: float) -> Classification | str:
    """Classify once for the checks of one audit, and remember also why there was no verdict."""
    try:
        return classify(triples, seconds=seconds)
    except NotDecided as reason:
        return str(reason)
