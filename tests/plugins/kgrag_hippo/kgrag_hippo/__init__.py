"""HippoRAG for kgrag: personalised PageRank over facts, a reader of subtitles, and an embedder without weights.

Gutiérrez, Shu, Gu, Yasunaga and Su, "HippoRAG: Neurobiologically inspired long-term memory for large language models"
(2024). This package registers itself by entry points alone; see its ``pyproject.toml``.
"""

from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.declarations import GraphKind, MethodDeclaration, VectorSpace, option
from kgrag.vocab import KG

__all__ = ["DECLARATION", "FACT", "FACT_GRAPH", "MENTIONS", "PHRASE", "HippoOptions"]

_NAMESPACE = "https://example.org/kgrag-hippo#"
FACT_GRAPH = ox.NamedNode(f"{_NAMESPACE}FactGraph")
FACT = ox.NamedNode(f"{_NAMESPACE}Fact")
PHRASE = ox.NamedNode(f"{_NAMESPACE}Phrase")
MENTIONS = ox.NamedNode(f"{_NAMESPACE}mentions")


@dataclass(frozen=True, slots=True)
class HippoOptions:
    """Options of ``kgrag build hippo``."""

    batch: int = option(64, help="How many chunks are asked about and published together.")


DECLARATION = MethodDeclaration(
    name="hippo",
    implementation="kgrag_hippo.method:Hippo",
    label="passages by a walk over facts",
    retrieves="passages by the mass that a random walk leaves on the facts they state, from what the question names",
    needs="`kgrag build hippo`",
    paper="Gutiérrez et al. 2024 (HippoRAG)",
    graph_kinds=(
        GraphKind(
            FACT_GRAPH,
            "fact graph",
            "A graph of the facts that one chunk states, and of the phrases that they mention.",
            shape="hippo:facts",
            homes_of=(FACT, PHRASE),
        ),
    ),
    also_writes=(KG.ProvenanceGraph,),
    vector_spaces=(VectorSpace("hippo-phrase", FACT_GRAPH, "hippo:phrases", "phrases of facts", on_demand=True),),
    options=HippoOptions,
)
