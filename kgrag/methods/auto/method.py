"""The method: one pool of evidence keyed by chunk, from all that is built."""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from kgrag.answering import fusion
from kgrag.answering.passage_hits import passage_hits
from kgrag.capabilities import (
    AnswersExactly,
    ClaimsQuestions,
    LeftToEvidence,
    OwnAnswer,
    RanksChunks,
    RetrievesWithout,
    capable,
    having,
)
from kgrag.declarations import NoOptions
from kgrag.errors import InvalidSettings, NotBuilt
from kgrag.index import bm25, vector_spaces
from kgrag.index.array_files import FileFault
from kgrag.index.index_terms import tokens_of
from kgrag.methods.auto import name_graph
from kgrag.methods.auto.coverage import covering, terms_to_cover
from kgrag.methods.auto.name_graph import NameGraph
from kgrag.methods.auto.subjects import opening_name
from kgrag.model import NO_COMPLETIONS, Allowed, Answer, BuildReport, Hit
from kgrag.ports import Embedder, LanguageModel, Method, Progress, TripleStore, VectorIndex, VectorSpaces
from kgrag.text.sentences import entity_key
from kgrag.text.stored_passages import passages
from kgrag.vocab import Names

__all__ = ["Auto"]

_CHUNK, _AGGREGATE = "chunk", "aggregate"
_DAMPING = 0.5
_LONGEST_NAME = 10  # words
_NEAREST_AGGREGATES = 5  # whose names a walk begins at, beside those of the question
_OF_CHUNKS = 0.05  # weight at which a walk begins at the chunks that were found
_MAY_BE_FIRST = 5  # of the best chunks
_FIRST_OF_NAMES = 0.3  # for the first hit, what covering the whole question by names is worth beside a best score of 1
_FIRST_OF_SUBJECT = 0.25  # likewise, that the chunk opens with a name of the question
_FEW_PROPOSITIONS = 2.0  # a chunk: where there are fewer, aggregates repeat the chunks


