"""Edges of the contextual citation graph (CG-RAG, section 4.2): what joins the chunks of documents.

Inside a document a chunk is joined to the one behind it, and to what it refers to by name ("Section 3.2", "Table 4").
Where a document cites another, each of its chunks is joined to the K chunks there that are most relevant to it. Two
documents are compared at a time, so nothing here grows with the square of the collection. Nothing is read or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from kgrag.ports import Vectors

__all__ = ["Edge", "Kind", "Paper", "adjacent", "cross_references", "nearest_chunks"]

_NUMBER = r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,4})"
_MENTION = re.compile(
    rf"\b(?P<what>Sections?|Sect?\.|Tables?|Tab\.|Figures?|Fig\.|Algorithms?|Alg\.|Appendix)\s*(?:{_NUMBER}|(?P<letter>[A-H]\b))"
    rf"|§\s*(?P<sign>\d{{1,3}}(?:\.\d{{1,3}}){{0,4}})"
)
_CAPTION = re.compile(rf"(?:^|(?<=[\n.!?])|(?<=[.!?] ))(?P<what>Table|Figure|Fig\.|Algorithm)\s+{_NUMBER}\s*[:.](?!\d)")
_HEADING = re.compile(r"(?:(?:Section|Appendix)\s+)?(?P<number>\d{1,3}(?:\.\d{1,3}){0,4}|[A-H])\.?(?:\s|$)")
_ALIASES = {"sec": "section", "sect": "section", "tab": "table", "fig": "figure", "alg": "algorithm"}


class Kind(IntEnum):
    """What an edge is; the number stands in arrays."""

    ADJACENT = 0
    CROSS_REFERENCE = 1
    CITATION = 2


@dataclass(frozen=True, slots=True)
class Edge:
    """A link from one chunk to another (IRIs), with a weight of 0 to 2."""

    kind: Kind
    origin: str
    target: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Paper:
    """A document as edges need it: its chunks in order, with their texts and the headings that they stand under."""

    document: str
    chunks: tuple[str, ...]
    texts: tuple[str, ...]
    headings: tuple[str, ...]


def adjacent(paper: Paper) -> Iterator[Edge]:
    """Yield an edge from each chunk to the one behind it; none for a document of one chunk."""
    for origin, target in zip(paper.chunks, paper.chunks[1:], strict=False):
        yield Edge(Kind.ADJACENT, origin, target)


def cross_references(paper: Paper) -> Iterator[Edge]:
    """Yield an edge from each chunk to what it refers to: the first chunk of a section, the chunk of a caption.

    >>> paper = Paper("urn:d", ("urn:a", "urn:b"), ("As Table 2 shows.", "Table 2: Yields."), ("1 Aim", "2 Data"))
    >>> [(edge.origin, edge.target) for edge in cross_references(paper)]
    [('urn:a', 'urn:b')]
    """
    places = _places(paper)
    for origin, text in zip(paper.chunks, paper.texts, strict=True):
        named = dict.fromkeys(_name(match) for match in _MENTION.finditer(text))
        targets = dict.fromkeys(places[name] for name in named if name in places)
        for target in targets:
            if target != origin:
                yield Edge(Kind.CROSS_REFERENCE, origin, target)


def _places(paper: Paper) -> dict[tuple[str, str], str]:
    """Give where sections begin and captions stand: ("table", "4") -> chunk, the first of each."""
    found: dict[tuple[str, str], str] = {}
    for chunk, text, heading in zip(paper.chunks, paper.texts, paper.headings, strict=True):
        if numbered := _HEADING.match(heading.rpartition(" > ")[2]):
            found.setdefault(("section", numbered["number"]), chunk)
        for caption in _CAPTION.finditer(text):
            found.setdefault(_name(caption), chunk)
    return found


def _name(match: re.Match[str]) -> tuple[str, str]:
    groups: Mapping[str, str | None] = match.groupdict()
    if groups.get("sign"):
        return "section", str(groups["sign"])
    what = match["what"].casefold().rstrip(".")
    what = _ALIASES.get(what, what.removesuffix("s") if what != "appendix" else "section")
    return what, groups["number"] or groups.get("letter") or ""


def nearest_chunks(
    citing: Sequence[str], cited: Sequence[str], *, dense: tuple[Vectors, Vectors], sparse: tuple[Any, Any], k: int
) -> list[Edge]:
    """Join each chunk of a citing document to its k most relevant chunks of one that it cites.

    Section 4.2: R(c, c') = R_s(s_c, s_c') + R_d(d_c, d_c').

    Args:
        citing: n chunks.
        cited: m chunks.
        dense: unit vectors of both, shapes (n, d) and (m, d).
        sparse: unit rows of both, scipy sparse matrices of shapes (n, t) and (m, t).
        k: how many edges a chunk gets at most, at least 1.

    Returns:
        At most n * k edges, weights 0 to 2, the strongest first for each chunk; ties by place in the document.

    Deviations:
        R_s is the cosine of BM25 weights and R_d is cut off below 0, so that both have the same range.
    """
    if not citing or not cited:
        return []
    relevance = np.asarray((sparse[0] @ sparse[1].T).todense(), dtype=np.float32)
    relevance += np.clip(dense[0] @ dense[1].T, 0.0, 1.0)
    order = np.argsort(-relevance, axis=1, kind="stable")[:, :k]
    return [
        Edge(Kind.CITATION, origin, cited[place], min(2.0, round(float(relevance[row, place]), 4)))
        for row, origin in enumerate(citing)
        for place in order[row]
        if cited[place] != origin
    ]
