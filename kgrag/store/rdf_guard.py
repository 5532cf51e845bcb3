"""Refuses RDF files that would kill or stall the process, before a parser sees them.

The parsers recurse on the native stack for triple terms and JSON-LD (a deep one ends the process without an exception),
take time by the square of the depth for RDF/XML, and expand XML entities without a limit. They also accept RDF/XML that
is cut short. The checks here read the text once, with a small tokenizer or with expat.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.parsers import expat

from kgrag.errors import InvalidRDF
from kgrag.late_patterns import late_re

__all__ = ["MAX_DEPTH", "check_json", "check_turtle", "check_xml"]

MAX_DEPTH = 100
_MAX_ENTITY_CHARACTERS = 1_000
_MAX_EXPANSION_FACTOR = 10
_FREE_EXPANSION_CHARACTERS = 1_000_000  # so that a small file may use the usual abbreviations of namespaces
_BRACKETS = {
    "turtle": late_re(
        r"""\"{3}(?:[^\"\\]++|\\.|\"{1,2}+(?!\"))*+\"{3} | '{3}(?:[^'\\]++|\\.|'{1,2}+(?!'))*+'{3}
          | \"(?:[^\"\\\r\n]++|\\.)*+\" | '(?:[^'\\\r\n]++|\\.)*+' | <[^<>"{}|^`\x00-\x20]*+> | \#[^\r\n]*+ | \\.
          | (?P<open><<|[{(\[]) | (?P<close>>>|[})\]])""",
        flags=re.VERBOSE | re.DOTALL,
    ),
    "json": late_re(r"\"(?:[^\"\\]++|\\.)*+\"|(?P<open>[{\[])|(?P<close>[}\]])", flags=re.DOTALL),
}


def check_turtle(text: str, path: Path) -> None:
    """Accept Turtle, TriG, N3, N-Triples or N-Quads if nothing in it is nested too deep.

    Raises:
        InvalidRDF: something is; the message names the line.
    """
    _check_brackets(text, path, "turtle")


def check_json(text: str, path: Path) -> None:
    """Accept JSON-LD if nothing in it is nested too deep.

    Raises:
        InvalidRDF: something is; the message names the line.
    """
    _check_brackets(text, path, "json")


def _check_brackets(text: str, path: Path, form: str) -> None:
    # counting is far quicker than the tokenizer, and settles nearly every file
    openings = sum(text.count(mark) for mark in ("{", "[", "(", "<<"))
    if openings <= MAX_DEPTH:
        return
    depth = 0
    for mark in _BRACKETS[form].finditer(text):
        if mark["open"]:
            depth += 1
            if depth > MAX_DEPTH:
                raise _too_deep(path, text.count("\n", 0, mark.start()) + 1, "brackets")
        elif mark["close"]:
            depth = max(0, depth - 1)


def _too_deep(path: Path, line: int, what: str) -> InvalidRDF:
    return InvalidRDF(
        f"{path}, line {line}: {what} are nested more than {MAX_DEPTH} deep. "
        "Give the inner nodes identifiers of their own, and state them one after another."
    )


def check_xml(data: bytes, path: Path) -> None:
    """Accept RDF/XML if it is well-formed, not nested too deep, and its entities stay small.

    Raises:
        InvalidRDF: it is not; the message names the line.
    """
    try:
        _XmlLimits(data, path).parser.Parse(data, True)
    except expat.ExpatError as error:
        raise InvalidRDF(
            f"{path}, line {error.lineno}, column {error.offset + 1}: not well-formed XML: "
            f"{expat.ErrorString(error.code)}. Correct it there."
        ) from error


class _XmlLimits:
    """Handlers of expat that refuse one file as soon as a limit is passed."""

    def __init__(self, data: bytes, path: Path) -> None:
        self.path = path
        self.size = len(data)
        self.uses = data.count(b"&")
        self.depth = 0
        self.entities: dict[str, str] = {}
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.EntityDeclHandler = self.entity
        self.parser.EndDoctypeDeclHandler = self.doctype

    def start(self, _name: str, _attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(self.path, self.parser.CurrentLineNumber, "elements")

    def end(self, _name: str) -> None:
        self.depth -= 1

    def entity(
        self, name: str, parameter: bool, value: str | None, _base: str | None, system: str | None, *_rest: object
    ) -> None:
        if parameter or value is None or system is not None:
            self.refuse(f"entity '{name}' refers to something outside the file")
        self.entities[name] = value or ""

    def doctype(self) -> None:
        longest = max((self.length(name, ()) for name in self.entities), default=0)
        if longest * self.uses > _MAX_EXPANSION_FACTOR * self.size + _FREE_EXPANSION_CHARACTERS:
            self.refuse("the entities make the file many times as long as it is")

    def length(self, name: str, within: tuple[str, ...]) -> int:
        """Return the length of an entity when all entities in it are expanded."""
        value = self.entities.get(name, "")
        if name in within:
            self.refuse(f"entity '{name}' contains itself")
        total = len(value)
        for inner in re.findall(r"&([^#;&\s][^;&\s]*);", value):
            total += self.length(inner, (*within, name))
            if total > _MAX_ENTITY_CHARACTERS:
                break
        if total > _MAX_ENTITY_CHARACTERS:
            self.refuse(f"entity '{name}' is more than {_MAX_ENTITY_CHARACTERS:,} characters long when it is expanded")
        return total

    def refuse(self, what: str) -> None:
        raise InvalidRDF(
            f"{self.path}, line {self.parser.CurrentLineNumber}: {what}. Only short abbreviations are allowed: "
            "write the text out where it is used."
        )
