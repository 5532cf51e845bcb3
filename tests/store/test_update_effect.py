"""What an update would do, counted and sampled, against what it then does."""

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag import KnowledgeBase
from kgrag.errors import InputError, InvalidSPARQL
from kgrag.settings import Settings
from kgrag.store.update_effect import difference
from kgrag.testing import HashEmbedder
from kgrag.vocab import Names

NAMES = Names()
quads = st.sets(st.tuples(*(st.sampled_from("abc") for _ in range(2)), st.sampled_from("gh")), max_size=8)


def store(of: set[tuple[str, ...]]) -> ox.Store:
    made = ox.Store()
    made.extend(
        ox.Quad(*(ox.NamedNode(f"urn:{each}") for each in (s, "p", o)), ox.NamedNode(f"urn:{g}")) for s, o, g in of
    )
    return made


@given(quads, quads)
def test_the_difference_is_that_of_the_sets(past: set[tuple[str, ...]], present: set[tuple[str, ...]]) -> None:
    found = difference(store(past), store(present), names=NAMES, graphs=None)
    assert (found.added, found.removed) == (len(present - past), len(past - present))
    shown = {(each.graph, triple) for each in found.graphs for triple in each.added_triples}
    assert shown == {(f"urn:{g}", f"<urn:{s}> <urn:p> <urn:{o}>") for s, o, g in present - past}
    assert found.changed == len({g for _, _, g in present ^ past})


def test_what_is_written_to_the_default_graph_counts_in_the_graph_that_takes_it() -> None:
    past, present = ox.Store(), ox.Store()
    triple = (ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.Literal("1"))
    past.add(ox.Quad(*triple, NAMES.default_data))
    present.add(ox.Quad(*triple, ox.DefaultGraph()))
    assert difference(past, present, names=NAMES, graphs={""}).changed == 0
    found = difference(ox.Store(), present, names=NAMES, graphs={""})
    assert [(each.graph, each.added) for each in found.graphs] == [(NAMES.default_data.value, 1)]


def test_all_triples_are_counted_and_ten_are_shown() -> None:
    many = store({(f"s{number}", "o", "g") for number in range(25)})
    (graph,) = difference(ox.Store(), many, names=NAMES, graphs={"urn:g"}).graphs
    assert (graph.added, len(graph.added_triples), graph.removed) == (25, 10, 0)


@pytest.fixture
def kb(tmp_path):  # type: ignore[no-untyped-def]
    with KnowledgeBase(tmp_path / "kb", settings=Settings(completions="off"), embedder=HashEmbedder()) as opened:
        opened.update('INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> "old" . <urn:b> <urn:p> "kept" } }')
        yield opened


def test_a_knowledge_base_tells_what_an_update_would_do_and_stays_as_it_is(kb: KnowledgeBase) -> None:
    update = (
        'DELETE { GRAPH ?g { ?s ?p "old" } } INSERT { GRAPH ?g { ?s ?p "new" } } WHERE { GRAPH ?g { ?s ?p "old" } }'
    )
    revision, before = kb.store.revision, len(kb.store)
    found = kb.effect(update)
    assert (kb.store.revision, len(kb.store)) == (revision, before)
    (graph,) = found.graphs
    assert (graph.graph, graph.added_triples, graph.removed_triples) == (
        "urn:g",
        ('<urn:a> <urn:p> "new"',),
        ('<urn:a> <urn:p> "old"',),
    )
    kb.update(update)
    assert {str(triple) for triple in kb.graph("urn:g")} == {'<urn:a> <urn:p> "new"', '<urn:b> <urn:p> "kept"'}
    assert list((kb.path / "cache").glob("effect-*")) == []


def test_a_wrong_update_is_refused_with_its_place(kb: KnowledgeBase) -> None:
    with pytest.raises(InvalidSPARQL, match="line 1"):
        kb.effect("INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:p> } }")
    with pytest.raises(InvalidSPARQL):
        kb.effect("LOAD <http://127.0.0.1:9/x>")


def test_what_an_update_may_not_do_it_would_not_do_either(kb: KnowledgeBase) -> None:
    update = "INSERT DATA { GRAPH <urn:kgrag:graph/catalogue> { <urn:a> <urn:p> 1 } }"
    for run in (kb.update, kb.effect):
        with pytest.raises(InputError, match="which kgrag keeps itself"):
            run(update)
