"""What classes have to do with each other: compatible, within, disjoint.

Compatible is: equal; one a subclass of the other; a common named subclass; anything with ``owl:Thing``; never what is
declared disjoint; never a class with a datatype; datatypes of one family. The paper asks for a subclass in one given
direction and takes every other pair for disjoint (OBQC section 3.3); a named subclass in common is enough here.
"""

from __future__ import annotations

from kgrag.querying.ontology_check.class_expressions import ANY_LITERAL, ANYTHING, Expression, family
from kgrag.querying.ontology_check.ontology_index import OntologyIndex
from kgrag.vocab import OWL, RDFS

__all__ = ["compatible", "disjoint", "within"]

_TOPS = frozenset({OWL.Thing.value, RDFS.Resource.value})


def compatible(index: OntologyIndex, one: Expression, other: Expression) -> bool:
    """Say whether something can lie in both: some alternative of one goes with some alternative of the other."""
    if ANYTHING in (one, other):
        return True
    return any(
        all(_classes_go(index, a, b) for a in alternative for b in counterpart)
        for alternative in one
        for counterpart in other
    )


def within(index: OntologyIndex, name: str, expression: Expression) -> bool:
    """Say whether a class lies within an expression: in every class of one of its alternatives."""
    if expression == ANYTHING:
        return True
    above = index.ancestors(name)
    return any(all(wanted in above for wanted in alternative) for alternative in expression)


def disjoint(index: OntologyIndex, one: str, other: str) -> bool:
    """Say whether two classes, or superclasses of theirs, are declared disjoint."""
    if not index.disjoint:
        return False
    above = index.ancestors(other)
    return any(far in above for name in index.ancestors(one) for far in index.disjoint.get(name, ()))


def _classes_go(index: OntologyIndex, one: str, other: str) -> bool:
    key = ("go", one, other) if one <= other else ("go", other, one)
    known = index.memory.get(key)
    if known is None:
        known = index.memory[key] = _examine(index, one, other)
    return bool(known)


def _examine(index: OntologyIndex, one: str, other: str) -> bool:
    values = (index.is_datatype(one), index.is_datatype(other))
    if one == other:
        return True
    if any(values):
        return all(values) and _same_family(index, one, other)
    if one in _TOPS or other in _TOPS:
        return True
    if disjoint(index, one, other):
        return False
    if one in index.ancestors(other) or other in index.ancestors(one):
        return True
    return bool(index.descendants(one) & index.descendants(other)) or _overlap(index, one, other)


def _same_family(index: OntologyIndex, one: str, other: str) -> bool:
    families = [{family(name) for name in index.ancestors(datatype)} - {""} for datatype in (one, other)]
    return not all(families) or bool(families[0] & families[1]) or any(ANY_LITERAL in found for found in families)


def _overlap(index: OntologyIndex, one: str, other: str) -> bool:
    """Whether one lies within a union of classes, and the other has to do with a member of it."""
    for first, second in ((one, other), (other, one)):
        near = {member for name in index.ancestors(first) for member in index.overlaps.get(name, ())}
        if near and near & (index.ancestors(second) | index.descendants(second)):
            return True
    return False
