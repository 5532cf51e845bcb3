"""A tree that follows its leaves: what a change touches, what it leaves alone, and that it can be taken back."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.methods.sire_rag.clustering import Clustering
from kgrag.methods.sire_rag.summary_trees import Forester, Leaf, Standing, Summary, change, grow, successors
from kgrag.testing import HashEmbedder

KINDS = ("barley malt brewing", "glacier ice moraine", "violin string concerto", "tariff customs import")


def leaf(number: int) -> Leaf:
    return Leaf(f"urn:leaf:{number:03}", f"{KINDS[number % 4]} item{number}")


def leaves(n: int) -> list[Leaf]:
    return [leaf(number) for number in range(n)]


def forester(tokens: int = 60, summary: str | None = None) -> Forester:
    def summarise(groups: Sequence[Sequence[str]]) -> list[str]:
        return [
            " ".join(sorted({text.split()[-1] for text in group})) if summary is None else summary for group in groups
        ]

    return Forester(
        summarise=summarise,
        embed=lambda texts: HashEmbedder().embed(texts, "passage"),
        name=lambda level, text, children: f"urn:node:{level}:{text}:{'+'.join(children)}",
        clustering=Clustering(tokens=tokens, texts=3),
    )


def standing(of: Sequence[Leaf], summaries: Sequence[Summary]) -> Standing:
    return Standing(frozenset(leaf.iri for leaf in of), tuple(summaries))


TREE = grow(leaves(100), forester())


def test_the_same_leaves_change_nothing() -> None:
    assert change(standing(leaves(100), TREE), leaves(100), {}, forester()) == (sorted(TREE, key=lambda n: n.level), 0)


def test_a_new_leaf_changes_one_node_a_level_and_no_other() -> None:
    after, made = change(standing(leaves(100), TREE), leaves(101), {}, forester())
    fresh = {node.iri for node in after} - {node.iri for node in TREE}
    assert 1 <= made == len(fresh)
    assert [node.level for node in after if node.iri in fresh].count(1) == 1
    assert any(leaf(100).iri in node.children for node in after)


@settings(max_examples=10, deadline=None)
@given(st.sets(st.integers(100, 400), min_size=1, max_size=8))
def test_leaves_that_come_and_go_leave_the_tree_as_it_was(numbers: set[int]) -> None:
    more = [*leaves(100), *map(leaf, sorted(numbers))]
    after, _ = change(standing(leaves(100), TREE), more, {}, forester())
    back, _ = change(standing(more, after), leaves(100), {}, forester())
    assert {node.iri: node for node in back} == {node.iri: node for node in TREE}


def test_a_leaf_that_takes_the_place_of_another_stands_in_its_clusters() -> None:
    heir = Leaf("urn:leaf:heir", "tariff customs import changed")
    after, _ = change(standing(leaves(100), TREE), [*leaves(100)[1:], heir], {leaf(0).iri: heir.iri}, forester())
    before = sum(leaf(0).iri in node.children for node in TREE)
    assert sum(heir.iri in node.children for node in after) == before > 0
    assert all(leaf(0).iri not in node.children for node in after)


def test_a_cluster_that_is_left_with_one_member_gives_its_place_to_it() -> None:
    pair = Summary("urn:node:pair", "both", 1, (leaf(0).iri, leaf(1).iri))
    top = Summary("urn:node:top", "all", 2, ("urn:node:pair", leaf(2).iri))
    after, _ = change(standing(leaves(3), [pair, top]), [leaf(0), leaf(2)], {}, forester())
    assert [(node.level, node.children) for node in after] == [(2, (leaf(0).iri, leaf(2).iri))]


def test_a_node_without_words_is_written_again() -> None:
    silent = [Summary(node.iri, "" if node.level == 2 else node.text, node.level, node.children) for node in TREE]
    after, made = change(standing(leaves(100), silent), leaves(100), {}, forester())
    assert made == sum(node.level == 2 for node in TREE) > 0
    assert {node.iri for node in after} == {node.iri for node in TREE}


def test_a_giant_leaf_joins_no_cluster() -> None:
    giant = Leaf("urn:leaf:giant", "barley " * 500)
    after, made = change(standing(leaves(100), TREE), [*leaves(100), giant], {}, forester())
    assert made == 0
    assert all(giant.iri not in node.children for node in after)


def test_when_all_leaves_go_no_node_stays() -> None:
    assert change(standing(leaves(100), TREE), [], {}, forester()) == ([], 0)


def test_a_model_without_words_leaves_the_first_member_to_speak() -> None:
    after, _ = change(standing(leaves(100), TREE), leaves(101), {}, forester(summary=" "))
    assert all(node.text.strip() for node in after)


def test_a_tree_without_summaries_takes_new_leaves_as_they_are() -> None:
    assert change(standing(leaves(2), []), leaves(3), {}, forester()) == ([], 0)


@pytest.mark.parametrize("swap", [False, True])
def test_pairs_share_most_parts_and_are_the_same_both_ways(swap: bool) -> None:
    old = {"a": frozenset("12"), "b": frozenset("34"), "c": frozenset("9")}
    new = {"x": frozenset("123"), "y": frozenset("345"), "z": frozenset("7")}
    found = successors(new, old) if swap else successors(old, new)
    assert found == ({"x": "a", "y": "b"} if swap else {"a": "x", "b": "y"})
