"""``OgRag``: builds the hypergraph from mapped data or from text, and retrieves hyperedges."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from kgrag import queries
from kgrag.answering import cited_answers
from kgrag.errors import InvalidSettings, NotBuilt
from kgrag.index import bm25, vector_spaces
from kgrag.index.array_files import FileFault
from kgrag.index.bm25 import LexicalIndex
from kgrag.index.vector_table import unit_rows
from kgrag.mapping.factual_blocks import Pair, line
from kgrag.mapping.triage import triage_of
from kgrag.methods.og_rag import OgRagOptions, fact_texts, fact_words, hypergraph_arrays, hypergraph_drafts, user_rules
from kgrag.methods.og_rag.allowed_edges import allowed_edges
from kgrag.methods.og_rag.hyperedge_cover import Cover, covering
from kgrag.methods.og_rag.mapped_data import build_mapped
from kgrag.methods.og_rag.named_facts import named_facts
from kgrag.methods.og_rag.relevance import Asked, Relevant, by_fusion, by_paper
from kgrag.methods.og_rag.text_mapping import Extractor, build_from_text
from kgrag.methods.og_rag.weighed_cover import WeighedCover, weighed_covering
from kgrag.methods.og_rag.windows import fitting
from kgrag.model import NO_COMPLETIONS, Allowed, Answer, BuildReport, Hit
from kgrag.ports import Embedder, LanguageModel, Progress, Stage, TripleStore, VectorIndex, VectorSpaces, Workers
from kgrag.text.chunking import count_tokens

__all__ = ["OgRag"]

_KEYS, _VALUES = "hypernode-key", "hypernode-value"
_NEARLY = 1e-3  # how far the square of a vector's length is from 1 at most, so that the vector is taken as it is


@dataclass(frozen=True, slots=True)
class OgRag:
    """Ontology-grounded hypergraph retrieval.

    Args:
        store: holds ontologies, documents and the hypergraph.
        spaces: store the vectors of keys and values.
        embedder: embeds keys, values and questions.
        model: maps text onto the ontology, and writes answers; not used to retrieve.
        lexical: folder of the BM25 indexes and of the hypergraph's arrays; None keeps them in memory.
        nodes: k, how many hypernodes are relevant by key, and how many by value (paper: 10 with 5 edges, 5 with 2).
        edges: L, the largest number of hyperedges returned.
        scoring: "paper" takes the k nearest hypernodes by key and the k nearest by value, all worth the same; "fusion"
            takes as many by cosine and BM25 of key and value together, and better ones are worth more.
        cover: "weighed" divides what a hyperedge covers by its length, counts rarer hypernodes more, and pools the
            words of whole hyperedges; "greedy" is the paper's, and what ``scoring="paper"`` takes instead of "weighed";
            "exact" covers most.
        inverse_degree: whether in "greedy" and "exact" a hypernode that is in many hyperedges is worth less.
        depth: how many values each signal of "fusion" looks at, and how many hyperedges by their words.
        window_tokens: the largest window of text that is mapped at once; smaller where its reply would be too long.
        max_tokens: the longest reply of the model, in tokens; None where it is not limited.
        fact_tokens: how many tokens of facts an answer gets besides those of ``retrieve``, of the things that the
            question names; at least 0. A fact is about 40.
        rules: sentences of the user's (section 6.3) that join every result; stored by the next build.
        read_only: leaves the BM25 indexes and the arrays on disk as they are.
        workers: read the replies of a build from text; None: this process.

    Raises:
        InvalidSettings: a value is outside its range.

    Deviations:
        Figures of the paper are reached with ``scoring="paper"``. "fusion" is the default because it finds more of the
        answer on both published data sets. So is ``cover="weighed"``: the paper's cover rewards size
        (``weighed_cover``).
    """

    name: ClassVar[str] = hypergraph_drafts.METHOD

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    lexical: Path | None = None
    nodes: int = 10
    edges: int = 5
    scoring: Literal["fusion", "paper"] = "fusion"
    cover: Literal["weighed", "greedy", "exact"] = "weighed"
    inverse_degree: bool = False
    depth: int = 75
    window_tokens: int = 8192
    max_tokens: int | None = None
    fact_tokens: int = 600
    rules: tuple[str, ...] = ()
    read_only: bool = False
    workers: Workers | None = None

    def __post_init__(self) -> None:
        if min(self.nodes, self.edges, self.depth, self.window_tokens) < 1:
            raise InvalidSettings("og_rag: nodes, edges, depth and window_tokens are at least 1.")
        if self.fact_tokens < 0:
            raise InvalidSettings("og_rag: fact_tokens is at least 0.")
        if self.scoring not in ("fusion", "paper"):
            raise InvalidSettings(f"og_rag: scoring {self.scoring!r} is unknown. Use 'fusion' or 'paper'.")
        if self.cover not in ("weighed", "greedy", "exact"):
            raise InvalidSettings(f"og_rag: cover {self.cover!r} is unknown. Use 'weighed', 'greedy' or 'exact'.")

    def build(
        self, options: OgRagOptions = OgRagOptions(), *, progress: Progress | None = None, dry_run: bool = False
    ) -> BuildReport:
        """Write the hypergraph and embed its keys and values; building again passes over what is there.

        Args:
            options: ``mapped`` is a folder or file of mapped data; without it the model maps the documents in the
                store. ``as_published`` flattens mapped data as the published code does (Table 6).
                ``share`` below 1 maps only so many of the chunks, those that speak most of the ontologies
                (``kgrag.mapping.triage``); what is left out is neither pending nor failed.
            progress: called after each batch.
            dry_run: count the completions and tokens that a build from text would cost, and write nothing.

        Raises:
            InvalidSettings: ``share`` is outside its range, or given with ``mapped``.
            MappingError: nothing under ``mapped`` could be read.
            StateError: text is to be mapped and no ontology is loaded.
            NotBuilt: text is to be mapped and there is none.
            ServiceError: the model failed; what came before is kept, and the next build goes on from there.
        """
        if options.mapped is not None and options.share != 1:
            raise InvalidSettings("og_rag: a share is of text that a model maps; mapped data are all read.")
        if options.mapped is not None and dry_run:
            return BuildReport(self.name, NO_COMPLETIONS)
        if options.mapped is None:
            report = build_from_text(
                self.store,
                self._extractor,
                window_tokens=fitting(self.window_tokens, self.max_tokens),
                triage=triage_of(self, options.share, dry_run=dry_run),
                dry_run=dry_run,
                progress=progress,
            )
        else:
            report = build_mapped(
                options.mapped, store=self.store, as_published=options.as_published, progress=progress
            )
        if not dry_run:
            user_rules.publish(self.rules, self.store)
            for space in (_KEYS, _VALUES):
                self._space(space, progress)
                self._words(space, progress)
            graph = self._graph(None)
            self._fact_words(graph)
            self._fact_texts(graph)
        return report

    def worker_stages(self, options: OgRagOptions) -> Mapping[str, Stage]:
        """Return what workers do in a build: read the replies about windows. Nothing where data are mapped already.

        Raises:
            StateError: no ontology is loaded.
        """
        if options.mapped is not None:
            return {}
        from kgrag.methods.og_rag import facts_stage

        return {facts_stage.STAGE: facts_stage.ReadReplies(self._extractor.reader(self.store))}

    @property
    def _extractor(self) -> Extractor:
        return Extractor(self.model, self.embedder, self.workers)

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return at most k hyperedges, and never more than ``edges``, best first; then the rules, if there are any.

        Raises:
            NotBuilt: there is no hypergraph.
            InvalidSettings: k is below 1.
            EmbeddingMismatch: the vectors on disk were made by another embedder.
        """
        return [*self._covering(question, k, None), *user_rules.hits(self.rules, self.store)]

    def retrieve_among(self, question: str, k: int, allowed: Allowed) -> list[Hit]:
        """Return hyperedges that come from allowed documents alone, without rules, which are no document's.

        Raises as above.
        """
        return self._covering(question, k, allowed)

    def _covering(self, question: str, k: int, allowed: Allowed | None) -> list[Hit]:
        if k < 1:
            raise InvalidSettings(f"og_rag: k is {k}. Ask for at least 1 hyperedge.")
        limit, asked = min(k, self.edges), self._asked(question)
        whole = asked.graph
        texts = self._fact_texts(whole)
        part = None if allowed is None else allowed_edges(allowed, whole, self.store)
        asked = asked if part is None else asked.within(part)
        relevant = self._relevant(asked)
        if self.cover == "weighed" and self.scoring != "paper":
            by_words = dict(self._fact_words(whole).search(question, self.depth, part.edges if part else None))
            chosen = weighed_covering(asked.graph, relevant, by_words, WeighedCover(limit))
        else:
            kind: Literal["greedy", "exact"] = "exact" if self.cover == "exact" else "greedy"
            chosen = covering(asked.graph, relevant, Cover(limit, kind, inverse_degree=self.inverse_degree))
        return _hits(chosen, whole, texts)

    def chunk_ranking(self, question: str, depth: int, allowed: Allowed | None) -> list[tuple[str, float]]:
        """Return the chunks that the covering hyperedges were read in, each by its best one; none without a graph."""
        if not len(self._graph(None).edges):
            return []
        scores: dict[str, float] = {}
        for hit in self._covering(question, depth, allowed):
            for span in hit.sources:
                scores.setdefault(span.chunk, hit.score)
        best = max(scores.values(), default=0.0)
        return [(chunk, score / best) for chunk, score in scores.items()][:depth] if best > 0 else []

    def knows_chunks(self, chunks: Sequence[str]) -> list[bool]:
        """Return of each chunk whether a hyperedge was read in it."""
        return [bool(place >= 0) for place in self._fact_texts(self._graph(None)).chunks.places(list(chunks))]

    def answer(self, question: str, k: int) -> Answer:
        """Answer from the hyperedges that ``retrieve`` returns and further facts of the things that the question names.

        Raises as ``retrieve``, and ServiceError: the model failed.
        """
        hits = [*self._evidence(question, k, None), *user_rules.hits(self.rules, self.store)]
        return cited_answers.answer(question, hits, model=self.model, store=self.store, method=self.name)

    def answer_among(self, question: str, k: int, allowed: Allowed) -> Answer:
        """Answer from hyperedges of allowed documents alone, without rules. Raises as above."""
        hits = self._evidence(question, k, allowed)
        return cited_answers.answer(question, hits, model=self.model, store=self.store, method=self.name)

    def _evidence(self, question: str, k: int, allowed: Allowed | None) -> list[Hit]:
        """Return the covering hyperedges, then other facts of what the question names, up to ``fact_tokens``."""
        hits = self._covering(question, k, allowed)
        asked = self._asked(question)
        graph = asked.graph
        texts, places = self._fact_texts(graph), graph.edge_places([hit.iri for hit in hits])
        chosen = places[places >= 0]
        asked = asked if allowed is None else asked.within(allowed_edges(allowed, graph, self.store))
        known = itertools.chain.from_iterable(texts.pairs(graph, chosen))
        others = named_facts(question, known, self._relevant(asked), asked.graph, self.store.names)
        left = self.fact_tokens
        for hit in _hits([(edge, 0.0) for edge in others if edge not in chosen], graph, texts):
            left -= count_tokens(hit.text)
            if left < 0:
                break
            hits.append(hit)
        return hits

    def statistics(self) -> dict[str, Any]:
        """Return the sizes of the hypergraph, as in Table 6, counted by stored queries."""
        edges = self.store.select(queries.bind("og_rag/edge_sizes", catalogue=self.store.names.catalogue)).values()
        nodes = self.store.select(queries.bind("og_rag/degrees")).values()
        return {
            "hypernodes": int(nodes[0][0]),
            "hyperedges": int(edges[0][0]),
            "nodes_per_hyperedge": _spread(edges[0][1:]),
            "degree": _spread(nodes[0][1:]),
        }

    def file_faults(self) -> list[FileFault]:
        """Compare the files of the hypergraph's arrays, words and texts with the store."""
        of_arrays = hypergraph_arrays.faults(self.store, self.lexical)
        if of_arrays:
            return of_arrays
        graph = self._graph(None)
        of_words = fact_words.faults(self.store, self.lexical, graph)
        return [*of_words, *fact_texts.faults(self.store, self.lexical, graph)]

    def _asked(self, question: str) -> Asked:
        """Return a question with its vector and what it is asked of. Raises NotBuilt: there is no hypergraph."""
        keys, values = self._space(_KEYS, None), self._space(_VALUES, None)
        if not len(values):
            raise NotBuilt("method 'og_rag' has no graph yet. Run `kgrag build og_rag` first.")
        graph, (vector,) = self._graph(None), self.embedder.embed([question], "query")
        if not abs(float(vector @ vector) - 1) < _NEARLY:
            vector = unit_rows(vector[None, :], len(vector))[0]
        return Asked(
            question,
            graph,
            graph.vectors_of(_KEYS, graph.keys, keys).nearness(vector),
            graph.vectors_of(_VALUES, graph.values, values).nearness(vector),
        )

    def _relevant(self, asked: Asked) -> Relevant:
        """Return the relevant hypernodes, N(Q), of the hypergraph or of the part of it that a filter leaves."""
        if self.scoring == "paper":
            return by_paper(asked, self.nodes)
        asked = replace(asked, key_words=self._words(_KEYS, None), value_words=self._words(_VALUES, None))
        return by_fusion(asked, self.nodes, depth=self.depth)

    def _graph(self, progress: Progress | None) -> hypergraph_arrays.Adjacency:
        return hypergraph_arrays.fresh(self.store, self.lexical, save=not self.read_only, progress=progress)

    def _fact_words(self, graph: hypergraph_arrays.Adjacency) -> LexicalIndex:
        return fact_words.fresh(self.store, self.lexical, graph, save=not self.read_only)

    def _fact_texts(self, graph: hypergraph_arrays.Adjacency) -> fact_texts.FactTexts:
        return fact_texts.fresh(self.store, self.lexical, graph, save=not self.read_only)

    def _space(self, name: str, progress: Progress | None) -> VectorIndex:
        return vector_spaces.fresh(
            name, store=self.store, spaces=self.spaces, embedder=self.embedder, progress=progress
        )

    def _words(self, name: str, progress: Progress | None) -> LexicalIndex:
        return bm25.fresh(self.store, self.lexical, space=name, save=not self.read_only, progress=progress)


def _hits(
    chosen: Sequence[tuple[int, float]], graph: hypergraph_arrays.Adjacency, texts: fact_texts.FactTexts
) -> list[Hit]:
    """Return hyperedges, by place, with what they are worth as hits."""
    places = np.array([place for place, _ in chosen], dtype=np.int64)
    stated = zip(chosen, graph.edges.at(places), texts.pairs(graph, places), texts.spans(places), strict=True)
    return [
        Hit(edge, "hyperedge", line(pairs), share, sources=tuple(spans), attributes=_attributes(pairs))
        for (_, share), edge, pairs, spans in stated
    ]


def _attributes(pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return key -> value of a hyperedge, or the sorted values of a key that has several."""
    values: dict[str, list[str]] = defaultdict(list)
    for key, value in sorted(pairs):
        values[key].append(value)
    return {key: several if len(several) > 1 else several[0] for key, several in values.items()}


def _spread(row: Sequence[str]) -> dict[str, float]:
    return {"mean": float(row[0]), "min": int(row[1]), "max": int(row[2])}
