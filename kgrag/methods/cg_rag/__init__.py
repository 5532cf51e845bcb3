"""CG-RAG: retrieval over a contextual citation graph (LeSeGR), answers with summarised neighbourhoods.

Graphs written: one citation graph per document. Vectors: those of chunks. Queries read: ``cg_rag/*``, ``citations/*``,
``passages/evidence``, and those of ``kgrag.index.vector_spaces``. Prompt read: ``cg_rag/neighbourhood``.
"""

from dataclasses import dataclass

from kgrag.declarations import GraphKind, MethodDeclaration, option
from kgrag.vocab import KG

__all__ = ["DECLARATION", "CgRagOptions"]


@dataclass(frozen=True, slots=True)
class CgRagOptions:
    """Options of ``kgrag build cg_rag``."""

    redraw: bool = option(False, help="Weigh edges anew that were weighed when the corpus was another.")


DECLARATION = MethodDeclaration(
    name="cg_rag",
    implementation="kgrag.methods.cg_rag.method:CgRag",
    label="passages and what they cite",
    retrieves="chunks of papers that cite each other: papers vote for what they cite, and a question's "
    '"(Author, year)" is looked up among theirs; the paper\'s messages along edges (LeSeGR) and a trained graph '
    "encoder are options",
    needs="`kgrag build cg_rag`, then, where there are labelled questions, `kgrag train cg_rag --questions FILE.jsonl`",
    paper="Hu et al. 2025 (CG-RAG)",
    graph_kinds=(
        GraphKind(
            KG.CitationGraph,
            "citation graph",
            "A graph of the edges that begin in one document: to the next chunk, to a chunk that is referred to, to "
            "chunks of documents that it cites or links to, and what its citation markers mean.",
            shape="citation",
            lists_only=True,
            subject_goes=True,
        ),
    ),
    options=CgRagOptions,
)
