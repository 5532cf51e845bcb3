"""The values that kgrag passes around: frozen, comparable, without behaviour beyond display.

==================  ==========================================================================
``Document``        a text that was read, before it is chunked
``Chunk``           a span ``text[start:end]`` of a document
``Span``            a place in a text: chunk, document, start, end (characters)
``Place``           where a person can open what a span or citation is from
``GraphDraft``      a named graph about to be published
``Publication``     what became of the drafts of one ``publish``
``Violation``       one way in which a graph departs from its shape
``Table``           rows of a SELECT
``Prompt``          a rendered request to a language model, and the JSON schema of its reply
``Completion``      the reply, its parsed JSON, and what it cost
``Hit``             one retrieved piece of evidence, with the spans that carry it
``Reranking``       hits in the order of a reranker, and what that cost
``Allowed``         the documents that a filter lets through, and their chunks
``Citation``        words of a stored chunk that carry a sentence of an answer
``Value``           a short answer: what a question asks for, with its kind
``Unsupported``     a sentence of a reply that what it cites does not support
``Answer``          sentences with citations, or *unknown*
``AnswerSentence``  a sentence of an answer that is still being written
``BuildReport``     what a build wrote
==================  ==========================================================================
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import pyoxigraph as ox

__all__ = [
    "NO_COMPLETIONS",
    "Allowed",
    "Answer",
    "AnswerSentence",
    "BuildReport",
    "Chunk",
    "Citation",
    "Completion",
    "Document",
    "GraphDraft",
    "Hit",
    "Place",
    "Prompt",
    "Publication",
    "Reranking",
    "Section",
    "Span",
    "Table",
    "Term",
    "Unsupported",
    "Usage",
    "Value",
    "Violation",
    "ViolationTerms",
]

Term = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document's text with a heading path or a page number, as far as the format has them.

    ``start`` and ``end`` are character offsets into the document's text; ``page`` counts from 1, 0 means none. A
    ``whole`` one (a row of a table) is cut only where it is larger than a chunk; a chunk has as many of them as fit.
    """

    start: int
    end: int
    heading: str = ""
    page: int = 0
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A text that was read, or that a program hands over.

    Args:
        text: what is stored and what every offset refers to (line ends are line feeds).
        title: "" for none.
        location: the real path of its file, ``#id`` behind for a record; another document of one place replaces it.
        id: what its source calls it, and what ``forget`` and citations of other documents name it by.
        media_type: of the source.
        cites, sections: identifiers or titles of what it cites, as the source has them; headings and pages.
        url: where a person can open it.
        metadata: fields and their values (``kgrag.text.metadata``).
        source: the file that a record is from, or the name of a feed; "" for a document that is a file of its own.
        code: start and end of blocks of code that the source marks as such, in order; chunks keep them whole.
        links: start and end of the words of hyperlinks, and their target as the source writes it, in order.
        anchors: where places begin that links may lead to, and their names without ``#``, in order.
    """

    text: str
    title: str = ""
    location: str = ""
    id: str = ""
    media_type: str = "text/plain"
    cites: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    code: tuple[tuple[int, int], ...] = ()
    links: tuple[tuple[int, int, str], ...] = ()
    anchors: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of a document: ``text == document.text[start:end]``; ``order`` counts from 0; ``tokens`` are words.

    ``page`` is where it begins; ``page_breaks``, ``heading_breaks`` are later pages and headings, by first character.
    """

    text: str
    start: int
    end: int
    order: int
    tokens: int
    heading: str = ""
    page: int = 0
    page_breaks: tuple[tuple[int, int], ...] = ()
    heading_breaks: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a person can open a span: its document, and the page and the section that it begins in.

    ``locations`` are the places that hold the document (files, with ``#id`` behind for a record), ``url`` is its web
    address, ``metadata`` what its source says of it. "", () and page 0 mean that there is none.
    """

    title: str = ""
    id: str = ""
    locations: tuple[str, ...] = ()
    url: str = ""
    page: int = 0
    heading: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return title (or id), heading and page in one line; the path of headings often begins with the title."""
        named = self.heading.startswith(self.title) and self.heading
        page = f"page {self.page}" if self.page else ""
        return " · ".join(filter(None, ([named] if named else [self.title or self.id, self.heading]) + [page]))

    @property
    def address(self) -> str:
        """The web address, else the first location that is a file or an address, else the first; "" for none."""
        return self.url or max(self.locations, key=lambda one: one.startswith("/") or "://" in one, default="")


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a text: characters ``start`` to ``end`` of the document's text, inside ``chunk``.

    ``place`` is where a person can open it; a knowledge base fills it in for whatever method retrieved the span. It is
    no part of what makes two spans equal.
    """

    chunk: str
    document: str
    start: int
    end: int
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class GraphDraft:
    """A named graph about to be published.

    ``mode`` is "new" (content-addressed: published once, later drafts only add their sources), "append" (triples join
    what is there) or "replace". ``described`` are further catalogue statements about the graph.
    """

    iri: ox.NamedNode
    kind: ox.NamedNode
    triples: Sequence[ox.Triple]
    mode: Literal["new", "append", "replace"] = "new"
    method: str = ""
    sources: Sequence[ox.NamedNode] = ()
    activity: ox.NamedNode | None = None
    described: Sequence[tuple[ox.NamedNode, Term]] = ()


@dataclass(frozen=True, slots=True)
class Violation:
    """One way in which ``focus`` in ``graph`` departs from ``shape``; ``message`` is for a person.

    ``component`` is the local name of the SHACL property that was not met (``minCount``), ``path`` an IRI, with ``^``
    before it when it is read backwards. ``terms`` are the terms behind these texts.
    """

    graph: str
    focus: str
    message: str
    shape: str = ""
    path: str = ""
    value: str = ""
    severity: str = "Violation"
    component: str = ""
    terms: ViolationTerms | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class ViolationTerms:
    """A SHACL validation result in the terms of data and shapes.

    ``path`` is the node of the path in the shapes graph. ``described`` are the triples of ``shape`` and ``path`` where
    these are blank nodes. ``constraint`` is the SPARQL one; ``details`` results of the shape that a value had to meet.
    """

    focus: Term
    shape: Term
    component: ox.NamedNode
    severity: ox.NamedNode
    messages: tuple[ox.Literal, ...]
    value: Term | None = None
    path: Term | None = None
    described: tuple[ox.Triple, ...] = ()
    constraint: Term | None = None
    details: tuple[ViolationTerms, ...] = ()


@dataclass(frozen=True, slots=True)
class Publication:
    """What became of drafts: graph IRIs, violations of those in quarantine; ``removed``: what files have no more."""

    revision: int
    published: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    quarantined: tuple[str, ...] = ()
    violations: tuple[Violation, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def faults(self) -> list[str]:
        """Why graphs were put in quarantine, a line for each violation."""
        return [f"in quarantine: {violation.focus}: {violation.message}" for violation in self.violations]


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a SELECT: ``rows[i][j]`` is the term of ``variables[j]``, or None where it is unbound."""

    variables: tuple[str, ...]
    rows: list[tuple[Term | None, ...]]

    def __iter__(self) -> Iterator[tuple[Term | None, ...]]:
        """Yield the rows."""
        return iter(self.rows)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.rows)

    def values(self) -> list[tuple[str, ...]]:
        """Return every term as plain text: an IRI without brackets, a literal's lexical form, "" where unbound."""
        return [tuple(plain(term) for term in row) for row in self.rows]

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.variables)
        rows = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in self.values())
        return f"<table><thead><tr>{head}</tr></thead><tbody><tr>{'</tr><tr>'.join(rows)}</tr></tbody></table>"


