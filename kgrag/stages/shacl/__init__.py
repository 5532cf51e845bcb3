"""SHACL on named graphs: shapes become stored queries, one for each shape, path and component.

``load_shapes`` reads shapes, ``validate`` runs them on a store, ``graph_validator`` is what ``publish`` asks. Focus
node and values are always taken from one and the same named graph; only class membership (``sh:class``, and subclasses
of a target class) is looked up in all graphs, since an ontology stands in a graph of its own.

Covered: all of SHACL Core but logic (``sh:and or not xone``), nested shapes (``sh:node``, ``sh:qualifiedValueShape``)
and paths longer than a property or its inverse; ``sh:sparql`` with a SELECT that gives ``$this`` and ``?graph``.
Anything else in a shapes file is an error when it is loaded, so that nothing is silently ignored.

Extension: ``kg:targetGraphKind kg:DocumentGraph`` confines a shape to graphs that the catalogue lists as of this kind;
without another target, every subject in such a graph is a focus node.
"""

from kgrag.stages.shacl.engine import graph_shapes, graph_validator, validate
from kgrag.stages.shacl.shapes import Constraint, Shapes, Target, load_shapes

__all__ = ["Constraint", "Shapes", "Target", "graph_shapes", "graph_validator", "load_shapes", "validate"]
