"""SHACL on named graphs: shapes become stored queries, one for each shape, path and component.

``load_shapes`` reads shapes, ``validate`` runs them on a store, ``graph_validator`` is what ``publish`` calls. Focus
node and values are taken from one and the same named graph, and only class membership (``sh:class``, and subclasses of
a target class) is looked up in all graphs, since an ontology is in a graph of its own; or, with ``merged=True``,
everything is taken from the union of the chosen graphs, as SHACL's one data graph.

Covered: all of SHACL Core; of the drafts of SHACL 1.2 ``sh:memberShape``, ``sh:minListLength``, ``sh:maxListLength``,
``sh:uniqueMembers``, ``sh:reifierShape`` with ``sh:reificationRequired``, ``sh:singleLine`` and ``sh:someValue``, while
no other term of theirs is taken for kept; and ``sh:sparql`` where its SELECT may run once for all focus nodes. Shapes
within shapes are run for all values at once; which nodes depart from them is what ``sh:not``, ``sh:or`` and the like
are decided by.
Of a recursive shape it is decided what departs from it, or conforms, by every meaning of recursion.
Not covered are custom components, SHACL Advanced Features, and other SELECTs: ``load_shapes`` refuses
them by name, or with ``elsewhere=True`` names them for another engine. What is no SHACL at all is refused too, or with
``elsewhere=True`` named as not decided, while the rest of the shapes is run.

Extension: ``kg:targetGraphKind kg:DocumentGraph`` confines a shape to graphs that the catalogue lists as of this kind;
without another target, every subject in such a graph is a focus node.

Deviations: the store keeps ``"05"^^xsd:byte`` as the xsd:integer 5, so shapes see that, and derived integers are known
by their range, unless ``validate`` gets what was written (``as_written``): then every component of SHACL Core sees it,
in whatever shape and along whatever path, and so do SELECTs of ``sh:sparql``, which rdflib runs where that matters to
them, but for those with GRAPH. The triple terms of ``sh:reifierShape`` are as the store keeps them. A target node that
no triple mentions has no values by a path that may take zero steps. Instances of a class without a name are no
instances of the classes above it.
"""

from kgrag.shacl.compiled_shapes import Branch, Constraint, Shapes, Target
from kgrag.shacl.engine_run import validate, validation, violations_of_each
from kgrag.shacl.graph_validation import graph_shapes, graph_validator, graph_violations
from kgrag.shacl.shapes_graph import path_text
from kgrag.shacl.shapes_reader import load_shapes
from kgrag.shacl.written_literals import Written, WrittenReader, as_written

__all__ = [
    "Branch",
    "Constraint",
    "Shapes",
    "Target",
    "Written",
    "WrittenReader",
    "as_written",
    "graph_shapes",
    "graph_validator",
    "graph_violations",
    "load_shapes",
    "path_text",
    "validate",
    "validation",
    "violations_of_each",
]
