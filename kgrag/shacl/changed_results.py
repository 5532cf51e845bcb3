"""What a change of the data does to the results of a validation, found in proportion to the change.

From both ends of each triple that came or went, the paths that a constraint reads are walked back, to the focus nodes
whose results may be others now; only these are validated, in the graph as it was and as it is. The idea is that of the
ShaclSail of RDF4J.

Validated whole, as before, are SPARQL constraints and recursive shapes; constraints that ask for classes, where the
classes above or below changed; and where a change concerns more focus nodes than a query can name, or blank nodes,
which it cannot name at all. Shapes that are left to pyshacl are its caller's business (``Shapes.elsewhere``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.model import Term, Violation
from kgrag.ports import TripleStore
from kgrag.shacl.compiled_shapes import LISTS, RECURSIVE, REIFIES, TO_MEMBERS, Constraint, Shapes, Target
from kgrag.shacl.constraint_queries import MAX_NODES_NAMED, ConstraintQueries, named
from kgrag.shacl.engine_run import violations_of_each
from kgrag.shacl.path_walks import Changes, Look, Repeated, Step, TooMany, Walks, path_tree
from kgrag.vocab import RDF, RDFS

__all__ = ["ChangedResults", "GraphState", "changed_results"]

_COMPARING = frozenset({"disjoint", "equals", "lessThan", "lessThanOrEquals"})
_FIRST, _REST = (ox.NamedNode(RDF.prefix + name) for name in ("first", "rest"))


@dataclass(frozen=True, slots=True)
class GraphState:
    """A union of named graphs at one time; ``look`` looks single triples up in the same union."""

    store: TripleStore
    graphs: tuple[ox.NamedNode, ...]
    look: Look


@dataclass(frozen=True, slots=True)
class ChangedResults:
    """Results of which a change may have made others: ``gone`` were there before it, ``come`` are there after it.

    The results before it, without ``gone`` and with ``come``, are the results after it; a result may be in both.
    ``whole`` are the shapes of which something was validated whole.
    """

    gone: tuple[Violation, ...]
    come: tuple[Violation, ...]
    whole: tuple[str, ...] = ()

    @property
    def new(self) -> list[Violation]:
        """Return the violations that were not there before."""
        known = Counter(map(result_key, self.gone))
        new = []
        for violation in self.come:
            key = result_key(violation)
            if known[key]:
                known[key] -= 1
            else:
                new.append(violation)
        return new


def result_key(violation: Violation) -> tuple[str, ...]:
    """Return what makes a result the same one before and after a change."""
    named_parts = (violation.shape, violation.component, violation.focus, violation.path, violation.value)
    return (*named_parts, violation.severity, violation.message)


def changed_results(past: GraphState, present: GraphState, shapes: Shapes, changes: Changes) -> ChangedResults:
    """Return how the results of a validation differ from those before a change.

    Args:
        past: the union of graphs as it was.
        present: the same as it is.
        shapes: compiled shapes, without a target that is a kind of graphs; those that are left to another engine and
            those that could not be read are not looked at.
        changes: the triples of the union that came and went.
    """
    if not (changes.added or changes.removed):
        return ChangedResults((), ())
    reach = _Reach(Walks(present.look, changes, MAX_NODES_NAMED), ConstraintQueries(present.store, (), present.graphs))
    before, after = _Validations.of(past, reach), _Validations.of(present, reach)
    gone: list[Violation] = []
    come: list[Violation] = []
    whole: dict[str, None] = {}
    for constraint in shapes.constraints:
        focus = reach.focus_nodes(constraint)
        if focus is not None and not focus:
            continue
        found = [state.results(constraint, focus) for state in (before, after)]
        if None in found:
            whole[constraint.shape] = None
            found = [state.whole(constraint) for state in (before, after)]
        gone += found[0] or ()
        come += found[1] or ()
    return ChangedResults(tuple(gone), tuple(come), tuple(whole))


@dataclass(frozen=True, slots=True)
class _Reach:
    """How far a change reaches: the focus nodes whose results it may have changed."""

    walks: Walks
    asker: ConstraintQueries

    @property
    def changes(self) -> Changes:
        return self.walks.changes

    def focus_nodes(self, constraint: Constraint) -> set[Term] | None:
        """Return focus nodes of a constraint, and maybe nodes that are none; None = any may be concerned."""
        parts = list(constraint.each())
        if any(part.component in ("sparql", RECURSIVE) for part in parts):
            return None
        asks_for_classes = constraint.target.classes or any(part.component == "class" for part in parts)
        if asks_for_classes and RDFS.subClassOf in self.changes.by_property:
            return None
        via = path_tree(constraint.via)
        try:
            led_to = self.walks.ends(via) | self.walks.on(via, self._retargeted(constraint.target))
            return led_to | self._reassessed(constraint)
        except TooMany:
            return None

    def _retargeted(self, target: Target) -> set[Term]:
        """Return the nodes that may have become or ceased to be target nodes."""
        classes = {sub for top in target.classes for sub in self.asker.subclasses(top)}
        typed = self.changes.by_property.get(RDF.type, ())
        nodes = {node for node, kind in typed if kind in classes} if classes else set()
        for name in target.subjects_of:
            nodes |= self.changes.subjects(name)
        for name in target.objects_of:
            nodes |= self.changes.objects(name)
        if target.nodes:  # one that no triple mentions has no values by a path that may take zero steps
            mentioned = {end for triple in self.changes for end in (triple.subject, triple.object)}
            nodes |= mentioned.intersection(target.nodes)
        return nodes

    def _reassessed(self, constraint: Constraint) -> set[Term]:
        """Return the nodes of which it may have changed whether they, or their values, are as a constraint wants."""
        path = path_tree(constraint.path)
        nodes = self.walks.begins(path) | self.walks.back(path, self._reassessed_values(constraint))
        if constraint.component in _COMPARING:
            nodes |= self.changes.subjects(constraint.values["wanted"])
        if constraint.component == "reifierShape":
            reified = self.changes.objects(REIFIES) | self.walks.on(Step(REIFIES), self._reassessed_within(constraint))
            nodes |= {term.subject for term in reified if isinstance(term, ox.Triple)}
        return nodes

    def _reassessed_values(self, constraint: Constraint) -> set[Term]:
        if constraint.component == "class":
            return self.changes.subjects(RDF.type)
        if constraint.component == "closed":
            return {triple.subject for triple in self.changes}
        if constraint.component in LISTS or constraint.component == "memberShape":
            cells = self.changes.subjects(_FIRST) | self.changes.subjects(_REST)
            heads = self.walks.back(Repeated(Step(_REST), "*"), cells)
            return heads | self.walks.back(path_tree(TO_MEMBERS), self._reassessed_within(constraint))
        return set() if constraint.component == "reifierShape" else self._reassessed_within(constraint)

    def _reassessed_within(self, constraint: Constraint) -> set[Term]:
        return {node for branch in constraint.branches for inner in branch for node in self._reassessed(inner)}


@dataclass(frozen=True, slots=True)
class _Validations:
    """Validations of one state of a union, of some focus nodes or whole."""

    state: GraphState
    reach: _Reach
    check: Callable[[Shapes], Iterator[Violation]]
    asker: ConstraintQueries

    @classmethod
    def of(cls, state: GraphState, reach: _Reach) -> _Validations:
        """Return those of a state."""
        check = violations_of_each(state.store, graphs=state.graphs, merged=True)
        return cls(state, reach, check, ConstraintQueries(state.store, (), state.graphs))

    def whole(self, constraint: Constraint) -> list[Violation]:
        """Return all results of a constraint."""
        return list(self.check(Shapes((constraint,))))

    def results(self, constraint: Constraint, focus: set[Term] | None) -> list[Violation] | None:
        """Return the results of a constraint for some focus nodes; None where they cannot be named."""
        if focus is None:
            return None
        try:
            roots = self.reach.walks.back(path_tree(constraint.via), focus)
        except TooMany:
            return None
        targets = {node for node in roots if self._is_target(node, constraint.target)}
        if not targets:
            return []
        if not (nameable := named(targets)):
            return None
        narrowed = constraint.aimed_at(Target(nodes=tuple(nameable)))
        results = self.check(Shapes((narrowed,)))
        return [each for each in results if each.terms is not None and each.terms.focus in focus]

    def _is_target(self, node: Term, target: Target) -> bool:
        look = self.state.look
        if node in target.nodes or any(_any(look(None, name, node)) for name in target.objects_of):
            return True
        if isinstance(node, ox.Literal):
            return False
        if any(_any(look(node, name, None)) for name in target.subjects_of):
            return True
        classes = {sub for top in target.classes for sub in self.asker.subclasses(top)}
        return bool(classes) and any(triple.object in classes for triple in look(node, RDF.type, None))


def _any(triples: Iterable[ox.Triple]) -> bool:
    return next(iter(triples), None) is not None
