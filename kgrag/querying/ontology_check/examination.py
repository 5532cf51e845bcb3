"""Checks a query: reads it, builds its small graphs, runs the rules on them, and reports what they found.

OBQC section 3, figure 1. Three graphs are filled into a scratch store for every check: the query's patterns, what the
ontology states of their terms, and, where there are data, what the data have. All of it together is some hundred
quads.

Deviations:
    A pattern in OPTIONAL, UNION, EXISTS, NOT EXISTS or MINUS weighs one step less (not with the paper's profile).
    A finding that the data contradict is an info. Findings on the same patterns are of one root.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import pyoxigraph as ox

from kgrag.errors import InvalidSPARQL
from kgrag.model import Term
from kgrag.ports import Scratch
from kgrag.queries import describe
from kgrag.querying.ontology_check.check_findings import Check, Finding, TermNames
from kgrag.querying.ontology_check.check_rules import SEVERITIES, Rule, chosen, violations
from kgrag.querying.ontology_check.data_graph import DATA, DataView, data_graph
from kgrag.querying.ontology_check.fan_out import fan_out
from kgrag.querying.ontology_check.ontology_graph import ontology_graph, terms_of
from kgrag.querying.ontology_check.ontology_index import OntologyIndex
from kgrag.querying.ontology_check.query_graph import QueryGraph, parts, query_graph, syntax_graph
from kgrag.sparql.query_reader import read
from kgrag.sparql.syntax import Edit, Pattern, Place, Query
from kgrag.vocab import CHECK, RDF

__all__ = ["Options", "examine"]

Profile = Literal["default", "paper"]
Row = dict[str, Term | None]
_QUOTED = frozenset({"o", "term", "constant", "retyped", "example"})
_HEAD = ("iri-output", "subject-output")


@dataclass(frozen=True, slots=True)
class Options:
    """How to check.

    ``profile`` "paper" keeps the paper's eight rules, all of them errors in any context. ``rules`` is a folder of
    further rules. ``head`` is how bad a selected identifier is. Terms in the namespaces ``allowed`` count as defined.
    ``prefixes`` need no declaration in the query.
    """

    profile: Profile = "default"
    rules: Path | None = None
    head: Literal["warning", "error"] = "warning"
    allowed: tuple[str, ...] = ()
    prefixes: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Session:
    """One check: its options and data, its query graph, and how its terms are written."""

    options: Options
    view: DataView | None
    graph: QueryGraph
    names: TermNames
    kinds: frozenset[Term] = frozenset()


def examine(
    query: Query | str, index: OntologyIndex, *, scratch: Scratch, view: DataView | None, options: Options
) -> Check:
    """Check one query, without hints.

    Raises:
        InvalidSPARQL: a rule of the user's own does not parse.
        InputError: the folder of own rules or a rule's header is not as it should be.
    """
    rules = chosen(options.profile, options.rules)
    try:
        asked = read(query, prefixes=options.prefixes) if isinstance(query, str) else query
    except InvalidSPARQL as error:
        message = re.sub(r"^line \d+, column \d+(?::| )\s*", "", str(error))
        graph = syntax_graph(message, _place(error, str(query)))
        scratch.fill(graph.quads)
        session = _Session(options, None, graph, TermNames({}, {}, {}), _kinds(graph.quads))
        return Check(query=str(query), findings=_findings(session, scratch, rules))
    graph = query_graph(asked)
    terms = terms_of(asked)
    unresolved = tuple(f"{each.subject}:" for each in asked.problems if each.rule == "undeclared-prefix")
    about = ontology_graph(index, terms, allowed=(*options.allowed, *unresolved))
    data = [] if view is None or not graph.patterns else data_graph(view, index, asked, terms, ignored=unresolved)
    for quad in data:
        if quad.predicate == CHECK.instead:
            graph.mends |= _respelt(asked, quad, data)
    if view is not None and view.run is not None and not parts(asked):
        data += _fan_outs(asked, graph, view)
    quads = [*graph.quads, *about.quads, *data]
    scratch.fill(quads)
    names = TermNames(asked.prefixes, graph.shown, about.alternatives)
    session = _Session(options, view, graph, names, _kinds(quads))
    return Check(query=asked.text, findings=_findings(session, scratch, rules), read=asked)


def _kinds(quads: Sequence[ox.Quad]) -> frozenset[Term]:
    """Return the classes of what the graphs of a check speak of."""
    return frozenset(quad.object for quad in quads if quad.predicate == RDF.type)


def _fan_outs(query: Query, graph: QueryGraph, view: DataView) -> Iterator[ox.Quad]:
    """Yield how the result of each aggregate whose rows a join repeats differs from that with each value once."""
    for number, aggregate in enumerate(query.aggregates):
        found = fan_out(query, aggregate, view)
        if found is not None:
            node = graph.node("aggregate", number)
            shown = f": it gives {found.value}, and {found.once} with each value once" if found.once else ""
            yield ox.Quad(node, CHECK.repeats, ox.Literal(shown), DATA)
            yield ox.Quad(node, CHECK.remedy, ox.Literal(found.remedy), DATA)


def _respelt(query: Query, instead: ox.Quad, data: Sequence[ox.Quad]) -> dict[ox.NamedNode, Edit]:
    """Return the change that writes a literal as the data have it, where its text is the same and it occurs once."""
    absent = next(each.object for each in data if each.subject == instead.subject and each.predicate == CHECK.absent)
    places = [pattern.places[2] for pattern in query.patterns if pattern.object == absent]
    node, value = instead.subject, instead.object
    same = isinstance(absent, ox.Literal) and isinstance(value, ox.Literal) and absent.value == value.value
    if not same or len(places) != 1 or not isinstance(node, ox.NamedNode):
        return {}
    return {node: Edit(places[0].start, places[0].end, str(value))}


def _place(error: InvalidSPARQL, text: str) -> Place:
    line, column = max(error.line, 1), max(error.column, 1)
    start = sum(len(each) for each in text.splitlines(keepends=True)[: line - 1]) + column - 1
    return Place(min(start, len(text)), min(start + 1, len(text)), line, column)


def _findings(session: _Session, scratch: Scratch, rules: Sequence[Rule]) -> tuple[Finding, ...]:
    found: dict[tuple[object, ...], Finding] = {}
    groups: list[tuple[tuple[object, ...], list[ox.NamedNode]]] = []
    for rule in rules:
        if (rule.needs_data and session.view is None) or (rule.about and rule.about not in session.kinds):
            continue
        table = violations(scratch, rule)
        for values in table.rows:
            row: Row = dict(zip(table.variables, values, strict=True))
            key = (rule.id, *(str(term) for term in values if term not in session.graph.patterns))
            if key not in found:
                found[key] = _finding(session, rule, row)
                groups.append((key, _about(session, row)))
    roots = _roots(groups)
    numbered = (replace(finding, root=roots[key]) for key, finding in found.items())
    order = {rule.id: number for number, rule in enumerate(rules)}
    return tuple(sorted(numbered, key=lambda each: (-SEVERITIES.index(each.severity), each.start, order[each.rule])))


def _finding(session: _Session, rule: Rule, row: Row) -> Finding:
    nodes = [term for term in row.values() if isinstance(term, ox.NamedNode)]
    pattern = next((session.graph.patterns[node] for node in nodes if node in session.graph.patterns), None)
    place = _where(session, rule, row, pattern)
    names = session.names
    texts = {name: (names.constant if name in _QUOTED else names.term)(term) for name, term in row.items()}
    severity, hint = _severity(session, rule, row)
    subject, predicate, value = f"?{texts['varname']}" if "varname" in texts else "", "", texts.get("term", "")
    if pattern is not None:
        terms = (session.graph.term(end) for end in (pattern.subject, pattern.predicate, pattern.object))
        subject, predicate, value = (names.constant(term) for term in terms)
    return Finding(
        rule=rule.id,
        severity=severity,
        message=rule.message.render(texts),
        subject=subject,
        predicate=predicate,
        object=value,
        line=place.line,
        column=place.column,
        start=place.start,
        end=place.end,
        hint=hint or rule.repair.render(texts),
        mend=next((session.graph.mends[node] for node in nodes if node in session.graph.mends), None),
    )


def _where(session: _Session, rule: Rule, row: Row, pattern: Pattern | None) -> Place:
    nodes = [term for term in row.values() if isinstance(term, ox.NamedNode) and term in session.graph.places]
    if nodes or pattern is None:
        return session.graph.places[nodes[0]] if nodes else Place(0, 0, 1, 1)
    if rule.place == "term":
        ends = (pattern.subject, pattern.predicate, pattern.object)
        number = next((place for place, end in enumerate(ends) if session.graph.term(end) == row.get("term")), 2)
    else:
        number = ("subject", "predicate", "object").index(rule.place)
    return pattern.places[number]


def _severity(session: _Session, rule: Rule, row: Row) -> tuple[str, str]:
    severity = rule.severity
    if session.options.profile == "paper":
        return ("error" if severity != "refused" else severity), ""
    if rule.id in _HEAD:
        return session.options.head, ""
    weak = any(term in session.graph.weak for term in row.values())
    if severity not in ("refused", "info") and (
        weak or any(session.graph.patterns[node].unless for node in _about(session, row))
    ):
        severity = SEVERITIES[max(0, SEVERITIES.index(severity) - 1)]
    if rule.witness and session.view is not None:
        values = {name: row[name] for name in describe(f"obqc_data/{rule.witness}").parameters}
        known = all(isinstance(value, ox.NamedNode | ox.Literal) for value in values.values())
        if known and session.view.ask(rule.witness, **values):
            return "info", "The data have such triples, so the query may be right nevertheless."
    return severity, ""


def _about(session: _Session, row: Row) -> list[ox.NamedNode]:
    return [term for term in row.values() if isinstance(term, ox.NamedNode) and term in session.graph.patterns]


def _roots(groups: list[tuple[tuple[object, ...], list[ox.NamedNode]]]) -> dict[tuple[object, ...], int]:
    """Number the faults: findings that share a pattern, other than a type, are of one root."""
    up: dict[object, object] = {}

    def leader(node: object) -> object:
        while up.get(node, node) != node:
            node = up[node]
        return node

    for key, nodes in groups:
        for node in nodes:
            up[leader(node)] = leader(key)
    numbers: dict[object, int] = {}
    return {key: numbers.setdefault(leader(key), len(numbers) + 1) for key, _ in groups}
