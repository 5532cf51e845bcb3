"""Queries over graphs that state the same triples: their solutions are those over the merge of the graphs."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pyoxigraph as ox
import pytest
import rdflib

from kgrag.sparql.merged_graphs import with_merged_graphs
from kgrag.vocab import RDF
from tests.sparql.random_queries import PROLOGUE, RandomQuery, graphs_and_merge

REIFIES = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")
_Rows = Counter[tuple[str, ...]]


def rows(results: object) -> _Rows:
    assert isinstance(results, ox.QuerySolutions)
    names = [variable.value for variable in results.variables]
    return Counter(tuple(str(row[name]) for name in names) for row in results)


def over_graphs(store: ox.Store, query: str) -> _Rows:
    return rows(store.query(with_merged_graphs(query), use_default_graph_as_union=True))


def test_random_queries_have_the_solutions_of_the_merge() -> None:
    changed = wrong_as_they_are = 0
    for seed in range(300):
        rng = random.Random(seed)
        graphs, merge = graphs_and_merge(rng)
        query = PROLOGUE + RandomQuery(rng).select()
        results = merge.query(query)
        if results.variables:  # type: ignore[union-attr] # without: ``*`` over blank nodes alone, see Deviations
            wanted = rows(results)
            assert over_graphs(graphs, query) == wanted, query
            changed += with_merged_graphs(query) != query
            wrong_as_they_are += rows(graphs.query(query, use_default_graph_as_union=True)) != wanted
    assert changed > 150
    assert wrong_as_they_are > 15


def test_random_queries_have_the_solutions_that_rdflib_finds_in_the_merge() -> None:
    agreed = 0
    for seed in range(30):
        rng = random.Random(seed)
        graphs, merge = graphs_and_merge(rng)
        query = PROLOGUE + RandomQuery(rng, whole=False).select()
        found = rows_of_rdflib(merge, query)
        if found == rows(merge.query(query)):  # else one of the two engines has a fault of its own
            assert over_graphs(graphs, query) == found, query
            agreed += 1
    assert agreed > 20


def rows_of_rdflib(merge: ox.Store, query: str) -> _Rows:
    graph = rdflib.Graph()
    for quad in merge.quads_for_pattern(None, None, None, ox.DefaultGraph()):
        ends = (quad.subject, quad.predicate, quad.object)
        graph.add(tuple(rdflib.URIRef(e.value) if isinstance(e, ox.NamedNode) else rdflib.Literal(int(e.value)) for e in ends))  # type: ignore[union-attr,arg-type] # fmt: skip
    names = [variable.value for variable in merge.query(query).variables]  # type: ignore[union-attr]
    return Counter(
        tuple(str(None if row.get(name) is None else as_stored(row.get(name))) for name in names)
        for row in (binding.asdict() for binding in graph.query(query))  # type: ignore[union-attr]
    )


def as_stored(term: object) -> ox.NamedNode | ox.Literal:
    if isinstance(term, rdflib.Literal) and term.datatype:
        return ox.Literal(str(term), datatype=ox.NamedNode(str(term.datatype)))
    return ox.NamedNode(str(term)) if isinstance(term, rdflib.URIRef) else ox.Literal(str(term))


@pytest.fixture(scope="module")
def repeated() -> ox.Store:
    """Every triple in two graphs; one with a reifier, one list."""
    store = ox.Store()
    triples = [
        ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:p"), ox.NamedNode("urn:b")),
        ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:q"), ox.NamedNode("urn:b")),
        ox.Triple(ox.NamedNode("urn:b"), ox.NamedNode("urn:p"), ox.NamedNode("urn:c")),
        *(ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:v"), ox.Literal(n)) for n in (1, 2)),
        *(ox.Triple(ox.BlankNode(f"n{n}"), ox.NamedNode("urn:k"), ox.NamedNode("urn:a")) for n in range(3)),
    ]
    for name in ("x", "y"):
        triples.append(ox.Triple(ox.BlankNode(name), REIFIES, triples[0]))
        triples.append(ox.Triple(ox.BlankNode(name), ox.NamedNode("urn:by"), ox.NamedNode(f"urn:{name}")))
    cells = [ox.BlankNode("l1"), ox.BlankNode("l2"), RDF.nil]
    triples.append(ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:list"), cells[0]))
    for (cell, rest), value in zip(pairwise(cells), (1, 2), strict=True):
        assert isinstance(cell, ox.BlankNode)
        triples += [ox.Triple(cell, RDF.first, ox.Literal(value)), ox.Triple(cell, RDF.rest, rest)]
    for graph in ("urn:g", "urn:h"):
        store.extend(ox.Quad(*triple, ox.NamedNode(graph)) for triple in triples)
    return store


COUNTS = {
    "a pattern": ("{ ?s :v ?o }", 2),
    "without a variable": ("{ :a :p :b }", 1),
    "an unnamed node": ("{ [] :k :a }", 3),
    "a labelled node": ("{ _:n :k ?a . ?a :v ?o }", 6),
    "a node with properties": ("{ [ :k ?a ] :k ?b }", 3),
    "nothing but a node with properties": ("{ [ :k ?a ] }", 3),
    "a list": ("{ ?a :list (1 2) }", 1),
    "a list of nodes": ("{ ?a :list ( ?x ?y ) }", 1),
    "a path by a node": ("{ ?k :k/:v ?o }", 6),
    "a path by a node, back": ("{ ?o ^(:k/:v) ?k }", 6),
    "objects of a path": ("{ :a :p/:p ?x , :c }", 1),
    "any property but one": ("{ :a !:v ?o }", 3),
    "any property back but one": ("{ :b !^:v ?s }", 2),
    "any property but two": ("{ :a !(:v|:list) ?o }", 2),
    "a path of any length": ("{ :a :p+ ?o }", 2),
    "a reified triple": ("{ << ?s ?p ?o >> :by ?who }", 2),
    "a reified triple without more": ("{ << ?s ?p ?o >> }", 2),
    "a named reifier": ("{ << ?s ?p ?o ~ ?r >> :by ?who }", 2),
    "an annotation": ("{ ?s ?p ?o {| :by ?who |} }", 2),
    "two reifiers": ("{ :a :p ?o ~ ?r ~ {| :by ?who |} }", 4),
    "a triple term": ("{ ?r ?p <<( ?s :p ?o )>> }", 2),
    "the same row twice": ("{ VALUES ?s { :a :a } ?s :p ?o }", 2),
    "branches with the same": ("{ { ?s :p ?o } UNION { ?s :p ?o } }", 4),
    "optional": ("{ ?s :p ?o OPTIONAL { ?s :v ?v } }", 3),
    "minus": ("{ ?s :p ?o MINUS { ?s :v ?v } }", 1),
    "exists": ("{ ?s :p ?o FILTER EXISTS { ?s :v ?v } }", 1),
    "counts of another SELECT": ("{ { SELECT ?s (COUNT(*) AS ?k) { ?s :v ?o } GROUP BY ?s } FILTER(?k = 2) }", 1),
    "rows of another SELECT": ("{ ?s :p ?o { SELECT ?s { ?s :v ?w } } }", 2),
    "with a graph besides": ("{ ?s :p ?o GRAPH ?g { ?s :v ?w } }", 4),
    "within a graph": ("{ GRAPH ?g { ?s :p ?o } }", 4),
}


@pytest.mark.parametrize(("group", "count"), COUNTS.values(), ids=COUNTS)
def test_a_count_is_that_of_the_merge(repeated: ox.Store, group: str, count: int) -> None:
    for dataset in ("", "FROM :g FROM :h FROM NAMED :g FROM NAMED :h"):
        query = f"{PROLOGUE}SELECT (COUNT(*) AS ?n) {dataset} WHERE {group}"
        results = repeated.query(with_merged_graphs(query), use_default_graph_as_union=not dataset)
        assert [int(row[0].value) for row in results] == [count]  # type: ignore[union-attr,index]


@pytest.mark.parametrize(
    "text",
    [
        "ASK { ?s ?p ?o }",
        "SELECT DISTINCT ?s { ?s ?p ?o }",
        "SELECT (MIN(?o) AS ?n) (COUNT(DISTINCT ?s) AS ?m) { ?s ?p ?o }",
        "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }",
        "DESCRIBE ?s { ?s ?p ?o }",
        "SELECT ?s { GRAPH ?g { ?s ?p ?o } }",
        "SELECT ?s FROM <urn:g> { ?s ?p ?o }",
        "SELECT ?s FROM <urn:g> FROM <urn:g> FROM NAMED <urn:h> { ?s ?p ?o }",
        "SELECT ?s { VALUES ?s { 1 } FILTER EXISTS { ?s ?p ?o } }",
        "SELECT ?s { ?s ?p }",
        "SELECT ?s { ?s ex:p ?o }",
    ],
)
def test_what_does_not_depend_on_it_is_left_as_it_is(text: str) -> None:
    assert with_merged_graphs(text) == text


@pytest.mark.parametrize(
    ("query", "is_counted_apart"),
    [
        ("SELECT (COUNT(*) AS ?n) { ?s :v 1 }", True),
        ("SELECT ?s (COUNT(?o) AS ?n) { ?s :v ?o FILTER(?o < 2) } GROUP BY ?s HAVING(COUNT(*) > 0)", True),
        ("SELECT (COUNT(*) AS ?n) { [] :k :a }", True),
        ("SELECT (COUNT(*) AS ?n) { ?s :v ?o }", False),  # solutions differ in two variables
        ("SELECT ?s (COUNT(*) AS ?n) (SUM(?o) AS ?m) { ?s :v ?o } GROUP BY ?s", False),
        ("SELECT (COUNT(?s) AS ?n) { ?s :v ?o BIND(1 AS ?x) }", False),
        ("SELECT ?s (COUNT(*) AS ?n) { ?s :p ?t OPTIONAL { ?s :none ?x } } GROUP BY ?s ?t", False),  # ?x has no value
        ("SELECT (COUNT(?x) AS ?n) { ?s :v 1 }", False),
        ("SELECT (COUNT(*) AS ?n) { :a :v 1 }", False),
    ],
)
def test_solutions_that_differ_in_one_variable_are_counted_by_it(
    repeated: ox.Store, query: str, is_counted_apart: bool
) -> None:
    text = with_merged_graphs(PROLOGUE + query)
    assert (text.count("SELECT") == 1) == is_counted_apart
    merge = ox.Store()
    merge.extend(ox.Quad(*quad.triple) for quad in repeated)
    assert over_graphs(repeated, PROLOGUE + query) == rows(merge.query(PROLOGUE + query))


def test_whoever_chooses_the_graphs_of_a_request_overrides_from() -> None:
    one, two = ("SELECT ?s FROM <urn:g> { ?s ?p ?o }", "SELECT ?s FROM <urn:g> FROM <urn:h> { ?s ?p ?o }")
    assert with_merged_graphs(one, several=True, is_chosen=True) != one
    assert with_merged_graphs(two, several=False, is_chosen=True) == two
    assert with_merged_graphs(two, several=False) != two


def test_the_columns_stay_those_of_the_query(repeated: ox.Store) -> None:
    for text in (
        "SELECT * { ?s :p [] ; :v ?a }",
        "SELECT ?s { ?s :p/:p ?o }",
        "SELECT * { {SELECT * { ?b ?a [] } LIMIT 1} }",
    ):
        plain, merged = (repeated.query(each) for each in (PROLOGUE + text, with_merged_graphs(PROLOGUE + text)))
        assert plain.variables == merged.variables  # type: ignore[union-attr]


def test_a_construct_makes_a_node_for_each_solution(repeated: ox.Store) -> None:
    text = f"{PROLOGUE}CONSTRUCT {{ [] :of ?o }} {{ :a :v ?o }}"
    assert len(list(repeated.query(with_merged_graphs(text), use_default_graph_as_union=True))) == 2  # type: ignore[arg-type]
    short = f"{PROLOGUE}CONSTRUCT WHERE {{ :a :v ?o }} LIMIT 2"
    assert len(list(repeated.query(with_merged_graphs(short), use_default_graph_as_union=True))) == 2  # type: ignore[arg-type]


def test_names_of_new_variables_are_not_those_of_the_query() -> None:
    assert " ?_k_1" in with_merged_graphs("SELECT ?_k1 { ?_k1 <urn:p> [] }")
