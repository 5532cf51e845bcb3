"""What the JSON API takes and returns: requests are checked by these models, and the OpenAPI document shows them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, RootModel, StringConstraints

from kgrag.declarations import DEFAULT_METHOD
from kgrag.http_api.content_schemas import ListedDocument, PatternReply

__all__ = [
    "AddParameters",
    "AnswerCostRequest",
    "AnswerLimits",
    "AskRequest",
    "AuditReply",
    "AuditRequest",
    "CheckReply",
    "CheckRequest",
    "DocumentReply",
    "DocumentRequest",
    "DocumentsRequest",
    "FeedParameters",
    "ForgetParameters",
    "ForgottenReply",
    "HealthReply",
    "IngestReply",
    "IntakeParameters",
    "Message",
    "ProblemReply",
    "ReadDocument",
    "ReadyReply",
    "RetrieveRequest",
    "UnreadFile",
    "ValidateRequest",
    "WritesParameters",
]

Question = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=4000),
    Field(description="A question in words.", examples=["When is chickpea sown in the Hill Zone?"]),
]
Method = Annotated[
    str,
    StringConstraints(min_length=1, max_length=500),
    Field(
        description="A method, with hyper-parameters where wanted: `og_rag:nodes=5,edges=2`.",
        examples=[DEFAULT_METHOD, "og_rag"],
    ),
]
Filter = Annotated[
    dict[str, Any] | Annotated[str, StringConstraints(min_length=1, max_length=10_000)] | list[dict[str, Any] | str],
    Field(
        description='Which documents may be found: fields with values (`{"tenant": "a", "year": {"from": 2020}}`), '
        "a condition as text (`year>=2020`), a SPARQL pattern over `?document`, or a list of them: all must hold.",
        examples=[{"tenant": "a"}, ["tenant=a", "year>=2020"]],
    ),
]
Top = Annotated[int, Field(ge=1, le=100, description="How many hits at most.")]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Message(_Request):
    """A message of a conversation."""

    role: Literal["user", "assistant"]
    content: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class AnswerCostRequest(_Request):
    """A question whose answer is planned."""

    question: Question
    method: Method = DEFAULT_METHOD
    k: Top = 5
    where: Filter | None = None
    history: Annotated[list[Message], Field(max_length=100)] = Field(
        default=[], description="What was said before, the oldest first; the question may be a follow-up."
    )
    session: Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)] = Field(
        default="",
        description="Name of a conversation that goes on; an answer is kept there, with a key that may write.",
    )


class AnswerLimits(_Request):
    """What one answer may cost; what may cost more is not asked (429)."""

    max_completions: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="The most requests to the language model."
    )
    max_tokens: Annotated[int, Field(ge=0)] | None = Field(default=None, description="The most tokens, in and out.")
    max_cost: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="What tokens may cost, in the currency of the server's [prices]."
    )


class AskRequest(AnswerLimits, AnswerCostRequest):
    """A question to be answered. What may cost more than a limit is not asked (429)."""

    explain: bool = Field(default=False, description="Return also what was dropped, and notes.")
    keep: bool = Field(default=False, description="Keep the answer as a graph of its own. Needs a key that may write.")


class RetrieveRequest(_Request):
    """A question to find evidence for."""

    question: Question
    method: Method = DEFAULT_METHOD
    k: Top = 5
    where: Filter | None = None


class CheckRequest(_Request):
    """A SPARQL query to be compared with the loaded ontologies and data; it is not run."""

    query: Annotated[
        str,
        StringConstraints(min_length=1, max_length=100_000),
        Field(description="A SPARQL query."),
    ]
    repair: bool = Field(default=False, description="Mend what is certain, and return the mended query too.")
    explain: bool = Field(default=False, description="Count what each pattern of the query matches by itself.")


class AuditRequest(_Request):
    """An ontology to be audited: graphs of the knowledge base, never files."""

    target: Annotated[str, StringConstraints(min_length=1, max_length=2000)] | None = Field(
        default=None, description="IRI of a graph; without, all ontology graphs together."
    )
    profile: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,40}$")] = Field(
        default="default", description="Which checks run, and how bad their findings are.", examples=["publish"]
    )
    namespace: Annotated[str, StringConstraints(min_length=1, max_length=2000)] | None = Field(
        default=None, description="Namespace of the ontology's own terms, where the ontology does not show it."
    )
    limit: Annotated[int, Field(ge=0, le=1000)] = Field(
        default=100, description="Findings per check that are returned; counts are exact."
    )


_GraphIri = Annotated[str, StringConstraints(min_length=1, max_length=2000)]


class ValidateRequest(_Request):
    """Data to be validated against SHACL shapes: both are graphs of the knowledge base, never files."""

    graphs: Annotated[list[_GraphIri], Field(max_length=100)] = Field(
        default=[], description="IRIs of the graphs of the data; none: all data and ontologies."
    )
    shapes: Annotated[list[_GraphIri], Field(max_length=100)] = Field(
        default=[], description="IRIs of graphs of shapes; none: those that the data name by sh:shapesGraph."
    )
    shape: Annotated[str, StringConstraints(max_length=2000)] = Field(
        default="", description="IRI of the only shape to run."
    )
    focus: Annotated[list[_GraphIri], Field(max_length=1000)] = Field(
        default=[], description="IRIs of the only nodes to report; with `shape`, whatever its targets."
    )
    inference: Literal["", "rdfs", "owl-rl"] = Field(
        default="", description="Rules by which what follows from the data is validated as well."
    )
    conformance_disallows: Annotated[list[_GraphIri], Field(max_length=100)] = Field(
        default=[],
        description="Severities that break conformance, as `Violation` or an IRI; none: all but Debug, Trace.",
    )
    limit: Annotated[int, Field(ge=0, le=10_000)] = Field(
        default=1000, description="Results that are returned; counts are exact."
    )


class DocumentRequest(_Request):
    """A document. Another one with the same `id` in the same feed replaces it."""

    text: Annotated[str, StringConstraints(min_length=1), Field(description="What is searched and quoted.")]
    id: str = Field(default="", description="What its source calls it.", examples=["T-7"])
    title: str = ""
    url: str = Field(default="", description="Where a person can open it.")
    metadata: dict[str, Any] = Field(
        default={},
        description="Fields and values. Dates, decimals and IRIs are value objects of JSON-LD: "
        '`{"@value": "2024-05-01", "@type": "http://www.w3.org/2001/XMLSchema#date"}`, `{"@id": "https://…"}`.',
        examples=[{"tenant": "a", "year": 2024}],
    )
    cites: list[str] = Field(default=[], description="Identifiers or titles of what it cites.")
    feed: str | None = Field(
        default=None, description="The collection that its id belongs to; else `?feed=`, else api."
    )


class DocumentsRequest(RootModel[DocumentRequest | list[DocumentRequest]]):
    """A document, or some."""


class ReadDocument(DocumentRequest):
    """A document that a client has read from a file, as a line of JSON Lines."""

    location: str = Field(default="", description="Its place: the file, with `#id` behind for a record of it.")
    source: str = Field(default="", description="The file that a record is from.")
    media_type: str = "text/plain"
    sections: list[Annotated[list[int | str], Field(min_length=4, max_length=5)]] = Field(
        default=[],
        description="Each start, end, heading and page; `whole` behind it for a row of a table, which is not cut.",
    )
    code: list[Annotated[list[int], Field(min_length=2, max_length=2)]] = Field(
        default=[], description="Start and end of each block of code, in order; chunks keep them whole."
    )
    links: list[tuple[NonNegativeInt, NonNegativeInt, str]] = Field(
        default=[], description="Start and end of the words of each hyperlink, and its target as it is written."
    )
    anchors: list[tuple[NonNegativeInt, str]] = Field(
        default=[], description="Where each place begins that links may lead to, and its name without `#`."
    )


class UnreadFile(_Request):
    """A file that the client could not read whole: what is stored of it stays."""

    unread: Annotated[str, StringConstraints(min_length=1)]


class _Parameters(BaseModel):
    """Parameters of an address; their values are texts there."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class IntakeParameters(_Parameters):
    """How documents are taken in."""

    feed: str = Field(default="api", description="The collection that ids without a feed of their own belong to.")
    chunk_tokens: Annotated[int, Field(ge=8, le=100_000)] = Field(
        default=180, description="The largest chunk, in words and marks."
    )
    chunker: str = Field(default="pauses", description="Name of a registered chunker.")
    embed: bool = Field(default=True, description="Whether the chunks are embedded now, or at their first use.")


