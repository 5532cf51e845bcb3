"""Summary trees: leaves are clustered, each cluster is summarised, and so on over the summaries (RAPTOR, section 3).

Four levels in all, as in SiReRAG, section 4. A node that is alone in its cluster is not summarised but rises; a layer
that is too small to be clustered, or that clustering does not make smaller, ends the tree. Texts, vectors and names
come from the caller, so that the same code grows a tree of chunks and one of aggregates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgrag.ports import Vectors
from kgrag.stages.chunking import count_tokens
from kgrag.stages.clustering import Clustering, clusters

__all__ = ["Forester", "Leaf", "Summary", "grow"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """What a tree stands on: an IRI and a text."""

    iri: str
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A node above the leaves: ``level`` from 1, ``children`` sorted IRIs of leaves or summaries."""

    iri: str
    text: str
    level: int
    children: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forester:
    """What growing needs: ``summarise`` gives one text a cluster ("" for none), ``embed`` unit vectors, ``name`` IRIs.

    ``levels`` counts the leaves, so that 4 gives summaries on levels 1 to 3.
    """

    summarise: Callable[[Sequence[Sequence[str]]], Sequence[str]]
    embed: Callable[[Sequence[str]], Vectors]
    name: Callable[[int, str, Sequence[str]], str]
    clustering: Clustering = field(default_factory=Clustering)
    levels: int = 4


def grow(leaves: Sequence[Leaf], forester: Forester, beside: Sequence[Sequence[str]] = ()) -> list[Summary]:
    """Give the summaries above some leaves, lower levels first; [] when there are too few leaves to cluster.

    Args:
        leaves: with distinct IRIs; their order decides nothing.
        forester: how to summarise, embed and name.
        beside: further clusters of leaves, by IRI, that the first level gets beside those that the texts give.

    Raises:
        ServiceError: the model or the embedder is a service that fails.
    """
    layer: list[Leaf | Summary] = sorted(leaves, key=lambda leaf: leaf.iri)
    grown: dict[str, Summary] = {}
    for level in range(1, forester.levels):
        if len(layer) <= forester.clustering.dimensions + 1:
            break
        groups = _groups(layer, forester)
        if level == 1 and beside:
            groups = _joined(groups, {leaf.iri: leaf for leaf in leaves}, beside)
        made = _summaries([group for group in groups if len(group) > 1], level, forester)
        if not made or len(made) >= len(layer):
            break
        risen = [group[0] for group in groups if len(group) == 1]
        grown |= {node.iri: node for node in made}
        layer = sorted({node.iri: node for node in [*made, *risen]}.values(), key=lambda node: node.iri)
    return list(grown.values())


def _groups(layer: Sequence[Leaf | Summary], forester: Forester) -> list[list[Leaf | Summary]]:
    vectors = np.asarray(forester.embed([node.text for node in layer]), dtype=np.float32)
    lengths = [count_tokens(node.text) for node in layer]
    return [[layer[number] for number in group] for group in clusters(vectors, lengths, forester.clustering)]


def _joined(
    groups: Sequence[Sequence[Leaf | Summary]], leaves: Mapping[str, Leaf], beside: Sequence[Sequence[str]]
) -> list[list[Leaf | Summary]]:
    """Give both kinds of clusters, each set of leaves once."""
    found: dict[tuple[str, ...], list[Leaf | Summary]] = {
        tuple(leaf.iri for leaf in group): [*group] for group in groups
    }
    for group in beside:
        iris = tuple(sorted(group))
        found.setdefault(iris, [leaves[iri] for iri in iris])
    return list(found.values())


def _summaries(groups: Sequence[Sequence[Leaf | Summary]], level: int, forester: Forester) -> list[Summary]:
    texts = forester.summarise([[node.text for node in group] for group in groups])
    made = []
    for group, text in zip(groups, texts, strict=True):
        children = tuple(node.iri for node in group)
        if text.strip():
            made.append(Summary(forester.name(level, text, children), text, level, children))
    return made
