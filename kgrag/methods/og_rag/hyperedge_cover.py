"""The few hyperedges that cover the relevant hypernodes (OG-RAG, section 4.2.2; Algorithm 2, lines 10-14).

``greedy_cover`` and ``exact_cover`` are pure functions over sets of names, the greedy one by definition: a question is
answered by ``_greedy``, the same over arrays. The paper calls the greedy solution optimal
because its constraint is a matroid; covering is not, so greedy is an approximation (at least 1 - 1/e of the best
coverage), and ``exact_cover`` is offered for the 2k relevant hypernodes of a question.

``covering`` applies either to a hypergraph without listing the hyperedges of hubs. A hub is a hypernode in more
hyperedges than are listed at query time, such as (Crop name, Soybean). Candidates are the hyperedges of the other
hypernodes; a hub counts as covered by every chosen hyperedge that contains it, and its own hyperedges become
candidates only when the others leave room. While no relevant hypernode is a hub, the result is that of the plain cover
over all hyperedges.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from kgrag.index.place_lists import distinct
from kgrag.methods.og_rag.hypergraph_arrays import Adjacency
from kgrag.methods.og_rag.relevance import Relevant

__all__ = ["Cover", "Rank", "covering", "exact_cover", "greedy_cover"]

Rank = tuple[float, ...]
_Places = npt.NDArray[np.int64]
_Scores = npt.NDArray[np.float64]
_Flags = npt.NDArray[np.bool_]

_MAX_BRANCHES = 200_000  # that the exact search enters, so that its time is bounded


@dataclass(frozen=True, slots=True)
class Cover:
    """How hyperedges are chosen.

    ``limit`` is L, the largest number of hyperedges; ``kind`` is the algorithm; ``inverse_degree`` divides the worth of
    a hypernode by its number of hyperedges (``hub`` + 1 for a hub); ``hub`` is the largest number of hyperedges listed
    per hypernode.
    """

    limit: int
    kind: Literal["greedy", "exact"] = "greedy"
    inverse_degree: bool = False
    hub: int = 100


def covering(graph: Adjacency, relevant: Relevant, cover: Cover) -> list[tuple[int, float]]:
    """Return the chosen hyperedges, by place, with the share of all worth that each newly covers, the largest first.

    Between hyperedges that cover as much, the larger is taken, then the one whose relevant hypernodes are nearer to the
    question, then the IRI that sorts first.

    Args:
        graph: the hypergraph.
        relevant: hypernodes, what covering each is worth, and how near it is to the question.
        cover: how to choose.
    """
    nodes = _Nodes.of(graph, relevant, cover)
    edges = distinct(graph.edges_of.of_all(nodes.places[~nodes.is_hub]))
    has = graph.membership(edges, nodes.places)
    chosen, covers = _chosen(graph, edges, has, nodes, cover)
    waiting = nodes.is_hub & ~covers.any(axis=0)
    if waiting.any() and len(chosen) < cover.limit:
        listed = [graph.edges_of.of(place)[: cover.hub + 1] for place in nodes.places[waiting].tolist()]
        of_hubs = distinct(np.concatenate(listed))
        has = graph.membership(of_hubs, nodes.places) & waiting
        others, covers_too = _chosen(graph, of_hubs, has, nodes, replace(cover, limit=cover.limit - len(chosen)))
        chosen, covers = np.concatenate([chosen, others]), np.concatenate([covers, covers_too])
    before: _Places = np.cumsum(covers, axis=0, dtype=np.int64) - covers
    newly = ((covers & (before == 0)) * nodes.worth).sum(axis=1) / (nodes.worth.sum() or 1.0)
    shares = zip(chosen.tolist(), newly.tolist(), strict=True)
    return sorted(shares, key=lambda pair: -pair[1])


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The relevant hypernodes that are in some hyperedge, by ascending place; each array of shape (n,)."""

    places: _Places
    worth: _Scores
    nearness: _Scores
    is_hub: _Flags

    @classmethod
    def of(cls, graph: Adjacency, relevant: Relevant, cover: Cover) -> _Nodes:
        degrees = graph.edges_of.lengths(relevant.places)
        known = degrees > 0
        degrees = degrees[known]
        factors = 1 / np.minimum(degrees, cover.hub + 1) if cover.inverse_degree else np.ones(len(degrees))
        return cls(
            relevant.places[known], relevant.worth[known] * factors, relevant.nearness[known], degrees > cover.hub
        )


