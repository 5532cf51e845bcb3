"""What follows from graphs by the rules of RDFS or OWL 2 RL, as triples of their own.

The rules are stored updates (``queries/inference``), each under its number in the specification. They are run on a
scratch store until nothing is added, so that any graphs, whoever made them, are reasoned over by the same function.
Hierarchies and equalities (rdfs5, rdfs11, scm-sco, scm-spo, scm-eqc, scm-eqp, eq-sym, eq-trans) are closed here, by
components: a cycle of *n* classes has n² pairs, and joining them takes n³ operations.

Sources: RDF 1.1 Semantics (W3C 2014), section 9.2.1; OWL 2 Web Ontology Language Profiles (W3C 2012), section 4.3.

That a literal is of a datatype (dt-type2) is no triple here; that it is not (dt-not-type) is found where its own
datatype, a range or an owl:allValuesFrom demands it.

Deviations: conclusions that are true of every term (``?x a rdfs:Resource``, ``?c rdfs:subClassOf ?c``) and the axioms
of the vocabularies themselves are left out, and so are the types of literals. Blank nodes take part, but what follows
about one, which no other graph could name, is left out. A position of a list keeps the name that was written there,
whatever is the same as it (eq-rep-o).

Queries: ``inference/*``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError
from kgrag.late_patterns import late_re
from kgrag.model import GraphDraft, Term, plain
from kgrag.ports import TripleStore, Workbench
from kgrag.reasoning.reachability import reachable
from kgrag.resources import closest
from kgrag.store.value_spaces import DATATYPES, is_value_of
from kgrag.vocab import KG, OWL, RDF, RDFS, Names, local_name

__all__ = [
    "PROFILES",
    "Contradiction",
    "Inferences",
    "Rule",
    "applications",
    "apply",
    "contradictions_in",
    "follows",
    "inference_draft",
    "inference_graph",
    "materialise",
    "refuse_unknown",
    "rules",
    "stale_inferences",
]

PROFILES = ("rdfs", "owl-rl")
MAX_CONCLUSIONS = 5_000_000
"""More are refused: they would fill the memory before anybody could read them."""

_TOO_MANY = (
    f"more than {MAX_CONCLUSIONS:,} triples follow {{}}. Reason over fewer graphs, or over a part of the ontology."
)
_CLOSURE = ox.NamedNode("urn:kgrag:inference:closure")
_MEMBERS = ox.NamedNode("urn:kgrag:inference:members")
_ORDERS: dict[str, tuple[tuple[ox.NamedNode, ox.NamedNode | None], ...]] = {
    "rdfs": ((RDFS.subPropertyOf, None), (RDFS.subClassOf, None)),
    "owl-rl": (
        (OWL.sameAs, OWL.sameAs),
        (RDFS.subPropertyOf, OWL.equivalentProperty),
        (RDFS.subClassOf, OWL.equivalentClass),
    ),
}
"""Transitive properties, each with the property that relates those that are above one another."""
_UPDATES = {"rdfs": ("rdfs",), "owl-rl": ("lists", "schema", "equality", "properties", "classes")}
"""The stored updates of a profile, in the order in which a round runs them."""
_HIERARCHIES = {
    "rdfs": {RDFS.subPropertyOf: "rdfs5", RDFS.subClassOf: "rdfs11"},
    "owl-rl": {
        OWL.sameAs: "eq-sym, eq-trans",
        RDFS.subPropertyOf: "scm-spo, scm-eqp",
        RDFS.subClassOf: "scm-sco, scm-eqc",
    },
}
"""The numbers of the rules that close a transitive property."""
_RULES_OF_LISTS = ("prp-spo2", "prp-key")
_LABELLED = late_re(r"^# (\S[^\n]*)\n(?=INSERT)", flags=re.MULTILINE)
"""The line above each rule of a stored update: its number in the specification."""
_Row = Sequence[Term | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a profile, to be run alone.

    It is an update; or, where that is "", the closing of a hierarchy (``above``), or what the chains or the keys that
    the triples state make of it.
    """

    name: str
    update: str = ""
    above: ox.NamedNode | None = None
    same: ox.NamedNode | None = None


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Statements that cannot all be true.

    ``rule`` is the number in OWL 2 Profiles, ``focus`` what they are about, ``value`` and ``other`` the two classes,
    values or names that exclude each other, as text; "" where there is none.
    """

    rule: str
    focus: str
    value: str = ""
    other: str = ""


@dataclass(frozen=True, slots=True)
class Inferences:
    """Conclusions that were not stated, sorted; contradictions; how many rounds of rules it took."""

    triples: tuple[ox.Triple, ...] = field(repr=False)
    contradictions: tuple[Contradiction, ...] = ()
    rounds: int = 0


def materialise(
    bench: Workbench, triples: Sequence[ox.Triple], *, profile: str = "rdfs", blank: bool = False
) -> Inferences:
    """Return what follows from triples.

    Args:
        bench: a scratch store; its former content is deleted.
        triples: the statements, ontologies and data together.
        profile: "rdfs" or "owl-rl"; contradictions are looked for by the second only.
        blank: keep what follows about blank nodes too, for a caller who reads it beside the triples themselves.

    Raises:
        InputError: there is no such profile, or more than five million triples follow.
    """
    refuse_unknown(profile)
    _refuse_explosion(triples)
    _fill(bench, triples)
    before = set(bench.triples(_CLOSURE))
    rounds = _run_to_the_end(bench, profile, len(before))
    new = (triple for triple in bench.triples(_CLOSURE) if triple not in before)
    conclusions = {triple for triple in new if _is_informative(triple, blank)}
    contradictions = _contradictions(bench, triples) if profile == "owl-rl" else ()
    return Inferences(tuple(sorted(conclusions, key=str)), contradictions, rounds)


def refuse_unknown(profile: str) -> None:
    """Refuse a profile that there is not. Raises InputError."""
    if profile not in PROFILES:
        raise InputError(f"there is no profile '{profile}' to reason by. {closest(profile, PROFILES)}")


def follows(bench: Workbench, triples: Sequence[ox.Triple], what: ox.Triple | Contradiction, *, profile: str) -> bool:
    """Return whether triples entail another one, or a contradiction, by the rules of a profile."""
    _fill(bench, triples)
    _run_to_the_end(bench, profile, len(triples))
    if isinstance(what, Contradiction):
        return what in _contradictions(bench, triples)
    return any(triple == what for triple in bench.triples(_CLOSURE))


def rules(profile: str) -> list[Rule]:
    """Return the rules of a profile, each to be run alone."""
    names = _HIERARCHIES[profile]
    found = [Rule(names[above], above=above, same=same) for above, same in _ORDERS[profile]]
    graphs = {"closure": _CLOSURE, "members": _MEMBERS}
    for update in _UPDATES[profile]:
        name = f"inference/{update}"
        text = queries.bind(name, **{key: graphs[key] for key in queries.describe(name).parameters})
        head, *parts = _LABELLED.split(text)
        prologue = "".join(f"{line}\n" for line in head.splitlines() if line.startswith("PREFIX"))
        pairs = zip(parts[::2], parts[1::2], strict=True)
        found += [Rule(label, prologue + body.strip().removesuffix(";")) for label, body in pairs]
    return [*found, *map(Rule, _RULES_OF_LISTS)] if profile == "owl-rl" else found


def apply(bench: Workbench, triples: Sequence[ox.Triple], rule: Rule) -> set[ox.Triple]:
    """Return what one rule, run once, concludes from triples and they do not state."""
    _fill(bench, triples)
    _list_members(bench)
    _run(bench, rule)
    return set(bench.triples(_CLOSURE)).difference(triples)


def applications(
    bench: Workbench, triples: Sequence[ox.Triple], profile: str
) -> Iterator[tuple[Rule, list[ox.Triple]]]:
    """Yield, rule by rule, what the rules of a profile conclude, until nothing is added; sorted within one rule."""
    known = list(dict.fromkeys(triples))
    every, size = rules(profile), -1
    while size != (size := len(known)):
        for rule in every:
            if added := sorted(apply(bench, known, rule), key=str):
                yield rule, added
                known += added


def contradictions_in(bench: Workbench, triples: Sequence[ox.Triple]) -> tuple[Contradiction, ...]:
    """Return the contradictions among triples as they are, without what follows from them."""
    _fill(bench, triples)
    _list_members(bench)
    return _contradictions(bench, triples)


def _fill(bench: Workbench, triples: Iterable[ox.Triple]) -> None:
    bench.fill([ox.Quad(triple.subject, triple.predicate, triple.object, _CLOSURE) for triple in triples])


def _list_members(bench: Workbench) -> None:
    bench.change(queries.bind("inference/lists", closure=_CLOSURE, members=_MEMBERS))


def _run(bench: Workbench, rule: Rule) -> None:
    if rule.above is not None:
        _close(bench, rule.above, rule.same, 0)
    elif rule.update:
        bench.change(rule.update)
    else:
        for name, update in _updates_of_lists(bench):
            if name == rule.name:
                bench.change(update)


def _contradictions(bench: Workbench, stated: Iterable[ox.Triple]) -> tuple[Contradiction, ...]:
    """Return the contradictions in the closure; literals are read as they are stated, since a store rewrites some."""
    rows = bench.select(queries.bind("inference/contradictions", closure=_CLOSURE, members=_MEMBERS)).values()
    asked = queries.bind("inference/literals_of_datatypes", closure=_CLOSURE, datatypes=sorted(DATATYPES, key=str))
    wanted: Iterable[_Row] = chain(
        ((t.subject, t.object, t.object.datatype) for t in stated if isinstance(t.object, ox.Literal)),
        bench.select(asked),
    )
    mistyped = {
        Contradiction("dt-not-type", plain(focus), value.value, plain(datatype))
        for focus, value, datatype in wanted
        if isinstance(value, ox.Literal) and isinstance(datatype, ox.NamedNode) and not is_value_of(value, datatype)
    }
    found = [*(Contradiction(*row) for row in rows), *sorted(mistyped, key=astuple)]
    return tuple(sorted(found, key=attrgetter("rule")))


def _run_to_the_end(bench: Workbench, profile: str, stated: int) -> int:
    """Run the rules until nothing is added, and return in how many rounds; refuse more than can be kept."""
    closed: dict[ox.NamedNode, int] = {}
    count = queries.bind("inference/size", closure=_CLOSURE)
    rounds, size = 0, -1
    # the rules only add, so that a round that leaves the size as it was has added nothing
    while size != (size := int(bench.select(count).values()[0][0])):
        if size > stated + MAX_CONCLUSIONS:
            raise InputError(_TOO_MANY.format(f"by {profile}"))
        rounds += 1
        for above, same in _ORDERS[profile]:
            closed[above] = _close(bench, above, same, closed.get(above, 0))
        _run_rules(bench, profile)
    return rounds


def _refuse_explosion(triples: Sequence[ox.Triple]) -> None:
    """Refuse hierarchies whose closure alone is too large, before the store works on it.

    Raises:
        InputError: more than five million pairs follow by one property.
    """
    for above, same in _ORDERS["owl-rl"]:
        edges = _edges(((t.predicate, t.subject, t.object) for t in triples if t.predicate in (above, same)), same)
        pairs = 0
        for members, reached in reachable(edges):
            pairs += len(members) * len(reached)
            if pairs > MAX_CONCLUSIONS:
                raise InputError(_TOO_MANY.format(f"by {local_name(above.value)} alone"))


def _edges(rows: Iterable[_Row], same: ox.NamedNode | None) -> dict[Term | None, list[Term | None]]:
    """Return term -> what is stated to be directly above it; of two that are the same, each is above the other."""
    edges: dict[Term | None, list[Term | None]] = {}
    for predicate, lower, upper in rows:
        edges.setdefault(lower, []).append(upper)
        if predicate == same:
            edges.setdefault(upper, []).append(lower)
    return edges


def _close(bench: Workbench, above: ox.NamedNode, same: ox.NamedNode | None, known: int) -> int:
    """Add what follows by transitivity, and by ``same``; return how many such statements there are.

    While there are as many as last time (``known``), nothing new can follow, and nothing is computed.
    """
    named = [above] if same in (None, above) else [above, same]
    stated = set(bench.select(queries.bind("inference/pairs", closure=_CLOSURE, properties=named)))
    if len(stated) == known:
        return known
    new = [
        ox.Quad(lower, predicate, upper, _CLOSURE)
        for predicate, lower, upper in _closure(stated, above, same)
        if lower != upper and (predicate, lower, upper) not in stated
    ]
    bench.add(new)
    return len(stated) + len(new)


def _closure(stated: Iterable[_Row], above: ox.NamedNode, same: ox.NamedNode | None) -> Iterator[tuple[Any, Any, Any]]:
    """Yield every (property, lower, upper) that follows from those that are stated, with repetitions."""
    for members, reached in reachable(_edges(stated, same)):
        for lower in members:
            yield from ((above, lower, upper) for upper in reached)
            if same is not None and len(members) > 1:
                yield from ((same, lower, member) for member in members)


def _run_rules(bench: Workbench, profile: str) -> None:
    """Run each stored update of a profile once, then those of property chains and keys."""
    graphs = {"closure": _CLOSURE, "members": _MEMBERS}
    for update in _UPDATES[profile]:
        name = f"inference/{update}"
        bench.change(queries.bind(name, **{key: graphs[key] for key in queries.describe(name).parameters}))
    if profile == "owl-rl":
        for _, bound in _updates_of_lists(bench):
            bench.change(bound)


def _updates_of_lists(bench: Workbench) -> list[tuple[str, str]]:
    """Return a rule's number and an update for each property chain and each key.

    Those with a blank node as a member are left out.
    """
    lists: dict[tuple[str, ...], list[ox.NamedNode]] = {}
    for owner, kind, node, _, member in bench.select(queries.bind("inference/sequences", closure=_CLOSURE)):
        if isinstance(owner, ox.NamedNode) and isinstance(member, ox.NamedNode):
            lists.setdefault((owner.value, plain(kind), str(node)), []).append(member)
    updates = []
    for (owner_iri, kind_iri, _), members in lists.items():
        owned = ox.NamedNode(owner_iri)
        if kind_iri == OWL.hasKey.value:
            bound = queries.bind("inference/key", closure=_CLOSURE, **{"class": owned}, key=members)
            updates.append(("prp-key", bound))
        else:
            bound = queries.bind("inference/chain", closure=_CLOSURE, property=owned, chain=members)
            updates.append(("prp-spo2", bound))
    return updates


def _is_informative(triple: ox.Triple, blank: bool) -> bool:
    """Return whether a conclusion is not true of everything, and, unless ``blank``, about named terms."""
    subject, predicate, value = triple.subject, triple.predicate, triple.object
    nameless = isinstance(subject, ox.BlankNode) or isinstance(value, ox.BlankNode)
    if not isinstance(subject, ox.NamedNode | ox.BlankNode) or (nameless and not blank) or subject == value:
        return False
    trivial = value in (OWL.Thing, RDFS.Resource) and predicate in (RDF.type, RDFS.subClassOf, RDFS.domain, RDFS.range)
    return not trivial and not (subject == OWL.Nothing and predicate in (RDFS.subClassOf, OWL.equivalentClass))


def inference_graph(sources: Sequence[ox.NamedNode], profile: str, names: Names) -> ox.NamedNode:
    """Return the name of the graph of what follows from some graphs by a profile."""
    return names.inference_graph(profile, *sorted(source.value for source in sources))


def inference_draft(
    inferences: Inferences, sources: Sequence[ox.NamedNode], *, profile: str, store: TripleStore
) -> GraphDraft:
    """Return the graph of what follows from some graphs of a store, ready to be published; reasoning again replaces it.

    Args:
        inferences: what follows.
        sources: the graphs that it follows from.
        profile: the rules.
        store: where the graphs are; its revision is recorded, so that a run after a change is a new statement.
    """
    return GraphDraft(
        iri=inference_graph(sources, profile, store.names),
        kind=KG.InferenceGraph,
        triples=inferences.triples,
        mode="replace",
        method="reason",
        sources=sorted(sources, key=str),
        described=[(KG.parameters, ox.Literal(f"profile={profile}; revision={store.revision}"))],
    )


def stale_inferences(store: TripleStore) -> list[ox.NamedNode]:
    """Return the inference graphs of a store with a source that was changed after them, or deleted."""
    table = store.select(queries.bind("inference/stale", catalogue=store.names.catalogue))
    return [graph for (graph,) in table if isinstance(graph, ox.NamedNode)]