@dataclass(frozen=True, slots=True)
class Auto:
    """Ranks chunks by words, meaning, the aggregates and facts that they are in, and the names that they share.

    Args:
        store: contains the documents and what was built from them.
        spaces: store the vectors of chunks and aggregates.
        embedder: embeds what is searched and questions.
        model: writes answers; not used to retrieve.
        method: returns another method by its name: those that answer exactly are asked first.
        lexical: folder of the word indices and of the graph of names; None keeps them in memory.
        depth: how many candidates of each ranking are joined, at least 1.
        names: what the walk over names is worth beside the pool of chunks and aggregates, at least 0.
        others: what og_rag's facts are worth where they are built, at least 0; with 0 cg_rag is not asked either.
        cover: what covering the whole question is worth beside the range of scores, at least 0.
        candidates: how many chunks coverage chooses from, at least 1.
        read_only: leaves the files on disk as they are.

    Raises:
        InvalidSettings: a value is outside its range.

    Deviations:
        An aggregate counts for each of its documents by its score over the square root of their number: in SiReRAG's
        pool one that joins three documents takes its full score for all of them.
    """

    name: ClassVar[str] = "auto"

    store: TripleStore
    spaces: VectorSpaces
    embedder: Embedder
    model: LanguageModel
    method: Callable[[str], Method]
    lexical: Path | None = None
    depth: int = 100
    names: float = 0.5
    others: float = 1.0
    cover: float = 0.5
    candidates: int = 40
    read_only: bool = False

    def __post_init__(self) -> None:
        if min(self.depth, self.candidates) < 1 or min(self.names, self.others, self.cover) < 0:
            raise InvalidSettings("auto: use depth and candidates from 1; names, others and cover from 0.")

    def build(
        self,
        options: NoOptions = NoOptions(),  # noqa: ARG002 - there is nothing to choose
        *,
        progress: Progress | None = None,
        dry_run: bool = False,
    ) -> BuildReport:
        """Bring the vectors and word indices that are searched up to the store; no other method is built.

        Raises:
            NotBuilt: the store holds no chunk.
            EmbeddingMismatch: the vectors on disk were made by another embedder.
            StorageFailed: the disk refused.
        """
        parts = self._parts(self._graph)
        if dry_run:
            missing = sum(vector_spaces.missing(part, store=self.store, spaces=self.spaces) for part in parts)
            return BuildReport(self.name, {"embedded": missing, **NO_COMPLETIONS})
        for part in parts:
            self._vectors(part, progress)
            self._words(part)
        chunks = len(self._words(_CHUNK))
        if not chunks:
            raise _empty()
        graph = self._graph
        return BuildReport(
            self.name, {"chunks": chunks, "names": len(graph.names), "aggregates": len(graph.aggregates)}
        )

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """Return the k best chunks, best first; ``found_by`` of each says by what, and at which rank.

        Raises:
            NotBuilt: the store holds no chunk.
            InvalidSettings: k is below 1.
            EmbeddingMismatch: the vectors on disk were made by another embedder.
        """
        return self._hits(question, k, None)

    def retrieve_among(self, question: str, k: int, allowed: Allowed) -> list[Hit]:
        """Return the k best chunks of the allowed documents; no name leads through others. Raises as above."""
        return self._hits(question, k, allowed)

    def retrieve_without(self, question: str, k: int, excluded: Collection[str]) -> list[Hit]:
        """Return the k best chunks as if documents, by the identifiers of their source, were not there.

        Links of these documents are not followed. Their words still count in how rare a word is. Raises as above.
        """
        for name, method in self._claiming(question):
            if isinstance(method, RetrievesWithout):
                return _found_by(name, method.retrieve_without(question, k, excluded))
        hits = self._hits(question, max(k, self.candidates), None)
        return [hit for hit in hits if hit.attributes.get("identifier") not in excluded][:k]

    def answer(self, question: str, k: int) -> OwnAnswer:
        """Return what a method answers from stated facts alone, unless it takes evidence to answer."""
        passed_over: list[str] = []
        for name in having(AnswersExactly):
            found = capable(self.method(name), AnswersExactly, name).exact_answer(question, k)
            if isinstance(found, Answer):
                why = f"{name} answers it from stated facts, so no text was searched"
                return replace(found, method=self.name, explain=(*passed_over, why, *found.explain))
            passed_over += found.explain
        if passed_over and not len(self._words(_CHUNK)):
            raise _empty(f", and the facts do not answer the question ({'; '.join(passed_over)})")
        return LeftToEvidence(tuple(passed_over))

    def file_faults(self) -> Sequence[FileFault]:
        """Return the file of the graph of names where it does not have what the store has."""
        return name_graph.faults(self.store, self.lexical)

    def _hits(self, question: str, k: int, allowed: Allowed | None) -> list[Hit]:
        if k < 1:
            raise InvalidSettings(f"auto: k is {k}. Ask for at least 1 passage.")
        if not len(self._words(_CHUNK)):
            raise _empty()
        if (claimed := self._claimed(question, k, allowed)) is not None:
            return claimed
        pool, rankings = self._rankings(question, allowed)
        alone = dict(rankings["passages"])
        leading = {iri: (pool.get(iri, 0.0) + alone.get(iri, 0.0)) / 2 for iri in {*pool, *alone}}
        self._add_others((pool, leading), question, rankings, allowed)
        chosen = self._best(question, k, pool, leading, rankings)
        ranks = {name: {iri: rank for rank, (iri, _) in enumerate(found, 1)} for name, found in rankings.items()}
        return [
            replace(hit, attributes={**hit.attributes, "found_by": _ranks_of(hit.iri, ranks)})
            for hit in passage_hits(self.store, chosen)
        ]

    def _best(
        self,
        question: str,
        k: int,
        scores: dict[str, float],
        leading: Mapping[str, float],
        rankings: Mapping[str, fusion.Ranking],
    ) -> list[tuple[str, float]]:
        """Return the k best chunks with what they are worth.

        The first is among the best of ``leading``, the mean of the pool and of passages alone: names lead on from it,
        and nothing comes before it whose gaps it could fill.
        """
        for iri, share in rankings.get("names", ()):
            scores[iri] = scores.get(iri, 0.0) + self.names * math.sqrt(share)
        candidates, best = fusion.ranked(scores, max(k, self.candidates)), fusion.ranked(leading, _MAY_BE_FIRST)
        iris = list(dict.fromkeys(iri for iri, _ in (*candidates, *best)))
        terms = terms_to_cover(question, self._words(_CHUNK), iris)
        worth = np.array([score for _, score in candidates])
        gain = self.cover * (1 if "aggregates" in rankings else 2)
        taken = covering(worth, terms.weights, terms.has[: len(worth)], take=k, gain=gain)
        chosen = [(iris[place], gained) for place, gained in taken]
        if not best:
            return chosen
        named = dict(zip(iris, terms.named().tolist(), strict=True))
        first = self._first(question, {iri: score + _FIRST_OF_NAMES * named[iri] for iri, score in best}, dict(chosen))
        others = [entry for entry in chosen if entry[0] != first][: k - 1]
        return [(first, max([leading[first], *(gained for _, gained in others[:1])])), *others]

    def _first(self, question: str, best: Mapping[str, float], next_read: Collection[str]) -> str:
        """Return the one of a few good chunks that is best where one that opens with a name of the question is better.

        ``next_read`` are chunks whose passages are wanted next: the store is asked for all at once.
        """
        bar = max(best.values()) - _FIRST_OF_SUBJECT
        contenders = [iri for iri, score in best.items() if score >= bar]
        stored = passages(self.store, [*contenders, *next_read]) if len(contenders) > 1 else {}
        worth = {
            iri: best[iri] + (_FIRST_OF_SUBJECT * opening_name(question, stored[iri].text) if iri in stored else 0.0)
            for iri in contenders
        }
        return fusion.ranked(worth, 1)[0][0]

    def _claimed(self, question: str, k: int, allowed: Allowed | None) -> list[Hit] | None:
        """Return the hits of a method that the question is left to; None where it is to none."""
        for name, method in self._claiming(question):
            hits = method.retrieve(question, k) if allowed is None else method.retrieve_among(question, k, allowed)
            return _found_by(name, hits)
        return None

    def _claiming(self, question: str) -> Iterator[tuple[str, ClaimsQuestions]]:
        for name in having(ClaimsQuestions) if self.others else ():
            method = capable(self.method(name), ClaimsQuestions, name)
            if method.claims(question):
                yield name, method

    def _add_others(
        self,
        several: Sequence[dict[str, float]],
        question: str,
        rankings: dict[str, fusion.Ranking],
        allowed: Allowed | None,
    ) -> None:
        """Add what other methods say of chunks to scores; one that a method does not know counts as in the scores."""
        for name in having(RanksChunks) if self.others else ():
            method = capable(self.method(name), RanksChunks, name)
            ranking = method.chunk_ranking(question, self.depth, allowed)
            if not ranking:
                continue
            rankings[name] = ranking
            for scores in several:
                most = max(scores.values(), default=0.0) or 1.0
                known = method.knows_chunks(list(scores))
                unknown = [
                    (iri, score / most)
                    for (iri, score), is_known in zip(scores.items(), known, strict=True)
                    if not is_known
                ]
                for iri, score in itertools.chain(ranking, unknown):
                    scores[iri] = scores.get(iri, 0.0) + self.others * score

    def _rankings(self, question: str, allowed: Allowed | None) -> tuple[dict[str, float], dict[str, fusion.Ranking]]:
        """Return the scores of chunks in one pool, and chunks by what found them.

        That is the words and meaning of passages, aggregates, and a walk over names.
        """
        graph = self._graph
        parts = self._parts(graph)
        vector = self.embedder.embed([question], "query")[0]
        within = None
        if allowed is not None:
            within = allowed.chunks | graph.joined_from(allowed.chunks) if _AGGREGATE in parts else allowed.chunks
        dense = [self._vectors(part).search(vector, self.depth, within) for part in parts]
        words = [self._words(part).search(question, self.depth, within) for part in parts]
        found: dict[str, fusion.Ranking] = {"passages": _fused([dense[0], words[0]])}
        if _AGGREGATE not in parts:
            return dict(found["passages"]), found
        pooled = _fused([fusion.ranked(dict(itertools.chain(*each)), self.depth) for each in (dense, words)])
        aggregates = {iri for iri, _ in itertools.chain(dense[1], words[1])}
        passages = [(iri, score) for iri, score in pooled if iri not in aggregates]
        found["aggregates"] = graph.spread({iri: score for iri, score in pooled if iri in aggregates})
        pool = dict(passages)
        for iri, score in found["aggregates"]:
            pool[iri] = max(pool.get(iri, 0.0), score)
        if self.names:
            seeds = self._seeds(graph, question, dense[1][:_NEAREST_AGGREGATES], passages)
            found["names"] = graph.walk(seeds, damping=_DAMPING, take=self.depth, within=allowed)
        return pool, found

    def _seeds(
        self, graph: NameGraph, question: str, nearest: fusion.Ranking, passages: fusion.Ranking
    ) -> dict[str, float]:
        """Return where a walk begins: names of the question and of near aggregates, rare ones more, and chunks."""
        seeds = dict.fromkeys(names_in(question, graph, self.store.names), 1.0)
        for name, weight in graph.names_of(dict(fusion.score_fusion([nearest]))).items():
            seeds[name] = seeds.get(name, 0.0) + weight
        counts = graph.mentions(list(seeds))
        rare = {name: weight / count for (name, weight), count in zip(seeds.items(), counts, strict=True) if count}
        return rare | {chunk: _OF_CHUNKS * score for chunk, score in passages}

    def _parts(self, graph: NameGraph) -> tuple[str, ...]:
        """Return the spaces that are searched: aggregates too where they join more than chunks do."""
        rich = len(graph.aggregates) and graph.propositions >= _FEW_PROPOSITIONS * len(graph.chunks)
        return (_CHUNK, _AGGREGATE) if rich else (_CHUNK,)

    @property
    def _graph(self) -> NameGraph:
        return name_graph.fresh(self.store, self.lexical, save=not self.read_only)

    def _vectors(self, part: str, progress: Progress | None = None) -> VectorIndex:
        return vector_spaces.fresh(
            part, store=self.store, spaces=self.spaces, embedder=self.embedder, progress=progress
        )

    def _words(self, part: str) -> bm25.LexicalIndex:
        return bm25.fresh(self.store, self.lexical, space=part, save=not self.read_only)


