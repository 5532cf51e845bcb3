"""What the latest changes of a store put into its facts and took out of them, in memory and bounded.

Publications say which graphs they wrote, not which triples: what a graph lost is no longer there to be found. So the
store notes here, change by change, the quads of graphs whose kind has facts. Whoever keeps figures of the facts
(``kgrag.querying.data_profile``) follows these; where a change is not noted (another process made it, it was large, or
an update did not name its graphs), the answer is that it is not known, and all facts are to be counted again.

Of the other graphs that kgrag makes (documents, trees …), the subjects are noted that an update may have changed: texts
that are indexed belong to them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from threading import Lock
from weakref import WeakKeyDictionary

import pyoxigraph as ox

from kgrag.store import publication_plan
from kgrag.store.graph_kinds import holds_facts
from kgrag.store.quad_store import QuadStore, of_graph
from kgrag.vocab import PREFIXES, Names

__all__ = ["MAX_QUADS", "Seen", "changes", "note", "note_difference", "quads_of", "subjects_before"]

MAX_QUADS = 50_000
"""Of more in one change, or noted for a store, the facts are counted again: it takes no longer."""
_MAX_REVISIONS = 100_000

_Change = tuple[frozenset[ox.Quad], frozenset[ox.Quad]]

_LOCK = Lock()
_NOTED: WeakKeyDictionary[object, OrderedDict[int, _Change]] = WeakKeyDictionary()
_SUBJECTS: WeakKeyDictionary[object, OrderedDict[int, frozenset[str]]] = WeakKeyDictionary()


def note(store: object, before: int, revision: int, change: tuple[Iterable[ox.Quad], Iterable[ox.Quad]] | None) -> None:
    """Note what the changes after ``before`` up to ``revision`` put into facts and took out of them.

    Nothing is noted where that is not known (``change`` is None), or nothing changed (the two are the same).
    """
    if change is None or revision == before:
        return
    quads = (frozenset(change[0]), frozenset(change[1]))
    with _LOCK:
        noted = _NOTED.setdefault(store, OrderedDict())
        noted.update(dict.fromkeys(range(before + 1, revision), (frozenset(), frozenset())))
        noted[revision] = quads
        total = sum(len(each) for pair in noted.values() for each in pair) if any(quads) else 0
        while total > MAX_QUADS or len(noted) > _MAX_REVISIONS:
            _, oldest = noted.popitem(last=False)
            total -= sum(map(len, oldest))


def note_difference(
    store: object, before: int, revision: int, facts: set[ox.Quad] | None, after: set[ox.Quad] | None
) -> None:
    """Note the difference between the facts before and after; nothing where one of them is not known."""
    note(store, before, revision, None if facts is None or after is None else (after - facts, facts - after))


def quads_of(store: QuadStore, graphs: Sequence[ox.NamedNode] | None, names: Names) -> set[ox.Quad] | None:
    """Return the quads of those graphs that have facts; None where they are not known, or are more than are noted."""
    if graphs is None:
        return None
    kinds = publication_plan.kinds_of(graphs, store, names.catalogue)
    found: set[ox.Quad] = set()
    for graph in (graph for graph, kind in kinds.items() if holds_facts(kind)):
        found |= set(islice(store.match(of_graph(graph)), MAX_QUADS + 1 - len(found)))
        if len(found) > MAX_QUADS:
            return None
    return found


def _inserted(store: QuadStore, update: str, names: Names) -> set[ox.Quad] | None:
    """Return the quads that an update with INSERT DATA alone adds to facts; None where that cannot be told before.

    Raises:
        SyntaxError: it does not parse.
    """
    scratch = ox.Store()
    scratch.update(update, prefixes=PREFIXES)
    if len(scratch) > MAX_QUADS:
        return None
    graphs: dict[ox.NamedNode, list[ox.Quad]] = {}
    for quad in scratch:
        if isinstance(quad.subject, ox.BlankNode) or isinstance(quad.object, ox.BlankNode | ox.Triple):
            return None  # the store gives a blank node another name
        graph = quad.graph_name if isinstance(quad.graph_name, ox.NamedNode) else names.default_data
        graphs.setdefault(graph, []).append(ox.Quad(quad.subject, quad.predicate, quad.object, graph))
    kinds = publication_plan.kinds_of(graphs, store, names.catalogue)
    facts = (quads for graph, quads in graphs.items() if graph not in kinds or holds_facts(kinds[graph]))
    entering = list(dict.fromkeys(quad for quads in facts for quad in quads))  # a graph that is new holds data
    return {quad for quad, there in zip(entering, store.contained(entering), strict=True) if not there}


class Seen:
    """What graphs have before an update, so that what it changes can be noted afterwards.

    Args:
        store: is about to be changed.
        graphs: that the update may change; None where it does not name them.
        names: IRIs of the store.
        insertion: the update, where it inserts data and does nothing else.
        subjects: the IRIs whose texts it may change; None where that is not known.
    """

    def __init__(
        self,
        store: QuadStore,
        graphs: Sequence[ox.NamedNode] | None,
        names: Names,
        *,
        insertion: str | None,
        subjects: Collection[str] | None,
    ) -> None:
        self._store, self._graphs, self._names = store, graphs, names
        self._facts = quads_of(store, graphs, names)
        known = self._facts is not None or insertion is None
        self._new = None if known or insertion is None else _inserted(store, insertion, names)
        self._are_told = subjects is not None
        self._subjects = _subjects_of(store, graphs, names) if subjects is None else frozenset(subjects)

    def note(self, store: object, before: int, revision: int) -> None:
        """Note what the update, which led from a revision to another, changed."""
        if self._new is not None:
            note(store, before, revision, (self._new, ()))
        else:
            after = quads_of(self._store, self._graphs, self._names)
            note_difference(store, before, revision, self._facts, after)
        gone = self._subjects if self._are_told else _subjects_of(self._store, self._graphs, self._names)
        if self._subjects is None or gone is None:
            return
        with _LOCK:
            noted = _SUBJECTS.setdefault(store, OrderedDict())
            noted[revision] = self._subjects | gone
            while len(noted) > _MAX_REVISIONS or sum(map(len, noted.values())) > MAX_QUADS:
                noted.popitem(last=False)


def _subjects_of(store: QuadStore, graphs: Sequence[ox.NamedNode] | None, names: Names) -> frozenset[str] | None:
    """Return the IRIs that graphs without facts speak of; None where the graphs are not known, or too large."""
    if graphs is None:
        return None
    kinds = publication_plan.kinds_of(graphs, store, names.catalogue)
    quads: list[ox.Quad] = []
    for graph in (graph for graph, kind in kinds.items() if not holds_facts(kind)):
        quads += islice(store.match(of_graph(graph)), MAX_QUADS - len(quads))
    found = frozenset(quad.subject.value for quad in quads if isinstance(quad.subject, ox.NamedNode))
    return found if len(quads) < MAX_QUADS else None


def subjects_before(store: object, revision: int) -> frozenset[str] | None:
    """Return the IRIs that an update, which made a revision, may have changed; None where that is not known."""
    with _LOCK:
        return _SUBJECTS.get(store, OrderedDict[int, frozenset[str]]()).get(revision)


def changes(store: object, since: int, until: int) -> tuple[set[ox.Quad], set[ox.Quad]] | None:
    """Return the quads that facts gained and lost between two revisions; None where that is not known.

    A quad that came and went, or went and came again, is in neither.
    """
    added: set[ox.Quad] = set()
    removed: set[ox.Quad] = set()
    with _LOCK:
        noted = _NOTED.get(store, OrderedDict[int, _Change]())
        for revision in range(since + 1, until + 1):
            if revision not in noted:
                return None
            came, went = noted[revision]
            removed |= went - added
            added -= went
            added |= came - removed
            removed -= came
    return added, removed
