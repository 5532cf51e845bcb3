"""Protocols: what a method needs of the world. Adapters make them real, ``kgrag.testing`` has fakes.

What the world may ask of a method beyond ``Method`` is in ``kgrag.capabilities``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

import pyoxigraph as ox

from kgrag.model import (
    BuildReport,
    Chunk,
    Completion,
    Document,
    GraphDraft,
    Hit,
    Prompt,
    Publication,
    Reranking,
    Table,
    Violation,
)
from kgrag.vocab import Names

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "Chunker",
    "Closes",
    "CopiesItself",
    "DescribesItself",
    "Embedder",
    "FindsDamage",
    "LanguageModel",
    "Leases",
    "Method",
    "OpenedStore",
    "Progress",
    "Reranker",
    "ReranksAtCost",
    "Scratch",
    "Stage",
    "StreamsText",
    "TripleStore",
    "Validator",
    "VectorIndex",
    "VectorSpaces",
    "Vectors",
    "Workbench",
    "Workers",
    "WritesAnew",
]

Vectors: TypeAlias = "npt.NDArray[np.float32]"
Progress = Callable[[str, int, int], None]
"""Called after each batch with (what is being done, how many are done, of how many; 0 when that is not known)."""


class LanguageModel(Protocol):
    """Turns prompts into completions; concurrency, rate limits and retries live inside."""

    @property
    def identity(self) -> str:
        """Model and parameters, as they go into cache keys and provenance."""

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order. Raises ServiceError; a reply off its schema is no error."""

    def as_completed(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Completion]]:
        """Yield (index, completion) as replies arrive, so that a cache can keep each before the next."""


@runtime_checkable
class StreamsText(Protocol):
    """A language model that can pass on a reply while it is being written."""

    def complete_streamed(self, prompt: Prompt, on_text: Callable[[str], None]) -> Completion:
        """Return the completion of a prompt as ``complete`` does; ``on_text`` gets its text before, piece by piece.

        Once a piece was passed on, nothing is asked again: an error is raised then. Raises ServiceError.
        """


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def dimension(self) -> int:
        """Length d of a vector."""

    @property
    def identity(self) -> str:
        """Model name and precision, recorded with every vector space."""

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """Return a float32 array of shape (len(texts), d) with unit rows; shape (0, d) for no texts."""


class Chunker(Protocol):
    """Cuts a document into chunks; ``kgrag.text.chunking.chunk`` is the default one."""

    def __call__(self, document: Document, *, tokens: int) -> list[Chunk]:
        """Return chunks of at most so many tokens, each with ``text == document.text[start:end]``, in order."""