def _chosen(graph: Adjacency, edges: _Places, has: _Flags, nodes: _Nodes, cover: Cover) -> tuple[_Places, _Flags]:
    """Return the chosen hyperedges in the order taken, shape (c,), and what each contains, shape (c, nodes).

    Ties go to the larger hyperedge, then to the one whose relevant hypernodes are nearer, then to the IRI that sorts
    first: places of hyperedges ascend as sizes fall, and as IRIs ascend where sizes are the same.
    """
    if not has.size:
        return edges[:0], has[:0]
    nearness = _sums(_by_node(has), nodes.nearness)
    order = np.lexsort((edges, -nearness, -graph.sizes[edges]))
    edges, has = edges[order], has[order]
    rows = _exact(has, nodes.worth, cover.limit) if cover.kind == "exact" else _greedy(has, nodes.worth, cover.limit)
    return edges[rows], has[rows]


def _greedy(has: _Flags, worth: _Scores, limit: int) -> list[int]:
    """Return the rows that ``greedy_cover`` takes where rows that come earlier win ties."""
    left, taken, inside = worth.copy(), list[int](), _by_node(has)
    while len(taken) < limit:
        gains = _sums(inside, left)
        best = int(np.argmax(gains))
        if gains[best] <= 0:
            break
        taken.append(best)
        left[has[best]] = 0
    return taken


def _exact(has: _Flags, worth: _Scores, limit: int) -> list[int]:
    """Return the rows that ``exact_cover`` takes where rows that come earlier win ties."""
    firsts: dict[bytes, int] = {}
    for row, pattern in enumerate(np.packbits(has, axis=1)):
        firsts.setdefault(pattern.tobytes(), row)
    names = [f"{column:09}" for column in range(has.shape[1])]
    rows = {f"{row:09}": row for row in firsts.values()}
    edges = {name: frozenset(names[column] for column in np.flatnonzero(has[row])) for name, row in rows.items()}
    weights = dict(zip(names, worth.tolist(), strict=True))
    picked = exact_cover(weights.keys(), edges, limit=limit, weights=weights, ranks=dict.fromkeys(edges, ()))
    return [rows[name] for name in picked]


def _by_node(has: _Flags) -> _Scores:
    """Return 1.0 where a hyperedge contains a hypernode, shape (nodes, edges)."""
    return np.ascontiguousarray(has.T).astype(np.float64)


def _sums(inside: _Scores, values: _Scores) -> _Scores:
    """Return the sum of the values of each column, added up from node to node so that columns alike come out alike."""
    sums: _Scores = (inside * values[:, None]).sum(axis=0)
    return sums


def greedy_cover(
    nodes: Set[str],
    edges: Mapping[str, Set[str]],
    *,
    limit: int,
    weights: Mapping[str, float] | None = None,
    ranks: Mapping[str, Rank] | None = None,
) -> list[str]:
    """Pick few hyperedges that together touch as many wanted hypernodes as possible.

    OG-RAG, section 4.2.2 and Algorithm 2, lines 10-14. Each step takes the hyperedge that covers
    most still-uncovered nodes; ties go to the larger hyperedge, then to the IRI that sorts first.

    Args:
        nodes: the relevant hypernodes N(Q), at most 2k of them.
        edges: hyperedge -> the hypernodes it contains.
        limit: L, the largest number of hyperedges (a count, not tokens); at least 1.
        weights: hypernode -> what covering it is worth, at least 0; default: 1 each, as in the paper.
        ranks: hyperedge -> what decides between hyperedges that cover as much, larger first; default: its size.

    Returns:
        Hyperedges in the order taken, at most ``limit``; [] when ``nodes`` is empty.

    Raises:
        ValueError: ``limit`` is below 1.

    Deviations:
        Line 11 joins its two stop tests with "or", which never ends once all nodes are
        covered; section 4.2.2 stops at whichever comes first, as here.

    >>> greedy_cover({"x", "y", "z"}, {"a": {"x", "y"}, "b": {"z"}, "c": {"y"}}, limit=2)
    ['a', 'b']
    """
    if limit < 1:
        raise ValueError(f"limit is {limit}; at least one hyperedge must be allowed.")
    uncovered = set(nodes)
    taken: list[str] = []
    while uncovered and len(taken) < limit:
        gains = {edge: _worth(uncovered & inside, weights) for edge, inside in edges.items() if edge not in taken}
        best = min(gains, key=lambda edge: (-gains[edge], *_tie_break(edge, edges, ranks)), default=None)
        # A node of weight 0 adds no gain and is still worth covering.
        if best is None or not uncovered & edges[best]:
            break
        taken.append(best)
        uncovered -= edges[best]
    return taken


