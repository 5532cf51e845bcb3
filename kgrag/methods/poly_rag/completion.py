"""Phrases of the knowledge graph that the ontology may lack, ranked: where the graph is dense and the ontology sparse.

PolyRAG, section 3.2, equations 4 to 7. Embeddings of the phrases of both layers (class and attribute; subject and
relation) are reduced by PCA, and a Gaussian with a shrunk covariance (Ledoit and Wolf) is fitted to each layer. The
phrases of the knowledge graph with the highest priority are clustered with k-medoids; ``picture`` draws the result
(Figure 2). Pure functions over arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kgrag.drawing.layers_picture import ProposedPoint, layers_svg
from kgrag.errors import InvalidSettings
from kgrag.ports import Vectors

__all__ = [
    "Gaussian",
    "Medoid",
    "Numbers",
    "Space",
    "fitted",
    "medoids",
    "picture",
    "priorities",
    "reduced",
]

Numbers = npt.NDArray[np.float64]

_MAX_POINTS_CLUSTERED = 2000  # time and memory of their distances grow with the square


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A Gaussian: mean, shape (n,), precision matrix, shape (n, n), and log-determinant of the covariance."""

    mean: Numbers
    precision: Numbers
    log_determinant: float

    def log_density(self, points: Numbers) -> Numbers:
        """Return log F(X) of equation 4 for points of shape (m, n), as shape (m,)."""
        away = points - self.mean
        distance = np.einsum("ij,jk,ik->i", away, self.precision, away)
        size = points.shape[1]
        result: Numbers = -0.5 * (size * np.log(2 * np.pi) + self.log_determinant + distance)
        return result


@dataclass(frozen=True, slots=True)
class Space:
    """Both layers in the reduced space: points of the ontology, shape (o, n), and of the knowledge graph, (k, n)."""

    ontology: Numbers
    graph: Numbers


@dataclass(frozen=True, slots=True)
class Medoid:
    """The place of a medoid among the graph's phrases, its priority, and the places of its cluster."""

    place: int
    priority: float
    members: tuple[int, ...]


def reduced(ontology: Vectors, graph: Vectors, *, dimensions: int) -> Space:
    """Reduce the embeddings of both layers together by PCA.

    Args:
        ontology: shape (o, d), o at least 2.
        graph: shape (k, d), k at least 2.
        dimensions: n, at most; fewer when there are fewer phrases.

    Raises:
        InvalidSettings: a layer has fewer than two phrases, or ``dimensions`` is below 1.
    """
    from sklearn.decomposition import PCA

    if min(len(ontology), len(graph)) < 2 or dimensions < 1:
        raise InvalidSettings(
            f"completion needs two phrases per layer and a dimension; found {len(ontology)} and {len(graph)} phrases "
            f"and {dimensions} dimensions. Load an ontology with attributes and build the graph layer first."
        )
    both = np.vstack([ontology, graph]).astype(np.float64)
    size = min(dimensions, both.shape[1], both.shape[0] - 1)
    points = PCA(n_components=size, svd_solver="full").fit_transform(both)
    return Space(points[: len(ontology)], points[len(ontology) :])


def fitted(points: Numbers) -> Gaussian:
    """Fit a Gaussian to points of shape (m, n), m at least 2, with the covariance shrunk as Ledoit and Wolf do."""
    from sklearn.covariance import LedoitWolf

    model = LedoitWolf().fit(points)
    covariance = model.covariance_ + 1e-9 * np.eye(points.shape[1])  # else equal points have no inverse
    _, log_determinant = np.linalg.slogdet(covariance)
    return Gaussian(model.location_, np.linalg.inv(covariance), float(log_determinant))


def priorities(points: Numbers, ontology: Gaussian, graph: Gaussian) -> Numbers:
    """Return the priority Pr(X) of points, shape (m,): high where the graph is dense and the ontology sparse.

    Equations 5 and 6 are the terms F_O log F_K and F_K log F_O at a point, not Kullback-Leibler divergences. Densities
    in many dimensions over- and underflow, so the sums are done on logarithms, and both terms are divided by one common
    factor, which changes no order; where that underflows, the log-ratio of the densities decides.

    Deviations:
        Equation 7 as printed, D(O||K) - D(K||O), is lowest where the graph is dense and the ontology sparse, since
        D(K||O) = -F_K log F_O is large there; section 3.2 wants these points first, so the sign is turned.
    """
    log_o, log_k = ontology.log_density(points), graph.log_density(points)
    # -F_K log F_O and -F_O log F_K, each as a sign and the logarithm of its size
    sizes = np.stack([log_k + np.log(np.abs(log_o) + 1e-300), log_o + np.log(np.abs(log_k) + 1e-300)])
    scaled = np.exp(sizes - sizes.max())
    terms = np.stack([-np.sign(log_o), -np.sign(log_k)]) * scaled
    difference = terms[0] - terms[1]
    ratio = log_k - log_o
    spread = np.ptp(ratio) or 1.0
    result: Numbers = difference + 1e-12 * (ratio - ratio.min()) / spread
    return result


def medoids(points: Numbers, priority: Numbers, *, fraction: float, clusters: int) -> list[Medoid]:
    """Cluster the points of the highest priority; return the medoids, those of clusters with higher priority first.

    Args:
        points: shape (m, n).
        priority: shape (m,).
        fraction: the share of the points that is clustered, above 0 to 1; 2,000 points at most.
        clusters: how many medoids at most, at least 1.
    """
    import kmedoids
    from sklearn.metrics.pairwise import euclidean_distances

    count = min(_MAX_POINTS_CLUSTERED, len(points), max(clusters, int(np.ceil(fraction * len(points)))))
    chosen = np.lexsort((np.arange(len(points)), -priority))[:count]
    if count <= clusters:
        return [Medoid(int(place), float(priority[place]), (int(place),)) for place in chosen]
    distances = euclidean_distances(points[chosen]).astype(np.float32)
    clustering: Any = kmedoids.fasterpam(distances, clusters, random_state=0, n_cpu=1)  # one CPU: the same every run
    ranked = [
        Medoid(int(place), float(priority[place]), tuple(int(member) for member in chosen[clustering.labels == number]))
        for number, place in enumerate(chosen[clustering.medoids])
    ]
    return sorted(ranked, key=lambda medoid: (-max(priority[place] for place in medoid.members), medoid.place))


def picture(space: Space, medoids: Sequence[Medoid], labels: Sequence[str]) -> str:
    """Draw both layers in their first two dimensions, with the clusters and medoids of the proposals beside them.

    Args:
        space: both layers, reduced; two dimensions at least.
        medoids: the proposals.
        labels: the name of each medoid.

    Returns:
        An SVG: the layers left, the same with the proposals right.

    Raises:
        InvalidSettings: the space has one dimension.
    """
    if space.graph.shape[1] < 2:
        raise InvalidSettings("a picture needs two dimensions, and the layers have too few phrases for them.")
    flat = space.graph[:, :2]
    proposed = [
        ProposedPoint(label, flat[medoid.place], flat[list(medoid.members)])
        for medoid, label in zip(medoids, labels, strict=True)
    ]
    return layers_svg(space.ontology[:, :2], flat, proposed)
