"""A query over several graphs that counts a triple once, however many of them state it, as SPARQL has it.

The default graph of a query is an RDF merge, a set of triples (SPARQL 1.1, section 13.2). The engine finds a triple
once for each graph that states it, so that COUNT, SUM, AVG and the rows of a SELECT without DISTINCT are too many. Here
the group of such a SELECT becomes ``{ SELECT DISTINCT … { … } }`` with every variable of the group, and with variables
for whatever else its solutions differ in (``kgrag.sparql.select_levels``): then a solution that is found several times
is one that several graphs state. Where solutions are only counted, and those of a group differ in one variable that
always has a value, ``COUNT(DISTINCT ?variable)`` does, and takes less time. Where it does not matter how often a
solution is found (ASK, DISTINCT, MIN and MAX, EXISTS, MINUS, most of CONSTRUCT), and where all patterns are within
GRAPH, nothing is changed.

Deviations:
    What RAND, UUID, STRUUID and BNODE return within a group differs for each graph that states a triple.
    ``COUNT(DISTINCT *)``, and ``SELECT *`` over nothing but blank nodes, are left as the engine has them, with all else
    in the query. ``p|q`` and ``!(p|^q)`` have each pair of nodes once, in one graph too: that is the engine's.

>>> print(with_merged_graphs("SELECT (SUM(?v) AS ?n) WHERE { ?s <urn:p> ?v }"))
SELECT (SUM(?v) AS ?n) WHERE { SELECT DISTINCT ?s ?v WHERE { ?s <urn:p> ?v }}
>>> with_merged_graphs("SELECT ?c (COUNT(*) AS ?n) WHERE { ?s a ?c } GROUP BY ?c")
'SELECT ?c (COUNT(DISTINCT ?s) AS ?n) WHERE { ?s a ?c } GROUP BY ?c'
>>> with_merged_graphs("SELECT ?g (SUM(?v) AS ?n) { GRAPH ?g { ?s <urn:p> ?v } } GROUP BY ?g")
'SELECT ?g (SUM(?v) AS ?n) { GRAPH ?g { ?s <urn:p> ?v } } GROUP BY ?g'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from kgrag.errors import InvalidSPARQL
from kgrag.late_patterns import late_re
from kgrag.queries import OrderedText
from kgrag.sparql.select_levels import KeyedReader, Level
from kgrag.sparql.syntax import Limits
from kgrag.sparql.text_edits import TextEdit, edited
from kgrag.sparql.tokens import Token, tokens

__all__ = ["with_merged_graphs"]

_MAX_KEPT_TEXTS, _MAX_KEPT_CHARACTERS = 512, 8_000
_MAYBE = late_re("SELECT|CONSTRUCT|DESCRIBE", flags=2)  # of any case
_FROM = late_re("FROM", flags=2)
_MAYBE_UNBOUND = late_re(r"OPTIONAL|UNION|UNDEF|BIND|\bAS\b|\)AS", flags=2)


def with_merged_graphs(
    text: str, *, prefixes: Mapping[str, str] | None = None, several: bool = True, is_chosen: bool = False
) -> str:
    """Return a query that has the results of a merge of its graphs, on an engine that does not merge them.

    Args:
        text: the query; one that cannot be read is left for the engine's parser.
        prefixes: those that it may use without declaring them.
        several: whether the default graph is several graphs where the query does not say FROM.
        is_chosen: whether the default graph is chosen by who sent the query, so that FROM says nothing.
    """
    if not _MAYBE.search(text) or not (several or (not is_chosen and len(_FROM.findall(text)) > 1)):
        return text
    declared = tuple((prefixes or {}).items())
    run = _kept if len(text) <= _MAX_KEPT_CHARACTERS else _merged
    found = run(text, declared, several, is_chosen)
    return OrderedText(found) if isinstance(text, OrderedText) else found


def _merged(text: str, prefixes: tuple[tuple[str, str], ...], several: bool, is_chosen: bool) -> str:
    reader = KeyedReader(text, Limits(), dict(prefixes))
    try:
        query = reader.query()
    except (InvalidSPARQL, RecursionError):
        return text
    merges = len(reader.froms) > 1 if reader.has_dataset and not is_chosen else several
    if query.form == "UPDATE" or query.problems or reader.is_odd or not merges:
        return text
    plan = _Plan(text, reader)
    return plan.written(reader.top).text if plan.changes(reader.top) else text


_kept = lru_cache(maxsize=_MAX_KEPT_TEXTS)(_merged)


@dataclass(frozen=True, slots=True)
class _Written:
    """A level as it is to be, and the variables that tell its solutions apart, with those that it selects."""

    text: str
    keys: list[str] = field(default_factory=list)


class _Plan:
    """What is to be changed at which level.

    A level is *set apart* where its group is to have each solution once, and *open* where it selects, for a level
    around it that is set apart, whatever its solutions differ in.
    """

    def __init__(self, text: str, reader: KeyedReader) -> None:
        self._text = text
        self._prefix = reader.prefix
        self._tags = 0
        self._apart: set[int] = set()
        self._open: set[int] = set()
        self._settle(reader.top, is_counted=_is_counted(reader.top), is_keyed=False)

    def changes(self, top: Level) -> bool:
        """Return whether anything is to be changed, and can be."""
        return bool(self._apart) and not self._selects_nothing(top)

    def _selects_nothing(self, level: Level) -> bool:
        """Return whether ``*`` stands for no variable somewhere, and would for some; it cannot be written otherwise."""
        is_empty = level.star is not None and not level.selectable
        tagged = id(level) in self._apart and id(level) not in self._open and bool(level.tags or level.children)
        return (is_empty and tagged) or any(map(self._selects_nothing, level.children))

    def _settle(self, level: Level, *, is_counted: bool, is_keyed: bool) -> None:
        """Decide on a level and those within it.

        Args:
            level: the one that is decided on.
            is_counted: whether it matters how often each of its solutions is found.
            is_keyed: whether the level around it tells all of its solutions apart, and joins those of this one.
        """
        body_counts = level.is_sensitive if level.is_grouped else is_counted or level.is_sliced
        body_counts = body_counts and (level.is_grouped or not level.is_distinct)
        is_open = is_keyed and not level.is_distinct
        passes_on = is_open and not level.is_grouped and not level.is_sliced
        is_apart = body_counts and _repeats(level) and not passes_on
        if is_open:
            self._open.add(id(level))
        if is_apart:
            self._apart.add(id(level))
        for child in level.children:
            keyed = child.is_joined and self._tags_body(level)
            self._settle(child, is_counted=child.is_joined and body_counts, is_keyed=keyed)

    def _tags_body(self, level: Level) -> bool:
        return id(level) in self._apart or (id(level) in self._open and not level.is_grouped)

    def _names(self, level: Level, within: Iterable[str] = ()) -> list[str]:
        return [*dict.fromkeys([*level.visible, *level.tags, *within])]

    def written(self, level: Level) -> _Written:
        """Return a level with its changes, and those of the levels within it."""
        edits: list[TextEdit] = list(level.edits) if self._tags_body(level) else []
        within: list[str] = []
        for child in level.children:
            done = self.written(child)
            edits.append((child.start, child.end, done.text))
            if child.is_joined and self._tags_body(level):
                within += done.keys
                edits += self._marked(child, done, within)
        names = self._names(level, within)
        if id(level) in self._apart and level.body is not None:
            counts = self._counts(level, names)
            edits = [*edits, *counts] if counts else self._set_apart(level, names, edits)
        keys = list(level.selectable if level.columns is None else level.columns)
        if id(level) not in self._open:
            if level.star is not None and id(level) in self._apart and names:
                edits.append((level.star, level.star + 1, _listed(sorted(keys))))
            return _Written(edited(self._text, edits, start=level.start, end=level.end), keys)
        inner = dict.fromkeys([*(level.keys if level.is_grouped else names), *level.outer_visible])
        hidden = [*(name for name in inner if name not in keys), *level.outer_tags]
        edits += level.outer_edits
        if level.star is None:
            edits.append((level.columns_end, level.columns_end, _listed(hidden)))
        text, hidden = self._renamed(edited(self._text, edits, start=level.start, end=level.end), level, hidden)
        return _Written(text, [*keys, *hidden])

    def _counts(self, level: Level, names: list[str]) -> list[TextEdit]:
        """Return the changes of a level that only counts solutions, and those that differ in one variable; else []."""
        start, end = level.body or (0, 0)
        differ = [name for name in names if name not in level.keys]
        if (
            len(differ) != 1
            or not level.counted
            or level.outer_visible
            or not _is_plain(self._text[start + 1 : end - 1])
        ):
            return []
        if any(each[2] != "*" and each[2][1:] not in level.visible for each in level.counted):
            return []
        return [(begin, behind, f"DISTINCT ?{differ[0]}") for begin, behind, _ in level.counted]

    def _set_apart(self, level: Level, names: list[str], edits: list[TextEdit]) -> list[TextEdit]:
        """Return the changes of a level with those that let its group have each solution once."""
        start, end = level.body or (0, 0)
        columns, slice_ = (f"DISTINCT{_listed(names)}", "") if names else ("* ", " LIMIT 1")
        opened = (start + 1, start + 1, f" SELECT {columns}WHERE {{")
        before: list[TextEdit] = [opened]
        if level.form == "CONSTRUCT" and level.is_short:
            before.insert(0, (level.columns_end, level.columns_end, f" {self._text[start:end]} "))
        return [*before, *edits, (end - 1, end - 1, f"}}{slice_}")]

    def _marked(self, child: Level, done: _Written, within: list[str]) -> list[TextEdit]:
        """Return what notes of a level within another which of its columns have no value, where that may differ."""
        is_whole = id(child) in self._open and not child.is_grouped
        if is_whole or not _MAYBE_UNBOUND.search(done.text):
            return []
        marks = ""
        for name in done.keys:
            self._tags += 1
            within.append(f"{self._prefix}_{self._tags}")
            marks += f" BIND(BOUND(?{name}) AS ?{within[-1]})"
        opens, closes = child.braces
        return [(opens, opens, "{"), (closes, closes, f"{marks} }}")]

    def _renamed(self, text: str, level: Level, hidden: list[str]) -> tuple[str, list[str]]:
        """Return a level that selects more than it did, with names of its own for what it had to itself."""
        own = {name for name in hidden if name in {*level.visible, *level.keys, *level.outer_visible}}
        self._tags += 1
        names = {name: f"{self._prefix}_{self._tags}{name}" for name in own}
        places = [(each.start, each.end, f"?{names[each.text[1:]]}") for each in tokens(text) if _is_of(each, names)]
        return edited(text, places), [names.get(name, name) for name in hidden]


def _is_plain(body: str) -> bool:
    """Return whether a group is triples and filters, so that all of its variables have values."""
    return not any(token.kind == "{" or token.text.upper() == "BIND" for token in tokens(body))


def _is_of(token: Token, names: Mapping[str, str]) -> bool:
    return token.kind == "variable" and token.text[1:] in names


def _repeats(level: Level) -> bool:
    """Return whether solutions of a level are found once for each graph: by its own patterns, or by those within it."""
    plain = (child for child in level.children if child.is_joined and not child.is_distinct and not child.is_grouped)
    return level.repeats or any(map(_repeats, plain))


def _is_counted(top: Level) -> bool:
    """Return whether it matters how often the outermost query finds a solution."""
    return top.form == "SELECT" or (top.form == "CONSTRUCT" and top.makes_blanks)


def _listed(names: Iterable[str]) -> str:
    return "".join(f" ?{name}" for name in names) + " "
