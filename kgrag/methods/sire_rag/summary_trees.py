"""Summary trees: leaves are clustered, each cluster is summarised, and so on over the summaries (RAPTOR, section 3).

Four levels in all, as in SiReRAG, section 4. A node that is alone in its cluster is not summarised but rises; a layer
that is too small to be clustered, or that clustering does not make smaller, ends the tree. Texts, vectors and names
come from the caller, so that the same code grows a tree of chunks and one of aggregates.

A summary tree follows its leaves: only the clusters that a change touches are summarised again.

A leaf that is gone leaves its clusters, one that takes another's place takes its places too, and a new one joins the
cluster of the first level whose middle is nearest to it and that still has room; without room anywhere near it stands
alone. Then every cluster with a changed member gets a new summary, which takes the place of the old one above. A
cluster that is left with one member gives its place to that member. So adding a leaf changes one node a level at most,
and taking it away again brings back the tree as it was.

Deviations:
    RAPTOR and SiReRAG do not change a tree. Clusters are not fitted anew here: after many changes they are no longer
    those that growing the tree whole would give, which is why the caller counts changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kgrag.methods.sire_rag.clustering import Clustering, clusters
from kgrag.ports import Vectors
from kgrag.text.chunking import count_tokens

__all__ = [
    "Forester",
    "Leaf",
    "Standing",
    "Summary",
    "change",
    "grow",
    "successors",
]


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


_NEAR = 10
"""Clusters, nearest first, that a new leaf asks for room."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A tree as it stands: its leaves by IRI, and its summaries; one without a text has lost it and needs a new one."""

    leaves: frozenset[str] = frozenset()
    summaries: tuple[Summary, ...] = field(default=())


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
    holding: dict[str, list[str]] = defaultdict(list)
    for iri, parts in come.items():
        for part in parts:
            holding[part].append(iri)
    pairs = {(old, new) for old, parts in gone.items() for part in parts for new in holding.get(part, ())}
    shares = {(old, new): len(gone[old] & come[new]) / len(gone[old] | come[new]) for old, new in pairs}
    found: dict[str, str] = {}
    taken: set[str] = set()
    for old, new in sorted(pairs, key=lambda pair: (-shares[pair], min(pair), max(pair))):
        if old not in found and new not in taken:
            found[old] = new
            taken.add(new)
    return found


def change(
    standing: Standing, leaves: Sequence[Leaf], heirs: Mapping[str, str], forester: Forester
) -> tuple[list[Summary], int]:
    """Give the summaries of a tree after its leaves changed, lower levels first, and how many of them are new.

    Args:
        standing: the tree before.
        leaves: all leaves of the tree after, with distinct IRIs.
        heirs: leaf before -> leaf after that takes its places.
        forester: how to summarise, embed and name.

    Raises:
        ServiceError: the model or the embedder is a service that fails.
    """
    texts = {leaf.iri: leaf.text for leaf in leaves} | {node.iri: node.text for node in standing.summaries}
    instead: dict[str, str | None] = {iri: heirs.get(iri) for iri in standing.leaves if iri not in texts}
    joining = _joining(standing, leaves, instead, forester)
    done: dict[str, Summary] = {}
    made = 0
    for level in sorted({node.level for node in standing.summaries}):
        touched = []
        for node in (node for node in standing.summaries if node.level == level):
            children = _children([*node.children, *joining.get(node.iri, ())], instead)
            if tuple(children) == node.children and node.text:
                done[node.iri] = node
            elif len(children) > 1:
                touched.append((node.iri, children))
            else:
                instead[node.iri] = children[0] if children else None
        made += len(touched)
        for before, after in _summarised(touched, level, texts, forester):
            instead[before] = after.iri
            texts[after.iri] = after.text
            done[after.iri] = after
    return list(done.values()), made


def _children(children: Iterable[str], instead: Mapping[str, str | None]) -> list[str]:
    now = (instead.get(child, child) for child in children)
    return sorted({child for child in now if child is not None})


def _summarised(
    touched: Sequence[tuple[str, list[str]]], level: int, texts: Mapping[str, str], forester: Forester
) -> list[tuple[str, Summary]]:
    """Give (IRI before, summary after); a cluster without words for it keeps its first member's."""
    said = forester.summarise([[texts[child] for child in children] for _, children in touched])
    made = []
    for (before, children), text in zip(touched, said, strict=True):
        words = text if text.strip() else texts[children[0]]
        made.append((before, Summary(forester.name(level, words, children), words, level, tuple(children))))
    return made


def _joining(
    standing: Standing, leaves: Sequence[Leaf], instead: Mapping[str, str | None], forester: Forester
) -> dict[str, list[str]]:
    """Give the new leaves that join each cluster of the first level."""
    inherited = {heir for heir in instead.values() if heir}
    new = [leaf.iri for leaf in leaves if leaf.iri not in standing.leaves and leaf.iri not in inherited]
    clusters = [node for node in standing.summaries if node.level == 1]
    if not new or not clusters:
        return {}
    texts = {leaf.iri: leaf.text for leaf in leaves}
    members = {node.iri: [child for child in _children(node.children, instead) if child in texts] for node in clusters}
    return _placed(sorted(new), {iri: held for iri, held in members.items() if held}, texts, forester)


def _placed(
    new: Sequence[str], members: Mapping[str, list[str]], texts: Mapping[str, str], forester: Forester
) -> dict[str, list[str]]:
    known = sorted({child for held in members.values() for child in held} | set(new))
    rows = np.asarray(forester.embed([texts[iri] for iri in known]), dtype=np.float32)
    at = {iri: number for number, iri in enumerate(known)}
    names = sorted(members)
    middles = np.stack([rows[[at[child] for child in members[name]]].mean(axis=0) for name in names])
    middles /= np.maximum(np.linalg.norm(middles, axis=1, keepdims=True), 1e-9)
    length = {name: sum(count_tokens(texts[child]) for child in members[name]) for name in names}
    joining: dict[str, list[str]] = defaultdict(list)
    for iri in new:
        tokens = count_tokens(texts[iri])
        for number in np.argsort(-(middles @ rows[at[iri]]), kind="stable")[:_NEAR]:
            if length[names[number]] + tokens <= forester.clustering.tokens:
                joining[names[number]].append(iri)
                length[names[number]] += tokens
                break
    return joining
