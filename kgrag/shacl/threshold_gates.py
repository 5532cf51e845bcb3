"""Gates that are true when enough of their inputs are: the least and the greatest solution of what leads to itself.

Dowling and Gallier, *Linear-time algorithms for testing the satisfiability of propositional Horn formulae*, 1984: each
input is counted once, when it becomes true (or can no longer), so that both solutions take time in proportion to the
inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["Gates"]


class Gates:
    """Gates by their names; one without inputs is true if ``need`` is 0.

    >>> gates = Gates()
    >>> for name, inputs in {"a": ["b", "c"], "b": [], "c": ["c"], "d": ["a"]}.items():
    ...     gates.define(name, inputs, need=1)
    >>> sorted(gates.least()), sorted(gates.greatest())
    ([], ['a', 'c', 'd'])
    """

    def __init__(self) -> None:
        self._need: dict[Any, int] = {}
        self._inputs: dict[Any, int] = {}
        self._readers: dict[Any, list[Any]] = {}

    def __contains__(self, name: Any) -> bool:
        """Return whether a gate is defined."""
        return name in self._need

    def define(self, name: Any, inputs: Sequence[Any], *, need: int) -> None:
        """Define a gate that is true when at least ``need`` of its inputs are; an input may be defined later."""
        self._need[name], self._inputs[name] = need, len(inputs)
        for each in inputs:
            self._readers.setdefault(each, []).append(name)

    def least(self) -> set[Any]:
        """Return the gates that are true for a reason that ends somewhere."""
        return self._settled(dict(self._need))

    def greatest(self) -> set[Any]:
        """Return the gates that nothing keeps from being true: ``least``, and what rests on each other."""
        enough_false = {name: self._inputs[name] - need + 1 for name, need in self._need.items()}
        return self._need.keys() - self._settled(enough_false)

    def _settled(self, missing: dict[Any, int]) -> set[Any]:
        """Return what is settled when each gate is settled by so many settled inputs."""
        settled = {name for name, count in missing.items() if count <= 0}
        waiting = list(settled)
        while waiting:
            for reader in self._read_by(waiting.pop()):
                missing[reader] -= 1
                if missing[reader] == 0:
                    settled.add(reader)
                    waiting.append(reader)
        return settled

    def _read_by(self, name: Any) -> Iterable[Any]:
        return self._readers.get(name, ())
