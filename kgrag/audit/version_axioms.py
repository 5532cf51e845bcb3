"""What a version of an ontology demands of data besides hierarchies and ends, and what two versions differ in there.

Characteristics of properties, disjointness, restrictions of classes, and types of individuals. What data may contradict
that were consistent before (a functional property, a disjoint pair, "only", "at most", a complement) is a constraint;
what makes more follow (a symmetric property, "some") contradicts nothing by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import pyoxigraph as ox

from kgrag.audit.stated_content import StatedNode, nodes_of
from kgrag.late_patterns import late_re
from kgrag.model import Term, plain
from kgrag.vocab import OWL, RDF, RDFS

__all__ = ["VersionAxioms", "differences", "read_axioms"]

_CONSTRAINING = {"Functional": "functional", "InverseFunctional": "inverse functional"}
_CONSTRAINING |= {"Irreflexive": "irreflexive", "Asymmetric": "asymmetric"}
_INFERRING = {"Symmetric": "symmetric", "Transitive": "transitive", "Reflexive": "reflexive"}
_WORDS = {
    **{"someValuesFrom": "some", "hasValue": "value", "minCardinality": "at least"},
    **{"minQualifiedCardinality": "at least", "hasSelf": "itself", "allValuesFrom": "only"},
    **{"maxCardinality": "at most", "maxQualifiedCardinality": "at most"},
    **{"cardinality": "exactly", "qualifiedCardinality": "exactly"},
}
"""What a restriction says -> how it is called."""
_OPEN = frozenset({"some", "value", "at least", "itself"})
"""Restrictions that data without the value do not contradict."""
_MOST = late_re(r"(?P<path>.*) (?P<word>at most|exactly) (?P<count>\d+)(?P<of>.*)")
_MAX_NAMED = 3
_MAX_DEPTH = 8


@dataclass(frozen=True, slots=True)
class VersionAxioms:
    """What one version states of its terms.

    Attributes:
        characteristics: property -> the words of its characteristics.
        disjoint: groups of classes or properties of which any two are disjoint.
        restrictions: class -> what it is below without a name, in words -> whether data may contradict it.
        types: individual -> the classes that it is stated to be of.
        inverses: pairs of properties, each in the order of their IRIs.
    """

    characteristics: Mapping[str, frozenset[str]] = field(default_factory=dict)
    disjoint: tuple[frozenset[str], ...] = ()
    restrictions: Mapping[str, Mapping[str, bool]] = field(default_factory=dict)
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    inverses: frozenset[tuple[str, str]] = frozenset()


def read_axioms(
    triples: Sequence[ox.Triple], disjoint: Iterable[Iterable[str]], is_own: Callable[[str], bool]
) -> VersionAxioms:
    """Read the axioms of a version.

    Args:
        triples: of the ontology.
        disjoint: groups of disjoint classes, as they are stated.
        is_own: whether an IRI is in a namespace of the ontology.
    """
    nodes = nodes_of(triples)
    words = {f"{OWL.prefix}{name}Property": word for name, word in {**_CONSTRAINING, **_INFERRING}.items()}
    characteristics: dict[str, frozenset[str]] = {}
    restrictions: dict[str, dict[str, bool]] = defaultdict(dict)
    types: dict[str, frozenset[str]] = {}
    groups = [frozenset(group) for group in disjoint]
    inverses: set[tuple[str, str]] = set()
    for node in nodes.values():
        if not isinstance(node.iri, ox.NamedNode):
            continue
        iri, stated = node.iri.value, node.all(RDF.type)
        characteristics[iri] = frozenset(words[each] for each in stated if each in words)
        for value in (*node.values.get(RDFS.subClassOf, ()), *node.values.get(OWL.equivalentClass, ())):
            restrictions[iri] |= dict(_restrictions(value, nodes))
        if is_own(iri) and (of := frozenset(each for each in stated if not each.startswith(_BUILT_IN))):
            types[iri] = of
        inverses |= {(min(iri, other), max(iri, other)) for other in node.all(OWL.inverseOf)}
        groups += [frozenset({iri, other}) for other in node.all(ox.NamedNode(f"{OWL.prefix}propertyDisjointWith"))]
    return VersionAxioms(characteristics, tuple(groups), restrictions, types, frozenset(inverses))


_BUILT_IN = (OWL.prefix, RDFS.prefix, RDF.prefix, "http://www.w3.org/2004/02/skos/core#")


def differences(old: VersionAxioms, new: VersionAxioms, terms: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    """Yield kind of change ("constrained", "loosened", "gained"), term and message, of terms that both have."""
    constraining = frozenset(_CONSTRAINING.values())
    for term in sorted(terms):
        before, after = (each.characteristics.get(term, frozenset()) for each in (old, new))
        for word in sorted(after - before):
            yield "constrained" if word in constraining else "gained", term, f"is {word} now"
        for word in sorted(before - after):
            yield "loosened", term, f"is no longer {word}"
        stated, stating = (each.restrictions.get(term, {}) for each in (old, new))
        for text in sorted(stating.keys() - stated.keys()):
            if _follows(text, stated):
                yield "loosened", term, f"is below {text} now, which is less than it was below"
            else:
                yield "constrained" if stating[text] else "gained", term, f"is below {text} now"
        for text in sorted(stated.keys() - stating.keys()):
            yield "loosened", term, f"is no longer below {text}"
    yield from _of_inverses(old, new, terms)
    for kind, one, other, words in (
        ("constrained", new, old, "is disjoint with {} now"),
        ("loosened", old, new, "is no longer disjoint with {}"),
    ):
        for term, others in _pairs(one, other, terms):
            named = ", ".join(others[:_MAX_NAMED])
            more = f" and {len(others) - _MAX_NAMED} more" if len(others) > _MAX_NAMED else ""
            yield kind, term, words.format(named + more)


def _of_inverses(old: VersionAxioms, new: VersionAxioms, terms: frozenset[str]) -> Iterator[tuple[str, str, str]]:
    for left, right in sorted(old.inverses ^ new.inverses):
        if left in terms and right in terms:
            gone = (left, right) in old.inverses
            yield "loosened" if gone else "gained", left, f"is {'no longer ' if gone else ''}the inverse of {right}"


def _follows(text: str, stated: Iterable[str]) -> bool:
    """Return whether "at most" so many follows from a number that is as low or lower, of the same or of any values."""
    wanted = _MOST.fullmatch(text)
    if wanted is None or wanted["word"] != "at most":
        return False
    known = [found for each in stated if (found := _MOST.fullmatch(each)) and found["path"] == wanted["path"]]
    return any(each["of"] in ("", wanted["of"]) and int(each["count"]) <= int(wanted["count"]) for each in known)


def _pairs(one: VersionAxioms, other: VersionAxioms, terms: frozenset[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield terms with those that they are disjoint with in one version and not in the other."""
    known = {pair for group in other.disjoint for pair in combinations(sorted(group & terms), 2)}
    found: dict[str, set[str]] = defaultdict(set)
    for group in one.disjoint:
        for left, right in combinations(sorted(group & terms), 2):
            if (left, right) not in known:
                found[left].add(right)
    yield from ((term, sorted(others)) for term, others in sorted(found.items()))


