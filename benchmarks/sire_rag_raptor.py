"""The clustering of RAPTOR as its authors wrote it down: UMAP, then Gaussian mixtures of 1 to 50 components by BIC.

For comparison with ``kgrag.methods.sire_rag.clustering`` only; it needs ``umap-learn``, which brings a compiler
(numba). Follows RAPTOR, section 3 and the released code: cosine UMAP to 10 dimensions with ⌊√(n − 1)⌋ neighbours
over all texts, then
with 10 neighbours within each global cluster; a text belongs to every component with a share above 0.1; a cluster over
3,500 tokens is clustered again. A cluster that does not shrink is halved, where the released code recurses for ever.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kgrag.methods.sire_rag.clustering import Clustering

__all__ = ["raptor_clusters"]

_MOST = 50
_Rows = npt.NDArray[np.floating]


def raptor_clusters(
    vectors: npt.ArrayLike, tokens: Sequence[int], settings: Clustering | None = None
) -> list[list[int]]:
    """Return clusters as sorted lists of row numbers, like ``kgrag.methods.sire_rag.clustering.clusters``."""
    rows = np.asarray(vectors, dtype=np.float32)
    how = settings or Clustering()
    lengths = np.asarray(tokens)
    found: dict[tuple[int, ...], None] = {}
    waiting = [np.arange(len(rows))]
    while waiting:
        part = waiting.pop()
        clusters = _layer(rows, part, how)
        if len(clusters) == 1 and len(part) > 1 and lengths[part].sum() > how.tokens:
            middle = len(part) // 2
            clusters = [part[:middle], part[middle:]]
        for cluster in clusters:
            fits = len(cluster) == 1 or lengths[cluster].sum() <= how.tokens
            if fits:
                found[tuple(cluster.tolist())] = None
            elif len(cluster) < len(part):
                waiting.append(cluster)
            else:
                middle = len(cluster) // 2
                waiting += [cluster[:middle], cluster[middle:]]
    return [list(members) for members in sorted(found)]


def _layer(rows: _Rows, members: npt.NDArray[np.intp], how: Clustering) -> list[npt.NDArray[np.intp]]:
    if len(members) <= how.dimensions + 1:
        return [members]
    found = []
    wide = _reduced(rows[members], how, neighbours=int((len(members) - 1) ** 0.5))
    for group in _mixture(wide, how):
        inside = members[group]
        if len(inside) <= how.dimensions + 1:
            found.append(inside)
            continue
        narrow = _reduced(rows[inside], how, neighbours=10)
        found += [inside[local] for local in _mixture(narrow, how)]
    return found


def _reduced(rows: _Rows, how: Clustering, *, neighbours: int) -> _Rows:
    import umap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reducer = umap.UMAP(
            n_neighbors=max(2, min(neighbours, len(rows) - 1)),
            n_components=min(how.dimensions, len(rows) - 2),
            metric="cosine",
            random_state=how.seed,
        )
        # in float32 mixtures of many like vectors collapse, and scikit-learn refuses them
        reduced: _Rows = reducer.fit_transform(rows).astype(np.float64)
    return reduced


def _mixture(reduced: _Rows, how: Clustering) -> list[npt.NDArray[np.intp]]:
    from sklearn.mixture import GaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = (
            GaussianMixture(count, random_state=how.seed).fit(reduced) for count in range(1, min(_MOST, len(reduced)))
        )
        best = min(fits, key=lambda fit: float(fit.bic(reduced)))
        shares = best.predict_proba(reduced)
    groups = [np.flatnonzero(column > how.membership) for column in shares.T]
    return [group for group in groups if len(group)]
