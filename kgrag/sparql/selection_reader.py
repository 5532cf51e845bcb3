"""Reads selections and what follows a group: GROUP BY, HAVING, ORDER BY, LIMIT, VALUES; and checks what is selected.

Some texts are well-formed and yet refused by the store, as W3C's notes to the grammar ask: a variable selected that
GROUP BY leaves out, a name given twice. They are noted as problems, so that a check can report more than that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kgrag.sparql.expression_reader import ExpressionParts, Wanted
from kgrag.sparql.pattern_reader import Patterns
from kgrag.sparql.syntax import Aggregate, Limits, Pattern, Place, Selected, Variable
from kgrag.sparql.term_reader import Group, Node, Selection

__all__ = ["Column", "Selections"]

_AFTER_HAVING = ("ORDER", "LIMIT", "OFFSET", "VALUES")
_AFTER_GROUP = ("HAVING", *_AFTER_HAVING)
_CONDITIONS = ("variable", "(", "iri", "name", "word")
_MAX_LIMIT = 2**64


@dataclass(slots=True)
class Column:
    """One column selected, while its query is read; ``reading`` is None for a variable."""

    name: str
    start: int
    end: int
    reading: ExpressionParts | None = None
    source: Node | None = None
    span: tuple[int, int] = (0, 0)


@dataclass(slots=True)
class _Scene:
    """The groups that the clauses of one SELECT look into: before grouping, after it, and with what AS names."""

    where: Group
    after: Group = field(default_factory=Group)
    named: Group = field(default_factory=Group)
    grouped: dict[str, None] | None = None
    braces: Place | None = None
    grouping: Place | None = None
    grouped_on: tuple[Variable, ...] = ()


class Selections(Patterns):
    """Reads SELECT and the clauses after a group."""

    def __init__(self, text: str, limits: Limits) -> None:
        super().__init__(text, limits)
        self.template: list[Pattern] = []
        self.aggregates: list[Aggregate] = []
        self.columns: Place | None = None
        self.where: Place | None = None

    def sub_select(self) -> None:
        """Read a SELECT inside a group; only what it selects is visible outside."""
        outer, scope = self.group, self.scope("subselect")
        self.group = Group((*outer.context, scope), outer.sees, hidden=outer.hidden)
        selection = Selection(scope.number, set())
        self.selections.append(selection)
        self.take_word("SELECT")
        columns = self.select_clause(selection)
        selected = self.where_and_modifiers(columns, selection)
        self.selections.pop()
        self.group = outer
        outer.receive(Group(visible=dict.fromkeys(one.name for one in selected)))
        self.joins.append(tuple(self.scoped(one.name) for one in selected))

    def select_clause(self, selection: Selection) -> list[Column] | None:
        """Read what is selected; None is ``*``."""
        if not self.take_word("DISTINCT"):
            self.take_word("REDUCED")
        if self.take("*"):
            selection.outside = None
            return None
        columns: list[Column] = []
        while self.kind in ("variable", "("):
            columns.append(self._column(selection))
        if not columns:
            self.expected("'*', variables, or (expression AS ?name) after SELECT")
        return columns

    def _column(self, selection: Selection) -> Column:
        start, end = self.start, self.end
        if self.kind == "variable":
            column = Column(self.name(), start, end)
        else:
            self.advance()
            self.deeper()
            begins = self.start
            with self.noting() as reading:
                source = self.expression()
            ends = self.last
            self.need_word("AS", "and a variable after an expression that is selected")
            start, end = self.start, self.end
            column = Column(self.name(), start, end, reading, source, (begins, ends))
            self.need(")", "after the variable")
            self.depth -= 1
        if selection.outside is not None:
            selection.outside.add(column.name)
        return column

    def where_and_modifiers(
        self, columns: list[Column] | None, selection: Selection, form: str = "SELECT"
    ) -> list[Selected]:
        """Read WHERE and what follows it, and settle what is selected."""
        where, braces = self.group, None
        if form != "DESCRIBE" or self.kind == "{" or self.word.startswith("WHERE"):
            self.take_word("WHERE")
            start = self.start
            self.braces()
            braces = self.place(start, self.last)
            if form in ("SELECT", "ASK") and not selection.number:
                self.where = braces
        return self.modifiers(columns, selection, form, where, braces)

    def modifiers(
        self,
        columns: list[Column] | None,
        selection: Selection,
        form: str,
        where: Group,
        braces: Place | None = None,
    ) -> list[Selected]:
        """Read what follows a group, and settle what is selected."""
        scene = _Scene(where, braces=braces)
        start, wanted = self.start, len(self.wanted)
        if self.take_word("GROUP"):
            self.need_word("BY", "after GROUP")
            scene.grouped = self._group_by(where)
            scene.grouping = self.place(start, self.last)
            scene.grouped_on = tuple(dict.fromkeys(one.variable for one in self.wanted[wanted:]))
        if self.take_word("HAVING"):
            more = True
            while more:
                self.want(self.constraint("HAVING"), "HAVING", scene.after, where)
                more = self.kind in ("(", "iri", "name", "word") and not self.word.startswith(_AFTER_HAVING)
        if self.take_word("ORDER"):
            self.need_word("BY", "after ORDER")
            self._order_by(scene)
        self._slice()
        tail = Group(where.context)
        if self.take_word("VALUES"):
            self.group, before = tail, self.group
            self.data_block()
            self.group = before
        where.receive(tail)
        if scene.grouped is None and selection.aggregates:
            scene.grouped = {}
        scene.after.visible = where.visible if scene.grouped is None else {**scene.grouped, **tail.visible}
        scene.after.sees = where.sees
        scene.named.visible, scene.named.sees = dict(scene.after.visible), where.sees
        return self._settled(columns, scene, form)

    def _group_by(self, where: Group) -> dict[str, None]:
        names: dict[str, None] = {}
        if self.kind not in _CONDITIONS or self.word.startswith(_AFTER_GROUP):
            self.expected("a variable or an expression after GROUP BY")
        while self.kind in _CONDITIONS and not self.word.startswith(_AFTER_GROUP):
            if self.kind == "variable":
                start, end = self.start, self.end
                name = self.name()
                names[name] = None
                self.wanted.append(Wanted(self.scoped(name), "GROUP BY", (start, end), where, where.context))
            elif self.kind == "(":
                names.update(self._group_expression(where))
            else:
                self.want(self.constrained("GROUP BY"), "GROUP BY", where)
        return names

    def _group_expression(self, where: Group) -> dict[str, None]:
        names: dict[str, None] = {}
        self.advance()
        self.deeper()
        with self.noting() as reading:
            node = self.expression()
        self.want(reading, "GROUP BY", where)
        if node is not None and isinstance(node.term, Variable):
            names[node.term.name] = None
        if self.take_word("AS"):
            name = self.name()
            self.given.add(self.scoped(name))
            names[name] = None
        self.need(")", "after an expression of GROUP BY")
        self.depth -= 1
        return names

    def _order_by(self, scene: _Scene) -> None:
        while True:
            start, end = self.start, self.end
            if self.kind == "variable":
                variable = self.scoped(self.name())
                self.wanted.append(Wanted(variable, "ORDER BY", (start, end), scene.named, scene.where.context))
            else:
                if self.take_word("ASC") or self.take_word("DESC"):
                    self.check_open("after ASC or DESC")
                self.want(self.constrained("ORDER BY"), "ORDER BY", scene.named, scene.where)
            if self.kind not in _CONDITIONS or self.word.startswith(_AFTER_HAVING[1:]):
                return

    def _slice(self) -> None:
        left = ["LIMIT", "OFFSET"]
        while left:
            word = next((one for one in left if self.take_word(one)), "")
            if not word:
                return
            left.remove(word)
            digits = self.text[self.start : self.end]
            if self.kind != "number" or not digits.isdigit() or len(digits) > 20 or int(digits) >= _MAX_LIMIT:
                self.expected(f"a whole number below 2^64 after {word}")
            self.advance()

    def _settled(self, columns: list[Column] | None, scene: _Scene, form: str) -> list[Selected]:
        if columns is None:
            if scene.grouped is not None:
                what = "all variables are asked for with a GROUP BY or an aggregate. Name those to select."
                self.problem("syntax", what, (self.last, self.last))
            place = self.place(self.last, self.last)
            names = list(scene.where.visible) if form in ("SELECT", "DESCRIBE") else []
            return [Selected(self.scoped(name), place, self.scoped(name), starred=True) for name in names]
        seen: set[str] = set()
        for column in columns:
            if column.name in seen:
                self.problem(
                    "syntax",
                    f"?{column.name} is selected twice. Select it once.",
                    (column.start, column.end),
                    f"?{column.name}",
                )
            seen.add(column.name)
            self._check(column, scene)
            self._note_aggregates(column, scene)
        return [self._selected(column) for column in columns]

    def _note_aggregates(self, column: Column, scene: _Scene) -> None:
        if column.reading is None or scene.braces is None:
            return
        for name, start, end in column.reading.aggregates:
            used = (one.variable for one in column.reading.used if start <= one.start < end)
            self.aggregates.append(
                Aggregate(
                    name,
                    start in column.reading.distinct,
                    tuple(dict.fromkeys(used)),
                    self.place(start, end),
                    scene.braces,
                    scene.grouping,
                    scene.grouped_on,
                    scene.where.context,
                )
            )

    def _check(self, column: Column, scene: _Scene) -> None:
        span, variable = (column.start, column.end), self.scoped(column.name)
        if column.reading is None:
            self.wanted.append(Wanted(variable, "SELECT", span, scene.after, scene.where.context))
            self._check_grouped(column.name, span, scene)
            return
        self._want_selected(column.reading, scene)
        for used in column.reading.used:
            if not (used.aggregated or used.harmless):
                self._check_grouped(used.variable.name, (used.start, used.end), scene)
        if column.name in scene.after.visible:
            what = f"AS sets ?{column.name}, but it has a value from the patterns. Take another name."
            self.problem("syntax", what, span, f"?{column.name}")
        scene.named.visible[column.name] = None
        self.given.add(variable)

    def _want_selected(self, reading: ExpressionParts, scene: _Scene) -> None:
        for used in reading.used:
            if not used.harmless:
                named = used.variable.name in scene.named.visible  # what AS names can be used from then on
                group = scene.where if used.aggregated else scene.named if named else scene.after
                span = (used.start, used.end)
                self.wanted.append(Wanted(used.variable, "SELECT", span, group, scene.where.context))

    def _check_grouped(self, name: str, span: tuple[int, int], scene: _Scene) -> None:
        if scene.grouped is None or name in scene.after.visible:
            return
        if name in scene.where.visible or name in scene.named.visible:
            what = f"?{name} is selected with aggregates, but isn't grouped by. Add it to GROUP BY, or aggregate it."
            self.problem("syntax", what, span, f"?{name}")

    def _selected(self, column: Column) -> Selected:
        place, variable = self.place(column.start, column.end), self.scoped(column.name)
        if column.reading is None:
            return Selected(variable, place, variable, variables=(variable,))
        whole = [name for name, start, end in column.reading.aggregates if (start, end) == column.span]
        source = None if column.source is None else column.source.term
        used = tuple(dict.fromkeys(one.variable for one in column.reading.used))
        return Selected(variable, place, source, whole[0] if whole else "", used)
