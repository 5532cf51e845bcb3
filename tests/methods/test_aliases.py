"""Names of one thing: followed in both directions, through cycles, and up to a bound."""

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from kgrag import KnowledgeBase
from kgrag.methods.poly_rag.aliases import MAX_ALIASES, aliases, shared, with_aliases
from kgrag.model import GraphDraft
from kgrag.vocab import KG, OWL

NEAR = ox.NamedNode("urn:near")


def thing(number: int) -> ox.NamedNode:
    return ox.NamedNode(f"urn:thing:{number}")


def link(one: int, other: int) -> ox.Triple:
    return ox.Triple(thing(one), OWL.sameAs, thing(other))


def loaded(kb: KnowledgeBase, *graphs: list[ox.Triple]) -> KnowledgeBase:
    drafts = [
        GraphDraft(ox.NamedNode(f"urn:data:{place}"), KG.DataGraph, triples) for place, triples in enumerate(graphs)
    ]
    kb.store.publish(drafts)
    return kb


def test_links_are_followed_both_ways_and_across_graphs(kb: KnowledgeBase) -> None:
    loaded(kb, [link(1, 2)], [link(3, 2)], [link(4, 5)])
    assert aliases([thing(1).value], kb.store) == [thing(2).value, thing(3).value]
    assert with_aliases([thing(3).value], kb.store) == (thing(3).value, thing(2).value, thing(1).value)


def test_a_cycle_ends(kb: KnowledgeBase) -> None:
    loaded(kb, [link(1, 2), link(2, 3), link(3, 1)])
    assert aliases([thing(1).value], kb.store) == [thing(2).value, thing(3).value]


def test_a_thing_without_links_has_no_other_name(kb: KnowledgeBase) -> None:
    loaded(kb, [ox.Triple(thing(1), NEAR, thing(2))])
    assert aliases([thing(1).value], kb.store) == []
    assert aliases([], kb.store) == []


def test_a_chain_is_followed_up_to_the_bound(kb: KnowledgeBase) -> None:
    loaded(kb, [link(number, number + 1) for number in range(2 * MAX_ALIASES)])
    assert len(aliases([thing(0).value], kb.store)) == MAX_ALIASES


LINKS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=8)


@given(LINKS)
def test_what_is_said_of_one_name_is_said_of_every_name_and_of_nothing_else(pairs: list[tuple[int, int]]) -> None:
    fact = ox.Triple(thing(0), NEAR, thing(9))
    told = shared([fact, *(link(one, other) for one, other in pairs)])
    same = {0}
    for _ in pairs:
        same |= {end for pair in pairs if same & set(pair) for end in pair}
    assert set(told) == {ox.Triple(thing(number), NEAR, thing(9)) for number in same - {0}}
    assert len(told) == len(set(told))
