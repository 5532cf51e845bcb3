"""The ontology index: what a check needs of an ontology, read from its triples once.

OBQC section 3 asks the ontology itself by ``rdfs:subClassOf*`` at every rule. That is slow on a large ontology and
blind to unions, super-properties and inverses; here the statements are sorted once and closures are kept as they are
asked for.

Deviations:
    Equivalent classes are subclasses of each other; several domains or ranges of a property are alternatives (RDFS
    would take all of them together, and no published ontology means that); ``schema:domainIncludes`` and
    ``rangeIncludes`` are read as domain and range; ``owl:equivalentProperty`` is not followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyoxigraph as ox

from kgrag.querying.ontology_check.class_expressions import ANYTHING, Expression, Statements, family, joined
from kgrag.vocab import OWL, RDF, RDFS, digest

__all__ = ["OntologyIndex", "build_index"]

_SCHEMA = ("http://schema.org/", "https://schema.org/")
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_LABELS = (RDFS.label, ox.NamedNode(f"{_SKOS}prefLabel"), ox.NamedNode(f"{_SKOS}altLabel"))
_DEPRECATED_KINDS = (f"{OWL.prefix}DeprecatedClass", f"{OWL.prefix}DeprecatedProperty")
_TERM_STATUS = ox.NamedNode("http://www.w3.org/2003/06/sw-vocab-status/ns#term_status")
_OUTDATED = ("archaic", "deprecated")
_SUCCESSORS = [
    ox.NamedNode("http://purl.org/dc/terms/isReplacedBy"),
    ox.NamedNode("http://purl.obolibrary.org/obo/IAO_0100001"),
    *(ox.NamedNode(f"{space}supersededBy") for space in _SCHEMA),
]
_VANN = "http://purl.org/vocab/vann/preferredNamespace"
_SHACL = "http://www.w3.org/ns/shacl#"
_KINDS = {
    OWL.ObjectProperty.value: "object",
    OWL.DatatypeProperty.value: "datatype",
    OWL.AnnotationProperty.value: "annotation",
    RDF.Property.value: "",
    f"{OWL.prefix}FunctionalProperty": "",
    f"{OWL.prefix}TransitiveProperty": "object",
    f"{OWL.prefix}SymmetricProperty": "object",
    f"{OWL.prefix}InverseFunctionalProperty": "",
}
Links = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class OntologyIndex:
    """What a check needs of an ontology; every term is an IRI as text.

    ``kinds`` has for each property "object", "datatype", "annotation", "" (no kind stated) or several of them joined
    by a space. ``overlaps`` are the members of a union that a class is stated to lie within. ``mentioned`` are all IRIs
    that are subject or object in the ontology. ``deprecated`` has what took the place of each such term.
    ``imports`` are ontologies that are not part of what was read.
    """

    identity: str
    kinds: Mapping[str, str]
    classes: frozenset[str]
    datatypes: frozenset[str]
    parents: Links
    disjoint: Links
    overlaps: Links
    domains: Mapping[str, Expression]
    ranges: Mapping[str, Expression]
    superproperties: Links
    inverses: Links
    labels: Links
    prefixes: Mapping[str, str]
    mentioned: frozenset[str]
    imports: tuple[str, ...] = ()
    deprecated: Links = field(default_factory=dict)
    triples: int = 0
    memory: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def children(self) -> dict[str, list[str]]:
        """Class -> its direct subclasses."""
        found: dict[str, list[str]] = {}
        for name, parents in self.parents.items():
            for parent in parents:
                found.setdefault(parent, []).append(name)
        return found

    def ancestors(self, name: str) -> frozenset[str]:
        """Return a class and all its superclasses."""
        return self._closure("up", name, self.parents)

    def descendants(self, name: str) -> frozenset[str]:
        """Return a class and all its subclasses."""
        return self._closure("down", name, self.children)

    def _closure(self, kind: str, name: str, links: Mapping[str, Iterable[str]]) -> frozenset[str]:
        known = self.memory.get((kind, name))
        if known is None:
            seen, queue = {name}, [name]
            while queue:
                fresh = set(links.get(queue.pop(), ())) - seen
                seen |= fresh
                queue += fresh
            known = self.memory[kind, name] = frozenset(seen)
        return known

    def domain(self, name: str) -> Expression:
        """Return what a property requires of its subject: stated, or of its nearest super-property or its inverse."""
        return self._effective(name, (self.domains, self.ranges))

    def range(self, name: str) -> Expression:
        """Return what a property requires of its object; ``rdfs:Literal`` for a datatype property without a range."""
        found = self._effective(name, (self.ranges, self.domains))
        bare = found == ANYTHING and name not in self.ranges and self.kinds.get(name) == "datatype"
        return ((RDFS.Literal.value,),) if bare else found

    def _effective(self, name: str, ends: tuple[Mapping[str, Expression], Mapping[str, Expression]]) -> Expression:
        seen, level = {name}, [name]
        while level:
            stated = [ends[0][each] for each in level if each in ends[0]]
            if stated:
                return stated[0]
            turned = [ends[1][other] for each in level for other in self.inverses.get(each, ()) if other in ends[1]]
            if turned:
                return turned[0]
            level = [up for each in level for up in self.superproperties.get(each, ()) if up not in seen]
            seen.update(level)
        return ANYTHING

    def is_datatype(self, name: str) -> bool:
        """Return whether a class of values is a datatype."""
        return name in self.datatypes or family(name) != ""

    def to_json(self) -> dict[str, Any]:
        """Return all that was read, as values of JSON."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "memory"}
        return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in values.items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> OntologyIndex:
        """Return the index that ``to_json`` wrote.

        Raises:
            ValueError: it is not of that form.
        """
        try:
            sets = {name: frozenset(data[name]) for name in ("classes", "datatypes", "mentioned")}
            links = {name: _tuples(data[name]) for name in _LINKS}
            ends = {name: {k: tuple(map(tuple, v)) for k, v in data[name].items()} for name in ("domains", "ranges")}
            rest = {name: dict(data[name]) for name in ("kinds", "prefixes")}
            single = {"identity": data["identity"], "imports": tuple(data["imports"]), "triples": data["triples"]}
            return cls(**{**sets, **links, **ends, **rest, **single})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"this is no ontology index: {error!r}") from error


