"""What follows from graphs by the rules of RDFS or OWL 2 RL, as triples of their own.

The rules are stored updates (``queries/inference``), each under its number in the specification. They are run on a
scratch store until nothing is added, so that any graphs, whoever made them, are reasoned over by the same function.
What is above what, and the same as what (rdfs5, rdfs11, scm-sco, scm-spo, scm-eqc, scm-eqp, eq-sym, eq-trans) is worked
out here, by components: a circle of *n* classes has n² pairs, and joining them takes n³ steps.

Sources: RDF 1.1 Semantics (W3C 2014), section 9.2.1; OWL 2 Web Ontology Language Profiles (W3C 2012), section 4.3.

Deviations: conclusions that hold of everything (``?x a rdfs:Resource``, ``?c rdfs:subClassOf ?c``, ``?x a owl:Thing``)
and the axioms of the vocabularies themselves are left out, and so are the types of literals. Blank nodes take part,
but what follows about one, which no other graph could name, is left out. A position of a list keeps the name that was
written there, whatever is the same as it (eq-rep-o).

Queries: ``inference/*``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError
from kgrag.model import GraphDraft, Term, plain
from kgrag.ports import TripleStore, Workbench
from kgrag.reasoning.reachability import reachable
from kgrag.resources import closest
from kgrag.vocab import KG, OWL, RDF, RDFS, Names, local_name

__all__ = [
    "PROFILES",
    "Contradiction",
    "Inferences",
    "inference_draft",
    "inference_graph",
    "materialise",
    "stale_inferences",
]

PROFILES = ("rdfs", "owl-rl")
_MOST = 5_000_000
_TOO_MANY = f"more than {_MOST:,} triples follow {{}}. Reason over fewer graphs, or over a part of the ontology."
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
"""Transitive properties, each with the property by which things that are above one another are the same."""
_Row = Sequence[Term | None]
_TABLES = {"rdfs": ("rdfs",), "owl-rl": ("lists", "schema", "equality", "properties", "classes")}


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
    """What follows and was not stated, sorted; the contradictions; how often the rules were run."""

    triples: tuple[ox.Triple, ...] = field(repr=False)
    contradictions: tuple[Contradiction, ...] = ()
    rounds: int = 0


def materialise(bench: Workbench, triples: Sequence[ox.Triple], *, profile: str = "rdfs") -> Inferences:
    """Give what follows from triples.

    Args:
        bench: a scratch store; what was in it goes.
        triples: the statements, ontologies and data together.
        profile: "rdfs" or "owl-rl"; contradictions are looked for by the second only.

    Raises:
        InputError: there is no such profile, or more than five million triples follow.
    """
    if profile not in PROFILES:
        raise InputError(f"there is no profile '{profile}' to reason by. {closest(profile, PROFILES)}")
    _refuse_explosion(triples)
    bench.fill([ox.Quad(each.subject, each.predicate, each.object, _CLOSURE) for each in triples])
    before = set(bench.triples(_CLOSURE))
    closed: dict[ox.NamedNode, int] = {}
    rounds, size = 0, -1
    while size != (size := _size(bench)):
        if size > len(before) + _MOST:
            raise InputError(_TOO_MANY.format(f"by {profile}"))
        rounds += 1
        for above, same in _ORDERS[profile]:
            closed[above] = _close(bench, above, same, closed.get(above, 0))
        _once(bench, profile)
    told = {each for each in bench.triples(_CLOSURE) if each not in before and _worth_telling(each)}
    found = _contradictions(bench) if profile == "owl-rl" else ()
    return Inferences(tuple(sorted(told, key=str)), found, rounds)


def _refuse_explosion(triples: Sequence[ox.Triple]) -> None:
    """Refuse what a chain of steps alone would make too large, before the store works on it.

    Raises:
        InputError: more than five million pairs follow by one property.
    """
    for above, same in _ORDERS["owl-rl"]:
        edges = _edges(((t.predicate, t.subject, t.object) for t in triples if t.predicate in (above, same)), same)
        pairs = 0
        for members, found in reachable(edges):
            pairs += len(members) * len(found)
            if pairs > _MOST:
                raise InputError(_TOO_MANY.format(f"by {local_name(above.value)} alone"))


def _edges(rows: Iterable[_Row], same: ox.NamedNode | None) -> dict[Term | None, list[Term | None]]:
    """Give what is stated to be directly above a thing; of two that are the same, each is."""
    edges: dict[Term | None, list[Term | None]] = {}
    for predicate, lower, upper in rows:
        edges.setdefault(lower, []).append(upper)
        if predicate == same:
            edges.setdefault(upper, []).append(lower)
    return edges


def _close(bench: Workbench, above: ox.NamedNode, same: ox.NamedNode | None, known: int) -> int:
    """Add what is above what, and the same as what; give how many such statements there are.

    Nothing is done while there are as many as the last time.
    """
    named = [above] if same in (None, above) else [above, same]
    stated = set(bench.select(queries.bind("inference/pairs", closure=_CLOSURE, properties=named)))
    if len(stated) == known:
        return known
    new = [
        ox.Quad(lower, predicate, upper, _CLOSURE)
        for predicate, lower, upper in _ordered(stated, above, same)
        if lower != upper and (predicate, lower, upper) not in stated
    ]
    bench.add(new)
    return len(stated) + len(new)


def _ordered(stated: Iterable[_Row], above: ox.NamedNode, same: ox.NamedNode | None) -> Iterator[tuple[Any, Any, Any]]:
    for members, found in reachable(_edges(stated, same)):
        for lower in members:
            yield from ((above, lower, upper) for upper in found)
            if same is not None and len(members) > 1:
                yield from ((same, lower, other) for other in members)


def _size(bench: Workbench) -> int:
    ((count,),) = bench.select(queries.bind("inference/size", closure=_CLOSURE)).values()
    return int(count)


def _once(bench: Workbench, profile: str) -> None:
    given = {"closure": _CLOSURE, "members": _MEMBERS}
    for table in _TABLES[profile]:
        name = f"inference/{table}"
        bench.change(queries.bind(name, **{key: given[key] for key in queries.describe(name).parameters}))
    if profile == "owl-rl":
        for update in _of_sequences(bench):
            bench.change(update)


def _of_sequences(bench: Workbench) -> list[str]:
    """Give an update for each property chain and each key; one that names a blank node says nothing of its own."""
    lists: dict[tuple[str, ...], list[ox.NamedNode]] = {}
    for owner, kind, node, _, member in bench.select(queries.bind("inference/sequences", closure=_CLOSURE)):
        if isinstance(owner, ox.NamedNode) and isinstance(member, ox.NamedNode):
            lists.setdefault((owner.value, plain(kind), str(node)), []).append(member)
    updates = []
    for (owner_iri, kind_iri, _), members in lists.items():
        owned = ox.NamedNode(owner_iri)
        if kind_iri == OWL.hasKey.value:
            updates.append(queries.bind("inference/key", closure=_CLOSURE, **{"class": owned}, key=members))
        else:
            updates.append(queries.bind("inference/chain", closure=_CLOSURE, property=owned, chain=members))
    return updates


def _worth_telling(triple: ox.Triple) -> bool:
    """Say whether a conclusion is about named things and not true of everything."""
    subject, predicate, value = triple.subject, triple.predicate, triple.object
    if not isinstance(subject, ox.NamedNode) or isinstance(value, ox.BlankNode) or subject == value:
        return False
    trivial = value in (OWL.Thing, RDFS.Resource) and predicate in (RDF.type, RDFS.subClassOf, RDFS.domain, RDFS.range)
    return not trivial and not (subject == OWL.Nothing and predicate in (RDFS.subClassOf, OWL.equivalentClass))


def _contradictions(bench: Workbench) -> tuple[Contradiction, ...]:
    table = bench.select(queries.bind("inference/contradictions", closure=_CLOSURE, members=_MEMBERS))
    return tuple(Contradiction(*row) for row in table.values())


def inference_graph(sources: Sequence[ox.NamedNode], profile: str, names: Names) -> ox.NamedNode:
    """Name the graph of what follows from some graphs by a profile."""
    return names.inference_graph(profile, *sorted(source.value for source in sources))


def inference_draft(
    found: Inferences, sources: Sequence[ox.NamedNode], *, profile: str, store: TripleStore
) -> GraphDraft:
    """Give the graph of what follows from some graphs of a store, ready to be published; reasoning again replaces it.

    Args:
        found: what follows.
        sources: the graphs that it follows from.
        profile: the rules.
        store: where the graphs are; its revision is kept, so that a new run is a new statement.
    """
    return GraphDraft(
        iri=inference_graph(sources, profile, store.names),
        kind=KG.InferenceGraph,
        triples=found.triples,
        mode="replace",
        method="reason",
        sources=sorted(sources, key=str),
        described=[(KG.parameters, ox.Literal(f"profile={profile}; revision={store.revision}"))],
    )


def stale_inferences(store: TripleStore) -> list[ox.NamedNode]:
    """Give the inference graphs of a store that were made before one of their sources was last changed, or is gone."""
    table = store.select(queries.bind("inference/stale", catalogue=store.names.catalogue))
    return [graph for (graph,) in table if isinstance(graph, ox.NamedNode)]