def plain(term: Term | None) -> str:
    """Return a term as plain text: an IRI without brackets, a literal's lexical form, "" for an unbound variable."""
    return "" if term is None else str(term) if isinstance(term, ox.Triple) else term.value


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered request to a language model.

    ``name`` is the prompt's file (``og_rag/map``), ``variables`` what it was rendered from (a model without a network
    reads these), ``schema`` the JSON Schema of the reply (None: free text), ``like`` a prompt of the same inputs and
    output. ``divisible``: where its reply is cut, it is asked in parts and not again whole.
    """

    name: str
    text: str
    variables: Mapping[str, Any] = field(default_factory=dict)
    schema: Mapping[str, Any] | None = None
    like: str = ""
    divisible: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """What completions cost: ``completions`` asked of a model (cached ones are not), and tokens as it counted them."""

    completions: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Add up two costs."""
        inputs = self.input_tokens + other.input_tokens
        return Usage(self.completions + other.completions, inputs, self.output_tokens + other.output_tokens)


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply to a prompt; ``kgrag.llm.structured_output`` reads it, and refuses one that was cut.

    ``data`` is the parsed JSON where a schema was asked for. ``problem`` is "" when all is well; otherwise it says why
    the reply, even after one repair round, is not what the schema asks for, and ``data`` is None. ``finish`` is why the
    reply ends: "stop" at its own end, "length" cut at the limit of its tokens, "prompt_length" never begun, because the
    prompt was too long for the model, "content_filter" withheld.
    """

    text: str
    data: Any = None
    model: str = ""
    usage: Usage = Usage()
    problem: str = ""
    finish: Literal["stop", "length", "prompt_length", "content_filter"] = "stop"


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved piece of evidence; ``score`` is comparable within one result only, larger is better."""

    iri: str
    kind: str
    text: str
    score: float
    sources: tuple[Span, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        return f"<p><b>{self.score:.3f}</b> <code>{html.escape(self.iri)}</code><br>{html.escape(self.text)}</p>"


@dataclass(frozen=True, slots=True)
class Reranking:
    """Hits in the order of a reranker and what that cost; ``problem`` says why they are as they were, "" otherwise."""

    hits: tuple[Hit, ...]
    usage: Usage = Usage()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a filter lets through: IRIs of documents, and of their chunks.

    What was made of several documents, as a summary is, may be found only if all of them are allowed.
    """

    documents: frozenset[str]
    chunks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Citation:
    """Words of a stored chunk that carry a sentence: ``quote == document.text[start:end]``; ``sentence`` counts from 0.

    ``derived`` is "" where they do. Where no sentence of the sources carries it, ``quote`` is a whole chunk, and
    ``derived`` has the words of the summary or fact that a model wrote from this chunk, perhaps with others. ``place``
    is as of a span.
    """

    quote: str
    document: str
    chunk: str
    start: int
    end: int
    sentence: int = 0
    derived: str = ""
    place: Place | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Value:
    """A short answer, cut out of a citation; a list is several of them.

    Args:
        kind: of what; an identifier such as an ISBN is "text".
        text: as the citation has it; "yes", "no", or of a study "maybe".
        value: in normal form: ISO 8601 for a date (also ``2021-08``, ``1957``, ``1908/1913`` for a time between two),
            digits and a point for a number, "true" or "false" for yes or no; "" where it is the text.
        unit: of a number; "" for none.
        iri: of an entity; "" for none.
        citation: the number of the citation that has it, from 0; -1 where there is none.
    """

    kind: Literal["entity", "text", "number", "date", "boolean", "choice"]
    text: str
    value: str = ""
    unit: str = ""
    iri: str = ""
    citation: int = -1

    @property
    def shown(self) -> str:
        """The text, with the unit where that stands in the label of a column."""
        return self.text if not self.unit or self.unit in self.text else f"{self.text} {self.unit}"


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A sentence of a reply that was left out: ``missing`` are the numbers, dates and names that it does not cite.

    ``place`` is the number of sentences of the answer before it.
    """

    sentence: str
    missing: tuple[str, ...]
    place: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, and what carries it.

    ``unknown`` is True when the evidence does not carry an answer; ``text`` then says so, and ``nearest`` has the
    sentences that come nearest to one, where the model names any. ``failure`` is why a model's reply could not be used,
    "" where it was: the evidence may carry an answer, or more. ``dropped`` counts quotes that are in no evidence,
    sentences that were left without a citation, and those in ``unsupported``. ``values`` are the short answers, ()
    where no rule finds one; ``confidence`` is the probability, 0 to 1, that the answer is right, None where the model
    states none. ``not_stated`` says in the model's words what part of the question the evidence leaves open, "" for
    none; no text carries it.

    In a conversation ``question`` is the full question, ``asked`` what the user wrote where that differs, and
    ``unresolved`` why a follow-up may not have been made full; ``conversation`` is its name, "" where it is not kept,
    and ``turn`` counts from 1.
    """

    question: str
    text: str
    method: str
    unknown: bool = False
    sentences: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    hits: tuple[Hit, ...] = ()
    usage: Usage = Usage()
    dropped: Mapping[str, int] = field(default_factory=dict)
    sparql: str = ""
    explain: tuple[str, ...] = ()
    unsupported: tuple[Unsupported, ...] = ()
    values: tuple[Value, ...] = ()
    confidence: float | None = None
    nearest: tuple[Citation, ...] = ()
    not_stated: str = ""
    failure: str = ""
    asked: str = ""
    unresolved: str = ""
    conversation: str = ""
    turn: int = 0

    def _repr_html_(self) -> str:
        quotes = "".join(f"<li>{html.escape(citation.quote)}</li>" for citation in self.citations)
        return f"<p>{html.escape(self.text)}</p><ol>{quotes}</ol>"


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """A sentence of an answer that is still being written, with its citations, which were found in stored chunks.

    ``number`` counts sentences from 0, ``first`` is the number of its first citation in the answer, from 1.
    """

    number: int
    text: str
    citations: tuple[Citation, ...]
    first: int = 1

    @property
    def marked(self) -> str:
        """The sentence with the markers ``[1]`` of its citations, as the text of the answer has it."""
        return " ".join([self.text, *(f"[{self.first + at}]" for at in range(len(self.citations)))])


NO_COMPLETIONS: Mapping[str, int] = MappingProxyType({"completions": 0, "input_tokens": 0, "output_tokens": 0})
"""Counts of a dry run that asks nothing of a language model."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build wrote: counts by name (``hyperedges``, ``blocks`` …), what it cost, and notes for a person.

    ``pending``: each part that was not done, and why; the next build asks again. ``left_out``: what no share asked for.
    """

    method: str
    counts: Mapping[str, int] = field(default_factory=dict)
    usage: Usage = Usage()
    notes: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    left_out: str = ""