_LINKS = ("deprecated", "parents", "disjoint", "overlaps", "superproperties", "inverses", "labels")


def _tuples(data: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(values) for name, values in data.items()}


def build_index(triples: Iterable[ox.Triple], *, identity: str = "") -> OntologyIndex:
    """Index an ontology.

    Args:
        triples: the ontology, several ontologies, or none.
        identity: names the content, for caches; by default a digest of the triples.

    Returns:
        The index; in that of no triples every property is unknown.
    """
    listed = list(triples)
    statements = Statements.of(listed)
    kinds = _kinds(statements)
    ends = {end: joined(_ends(statements, end)) for end in ("domain", "range")}
    parents, overlaps = _superclasses(statements)
    datatypes = _datatypes(statements)
    ontologies = {name for name, kind in statements.named_pairs(RDF.type) if kind == OWL.Ontology.value}
    ends_of_triples = (term for triple in listed for term in (triple.subject, triple.object))
    mentioned = frozenset(term.value for term in ends_of_triples if isinstance(term, ox.NamedNode))
    return OntologyIndex(
        identity=identity or digest(*sorted(map(str, listed))),
        kinds=kinds,
        classes=_classes(statements, parents, ends) - datatypes - {RDFS.Literal.value},
        datatypes=datatypes,
        parents=parents,
        disjoint=_disjoint(statements),
        overlaps=overlaps,
        domains=ends["domain"],
        ranges=ends["range"],
        superproperties=_grouped(statements.named_pairs(RDFS.subPropertyOf)),
        inverses=_both_ways(statements.named_pairs(OWL.inverseOf)),
        labels=_labels(statements),
        prefixes=_prefixes(statements),
        mentioned=mentioned,
        deprecated=_deprecated(statements),
        imports=tuple(sorted({value for _, value in statements.named_pairs(OWL.imports)} - ontologies)),
        triples=len(listed),
    )


def _kinds(statements: Statements) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for name, kind in statements.named_pairs(RDF.type):
        if kind in _KINDS:
            found.setdefault(name, set()).add(_KINDS[kind])
    implied = (RDFS.domain, RDFS.range, RDFS.subPropertyOf, OWL.inverseOf)
    for predicate in implied:
        for subject, _ in statements.pairs(predicate):
            if subject.startswith("<"):
                found.setdefault(subject[1:-1], set())
    for predicate in (RDFS.subPropertyOf, OWL.inverseOf):
        for _, value in statements.named_pairs(predicate):
            found.setdefault(value, set())
    return {name: " ".join(sorted(kinds - {""})) for name, kinds in found.items()}


def _ends(statements: Statements, end: str) -> dict[str, list[Expression]]:
    found: dict[str, list[Expression]] = {}
    predicates = [getattr(RDFS, end), *(ox.NamedNode(f"{space}{end}Includes") for space in _SCHEMA)]
    for predicate in predicates:
        for subject, value in statements.pairs(predicate):
            if subject.startswith("<"):
                found.setdefault(subject[1:-1], []).append(statements.expression(value))
    return found


