"""Drafts of graphs as rows of plain values, so that they travel between processes and rest in files.

Triples are text in N-Triples; IRIs are text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyoxigraph as ox

from kgrag.model import GraphDraft

__all__ = ["draft_of_row", "lines_of", "row_of_draft", "triples_of"]


def row_of_draft(draft: GraphDraft) -> dict[str, Any]:
    """Return a draft as a row: every field, each of them a text or a list of texts; ``activity`` is "" for none."""
    return {
        "graph": draft.iri.value,
        "kind": draft.kind.value,
        "mode": draft.mode,
        "method": draft.method,
        "sources": [source.value for source in draft.sources],
        "activity": "" if draft.activity is None else draft.activity.value,
        "described": lines_of(ox.Triple(draft.iri, name, value) for name, value in draft.described),
        "triples": lines_of(draft.triples),
    }


def draft_of_row(row: Mapping[str, Any]) -> GraphDraft:
    """Return the draft of a row that ``row_of_draft`` returned."""
    return GraphDraft(
        iri=ox.NamedNode(row["graph"]),
        kind=ox.NamedNode(row["kind"]),
        triples=triples_of(row["triples"]),
        mode=row["mode"],
        method=row["method"],
        sources=[ox.NamedNode(source) for source in row["sources"]],
        activity=ox.NamedNode(row["activity"]) if row["activity"] else None,
        described=[(triple.predicate, triple.object) for triple in triples_of(row["described"])],
    )


def lines_of(triples: Iterable[ox.Triple]) -> str:
    """Return triples as N-Triples, in their order."""
    return "".join(f"{triple} .\n" for triple in triples)


def triples_of(lines: str) -> list[ox.Triple]:
    """Return the triples of N-Triples, in their order."""
    return [quad.triple for quad in ox.parse(lines, format=ox.RdfFormat.N_TRIPLES)]
