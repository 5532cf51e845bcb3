"""What a writer notes of its changes is what the catalogue says of them, and never less."""

import pyoxigraph as ox
import pytest

from kgrag import queries
from kgrag.index import change_feed
from kgrag.model import GraphDraft
from kgrag.store import kind_journal, lineage
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG

N = ox.NamedNode
KINDS = (KG.DataGraph, KG.OntologyGraph, KG.DocumentGraph)


def draft(graph: str, value: str, kind: ox.NamedNode = KG.DataGraph) -> GraphDraft:
    return GraphDraft(N(graph), kind, [ox.Triple(N("urn:s"), KG.value, ox.Literal(value))], mode="replace")


def test_the_kinds_that_are_noted_are_those_that_the_catalogue_says_have_changed() -> None:
    with OxigraphStore.open(None) as store:
        store.publish([draft("urn:a", "1"), draft("urn:b", "1", KG.OntologyGraph)])
        store.publish([draft("urn:a", "2")])
        store.publish([draft("urn:a", "2")])
        store.remove([N("urn:b")])
        store.restate([], [ox.Quad(N("urn:x"), KG.value, ox.Literal("x"), store.names.catalogue)])
        for since in range(store.revision + 1):
            for kind in KINDS:
                values = {"catalogue": store.names.catalogue, "kind": kind, "since": since, "publications": []}
                said = store.ask(queries.bind("spaces/changed", **values))
                assert change_feed.changed(kind, store=store, since=since) == said, (since, kind)


def test_nothing_is_noted_of_an_update_nor_of_what_was_before() -> None:
    with OxigraphStore.open(None) as store:
        store.publish([draft("urn:a", "1")])
        assert kind_journal.touched(store, 0, 1) == {KG.DataGraph}
        assert kind_journal.touched(store, -1, 1) is None
        store.update("INSERT DATA { GRAPH <urn:a> { <urn:s> <urn:p> 2 } }")
        assert kind_journal.touched(store, 0, store.revision) is None


def test_a_writer_knows_the_lineage_of_its_own_changes_and_asks_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with OxigraphStore.open(None) as store:
        assert lineage.lineage(store, 0) == ""
        store.publish([draft("urn:a", "1")])
        stated = store.select(queries.bind("catalogue/lineage", catalogue=store.names.catalogue, revision=1)).values()
        monkeypatch.setattr(queries, "bind", None)
        assert [(lineage.lineage(store, revision),) for revision in (1, 7)] == [*stated, *stated]
