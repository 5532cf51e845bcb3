"""Edges of the contextual citation graph (CG-RAG, section 4.2): what joins the chunks of documents.

Inside a document a chunk is joined to the one behind it, and to what it refers to by name ("Section 3.2", "Table 4").
Where a document cites another, each of its chunks is joined to the K chunks there that are most relevant to it. Two
documents are compared at a time, so nothing here grows with the square of the collection. Nothing is read or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from kgrag.late_patterns import late_re
from kgrag.ports import Vectors

__all__ = ["ChunkEdge", "EdgeKind", "PaperChunks", "adjacent", "cross_references", "nearest_chunks"]

_NUMBER = r"(?P<number>\d{1,3}(?:\.\d{1,3}){0,4})"
_REFERENCE = late_re(
    rf"\b(?P<what>Sections?|Sect?\.|Tables?|Tab\.|Figures?|Fig\.|Algorithms?|Alg\.|Appendix)\s*(?:{_NUMBER}|(?P<letter>[A-H]\b))"
    rf"|§\s*(?P<sign>\d{{1,3}}(?:\.\d{{1,3}}){{0,4}})"
)
_CAPTION = late_re(rf"(?:^|(?<=[\n.!?])|(?<=[.!?] ))(?P<what>Table|Figure|Fig\.|Algorithm)\s+{_NUMBER}\s*[:.](?!\d)")
_HEADING = late_re(r"(?:(?:Section|Appendix)\s+)?(?P<number>\d{1,3}(?:\.\d{1,3}){0,4}|[A-H])\.?(?:\s|$)")
_ABBREVIATIONS = {"sec": "section", "sect": "section", "tab": "table", "fig": "figure", "alg": "algorithm"}


class EdgeKind(IntEnum):
    """The kinds of edge; their numbers are stored in arrays, so they must not change."""

    ADJACENT = 0
    CROSS_REFERENCE = 1
    CITATION = 2
    HYPERLINK = 3


@dataclass(frozen=True, slots=True)
class ChunkEdge:
    """A link from one chunk to another (IRIs), with a weight of 0 to 2."""

    kind: EdgeKind
    origin: str
    target: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class PaperChunks:
    """A document (IRI) and its chunks in reading order, with the text and the path of headings of each."""

    document: str
    chunks: tuple[str, ...]
    texts: tuple[str, ...]
    headings: tuple[str, ...]


def adjacent(paper: PaperChunks) -> Iterator[ChunkEdge]:
    """Yield an edge from each chunk to the one behind it; none for a document of one chunk."""
    for origin, target in zip(paper.chunks, paper.chunks[1:], strict=False):
        yield ChunkEdge(EdgeKind.ADJACENT, origin, target)


def cross_references(paper: PaperChunks) -> Iterator[ChunkEdge]:
    """Yield an edge from each chunk to what it refers to: the first chunk of a section, the chunk of a caption.

    >>> paper = PaperChunks("urn:d", ("urn:a", "urn:b"), ("As Table 2 shows.", "Table 2: Yields."), ("1 Aim", "2 Data"))
    >>> [(edge.origin, edge.target) for edge in cross_references(paper)]
    [('urn:a', 'urn:b')]
    """
    chunk_of: dict[tuple[str, str], str] = {}  # ("table", "4") -> the first chunk with that caption
    for chunk, text, heading in zip(paper.chunks, paper.texts, paper.headings, strict=True):
        if numbered := _HEADING.match(heading.rpartition(" > ")[2]):
            chunk_of.setdefault(("section", numbered["number"]), chunk)
        for caption in _CAPTION.finditer(text):
            chunk_of.setdefault(_numbered_name(caption), chunk)
    for origin, text in zip(paper.chunks, paper.texts, strict=True):
        names = (_numbered_name(reference) for reference in _REFERENCE.finditer(text))
        for target in dict.fromkeys(chunk_of[name] for name in names if name in chunk_of):
            if target != origin:
                yield ChunkEdge(EdgeKind.CROSS_REFERENCE, origin, target)


def _numbered_name(match: re.Match[str]) -> tuple[str, str]:
    """Return the kind and number of a caption or reference, ("section", "3.2") for "§3.2" and "Sec. 3.2"."""
    groups = match.groupdict()
    if groups.get("sign"):
        return "section", groups["sign"]
    what = groups["what"].casefold().rstrip(".")
    what = _ABBREVIATIONS.get(what, what.removesuffix("s") if what != "appendix" else "section")
    return what, groups["number"] or groups.get("letter") or ""


def nearest_chunks(
    citing: Sequence[str], cited: Sequence[str], *, dense: tuple[Vectors, Vectors], sparse: tuple[Any, Any], k: int
) -> list[ChunkEdge]:
    """Join each chunk of a citing document to its k most relevant chunks of one that it cites.

    Section 4.2: R(c, c') = R_s(s_c, s_c') + R_d(d_c, d_c').

    Args:
        citing: n chunks.
        cited: m chunks.
        dense: unit vectors of both, shapes (n, d) and (m, d).
        sparse: unit rows of both, scipy sparse matrices of shapes (n, t) and (m, t).
        k: the largest number of edges per citing chunk, at least 1.

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
        ChunkEdge(EdgeKind.CITATION, origin, cited[column], min(2.0, round(float(relevance[row, column]), 4)))
        for row, origin in enumerate(citing)
        for column in order[row]
        if cited[column] != origin
    ]
