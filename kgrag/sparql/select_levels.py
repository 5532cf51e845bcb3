"""The SELECTs of a query, one within the other, and the changes of their texts that make their solutions distinct.

``KeyedReader`` reads a query and notes, for each SELECT (a *level*), what decides whether it matters how often a
solution is found, and the changes by which no two of its solutions could be the same one: whatever has several
solutions without a variable for what they differ in gets one. Blank nodes and the nodes within a path become variables,
branches of UNION and rows of VALUES are numbered. ``kgrag.sparql.merged_graphs`` decides which changes are made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.late_patterns import late_re
from kgrag.sparql import path_reader
from kgrag.sparql.expression_reader import ExpressionParts
from kgrag.sparql.numbered_rows import with_row_numbers
from kgrag.sparql.path_reader import Alternative, Ends, Inverse, Negated, Path, Repeat
from kgrag.sparql.path_steps import PathStep, excluded_properties
from kgrag.sparql.query_reader import QueryReader
from kgrag.sparql.selection_reader import Column
from kgrag.sparql.syntax import Blank, Limits, Place, Query, Selected, Variable
from kgrag.sparql.term_reader import Group, Node, Selection
from kgrag.sparql.text_edits import TextEdit, edited
from kgrag.sparql.tokens import tokens
from kgrag.vocab import RDF

__all__ = ["KeyedReader", "Level"]

_UNMOVED = frozenset({"MIN", "MAX", "SAMPLE"})
"""Aggregates that return the same however often a solution is found."""
_MAKES_BLANKS = frozenset({"label", "anon", "[", "(", "<<", "{|"})
_COUNTED = late_re(r"COUNT\s*\(\s*(\*|[?$]\w+)\s*\)", flags=re.IGNORECASE)
_DISTINCT_ALL = late_re(r"DISTINCT\s*\*", flags=re.IGNORECASE)


@dataclass
class Level:
    """One SELECT, or the outermost query of another form.

    Attributes:
        start: where it begins, at the word SELECT.
        end: where it ends.
        parent: the level around it; None of the outermost.
        is_joined: whether its solutions are joined with those of the parent: it isn't within EXISTS or MINUS.
        braces: where the braces around a level within another open and close.
        form: SELECT, ASK, CONSTRUCT or DESCRIBE.
        is_distinct: SELECT DISTINCT.
        columns: what it selects; None is ``*``.
        columns_end: where what it selects ends.
        star: where the ``*`` is.
        body: its group in braces.
        visible: the variables of the body.
        selectable: those, and the ones of VALUES behind the body.
        is_grouped: whether it has GROUP BY or an aggregate.
        keys: the variables of GROUP BY.
        is_sensitive: whether an aggregate depends on how often a solution is found.
        counted: of ``COUNT(*)`` and ``COUNT(?x)``, which do: where the ``*`` or ``?x`` is, and that itself; None where
            another aggregate does.
        is_sliced: LIMIT or OFFSET.
        makes_blanks: whether the template of a CONSTRUCT makes nodes for each solution.
        is_short: CONSTRUCT WHERE.
        repeats: whether a pattern outside GRAPH finds a triple once for each graph.
        edits: the changes of the body; ``tags`` are the variables that they bring.
        outer_edits: those of GROUP BY and VALUES behind the body; ``outer_tags`` their variables.
        outer_visible: the variables of VALUES behind the body.
        children: the levels within it.
    """

    start: int
    parent: Level | None = None
    is_joined: bool = True
    end: int = 0
    braces: tuple[int, int] = (0, 0)
    form: str = "SELECT"
    is_distinct: bool = False
    columns: list[str] | None = None
    columns_end: int = 0
    star: int | None = None
    body: tuple[int, int] | None = None
    visible: list[str] = field(default_factory=list)
    selectable: list[str] = field(default_factory=list)
    is_grouped: bool = False
    keys: list[str] = field(default_factory=list)
    is_sensitive: bool = False
    counted: list[TextEdit] | None = field(default_factory=list)
    is_sliced: bool = False
    makes_blanks: bool = False
    is_short: bool = False
    repeats: bool = False
    edits: list[TextEdit] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    outer_edits: list[TextEdit] = field(default_factory=list)
    outer_tags: list[str] = field(default_factory=list)
    outer_visible: list[str] = field(default_factory=list)
    children: list[Level] = field(default_factory=list)


class KeyedReader(QueryReader):
    """Reads one query.

    Attributes:
        top: the outermost level.
        froms: the graphs that FROM names, without those of FROM NAMED.
        has_dataset: whether there is a FROM or FROM NAMED.
        prefix: with which the names of new variables begin, and no other.
        is_odd: whether the query has something that isn't followed here.
    """

    def __init__(self, text: str, limits: Limits, prefixes: Mapping[str, str]) -> None:
        super().__init__(text, limits)
        self.declared.update(prefixes)
        self.froms: set[ox.NamedNode] = set()
        self.has_dataset = self.is_odd = False
        self.top = self._level = Level(0)
        self.prefix = "_k"
        while self.prefix in text:
            self.prefix += "_"
        self._tags = self._hidden = self._graphs = self._nodes_open = 0
        self._is_behind_body = self._is_reified = False
        self._names: dict[str, str] = {}
        self._path_texts: dict[int, tuple[Path, str]] = {}
        self._verb = (0, 0)
        self._node_ends: dict[int, int] = {}
        self._subject_end = -1
        self._deferred: list[str] = []
        self._branches: list[tuple[int, int]] = []
        self._collections: list[list[tuple[Node, ox.NamedNode, Node]]] = []

    # tags and edits

    def tag(self) -> str:
        """Return a variable that the text does not have; it tells solutions of the level at hand apart."""
        self._tags += 1
        name = f"{self.prefix}{self._tags}"
        (self._level.outer_tags if self._is_behind_body else self._level.tags).append(name)
        return f"?{name}"

    @property
    def _notes(self) -> bool:
        return not self._hidden and not self.in_long_template

    @property
    def in_long_template(self) -> bool:
        """Whether what is read is a template, and no pattern at the same time."""
        return self.in_template and self.group.hidden

    def _edit(self, start: int, end: int, text: str) -> None:
        (self._level.outer_edits if self._is_behind_body else self._level.edits).append((start, end, text))

    def _edited(self, start: int, end: int) -> str:
        """Return a piece of the text with the changes noted for it, which are done with then."""
        inner = [edit for edit in self._level.edits if start <= edit[0] and edit[1] <= end]
        self._level.edits = [edit for edit in self._level.edits if edit not in inner]
        return edited(self.text, inner, start=start, end=end)

    def _name_of(self, blank: Blank) -> str:
        name = self._names.get(blank.label)
        if name is None:
            name = self._names[blank.label] = self.tag()
        return name

    # levels

    def query(self) -> Query:
        """Read the whole text."""
        found = super().query()
        self.top.form, self.top.end = found.form, len(self.text)
        return found

    def sub_select(self) -> None:
        """Read a SELECT inside a group."""
        outer, hidden = self._level, self._hidden
        self._level = level = Level(self.start, outer, is_joined=not hidden)
        opened, self._hidden = self.last - 1, 0
        outer.children.append(level)
        super().sub_select()
        level.end, level.braces = self.last, (opened, self.end)
        self._level, self._hidden = outer, hidden

    def select_clause(self, selection: Selection) -> list[Column] | None:
        """Read what is selected."""
        level = self._level
        level.is_distinct = self.word.startswith("DISTINCT")
        columns = super().select_clause(selection)
        level.columns_end = self.last
        if columns is None:
            level.star = self.last - 1
        else:
            level.columns = [column.name for column in columns]
        return columns

    def _describe(self) -> list[Selected]:
        if self.kind == "*":
            self.top.star = self.start
        return super()._describe()

    def _construct(self) -> list[Selected]:
        self.top.columns_end = self.last
        return super()._construct()

    def _template(self) -> None:
        start, is_long = self.start, self.group.hidden
        super()._template()
        kinds = {token.kind for token in tokens(self.text[start : self.last])}
        self.top.makes_blanks = bool(kinds & _MAKES_BLANKS)
        if not is_long:
            self.top.body, self.top.is_short = (start, self.last), True

    def modifiers(
        self,
        columns: list[Column] | None,
        selection: Selection,
        form: str,
        where: Group,
        braces: Place | None = None,
    ) -> list[Selected]:
        """Read what follows a group."""
        level = self._level
        if braces is not None:
            level.body = (braces.start, braces.end)
        level.visible = list(where.visible)
        self._is_behind_body = True
        selected = super().modifiers(columns, selection, form, where, braces)
        self._is_behind_body = False
        level.selectable = list(where.visible)
        return selected

    def _aggregate(self, name: str, start: int) -> None:
        super()._aggregate(name, start)
        level, call = self._level, self.text[start : self.last]
        level.is_grouped = True
        if start not in self.reading.distinct and name not in _UNMOVED:
            level.is_sensitive = True
            found = _COUNTED.fullmatch(call)
            if found is None:
                level.counted = None
            elif level.counted is not None:
                level.counted.append((start + found.start(1), start + found.end(1), found[1]))
        self.is_odd |= bool(_DISTINCT_ALL.search(call))

    def _group_by(self, where: Group) -> dict[str, None]:
        names = super()._group_by(where)
        self._level.is_grouped, self._level.keys = True, list(names)
        return names

    def _group_expression(self, where: Group) -> dict[str, None]:
        names = super()._group_expression(where)
        if not names:
            self._edit(self.last - 1, self.last - 1, f" AS {self.tag()}")
        return names

    def constrained(self, clause: str) -> ExpressionParts:
        """Read a bracketed expression or a call of a function."""
        start = self.start
        reading = super().constrained(clause)
        if clause == "GROUP BY":
            self._edit(start, start, "(")
            self._edit(self.last, self.last, f" AS {self.tag()})")
        return reading

    def _slice(self) -> None:
        before = self.last
        super()._slice()
        self._level.is_sliced = self.last != before

    def _dataset(self) -> None:
        while self.take_word("FROM"):
            self.has_dataset = True
            named = self.take_word("NAMED")
            graph = self.iri("after FROM").term
            if not named and isinstance(graph, ox.NamedNode):
                self.froms.add(graph)

    # groups

    def inside(self, kind: str, *, number: int = 0, branch: int = 0) -> Group:
        """Read ``{ ... }`` as a group of its own within the one at hand."""
        is_hidden, start = kind in ("minus", "exists", "not exists"), self.start
        behind, self._is_behind_body = self._is_behind_body, False
        self._hidden += is_hidden
        self._graphs += kind == "graph"
        group = super().inside(kind, number=number, branch=branch)
        self._graphs -= kind == "graph"
        self._hidden -= is_hidden
        self._is_behind_body = behind
        if kind == "union":
            self._branches.append((start, self.last))
        return group

    def _union(self) -> None:
        outer, self._branches = self._branches, []
        super()._union()
        branches, self._branches = self._branches, outer
        if len(branches) > 1 and self._notes:
            tag = self.tag()
            for number, (start, end) in enumerate(branches):
                self._edit(start, start, "{")
                self._edit(end, end, f" BIND({number} AS {tag}) }}")

    def data_block(self) -> None:
        """Read what follows VALUES."""
        start = self.start
        super().data_block()
        if self._is_behind_body:
            self._level.outer_visible = list(self.group.visible)
        if self._notes:
            numbered = with_row_numbers(self.text[start : self.last], self.tag)
            if numbered is not None:
                self._edit(start, self.last, numbered)

    # triples

    def same_subject(self) -> None:
        """Read the triples of one subject."""
        start, kind = self.start, self.kind
        self._subject_end = -1
        super().same_subject()
        deferred, self._deferred = self._deferred, []
        if not deferred:
            return
        if kind in ("[", "(") and self._subject_end == self.last:  # nothing is stated of it but what it has in brackets
            self._edited(start, self.last)
            self._edit(start, self.last, " . ".join(deferred))
        else:
            self._edit(self.last, self.last, "".join(f" . {triple}" for triple in deferred))

    def node(self) -> Node:
        """Read a subject or object."""
        start = self.start
        self._nodes_open += 1
        node = super().node()
        self._nodes_open -= 1
        self._node_ends[start] = self.last
        if not self._nodes_open and self._subject_end < 0:
            self._subject_end = self.last
        return node

    def term(self) -> Node | None:
        """Read a term of a triple, if one is here."""
        kind = self.kind
        node = super().term()
        if node is not None and isinstance(node.term, Blank) and kind in ("label", "anon") and self._notes:
            self._edit(node.start, node.end, f" {self._name_of(node.term)} ")
        return node

    def _properties_of_blank(self) -> Node:
        start = self.start
        node = super()._properties_of_blank()
        if self._notes and isinstance(node.term, Blank):
            name = self._name_of(node.term)
            self._deferred.append(f"{name} {self._edited(start + 1, self.last - 1)}")
            self._edit(start, self.last, f" {name} ")
        return node

    def _collection(self) -> Node:
        start = self.start
        self._collections.append([])
        node = super()._collection()
        steps = self._collections.pop()
        if self._notes and isinstance(node.term, Blank):
            for subject, predicate, value in steps:
                end = self._node_ends.get(value.start, value.end) if predicate == RDF.first else value.end
                is_made = predicate == RDF.rest and isinstance(value.term, Blank)
                written = self._text(value) if is_made else self._edited(value.start, end)
                written = str(RDF.nil) if value.term == RDF.nil and predicate == RDF.rest else written
                self._deferred.append(f"{self._text(subject)} {predicate} {written}")
            self._edited(start, self.last)
            self._edit(start, self.last, f" {self._name_of(node.term)} ")
        return node

    def list_step(self, subject: Node, predicate: ox.NamedNode, value: Node) -> None:
        """Write one triple of a collection."""
        self._collections[-1].append((subject, predicate, value))
        self._level.repeats |= self._notes and not self._graphs
        super().list_step(subject, predicate, value)

    def _text(self, node: Node) -> str:
        if isinstance(node.term, Blank):
            return self._name_of(node.term)
        return f"?{node.term.name}" if isinstance(node.term, Variable) else self.text[node.start : node.end]

    def _triple(self) -> Node:
        outer, self._is_reified = self._is_reified, False
        is_node = self.kind == "<<"
        node = super()._triple()
        if is_node and self._notes:
            self._level.repeats |= not self._graphs
            if not self._is_reified:
                self._edit(self.last - 2, self.last - 2, f" ~ {self.tag()} ")
        self._is_reified = outer
        return node

    def _reifier(self) -> None:
        behind = self.end
        super()._reifier()
        self._is_reified = True
        if self.last == behind and self._notes:
            self._edit(behind, behind, f" {self.tag()} ")

    def _annotations(self, verb: Path) -> None:
        start, depth, before = self.start, 0, "|}"
        super()._annotations(verb)
        for token in tokens(self.text[start : self.last]) if self._notes else ():
            if token.kind == "{|" and not depth and before == "|}":  # its node has no name
                self._edit(start + token.start, start + token.start, f" ~ {self.tag()} ")
            depth += (token.kind == "{|") - (token.kind == "|}")
            before = token.kind

    # paths

    def verb(self) -> Path:
        """Read a predicate."""
        start = self.start
        verb = super().verb()
        self._verb = (start, self.last)
        return verb

    def _element(self) -> Path:
        start = self.start
        path = super()._element()
        text = self.text[start : self.last].strip()
        self._path_texts[id(path)] = (path, text)
        if isinstance(path, Inverse):
            self._path_texts[id(path.path)] = (path.path, text[1:].strip())
        return path

    def objects(self, subject: Node, verb: Path) -> None:
        """Read the objects of one subject and predicate."""
        if not self._notes:
            super().objects(subject, verb)
            return
        steps = [] if isinstance(verb, Node) else list(self._steps(verb))
        self._level.repeats |= not self._graphs and (not steps or any(step.repeats for step in steps))
        if len(steps) < 2 and not any(step.excluded for step in steps):
            super().objects(subject, verb)
            return
        self._edit(*self._verb, f" {steps[0].text} ")
        while True:
            start = self.start
            node = self.node()
            self.write(verb, Ends(subject, node, self.group.context))
            self._follow(steps, self._text(subject), (start, self.last))
            if not self.take(","):
                return

    def _follow(self, steps: Sequence[PathStep], subject: str, place: tuple[int, int]) -> None:
        """Note a path step by step: the first where it stands, with a variable behind, the others after the triples."""
        last = self._edited(*place)
        nodes = [subject, *(self.tag() for _ in steps[1:]), last]
        self._edit(*place, f" {nodes[1]} ")
        for number, step in enumerate(steps):
            ends = nodes[number], nodes[number + 1]
            if number:
                self._deferred.append(f"{ends[0]} {step.text} {ends[1]}")
            if step.excluded:
                tag = self.tag()
                first, second = reversed(ends) if step.is_inverse else ends
                self._deferred.append(f"{first} {tag} {second} FILTER({tag} NOT IN ({', '.join(step.excluded)}))")

    def _steps(self, path: Path, *, is_inverse: bool = False) -> list[PathStep]:
        """Return the steps of a path, between which there are nodes."""
        if isinstance(path, path_reader.Sequence):
            parts = [self._steps(part, is_inverse=is_inverse) for part in path.parts]
            return [step for steps in (reversed(parts) if is_inverse else parts) for step in steps]
        if isinstance(path, Inverse):
            return self._steps(path.path, is_inverse=not is_inverse)
        text = self._path_texts[id(path)][1] if id(path) in self._path_texts else f"({self.text[slice(*self._verb)]})"
        mark = "^" if is_inverse else ""
        if not isinstance(path, Negated):
            return [
                PathStep(f"{mark}{text}", repeats=not isinstance(path, Repeat | Alternative), is_inverse=is_inverse)
            ]
        excluded, kinds = excluded_properties(self.text[path.start : path.end])
        if len(kinds) > 1:  # of both directions: the engine finds each pair of nodes once
            return [PathStep(f"{mark}({text})", repeats=False, is_inverse=is_inverse)]
        return [PathStep(f"{mark}({text})", repeats=True, is_inverse=is_inverse != ("^" in kinds), excluded=excluded)]
