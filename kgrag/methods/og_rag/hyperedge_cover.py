"""The few hyperedges that cover the relevant hypernodes, without listing those of hubs (OG-RAG, section 4.2.2).

A hub is a hypernode with more hyperedges than are listed at query time, such as (Crop name, Soybean). Candidates are
the hyperedges of the other hypernodes; a hub counts as covered by every chosen hyperedge that holds it, and candidates
are taken from its own hyperedges only when the others leave room. While no relevant hypernode is a hub the result is
that of ``cover.greedy_cover`` over all hyperedges. Between hyperedges that cover as much, the larger is taken, then the
one whose relevant hypernodes are nearer to the question, then the IRI that sorts first.

Cover of hypernodes by few hyperedges (OG-RAG, section 4.2.2 and Algorithm 2, lines 10-14). Pure functions.

The paper calls the greedy solution optimal because its constraint is a matroid; covering is not, so greedy is an
approximation (at least 1 - 1/e of the best coverage) and ``exact_cover`` is offered for the 2k nodes of a question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kgrag.methods.og_rag.hypergraph_arrays import Adjacency, Places
from kgrag.methods.og_rag.relevance import Relevance

__all__ = [
    "Cover",
    "Rank",
    "covering",
    "exact_cover",
    "greedy_cover",
]

_NEVER = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Cover:
    """How hyperedges are chosen.

    ``limit`` is L; ``kind`` of cover; ``inverse_degree`` divides what a hypernode is worth by its number of hyperedges
    (that of a hub counts as ``hub`` + 1); ``hub`` is the largest number of hyperedges listed for a hypernode.
    """

    limit: int
    kind: Literal["greedy", "exact"] = "greedy"
    inverse_degree: bool = False
    hub: int = 100


def covering(graph: Adjacency, relevant: Mapping[str, Relevance], cover: Cover) -> list[tuple[str, float]]:
    """Give hyperedges in the order taken, each with the share of the worth of all hypernodes that it newly covers.

    Args:
        graph: the hypergraph.
        relevant: hypernode -> what covering it is worth, and how near it is to the question.
        cover: how to choose.
    """
    places = zip(sorted(relevant), graph.nodes.places(sorted(relevant)).tolist(), strict=True)
    nodes = {node: place for node, place in places if place >= 0 and graph.holding.length(place)}
    degrees = {node: min(graph.holding.length(place), cover.hub + 1) for node, place in nodes.items()}
    shares = {node: 1 / degree if cover.inverse_degree else 1.0 for node, degree in degrees.items()}
    weighed = {node: relevant[node]._replace(worth=relevant[node].worth * share) for node, share in shares.items()}
    hubs = [node for node, degree in degrees.items() if degree > cover.hub]
    held = _held(graph, nodes, graph.holding.of_all([nodes[node] for node in nodes if node not in hubs]))
    chosen = _chosen(graph, held, weighed, cover)
    left = [node for node in hubs if not any(node in held[edge] for edge in chosen)]
    if left and len(chosen) < cover.limit:
        listed = np.concatenate([graph.holding.of(nodes[node])[: cover.hub + 1] for node in left])
        more = _held(graph, {node: nodes[node] for node in left}, listed)
        rest = replace(cover, limit=cover.limit - len(chosen))
        chosen += _chosen(graph, more, {node: weighed[node] for node in left}, rest)
        held = {**more, **held}
    return _shares([(graph.edges[edge], held[edge]) for edge in chosen], weighed)


def _held(graph: Adjacency, nodes: Mapping[str, int], edges: Places) -> dict[int, frozenset[str]]:
    """Give hyperedges with those of the hypernodes that they hold; of several that hold the same, the first one only.

    The first is the largest, and by IRI the first of those, so that covering never wants another one.
    """
    distinct = np.unique(edges)
    inside = np.zeros((len(distinct), len(nodes)), dtype=np.bool_)
    for column, place in enumerate(nodes.values()):
        held = graph.holding.of(place)
        at = np.searchsorted(held, distinct)
        inside[:, column] = np.append(held, _NEVER)[at] == distinct
    rows = np.packbits(inside, axis=1)
    kinds = [row.tobytes() for row in rows]
    firsts = dict(zip(reversed(kinds), range(len(kinds) - 1, -1, -1), strict=True))
    names = list(nodes)
    return {
        int(distinct[first]): frozenset(names[column] for column in np.flatnonzero(inside[first]))
        for first in sorted(firsts.values())
    }


def _chosen(
    graph: Adjacency, held: Mapping[int, frozenset[str]], relevant: Mapping[str, Relevance], cover: Cover
) -> list[int]:
    named = {graph.edges[edge]: edge for edge in held}
    ranks = {
        iri: (int(graph.sizes[edge]), sum(relevant[node].nearness for node in sorted(held[edge] & relevant.keys())))
        for iri, edge in named.items()
    }
    weights = {node: one.worth for node, one in relevant.items()}
    edges = {iri: held[edge] for iri, edge in named.items()}
    pick = exact_cover if cover.kind == "exact" else greedy_cover
    return [named[iri] for iri in pick(relevant.keys(), edges, limit=cover.limit, weights=weights, ranks=ranks)]


def _shares(chosen: Sequence[tuple[str, frozenset[str]]], relevant: Mapping[str, Relevance]) -> list[tuple[str, float]]:
    """Give what each hyperedge newly covers, as a share of all; largest first."""
    total, covered, shares = sum(one.worth for one in relevant.values()), set[str](), []
    for edge, held in chosen:
        shares.append((edge, sum(relevant[node].worth for node in sorted(held - covered)) / total))
        covered |= held
    return sorted(shares, key=lambda pair: -pair[1])


Rank = tuple[float, ...]

_STEPS = 200_000


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
    _check(limit)
    open_nodes = set(nodes)
    taken: list[str] = []
    while open_nodes and len(taken) < limit:
        gains = {edge: _worth(open_nodes & inside, weights) for edge, inside in edges.items() if edge not in taken}
        best = min(
            gains, key=lambda edge: (-gains[edge], *(-part for part in _rank(edge, edges, ranks)), edge), default=None
        )
        if best is None or not open_nodes & edges[best]:
            break
        taken.append(best)
        open_nodes -= edges[best]
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

    Branch and bound over the edges that cover something no single other edge covers, started from the greedy result;
    after 200,000 steps the best so far is given, so that the time is bounded. Same arguments as ``greedy_cover``.

    Raises:
        ValueError: ``limit`` is below 1.

    >>> edges = {"a": {"1", "2", "3", "4"}, "b": {"1", "2", "5"}, "c": {"3", "4", "6"}}
    >>> greedy_cover(set("123456"), edges, limit=2), exact_cover(set("123456"), edges, limit=2)
    (['a', 'b'], ['b', 'c'])
    """
    start = greedy_cover(nodes, edges, limit=limit, weights=weights, ranks=ranks)
    useful = _undominated(nodes, edges, ranks)
    search = _Search(useful, limit, weights)
    search.offer(tuple(edge for edge in start if edge in useful))
    search.branch((), frozenset(nodes), list(useful))
    return greedy_cover(nodes, {edge: edges[edge] for edge in search.best}, limit=limit, weights=weights, ranks=ranks)


