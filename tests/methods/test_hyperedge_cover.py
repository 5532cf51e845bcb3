from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.methods.og_rag import hyperedge_cover
from kgrag.methods.og_rag.hyperedge_cover import exact_cover, greedy_cover

nodes = st.sets(st.sampled_from("abcdefgh"))
edges = st.dictionaries(st.text(alphabet="xyz", min_size=1, max_size=2), nodes, max_size=8)
limits = st.integers(1, 4)
weights = st.fixed_dictionaries({node: st.integers(1, 5).map(float) for node in "abcdefgh"})
EIGHT = set("abcdefgh")


def covered(chosen, held):
    return EIGHT & set().union(*(held[edge] for edge in chosen))


def worth(chosen, held, weighed):
    return sum(weighed[node] for node in covered(chosen, held))


def test_the_edge_that_covers_most_comes_first():
    assert greedy_cover({"x", "y", "z"}, {"a": {"x", "y"}, "b": {"z"}, "c": {"y"}}, limit=2) == ["a", "b"]


def test_ties_go_to_the_larger_edge_then_to_the_iri_that_sorts_first():
    held = {"b": {"x", "other"}, "c": {"x"}, "a": {"x", "other"}}
    assert greedy_cover({"x"}, held, limit=3) == ["a"]


def test_ranks_decide_ties_where_they_are_given():
    held = {"a": {"x"}, "b": {"x"}}
    assert greedy_cover({"x"}, held, limit=1, ranks={"a": (3, 0.1), "b": (3, 0.2)}) == ["b"]


def test_it_stops_when_all_is_covered_and_when_nothing_more_can_be():
    held = {"a": {"x", "y"}, "b": {"x"}}
    assert greedy_cover({"x", "y"}, held, limit=5) == ["a"]
    assert greedy_cover({"x", "q"}, held, limit=5) == ["a"]
    assert greedy_cover(set(), held, limit=5) == []
    assert greedy_cover({"x"}, {}, limit=5) == []


@pytest.mark.parametrize("cover", [greedy_cover, exact_cover])
def test_a_limit_below_1_is_refused(cover):
    with pytest.raises(ValueError, match="limit"):
        cover({"x"}, {"a": {"x"}}, limit=0)


@given(edges, limits)
def test_every_step_covers_something_new_and_no_more_than_the_step_before(held, limit):
    chosen, left, before = greedy_cover(EIGHT, held, limit=limit), set(EIGHT), 9
    assert len(chosen) <= limit
    for edge in chosen:
        gain = len(left & held[edge])
        assert 0 < gain <= before
        left -= held[edge]
        before = gain


@given(edges, limits, weights)
def test_exact_cover_is_worth_as_much_as_the_best_of_all_choices(held, limit, weighed):
    chosen = exact_cover(EIGHT, held, limit=limit, weights=weighed)
    every = [choice for size in range(min(limit, len(held)) + 1) for choice in combinations(held, size)]
    best = max(worth(choice, held, weighed) for choice in every)
    assert worth(chosen, held, weighed) == best
    assert len(chosen) == min(len(choice) for choice in every if worth(choice, held, weighed) == best)


@given(edges, limits)
def test_greedy_covers_at_least_63_in_100_of_what_exact_covers(held, limit):
    greedy = len(covered(greedy_cover(EIGHT, held, limit=limit), held))
    assert greedy >= 0.632 * len(covered(exact_cover(EIGHT, held, limit=limit), held))


def test_exact_finds_what_greedy_misses():
    held = {"a": set("1234"), "b": set("125"), "c": set("346")}
    assert set(exact_cover(set("123456"), held, limit=2)) == {"b", "c"}


def test_exact_cover_of_20_nodes_and_500_edges_ends():
    wanted = {str(number) for number in range(20)}
    held = {f"e{seed:03}": {str((seed * step) % 20) for step in (1, 3, 7, 9)} for seed in range(500)}
    assert 1 <= len(exact_cover(wanted, held, limit=5)) <= 5


def test_weights_outdo_counts():
    held = {"many": {"x", "y"}, "one": {"z"}}
    assert greedy_cover({"x", "y", "z"}, held, limit=1, weights={"x": 0.1, "y": 0.1, "z": 1.0}) == ["one"]


@pytest.mark.parametrize(
    ("of_rows", "of_sets"), [(hyperedge_cover._greedy, greedy_cover), (hyperedge_cover._exact, exact_cover)]
)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), limit=st.integers(1, 5))
def test_rows_of_an_array_are_chosen_as_sets_are(of_rows, of_sets, data, limit):
    nodes, edges = data.draw(st.integers(1, 8)), data.draw(st.integers(1, 12))
    has = np.array(data.draw(st.lists(st.booleans(), min_size=nodes * edges, max_size=nodes * edges)))
    has = has.reshape(edges, nodes)
    worth = data.draw(st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=nodes, max_size=nodes))
    held = {f"{row:03}": {str(column) for column in np.flatnonzero(has[row])} for row in range(edges)}
    names = [str(column) for column in range(nodes)]
    weights = dict(zip(names, worth, strict=True))
    chosen = of_sets(set(names), held, limit=limit, weights=weights, ranks=dict.fromkeys(held, ()))
    assert [f"{row:03}" for row in of_rows(has, np.array(worth), limit)] == chosen
