"""The citation graph of a store as arrays, and the part of it that matters to a question.

CG-RAG, section 4.3: the gate of a message depends on the question, so messages pass at query time, over the candidates
and what is within two hops of them. The arrays record which revision of the store they reflect; they are kept in a file
beside the store, and are read from the store again where that file is older. Queries read: ``cg_rag/chunks``,
``cg_rag/edges``, ``cg_rag/graphs``, ``cg_rag/citing``, ``cg_rag/markers``, ``citations/bylines``. No graph is written.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kgrag import queries
from kgrag.index import change_feed
from kgrag.index.array_files import (
    FileFault,
    Iris,
    KeptPlaces,
    Making,
    Sidecars,
    packed,
    read_arrays,
    unpacked,
    write_arrays,
)
from kgrag.methods.cg_rag.citation_graph import KINDS, chunks_of
from kgrag.methods.cg_rag.citations import bylines_of
from kgrag.methods.cg_rag.document_links import DocumentLinks
from kgrag.methods.cg_rag.edges import EdgeKind
from kgrag.ports import TripleStore, Vectors
from kgrag.vocab import KG

__all__ = [
    "RELATIONS",
    "CitationArrays",
    "FloatArray",
    "IntArray",
    "QuestionView",
    "ReachLimits",
    "Subgraph",
    "document_numbers",
    "fresh",
    "has_citation_graph",
    "rank_in_group",
]

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float32]

_WALKED_KINDS = {**{kind: kind for kind in EdgeKind}, EdgeKind.HYPERLINK: EdgeKind.CITATION}
"""As which kind each is walked: a hyperlink as a citation, so that encoders trained without hyperlinks fit."""

RELATIONS = 2 * len(set(_WALKED_KINDS.values()))
"""An edge is walked both ways: relation 2 * kind from its target's point of view, 2 * kind + 1 from its origin's."""

_FORMAT_VERSION = 2
_FILE_NAME = "citations"
_ARRAYS = ("offsets", "neighbours", "relations", "weights", "documents")


@dataclass(frozen=True, slots=True)
class ReachLimits:
    """How far a question reaches into the citation graph.

    Args:
        hops: how many edges away from a candidate, 0 to 2.
        width: the largest number of chunks that join the candidates; those that the question is most likely about join.
        fan: the largest number of messages per chunk; the strongest pass.
    """

    hops: int = 2
    width: int = 512
    fan: int = 16


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The part of the graph that a question reaches.

    ``nodes`` are numbers of chunks, ascending, shape (n,); message e goes from ``nodes[senders[e]]`` to
    ``nodes[receivers[e]]`` over an edge of relation ``relations[e]`` and weight ``weights[e]`` (0 to 1), each shape
    (m,).
    """

    nodes: IntArray
    senders: IntArray
    receivers: IntArray
    relations: npt.NDArray[np.int8]
    weights: FloatArray


@dataclass(frozen=True, slots=True)
class QuestionView:
    """What a question reaches, with both signals.

    Args:
        subgraph: n nodes and the messages between them.
        gates: f(q, c) of each node, shape (n,), 0 to 1.
        dense: unit vectors of the nodes, shape (n, d).
        question: unit vector of the question, shape (d,).
    """

    subgraph: Subgraph
    gates: FloatArray
    dense: Vectors
    question: Vectors

    @property
    def nodes(self) -> IntArray:
        """Numbers of the chunks in the citation arrays, shape (n,)."""
        return self.subgraph.nodes


