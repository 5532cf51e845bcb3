"""Steps over a whole knowledge base: the shapes that ``publish`` checks, and what only several graphs show together.

Each shape of ``shapes/graphs`` belongs to one check, so that an audit finds under its number what ``publish`` would
refuse today; a stored query ``audit/kg_*`` adds what one graph alone does not show.

Queries: ``audit/kg_01`` to ``audit/kg_08``, ``audit/kg_11``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import pyoxigraph as ox

from kgrag import queries, shacl
from kgrag.audit.recomputation import recomputed
from kgrag.audit.reserved_terms import is_reserved
from kgrag.audit.step_input import Row, StepInput, Unasked, filled, message_template
from kgrag.audit.updated_graphs import updated
from kgrag.model import plain
from kgrag.ports import TripleStore
from kgrag.resources import folder
from kgrag.store import graph_kinds
from kgrag.store.rdf_files import plugin_quads
from kgrag.vocab import METADATA, RDF, local_name

__all__ = [
    "activities",
    "blocks",
    "chunks",
    "hyperedges",
    "layers",
    "literals",
    "recomputation",
    "registry",
    "terms",
    "updates",
]

_CHECK_OF_SHAPE = {
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
_CHECK_OF_OTHER_SHAPES = "KG-08"
_OWN_ONTOLOGIES = ("kgrag.ttl", "audit.ttl")


def terms(given: StepInput) -> Iterator[Row]:
    """Yield the classes and properties that platform graphs use and that no ontology declares (KG-01).

    Declared is what kgrag's own vocabulary or an ontology of the knowledge base declares, what the shapes of kgrag's
    graphs take from other vocabularies, the terms of RDF, OWL and other vocabularies in wide use, and what was minted
    for a key or type without a term, or for a field of a document.
    """
    store = _store(given)
    minted = (METADATA, *(store.names.base + kind for kind in ("class/", "property/")))
    declared_elsewhere = _declared_terms()
    for row in _rows(store, "audit/kg_01"):
        term = row["term"]
        declared = row["declared"] == "true" or term in declared_elsewhere or is_reserved(term)
        if not declared and not term.startswith(minted):
            kind = "class" if row["path"] == RDF.type.value else "property"
            message = f"The {kind} {term} is used of {row['focus']}, and no ontology declares it."
            yield {"focus": row["focus"], "path": row["path"], "value": term, "message": message}


def hyperedges(given: StepInput) -> Iterator[Row]:
    """Yield what is wrong with hyperedges: shape, hypernodes, size, source (KG-02)."""
    return _violations(given, "KG-02", "audit/kg_02")


def blocks(given: StepInput) -> Iterator[Row]:
    """Yield extracted facts without form or evidence (KG-03)."""
    return _violations(given, "KG-03", "audit/kg_03")


def layers(given: StepInput) -> Iterator[Row]:
    """Yield nodes and levels of trees that are not whole (KG-04)."""
    return _violations(given, "KG-04", "audit/kg_04")


def chunks(given: StepInput) -> Iterator[Row]:
    """Yield documents and chunks whose text, span, order or hash is wrong (KG-05)."""
    return _violations(given, "KG-05", "audit/kg_05")


def activities(given: StepInput) -> Iterator[Row]:
    """Yield gaps in the provenance (KG-07)."""
    return _violations(given, "KG-07", "audit/kg_07")


def literals(given: StepInput) -> Iterator[Row]:
    """Yield values that neither the shapes of other graphs nor the ontology allow (KG-08)."""
    return _violations(given, "KG-08", "audit/kg_08")


def registry(given: StepInput) -> Iterator[Row]:
    """Yield gaps in the catalogue, and resources in a graph of the wrong kind (KG-11)."""
    kinds = graph_kinds.kinds().values()
    homes = [(cls, kind.iri) for kind in kinds for cls in kind.homes_of]
    return _violations(
        given,
        "KG-11",
        "audit/kg_11",
        classes=[cls for cls, _ in homes],
        homes=[home for _, home in homes],
        open=[kind.iri for kind in kinds if kind.holds_facts],
    )


def recomputation(given: StepInput) -> Iterator[Row]:
    """Yield names, texts, counts and the like that do not come out so when they are computed again (KG-14)."""
    return recomputed(_store(given))


def updates(given: StepInput) -> Iterator[Row]:
    """Yield graphs that kgrag wrote and that somebody's SPARQL update changed (KG-16)."""
    return updated(_store(given))


def _violations(given: StepInput, check: str, query: str, **values: Sequence[ox.NamedNode]) -> Iterator[Row]:
    """Yield what violates the shapes of a check, then the rows of its stored query."""
    store = _store(given)
    for violation in shacl.validate(store, _shapes_of_check(check)):
        message = f"{violation.message.rstrip('.')}: {violation.focus}, in the graph {violation.graph}."
        yield {"focus": violation.focus, "path": violation.path, "value": violation.value, "message": message}
    template = message_template(query)
    yield from ({**row, "message": filled(template, row)} for row in _rows(store, query, **values))


def _store(given: StepInput) -> TripleStore:
    if given.store is None:
        raise Unasked("looks at a whole knowledge base; name one with --kb")
    return given.store


def _rows(store: TripleStore, query: str, **values: Sequence[ox.NamedNode]) -> list[Row]:
    table = store.select(queries.bind(query, catalogue=store.names.catalogue, **values))
    return [dict(zip(table.variables, row, strict=True)) for row in table.values()]


@cache
def _shapes_of_check(check: str) -> shacl.Shapes:
    constraints = shacl.graph_shapes().constraints
    return shacl.Shapes(
        tuple(c for c in constraints if _CHECK_OF_SHAPE.get(local_name(c.shape), _CHECK_OF_OTHER_SHAPES) == check)
    )


@cache
def _declared_terms() -> frozenset[str]:
    """Return the terms that kgrag's vocabularies and those of plug-ins declare, and those of others in their shapes."""
    ontologies = [folder("ontologies") / name for name in _OWN_ONTOLOGIES]
    own = (quad for path in ontologies if path.is_file() for quad in ox.parse(path=path))
    declared = {plain(quad.subject) for quad in (*own, *plugin_quads("ontologies"))}
    shapes = (quad for path in sorted((folder("shapes") / "graphs").glob("*.ttl")) for quad in ox.parse(path=path))
    mentioned = {plain(quad.object) for quad in (*shapes, *plugin_quads("shapes"))}
    return frozenset({*declared, *mentioned, RDF.type.value})
