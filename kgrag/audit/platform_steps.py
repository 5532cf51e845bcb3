"""Steps over a whole knowledge base: the shapes that ``publish`` asks, and what only several graphs together show.

Each shape of ``shapes/graphs`` belongs to one check, so that an audit finds under its number what ``publish`` would
refuse today; a stored query ``audit/kg_*`` adds what a graph alone cannot tell.

Queries: ``audit/kg_01`` to ``audit/kg_08``, ``audit/kg_11``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import pyoxigraph as ox

from kgrag import queries, shacl
from kgrag.audit.steps import Unasked
from kgrag.model import plain
from kgrag.resources import files, folder
from kgrag.store import graph_kinds
from kgrag.vocab import RDF, local_name

if TYPE_CHECKING:
    from kgrag.audit.steps import StepInput
    from kgrag.ports import TripleStore

__all__ = ["activities", "blocks", "chunks", "hyperedges", "layers", "literals", "registry", "terms"]

_Row = dict[str, str]

_OWNERS = {
    "Activity": "KG-07",
    "AssertionGraphEntry": "KG-03",
    "AssertionSubject": "KG-03",
    "CatalogueEntry": "KG-11",
    "Change": "KG-11",
    "Chunk": "KG-05",
    "ChunkSpan": "KG-05",
    "CountedGraph": "KG-11",
    "Document": "KG-05",
    "DocumentGraphEntry": "KG-05",
    "DocumentGraphSubject": "KG-05",
    "HyperedgeGraphEntry": "KG-02",
    "HyperedgeMember": "KG-02",
    "KnowledgeBase": "KG-11",
    "KnownGraphKind": "KG-11",
    "OneDocument": "KG-05",
    "PropositionGraphEntry": "KG-03",
    "ProvenanceSubject": "KG-07",
    "TreeNode": "KG-04",
}
_OWN = ("kgrag.ttl", "audit.ttl")
_REST = "KG-08"
"""The check of every other shape: what a graph says is of the wrong form."""


def terms(given: StepInput) -> Iterator[_Row]:
    """Yield the classes and properties that platform graphs use and that no ontology declares (KG-01).

    Declared is what kgrag's own vocabulary or an ontology of the knowledge base declares, what the shapes of kgrag's
    graphs take from other vocabularies, and what the knowledge base minted for a key or type without a term.
    """
    store = _store(given)
    minted = tuple(store.names.base + kind for kind in ("class/", "property/"))
    for row in _rows(store, "audit/kg_01"):
        term = row["term"]
        if row["declared"] != "true" and term not in _declared() and not term.startswith(minted):
            kind = "class" if row["path"] == RDF.type.value else "property"
            message = f"The {kind} {term} is used of {row['focus']}, and no ontology declares it."
            yield {"focus": row["focus"], "path": row["path"], "value": term, "message": message}


def hyperedges(given: StepInput) -> Iterator[_Row]:
    """Yield what is wrong with hyperedges: shape, hypernodes, size, source (KG-02)."""
    return _found(given, "KG-02", "audit/kg_02")


def blocks(given: StepInput) -> Iterator[_Row]:
    """Yield extracted facts without form or evidence (KG-03)."""
    return _found(given, "KG-03", "audit/kg_03")


def layers(given: StepInput) -> Iterator[_Row]:
    """Yield nodes and levels of trees that are not whole (KG-04)."""
    return _found(given, "KG-04", "audit/kg_04")


def chunks(given: StepInput) -> Iterator[_Row]:
    """Yield documents and chunks whose text, span, order or hash is wrong (KG-05)."""
    return _found(given, "KG-05", "audit/kg_05")


def activities(given: StepInput) -> Iterator[_Row]:
    """Yield gaps in the provenance (KG-07)."""
    return _found(given, "KG-07", "audit/kg_07")


def literals(given: StepInput) -> Iterator[_Row]:
    """Yield values that neither the shapes of other graphs nor the ontology allow (KG-08)."""
    return _found(given, "KG-08", "audit/kg_08")


def registry(given: StepInput) -> Iterator[_Row]:
    """Yield gaps in the catalogue, and things in a graph of the wrong kind (KG-11)."""
    kinds = graph_kinds.kinds().values()
    homes = [(cls, kind.iri) for kind in kinds for cls in kind.homes_of]
    return _found(
        given,
        "KG-11",
        "audit/kg_11",
        classes=[cls for cls, _ in homes],
        homes=[home for _, home in homes],
        open=[kind.iri for kind in kinds if kind.holds_facts],
    )


def _found(given: StepInput, check: str, query: str, **values: Sequence[ox.NamedNode]) -> Iterator[_Row]:
    store = _store(given)
    for each in shacl.validate(store, _shapes(check)):
        message = f"{each.message.rstrip('.')}: {each.focus}, in the graph {each.graph}."
        yield {"focus": each.focus, "path": each.path, "value": each.value, "message": message}
    header = queries.describe(query).header
    said = re.search(r"^message\s+(.*)$", header, flags=re.MULTILINE)
    text = said[1] if said else ""
    yield from ({**row, "message": _filled(text, row)} for row in _rows(store, query, **values))


def _filled(text: str, row: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda name: row.get(name[1], name[0]), text)


def _store(given: StepInput) -> TripleStore:
    if given.store is None:
        raise Unasked("looks at a whole knowledge base; name one with --kb")
    return given.store


def _rows(store: TripleStore, query: str, **values: Sequence[ox.NamedNode]) -> list[_Row]:
    table = store.select(queries.bind(query, catalogue=store.names.catalogue, **values))
    return [dict(zip(table.variables, row, strict=True)) for row in table.values()]


@cache
def _shapes(check: str) -> shacl.Shapes:
    """Give those shapes of kgrag's own graphs that belong to a check."""
    constraints = shacl.graph_shapes().constraints
    return shacl.Shapes(tuple(c for c in constraints if _OWNERS.get(local_name(c.shape), _REST) == check))


@cache
def _declared() -> frozenset[str]:
    """Return the terms that kgrag's vocabularies and those of plug-ins declare, and those of others in their shapes."""
    ontologies = [*(folder("ontologies") / name for name in _OWN), *files("ontologies", ".ttl", own=False)]
    declared = {plain(quad.subject) for path in ontologies if path.is_file() for quad in ox.parse(path=path)}
    shapes = [*sorted((folder("shapes") / "graphs").glob("*.ttl")), *files("shapes", ".ttl", own=False)]
    taken = {plain(quad.object) for path in shapes for quad in ox.parse(path=path)}
    return frozenset({*declared, *taken, RDF.type.value})
