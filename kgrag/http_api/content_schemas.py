"""What the JSON API takes and returns about the content: documents, sources, figures, trees, proofs."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints

__all__ = [
    "ConversationsReply",
    "CostsParameters",
    "CostsReply",
    "DocumentsParameters",
    "DocumentsReply",
    "ListedDocument",
    "PatternReply",
    "PluginsReply",
    "ProfileParameters",
    "ProfileReply",
    "ReasonRequest",
    "ReceiptsReply",
    "SavedTextReply",
    "SavedTextRequest",
    "SourceReply",
    "SourceRequest",
    "SourcesReply",
    "StatsParameters",
    "StatsReply",
    "StatusReply",
    "TreeNodeReply",
    "TreeParameters",
    "TreeReply",
    "WhyReply",
    "WhyRequest",
]

_Iri = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
_MethodName = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class _Parameters(BaseModel):
    """Parameters of an address; their values are texts there."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


# --- documents and where they come from ---------------------------------------------------------------------------


class DocumentsParameters(_Parameters):
    """Which documents are listed, and which page of them."""

    where: Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=10_000)]], Field(max_length=20)] = (
        Field(
            default=[],
            description="Conditions that all have to be met: `tenant=a`, `year>=2020`, `id in A,B`, or a SPARQL pattern"
            " over `?document`.",
        )
    )
    after: Annotated[str, StringConstraints(max_length=2000)] = Field(
        default="", description="The `next` of the page before; without, the first page."
    )
    limit: Annotated[int, Field(ge=1, le=1000)] = Field(default=100, description="How many documents at most.")


class ListedDocument(BaseModel):
    """A stored document without its text."""

    iri: str
    id: str
    title: str
    url: str
    locations: list[str]
    chunks: int
    metadata: dict[str, Any]


class DocumentsReply(BaseModel):
    """A page of documents, in the order of their graphs' IRIs."""

    documents: list[ListedDocument]
    next: str = Field(default="", description="Given as `after`, leads to the next page; empty: this is the last one.")


class SourceReply(BaseModel):
    """What documents come from; `synced`: when a sync of it last changed anything, empty for never."""

    name: str
    kind: Literal["folder", "files", "feed"]
    root: str = Field(description="The real path of a folder, or the name of a feed.")
    documents: int
    created: str
    synced: str


class SourcesReply(BaseModel):
    """The sources by name, and how many documents are of none of them."""

    sources: list[SourceReply]
    documents_without_source: int


class SourceRequest(_Body):
    """What is to be changed of a source; what is left empty stays."""

    new_name: Annotated[str, StringConstraints(max_length=500)] = Field(default="", description="Its name from now on.")
    root: Annotated[str, StringConstraints(max_length=4000)] = Field(
        default="",
        description="The real path of its folder, which is elsewhere now; it may be of another machine, and nothing is"
        " read.",
    )


# --- figures ------------------------------------------------------------------------------------------------------


class StatsParameters(_Parameters):
    """Whose figures."""

    method: _MethodName | None = Field(default=None, description="A method's own; without, those of the whole.")


class StatsReply(RootModel[dict[str, Any]]):
    """Counts by name, some of them in groups."""


class StatusReply(BaseModel):
    """What builds left to do."""

    unfinished: dict[str, str] = Field(description="Methods whose last build did not come to its end, with its start.")
    pending: dict[str, list[str]] = Field(description="What the last build of each method could not do, and why.")
    left_out: dict[str, str] = Field(default={}, description="What builds of a share left out; none of it is pending.")
    stale: list[str] = Field(default=[], description="Inference graphs whose sources changed since.")


class CostsParameters(_Parameters):
    """Whose cost."""

    method: _MethodName | None = Field(default=None, description="That of one method only.")


class CostReply(BaseModel):
    """What a model cost on a day (UTC); `method` is empty for what no method asked."""

    day: str
    method: str
    model: str
    completions: int
    input_tokens: int
    output_tokens: int
    price: float | None = Field(default=None, description="By the server's [prices], where these have the model.")


class CostsReply(RootModel[list[CostReply]]):
    """What the language models cost, by day, method and model."""


class ProfileParameters(_Parameters):
    """What the profile is of."""

    graph: _Iri | None = Field(default=None, description="IRI of one graph, instead of all facts.")


class ProfiledClass(BaseModel):
    """A class, and how many things have it by themselves."""

    iri: str
    label: str
    instances: int


class ProfiledProperty(BaseModel):
    """A property as it is used; classes and datatypes with counts, the key "" for things without a class."""

    iri: str
    label: str
    statements: int
    subjects: int
    domains: dict[str, int]
    ranges: dict[str, int]
    datatypes: dict[str, int]
    samples: list[str]


class ProfileReply(BaseModel):
    """What the facts have, at a revision."""

    revision: int
    triples: int
    classes: list[ProfiledClass]
    properties: list[ProfiledProperty]
    empty_classes: list[ProfiledClass] = Field(description="Those that ontologies define and no thing has.")


