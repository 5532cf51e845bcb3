"""Plain retrieval over the chunks of documents, the baseline of every comparison."""

from kgrag.declarations import MethodDeclaration

__all__ = ["DECLARATION"]

DECLARATION = MethodDeclaration(
    name="passages",
    implementation="kgrag.methods.passages.method:Passages",
    label="passages of text",
    retrieves="chunks: dense, BM25, or both fused (`passages:signal=dense`, `bm25`, `fusion`); the baseline of all "
    "comparisons",
    needs="`kgrag ingest`",
    paper="Lewis et al. 2020; Robertson and Zaragoza 2009",
)