class _Search:
    """The state of one branch and bound: the best choice so far, and how many steps are left."""

    def __init__(self, useful: Mapping[str, frozenset[str]], limit: int, weights: Mapping[str, float] | None) -> None:
        self.useful, self.limit, self.weights = useful, limit, weights
        self.best: tuple[str, ...] = ()
        self.score = (0.0, 0)
        self.steps = _STEPS

    def offer(self, chosen: tuple[str, ...]) -> None:
        """Keep a choice that covers more than the best, or as much with fewer edges."""
        covered: frozenset[str] = frozenset().union(*(self.useful[edge] for edge in chosen))
        score = (_worth(covered, self.weights), -len(chosen))
        if score > self.score:
            self.best, self.score = chosen, score

    def branch(self, chosen: tuple[str, ...], left: frozenset[str], rest: list[str]) -> None:
        """Try to add each of the remaining edges, those that gain most first."""
        self.offer(chosen)
        self.steps -= 1
        room = self.limit - len(chosen)
        gains = {edge: _worth(left & self.useful[edge], self.weights) for edge in rest}
        order = sorted((edge for edge in rest if gains[edge] > 0), key=lambda edge: -gains[edge])
        reached = _worth(frozenset().union(*(self.useful[edge] for edge in chosen)), self.weights)
        for place, edge in enumerate(order):
            bound = reached + sum(gains[other] for other in order[place : place + room])
            if room < 1 or self.steps < 1 or (bound, -len(chosen) - 1) <= self.score:
                return
            self.branch((*chosen, edge), left - self.useful[edge], order[place + 1 :])


def _undominated(
    nodes: Set[str], edges: Mapping[str, Set[str]], ranks: Mapping[str, Rank] | None
) -> dict[str, frozenset[str]]:
    """Give, by edge, the wanted nodes it covers, without edges that another covers (ties: larger edge, then IRI)."""
    covering: dict[frozenset[str], str] = {}
    for edge in sorted(edges, key=lambda edge: (*(-part for part in _rank(edge, edges, ranks)), edge)):
        covering.setdefault(frozenset(nodes & edges[edge]), edge)
    kept = [inside for inside in covering if inside and not any(inside < other for other in covering)]
    return {covering[inside]: inside for inside in kept}


def _worth(covered: Iterable[str], weights: Mapping[str, float] | None) -> float:
    return float(len(list(covered))) if weights is None else sum(weights.get(node, 0.0) for node in sorted(covered))


def _rank(edge: str, edges: Mapping[str, Set[str]], ranks: Mapping[str, Rank] | None) -> Rank:
    return (len(edges[edge]),) if ranks is None else ranks[edge]


def _check(limit: int) -> None:
    if limit < 1:
        raise ValueError(f"limit is {limit}; at least one hyperedge must be allowed.")
