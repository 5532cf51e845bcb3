"""Blank nodes are named by what they say, whatever a parser called them."""

from itertools import pairwise

import pyoxigraph as ox
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.audit.blank_node_names import BlankNodes

P, Q, S = (ox.NamedNode(f"urn:{name}") for name in "pqs")


def blank(name: str) -> ox.BlankNode:
    return ox.BlankNode(name)


def keys(triples: list[ox.Triple]) -> set[tuple[str, str, str]]:
    nodes = BlankNodes.of(triples)
    return {(nodes.key(t.subject), str(t.predicate), nodes.key(t.object)) for t in triples}


def test_two_that_say_the_same_have_one_name() -> None:
    triples = [ox.Triple(blank(name), P, ox.Literal("x")) for name in "ab"]
    assert len(keys(triples)) == 1


def test_two_that_say_different_things_have_two_names() -> None:
    triples = [ox.Triple(blank(name), P, ox.Literal(name)) for name in "ab"]
    assert len(keys(triples)) == 2


def test_a_cycle_has_a_name_and_is_told_from_one_with_another_exit() -> None:
    ring = [ox.Triple(blank("a"), P, blank("b")), ox.Triple(blank("b"), P, blank("a"))]
    other = [*ring, ox.Triple(blank("b"), Q, S)]
    assert keys(ring) == keys([ox.Triple(blank("x"), P, blank("y")), ox.Triple(blank("y"), P, blank("x"))])
    assert keys(ring) != keys(other)


def test_a_list_of_ten_thousand_members_is_named_without_recursion() -> None:
    first, rest = (ox.NamedNode(f"http://www.w3.org/1999/02/22-rdf-syntax-ns#{name}") for name in ("first", "rest"))
    cells = [blank(f"c{n}") for n in range(10_000)]
    triples = [ox.Triple(cell, first, ox.Literal(str(n))) for n, cell in enumerate(cells)]
    triples += [ox.Triple(cell, rest, after) for cell, after in pairwise(cells)]
    nodes = BlankNodes.of(triples)
    assert len(set(nodes.names.values())) == 10_000
    assert nodes.written(cells[0]).endswith("... )")


def test_the_owner_is_the_nearest_named_thing() -> None:
    triples = [ox.Triple(S, P, blank("a")), ox.Triple(blank("a"), P, blank("b")), ox.Triple(blank("c"), P, blank("c"))]
    nodes = BlankNodes.of(triples)
    assert (nodes.owner("b"), nodes.owner("c")) == ("urn:s", "")


PAIRS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from([P, Q]), st.one_of(st.integers(0, 5), st.sampled_from([S]))),
    max_size=12,
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(PAIRS, st.permutations(range(6)))
def test_another_naming_of_the_same_graph_gives_the_same_keys(pairs, order) -> None:
    def graph(names: list[int]) -> list[ox.Triple]:
        ends = ((s, p, blank(f"n{names[o]}") if isinstance(o, int) else o) for s, p, o in pairs)
        return [ox.Triple(blank(f"n{names[s]}"), p, o) for s, p, o in ends]

    assert keys(graph(list(range(6)))) == keys(graph(list(order)))
