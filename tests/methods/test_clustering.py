"""Soft clusters: every text is in one, none is too long, and the same input gives the same ones."""

import contextlib
import sys
from collections.abc import Iterator

import numpy as np
import pytest
import threadpoolctl
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.methods.sire_rag import clustering
from kgrag.methods.sire_rag.clustering import Clustering, clusters


def blobs(count: int, size: int, seed: int = 1) -> np.ndarray:
    """Give unit vectors around ``count`` random directions, shape (count * size, 32)."""
    random = np.random.default_rng(seed)
    middles = random.normal(size=(count, 32))
    rows = np.repeat(middles, size, axis=0) + 0.05 * random.normal(size=(count * size, 32))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 11])
def test_few_texts_are_one_cluster_or_none(n: int) -> None:
    assert clusters(blobs(1, 12)[:n], [5] * n) == ([list(range(n))] if n else [])


def test_texts_of_a_kind_are_found_together() -> None:
    found = clusters(blobs(4, 20), [1] * 80)
    assert all(len({number // 20 for number in group}) == 1 for group in found)
    assert {number for group in found for number in group} == set(range(80))


def test_equal_texts_end_in_clusters_within_the_limit() -> None:
    found = clusters(np.ones((100, 8)), [10] * 100, Clustering(tokens=55))
    assert max(map(len, found)) <= 5
    assert sorted(number for group in found for number in group) == list(range(100))


def test_a_text_longer_than_the_limit_stays_alone() -> None:
    found = clusters(blobs(1, 20), [9000] + [1] * 19, Clustering(tokens=100))
    assert [0] in found
    assert all(0 not in group for group in found if len(group) > 1)


def test_a_text_between_two_kinds_may_be_in_both() -> None:
    rows = np.vstack([blobs(2, 30), blobs(2, 30).reshape(2, 30, 32).mean(axis=0)])
    found = clusters(rows, [1] * 90, Clustering(membership=0.0001))
    assert sum(map(len, found)) >= 90


def test_what_fits_mixtures_is_loaded_before_its_threads_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit reaches the libraries that are loaded by then: threads that wait for each other take tenfold the time.

    They are looked for once in a process: that walks all that is loaded.
    """
    found, limited = [], []

    class Pools:
        def __init__(self) -> None:
            found.append("sklearn.mixture" in sys.modules)

        @contextlib.contextmanager
        def limit(self, *, limits: int) -> Iterator[None]:
            limited.append(limits)
            yield

    monkeypatch.delitem(sys.modules, "sklearn.mixture", raising=False)
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Pools)
    clustering._thread_pools.cache_clear()
    try:
        clusters(blobs(2, 12), [1] * 24)
        clusters(blobs(2, 12), [1] * 24)
    finally:
        clustering._thread_pools.cache_clear()
    assert found == [True]
    assert limited == [1, 1]


def test_a_length_for_each_vector_is_wanted() -> None:
    with pytest.raises(ValueError, match="one length per vector"):
        clusters([[1.0]], [])


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 40), st.integers(1, 5), st.integers(20, 60), st.integers(0, 99))
def test_every_text_is_in_a_cluster_within_the_limit_each_time_the_same(
    n: int, kinds: int, limit: int, seed: int
) -> None:
    rows = blobs(kinds, 60, seed)[:n]
    lengths = [1 + number % 20 for number in range(n)]
    found = clusters(rows, lengths, Clustering(tokens=limit))
    assert {number for group in found for number in group} == set(range(n))
    assert all(len(group) == 1 or sum(lengths[number] for number in group) <= limit for group in found)
    assert len({tuple(group) for group in found}) == len(found)
    assert clusters(rows, lengths, Clustering(tokens=limit)) == found
