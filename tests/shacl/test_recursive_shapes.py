"""Recursive shapes, beside a definition that walks the data: acyclic data are decided, however deep they are."""

import random

import pyoxigraph as ox
import pytest

from kgrag import shacl
from kgrag.errors import InvalidRDF
from kgrag.model import Table
from tests.quad_store import QuadStore

EX = "http://example.org/"
PREFIXES = "@prefix ex: <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> .\n"
GRAPH = ox.NamedNode(EX + "g")
NODES = 14

SOUND = "sh:property [ sh:path ex:bad ; sh:maxCount 0 ]"
EVERY = f"ex:S sh:targetClass ex:P ; {SOUND} ; sh:property [ sh:path ex:k ; sh:node ex:S ] ."
MUTUAL = f"ex:S sh:targetClass ex:P ; sh:property [ sh:path ex:k ; sh:node ex:T ] . ex:T {SOUND} ; sh:and ( [ sh:node ex:S ] ) ."
SOME = f"ex:S sh:targetClass ex:P ; sh:or ( [ {SOUND} ] [ sh:path ex:k ; sh:qualifiedValueShape ex:S ; sh:qualifiedMinCount 1 ] ) ."


def departing(shapes: str, data: str) -> set[str]:
    """Return the local names of the focus nodes that violate shapes."""
    store = QuadStore(ox.parse(f"{PREFIXES} ex:g {{ {data} }}".encode(), format=ox.RdfFormat.TRIG))
    compiled = shacl.load_shapes((), triples=ox.parse((PREFIXES + shapes).encode(), format=ox.RdfFormat.TURTLE))
    found = shacl.validate(store, compiled, graphs=[GRAPH], merged=True)
    return {violation.focus.removeprefix(EX) for violation in found}


def world(seed: int) -> tuple[dict[int, set[int]], set[int]]:
    """Return edges of an acyclic graph, and its bad nodes."""
    chance = random.Random(seed)
    edges = {n: {m for m in range(n + 1, NODES) if chance.random() < 0.2} for n in range(NODES)}
    return edges, {n for n in range(NODES) if chance.random() < 0.3}


def turtle(edges: dict[int, set[int]], bad: set[int]) -> str:
    lines = [f"ex:n{n} a ex:P ." for n in edges]
    lines += [f"ex:n{n} ex:k ex:n{m} ." for n, others in edges.items() for m in others]
    return "\n".join([*lines, *(f"ex:n{n} ex:bad 1 ." for n in bad)])


def oracle(name: str, edges: dict[int, set[int]], bad: set[int]) -> set[str]:
    """Return what departs, each node decided after those that it leads to."""
    own: set[int] = set()  # of SOUND, and of what it leads to
    for n in sorted(edges, reverse=True):
        some, every = n in bad and not edges[n] - own, n in bad or bool(edges[n] & own)
        fails = some if name == "some" else every
        own |= {n} if fails else set()
    if name == "mutual":
        own = {n for n in edges if edges[n] & own}
    return {f"n{n}" for n in own}


@pytest.mark.parametrize(("name", "shapes"), [("every", EVERY), ("mutual", MUTUAL), ("some", SOME)])
def test_acyclic_data_are_decided_as_a_walk_decides_them(name: str, shapes: str) -> None:
    for seed in range(8):
        edges, bad = world(seed)
        assert departing(shapes, turtle(edges, bad)) == oracle(name, edges, bad), seed


def test_a_violation_five_steps_deep_is_found() -> None:
    chain = " ".join(f"ex:c{n} ex:k ex:c{n + 1} ." for n in range(20))
    assert departing(EVERY, f"ex:c0 a ex:P . {chain} ex:c5 ex:bad 1 .") == {"c0"}
    assert departing(EVERY, f"ex:c0 a ex:P . {chain}") == set()


def test_a_target_node_that_no_triple_mentions_is_judged_too() -> None:
    shapes = "ex:S sh:targetNode ex:absent ; sh:node ex:T . ex:T sh:property [ sh:path ex:q ; sh:minCount 1 ; sh:node ex:T ] ."
    assert departing(shapes, "ex:a ex:b ex:c .") == {"absent"}


def test_what_rests_on_a_cycle_of_the_data_is_refused_and_what_does_not_is_decided() -> None:
    cycle = "ex:a a ex:P ; ex:k ex:b . ex:b ex:k ex:a ."
    with pytest.raises(InvalidRDF, match="a cycle of the data"):
        departing(EVERY, cycle)
    assert departing(EVERY, f"{cycle} ex:b ex:bad 1 .") == {"a"}


class Counting(QuadStore):
    """Counts what a store is asked."""

    def __init__(self, data: str) -> None:
        super().__init__(ox.parse(f"{PREFIXES} ex:g {{ {data} }}".encode(), format=ox.RdfFormat.TRIG))
        self.rows = 0

    def select(self, sparql: str) -> Table:
        found = super().select(sparql)
        self.rows += len(found.rows)
        return found


@pytest.mark.parametrize("shapes", [EVERY, MUTUAL, SOME])
@pytest.mark.parametrize("targets", ["one", "all"])
def test_what_is_read_of_a_chain_is_in_proportion_to_its_length(shapes: str, targets: str) -> None:
    compiled = shacl.load_shapes((), triples=ox.parse((PREFIXES + shapes).encode(), format=ox.RdfFormat.TURTLE))
    read = []
    for length in (50, 200):
        links = " ".join(f"ex:c{n} ex:k ex:c{n + 1} ." for n in range(length))
        typed = " ".join(f"ex:c{n} a ex:P ." for n in range(length if targets == "all" else 1))
        store = Counting(f"{links} {typed} ex:c{length} ex:bad 1 .")
        shacl.validate(store, compiled, graphs=[GRAPH], merged=True)
        read.append(store.rows)
    assert read[1] <= 5 * read[0]  # in rounds, each reads the whole chain again


def test_a_disjoint_qualified_shape_that_leads_back_beside_another_is_not_decided() -> None:
    shapes = (
        "ex:S sh:targetClass ex:P ; sh:property [ sh:path ex:k ; sh:qualifiedValueShape [ sh:nodeKind sh:IRI ] ; "
        "sh:qualifiedMinCount 1 ; sh:qualifiedValueShapesDisjoint true ] , "
        "[ sh:path ex:k ; sh:qualifiedValueShape ex:S ; sh:qualifiedMinCount 0 ] ."
    )
    with pytest.raises(InvalidRDF, match="disjoint qualified shape"):
        departing(shapes, "ex:a a ex:P ; ex:k ex:b . ex:b ex:k ex:c . ex:c ex:k ex:d .")


def test_what_an_alternative_asks_of_few_nodes_does_not_stand_for_all() -> None:
    shapes = (
        f"ex:S sh:targetClass ex:P ; sh:or ( [ {SOUND} ] [ sh:node ex:T ] ) ; sh:node ex:T . "
        "ex:T sh:property [ sh:path ex:q ; sh:maxCount 0 ] ; sh:property [ sh:path ex:k ; sh:node ex:T ] ."
    )
    assert departing(shapes, "ex:a a ex:P ; ex:q 1 . ex:b a ex:P ; ex:bad 1 .") == {"a"}
