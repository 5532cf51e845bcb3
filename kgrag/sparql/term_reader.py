"""Reads terms: names against the declared prefixes, IRIs against the base, literals, blank nodes, variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyoxigraph as ox

from kgrag.late_patterns import late_re
from kgrag.sparql.syntax import Blank, Edit, Inline, Limits, Problem, Scope, Term, Variable
from kgrag.sparql.tokens import Scanner, unescaped
from kgrag.vocab import RDF, XSD

__all__ = ["DEFAULT_PREFIXES", "Group", "Node", "Selection", "Terms"]

DEFAULT_PREFIXES = {
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}
_WELL_KNOWN = {
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "prov": "http://www.w3.org/ns/prov#",
    "schema": "http://schema.org/",
}
_NOT_IN_IRI = late_re(r"[<>\"{}|^`\\\x00-\x20]")
_BRACKETED = late_re(r"<([^\W\d_][\w.-]*)?:(?!//)[^<>\s]*>")


class Node(NamedTuple):
    """A term and the place of its characters."""

    term: Term
    start: int
    end: int


@dataclass(slots=True)
class Group:
    """A group of the text while it is read: what it gives values to, and which group around it can be seen from it.

    ``hidden``: its values don't leave it (MINUS, EXISTS, a template). ``perhaps``: names that
    only an OPTIONAL gives one.
    """

    context: tuple[Scope, ...] = ()
    sees: Group | None = None
    visible: dict[str, None] = field(default_factory=dict)
    hidden: bool = False
    perhaps: set[str] = field(default_factory=set)

    def receive(self, inner: Group, *, optional: bool = False) -> None:
        """Have the values that a group inside it gives."""
        new = inner.visible.keys() - self.visible.keys()
        self.perhaps -= set() if optional else inner.visible.keys() - inner.perhaps
        self.perhaps |= new if optional else new & inner.perhaps
        self.visible.update(inner.visible)

    def reaches(self, name: str) -> bool:
        """Return whether a variable of this name has a value here."""
        group: Group | None = self
        while group is not None and name not in group.visible:
            group = group.sees
        return group is not None


@dataclass(slots=True)
class Selection:
    """A SELECT while it is read: which of its variables go outside (None: all), and how many aggregates it has."""

    number: int
    outside: set[str] | None = None
    aggregates: int = 0


class Terms(Scanner):
    """Reads terms and keeps what is known of names: prefixes, base, blank nodes, scopes of variables, problems."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text, limits)
        self.declared: dict[str, str] = {}
        self.known: Mapping[str, str] = DEFAULT_PREFIXES
        self.base = ""
        self.assumed: dict[str, None] = {}
        self.problems: list[Problem] = []
        self.inline: list[Inline] = []
        self.selections: list[Selection] = []
        self.given: set[Variable] = set()
        self.group = Group()
        self.in_template = False
        self.triple_terms = False
        self.block = 0
        self._labels: dict[str, int] = {}
        self._fresh = 0
        self._scopes = 0
        self._named: dict[str, ox.NamedNode] = {}

    def problem(
        self, rule: str, message: str, span: tuple[int, int], subject: str = "", mend: Edit | None = None
    ) -> None:
        """Note something wrong, and read on."""
        self.problems.append(Problem(rule, message, self.place(*span), subject, mend))

    def scope(self, kind: str, number: int = 0, branch: int = 0) -> Scope:
        """Make one step of a context path; number 0 means a new one."""
        if not number:
            self._scopes += 1
            number = self._scopes
        return Scope(kind, number, branch)

    def fresh(self) -> Blank:
        """Make a blank node that the text can't name."""
        self._fresh += 1
        return Blank(f".{self._fresh}")

    def variable(self, *, gives: bool = True) -> Node:
        """Read a variable; unless it is only used, it has a value in the group at hand from now on."""
        if self.kind != "variable":
            self.expected("a variable")
        name = self.text[self.start + 1 : self.end]
        node = Node(self.scoped(name), self.start, self.end)
        if gives:
            self.group.visible[name] = None
            self.group.perhaps.discard(name)
            if not self.group.hidden:
                self.given.add(self.scoped(name))
        self.advance()
        return node

    def name(self) -> str:
        """Read a variable; return its name only."""
        start, end = self.start, self.end
        self.variable(gives=False)
        return self.text[start + 1 : end]

    def scoped(self, name: str) -> Variable:
        """Return the variable of this name as it is meant here: kept by a sub-select, or visible outside."""
        for selection in reversed(self.selections[1:]):
            if selection.outside is not None and name not in selection.outside:
                return Variable(name, selection.number)
        return Variable(name)

    def iri(self, where: str) -> Node:
        """Read an IRI or a prefixed name."""
        if self.kind == "iri":
            named = self._full(self.start, self.end)
        elif self.kind == "name":
            named = self._short()
        else:
            self.expected(f"an IRI or a prefixed name {where}")
        start, end = self.start, self.end
        self.advance()
        return Node(named, start, end)

    def address(self, where: str) -> str:
        """Read an IRI in angle brackets, as BASE and PREFIX want it."""
        if self.kind != "iri":
            self.expected(f"an IRI in angle brackets {where}")
        text = self._named_node(self.text[self.start + 1 : self.end - 1]).value
        self.advance()
        return text

    def _full(self, start: int, end: int) -> ox.NamedNode:
        token = self.text[start:end]
        match = _BRACKETED.fullmatch(token)
        prefix = match[1] or "" if match else None
        space = None if prefix is None else self.declared.get(prefix, self.known.get(prefix))
        if space is None or space.startswith(f"{prefix}:"):
            return self._named_node(token[1:-1])
        name = token[1:-1]
        what = f"{token} is an IRI of its own, not the prefixed name {name}. Leave out the angle brackets."
        self.problem("bracketed-prefix", what, (start, end), f"{prefix}", Edit(start, end, name))
        return self._named_node(space + name.partition(":")[2])

    def _short(self) -> ox.NamedNode:
        start, dotted, end = self.start, self.take_dotted(), self.end
        token = self.text[start:end]
        prefix, _, local = token.partition(":")
        space = self.declared.get(prefix)
        if space is None:
            space = self._missing(prefix, start, end)
        node = self._named_node(space + (local.replace("\\", "") if "\\" in local else local), resolve=False)
        if dotted:
            what = f"{token} has two dots apart, which the store can't read in a prefixed name. Write {node}."
            self.problem("syntax", what, (start, end), token, Edit(start, end, str(node)))
        return node

    def _missing(self, prefix: str, start: int, end: int) -> str:
        if prefix in self.known:
            self.assumed[prefix] = None
            return self.known[prefix]
        known = _WELL_KNOWN.get(prefix)
        mend = Edit(0, 0, f"PREFIX {prefix}: <{known}>\n") if known else None
        what = f"the prefix {prefix}: is not declared. Add PREFIX {prefix}: <...> at the beginning."
        self.problem("undeclared-prefix", what, (start, end), prefix, mend)
        return known or f"{prefix or 'undeclared'}:"

    def set_base(self, base: str) -> None:
        """Resolve relative IRIs against this one from now on."""
        self.base = base
        self._named.clear()

    def _named_node(self, text: str, *, resolve: bool = True) -> ox.NamedNode:
        key = f"<{text}" if resolve else text
        found = self._named.get(key)
        if found is not None:
            return found
        whole = unescaped(text) if resolve else text
        try:
            node = ox.NamedNode(_resolved(whole, self.base) if resolve and self.base else whole)
        except (ValueError, SyntaxError) as error:
            hint = "Write it whole, or declare BASE" if "No scheme" in str(error) else "Write it with % escapes"
            self.refuse(f"<{whole[:80]}> is no IRI: {error}", hint)
        self._named[key] = node
        return node

    def literal(self) -> Node:
        """Read a string with its language or datatype."""
        start, end, value = self.start, self.end, self.string()
        if self.kind == "language":
            tag, end = self.text[self.start + 1 : self.end], self.end
            literal = self._in_language(value, tag)
            self.advance()
        elif self.kind == "^^":
            self.advance()
            end = self.end
            datatype = self.iri("as datatype").term
            try:
                literal = ox.Literal(value, datatype=datatype)  # type: ignore[arg-type]
            except ValueError:  # rdf:langString without a language: the store's parser lets it pass
                literal = ox.Literal(value)
        else:
            literal = ox.Literal(value)
        return Node(literal, start, end)

    def _in_language(self, value: str, tag: str) -> ox.Literal:
        language, _, direction = tag.partition("--")
        try:
            if direction:
                return ox.Literal(value, language=language, direction=ox.BaseDirection(direction))
            return ox.Literal(value, language=language)
        except ValueError as error:
            self.refuse(f"@{tag[:40]} is no language tag: {error}", "Use one like @en or @en-GB")

    def string(self) -> str:
        """Read a string; return what it means."""
        if self.kind != "string":
            self.expected("a string")
        token = self.text[self.start : self.end]
        quotes = 3 if token[:3] in ('"""', "'''") else 1
        self.advance()
        return unescaped(token[quotes:-quotes])

    def number(self, sign: str, start: int) -> Node:
        """Read a number; its sign is before it."""
        if self.kind != "number":
            self.expected("a number")
        text, end = sign + self.text[self.start : self.end], self.end
        self.advance()
        if "e" in text or "E" in text:
            return Node(ox.Literal(text, datatype=XSD.double), start, end)
        return Node(ox.Literal(text, datatype=XSD.decimal if "." in text else XSD.integer), start, end)

    def blank(self) -> Node:
        """Read a blank node label, which may be used in one basic graph pattern only."""
        label, node = self.text[self.start + 2 : self.end], (self.start, self.end)
        if not self.in_template and self._labels.setdefault(label, self.block) != self.block:
            what = f"_:{label} is used in two groups of patterns, which makes it two nodes. Use a variable instead."
            self.problem("syntax", what, node, f"_:{label}")
        self.advance()
        return Node(Blank(label), *node)

    def constant(self) -> Node | None:
        """Read an IRI, a literal, a number or a boolean, if one is here."""
        kind, start = self.kind, self.start
        if kind in ("name", "iri"):
            return self.iri("")
        if kind == "string":
            return self.literal()
        if kind == "number":
            return self.number("", start)
        if kind in ("+", "-"):
            self.advance()
            return self.number(kind, start)
        return self._boolean() if kind == "word" else None

    def _boolean(self) -> Node | None:
        start = self.start
        for text in ("true", "false"):
            if self.text.startswith(text, start):
                self.shorten(len(text))
                return Node(ox.Literal(text, datatype=XSD.boolean), start, start + len(text))
        return None

    def term(self) -> Node | None:
        """Read a term of a triple, if one is here: constant, variable, blank node, empty list."""
        kind, start, end = self.kind, self.start, self.end
        if kind == "variable":
            return self.variable()
        if kind == "label":
            return self.blank()
        if kind == "anon":
            self.advance()
            return Node(self.fresh(), start, end)
        if kind == "nil":
            self.advance()
            return Node(RDF.nil, start, end)
        return self.constant()


def _resolved(iri: str, base: str) -> str:
    """Resolve a relative IRI exactly as the store does: by its own Turtle parser."""
    if _NOT_IN_IRI.search(iri):
        raise ValueError("it has characters that no IRI has")
    found = next(iter(ox.parse(f"<{iri}> a <{iri}> .", format=ox.RdfFormat.TURTLE, base_iri=base)))
    return str(found.subject).strip("<>")
