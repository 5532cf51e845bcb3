"""OBQC: a question answered by a SPARQL query that the ontology checked, repaired or refused."""

from dataclasses import dataclass
from pathlib import Path

from kgrag.declarations import MethodDeclaration, option
from kgrag.vocab import KG

__all__ = ["DECLARATION", "ObqcOptions"]


@dataclass(frozen=True, slots=True)
class ObqcOptions:
    """Options of ``kgrag build obqc``."""

    competency: Path | None = option(help="JSON Lines of question and sparql that answer without a model.")


DECLARATION = MethodDeclaration(
    name="obqc",
    implementation="kgrag.methods.obqc.method:Obqc",
    label="a SPARQL query, checked",
    retrieves="rows of a SPARQL query that a model wrote and the ontology checked, mended or refused; `unknown` "
    "instead of a query known to be wrong",
    needs="an ontology and a model, or stored competency questions (`kgrag build obqc --competency FILE`)",
    paper="Allemang, Sequeda: *Increasing the LLM accuracy for question answering: ontologies to the rescue!*, 2024",
    also_writes=(KG.DataGraph, KG.ProfileGraph),
    options=ObqcOptions,
    example={"competency": "competency.jsonl"},
)
