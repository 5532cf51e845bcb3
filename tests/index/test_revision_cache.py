"""Values of a store are kept until it changes, or until graphs of the kinds that they rest on do."""

import pyoxigraph as ox
import pytest

from kgrag.index.revision_cache import RevisionCache
from kgrag.model import GraphDraft
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG

NODE = ox.NamedNode("urn:t:s")


def publish(store: OxigraphStore, kind: ox.NamedNode, value: str) -> None:
    triples = [ox.Triple(NODE, KG.value, ox.Literal(value))]
    store.publish([GraphDraft(ox.NamedNode(f"urn:t:{kind.value[-8:]}"), kind, triples, mode="add")])


@pytest.mark.parametrize(
    ("kinds", "made"), [((), [1, 2, 3, 4]), ((KG.OntologyGraph,), [1, 1, 2, 2]), ((KG.DataGraph,), [1, 2, 2, 3])]
)
def test_a_value_is_made_again_when_what_it_rests_on_changed(kinds: tuple[ox.NamedNode, ...], made: list[int]) -> None:
    store, cache, times = OxigraphStore.open(None), RevisionCache[int](kinds=kinds), [0]

    def make() -> int:
        times[0] += 1
        return times[0]

    found = [cache.get(store, "", make)]
    for kind, value in ((KG.DataGraph, "a"), (KG.OntologyGraph, "b"), (KG.DataGraph, "c")):
        publish(store, kind, value)
        found.append(cache.get(store, "", make))
    assert found == made


def test_an_update_of_any_graph_makes_a_value_be_made_again() -> None:
    store, cache = OxigraphStore.open(None), RevisionCache[str](kinds=(KG.OntologyGraph,))
    assert cache.get(store, "", lambda: "before") == "before"
    store.update("DELETE { GRAPH ?g { ?s ?p ?o } } WHERE { GRAPH ?g { ?s ?p ?o } FILTER (?g = <urn:t:none>) }")
    assert cache.get(store, "", lambda: "after") == "after"
