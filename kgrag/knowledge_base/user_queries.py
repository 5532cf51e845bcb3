"""Queries of users: their searches run, prefixes of the loaded ontologies known, mistakes told."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyoxigraph as ox

from kgrag import queries
from kgrag.errors import InputError, InvalidSPARQL
from kgrag.index.ontology_prefixes import known_prefixes, ontology_prefixes
from kgrag.model import Term, plain
from kgrag.ports import OpenedStore, TripleStore
from kgrag.querying.query_explanation import PatternCount, explained
from kgrag.querying.searches import functions, names_search, refuse_in_update
from kgrag.querying.written_results import WrittenTriples, named_graphs
from kgrag.sparql.computed_terms import with_readable_terms
from kgrag.sparql.constant_lists import with_values_for_lists
from kgrag.sparql.gate import check_update
from kgrag.sparql.query_help import helped, with_declarations
from kgrag.sparql.total_orders import with_total_orders
from kgrag.sparql.update_chances import chance_in_graphs
from kgrag.sparql.update_targets import written
from kgrag.store.engine import Results, engine
from kgrag.store.own_graphs import changed_on_copy, named_by_first
from kgrag.store.update_effect import UpdateEffect, effect_on_copy
from kgrag.telemetry import span
from kgrag.vocab import PREFIXES, Names

if TYPE_CHECKING:
    from kgrag.knowledge_base.wiring import Wiring

__all__ = ["effect_of_update", "explanation", "run_query", "run_update"]

_MAX_GRAPHS_NAMED = 3


def run_query(kb: Wiring, store: OpenedStore, sparql: str) -> ox.QuerySolutions | ox.QueryBoolean | WrittenTriples:
    """Run a query; its default graph is the union of all named graphs, unless it says FROM.

    Raises:
        InvalidSPARQL: it does not parse, asks for SERVICE, or for a search that cannot be run.
    """
    results = _engine_results(kb, store, sparql)
    if not isinstance(results, ox.QueryTriples):
        return results
    graphs = named_graphs(sparql, {**PREFIXES, **ontology_prefixes(store)})
    return WrittenTriples(results, graphs, store.select, store.names)


def _engine_results(kb: Wiring, store: OpenedStore, sparql: str) -> Results:
    prefixes = ontology_prefixes(store)
    try:
        with span("sparql query", {"db.system.name": "oxigraph", "db.operation.name": "query"}):
            text = with_values_for_lists(with_declarations(sparql, prefixes), PREFIXES)
            if not names_search(text):
                return store.query(text, union=True)

            def select(query: str) -> list[Term]:
                rows = cast("ox.QuerySolutions", store.query(query, union=True))
                return [row[0] for row in rows if row[0] is not None]

            found = kb.search.resolve(text, select=select)
            similarity = functions(kb.spaces, found.similar) if found.compares else None
            return store.query(found.text, union=True, calls=similarity)
    except InvalidSPARQL as error:
        raise helped(error, sparql, prefixes=prefixes, known=known_prefixes(store)) from error


def explanation(kb: Wiring, sparql: str, *, seconds: float) -> list[PatternCount]:
    """Return what each pattern of a query matches by itself.

    Raises:
        InvalidSPARQL: it does not parse.
    """
    store, prefixes = kb.store, ontology_prefixes(kb.store)

    def count(**values: Any) -> int:
        return int(plain(next(iter(store.select(queries.bind("explain/count", **values))))[0]))

    uses = store.select(queries.bind("profile/terms", graph=store.names.profile_graph)).values()
    figures = [(row[0], row[1], row[2]) for row in uses]
    try:
        return explained(sparql, {**PREFIXES, **prefixes}, count=count, uses=figures, seconds=seconds)
    except InvalidSPARQL as error:
        raise helped(error, sparql, prefixes=prefixes, known=known_prefixes(store)) from error


def run_update(store: TripleStore, sparql: str, *, own_graphs: bool = False) -> int:
    """Run an update and return the new revision of the store.

    Args:
        store: the store.
        sparql: the update.
        own_graphs: let it change graphs that kgrag makes, but for the catalogue, without naming them (GRAPH ?g).

    Raises:
        InvalidSPARQL: it does not parse, or reaches the network.
        InputError: it writes to the catalogue, or without ``own_graphs`` to a graph of kgrag's that it does not name.
    """
    prefixes = ontology_prefixes(store)
    try:
        refuse_in_update(sparql)
        text = with_declarations(sparql, prefixes)
        _refuse_catalogue(text, store.names)
        _refuse_unnamed(store, text, own_graphs=own_graphs)
        return store.update(text)
    except InvalidSPARQL as error:
        raise helped(error, sparql, prefixes=prefixes, known=known_prefixes(store), update=True) from error


def _refuse_catalogue(update: str, names: Names) -> None:
    """Refuse an update that names the catalogue as a graph that it writes to.

    Raises:
        InputError: it does.
    """
    if names.catalogue.value in (written(update, PREFIXES).graphs or ()):
        raise InputError(
            f"the update writes to <{names.catalogue.value}>, which kgrag keeps itself: no document, source or build "
            "is known without it. Leave it out; `kgrag load`, `ingest`, `forget` and `sources` change what it lists."
        )


def _refuse_unnamed(store: TripleStore, update: str, *, own_graphs: bool) -> None:
    """Refuse an update that changes a graph of kgrag's own making without naming it.

    Raises:
        InputError: it does, or may do so when it is run again.
        InvalidSPARQL: it does not parse.
    """
    check_update(update)
    if written(update, PREFIXES).graphs is not None:
        return
    way_out = "Name the graphs by their IRIs, or ask for it: own_graphs=True, --own-graphs."
    if not own_graphs and (chance := chance_in_graphs(update)):
        raise InputError(
            f"it cannot be told which graphs the update writes to, and because of {chance} it may be others each time; "
            f"graphs that kgrag makes itself could be among them. {way_out}"
        )
    with engine(update):
        own = named_by_first(store, with_readable_terms(update))
        if own is None:
            own = _changed_on_copy(store, with_total_orders(with_readable_terms(update)))
    catalogue = store.names.catalogue.value
    if catalogue in own:
        raise InputError(f"the update changes <{catalogue}>, which kgrag keeps itself. Name the graphs that it is for.")
    if own and not own_graphs:
        shown = ", ".join(f"<{graph}>" for graph in own[:_MAX_GRAPHS_NAMED])
        raise InputError(
            f"the update changes {len(own):,} graphs that kgrag makes itself and that it does not name, such as "
            f"{shown}. {way_out}"
        )


def _changed_on_copy(store: TripleStore, update: str) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="kgrag-update-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder, "store")
        store.snapshot(copy)
        past = ox.Store(str(copy))
        past.backup(f"{copy}-changed")
        present = ox.Store(f"{copy}-changed")
        return changed_on_copy(past, present, update, names=store.names, base=None, prefixes=PREFIXES)


def effect_of_update(kb: Wiring, sparql: str) -> UpdateEffect:
    """Return what an update would do, found on a copy of the store by hard links; nothing is changed.

    Raises:
        InvalidSPARQL, InputError: as of ``run_update``.
        StorageFailed: no copy can be written.
    """
    store = kb.store
    prefixes = ontology_prefixes(store)
    cache = None if kb.path is None else kb.path / "cache"  # hard links need the same file system
    if cache is not None:
        cache.mkdir(exist_ok=True)
    try:
        refuse_in_update(sparql)
        check_update(sparql)
        text = with_declarations(sparql, prefixes)
        _refuse_catalogue(text, store.names)
        with tempfile.TemporaryDirectory(prefix="effect-", dir=cache, ignore_cleanup_errors=True) as folder:
            copy = Path(folder, "store")
            store.snapshot(copy)
            return effect_on_copy(copy, text, names=store.names, prefixes=PREFIXES)
    except InvalidSPARQL as error:
        raise helped(error, sparql, prefixes=prefixes, known=known_prefixes(store), update=True) from error