@dataclass(frozen=True, slots=True, eq=False)
class CitationArrays:
    """Every chunk, in the order of IRIs, and its edges in both directions as a compressed sparse row matrix.

    The neighbours of chunk i are ``neighbours[offsets[i]:offsets[i + 1]]``; ``documents[i]`` numbers its document, and
    ``links`` are those between documents.
    """

    iris: Iris
    offsets: IntArray
    neighbours: npt.NDArray[np.int32]
    relations: npt.NDArray[np.int8]
    weights: FloatArray
    documents: npt.NDArray[np.int32]
    links: DocumentLinks = field(default_factory=DocumentLinks.of)
    revision: int = -1
    _kept: KeptPlaces = field(default_factory=KeptPlaces)

    @classmethod
    def of(
        cls,
        chunks: Sequence[str],
        documents: Sequence[int],
        edges: tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
        *,
        links: DocumentLinks | None = None,
        revision: int,
    ) -> CitationArrays:
        """Return the arrays of a list of edges.

        Args:
            chunks: IRIs in ascending order.
            documents: the number of each chunk's document.
            edges: origins, targets (numbers of chunks), kinds and weights (0 to 2), each shape (m,).
            links: between documents; None for none.
            revision: the store revision that the arrays reflect.
        """
        origins, targets, kinds, weights = (np.asarray(column) for column in edges)
        # the weight of a citation is a sum of two relevances, that of other edges 1: all are mapped to 0..1
        scaled = np.where(kinds == EdgeKind.CITATION, weights / 2, weights).astype(np.float32)
        owners, neighbours = np.concatenate([targets, origins]), np.concatenate([origins, targets])
        relations = np.concatenate([2 * kinds, 2 * kinds + 1]).astype(np.int8)
        both_ways = np.concatenate([scaled, scaled])
        order = np.lexsort((neighbours, -both_ways, owners))
        offsets = np.zeros(len(chunks) + 1, np.int64)
        np.cumsum(np.bincount(owners, minlength=len(chunks)), out=offsets[1:])
        return cls(
            Iris.of(chunks),
            offsets,
            neighbours[order].astype(np.int32),
            relations[order],
            both_ways[order],
            np.asarray(documents, dtype=np.int32),
            links or DocumentLinks.of(),
            revision,
        )

    def __len__(self) -> int:
        """The number of chunks."""
        return len(self.iris)

    def around(
        self, candidates: IntArray, gates: FloatArray, limits: ReachLimits, *, without: IntArray | None = None
    ) -> Subgraph:
        """Return what a question reaches from its candidates.

        Args:
            candidates: numbers of chunks; all of them stay.
            gates: f(q, c) of every chunk, shape (len(self),), 0 to 1.
            limits: how far.
            without: numbers of documents that are passed over, as if they were not in the collection.
        """
        hidden = None if without is None or not len(without) else np.isin(self.documents, without)
        nodes = np.unique(candidates if hidden is None else candidates[~hidden[candidates]])
        frontier, free = nodes, limits.width
        for hop in range(limits.hops):
            strength = self._strength(frontier, gates, hidden)
            reached = np.setdiff1d(np.flatnonzero(strength), nodes)
            # a quarter is kept for the next hop: the first one could fill all with chunks around a paper that all cite
            share = free if hop == limits.hops - 1 else (free * 3) // 4
            frontier = reached[np.lexsort((reached, -strength[reached]))[:share]]
            nodes = np.union1d(nodes, frontier)
            free -= len(frontier)
        return self._among(nodes, gates, limits.fan)

    def meant_by(self, markers: Sequence[str]) -> bool:
        """Return whether one of these author-year markers, as they compare, means a document of the collection."""
        count = int(self.documents.max(initial=-1)) + 1
        return bool(self.links.marked(markers, count, np.empty(0, np.int64)).any())

    def documents_beside(self, chunks: Collection[str]) -> IntArray:
        """Return the numbers of the documents of which none of these chunks is, ascending."""
        return self._kept.of(
            chunks, lambda keys: np.setdiff1d(self.documents, self.documents[self.iris.known_places(keys)])
        ).astype(np.int64)

    def _strength(self, frontier: IntArray, gates: FloatArray, hidden: npt.NDArray[np.bool_] | None) -> FloatArray:
        """Return how strong a message between each chunk and the frontier can be, in either direction; 0 for none."""
        rows, edges = self._edges_of(frontier)
        neighbours = self.neighbours[edges]
        strength = np.zeros(len(self), np.float32)
        np.maximum.at(strength, neighbours, self.weights[edges] * np.maximum(gates[frontier[rows]], gates[neighbours]))
        if hidden is not None:
            strength[hidden] = 0
        return strength

    def _edges_of(self, chunks: IntArray) -> tuple[IntArray, IntArray]:
        """Return the edges of chunks: for each edge, the row in ``chunks`` and the index into ``neighbours``."""
        starts, counts = self.offsets[chunks], self.offsets[chunks + 1] - self.offsets[chunks]
        rows = np.repeat(np.arange(len(chunks)), counts)
        before = np.cumsum(counts) - counts
        return rows, np.arange(len(rows)) + np.repeat(starts - before, counts)

    def _among(self, nodes: IntArray, gates: FloatArray, fan: int) -> Subgraph:
        """Return the edges among nodes, at most ``fan`` per receiver, those of the strongest senders first."""
        receivers, edges = self._edges_of(nodes)
        neighbours = self.neighbours[edges].astype(np.int64)
        senders = np.minimum(np.searchsorted(nodes, neighbours), max(len(nodes) - 1, 0))
        inside = np.flatnonzero(nodes[senders] == neighbours) if len(nodes) else np.zeros(0, np.int64)
        receivers, senders, edges = receivers[inside], senders[inside], edges[inside]
        order = np.lexsort((senders, -self.weights[edges] * gates[nodes[senders]], receivers))
        kept = order[rank_in_group(receivers[order]) < fan]
        edges = edges[kept]
        return Subgraph(nodes, senders[kept], receivers[kept], self.relations[edges], self.weights[edges])

    def at(self, revision: int) -> Self:
        """Return the same arrays as those of another revision, which changed no edge."""
        return replace(self, revision=revision)

    def save(self, path: Path, *, lineage: str = "") -> None:
        """Write the arrays. Raises StorageFailed."""
        settings = packed([json.dumps({"format": _FORMAT_VERSION, "revision": self.revision})])
        members: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        members |= self.iris.members("iris") | self.links.members()
        write_arrays(path, members | {"settings": settings}, lineage=lineage)

    @classmethod
    def load(cls, path: Path) -> CitationArrays | None:
        """Read arrays; None for a file that is missing, damaged or of another format, which is then made again."""
        try:
            members = read_arrays(path)
            (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
            if settings["format"] != _FORMAT_VERSION:
                return None
            arrays = {name: members[name] for name in _ARRAYS}
            iris, links = Iris.restored(members, "iris"), DocumentLinks.restored(members)
            return cls(iris=iris, links=links, revision=settings["revision"], **arrays)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


def rank_in_group(groups: IntArray) -> IntArray:
    """Number the members of each group from 0; the members of a group must follow each other.

    >>> rank_in_group(np.array([3, 3, 5, 7, 7, 7])).tolist()
    [0, 1, 0, 0, 1, 2]
    """
    if not len(groups):
        return np.zeros(0, np.int64)
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]]))
    return np.arange(len(groups)) - np.repeat(starts, np.diff(np.append(starts, len(groups))))


