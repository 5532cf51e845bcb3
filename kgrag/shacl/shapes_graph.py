"""A graph of shapes with readers of single values, switches, lists and property paths, whose errors name the shape.

Source: SHACL (W3C Recommendation 20 July 2017), sections 1 and 2.3.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.model import Term, plain
from kgrag.vocab import RDF, XSD

__all__ = [
    "SH",
    "Node",
    "NotCovered",
    "PropertyPath",
    "ShapesGraph",
    "ends",
    "is_step",
    "joined",
    "parse",
    "path_text",
    "remember",
    "sparql_path",
]

SH = "http://www.w3.org/ns/shacl#"

Node = ox.NamedNode | ox.BlankNode
PropertyPath = tuple[ox.NamedNode | ox.Literal, ...]
"""A property path: properties, and the literals ``( ) / | ^ * + ?`` for syntax; () is the focus node itself."""

_MAX_SHAPES_KEPT = 8
_MAX_TRIPLES_KEPT = 100_000
_PARSED: dict[Any, Any] = {}
"""Shapes files by their content: many files of data are validated by the same few in one process."""
_SUFFIXES = {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}


_TRUE, _FALSE, _ONE = (ox.Literal(word, datatype=XSD.boolean) for word in ("true", "false", "1"))


class NotCovered(InvalidRDF):
    """A shape is valid SHACL with something that this engine does not cover."""


def parse(path: Path, prefixes: dict[str, str] | None = None) -> list[ox.Quad]:
    """Return the triples of a shapes file; one with an IRI that is none, as schema.org's own, is read all the same.

    Args:
        path: the file.
        prefixes: takes the prefixes that the file declares for itself.

    Raises:
        InvalidRDF: the file does not parse.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidRDF(f"{path}: cannot be read as shapes: {error}. Mend the file.") from error
    key = path.absolute().as_uri(), path.suffix, hashlib.sha256(content).digest()
    quads, declared = _PARSED.get(key) or _parsed(path, content)
    remember(_PARSED, key, (quads, declared), size=len(quads))
    if prefixes is not None:
        prefixes.update(declared)
    return list(quads)


def _parsed(path: Path, content: bytes) -> tuple[tuple[ox.Quad, ...], dict[str, str]]:
    """Return the triples of a shapes file and the prefixes that it declares."""
    failure: Exception | None = None
    format_ = ox.RdfFormat.from_extension(path.suffix.removeprefix("."))
    for lenient in (False, True):
        try:
            parser = ox.parse(
                content, format_, base_iri=path.absolute().as_uri(), rename_blank_nodes=True, lenient=lenient
            )
            return tuple(parser), dict(parser.prefixes)
        except (SyntaxError, ValueError) as error:
            failure = failure or error
    raise InvalidRDF(f"{path}: cannot be read as shapes: {failure}. Mend the file.") from failure


def remember(kept: dict[Any, Any], key: object, value: object, *, size: int) -> None:
    """Keep what was made from shapes of so many triples: the last few of them, and none that are very large."""
    kept.pop(key, None)
    if size <= _MAX_TRIPLES_KEPT:
        kept[key] = value
    while len(kept) > _MAX_SHAPES_KEPT:
        kept.pop(next(iter(kept)))


def joined(first: PropertyPath, second: PropertyPath) -> PropertyPath:
    """Return the path that follows one path and then another."""
    if not first or not second:
        return first or second
    return (*_grouped(first), ox.Literal("/"), *_grouped(second))


def ends(path: PropertyPath) -> tuple[PropertyPath, ...] | None:
    """Return the last steps of a path, by one of which it reaches its values; () is no step, None is unknown.

    >>> ends((ox.NamedNode("urn:p"), ox.Literal("/"), ox.NamedNode("urn:q"), ox.Literal("*")))
    ((<NamedNode value=urn:q>,), (<NamedNode value=urn:p>,))
    """
    if not path or is_step(path):
        return (path,)
    steps: dict[PropertyPath, None] = {}
    for part in _split(path, "|"):
        for step in _last_steps(part):
            if step is None:
                return None
            steps[step] = None
    return tuple(steps)


def is_step(path: PropertyPath) -> bool:
    """Return whether a path is one property or the inverse of one."""
    return len(path) == 1 or (len(path) == 2 and path[0] == ox.Literal("^"))


