"""The few hyperedges that cover the relevant hypernodes, without listing those of hubs (OG-RAG, section 4.2.2).

A hub is a hypernode with more hyperedges than are listed at query time, such as (Crop name, Soybean). Candidates are
the hyperedges of the other hypernodes; a hub counts as covered by every chosen hyperedge that holds it, and candidates
are taken from its own hyperedges only when the others leave room. While no relevant hypernode is a hub the result is
that of ``cover.greedy_cover`` over all hyperedges. Between hyperedges that cover as much, the larger is taken, then the
one whose relevant hypernodes are nearer to the question, then the IRI that sorts first.

Queries read: ``og_rag/hyperedges_of``, ``og_rag/holding``, ``og_rag/sizes``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

import pyoxigraph as ox

from kgrag import queries
from kgrag.methods.og_rag.relevance import Relevance
from kgrag.ports import TripleStore
from kgrag.stages.cover import exact_cover, greedy_cover

__all__ = ["Cover", "covering"]

_BATCH = 2000

Edges = dict[str, set[str]]


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


def covering(store: TripleStore, relevant: Mapping[str, Relevance], cover: Cover) -> list[tuple[str, float]]:
    """Give hyperedges in the order taken, each with the share of the worth of all hypernodes that it newly covers.

    Args:
        store: holds the hyperedges.
        relevant: hypernode -> what covering it is worth, and how near it is to the question.
        cover: how to choose.
    """
    listed = _hyperedges_of(store, list(relevant), cover.hub + 1)
    hubs = {node for node, edges in listed.items() if len(edges) > cover.hub}
    shares = {node: 1 / len(edges) if cover.inverse_degree else 1.0 for node, edges in listed.items()}
    weighed = {node: relevant[node]._replace(worth=relevant[node].worth * share) for node, share in shares.items()}
    rare = {node: edges for node, edges in listed.items() if node not in hubs}
    held = _held(store, rare, hubs)
    chosen = _chosen(store, held, weighed, cover)
    left = hubs.difference(*(held[edge] for edge in chosen))
    if left and len(chosen) < cover.limit:
        more = _held(store, {node: listed[node] for node in left}, left)
        rest = replace(cover, limit=cover.limit - len(chosen))
        chosen += _chosen(store, more, {node: weighed[node] for node in left}, rest)
        held = {**more, **held}
    return _shares(chosen, held, weighed)


def _held(store: TripleStore, listed: Mapping[str, Sequence[str]], hubs: Set[str]) -> Edges:
    """Give the hyperedges listed, each with those hypernodes that it is listed for and the hubs that it holds."""
    edges: Edges = defaultdict(set)
    for node, found in listed.items():
        for edge in found:
            edges[edge].add(node)
    if hubs:
        terms = _terms(sorted(hubs))
        for batch in _batches(sorted(edges)):
            for edge, node in store.select(queries.bind("og_rag/holding", edges=batch, nodes=terms)).values():
                edges[edge].add(node)
    return dict(edges)


def _chosen(store: TripleStore, held: Edges, relevant: Mapping[str, Relevance], cover: Cover) -> list[str]:
    sizes = _sizes(store, held)
    ranks = {
        edge: (sizes[edge], sum(relevant[node].nearness for node in sorted(nodes & relevant.keys())))
        for edge, nodes in held.items()
    }
    weights = {node: one.worth for node, one in relevant.items()}
    pick = exact_cover if cover.kind == "exact" else greedy_cover
    return pick(relevant.keys(), held, limit=cover.limit, weights=weights, ranks=ranks)


def _shares(chosen: Sequence[str], held: Edges, relevant: Mapping[str, Relevance]) -> list[tuple[str, float]]:
    """Give what each hyperedge newly covers, as a share of all; largest first."""
    total, covered, shares = sum(one.worth for one in relevant.values()), set[str](), []
    for edge in chosen:
        shares.append((edge, sum(relevant[node].worth for node in sorted(held[edge] - covered)) / total))
        covered |= held[edge]
    return sorted(shares, key=lambda pair: -pair[1])


def _hyperedges_of(store: TripleStore, nodes: Sequence[str], limit: int) -> dict[str, list[str]]:
    listed: dict[str, list[str]] = defaultdict(list)
    if nodes:
        query = queries.bind("og_rag/hyperedges_of", nodes=_terms(nodes), limit=limit)
        for node, edge in store.select(query).values():
            listed[node].append(edge)
    return dict(listed)


def _sizes(store: TripleStore, edges: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for batch in _batches(sorted(edges)):
        query = queries.bind("og_rag/sizes", catalogue=store.names.catalogue, edges=batch)
        found.update((edge, int(size)) for edge, size in store.select(query).values())
    return found


def _batches(iris: Sequence[str]) -> Iterator[list[ox.NamedNode]]:
    for first in range(0, len(iris), _BATCH):
        yield _terms(iris[first : first + _BATCH])


def _terms(iris: Iterable[str]) -> list[ox.NamedNode]:
    return [ox.NamedNode(iri) for iri in iris]
