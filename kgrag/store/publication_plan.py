"""What a list of drafts changes: which graphs, which quads of theirs, and what the catalogue says about it.

Nothing is written here. A ``Change`` is one draft compared with the store; ``entry`` and ``publication`` are the
catalogue's statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.model import GraphDraft, Term, Violation, plain
from kgrag.store.graph_kinds import kinds
from kgrag.vocab import DCTERMS, KG, PROV, RDF, SCHEMA_VERSION, VOID, XSD, Names, number

__all__ = [
    "Change",
    "compare",
    "entry",
    "founding",
    "kind_of",
    "merge",
    "now",
    "publication",
    "quad_of",
    "quads",
    "quarantine",
    "statements",
]


@dataclass(frozen=True, slots=True)
class Change:
    """A draft compared with the store: the triples to put in and take out.

    ``known`` tells that the catalogue lists the graph; ``entry_gone`` are statements of its entry that no longer hold.
    """

    draft: GraphDraft
    known: bool
    come: Sequence[ox.Triple] = ()
    gone: Sequence[ox.Triple] = ()
    entry_gone: Sequence[ox.Quad] = field(default=())

    @property
    def writes(self) -> bool:
        """Whether the graph itself is new or changes; if not, only its catalogue entry may gain statements."""
        return not self.known or bool(self.come) or bool(self.gone)

    @property
    def rewrites(self) -> bool:
        """Whether something has to leave the store."""
        return bool(self.gone) or bool(self.entry_gone)


def now() -> ox.Literal:
    """Return the present second as xsd:dateTime."""
    return ox.Literal(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", datatype=XSD.dateTime)


def merge(drafts: Iterable[GraphDraft]) -> list[GraphDraft]:
    """Return each graph once: drafts of one IRI are joined, triples, sources and descriptions alike.

    Raises:
        InvalidRDF: two drafts of one graph differ in kind or mode.
    """
    merged: dict[ox.NamedNode, GraphDraft] = {}
    for draft in drafts:
        before = merged.get(draft.iri)
        merged[draft.iri] = draft if before is None else _joined(before, draft)
    return list(merged.values())


def _joined(first: GraphDraft, second: GraphDraft) -> GraphDraft:
    if (first.kind, first.mode) != (second.kind, second.mode):
        raise InvalidRDF(
            f"graph {first.iri.value} is drafted twice, as {first.kind.value} ({first.mode}) and as "
            f"{second.kind.value} ({second.mode}). Publish it once, or under two IRIs."
        )
    same = first.mode == "new" or first.triples == second.triples
    return replace(
        first,
        triples=first.triples if same else [*first.triples, *second.triples],
        sources=list(dict.fromkeys([*first.sources, *second.sources])),
        activity=first.activity or second.activity,
        described=list(dict.fromkeys([*first.described, *second.described])),
    )


def compare(draft: GraphDraft, store: ox.Store, catalogue: ox.NamedNode) -> Change:
    """Work out what publishing a draft would change.

    Raises:
        InvalidRDF: triples are to be added to a graph that the catalogue lists as of another kind.
    """
    kind = kind_of(draft.iri, store, catalogue)
    if kind is None:
        return Change(draft, known=False, come=list(dict.fromkeys(draft.triples)))
    if draft.mode == "new":
        return Change(draft, known=True)
    if draft.mode == "replace":
        return _replaced(draft, store, catalogue)
    if kind != draft.kind:
        raise InvalidRDF(
            f"graph {draft.iri.value} is a {kind.value} and cannot take triples of a {draft.kind.value}. "
            "Publish them under another IRI."
        )
    return _appended(draft, store, catalogue)


def kind_of(graph: ox.NamedNode, store: ox.Store, catalogue: ox.NamedNode) -> ox.NamedNode | None:
    """Return the kind that the catalogue lists a graph as; None when it does not list it."""
    quad = next(store.quads_for_pattern(graph, RDF.type, None, catalogue), None)
    return None if quad is None else cast("ox.NamedNode", quad.object)


def _appended(draft: GraphDraft, store: ox.Store, catalogue: ox.NamedNode) -> Change:
    come = [triple for triple in dict.fromkeys(draft.triples) if quad_of(triple, draft.iri) not in store]
    stated = list(store.quads_for_pattern(draft.iri, VOID.triples, None, catalogue)) if come else []
    return Change(draft, known=True, come=come, entry_gone=stated)


def _replaced(draft: GraphDraft, store: ox.Store, catalogue: ox.NamedNode) -> Change:
    stands = {quad.triple for quad in store.quads_for_pattern(None, None, None, draft.iri)}
    wanted = set(draft.triples)
    said = {
        quad
        for quad in store.quads_for_pattern(draft.iri, None, None, catalogue)
        if quad.predicate not in (DCTERMS.created, KG.publication)
    }
    says = set(statements(draft, catalogue)) | _kind_and_count(draft, len(wanted), catalogue)
    return Change(
        draft,
        known=True,
        come=[triple for triple in draft.triples if triple not in stands],
        gone=[triple for triple in stands if triple not in wanted],
        entry_gone=sorted(said - says, key=str),
    )


def quads(change: Change) -> Iterator[ox.Quad]:
    """Yield the quads that a change puts into its graph."""
    graph = change.draft.iri
    for triple in change.come:
        yield ox.Quad(triple.subject, triple.predicate, triple.object, graph)


def quad_of(triple: ox.Triple, graph: ox.NamedNode) -> ox.Quad:
    """Return the quad of a triple in a graph."""
    return ox.Quad(triple.subject, triple.predicate, triple.object, graph)


def statements(draft: GraphDraft, catalogue: ox.NamedNode) -> list[ox.Quad]:
    """Return what a draft says about its graph: method, sources, activity and further descriptions."""
    said: list[tuple[ox.NamedNode, Term]] = [(PROV.wasDerivedFrom, source) for source in draft.sources]
    if draft.method:
        said.append((KG.method, ox.Literal(draft.method)))
    if draft.activity is not None:
        said.append((PROV.wasGeneratedBy, draft.activity))
    return [ox.Quad(draft.iri, predicate, value, catalogue) for predicate, value in (*said, *draft.described)]


def entry(change: Change, publication: ox.NamedNode, created: ox.Literal, names: Names) -> list[ox.Quad]:
    """Return the catalogue's entry of a graph that is written by this publication."""
    draft, catalogue = change.draft, names.catalogue
    found = statements(draft, catalogue)
    found.append(ox.Quad(draft.iri, RDF.type, draft.kind, catalogue))
    found.append(ox.Quad(draft.iri, KG.publication, publication, catalogue))
    if not change.known:
        found.append(ox.Quad(draft.iri, DCTERMS.created, created, catalogue))
    found.extend(_count(change, catalogue))
    return found


