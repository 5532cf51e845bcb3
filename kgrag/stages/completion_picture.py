"""The two distributions and the proposals between them, as a PNG (PolyRAG, Figure 2); wants the extra ``plots``."""

from __future__ import annotations

import io
from collections.abc import Sequence

from kgrag.errors import InvalidSettings
from kgrag.stages.completion import Medoid, Numbers, Space

__all__ = ["picture"]

_MOST = 5000  # points of a layer that are drawn


def picture(space: Space, medoids: Sequence[Medoid], labels: Sequence[str]) -> bytes:
    """Draw both layers in the first two dimensions, clusters and medoids of the proposals over them.

    Args:
        space: both layers, reduced; two dimensions at least.
        medoids: what is proposed.
        labels: the name of each medoid.

    Returns:
        A PNG, 1200 by 500 pixels: the layers left, the same with the proposals right.

    Raises:
        InvalidSettings: matplotlib is not there, or the space has one dimension.
    """
    if space.graph.shape[1] < 2:
        raise InvalidSettings("a picture needs two dimensions, and the layers have too few phrases for them.")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InvalidSettings("a picture needs matplotlib: install kgrag with the extra 'plots'.") from error
    figure = Figure(figsize=(12, 5), dpi=100)
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for place, axes in enumerate((left, right)):
        axes.scatter(*_thinned(space.graph).T, s=8, c="#4c78a8", alpha=0.5, label="knowledge graph")
        axes.scatter(*_thinned(space.ontology).T, s=14, c="#f2a541", alpha=0.8, label="ontology")
        axes.set_title("both layers" if place == 0 else "proposals")
    for medoid, label in zip(medoids, labels, strict=True):
        members = space.graph[list(medoid.members), :2]
        right.scatter(*members.T, s=10, c="#d62728", alpha=0.6)
        right.annotate(label, space.graph[medoid.place, :2], fontsize=8, parse_math=False)
    left.legend(loc="best", fontsize=8)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": "kgrag"})
    return buffer.getvalue()


def _thinned(points: Numbers) -> Numbers:
    step = max(1, len(points) // _MOST)
    return points[::step, :2]
