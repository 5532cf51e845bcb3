"""Deleting a document with proof: afterwards no query finds it, or what was derived from it alone.

What happens to a graph is declared with its kind (``kgrag.declarations.GraphKind``). Dropped are the document's graph
and every graph whose sources are all gone, also kept answers that quote it and inferences that rest on it; what another
graph still states stays. Other graphs lose every statement about what is no more. A node of a summary tree that was
written from something gone loses its words and keeps its place, so that the next build writes it anew from what is
left; its graph is marked stale. A proposal loses the evidence that is gone, and goes when nothing is left and
no person decided it. Vectors follow at once, BM25 indices at their next use.

Documents go in one atomic step, a thousand at most: a killed call has forgotten them, or has not begun. What has to be
forgotten together with them, or because of them, is written down in that step as well (``kg:forgets`` of the knowledge
base), and is forgotten at the next opening for writing where the process died before.

Queries read: ``forgetting/*``, ``sire_rag/parts``, ``documents/named``, ``documents/locations_of``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyoxigraph as ox

from kgrag import queries
from kgrag.declarations import GraphKind
from kgrag.errors import EmbeddingMismatch, InputError, UnknownName
from kgrag.index import change_feed, vector_spaces
from kgrag.knowledge_base import build_marks
from kgrag.ports import TripleStore, VectorSpaces
from kgrag.querying import data_profile
from kgrag.store import graph_kinds
from kgrag.text import documents
from kgrag.text.readers.sources import place
from kgrag.vocab import KG

__all__ = ["Forgotten", "files_of", "finish", "forget", "named", "to_forget", "with_same_text"]

_DOCUMENTS_PER_STEP = 1000
_IRIS_PER_QUERY = 500
_MAX_DOCUMENTS_SHOWN = 5
_Value = TypeVar("_Value")


def _kinds(has: Callable[[GraphKind], bool]) -> set[str]:
    """Return the IRIs of the kinds of graph that declare something."""
    return {iri for iri, kind in graph_kinds.kinds().items() if has(kind)}


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What went with a document: IRIs of graphs dropped and trimmed, and of tree nodes that wait for a build.

    ``answers`` are the questions of the kept answers that cited it. ``remains`` are the (graph, IRI) pairs that a query
    still finds, and empty unless something is wrong.
    """

    document: str
    title: str = ""
    dropped: tuple[str, ...] = ()
    trimmed: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    remains: tuple[tuple[str, str], ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(slots=True)
class _Going:
    """What goes, each with the document that it goes with.

    Attributes:
        dropped: whole graphs.
        gone: every statement about an IRI; graphs that are dropped are among them.
        silent: nodes that lose their words.
        trimmed: graph that stays and loses statements -> its kind.
        trimmed_with: the same graphs, and whatever each of them loses a statement for.
    """

    dropped: dict[str, str] = field(default_factory=dict)
    gone: dict[str, str] = field(default_factory=dict)
    silent: dict[str, str] = field(default_factory=dict)
    trimmed: dict[str, str] = field(default_factory=dict)
    trimmed_with: set[tuple[str, str]] = field(default_factory=set)


def files_of(store: TripleStore, name: str, *, every: bool = False) -> list[str]:
    """Return the files, still there, of the documents of a name: the next ``ingest`` or ``sync`` takes them in again.

    Arguments and errors are those of ``named``.
    """
    located = _rows(store, "documents/locations_of", "documents", named(store, name, every=every), catalogue=True)
    return sorted({file for _, location in located if Path(file := location.partition("#")[0]).is_file()})


def with_same_text(store: TripleStore, name: str, *, every: bool = False) -> list[str]:
    """Return the titles (else IRIs) of other documents with the text of those of a name: forgetting leaves them.

    Arguments and errors are those of ``named``.
    """
    going = [ox.NamedNode(document) for document in named(store, name, every=every)]
    rows = store.select(queries.bind("documents/same_text", documents=going)).values()
    return [title or other for other, title in rows]


def named(store: TripleStore, name: str, *, every: bool = False) -> list[str]:
    """Return the documents that have this IRI, else this location (a file's path in any spelling), else id, else title.

    Args:
        store: contains the documents.
        name: an IRI, a location, what the source calls it, or a title.
        every: whether a name that several documents have means all of them.

    Raises:
        UnknownName: none has.
        InputError: several have, and ``every`` is False; the message lists them.
    """
    try:
        iris = [ox.NamedNode(name)]
    except ValueError:  # an id, a title or a path
        iris = []
    query = queries.bind(
        "documents/named",
        catalogue=store.names.catalogue,
        iris=iris,
        places=[ox.Literal(spelling) for spelling in sorted({name, place(Path(name))})],
        name=ox.Literal(name),
    )
    rows = store.select(query).values()
    if not rows:
        raise UnknownName(f"no document has the IRI, location, id or title {name!r}. `kgrag documents` lists them.")
    found = [document for kind, document in rows if kind == rows[0][0]]
    if len(found) > 1 and not every:
        located = _rows(store, "documents/locations_of", "documents", found, catalogue=True)
        first_places = dict(reversed([(document, location) for document, location in located]))
        shown = sorted(first_places.get(document, document) for document in found)
        each = "; ".join(shown[:_MAX_DOCUMENTS_SHOWN])
        raise InputError(
            f"{len(found)} documents are named {name!r}: {each}. Name one by its location or IRI, or say --all."
        )
    return found


def forget(
    going: Sequence[str],
    *,
    store: TripleStore,
    spaces: VectorSpaces | None = None,
    then: Sequence[ox.Quad] = (),
    entries: Sequence[ox.NamedNode] = (),
) -> list[Forgotten]:
    """Delete documents, and return what went with each; what went with several is counted with one of them.

    A thousand go in one atomic step. Of more, the first step states that the others have to go.

    Args:
        going: their IRIs.
        store: where they are.
        spaces: the vectors of what is gone are dropped from them; None: at their next use.
        then: statements of what is to be done as well, whatever becomes of this process; see ``to_forget``.
        entries: what else the catalogue forgets in the first step, e.g. sources.

    Raises:
        UnknownName: there is no such document; nothing was done.
    """
    every = list(dict.fromkeys(going))
    for document in every:
        if not store.described(_graph(document, store)):
            raise UnknownName(f"there is no document <{document}>. `kgrag documents` lists them.")
    done: list[Forgotten] = []
    for first in range(0, len(every), _DOCUMENTS_PER_STEP):
        end = first + _DOCUMENTS_PER_STEP
        stated = () if first else (*then, *to_forget(store, every[end:]))
        struck = () if first else entries
        done += _forget_at_once(every[first:end], store=store, spaces=spaces, then=stated, entries=struck)
    return done


def _forget_at_once(
    every: Sequence[str],
    *,
    store: TripleStore,
    spaces: VectorSpaces | None,
    then: Sequence[ox.Quad],
    entries: Sequence[ox.NamedNode],
) -> list[Forgotten]:
    titles = documents.titles(store, every)
    going = _Going()
    _add_derived(store, every, going)
    _add_undescribed(store, going)
    _add_references(store, going)
    asked = _rows(store, "forgetting/answers", "graphs", going.dropped)
    answers = _by_document((question, going.dropped[graph]) for graph, question in asked)
    build_marks.forget_undone(store)  # the next builds write it anew
    _delete(store, going, then, entries)
    if spaces is not None:
        _drop_vectors(spaces, going.gone.keys() | going.silent.keys())
    remains = set(_rows(store, "forgetting/found", "things", going.gone))
    dropped, waiting = _by_document(going.dropped.items()), _by_document(going.silent.items())
    trimmed = _by_document(going.trimmed_with)
    left = _by_document(((where, iri), going.gone[iri]) for where, iri in remains)
    return [
        Forgotten(
            document,
            titles.get(document, ""),
            tuple(dropped[document]),
            tuple(sorted(trimmed[document])),
            tuple(sorted(waiting[document])),
            tuple(sorted(left[document])),
            tuple(sorted(answers[document])),
        )
        for document in every
    ]


def _by_document(pairs: Iterable[tuple[_Value, str]]) -> defaultdict[str, list[_Value]]:
    found: defaultdict[str, list[_Value]] = defaultdict(list)
    for value, document in pairs:
        found[document].append(value)
    return found


def _add_derived(store: TripleStore, every: Sequence[str], going: _Going) -> None:
    """Add the documents, what their graphs describe, and the graphs that are derived from them alone."""
    for document in every:
        graph, citations = _graph(document, store), store.names.citation_graph(ox.NamedNode(document))
        going.dropped[graph.value] = document
        if store.described(citations):
            going.dropped[citations.value] = document
        going.gone |= dict.fromkeys((document, *_subjects(store, graph)), document)
    going.gone |= going.dropped
    with_any = _kinds(lambda kind: kind.when_source_goes == "drop_if_any")
    staying = _kinds(lambda kind: kind.when_source_goes in ("trim", "stale"))
    sources: dict[tuple[str, str], set[str]] = defaultdict(set)
    latest = going.gone.keys()
    while latest:
        concerned: dict[tuple[str, str], None] = {}
        for derived, kind, source in _rows(store, "forgetting/derived", "sources", latest, catalogue=True):
            concerned[derived, kind] = None
            sources[derived, kind].add(source)
        found: dict[str, str] = {}
        for derived, kind in sorted(concerned):
            its = sources[derived, kind]
            if derived not in going.gone and kind not in staying and (kind in with_any or its <= going.gone.keys()):
                found[derived] = going.gone[min(its & going.gone.keys())]
        going.dropped |= found
        going.gone |= found
        latest = found.keys()


def _add_undescribed(store: TripleStore, going: _Going) -> None:
    """Add what no other graph describes: chunks, propositions, hypernodes and their terms."""
    elsewhere: dict[str, set[str]] = defaultdict(set)
    owners: dict[str, str] = {}
    for thing, graph, kind in _rows(store, "forgetting/described", "graphs", going.dropped, catalogue=True):
        if graph in going.dropped:
            owners.setdefault(thing, going.dropped[graph])
        else:
            elsewhere[thing].add(kind)
    lists = _kinds(lambda kind: kind.lists_only)
    for thing, owner in owners.items():
        if elsewhere[thing] <= lists:
            going.gone.setdefault(thing, owner)
    users: dict[str, set[str]] = defaultdict(set)
    for term, user in _rows(store, "forgetting/terms", "nodes", going.gone):
        users[term].add(user)
    for term, nodes in users.items():
        if nodes <= going.gone.keys():
            going.gone.setdefault(term, going.gone[min(nodes)])


def _add_references(store: TripleStore, going: _Going) -> None:
    """Add the graphs that refer to what is gone, and the nodes of trees that were written from it."""
    written_from_it: dict[str, str] = {}
    for thing, _, node in _rows(store, "forgetting/standing_on", "things", going.gone):
        written_from_it.setdefault(node, going.gone[thing])
    parts: dict[str, set[str]] = defaultdict(set)
    for node, part in _rows(store, "sire_rag/parts", "nodes", written_from_it):
        parts[node].add(part)
    for node, its_parts in parts.items():
        if its_parts <= going.gone.keys():
            going.gone.setdefault(node, written_from_it[node])
    going.silent = {node: owner for node, owner in written_from_it.items() if node not in going.gone}
    going.gone |= _unsupported_proposals(store, going.gone)
    whole = _kinds(lambda kind: kind.subject_goes)
    subjects: dict[str, str] = {}
    for thing, graph, kind, subject in _rows(store, "forgetting/speaking", "things", [*going.gone], catalogue=True):
        if graph in going.gone or kind == KG.CatalogueGraph.value:
            continue
        owner = going.gone[thing]
        going.trimmed[graph] = kind
        going.trimmed_with.add((graph, owner))
        citing = store.names.citation_graph(ox.NamedNode(subject)).value == graph  # a document that stays
        if kind in whole and not citing and subject not in going.gone:
            subjects[subject] = owner
    for subject in subjects.keys() - documents.spans(store, list(subjects)).keys():  # a chunk that cites stays, too
        going.gone[subject] = subjects[subject]


def _unsupported_proposals(store: TripleStore, gone: Mapping[str, str]) -> dict[str, str]:
    """Return the proposals whose subject or object is gone, and the open ones whose evidence is all gone."""
    evidence_of: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for *proposal, evidence in _rows(store, "forgetting/proposals", "things", gone):
        evidence_of[tuple(proposal)] |= {evidence} - {""}
    return {
        proposal: gone[min(({subject, value} | support) & gone.keys())]
        for (proposal, subject, value, decision), support in evidence_of.items()
        if {subject, value} & gone.keys() or (decision == "open" and support <= gone.keys())
    }


def _delete(store: TripleStore, going: _Going, then: Sequence[ox.Quad], entries: Sequence[ox.NamedNode]) -> None:
    """Drop graphs, and take what is gone, and the words of what was written from it, out of those that stay."""
    lexical = (store.names.lexical_graph(graph) for graph in going.dropped)
    dropped = [*_nodes(going.dropped), *(graph for graph in lexical if store.described(graph))]
    dropped += data_profile.withdrawn(store)  # its samples are values of what goes
    trimmed = _nodes(sorted(going.trimmed))
    update = queries.bind(
        "forgetting/forget",
        catalogue=store.names.catalogue,
        graphs=trimmed,
        gone=_nodes(sorted(going.gone)),
        silent=_nodes(sorted(going.silent)),
        dropped=dropped,
        entries=list(entries),
    )
    marked = _kinds(lambda kind: kind.when_source_goes == "stale")
    stale = [graph for graph, kind in going.trimmed.items() if kind in marked]
    catalogue = store.names.catalogue
    stated = [ox.Quad(graph, KG.stale, ox.Literal(True), catalogue) for graph in _nodes(stale)]
    # where a graph of a document that stays is trimmed, its texts and fields change too
    are_all = KG.DocumentGraph.value not in going.trimmed.values()
    subjects = going.gone.keys() | going.silent.keys() if are_all else None
    with store.stating([*stated, *then]):
        revision = store.update(update, graphs=[*trimmed, *dropped], subjects=subjects)
    if subjects is not None:
        change_feed.note_removed(store, revision, subjects)


def to_forget(store: TripleStore, documents: Iterable[str]) -> list[ox.Quad]:
    """Return the statements that documents have to be forgotten, for ``then``; ``forget`` takes them back."""
    kb, catalogue = store.names.knowledge_base, store.names.catalogue
    return [ox.Quad(kb, KG.forgets, document, catalogue) for document in _nodes(documents)]


def finish(store: TripleStore) -> list[Forgotten]:
    """Forget the documents that an operation had to forget and did not come to, and return what went with them."""
    rows = store.select(queries.bind("forgetting/intended", catalogue=store.names.catalogue)).values()
    return forget([document for (document,) in rows if store.described(_graph(document, store))], store=store)


def _drop_vectors(spaces: VectorSpaces, iris: Collection[str]) -> None:
    for name in sorted(set(spaces.names()) & vector_spaces.spaces().keys()):
        try:
            index = spaces.space(name)
        except EmbeddingMismatch:  # made by another embedder: the next use refuses it anyway
            spaces.drop(name)
            continue
        before = len(index)
        index.delete(iris)
        if len(index) != before:
            index.save(index.revision)


def _subjects(store: TripleStore, graph: ox.NamedNode) -> set[str]:
    return {triple.subject.value for triple in store.triples(graph) if isinstance(triple.subject, ox.NamedNode)}


def _rows(
    store: TripleStore, query: str, parameter: str, iris: Iterable[str], *, catalogue: bool = False, **values: Any
) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a stored query for many IRIs, some at a time."""
    if catalogue:
        values["catalogue"] = store.names.catalogue
    for part in _portions(sorted(set(iris))):
        yield from store.select(queries.bind(query, **{parameter: _nodes(part)}, **values)).values()


def _portions(iris: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(iris), _IRIS_PER_QUERY):
        yield iris[first : first + _IRIS_PER_QUERY]


def _graph(document: str, store: TripleStore) -> ox.NamedNode:
    return store.names.document_graph(ox.NamedNode(document))


def _nodes(iris: Iterable[str]) -> list[ox.NamedNode]:
    return [ox.NamedNode(iri) for iri in iris]