def names_in(question: str, graph: NameGraph, names: Names) -> list[str]:
    """Return the names of the graph that a question has, the longest first, none inside another."""
    words = [word.strip(string.punctuation + "’“”").removesuffix("'s").removesuffix("’s") for word in question.split()]
    spans = [
        (start, length, " ".join(words[start : start + length]))
        for length in range(min(_LONGEST_NAME, len(words)), 0, -1)
        for start in range(len(words) - length + 1)
    ]
    iris = [names.entity(entity_key(span)).value for _, _, span in spans]
    free = [True] * len(words)
    found = []
    for (start, length, span), iri, count in zip(spans, iris, graph.mentions(iris), strict=True):
        if count and len(span) > 2 and tokens_of(span) and all(free[start : start + length]):
            free[start : start + length] = [False] * length
            found.append(iri)
    return found


def _fused(rankings: Sequence[fusion.Ranking]) -> list[tuple[str, float]]:
    """Join what meaning and words found."""
    return fusion.score_fusion(rankings, weights=[0.5, 0.5])


def _found_by(name: str, hits: Sequence[Hit]) -> list[Hit]:
    return [replace(hit, attributes={**hit.attributes, "found_by": {name: rank}}) for rank, hit in enumerate(hits, 1)]


def _ranks_of(iri: str, ranks: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    return {name: rank[iri] for name, rank in ranks.items() if iri in rank}


def _empty(besides: str = "") -> NotBuilt:
    return NotBuilt(
        f"method 'auto' has no passage to look in: no document was ingested{besides}. Run `kgrag ingest PATH` first."
    )