def _superclasses(statements: Statements) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """Return class -> named superclasses, and class -> members of the unions it lies within."""
    up: dict[str, dict[str, None]] = {}
    near: dict[str, dict[str, None]] = {}
    for predicate in (RDFS.subClassOf, OWL.equivalentClass, OWL.unionOf, OWL.intersectionOf):
        for subject, value in statements.pairs(predicate):
            if not subject.startswith("<"):
                continue
            # a union or intersection that a named class is by itself, as OWL 1 wrote it
            of_itself = predicate in (OWL.unionOf, OWL.intersectionOf)
            name = subject[1:-1]
            expression = statements.combination(subject) if of_itself else statements.expression(value)
            if len(expression) == 1:
                up.setdefault(name, {}).update(dict.fromkeys(expression[0]))
            for alternative in expression if len(expression) > 1 else ():
                near.setdefault(name, {}).update(dict.fromkeys(alternative))
            if predicate != RDFS.subClassOf:
                _turned(name, expression, up)
    for subject, head in statements.pairs(OWL.disjointUnionOf):
        members = (member for member in statements.members(head) if isinstance(member, ox.NamedNode))
        _turned(subject.strip("<>"), tuple((member.value,) for member in members), up)
    return _tuples(up), _tuples(near)


def _turned(name: str, expression: Expression, up: dict[str, dict[str, None]]) -> None:
    """Note that an equivalent class, and each member of an equivalent union, lies within the class."""
    for alternative in expression:
        if len(alternative) == 1:
            up.setdefault(alternative[0], {})[name] = None


def _datatypes(statements: Statements) -> frozenset[str]:
    declared = {RDFS.Datatype.value, *(f"{space}DataType" for space in _SCHEMA)}
    found = {name for name, kind in statements.named_pairs(RDF.type) if kind in declared}
    while fresh := {name for name, up in statements.named_pairs(RDFS.subClassOf) if up in found} - found:
        found |= fresh
    return frozenset(found)


def _classes(
    statements: Statements, parents: Mapping[str, tuple[str, ...]], ends: Mapping[str, Mapping[str, Expression]]
) -> frozenset[str]:
    kinds = {OWL.Class.value, RDFS.Class.value}
    found = {name for name, kind in statements.named_pairs(RDF.type) if kind in kinds}
    found |= parents.keys() | {up for ups in parents.values() for up in ups}
    used = (name for end in ends.values() for each in end.values() for alternative in each for name in alternative)
    return frozenset(found | {name for name in used if not family(name)})


def _disjoint(statements: Statements) -> dict[str, tuple[str, ...]]:
    pairs = [*statements.named_pairs(OWL.disjointWith)]
    groups = [head for _, head in statements.pairs(OWL.disjointUnionOf)]
    for node, kind in statements.pairs(RDF.type):
        if kind == OWL.AllDisjointClasses:
            groups += statements.objects(node, OWL.members)
    for head in groups:
        names = [member.value for member in statements.members(head) if isinstance(member, ox.NamedNode)]
        pairs += [(one, other) for one in names for other in names if one < other]
    return _both_ways(pairs)


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for one, other in pairs:
        found.setdefault(one, {})[other] = None
    return _tuples(found)


def _both_ways(pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    listed = list(pairs)
    return _grouped([*listed, *((other, one) for one, other in listed)])


def _labels(statements: Statements) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for predicate in _LABELS:
        for subject, value in statements.pairs(predicate):
            if subject.startswith("<") and isinstance(value, ox.Literal):
                found.setdefault(subject[1:-1], {})[value.value] = None
    return _tuples(found)


def _deprecated(statements: Statements) -> dict[str, tuple[str, ...]]:
    """Return the terms that are called deprecated, or have a successor (schema.org), each with its successors."""
    true = ("true", "1")
    found = {name for name, kind in statements.named_pairs(RDF.type) if kind in _DEPRECATED_KINDS}
    found |= {name[1:-1] for name, value in statements.pairs(OWL.deprecated) if getattr(value, "value", "") in true}
    found |= {name[1:-1] for name, value in statements.pairs(_TERM_STATUS) if getattr(value, "value", "") in _OUTDATED}
    successors: dict[str, dict[str, None]] = {name: {} for name in found if not name.startswith(":")}
    for predicate in _SUCCESSORS:
        for name, value in statements.named_pairs(predicate):
            if name in found or predicate.value.startswith(_SCHEMA):
                successors.setdefault(name, {})[value] = None
    return _tuples(successors)


def _prefixes(statements: Statements) -> dict[str, str]:
    """Read the prefixes that an ontology recommends for itself (VANN, SHACL)."""
    found: dict[str, str] = {}
    for prefix, space in ((f"{_VANN}Prefix", f"{_VANN}Uri"), (f"{_SHACL}prefix", f"{_SHACL}namespace")):
        for subject, value in statements.pairs(ox.NamedNode(prefix)):
            for uri in statements.objects(subject, ox.NamedNode(space))[:1]:
                found.setdefault(value.value, uri.value)
    return found
