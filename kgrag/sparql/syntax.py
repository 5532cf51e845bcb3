"""A SPARQL text as values: patterns with their places and contexts, selections, filters, problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyoxigraph as ox

__all__ = [
    "Aggregate",
    "Blank",
    "Comparison",
    "Edit",
    "Filter",
    "Inline",
    "Limits",
    "Minus",
    "Pattern",
    "Place",
    "Problem",
    "Query",
    "Scope",
    "Selected",
    "Term",
    "Use",
    "Variable",
    "unless",
]


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable; ``scope`` is the number of the sub-select that keeps it to itself, 0 where it is visible outside."""

    name: str
    scope: int = 0


@dataclass(frozen=True, slots=True)
class Blank:
    """A blank node of the text, or one made by the reader (``[]``, lists, paths): then its label starts with a dot."""

    label: str


Term: TypeAlias = Variable | ox.NamedNode | ox.Literal | Blank


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the text: ``text[start:end]``, and line and column from 1."""

    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scope:
    """One step of a context path.

    ``kind`` is "group", "optional", "union", "minus", "exists", "not exists", "graph", "service", "subselect" or
    "lateral"; ``number`` is unique to the scope within the query, and shared by the branches of one union.
    """

    kind: str
    number: int
    branch: int = 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """One triple pattern; a property path makes several.

    ``places`` are those of subject, predicate and object (a node made by the reader takes the place of what made it).
    ``path`` is the outermost kind of path it comes from: "", "/", "^", "|", "+", "*", "?" or "!". Where the subject or
    object is *free*, nothing follows for it from the property: zero steps may be taken.
    """

    subject: Term
    predicate: Term
    object: Term
    places: tuple[Place, Place, Place]
    context: tuple[Scope, ...] = ()
    path: str = ""
    free_subject: bool = False
    free_object: bool = False

    @property
    def line(self) -> int:
        """The line of the predicate, from 1."""
        return self.places[1].line

    @property
    def column(self) -> int:
        """The column of the predicate, from 1."""
        return self.places[1].column

    @property
    def free_ends(self) -> bool:
        """Whether nothing follows for subject or object."""
        return self.free_subject or self.free_object

    @property
    def unless(self) -> tuple[Scope, ...]:
        """What the pattern's holding depends on."""
        return unless(self.context)


def unless(context: Sequence[Scope]) -> tuple[Scope, ...]:
    """Return a context without the scopes that only group: what the holding of what is in it depends on."""
    return tuple(scope for scope in context if scope.kind not in _GROUPING)


_GROUPING = frozenset({"group", "graph", "service", "subselect"})


@dataclass(frozen=True, slots=True)
class Selected:
    """One column of the outermost SELECT (or one term that DESCRIBE names).

    ``source`` is the term itself where the column is a variable or renames one, None for any other expression;
    ``aggregate`` is "COUNT", "SUM" ... where the expression is an aggregate as a whole; ``variables`` are all it uses.
    """

    variable: Variable
    place: Place
    source: Term | None = None
    aggregate: str = ""
    variables: tuple[Variable, ...] = ()
    starred: bool = False

    @property
    def name(self) -> str:
        """The column's name."""
        return self.variable.name


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate among the columns of a SELECT.

    ``place`` is that of the call, ``where`` that of the group in braces whose solutions it aggregates, ``grouping``
    that of GROUP BY, None without one; ``grouped`` are the variables in GROUP BY. ``context`` is that of the group.
    """

    name: str
    distinct: bool
    variables: tuple[Variable, ...]
    place: Place
    where: Place
    grouping: Place | None = None
    grouped: tuple[Variable, ...] = ()
    context: tuple[Scope, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """A variable compared with constants: ``?v operator constant``, turned round where the text has it so."""

    variable: Variable
    operator: str
    constants: tuple[ox.NamedNode | ox.Literal, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Filter:
    """One constraint of FILTER or HAVING (``clause``); patterns in an EXISTS of it are among the query's patterns.

    ``needed`` are variables without which it cannot hold, ``perhaps`` those of them that only an OPTIONAL beside it
    gives a value. ``denies``: it has ``!``, so that a comparison in it may be one that must not hold.
    """

    clause: str
    variables: tuple[Variable, ...]
    comparisons: tuple[Comparison, ...]
    functions: tuple[str, ...]
    place: Place
    context: tuple[Scope, ...] = ()
    needed: tuple[Variable, ...] = ()
    perhaps: tuple[Variable, ...] = ()
    denies: bool = False


@dataclass(frozen=True, slots=True)
class Minus:
    """One MINUS: the names of the variables in it that what stands before it gives a value, or only what follows.

    One that shares no variable with what stands before it takes nothing away (SPARQL 1.1, section 8.3.2).
    """

    place: Place
    shared: tuple[str, ...]
    later: tuple[str, ...]
    context: tuple[Scope, ...] = ()


@dataclass(frozen=True, slots=True)
class Use:
    """A variable that wants a value: ``clause`` is SELECT, GROUP BY, HAVING, ORDER BY, FILTER, BIND or CONSTRUCT.

    ``bound``: whether something within reach gives it one.
    """

    variable: Variable
    clause: str
    place: Place
    bound: bool
    context: tuple[Scope, ...] = ()


@dataclass(frozen=True, slots=True)
class Inline:
    """One constant that VALUES gives a variable, or that is in an expression (then without variable)."""

    variable: Variable | None
    term: ox.NamedNode | ox.Literal
    place: Place
    context: tuple[Scope, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of the text: put ``text`` in place of ``[start:end]``."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong that the reader could read past.

    ``rule`` is "undeclared-prefix", "bracketed-prefix" or "syntax" (well-formed, but refused by the store: a variable
    selected that GROUP BY leaves out, a name given twice, ...). ``subject`` is the prefix or variable.
    """

    rule: str
    message: str
    place: Place
    subject: str = ""
    mend: Edit | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """How much the reader takes: characters, and levels of nested brackets."""

    characters: int = 1_000_000
    depth: int = 50


@dataclass(frozen=True, slots=True)
class Query:
    """A SPARQL text, read.

    ``prefixes`` are declared ones plus the defaults (rdf, rdfs, owl, xsd, skos); ``assumed`` are those defaults that
    the text uses without declaring them: the store wants them declared. ``bound`` are the variables that something
    gives a value somewhere, except by MINUS and EXISTS. ``functions`` are built-in names in capitals and IRIs.
    ``triple_terms``: the text has RDF 1.2 triple terms, reifiers or annotations, which aren't analysed.
    ``columns`` is the place of what a SELECT selects, with its DISTINCT, or of the word ASK; ``where`` that of its
    group in braces.
    ``joins``: variables that one comparison or call of a FILTER, one BIND, one VALUES or one sub-select connects.
    A text of form "UPDATE" is recognised, not read.
    """

    text: str
    form: str
    prefixes: Mapping[str, str] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()
    template: tuple[Pattern, ...] = ()
    selected: tuple[Selected, ...] = ()
    columns: Place | None = None
    where: Place | None = None
    filters: tuple[Filter, ...] = ()
    minuses: tuple[Minus, ...] = ()
    uses: tuple[Use, ...] = ()
    inline: tuple[Inline, ...] = ()
    bound: frozenset[Variable] = frozenset()
    joins: tuple[tuple[Variable, ...], ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    functions: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    uses_service: bool = False
    triple_terms: bool = False
