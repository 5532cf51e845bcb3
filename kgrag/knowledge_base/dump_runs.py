"""Dumps of other knowledge bases (Wikidata, DBpedia) as one graph, in batches, so that their size does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from kgrag.errors import InvalidRDF
from kgrag.model import GraphDraft
from kgrag.ports import Progress, TripleStore
from kgrag.store.lexical_forms import as_stored, canonical
from kgrag.store.triple_streams import TripleStream, read_filter
from kgrag.vocab import KG, digest

__all__ = ["DumpReport", "load_dump"]

_TRIPLES_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class DumpReport:
    """What was loaded: the graph, and the counts of lines read, triples kept, and lines that are no triple."""

    graph: str
    lines: int
    kept: int
    broken: int


def load_dump(
    store: TripleStore, path: Path, *, graph: ox.NamedNode | None, only: Sequence[str], progress: Progress | None
) -> DumpReport:
    """Load what a filter lets through of a file, and return what was loaded; arguments as of the facade.

    Literals are kept as the store writes them (``+1`` as ``1``).

    Raises:
        InputError: a filter is none.
        InvalidRDF: the file cannot be read, or has nothing that passes.
    """
    target = graph or store.names.loaded_graph(path.name)
    stream = TripleStream(path, read_filter(only), scope=f"b{digest(target.value)}")
    for number, triples in enumerate(stream.batches(_TRIPLES_AT_ONCE)):
        draft = GraphDraft(
            target,
            KG.DataGraph,
            triples,
            mode="append" if number else "replace",
            described=[(KG.location, ox.Literal(str(path)))],
        )
        literals = [triple.object for triple in triples if isinstance(triple.object, ox.Literal)]
        store.publish([canonical(draft, as_stored(literals))])
        if progress is not None:
            progress("lines", stream.lines, 0)
    store.flush()
    if not stream.kept:
        left_out = f", {stream.broken} of which are no triples" if stream.broken else ""
        raise InvalidRDF(f"{path}: none of its {stream.lines:,} lines passes{left_out}. Ask for more.")
    return DumpReport(target.value, stream.lines, stream.kept, stream.broken)
