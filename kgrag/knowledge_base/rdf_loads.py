"""RDF files into graphs of their own: what a file no longer has goes when it is loaded again.

The graph of a file without an ontology is named by its content, so that a changed file is another graph; a file may
also name its ontology or its graphs otherwise than before. The catalogue says of each graph which files it was read
from (``kg:readFrom``, real paths), unless the caller named the graph, who may load a file into several.

Query read: ``catalogue/read_from``. Update run: ``catalogue/not_read_from``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyoxigraph as ox

from kgrag import queries
from kgrag.model import GraphDraft, Publication, plain
from kgrag.ports import TripleStore
from kgrag.vocab import KG

__all__ = ["publish"]


def publish(store: TripleStore, drafts: Sequence[GraphDraft]) -> Publication:
    """Publish what was read of files, and remove the graphs that were read from them before and are in none any more.

    Nothing is removed where a draft is put in quarantine. A graph that another file has too stays.

    Args:
        store: where the graphs go.
        drafts: those of whole files, with their paths.

    Returns:
        What was published; ``removed`` are the graphs that went.
    """
    before = _read_from(store)
    publication = store.publish([_of_all_files(draft, before, store) for draft in drafts])
    if publication.quarantined:
        return publication
    made = {draft.iri.value for draft in drafts}
    files = {plain(value) for draft in drafts for term, value in draft.described if term == KG.readFrom}
    left = {graph: paths for graph, paths in before.items() if graph not in made and paths & files}
    gone = [graph for graph, paths in left.items() if paths <= files]
    if gone:
        store.remove([ox.NamedNode(graph) for graph in gone])
    if kept := [ox.NamedNode(graph) for graph in left if graph not in gone]:
        literals = [ox.Literal(file) for file in sorted(files)]
        catalogue = store.names.catalogue
        store.update(
            queries.bind("catalogue/not_read_from", catalogue=catalogue, graphs=kept, files=literals), graphs=[]
        )
    return replace(publication, removed=tuple(gone))


def _read_from(store: TripleStore) -> dict[str, set[str]]:
    """Return the graphs that were read from files, each with all of them."""
    found: dict[str, set[str]] = {}
    for graph, file in store.select(queries.bind("catalogue/read_from", catalogue=store.names.catalogue)).values():
        found.setdefault(graph, set()).add(file)
    return found


def _of_all_files(draft: GraphDraft, before: Mapping[str, set[str]], store: TripleStore) -> GraphDraft:
    """Return a draft with the other files that have the same content, where its graph is named by that."""
    if not store.names.is_loaded_graph(draft.iri):
        return draft
    others = [(KG.readFrom, ox.Literal(file)) for file in sorted(before.get(draft.iri.value, ()))]
    return replace(draft, described=list(dict.fromkeys([*draft.described, *others])))
