"""Steps that HermiT, an OWL 2 DL reasoner, decides: consistency, unsatisfiable classes, inferred equivalences.

The three share one run of the reasoner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import pyoxigraph as ox

from kgrag.audit.step_input import Row, StepInput
from kgrag.errors import NotDecided
from kgrag.reasoning.hermit import Classification, classify
from kgrag.vocab import AUDIT, OWL, local_name

__all__ = ["consistency", "equivalent", "unsatisfiable"]


def consistency(given: StepInput) -> Iterator[Row]:
    """Yield one row when the target is inconsistent (LOG-01).

    Raises:
        NotDecided: the reasoner comes to no verdict.
    """
    if not _classified(given).consistent:
        yield {
            "focus": given.target.subject,
            "message": "The ontology is inconsistent: it has no model, and everything follows from it.",
        }


def unsatisfiable(given: StepInput) -> Iterator[Row]:
    """Yield the target's classes that can have no instance (LOG-02).

    Raises:
        NotDecided: the reasoner comes to no verdict, or the ontology is inconsistent.
    """
    for name in _classified(given, consistent=True).unsatisfiable:
        yield {"focus": name, "message": f"The class {local_name(name)} is unsatisfiable: it can have no instance."}


def equivalent(given: StepInput) -> Iterator[Row]:
    """Yield classes that follow to be the same without that being stated (LOG-07).

    Raises:
        NotDecided: the reasoner comes to no verdict, or the ontology is inconsistent.
    """
    classification = _classified(given, consistent=True)
    triples = given.target.bench.triples(AUDIT.target)
    stated = [(str(t.subject), str(t.object)) for t in triples if t.predicate == OWL.equivalentClass]
    for group in classification.equivalents:
        names = sorted(group, key=lambda name: (name.casefold(), name))
        first, *rest = _unconnected(names, stated)
        for name in rest:
            message = f"The classes {local_name(first)} and {local_name(name)} follow to have the same instances."
            yield {"focus": first, "path": OWL.equivalentClass.value, "value": name, "message": message}


def _unconnected(names: Sequence[str], stated: Sequence[tuple[str, str]]) -> list[str]:
    """Return one name of each set of names that stated equivalences connect, the first of each."""
    parent = {f"<{name}>": f"<{name}>" for name in names}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    for left, right in stated:
        if left in parent and right in parent:
            parent[root(right)] = root(left)
    first_of_set: dict[str, str] = {}
    for name in names:
        first_of_set.setdefault(root(f"<{name}>"), name)
    return list(first_of_set.values())


def _classified(given: StepInput, *, consistent: bool = False) -> Classification:
    """Return the reasoner's verdict; with ``consistent``, an inconsistent ontology has none."""
    verdict = _classified_once(tuple(sorted(given.target.bench.triples(AUDIT.target), key=str)), given.seconds)
    if isinstance(verdict, str):
        raise NotDecided(verdict)
    if consistent and not verdict.consistent:
        raise NotDecided("the ontology is inconsistent, so that every class is unsatisfiable and equal to every other")
    return verdict


@lru_cache(maxsize=1)
def _classified_once(triples: tuple[ox.Triple, ...], seconds: float) -> Classification | str:
    """Return the classification, or why there is none: a run that timed out must not be repeated by the next check."""
    try:
        return classify(triples, seconds=seconds)
    except NotDecided as reason:
        return str(reason)
