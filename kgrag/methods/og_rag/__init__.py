"""OG-RAG: retrieval over a hypergraph of facts that are grounded in an ontology.

Sharma, Kumar and Li, "OG-RAG: Ontology-grounded retrieval-augmented generation for large language models". A fact is a
hyperedge, a set of hypernodes (key, value); a question is answered from the few hyperedges that cover the hypernodes
closest to it. Graphs written: hyperedges, hypernodes, assertions, provenance, and documents for mapped records. Queries
read: ``og_rag/*``. Prompt read: ``og_rag/map``.
"""

from dataclasses import dataclass
from pathlib import Path

from kgrag.declarations import SHARE_HELP, GraphKind, MethodDeclaration, VectorSpace, option
from kgrag.vocab import KG

__all__ = ["DECLARATION", "OgRagOptions"]


@dataclass(frozen=True, slots=True)
class OgRagOptions:
    """Options of ``kgrag build og_rag``."""

    mapped: Path | None = option(help="Folder or file of mapped JSON-LD; no model is asked.")
    as_published: bool = option(False, help="Flatten as the paper's authors did, for reproduction.")
    share: float = option(1.0, help=SHARE_HELP)


DECLARATION = MethodDeclaration(
    name="og_rag",
    implementation="kgrag.methods.og_rag.method:OgRag",
    label="facts of an ontology",
    retrieves="few hyperedges (facts) that cover the hypernodes near the question",
    needs="an ontology and a model (`kgrag build og_rag`), or mapped data (`--mapped`)",
    paper="Sharma, Kumar, Li: *OG-RAG*, 2024",
    graph_kinds=(
        GraphKind(
            KG.HyperedgeGraph,
            "hyperedge graph",
            "A hyperedge: a named graph that holds the hypernodes which the hyperedge joins (OG-RAG).",
            shape="hyperedge",
        ),
        GraphKind(
            KG.HypernodeGraph,
            "hypernode graph",
            "The graph that lists each hypernode once, with its key term and value term.",
            shape="hypernodes",
            when_source_goes="trim",
            lists_only=True,
            counted=False,
            homes_of=(KG.Hypernode, KG.HypernodeKey, KG.HypernodeValue),
        ),
    ),
    also_writes=(KG.AssertionGraph, KG.DataGraph, KG.DocumentGraph, KG.ProvenanceGraph, KG.QuarantineGraph),
    vector_spaces=(
        VectorSpace("hypernode-key", KG.HypernodeGraph, "spaces/hypernode-key", "keys of hypernodes"),
        VectorSpace("hypernode-value", KG.HypernodeGraph, "spaces/hypernode-value", "values of hypernodes"),
    ),
    build_prompts=("og_rag/map",),
    options=OgRagOptions,
    example={"mapped": "mapped"},
)