class AddParameters(IntakeParameters):
    """How documents are taken in, and what they replace."""

    name: str = Field(default="", description="Name of the file that the body is.")
    replaces: Literal["places", "files", "folder"] = Field(
        default="places",
        description="What goes: `places`: what was at the places of these documents; `files`: what else their files"
        " contained; `folder`: what else was read from `folder`.",
    )
    folder: str = Field(default="", description="Real path of a folder.")
    source: str = Field(
        default="", description="With `folder`: what the source that it is is to be called; as it is without."
    )


class FeedParameters(_Parameters):
    """Where an id is looked for."""

    feed: str | None = Field(default=None, description="The collection that the id belongs to; `api` without.")


class ForgetParameters(FeedParameters):
    """Where an id is looked for, and how many documents go."""

    all: bool = Field(default=False, description="All documents of this id or title.")
    erase: bool = Field(
        default=False,
        description="Delete its words from every file as well, and prove it by a search: a job (202). Nobody reads or"
        " writes meanwhile.",
    )


class WritesParameters(_Parameters):
    """How much of the log of writes is returned."""

    last: Annotated[int, Field(ge=1, le=1000)] = Field(default=100, description="How many lines, the last ones.")


class IngestReply(BaseModel):
    """What became of documents.

    `superseded`: how many were forgotten, because others took their places. `notes`: what is stored otherwise than
    it was sent.
    """

    documents: int
    unchanged: int
    duplicates: int
    replaced: int
    superseded: int
    chunks: int
    skipped: list[str]
    broken: list[str]
    violations: list[str]
    notes: list[str] = []


