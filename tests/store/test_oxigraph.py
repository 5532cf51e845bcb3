"""Text from outside: queries and updates, their gate, and the catalogue after an update."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import queries
from kgrag.audit.recomputation import recomputed
from kgrag.errors import InvalidSPARQL
from kgrag.sparql.gate import MAX_CHAIN, MAX_DEPTH
from kgrag.store.embedded_quads import EmbeddedQuads
from kgrag.store.oxigraph import OxigraphStore
from kgrag.vocab import KG
from tests.store.oxigraph_drafts import EDGE, N, content, edge, entry, listed, ontology

XSD_INTEGER = ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")


@pytest.fixture
def store() -> OxigraphStore:
    store = OxigraphStore.open(None)
    store.publish([edge(), listed("a", 2)])
    return store


def uncatalogued(store: OxigraphStore) -> list[tuple[str, ...]]:
    return store.select(queries.bind("catalogue/uncatalogued", catalogue=store.names.catalogue)).values()


INSERTS = {
    "plain": "INSERT DATA { GRAPH <urn:t:g> { <urn:t:a> <urn:t:b> 1 } }",
    "with a prefix": "PREFIX t: <urn:t:> INSERT DATA { GRAPH t:g { t:a t:b 1 } }",
    "with a base": "BASE <urn:t:> INSERT DATA { GRAPH <urn:t:g> { <urn:t:a> <urn:t:b> 1 } }",
    "with a semicolon behind": "INSERT DATA { GRAPH <urn:t:g> { <urn:t:a> <urn:t:b> 1 } } ;",
    "with a comment behind": "INSERT DATA { GRAPH <urn:t:g> { <urn:t:a> <urn:t:b> 1 } } # ; done",
    "with semicolon and comment behind": "INSERT DATA { GRAPH <urn:t:g> { <urn:t:a> <urn:t:b> 1 } }; # ' \" {",
    "in two operations": "CREATE SILENT GRAPH <urn:t:g>; INSERT DATA { GRAPH <urn:t:g> { <urn:t:a> <urn:t:b> 1 } }",
    "by a variable": "INSERT { GRAPH ?g { <urn:t:a> <urn:t:b> 1 } } WHERE { BIND(<urn:t:g> AS ?g) }",
    "by WITH": "WITH <urn:t:g> INSERT { <urn:t:a> <urn:t:b> 1 } WHERE {}",
    "by a prefix that is ours": "PREFIX kg: <urn:other:> INSERT DATA { GRAPH <urn:t:g> { kg:a <urn:t:b> 1 } }",
}


@pytest.mark.parametrize("text", INSERTS.values(), ids=INSERTS)
def test_an_update_makes_a_revision_and_lists_its_new_graph(store: OxigraphStore, text: str) -> None:
    assert store.update(text) == store.revision == 2
    said = entry(store, N("urn:t:g"))
    assert (said["type"], said["triples"]) == ([KG.DataGraph.value], ["1"])
    assert said["publication"] == [store.names.publication(2).value]
    assert len(said["created"]) == 1
    assert uncatalogued(store) == []


def test_triples_outside_every_graph_move_to_a_graph_of_their_own(store: OxigraphStore) -> None:
    store.update("INSERT DATA { <urn:t:a> <urn:t:b> 1 , 2 }")
    store.update("INSERT DATA { <urn:t:a> <urn:t:b> 2 , 3 }")
    assert store.default_graph_size() == 0
    assert len(list(store.triples(store.names.default_data))) == 3
    assert entry(store, store.names.default_data)["triples"] == ["3"]


@pytest.mark.parametrize(
    "text",
    [
        "DROP GRAPH <urn:t:edge>",
        "CLEAR GRAPH <urn:t:edge>",
        "DELETE WHERE { GRAPH <urn:t:edge> { ?s ?p ?o } }",
        "DELETE WHERE { GRAPH ?g { <urn:t:node> ?p ?o } }",
        "MOVE <urn:t:edge> TO <urn:t:elsewhere>",
    ],
)
def test_a_graph_that_an_update_empties_is_struck_and_can_be_published_again(store: OxigraphStore, text: str) -> None:
    store.update(text)
    assert not store.described(EDGE)
    assert EDGE.value not in store.graphs()
    assert uncatalogued(store) == []
    assert store.publish([edge()]).published == (EDGE.value,)


def test_a_graph_that_was_published_empty_stays_listed(store: OxigraphStore) -> None:
    store.publish([edge("empty", triples=[])])
    store.update("DELETE WHERE { GRAPH ?g { <urn:t:none> ?p ?o } }")
    assert store.described(N("urn:t:empty"))


def test_counts_are_made_anew_where_an_update_writes(store: OxigraphStore) -> None:
    store.update(
        "INSERT DATA { GRAPH <urn:t:edge> { <urn:t:a> <urn:t:b> 1 } GRAPH <urn:t:list> { <urn:t:a> <urn:t:b> 1 } }"
    )
    assert entry(store, EDGE)["triples"] == ["3"]
    assert "triples" not in entry(store, N("urn:t:list"))
    store.update("DELETE { GRAPH ?g { ?s <urn:t:b> ?o } } WHERE { GRAPH ?g { ?s <urn:t:b> ?o } }")
    assert entry(store, EDGE)["triples"] == ["2"]


def test_dropping_everything_leaves_a_knowledge_base(store: OxigraphStore) -> None:
    assert store.update("DROP ALL") == 2
    assert store.graphs() == [store.names.catalogue.value]
    assert entry(store, store.names.knowledge_base)["baseIRI"] == ["urn:kgrag:"]
    assert len(entry(store, store.names.catalogue)["created"]) == 1
    assert store.publish([edge()]).revision == 3
    assert list(recomputed(store)) == []


def test_a_revision_that_an_update_forges_only_moves_on(store: OxigraphStore) -> None:
    store.update(
        "INSERT DATA { GRAPH <urn:kgrag:graph/catalogue> { <urn:t:x> <https://w3id.org/kgrag/ns#revision> 40 } }"
    )
    assert store.revision == 40
    assert store.publish([edge("next")]).revision == 41


@pytest.mark.parametrize("text", ["", "# nothing", "PREFIX t: <urn:t:>", " \n"])
def test_an_update_without_an_operation_changes_nothing(store: OxigraphStore, text: str) -> None:
    before = content(store)
    assert store.update(text) == 1
    assert content(store) == before


BROKEN = {
    "INSERT DATA {\n  <urn:t:a> <urn:t:b> }": "line 2",
    "SELECT ?s WHERE { ?s ?p ?o }": "line 1",
    "INSERT DATA { GRAPH <urn:t:g> { <urn:t:a> <urn:t:b> 1 }": "line 1",
    "INSERT DATA { GRAPH <urn:t:g> { <a> <urn:t:b> 1 } }": "line 1",
    "DELETE WHERE { GRAPH <urn:t:g> { ?s ?p ?o } } }": "line 1",
}


@pytest.mark.parametrize("text", BROKEN)
def test_an_update_that_does_not_parse_changes_nothing_and_tells_the_line(store: OxigraphStore, text: str) -> None:
    before = content(store)
    with pytest.raises(InvalidSPARQL, match=BROKEN[text]):
        store.update(text)
    assert content(store) == before
    assert store.revision == 1


def test_an_update_that_fails_half_way_changes_nothing(store: OxigraphStore) -> None:
    before = content(store)
    with pytest.raises(InvalidSPARQL):
        store.update("INSERT DATA { GRAPH <urn:t:g> { <urn:t:a> <urn:t:b> 1 } }; CREATE GRAPH <urn:t:edge>")
    assert content(store) == before


def test_the_engine_finds_a_triple_once_for_each_graph_that_states_it() -> None:
    # where this fails, the engine merges graphs as SPARQL says, and kgrag.sparql.merged_graphs is no longer needed
    engine = ox.Store()
    five = ox.Literal("5", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer"))
    for graph in ("urn:a", "urn:b"):
        engine.add(ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), five, ox.NamedNode(graph)))
    total = "SELECT (SUM(?o) AS ?total) %s WHERE { ?s ?p ?o }"
    merged = list(engine.query(total % "", use_default_graph_as_union=True))
    named = list(engine.query(total % "FROM <urn:a> FROM <urn:b>"))
    assert [row["total"].value for row in (*merged, *named)] == ["10", "10"]


@pytest.mark.parametrize("dataset", ["", "FROM <urn:t:a> FROM <urn:t:b>"])
def test_a_query_over_several_graphs_counts_a_triple_once(store: OxigraphStore, dataset: str) -> None:
    store.update("INSERT DATA { GRAPH <urn:t:a> { <urn:t:s> <urn:t:p> 5 } GRAPH <urn:t:b> { <urn:t:s> <urn:t:p> 5 } }")
    results = store.query(f"SELECT (SUM(?o) AS ?total) {dataset} WHERE {{ ?s <urn:t:p> ?o }}", union=True)
    assert [row["total"].value for row in results] == ["5"]


def numbers(folder: Path) -> EmbeddedQuads:
    quads = EmbeddedQuads(ox.Store(str(folder)))
    values = [ox.Literal(str(number), datatype=XSD_INTEGER) for number in range(1, 1200)]
    quads.store.extend(ox.Quad(N("urn:t:s"), N("urn:t:p"), value, N("urn:t:g")) for value in values)
    quads.store.extend(
        ox.Quad(N("urn:t:t"), N("urn:t:p"), ox.Triple(N("urn:t:s"), N("urn:t:p"), value), N("urn:t:g"))
        for value in values
    )
    return quads


def test_the_engine_runs_on_behind_a_number_whose_last_byte_is_full(tmp_path: Path) -> None:
    quads = numbers(tmp_path)  # were it mended, nothing of ours needs to leave out what was not asked for
    found = quads.store.quads_for_pattern(None, None, ox.Literal("255", datatype=XSD_INTEGER), None)
    assert sum(1 for _ in found) == 256


@pytest.mark.parametrize("text", ["254", "255", "0255", "511", "1199"])
def test_a_number_is_looked_up_alone(tmp_path: Path, text: str) -> None:
    quads, value = numbers(tmp_path), ox.Literal(text, datatype=XSD_INTEGER)
    for pattern in (
        (None, None, value, None),
        (None, N("urn:t:p"), value, N("urn:t:g")),
        (N("urn:t:s"), N("urn:t:p"), value, None),
    ):
        assert [int(quad.object.value) for quad in quads.match(pattern)] == [int(text)]  # type: ignore[union-attr]
    ((quad,),) = quads.matching([(None, None, ox.Triple(N("urn:t:s"), N("urn:t:p"), value), None)])
    assert int(quad.object.object.value) == int(text)  # type: ignore[union-attr]
    assert quads.damage() == []


def test_a_query_gives_the_engines_results(store: OxigraphStore) -> None:
    rows = list(store.query("SELECT ?v WHERE { GRAPH <urn:t:edge> { ?s <https://w3id.org/kgrag/ns#value> ?v } }"))
    assert [row["v"] for row in rows] == [ox.Literal("Soybean")]
    assert store.query("ASK { ?s ?p ?o }") == ox.Store().query("ASK { ?s ?p ?o }")


def test_the_union_of_graphs_is_the_default_graph_only_when_asked_for(store: OxigraphStore) -> None:
    text = "SELECT ?v WHERE { ?s <https://w3id.org/kgrag/ns#value> ?v } ORDER BY ?v"
    assert list(store.query(text)) == []
    assert len(list(store.query(text, union=True))) == 3


def test_from_wins_over_the_union(store: OxigraphStore) -> None:
    text = "SELECT ?v FROM <urn:t:edge> WHERE { ?s <https://w3id.org/kgrag/ns#value> ?v }"
    assert len(list(store.query(text, union=True))) == 1


def test_a_query_that_does_not_parse_tells_the_line(store: OxigraphStore) -> None:
    with pytest.raises(InvalidSPARQL, match=r"line 2, column \d+ near 'WHER"):
        store.query("SELECT ?s\nWHER { ?s ?p ?o }")


@pytest.mark.parametrize("name", ["query", "update"])
def test_the_gate_stands_before_text_from_outside(store: OxigraphStore, name: str) -> None:
    with pytest.raises(InvalidSPARQL, match="SERVICE"):
        getattr(store, name)("SELECT * WHERE { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }")


def test_our_own_queries_may_be_long(store: OxigraphStore) -> None:
    values = " ".join(f"<urn:t:{row}>" for row in range(100_000))
    text = f"SELECT ?s WHERE {{ VALUES ?s {{ {values} }} GRAPH <urn:t:edge> {{ ?s ?p ?o }} }} ORDER BY ?s"
    assert len(text) > 1_000_000
    assert len(store.select(text)) == 0


def test_select_ask_and_construct_refuse_each_others_queries(store: OxigraphStore) -> None:
    forms = {
        store.select: "SELECT ?s WHERE { GRAPH ?g { ?s ?p ?o } }",
        store.ask: "ASK { GRAPH ?g { ?s ?p ?o } }",
        store.construct: "CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }",
    }
    for method in forms:
        for other, text in forms.items():
            if other is not method:
                with pytest.raises(InvalidSPARQL, match="expected"):
                    method(text)  # type: ignore[operator]


def test_a_select_gives_unbound_cells_as_none(store: OxigraphStore) -> None:
    table = store.select("SELECT ?a ?b WHERE { VALUES (?a ?b) { (1 UNDEF) } }")
    assert table.variables == ("a", "b")
    assert table.values() == [("1", "")]
    assert table.rows[0][1] is None


def test_text_at_the_limits_of_the_gate_does_not_kill_the_process(tmp_path: Path) -> None:
    depth, chain = MAX_DEPTH - 2, MAX_CHAIN - 2 * MAX_DEPTH
    texts = [
        f"SELECT * WHERE {'{' * depth} {'MINUS {} ' * (chain // 2)} {'}' * depth}",
        f"SELECT ({'(' * depth}{'1+' * chain}1{')' * depth} AS ?x) WHERE {{}}",
        "SELECT * WHERE {" + " ".join(f"BIND({row} AS ?x{row})" for row in range(chain // 2)) + "}",
        f"SELECT * WHERE {{ {'{} UNION ' * (chain // 2)} {{}} }}",
    ]
    code = (
        "import sys; from kgrag.store.oxigraph import OxigraphStore; store = OxigraphStore.open(None)\n"
        "for text in sys.argv[1:]: list(store.query(text))"
    )
    done = subprocess.run([sys.executable, "-c", code, *texts], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_the_catalogues_queries_answer(store: OxigraphStore) -> None:
    catalogue = store.names.catalogue
    store.publish([ontology(ox.Literal("x"))])
    assert [row[:2] for row in store.select(queries.bind("catalogue/graphs", catalogue=catalogue)).values()] == [
        (catalogue.value, KG.CatalogueGraph.value),
        (EDGE.value, KG.HyperedgeGraph.value),
        ("urn:t:list", KG.HypernodeGraph.value),
        ("urn:t:ontology", KG.OntologyGraph.value),
    ]
    sources = queries.bind("catalogue/sources_of", catalogue=catalogue, graph=EDGE)
    assert store.select(sources).values() == [("urn:t:chunk", "")]
    derived = queries.bind("catalogue/derived_from", catalogue=catalogue, source=N("urn:t:chunk"))
    assert store.select(derived).values() == [(EDGE.value, KG.HyperedgeGraph.value)]
    assert store.select(queries.bind("catalogue/revision", catalogue=catalogue)).values() == [("2",)]
    revisions = store.select(queries.bind("catalogue/revisions", catalogue=catalogue, limit=2)).values()
    assert [(row[0], row[3]) for row in revisions] == [("2", "2"), ("1", "3")]