class PluginReply(BaseModel):
    """What a package adds; `problem` is why it cannot be used, and empty where it can."""

    group: str
    name: str
    target: str
    distribution: str
    version: str
    problem: str


class PluginsReply(RootModel[list[PluginReply]]):
    """Every method, reader, embedder and so on that the server knows."""


class ConversationReply(BaseModel):
    """A kept conversation; `first` is its first question, and `latest` when the last turn was kept."""

    name: str
    turns: int
    first: str
    latest: str


class ConversationsReply(RootModel[list[ConversationReply]]):
    """The kept conversations, the one that was asked last first."""


class ReceiptReply(BaseModel):
    """What an erasure stated; `holds`: its signature is that of these statements."""

    iri: str
    begun: str
    ended: str
    documents: list[str] = Field(description="SHA-256 of the text of each erased document.")
    counts: str
    key: str = Field(description="The `did:key` that it was signed with; empty: it is not signed.")
    holds: bool


class ReceiptsReply(RootModel[list[ReceiptReply]]):
    """The receipts of erasures, the earliest first."""


# --- trees and proofs ---------------------------------------------------------------------------------------------


class TreeParameters(_Parameters):
    """Which part of a tree."""

    question: Annotated[str, StringConstraints(strip_whitespace=True, max_length=4000)] = Field(
        default="", description="Walk towards this question; without, in the order of IRIs."
    )
    method: _MethodName = Field(
        default="sire_rag", description="Whose tree; `sire_rag:tree=relatedness` is the other one."
    )
    node: Annotated[str, StringConstraints(max_length=2000)] = Field(
        default="", description="IRI to begin at; without, the top."
    )
    width: Annotated[int, Field(ge=1, le=50)] = Field(default=3, description="How many nodes are returned below each.")


class TreeNodeReply(BaseModel):
    """A node; `score` is its cosine to the question, and `hidden` the number of children that are left out."""

    iri: str
    kind: str
    level: int
    text: str
    score: float | None
    hidden: int
    children: list[TreeNodeReply]


class TreeReply(BaseModel):
    """Part of a tree; `hidden` is the number of nodes at the top that are left out."""

    title: str
    hidden: int
    nodes: list[TreeNodeReply]


class WhyRequest(_Body):
    """What is to be explained: a triple, a finding of an audit, or a query that the check finds fault with.

    One of them. Terms are written as in Turtle; an IRI may be without brackets.
    """

    triple: Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=10_000)]], Field(max_length=3)] = (
        Field(default=[], description="Subject, predicate and object of what follows.")
    )
    finding: Annotated[str, StringConstraints(max_length=200)] = Field(
        default="", description="Fingerprint of a finding of `/audit`."
    )
    query: Annotated[str, StringConstraints(max_length=100_000)] = Field(default="", description="A SPARQL query.")
    graphs: Annotated[list[_Iri], Field(max_length=100)] = Field(
        default=[], description="IRIs of the graphs that it is explained from; none: all ontologies and data."
    )
    profile: Annotated[str, StringConstraints(max_length=41)] = Field(
        default="",
        description="`rdfs` or `owl-rl`, without: the first that suffices; for a finding, the profile of its audit.",
    )
    seconds: Annotated[float, Field(gt=0, le=60)] = Field(default=30.0, description="The time that it may take.")


class WhyReply(RootModel[dict[str, Any] | list[dict[str, Any]]]):
    """A proof of the triple; or, for each finding, the statements that it rests on."""


class ReasonRequest(_Body):
    """What is to be inferred, or dropped."""

    graphs: Annotated[list[_Iri], Field(max_length=100)] = Field(
        default=[], description="IRIs of graphs; none: all ontologies and data."
    )
    profile: Literal["rdfs", "owl-rl"] = "rdfs"
    seconds: Annotated[float, Field(gt=0, le=600)] = Field(default=600.0, description="The time that it may take.")
    drop: bool = Field(
        default=False, description="Drop what was inferred, from these graphs or at all, and infer nothing."
    )


# --- saved queries ------------------------------------------------------------------------------------------------


class SavedTextRequest(_Body):
    """Values for the parameters of a saved query, as a person writes them; those left out take their defaults."""

    values: dict[str, Annotated[str, StringConstraints(max_length=4000)]] = {}


class SavedTextReply(BaseModel):
    """A saved query with the values in it, ready to be run."""

    sparql: str


class PatternReply(BaseModel):
    """What a pattern of a query matches by itself, in the order in which the patterns are written.

    `counted` is `whole`, `limit` (there are more than `matches`), `time` (it took too long) or `not` (`why`).
    `expected` is the figure of the data profile, where one is kept.
    """

    text: str
    line: int
    column: int
    start: int
    end: int
    within: list[str]
    expected: int | None
    matches: int | None
    counted: Literal["whole", "limit", "time", "not"]
    why: str
