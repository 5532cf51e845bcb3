"""Summary trees: what is above what, where a tree ends, what a change touches, and that it can be taken back."""

from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.methods.sire_rag import summary_trees
from kgrag.methods.sire_rag.clustering import Clustering
from kgrag.methods.sire_rag.summary_trees import (
    SummaryNode,
    SummaryTree,
    TreeBuilder,
    TreeLeaf,
    change,
    grow,
    successors,
)
from kgrag.testing import HashEmbedder

KINDS = ("barley malt brewing", "glacier ice moraine", "violin string concerto", "tariff customs import")


def leaf(number: int) -> TreeLeaf:
    return TreeLeaf(f"urn:leaf:{number:03}", f"{KINDS[number % 4]} item{number}")


def leaves(n: int) -> list[TreeLeaf]:
    return [leaf(number) for number in range(n)]


# --- growing ---------------------------------------------------------------------------------------------------------


def growing(levels: int = 4, tokens: int = 60, summary: str = "") -> TreeBuilder:
    def summarise(groups: Sequence[Sequence[str]]) -> list[str]:
        return [summary or " ".join(sorted({text.split()[0] for text in group})) for group in groups]

    return TreeBuilder(
        summarise=summarise,
        embed=lambda texts: HashEmbedder().embed(texts, "passage"),
        name=lambda level, text, children: f"urn:node:{level}:{text}:{'+'.join(children)}",
        clustering=Clustering(tokens=tokens),
        levels=levels,
    )


@pytest.mark.parametrize("n", [0, 1, 2, 3, 11])
def test_a_few_leaves_need_no_summary(n: int) -> None:
    assert grow(leaves(n), growing()) == []


def test_every_leaf_stands_below_a_summary_of_the_first_level() -> None:
    nodes = grow(leaves(120), growing())
    below = {child for node in nodes for child in node.children}
    assert below >= {leaf.iri for leaf in leaves(120)}


def test_children_of_a_summary_are_on_lower_levels() -> None:
    nodes = grow(leaves(150), growing(tokens=20))
    level = {leaf.iri: 0 for leaf in leaves(150)} | {node.iri: node.level for node in nodes}
    assert max(level.values()) > 1
    assert all(level[child] < node.level for node in nodes for child in node.children)


def test_there_are_no_more_levels_than_asked_for() -> None:
    assert {node.level for node in grow(leaves(100), growing(levels=2, tokens=20))} == {1}
    assert grow(leaves(100), growing(levels=1)) == []


def test_the_order_of_leaves_decides_nothing() -> None:
    assert grow(leaves(90)[::-1], growing()) == grow(leaves(90), growing())


def test_equal_texts_make_a_tree_that_ends() -> None:
    same = [TreeLeaf(f"urn:leaf:{number}", "the same words") for number in range(60)]
    nodes = grow(same, growing(tokens=12))
    assert all(len(node.children) <= 4 for node in nodes if node.level == 1)


def test_a_giant_leaf_is_not_summarised_with_others() -> None:
    giant = TreeLeaf("urn:leaf:giant", "barley " * 5000)
    assert all(giant.iri not in node.children for node in grow([*leaves(60), giant], growing()))


def test_a_summary_without_words_is_no_node() -> None:
    assert grow(leaves(60), growing(summary=" ")) == []


# --- changing ---------------------------------------------------------------------------------------------------------


def changing(tokens: int = 60, summary: str | None = None) -> TreeBuilder:
    def summarise(groups: Sequence[Sequence[str]]) -> list[str]:
        return [
            " ".join(sorted({text.split()[-1] for text in group})) if summary is None else summary for group in groups
        ]

    return TreeBuilder(
        summarise=summarise,
        embed=lambda texts: HashEmbedder().embed(texts, "passage"),
        name=lambda level, text, children: f"urn:node:{level}:{text}:{'+'.join(children)}",
        clustering=Clustering(tokens=tokens, texts=3),
    )


def tree_of(of: Sequence[TreeLeaf], summaries: Sequence[SummaryNode]) -> SummaryTree:
    return SummaryTree(frozenset(leaf.iri for leaf in of), tuple(summaries))


