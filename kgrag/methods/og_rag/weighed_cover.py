"""A cover that does not reward size: hyperedges by what they are worth for their length, and by their words as a whole.

Not in the paper, whose greedy cover (``hyperedge_cover``) takes the hyperedge with most of the relevant hypernodes, and
the larger of two with as many: on news the first one had 12 pairs where it was wrong and 9 where it was right, a
quarter of them dates and placeholders that hundreds of others have too. Here

* a hypernode is worth less the more hyperedges it is in (inverse document frequency, as a term of BM25);
* what a hyperedge covers is divided by 1 - b + b * its length over the mean length, as in BM25;
* its BM25 as a text is added, so that the plain passages of the same facts are in the pool;
* what is covered keeps a part of its worth, and ties go to the more relevant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgrag.methods.og_rag.hypergraph_arrays import Adjacency
from kgrag.methods.og_rag.relevance import Relevant

__all__ = ["WeighedCover", "weighed_covering"]

_HUB = 100  # hyperedges of a hypernode that are listed; those of one with more join by another one or by their words
Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class WeighedCover:
    """How hyperedges are chosen.

    Args:
        limit: the largest number of them.
        length: b, how far a long hyperedge is worth less, 0 to 1.
        words: what the best hyperedge by its words as a whole is worth, where the best by its hypernodes is worth 1.
        kept: the share of its worth that a covered hypernode keeps, 0 to 1.
    """

    limit: int
    length: float = 0.2
    words: float = 1.0
    kept: float = 0.3


def weighed_covering(
    graph: Adjacency, relevant: Relevant, by_words: Mapping[str, float], cover: WeighedCover
) -> list[tuple[int, float]]:
    """Return the chosen hyperedges, by place, with what each was worth when it was chosen, best first.

    Ties go to the more relevant, then to the larger, then to the IRI that sorts first.

    Args:
        graph: the hypergraph, or the part of it that may be seen.
        relevant: hypernodes, and what covering each is worth.
        by_words: hyperedge -> BM25 of its text, above 0; those that are not listed have none.
        cover: how to choose.
    """
    degrees = graph.edges_of.lengths(relevant.places)
    places, worth, degrees = relevant.places[degrees > 0], relevant.worth[degrees > 0], degrees[degrees > 0]
    worth = worth * np.log1p(len(graph.edges) / degrees) / np.log1p(max(len(graph.edges), 1))
    worded = graph.edge_places(list(by_words))
    listed = graph.edges_of.of_all(places[degrees <= _HUB])
    if not len(listed) and not len(worded):
        listed = graph.edges_of.of_all(places)[: _HUB * max(len(places), 1)]
    edges = np.unique(np.concatenate([listed.astype(np.int64), worded[worded >= 0]]))
    has = graph.membership(edges, places)
    words = np.zeros(len(edges))
    words[np.searchsorted(edges, worded[worded >= 0])] = np.array(list(by_words.values()))[worded >= 0]
    chosen = _chosen(has, worth, _lengths(graph, edges, cover.length), words, cover)
    return [(int(edges[row]), gain) for row, gain in chosen]


def _lengths(graph: Adjacency, edges: npt.NDArray[np.int64], b: float) -> Scores:
    """Return by what the worth of each hyperedge is divided: 1 for one of mean length."""
    mean = graph.mean_size
    lengths: Scores = 1 - b + b * graph.sizes[edges].astype(np.float64) / max(mean, 1e-9)
    return lengths


def _chosen(
    has: npt.NDArray[np.bool_], worth: Scores, lengths: Scores, words: Scores, cover: WeighedCover
) -> list[tuple[int, float]]:
    inside = has.astype(np.float64)
    relevance = inside @ worth / lengths
    scale = float(relevance.max(initial=0.0)) or 1.0
    spoken = cover.words * words / (float(words.max(initial=0.0)) or 1.0)
    left, waiting = worth.copy(), np.ones(len(has), np.bool_)
    chosen: list[tuple[int, float]] = []
    while len(chosen) < min(cover.limit, len(has)):
        gains = np.where(waiting, inside @ left / lengths / scale + spoken, -np.inf)
        leading = np.flatnonzero(gains == gains.max())
        best = int(leading[np.argmax(relevance[leading])])
        if gains[best] <= 0:
            break
        chosen.append((best, float(gains[best])))
        waiting[best] = False
        left = np.where(has[best], cover.kept * left, left)
    return chosen