def exact_cover(
    nodes: Set[str],
    edges: Mapping[str, Set[str]],
    *,
    limit: int,
    weights: Mapping[str, float] | None = None,
    ranks: Mapping[str, Rank] | None = None,
) -> list[str]:
    """Pick at most ``limit`` hyperedges whose coverage no other choice exceeds, and no more of them than that needs.

    Branch and bound over the hyperedges that cover what no single other one covers, started from the greedy result.
    After 200,000 branches the best choice so far is returned, so that the time is bounded. Same arguments as
    ``greedy_cover``.

    Raises:
        ValueError: ``limit`` is below 1.

    >>> edges = {"a": {"1", "2", "3", "4"}, "b": {"1", "2", "5"}, "c": {"3", "4", "6"}}
    >>> greedy_cover(set("123456"), edges, limit=2), exact_cover(set("123456"), edges, limit=2)
    (['a', 'b'], ['b', 'c'])
    """
    start = greedy_cover(nodes, edges, limit=limit, weights=weights, ranks=ranks)
    by_coverage: dict[frozenset[str], str] = {}
    for edge in sorted(edges, key=lambda edge: _tie_break(edge, edges, ranks)):
        by_coverage.setdefault(frozenset(nodes & edges[edge]), edge)
    # An edge whose coverage is part of another's is in no choice that is better for it.
    maximal = [inside for inside in by_coverage if inside and not any(inside < wider for wider in by_coverage)]
    search = _Search({by_coverage[inside]: inside for inside in maximal}, limit, weights)
    search.offer(tuple(edge for edge in start if edge in search.useful))
    search.branch((), frozenset(nodes), list(search.useful))
    return greedy_cover(nodes, {edge: edges[edge] for edge in search.best}, limit=limit, weights=weights, ranks=ranks)


class _Search:
    """A branch and bound: the best choice so far, and how many branches it may still enter."""

    def __init__(self, useful: Mapping[str, frozenset[str]], limit: int, weights: Mapping[str, float] | None) -> None:
        self.useful, self.limit, self.weights = useful, limit, weights
        self.best: tuple[str, ...] = ()
        self.score = (0.0, 0)
        self.branches_left = _MAX_BRANCHES

    def offer(self, chosen: tuple[str, ...]) -> float:
        """Keep a choice that covers more than the best, or as much with fewer edges; return what it covers."""
        covered: frozenset[str] = frozenset().union(*(self.useful[edge] for edge in chosen))
        worth = _worth(covered, self.weights)
        if (worth, -len(chosen)) > self.score:
            self.best, self.score = chosen, (worth, -len(chosen))
        return worth

    def branch(self, chosen: tuple[str, ...], uncovered: frozenset[str], candidates: list[str]) -> None:
        """Try to add each of the candidates, those that gain most first."""
        reached = self.offer(chosen)
        self.branches_left -= 1
        room = self.limit - len(chosen)
        gains = {edge: _worth(uncovered & self.useful[edge], self.weights) for edge in candidates}
        order = sorted((edge for edge in candidates if gains[edge] > 0), key=lambda edge: -gains[edge])
        for place, edge in enumerate(order):
            bound = reached + sum(gains[later] for later in order[place : place + room])
            if room < 1 or self.branches_left < 1 or (bound, -len(chosen) - 1) <= self.score:
                return
            self.branch((*chosen, edge), uncovered - self.useful[edge], order[place + 1 :])


def _worth(covered: Iterable[str], weights: Mapping[str, float] | None) -> float:
    # Sorted, because a sum of floats depends on its order and that of a set changes from run to run.
    return float(len(list(covered))) if weights is None else sum(weights.get(node, 0.0) for node in sorted(covered))


def _tie_break(edge: str, edges: Mapping[str, Set[str]], ranks: Mapping[str, Rank] | None) -> tuple[float | str, ...]:
    """Return what sorts a hyperedge before others that cover as much: its rank, larger first, then its IRI."""
    rank = (len(edges[edge]),) if ranks is None else ranks[edge]
    return (*(-part for part in rank), edge)
