"""The hypernodes that a question is about, and what each is worth (OG-RAG, section 4.2.1; Algorithm 2, lines 7-9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgrag.index.array_files import Iris
from kgrag.index.bm25 import LexicalIndex
from kgrag.index.place_lists import Places, distinct
from kgrag.methods.og_rag.allowed_edges import AllowedEdges
from kgrag.methods.og_rag.hypergraph_arrays import Adjacency
from kgrag.methods.og_rag.term_vectors import Nearness, SomeTerms

__all__ = ["Asked", "Relevant", "by_fusion", "by_paper"]

_MAX_NODES_COMPARED = 100  # of one key, by cosine; of a key with more, only the first ones and those of near values
_VALUES_FOR_LARGE_KEY = 200  # nearest values whose hypernodes are also compared for a key with more
_MAX_NODES_OF_FUSED_KEY = 50  # larger keys add no candidates to the fusion, which finds their hypernodes by value

_Scores = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
_NONE: Places = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the hypergraph that it is asked of, how near its keys and values are, and their BM25 indexes.

    ``known_keys`` and ``known_values`` are those of the hypergraph, where it is a part of what is indexed.
    """

    text: str
    graph: Adjacency
    keys: Nearness
    values: Nearness
    key_words: LexicalIndex | None = None
    value_words: LexicalIndex | None = None
    known_keys: SomeTerms | None = None
    known_values: SomeTerms | None = None

    def within(self, part: AllowedEdges) -> Asked:
        """Return the same question, asked of a part of the hypergraph."""
        return replace(self, graph=part.graph, known_keys=part.keys, known_values=part.values)


@dataclass(frozen=True, slots=True, eq=False)
class Relevant:
    """The hypernodes that a question is about, by ascending place; each array of shape (n,).

    ``worth`` is what covering one is worth, above 0; ``nearness`` how near it is to the question, which decides ties.
    """

    places: _Integers
    worth: _Scores
    nearness: _Scores


def by_paper(asked: Asked, k: int) -> Relevant:
    """Return the union of the k hypernodes nearest by key and the k nearest by value, each worth 1.

    Hypernodes that share a key are ordered by the similarity of their value, then by IRI; those that share a value by
    the similarity of their key, then by IRI. A key with more than 100 hypernodes is represented by the first 101 of
    them by IRI and by those whose value is among the 200 nearest of all.
    """
    graph = asked.graph
    keys = _leading_keys(asked, k)
    is_large = bool((graph.with_key.lengths(keys) > _MAX_NODES_COMPARED).any())
    nearest, scores = asked.values.first(max(k, _VALUES_FOR_LARGE_KEY) if is_large else k, asked.known_values)
    near = graph.with_value.of_all(nearest) if is_large else _NONE
    of_keys = [_NONE, *(_nodes_to_compare(graph, key, near) for key in keys.tolist())]
    of_key, turns = np.concatenate(of_keys), np.repeat(np.arange(len(of_keys)), list(map(len, of_keys)))
    values, of_value = graph.with_value.pairs(nearest[:k])
    compared = distinct(np.concatenate([of_key, of_value]))
    key_cosines, value_cosines = asked.keys.at(graph.key_of[compared]), asked.values.at(graph.value_of[compared])
    by_key = np.lexsort((of_key, -value_cosines[np.searchsorted(compared, of_key)], turns))[:k]
    by_value = np.lexsort((of_value, -key_cosines[np.searchsorted(compared, of_value)], -scores[values]))[:k]
    nodes = distinct(np.concatenate([of_key[by_key], of_value[by_value]]))
    nearness = (key_cosines + value_cosines)[np.searchsorted(compared, nodes)]
    return Relevant(nodes, np.ones(len(nodes)), nearness)