class DocumentReply(ListedDocument):
    """A stored document."""

    text: str


class ForgottenDocument(BaseModel):
    """What went with a document; `remains` is what a query still finds, and is 0 unless something is wrong.

    `answers` are the questions of the kept answers that cited it.
    """

    document: str
    title: str
    dropped: int
    trimmed: int
    waiting: int
    remains: int
    answers: list[str] = []


class ForgottenReply(RootModel[list[ForgottenDocument]]):
    """What went with each document."""


class HealthReply(BaseModel):
    """That the server lives; `base` is the base of every IRI that it mints."""

    status: Literal["ok"]
    revision: int
    base: str


class ReadyReply(BaseModel):
    """That questions can be answered by this server and those that it is on."""

    status: Literal["ready"]
    revision: int


class CheckReply(BaseModel):
    """Where the query departs from the ontologies; `valid`: nothing that was found is an error."""

    valid: bool
    findings: list[dict[str, Any]]
    notes: list[str] = []
    repaired: str | None = Field(
        default=None, description="The mended query, where mending was asked for and changed it."
    )
    patterns: list[PatternReply] | None = Field(default=None, description="Where counts were asked for.")


class FindingReply(BaseModel):
    """One way in which `focus` departs from a check; `fingerprint` stays the same from audit to audit."""

    check: str
    severity: Literal["Violation", "Warning", "Info"]
    focus: str
    message: str
    anchors: list[str]
    fingerprint: str
    path: str = ""
    value: str = ""
    fix: str = ""
    component: str = ""


class UndecidedReply(BaseModel):
    """A check that gave no verdict."""

    check: str
    reason: str


class AuditReply(BaseModel):
    """An audit; `counts` are by severity, and of what was suppressed or not decided."""

    target: str
    profile: str
    conforms: bool
    counts: dict[str, int]
    findings: list[FindingReply]
    slow: list[dict[str, Any]]
    engine: str
    not_decided: list[UndecidedReply]
    unused_suppressions: list[str]
    labels: dict[str, str] = {}
    sources: dict[str, str] = Field(
        default={}, description="Where the nodes of findings are stated: document, file or graph."
    )


class FaultReply(BaseModel):
    """What is wrong with a part of the body."""

    pointer: str = Field(description="Where, as a JSON Pointer.")
    detail: str


class ProblemReply(BaseModel):
    """What went wrong (RFC 9457)."""

    type: Literal["about:blank"]
    title: str
    status: int
    detail: str
    errors: list[FaultReply] = []
