"""One version of an ontology, read for a comparison with another: terms, what follows of hierarchies, ends, version.

Hierarchies are what follows by the rules of OWL RL between named terms; where a reasoner is asked, by HermiT too.

Queries: those of ``kgrag.audit.audit_context``, ``audit/log_disjoint``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.audit_context import FILE_SUFFIX, prepare
from kgrag.audit.blank_node_names import BlankNodes
from kgrag.audit.stated_content import StatedNode, nodes_of
from kgrag.audit.version_axioms import VersionAxioms, read_axioms
from kgrag.model import Term, plain
from kgrag.ports import Workbench
from kgrag.reasoning.hermit import classify
from kgrag.reasoning.inference import materialise
from kgrag.reasoning.reachability import reachable
from kgrag.vocab import AUDIT, OWL, RDF, RDFS, XSD, local_name

__all__ = ["OntologyVersion", "Terms", "read_version"]

TOPS = frozenset(
    {OWL.Thing.value, RDFS.Resource.value, RDFS.Literal.value, f"{OWL.prefix}topObjectProperty"}
    | {f"{OWL.prefix}topDataProperty"}
)
"""Terms that everything is below, so that being below them says nothing."""
_HIERARCHIES = (RDFS.subClassOf, RDFS.subPropertyOf, OWL.equivalentClass, OWL.equivalentProperty)
_SAME = (OWL.equivalentClass, OWL.equivalentProperty)
_BROADER_DATATYPES = {
    **dict.fromkeys(("long", "nonNegativeInteger", "nonPositiveInteger"), "integer"),
    **{"integer": "decimal", "int": "long", "short": "int", "byte": "short", "negativeInteger": "nonPositiveInteger"},
    **dict.fromkeys(("positiveInteger", "unsignedLong"), "nonNegativeInteger"),
    **{"unsignedInt": "unsignedLong", "unsignedShort": "unsignedInt", "unsignedByte": "unsignedShort"},
    **{"normalizedString": "string", "token": "normalizedString", "language": "token", "dateTimeStamp": "dateTime"},
}
"""XML Schema datatypes, each with the one that it is derived from."""

Terms = Mapping[str, frozenset[str]]
Expression = tuple[str, frozenset["Expression"]] | str
"""A class expression: a name, or the content of a blank node; or "union" or "intersection" with its members."""


@dataclass(frozen=True, slots=True)
class OntologyVersion:
    """What one version says, by the IRIs of its own terms.

    Attributes:
        kinds: term -> its kind in words, e.g. "class" or "object property".
        mentioned: every IRI that occurs.
        deprecated: the terms that are deprecated.
        labels: term -> its labels and its local name, by their letters and digits in lower case.
        names: term of whatever namespace -> one of its labels.
        domains: property -> the class expressions that all have to hold; ``ranges`` likewise.
        above: class or property -> those that it is below, by what follows.
        unsatisfiable: classes that can have no instance, as far as is known.
        versions: what the ontology states of its version: IRIs, else texts.
        axioms: what it demands besides.
    """

    kinds: Mapping[str, str]
    mentioned: frozenset[str] = field(repr=False)
    deprecated: frozenset[str]
    labels: Terms = field(repr=False)
    names: Mapping[str, str] = field(repr=False)
    domains: Mapping[str, tuple[Expression, ...]] = field(repr=False)
    ranges: Mapping[str, tuple[Expression, ...]] = field(repr=False)
    above: Terms = field(repr=False)
    unsatisfiable: frozenset[str]
    versions: frozenset[str]
    namespaces: tuple[str, ...]
    axioms: VersionAxioms = field(default_factory=VersionAxioms, repr=False)

    def is_below(self, one: Expression, other: Expression) -> bool:
        """Return whether all of a class expression is in another, as far as names, unions and intersections show."""
        if one == other or other in TOPS:
            return True
        if isinstance(one, tuple) and one[0] == "union":
            return all(self.is_below(each, other) for each in one[1])
        if isinstance(other, tuple):
            within = any if other[0] == "union" else all
            return within(self.is_below(one, each) for each in other[1])
        if isinstance(one, tuple):
            return any(self.is_below(each, other) for each in one[1])
        return other in self.above.get(one, ()) or self._is_derived(one, other)

    def _is_derived(self, one: str, other: str) -> bool:
        """Return whether a datatype of XML Schema is derived from another."""
        name = one.removeprefix(XSD.prefix)
        while name in _BROADER_DATATYPES and one.startswith(XSD.prefix):
            name = _BROADER_DATATYPES[name]
            if XSD.prefix + name == other:
                return True
        return False


def read_version(
    triples: Sequence[ox.Triple], bench: Workbench, *, name: str, reasoner: bool = False, seconds: float = 60.0
) -> OntologyVersion:
    """Read a version of an ontology.

    Args:
        triples: of the ontology, without its imports.
        bench: a scratch store; its former content is deleted.
        name: what the version is called.
        reasoner: whether HermiT is asked for what follows beyond the rules.
        seconds: the time that it may take.

    Raises:
        NotDecided: the reasoner comes to no verdict.
        InputError: too much follows by the rules.
    """
    target = prepare(bench, triples, name=name)
    context = nodes_of(bench.triples(AUDIT.context))
    own = _own_terms(context, target.ontologies)
    disjoint: dict[str, set[str]] = defaultdict(set)
    for group, member in bench.select(queries.bind("audit/log_disjoint", target=AUDIT.target)).values():
        disjoint[group].add(member)
    read = _Expressions(triples)
    domains, ranges = (_ends(context, end, read) for end in (AUDIT.domain, AUDIT.range))
    ontologies = [context_node for iri, context_node in nodes_of(triples).items() if plain(iri) in target.ontologies]
    edges = _edges([*triples, *materialise(bench, triples, profile="owl-rl").triples])
    unsatisfiable: frozenset[str] = frozenset()
    if reasoner:
        found = classify(triples, seconds=seconds)
        groups = [set(group) for group in found.equivalents]
        _add_edges(edges, [*found.subclasses, *((a, b) for group in groups for a in group for b in group)])
        unsatisfiable = frozenset(found.unsatisfiable)
    above = {
        node: beyond - {node}
        for nodes, beyond in reachable({one: sorted(uppers) for one, uppers in edges.items()})
        for node in nodes
    }
    axioms = read_axioms(triples, disjoint.values(), lambda iri: iri.startswith(target.namespaces))
    individuals = dict.fromkeys(axioms.types.keys() - own.keys(), "individual")
    return OntologyVersion(
        kinds={iri: _kind(node) for iri, node in own.items()} | individuals,
        mentioned=frozenset(plain(term) for t in triples for term in t if isinstance(term, ox.NamedNode)),
        deprecated=frozenset(iri for iri, node in own.items() if node.is_a(AUDIT.DeprecatedTerm)),
        labels={iri: frozenset(map(_letters, (local_name(iri), *node.all(AUDIT.label)))) for iri, node in own.items()}
        | {iri: frozenset({_letters(local_name(iri))}) for iri in individuals},
        names={plain(iri): min(node.all(AUDIT.label)) for iri, node in context.items() if node.all(AUDIT.label)},
        domains=domains,
        ranges=ranges,
        above=above,
        unsatisfiable=unsatisfiable | _below_disjoint(above, disjoint.values()),
        versions=_versions(ontologies),
        namespaces=target.namespaces,
        axioms=axioms,
    )


def _own_terms(context: Mapping[Term, StatedNode], ontologies: Iterable[str]) -> dict[str, StatedNode]:
    """Return the terms of the own namespaces, and those whose IRI continues the ontology's in another way.

    I-ADOPT 1.0 has ``…/ontVariableSet``, by a prefix that lacks its slash: users of such a term lose it all the same.
    """
    stems = tuple(FILE_SUFFIX.sub("", iri).rstrip("#/") for iri in ontologies)
    terms = ((plain(iri), node) for iri, node in context.items() if node.is_a(AUDIT.Term))
    return {
        iri: node
        for iri, node in terms
        if node.is_a(AUDIT.OwnTerm) or (iri.startswith(stems) and iri not in ontologies)
    }


def _ends(
    context: Mapping[Term, StatedNode], end: ox.NamedNode, read: _Expressions
) -> dict[str, tuple[Expression, ...]]:
    """Return property -> the class expressions of its domain or range, each once."""
    return {
        plain(iri): tuple({read.expression(value): None for value in node.values[end]})
        for iri, node in context.items()
        if end in node.values
    }


def _letters(text: str) -> str:
    """Return the letters and digits of a name, by which a renamed term is found again.

    >>> _letters("has applicable Matrix") == _letters("hasApplicableMatrix")
    True
    """
    return re.sub(r"[\W_]", "", text).casefold()


def _kind(node: StatedNode) -> str:
    """Return the kinds of a term in words.

    >>> _kind(StatedNode(OWL.Thing, {AUDIT.kind: [AUDIT.ObjectPropertyTerm]}))
    'object property'
    """
    names = sorted(local_name(kind).removesuffix("Term") for kind in node.all(AUDIT.kind))
    return " and ".join("".join(f" {c.lower()}" if c.isupper() else c for c in name).strip() for name in names)


def _versions(ontologies: Iterable[StatedNode]) -> frozenset[str]:
    by_iri = {text for node in ontologies for text in node.all(OWL.versionIRI)}
    return frozenset(by_iri or {text for node in ontologies for text in node.all(OWL.versionInfo)})


def _edges(triples: Iterable[ox.Triple]) -> dict[str, set[str]]:
    """Return named class or property -> those directly above it, the same ones both ways."""
    edges: dict[str, set[str]] = defaultdict(set)
    for one, predicate, other in triples:
        if predicate in _HIERARCHIES and isinstance(one, ox.NamedNode) and isinstance(other, ox.NamedNode):
            _add_edges(edges, [(one.value, other.value)])
            if predicate in _SAME:
                _add_edges(edges, [(other.value, one.value)])
    return edges


def _add_edges(edges: dict[str, set[str]], pairs: Iterable[tuple[str, str]]) -> None:
    for one, other in pairs:
        if one != other:
            edges[one].add(other)


def _below_disjoint(above: Terms, groups: Iterable[set[str]]) -> frozenset[str]:
    """Return the classes that are below two disjoint ones, or below owl:Nothing."""
    pairs = [pair for group in groups for pair in combinations(sorted(group), 2)]
    whole = {one: uppers | {one} for one, uppers in above.items()}
    return frozenset(
        one
        for one, uppers in whole.items()
        if OWL.Nothing.value in uppers - {one} or any(left in uppers and right in uppers for left, right in pairs)
    )


class _Expressions:
    """Class expressions of a version: unions and intersections by their members, other blank nodes by content."""

    def __init__(self, triples: Sequence[ox.Triple]) -> None:
        self._nodes = nodes_of(triples)
        self._blank = BlankNodes.of(triples)

    def expression(self, term: Term) -> Expression:
        """Return the class expression that a term stands for."""
        parsers: Mapping[ox.NamedNode, str] = {OWL.unionOf: "union", OWL.intersectionOf: "intersection"}
        if not isinstance(term, ox.BlankNode):
            return plain(term)
        stated = self._nodes.get(term)
        for predicate, word in parsers.items():
            if stated is not None and predicate in stated.values:
                return word, frozenset(map(self.expression, self._members(stated.values[predicate][0])))
        return self._blank.key(term)

    def _members(self, head: Term) -> list[Term]:
        members: list[Term] = []
        seen: set[Term] = set()
        while head not in seen and head in self._nodes:
            seen.add(head)
            values = self._nodes[head].values
            members += values.get(RDF.first, [])[:1]
            head = next(iter(values.get(RDF.rest, ())), RDF.nil)
        return members
