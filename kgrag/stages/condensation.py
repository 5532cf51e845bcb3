"""Triples that say the same of one thing, merged; every one of them stays reachable from what it was merged into.

PolyRAG, section 3.3. Each attribute of the ontology is an anchor, with its k nearest triples by the vector index; a
triple goes to the anchor that it is nearest to. Triples of one anchor with the same subject and object become one,
under the attribute's words; all others stay as they are. Nothing is compared with everything: an anchor costs one
search of the index, a triple one look into a table.

Deviations:
    The paper asks a model to write the merged triples (f_con); here they take the words of the anchor, so that nothing
    can be lost or invented.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kgrag.ports import VectorIndex, Vectors

__all__ = ["Anchor", "Merged", "Stated", "anchored", "condensed"]


@dataclass(frozen=True, slots=True)
class Anchor:
    """A class and attribute of the ontology, as a phrase with its vector, and the relation that it stands for."""

    relation: str
    label: str
    vector: Vectors


@dataclass(frozen=True, slots=True)
class Stated:
    """A triple of the layer: its statement, its ends and its relation by IRI."""

    statement: str
    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True)
class Merged:
    """A condensed triple, and the statements that it stands for; ``label`` is "" where it keeps its own relation."""

    subject: str
    relation: str
    object: str
    label: str
    originals: tuple[str, ...]


def anchored(anchors: Sequence[Anchor], index: VectorIndex, *, k: int, least: float) -> dict[str, int]:
    """Give statement -> place of the anchor that it is nearest to, among the k nearest statements of each anchor.

    Args:
        anchors: the attributes.
        index: the statements' vectors.
        k: how many statements an anchor looks at, at least 1.
        least: the cosine that a statement has with its anchor at least, 0 to 1.
    """
    best: dict[str, tuple[float, int]] = {}
    for place, anchor in enumerate(anchors):
        for statement, cosine in index.search(anchor.vector, k):
            if cosine >= least and (statement not in best or cosine > best[statement][0]):
                best[statement] = (cosine, place)
    return {statement: place for statement, (_, place) in best.items()}


def condensed(
    stated: Iterable[Stated],
    anchors: Sequence[Anchor],
    nearest: Mapping[str, int],
    *,
    alike: Callable[[str, int], bool],
) -> list[Merged]:
    """Merge the triples that say the same, in the order of the first of each.

    Args:
        stated: every triple of the layer.
        anchors: the attributes.
        nearest: what ``anchored`` gave.
        alike: says of a relation's IRI and an anchor's place whether the one may take the words of the other.

    Returns:
        Every statement stands in the originals of exactly one merged triple.
    """
    groups: dict[tuple[str, str, str], list[str]] = {}
    labels: dict[tuple[str, str, str], str] = {}
    for one in stated:
        place = nearest.get(one.statement)
        taken = place is not None and alike(one.relation, place)
        relation = anchors[place].relation if place is not None and taken else one.relation
        key = (one.subject, relation, one.object)
        groups.setdefault(key, []).append(one.statement)
        if place is not None and taken:
            labels.setdefault(key, anchors[place].label)
    return [Merged(*key, labels.get(key, ""), tuple(originals)) for key, originals in groups.items()]
