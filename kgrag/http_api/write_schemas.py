"""What the JSON API takes and returns where it writes: updates, jobs, proposals, saved queries, indexes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints

__all__ = [
    "BuildRequest",
    "DecisionsRequest",
    "EffectParameters",
    "EffectReply",
    "IndexListReply",
    "IndexReply",
    "IndexRequest",
    "JobReply",
    "JobsReply",
    "ProposalsParameters",
    "ProposalsReply",
    "QueryRequest",
    "RunningReply",
    "SavedQueriesReply",
    "SavedQueryReply",
    "VoidParameters",
]

_Profile = Annotated[str, StringConstraints(pattern=r"^([a-z][a-z0-9_:-]{0,40})?$")]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class BuildRequest(_Body):
    """What a build may use, and options of the method."""

    options: dict[str, Any] = Field(default={}, description="As of `kgrag build METHOD --help`; none that names files.")
    dry_run: bool = Field(default=False, description="Count what would be asked of the model, and build nothing.")
    max_completions: Annotated[int, Field(ge=0)] | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    max_cost: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="What tokens may cost, in the currency of the server's [prices]."
    )


class JobReply(BaseModel):
    """A job; `result` is what it did, once it is done, and `problem` why it failed."""

    id: str
    kind: Literal["documents", "build", "erase", "reason", "vacuum"]
    about: str = Field(default="", description="What it is done to or with.")
    begun: str = Field(default="", description="When it was asked for.")
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    progress: dict[str, Any]
    seconds: float
    result: dict[str, Any] | None = None
    problem: dict[str, Any] | None = None


class JobsReply(RootModel[list[JobReply]]):
    """The jobs that are remembered, the last first."""


class EffectParameters(BaseModel):
    """By what the effect on ontologies is judged."""

    model_config = ConfigDict(frozen=True)  # those of the protocol are beside it

    profile: _Profile = Field(default="", description="A profile of the audit; without, that of the server's gate.")


class GraphEffectReply(BaseModel):
    """What an update does to one graph: counts, and some of the triples as N-Triples."""

    graph: str
    added: int
    removed: int
    added_triples: list[str]
    removed_triples: list[str]


class EffectReply(BaseModel):
    """What an update would do; nothing was written. The ETag belongs into If-Match of the update."""

    added: int
    removed: int
    changed: int = Field(description="How many graphs change.")
    graphs: list[GraphEffectReply] = Field(description="Those that change most, 50 at most.")
    profile: str = Field(description="By what ontologies were judged; empty: by nothing.")
    refused: list[dict[str, Any]] = Field(description="Ontologies that would get worse, with their new violations.")
    changing: list[str] = Field(description="Functions that return another value each time: the effect may differ.")
    revision: int


class ProposalsParameters(BaseModel):
    """Whose proposals."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    method: _Name = Field(default="poly_rag", description="A method that proposes.")


class DecisionsRequest(_Body):
    """What a person decided about proposals, by IRI or label."""

    method: _Name = "poly_rag"
    accept: Annotated[list[_Name], Field(max_length=1000)] = []
    reject: Annotated[list[_Name], Field(max_length=1000)] = []
    reopen: Annotated[list[_Name], Field(max_length=1000)] = []


class ProposalReply(BaseModel):
    """A triple that is proposed for the ontology; `weight` falls from 1 towards 0."""

    iri: str
    label: str
    subject: str
    predicate: str
    object: str
    weight: float
    decision: Literal["open", "accepted", "rejected"]
    layer: str
    evidence: list[str] = Field(description="IRIs of the statements that it rests on.")
    wording: str = Field(description="The words of one of them.")


class ProposalsReply(RootModel[list[ProposalReply]]):
    """Every proposal of a method."""


class QueryParameter(BaseModel):
    """A variable of a saved query that gets its value when it is run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")]
    kind: Literal["IRI", "text", "number", "date", "boolean"] = "text"
    about: Annotated[str, StringConstraints(max_length=1000)] = ""
    default: Annotated[str, StringConstraints(max_length=4000)] = ""


class QueryRequest(BaseModel):
    """A query or update to be saved."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sparql: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
    title: Annotated[str, StringConstraints(max_length=500)] = ""
    about: Annotated[str, StringConstraints(max_length=4000)] = ""
    topic: Annotated[str, StringConstraints(max_length=200)] = ""
    method: Annotated[str, StringConstraints(max_length=200)] = Field(
        default="", description="The method whose graphs it reads."
    )
    parameters: Annotated[list[QueryParameter], Field(max_length=20)] = []


class SavedQueryReply(QueryRequest):
    """A saved query, with its IRI."""

    name: str
    iri: str
    created: str = ""


class SavedQueriesReply(RootModel[list[SavedQueryReply]]):
    """The saved queries, by topic and name."""


class IndexRequest(BaseModel):
    """An index to be declared."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sparql: Annotated[str, StringConstraints(min_length=1, max_length=20_000)] = Field(
        description="Selects ?iri and ?text: what can be searched for."
    )
    title: Annotated[str, StringConstraints(max_length=500)] = ""


class IndexReply(IndexRequest):
    """An index that a user declared, and how it is."""

    name: str
    iri: str
    created: str = ""
    follows: bool = Field(description="A change costs in proportion to it; else all texts are read again.")
    texts: int | None = Field(description="null before it is first used.")
    revision: int = Field(description="The store revision that its texts reflect; -1 before it is first used.")
    waiting: int = Field(description="Texts that wait for their vectors.")
    problem: str = Field(default="", description="Why it could not be brought up to date.")


class IndexListReply(RootModel[list[IndexReply]]):
    """The indexes that users declared, by name."""


class RunningQuery(BaseModel):
    """A query that is being run or waits for a reader."""

    id: str
    state: Literal["running", "waiting"]
    seconds: float = Field(description="Since it came.")
    text: str = Field(description="Its beginning.")
    client: str = Field(description="Name of its key, else its address.")


class RunningReply(RootModel[list[RunningQuery]]):
    """The queries under way, the oldest first."""


class VoidParameters(BaseModel):
    """Which page of the description."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    page: Annotated[int, Field(ge=1, le=1_000_000)] = Field(default=1, description="Of a thousand graphs each, from 1.")
