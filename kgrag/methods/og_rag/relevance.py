"""The hypernodes that a question is about, and what each is worth (OG-RAG, section 4.2.1; Algorithm 2, lines 7-9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kgrag.index.array_files import Iris
from kgrag.index.bm25 import LexicalIndex
from kgrag.index.index_terms import tokens_of
from kgrag.index.place_lists import Places
from kgrag.methods.og_rag.allowed_edges import AllowedEdges
from kgrag.methods.og_rag.hypergraph_arrays import Adjacency
from kgrag.ports import VectorIndex, Vectors

__all__ = ["Asked", "Relevance", "by_fusion", "by_paper"]

_MAX_NODES_COMPARED = 100  # of one key, by cosine; of a key with more, only the first ones and those of near values
_VALUES_FOR_LARGE_KEY = 200  # nearest values whose hypernodes are also compared for a key with more
_MAX_NODES_OF_FUSED_KEY = 50  # larger keys add no candidates to the fusion, which finds their hypernodes by value

_Scores = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]
_NONE: Places = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the hypergraph and the vector and BM25 indexes of its keys and values.

    ``known_keys`` and ``known_values`` are those of the hypergraph, where it is a part of what is indexed.
    """

    text: str
    vector: Vectors
    graph: Adjacency
    keys: VectorIndex
    values: VectorIndex
    key_words: LexicalIndex | None = None
    value_words: LexicalIndex | None = None
    known_keys: frozenset[str] | None = None
    known_values: frozenset[str] | None = None

    def within(self, part: AllowedEdges) -> Asked:
        """Return the same question, asked of a part of the hypergraph."""
        return replace(self, graph=part.graph, known_keys=part.keys, known_values=part.values)


class Relevance(NamedTuple):
    """The worth of covering a hypernode, above 0, and its nearness to the question, which decides ties."""

    worth: float
    nearness: float


def by_paper(asked: Asked, k: int) -> dict[str, Relevance]:
    """Return the union of the k hypernodes nearest by key and the k nearest by value, each worth 1.

    Hypernodes that share a key are ordered by the similarity of their value, then by IRI; those that share a value by
    the similarity of their key, then by IRI. A key with more than 100 hypernodes is represented by the first 101 of
    them by IRI and by those whose value is among the 200 nearest of all.
    """
    graph = asked.graph
    keys = _leading_keys(asked, k)
    is_large = bool((graph.with_key.lengths(keys) > _MAX_NODES_COMPARED).any())
    depth = max(k, _VALUES_FOR_LARGE_KEY) if is_large else k
    nearest = asked.values.search(asked.vector, depth, asked.known_values)
    near = graph.with_value.of_all(_known(graph.values, [value for value, _ in nearest])) if is_large else _NONE
    of_keys = [_NONE, *(_nodes_to_compare(graph, key, near) for key in keys.tolist())]
    of_key, turns = np.concatenate(of_keys), np.repeat(np.arange(len(of_keys)), list(map(len, of_keys)))
    of_value = graph.with_value.of_all(_known(graph.values, [value for value, _ in nearest[:k]]))
    compared = _distinct(np.concatenate([of_key, of_value]))
    key_cosines, value_cosines = _key_cosines(asked, compared), _value_cosines(asked, compared)
    value_scores = _placed(graph.values, dict(nearest[:k])).at(graph.value_of[of_value])
    by_key = np.lexsort((of_key, -value_cosines[np.searchsorted(compared, of_key)], turns))[:k]
    by_value = np.lexsort((of_value, -key_cosines[np.searchsorted(compared, of_value)], -value_scores))[:k]
    nodes = _distinct(np.concatenate([of_key[by_key], of_value[by_value]]))
    nearness = (key_cosines + value_cosines)[np.searchsorted(compared, nodes)]
    return {iri: Relevance(1.0, near) for iri, near in zip(graph.nodes.at(nodes), nearness.tolist(), strict=True)}


def _leading_keys(asked: Asked, k: int) -> _Integers:
    """Return the nearest keys, by place, that have k hypernodes to compare together, or the k nearest."""
    keys = _known(asked.graph.keys, [key for key, _ in asked.keys.search(asked.vector, k, asked.known_keys)])
    lengths = np.minimum(asked.graph.with_key.lengths(keys), _MAX_NODES_COMPARED)
    return keys[: int(np.searchsorted(np.cumsum(lengths), k)) + 1]


