"""SiReRAG: a tree of similar passages and a tree of related propositions, flattened into one pool.

Zhang, Choubey, Fabbri et al., "SiReRAG: Indexing similar and related information for multihop reasoning". The
similarity tree is RAPTOR's, over chunks; the relatedness tree stands on aggregates, which join the propositions about
one entity.
Graphs written: propositions (one a chunk), two trees, provenance. Queries read: ``sire_rag/*``. Prompts read:
``sire_rag/rewrite``, ``sire_rag/facts``, ``sire_rag/summary``.
"""

from kgrag.methods.sire_rag.method import SireRag

__all__ = ["SireRag"]
