"""What edges of a directed graph lead to, against a plain walk."""

from hypothesis import given
from hypothesis import strategies as st

from kgrag.reasoning.reachability import components, reachable

nodes = st.integers(0, 7)
graphs = st.dictionaries(nodes, st.lists(nodes, max_size=4))


def walked(start: int, edges: dict[int, list[int]]) -> set[int]:
    """Give what one step or more lead to."""
    found: set[int] = set()
    waiting = [start]
    while waiting:
        new = set(edges.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found


@given(graphs)
def test_each_node_leads_to_what_a_walk_from_it_reaches(edges: dict[int, list[int]]) -> None:
    told = {node: set(found) for members, found in reachable(edges) for node in members}
    assert told == {node: walked(node, edges) for node in told}
    assert set(told) == set(edges).union(*edges.values())


@given(graphs)
def test_nodes_are_of_one_component_when_they_lead_to_one_another(edges: dict[int, list[int]]) -> None:
    for members in components(edges):
        for node in members:
            mutual = {other for other in walked(node, edges) if node in walked(other, edges)}
            assert mutual | {node} == set(members)


def test_a_chain_may_be_longer_than_the_stack() -> None:
    edges = {number: [number + 1] for number in range(50_000)}
    assert len(components(edges)) == 50_001
