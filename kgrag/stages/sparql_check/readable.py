"""What to select of a thing instead of its IRI."""

from __future__ import annotations

from collections.abc import Sequence

from kgrag.stages.sparql_check.compatibility import within
from kgrag.stages.sparql_check.expressions import ANYTHING
from kgrag.stages.sparql_check.ontology import OntologyIndex
from kgrag.stages.sparql_check.ontology_graph import value_kind
from kgrag.vocab import RDFS, local_name, words_of

__all__ = ["readable_properties"]

_TELLING = ("label", "name", "title", "id", "identifier", "number", "code")


def readable_properties(index: OntologyIndex, classes: Sequence[str], *, limit: int = 2) -> list[str]:
    """Give properties of the classes that name a thing: labels and names before numbers; else ``rdfs:label``.

    Only properties that the ontology states for one of the classes, or for everything, are named.
    """
    found = []
    for name in index.kinds:
        words = words_of(local_name(name)).split()
        rank = min((_TELLING.index(word) for word in words[-1:] if word in _TELLING), default=None)
        if rank is None or value_kind(index, name) == "object":
            continue
        domain = index.domain(name)
        if domain == ANYTHING or any(within(index, each, domain) for each in classes):
            found.append((domain == ANYTHING, rank, name))
    return [name for _, _, name in sorted(found)[:limit]] or [RDFS.label.value]
