"""What a list of drafts changes: which graphs, which quads of theirs, and which catalogue statements.

Nothing is written here. ``compared`` reads the store for many drafts at once, since a store over HTTP takes longer to
ask than to answer; a ``Change`` is one draft compared with it. ``entry`` and ``publication`` are the catalogue's
statements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.model import GraphDraft, Term, Violation, plain
from kgrag.store.checksums import account, checksum, continued
from kgrag.store.graph_kinds import kinds
from kgrag.store.quad_store import Pattern, QuadStore, kind_pattern, of_graph
from kgrag.vocab import DCTERMS, KG, PROV, RDF, SCHEMA_VERSION, VOID, XSD, Names, local_name, number

__all__ = [
    "Change",
    "compared",
    "entry",
    "founding",
    "kinds_of",
    "lineage_of",
    "merge",
    "now",
    "publication",
    "quad_of",
    "quads",
    "quarantine",
    "statements",
]


_MAX_ADDED_AT_ONCE = 1_000
"""Triples for graphs that grow, of which it is asked at once with all else whether they are there."""


@dataclass(frozen=True, slots=True)
class Change:
    """A draft compared with the store: the triples to put in and take out.

    ``known``: the catalogue lists the graph. ``removed_entries``: statements of its entry that are no longer true.
    """

    draft: GraphDraft
    known: bool
    added: Sequence[ox.Triple] = ()
    removed: Sequence[ox.Triple] = ()
    removed_entries: Sequence[ox.Quad] = field(default=())

    @property
    def writes(self) -> bool:
        """Whether the graph itself is new or changes; if not, only its catalogue entry may gain statements."""
        return not self.known or bool(self.added) or bool(self.removed)

    @property
    def rewrites(self) -> bool:
        """Whether something has to leave the store."""
        return bool(self.removed) or bool(self.removed_entries)


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
    further = [(PROV.wasGeneratedBy, second.activity)] if first.activity and second.activity else []
    return replace(
        first,
        triples=first.triples if same else [*first.triples, *second.triples],
        sources=list(dict.fromkeys([*first.sources, *second.sources])),
        activity=first.activity or second.activity,
        described=list(dict.fromkeys([*first.described, *second.described, *further])),
    )


def compared(
    drafts: Sequence[GraphDraft], store: QuadStore, catalogue: ox.NamedNode, *, beside: Sequence[ox.NamedNode] = ()
) -> tuple[list[Change], set[ox.NamedNode]]:
    """Work out what publishing drafts would change, by one read of the store, or two where much is added to graphs.

    Returns:
        The changes, and those of the graphs ``beside`` that the catalogue lists.

    Raises:
        InvalidRDF: triples are to be added to a graph that the catalogue lists as of another kind.
    """
    stored = _stored(drafts, store, catalogue, beside)
    entries, contents = stored.entries, stored.contents
    kinds = {graph: _kind_in(entry) for graph, entry in entries.items() if entry}
    appended = [draft for draft in drafts if draft.mode == "append" and draft.iri in kinds]
    for draft in appended:
        if kinds[draft.iri] != draft.kind:
            raise InvalidRDF(
                f"graph {draft.iri.value} is a {kinds[draft.iri].value} and cannot take triples of a "
                f"{draft.kind.value}. Publish them under another IRI."
            )
    there = stored.there if stored.there is not None else _there(appended, store)
    changes: list[Change] = []
    for draft in drafts:
        if draft.iri not in kinds:
            changes.append(Change(draft, known=False, added=list(dict.fromkeys(draft.triples))))
        elif draft.mode == "new":
            changes.append(Change(draft, known=True))
        elif draft.mode == "replace":
            content = {quad.triple for quad in contents[draft.iri]}
            changes.append(_replaced(draft, content, entries[draft.iri], catalogue))
        else:
            lacking = [triple for triple in draft.triples if quad_of(triple, draft.iri) not in there]
            changes.append(_appended(draft, list(dict.fromkeys(lacking)), entries[draft.iri]))
    return changes, stored.beside


@dataclass(frozen=True, slots=True)
class _Stored:
    """What the store has of drafted graphs: entries, contents of those to be replaced, triples to be added."""

    entries: Mapping[ox.NamedNode, Sequence[ox.Quad]]
    contents: Mapping[ox.NamedNode, Sequence[ox.Quad]]
    there: Collection[ox.Quad] | None
    beside: set[ox.NamedNode]


def _stored(
    drafts: Sequence[GraphDraft], store: QuadStore, catalogue: ox.NamedNode, beside: Sequence[ox.NamedNode]
) -> _Stored:
    """Read it at once; of many triples to be added only when it is known which graphs exist (``there`` is None)."""
    replaced = [draft.iri for draft in drafts if draft.mode == "replace"]
    appended = [quad_of(triple, draft.iri) for draft in drafts if draft.mode == "append" for triple in draft.triples]
    few = len(appended) <= _MAX_ADDED_AT_ONCE
    found = iter(
        store.matching(
            [
                *(
                    kind_pattern(draft.iri, catalogue) if draft.mode == "new" else (draft.iri, None, None, catalogue)
                    for draft in drafts
                ),
                *map(of_graph, replaced),
                *(kind_pattern(graph, catalogue) for graph in beside),
                *(_pattern_of(quad) for quad in appended if few),
            ]
        )
    )
    entries = {draft.iri: next(found) for draft in drafts}
    contents = {graph: next(found) for graph in replaced}
    known = {graph for graph in beside if next(found)}
    there = {quad for quad, quads in zip(appended, found, strict=True) if quads} if few else None
    return _Stored(entries, contents, there, known)


def _there(appended: Sequence[GraphDraft], store: QuadStore) -> Collection[ox.Quad]:
    quads = [quad_of(triple, draft.iri) for draft in appended for triple in draft.triples]
    return {quad for quad, there in zip(quads, store.contained(quads), strict=True) if there}


def _pattern_of(quad: ox.Quad) -> Pattern:
    return quad.subject, quad.predicate, quad.object, cast("ox.NamedNode", quad.graph_name)


def _kind_in(entry: Sequence[ox.Quad]) -> ox.NamedNode:
    return next(cast("ox.NamedNode", quad.object) for quad in entry if quad.predicate == RDF.type)


def kinds_of(
    graphs: Iterable[ox.NamedNode], store: QuadStore, catalogue: ox.NamedNode
) -> dict[ox.NamedNode, ox.NamedNode]:
    """Return the kinds that the catalogue lists graphs as; those that it does not list are left out."""
    distinct = list(dict.fromkeys(graphs))
    found = store.matching([kind_pattern(graph, catalogue) for graph in distinct])
    return {graph: cast("ox.NamedNode", quads[0].object) for graph, quads in zip(distinct, found, strict=True) if quads}


def _appended(draft: GraphDraft, added: Sequence[ox.Triple], entry: Sequence[ox.Quad]) -> Change:
    accounts = (VOID.triples, KG.checksum) if added and _is_counted(draft) else ()
    old = [quad for name in accounts for quad in entry if quad.predicate == name]
    return Change(draft, known=True, added=added, removed_entries=old)


def _replaced(
    draft: GraphDraft, stored: Collection[ox.Triple], entry: Sequence[ox.Quad], catalogue: ox.NamedNode
) -> Change:
    drafted = set(draft.triples)
    old_entry = {quad for quad in entry if quad.predicate not in (DCTERMS.created, KG.publication, KG.checksum)}
    new_entry = {
        *statements(draft, catalogue),
        ox.Quad(draft.iri, RDF.type, draft.kind, catalogue),
        ox.Quad(draft.iri, VOID.triples, number(len(drafted)), catalogue),
    }
    added = [triple for triple in draft.triples if triple not in stored]
    removed = [triple for triple in stored if triple not in drafted]
    going = sorted(old_entry - new_entry, key=str)
    if added or removed or going:  # else nothing is written, and the account stays as true as it was
        going += [quad for quad in entry if quad.predicate == KG.checksum]
    return Change(draft, known=True, added=added, removed=removed, removed_entries=going)


def _is_counted(draft: GraphDraft) -> bool:
    """Return whether the graph has one account; one that grows with every publication has one of each of them."""
    kind = kinds().get(draft.kind.value)
    return draft.mode != "append" or kind is None or kind.counted


def quads(change: Change) -> Iterator[ox.Quad]:
    """Yield the quads that a change puts into its graph."""
    for triple in change.added:
        yield quad_of(triple, change.draft.iri)


def quad_of(triple: ox.Triple, graph: ox.NamedNode) -> ox.Quad:
    """Return the quad of a triple in a graph."""
    return ox.Quad(triple.subject, triple.predicate, triple.object, graph)


def statements(draft: GraphDraft, catalogue: ox.NamedNode) -> list[ox.Quad]:
    """Return a draft's statements about its graph: method, sources, activity and further descriptions."""
    stated: list[tuple[ox.NamedNode, Term]] = [(PROV.wasDerivedFrom, source) for source in draft.sources]
    if draft.method:
        stated.append((KG.method, ox.Literal(draft.method)))
    if draft.activity is not None:
        stated.append((PROV.wasGeneratedBy, draft.activity))
    return [ox.Quad(draft.iri, predicate, value, catalogue) for predicate, value in (*stated, *draft.described)]


