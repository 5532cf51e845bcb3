"""The tree of classes: counts, several superclasses, cycles, and cutting it."""

from kgrag.drawing.class_tree import ClassNode, class_tree


def shape(nodes: list[ClassNode] | tuple[ClassNode, ...]) -> list[object]:
    return [(node.iri, node.total, shape(node.children), node.hidden) for node in nodes]


def test_totals_include_what_is_below_and_the_most_come_first() -> None:
    pairs = [("a", ""), ("b", "a"), ("c", "a"), ("d", "c"), ("z", "")]
    tree = class_tree(pairs, {"b": 1, "d": 5, "z": 2}, max_nodes=50)
    assert shape(tree) == [("a", 6, [("c", 5, [("d", 5, [], 0)], 0), ("b", 1, [], 0)], 0), ("z", 2, [], 0)]


def test_a_class_with_two_superclasses_is_below_both_and_counts_once_in_their_common_one() -> None:
    pairs = [("top", ""), ("left", "top"), ("right", "top"), ("both", "left"), ("both", "right")]
    (top,) = class_tree(pairs, {"both": 3}, max_nodes=50)
    assert (top.total, [child.total for child in top.children]) == (3, [3, 3])


def test_a_cycle_ends_and_is_not_lost() -> None:
    tree = class_tree([("b", "a"), ("a", "b"), ("c", "b")], {"c": 1}, max_nodes=50)
    assert shape(tree) == [("a", 1, [("b", 1, [("c", 1, [], 0)], 0)], 0)]


def test_of_many_classes_the_upper_levels_are_shown_with_how_many_are_below() -> None:
    pairs = [("top", ""), *((f"m{number}", "top") for number in range(10))]
    pairs += [(f"leaf{number}", f"m{number % 10}") for number in range(1000)]
    (top,) = class_tree(pairs, {}, max_nodes=50)
    assert [(child.children, child.hidden) for child in top.children] == [((), 100)] * 10


def test_a_tree_can_begin_at_a_class() -> None:
    pairs = [("a", ""), ("b", "a"), ("c", "b")]
    assert shape(class_tree(pairs, {"c": 1}, top="b", max_nodes=50)) == [("b", 1, [("c", 1, [], 0)], 0)]