def test_one_more_leaf_is_measured_beside_near_clusters_and_not_beside_all(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [SummaryNode(f"urn:node:{at:02}", "words", 1, (leaf(2 * at).iri, leaf(2 * at + 1).iri)) for at in range(60)]
    measured = list[str]()
    monkeypatch.setattr(summary_trees, "count_tokens", lambda text: measured.append(text) or 1)
    after, made = change(tree_of(leaves(120), nodes), leaves(121), {}, changing())
    assert made == 1 and sum(leaf(120).iri in node.children for node in after) == 1
    assert len(measured) <= 3  # itself, and the two members of the nearest cluster


@cache
def tree() -> tuple[SummaryNode, ...]:
    return tuple(grow(leaves(100), changing()))


def test_the_same_leaves_change_nothing() -> None:
    assert change(tree_of(leaves(100), tree()), leaves(100), {}, changing()) == (
        sorted(tree(), key=lambda n: n.level),
        0,
    )


def test_a_new_leaf_changes_one_node_a_level_and_no_other() -> None:
    after, made = change(tree_of(leaves(100), tree()), leaves(101), {}, changing())
    fresh = {node.iri for node in after} - {node.iri for node in tree()}
    assert 1 <= made == len(fresh)
    assert [node.level for node in after if node.iri in fresh].count(1) == 1
    assert any(leaf(100).iri in node.children for node in after)


@settings(max_examples=10, deadline=None)
@given(st.sets(st.integers(100, 400), min_size=1, max_size=8))
def test_leaves_that_come_and_go_leave_the_tree_as_it_was(numbers: set[int]) -> None:
    more = [*leaves(100), *map(leaf, sorted(numbers))]
    after, _ = change(tree_of(leaves(100), tree()), more, {}, changing())
    back, _ = change(tree_of(more, after), leaves(100), {}, changing())
    assert {node.iri: node for node in back} == {node.iri: node for node in tree()}


def test_a_leaf_that_takes_the_place_of_another_stands_in_its_clusters() -> None:
    heir = TreeLeaf("urn:leaf:heir", "tariff customs import changed")
    after, _ = change(tree_of(leaves(100), tree()), [*leaves(100)[1:], heir], {leaf(0).iri: heir.iri}, changing())
    before = sum(leaf(0).iri in node.children for node in tree())
    assert sum(heir.iri in node.children for node in after) == before > 0
    assert all(leaf(0).iri not in node.children for node in after)


def test_a_cluster_that_is_left_with_one_member_gives_its_place_to_it() -> None:
    pair = SummaryNode("urn:node:pair", "both", 1, (leaf(0).iri, leaf(1).iri))
    top = SummaryNode("urn:node:top", "all", 2, ("urn:node:pair", leaf(2).iri))
    after, _ = change(tree_of(leaves(3), [pair, top]), [leaf(0), leaf(2)], {}, changing())
    assert [(node.level, node.children) for node in after] == [(2, (leaf(0).iri, leaf(2).iri))]


def test_a_node_without_words_is_written_again() -> None:
    silent = [SummaryNode(node.iri, "" if node.level == 2 else node.text, node.level, node.children) for node in tree()]
    after, made = change(tree_of(leaves(100), silent), leaves(100), {}, changing())
    assert made == sum(node.level == 2 for node in tree()) > 0
    assert {node.iri for node in after} == {node.iri for node in tree()}


def test_a_giant_leaf_joins_no_cluster() -> None:
    giant = TreeLeaf("urn:leaf:giant", "barley " * 500)
    after, made = change(tree_of(leaves(100), tree()), [*leaves(100), giant], {}, changing())
    assert made == 0
    assert all(giant.iri not in node.children for node in after)


def test_when_all_leaves_go_no_node_stays() -> None:
    assert change(tree_of(leaves(100), tree()), [], {}, changing()) == ([], 0)


def test_when_all_leaves_are_others_no_node_stays() -> None:
    others = [TreeLeaf(f"urn:leaf:other:{number}", f"glacier ice item{number}") for number in range(5)]
    assert change(tree_of(leaves(100), tree()), others, {}, changing()) == ([], 0)


def test_a_model_without_words_leaves_the_first_member_to_speak() -> None:
    after, _ = change(tree_of(leaves(100), tree()), leaves(101), {}, changing(summary=" "))
    assert all(node.text.strip() for node in after)


def test_a_tree_without_summaries_takes_new_leaves_as_they_are() -> None:
    assert change(tree_of(leaves(2), []), leaves(3), {}, changing()) == ([], 0)


@pytest.mark.parametrize("swap", [False, True])
def test_pairs_share_most_parts_and_are_the_same_both_ways(swap: bool) -> None:
    old = {"a": frozenset("12"), "b": frozenset("34"), "c": frozenset("9")}
    new = {"x": frozenset("123"), "y": frozenset("345"), "z": frozenset("7")}
    found = successors(new, old) if swap else successors(old, new)
    assert found == ({"x": "a", "y": "b"} if swap else {"a": "x", "b": "y"})