def entry(change: Change, publication: ox.NamedNode, created: ox.Literal, names: Names) -> list[ox.Quad]:
    """Return the catalogue's entry of a graph that is written by this publication."""
    draft, catalogue = change.draft, names.catalogue
    quads = statements(draft, catalogue)
    quads.append(ox.Quad(draft.iri, RDF.type, draft.kind, catalogue))
    quads.append(ox.Quad(draft.iri, KG.publication, publication, catalogue))
    if not change.known:
        quads.append(ox.Quad(draft.iri, DCTERMS.created, created, catalogue))
    accounts = _accounts(change, int(local_name(publication.value)))
    quads.extend(ox.Quad(draft.iri, name, value, catalogue) for name, value in accounts)
    return quads


def _accounts(change: Change, revision: int) -> Iterator[tuple[ox.NamedNode, Term]]:
    """Yield the statements of how many triples the graph has now, and of their checksum, as far as it has them."""
    draft = change.draft
    if not _is_counted(draft):
        yield KG.checksum, account(revision, checksum(change.added))
    elif draft.mode == "append" and change.known:
        before = {quad.predicate: plain(quad.object) for quad in change.removed_entries}
        if VOID.triples in before:
            yield VOID.triples, number(int(before[VOID.triples]) + len(change.added))
        if KG.checksum in before:
            yield KG.checksum, continued(before[KG.checksum], revision, change.added)
    else:
        whole = draft.triples if change.known else change.added
        yield VOID.triples, number(len(whole))
        yield KG.checksum, account(revision, checksum(whole))


