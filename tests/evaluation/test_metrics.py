import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.evaluation import metrics

rankings = st.lists(st.integers(0, 20), unique=True, max_size=12)
relevants = st.sets(st.integers(0, 20), min_size=1, max_size=6)
cutoffs = st.integers(1, 15)


def test_hit_looks_at_the_first_k_only():
    assert metrics.hit(["a", "b"], {"b"}, 1) == 0.0
    assert metrics.hit(["a", "b"], {"b"}, 2) == 1.0


def test_all_found_wants_every_relevant_one():
    assert metrics.all_found(["a", "b", "c"], {"a", "c"}, 2) == 0.0
    assert metrics.all_found(["a", "b", "c"], {"a", "c"}, 3) == 1.0


def test_reciprocal_rank_is_that_of_the_first_relevant_one():
    assert metrics.reciprocal_rank(["x", "y", "a", "b"], {"a", "b"}) == pytest.approx(1 / 3)
    assert metrics.reciprocal_rank(["x"], {"a"}) == 0.0


def test_ndcg_of_a_worked_example():
    """Relevant at ranks 2 and 3 of two that could stand at 1 and 2."""
    gain = 1 / math.log2(3) + 1 / math.log2(4)
    best = 1 + 1 / math.log2(3)
    assert metrics.ndcg(["x", "a", "b"], {"a", "b"}, 10) == pytest.approx(gain / best)


def test_a_share_of_nothing_is_refused():
    with pytest.raises(ValueError, match="nothing is relevant"):
        metrics.recall(["a"], set(), 5)
    with pytest.raises(ValueError, match="nothing is relevant"):
        metrics.ndcg(["a"], set(), 5)


@given(rankings, relevants, cutoffs)
def test_ranking_metrics_are_shares_and_do_not_fall_with_k(ranking, relevant, k):
    for metric in (metrics.hit, metrics.recall, metrics.all_found):
        assert 0 <= metric(ranking, relevant, k) <= metric(ranking, relevant, k + 1) <= 1
    assert 0 <= metrics.ndcg(ranking, relevant, k) <= 1


@given(relevants, cutoffs)
def test_the_best_ranking_has_an_ndcg_of_one(relevant, k):
    assert metrics.ndcg([*sorted(relevant), -1, -2], relevant, k) == pytest.approx(1)


def test_exact_match_forgives_case_articles_and_punctuation():
    assert metrics.exact_match("The Flying-fox!", ["flyingfox", "bat"]) == 1.0
    assert metrics.exact_match("Theatre", ["atre"]) == 0.0


def test_token_f1_counts_repeated_words_as_often_as_both_have_them():
    assert metrics.token_f1("paris paris", ["Paris"]) == pytest.approx(2 / 3)
    assert metrics.token_f1("london", ["Paris", "London town"]) == pytest.approx(2 / 3)
    assert metrics.token_f1("", ["Paris"]) == 0.0


def test_an_answer_in_a_context_stands_as_whole_words():
    assert metrics.contains_answer("Born in Stanley, North Dakota.", ["stanley"]) == 1.0
    assert metrics.contains_answer("Born in Stanleyville.", ["Stanley"]) == 0.0
    assert metrics.contains_answer("Anything", ["the"]) == 0.0


def test_sets_are_compared_by_precision_and_recall():
    assert metrics.set_scores({"a", "b", "c", "d"}, {"a", "x"}) == (0.25, 0.5, pytest.approx(1 / 3))
    assert metrics.set_scores(set(), {"a"}) == (0.0, 0.0, 0.0)
    assert metrics.set_scores(set(), set()) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("rows", "expected", "same"),
    [
        ([("a", 1), ("b", 2)], [("b", "2"), ("a", "1.0")], 1.0),
        ([("a", 1), ("b", 2)], [(2, "b"), (1, "a")], 1.0),
        ([("a", 1), ("a", 1)], [("a", 1)], 0.0),
        ([("a", "b"), ("b", "c")], [("b", "a"), ("b", "c")], 0.0),
        ([("a", None)], [("a", "")], 1.0),
        ([], [], 1.0),
        ([], [("a",)], 0.0),
        ([("0.30000000000000004",)], [("0.3",)], 1.0),
        ([("a", "b")], [("a",)], 0.0),
    ],
)
def test_query_results_are_compared_as_multisets_of_rows(rows, expected, same):
    assert metrics.execution_accuracy(rows, expected) == same


@given(st.lists(st.tuples(st.integers(0, 3), st.text("ab", max_size=1), st.integers(0, 3)), max_size=6), st.randoms())
def test_shuffled_rows_and_columns_are_the_same_result(rows, random):
    order = [0, 1, 2]
    random.shuffle(order)
    shuffled = [tuple(row[number] for number in order) for row in rows]
    random.shuffle(shuffled)
    assert metrics.execution_accuracy(shuffled, rows) == 1.0
