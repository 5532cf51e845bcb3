"""PolyRAG: a knowledge pyramid of ontology, knowledge graph and text, asked from the top.

"Multi-Level Querying using A Knowledge Pyramid". ``PolyRag.build`` fills the layers (section 3) from files or by a
model; ``retrieve`` and ``answer`` descend until a layer answers (section 4, Algorithm 1). Graphs written: assertion
graphs (instances), triple graphs, the starter schema, proposals. Queries read: ``poly_rag/*``, ``templates/*``.
Prompts read: ``poly_rag/*``, ``obqc/*``.
"""

from dataclasses import dataclass
from pathlib import Path

from kgrag.declarations import SHARE_HELP, GraphKind, MethodDeclaration, VectorSpace, option
from kgrag.vocab import KG

__all__ = ["DECLARATION", "PolyRagOptions"]


@dataclass(frozen=True, slots=True)
class PolyRagOptions:
    """Options of ``kgrag build poly_rag``."""

    schema: tuple[Path, ...] = option((), help="Ontology file or folder of them; may be repeated.")
    instances: Path | None = option(help="JSON Lines of sub, rel, obj for the ontology layer.")
    triples: Path | None = option(help="JSON Lines of sub, rel, obj for the graph layer.")
    complete: bool = option(
        False, help="Propose attributes that the ontology lacks, and several names of one individual."
    )
    accept: bool = option(False, help="Propose, and accept the attributes that are proposed.")
    infer: bool = option(False, help="Add what follows from ontologies and instances.")
    condense: bool = option(False, help="Merge triples of the same meaning; each stays reachable.")
    share: float = option(1.0, help=SHARE_HELP)


DECLARATION = MethodDeclaration(
    name="poly_rag",
    implementation="kgrag.methods.poly_rag.method:PolyRag",
    label="a pyramid from ontology to text",
    retrieves="ontology, knowledge graph and text as layers of a pyramid, asked from the top; stops at the first layer "
    "that answers (`poly_rag:layers=graph+text` leaves layers out)",
    needs="`kgrag build poly_rag`, from text, or from ready-made layers (`--schema`, `--instances`, `--triples`)",
    paper="Chen et al.: *Multi-Level Querying using a Knowledge Pyramid*, 2024 (PolyRAG)",
    graph_kinds=(
        GraphKind(
            KG.ProposalGraph,
            "proposal graph",
            "A graph of proposals, each with the statements that it stands on; nothing is changed by it.",
            shape="proposals",
            homes_of=(KG.Proposal,),
        ),
        GraphKind(
            KG.TripleGraph,
            "triple graph",
            "A graph of triples of the knowledge-graph layer: as one chunk states them, or condensed.",
            shape="triples",
            when_source_goes="drop_if_any",
            homes_of=(KG.Statement,),
        ),
    ),
    also_writes=(
        KG.AssertionGraph,
        KG.DocumentGraph,
        KG.InferenceGraph,
        KG.LexicalGraph,
        KG.OntologyGraph,
        KG.ProfileGraph,
        KG.ProvenanceGraph,
        KG.QuarantineGraph,
    ),
    vector_spaces=(
        VectorSpace(
            "condensed-triple",
            KG.TripleGraph,
            "spaces/condensed-triple",
            "triples of the condensed layer",
            on_demand=True,
        ),
        VectorSpace("triple", KG.TripleGraph, "spaces/triple", "triples of the knowledge-graph layer", on_demand=True),
    ),
    build_prompts=("poly_rag/facts",),
    options=PolyRagOptions,
)