_OPEN = Sidecars[CitationArrays]()


@dataclass(frozen=True, slots=True)
class ReadDocuments:
    """The chunks and the bylines of all documents, as they were read at a revision of the store."""

    chunks: Mapping[str, tuple[str, ...]]
    bylines: Mapping[str, tuple[str, ...]]
    revision: int


def fresh(
    store: TripleStore, folder: Path | None, *, save: bool = True, known: ReadDocuments | None = None
) -> CitationArrays:
    """Return the arrays of the store's present revision.

    Args:
        store: contains the citation graph.
        folder: of the file; None keeps the arrays in memory.
        save: False leaves the disk as it is.
        known: what a build has just read of documents; it is not read again, unless documents changed since.

    Raises:
        StorageFailed: the disk refused a new file.
    """
    return _OPEN.fresh(store, folder, _making(store, known), name=_FILE_NAME, save=save)


def faults(store: TripleStore, folder: Path | None) -> list[FileFault]:
    """Compare the file of the arrays with the citation graph; [] where there is none, or one that is behind."""
    return _OPEN.faults(store, folder, _making(store), name=_FILE_NAME)


def _making(store: TripleStore, known: ReadDocuments | None = None) -> Making[CitationArrays]:
    def changed(since: int) -> bool:
        kinds = (KG.CitationGraph, KG.DocumentGraph)
        return any(change_feed.changed(kind, store=store, since=since) for kind in kinds)

    return Making(load=CitationArrays.load, make=lambda: _read(store, known), changed=changed)


