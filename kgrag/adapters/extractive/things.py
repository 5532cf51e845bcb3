"""Things read from a text: a tree that grows, and is written as the objects of a JSON-LD ``@graph``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from kgrag.adapters.extractive.slices import Class, Property

__all__ = ["Thing", "merged", "written"]


@dataclass(eq=False)
class Thing:
    """A thing of a class, with literal values (verbatim text) and things below it, by property name."""

    owner: Class
    literals: dict[str, list[str]] = field(default_factory=dict)
    below: dict[str, list[Thing]] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """Its name, or ""."""
        naming = self.owner.naming
        return self.literals.get(naming.name, [""])[0] if naming else ""

    def say(self, item: Property, value: str) -> None:
        """Add a literal value, once."""
        values = self.literals.setdefault(item.name, [])
        if value and value not in values:
            values.append(value)

    def put(self, item: Property, thing: Thing) -> None:
        """Put a thing below this one; one of the same name is joined with it."""
        self.below[item.name] = merged([*self.below.get(item.name, ()), thing])

    def join(self, other: Thing) -> None:
        """Take over what another thing holds."""
        for name, values in other.literals.items():
            mine = self.literals.setdefault(name, [])
            mine.extend(value for value in values if value not in mine)
        for name, things in other.below.items():
            self.below[name] = merged([*self.below.get(name, ()), *things])

    @property
    def empty(self) -> bool:
        """Whether it says nothing."""
        return not any(self.literals.values()) and all(thing.empty for row in self.below.values() for thing in row)


def merged(things: Iterable[Thing]) -> list[Thing]:
    """Join things of the same class and name; things without a name stay apart unless they say the same."""
    kept: list[Thing] = []
    for thing in things:
        twin = next((other for other in kept if other is thing or _same(other, thing)), None)
        if twin is None:
            kept.append(thing)
        elif twin is not thing:
            twin.join(thing)
    return kept


def _same(left: Thing, right: Thing) -> bool:
    if left.owner is not right.owner:
        return False
    if left.called or right.called:
        return left.called.casefold() == right.called.casefold()
    return written([left]) == written([right])


def written(things: Iterable[Thing]) -> list[dict[str, Any]]:
    """Write things as JSON objects: one value as it is, several as a list; what says nothing is left out."""
    return [_written(thing) for thing in things if not thing.empty]


def _written(thing: Thing) -> dict[str, Any]:
    data: dict[str, Any] = {"@type": thing.owner.name}
    for name, values in thing.literals.items():
        if values:
            data[name] = values[0] if len(values) == 1 else values
    for name, things in thing.below.items():
        if objects := written(things):
            data[name] = objects[0] if len(objects) == 1 else objects
    return data
