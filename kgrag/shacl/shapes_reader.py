"""Read shapes from RDF files into a flat list of constraints, each of one shape, path and component.

Source: SHACL (W3C Recommendation 20 July 2017), sections 2 to 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag.model import Term, plain
from kgrag.shacl.compiled_shapes import Branch, Constraint, Shapes, Target
from kgrag.shacl.components import COMPONENTS, typed, values
from kgrag.shacl.shapes_graph import SH, Node, NotCovered, ShapesGraph, parse
from kgrag.shacl.sparql_constraints import select_text
from kgrag.vocab import KG, OWL, RDF, RDFS

__all__ = ["load_shapes"]

_TARGETS = {
    "classes": SH + "targetClass",
    "subjects_of": SH + "targetSubjectsOf",
    "objects_of": SH + "targetObjectsOf",
    "nodes": SH + "targetNode",
    "kinds": KG.targetGraphKind.value,
}

_SHAPE_TYPES = frozenset({ox.NamedNode(SH + "NodeShape"), ox.NamedNode(SH + "PropertyShape")})


def _words(names: str) -> frozenset[str]:
    return frozenset(SH + name for name in names.split())


_INNER = _words("and node not or property qualifiedValueShape xone")
_KNOWN = (
    _INNER
    | _words(" ".join(COMPONENTS))
    | _words(
        "alternativePath deactivated declare defaultValue description flags group ignoredProperties inversePath "
        "message name namespace oneOrMorePath order path prefix prefixes qualifiedMaxCount qualifiedMinCount "
        "qualifiedValueShapesDisjoint select severity shapesGraph sparql suggestedShapesGraph targetClass targetNode "
        "targetObjectsOf targetSubjectsOf zeroOrMorePath zeroOrOnePath"
    )
)
# SHACL-SPARQL components, SHACL Advanced Features and SHACL JavaScript; nothing of a report.
_FOREIGN = _words(
    "annotationProperty annotationValue annotationVarName ask condition construct entailment expression filterShape "
    "intersection js jsFunctionName jsLibrary jsLibraryURL labelTemplate limit minus nodes nodeValidator object offset "
    "optional orderBy parameter predicate propertyValidator resultAnnotation returnType rule subject target this union "
    "update validator values"
)


def load_shapes(paths: Iterable[Path], *, also: str = "", elsewhere: bool = False) -> Shapes:
    """Read and compile the shapes of RDF files; a shape may refer to one in another file.

    Args:
        paths: the files.
        also: further shapes, as Turtle.
        elsewhere: accept a shape with something that this engine does not cover, and name it in ``Shapes.elsewhere``.

    Raises:
        InvalidRDF: a file does not parse, or a shape contains something that is no SHACL, that refers back to it, or
            (without ``elsewhere``) that this engine does not cover. The message names the shape and the property.
    """
    further = ox.parse(also, format=ox.RdfFormat.TURTLE, rename_blank_nodes=True)
    return _Reader([*(triple for path in paths for triple in parse(path)), *further]).shapes(elsewhere=elsewhere)


class _Reader:
    """A reader of one graph of shapes."""

    def __init__(self, triples: list[ox.Quad]) -> None:
        self._triples = triples
        self._graph = ShapesGraph(triples)
        # the properties that components declared in the shapes have as parameters
        parameters = [
            term for properties in self._graph.index.values() for term in properties.get(SH + "parameter", [])
        ]
        self._custom = frozenset(plain(path) for term in parameters for path in self._graph.objects(term, SH + "path"))

    def shapes(self, *, elsewhere: bool) -> Shapes:
        """Compile every shape with a target; constraints of a shape together, in the order of the shapes' names."""
        self._refuse_unknown()
        constraints: list[Constraint] = []
        left: dict[Node, str] = {}
        for node in sorted(self._graph.index, key=str):
            # a component with parameters may be typed as a class, and is no shape
            if not isinstance(node, ox.NamedNode | ox.BlankNode) or self._graph.objects(node, SH + "parameter"):
                continue
            try:
                if target := self._target(node):
                    constraints += list(self._shape(node, plain(node), Constraint("", "", target), (node,)))
            except NotCovered as error:
                if not elsewhere:
                    raise
                left[node] = str(error)
        names = {plain(node): reason for node, reason in left.items()}
        return Shapes(tuple(constraints), names, tuple(self._rest(left)) if left else ())

    def _rest(self, left: Iterable[Node]) -> Iterator[ox.Triple]:
        """Yield the triples of the shapes without the targets of those that the engine runs."""
        kept = set(left)
        classes = {OWL.Class, ox.NamedNode(RDFS.prefix + "Class")}
        for quad in self._triples:
            implicit = quad.predicate == RDF.type and quad.object in classes
            if quad.subject in kept or not (implicit or quad.predicate.value in _TARGETS.values()):
                yield quad.triple

    def _refuse_unknown(self) -> None:
        """Refuse a misspelt term of SHACL, on every node that has another term of SHACL or such a type."""
        for node, properties in self._graph.index.items():
            by_type = any(plain(kind).startswith(SH) for kind in properties.get(RDF.type.value, ()))
            in_shapes = by_type or not properties.keys().isdisjoint(_KNOWN)
            for name in properties:
                if in_shapes and name.startswith(SH) and name not in _KNOWN | _FOREIGN:
                    raise self._graph.error(node, name, "is not covered by this engine, or no SHACL")

    def _target(self, node: Node) -> Target:
        graph = self._graph
        targets: dict[str, Any] = {}
        for part, name in _TARGETS.items():
            wanted = "term" if part == "nodes" else "IRI"
            targets[part] = tuple(typed(graph, node, name, term, wanted) for term in graph.objects(node, name))
        types = graph.objects(node, RDF.type.value)
        implicit = any(t in types for t in (OWL.Class, ox.NamedNode(RDFS.prefix + "Class")))
        if implicit and isinstance(node, ox.NamedNode) and not _SHAPE_TYPES.isdisjoint(types):
            targets["classes"] += (node,)
        if graph.objects(node, SH + "target"):
            raise graph.beyond(node, SH + "target", "is not covered by this engine")
        return Target(**targets)

    def _shape(self, node: Node, name: str, outer: Constraint, chain: tuple[Term, ...]) -> Iterator[Constraint]:
        """Yield the constraints of a node shape or a property shape, whose target and focus are those of ``outer``.

        ``outer.component`` is the component that the shape is a value of; "" where violations are reported.
        """
        for property_name in self._graph.index.get(node, {}):
            if property_name in _FOREIGN or property_name in self._custom:
                raise self._graph.beyond(node, property_name, "is not covered by this engine")
        if self._graph.true(node, SH + "deactivated"):
            return
        severity = plain(self._graph.single(node, SH + "severity")).removeprefix(SH) or "Violation"
        path, message = self._graph.path(node), self._message(node)
        base = replace(outer, shape=name, path=path, severity=severity, message=message)
        for component in COMPONENTS:
            for bound in values(self._graph, node, component):
                yield replace(base, component=component, values=bound)
        yield from self._selects(node, base)
        inner = replace(base, path=(), steps=(*base.steps, base.path) if base.path else base.steps)
        yield from self._nested(node, base, inner, chain)
        for child in self._graph.objects(node, SH + "property"):
            if isinstance(child, ox.Literal | ox.Triple) or not self._graph.objects(child, SH + "path"):
                raise self._graph.error(node, SH + "property", f"points to {child}, which has no sh:path")
            branch = self._inner(child, SH + "property", inner, chain)
            if base.path and outer.component:
                yield replace(base, component="property", branches=(branch,))
            else:
                yield from branch

    def _inner(self, child: Term, name: str, inner: Constraint, chain: tuple[Term, ...]) -> Branch:
        """Return the constraints of a shape that a shape refers to by the property ``name``."""
        if child in chain:
            raise self._graph.error(child, name, "leads back to the shape. SHACL leaves recursive shapes undefined")
        if not isinstance(child, ox.NamedNode | ox.BlankNode):
            raise self._graph.error(chain[-1], name, f"has {child}, and a shape was expected")
        if child not in self._graph.index:
            raise self._graph.error(chain[-1], name, f"points to {child}, which the shapes do not describe")
        shape = plain(child) if isinstance(child, ox.NamedNode) else inner.shape
        return tuple(self._shape(child, shape, inner, (*chain, child)))

    def _nested(self, node: Node, base: Constraint, inner: Constraint, chain: tuple[Term, ...]) -> Iterator[Constraint]:
        """Yield the constraints whose values are shapes."""
        for component in ("node", "not"):
            for child in self._graph.objects(node, SH + component):
                if component == "node" and self._graph.objects(child, SH + "path"):
                    raise self._graph.error(node, SH + "node", "has a shape with a sh:path. Use sh:property for it")
                branch = self._inner(child, SH + component, replace(inner, component=component), chain)
                yield replace(base, component=component, branches=(branch,))
        for component in ("and", "or", "xone"):
            for head in self._graph.objects(node, SH + component):
                members = self._graph.members(head, node, SH + component)
                inside = replace(inner, component=component)
                branches = tuple(self._inner(child, SH + component, inside, chain) for child in members)
                yield replace(base, component=component, branches=branches)
        yield from self._qualified(node, base, inner, chain)

    def _qualified(
        self, node: Node, base: Constraint, inner: Constraint, chain: tuple[Term, ...]
    ) -> Iterator[Constraint]:
        name = SH + "qualifiedValueShape"
        counts = [c for c in ("qualifiedMaxCount", "qualifiedMinCount") if self._graph.objects(node, SH + c)]
        if not self._graph.objects(node, name) or not counts:
            return
        if not base.path:
            raise self._graph.error(node, name, "needs a sh:path in the same shape")
        for wanted in self._graph.objects(node, name):
            shapes = [wanted, *self._siblings(node, wanted)]
            inside = replace(inner, component="qualifiedValueShape")
            branches = tuple(self._inner(child, name, inside, chain) for child in shapes)
            for count in counts:
                self._graph.single(node, SH + count)
                number = typed(self._graph, node, SH + count, self._graph.objects(node, SH + count)[0], "integer")
                yield replace(base, component=count, values={"wanted": number}, branches=branches)

    def _siblings(self, node: Node, wanted: Term) -> list[Term]:
        """Return the other shapes that the values must not conform to, where qualified shapes are disjoint."""
        if not self._graph.true(node, SH + "qualifiedValueShapesDisjoint"):
            return []
        families = [properties.get(SH + "property", []) for properties in self._graph.index.values()]
        nearby = [child for family in families if node in family for child in family]
        shapes = {shape for child in nearby for shape in self._graph.objects(child, SH + "qualifiedValueShape")}
        return sorted(shapes - {wanted}, key=str)

    def _selects(self, node: Node, base: Constraint) -> Iterator[Constraint]:
        for query in self._graph.objects(node, SH + "sparql"):
            if not self._graph.true(query, SH + "deactivated"):
                message = self._message(query) or base.message
                select = select_text(self._graph, query, base.path)
                yield replace(base, component="sparql", select=select, message=message)

    def _message(self, node: Term) -> str:
        """Return the message of a shape: the English one, else the first."""
        texts = [term for term in self._graph.objects(node, SH + "message") if isinstance(term, ox.Literal)]
        texts.sort(key=lambda term: ((term.language or "en") != "en", term.value))
        return texts[0].value if texts else ""
