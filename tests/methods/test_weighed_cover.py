"""The cover of OG-RAG's default: length, rarity, the words of whole facts, ties."""

import json
from itertools import pairwise

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag import KnowledgeBase
from kgrag.methods.og_rag import fact_words, hypergraph_arrays, hypergraph_drafts
from kgrag.methods.og_rag.relevance import Relevant
from kgrag.methods.og_rag.weighed_cover import WeighedCover, weighed_covering
from kgrag.store.oxigraph import OxigraphStore

ODD = WeighedCover(5, length=0.2, words=1.0, kept=0.0)


def hypergraph(*edges):
    """Return a store with hyperedges of pairs ("key", name), by the names in each."""
    store = OxigraphStore.open(None)
    return store, publish(store, *edges)


def publish(store, *edges):
    """Publish hyperedges; return IRI -> names."""
    activity, source = store.names.activity("test"), store.names.chunk(ox.NamedNode("urn:d"), 0, 1)
    pairs = {names: frozenset(("key", name) for name in names.split()) for names in edges}
    drafts = [
        hypergraph_drafts.hyperedge_draft(edge, sources=[source], activity=activity, names=store.names)
        for edge in pairs.values()
    ]
    nodes = hypergraph_drafts.hypernode_triples(list(pairs.values()), {}, store.names)
    store.publish([*drafts, hypergraph_drafts.hypernodes_draft(list(nodes), store.names)])
    return {draft.iri.value: names for names, draft in zip(pairs, drafts, strict=True)}


def covered(store, relevant, by_words, cover):
    """Return (hyperedge, score) of what is chosen; hypernodes that are not there are left out."""
    graph = hypergraph_arrays.fresh(store, None)
    worth = {store.names.hypernode("key", name).value: value for name, value in relevant.items()}
    places = graph.nodes.known_places(worth)
    values = np.array([worth[iri] for iri in graph.nodes.at(places)], dtype=np.float64)
    found = weighed_covering(graph, Relevant(places, values, values), by_words, cover)
    return [(graph.edges[place], gain) for place, gain in found]


def chosen(edges, relevant, by_words=None, cover=ODD):
    store, iris = hypergraph(*edges)
    places = {names: iri for iri, names in iris.items()}
    scores = {places[names]: score for names, score in (by_words or {}).items()}
    return [iris[iri] for iri, _ in covered(store, relevant, scores, cover)]


def test_of_two_that_cover_as_much_the_shorter_comes_first():
    assert chosen(["pea rate m1 m2 m3 m4", "pea rate m5"], {"pea": 1, "rate": 1})[0] == "pea rate m5"


def test_a_pair_that_many_have_is_worth_less_than_a_rare_one():
    many = [f"unknown x{n}" for n in range(20)]
    assert chosen([*many, "pea y"], {"unknown": 1.1, "pea": 1.0})[0] == "pea y"


def test_the_words_of_a_whole_fact_bring_it_in_and_forward():
    edges = ["pea rate", "rye depth"]
    assert chosen(edges, {"pea": 1}) == ["pea rate"]
    assert set(chosen(edges, {"pea": 1}, {"rye depth": 3.0})) == set(edges)
    assert chosen(edges, {"pea": 1}, {"rye depth": 3.0}, WeighedCover(5, words=2.0))[0] == "rye depth"


def test_what_is_covered_counts_less_the_second_time():
    edges = ["pea a", "pea b", "rye c"]
    assert "rye c" in chosen(edges, {"pea": 1.0, "rye": 0.9}, cover=WeighedCover(2, kept=0.3))
    assert "rye c" not in chosen(edges, {"pea": 1.0, "rye": 0.2}, cover=WeighedCover(2, kept=1.0))


def test_without_anything_relevant_nothing_is_chosen():
    assert chosen(["pea a"], {}) == []
    assert chosen(["pea a"], {"unknown": 1}) == []


def test_a_hypernode_that_all_have_still_finds_some_where_nothing_else_is_relevant():
    assert len(chosen([f"hub x{n}" for n in range(150)], {"hub": 1}, cover=WeighedCover(5))) == 5


@settings(max_examples=20, deadline=None)
@given(
    st.sets(st.sets(st.sampled_from("abcdef"), min_size=1).map(lambda names: " ".join(sorted(names))), min_size=1),
    st.dictionaries(st.sampled_from("abcdefg"), st.floats(0.1, 2), min_size=1),
)
def test_scores_fall_and_no_hyperedge_comes_twice(edges, relevant):
    store, _ = hypergraph(*sorted(edges))
    found = covered(store, relevant, {}, WeighedCover(4))
    assert all(first >= second - 1e-9 for (_, first), (_, second) in pairwise(found))
    assert len({iri for iri, _ in found}) == len(found) <= 4


def test_the_words_of_facts_follow_the_hypergraph(tmp_path):
    store, iris = hypergraph("pea rate", "rye depth")
    graph = hypergraph_arrays.fresh(store, None)
    words = fact_words.fresh(store, tmp_path, graph)
    ((found, _),) = words.search("How deep is the depth?", 5)
    assert iris[found] == "rye depth"
    assert graph.edges.at(graph.edge_places(sorted(iris))) == sorted(iris)
    assert fact_words.faults(store, tmp_path, graph) == []
    publish(store, "oat depth")
    grown = fact_words.fresh(store, tmp_path, hypergraph_arrays.fresh(store, None))
    assert len(grown.search("depth", 5)) == 2


@pytest.fixture
def mapped(tmp_path):
    folder = tmp_path / "mapped"
    folder.mkdir()
    long = {f"note {n}": f"pea remark {n}" for n in range(9)}
    crops = [
        {"@type": "crop", "name": "Pea", "seeding rate": "200 kg"},
        {"@type": "trial", "name": "Pea", "place": "seeding", **long},
    ]
    (folder / "crops.jsonld").write_text(json.dumps({"@graph": crops}), encoding="utf-8")
    return folder


def test_the_default_takes_the_fact_and_not_the_longest_record(kb: KnowledgeBase, mapped):
    kb.build("og_rag", mapped=mapped)
    (best,) = kb.retrieve("Which seeding rate has Pea?", method="og_rag", k=1)
    assert "200 kg" in best.text
    greedy = kb.retrieve("Which seeding rate has Pea?", method="og_rag:cover=greedy", k=1)
    paper = kb.retrieve("Which seeding rate has Pea?", method="og_rag:scoring=paper", k=1)
    assert greedy
    assert paper == kb.retrieve("Which seeding rate has Pea?", method="og_rag:scoring=paper,cover=greedy", k=1)
