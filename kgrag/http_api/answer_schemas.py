"""What the JSON API returns to a question: answers, evidence, costs, as pydantic models."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

__all__ = ["AnswerCostReply", "AnswerReply", "RetrievalReply"]


class PlaceReply(BaseModel):
    """Where a person can open a passage; what its document does not have is left out."""

    title: str = ""
    id: str = Field(default="", description="What its source calls the document.")
    locations: list[str] = Field(default=[], description="Files, or records of files, that hold the document.")
    url: str = ""
    page: int = Field(default=0, description="Counts from 1.")
    heading: str = ""
    metadata: dict[str, Any] = {}


class SpanReply(BaseModel):
    """A place in a document: characters of its text."""

    chunk: str
    document: str
    start: int
    end: int
    place: PlaceReply | None = None


class HitReply(BaseModel):
    """A piece of evidence; scores compare within one reply only, larger is better."""

    iri: str
    kind: str
    text: str
    score: float
    attributes: dict[str, Any]
    sources: list[SpanReply]


class CitationReply(BaseModel):
    """A quote from a stored document: `quote` is its characters `start` to `end`."""

    quote: str
    document: str
    chunk: str
    start: int
    end: int
    place: PlaceReply | None = None
    derived: str = Field(
        default="", description="Words that a model wrote from this chunk, where no sentence of it carries them."
    )


class ValueReply(BaseModel):
    """A short answer, cut out of a citation (`citation` counts from 0); `unit` is that of a number."""

    kind: Literal["entity", "text", "number", "date", "boolean", "choice"]
    text: str
    value: bool | int | float | str | None = Field(
        default=None, description="In normal form, where it is not the text."
    )
    unit: str = ""
    iri: str = ""
    citation: int | None = None


class UsageReply(BaseModel):
    """What the answer cost; completions that were known already cost nothing."""

    completions: int
    input_tokens: int
    output_tokens: int


class ExplainReply(BaseModel):
    """What was dropped because no stored text supports it, and notes for a person."""

    dropped: dict[str, int]
    notes: list[str]


class UnsupportedReply(BaseModel):
    """A sentence that was left out of an answer: what it cites lacks `missing`; `place` sentences are before it."""

    sentence: str
    missing: list[str]
    place: int


class AnswerReply(BaseModel):
    """An answer; `text` has a marker `[n]` for the nth citation. `unknown`: the evidence does not support an answer."""

    question: str
    text: str
    method: str
    unknown: bool
    values: list[ValueReply]
    citations: list[CitationReply]
    unsupported: list[UnsupportedReply] = []
    hits: list[HitReply]
    usage: UsageReply
    not_stated: str = Field(default="", description="What of the question the evidence leaves open.")
    failure: str = Field(default="", description="Why a reply of the model could not be used, where one could not.")
    asked: str = Field(default="", description="What was sent, where `question` is the full question made of it.")
    unresolved: str = Field(default="", description="Why a follow-up may not have been made a full question.")
    conversation: str = Field(default="", description="The session.")
    turn: int | None = Field(default=None, description="Its place in the session, from 1.")
    confidence: float | None = Field(default=None, description="Probability that it is right, where the model has one.")
    nearest: list[CitationReply] = Field(default=[], description="Without an answer: what comes nearest to one.")
    sparql: str = Field(default="", description="What was run, where the method answers from rows of a query.")
    explain: ExplainReply | None = Field(default=None, description="Where it was asked for.")


class AnswerCostReply(BaseModel):
    """What an answer costs about, each count from `least` to `most` nine times in ten; `price` where it is known."""

    completions: int
    completions_least: int
    completions_most: int
    input_tokens: int
    input_tokens_least: int
    input_tokens_most: int
    output_tokens: int
    output_tokens_least: int
    output_tokens_most: int
    price: float | None = Field(default=None, description="In the currency of the server's [prices].")
    price_least: float | None = None
    price_most: float | None = None
    note: str = Field(description="What the counts go by.")


class RetrievalReply(BaseModel):
    """Evidence, best first."""

    question: str
    method: str
    k: int
    hits: list[HitReply]
    latency_ms: dict[Literal["embed", "search", "total"], float]
