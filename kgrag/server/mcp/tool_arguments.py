"""What tools are called with: agents see these models as JSON schemas."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from kgrag.http_api.json_schemas import AnswerLimits, DocumentRequest, RetrieveRequest

__all__ = [
    "AskArguments",
    "AuditArguments",
    "CheckArguments",
    "CiteArguments",
    "DocumentArguments",
    "ForgetArguments",
    "GraphsArguments",
    "NewDocumentArguments",
    "RetrieveArguments",
    "SchemaArguments",
    "SparqlArguments",
    "ValidateArguments",
]

Iri = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>]+$", max_length=2000)]
Sparql = Annotated[str, StringConstraints(min_length=1, max_length=100_000), Field(description="A SPARQL 1.1 query.")]
Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2000),
    Field(description="IRI, id, title or location of a document, as hits and citations have it."),
]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AskArguments(AnswerLimits, RetrieveRequest):
    """A question to be answered; what may cost more than a limit is not asked."""


class RetrieveArguments(RetrieveRequest):
    """A question to find evidence for."""


class CiteArguments(_Arguments):
    """A span of a document: of a citation or of a source of a hit."""

    chunk: Iri = Field(description="IRI of the chunk.")
    start: int | None = Field(default=None, ge=0, description="First character, in the document; else the chunk's.")
    end: int | None = Field(default=None, ge=0, description="The character behind the last; else the chunk's.")
    context: int = Field(default=300, ge=0, le=5000, description="Characters before and after it.")


class SchemaArguments(_Arguments):
    """What the part of the ontologies that is wanted is about."""

    about: str = Field(
        default="", max_length=4000, description="A question or words; the terms nearest to it come first. '': any."
    )


class SparqlArguments(_Arguments):
    """A query to be run."""

    query: Sparql
    rows: int = Field(default=50, ge=1, le=1000, description="Rows, or triples, at most; `truncated` says of more.")
    seconds: float | None = Field(default=None, gt=0, le=300, description="How long it may work.")


class CheckArguments(_Arguments):
    """A query to be compared with the ontologies; it is not run."""

    query: Sparql


class ValidateArguments(_Arguments):
    """Graphs to be validated against SHACL shapes; all of them are named graphs of the knowledge base."""

    graphs: list[Iri] = Field(default=[], max_length=20, description="The data; none: all data and ontologies.")
    shapes: list[Iri] = Field(
        default=[], max_length=20, description="Graphs of shapes; none: those that the data name by sh:shapesGraph."
    )
    shape: str = Field(default="", max_length=2000, description="IRI of the only shape to run.")
    focus: list[Iri] = Field(default=[], max_length=20, description="The only nodes to report; none: all.")
    inference: Literal["", "rdfs", "owl-rl"] = Field(
        default="", description="Rules by which what follows from the data is validated as well."
    )
    conformance_disallows: list[Annotated[str, StringConstraints(max_length=2000)]] = Field(
        default=[], max_length=20, description="Severities that break conformance, as Violation or an IRI; none: all."
    )
    limit: int = Field(default=50, ge=1, le=1000, description="Results that are returned; counts are exact.")


class AuditArguments(_Arguments):
    """An ontology to be audited."""

    graph: Iri | None = Field(default=None, description="IRI of its graph; without, all ontologies together.")
    profile: str = Field(default="default", pattern=r"^[a-z][a-z0-9_-]{0,40}$", description="Which checks run.")
    limit: int = Field(default=5, ge=0, le=100, description="Findings per check that are returned; counts are exact.")


class GraphsArguments(_Arguments):
    """Named graphs of one kind."""

    kind: str = Field(
        default="", max_length=200, description="A kind, as this tool lists them without; '': ontologies and data."
    )
    limit: int = Field(default=50, ge=1, le=500)
    offset: int = Field(default=0, ge=0, le=10_000_000)


class DocumentArguments(_Arguments):
    """A stretch of a document."""

    name: Name
    start: int = Field(default=0, ge=0, description="First character.")
    length: int = Field(default=8000, ge=1, le=100_000, description="Characters at most.")


class NewDocumentArguments(DocumentRequest):
    """A document to be stored; one with an id replaces what the feed has under that id."""


class ForgetArguments(_Arguments):
    """A document to be deleted."""

    name: Name