def _last_steps(chain: PropertyPath) -> list[PropertyPath | None]:
    """Return the steps that a chain may end with; where its last part is optional, also those of the part before."""
    steps: list[PropertyPath | None] = []
    for part in reversed(_split(chain, "/")):
        optional = part[-1] in (ox.Literal("*"), ox.Literal("?"))
        inner = part[:-1] if optional or part[-1] == ox.Literal("+") else part
        if inner[0] == ox.Literal("("):
            inner = inner[1:-1]
        known = ends(inner) if inner[0] != ox.Literal("^") or is_step(inner) else None
        steps += [None] if known is None else [step for step in known if step]
        if not (optional or (known and () in known)):
            return steps
    return [*steps, ()]


def _split(path: PropertyPath, sign: str) -> list[PropertyPath]:
    """Split a path at a sign outside of all brackets."""
    depth, begin = 0, 0
    parts = []
    for place, token in enumerate(path):
        text = "" if isinstance(token, ox.NamedNode) else token.value
        depth += (text == "(") - (text == ")")
        if depth == 0 and text == sign:
            parts.append(path[begin:place])
            begin = place + 1
    return [*parts, path[begin:]]


def path_text(path: PropertyPath) -> str:
    """Return a path as text: an IRI, ``^`` and an IRI, else as in SPARQL.

    >>> path_text((ox.NamedNode("urn:p"), ox.Literal("*")))
    '<urn:p>*'
    """
    if len(path) == 1 or (len(path) == 2 and path[0] == ox.Literal("^")):
        return "".join(token.value for token in path)
    return sparql_path(path)


def sparql_path(path: PropertyPath) -> str:
    """Return a path as SPARQL writes it."""
    return "".join(str(token) if isinstance(token, ox.NamedNode) else token.value for token in path)


def _grouped(path: PropertyPath) -> PropertyPath:
    return path if len(path) == 1 else (ox.Literal("("), *path, ox.Literal(")"))


