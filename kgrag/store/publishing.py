"""One ``publish``: compare drafts with the store, put failing ones aside, write the rest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import pyoxigraph as ox

from kgrag.errors import ShapeViolation
from kgrag.model import GraphDraft, Publication, Term, Violation
from kgrag.store import publication_plan
from kgrag.store.graph_kinds import holds_facts
from kgrag.store.lexical_forms import companions, refuse_rewritten
from kgrag.store.publication_plan import Change
from kgrag.store.quad_store import QuadStore
from kgrag.vocab import KG, RDF, Names

__all__ = ["Publishing"]


class Publishing:
    """One call of ``publish``; call ``compare``, ``rehearsal``, ``put_aside``, ``write``, ``outcome`` in this order."""

    def __init__(
        self, store: QuadStore, names: Names, revision: int, *, stated: Sequence[ox.Quad] = (), lineage: str = ""
    ) -> None:
        self.revision = revision
        self.kinds: set[ox.NamedNode] = set()
        """Of graphs that were written so far, or removed."""
        self._stated = stated
        self._lineage = lineage
        self._store = store
        self._names = names
        self._now = publication_plan.now()
        self._changes: list[Change] = []
        self._lexical: Collection[ox.NamedNode] = ()
        self._quads_by_graph: dict[ox.NamedNode, tuple[Change, list[ox.Quad]]] = {}
        self._quarantined: list[str] = []
        self._violations: list[Violation] = []

    def compare(self, drafts: Sequence[GraphDraft]) -> None:
        """Find out what the drafts change.

        Raises:
            InvalidRDF: two drafts of one graph contradict each other, or a literal of ours is not canonical.
        """
        merged = publication_plan.merge(drafts)
        ours = [draft for draft in merged if draft.mode != "replace"]
        # what is replaced may be somebody else's RDF, whose literals lexical graphs keep as they were spelled
        loaded = companions((draft for draft in merged if draft.mode == "replace"), self._names)
        replaced = publication_plan.merge(loaded)
        lexical = [self._names.lexical_graph(draft.iri.value) for draft in replaced]
        self._changes, self._lexical = publication_plan.compared(
            [*ours, *replaced], self._store, self._names.catalogue, beside=lexical
        )
        refuse_rewritten({change.draft.iri: change.added for change in self._changes if change.draft.mode != "replace"})

    def _compared(self, drafts: Sequence[GraphDraft]) -> list[Change]:
        return publication_plan.compared(drafts, self._store, self._names.catalogue)[0]

    def unproven(self, conforming: Collection[ox.NamedNode] = ()) -> list[Change]:
        """Return what writes to a graph, but for new graphs of which it is known that they conform to their shape."""
        return [
            change for change in self._changes if change.writes and (change.known or change.draft.iri not in conforming)
        ]

    def drafts(self) -> list[GraphDraft]:
        """Return the drafts of graphs that are new or change."""
        return [change.draft for change in self._changes if change.writes]

    def rehearsal(self, changes: Iterable[Change]) -> Iterator[ox.Quad]:
        """Yield the quads to be validated: graphs that are new or change, as drafted, and their entries."""
        yield from self._publication()
        for change in changes:
            added = change.added if change.draft.mode == "append" else change.draft.triples
            yield from self._quads_of(change if not change.known else Change(change.draft, known=False, added=added))

    def _quads_of(self, change: Change) -> list[ox.Quad]:
        """Return the quads of a graph that is new or changes, and of its entry; made once to validate and write."""
        made_for, quads = self._quads_by_graph.get(change.draft.iri, (None, []))
        if made_for is not change:
            node = self._names.publication(self.revision + 1)
            quads = [*publication_plan.quads(change), *publication_plan.entry(change, node, self._now, self._names)]
            self._quads_by_graph[change.draft.iri] = (change, quads)
        return quads

    def put_aside(self, violations: Sequence[Violation]) -> None:
        """Replace each draft that has a violation by one of a quarantine graph.

        Raises:
            ShapeViolation: a violation belongs to no draft.
        """
        self._violations = [violation for violation in violations if violation.severity == "Violation"]
        blamed = self._violations_by_draft(self._violations)
        companions_aside = {self._names.lexical_graph(graph) for graph in blamed}
        aside = [change.draft for change in self._changes if change.draft.iri.value in blamed]
        self._quarantined = [draft.iri.value for draft in aside]
        quarantined = self._compared([publication_plan.quarantine(d, blamed[d.iri.value], self._names) for d in aside])
        instead = dict(zip(self._quarantined, quarantined, strict=True))
        self._changes = [
            instead.get(change.draft.iri.value, change)
            for change in self._changes
            if change.draft.iri not in companions_aside or change.draft.iri.value in instead
        ]

    def _violations_by_draft(self, violations: Sequence[Violation]) -> dict[str, list[Violation]]:
        drafted = {draft.iri.value for draft in self.drafts()}
        blamed: dict[str, list[Violation]] = defaultdict(list)
        for violation in violations:
            graph = violation.graph if violation.graph in drafted else violation.focus
            if graph not in drafted:
                raise ShapeViolation(
                    f"{violation.focus} in {violation.graph}: {violation.message} It belongs to none of the graphs "
                    "that are being published, so nothing was. Mend the drafts' catalogue statements."
                )
            blamed[graph].append(violation)
        return blamed

    def write(self) -> None:
        """Write: first, if anything has to leave the store, all "replace" drafts at once; then all others at once."""
        stale = self._stale_lexical_graphs()
        leaving = bool(stale) or any(change.rewrites for change in self._changes)
        swapped: list[Change] = []
        added: list[Change] = []
        for change in self._changes:
            swaps = leaving and (change.rewrites or change.draft.mode == "replace")
            (swapped if swaps else added).append(change)
        if swapped:
            self._swap(swapped, stale)
        self._add(added)

    def _swap(self, changes: Sequence[Change], stale: Sequence[ox.NamedNode]) -> None:
        catalogue = self._names.catalogue
        emptied = [change.draft.iri for change in changes if change.removed and not change.draft.triples]
        leaving = [
            publication_plan.quad_of(triple, change.draft.iri) for change in changes for triple in change.removed
        ]
        entries = [quad for change in changes for quad in change.removed_entries]
        for entry in self._store.matching([(graph, None, None, catalogue) for graph in stale]):
            entries += entry
        entering = [quad for quads in self._entering_quads(changes) for quad in quads]
        entering += self._publication(quad.object for quad in entries if quad.predicate == RDF.type)
        self._store.exchange([*leaving, *entries], entering, [*emptied, *stale])
        self.kinds.update(quad.object for quad in entries if isinstance(quad.object, ox.NamedNode))
        self.kinds.update(change.draft.kind for change in changes)
        self.revision += 1
        self._lineage = ""
        self._quads_by_graph.clear()  # entries name the publication, which is the next one from here on

    def _stale_lexical_graphs(self) -> list[ox.NamedNode]:
        """Return the lexical graphs of replaced graphs in which nothing is rewritten any more."""
        drafted = {change.draft.iri for change in self._changes}
        replaced = (change.draft for change in self._changes if change.known and change.draft.mode == "replace")
        lexical = (self._names.lexical_graph(draft.iri.value) for draft in replaced)
        return [graph for graph in lexical if graph not in drafted and graph in self._lexical]

    def _add(self, changes: Sequence[Change]) -> None:
        entering = list(chain.from_iterable(self._entering_quads(changes)))
        if entering:
            self._store.add([*entering, *self._publication()])
            self.kinds.update(change.draft.kind for change in changes)
            self.revision += 1

    def _entering_quads(self, changes: Sequence[Change]) -> list[list[ox.Quad]]:
        # a graph published again by another method keeps the first one's name and gains sources and descriptions
        repeated = {
            change.draft.iri: publication_plan.statements(replace(change.draft, method=""), self._names.catalogue)
            for change in changes
            if not (change.writes or change.rewrites)
        }
        asked = [quad for quads in repeated.values() for quad in quads]
        there = iter(self._store.contained(asked))
        lacking = {graph: [quad for quad in quads if not next(there)] for graph, quads in repeated.items()}
        return [
            lacking[change.draft.iri] if change.draft.iri in lacking else self._quads_of(change) for change in changes
        ]

    def _publication(self, removed: Iterable[Term] = ()) -> list[ox.Quad]:
        publication = publication_plan.publication(
            self.revision + 1, KG.Publication, self._now, self._names, removed=removed, lineage=self._lineage
        )
        return [*publication, *self._stated]

    def facts(self) -> tuple[list[ox.Quad], list[ox.Quad]] | None:
        """Return the quads that facts gain and lose; None where a graph of another kind becomes one with facts."""
        changes = [change for change in self._changes if change.writes and holds_facts(change.draft.kind)]
        if any(quad.predicate == RDF.type for change in self._changes for quad in change.removed_entries):
            return None
        gained = [publication_plan.quad_of(triple, each.draft.iri) for each in changes for triple in each.added]
        return gained, [publication_plan.quad_of(triple, each.draft.iri) for each in changes for triple in each.removed]

    def outcome(self) -> Publication:
        """Report what became of the drafts."""
        accepted = [change for change in self._changes if change.draft.kind != KG.QuarantineGraph]
        return Publication(
            revision=self.revision,
            published=tuple(change.draft.iri.value for change in accepted if change.writes),
            unchanged=tuple(change.draft.iri.value for change in accepted if not change.writes),
            quarantined=tuple(self._quarantined),
            violations=tuple(self._violations),
        )