def publication(
    revision: int,
    kind: ox.NamedNode,
    created: ox.Literal,
    names: Names,
    *,
    removed: Iterable[Term] = (),
    lineage: str = "",
) -> list[ox.Quad]:
    """Return the catalogue's statements about one change of the store.

    Args:
        revision: its number.
        kind: kg:Publication where the graphs that it wrote name it, kg:Rewrite where any graph may have changed.
        created: when it was made.
        names: of the knowledge base.
        removed: kinds of the graphs that it took away, or made graphs of another kind.
        lineage: that of the writer, where this is its first change; else "".
    """
    node, catalogue = names.publication(revision), names.catalogue
    return [
        ox.Quad(node, RDF.type, kind, catalogue),
        ox.Quad(node, KG.revision, number(revision), catalogue),
        ox.Quad(node, DCTERMS.created, created, catalogue),
        *(ox.Quad(node, KG.removedKind, kind_removed, catalogue) for kind_removed in dict.fromkeys(removed)),
        *lineage_of(revision, names, lineage),
        ox.Quad(catalogue, RDF.type, KG.CatalogueGraph, catalogue),
        ox.Quad(catalogue, KG.publication, node, catalogue),
    ]


def lineage_of(revision: int, names: Names, lineage: str) -> list[ox.Quad]:
    """Return the catalogue's statement that a writer's first change names its lineage; [] for ""."""
    return [ox.Quad(names.publication(revision), KG.lineage, ox.Literal(lineage), names.catalogue)] if lineage else []


def by_update(revision: int, names: Names) -> list[ox.Quad]:
    """Return the catalogue's statement that a change is somebody's SPARQL update."""
    return [
        ox.Quad(names.publication(revision), KG.byUpdate, ox.Literal("true", datatype=XSD.boolean), names.catalogue)
    ]


def founding(names: Names, created: ox.Literal) -> list[ox.Quad]:
    """Return the statements that every catalogue begins with: identity, and revision 0."""
    root, catalogue, zero = names.knowledge_base, names.catalogue, names.publication(0)
    triples: list[tuple[ox.NamedNode, ox.NamedNode, Term]] = [
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
    return [ox.Quad(*triple, catalogue) for triple in triples]


def quarantine(draft: GraphDraft, violations: Sequence[Violation], names: Names) -> GraphDraft:
    """Return the draft that replaces one that failed its shape; its content is kept as text."""
    content = "".join(sorted(f"{triple} .\n" for triple in set(draft.triples)))
    graph = names.quarantine_graph(draft.iri.value, content)
    messages = dict.fromkeys(violation.message for violation in violations)
    stated: list[tuple[ox.NamedNode, Term]] = [
        (KG.intendedGraph, draft.iri),
        (KG.intendedKind, draft.kind),
        (KG.content, ox.Literal(content)),
        *((KG.violation, ox.Literal(message)) for message in messages),
    ]
    return GraphDraft(
        iri=graph,
        kind=KG.QuarantineGraph,
        triples=[ox.Triple(graph, predicate, value) for predicate, value in stated],
        method=draft.method,
        sources=draft.sources,
        activity=draft.activity,
    )
