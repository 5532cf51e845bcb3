"""SiReRAG: a tree of similar passages and a tree of related propositions, flattened into one pool.

Zhang, Choubey, Fabbri et al., "SiReRAG: Indexing similar and related information for multihop reasoning". The
similarity tree is RAPTOR's, over chunks; the relatedness tree stands on aggregates, which join the propositions about
one entity.
Graphs written: propositions (one graph per chunk), two trees, provenance. Queries read: ``sire_rag/*``. Prompts read:
``sire_rag/rewrite``, ``sire_rag/facts``, ``sire_rag/summary``.
"""

from dataclasses import dataclass
from pathlib import Path

from kgrag.declarations import GraphKind, MethodDeclaration, VectorSpace, option
from kgrag.vocab import KG

__all__ = ["DECLARATION", "SireRagOptions"]


@dataclass(frozen=True, slots=True)
class SireRagOptions:
    """Options of ``kgrag build sire_rag``."""

    extraction: Path | None = option(help="JSON Lines of idx, title, entities, and triples or propositions.")
    regrow: bool = option(False, help="Grow both trees whole, not only where leaves changed.")


DECLARATION = MethodDeclaration(
    name="sire_rag",
    implementation="kgrag.methods.sire_rag.method:SireRag",
    label="texts, statements, summaries",
    retrieves="one pool of chunks, of propositions joined by entity, and of summaries above both, by cosine and BM25, "
    "repeats left out (`sire_rag:signal=dense,novelty=0` is the paper; `tree=similarity` is RAPTOR's tree, "
    "`tree=relatedness` the other; `ablation=A` … `E`)",
    needs="`kgrag build sire_rag [--extraction FILE.jsonl] [--regrow]`",
    paper="Zhang et al. 2025 (SiReRAG); Sarthi et al. 2024 (RAPTOR)",
    graph_kinds=(
        GraphKind(
            KG.PropositionGraph,
            "proposition graph",
            "A graph of the propositions that one chunk states, and of the entities that they mention.",
            shape="proposition",
            homes_of=(KG.Entity, KG.Proposition),
        ),
        GraphKind(
            KG.TreeGraph,
            "tree graph",
            "A graph of one summary tree: its leaves, and the summaries above them.",
            shape="tree",
            when_source_goes="stale",
            lists_only=True,
            homes_of=(KG.TreeNode,),
        ),
    ),
    also_writes=(KG.ProvenanceGraph, KG.QuarantineGraph),
    vector_spaces=(
        VectorSpace("aggregate", KG.TreeGraph, "spaces/aggregate", "propositions joined by entity", on_demand=True),
        VectorSpace(
            "dual-summary",
            KG.TreeGraph,
            "spaces/summary",
            "summaries of the tree of ablation E",
            on_demand=True,
            tree="dual",
        ),
        VectorSpace("proposition", KG.PropositionGraph, "spaces/proposition", "propositions of chunks", on_demand=True),
        VectorSpace(
            "relatedness-summary",
            KG.TreeGraph,
            "spaces/summary",
            "summaries of the relatedness tree",
            on_demand=True,
            tree="relatedness",
        ),
        VectorSpace(
            "similarity-summary",
            KG.TreeGraph,
            "spaces/summary",
            "summaries of the similarity tree",
            on_demand=True,
            tree="similarity",
        ),
    ),
    build_prompts=("sire_rag/rewrite", "sire_rag/facts", "sire_rag/summary"),
    options=SireRagOptions,
)
