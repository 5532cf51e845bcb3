"""The method: build two trees, retrieve from the flat pool of their nodes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyoxigraph as ox

from kgrag import prompting, queries
from kgrag.errors import InvalidSettings, NotBuilt
from kgrag.methods.sire_rag import drafts, extraction
from kgrag.methods.sire_rag.aggregates import aggregates, read_propositions
from kgrag.model import BuildReport, GraphDraft, Hit, Span, Usage
from kgrag.ports import Embedder, LanguageModel, TripleStore, VectorIndex, Vectors, VectorSpaces
from kgrag.stages import documents, fusion, lexical, sync
from kgrag.stages.clustering import Clustering
from kgrag.stages.lexical import LexicalIndex
from kgrag.stages.trees import Forester, Leaf, Summary, grow
from kgrag.vocab import Names, digest, local_name

__all__ = ["SireRag"]

SUMMARY = "sire_rag/summary"
_SPACE = "tree-node"
_CHUNKS = "chunk"
_TREES = ("both", "relatedness", "similarity")
_SIGNALS = ("bm25", "dense", "fusion")
_VERSION = "1"  # of how trees are grown; another one grows them anew


@dataclass(frozen=True, slots=True)
class SireRag:
    """Retrieves chunks, aggregates of propositions and summaries from one pool.

    Args:
        store: holds documents, propositions and trees.
        spaces: keep the vectors of the pool.
        embedder: embeds nodes and questions.
        model: takes propositions from chunks and writes summaries.
        lexical: folder of the BM25 index; None keeps it in memory.
        tree: which nodes are searched: of "both" trees, or of the "similarity" or "relatedness" tree alone.
        signal: "dense" as in the paper, "bm25" (section 6.3), or "fusion" of the two by scaled score.
        weight: share of the dense ranking in a fusion, 0 to 1.
        depth: how many candidates each ranking gives to a fusion, at least 1.
        spans: how many source chunks a hit cites at most, those nearest to the question first; at least 1.
        aggregate_tokens: the longest aggregate; read when building; at least 1.
        cluster_tokens: the largest cluster that is summarised; read when building; at least 1.
        levels: of each tree, leaves included; read when building; at least 1.
        read_only: leaves the BM25 index on disk as it is.

    Raises:
        InvalidSettings: a value is outside its range.
    """

    name: ClassVar[str] = drafts.METHOD

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    lexical: Path | None = None
    tree: Literal["both", "relatedness", "similarity"] = "both"
    signal: Literal["bm25", "dense", "fusion"] = "dense"
    weight: float = 0.5
    depth: int = 100
    spans: int = 3
    aggregate_tokens: int = 200
    cluster_tokens: int = 3500
    levels: int = 4
    read_only: bool = False

    def __post_init__(self) -> None:
        for name, known in (("tree", _TREES), ("signal", _SIGNALS)):
            if getattr(self, name) not in known:
                message = f"sire_rag: {name} {getattr(self, name)!r} is unknown. Use one of {', '.join(known)}."
                raise InvalidSettings(message)
        counts = ("depth", "spans", "aggregate_tokens", "cluster_tokens", "levels")
        if not 0 <= self.weight <= 1 or any(getattr(self, name) < 1 for name in counts):
            raise InvalidSettings(f"sire_rag: use a weight from 0 to 1, and {', '.join(counts)} from 1.")

    def build(self, *, extraction: Path | None = None, progress: sync.Progress = None) -> BuildReport:
        """Take propositions from every chunk, grow both trees, embed their nodes; again changes nothing.

        Args:
            extraction: ready-made propositions (JSON Lines); without it the model is asked about every chunk.
            progress: told after each batch.

        Raises:
            NotBuilt: the store holds no chunk.
            InputError: ``extraction`` cannot be read.
            ServiceError: the model failed; what came before is kept, and the next build goes on from there.
        """
        passages = _passages(self.store)
        if not passages:
            raise NotBuilt("method 'sire_rag' has no passage to grow trees from. Run `kgrag ingest PATH` first.")
        taken = self._taken(passages, extraction, progress)
        growing = _Growing(self, progress)
        growing.similarity([Leaf(passage.chunk, passage.titled) for passage in passages])
        growing.relatedness()
        index = self._space(progress)
        counts = {"chunks": len(passages), "extracted": taken.extracted, "unchanged": taken.unchanged}
        counts |= {"nodes": len(index), "trees_grown": growing.grown}
        return BuildReport(self.name, counts, taken.usage + growing.usage, tuple(taken.notes + growing.notes))

    def _taken(self, passages: Sequence[Any], path: Path | None, progress: sync.Progress) -> extraction.Outcome:
        if path is not None:
            return extraction.load(Path(path), passages, store=self.store)
        return extraction.extract(passages, store=self.store, model=self.model, progress=progress)

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Give the k best nodes of the pool, best first; ties by IRI.

        Raises:
            NotBuilt: there is no tree.
            InvalidSettings: k is below 1.
            EmbeddingMismatch: the vectors on disk were made by another embedder.
        """
        if k < 1:
            raise InvalidSettings(f"sire_rag: k is {k}. Ask for at least 1 node.")
        index = self._space(None)
        if not len(index):
            raise NotBuilt("method 'sire_rag' has no tree yet. Run `kgrag build sire_rag` first.")
        vector = self.embedder.embed([question], "query")[0]
        return self._hits(self._ranking(question, vector, index, k)[:k], vector)

    def statistics(self) -> dict[str, Any]:
        """Count the nodes of each tree."""
        return {tree: len(self._nodes(tree)) for tree in _TREES if tree != "both"}

    def _ranking(self, question: str, vector: Vectors, index: VectorIndex, k: int) -> fusion.Ranking:
        within = None if self.tree == "both" else self._nodes(self.tree)
        if self.signal == "dense":
            return index.search(vector, k, within)
        depth = max(k, self.depth)
        matching = self._matching(question, depth, within)
        if self.signal == "bm25":
            return matching
        return fusion.score_fusion(
            [index.search(vector, depth, within), matching], weights=[self.weight, 1 - self.weight]
        )

    def _matching(self, question: str, k: int, within: Collection[str] | None) -> fusion.Ranking:
        words: LexicalIndex = lexical.fresh(self.store, self.lexical, space=_SPACE, save=not self.read_only)
        found = words.search(question, k if within is None else len(words))
        return [pair for pair in found if within is None or pair[0] in within][:k]

    def _nodes(self, tree: str) -> set[str]:
        query = queries.bind("sire_rag/nodes", tree=self.store.names.tree_graph(tree))
        return {node for (node,) in self.store.select(query).values()}

    def _space(self, progress: sync.Progress) -> VectorIndex:
        return sync.fresh(_SPACE, store=self.store, spaces=self.spaces, embedder=self.embedder, progress=progress)

    def _hits(self, ranking: fusion.Ranking, vector: Vectors) -> list[Hit]:
        nodes = [ox.NamedNode(iri) for iri, _ in ranking]
        query = queries.bind("sire_rag/evidence", catalogue=self.store.names.catalogue, nodes=nodes)
        known = {row[0]: row for row in self.store.select(query).values()}
        sources = self._sources(nodes, vector)
        return [_hit(known[iri], score, sources[iri]) for iri, score in ranking if iri in known and sources.get(iri)]

    def _sources(self, nodes: Sequence[ox.NamedNode], vector: Vectors) -> dict[str, tuple[Span, ...]]:
        """Give the chunks below each node, those nearest to the question first, at most ``spans``."""
        below: dict[str, list[str]] = defaultdict(list)
        for node, chunk in self.store.select(queries.bind("sire_rag/leaves", nodes=nodes)).values():
            below[node].append(chunk)
        chosen = self._nearest(below, vector)
        spans = documents.spans(self.store, sorted({chunk for held in chosen.values() for chunk in held}))
        return {node: tuple(spans[chunk] for chunk in held if chunk in spans) for node, held in chosen.items()}

    def _nearest(self, below: dict[str, list[str]], vector: Vectors) -> dict[str, list[str]]:
        chunks = sorted({chunk for held in below.values() for chunk in held})
        index = sync.fresh(_CHUNKS, store=self.store, spaces=self.spaces, embedder=self.embedder)
        cosines = dict(zip(chunks, (index.vectors(chunks) @ vector).tolist(), strict=True)) if chunks else {}
        return {
            node: sorted(held, key=lambda chunk: (-cosines[chunk], chunk))[: self.spans] for node, held in below.items()
        }


