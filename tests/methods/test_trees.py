"""Summary trees: what stands above what, and where a tree ends."""

from collections.abc import Sequence

import pytest

from kgrag.methods.sire_rag.clustering import Clustering
from kgrag.methods.sire_rag.summary_trees import Forester, Leaf, grow
from kgrag.testing import HashEmbedder

KINDS = ("barley malt brewing", "glacier ice moraine", "violin string concerto", "tariff customs import")


def leaves(n: int) -> list[Leaf]:
    return [Leaf(f"urn:leaf:{number:03}", f"{KINDS[number % 4]} item{number}") for number in range(n)]


def forester(levels: int = 4, tokens: int = 60, summary: str = "") -> Forester:
    def summarise(groups: Sequence[Sequence[str]]) -> list[str]:
        return [summary or " ".join(sorted({text.split()[0] for text in group})) for group in groups]

    return Forester(
        summarise=summarise,
        embed=lambda texts: HashEmbedder().embed(texts, "passage"),
        name=lambda level, text, children: f"urn:node:{level}:{text}:{'+'.join(children)}",
        clustering=Clustering(tokens=tokens),
        levels=levels,
    )


@pytest.mark.parametrize("n", [0, 1, 2, 3, 11])
def test_a_few_leaves_need_no_summary(n: int) -> None:
    assert grow(leaves(n), forester()) == []


def test_every_leaf_stands_below_a_summary_of_the_first_level() -> None:
    nodes = grow(leaves(120), forester())
    below = {child for node in nodes for child in node.children}
    assert below >= {leaf.iri for leaf in leaves(120)}


def test_children_of_a_summary_are_on_lower_levels() -> None:
    nodes = grow(leaves(150), forester(tokens=20))
    level = {leaf.iri: 0 for leaf in leaves(150)} | {node.iri: node.level for node in nodes}
    assert max(level.values()) > 1
    assert all(level[child] < node.level for node in nodes for child in node.children)


def test_there_are_no_more_levels_than_asked_for() -> None:
    assert {node.level for node in grow(leaves(100), forester(levels=2, tokens=20))} == {1}
    assert grow(leaves(100), forester(levels=1)) == []


def test_the_order_of_leaves_decides_nothing() -> None:
    assert grow(leaves(90)[::-1], forester()) == grow(leaves(90), forester())


def test_equal_texts_make_a_tree_that_ends() -> None:
    same = [Leaf(f"urn:leaf:{number}", "the same words") for number in range(60)]
    nodes = grow(same, forester(tokens=12))
    assert all(len(node.children) <= 4 for node in nodes if node.level == 1)


def test_a_giant_leaf_is_not_summarised_with_others() -> None:
    giant = Leaf("urn:leaf:giant", "barley " * 5000)
    assert all(giant.iri not in node.children for node in grow([*leaves(60), giant], forester()))


def test_a_summary_without_words_is_no_node() -> None:
    assert grow(leaves(60), forester(summary=" ")) == []
