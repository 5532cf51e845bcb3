"""Reads triples and groups: patterns with their context, and which variables get a value where."""

from __future__ import annotations

from dataclasses import dataclass

import pyoxigraph as ox

from kgrag.sparql.expression_reader import Expressions
from kgrag.sparql.path_reader import Ends, Inverse, Path, Paths
from kgrag.sparql.syntax import Inline, Limits, Pattern, Variable
from kgrag.sparql.term_reader import Group, Node
from kgrag.vocab import RDF

__all__ = ["Patterns"]

_SUBJECTS = frozenset({"variable", "name", "iri", "[", "(", "anon", "nil", "label", "string", "number", "+", "-"})
_SUBJECTS |= {"<<", "<<("}
_VERBS = frozenset({"variable", "name", "iri", "(", "^", "!"})
_NO_TRIPLE = "a reifier or an annotation comes after a path, which makes no single triple"


@dataclass(frozen=True, slots=True)
class Subtraction:
    """A MINUS, to be settled once the group that it is in is read to the end; ``before``: what had a value by then."""

    outer: Group
    before: dict[str, None]
    inner: Group
    span: tuple[int, int]


class Patterns(Expressions, Paths):
    """Reads groups of patterns."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text, limits)
        self.patterns: list[Pattern] = []
        self.lonely: set[int] = set()
        self.uses_service = False
        self.minuses: list[Subtraction] = []

    def sub_select(self) -> None:
        """Read a SELECT inside a group; the reader of queries knows how."""
        raise NotImplementedError

    def braces(self) -> None:
        """Read ``{ ... }`` into the group at hand."""
        self.need("{", "before a group of patterns")
        self.deeper()
        self.block += 1
        if self.word.startswith("SELECT"):
            self.sub_select()
        else:
            self._elements()
        self.block += 1
        self.need("}", "after a group of patterns")
        self.depth -= 1

    def inside(self, kind: str, *, number: int = 0, branch: int = 0) -> Group:
        """Read ``{ ... }`` as a group of its own within the one at hand."""
        outer = self.group
        scope = self.scope(kind, number, branch)
        within = any(step.kind in ("exists", "not exists") for step in outer.context)
        sees = outer if within or kind in ("optional", "lateral", "exists", "not exists") else None
        hidden = outer.hidden or kind in ("minus", "exists", "not exists")
        self.group = group = Group((*outer.context, scope), sees, hidden=hidden)
        self.braces()
        self.group = outer
        return group

    def exists(self, kind: str) -> None:
        """Read the group of an EXISTS."""
        self.inside(kind)

    def _elements(self) -> None:
        after_triples = False
        while self.kind != "}":
            if self.starts_triple():
                if after_triples:
                    self.expected("'.' between triples")
                self.triples()
                after_triples = True
                continue
            after_triples = False
            if self.kind == "{":
                self._union()
            elif self.kind == "word":
                self._keyword()
            else:
                self.expected("a triple, a group, a keyword like FILTER, or '}'")
            self.take(".")

    def starts_triple(self) -> bool:
        """Return whether a triple can begin here."""
        return self.kind in _SUBJECTS or (self.kind == "word" and self.text.startswith(("true", "false"), self.start))

    def triples(self) -> None:
        """Read triples separated by full stops."""
        self.same_subject()
        while self.take(".") and self.starts_triple():
            self.same_subject()

    def _keyword(self) -> None:
        if self.take_word("OPTIONAL"):
            self.group.receive(self.inside("optional"), optional=True)
        elif self.take_word("LATERAL"):
            self._joined("lateral")
        elif self.take_word("MINUS"):
            self._minus()
        elif self.take_word("FILTER"):
            self.want(self.constraint("FILTER"), "FILTER", self.group)
        elif self.take_word("BIND"):
            self._bind()
        elif self.take_word("VALUES"):
            self.data_block()
        elif self.take_word("GRAPH"):
            self._variable_or_iri("after GRAPH")
            self._joined("graph")
        elif self.take_word("SERVICE"):
            self.uses_service = True
            self.take_word("SILENT")
            self._variable_or_iri("after SERVICE")
            self._joined("service")
        else:
            self.expected("a triple, a group, or one of FILTER, OPTIONAL, BIND, VALUES, GRAPH, MINUS, SERVICE")

    def _union(self) -> None:
        outer, number = self.group, self.scope("union").number
        outer.receive(self.inside("union", number=number))
        if not self.word.startswith("UNION"):
            self.lonely.add(number)
        branch = 0
        while self.take_word("UNION"):
            branch += 1
            outer.receive(self.inside("union", number=number, branch=branch))

    def _joined(self, kind: str) -> None:
        self.group.receive(self.inside(kind))

    def _minus(self) -> None:
        outer, before, start = self.group, dict(self.group.visible), self.last - len("MINUS")
        inner = self.inside("minus")
        if not outer.hidden:  # in EXISTS, variables from outside have values that aren't seen here
            self.minuses.append(Subtraction(outer, before, inner, (start, self.last)))

    def _variable_or_iri(self, where: str) -> Node:
        return self.variable() if self.kind == "variable" else self.iri(f"or a variable {where}")

    def _bind(self) -> None:
        self.need("(", "after BIND")
        self.deeper()
        with self.noting() as reading:
            self.expression()
        self.want(reading, "BIND", self.group)
        self.need_word("AS", "and a variable in BIND")
        start, end = self.start, self.end
        if self.text[start + 1 : end] in self.group.visible:
            name = self.text[start:end]
            what = f"BIND sets {name}, but it has a value from the patterns before. Take another name."
            self.problem("syntax", what, (start, end), name)
        given = self.variable().term
        self.joins.append(
            (*(used.variable for used in reading.used), *([given] if isinstance(given, Variable) else []))
        )
        self.need(")", "after BIND")
        self.depth -= 1

    def data_block(self) -> None:
        """Read what follows VALUES."""
        if self.kind == "variable":
            variables = [self.variable()]
            self.need("{", "after the variable of VALUES")
            while self.kind != "}":
                self._datum(variables[0])
            self.advance()
            return
        variables = self._data_variables()
        self.joins.append(tuple(node.term for node in variables if isinstance(node.term, Variable)))
        self.need("{", "after the variables of VALUES")
        while self.kind != "}":
            self._row(variables)
        self.advance()

    def _data_variables(self) -> list[Node]:
        variables: list[Node] = []
        seen: set[str] = set()
        if self.take("nil"):
            return variables
        self.need("(", "or a variable after VALUES")
        while not self.take(")"):
            name = self.text[self.start : self.end]
            if name in seen:
                self.problem("syntax", f"VALUES names {name} twice. Name it once.", (self.start, self.end), name)
            seen.add(name)
            variables.append(self.variable())
        return variables

    def _row(self, variables: list[Node]) -> None:
        start, count = self.start, 0
        if not self.take("nil"):
            self.need("(", "or '}' in VALUES")
            while not self.take(")"):
                self._datum(variables[count] if count < len(variables) else None)
                count += 1
        if count != len(variables):
            what = f"a row of VALUES has {count} values for {len(variables)} variables. Write UNDEF for a missing one."
            self.problem("syntax", what, (start, self.last))

    def _datum(self, variable: Node | None) -> None:
        if self.take_word("UNDEF"):
            return
        if self.kind == "<<(":
            self._data_triple()
            return
        node = self.constant()
        if node is None:
            self.expected("a term or UNDEF in VALUES")
        if variable is not None and isinstance(variable.term, Variable):
            term, place = node.term, self.place(node.start, node.end)
            if isinstance(term, ox.NamedNode | ox.Literal):
                self.inline.append(Inline(variable.term, term, place, self.group.context))

    def _data_triple(self) -> None:
        self.triple_terms = True
        self.advance()
        self.deeper()
        self.iri("as subject of a triple term in VALUES")
        self.property_name()
        if self.kind == "word" and self.word.startswith("UNDEF"):
            self.expected("a term")
        self._datum(None)
        self.need(")>>", "after a triple term")
        self.depth -= 1

    def same_subject(self) -> None:
        """Read the triples of one subject."""
        start, kind = self.start, self.kind
        subject = self.node()
        enough = kind in ("[", "(", "<<")
        if self._starts_verb():
            self._properties(subject)
        elif not enough:
            what = "the keywords are written without brackets here" if kind == "word" else "a property"
            self.expected(f"{what} after {self.text[start : self.last][:40]}")

    def _starts_verb(self) -> bool:
        return self.kind in _VERBS or (self.kind == "word" and self.text[self.start] == "a")

    def _properties(self, subject: Node) -> None:
        while True:
            verb = self.verb()
            self.objects(subject, verb)
            if self.kind != ";":
                return
            while self.take(";"):
                pass
            if not self._starts_verb():
                return

    def verb(self) -> Path:
        """Read a predicate: a variable, or a path; in a template an IRI."""
        if self.kind == "variable":
            return self.variable()
        return self.property_name() if self.in_template else self.path()

    def objects(self, subject: Node, verb: Path) -> None:
        """Read the objects of one subject and predicate."""
        while True:
            self.write(verb, Ends(subject, self.node(), self.group.context))
            if self.kind in ("~", "{|"):
                self._annotations(verb)
            if not self.take(","):
                return

    def node(self) -> Node:
        """Read a subject or object: a term, or a node with triples of its own."""
        kind = self.kind
        if kind == "[":
            return self._properties_of_blank()
        if kind == "(":
            return self._collection()
        if kind in ("<<", "<<("):
            return self._triple()
        node = self.term()
        if node is None:
            self.expected("a variable, a term, '[' or '('")
        return node

    def _properties_of_blank(self) -> Node:
        start = self.start
        self.advance()
        self.deeper()
        node = Node(self.fresh(), start, start + 1)
        if not self._starts_verb():
            self.expected("a property after '['")
        self._properties(node)
        self.need("]", "after the properties of a blank node")
        self.depth -= 1
        return node

    def _collection(self) -> Node:
        start = self.start
        self.advance()
        self.deeper()
        first = node = Node(self.fresh(), start, start + 1)
        while True:
            item = self.node()
            self.list_step(node, RDF.first, item)
            if self.kind == ")":
                break
            rest = Node(self.fresh(), item.start, item.end)
            self.list_step(node, RDF.rest, rest)
            node = rest
        self.list_step(node, RDF.rest, Node(RDF.nil, self.start, self.end))
        self.advance()
        self.depth -= 1
        return first

    def list_step(self, subject: Node, predicate: ox.NamedNode, value: Node) -> None:
        """Write one triple of a collection."""
        step = Node(predicate, value.start, value.end)
        self.write(step, Ends(subject, value, self.group.context))

    def _triple(self) -> Node:
        start, close = self.start, ")>>" if self.kind == "<<(" else ">>"
        self.triple_terms = True
        self.advance()
        self.deeper()
        self._triple_end(close)
        if self.kind == "variable":
            self.variable()
        else:
            self.property_name()
        self._triple_end(close)
        if close == ">>" and self.kind == "~":
            self._reifier()
        self.need(close, "after a triple term")
        self.depth -= 1
        return Node(self.fresh(), start, self.last)

    def _triple_end(self, close: str) -> None:
        if self.kind == "<<(" or (self.kind == "<<" and close == ">>"):
            self._triple()
        elif self.kind == "nil" or self.term() is None:
            self.expected("a variable or a term in a triple term")

    def _annotations(self, verb: Path) -> None:
        self.triple_terms = True
        if not isinstance(verb.path if isinstance(verb, Inverse) else verb, Node):
            self.refuse(_NO_TRIPLE, "Write the steps one by one")
        while self.kind in ("~", "{|"):
            if self.kind == "~":
                self._reifier()
                continue
            start = self.start
            self.advance()
            self.deeper()
            if not self._starts_verb():
                self.expected("a property after '{|'")
            self._properties(Node(self.fresh(), start, self.last))
            self.need("|}", "after an annotation")
            self.depth -= 1

    def _reifier(self) -> None:
        self.advance()
        if self.kind in ("variable", "name", "iri", "label", "anon"):
            self.term()
