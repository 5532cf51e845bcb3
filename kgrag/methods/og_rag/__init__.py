"""OG-RAG: retrieval over a hypergraph of facts that are grounded in an ontology.

Sharma, Kumar and Li, "OG-RAG: Ontology-grounded retrieval-augmented generation for large language models". A fact is a
hyperedge, a set of hypernodes (key, value); a question is answered from the few hyperedges that cover the hypernodes
closest to it. Graphs written: hyperedges, hypernodes, assertions, provenance, and documents for mapped records. Queries
read: ``og_rag/*``. Prompt read: ``og_rag/map``.
"""

from kgrag.methods.og_rag.method import OgRag

__all__ = ["OgRag"]
