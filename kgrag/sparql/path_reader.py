"""Property paths as trees, and the triple patterns that they mean.

OBQC, section 3.1, takes basic graph patterns only. ``a/b`` goes through a new node, ``^a`` turns round, ``a|b`` makes
the branches of a union, ``a+`` its first and its last step; after ``a*`` and ``a?`` the ends are free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from kgrag.sparql.syntax import Pattern, Scope
from kgrag.sparql.term_reader import Node, Terms
from kgrag.vocab import RDF

__all__ = ["Alternative", "Ends", "Inverse", "Negated", "Path", "Paths", "Repeat", "Sequence"]


@dataclass(frozen=True, slots=True)
class Inverse:
    """``^path``."""

    path: Path


@dataclass(frozen=True, slots=True)
class Sequence:
    """``path/path``."""

    parts: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """``path|path``."""

    parts: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A path with ``*``, ``+`` or ``?`` after it."""

    path: Path
    mark: str


@dataclass(frozen=True, slots=True)
class Negated:
    """``!(property|^property)``: any property but these."""

    start: int
    end: int


Path: TypeAlias = Node | Inverse | Sequence | Alternative | Repeat | Negated
_MARKS = {Inverse: "^", Sequence: "/", Alternative: "|", Negated: "!"}


@dataclass(frozen=True, slots=True)
class Ends:
    """What a path joins, and whether something follows for the ends."""

    subject: Node
    object: Node
    context: tuple[Scope, ...]
    mark: str = ""
    free_subject: bool = False
    free_object: bool = False
    repeated: bool = False


class Paths(Terms):
    """Reads property paths and writes patterns."""

    patterns: list[Pattern]

    def path(self) -> Path:
        """Read a path."""
        parts = [self._sequence()]
        while self.take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else Alternative(tuple(parts))

    def _sequence(self) -> Path:
        parts = [self._element()]
        while self.take("/"):
            parts.append(self._element())
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _element(self) -> Path:
        inverse = self.take("^")
        path = self._primary_path()
        mark = self.kind
        if mark in ("*", "+", "?"):
            self.advance()
            path = Repeat(path, mark)
        return Inverse(path) if inverse else path

    def _primary_path(self) -> Path:
        if self.kind == "(":
            self.advance()
            self.deeper()
            path = self.path()
            self.need(")", "after a path")
            self.depth -= 1
            return path
        if self.kind == "!":
            return self._negated()
        return self.property_name()

    def property_name(self) -> Node:
        """Read an IRI or ``a`` as property."""
        if self.kind == "word" and self.text[self.start] == "a":
            start = self.start
            self.shorten(1)
            return Node(RDF.type, start, start + 1)
        return self.iri("as property, or a variable")

    def _negated(self) -> Path:
        start = self.start
        self.advance()
        if self.take("("):
            self._one_of_set()
            while self.take("|"):
                self._one_of_set()
            self.need(")", "after a negated set of properties")
        else:
            self._one_of_set()
        return Negated(start, self.last)

    def _one_of_set(self) -> None:
        self.take("^")
        self.property_name()

    def write(self, path: Path, ends: Ends) -> None:
        """Write the patterns that a path means."""
        if isinstance(path, Node):
            self._step(path, ends)
            return
        mark = ends.mark or (path.mark if isinstance(path, Repeat) else _MARKS[type(path)])
        ends = replace(ends, mark=mark)
        if isinstance(path, Inverse):
            flags = {"free_subject": ends.free_object, "free_object": ends.free_subject}
            turned = replace(ends, subject=ends.object, object=ends.subject, **flags)  # type: ignore[arg-type]
            self.write(path.path, turned)
        elif isinstance(path, Sequence):
            self._write_sequence(path, ends)
        elif isinstance(path, Alternative):
            number = self.scope("union").number
            for branch, part in enumerate(path.parts):
                self.write(part, replace(ends, context=(*ends.context, Scope("union", number, branch))))
        elif isinstance(path, Repeat):
            self._write_repeat(path, ends)
        else:
            self._step(Node(self.fresh(), path.start, path.end), replace(ends, free_subject=True, free_object=True))

    def _write_sequence(self, path: Sequence, ends: Ends) -> None:
        subject, last = ends.subject, len(path.parts) - 1
        for index, part in enumerate(path.parts):
            middle = ends.object if index == last else Node(self.fresh(), ends.object.start, ends.object.end)
            free_subject, free_object = ends.free_subject and not index, ends.free_object and index == last
            joined = Ends(subject, middle, ends.context, ends.mark, free_subject, free_object, ends.repeated)
            self.write(part, joined)
            subject = middle

    def _write_repeat(self, path: Repeat, ends: Ends) -> None:
        inner = replace(ends, repeated=True)
        if path.mark != "+" or (ends.repeated and _branches(path.path)):
            self.write(path.path, replace(inner, free_subject=True, free_object=True))
        elif ends.free_subject or ends.free_object or not _branches(path.path):
            self.write(path.path, inner)
        else:
            self.write(path.path, replace(inner, free_object=True))
            self.write(path.path, replace(inner, free_subject=True))

    def _step(self, step: Node, ends: Ends) -> None:
        nodes = (ends.subject, step, ends.object)
        places = (self.place(*nodes[0][1:]), self.place(*nodes[1][1:]), self.place(*nodes[2][1:]))
        terms = (nodes[0].term, nodes[1].term, nodes[2].term)
        free = (ends.free_subject, ends.free_object)
        self.patterns.append(Pattern(*terms, places, ends.context, ends.mark, *free))


def _branches(path: Path) -> bool:
    """Return whether a path means several patterns that need not hold together."""
    if isinstance(path, Node | Negated):
        return False
    if isinstance(path, Alternative | Repeat):
        return True
    if isinstance(path, Inverse):
        return _branches(path.path)
    return any(_branches(part) for part in path.parts)
