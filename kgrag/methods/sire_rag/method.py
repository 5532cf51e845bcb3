"""The method: build two trees, retrieve from the flat pool of their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from kgrag import queries
from kgrag.answering import fusion
from kgrag.drawing.tree_picture import TreeView
from kgrag.errors import InvalidSettings, NotBuilt
from kgrag.index.array_files import FileFault
from kgrag.index.revision_cache import RevisionCache
from kgrag.methods.sire_rag import SireRagOptions, pool_evidence, propositions, traversal, tree_arrays, tree_drafts
from kgrag.methods.sire_rag.allowed_nodes import allowed_nodes
from kgrag.methods.sire_rag.build_estimate import estimate
from kgrag.methods.sire_rag.clustering import Clustering
from kgrag.methods.sire_rag.pool import ABLATIONS, SIGNALS, TREES, Ablation, NodePool, Signal, Tree, parts_of
from kgrag.methods.sire_rag.summary_trees import TreeLeaf
from kgrag.methods.sire_rag.tree_growth import RELATEDNESS, SIMILARITY, TreeGrowth, TreeSettings
from kgrag.model import Allowed, BuildReport, Hit
from kgrag.ports import Embedder, LanguageModel, Progress, TripleStore, Vectors, VectorSpaces

__all__ = ["SireRag"]

_PROPOSITIONS = RevisionCache[float]()


@dataclass(frozen=True, slots=True)
class SireRag:
    """Retrieves chunks, aggregates of propositions and summaries from one pool.

    Args:
        store: contains documents, propositions and trees.
        spaces: store the vectors of the pool.
        embedder: embeds nodes and questions.
        model: takes propositions from chunks and writes summaries.
        lexical: folder of the BM25 indices; None keeps them in memory.
        tree: which nodes are searched: of "both" trees, or of the "similarity" or "relatedness" tree alone.
        signal: "dense" as in the paper, "bm25" (section 6.3), or "fusion" of the two by scaled score.
        weight: share of the dense ranking in a fusion, 0 to 1.
        depth: the number of candidates of each ranking, at least 1.
        novelty: the least share of an entry's propositions that no better entry states, 0 to 1; 0 keeps every entry.
        per_document: whether in a fusion the score of an aggregate or a summary is divided by the square root of the
            number of its documents.
        propositions: the least mean number of propositions of a chunk with which a fusion over "both" trees searches
            the relatedness tree too; 0 always does. Below it aggregates repeat chunks and push others out.
        spans: how many source chunks a hit cites at most, those nearest to the question first; at least 1.
        ablation: "none", or "A" to "E" of the paper's Table 5 in place of ``tree``; B to E want a build with it.
        rewrite: whether each chunk is rewritten before its facts are asked for, as in the paper; read when building.
        aggregate_tokens: the longest aggregate; read when building; at least 1.
        cluster_tokens: the largest cluster that is summarised; read when building; at least 1.
        levels: of each tree, leaves included; read when building; at least 1.
        read_only: leaves the BM25 indices on disk as they are.

    Raises:
        InvalidSettings: a value is outside its range.

    Deviations:
        An aggregate or a summary counts for each document that it joins: its score is divided by the square root of
        their number, so that it does not come before each of them for a part of its words.
        Where chunks state fewer than two propositions each, a fusion searches the similarity tree alone: on single
        sentences of news aggregates cost 0.034 [0.008, 0.061] of recall@5.
        The paper ranks by cosine alone and keeps entries that repeat others (``signal=dense,novelty=0``). Fusion found
        more supporting passages on all of the multihop development sets, and leaving repeats out more of them in the
        same number of entries and of tokens (``python -m benchmarks.sire_rag_table``).
    """

    name: ClassVar[str] = tree_drafts.METHOD

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    lexical: Path | None = None
    tree: Tree = "both"
    signal: Signal = "fusion"
    weight: float = 0.5
    depth: int = 100
    novelty: float = 0.34
    per_document: bool = True
    propositions: float = 2.0
    spans: int = 3
    ablation: Ablation = "none"
    rewrite: bool = False
    aggregate_tokens: int = 200
    cluster_tokens: int = 3500
    levels: int = 4
    read_only: bool = False

    def __post_init__(self) -> None:
        for name, known in (("tree", TREES), ("signal", SIGNALS), ("ablation", ABLATIONS)):
            if getattr(self, name) not in known:
                message = f"sire_rag: {name} {getattr(self, name)!r} is unknown. Use one of {', '.join(known)}."
                raise InvalidSettings(message)
        counts = ("depth", "spans", "aggregate_tokens", "cluster_tokens", "levels")
        if self.propositions < 0:
            raise InvalidSettings("sire_rag: propositions is at least 0.")
        if not (0 <= self.weight <= 1 and 0 <= self.novelty <= 1) or any(getattr(self, name) < 1 for name in counts):
            raise InvalidSettings(f"sire_rag: use weight and novelty from 0 to 1, and {', '.join(counts)} from 1.")

    def build(
        self, options: SireRagOptions = SireRagOptions(), *, progress: Progress | None = None, dry_run: bool = False
    ) -> BuildReport:
        """Take propositions from every chunk, grow both trees, embed their nodes; again changes nothing.

        Args:
            options: ``extraction`` is a file of ready-made propositions (JSON Lines); without it the model is asked
                about every chunk. ``regrow`` grows the trees whole, also where changing what was touched would do.
            progress: called after each batch.
            dry_run: count what would be asked of the model, and write nothing. Rewrites and facts are exact, summaries
                are estimated.

        Raises:
            NotBuilt: the store holds no chunk.
            InputError: ``extraction`` cannot be read.
            ServiceError: the model failed; what came before is kept, and the next build goes on from there.
        """
        passages = propositions.chunks_in_context(self.store)
        if not passages:
            raise NotBuilt("method 'sire_rag' has no passage to grow trees from. Run `kgrag ingest PATH` first.")
        if dry_run:
            given = options.extraction is not None
            return estimate(passages, self._growth(options, None), extracted=given, rewrite=self.rewrite)
        if options.extraction is not None:
            taken = propositions.load(options.extraction, passages, store=self.store)
        else:
            taken = propositions.extract(
                passages, store=self.store, model=self.model, rewrite=self.rewrite, progress=progress
            )
        grown = self._grown([TreeLeaf(passage.chunk, passage.titled) for passage in passages], options, progress)
        nodes = sum(len(index) for index in self._pool.indices(progress))
        counts = {"chunks": len(passages), "extracted": taken.extracted, "unchanged": taken.unchanged, "nodes": nodes}
        counts |= {"trees_grown": grown.trees, "summaries_new": grown.written, "summaries_kept": grown.kept}
        pending = tuple(taken.pending + grown.pending)
        return BuildReport(self.name, counts, taken.usage + grown.usage, tuple(taken.notes), pending)

    def _growth(self, options: SireRagOptions, progress: Progress | None) -> TreeGrowth:
        clustering = Clustering(tokens=self.cluster_tokens)
        settings = TreeSettings(clustering, self.levels, self.aggregate_tokens, whole=options.regrow)
        return TreeGrowth(self.store, self.model, self.embedder, settings, progress)

    def _grown(self, leaves: Sequence[TreeLeaf], options: SireRagOptions, progress: Progress | None) -> TreeGrowth:
        growth = self._growth(options, progress)
        growth.similarity(leaves)
        growth.relatedness()
        if self.ablation == "E":
            growth.dual(leaves)
        growth.publish()
        return growth

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return the k best nodes of the pool, best first; ties by IRI.

        Raises:
            NotBuilt: there is no tree.
            InvalidSettings: k is below 1.
            EmbeddingMismatch: the vectors on disk were made by another embedder.
        """
        return self._hits(question, k, self._searched_pool)

    def retrieve_among(self, question: str, k: int, allowed: Allowed) -> list[Hit]:
        """Return the k best nodes that were written from allowed documents alone. Raises as above."""
        return self._hits(question, k, replace(self._searched_pool, within=allowed_nodes(allowed, self.store)))

    def _hits(self, question: str, k: int, pool: NodePool) -> list[Hit]:
        if k < 1:
            raise InvalidSettings(f"sire_rag: k is {k}. Ask for at least 1 node.")
        self._refuse_unbuilt()
        vector = self.embedder.embed([question], "query")[0]
        ranking = self._ranking(pool, question, vector, k)
        ranking = pool.without_repeats(ranking, k, novelty=self.novelty)
        return pool_evidence.hits(ranking, pool_evidence.TreeDescent(pool, vector, self.spans))

    def traverse(self, question: str = "", *, node: str = "", width: int = 3) -> TreeView:
        """Return a view of a tree for people: from the top, or from a node, towards a question where there is one.

        Of "both" trees the one of similarity is shown. At most ``width`` nodes, at least 1, are shown below each.

        Raises:
            NotBuilt: there is no tree.
            UnknownName: no tree has such a node.
            InvalidSettings: ``width`` is below 1.
        """
        if width < 1:
            raise InvalidSettings(f"sire_rag: width is {width}. Show at least 1 node below each.")
        self._refuse_unbuilt()
        tree = RELATEDNESS if self.tree == "relatedness" else SIMILARITY
        vector = self.embedder.embed([question], "query")[0] if question.strip() else None
        return traversal.traverse(self._pool, tree, vector=vector, width=width, node=node)

    def statistics(self) -> dict[str, Any]:
        """Count the nodes of each tree."""
        graphs = {tree: self.store.names.tree_graph(tree) for tree in (RELATEDNESS, SIMILARITY)}
        return {
            tree: len({node for (node,) in self.store.select(queries.bind("sire_rag/nodes", tree=graph)).values()})
            for tree, graph in graphs.items()
        }

    def file_faults(self) -> Sequence[FileFault]:
        """Return the file of the trees' arrays where it does not have what the store has."""
        return tree_arrays.faults(self.store, self.lexical)

    @property
    def _pool(self) -> NodePool:
        parts = parts_of(self.tree, self.ablation)
        return NodePool(self.store, self.spaces, self.embedder, parts, folder=self.lexical, read_only=self.read_only)

    @property
    def _searched_pool(self) -> NodePool:
        """The pool without the relatedness tree where chunks state so little that its aggregates repeat them."""
        whole = self.tree == "both" and self.ablation == "none" and self.signal == "fusion" and self.propositions > 0
        if not whole or self._propositions_per_chunk() >= self.propositions:
            return self._pool
        return replace(self._pool, parts=parts_of("similarity", "none"))

    def _propositions_per_chunk(self) -> float:
        def count() -> float:
            query = queries.bind("sire_rag/proposition_count", catalogue=self.store.names.catalogue)
            return float(self.store.select(query).values()[0][0])

        return _PROPOSITIONS.get(self.store, "", count) / max(len(self._pool.index("chunk")), 1)

    def _ranking(self, pool: NodePool, question: str, vector: Vectors, k: int) -> fusion.Ranking:
        depth = max(self.depth, 2 * k)
        if self.signal == "dense":
            return pool.dense(vector, depth if self.novelty else k)
        if self.signal == "bm25":
            return pool.matching(question, depth)
        fused = pool.fused(question, vector, depth, weight=self.weight)
        return pool.per_document(fused, cited=self.spans) if self.per_document else fused

    def _refuse_unbuilt(self) -> None:
        tree = self.store.names.tree_graph("dual" if self.ablation == "E" else SIMILARITY)
        if not self.store.described(tree):
            wanted = "" if self.ablation == "none" else f":ablation={self.ablation}"
            raise NotBuilt(f"method 'sire_rag' has no tree yet. Run `kgrag build sire_rag{wanted}` first.")
