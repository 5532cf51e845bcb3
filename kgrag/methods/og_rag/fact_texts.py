"""What hyperedges state and where that was read, as arrays, so that a question is answered without a query.

A sidecar beside the hypergraph's arrays, in the order of its places, and made again when these are. Where only sources
of facts came or went, the spans alone are read again. For 10^6 hypernodes it takes about 120 MB.

Queries read: ``og_rag/facts``, ``og_rag/all_spans``, ``spaces/texts`` and those of
``kgrag.index.vector_spaces``. No graph is written.
"""

from __future__ import annotations

import itertools
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyoxigraph as ox

from kgrag import queries
from kgrag.index import change_feed, vector_spaces
from kgrag.index.array_files import FileFault, Iris, Making, Sidecars, packed, read_arrays, unpacked, write_arrays
from kgrag.index.place_lists import PlaceLists
from kgrag.mapping.factual_blocks import Pair
from kgrag.methods.og_rag.hypergraph_arrays import Adjacency
from kgrag.model import Span
from kgrag.ports import TripleStore
from kgrag.vocab import KG

__all__ = ["FactTexts", "Texts", "faults", "fresh"]

_FILE_NAME = "facts"
_FILE_FORMAT = 1
_EDGES_PER_QUERY = 2000
_KINDS = (KG.HypernodeGraph, KG.HyperedgeGraph)
_ORIGINS = (KG.AssertionGraph, KG.DocumentGraph)
"""Kinds whose graphs add or end a source of a hyperedge that itself stays as it is."""
_OPEN = Sidecars["FactTexts"]()


