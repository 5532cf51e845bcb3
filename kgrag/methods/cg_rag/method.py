"""The method: draw the citation graph, retrieve by LeSeGR, answer with summaries of the chunks linked to the hits."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from kgrag import queries
from kgrag.answering import cited_answers
from kgrag.answering.labelled_questions import Labelled
from kgrag.answering.passage_hits import passage_hits
from kgrag.errors import InvalidSettings, NotBuilt
from kgrag.index import bm25, vector_spaces
from kgrag.index.array_files import FileFault
from kgrag.index.bm25 import LexicalIndex
from kgrag.methods.cg_rag import (
    CgRagOptions,
    citation_arrays,
    citation_graph,
    citations,
    lesegr,
    neighbourhoods,
    training,
)
from kgrag.methods.cg_rag.citation_arrays import CitationArrays, FloatArray, IntArray, QuestionView, ReachLimits
from kgrag.methods.cg_rag.document_votes import DocumentVotes, Signals
from kgrag.methods.cg_rag.markers import author_years
from kgrag.methods.cg_rag.training_examples import TrainingExample, TrainingRecipe, read_examples, refuse_leaks
from kgrag.model import NO_COMPLETIONS, Allowed, Answer, BuildReport, Hit, Usage
from kgrag.ports import Embedder, LanguageModel, Progress, TripleStore, VectorIndex, VectorSpaces

__all__ = ["CgRag"]

_SPACE = "chunk"
_AGED = (
    "the edges of {count} documents are weighed by how rare words were when the corpus was another; "
    "`kgrag build cg_rag --redraw` weighs them anew."
)
_CHUNKS_PER_HIDDEN_DOCUMENT = 200
_ENCODERS = ("auto", "trained", "untrained")
_AGGREGATIONS = ("votes", "mean", "sum")


@dataclass(frozen=True, slots=True)
class CgRag:
    """Retrieves chunks of a citation graph by lexical and semantic signals that are passed along its edges.

    Args:
        store: contains documents and the citation graph.
        spaces: store the vectors of chunks.
        embedder: embeds chunks and questions.
        model: summarises neighbourhoods and writes answers; not used to retrieve.
        lexical: folder of the BM25 index and of the citation arrays; None keeps them in memory.
        weights: folder of the trained encoder; None keeps it in memory.
        encoder: "trained" scores by the trained encoder, "untrained" without; "auto" takes the trained one when there
            is one that fits the embedder and ranked better than votes on held-out documents.
        aggregation: without an encoder, "votes" of citing documents for what they cite (no part of the paper), or
            LeSeGR's messages between chunks as their "mean" or "sum".
        exponent: of the number of votes by which their sum is divided, 0 (sum) to 1 (mean).
        votes: what the vote of the most relevant document is worth, where its own relevance is worth 1; at least 0.
        markers: what an author-year marker of the question is worth at most, likewise.
        top: K, edges from a chunk into each cited document; read when building; at least 1.
        candidates: N, of each signal, at least 1.
        hops: how far from a candidate messages come, 0 to 2.
        width: the largest number of chunks that join the candidates.
        fan: the largest number of messages that a chunk receives, at least 1.
        layers: L of the messages of "mean" and "sum", at least 1; a trained encoder has its own.
        neighbours: how many neighbours of a hit are summarised for an answer; 0 answers from the hits alone.
        read_only: leaves the files on disk as they are.

    Raises:
        InvalidSettings: a value is outside its range.

    Deviations:
        The paper's messages without training are ``aggregation=mean``. Averaged, they ranked worse than no graph at all
        on cited papers, because a paper that many cite hears many that speak of something else; votes of documents
        ranked better than these, than their sum and than how often a paper is cited (``benchmarks.cg_rag_votes``).
    """

    name: ClassVar[str] = citation_graph.METHOD

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    lexical: Path | None = None
    weights: Path | None = None
    encoder: Literal["auto", "trained", "untrained"] = "auto"
    top: int = 4
    candidates: int = 50
    hops: int = 2
    width: int = 256
    fan: int = 16
    layers: int = 1
    aggregation: Literal["votes"] | lesegr.Aggregation = "votes"
    exponent: float = 0.5
    votes: float = 0.5
    markers: float = 2.0
    neighbours: int = 8
    read_only: bool = False

    def __post_init__(self) -> None:
        for name, known in (("encoder", _ENCODERS), ("aggregation", _AGGREGATIONS)):
            if getattr(self, name) not in known:
                message = f"cg_rag: {name} {getattr(self, name)!r} is unknown. Use one of {', '.join(known)}."
                raise InvalidSettings(message)
        counts = ("top", "candidates", "fan", "layers")
        if any(getattr(self, name) < 1 for name in counts) or min(self.width, self.neighbours) < 0:
            raise InvalidSettings(f"cg_rag: use {', '.join(counts)} from 1, width and neighbours from 0.")
        if not 0 <= self.exponent <= 1 or min(self.votes, self.markers) < 0:
            raise InvalidSettings("cg_rag: use an exponent from 0 to 1, votes and markers from 0.")
        if not 0 <= self.hops <= 2:
            raise InvalidSettings(f"cg_rag: hops is {self.hops}. Use 0, 1 or 2.")

    def build(
        self,
        options: CgRagOptions = CgRagOptions(),
        *,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> BuildReport:
        """Resolve citations, draw the edges that changed, embed the chunks; again changes nothing.

        Args:
            options: ``redraw`` weighs those edges anew as well that were weighed when the corpus was another.
            progress: called after each batch.
            dry_run: count the chunks that would be embedded, and write nothing.

        Raises:
            NotBuilt: the store holds no chunk.
            EmbeddingMismatch: the vectors on disk were made by another embedder.
        """
        revision, chunks = self.store.revision, citation_graph.chunks_of(self.store)
        if not chunks:
            raise NotBuilt("method 'cg_rag' has no passage to link. Run `kgrag ingest PATH` first.")
        if dry_run:
            embedded = vector_spaces.missing(_SPACE, store=self.store, spaces=self.spaces)
            return BuildReport(self.name, {"documents": len(chunks), "embedded": embedded, **NO_COMPLETIONS})
        dense, words = self._dense(progress), self._words(progress)
        found = citations.read_citations(self.store)
        signals = citation_graph.EdgeSignals(dense, words, self.embedder.identity, self.top)
        drawn = citation_graph.draw(self.store, chunks, found, signals, redraw=options.redraw, progress=progress)
        arrays = self._arrays(citation_arrays.ReadDocuments(chunks, found.bylines, revision))
        edges = len(arrays.neighbours) // 2
        counts = {"documents": len(chunks), "chunks": len(arrays), "edges": edges, **found.counts}
        counts |= {"drawn": drawn.drawn, "unchanged": drawn.unchanged, "dropped": drawn.dropped}
        notes = (_AGED.format(count=drawn.aged),) if drawn.aged else ()
        return BuildReport(self.name, counts, notes=notes, pending=tuple(drawn.pending))

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return the k best chunks, best first; ties by IRI.

        Raises:
            NotBuilt: there is no citation graph, or no trained encoder where one was asked for.
            InvalidSettings: k is below 1.
            EmbeddingMismatch: the vectors on disk were made by another embedder.
        """
        if k < 1:
            raise InvalidSettings(f"cg_rag: k is {k}. Ask for at least 1 passage.")
        return passage_hits(self.store, self.ranking(question, k))

    def retrieve_without(self, question: str, k: int, excluded: Collection[str]) -> list[Hit]:
        """Retrieve as if documents, by the identifiers of their source, were not in the collection. Raises as above."""
        without = citation_graph.documents_named(self.store, excluded)
        return passage_hits(self.store, self.ranking(question, k, without=without))

    def retrieve_among(self, question: str, k: int, allowed: Allowed) -> list[Hit]:
        """Retrieve as if only the allowed documents were in the collection. Raises as above."""
        if k < 1:
            raise InvalidSettings(f"cg_rag: k is {k}. Ask for at least 1 passage.")
        return passage_hits(self.store, self.ranking(question, k, allowed=allowed))

    def ranking(
        self, question: str, k: int, *, without: Sequence[str] = (), allowed: Allowed | None = None
    ) -> list[tuple[str, float]]:
        """Return at most k (chunk, score) pairs, best first, as if documents ``without`` or not allowed were not there.

        Raises:
            NotBuilt: as ``retrieve``.
        """
        arrays, trained = self._built(), self._trained_encoder()
        if trained is None and self.aggregation == "votes":
            return self._votes().ranking(question, self._signals(question, without, allowed), arrays, k)
        view = self.view(question, without, allowed)
        if trained is not None:
            scores = trained.scores(view)
        else:
            kind: lesegr.Aggregation = "sum" if self.aggregation == "sum" else "mean"
            scores = lesegr.scores(
                view.subgraph, view.gates, view.dense, view.question, layers=self.layers, aggregation=kind
            )
        best = np.lexsort((view.nodes, -scores))[:k]
        return list(zip(arrays.iris.at(view.nodes[best]), scores[best].tolist(), strict=True))

    def claims(self, question: str) -> bool:
        """Return whether an author-year marker of the question means a document of the collection."""
        named = author_years(question)
        return bool(named) and self._arrays().meant_by(named)

    def answer(self, question: str, k: int) -> Answer:
        """Answer from the k best chunks, each with a summary of what is linked to it (section 4.4).

        Raises:
            NotBuilt: as ``retrieve``.
            ServiceError: the model failed.
        """
        return self._answer_from(question, self.retrieve(question, k), None)

    def answer_among(self, question: str, k: int, allowed: Allowed) -> Answer:
        """Answer as if only the allowed documents were in the collection. Raises as above."""
        return self._answer_from(question, self.retrieve_among(question, k, allowed), allowed)

    def _answer_from(self, question: str, hits: list[Hit], allowed: Allowed | None) -> Answer:
        spent = Usage()
        if self.neighbours:
            neighbourhood = neighbourhoods.Neighbourhood(self.store, self.neighbours, allowed)
            hits, spent = neighbourhoods.with_context(question, hits, neighbourhood, model=self.model)
        answer = cited_answers.answer(question, hits, model=self.model, store=self.store, method=self.name)
        return replace(answer, usage=spent + answer.usage)

    def train(
        self,
        questions: Sequence[Labelled],
        *,
        held_out: Sequence[Labelled] = (),
        recipe: TrainingRecipe = TrainingRecipe(),
        progress: Progress | None = None,
    ) -> BuildReport:
        """Train the graph encoder on questions whose documents are known, and keep it when it is better than none.

        Args:
            questions: to learn from; a share of their documents is left out to know when to stop.
            held_out: questions that it will be measured on. One that is among ``questions`` is an error.
            recipe: how it is trained.
            progress: called as questions are read and after each epoch.

        Raises:
            NotBuilt: there is no citation graph.
            InvalidSettings: a question is on both sides, or too few name a document of the store.
        """
        arrays, started = self._built(), datetime.now(UTC)
        refuse_leaks(questions, held_out)
        # embedded in one batch, which the embedder remembers when each question is looked at by itself
        self.embedder.embed([question.text for question in questions], "query")
        examples = read_examples(questions, store=self.store, arrays=arrays, view=self.view, progress=progress)
        file = self._encoder_file()
        return training.train(
            examples,
            recipe,
            file,
            asked=len(questions),
            started=started,
            by_votes=lambda example: self._reciprocal_rank_by_votes(example, arrays),
            progress=progress,
        )

    def _reciprocal_rank_by_votes(self, example: TrainingExample, arrays: CitationArrays) -> float:
        signals = self._signals(example.question, example.without, None)
        _, best, said = self._votes().scores(example.question, signals, arrays)
        total = (best + said)[example.documents]
        better = (total > total[example.right].max()) & ~example.right
        return 1 / (1 + len(np.unique(example.documents[better])))

    @staticmethod
    def recipe() -> TrainingRecipe:
        """Return the default recipe of training."""
        return TrainingRecipe()

    def trained_on(self, questions: Sequence[str]) -> list[str]:
        """Return those of the questions that the trained encoder, where it is in use, has learned from."""
        trained = self._trained_encoder()
        return [] if trained is None else trained.learned_from(questions)

    def picture(self, subject: str) -> str:
        """Return a web page of a chunk and its neighbours, with kinds and weights of edges. Raises UnknownName."""
        return neighbourhoods.page(neighbourhoods.Neighbourhood(self.store, max(self.neighbours, 1)), subject)

    def statistics(self) -> dict[str, Any]:
        """Count the edges of each kind, resolved and unresolved citations, and name the encoder that is in use."""
        table = self.store.select(queries.bind("cg_rag/counts", catalogue=self.store.names.catalogue)).values()
        figures: dict[str, Any] = {kind.rpartition("#")[2]: int(count) for kind, count in table}
        encoder = "untrained" if self._trained_encoder() is None else "trained"
        return figures | citations.read_citations(self.store).counts | {"encoder": encoder}

    def file_faults(self) -> list[FileFault]:
        """Compare the files of the citation arrays and of the trained encoder with the store."""
        return [*citation_arrays.faults(self.store, self.lexical), *self._encoder_file().faults()]

    def view(self, question: str, without: Sequence[str] = (), allowed: Allowed | None = None) -> QuestionView:
        """Return what a question reaches, as if the documents ``without`` or not allowed were not there."""
        arrays, index, signals = self._built(), self._dense(None), self._signals(question, without, allowed)
        gates = lesegr.gates(signals.relevance)
        candidates = np.union1d(_most_relevant(signals.relevance, self.candidates), signals.nearest).astype(np.int64)
        limits = ReachLimits(self.hops, self.width, self.fan)
        subgraph = arrays.around(candidates, gates, limits, without=signals.hidden)
        dense = index.vectors(arrays.iris.at(subgraph.nodes))
        return QuestionView(subgraph, gates[subgraph.nodes], dense, signals.vector)

    def _signals(self, question: str, without: Sequence[str], allowed: Allowed | None) -> Signals:
        """Return the relevance of every chunk by words, and the nearest chunks by meaning."""
        arrays, index, words = self._built(), self._dense(None), self._words(None)
        vector = self.embedder.embed([question], "query")[0]
        relevance = words.relevance(question)
        if len(words) != len(arrays):  # another thread wrote to the store between the two: match them by IRI
            places = words.iris.places(arrays.iris.at(np.arange(len(arrays))))
            relevance = np.append(relevance, np.float32(0))[places]  # -1, for a chunk without words, is the 0
        hidden = citation_arrays.document_numbers(arrays, without)
        # the nearest chunks may all be hidden: so many more are searched that enough others are left
        depth, within = self.candidates + _CHUNKS_PER_HIDDEN_DOCUMENT * len(hidden), None
        if allowed is not None:
            hidden, within = np.union1d(hidden, arrays.documents_beside(allowed.chunks)), allowed.chunks
        if len(hidden):
            relevance = np.where(np.isin(arrays.documents, hidden), 0, relevance).astype(np.float32)
        found = index.search(vector, depth, within)
        places = arrays.iris.places([iri for iri, _ in found])
        cosines = np.array([cosine for _, cosine in found], dtype=np.float64)
        seen = (places >= 0) & ~np.isin(arrays.documents[places], hidden)
        nearest = places[seen][: self.candidates]
        return Signals(vector, relevance, nearest, cosines[seen][: self.candidates], hidden)

    def _votes(self) -> DocumentVotes:
        return DocumentVotes(self.exponent, self.votes, self.markers)

    def _built(self) -> CitationArrays:
        arrays = self._arrays()
        if not len(arrays.neighbours) and not citation_arrays.has_citation_graph(self.store):
            raise NotBuilt("method 'cg_rag' has no citation graph yet. Run `kgrag build cg_rag` first.")
        return arrays

    def _arrays(self, known: citation_arrays.ReadDocuments | None = None) -> CitationArrays:
        return citation_arrays.fresh(self.store, self.lexical, save=not self.read_only, known=known)

    def _encoder_file(self) -> training.EncoderFile:
        return training.EncoderFile(self.store, self.weights, self.embedder.identity)

    def _trained_encoder(self) -> training.TrainedEncoder | None:
        if self.encoder == "untrained":
            return None
        trained = self._encoder_file().load()
        if self.encoder == "auto" and trained is not None and not trained.beats_votes:
            return None
        if trained is None and self.encoder == "trained":
            raise NotBuilt(
                "method 'cg_rag' has no trained encoder that fits the embedder. "
                "Run `kgrag train cg_rag --questions FILE.jsonl`, or ask without encoder=trained."
            )
        return trained

    def _dense(self, progress: Progress | None) -> VectorIndex:
        return vector_spaces.fresh(
            _SPACE, store=self.store, spaces=self.spaces, embedder=self.embedder, progress=progress
        )

    def _words(self, progress: Progress | None) -> LexicalIndex:
        return bm25.fresh(self.store, self.lexical, save=not self.read_only, progress=progress)


def _most_relevant(relevance: FloatArray, count: int) -> IntArray:
    """Return the numbers of the most relevant chunks that are relevant at all; ties by number."""
    chunks = np.flatnonzero(relevance > 0)
    if len(chunks) > count:
        chunks = chunks[relevance[chunks] >= np.partition(relevance[chunks], -count)[-count]]
    return chunks[np.lexsort((chunks, -relevance[chunks]))][:count]
