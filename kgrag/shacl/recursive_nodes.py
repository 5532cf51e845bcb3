"""What departs from shapes that lead back to themselves.

SHACL leaves open what a recursive shape means (section 3.4.3). A node that departs from one for a reason that some
steps lead to departs from it by every meaning, and so does a node conform for which the steps end without a reason:
that decides data without cycles. What rests on a cycle of the data is not decided.

What ends at a node is asked of the store once for each constraint, and so are the values that lead on. The rest is one
walk from the focus nodes: that a node departs is a gate, and what leads on from there its inputs.

Corman, Reutter and Savkovic, *Semantics and validation of recursive SHACL*, 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from kgrag.errors import InvalidRDF
from kgrag.shacl.compiled_shapes import RECURSIVE, Branch, Constraint, Target
from kgrag.shacl.constraint_queries import ConstraintQueries, Where
from kgrag.shacl.shapes_graph import PropertyPath
from kgrag.shacl.threshold_gates import Gates

__all__ = ["departing_from_recursive"]

_ALL_SUBJECTS = Target()
_COUNTED = frozenset({"qualifiedMinCount", "someValue"})
Gate = tuple[Any, ...]
"""``(branch, node)``: the node departs from the shape; ``(part, node)``: from one constraint of it."""


def departing_from_recursive(
    reference: Constraint, asker: ConstraintQueries, departing_from: Callable[[Branch], set[Where]]
) -> frozenset[Where]:
    """Return the nodes that depart from a recursive shape, of those to which a constraint applies it.

    Args:
        reference: the constraint that refers to the shape, with the constraints of all that lead back to each other.
        asker: asks for focus nodes and values.
        departing_from: returns what departs from constraints that do not lead back.

    Raises:
        InvalidRDF: whether some nodes depart rests on a cycle of the data.
    """
    walk = _Walk.of(reference, asker, departing_from)
    seeds = walk.seeds()
    gates = walk.gates(seeds)
    least = gates.least()
    left_open = {str(gate[1][1]) for gate in gates.greatest() - least if gate[0] in walk.members}
    if left_open:
        raise InvalidRDF(
            f"shape {reference.shape}: it leads back to itself, and for {len(left_open)} nodes, such as "
            f"{min(left_open)}, a cycle of the data leads back as well. SHACL leaves open whether they conform."
        )
    return frozenset(node for node in seeds if (reference.values["shape"], node) in least)


@dataclass
class _Walk:
    """The constraints of shapes that lead back to each other, and what the store has of the nodes they are applied to.

    ``members`` has the constraints of each shape on all nodes that the paths of the shapes lead to in turn, by
    ``loop``. With ``at_once``, the store is asked for the values of all nodes, which takes less time where many are
    focus nodes: from each of these, the loop leads to all that the next ones lead to.
    """

    reference: Constraint
    asker: ConstraintQueries
    departing_from: Callable[[Branch], set[Where]]
    members: dict[Any, Branch]
    loop: PropertyPath
    at_once: bool = False
    leads: dict[int, bool] = field(default_factory=dict)
    ending: dict[int, set[Where]] = field(default_factory=dict)
    values: dict[object, dict[Where, list[Where]]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, reference: Constraint, asker: ConstraintQueries, departing_from: Callable[[Branch], set[Where]]
    ) -> _Walk:
        """Prepare the walk of a reference."""
        members = dict(zip(reference.values["members"], reference.branches, strict=True))
        length = len(reference.steps)
        parts = [part for branch in members.values() for part in branch]
        loop = next((part.steps[length] for part in parts if len(part.steps) > length), ())
        if loop:  # a branch has each constraint twice where target nodes may be on no path
            members = {
                shape: tuple(part for part in branch if len(part.steps) > length) for shape, branch in members.items()
            }
        walk = cls(reference, asker, departing_from, members, loop)
        paths = {part.path for branch in members.values() for part in walk.leading(branch)} - {()}
        walk.at_once = bool(loop) and all(asker.all_at_once(path, reference.target) for path in paths)
        return walk

    def seeds(self) -> list[Where]:
        """Return the nodes to which the constraint applies the shape."""
        return [(graph, node) for graph, node in self.asker.ask("shacl/focus", replace(self.reference, path=()))]

    def leading(self, branch: Branch) -> Iterable[Constraint]:
        """Yield the constraints that lead back, at any depth."""
        for part in branch:
            if self._leads_back(part):
                yield part
                for inner in part.branches:
                    yield from self.leading(inner)

    def gates(self, seeds: Iterable[Where]) -> Gates:
        """Return the gates of all nodes that the shape is applied to from some nodes on, and of their constraints."""
        gates, waiting = Gates(), [(self.reference.values["shape"], node) for node in seeds]
        while waiting:
            shape, node = waiting.pop()
            if (shape, node) in gates:
                continue
            pending: list[Gate] = [(shape, node, self.members[shape])]
            while pending:
                name, where, branch = pending.pop()
                if (name, where) not in gates:
                    self._define(gates, (name, where), branch, pending, waiting)
        return gates

    def _define(
        self, gates: Gates, gate: Gate, branch: Branch, pending: list[Gate], waiting: list[tuple[Any, Where]]
    ) -> None:
        """Define the gate of a node and a shape, and those of what leads on from there."""
        node, inputs, certain = gate[1], [], False
        for part in branch:
            if not self._leads_back(part):
                certain = certain or node in self._ending(part)
            elif part.component == RECURSIVE:
                inputs.append((part.values["shape"], node))
                waiting.append((part.values["shape"], node))
            else:
                inputs.append((id(part), node))
                self._define_part(gates, part, node, pending)
        gates.define(gate, inputs, need=0 if certain else 1)

    def _define_part(self, gates: Gates, part: Constraint, node: Where, pending: list[Gate]) -> None:
        """Define the gate of a node and a constraint with shapes within it."""
        values = self._values(part).get(node, []) if part.path else [node]
        each = [[(id(branch), value) for branch in part.branches] for value in values]
        pending += [(id(branch), value, branch) for value in values for branch in part.branches]
        inputs: list[Gate] = [gate for gates_of_value in each for gate in gates_of_value]
        need = 1
        if part.component == "or":
            for value, of_value in zip(values, each, strict=True):
                gates.define((id(part), node, value), of_value, need=len(of_value))
            inputs = [(id(part), node, value) for value in values]
        elif part.component in _COUNTED:
            if len(part.branches) > 1:
                raise InvalidRDF(f"shape {part.shape}: it leads back to itself by a disjoint qualified shape.")
            need = len(values) - part.values["wanted"] + 1
        gates.define((id(part), node), inputs, need=need)

    def _leads_back(self, part: Constraint) -> bool:
        if id(part) not in self.leads:
            group = self.reference.values["group"]
            self.leads[id(part)] = any(
                each.component == RECURSIVE and each.values["group"] == group for each in part.each()
            )
        return self.leads[id(part)]

    def _ending(self, part: Constraint) -> set[Where]:
        """Return what departs from a constraint that does not lead back, of all that the loop leads to."""
        if id(part) not in self.ending:
            aimed = [part]
            if self.at_once:
                aimed = [self._elsewhere(part, replace(_ALL_SUBJECTS, kinds=part.target.kinds), (self.loop[:-1],))]
            if self.loop and (self.at_once or not self.reference.steps):  # focus nodes may be on no path
                aimed.append(self._elsewhere(part, self.reference.target, ()))
            self.ending[id(part)] = {node for each in aimed for node in self.departing_from((each,))}
        return self.ending[id(part)]

    def _values(self, part: Constraint) -> dict[Where, list[Where]]:
        """Return the values of a constraint, by focus node."""
        key = part.path if self.at_once else id(part)
        if key not in self.values:
            aimed = [part] if self.loop else []
            if self.at_once:
                aimed = [replace(part, target=replace(_ALL_SUBJECTS, kinds=part.target.kinds), steps=())]
            elif not self.reference.steps:
                aimed.append(self._elsewhere(part, self.reference.target, ()))
            found: dict[Where, dict[Where, None]] = {}
            for each in aimed:
                for graph, focus, value in self.asker.ask("shacl/values", replace(each, branches=())):
                    found.setdefault((graph, focus), {})[graph, value] = None
            self.values[key] = {focus: list(values) for focus, values in found.items()}
        return self.values[key]

    def _elsewhere(self, part: Constraint, target: Target, steps: tuple[PropertyPath, ...]) -> Constraint:
        """Return a constraint, and those within it, on other nodes than those that the loop leads to."""
        own = self.reference.steps
        before = (*own, self.loop) if self.loop else own
        if part.steps[: len(before)] != before:
            return part
        kept = steps if steps else own
        values = part.values
        if part.component == RECURSIVE:
            values = {**values, "group": (target, kept, *values["group"])}
        branches = tuple(tuple(self._elsewhere(inner, target, steps) for inner in branch) for branch in part.branches)
        moved = (*kept, *part.steps[len(before) :])
        return replace(part, target=target, steps=moved, values=values, branches=branches)
