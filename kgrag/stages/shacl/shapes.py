"""Reads shapes: from RDF files to a flat list of constraints, each one shape, path and component.

Source: SHACL (W3C Recommendation 20 July 2017), sections 2 to 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InvalidRDF
from kgrag.model import Term, plain
from kgrag.vocab import KG, OWL, RDF, RDFS, XSD

__all__ = ["Constraint", "Shapes", "Target", "load_shapes"]

SH = "http://www.w3.org/ns/shacl#"

_TARGETS = {
    "classes": SH + "targetClass",
    "subjects_of": SH + "targetSubjectsOf",
    "objects_of": SH + "targetObjectsOf",
    "nodes": SH + "targetNode",
    "kinds": KG.targetGraphKind.value,
}


def _words(prefix: str, names: str) -> frozenset[str]:
    return frozenset(prefix + name for name in names.split())


_COMPONENTS = sorted(
    _words(
        "",
        "class closed datatype disjoint equals hasValue in languageIn lessThan lessThanOrEquals maxCount maxExclusive "
        "maxInclusive maxLength minCount minExclusive minInclusive minLength nodeKind pattern uniqueLang",
    )
)
_NEED_A_PATH = _words("", "lessThan lessThanOrEquals maxCount minCount uniqueLang")
_SWITCHES = _words("", "closed uniqueLang")
_KNOWN = _words(SH, " ".join(_COMPONENTS)) | _words(
    SH,
    "deactivated declare defaultValue description flags group ignoredProperties inversePath message name namespace "
    "order path prefix prefixes property select severity sparql targetClass targetNode targetObjectsOf "
    "targetSubjectsOf",
)
# Datatypes that SPARQL can cast a string to, which tells an ill-formed literal from a well-formed one.
_CASTABLE = _words(
    XSD.prefix, "boolean date dateTime dayTimeDuration decimal double duration float integer time yearMonthDuration"
)
# What the store keeps as xsd:integer, with the least and the largest value.
_INTEGERS: dict[str, tuple[int | None, int | None]] = {
    **{name: (-(2**bits), 2**bits - 1) for name, bits in (("byte", 7), ("short", 15), ("int", 31), ("long", 63))},
    **{f"unsigned{name}": (0, 2**bits - 1) for name, bits in (("Byte", 8), ("Short", 16), ("Int", 32), ("Long", 64))},
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
}

_Node = ox.NamedNode | ox.BlankNode
_Index = dict[Term, dict[str, list[Term]]]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a shape looks for focus nodes; the parameters of ``queries/shacl/focus.part``."""

    classes: tuple[ox.NamedNode, ...] = ()
    subjects_of: tuple[ox.NamedNode, ...] = ()
    objects_of: tuple[ox.NamedNode, ...] = ()
    nodes: tuple[ox.NamedNode | ox.Literal, ...] = ()
    kinds: tuple[ox.NamedNode, ...] = ()

    def __bool__(self) -> bool:
        """Say whether there is any target."""
        return any((self.classes, self.subjects_of, self.objects_of, self.nodes, self.kinds))


