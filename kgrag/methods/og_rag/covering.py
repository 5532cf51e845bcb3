"""The few hyperedges that cover the relevant hypernodes, without listing those of hubs (OG-RAG, section 4.2.2).

A hub is a hypernode with more hyperedges than are listed at query time, such as (Crop name, Soybean). Candidates are
the hyperedges of the other hypernodes; a hub counts as covered by every chosen hyperedge that holds it, and candidates
are taken from its own hyperedges only when the others leave room. While no relevant hypernode is a hub the result is
that of ``cover.greedy_cover`` over all hyperedges. Between hyperedges that cover as much, the larger is taken, then the
one whose relevant hypernodes are nearer to the question, then the IRI that sorts first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from kgrag.methods.og_rag.adjacency import Adjacency, Places
from kgrag.methods.og_rag.relevance import Relevance
from kgrag.stages.cover import exact_cover, greedy_cover

__all__ = ["Cover", "covering"]

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
