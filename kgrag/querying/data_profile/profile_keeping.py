"""The profile of a store's facts: made once, followed change by change, and kept in a graph of the store.

Reading never writes: ``profile_of`` starts from the kept graph where there is one, adds what changed since, and
remembers the result for as long as the store is open. ``keep`` writes the graph. ``settle`` writes it again where one
was kept and facts changed since, at the end of a session. The figures follow changes that this process made; after an
update of unknown extent, or changes by another process, all facts are counted once.

Queries read: ``profile/*``, ``spaces/changed``. Graph written: the profile graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from threading import RLock
from weakref import WeakKeyDictionary

import pyoxigraph as ox

from kgrag import queries
from kgrag.index import change_feed
from kgrag.model import Term, plain
from kgrag.ports import TripleStore
from kgrag.querying.data_profile import profile_graph
from kgrag.querying.data_profile.profile_counts import Counts, adjusted, counted, facts
from kgrag.querying.data_profile.profile_samples import Samples, first_values, followed_values
from kgrag.querying.data_profile.profile_values import ClassProfile, DataProfile, PropertyProfile
from kgrag.store import fact_journal
from kgrag.store.graph_kinds import fact_kinds
from kgrag.vocab import KG, OWL, RDF, RDFS

__all__ = ["keep", "profile_of", "profile_of_graph", "settle", "withdrawn"]

_MAX_LABEL_CHARACTERS = 200
_TERMS_PER_QUERY = 500
_ATTEMPTS = 3
_DEFINING = (OWL.Class, RDFS.Class)
_LOCK = RLock()


@dataclass(frozen=True, slots=True)
class _Known:
    """A profile that was worked out, its figures, and whether the store has, or is to have, a graph of it.

    ``defined``: the classes that ontologies define, None where they were not read. ``ahead``: facts changed since the
    graph was read or written.
    """

    profile: DataProfile
    counts: Counts
    kept: bool
    defined: tuple[str, ...] | None = None
    ahead: bool = False


_KNOWN: WeakKeyDictionary[TripleStore, _Known] = WeakKeyDictionary()


def profile_of(store: TripleStore) -> DataProfile:
    """Return the profile of all facts of a store, as they are now."""
    return _up_to_date(store).profile


def profile_of_graph(store: TripleStore, graph: ox.NamedNode) -> DataProfile:
    """Return the profile of one graph alone, counted anew; its empty classes are those that it defines itself."""
    triples = facts(store, graph)
    counts = counted(triples)
    own = {triple.subject for triple in triples if triple.predicate == RDF.type and _defines(triple)}
    classes = [each.value for each in own if isinstance(each, ox.NamedNode)]
    labels = _labels(store, [*counts.instances, *counts.statements, *classes])
    return _profile(store.revision, counts, labels, classes, first_values(triples))


def keep(store: TripleStore) -> DataProfile:
    """Write the profile of all facts to its graph, unless that is up to date; return it.

    Raises:
        StorageFailed: the disk refused.
    """
    known = _up_to_date(store)
    if known.ahead or not (known.kept and _is_current(store)):
        store.publish([profile_graph.draft(known.profile, store.names)])
        known = _up_to_date(store)
        with _LOCK:
            _KNOWN[store] = replace(known, kept=True, ahead=False)
    return known.profile


def settle(store: TripleStore) -> None:
    """Write the graph of the profile again where one was kept and facts changed since. Raises what ``keep`` raises."""
    known = _KNOWN.get(store)
    if store.described(store.names.profile_graph) or (known is not None and known.kept):
        keep(store)


def withdrawn(store: TripleStore) -> list[ox.NamedNode]:
    """Return the graph of the profile, if there is one, for whoever deletes facts to drop in the same step.

    Samples are values of what goes. The profile is remembered, and ``settle`` writes it again without them.
    """
    graph = store.names.profile_graph
    if not store.described(graph):
        return []
    _up_to_date(store)
    return [graph]


def _is_current(store: TripleStore) -> bool:
    """Return whether the kept graph is there and no fact changed after the revision that it states."""
    stored = profile_graph.read(store.triples(store.names.profile_graph), store.names)
    return stored is not None and _unchanged(store, stored.revision)


def _unchanged(store: TripleStore, since: int) -> bool:
    if since > store.revision:
        return False
    return not any(change_feed.changed(kind, store=store, since=since) for kind in fact_kinds())


def _up_to_date(store: TripleStore) -> _Known:
    with _LOCK:
        known = _KNOWN.get(store) or _stored(store)
        for _ in range(_ATTEMPTS):
            revision = store.revision
            if known is None or known.profile.revision != revision:
                known = _followed(store, known, revision)
            if store.revision == revision:  # nobody wrote meanwhile, so the figures are of one state
                _KNOWN[store] = known
                return known
            known = None
        return _followed(store, None, store.revision)


def _stored(store: TripleStore) -> _Known | None:
    profile = profile_graph.read(store.triples(store.names.profile_graph), store.names)
    return None if profile is None else _Known(profile, profile_graph.counts_of(profile), kept=True)


def _followed(store: TripleStore, known: _Known | None, revision: int) -> _Known:
    """Return the profile of a revision: of the one that is known with what changed since, or of all facts."""
    kept = known is not None and known.kept
    change = None if known is None else fact_journal.changes(store, known.profile.revision, revision)
    if known is not None and change is None and _unchanged(store, known.profile.revision):
        change = (set(), set())
    if known is None or change is None:
        return _counted_anew(store, revision, kept=kept)
    if not any(change):
        return replace(known, profile=replace(known.profile, revision=revision))
    counts = adjusted(known.counts, store, *change)
    if counts is None:
        return _counted_anew(store, revision, kept=kept)
    quads = change[0] | change[1]
    before = known.profile
    classes = known.defined
    if classes is None or change_feed.changed(KG.OntologyGraph, store=store, since=before.revision):
        classes = _defined(store)
    labels = {each.iri: each.label for each in (*before.classes.values(), *before.empty.values())}
    labels |= {each.iri: each.label for each in before.properties.values()}
    terms = {*counts.instances, *counts.statements, *classes}
    relabelled = any(quad.predicate == RDFS.label for quad in quads)
    labels |= _labels(store, sorted(terms if relabelled else terms - labels.keys()))
    known_samples = {each.iri: each.samples for each in before.properties.values()}
    samples = followed_values(known_samples, store, *change, counts.statements.keys())
    return _Known(_profile(revision, counts, labels, classes, samples), counts, kept, classes, ahead=True)


def _counted_anew(store: TripleStore, revision: int, *, kept: bool) -> _Known:
    triples = facts(store)
    counts, classes = counted(triples), _defined(store)
    labels = _labels(store, sorted({*counts.instances, *counts.statements, *classes}))
    return _Known(_profile(revision, counts, labels, classes, first_values(triples)), counts, kept, classes)


def _profile(
    revision: int,
    counts: Counts,
    labels: Mapping[str, str],
    defined: Iterable[str],
    samples: Mapping[str, Samples],
) -> DataProfile:
    domains, ranges, datatypes = (_by_property(each) for each in (counts.domains, counts.ranges, counts.datatypes))
    properties = {
        name: PropertyProfile(
            name,
            count,
            counts.subjects[name],
            labels.get(name, ""),
            domains.get(name, {}),
            ranges.get(name, {}),
            datatypes.get(name, {}),
            samples.get(name, ()),
        )
        for name, count in sorted(counts.statements.items())
    }
    names = sorted({*counts.instances, *defined})
    every = {name: ClassProfile(name, counts.instances[name], labels.get(name, "")) for name in names}
    classes = {name: each for name, each in every.items() if each.instances}
    empty = {name: each for name, each in every.items() if not each.instances}
    return DataProfile(revision, counts.triples, classes, properties, empty)


def _by_property(counts: Mapping[tuple[str, str], int]) -> dict[str, dict[str, int]]:
    uses: dict[str, dict[str, int]] = defaultdict(dict)
    for (name, other), count in sorted(counts.items()):
        uses[name][other] = count
    return uses


def _defines(triple: ox.Triple) -> bool:
    return triple.predicate == RDF.type and triple.object in _DEFINING


def _defined(store: TripleStore) -> tuple[str, ...]:
    """Return the classes that ontologies define, without those of OWL and RDFS themselves."""
    rows = store.select(queries.bind("profile/classes_defined", catalogue=store.names.catalogue)).values()
    return tuple(name for (name,) in rows if not name.startswith((OWL.prefix, RDFS.prefix, RDF.prefix)))


def _labels(store: TripleStore, terms: Collection[str]) -> dict[str, str]:
    """Return term -> its label, an English one before others; terms without one have ""."""
    labels, ranks = dict.fromkeys(terms, ""), dict.fromkeys(terms, 3)
    nodes = [ox.NamedNode(term) for term in sorted(labels)]
    for first in range(0, len(nodes), _TERMS_PER_QUERY):
        for term, label in store.select(queries.bind("profile/labels", terms=nodes[first : first + _TERMS_PER_QUERY])):
            name, rank = plain(term), _rank(label)
            if rank < ranks[name]:
                labels[name], ranks[name] = plain(label)[:_MAX_LABEL_CHARACTERS], rank
    return labels


def _rank(label: Term | None) -> int:
    language = (label.language or "") if isinstance(label, ox.Literal) else ""
    return 0 if language.partition("-")[0] == "en" else 1 if not language else 2
