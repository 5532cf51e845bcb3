"""A walk down a tree, level by level, for people who look: of each node the few children nearest to a question.

RAPTOR calls this tree traversal; SiReRAG retrieves from the flat pool instead. Without a question, children come in the
order of their IRIs.

Queries read: ``sire_rag/roots``, ``sire_rag/evidence``. Nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyoxigraph as ox

from kgrag import queries
from kgrag.drawing.tree_picture import TreeNodeView, TreeView
from kgrag.errors import UnknownName
from kgrag.methods.sire_rag.pool import NodePool
from kgrag.methods.sire_rag.pool_evidence import ScoredNode, TreeDescent
from kgrag.methods.sire_rag.tree_arrays import part_of
from kgrag.ports import Vectors
from kgrag.vocab import KG, local_name

__all__ = ["traverse"]


def traverse(pool: NodePool, tree: str, *, vector: Vectors | None, width: int, node: str = "") -> TreeView:
    """Return part of a tree.

    Args:
        pool: contains the tree.
        tree: its name; a ``node`` of another tree is shown in its own.
        vector: of the question, shape (d,); None without one.
        width: the largest number of nodes at the top, and below each node.
        node: begins there; "" begins at the top.

    Raises:
        UnknownName: no tree has such a node.
    """
    towards = np.zeros(pool.embedder.dimension, np.float32) if vector is None else vector
    descent = TreeDescent(pool, towards, width)
    if node:
        tree, top = _node_of_a_tree(descent, tree, node)
        tops = [top]
    else:
        tops = _roots(descent, tree)
    below: dict[str, list[ScoredNode]] = {}
    layer = [top.iri for top in tops[:width]]
    while layer:
        for parent, children in descent.below(layer).items():
            below[parent] = sorted(children, key=lambda child: (-child.cosine, child.iri))
        layer = [child.iri for parent in layer for child in below.get(parent, ())[:width] if child.iri not in below]
    visible = {child.iri for children in below.values() for child in children[:width]}
    words = _words(pool, visible | {top.iri for top in tops[:width]})

    def view_of(scored: ScoredNode) -> TreeNodeView:
        kind, level, text = words.get(scored.iri, ("summary", 0, "(waits for the next build)"))
        children = below.get(scored.iri, ())
        shown = tuple(view_of(child) for child in children[:width])
        score = None if vector is None else scored.cosine
        return TreeNodeView(scored.iri, kind, level, text, score, shown, max(len(children) - width, 0))

    return TreeView(f"{tree} tree", tuple(view_of(top) for top in tops[:width]), max(len(tops) - width, 0))


def _roots(descent: TreeDescent, tree: str) -> list[ScoredNode]:
    """Return the roots of a tree, nearest first; of equally near ones the highest level first."""
    store = descent.pool.store
    rows = store.select(queries.bind("sire_rag/roots", tree=store.names.tree_graph(tree))).values()
    levels = {node: int(level) for node, level in rows}
    parts = {node: part_of(tree, level) for node, level in rows}
    cosines = descent.cosines(parts)
    roots = [ScoredNode(node, part, cosines[node]) for node, part in parts.items()]
    return sorted(roots, key=lambda root: (-root.cosine, -levels[root.iri], root.iri))


def _node_of_a_tree(descent: TreeDescent, tree: str, node: str) -> tuple[str, ScoredNode]:
    """Return a node and the tree that it is in: that of the given name where it is in several, or is a chunk."""
    store = descent.pool.store
    try:
        query = queries.bind("sire_rag/evidence", catalogue=store.names.catalogue, nodes=[ox.NamedNode(node)])
    except ValueError as error:
        raise UnknownName(f"{node!r} is not an IRI ({error}). Name a node that `kgrag tree` shows.") from None
    levels = {
        tree if node_type == KG.Chunk.value else local_name(graph): level
        for _, node_type, level, _, _, graph in store.select(query).values()
        if node_type != KG.Proposition.value
    }
    if not levels:
        raise UnknownName(f"there is no node <{node}> in a tree. Name one that `kgrag tree` shows.")
    own_tree = tree if tree in levels else min(levels)
    part = part_of(own_tree, levels[own_tree])
    return own_tree, ScoredNode(node, part, descent.cosines({node: part})[node])


def _words(pool: NodePool, nodes: Iterable[str]) -> dict[str, tuple[str, int, str]]:
    """Return kind, level and text of each node."""
    wanted = [ox.NamedNode(node) for node in sorted(nodes)]
    query = queries.bind("sire_rag/evidence", catalogue=pool.store.names.catalogue, nodes=wanted)
    words = {}
    for node, node_type, level, text, title, _ in pool.store.select(query).values():
        if node_type == KG.Chunk.value:
            words[node] = ("passage", 0, f"{title}: {text}" if title else text)
        else:
            words[node] = ("summary" if int(level) else "aggregate", int(level), text)
    return words