class ShapesGraph:
    """Triples of shapes, by subject and predicate; ``prefixes`` are those that their files declare for themselves."""

    def __init__(self, triples: Iterable[ox.Quad | ox.Triple], prefixes: Mapping[str, str] | None = None) -> None:
        self.prefixes = prefixes or {}
        self.index: dict[Term, dict[str, list[Term]]] = {}
        for triple in triples:
            self.index.setdefault(triple.subject, {}).setdefault(triple.predicate.value, []).append(triple.object)

    def error(self, node: Term, name: str, problem: str) -> InvalidRDF:
        """Return the error to raise for a property of a node."""
        return InvalidRDF(f"shape {self.name(node)}: {name.replace(SH, 'sh:')} {problem}.")

    def beyond(self, node: Term, name: str, problem: str) -> NotCovered:
        """Return the error to raise for what the engine does not cover."""
        return NotCovered(str(self.error(node, name, problem)))

    def name(self, node: Term) -> str:
        """Return the name of a node for a message: its IRI, or that of the shape that it is part of."""
        seen = {node}
        while isinstance(node, ox.BlankNode):
            owner = next((owner for owner in self._owners.get(node, ()) if owner not in seen), None)
            if owner is None:
                return "without a name"
            seen.add(node := owner)
        return plain(node)

    @cached_property
    def _owners(self) -> dict[Term, list[Term]]:
        """Blank node -> the nodes that it is a value of."""
        owners: dict[Term, list[Term]] = {}
        for owner, properties in self.index.items():
            for term in chain.from_iterable(properties.values()):
                if isinstance(term, ox.BlankNode):
                    owners.setdefault(term, []).append(owner)
        return owners

    def families(self, node: Term) -> list[list[Term]]:
        """Return, for each shape that a property shape belongs to, all property shapes of that shape."""
        return self._families.get(node, [])

    @cached_property
    def _families(self) -> dict[Term, list[list[Term]]]:
        families: dict[Term, list[list[Term]]] = {}
        for properties in self.index.values():
            family = properties.get(SH + "property", [])
            for child in dict.fromkeys(family):
                families.setdefault(child, []).append(family)
        return families

    def objects(self, node: Term, name: str) -> list[Term]:
        """Return the values of a property."""
        return self.index.get(node, {}).get(name, [])

    def description(self, nodes: Iterable[Term | None]) -> Iterator[ox.Triple]:
        """Yield the triples of those nodes that are blank, and of the blank nodes that they lead to."""
        waiting = list(nodes)
        seen: set[Term] = set()
        while waiting:
            subject = waiting.pop()
            if not isinstance(subject, ox.BlankNode) or subject in seen:
                continue
            seen.add(subject)
            for name, objects in self.index.get(subject, {}).items():
                yield from (ox.Triple(subject, ox.NamedNode(name), term) for term in objects)
                waiting += objects

    def single(self, node: Term, name: str) -> Term | None:
        """Return the only value of a property, or None."""
        values = list(dict.fromkeys(self.objects(node, name)))  # two files may say the same
        if len(values) > 1:
            raise self.error(node, name, f"has {len(values)} values, and one is allowed")
        return values[0] if values else None

    def true(self, node: Term, name: str) -> bool:
        """Return whether a switch is on, which the literals true and false alone say, since SHACL compares terms.

        The W3C's suite has ``sh:uniqueLang "1"^^xsd:boolean``, and wants it to be off.
        """
        value = self.single(node, name)
        if value not in (None, _TRUE, _FALSE) and not (value == _ONE and name == SH + "uniqueLang"):
            raise self.error(node, name, f"has {value}. Use true or false")
        return value == _TRUE

    def items(self, node: Term, name: str) -> list[Term]:
        """Return the members of the RDF list that is the value of a property; [] when there is none."""
        head = self.single(node, name)
        return [] if head is None else self.members(head, node, name)

    def members(self, head: Term, node: Term, name: str) -> list[Term]:
        """Return the members of an RDF list, which is a value of a property of a node."""
        rest: Term = head
        items, seen = [], set()
        while plain(rest) != RDF.prefix + "nil":
            first = self.objects(rest, RDF.prefix + "first")
            if rest in seen or len(first) != 1:
                raise self.error(node, name, "has no well-formed RDF list. Write ( ... )")
            seen.add(rest)
            items += first
            rest = self.single(rest, RDF.prefix + "rest") or rest
        return items

    def listed(self, head: Term) -> list[Term]:
        """Return the members of an RDF list as far as it is one, without an error."""
        cells: dict[Term, None] = {}
        while head in self.index and head not in cells:
            cells[head] = None
            head = next(iter(self.objects(head, RDF.prefix + "rest")), head)
        return [member for cell in cells for member in self.objects(cell, RDF.prefix + "first")]

    def path(self, node: Term) -> PropertyPath:
        """Return the path of a shape; () for a node shape."""
        found = self.single(node, SH + "path")
        return () if found is None else self.read_path(found, node)

    def read_path(self, term: Term, node: Term | None = None) -> PropertyPath:
        """Return the path that a term describes; ``node`` is the shape to name in an error."""
        return self._path(term, term if node is None else node, frozenset())

    def _path(self, term: Term, node: Term, within: frozenset[Term]) -> PropertyPath:
        if isinstance(term, ox.NamedNode) and plain(term) != RDF.prefix + "nil":
            return (term,)
        properties = self.index.get(term, {})
        if term in within or not properties:
            raise self.error(node, SH + "path", f"has {term}, which is no property path")
        within |= {term}
        if RDF.prefix + "first" in properties:
            return self._chain(self.members(term, node, SH + "path"), "/", node, within)
        if len(properties) != 1:
            raise self.error(node, SH + "path", "has a path with several properties. Use one of SHACL's path forms")
        name = next(iter(properties)).removeprefix(SH)
        inner = self.single(term, SH + name)
        if name == "alternativePath" and inner is not None:
            return self._chain(self.members(inner, node, SH + name), "|", node, within)
        if inner is None or name not in {"inversePath", *_SUFFIXES}:
            raise self.error(node, SH + "path", f"has {name}, which is no property path")
        tokens = _grouped(self._path(inner, node, within))
        return (ox.Literal("^"), *tokens) if name == "inversePath" else (*tokens, ox.Literal(_SUFFIXES[name]))

    def _chain(self, members: list[Term], sign: str, node: Term, within: frozenset[Term]) -> PropertyPath:
        if len(members) < 2:
            raise self.error(node, SH + "path", f"has a list of {len(members)}, and at least two paths were expected")
        tokens: list[ox.NamedNode | ox.Literal] = []
        for member in members:
            tokens += ([ox.Literal(sign)] if tokens else []) + list(_grouped(self._path(member, node, within)))
        return tuple(tokens)
