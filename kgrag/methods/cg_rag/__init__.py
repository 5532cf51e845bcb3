"""CG-RAG: retrieval over a contextual citation graph (LeSeGR), answers with summarised neighbourhoods.

Graphs written: one citation graph a document. Vectors: those of chunks. Queries read: ``cg_rag/*``, ``citations/*``,
``passages/evidence``, and those of ``kgrag.index.vector_spaces``. Prompt read: ``cg_rag/neighbourhood``.
"""

from kgrag.methods.cg_rag.method import CgRag

__all__ = ["CgRag"]