def _nodes_to_compare(graph: Adjacency, key: int, near: Places) -> Places:
    """Return the hypernodes of a key; of a large one the first ones, and those of it that are among ``near``."""
    nodes = graph.with_key.of(key)
    if len(nodes) <= _MAX_NODES_COMPARED:
        return nodes
    return np.union1d(nodes[: _MAX_NODES_COMPARED + 1], near[graph.key_of[near] == key])


def by_fusion(asked: Asked, k: int, *, depth: int) -> dict[str, Relevance]:
    """Return the 2k hypernodes that score best by four signals together, each worth the square of its score.

    Not in the paper, which takes the k best by key and the k best by value apart. The score of a hypernode is the sum
    of the cosines of its key and of its value with the question and of the BM25 scores of the two, each scaled to 1
    for the best. Candidates are the hypernodes of the ``depth`` best values by either signal, and those of the k / 2
    best keys that have at most 50 each.
    """
    graph, terms = asked.graph, tokens_of(asked.text)
    key_words = _placed(graph.keys, _word_scores(asked.key_words, terms, depth, asked.known_keys))
    value_words = _placed(graph.values, _word_scores(asked.value_words, terms, depth, asked.known_values))
    near_keys = _known(graph.keys, [key for key, _ in asked.keys.search(asked.vector, depth, asked.known_keys)])
    near_values = _known(
        graph.values, [each for each, _ in asked.values.search(asked.vector, depth, asked.known_values)]
    )
    of_values = graph.with_value.of_all(np.concatenate([near_values, value_words.places]))
    found = _distinct(np.concatenate([near_keys, key_words.places]))
    keys = _distinct(np.concatenate([found, graph.key_of[of_values]]))
    key_scores = _cosines(asked.keys, graph.keys, keys, asked.vector) + key_words.at(keys)
    best_keys = found[np.lexsort((found, -key_scores[np.searchsorted(keys, found)]))[: (k + 1) // 2]]
    small = best_keys[graph.with_key.lengths(best_keys) <= _MAX_NODES_OF_FUSED_KEY]
    nodes = _distinct(np.concatenate([of_values, graph.with_key.of_all(small)]))
    values = _distinct(graph.value_of[nodes])
    value_scores = _cosines(asked.values, graph.values, values, asked.vector) + value_words.at(values)
    scores = key_scores[np.searchsorted(keys, graph.key_of[nodes])]
    scores += value_scores[np.searchsorted(values, graph.value_of[nodes])]
    best = np.lexsort((nodes, -scores))[: 2 * k]
    pairs = zip(graph.nodes.at(nodes[best]), scores[best].tolist(), strict=True)
    return {iri: Relevance(score**2, score) for iri, score in pairs if score > 0}


def _word_scores(
    index: LexicalIndex | None, terms: Sequence[str], depth: int, within: frozenset[str] | None
) -> dict[str, float]:
    """Return term -> BM25 score, scaled to 1 for the best."""
    ranking = index.search(terms, depth, within) if index is not None else []
    return {iri: score / ranking[0][1] for iri, score in ranking}


def _key_cosines(asked: Asked, nodes: Places) -> _Scores:
    """Return the cosine of each hypernode's key with the question, shape (n,)."""
    return _cosines(asked.keys, asked.graph.keys, asked.graph.key_of[nodes], asked.vector)


def _value_cosines(asked: Asked, nodes: Places) -> _Scores:
    """Return the cosine of each hypernode's value with the question, shape (n,)."""
    return _cosines(asked.values, asked.graph.values, asked.graph.value_of[nodes], asked.vector)


def _cosines(index: VectorIndex, terms: Iris, places: Places, vector: Vectors) -> _Scores:
    # Many hypernodes share a term: each distinct vector is read once.
    distinct = _distinct(places)
    if not len(distinct):
        return np.zeros(0)
    cosines: _Scores = (index.vectors(terms.at(distinct)) @ vector).astype(np.float64)
    return cosines[np.searchsorted(distinct, places)]


def _distinct(places: Places) -> Places:
    """Return places ascending and each once; as ``np.unique``, which takes longer over a few."""
    ascending = np.sort(places)
    return ascending[np.append(True, ascending[1:] != ascending[:-1])] if len(ascending) else ascending


def _known(terms: Iris, iris: Sequence[str]) -> _Integers:
    """Return the places of those terms that some hypernode has, in the order given."""
    places = terms.places(iris)
    return places[places >= 0]


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