@dataclass(frozen=True, slots=True, eq=False)
class Texts:
    """Texts by place: text i is ``data[bounds[i]:bounds[i + 1]]`` in UTF-8."""

    bounds: npt.NDArray[np.int64]
    data: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        """Keep texts in the order given.

        >>> Texts.of(["zone", "", "Süd"]).at(np.array([2, 0]))
        ['Süd', 'zone']
        """
        written = [text.encode("utf-8", "surrogatepass") for text in texts]
        bounds = np.zeros(len(written) + 1, np.int64)
        np.cumsum([len(text) for text in written], out=bounds[1:])
        return cls(bounds, np.frombuffer(b"".join(written), dtype=np.uint8))

    def at(self, places: npt.NDArray[Any]) -> list[str]:
        """Return the texts at some places."""
        starts, ends, data = self.bounds[places].tolist(), self.bounds[places + 1].tolist(), self.data.data
        return [str(data[start:end], "utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class FactTexts:
    """Keys and values as they are written, and the chunks that each hyperedge was read in, by place.

    ``keys[i]`` and ``values[i]`` belong to key and value i of the hypergraph. ``chunks_of`` are the places of a
    hyperedge's chunks; of chunk i ``documents[document_of[i]]`` is the document, -1 where it is gone, and ``bounds[i]``
    its first character and the one behind its last. A chunk that is gone is kept, because it may come again.
    """

    revision: int
    keys: Texts
    values: Texts
    chunks_of: PlaceLists
    chunks: Iris
    documents: Iris
    document_of: npt.NDArray[np.int64]
    bounds: npt.NDArray[np.int64]

    def pairs(self, graph: Adjacency, edges: npt.NDArray[np.int64]) -> list[list[Pair]]:
        """Return what each of some hyperedges, by place, states."""
        nodes, ends = graph.nodes_of.of_all(edges), np.cumsum(graph.nodes_of.lengths(edges)).tolist()
        texts = zip(self.keys.at(graph.key_of[nodes]), self.values.at(graph.value_of[nodes]), strict=True)
        stated = list(texts)
        return [stated[start:end] for start, end in itertools.pairwise([0, *ends])]

    def spans(self, edges: npt.NDArray[np.int64]) -> list[list[Span]]:
        """Return where each of some hyperedges, by place, was read, by document and character."""
        rows, chunks = self.chunks_of.pairs(edges)
        known = self.document_of[chunks] >= 0
        rows, chunks = rows[known], chunks[known]
        documents = self.documents.at(self.document_of[chunks])
        spans = zip(self.chunks.at(chunks), documents, self.bounds[chunks].tolist(), strict=True)
        found: list[list[Span]] = [[] for _ in edges]
        for row, (chunk, document, (start, end)) in zip(rows.tolist(), spans, strict=True):
            found[row].append(Span(chunk, document, start, end))
        return [sorted(each, key=lambda span: (span.document, span.start)) for each in found]

    def at(self, revision: int) -> FactTexts:
        """Return the same texts as those of another revision of the store."""
        return replace(self, revision=revision)

    def save(self, path: Path, *, lineage: str = "") -> None:
        """Write the arrays to a new file and swap it in. Raises StorageFailed."""
        members: dict[str, Any] = {
            "settings": packed([json.dumps({"format": _FILE_FORMAT, "revision": self.revision})]),
            **self.chunks_of.members("chunks_of"),
            "document_of": self.document_of,
            "bounds": self.bounds,
        }
        for name, texts in (("keys", self.keys), ("values", self.values)):
            members |= {f"{name}_bounds": texts.bounds, f"{name}_data": texts.data}
        for name, iris in (("chunks", self.chunks), ("documents", self.documents)):
            members |= iris.members(name)
        write_arrays(path, members, lineage=lineage)

    @classmethod
    def load(cls, path: Path) -> FactTexts | None:
        """Read a file; return None for one that is missing, damaged or of another format."""
        try:
            members = read_arrays(path)
            (settings,) = (json.loads(line) for line in unpacked(members["settings"]))
            if settings["format"] != _FILE_FORMAT:
                return None
            keys, values = (Texts(members[f"{name}_bounds"], members[f"{name}_data"]) for name in ("keys", "values"))
            return cls(
                settings["revision"],
                keys,
                values,
                PlaceLists.restored(members, "chunks_of"),
                Iris.restored(members, "chunks"),
                Iris.restored(members, "documents"),
                members["document_of"],
                members["bounds"],
            )
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


def fresh(store: TripleStore, folder: Path | None, graph: Adjacency, *, save: bool = True) -> FactTexts:
    """Return what the hyperedges that there are now state.

    Args:
        store: contains the hypergraph.
        folder: where the file is kept; None keeps the texts in memory for as long as the store lives.
        graph: the hypergraph as arrays, of the store's present revision.
        save: False leaves the disk as it is (read-only use).

    Raises:
        StorageFailed: the disk refused the new file.
    """
    return _OPEN.fresh(store, folder, _making(store, graph), name=_FILE_NAME, save=save)


def faults(store: TripleStore, folder: Path | None, graph: Adjacency) -> list[FileFault]:
    """Compare the file with the hypergraph; [] where there is none, or one that is behind."""
    return _OPEN.faults(store, folder, _making(store, graph), name=_FILE_NAME)


def _making(store: TripleStore, graph: Adjacency) -> Making[FactTexts]:
    def changed(since: int) -> bool:
        return any(change_feed.changed(kind, store=store, since=since) for kind in (*_KINDS, *_ORIGINS))

    def followed(texts: FactTexts) -> FactTexts | None:
        if any(change_feed.changed(kind, store=store, since=texts.revision) for kind in _KINDS):
            return None
        if not change_feed.changed(KG.AssertionGraph, store=store, since=texts.revision):
            chunks = change_feed.changes(vector_spaces.spaces()["chunk"], store=store, since=texts.revision)
            if chunks is not None and not len(texts.chunks.known_places(chunks.removed.union(chunks.added))):
                return texts.at(store.revision)
        return replace(texts, revision=store.revision, **_spans(store, graph))

    return Making(load=FactTexts.load, make=lambda: _read(store, graph), changed=changed, followed=followed)


def _read(store: TripleStore, graph: Adjacency) -> FactTexts:
    values = dict(vector_spaces.texts("hypernode-value", store=store))
    return FactTexts(
        revision=graph.revision,
        keys=Texts.of(_keys(store, graph)),
        values=Texts.of([values.get(iri, "") for iri in graph.values.at(range(len(graph.values)))]),
        **_spans(store, graph),
    )


def _spans(store: TripleStore, graph: Adjacency) -> dict[str, Any]:
    """Return the fields of ``FactTexts`` about where hyperedges were read."""
    query = queries.bind("og_rag/all_spans", catalogue=store.names.catalogue)
    table = store.select(query).values()
    rows = [(edge, chunk) for edge, chunk, *_ in table if edge]
    stands = {chunk: (document, int(start), int(end)) for edge, chunk, document, start, end in table if not edge}
    names = sorted({chunk for _, chunk in rows})
    chunks = Iris.of(names)
    owners = graph.edge_places([edge for edge, _ in rows])
    known = owners >= 0
    places = chunks.places([chunk for _, chunk in rows])
    stored = [stands.get(chunk, ("", 0, 0)) for chunk in names]
    named = Iris.of(sorted({document for document, _, _ in stored} - {""}))
    return {
        "chunks_of": PlaceLists.grouped(owners[known], places[known], len(graph.edges)),
        "chunks": chunks,
        "documents": named,
        "document_of": named.places([document for document, _, _ in stored]),
        "bounds": np.array([bounds for _, *bounds in stored], dtype=np.int64).reshape(len(names), 2),
    }


def _keys(store: TripleStore, graph: Adjacency) -> list[str]:
    """Return each key as it is written, which is read in a hyperedge that has it; "" where none has."""
    examples: dict[int, int] = {}
    for key in range(len(graph.keys)):
        node = next((int(node) for node in graph.with_key.of(key) if graph.edges_of.length(int(node))), None)
        if node is not None:
            examples[node] = int(graph.edges_of.of(node)[0])
    wanted = list(examples.items())
    written: dict[int, str] = {}
    for first in range(0, len(wanted), _EDGES_PER_QUERY):
        batch = wanted[first : first + _EDGES_PER_QUERY]
        edges = [ox.NamedNode(graph.edges[edge]) for edge in sorted({edge for _, edge in batch})]
        keys: Mapping[str, str] = {
            node: key for _, node, key, _ in store.select(queries.bind("og_rag/facts", edges=edges)).values()
        }
        for node, _ in batch:
            written[int(graph.key_of[node])] = keys.get(graph.nodes[node], "")
    return [written.get(key, "") for key in range(len(graph.keys))]
