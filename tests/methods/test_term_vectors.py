"""How near terms are to a question: all compared in one array, or asked of the index."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.index.array_files import Iris
from kgrag.index.hnsw import HnswIndex
from kgrag.index.vector_files import Manifest
from kgrag.methods.og_rag import term_vectors
from kgrag.methods.og_rag.term_vectors import SomeTerms, TermVectors

DIMENSION = 24


def some_terms(terms, places):
    return SomeTerms(np.array(sorted(places), dtype=np.int64), frozenset(terms.at(sorted(places))))


def made(count, seed, *, without=()):
    """Return terms, and an index that has them in another order, some with the vector of another, some not at all."""
    draw = np.random.default_rng(seed)
    terms = Iris.of([f"urn:term:{number:03}" for number in range(count)])
    rows = draw.normal(size=(count, DIMENSION)).astype(np.float32)
    rows[count // 2] = rows[0]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    index = HnswIndex(Manifest("test", DIMENSION))
    order = [place for place in draw.permutation(count).tolist() if place not in without]
    index.upsert(terms.at(order), rows[order])
    return terms, index, 0.6 * rows[draw.integers(count)] + 0.3 * rows[draw.integers(count)]


def unit(vector):
    return vector / np.linalg.norm(vector)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 80), st.integers(0, 1000), st.data())
def test_the_nearest_of_an_array_are_those_of_the_index(count, k, seed, data):
    without = data.draw(st.sets(st.integers(0, count - 1), max_size=count - 1))
    terms, index, vector = made(count, seed, without=without)
    kept = TermVectors.of(terms, index)
    assert kept.columns is not None
    near = kept.nearness(unit(vector))
    chosen = data.draw(st.none() | st.sets(st.integers(0, count - 1)))
    among = None if chosen is None else some_terms(terms, chosen)
    places, cosines = near.first(k, among)
    expected = index.search(vector, k, None if among is None else among.iris)
    assert terms.at(places) == [iri for iri, _ in expected]
    assert cosines == pytest.approx([cosine for _, cosine in expected], abs=1e-6)
    assert near.at(places) == pytest.approx(cosines, abs=1e-6)


def test_many_terms_are_asked_of_the_index_with_the_same_result(monkeypatch):
    terms, index, vector = made(50, 3)
    kept = TermVectors.of(terms, index).nearness(unit(vector))
    monkeypatch.setattr(term_vectors, "_MAX_TERMS_KEPT", 49)
    asked = TermVectors.of(terms, index)
    assert asked.columns is None
    among = some_terms(terms, range(0, 50, 3))
    for these in (None, among):
        (places, cosines), (others, same) = (near.first(7, these) for near in (kept, asked.nearness(unit(vector))))
        assert places.tolist() == others.tolist()
        assert cosines == pytest.approx(same, abs=1e-6)
    wanted = np.array([5, 2, 5, 40])
    assert asked.nearness(unit(vector)).at(wanted) == pytest.approx(kept.at(wanted), abs=1e-6)
    assert asked.nearness(unit(vector)).at(wanted[:0]).tolist() == []
