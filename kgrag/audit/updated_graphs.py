"""Graphs that kgrag wrote and that somebody's SPARQL update changed, so that nobody can vouch for them.

The account of a graph that an update wrote to has no checksum, and all checksums are in doubt after an update that does
not show which graphs it writes to (``kgrag.store.checksums``): a graph of which it is still the right one is as it was.
Data and ontologies are their owners' to change.

Query read: ``catalogue/updates``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyoxigraph as ox

from kgrag import queries
from kgrag.audit.stated_content import StatedNode, fault, nodes_of
from kgrag.audit.step_input import Row
from kgrag.model import Term, plain
from kgrag.ports import TripleStore
from kgrag.store.checksums import checksum, read_account, read_doubt
from kgrag.vocab import DCTERMS, KG, RDF, local_name

__all__ = ["updated"]

_OF_THEIR_OWNERS = frozenset({KG.DataGraph, KG.OntologyGraph, KG.CatalogueGraph})


def updated(store: TripleStore) -> Iterator[Row]:
    """Yield the graphs of kgrag's own that an update changed, or may have changed.

    Args:
        store: of the graphs, those are read whose checksum is in doubt.
    """
    if not store.ask(queries.bind("catalogue/updates", catalogue=store.names.catalogue)):
        return
    catalogue = nodes_of(store.triples(store.names.catalogue))
    updates = {plain(entry.iri): entry for entry in catalogue.values() if KG.byUpdate in entry.values}
    for entry in catalogue.values():
        kinds = entry.values.get(RDF.type, [])
        own = KG.checksum in entry.values and kinds and _OF_THEIR_OWNERS.isdisjoint(kinds)
        if own and (named := _changed_by(entry, updates, store)):
            what = f"(kg:{local_name(plain(kinds[0]))}) was changed by {named}: it is no longer what kgrag wrote"
            yield fault(entry, KG.publication, what)


def _changed_by(entry: StatedNode, updates: Mapping[str, StatedNode], store: TripleStore) -> str:
    """Return which updates changed a graph, in words; "" for none."""
    accounts = entry.all(KG.checksum)
    own = [updates[change] for change in entry.all(KG.publication) if change in updates]
    if own and any(read_account(text)[1] == "" and not read_doubt(text) for text in accounts):
        return _in_words(own)
    doubted = [read_doubt(text) or read_account(text)[1] for text in accounts]
    if not any(map(read_doubt, accounts)) or not all(doubted):
        return ""
    total = f"{sum(int(value, 16) for value in doubted):x}"
    if checksum(store.triples(_graph(entry.iri))) == checksum((), before=total):
        return ""
    first = min(number for text in accounts if read_doubt(text) and (number := read_account(text)[0]) is not None)
    later = [each for each in updates.values() if each.number(KG.revision) <= first]
    return _in_words(later[-1:]) if later else "an update"


def _in_words(changes: list[StatedNode]) -> str:
    """Return updates by number and time.

    Raises:
        LookupError, ValueError: a change has no number or time.
    """
    said = sorted((each.number(KG.revision), each.one(DCTERMS.created)) for each in changes)
    each = ", ".join(f"{number} of {created}" for number, created in said)
    return (
        f"the SPARQL update{'s' if len(said) > 1 else ''} that {'are changes' if len(said) > 1 else 'is change'} {each}"
    )


def _graph(iri: Term) -> ox.NamedNode:
    return ox.NamedNode(plain(iri))