def _restrictions(value: Term, nodes: Mapping[Term, StatedNode]) -> Iterator[tuple[str, bool]]:
    """Yield what an expression without a name demands, in words, and whether data may contradict it."""
    stated = nodes.get(value)
    if not isinstance(value, ox.BlankNode) or stated is None:
        return
    if OWL.intersectionOf in stated.values:
        for member in _members(stated.values[OWL.intersectionOf][0], nodes):
            yield from _restrictions(member, nodes)
        return
    text = _in_words(value, nodes)
    yield text, not any(f" {word}" in text.partition(" (")[0] for word in _OPEN)


def _in_words(value: Term, nodes: Mapping[Term, StatedNode], depth: int = 0) -> str:
    stated = nodes.get(value)
    if not isinstance(value, ox.BlankNode) or stated is None:
        return plain(value)
    if depth > _MAX_DEPTH:
        return "a class without a name"
    for name, word in (("unionOf", " or "), ("intersectionOf", " and "), ("oneOf", ", ")):
        if lists := stated.values.get(ox.NamedNode(OWL.prefix + name)):
            members = [_in_words(each, nodes, depth + 1) for each in _members(lists[0], nodes)]
            return f"({word.join(sorted(members))})"
    if others := stated.values.get(ox.NamedNode(f"{OWL.prefix}complementOf")):
        return f"not {_in_words(others[0], nodes, depth + 1)}"
    path = "".join(stated.all(ox.NamedNode(f"{OWL.prefix}onProperty"))[:1])
    fillers = [
        each for name in ("onClass", "onDataRange") for each in stated.values.get(ox.NamedNode(OWL.prefix + name), ())
    ]
    of = "".join(f" {_in_words(each, nodes, depth + 1)}" for each in fillers[:1])
    for name, word in _WORDS.items():
        if values := stated.values.get(ox.NamedNode(OWL.prefix + name)):
            return f"{path} {word} {_in_words(values[0], nodes, depth + 1)}{of}"
    return "a class without a name"


def _members(head: Term, nodes: Mapping[Term, StatedNode]) -> list[Term]:
    members: list[Term] = []
    seen: set[Term] = set()
    while head not in seen and head in nodes:
        seen.add(head)
        members += nodes[head].values.get(RDF.first, [])[:1]
        head = next(iter(nodes[head].values.get(RDF.rest, ())), RDF.nil)
    return members
