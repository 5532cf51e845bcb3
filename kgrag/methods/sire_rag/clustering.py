"""Soft clusters of texts by their vectors: what a layer of a summary tree is grouped into.

RAPTOR (Sarthi et al. 2024), section 3, which SiReRAG's section 4.1 takes over: vectors are reduced, a Gaussian mixture
is fitted with as many components as the Bayesian information criterion likes best, a text belongs to every component
that holds more than a tenth of it; first over all texts, then within each cluster; a cluster over the token limit is
split again. Pure functions over arrays; the same input gives the same clusters.

Linear algebra runs on one thread meanwhile: the matrices are small, and threads that wait for each other made mixtures
20 to 60 times slower on two busy cores.

Deviations:
    Principal components in place of UMAP, which needs a compiler at run time (numba) and is the slow part; the
    similarity tree finds as many passages with either (``python -m benchmarks.sire_rag_growth``). The number of
    components is searched upwards on a grid until two in a row are worse, with at least ``texts`` texts each on
    average (with 3, trees have 1.7 times the summaries and find no more passages); mixtures are fitted to 4,000 texts
    at most.
    A cluster that no mixture splits is halved along its first principal component, so that splitting always ends.
    A text is counted by its number, not by its vector, so that equal texts stay apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["Clustering", "clusters"]

_COMPONENT_COUNTS = (1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 49)  # RAPTOR tries every count below 50
_MAX_WORSE_COUNTS = 2
_MAX_TEXTS_FITTED = 4000
_MAX_SHARE_OF_A_SPLIT = 0.8  # a split that leaves more together would be repeated many times

_FloatArray = npt.NDArray[np.float64]
_Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Clustering:
    """How texts are grouped; RAPTOR's values.

    ``dimensions`` of the reduced vectors, at least 1; ``membership`` is the probability above which a text belongs to a
    component, 0 to 1; ``tokens`` is the largest cluster in tokens, at least 1; ``texts`` is how many texts a component
    holds on average at least, 1 or more; ``seed`` starts the generator.
    """

    dimensions: int = 10
    membership: float = 0.1
    tokens: int = 3500
    texts: int = 13
    seed: int = 224


def clusters(vectors: npt.ArrayLike, tokens: Sequence[int], settings: Clustering | None = None) -> list[list[int]]:
    """Return clusters as sorted lists of row numbers; every row is in at least one, and no two lists are equal.

    Args:
        vectors: shape (n, d), any float type.
        tokens: the length of each text, shape (n,).
        settings: how; RAPTOR's values by default.

    Raises:
        ValueError: there are not as many lengths as vectors.

    >>> clusters([[1.0, 0.0], [0.9, 0.1]], [5, 5])
    [[0, 1]]
    >>> clusters([[1.0, 0.0], [0.9, 0.1]], [5, 5], Clustering(tokens=5))
    [[0], [1]]
    """
    rows = np.asarray(vectors, dtype=np.float64)
    if len(rows) != len(tokens):
        raise ValueError(f"there are {len(rows)} vectors, but {len(tokens)} lengths. Pass one length per vector.")
    if not len(rows):
        return []
    settings = settings or Clustering()
    lengths = np.asarray(tokens)
    distinct: set[tuple[int, ...]] = set()
    with _thread_pools().limit(limits=1):
        for wide in _mixture(rows, np.arange(len(rows)), settings):
            for narrow in _mixture(rows, wide, settings):
                distinct |= {tuple(part.tolist()) for part in _within_limit(rows, narrow, lengths, settings)}
    return [list(members) for members in sorted(distinct)]


@cache
def _thread_pools() -> ThreadpoolController:
    """Return the thread pools of the libraries that fit mixtures; finding them walks all that the process loaded."""
    import sklearn.mixture  # noqa: F401 - first, because only pools of what is loaded by now are found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _within_limit(
    rows: _FloatArray, members: _Rows, lengths: npt.NDArray[np.int64], settings: Clustering
) -> list[_Rows]:
    """Split a cluster until each part is within the token limit; one text that is longer stays alone."""
    done: list[_Rows] = []
    waiting = [members]
    while waiting:
        part = waiting.pop()
        if len(part) == 1 or lengths[part].sum() <= settings.tokens:
            done.append(part)
            continue
        split = _mixture(rows, part, settings)
        if max(map(len, split)) > _MAX_SHARE_OF_A_SPLIT * len(part):
            order = np.argsort(_reduced(rows[part], 1)[:, 0], kind="stable")
            middle = len(part) // 2
            split = [np.sort(part[order[:middle]]), np.sort(part[order[middle:]])]
        waiting += split
    return done


def _mixture(rows: _FloatArray, members: _Rows, settings: Clustering) -> list[_Rows]:
    """Return the soft clusters of some rows; a single one where there are too few to tell apart."""
    if len(members) <= settings.dimensions + 1:
        return [members]
    probabilities = _memberships(_reduced(rows[members], settings.dimensions), settings)
    belongs = probabilities > settings.membership
    belongs[np.arange(len(members)), probabilities.argmax(axis=1)] = True
    return [members[column] for column in belongs.T if column.any()]


def _reduced(rows: _FloatArray, dimensions: int) -> _FloatArray:
    """Return the principal components, shape (n, at most ``dimensions``), with the spread of the first set to 1."""
    centred = rows - rows.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred / len(rows))
    reduced: _FloatArray = centred @ directions[:, ::-1][:, :dimensions]
    spread = float(np.sqrt(max(values[-1], 0.0)))
    return reduced / spread if spread > 1e-9 else np.zeros_like(reduced)  # equal texts have no spread but rounding


def _memberships(reduced: _FloatArray, settings: Clustering) -> _FloatArray:
    """Return the probability of each component for each row, shape (n, components), by the best mixture."""
    from sklearn.mixture import GaussianMixture

    sample = reduced
    if len(reduced) > _MAX_TEXTS_FITTED:
        generator = np.random.default_rng(settings.seed)
        sample = reduced[np.sort(generator.choice(len(reduced), _MAX_TEXTS_FITTED, replace=False))]
    distinct = len(np.unique(sample.round(9), axis=0))
    best, lowest, worse = None, np.inf, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a mixture that has not settled after 100 steps is still judged
        for count in _COMPONENT_COUNTS:
            if count > 1 and (count >= distinct or count * settings.texts > len(sample)):
                break
            mixture = GaussianMixture(count, init_params="k-means++", random_state=settings.seed, reg_covar=1e-4)
            criterion = mixture.fit(sample).bic(sample)
            if criterion < lowest:
                best, lowest, worse = mixture, criterion, 0
            elif (worse := worse + 1) == _MAX_WORSE_COUNTS:
                break
    probabilities: _FloatArray = np.ones((len(reduced), 1)) if best is None else best.predict_proba(reduced)
    return probabilities
