"""Summary trees: leaves are clustered, each cluster is summarised, and so on over the summaries (RAPTOR, section 3).

Four levels in all, as in SiReRAG, section 4. A node that is alone in its cluster is not summarised but rises; a layer
that is too small to be clustered, or that clustering does not make smaller, ends the tree. Texts, vectors and names
come from the caller, so that the same code grows a tree of chunks and one of aggregates. Nothing is read or written.

A tree can also follow its leaves, so that only the clusters that a change touches are summarised again. A leaf that is
gone leaves its clusters, one that takes another's place takes its places too, and a new one joins the cluster of the
first level whose middle is nearest to it and that has tokens left; where no near cluster has, it stays outside. Then
every cluster with a changed member gets a new summary, which takes the place of the old one above. A cluster that is
left with one member is replaced by that member. So adding a leaf changes at most one node per level, and taking it away
again brings back the tree as it was.

Deviations:
    RAPTOR and SiReRAG do not change a tree. Clusters are not fitted anew here: after many changes they are no longer
    those that growing the tree whole would give, which is why the caller counts changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from kgrag.methods.sire_rag.clustering import Clustering, clusters
from kgrag.ports import Vectors
from kgrag.text.chunking import count_tokens

__all__ = ["SummaryNode", "SummaryTree", "TreeBuilder", "TreeLeaf", "change", "grow", "successors"]

_MAX_CLUSTERS_TRIED = 10
"""Clusters that a new leaf may join, nearest first; one further away has little in common with it."""


@dataclass(frozen=True, slots=True)
class TreeLeaf:
    """A leaf: an IRI and a text."""

    iri: str
    text: str


@dataclass(frozen=True, slots=True)
class SummaryNode:
    """A node above the leaves: ``level`` from 1, ``children`` sorted IRIs of leaves or summaries."""

    iri: str
    text: str
    level: int
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SummaryTree:
    """A tree: its leaves by IRI, and its summaries; one without a text has lost it and needs a new one."""

    leaves: frozenset[str] = frozenset()
    summaries: tuple[SummaryNode, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class TreeBuilder:
    """What growing needs of its caller.

    ``summarise`` returns one text per cluster ("" for none), ``embed`` unit vectors, ``name`` the IRI of a node by
    level, text and children. ``levels`` counts the leaves, so that 4 means summaries on levels 1 to 3.
    """

    summarise: Callable[[Sequence[Sequence[str]]], Sequence[str]]
    embed: Callable[[Sequence[str]], Vectors]
    name: Callable[[int, str, Sequence[str]], str]
    clustering: Clustering = field(default_factory=Clustering)
    levels: int = 4


_Node = TreeLeaf | SummaryNode


def grow(
    leaves: Sequence[TreeLeaf], builder: TreeBuilder, more_clusters: Sequence[Sequence[str]] = ()
) -> list[SummaryNode]:
    """Return the summaries above some leaves, lower levels first; [] when there are too few leaves to cluster.

    Args:
        leaves: with distinct IRIs; their order decides nothing.
        builder: how to summarise, embed and name.
        more_clusters: of leaves, by IRI, that the first level gets besides those by the texts.

    Raises:
        ServiceError: the model or the embedder is a service that fails.
    """
    layer: list[_Node] = sorted(leaves, key=lambda leaf: leaf.iri)
    grown: dict[str, SummaryNode] = {}
    for level in range(1, builder.levels):
        if len(layer) <= builder.clustering.dimensions + 1:
            break
        vectors = np.asarray(builder.embed([node.text for node in layer]), dtype=np.float32)
        lengths = [count_tokens(node.text) for node in layer]
        groups = [[layer[number] for number in group] for group in clusters(vectors, lengths, builder.clustering)]
        if level == 1 and more_clusters:
            groups = _with_more(groups, {leaf.iri: leaf for leaf in leaves}, more_clusters)
        made = _summaries([group for group in groups if len(group) > 1], level, builder)
        if not made or len(made) >= len(layer):
            break
        risen = [group[0] for group in groups if len(group) == 1]
        grown |= {node.iri: node for node in made}
        layer = sorted({node.iri: node for node in [*made, *risen]}.values(), key=lambda node: node.iri)
    return list(grown.values())


def _with_more(
    groups: Sequence[Sequence[_Node]], leaves: Mapping[str, TreeLeaf], more_clusters: Sequence[Sequence[str]]
) -> list[list[_Node]]:
    """Return both kinds of clusters, each set of leaves once."""
    distinct: dict[tuple[str, ...], list[_Node]] = {tuple(node.iri for node in group): [*group] for group in groups}
    for cluster in more_clusters:
        iris = tuple(sorted(cluster))
        distinct.setdefault(iris, [leaves[iri] for iri in iris])
    return list(distinct.values())


def _summaries(groups: Sequence[Sequence[_Node]], level: int, builder: TreeBuilder) -> list[SummaryNode]:
    texts = builder.summarise([[node.text for node in group] for group in groups])
    made = []
    for group, text in zip(groups, texts, strict=True):
        children = tuple(node.iri for node in group)
        if text.strip():
            made.append(SummaryNode(builder.name(level, text, children), text, level, children))
    return made


def successors(gone: Mapping[str, frozenset[str]], come: Mapping[str, frozenset[str]]) -> dict[str, str]:
    """Pair leaves that are gone with those that take their places: the ones that share most of their parts.

    Args:
        gone: IRI -> the parts of a leaf that is no longer there.
        come: IRI -> the parts of a leaf that is new.

    Returns:
        Gone -> new, one to one; taking ``gone`` for ``come`` gives the same pairs the other way round.

    >>> successors({"old": frozenset("ab")}, {"new": frozenset("abc"), "other": frozenset("x")})
    {'old': 'new'}
    """
    new_with_part: dict[str, list[str]] = defaultdict(list)
    for iri, parts in come.items():
        for part in parts:
            new_with_part[part].append(iri)
    pairs = {(old, new) for old, parts in gone.items() for part in parts for new in new_with_part.get(part, ())}
    shares = {(old, new): len(gone[old] & come[new]) / len(gone[old] | come[new]) for old, new in pairs}
    successor_of: dict[str, str] = {}
    taken: set[str] = set()
    for old, new in sorted(pairs, key=lambda pair: (-shares[pair], min(pair), max(pair))):
        if old not in successor_of and new not in taken:
            successor_of[old] = new
            taken.add(new)
    return successor_of


def change(
    tree: SummaryTree, leaves: Sequence[TreeLeaf], heirs: Mapping[str, str], builder: TreeBuilder
) -> tuple[list[SummaryNode], int]:
    """Return the summaries of a tree after its leaves changed, lower levels first, and how many of them are new.

    Args:
        tree: the tree before.
        leaves: all leaves of the tree after, with distinct IRIs.
        heirs: leaf before -> leaf after that takes its places.
        builder: how to summarise, embed and name.

    Raises:
        ServiceError: the model or the embedder is a service that fails.
    """
    texts = {leaf.iri: leaf.text for leaf in leaves} | {node.iri: node.text for node in tree.summaries}
    instead: dict[str, str | None] = {iri: heirs.get(iri) for iri in tree.leaves if iri not in texts}
    joining = _joining(tree, leaves, instead, builder)
    kept: dict[str, SummaryNode] = {}
    made = 0
    for level in sorted({node.level for node in tree.summaries}):
        touched = []
        for node in (node for node in tree.summaries if node.level == level):
            children = _replaced([*node.children, *joining.get(node.iri, ())], instead)
            if tuple(children) == node.children and node.text:
                kept[node.iri] = node
            elif len(children) > 1:
                touched.append((node.iri, children))
            else:
                instead[node.iri] = children[0] if children else None
        made += len(touched)
        summaries = builder.summarise([[texts[child] for child in children] for _, children in touched])
        for (before, children), summary in zip(touched, summaries, strict=True):
            text = summary if summary.strip() else texts[children[0]]  # a parent above needs some words of it
            after = SummaryNode(builder.name(level, text, children), text, level, tuple(children))
            instead[before] = after.iri
            texts[after.iri] = after.text
            kept[after.iri] = after
    return list(kept.values()), made


def _replaced(children: Iterable[str], instead: Mapping[str, str | None]) -> list[str]:
    """Return children after what took their places, sorted, each once; None in ``instead`` means gone."""
    now = (instead.get(child, child) for child in children)
    return sorted({child for child in now if child is not None})


def _joining(
    tree: SummaryTree, leaves: Sequence[TreeLeaf], instead: Mapping[str, str | None], builder: TreeBuilder
) -> dict[str, list[str]]:
    """Return the new leaves that join each cluster of the first level."""
    inherited = {heir for heir in instead.values() if heir}
    new = sorted(leaf.iri for leaf in leaves if leaf.iri not in tree.leaves and leaf.iri not in inherited)
    texts = {leaf.iri: leaf.text for leaf in leaves}
    members: dict[str, list[str]] = {}
    for node in tree.summaries:
        if node.level == 1 and (left := [child for child in _replaced(node.children, instead) if child in texts]):
            members[node.iri] = left
    if not new or not members:
        return {}
    embedded = sorted({child for children in members.values() for child in children} | set(new))
    vectors = np.asarray(builder.embed([texts[iri] for iri in embedded]), dtype=np.float32)
    row = {iri: number for number, iri in enumerate(embedded)}
    joinable = sorted(members)
    middles = np.stack([vectors[[row[child] for child in members[node]]].mean(axis=0) for node in joinable])
    middles /= np.maximum(np.linalg.norm(middles, axis=1, keepdims=True), 1e-9)
    joining: dict[str, list[str]] = defaultdict(list)
    length_of = cache(lambda iri: count_tokens(texts[iri]))  # of what is near to a new leaf alone
    for iri in new:
        for number in np.argsort(-(middles @ vectors[row[iri]]), kind="stable")[:_MAX_CLUSTERS_TRIED]:
            node = joinable[number]
            if sum(map(length_of, [*members[node], *joining.get(node, ()), iri])) <= builder.clustering.tokens:
                joining[node].append(iri)
                break
    return joining
