"""Which methods of a knowledge base can be asked: those whose graphs exist.

Queries read: ``catalogue/has_method``, ``catalogue/has_kind``.
"""

from __future__ import annotations

import pyoxigraph as ox

from kgrag import plugins, queries
from kgrag.capabilities import ChecksQueries, having
from kgrag.declarations import DEFAULT_METHOD
from kgrag.ports import TripleStore
from kgrag.vocab import KG

__all__ = ["built_methods"]


def built_methods(store: TripleStore) -> list[str]:
    """Return the names of the methods that have something to answer from, the default method first.

    A method with kinds of graph of its own is built when a graph of such a kind, or one that names the method, exists.
    One without reads what is there for all: an ontology if it checks queries against one, documents otherwise.
    """
    names = sorted(plugins.methods(), key=lambda name: (name != DEFAULT_METHOD, name))
    return [name for name in names if _is_built(name, store)]


def _is_built(name: str, store: TripleStore) -> bool:
    catalogue, kinds = store.names.catalogue, [kind.iri for kind in plugins.methods()[name].graph_kinds]
    if not kinds:
        kinds = [KG.OntologyGraph if name in having(ChecksQueries) else KG.DocumentGraph]
    if store.ask(queries.bind("catalogue/has_kind", catalogue=catalogue, kinds=kinds)):
        return True
    return store.ask(queries.bind("catalogue/has_method", catalogue=catalogue, method=ox.Literal(name)))