@dataclass(frozen=True, slots=True)
class Constraint:
    """One component of one shape on one path.

    ``component`` is the local name in SHACL's vocabulary; its stored query is ``query``, bound with ``values``.
    For ``sparql`` there is no stored query: ``select`` is the text from the shapes file.
    """

    shape: str
    component: str
    target: Target
    path: tuple[ox.NamedNode, ...] = ()
    inverse: tuple[ox.NamedNode, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    severity: str = "Violation"
    message: str = ""
    select: str = ""

    @property
    def query(self) -> str:
        """Name of the stored query of the component."""
        return "shacl/" + re.sub(r"(?=[A-Z])", "_", self.component).lower()


@dataclass(frozen=True, slots=True)
class Shapes:
    """Shapes, compiled."""

    constraints: tuple[Constraint, ...]

    def __len__(self) -> int:
        """Count the constraints."""
        return len(self.constraints)


def load_shapes(paths: Iterable[Path]) -> Shapes:
    """Read and compile the shapes of RDF files; a shape may refer to one in another file.

    Raises:
        InvalidRDF: a file does not parse, or a shape holds something that this engine does not cover or that is no
            SHACL. The message names the shape and the property.
    """
    index: _Index = {}
    for path in paths:
        for triple in _parse(path):
            index.setdefault(triple.subject, {}).setdefault(triple.predicate.value, []).append(triple.object)
    return Shapes(tuple(_Reader(index).constraints()))


def _parse(path: Path) -> list[ox.Quad]:
    try:
        return list(ox.parse(path=path, base_iri=path.absolute().as_uri(), rename_blank_nodes=True))
    except (OSError, SyntaxError, ValueError) as error:
        raise InvalidRDF(f"{path}: cannot be read as shapes: {error}. Mend the file.") from error


class _Reader:
    """Walks the graph of shapes."""

    def __init__(self, index: _Index) -> None:
        self._index = index

    def constraints(self) -> Iterator[Constraint]:
        """Yield the constraints of every shape, those of a shape together, in the order of the shapes' names."""
        self._refuse_unknown()
        for node in sorted(self._index, key=str):
            if isinstance(node, ox.NamedNode | ox.BlankNode) and (target := self._target(node)):
                yield from self._shape(node, plain(node), target)

    def _refuse_unknown(self) -> None:
        for node, properties in self._index.items():
            for name in sorted(properties):
                if name.startswith(SH) and name not in _KNOWN:
                    raise self._error(node, name, "is not covered by this engine. Rewrite the shape without it")

    def _error(self, node: Term, name: str, problem: str) -> InvalidRDF:
        return InvalidRDF(f"shape {self._name(node)}: {name.replace(SH, 'sh:')} {problem}.")

    def _name(self, node: Term) -> str:
        """Name a node for a message: by its IRI, or by the shape with a name that it belongs to."""
        seen = {node}
        while isinstance(node, ox.BlankNode):
            owners = (owner for owner, held in self._index.items() if any(node in terms for terms in held.values()))
            owner = next((owner for owner in owners if owner not in seen), None)
            if owner is None:
                return "without a name"
            seen.add(node := owner)
        return plain(node)

    def _objects(self, node: Term, name: str) -> list[Term]:
        return self._index.get(node, {}).get(name, [])

    def _single(self, node: Term, name: str) -> Term | None:
        found = self._objects(node, name)
        if len(found) > 1:
            raise self._error(node, name, f"has {len(found)} values, and one is allowed")
        return found[0] if found else None

    def _true(self, node: Term, name: str) -> bool:
        found = self._single(node, name)
        if found is not None and plain(found) not in ("true", "false"):
            raise self._error(node, name, f"has {found}. Use true or false")
        return plain(found) == "true"

    def _list(self, node: Term, name: str) -> list[Term]:
        """Give the members of the RDF list that is the value of a property; [] when there is none."""
        rest, items, seen = self._single(node, name), [], set()
        while rest is not None and plain(rest) != RDF.prefix + "nil":
            first = self._objects(rest, RDF.prefix + "first")
            if rest in seen or len(first) != 1:
                raise self._error(node, name, "has no well-formed RDF list. Write ( ... )")
            seen.add(rest)
            items += first
            rest = self._single(rest, RDF.prefix + "rest") or rest
        return items

    def _target(self, node: _Node) -> Target:
        found: dict[str, Any] = {}
        for part, name in _TARGETS.items():
            wanted = "term" if part == "nodes" else "IRI"
            found[part] = tuple(self._typed(node, name, term, wanted) for term in self._objects(node, name))
        types = self._objects(node, RDF.type.value)
        implicit = isinstance(node, ox.NamedNode) and any(
            t in types for t in (OWL.Class, ox.NamedNode(RDFS.prefix + "Class"))
        )
        if implicit and ox.NamedNode(SH + "NodeShape") in types:
            found["classes"] += (node,)
        return Target(**found)

    def _shape(self, node: _Node, name: str, target: Target) -> Iterator[Constraint]:
        """Yield the constraints of a node shape or a property shape with this target."""
        if self._true(node, SH + "deactivated"):
            return
        path, inverse = self._path(node)
        severity = plain(self._single(node, SH + "severity")).removeprefix(SH) or "Violation"
        base = Constraint(name, "", target, path, inverse, severity=severity, message=self._message(node))
        for component in _COMPONENTS:
            for values in self._values(node, component):
                yield replace(base, component=component, values=values)
        for query in self._objects(node, SH + "sparql"):
            if not self._true(query, SH + "deactivated"):
                message = self._message(query) or base.message
                yield replace(base, component="sparql", select=self._select(query), message=message)
        yield from self._properties(node, name, target)

    def _properties(self, node: _Node, name: str, target: Target) -> Iterator[Constraint]:
        for child in self._objects(node, SH + "property"):
            if self._objects(node, SH + "path"):
                raise self._error(node, SH + "property", "stands in a property shape, which this engine does not cover")
            if isinstance(child, ox.Literal | ox.Triple) or not self._objects(child, SH + "path"):
                raise self._error(node, SH + "property", f"points to {child}, which has no sh:path")
            yield from self._shape(child, plain(child) if isinstance(child, ox.NamedNode) else name, target)

    def _path(self, node: _Node) -> tuple[tuple[ox.NamedNode, ...], tuple[ox.NamedNode, ...]]:
        """Give (path, inverse path) of a shape; both are empty for a node shape."""
        path = self._single(node, SH + "path")
        if path is None:
            return (), ()
        if isinstance(path, ox.NamedNode):
            return (path,), ()
        inverse = self._single(path, SH + "inversePath")
        if not isinstance(inverse, ox.NamedNode) or len(self._index[path]) != 1:
            raise self._error(node, SH + "path", "is neither a property nor [ sh:inversePath <property> ]")
        return (), (inverse,)

    def _message(self, node: Term) -> str:
        """Give the message of a shape: the English one, else the first."""
        found = [term for term in self._objects(node, SH + "message") if isinstance(term, ox.Literal)]
        found.sort(key=lambda term: ((term.language or "en") != "en", term.value))
        return found[0].value if found else ""

    def _select(self, node: Term) -> str:
        """Give the text of a SPARQL constraint with its prefixes."""
        select = self._single(node, SH + "select")
        text = plain(select)
        if "?graph" not in text or "$PATH" in text or not re.search(r"[$?]this\b", text):
            raise self._error(node, SH + "select", "must give $this and ?graph, and cannot use $PATH")
        lines = []
        for ontology in self._objects(node, SH + "prefixes"):
            for prefix in self._objects(ontology, SH + "declare"):
                name, namespace = (plain(self._single(prefix, SH + part)) for part in ("prefix", "namespace"))
                lines.append(f"PREFIX {name}: {ox.NamedNode(namespace)}\n")
        return "".join(lines) + text

    def _values(self, node: _Node, component: str) -> Iterator[dict[str, Any]]:
        """Yield what the component's query is bound with, once for each value of the component."""
        name = SH + component
        if component in _NEED_A_PATH and self._objects(node, name) and not self._objects(node, SH + "path"):
            raise self._error(node, name, "needs a sh:path beside it")
        if component in _SWITCHES:
            if self._true(node, name):
                yield {"wanted": self._allowed(node)} if component == "closed" else {}
            return
        declared = queries.describe(Constraint("", component, Target()).query).parameters["wanted"]
        if declared.endswith(" list") and component != "class":
            if self._objects(node, name):
                kind = declared.removesuffix(" list")
                yield {"wanted": [self._typed(node, name, term, kind) for term in self._list(node, name)]}
            return
        for term in self._objects(node, name):
            wanted = self._typed(node, name, term, declared.removesuffix(" list"))
            yield {"wanted": wanted} | self._more(node, term, component)

    def _more(self, node: _Node, term: Term, component: str) -> dict[str, Any]:
        """Give the further parameters of some components' queries."""
        if component == "pattern":
            return {"flags": ox.Literal(plain(self._single(node, SH + "flags")))}
        if component == "datatype":
            least, most = _INTEGERS.get(plain(term).removeprefix(XSD.prefix), (None, None))
            stored = XSD.integer if (least, most) != (None, None) else term
            bounds = {"least": [] if least is None else [least], "most": [] if most is None else [most]}
            return {"stored": stored, "cast": [stored] if plain(stored) in _CASTABLE else []} | bounds
        return {}

    def _allowed(self, node: _Node) -> list[Any]:
        """Give the properties that a closed shape allows."""
        ignored = self._list(node, SH + "ignoredProperties")
        paths = [path for child in self._objects(node, SH + "property") for path in self._objects(child, SH + "path")]
        allowed = [term for term in (*paths, *ignored) if isinstance(term, ox.NamedNode)]
        return sorted(set(allowed), key=str)

    def _typed(self, node: _Node, name: str, term: Term, wanted: str) -> Any:
        """Turn a term into the type that a query's parameter declares."""
        if wanted == "integer" and isinstance(term, ox.Literal) and re.fullmatch(r"\+?\d{1,18}", term.value):
            return int(term.value)
        kinds = {"IRI": (ox.NamedNode,), "literal": (ox.Literal,), "term": (ox.NamedNode, ox.Literal), "integer": ()}
        if not isinstance(term, kinds[wanted]):
            raise self._error(node, name, f"has the value {term}, and one {wanted} was expected")
        return term
