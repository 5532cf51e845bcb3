"""Reads expressions: not to compute them, but for the variables, comparisons, constants and functions in them.

A bracket takes three frames of the stack, so that the depth limit is reached long before Python's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.sparql.syntax import Comparison, Filter, Inline, Limits, Scope, Variable
from kgrag.sparql.term_reader import Group, Node, Terms

__all__ = ["AGGREGATES", "ExpressionParts", "Expressions", "Wanted"]

AGGREGATES = frozenset({"AVG", "COUNT", "GROUP_CONCAT", "MAX", "MIN", "SAMPLE", "SUM"})
_MANY_ARGUMENTS = 1_000_000
_ONE = """ABS CEIL DATATYPE DAY ENCODE_FOR_URI FLOOR HASLANG HASLANGDIR HOURS IRI ISBLANK ISIRI ISLITERAL ISNUMERIC
    ISTRIPLE ISURI LANG LANGDIR LCASE MD5 MINUTES MONTH OBJECT PREDICATE ROUND SECONDS SHA1 SHA256 SHA384 SHA512 STR
    STRLEN SUBJECT TIMEZONE TZ UCASE URI YEAR"""
_TWO = "ADJUST CONTAINS LANGMATCHES SAMETERM STRAFTER STRBEFORE STRDT STRENDS STRLANG STRSTARTS"
_ARGUMENTS = {
    **dict.fromkeys(_ONE.split(), (1, 1)),
    **dict.fromkeys(_TWO.split(), (2, 2)),
    **dict.fromkeys(("NOW", "RAND", "STRUUID", "UUID"), (0, 0)),
    **dict.fromkeys(("IF", "STRLANGDIR", "TRIPLE"), (3, 3)),
    **dict.fromkeys(("COALESCE", "CONCAT"), (0, _MANY_ARGUMENTS)),
    **{"BNODE": (0, 1), "REGEX": (2, 3), "REPLACE": (3, 4), "SUBSTR": (2, 3)},
}
_CATCHING = frozenset({"BOUND", "COALESCE", "IF"})
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_RELATIONS = frozenset({"=", "!=", "<", ">", "<=", ">="})


@dataclass(slots=True)
class Used:
    """One variable in an expression: inside an aggregate, or where having no value does no harm (BOUND, COALESCE)."""

    variable: Variable
    start: int
    end: int
    aggregated: bool
    harmless: bool


@dataclass(slots=True)
class ExpressionParts:
    """The variables, comparisons, functions and aggregates of an expression.

    ``distinct`` are the beginnings of aggregates with DISTINCT; ``joins`` are the variables of each comparison or call.
    ``operators`` are ``||``, ``&&`` and ``!`` with their places, ``lists`` the places of lists after IN.
    """

    used: list[Used] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    aggregates: list[tuple[str, int, int]] = field(default_factory=list)
    distinct: set[int] = field(default_factory=set)
    operators: list[tuple[str, int]] = field(default_factory=list)
    lists: list[tuple[int, int]] = field(default_factory=list)
    joins: list[tuple[Variable, ...]] = field(default_factory=list)
    aggregated: bool = False
    harmless: bool = False

    @property
    def denies(self) -> bool:
        """Whether something in it is denied by ``!``."""
        return any(operator == "!" for operator, _ in self.operators)

    def needed(self) -> tuple[Variable, ...]:
        """Return variables without a value of which the expression is an error or false, as far as that is plain.

        Each alternative of ``||`` has to use one. A function that takes an error for an answer leaves all open.
        """
        kinds = {operator for operator, _ in self.operators}
        if not _CATCHING.isdisjoint(self.functions) or kinds >= {"!", "&&"}:
            return ()
        ends = [place for operator, place in self.operators if operator == "||"]
        parts: dict[Variable, set[int]] = {}
        for used in self.used:
            if not any(start <= used.start < end for start, end in self.lists):
                parts.setdefault(used.variable, set()).add(sum(place < used.start for place in ends))
        return tuple(variable for variable, found in parts.items() if len(found) == len(ends) + 1)


@dataclass(slots=True)
class Wanted:
    """A use of a variable, to be settled once its group is read to the end."""

    variable: Variable
    clause: str
    span: tuple[int, int]
    group: Group
    context: tuple[Scope, ...]


class Expressions(Terms):
    """Reads expressions and constraints."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text, limits)
        self.reading = ExpressionParts()
        self.filters: list[tuple[Filter, Group]] = []
        self.joins: list[tuple[Variable, ...]] = []
        self.functions: dict[str, None] = {}
        self.wanted: list[Wanted] = []

    def exists(self, kind: str) -> None:
        """Read the group of an EXISTS; the reader of groups knows how."""
        raise NotImplementedError

    @contextmanager
    def noting(self) -> Iterator[ExpressionParts]:
        """Collect the parts of the expressions that are read meanwhile."""
        outer, self.reading = self.reading, ExpressionParts()
        try:
            yield self.reading
        finally:
            self.functions.update(dict.fromkeys(self.reading.functions))
            self.reading = outer

    def want(self, reading: ExpressionParts, clause: str, group: Group, aggregated: Group | None = None) -> None:
        """Note the variables of an expression as used; those in aggregates look into another group."""
        for used in reading.used:
            if not used.harmless:
                seen = aggregated if used.aggregated and aggregated else group
                span = (used.start, used.end)
                self.wanted.append(Wanted(used.variable, clause, span, seen, self.group.context))

    def constraint(self, clause: str) -> ExpressionParts:
        """Read what follows FILTER or HAVING, and keep it as a filter."""
        start = self.start
        reading = self.constrained(clause)
        variables = tuple(dict.fromkeys(used.variable for used in reading.used))
        place, context = self.place(start, self.last), self.group.context
        comparisons, functions = tuple(reading.comparisons), tuple(reading.functions)
        needed = reading.needed() if clause == "FILTER" else ()
        kept = Filter(clause, variables, comparisons, functions, place, context, needed, denies=reading.denies)
        self.filters.append((kept, self.group))
        self.joins += reading.joins
        return reading

    def constrained(self, clause: str) -> ExpressionParts:
        """Read a bracketed expression or a call of a function."""
        with self.noting() as reading:
            if self.kind == "(":
                self.bracketed()
            elif self.kind in ("iri", "name"):
                self.called(required=True)
            elif self.kind == "word":
                self._built_in()
            else:
                self.expected(f"an expression in brackets or a function after {clause}")
        return reading

    def bracketed(self) -> Node | None:
        """Read an expression in brackets."""
        self.need("(", "before an expression")
        self.deeper()
        node = self.expression()
        self.need(")", "after an expression")
        self.depth -= 1
        return node

    def expression(self) -> Node | None:
        """Read an expression; return its term where it is nothing but one."""
        node = self._relation()
        while self.kind in ("||", "&&"):
            self.reading.operators.append((self.kind, self.start))
            self.advance()
            self._relation()
            node = None
        return node

    def _relation(self) -> Node | None:
        before, start, left = len(self.reading.used), self.start, self._sum()
        if self.text.startswith("<", self.start):
            self.recut("<=" if self.text.startswith("<=", self.start) else "<")
        kind = self.kind
        if kind in _RELATIONS:
            self.advance()
            self._compared(left, kind, self._sum(), start)
            self._join(before)
            return None
        if kind == "word" and self.word.startswith(("IN", "NOT")):
            self._membership(left, start)
            self._join(before)
            return None
        return left

    def _join(self, before: int) -> None:
        """Note that the variables used since then are connected."""
        self.reading.joins.append(tuple(used.variable for used in self.reading.used[before:]))

    def _membership(self, left: Node | None, start: int) -> None:
        operator = "not in" if self.take_word("NOT") else "in"
        self.need_word("IN", "before a list")
        listed = self.start
        nodes = [node for node in self.arguments() if node is not None]
        self.reading.lists.append((listed, self.last))
        constants = tuple(node.term for node in nodes if isinstance(node.term, ox.NamedNode | ox.Literal))
        if left is not None and isinstance(left.term, Variable) and constants:
            place = self.place(start, self.last)
            self.reading.comparisons.append(Comparison(left.term, operator, constants, place))

    def _compared(self, left: Node | None, operator: str, right: Node | None, start: int) -> None:
        if left is None or right is None:
            return
        if isinstance(right.term, Variable):
            left, right, operator = right, left, _TURNED.get(operator, operator)
        if isinstance(left.term, Variable) and isinstance(right.term, ox.NamedNode | ox.Literal):
            place = self.place(start, self.last)
            self.reading.comparisons.append(Comparison(left.term, operator, (right.term,), place))

    def _sum(self) -> Node | None:
        node = self._unary()
        while self.kind in ("+", "-", "*", "/"):
            self.advance()
            self._unary()
            node = None
        return node

    def _unary(self) -> Node | None:
        denied = False
        while self.take("!"):
            self.reading.operators.append(("!", self.last))
            denied = True
        sign, start = self.kind, self.start
        if sign not in ("+", "-"):
            node = self._primary()
            return None if denied else node
        self.advance()
        if self.kind == "number":
            return self.number(sign, start)
        self._primary()
        return None

    def _primary(self) -> Node | None:
        kind = self.kind
        if kind == "variable":
            node = self.variable(gives=False)
            self._use(node)
            return node
        if kind == "(":
            return self.bracketed()
        if kind in ("iri", "name"):
            return self.called(required=False)
        if kind == "<<(":
            self._triple_term()
            return None
        constant = self.constant()
        if constant is None:
            self._built_in()
        return constant

    def _use(self, node: Node) -> None:
        reading = self.reading
        if isinstance(node.term, Variable):
            reading.used.append(Used(node.term, node.start, node.end, reading.aggregated, reading.harmless))

    def called(self, *, required: bool) -> Node | None:
        """Read an IRI, and its arguments where it is a function; return it where it is none."""
        node = self.iri("as function")
        if not isinstance(node.term, ox.NamedNode):
            return None
        if self.kind in ("(", "nil"):
            self.reading.functions.append(node.term.value)
            self.arguments()
            return None
        if required:
            self.expected("arguments in brackets after the function")
        self.note_constant(node.term, node.start, node.end)
        return node

    def note_constant(self, term: ox.NamedNode | ox.Literal, start: int, end: int) -> None:
        """Keep a constant that is outside triples."""
        self.inline.append(Inline(None, term, self.place(start, end), self.group.context))

    def arguments(self) -> list[Node | None]:
        """Read a list of expressions in brackets; return the term of each that is nothing but one."""
        if self.take("nil"):
            return []
        self.need("(", "before a list")
        self.deeper()
        before = len(self.reading.used)
        found = [self.expression()]
        while self.take(","):
            found.append(self.expression())
        self._join(before)
        self.need(")", "after a list")
        self.depth -= 1
        return found

    def _built_in(self) -> None:
        name, start = self.word, self.start
        if name.startswith(("EXISTS", "NOT")):
            kind = "not exists" if self.take_word("NOT") else "exists"
            self.need_word("EXISTS", "after NOT")
            self.exists(kind)
        elif name in AGGREGATES:
            self._aggregate(name, start)
        elif name == "BOUND":
            self._bound()
        elif name in _ARGUMENTS:
            self._standard(name)
        else:
            self.expected("an expression: a variable, a term or a function (functions of your own are IRIs)")

    def _standard(self, name: str) -> None:
        self.advance()
        reading, start = self.reading, self.start
        reading.functions.append(name)
        harmless = reading.harmless
        reading.harmless = harmless or name == "COALESCE"
        given = len(self.arguments())
        reading.harmless = harmless
        least, most = _ARGUMENTS[name]
        if not least <= given <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            self.refuse(f"{name} has {given} arguments", f"It takes {wanted}", at=start)

    def _bound(self) -> None:
        self.advance()
        self.reading.functions.append("BOUND")
        self.need("(", "after BOUND")
        node, reading = self.variable(gives=False), self.reading
        if isinstance(node.term, Variable):
            reading.used.append(Used(node.term, node.start, node.end, reading.aggregated, harmless=True))
        self.need(")", "after the variable of BOUND")

    def _aggregate(self, name: str, start: int) -> None:
        self.advance()
        if self.selections:
            self.selections[-1].aggregates += 1
        else:
            self.problem("syntax", f"{name} is outside a SELECT. Count in a sub-select.", (start, self.last), name)
        self.need("(", f"after {name}")
        self.deeper()
        if self.take_word("DISTINCT"):
            self.reading.distinct.add(start)
        outer, self.reading.aggregated = self.reading.aggregated, True
        if not (name == "COUNT" and self.take("*")):
            self.expression()
        self.reading.aggregated = outer
        if name == "GROUP_CONCAT" and self.take(";"):
            self.need_word("SEPARATOR", "after ;")
            self.need("=", "after SEPARATOR")
            self.string()
        self.need(")", f"after the expression of {name}")
        self.depth -= 1
        self.reading.functions.append(name)
        self.reading.aggregates.append((name, start, self.last))

    def _triple_term(self) -> None:
        self.triple_terms = True
        self.advance()
        self.deeper()
        self._triple_part()
        if self.kind == "variable":
            self._use(self.variable(gives=False))
        elif not self.verb_a():
            self.iri("as predicate of a triple term")
        self._triple_part()
        self.need(")>>", "after a triple term")
        self.depth -= 1

    def _triple_part(self) -> None:
        if self.kind == "<<(":
            self._triple_term()
        elif self.kind == "variable":
            self._use(self.variable(gives=False))
        elif self.constant() is None:
            self.expected("a term of a triple term")

    def verb_a(self) -> bool:
        """Step over the keyword ``a``, which is small."""
        if self.kind != "word" or self.text[self.start] != "a":
            return False
        self.shorten(1)
        return True
