import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag.evaluation.intervals import bootstrap, paired_difference, percentile

values = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@given(values)
def test_the_mean_lies_in_its_interval_which_lies_in_the_range_of_the_values(data):
    estimate = bootstrap(data, draws=200)
    slack = 1e-9
    assert min(data) - slack <= estimate.low <= estimate.high <= max(data) + slack
    assert estimate.mean == pytest.approx(sum(data) / len(data))
    assert estimate.n == len(data)


def test_the_same_values_give_the_same_interval():
    data = list(np.random.default_rng(3).random(50))
    assert bootstrap(data) == bootstrap(data)


def test_the_interval_is_near_that_of_the_normal_distribution_for_many_values():
    data = np.random.default_rng(5).random(400)
    half = 1.96 * data.std() / np.sqrt(len(data))
    estimate = bootstrap(list(data))
    assert estimate.low == pytest.approx(data.mean() - half, abs=0.15 * half)
    assert estimate.high == pytest.approx(data.mean() + half, abs=0.15 * half)


def test_more_questions_give_a_narrower_interval():
    few, many = bootstrap([0.0, 1.0] * 10), bootstrap([0.0, 1.0] * 500)
    assert many.high - many.low < few.high - few.low


def test_no_values_have_no_mean():
    with pytest.raises(ValueError, match="no values"):
        bootstrap([])


def test_a_paired_difference_is_taken_over_shared_questions():
    estimate = paired_difference({"a": 1.0, "b": 0.5, "only ours": 9.0}, {"a": 0.5, "b": 0.0, "only theirs": 9.0})
    assert (estimate.mean, estimate.n, estimate.clear) == (0.5, 2, True)
    assert paired_difference({"a": 1.0}, {"b": 1.0}) is None


def test_pairing_sees_a_difference_that_two_means_hide():
    """Questions vary far more than the methods do, but one method is always a little better."""
    hard = np.random.default_rng(7).random(60)
    theirs = {str(i): float(value) for i, value in enumerate(hard)}
    ours = {name: value + 0.02 for name, value in theirs.items()}
    assert bootstrap(list(ours.values())).low < bootstrap(list(theirs.values())).high
    assert paired_difference(ours, theirs).clear


def test_percentiles_are_interpolated():
    assert percentile([1.0, 2.0], 0.5) == 1.5
    assert percentile([], 0.95) == 0.0