class Reranker(Protocol):
    """Puts the hits of a method into a better order for a question."""

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits, or some of them, best first, with scores of its own; none is added."""


@runtime_checkable
class ReranksAtCost(Protocol):
    """A reranker that reports what it cost, and why it left an order as it was."""

    def reranking(self, question: str, hits: Sequence[Hit]) -> Reranking:
        """Return the hits as ``rerank`` does."""


@runtime_checkable
class Closes(Protocol):
    """Has files or connections that are to be closed."""

    def close(self) -> None:
        """Close them."""


@runtime_checkable
class FindsDamage(Protocol):
    """Can read all that it has stored, and name what is damaged."""

    def damage(self) -> list[str]:
        """Read everything; return what is damaged and the way out, one sentence each."""


class Leases(Protocol):
    """Who may change what several processes reach: one holder at a time, each with a higher number than all before it.

    A lease ends by itself, so that what a holder that died had is free again. Time alone protects nothing: a holder
    that was stopped for long goes on as if nothing had happened. So its number travels with each change, and whatever
    takes the change refuses it, in the same atomic step, once it has seen a higher number for that resource.
    """

    def acquire(self, resource: str, holder: str, seconds: float) -> int:
        """Return the number of a new lease, higher than every number that the resource had before.

        Args:
            resource: what is to be changed.
            holder: who asks, in words for a person; the lease of the same holder is taken over.
            seconds: when the lease ends unless it is renewed.

        Raises:
            StoreLocked: somebody else has it, whom the message names; ask again.
            StorageFailed: where leases are kept cannot be reached.
        """

    def renew(self, resource: str, number: int, seconds: float) -> None:
        """Write that a lease ends so many seconds from now; also one that has ended, while nobody else has taken it.

        Raises:
            StoreLocked: the lease was released, or there is one with a higher number, whose holder the message names.
            StorageFailed: where leases are kept cannot be reached.
        """

    def release(self, resource: str, number: int) -> None:
        """End a lease now; do nothing where it is no longer the latest one. Its number is never used again.

        Raises:
            StorageFailed: where leases are kept cannot be reached.
        """


@runtime_checkable
class CopiesItself(Protocol):
    """Is elsewhere, and can be copied here for who asks by the hundred."""

    def copied(self) -> AbstractContextManager[TripleStore]:
        """Return a copy that can be read, as it is now. Raises StorageFailed: less came than there is."""


class TripleStore(Protocol):
    """Named graphs: read by SPARQL, written by ``publish`` (validated, atomic) or ``update``."""

    @property
    def names(self) -> Names:
        """The IRIs of this knowledge base."""

    @property
    def revision(self) -> int:
        """Count of changes so far; 0 for a store just created."""

    def __len__(self) -> int:
        """Count the quads."""

    def select(self, query: str) -> Table:
        """Run a SELECT. Raises InvalidSPARQL."""

    def ask(self, query: str) -> bool:
        """Run an ASK. Raises InvalidSPARQL."""

    def construct(self, query: str) -> list[ox.Triple]:
        """Run a CONSTRUCT or DESCRIBE. Raises InvalidSPARQL."""

    def update(
        self, update: str, *, graphs: Sequence[ox.NamedNode] | None = None, subjects: Collection[str] | None = None
    ) -> int:
        """Run a SPARQL Update atomically and return the new revision. Raises InvalidSPARQL.

        ``graphs`` are those whose triples it may change, where a caller knows them; None: its text is read.
        ``subjects`` are the IRIs whose texts it may change or take away; None: those of the graphs are read.
        """

    def publish(self, drafts: Sequence[GraphDraft], *, conforming: Collection[ox.NamedNode] = ()) -> Publication:
        """Validate drafts in a scratch store, then write all that conform at once; the rest goes to quarantine.

        ``conforming`` are graphs whose drafts were validated as new ones elsewhere; they are not validated again.
        """

    def remove(self, graphs: Sequence[ox.NamedNode]) -> int:
        """Drop graphs and their catalogue entries in one atomic step; returns how many there were."""

    def rewrite(self) -> None:
        """Write the whole store anew, so that no file of it has a term that no triple has. Raises StorageFailed."""

    def restate(self, leaving: Sequence[ox.Quad], entering: Sequence[ox.Quad]) -> int:
        """Take statements that describe no graph out of the catalogue and put others in; return the new revision."""

    def stating(self, statements: Sequence[ox.Quad]) -> AbstractContextManager[None]:
        """Write statements to the catalogue with the first change that is made meanwhile, in the same atomic step."""

    def triples(self, *graphs: ox.NamedNode) -> Iterator[ox.Triple]:
        """Yield the triples of named graphs."""

    def quads_of_kinds(self, kinds: Sequence[ox.NamedNode]) -> Iterator[ox.Quad]:
        """Yield the quads of every graph of some kinds."""

    def described(self, graph: ox.NamedNode) -> bool:
        """Return whether the catalogue knows this graph."""

    def dump(self, target: Path) -> int:
        """Write every quad as N-Quads (gzipped when the name ends in .gz) and return their count."""

    def load(self, source: Path) -> int:
        """Add every quad of an N-Quads file in one atomic step and return their count."""

    def snapshot(self, folder: Path) -> None:
        """Write a consistent copy of the store into a new folder."""

    def flush(self) -> None:
        """Make all that was acknowledged survive a power cut."""

    def close(self) -> None:
        """Flush and release the lock."""


class OpenedStore(TripleStore, Protocol):
    """What a knowledge base is opened on: a triple store that also runs queries of users, past a gate."""

    def query(
        self, sparql: str, *, union: bool = False, calls: Mapping[ox.NamedNode, Callable[..., Any]] | None = None
    ) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
        """Run a query from outside; ``union`` merges all named graphs into the default graph. Raises InvalidSPARQL."""

    def follow(self) -> int:
        """Learn of changes that another process made, where that can be; return the revision."""

    def reach(self) -> None:
        """Ask the server that the triples are on, if there is one, whether it answers. Raises StorageFailed."""


class Scratch(Protocol):
    """A small store in memory that is filled anew for every question; not for use by several threads at once."""

    def fill(self, quads: Sequence[ox.Quad]) -> None:
        """Forget what was there, and hold these quads."""

    def select(self, query: str) -> Table:
        """Run a SELECT. Raises InvalidSPARQL."""


class Workbench(Scratch, Protocol):
    """A scratch store on which an audit works: it grows, and changes can be tried out on it."""

    @property
    def names(self) -> Names:
        """The IRIs of no knowledge base in particular."""

    def add(self, quads: Iterable[ox.Quad]) -> None:
        """Hold these quads as well."""

    def ask(self, query: str) -> bool:
        """Run an ASK. Raises InvalidSPARQL."""

    def construct(self, query: str) -> list[ox.Triple]:
        """Run a CONSTRUCT. Raises InvalidSPARQL."""

    def change(self, update: str) -> None:
        """Run a SPARQL Update. Raises InvalidSPARQL."""

    def move_to_disk(self) -> None:
        """Hold the content, and what is added, on disk rather than in memory."""

    def settle(self) -> None:
        """Put what is on disk into the order in which it is read fastest."""

    def __contains__(self, quad: ox.Quad) -> bool:
        """Return whether a quad is held."""

    def triples(self, graph: ox.NamedNode) -> Iterator[ox.Triple]:
        """Yield the triples of one named graph."""

    def another(self) -> Workbench:
        """Return a new scratch store of this kind, which is empty."""


Stage = Callable[[Any], Any]
"""A pure function from an Arrow table to an Arrow table, made of values that can be pickled."""


class Workers(Protocol):
    """Do what is pure in other processes, or on other machines: stages from an Arrow table to an Arrow table."""

    def results(self, stage: str, tables: Iterable[Any]) -> Iterator[Any]:
        """Yield what a stage makes of each table, in their order, row for row; a few tables are read ahead.

        Every result has a column ``error``: "", or why a row was not done; its other columns are then null.

        Raises:
            StorageFailed: what is handed over cannot be written or read.
        """


Validator = Callable[[TripleStore, Sequence[GraphDraft]], list[Violation]]
"""Checks drafts that were written, with their catalogue entries, to a scratch store."""


class VectorIndex(Protocol):
    """One vector space: unit vectors keyed by IRI."""

    @property
    def revision(self) -> int:
        """The store revision that the saved vectors reflect; -1 before anything was saved."""

    def __len__(self) -> int:
        """Count the keys."""

    def __contains__(self, iri: object) -> bool:
        """Return whether a key is there."""

    def lacking(self, iris: Sequence[str]) -> list[str]:
        """Return those keys that are not there, in their order."""

    def keys(self) -> list[str]:
        """Return every key."""

    def upsert(self, iris: Sequence[str], vectors: Vectors) -> None:
        """Add or replace vectors, shape (len(iris), d)."""

    def delete(self, iris: Collection[str]) -> None:
        """Drop keys; unknown ones are ignored."""

    def search(self, vector: Vectors, k: int, within: Collection[str] | None = None) -> list[tuple[str, float]]:
        """Return at most k (IRI, cosine) pairs, best first, ties by IRI; among ``within`` only, unless it is None."""

    def vectors(self, iris: Sequence[str]) -> Vectors:
        """Return the stored vectors of known keys, shape (len(iris), d). Raises KeyError."""

    def save(self, revision: int) -> None:
        """Write everything to new files, then swap. Raises StorageFailed; the old files are then unchanged."""


@runtime_checkable
class DescribesItself(Protocol):
    """Is elsewhere, and can say what it is and how far it is."""

    def described(self, revision: int) -> str:
        """Return what is used, its versions, and how far it is behind a revision of the store. Raises StorageFailed."""


@runtime_checkable
class WritesAnew(Protocol):
    """Keeps what was deleted until it is written anew."""

    def write_anew(self) -> None:
        """Write everything anew without what was deleted. Raises StorageFailed."""


class VectorSpaces(Protocol):
    """The vector spaces of a knowledge base."""

    def space(self, name: str) -> VectorIndex:
        """Open a space, creating it empty when absent or damaged. Raises EmbeddingMismatch."""

    def names(self) -> list[str]:
        """Return the names of the spaces that exist."""

    def drop(self, name: str) -> None:
        """Forget a space, whichever embedder made it; the next opening finds it empty."""

    def reach(self) -> None:
        """Ask the server that the spaces are on, if there is one, whether it answers. Raises StorageFailed."""


@runtime_checkable
class Method(Protocol):
    """A retrieval method: a frozen dataclass whose fields are ports and hyper-parameters.

    A field without a default, or with one of these names, is a port and filled in by its name: ``store``, ``spaces``,
    ``embedder``, ``model``, ``runner``, ``open_scratch``, ``lexical`` and ``weights`` (folders for sidecars; None in
    memory), ``method`` (returns another method by its name), ``workers`` (None where a build has none), ``read_only``.
    Every other field is a hyper-parameter, has a default, and can be set in ``name:field=value``.
    ``kgrag.testing.check_method`` tests a method.
    """

    @property
    def name(self) -> str:
        """Its name on the command line."""

    def build(self, options: Any = ..., *, progress: Progress | None = None, dry_run: bool = False) -> BuildReport:
        """Write the graphs and vectors that ``retrieve`` reads; building again changes nothing.

        Args:
            options: of the class that the method's declaration names.
            progress: called after each batch.
            dry_run: write nothing; the report's counts are ``completions``, ``input_tokens`` and ``output_tokens`` that
                a build would ask of the language model, and a note says which are estimates.
        """

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return at most k hits, best first. Raises NotBuilt."""
