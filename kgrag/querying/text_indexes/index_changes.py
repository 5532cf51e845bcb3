"""Whose texts may be others after a change of the store: the subjects of what was added and removed.

Graphs with facts note what they gained and lost (``kgrag.store.fact_journal``); of another graph that is new, all
subjects are taken; of the catalogue the graphs that changed, and sources. Where the store does not say it (an update
that does not name its graphs, a graph without facts that was replaced or removed, another process), it is not known.

Query read: ``searches/written_graphs``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pyoxigraph as ox

from kgrag import queries
from kgrag.index.change_feed import MAX_PUBLICATIONS
from kgrag.ports import TripleStore
from kgrag.store import fact_journal
from kgrag.store.graph_kinds import holds_facts
from kgrag.vocab import KG

__all__ = ["MAX_SUBJECTS", "changed_subjects"]

MAX_SUBJECTS = 2_000
"""Of more, all texts are read again: it takes no longer."""


def changed_subjects(store: TripleStore, since: int) -> frozenset[str] | None:
    """Return the IRIs about which graphs may state something else than after a revision; None where it is not known."""
    now = store.revision
    latest = range(since + 1, now + 1)
    if not latest:
        return frozenset()
    facts = fact_journal.changes(store, since, now) if since >= 0 and len(latest) <= MAX_PUBLICATIONS else None
    if facts is None or sum(map(len, facts)) > MAX_SUBJECTS:
        return None
    written = _written(store, latest)
    if written is None:
        return None
    of_facts = (node for change in facts for quad in change for node in (quad.subject, quad.graph_name))
    of_new_graphs = (triple.subject for graph, is_new in written.items() if is_new for triple in store.triples(graph))
    found = {store.names.knowledge_base.value, *(store.names.publication(revision).value for revision in latest)}
    found |= {graph.value for graph in written}
    for node in chain(of_facts, of_new_graphs):
        if isinstance(node, ox.NamedNode):
            found.add(node.value)
        if len(found) > MAX_SUBJECTS:
            return None
    return frozenset(found)


def _written(store: TripleStore, revisions: Sequence[int]) -> dict[ox.NamedNode, bool] | None:
    """Return the graphs that revisions wrote to, and whether all that each states is to be taken for new.

    None where a graph without facts had other content before, or was removed; or where they are not known.
    """
    publications = [store.names.publication(revision) for revision in revisions]
    values = {"catalogue": store.names.catalogue, "since": revisions[0] - 1}
    found: dict[ox.NamedNode, bool] = {}
    for graph, kind, before, removed, rewrite in store.select(
        queries.bind("searches/written_graphs", publications=publications, **values)
    ):
        if rewrite is not None or (isinstance(removed, ox.NamedNode) and not holds_facts(removed)):
            return None
        if not isinstance(graph, ox.NamedNode) or not isinstance(kind, ox.NamedNode) or kind == KG.CatalogueGraph:
            continue
        found[graph] = not holds_facts(kind)
        if found[graph] and isinstance(before, ox.Literal) and before.value == "true":
            return None
    return found
