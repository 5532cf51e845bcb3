"""Queries of users: their searches run, prefixes of the loaded ontologies known, mistakes told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgrag.errors import InvalidSPARQL
from kgrag.index.ontology_prefixes import known_prefixes, ontology_prefixes
from kgrag.ports import OpenedStore, TripleStore
from kgrag.querying.searches import functions, names_search, refuse_in_update
from kgrag.sparql.query_help import helped, with_declarations
from kgrag.telemetry import span

if TYPE_CHECKING:
    import pyoxigraph as ox

    from kgrag.knowledge_base.wiring import Wiring

__all__ = ["run_query", "run_update"]


def run_query(kb: Wiring, store: OpenedStore, sparql: str) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
    """Run a query; its default graph is the union of all named graphs, unless it says FROM.

    Raises:
        InvalidSPARQL: it does not parse, asks for SERVICE, or for a search that cannot be run.
    """
    prefixes = ontology_prefixes(store)
    try:
        with span("sparql query", {"db.system.name": "oxigraph", "db.operation.name": "query"}):
            text = with_declarations(sparql, prefixes)
            if not names_search(text):
                return store.query(text, union=True)
            found = kb.search.resolve(text)
            similarity = functions(kb.spaces, found.similar) if found.compares else None
            return store.query(found.text, union=True, calls=similarity)
    except InvalidSPARQL as error:
        raise helped(error, sparql, prefixes=prefixes, known=known_prefixes(store)) from error


def run_update(store: TripleStore, sparql: str) -> int:
    """Run an update and return the new revision of the store.

    Raises:
        InvalidSPARQL: it does not parse, or reaches the network.
    """
    prefixes = ontology_prefixes(store)
    try:
        refuse_in_update(sparql)
        return store.update(with_declarations(sparql, prefixes))
    except InvalidSPARQL as error:
        raise helped(error, sparql, prefixes=prefixes, known=known_prefixes(store), update=True) from error