def _count(change: Change, catalogue: ox.NamedNode) -> list[ox.Quad]:
    draft = change.draft
    if draft.mode == "append" and change.known:
        stated = [quad for quad in change.entry_gone if quad.predicate == VOID.triples]
        total = sum(int(plain(quad.object)) for quad in stated) + len(change.come)
        return [ox.Quad(draft.iri, VOID.triples, number(total), catalogue)] if stated else []
    kind = kinds().get(draft.kind.value)
    if draft.mode == "append" and kind is not None and not kind.counted:
        return []
    total = len(change.come) if not change.known else len(draft.triples)
    return [ox.Quad(draft.iri, VOID.triples, number(total), catalogue)]


def _kind_and_count(draft: GraphDraft, total: int, catalogue: ox.NamedNode) -> set[ox.Quad]:
    return {
        ox.Quad(draft.iri, RDF.type, draft.kind, catalogue),
        ox.Quad(draft.iri, VOID.triples, number(total), catalogue),
    }


def publication(
    revision: int, kind: ox.NamedNode, created: ox.Literal, names: Names, *, removed: Iterable[Term] = ()
) -> list[ox.Quad]:
    """Return the catalogue's statements about one change of the store.

    Args:
        revision: its number.
        kind: kg:Publication where the graphs that it wrote name it, kg:Rewrite where any graph may have changed.
        created: when it was made.
        names: of the knowledge base.
        removed: kinds of the graphs that it took away, or made graphs of another kind.
    """
    node, catalogue = names.publication(revision), names.catalogue
    return [
        ox.Quad(node, RDF.type, kind, catalogue),
        ox.Quad(node, KG.revision, number(revision), catalogue),
        ox.Quad(node, DCTERMS.created, created, catalogue),
        *(ox.Quad(node, KG.removedKind, gone, catalogue) for gone in dict.fromkeys(removed)),
        ox.Quad(catalogue, RDF.type, KG.CatalogueGraph, catalogue),
        ox.Quad(catalogue, KG.publication, node, catalogue),
    ]


def founding(names: Names, created: ox.Literal, missing: Callable[[ox.NamedNode, ox.NamedNode], bool]) -> list[ox.Quad]:
    """Return what the catalogue says from the beginning, as far as it is missing: who this is, and revision 0."""
    root, catalogue, zero = names.knowledge_base, names.catalogue, names.publication(0)
    said: list[tuple[ox.NamedNode, ox.NamedNode, Term]] = [
        (root, RDF.type, KG.KnowledgeBase),
        (root, KG.schemaVersion, number(SCHEMA_VERSION)),
        (root, KG.baseIRI, ox.Literal(names.base)),
        (catalogue, RDF.type, KG.CatalogueGraph),
        (catalogue, KG.publication, zero),
        (catalogue, DCTERMS.created, created),
        (zero, RDF.type, KG.Publication),
        (zero, KG.revision, number(0)),
        (zero, DCTERMS.created, created),
    ]
    return [ox.Quad(*triple, catalogue) for triple in said if missing(triple[0], triple[1])]


def quarantine(draft: GraphDraft, violations: Sequence[Violation], names: Names) -> GraphDraft:
    """Return the draft that stands in for one that failed its shape; its content is kept as text."""
    content = "".join(sorted(f"{triple} .\n" for triple in set(draft.triples)))
    graph = names.quarantine_graph(draft.iri.value, content)
    said: list[tuple[ox.NamedNode, Term]] = [
        (KG.intendedGraph, draft.iri),
        (KG.intendedKind, draft.kind),
        (KG.content, ox.Literal(content)),
    ]
    messages = dict.fromkeys(violation.message for violation in violations)
    return GraphDraft(
        iri=graph,
        kind=KG.QuarantineGraph,
        triples=[ox.Triple(graph, predicate, value) for predicate, value in said]
        + [ox.Triple(graph, KG.violation, ox.Literal(message)) for message in messages],
        method=draft.method,
        sources=draft.sources,
        activity=draft.activity,
    )
