"""PolyRAG: a knowledge pyramid of ontology, knowledge graph and text, asked from the top.

"Multi-Level Querying using A Knowledge Pyramid". ``PolyRag.build`` fills the layers (section 3) from files or by a
model; ``retrieve`` and ``answer`` descend until a layer answers (section 4, Algorithm 1). Graphs written: assertion
graphs (instances), triple graphs, the starter schema, proposals. Queries read: ``poly_rag/*``, ``templates/*``.
Prompts read: ``poly_rag/*``, ``obqc/*``.
"""

from kgrag.methods.poly_rag.method import PolyRag

__all__ = ["PolyRag"]
