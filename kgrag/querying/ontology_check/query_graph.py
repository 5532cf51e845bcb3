"""The query graph: the patterns of one query as RDF, which the rules query.

OBQC section 3 turns the basic graph pattern into triples with one ``qq:`` resource per variable. Here every pattern is
a node of its own, so that it keeps its place and its context (OPTIONAL, a branch of a UNION ...), and no marker can be
taken for a triple of the query.

========================  ===========================================================================================
statement                 meaning
========================  ===========================================================================================
``check:subject`` ...     pattern -> ``check:subject``, ``check:predicate``, ``check:object``; an end that zero steps
                          of a path may reach has none
``check:type``            pattern ``?s rdf:type C`` -> C
``check:scope``           pattern -> its context; ``check:together`` links two contexts when patterns in one hold
                          together with patterns in the other (also a context and itself); offers have one, too
``check:separate``        pattern -> the first pattern of another part of its scope that nothing joins with it
``check:name``            variable -> its name; ``check:bound true`` when something binds it
``a check:Selection``     ``check:variable``: a column of the outermost SELECT that is a plain variable
``a check:Use``           ``check:variable``, ``check:role``, ``check:reach``: a variable used where it has no value
``a check:Offer``         ``check:variable``, ``check:constant``: what VALUES or a FILTER gives a variable
``a check:IllTyped``      ``check:constant``, ``check:datatype``, ``check:example``: a literal without a value
``a check:IdleMinus``     a MINUS that shares no variable with what stands before it; ``check:variable``: it shares
                          this one with what follows
``check:UndoneOptional``  ``check:variable``: a FILTER that needs what only an OPTIONAL beside it gives
``a check:Comparison``    ``check:variable``, ``check:operator``, ``check:constant``, with ``datatype`` and ``family``
``a check:Aggregate``     ``check:name``: a SUM, COUNT ... among the columns of a SELECT, as it is written
``a check:Call``          ``check:function``: a function that the store does not have
``a check:Problem``       ``check:kind``, ``check:name``: what the reader could read past
``a check:Request``       ``check:form`` (SELECT ... UPDATE), ``check:service true``
========================  ===========================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, field

import pyoxigraph as ox

from kgrag.querying.ontology_check.class_expressions import family
from kgrag.querying.ontology_check.query_constants import Offer, ill_typed, offers
from kgrag.sparql.syntax import Blank, Edit, Pattern, Place, Query, Scope, Variable
from kgrag.sparql.syntax import Term as ReadTerm
from kgrag.vocab import CHECK, RDF, XSD, local_name

__all__ = [
    "MAX_PATTERNS",
    "QUERY",
    "QueryGraph",
    "QueryTerm",
    "parts",
    "query_graph",
    "syntax_graph",
]

MAX_PATTERNS = 1_000
QUERY = ox.NamedNode("urn:kgrag:check:query")
_TRUE = ox.Literal("true", datatype=XSD.boolean)
_ROLES = {
    "SELECT": "selected",
    "GROUP BY": "grouped by",
    "ORDER BY": "ordered by",
    "FILTER": "filtered on",
    "HAVING": "filtered on",
}
_CASTS = (
    "boolean date dateTime dayTimeDuration decimal double duration float gDay gMonth gMonthDay gYear gYearMonth "
    "integer string time yearMonthDuration"
)

QueryTerm = ox.NamedNode | ox.Literal


@dataclass(slots=True)
class QueryGraph:
    """The quads of one query, and what its nodes mean: ``patterns``, ``places``, ``shown`` names, ``mends``.

    ``weak`` are nodes besides patterns of which others take the place: a finding on one weighs a step less.
    """

    quads: list[ox.Quad] = field(default_factory=list)
    patterns: dict[ox.NamedNode, Pattern] = field(default_factory=dict)
    places: dict[ox.NamedNode, Place] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    mends: dict[ox.NamedNode, Edit] = field(default_factory=dict)
    weak: set[ox.NamedNode] = field(default_factory=set)

    def add(self, subject: ox.NamedNode, predicate: ox.NamedNode, value: QueryTerm) -> None:
        """Add one statement."""
        self.quads.append(ox.Quad(subject, predicate, value, QUERY))

    def node(self, kind: str, number: int, place: Place | None = None) -> ox.NamedNode:
        """Name a node; the numbers of one kind sort as text."""
        node = ox.NamedNode(f"urn:kgrag:check:{kind}:{number:06}")
        if place is not None:
            self.places[node] = place
        return node

    def term(self, term: ReadTerm) -> QueryTerm:
        """Return the resource of a term of the query, and remember how the term is written."""
        if isinstance(term, Variable):
            node = ox.NamedNode(f"urn:kgrag:check:variable:{term.scope}:{term.name}")
            if node.value not in self.shown:
                self.shown[node.value] = f"?{term.name}"
                self.add(node, RDF.type, CHECK.Variable)
                self.add(node, CHECK.name, ox.Literal(term.name))
            return node
        if isinstance(term, Blank):
            node = ox.NamedNode(f"urn:kgrag:check:blank:{term.label.lstrip('.')}:{len(term.label)}")
            if node.value not in self.shown:
                self.shown[node.value] = "[]" if term.label.startswith(".") else f"_:{term.label}"
                self.add(node, RDF.type, CHECK.Variable)
            return node
        return term


def query_graph(query: Query) -> QueryGraph:
    """Return the query graph of a query that was read; one with too many patterns has that problem and no patterns."""
    graph = QueryGraph()
    if len(query.patterns) > MAX_PATTERNS:
        _problem(graph, "too-large", f"{len(query.patterns):,}", Place(0, 0, 1, 1))
    else:
        _patterns(graph, query)
    _request(graph, query)
    for number, selected in enumerate(query.selected):
        if isinstance(selected.source, Variable) and not selected.aggregate:
            node = graph.node("selection", number, selected.place)
            graph.add(node, RDF.type, CHECK.Selection)
            graph.add(node, CHECK.variable, graph.term(selected.source))
    _uses(graph, query)
    _comparisons(graph, query)
    _ill_typed(graph, query)
    _lost_effects(graph, query)
    _calls(graph, query)
    for number, aggregate in enumerate(query.aggregates):
        node = graph.node("aggregate", number, aggregate.place)
        graph.add(node, RDF.type, CHECK.Aggregate)
        graph.add(node, CHECK.name, ox.Literal(query.text[aggregate.place.start : aggregate.place.end]))
    for problem in query.problems:
        name = problem.message if problem.rule == "syntax" else problem.subject
        _problem(graph, problem.rule, name, problem.place, mend=problem.mend)
    return graph


def syntax_graph(message: str, place: Place) -> QueryGraph:
    """Return the query graph of a text that could not be read."""
    graph = QueryGraph()
    _problem(graph, "syntax", message, place)
    return graph


def _problem(graph: QueryGraph, kind: str, name: str, place: Place, *, mend: Edit | None = None) -> None:
    node = graph.node("problem", len(graph.places), place)
    if mend is not None:
        graph.mends[node] = mend
    graph.add(node, RDF.type, CHECK.Problem)
    graph.add(node, CHECK.kind, ox.Literal(kind))
    graph.add(node, CHECK.name, ox.Literal(name))


def _patterns(graph: QueryGraph, query: Query) -> None:
    nodes = [graph.node("pattern", number) for number in range(len(query.patterns))]
    graph.patterns = dict(zip(nodes, query.patterns, strict=True))
    scopes: dict[tuple[Scope, ...], ox.NamedNode] = {}
    for node, pattern in graph.patterns.items():
        graph.add(node, CHECK.scope, scopes.setdefault(pattern.unless, graph.node("scope", len(scopes))))
        if not any(each.kind == "service" for each in pattern.context):  # the ontology there is another one
            _ends(graph, node, pattern)
    for number, offer in enumerate(offers(query)[:MAX_PATTERNS]):
        node = _offer(graph, offer, number)
        graph.add(node, CHECK.scope, scopes.setdefault(offer.unless, graph.node("scope", len(scopes))))
    for one, other in _together(scopes):
        graph.add(one, CHECK.together, other)
    for parted in parts(query):
        for begin, *_ in parted[1:]:
            graph.add(nodes[parted[0][0]], CHECK.separate, nodes[begin])


def _offer(graph: QueryGraph, offer: Offer, number: int) -> ox.NamedNode:
    node = graph.node("offer", number, offer.place)
    graph.add(node, RDF.type, CHECK.Offer)
    graph.add(node, CHECK.variable, graph.term(offer.variable))
    graph.add(node, CHECK.constant, offer.term)
    graph.weak |= set() if offer.alone else {node}
    return node


def _ends(graph: QueryGraph, node: ox.NamedNode, pattern: Pattern) -> None:
    subject, predicate, value = (graph.term(term) for term in (pattern.subject, pattern.predicate, pattern.object))
    graph.add(node, CHECK.predicate, predicate)
    if not pattern.free_subject:
        graph.add(node, CHECK.subject, subject)
    if not pattern.free_object:
        graph.add(node, CHECK.object, value)
    if predicate == RDF.type and isinstance(pattern.object, ox.NamedNode) and not pattern.free_ends:
        graph.add(node, CHECK.type, value)


def _together(scopes: dict[tuple[Scope, ...], ox.NamedNode]) -> Iterator[tuple[ox.NamedNode, ox.NamedNode]]:
    """Yield the pairs of contexts of which one is a prefix of the other."""
    for one, node in scopes.items():
        for length in range(len(one) + 1):
            outer = scopes.get(one[:length])
            if outer is not None:
                yield node, outer
                if outer != node:
                    yield outer, node


def _request(graph: QueryGraph, query: Query) -> None:
    node = graph.node("request", 0, Place(0, 0, 1, 1))
    graph.add(node, RDF.type, CHECK.Request)
    graph.add(node, CHECK.form, ox.Literal(query.form))
    if query.uses_service:
        graph.places[node] = _mention(query.text, r"\bSERVICE\b")
        graph.add(node, CHECK.service, _TRUE)
    if query.triple_terms:
        _problem(graph, "not-analysed", "triple terms", Place(0, 0, 1, 1))


def _mention(text: str, pattern: str) -> Place:
    """Return the first place where a text has these words; its beginning where it has none."""
    found = re.search(pattern, text, flags=re.IGNORECASE)
    if found is None:
        return Place(0, 0, 1, 1)
    start = found.start()
    return Place(start, found.end(), text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))


def _uses(graph: QueryGraph, query: Query) -> None:
    seen: set[tuple[Variable, str]] = set()
    for number, use in enumerate(query.uses):
        role = _ROLES.get(use.clause)
        if role is None or use.bound or (use.variable, role) in seen:
            continue
        seen.add((use.variable, role))
        name, begins = use.variable.name, query.text[use.place.end :].lstrip()[:1] == "{"
        glued = name.endswith("WHERE") and any(each.name == name.removesuffix("WHERE") for each in query.bound)
        if role == "selected" and begins and glued:  # ?nameWHERE {, where ?name has a value
            at = use.place.end - len("WHERE")
            _problem(graph, "lost-blank", f"?{name}", use.place, mend=Edit(at, at, " "))
            continue
        node = graph.node("use", number, use.place)
        graph.add(node, RDF.type, CHECK.Use)
        graph.add(node, CHECK.variable, graph.term(use.variable))
        graph.add(node, CHECK.role, ox.Literal(role))
        graph.add(node, CHECK.reach, ox.Literal("within its braces" if use.variable in query.bound else "in the query"))


def _comparisons(graph: QueryGraph, query: Query) -> None:
    compared = [comparison for each in query.filters for comparison in each.comparisons]
    for number, comparison in enumerate(compared[:MAX_PATTERNS]):
        for constant in comparison.constants[:1]:
            if not isinstance(constant, ox.Literal):
                continue
            node = graph.node("comparison", number, comparison.place)
            graph.add(node, RDF.type, CHECK.Comparison)
            graph.add(node, CHECK.variable, graph.term(comparison.variable))
            graph.add(node, CHECK.operator, ox.Literal(comparison.operator))
            graph.add(node, CHECK.constant, constant)
            graph.add(node, CHECK.datatype, constant.datatype)
            graph.add(node, CHECK.family, ox.Literal(family(constant.datatype.value) or constant.datatype.value))


def _ill_typed(graph: QueryGraph, query: Query) -> None:
    for number, each in enumerate(ill_typed(query)):
        node = graph.node("ill-typed", number, each.place)
        graph.add(node, RDF.type, CHECK.IllTyped)
        graph.add(node, CHECK.constant, each.literal)
        graph.add(node, CHECK.datatype, each.literal.datatype)
        graph.add(node, CHECK.example, each.example)


def _lost_effects(graph: QueryGraph, query: Query) -> None:
    """Note what has no effect: a MINUS that shares no variable, an OPTIONAL that a FILTER makes required."""
    for number, minus in enumerate(query.minuses):
        if not minus.shared:
            node = graph.node("minus", number, minus.place)
            graph.add(node, RDF.type, CHECK.IdleMinus)
            for name in minus.later[:1]:
                graph.add(node, CHECK.variable, graph.term(Variable(name)))
    for number, each in enumerate(query.filters):
        for variable in each.perhaps[:1]:
            node = graph.node("undone", number, each.place)
            graph.add(node, RDF.type, CHECK.UndoneOptional)
            graph.add(node, CHECK.variable, graph.term(variable))


def _calls(graph: QueryGraph, query: Query) -> None:
    for number, name in enumerate(query.functions):
        cast = name.startswith(XSD.prefix) and name.removeprefix(XSD.prefix) in _CASTS.split()
        if ":" in name and not cast:
            node = graph.node("call", number, _mention(query.text, rf"[\w.-]*:?{re.escape(local_name(name))}>?\s*\("))
            graph.add(node, RDF.type, CHECK.Call)
            graph.add(node, CHECK.function, ox.NamedNode(name))


def parts(query: Query) -> list[list[list[int]]]:
    """Return, for each scope of the query that falls into parts which nothing joins, the numbers of their patterns.

    A scope is a SELECT, one OPTIONAL or one branch of a UNION; what is inside EXISTS and MINUS makes no rows and is not
    judged. Shared variables and blank nodes join, an IRI that the query describes (it is a subject), a
    comparison or call of a FILTER, BIND, VALUES and the columns of a sub-select. A constant that is only an object
    joins nothing, nor does a pattern without variables, which makes no rows. An OPTIONAL joins what is inside it, and
    what is outside only where a query asks with BOUND whether it holds. An ASK has no rows to multiply, and no harm is
    done where all that is selected are aggregates that count nothing twice. [] for a query with triple terms, which
    join as well and are not read.
    """
    if query.triple_terms or query.form == "ASK":
        return []
    leaders = _Leaders()
    for join in query.joins:
        leaders.join(list(join))
    described = {pattern.subject for pattern in query.patterns if isinstance(pattern.subject, ox.NamedNode)}
    optional = {pattern for pattern in query.patterns if any(scope.kind == "optional" for scope in pattern.unless)}
    late = optional if "BOUND" not in query.functions else set()
    regions = _regions(query)
    found = []
    for inside in (False, True):
        for pattern in query.patterns:
            if (pattern in late) == inside:
                leaders.join(_joining(pattern, described))
        for numbers in regions:
            if (query.patterns[numbers[0]] in late) == inside:
                groups: dict[ReadTerm, list[int]] = {}
                for number in numbers:
                    groups.setdefault(leaders.of(_joining(query.patterns[number])[0]), []).append(number)
                found.append(list(groups.values()))
    return [each for each in found if len(each) > 1]


def _joining(pattern: Pattern, described: Set[ReadTerm] = frozenset()) -> list[ReadTerm]:
    """Return what a pattern joins to others by, its subject first; an IRI that is an object only if it is described."""
    ends = (pattern.predicate, pattern.object)
    return [pattern.subject, *(term for term in ends if isinstance(term, Variable | Blank) or term in described)]


def _regions(query: Query) -> list[list[int]]:
    """Return the patterns with variables, by number, of each scope that makes rows."""
    regions: dict[tuple[Scope, ...], list[int]] = {}
    for number, pattern in enumerate(query.patterns):
        region = tuple(scope for scope in pattern.context if scope.kind in ("subselect", "optional", "union"))
        hidden = any(scope.kind in ("exists", "not exists", "minus") for scope in pattern.context)
        if not hidden and any(isinstance(end, Variable | Blank) for end in _joining(pattern)):
            regions.setdefault(region, []).append(number)
    harmless = _counted_once(query)
    return [numbers for region, numbers in regions.items() if _selects(region) not in harmless]


def _counted_once(query: Query) -> set[tuple[Scope, ...]]:
    """Return the SELECTs without GROUP BY whose aggregates are the same however often a row occurs."""
    selects: dict[tuple[Scope, ...], bool] = {}
    for each in query.aggregates:
        once = each.grouping is None and (each.distinct or each.name in ("MIN", "MAX", "SAMPLE"))
        selects[_selects(each.context)] = selects.get(_selects(each.context), True) and once
    return {select for select, once in selects.items() if once}


def _selects(context: tuple[Scope, ...]) -> tuple[Scope, ...]:
    return tuple(scope for scope in context if scope.kind == "subselect")


class _Leaders:
    """Union-find over terms."""

    def __init__(self) -> None:
        self._up: dict[ReadTerm, ReadTerm] = {}

    def of(self, term: ReadTerm) -> ReadTerm:
        while (up := self._up.get(term, term)) != term:
            self._up[term] = self._up.get(up, up)
            term = up
        return term

    def join(self, terms: list[ReadTerm]) -> None:
        for term in terms[1:]:
            self._up[self.of(term)] = self.of(terms[0])