def _passages(store: TripleStore) -> list[extraction.Passage]:
    return extraction.passages(store)


def _hit(row: Sequence[str], score: float, sources: tuple[Span, ...]) -> Hit:
    node, level, text, document, title, tree = row
    kind = "passage" if document else "summary" if int(level) else "aggregate"
    attributes: dict[str, Any] = {"tree": local_name(tree), "level": int(level)}
    if title:
        attributes["title"] = title
    return Hit(node, kind, text, score, sources, attributes)


class _Growing:
    """One growing of both trees: passes over a tree that was grown from the same leaves in the same way."""

    def __init__(self, method: SireRag, progress: sync.Progress) -> None:
        self.method, self.progress = method, progress
        self.store, self.names = method.store, method.store.names
        self.usage = Usage()
        self.notes: list[str] = []
        self.grown = 0

    def similarity(self, leaves: Sequence[Leaf]) -> None:
        """Publish the tree whose leaves are chunks."""
        origin = self._origin(leaves)
        self._publish(
            "similarity",
            origin,
            lambda: drafts.similarity_draft(
                [leaf.iri for leaf in leaves], self._grow(leaves), origin=origin, names=self.names
            ),
        )

    def relatedness(self) -> None:
        """Publish the tree whose leaves are aggregates."""
        made = aggregates(read_propositions(self.store), limit=self.method.aggregate_tokens, names=self.names)
        leaves = [Leaf(aggregate.iri, aggregate.text) for aggregate in made]
        origin = self._origin(leaves)
        self._publish(
            "relatedness",
            origin,
            lambda: drafts.relatedness_draft(made, self._grow(leaves), origin=origin, names=self.names),
        )

    def _publish(self, tree: str, origin: str, draft: Callable[[], GraphDraft]) -> None:
        query = queries.bind("sire_rag/tree", catalogue=self.names.catalogue, tree=self.names.tree_graph(tree))
        if self.store.select(query).values() == [(origin,)]:
            return
        publication = self.store.publish([draft()])
        self.notes += [f"in quarantine: {found.focus}: {found.message}" for found in publication.violations]
        self.grown += 1
        if self.progress:
            self.progress("sire_rag trees", self.grown, 2)

    def _origin(self, leaves: Sequence[Leaf]) -> str:
        """Name all that decides what a tree looks like."""
        method = self.method
        how = {"version": _VERSION, "model": method.model.identity, "embedder": method.embedder.identity}
        how |= {"levels": str(method.levels), "clustering": json.dumps(asdict(self._clustering()), sort_keys=True)}
        return digest(json.dumps(how, sort_keys=True), *sorted(leaf.iri for leaf in leaves))

    def _clustering(self) -> Clustering:
        return Clustering(tokens=self.method.cluster_tokens)

    def _grow(self, leaves: Sequence[Leaf]) -> list[Summary]:
        embedder, names = self.method.embedder, self.names
        forester = Forester(
            summarise=self._summarise,
            embed=lambda texts: np.asarray(embedder.embed(texts, "passage")),
            name=lambda level, text, below: _named(names, level, text, below),
            clustering=self._clustering(),
            levels=self.method.levels,
        )
        return grow(leaves, forester)

    def _summarise(self, groups: Sequence[Sequence[str]]) -> list[str]:
        completions = self.method.model.complete([prompting.render(SUMMARY, texts=list(group)) for group in groups])
        self.usage = sum((completion.usage for completion in completions), self.usage)
        return [completion.text.strip().encode("utf-8", "replace").decode() for completion in completions]


def _named(names: Names, level: int, text: str, below: Sequence[str]) -> str:
    return names.tree_node(str(level), text, *below).value
