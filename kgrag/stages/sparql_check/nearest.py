"""The terms of an ontology whose local name or label is nearest to a term that it does not have."""

from __future__ import annotations

from collections.abc import Iterable

from kgrag.stages.sparql_check.ontology import OntologyIndex
from kgrag.vocab import local_name, words_of

__all__ = ["nearest_terms"]

_LEAST = 60.0


def nearest_terms(index: OntologyIndex, iri: str, among: Iterable[str], *, limit: int = 3) -> list[str]:
    """Give at most ``limit`` of the terms, nearest first; [] when none is near.

    Names are compared as words, so that ``hasPolicyHolder`` and "policy holder" are near each other.
    """
    from rapidfuzz import fuzz

    wanted = words_of(local_name(iri))
    if not wanted:
        return []
    scored = []
    for term in among:
        names = (words_of(local_name(term)), *(label.lower() for label in index.labels.get(term, ())))
        score = max(_score(fuzz, wanted, name) for name in names)
        if score >= _LEAST:
            scored.append((-score, term))
    return [term for _, term in sorted(scored)[:limit]]


def _score(fuzz: object, one: str, other: str) -> float:
    whole, words = fuzz.ratio(one, other), fuzz.token_set_ratio(one, other)  # type: ignore[attr-defined]
    return float(max(whole, 0.9 * words))