def _leading_keys(asked: Asked, k: int) -> _Integers:
    """Return the nearest keys, by place, that have k hypernodes to compare together, or the k nearest."""
    keys, _ = asked.keys.first(k, asked.known_keys)
    lengths = np.minimum(asked.graph.with_key.lengths(keys), _MAX_NODES_COMPARED)
    return keys[: int(np.searchsorted(np.cumsum(lengths), k)) + 1]


def _nodes_to_compare(graph: Adjacency, key: int, near: Places) -> Places:
    """Return the hypernodes of a key; of a large one the first ones, and those of it that are among ``near``."""
    nodes = graph.with_key.of(key)
    if len(nodes) <= _MAX_NODES_COMPARED:
        return nodes
    return np.union1d(nodes[: _MAX_NODES_COMPARED + 1], near[graph.key_of[near] == key])


def by_fusion(asked: Asked, k: int, *, depth: int) -> Relevant:
    """Return the 2k hypernodes that score best by four signals together, each worth the square of its score.

    Not in the paper, which takes the k best by key and the k best by value apart. The score of a hypernode is the sum
    of the cosines of its key and of its value with the question and of the BM25 scores of the two, each scaled to 1
    for the best. Candidates are the hypernodes of the ``depth`` best values by either signal, and those of the k / 2
    best keys that have at most 50 each.
    """
    graph, text = asked.graph, asked.text
    key_words = _placed(graph.keys, _word_scores(asked.key_words, text, depth, asked.known_keys))
    value_words = _placed(graph.values, _word_scores(asked.value_words, text, depth, asked.known_values))
    near_keys, _ = asked.keys.first(depth, asked.known_keys)
    near_values, _ = asked.values.first(depth, asked.known_values)
    of_values = graph.with_value.of_all(np.concatenate([near_values, value_words.places]))
    found = distinct(np.concatenate([near_keys, key_words.places]))
    keys = distinct(np.concatenate([found, graph.key_of[of_values]]))
    key_scores = asked.keys.at(keys) + key_words.at(keys)
    best_keys = found[np.lexsort((found, -key_scores[np.searchsorted(keys, found)]))[: (k + 1) // 2]]
    small = best_keys[graph.with_key.lengths(best_keys) <= _MAX_NODES_OF_FUSED_KEY]
    nodes = distinct(np.concatenate([of_values, graph.with_key.of_all(small)]))
    values = distinct(graph.value_of[nodes])
    value_scores = asked.values.at(values) + value_words.at(values)
    scores = key_scores[np.searchsorted(keys, graph.key_of[nodes])]
    scores += value_scores[np.searchsorted(values, graph.value_of[nodes])]
    best = np.sort(np.lexsort((nodes, -scores))[: 2 * k])
    best = best[scores[best] > 0]
    return Relevant(nodes[best], scores[best] ** 2, scores[best])


def _word_scores(index: LexicalIndex | None, text: str, depth: int, within: SomeTerms | None) -> dict[str, float]:
    """Return term -> BM25 score, scaled to 1 for the best."""
    ranking = index.search(text, depth, within.iris if within else None) if index is not None else []
    return {iri: score / ranking[0][1] for iri, score in ranking}


class _Placed(NamedTuple):
    """Scores of some terms by place, ascending: two arrays of shape (n,)."""

    places: _Integers
    scores: _Scores

    def at(self, places: Places | _Integers) -> _Scores:
        """Return the score at each of some places, 0 at one without, shape of ``places``."""
        if not len(self.places):
            return np.zeros(len(places))
        nearest = np.minimum(np.searchsorted(self.places, places), len(self.places) - 1)
        return np.where(self.places[nearest] == places, self.scores[nearest], 0.0)


def _placed(terms: Iris, scores: Mapping[str, float]) -> _Placed:
    """Return the scores of those terms that some hypernode has."""
    places = terms.places(list(scores)).astype(np.int64)
    order = np.argsort(places)[int(np.count_nonzero(places < 0)) :]
    return _Placed(places[order], np.array(list(scores.values()), dtype=np.float64)[order])
