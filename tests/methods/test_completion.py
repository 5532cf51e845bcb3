"""Gaussians of two layers, and what is dense in the one and sparse in the other."""

import re

import numpy as np
import pytest

from kgrag.errors import InvalidSettings
from kgrag.methods.poly_rag.completion import Gaussian, fitted, medoids, picture, priorities, reduced


def cloud(centre: float, count: int, size: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(centre, 1.0, (count, size))


def test_the_density_is_that_of_scipy() -> None:
    from scipy.stats import multivariate_normal

    points = cloud(0, 200)
    found = fitted(points)
    covariance = np.linalg.inv(found.precision)
    expected = multivariate_normal(found.mean, covariance).logpdf(points)
    assert np.allclose(found.log_density(points), expected)


def test_log_densities_stay_finite_where_densities_underflow() -> None:
    one = Gaussian(np.zeros(384), np.eye(384), 0.0)
    far = one.log_density(np.full((1, 384), 50.0))
    assert np.isfinite(far).all()
    assert np.exp(far)[0] == 0.0


def test_priorities_are_finite_and_tell_points_apart_where_every_density_underflows() -> None:
    points = np.linspace(30.0, 60.0, 5)[:, None] * np.ones((1, 100))
    found = priorities(points, Gaussian(np.zeros(100), np.eye(100), 0.0), Gaussian(np.ones(100), np.eye(100), 0.0))
    assert np.isfinite(found).all()
    assert len(set(found.tolist())) == 5


def test_what_the_graph_is_dense_in_and_the_ontology_is_not_goes_first() -> None:
    ontology, shared, new = cloud(0, 60), cloud(0, 60, seed=1), cloud(6, 60, seed=2)
    graph = np.vstack([shared, new])
    found = priorities(graph, fitted(ontology), fitted(graph))
    best = np.argsort(-found)[:30]
    assert (best >= 60).mean() > 0.9


def test_medoids_are_members_of_their_clusters_and_bounded() -> None:
    points = np.vstack([cloud(0, 40), cloud(9, 40, seed=1)])
    found = medoids(points, np.arange(80.0), fraction=1.0, clusters=2)
    assert len(found) == 2
    assert all(one.place in one.members for one in found)
    assert sorted(place for one in found for place in one.members) == list(range(80))


def test_fewer_candidates_than_clusters_are_each_a_medoid() -> None:
    found = medoids(cloud(0, 3), np.array([0.1, 0.3, 0.2]), fraction=0.5, clusters=10)
    assert [one.place for one in found] == [1, 2, 0]


def test_a_layer_without_phrases_is_refused() -> None:
    with pytest.raises(InvalidSettings, match="two phrases"):
        reduced(np.ones((1, 8), np.float32), np.ones((5, 8), np.float32), dimensions=2)


def test_the_picture_has_both_layers_and_the_name_of_each_proposal_as_text() -> None:
    space = reduced(cloud(0, 20).astype(np.float32), cloud(2, 30).astype(np.float32), dimensions=2)
    found = medoids(space.graph, np.arange(30.0), fraction=0.5, clusters=2)
    drawn = picture(space, found, ["<script>", "two"])
    assert drawn.count("<circle") == 2 * (20 + 30) + sum(len(one.members) for one in found)
    assert "&lt;script&gt;</title>" in drawn
    assert "<script>" not in drawn
    places = [float(place) for place in re.findall(r'c[xy]="([^"]+)"', drawn)]
    assert min(places) >= 0
    assert max(places) <= 600
