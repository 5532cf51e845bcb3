"""Two layers of points beside each other as SVG, and on the right what is proposed between them.

The picture has its colours, so that it is whole as a file too. Template read: ``layers.svg.j2``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kgrag.drawing.picture_templates import one_line, render

__all__ = ["ProposedPoint", "layers_svg"]

_SIZE_PX, _GAP_PX, _MARGIN_PX, _TITLE_PX = 560, 40, 16, 40
_MAX_LETTERS = 32
_MAX_POINTS = 2_000
"""Points drawn of each layer, evenly taken: a page with all of a large graph would be slow."""


@dataclass(frozen=True, slots=True)
class ProposedPoint:
    """A proposal: its name, its place, shape (2,), and the places that it stands for, shape (m, 2)."""

    name: str
    place: npt.NDArray[np.float64]
    members: npt.NDArray[np.float64]


def layers_svg(
    ontology: npt.NDArray[np.float64], graph: npt.NDArray[np.float64], proposed: Sequence[ProposedPoint]
) -> str:
    """Return the picture as an ``svg`` element.

    Args:
        ontology: points of the ontology, shape (o, 2), o at least 1.
        graph: points of the knowledge graph, shape (k, 2), k at least 1.
        proposed: proposals, whose points are among the graph's.

    >>> two = np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> layers_svg(two, two, [ProposedPoint("ripens in", two[1], two[1:])]).count("<circle")
    9
    """
    everywhere = np.vstack([ontology, graph])
    low, high = everywhere.min(axis=0), everywhere.max(axis=0)
    scale = (_SIZE_PX - 2 * _MARGIN_PX) / np.where(high > low, high - low, 1.0)

    def placed(points: npt.NDArray[np.float64]) -> list[tuple[float, float]]:
        across = _MARGIN_PX + (points - low) * scale
        return [(round(float(x), 1), round(float(_TITLE_PX + _SIZE_PX - y), 1)) for x, y in across]

    return render(
        "layers.svg.j2",
        size=_SIZE_PX,
        title=_TITLE_PX,
        offset=_SIZE_PX + _GAP_PX,
        ontology=placed(_thinned(ontology)),
        graph=placed(_thinned(graph)),
        proposed=[
            {
                "name": one_line(one.name, _MAX_LETTERS),
                "place": placed(one.place.reshape(1, 2))[0],
                "members": placed(_thinned(one.members)),
            }
            for one in proposed
        ],
    )


def _thinned(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return points[:: -(-len(points) // _MAX_POINTS) or 1]
