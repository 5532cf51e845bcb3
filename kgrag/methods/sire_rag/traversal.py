"""A walk down a tree, level by level, for people who look: of each node the few children nearest to a question.

RAPTOR calls this tree traversal; SiReRAG retrieves from the flat pool instead. Without a question, children come in the
order of their IRIs.

Queries read: ``sire_rag/roots``, ``sire_rag/evidence``, ``sire_rag/below``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyoxigraph as ox

from kgrag import queries
from kgrag.drawing.tree_picture import TreeNodeView, TreeView
from kgrag.errors import UnknownName
from kgrag.methods.sire_rag.pool import Pool
from kgrag.methods.sire_rag.pool_evidence import Descent, part_of
from kgrag.ports import Vectors
from kgrag.vocab import KG

__all__ = ["traverse"]

_Below = Mapping[str, Sequence[tuple[str, str, float]]]


def traverse(pool: Pool, tree: str, *, vector: Vectors | None, width: int, node: str = "") -> TreeView:
    """Give part of a tree.

    Args:
        pool: where the tree is.
        tree: its name.
        vector: of the question, shape (d,); None without one.
        width: how many nodes are shown at the top, and below each node.
        node: begins there; "" begins at the top.

    Raises:
        UnknownName: the tree has no such node.
    """
    towards = np.zeros(pool.embedder.dimension, np.float32) if vector is None else vector
    descent = Descent(pool, towards, width)
    tops = _tops(descent, tree, node)
    below: dict[str, list[tuple[str, str, float]]] = {}
    layer = [top for top, _, _ in tops[:width]]
    while layer:
        found = descent.below(layer)
        below |= {above: sorted(children, key=_nearest) for above, children in found.items()}
        layer = [child for above in layer for child, _, _ in below.get(above, ())[:width] if child not in below]
    reached = {iri for held in below.values() for iri, _, _ in held[:width]} | {top for top, _, _ in tops[:width]}
    words = _words(pool, reached)
    roots = tuple(_shown(top, below, words, width=width, scored=vector is not None) for top in tops[:width])
    return TreeView(f"{tree} tree", roots, max(len(tops) - width, 0))


def _nearest(child: tuple[str, str, float]) -> tuple[float, str]:
    return -child[2], child[0]


def _tops(descent: Descent, tree: str, node: str) -> list[tuple[str, str, float]]:
    store = descent.pool.store
    rows = store.select(queries.bind("sire_rag/roots", tree=store.names.tree_graph(tree))).values()
    levels = {row[0]: row[1] for row in rows}
    if node:
        query = queries.bind("sire_rag/evidence", catalogue=store.names.catalogue, nodes=[_iri(node)])
        levels = {row[0]: row[2] or "0" for row in store.select(query).values()}
        if not levels:
            raise UnknownName(f"no node <{node}> stands in a tree. Name one that `kgrag tree` shows.")
    cosines = descent.cosines({iri: part_of(tree, level) for iri, level in levels.items()})
    found = [(iri, part_of(tree, level), cosines[iri]) for iri, level in levels.items()]
    return sorted(found, key=lambda top: (-top[2], -int(levels[top[0]]), top[0]))


def _iri(text: str) -> ox.NamedNode:
    try:
        return ox.NamedNode(text)
    except ValueError as error:
        raise UnknownName(f"{text!r} is no IRI ({error}). Name a node that `kgrag tree` shows.") from None


def _words(pool: Pool, nodes: Iterable[str]) -> dict[str, tuple[str, int, str]]:
    """Give kind, level and text of each node."""
    wanted = [ox.NamedNode(node) for node in sorted(nodes)]
    query = queries.bind("sire_rag/evidence", catalogue=pool.store.names.catalogue, nodes=wanted)
    words = {}
    for node, kind, level, text, title, _ in pool.store.select(query).values():
        if kind == KG.Chunk.value:
            words[node] = ("passage", 0, f"{title}: {text}" if title else text)
        else:
            words[node] = ("summary" if int(level) else "aggregate", int(level), text)
    return words


def _shown(
    node: tuple[str, str, float],
    below: _Below,
    words: Mapping[str, tuple[str, int, str]],
    *,
    width: int,
    scored: bool,
) -> TreeNodeView:
    iri, _, cosine = node
    kind, level, text = words.get(iri, ("summary", 0, "(waits for the next build)"))
    held = below.get(iri, ())
    children = tuple(_shown(child, below, words, width=width, scored=scored) for child in held[:width])
    return TreeNodeView(iri, kind, level, text, cosine if scored else None, children, max(len(held) - width, 0))
