"""The hypernodes that a question is about, and what each is worth (OG-RAG, section 4.2.1; Algorithm 2, lines 7-9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kgrag.index.array_files import Iris
from kgrag.index.bm25 import LexicalIndex
from kgrag.methods.og_rag.hypergraph_arrays import Adjacency, Places
from kgrag.ports import VectorIndex, Vectors

__all__ = ["Asked", "Relevance", "by_fusion", "by_paper"]

_LISTED = 100  # hypernodes of a key that are looked at one by one
_NEAREST = 200  # values looked at for a key with more hypernodes than that
_FEW = 50  # hypernodes of a key that are looked at one by one where values are looked for as well

_Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and where its hypernodes are looked for; the BM25 indexes are those of keys and of values."""

    text: str
    vector: Vectors
    graph: Adjacency
    keys: VectorIndex
    values: VectorIndex
    key_words: LexicalIndex | None = None
    value_words: LexicalIndex | None = None


class Relevance(NamedTuple):
    """What covering a hypernode is worth, above 0, and how near it is to the question, which decides ties."""

    worth: float
    nearness: float


def by_paper(asked: Asked, k: int) -> dict[str, Relevance]:
    """Give the union of the k hypernodes nearest by key and the k nearest by value, each worth 1.

    Many hypernodes share a key: those go by the similarity of their value, then by IRI; those that share a value go by
    the similarity of their key, then by IRI. A key with more than 100 hypernodes is represented by the first 101 of
    them by IRI and by those whose value is among the 200 nearest of all.
    """
    nodes = np.unique(np.concatenate([_nearest_by_key(asked, k), _nearest_by_value(asked, k)]))
    cosines = _key_cosines(asked, nodes) + _value_cosines(asked, nodes)
    pairs = zip(asked.graph.nodes.at(nodes), cosines.tolist(), strict=True)
    return {iri: Relevance(1.0, cosine) for iri, cosine in pairs}


def _nearest_by_key(asked: Asked, k: int) -> Places:
    found = np.zeros(0, np.int32)
    for key in _known(asked.graph.keys, [key for key, _ in asked.keys.search(asked.vector, k)]):
        if len(found) < k:
            found = np.concatenate([found, _nearest_with_key(asked, key, k - len(found))])
    return found


def _nearest_with_key(asked: Asked, key: int, k: int) -> Places:
    """Give the k hypernodes of one key whose values are nearest."""
    graph = asked.graph
    nodes = graph.with_key.of(key)[: _LISTED + 1]
    if len(nodes) > _LISTED:
        nearest = [value for value, _ in asked.values.search(asked.vector, _NEAREST)]
        near = graph.with_value.of_all(_known(graph.values, nearest))
        nodes = np.union1d(nodes, near[graph.key_of[near] == key])
    return nodes[np.lexsort((nodes, -_value_cosines(asked, nodes)))][:k]


def _nearest_by_value(asked: Asked, k: int) -> Places:
    graph = asked.graph
    near = asked.values.search(asked.vector, k)
    nodes = graph.with_value.of_all(_known(graph.values, [value for value, _ in near]))
    values = _looked_up(graph.values, dict(near), len(graph.values))[graph.value_of[nodes]]
    return nodes[np.lexsort((nodes, -_key_cosines(asked, nodes), -values))][:k]


def by_fusion(asked: Asked, k: int, *, depth: int) -> dict[str, Relevance]:
    """Give the 2k hypernodes that score best by four signals together, each worth the square of its score.

    Not in the paper, which takes the k best by key and the k best by value apart. The score of a hypernode is the sum
    of the cosines of its key and of its value with the question and of the BM25 scores of the two, each scaled to 1
    for the best. Looked at are the hypernodes of the ``depth`` best values by either signal, and those of the k / 2
    best keys, as far as a key has no more than 50.
    """
    graph = asked.graph
    key_words, value_words = (_scaled(words, asked.text, depth) for words in (asked.key_words, asked.value_words))
    values = {**dict(asked.values.search(asked.vector, depth)), **value_words}
    keys = _known(graph.keys, _best_keys(asked, key_words, (k + 1) // 2, depth))
    small = [key for key in keys if graph.with_key.length(key) <= _FEW]
    of_values = graph.with_value.of_all(_known(graph.values, list(values)))
    nodes = np.unique(np.concatenate([of_values, graph.with_key.of_all(small)]))
    scores = _key_cosines(asked, nodes) + _value_cosines(asked, nodes)
    scores += _looked_up(graph.keys, key_words, len(graph.keys))[graph.key_of[nodes]]
    scores += _looked_up(graph.values, value_words, len(graph.values))[graph.value_of[nodes]]
    best = np.lexsort((nodes, -scores))[: 2 * k]
    pairs = zip(graph.nodes.at(nodes[best]), scores[best].tolist(), strict=True)
    return {iri: Relevance(score**2, score) for iri, score in pairs if score > 0}


def _best_keys(asked: Asked, words: Mapping[str, float], k: int, depth: int) -> list[str]:
    near = [key for key, _ in asked.keys.search(asked.vector, depth)]
    keys = sorted({*near, *words})
    cosines = dict(zip(keys, (asked.keys.vectors(keys) @ asked.vector).tolist(), strict=True)) if keys else {}
    return sorted(cosines, key=lambda key: (-cosines[key] - words.get(key, 0.0), key))[:k]


def _scaled(words: LexicalIndex | None, question: str, depth: int) -> dict[str, float]:
    found = words.search(question, depth) if words is not None else []
    return {iri: score / found[0][1] for iri, score in found}


def _key_cosines(asked: Asked, nodes: Places) -> _Scores:
    """Give the cosine of each hypernode's key with the question, shape (n,)."""
    return _cosines(asked.keys, asked.graph.keys, asked.graph.key_of[nodes], asked.vector)


def _value_cosines(asked: Asked, nodes: Places) -> _Scores:
    """Give the cosine of each hypernode's value with the question, shape (n,)."""
    return _cosines(asked.values, asked.graph.values, asked.graph.value_of[nodes], asked.vector)


def _cosines(index: VectorIndex, terms: Iris, places: Places, vector: Vectors) -> _Scores:
    distinct, back = np.unique(places, return_inverse=True)
    if not len(distinct):
        return np.zeros(0)
    cosines: _Scores = (index.vectors(terms.at(distinct)) @ vector).astype(np.float64)[back]
    return cosines


def _known(terms: Iris, iris: Sequence[str]) -> list[int]:
    """Give the places of those terms that some hypernode has, in the order given."""
    return [place for place in terms.places(iris).tolist() if place >= 0]


def _looked_up(terms: Iris, scores: Mapping[str, float], count: int) -> Any:
    """Give scores by place, 0 where there is none, shape (count,)."""
    by_place = np.zeros(count)
    places = terms.places(list(scores))
    by_place[places[places >= 0]] = np.array(list(scores.values()))[places >= 0]
    return by_place
