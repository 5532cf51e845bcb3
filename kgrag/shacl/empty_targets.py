"""Shapes whose targets match nothing: data conform to them, and so they do where the name of a class is misspelt.

Query: ``shacl/any_focus``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyoxigraph as ox

from kgrag.model import plain
from kgrag.ports import TripleStore
from kgrag.shacl.compiled_shapes import Constraint, Shapes, Target
from kgrag.shacl.constraint_queries import ConstraintQueries
from kgrag.shacl.shapes_graph import SH
from kgrag.vocab import RDF

__all__ = ["without_nodes"]

_PARTS = {"targetClass": "classes", "targetSubjectsOf": "subjects_of", "targetObjectsOf": "objects_of"}


def without_nodes(
    store: TripleStore, shapes: Shapes, *, graphs: Sequence[ox.NamedNode], violated: Collection[str] = ()
) -> list[str]:
    """Return the names of the shapes that have no target node in the union of some graphs, sorted.

    Args:
        store: where the graphs are.
        shapes: compiled shapes. A shape that nodes are named for, or that SPARQL finds nodes for, is not looked at.
        graphs: their union is the data graph.
        violated: the names of shapes that have a target node for certain.
    """
    asker = ConstraintQueries(store, (), tuple(graphs))
    known: dict[Target, bool] = {}
    names: dict[str, bool] = {}
    for name, target in _targets(shapes):
        if name in violated or names.get(name):
            names[name] = True
            continue
        if target not in known:
            ((count,),) = asker.ask("shacl/any_focus", Constraint("", "", target)).values()
            known[target] = bool(target.nodes or target.kinds) or int(count) > 0
        names[name] = known[target]
    return sorted(name for name, found in names.items() if not found)


def _targets(shapes: Shapes) -> list[tuple[str, Target]]:
    """Return (shape, target), of shapes that are left to another engine as well."""
    stated: dict[str, dict[str, Any]] = {name: {} for name in shapes.elsewhere}
    for triple in shapes.targets:
        name, kind = plain(triple.subject), triple.predicate.value.removeprefix(SH)
        term = triple.subject if triple.predicate == RDF.type else triple.object
        part = "classes" if triple.predicate == RDF.type else _PARTS.get(kind, "")
        if name in stated and part:
            stated[name].setdefault(part, []).append(term)
        else:
            stated.pop(name, None)
    left = [(name, Target(**{part: tuple(terms) for part, terms in parts.items()})) for name, parts in stated.items()]
    return [(constraint.shape, constraint.target) for constraint in shapes.constraints] + [
        (name, target) for name, target in left if target
    ]
