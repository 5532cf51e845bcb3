"""Read shapes from RDF files into a flat list of constraints, each of one shape, path and component.

Source: SHACL (W3C Recommendation 20 July 2017), sections 2 to 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

import pyoxigraph as ox

from kgrag.errors import InputError, InvalidRDF, closest
from kgrag.model import Term, plain
from kgrag.shacl.compiled_shapes import (
    LISTS,
    RECURSIVE,
    REIFIES,
    TO_MEMBERS,
    Branch,
    Constraint,
    Shapes,
    Source,
    Target,
)
from kgrag.shacl.components import COMPONENTS, typed, values
from kgrag.shacl.recursive_shapes import Recursion
from kgrag.shacl.shapes_graph import SH, Node, NotCovered, ShapesGraph, parse, remember
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
_CLASS_TYPES = frozenset({OWL.Class, ox.NamedNode(RDFS.prefix + "Class")})


def _words(names: str) -> frozenset[str]:
    return frozenset(SH + name for name in names.split())


_COMPILED: dict[object, Shapes] = {}
"""Shapes by the triples that they were compiled from, which take longer to compile than a small file to validate."""
_IN_ORDER = (*COMPONENTS, *sorted(LISTS))
_INNER = _words("and memberShape node not or property qualifiedValueShape reifierShape someValue xone")
_KNOWN = (
    _INNER
    | _words(" ".join((*COMPONENTS, *LISTS)))
    | _words(
        "alternativePath deactivated declare defaultValue description flags group ignoredProperties inversePath "
        "message name namespace oneOrMorePath order path prefix prefixes qualifiedMaxCount qualifiedMinCount "
        "qualifiedValueShapesDisjoint reificationRequired select severity shapesGraph sparql suggestedShapesGraph "
        "targetClass targetNode targetObjectsOf targetSubjectsOf zeroOrMorePath zeroOrOnePath"
    )
)
# SHACL-SPARQL components, SHACL Advanced Features and SHACL JavaScript; nothing of a report.
_FOREIGN = _words(
    "annotationProperty annotationValue annotationVarName ask condition construct entailment expression filterShape "
    "intersection js jsFunctionName jsLibrary jsLibraryURL labelTemplate limit minus nodes nodeValidator object offset "
    "optional orderBy parameter predicate propertyValidator resultAnnotation returnType rule subject target this union "
    "update validator values"
)
_RULE = SH + "rule"
_NEWER = _words(
    "maxListLength memberShape minListLength reificationRequired reifierShape singleLine someValue uniqueMembers"
)
"""Terms of SHACL 1.2, which pyshacl would pass over in silence."""
_SCRIPTS = _words("js")
"""Constraints in JavaScript, which nothing here runs."""
_UNCOVERED = _words("incomplete nodeByExpression rootClass subsetOf targetWhere uniqueValuesFor")
"""Terms of SHACL 1.2 that no engine here covers, since drafts differ in what they report."""
_REFERRING = _INNER | {RDF.prefix + "first"}
"""Properties by which a shape refers to another, or to a list of others."""
_REPORT_TYPES = _words("AbstractResult ValidationReport ValidationResult")
_TYPES = _REPORT_TYPES | _words(
    "ConstraintComponent Function JSConstraint JSExecutable JSFunction JSLibrary JSRule JSTarget JSTargetType "
    "JSValidator NodeKind NodeShape Parameter Parameterizable PrefixDeclaration PropertyGroup PropertyShape "
    "ResultAnnotation Rule SPARQLAskExecutable SPARQLAskValidator SPARQLConstraint SPARQLConstructExecutable "
    "SPARQLExecutable SPARQLFunction SPARQLRule SPARQLSelectExecutable SPARQLSelectValidator SPARQLTarget "
    "SPARQLTargetType SPARQLUpdateExecutable Severity Shape Target TargetType TripleRule Validator"
)


def load_shapes(
    paths: Iterable[Path],
    *,
    also: str = "",
    triples: Iterable[ox.Triple | ox.Quad] = (),
    elsewhere: bool = False,
    shape: str = "",
    prefixes: Mapping[str, str] | None = None,
) -> Shapes:
    """Read and compile the shapes of RDF files; a shape may refer to one in another file.

    Args:
        paths: the files.
        also: further shapes, as Turtle.
        triples: further shapes.
        elsewhere: accept a shape with something that this engine does not cover, and name it in ``Shapes.elsewhere``;
            and one with something that is no SHACL or cannot be read, and name it in ``Shapes.undecided``.
        shape: compile the shape of this IRI only, whether or not it has a target; "" = every shape that has one.
        prefixes: of the files that ``triples`` were read from, for SELECTs that use them undeclared.

    Raises:
        InvalidRDF: a file does not parse; or, without ``elsewhere``, a shape contains something that is no SHACL, or
            that this engine does not cover. The message names the shape and the property.
        InputError: ``shape`` is named, and there is none.
    """
    further = ox.parse(also, format=ox.RdfFormat.TURTLE, rename_blank_nodes=True)
    known = dict(prefixes or {})
    whole = [*(triple for path in paths for triple in parse(path, known)), *further, *triples]
    key = tuple(whole), tuple(known.items()), elsewhere, shape
    compiled = _COMPILED.get(key)
    if compiled is None:
        compiled = _Reader(whole, known, tolerant=elsewhere).shapes(shape)
    remember(_COMPILED, key, compiled, size=len(whole))
    return compiled


class _Reader:
    """A reader of one graph of shapes."""

    def __init__(self, triples: list[ox.Quad | ox.Triple], prefixes: Mapping[str, str], *, tolerant: bool) -> None:
        self._triples = [each.triple if isinstance(each, ox.Quad) else each for each in triples]
        self._graph = ShapesGraph(triples, prefixes)
        # the properties that components declared in the shapes have as parameters
        parameters = [
            term for properties in self._graph.index.values() for term in properties.get(SH + "parameter", [])
        ]
        # rules are for reasoning; a validation runs them where the shapes say that it has to
        entailed = {plain(term) for each in self._graph.index.values() for term in each.get(SH + "entailment", [])}
        self._foreign = _FOREIGN if SH + "Rules" in entailed else _FOREIGN - {_RULE}
        self._custom = frozenset(plain(path) for term in parameters for path in self._graph.objects(term, SH + "path"))
        self._tolerant = tolerant
        self._recursion = Recursion(self._graph)
        self._defining: dict[frozenset[Term], object] = {}
        self._undecided: dict[str, dict[str, None]] = {}
        self._unknown = dict(self._unknown_terms())
        # SHACL takes a class of the shapes for a target if its type is a class of classes there
        self._class_types = self._subclasses(_CLASS_TYPES)
        self._shape_types = self._subclasses(_SHAPE_TYPES)

    def shapes(self, only: str) -> Shapes:
        """Compile every shape with a target, or ``only`` one; constraints of a shape together, by the shapes' names."""
        if only and ox.NamedNode(only) not in self._graph.index:
            known = sorted(node.value for node in self._graph.index if isinstance(node, ox.NamedNode))
            raise InputError(f"the shapes do not describe <{only}>. {closest(only, known)}")
        reached = self._reached(ox.NamedNode(only)) if only else self._unknown
        for node, error in self._unknown.items():
            if node in reached:
                self._undecide(node, error)
        constraints: list[Constraint] = []
        left: dict[Node, str] = {}
        for node in sorted(self._graph.index, key=str):
            # a component with parameters may be typed as a class, and is no shape
            if not isinstance(node, ox.NamedNode | ox.BlankNode) or self._graph.objects(node, SH + "parameter"):
                continue
            try:
                if only not in ("", plain(node)):
                    continue
                if (target := self._target(node)) or only:
                    constraints += list(self._shape(node, plain(node), Constraint("", "", target), (node,)))
            except NotCovered as error:
                self._leave(node, error, left)
            except InvalidRDF as error:
                self._undecide(node, error)
        names = {plain(node): reason for node, reason in left.items()}
        undecided = {name: " ".join(reasons) for name, reasons in self._undecided.items()}
        targets = frozenset(triple for triple in self._triples if left and self._is_target(triple))
        kept = {plain(node) for node in left}
        rules = {_RULE} - self._foreign
        rest = [triple for triple in self._triples if triple.predicate.value not in rules] if left else []
        return Shapes(
            tuple(constraints),
            elsewhere=names,
            rest=tuple(triple for triple in rest if triple not in targets or plain(triple.subject) in kept),
            targets=targets,
            undecided=undecided,
            prefixes=self._graph.prefixes,
        )

    def _leave(self, node: Node, error: NotCovered, left: dict[Node, str]) -> None:
        """Leave a shape to pyshacl; one with terms that it does not know is not decided. Or raise the error."""
        if not self._tolerant:
            raise error
        if newer := self._newer_terms(node):
            self._undecide(node, InvalidRDF(f"{error} {', '.join(newer)} is not covered by pyshacl."))
        else:
            left[node] = str(error)

    def _newer_terms(self, node: Term) -> list[str]:
        """Return the terms in a shape and in those that it refers to that pyshacl would pass over, as ``sh:name``."""
        newer = {
            name
            for each in self._reached(node)
            for name in (_NEWER | _SCRIPTS) & self._graph.index.get(each, {}).keys()
        }
        return sorted(name.replace(SH, "sh:") for name in newer)

    def _reached(self, node: Term) -> set[Term]:
        """Return a shape, those that it refers to, and the cells of its lists."""
        reached: set[Term] = set()
        waiting = [node]
        while waiting:
            if (each := waiting.pop()) in reached:
                continue
            reached.add(each)
            properties = self._graph.index.get(each, {})
            for name in (_REFERRING | {RDF.prefix + "rest"}) & properties.keys():
                waiting += properties[name]
        return reached

    def _undecide(self, node: Term, error: InvalidRDF) -> None:
        """Record why something in a shape cannot be decided; raise it unless that is tolerated."""
        if not self._tolerant:
            raise error
        self._undecided.setdefault(self._graph.name(node), {})[str(error)] = None

    def _decided(
        self, constraints: Iterator[Constraint], outer: Constraint, chain: tuple[Term, ...]
    ) -> Iterator[Constraint]:
        """Yield constraints as far as they can be read; of a shape within a shape, all or none.

        Without one of its constraints, a shape finds less, but within ``sh:not`` or ``sh:or`` the outer shape would
        find what is no violation.
        """
        try:
            yield from constraints
        except InvalidRDF as error:
            if outer.component or isinstance(error, NotCovered):
                raise
            self._undecide(chain[0], error)

    def _is_target(self, quad: ox.Triple) -> bool:
        """Return whether a triple says what the focus nodes of a shape are."""
        implicit = quad.predicate == RDF.type and quad.object in self._class_types
        return implicit or quad.predicate.value in {*_TARGETS.values(), SH + "target"}

    def _subclasses(self, classes: frozenset[ox.NamedNode]) -> frozenset[Term]:
        """Return classes with those below them in the shapes graph."""
        below: dict[Term, list[Term]] = {}
        for node, properties in self._graph.index.items():
            for above in properties.get(RDFS.subClassOf.value, ()):
                below.setdefault(above, []).append(node)
        reached: set[Term] = set()
        waiting: list[Term] = list(classes)
        while waiting:
            if (each := waiting.pop()) not in reached:
                reached.add(each)
                waiting += below.get(each, [])
        return frozenset(reached)

    def _unknown_terms(self) -> Iterator[tuple[Term, InvalidRDF]]:
        """Yield the shapes, and the nodes that look like shapes, with a misspelt term of SHACL, and the error.

        Reports may be in a file of shapes, and are no shapes.
        """
        index = self._graph.index
        within = {node for each in index.values() for name in _REFERRING & each.keys() for node in each[name]}
        for node, properties in index.items():
            types = {plain(kind) for kind in properties.get(RDF.type.value, ())}
            if not types.isdisjoint(_REPORT_TYPES):
                continue
            by_type = {kind for kind in types if kind.startswith(SH)}
            names = {name for name in properties if name.startswith(SH)}
            if not by_type and names.isdisjoint(_KNOWN) and node not in within:
                continue
            unknown = [(name, _KNOWN | _FOREIGN) for name in names - _KNOWN - _FOREIGN]
            unknown += [(name, _TYPES) for name in by_type - _TYPES]
            if unknown:
                name, known = min(unknown, key=lambda pair: pair[0])
                nearest = " (SHACL 1.2)" if name in _UNCOVERED else _nearest(name, known)
                yield node, self._graph.error(node, name, f"is no term of SHACL that is covered{nearest}")

    def _target(self, node: Node) -> Target:
        graph = self._graph
        targets: dict[str, Any] = {}
        for part, name in _TARGETS.items():
            wanted = "term" if part == "nodes" else "IRI"
            targets[part] = tuple(typed(graph, node, name, term, wanted) for term in graph.objects(node, name))
        types = graph.objects(node, RDF.type.value)
        implicit = not self._class_types.isdisjoint(types)
        if implicit and isinstance(node, ox.NamedNode) and not self._shape_types.isdisjoint(types):
            targets["classes"] += (node,)
        if graph.objects(node, SH + "target"):
            raise graph.beyond(node, SH + "target", "is not covered by this engine")
        return Target(**targets)

    def _shape(self, node: Node, name: str, outer: Constraint, chain: tuple[Term, ...]) -> Iterator[Constraint]:
        """Yield the constraints of a node shape or a property shape, whose target and focus are those of ``outer``.

        ``outer.component`` is the component that the shape is a value of; "" where violations are reported.
        """
        for property_name in self._graph.index.get(node, {}):
            if property_name in self._foreign or property_name in self._custom:
                raise self._graph.beyond(node, property_name, "is not covered by this engine")
        if self._graph.true(node, SH + "deactivated"):
            return
        if outer.component and node in self._unknown:
            raise self._unknown[node]
        severity = self._graph.single(node, SH + "severity") or ox.NamedNode(SH + "Violation")
        if not isinstance(severity, ox.NamedNode):
            raise self._graph.error(node, SH + "severity", f"has {severity}, and an IRI was expected")
        path, messages, at = self._graph.path(node), self._messages(node), self._graph.single(node, SH + "path")
        described = tuple(self._graph.description([node, at]))
        source = Source(node, severity, messages, at, described)
        word, message = severity.value.removeprefix(SH), _english(messages)
        base = replace(outer, shape=name, path=path, severity=word, message=message, source=source)
        present = self._graph.index.get(node, {})
        for component in _IN_ORDER:
            if SH + component not in present:
                continue
            bound = values(self._graph, node, component)
            with_values = (replace(base, component=component, values=each) for each in bound)
            yield from self._decided(with_values, outer, chain)
        for query in self._graph.objects(node, SH + "sparql"):
            yield from self._decided(self._selects(query, base), outer, chain)
        inner = replace(base, path=(), steps=(*base.steps, base.path) if base.path else base.steps)
        yield from self._decided(self._nested(node, base, inner, chain), outer, chain)
        for child in self._graph.objects(node, SH + "property"):
            yield from self._decided(self._property(child, base, inner, chain), outer, chain)

    def _property(
        self, child: Term, base: Constraint, inner: Constraint, chain: tuple[Term, ...]
    ) -> Iterator[Constraint]:
        """Yield the constraints of a property shape of a shape."""
        if isinstance(child, ox.Literal | ox.Triple) or not self._graph.objects(child, SH + "path"):
            raise self._graph.error(chain[-1], SH + "property", f"points to {child}, which has no sh:path")
        branch = self._inner(child, SH + "property", inner, chain)
        if base.path and base.component:
            yield replace(base, component="property", branches=(branch,))
        else:
            yield from branch

    def _inner(self, child: Term, name: str, inner: Constraint, chain: tuple[Term, ...]) -> Branch:
        """Return the constraints of a shape that a shape refers to by the property ``name``."""
        if name != SH + "property" and (group := self._recursion.group(child)):
            return self._recursive(child, inner, group, chain)
        if child in chain:
            raise self._graph.beyond(child, name, "leads back to the shape, which this engine does not follow")
        if not isinstance(child, ox.NamedNode | ox.BlankNode):
            raise self._graph.error(chain[-1], name, f"has {child}, and a shape was expected")
        if child not in self._graph.index:
            raise self._graph.error(chain[-1], name, f"points to {child}, which the shapes do not describe")
        shape = plain(child) if isinstance(child, ox.NamedNode) else inner.shape
        return tuple(self._shape(child, shape, inner, (*chain, child)))

    def _recursive(self, child: Term, inner: Constraint, group: frozenset[Term], chain: tuple[Term, ...]) -> Branch:
        """Return a reference to a recursive shape, with the constraints of its group where these are not known yet."""
        if problem := self._recursion.problem(group):
            why = "is part of a shape that leads back to itself by it, which has no agreed meaning"
            raise self._graph.error(chain[-1], SH + problem, why)
        if self._recursion.uncovered(group):
            raise self._graph.beyond(child, SH + "node", "leads back to the shape by way of lists or reifiers")
        values: dict[str, Any] = {"shape": child, "group": (inner.target, inner.steps, group)}
        if group in self._defining:
            values["group"] = self._defining[group]
            return (replace(inner, component=RECURSIVE, values=values),)
        self._defining[group] = values["group"]
        values["members"] = members = tuple(sorted(group, key=str))
        try:
            branches = tuple(self._definition(member, inner, group) for member in members)
        finally:
            del self._defining[group]
        return (replace(inner, component=RECURSIVE, values=values, branches=branches),)

    def _definition(self, member: Any, inner: Constraint, group: frozenset[Term]) -> Branch:
        """Return the constraints of a recursive shape, on all nodes to which it is applied in turn."""
        shape = plain(member) if isinstance(member, ox.NamedNode) else inner.shape
        loop = self._recursion.loop(group)
        steps = {(*inner.steps, loop) if loop else inner.steps: None}
        if not inner.steps:  # a target node that the data do not mention is on no path
            steps[()] = None
        each = (replace(inner, component="node", steps=its) for its in steps)
        return tuple(part for outer in each for part in self._shape(member, shape, outer, (member,)))

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
        for child in self._graph.objects(node, SH + "someValue"):
            branch = self._inner(child, SH + "someValue", replace(inner, component="someValue"), chain)
            yield replace(base, component="someValue", values={"wanted": 1}, branches=(branch,))
        yield from self._of_members(node, base, inner, chain)
        yield from self._of_reifiers(node, base, chain)
        yield from self._qualified(node, base, inner, chain)

    def _of_members(
        self, node: Node, base: Constraint, inner: Constraint, chain: tuple[Term, ...]
    ) -> Iterator[Constraint]:
        """Yield the constraints on the members of the lists that values are."""
        inside = replace(inner, component="memberShape", steps=(*inner.steps, TO_MEMBERS))
        for child in self._graph.objects(node, SH + "memberShape"):
            self._refuse_path(node, "memberShape", child)
            branch = self._inner(child, SH + "memberShape", inside, chain)
            yield replace(base, component="memberShape", branches=(branch,))

    def _of_reifiers(self, node: Node, base: Constraint, chain: tuple[Term, ...]) -> Iterator[Constraint]:
        """Yield the constraints on the reifiers of the triples that lead from focus nodes to values."""
        name, required = SH + "reifierShape", self._graph.true(node, SH + "reificationRequired")
        children = self._graph.objects(node, name)
        if required and not children:
            raise self._graph.error(node, SH + "reificationRequired", "needs a sh:reifierShape in the same shape")
        if children and (len(base.path) != 1):
            raise self._graph.error(node, name, "needs a sh:path in the same shape that is one property")
        reifiers = Target(subjects_of=(REIFIES,), kinds=base.target.kinds)
        inside = replace(base, component="reifierShape", target=reifiers, steps=(), path=())
        for child in children:
            self._refuse_path(node, "reifierShape", child)
            branch = self._inner(child, name, inside, chain)
            yield replace(base, component="reifierShape", values={"required": required}, branches=(branch,))

    def _refuse_path(self, node: Node, component: str, child: Term) -> None:
        if self._graph.objects(child, SH + "path"):
            raise self._graph.error(node, SH + component, "has a shape with a sh:path, and a node shape was expected")

    def _qualified(
        self, node: Node, base: Constraint, inner: Constraint, chain: tuple[Term, ...]
    ) -> Iterator[Constraint]:
        name = SH + "qualifiedValueShape"
        counts = [c for c in ("qualifiedMaxCount", "qualifiedMinCount") if self._graph.objects(node, SH + c)]
        if counts and base.path and not self._graph.objects(node, name):
            raise self._graph.error(node, SH + counts[0], "needs a sh:qualifiedValueShape in the same shape")
        if not counts or not self._graph.objects(node, name):  # which the W3C's suite wants of a node shape
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
        nearby = [child for family in self._graph.families(node) for child in family]
        shapes = {shape for child in nearby for shape in self._graph.objects(child, SH + "qualifiedValueShape")}
        return sorted(shapes - {wanted}, key=str)

    def _selects(self, query: Term, base: Constraint) -> Iterator[Constraint]:
        if not self._graph.true(query, SH + "deactivated"):
            select = select_text(self._graph, query, base.path)
            source = cast("Source", base.source)
            messages = self._messages(query) or source.messages
            source = replace(source, messages=messages, constraint=query)
            yield replace(base, component="sparql", select=select, message=_english(messages), source=source)

    def _messages(self, node: Term) -> tuple[ox.Literal, ...]:
        """Return the messages of a shape: first those in English or in no language."""
        texts = [term for term in self._graph.objects(node, SH + "message") if isinstance(term, ox.Literal)]
        return tuple(sorted(texts, key=lambda term: ((term.language or "en") != "en", term.value)))


def _english(messages: tuple[ox.Literal, ...]) -> str:
    return messages[0].value if messages else ""


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return the question that names the known term nearest to a term; "" where none is near."""
    near = get_close_matches(name.removeprefix(SH), sorted(each.removeprefix(SH) for each in known), 1)
    return f"; sh:{near[0]} is the nearest that is" if near else ""