def _read(store: TripleStore, known: ReadDocuments | None) -> CitationArrays:
    revision = store.revision
    if known is None or change_feed.changed(KG.DocumentGraph, store=store, since=known.revision):
        known = ReadDocuments(chunks_of(store), bylines_of(store), revision)
    chunks_by_document = known.chunks
    numbered = sorted((chunk, number) for number, chunks in enumerate(chunks_by_document.values()) for chunk in chunks)
    chunks = [chunk for chunk, _ in numbered]
    number_of = {chunk: number for number, chunk in enumerate(chunks)}
    kinds = {term.value: int(_WALKED_KINDS[kind]) for kind, term in KINDS.items()}
    rows = store.select(queries.bind("cg_rag/edges", catalogue=store.names.catalogue)).values()
    edges = [
        (number_of[origin], number_of[target], kinds[kind], float(weight))
        for kind, origin, target, weight in rows
        if origin in number_of and target in number_of  # the graph of a document that is gone, until the next build
    ]
    columns = np.array(edges, dtype=np.float64).reshape(len(edges), 4).T
    origins, targets, edge_kinds = (column.astype(np.int64) for column in columns[:3])
    documents = [document for _, document in numbered]
    links = _links(store, {document: number for number, document in enumerate(chunks_by_document)}, known.bylines)
    return CitationArrays.of(
        chunks, documents, (origins, targets, edge_kinds, columns[3]), links=links, revision=revision
    )


def _links(store: TripleStore, numbers: Mapping[str, int], bylines: Mapping[str, tuple[str, ...]]) -> DocumentLinks:
    """Read who cites whom and by which markers; a document is also a holder of its own byline, which means it."""
    catalogue = store.names.catalogue
    pairs = store.select(queries.bind("cg_rag/citing", catalogue=catalogue)).values()
    uses = store.select(queries.bind("cg_rag/markers", catalogue=catalogue)).values()
    held = [(marker, numbers[holder], numbers.get(meant, -1)) for holder, _, marker, meant in uses if holder in numbers]
    own = [
        (marker, numbers[document], numbers[document])
        for document, markers in bylines.items()
        for marker in markers
        if document in numbers
    ]
    known = [(numbers[citing], numbers[cited]) for citing, cited in pairs if citing in numbers and cited in numbers]
    return DocumentLinks.of(known, [*held, *own])


def has_citation_graph(store: TripleStore) -> bool:
    """Return whether the store contains any citation graph, be it one without edges."""
    return bool(store.select(queries.bind("cg_rag/graphs", catalogue=store.names.catalogue)).rows)


def document_numbers(arrays: CitationArrays, documents: Sequence[str]) -> IntArray:
    """Return the numbers that documents (IRIs) have in the arrays, ascending; a document without chunks has none."""
    # the IRI of a chunk is that of its document with another kind and the chunk's span behind it; the kind is the last
    # "document/", since the base of the knowledge base may contain one too
    prefixes = ["chunk/".join(document.rsplit("document/", 1)) + "-" for document in documents]
    cut = len(arrays.iris.beginning)
    wanted = np.array([prefix[cut:].encode() for prefix in prefixes], dtype=np.bytes_)
    first = np.searchsorted(arrays.iris.rest, wanted) if len(wanted) else np.zeros(0, np.int64)
    pairs = zip(first.tolist(), prefixes, strict=True)
    chunks = [chunk for chunk, prefix in pairs if chunk < len(arrays) and arrays.iris[chunk].startswith(prefix)]
    return np.unique(arrays.documents[np.array(chunks, dtype=np.int64)]).astype(np.int64)
