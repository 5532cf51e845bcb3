"""The hypernodes that a question is about, and what each is worth (OG-RAG, section 4.2.1; Algorithm 2, lines 7-9).

Queries read: ``og_rag/crowded_keys``, ``og_rag/nodes_of_keys``, ``og_rag/nodes_of_values``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyoxigraph as ox

from kgrag import queries
from kgrag.ports import TripleStore, VectorIndex, Vectors
from kgrag.stages.lexical import LexicalIndex

__all__ = ["Asked", "Relevance", "by_fusion", "by_paper"]

_LISTED = 100  # hypernodes of a key that are looked at one by one
_NEAREST = 200  # values looked at for a key with more hypernodes than that
_FEW = 50  # hypernodes of a key that are looked at one by one where values are looked for as well
_BATCH = 1000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and where its hypernodes are looked for; the BM25 indexes are those of keys and of values."""

    text: str
    vector: Vectors
    store: TripleStore
    keys: VectorIndex
    values: VectorIndex
    key_words: LexicalIndex | None = None
    value_words: LexicalIndex | None = None


class Relevance(NamedTuple):
    """What covering a hypernode is worth, above 0, and how near it is to the question, which decides ties."""

    worth: float
    nearness: float


class _Node(NamedTuple):
    """A hypernode with the terms of its key and its value."""

    iri: str
    key: str
    value: str


def by_paper(asked: Asked, k: int) -> dict[str, Relevance]:
    """Give the union of the k hypernodes nearest by key and the k nearest by value, each worth 1.

    Many hypernodes share a key: those go by the similarity of their value, then by IRI; those that share a value go by
    the similarity of their key, then by IRI. A key with more than 100 hypernodes is represented by 100 of them and by
    those whose value is among the 200 nearest of all.
    """
    nodes = [*_nearest_by_key(asked, k), *_nearest_by_value(asked, k)]
    return {iri: Relevance(1.0, cosines) for iri, cosines in _both_cosines(asked, nodes).items()}


def _nearest_by_key(asked: Asked, k: int) -> list[_Node]:
    found: list[_Node] = []
    for key, _ in asked.keys.search(asked.vector, k):
        if len(found) < k:
            found += _nearest_with_key(asked, key, k - len(found))
    return found


def _nearest_with_key(asked: Asked, key: str, k: int) -> list[_Node]:
    """Give the k hypernodes of one key whose values are nearest."""
    nodes = {node.iri: node for node in _nodes_of_keys(asked.store, [key], _LISTED + 1)}
    if len(nodes) > _LISTED:
        nearest = [value for value, _ in asked.values.search(asked.vector, _NEAREST)]
        nodes |= {node.iri: node for node in _nodes_of_values(asked.store, nearest) if node.key == key}
    cosines = _cosines(asked.values, (node.value for node in nodes.values()), asked.vector)
    return sorted(nodes.values(), key=lambda node: (-cosines[node.value], node.iri))[:k]


def _nearest_by_value(asked: Asked, k: int) -> list[_Node]:
    near = dict(asked.values.search(asked.vector, k))
    nodes = _nodes_of_values(asked.store, list(near))
    keys = _cosines(asked.keys, (node.key for node in nodes), asked.vector)
    return sorted(nodes, key=lambda node: (-near[node.value], -keys[node.key], node.iri))[:k]


def by_fusion(asked: Asked, k: int, *, depth: int) -> dict[str, Relevance]:
    """Give the 2k hypernodes that score best by four signals together, each worth the square of its score.

    Not in the paper, which takes the k best by key and the k best by value apart. The score of a hypernode is the sum
    of the cosines of its key and of its value with the question and of the BM25 scores of the two, each scaled to 1
    for the best. Looked at are the hypernodes of the ``depth`` best values by either signal, and those of the k / 2
    best keys, as far as a key has no more than 50.
    """
    key_words, value_words = (_scaled(words, asked.text, depth) for words in (asked.key_words, asked.value_words))
    values = {**dict(asked.values.search(asked.vector, depth)), **value_words}
    keys = _best_keys(asked, key_words, (k + 1) // 2, depth)
    nodes = {node.iri: node for node in _nodes_of_values(asked.store, list(values))}
    nodes |= {node.iri: node for node in _of_small_keys(asked.store, keys)}
    scores = {
        iri: cosines + key_words.get(nodes[iri].key, 0.0) + value_words.get(nodes[iri].value, 0.0)
        for iri, cosines in _both_cosines(asked, nodes.values()).items()
    }
    best = sorted(scores, key=lambda iri: (-scores[iri], iri))[: 2 * k]
    return {iri: Relevance(scores[iri] ** 2, scores[iri]) for iri in best if scores[iri] > 0}


def _both_cosines(asked: Asked, nodes: Collection[_Node]) -> dict[str, float]:
    """Give, by hypernode, the cosine of its key plus that of its value."""
    keys = _cosines(asked.keys, (node.key for node in nodes), asked.vector)
    values = _cosines(asked.values, (node.value for node in nodes), asked.vector)
    return {node.iri: keys[node.key] + values[node.value] for node in nodes}


def _best_keys(asked: Asked, words: Mapping[str, float], k: int, depth: int) -> list[str]:
    near = [key for key, _ in asked.keys.search(asked.vector, depth)]
    cosines = _cosines(asked.keys, [*near, *words], asked.vector)
    return sorted(cosines, key=lambda key: (-cosines[key] - words.get(key, 0.0), key))[:k]


def _scaled(words: LexicalIndex | None, question: str, depth: int) -> dict[str, float]:
    found = words.search(question, depth) if words is not None else []
    return {iri: score / found[0][1] for iri, score in found}


def _of_small_keys(store: TripleStore, keys: Sequence[str]) -> list[_Node]:
    terms = [ox.NamedNode(key) for key in keys]
    query = queries.bind("og_rag/crowded_keys", hypernodes=store.names.hypernodes, keys=terms, limit=_FEW)
    crowded = {key for (key,) in store.select(query).values()}
    return _nodes_of_keys(store, [key for key in keys if key not in crowded], _FEW)


def _cosines(index: VectorIndex, iris: Iterable[str], vector: Vectors) -> dict[str, float]:
    distinct = sorted(set(iris))
    if not distinct:
        return {}
    return dict(zip(distinct, (index.vectors(distinct) @ vector).tolist(), strict=True))


def _nodes_of_keys(store: TripleStore, keys: Sequence[str], limit: int) -> list[_Node]:
    if not keys:
        return []
    terms = [ox.NamedNode(key) for key in keys]
    query = queries.bind("og_rag/nodes_of_keys", hypernodes=store.names.hypernodes, keys=terms, limit=limit)
    return [_Node(*row) for row in store.select(query).values()]


def _nodes_of_values(store: TripleStore, values: Sequence[str]) -> list[_Node]:
    found: list[_Node] = []
    for first in range(0, len(values), _BATCH):
        terms = [ox.NamedNode(value) for value in values[first : first + _BATCH]]
        query = queries.bind("og_rag/nodes_of_values", hypernodes=store.names.hypernodes, values=terms)
        found += (_Node(*row) for row in store.select(query).values())
    return found
