"""Searches in SPARQL: they are found by reading, run before the query, and refused where they cannot be run."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgrag.errors import InvalidSPARQL
from kgrag.knowledge_base import KnowledgeBase
from kgrag.ports import Vectors
from kgrag.querying import searches
from kgrag.querying.searches import names_search
from kgrag.resources import folder
from kgrag.sparql.search_reader import read_searches
from kgrag.testing import HashEmbedder

_TEXTS = {"barley": "Barley wants loam.", "rice": "Rice stands in water.", "frost": "Frost in May harms the blossom."}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("texts")
    for name, text in _TEXTS.items():
        Path(folder, f"{name}.txt").write_text(text, encoding="utf-8")
    filled = KnowledgeBase(embedder=HashEmbedder())
    filled.ingest(folder)
    return filled


def texts(kb: KnowledgeBase, query: str) -> list[str]:
    table = kb.query(query)
    return [row[table.variables.index("text")].value for row in table]  # type: ignore[union-attr,index]


def test_the_nearest_text_is_found_by_meaning(kb: KnowledgeBase) -> None:
    assert texts(kb, 'SELECT ?text { ?node kgv:near ("Barley wants loam." 1) ; kg:text ?text }') == [_TEXTS["barley"]]


def test_a_text_is_found_by_its_words_with_its_score(kb: KnowledgeBase) -> None:
    query = 'SELECT ?text ?score { (?node ?score) kgv:matches ("frost blossom" 5 "chunk") . ?node kg:text ?text }'
    ((text, score),) = kb.query(query)  # type: ignore[misc,union-attr]
    assert text.value == _TEXTS["frost"]
    assert float(score.value) > 0


def test_a_search_stands_anywhere_in_its_statement(kb: KnowledgeBase) -> None:
    before = '{ ?node kgv:matches ("water") ; a kg:Chunk ; kg:text ?text . }'
    between = '{ GRAPH ?g { ?node a kg:Chunk ; kgv:matches ("water") ; kg:text ?text } }'
    behind = '{ ?node a kg:Chunk ; kg:text ?text ; kgv:matches ("water") ; }'
    assert {tuple(texts(kb, f"SELECT ?text {group}")) for group in (before, between, behind)} == {(_TEXTS["rice"],)}


def test_two_searches_of_one_node_must_both_hold(kb: KnowledgeBase) -> None:
    assert texts(kb, 'SELECT ?text { ?n kgv:matches ("water") ; kgv:matches ("loam") ; kg:text ?text }') == []


def test_a_search_without_result_gives_no_row(kb: KnowledgeBase) -> None:
    assert texts(kb, 'SELECT ?text { ?n kgv:matches ("zebra") ; kg:text ?text }') == []


def test_an_optional_search_leaves_the_rows_alone(kb: KnowledgeBase) -> None:
    query = 'SELECT ?text { ?n a kg:Chunk ; kg:text ?text OPTIONAL { (?n ?s) kgv:matches ("water") } } ORDER BY ?s'
    assert texts(kb, query)[-1] == _TEXTS["rice"]
    assert len(texts(kb, query)) == 3


def test_the_prefix_may_have_another_name(kb: KnowledgeBase) -> None:
    query = 'PREFIX v: <https://w3id.org/kgrag/vector#> SELECT ?text { ?n v:matches ("loam") ; kg:text ?text }'
    assert texts(kb, query) == [_TEXTS["barley"]]


def test_similarity_orders_nodes_by_a_text(kb: KnowledgeBase) -> None:
    query = 'SELECT ?text { ?n a kg:Chunk ; kg:text ?text } ORDER BY DESC(kgv:similarity(?n, "Rice stands in water."))'
    assert texts(kb, query)[0] == _TEXTS["rice"]


def test_a_node_is_most_similar_to_itself_and_one_without_vector_has_no_similarity(kb: KnowledgeBase) -> None:
    query = "SELECT ?text { ?n a kg:Chunk BIND(kgv:similarity(?n, ?n) AS ?text) }"
    assert [round(float(value), 5) for value in texts(kb, query)] == [1.0, 1.0, 1.0]
    assert kb.query('ASK { FILTER(BOUND(?x) || !COALESCE(kgv:similarity(<urn:no:node>, "a") > -2, false)) }') is True


def test_what_stands_in_a_string_or_a_comment_is_no_search(kb: KnowledgeBase) -> None:
    query = "SELECT ?text { ?n kg:text ?text FILTER(?text != '?n kgv:near (1)') # ?n kgv:near (\n }"
    assert len(texts(kb, query)) == 6  # documents and chunks


@pytest.mark.parametrize(
    ("group", "told"),
    [
        ("{ ?n kgv:near 'frost' }", "no list of constants"),
        ("{ ?n kgv:near (?text 3) }", "nothing in the braces of kgv:near gives \\?text a value"),
        ("{ VALUES ?other { 'a' } ?n kgv:near (?text 3) }", "gives \\?text a value"),
        ("{ ?n kgv:near (?n 3) }", "no text"),
        ("{ ?n kgv:matches (<urn:x:y> 3) }", "no text"),
        ("{ VALUES ?x { <urn:x:y> } ?n kgv:matches (?x 3) }", "Only kgv:near does"),
        ("{ ?n kgv:near (<urn:x:y> 3) }", "'chunk' does not have that"),
        ("{ ?n kgv:near ('a' ?count) }", "no list of constants"),
        ("{ ?n kgv:near ('a'), ('b') }", "no list of constants"),
        ("{ ?n kgv:near ('a' 3 4) }", "two numbers"),
        ("{ <urn:x:y> kgv:near ('a') }", "no variable"),
        ("{ (?n ?n) kgv:near ('a') }", "no variable"),
        ("{ (?n ?s ?t ?u) kgv:near ('a') }", "no variable"),
        ("{ (?n ?s) kgv:near ('a') ; kg:text ?t }", "shares its subject"),
        ("{ ?x kg:p [ kgv:near ('a') ] }", "no variable"),
        ("{ ?x kgv:near/kg:text ?y }", "property path"),
        ("{ ?n kgv:near ('a' 0) }", "asks for 0"),
        ("{ ?n kgv:near ('a' 100000) }", "asks for 100000"),
        ("{ ?n kgv:near ('a' 5 'chunks') }", "Did you mean 'chunk'"),
        ("{ ?n kg:text ?t FILTER(kgv:similarity(?n) > 0) }", "takes a node"),
    ],
)
def test_a_search_that_cannot_be_run_is_refused_with_its_place(kb: KnowledgeBase, group: str, told: str) -> None:
    with pytest.raises(InvalidSPARQL, match=told) as error:
        kb.query(f"SELECT * {group}")
    assert "line 1, column " in str(error.value)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.text(max_size=40))
def test_any_text_can_be_searched_for(kb: KnowledgeBase, text: str) -> None:
    written = ox.Literal(text)
    try:
        quoted = str(written)
        quoted.encode()
    except UnicodeEncodeError:
        return
    (statement,) = read_searches(f"SELECT * {{ ?n kgv:near ({quoted} 3) }}").statements
    assert statement.calls[0].text == text
    kb.query(f"SELECT * {{ ?n kgv:near ({quoted} 3) }}")


def test_a_query_without_the_prefix_is_not_read_at_all() -> None:
    assert not names_search("SELECT * { ?s ?p ?o }")


def test_the_examples_of_the_vocabulary_run(kb: KnowledgeBase) -> None:
    example = ox.NamedNode("http://www.w3.org/2004/02/skos/core#example")
    described = ox.parse(path=folder("ontologies") / "vector.ttl")
    examples = [quad.object.value for quad in described if quad.predicate == example]
    assert [len(texts(kb, query)) for query in sorted(examples)] == [0, 3, 3, 3]


# --- what a query may ask for -------------------------------------------------------------------------------------


def test_more_than_ten_searches_are_refused_before_the_first_is_run(kb: KnowledgeBase) -> None:
    groups = " UNION ".join(f'{{ ?n kgv:near ("text {number}" 1) }}' for number in range(11))
    with pytest.raises(InvalidSPARQL, match="11 searches.*at most 10"):
        kb.query(f"SELECT * {{ {groups} }}")


def test_the_same_search_many_times_is_one(kb: KnowledgeBase) -> None:
    groups = " UNION ".join(['{ ?n kgv:matches ("water") }'] * 11)
    assert len(kb.query(f"SELECT * {{ {groups} }}")) == 11  # type: ignore[arg-type]


def test_of_a_long_text_only_the_beginning_is_searched_for(kb: KnowledgeBase) -> None:
    long = "water " * 5_000
    assert texts(kb, f'SELECT ?text {{ ?n kgv:matches ("{long} loam") ; kg:text ?text }}') == [_TEXTS["rice"]]
    embedded: list[int] = []

    class Counting(HashEmbedder):
        def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
            embedded.extend(map(len, texts))
            return super().embed(texts, kind)

    replace(kb.search, embedder=Counting()).resolve(
        f'SELECT * {{ ?n kgv:near ("{long}") BIND(kgv:similarity(?n, "{long}") AS ?s) }}'
    )
    assert embedded == [8000, 8000]


def test_a_long_query_is_read_for_searches_only_where_it_has_one(kb: KnowledgeBase) -> None:
    values = " ".join(f"<urn:x:{number}>" for number in range(10_000))
    assert len(kb.query(f'SELECT * {{ VALUES ?x {{ {values} }} BIND("kgv:near" AS ?text) }}')) == 10_000  # type: ignore[arg-type]
    with pytest.raises(InvalidSPARQL, match="at most 100,000"):
        kb.query(f'SELECT * {{ ?n kgv:near ("a") VALUES ?x {{ {values} }} }}')


# --- what the group of a search asks of its node ------------------------------------------------------------------


_PARTS = st.sampled_from(
    [
        "?n a kg:Chunk . ",
        "?n dcterms:isPartOf ?d . ?d dcterms:title 'rice' . ",
        "?n dcterms:isPartOf/dcterms:title ?t . FILTER(?t > 'c') ",
        "?n dcterms:isPartOf/dcterms:title ?t . FILTER(?t > 'c' && ?s > 0.01) ",
        "GRAPH ?g { ?n kg:text ?x FILTER(CONTAINS(?x, 'o')) } ",
        "{ ?n kg:text 'none' } UNION { ?n kg:text ?x FILTER(CONTAINS(?x, 'a')) } ",
        "OPTIONAL { ?n kg:none ?o } FILTER(!BOUND(?o)) ",
        "VALUES (?d ?o) { (UNDEF UNDEF) } ?n dcterms:isPartOf ?d . OPTIONAL { ?n a ?o } FILTER(BOUND(?o)) ",
        "MINUS { ?n kg:text ?x FILTER(CONTAINS(?x, 'M')) } ",
        "FILTER EXISTS { ?n kg:text ?x FILTER(CONTAINS(?x, 'M')) } ",
        "?other kgv:matches ('loam' 1) ; dcterms:isPartOf ?e . ?n dcterms:isPartOf ?f FILTER(?e != ?f) ",
        "FILTER(kgv:similarity(?n, 'Frost in May') > -2) ",
        "BIND('rice' AS ?title) ?n dcterms:isPartOf/dcterms:title ?title . ",
    ]
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(_PARTS, max_size=2, unique=True), st.sampled_from([1, 2, 3]), st.sampled_from(["near", "matches"]))
def test_the_best_of_what_may_be_found_are_what_is_left_of_everything(
    kb: KnowledgeBase, parts: list[str], count: int, kind: str
) -> None:
    def rows(number: int) -> list[tuple[str, str]]:
        text = f"SELECT DISTINCT ?n ?s {{ (?n ?s) kgv:{kind} ('water loam may' {number}) . {'  '.join(parts)} }} ORDER BY DESC(?s) ?n"
        return kb.query(text).values()  # type: ignore[union-attr]

    found, everything = rows(count), rows(1000)
    assert found == [row for row in everything if row in found]
    before = " ".join(part for part in parts if not part.startswith(("MINUS", "FILTER", "OPTIONAL", "BIND", "?other")))
    if before == " ".join(parts) and "?s" not in before:
        assert found == everything[:count]


@pytest.mark.parametrize(
    "group",
    [
        "?n kgv:near ('loam' 1) ; dcterms:isPartOf ?d . ?d dcterms:title 'rice' . ?n kg:text ?text",
        "GRAPH ?g { { ?n kgv:near ('loam' 1) ; dcterms:isPartOf/dcterms:title 'rice' ; kg:text ?text } }",
        "{ SELECT ?text { ?n <https://w3id.org/kgrag/vector#near> ('loam' 1) . GRAPH ?g { ?n kg:text ?text ; dcterms:isPartOf/dcterms:title 'rice' } } }",
        "VALUES ?d { 'rice' } ?n kgv:near ('loam' 1) ; kg:text ?text ; dcterms:isPartOf/dcterms:title ?d",
    ],
)
def test_one_document_is_searched_where_the_query_asks_for_one(kb: KnowledgeBase, group: str) -> None:
    assert texts(kb, f"SELECT ?text {{ {group} }}") == [_TEXTS["rice"]]


def test_of_too_many_nodes_to_list_the_best_are_looked_through(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searches, "_MAX_NODES_LISTED", 0)
    query = "SELECT ?text { ?n kgv:near ('loam' 1) ; dcterms:isPartOf/dcterms:title 'rice' ; kg:text ?text }"
    assert texts(kb, query) == [_TEXTS["rice"]]


def test_a_variable_in_a_string_is_none(kb: KnowledgeBase) -> None:
    patterns = "?n kg:text ?text ; a kg:Chunk . { ?n a ?c } UNION { ?n a 'no ?o' } OPTIONAL { ?n a ?o }"
    query = f"SELECT ?text {{ ?n kgv:near ('loam' 1) . VALUES ?x {{ '?o' }} {patterns} FILTER(BOUND(?o) && ?x != '') }}"
    assert texts(kb, query) == [_TEXTS["barley"]]


def test_conditions_inside_and_beside_a_search_both_hold(kb: KnowledgeBase) -> None:
    query = "SELECT ?text {{ ?n kgv:near ('loam' 5 'chunk' 'title=rice') ; kg:text ?text ; dcterms:isPartOf/dcterms:title '{}' }}"
    assert texts(kb, query.format("rice")) == [_TEXTS["rice"]]
    assert texts(kb, query.format("frost")) == []


# --- phrases, beginnings, misspelt words, both signals, texts and nodes from the query ----------------------------


@pytest.fixture(scope="module")
def crops(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    names = {
        "w": "winter barley",
        "b": "barley for winter",
        "s": "spring barley",
        "r": "red rice",
        "g": "germinated rye",
    }
    lines = "\n".join(f':{key} :name "{name}" ; :zone :z{len(name) % 2} .' for key, name in names.items())
    path = tmp_path_factory.mktemp("crops") / "crops.ttl"
    path.write_text(f"@prefix : <urn:x:> . {lines} [] :asks 'red rice' . :q :like :r .", encoding="utf-8")
    filled = KnowledgeBase(embedder=HashEmbedder())
    filled.load(path)
    filled.add_index("crops", "SELECT ?iri ?text { ?iri <urn:x:name> ?text }")
    return filled


def rows(kb: KnowledgeBase, query: str) -> list[tuple[str, ...]]:
    found = kb.query(f"PREFIX : <urn:x:> {query}").values()  # type: ignore[union-attr]
    return [tuple(cell.removeprefix("urn:x:") for cell in row) for row in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('"winter barley"', {"w"}),
        ('"winter barley" rice', {"w"}),
        ('"barley" "spring"', {"s"}),
        ('"barley winter"', {"b"}),  # stop words count in neither
        ('"barley rice"', set()),
        ('"the"', set()),
        ("germ*", {"g"}),
        ("germinat*", {"g"}),
        ("g*", set()),
        ("barely~", {"w", "b", "s"}),
        ("rcie~ sprin~", {"r", "s"}),
        ("arley~", set()),  # another first letter
        ("sprout* barley", {"w", "b", "s"}),
        ('"', set()),
    ],
)
def test_phrases_beginnings_and_misspelt_words(crops: KnowledgeBase, text: str, found: set[str]) -> None:
    query = f"SELECT ?n {{ ?n kgv:matches ({ox.Literal(text)} 10 'crops') }}"
    assert {node for (node,) in rows(crops, query)} == found


def test_a_phrase_is_looked_for_in_chunks_too(kb: KnowledgeBase) -> None:
    query = "SELECT ?text {{ ?n kgv:matches ('{}' 5) ; kg:text ?text }}"
    assert texts(kb, query.format('"stands in water"')) == [_TEXTS["rice"]]
    assert texts(kb, query.format('"water stands"')) == []


def test_both_signals_count_in_a_fused_search(crops: KnowledgeBase) -> None:
    query = """SELECT ?n ?s { (?n ?s) kgv:fused ('"winter barley"' 3 'crops') } ORDER BY DESC(?s)"""
    ((best, score), *_) = rows(crops, query)
    assert best == "w"
    assert float(score) > 2 / 63


def test_what_is_near_to_a_node_is_searched_for_by_the_node(crops: KnowledgeBase) -> None:
    found = rows(crops, "SELECT ?n { ?n kgv:near (:w 2 'crops') }")
    assert len(found) == 2
    assert ("w",) not in found
    assert rows(crops, "SELECT ?n ?x { ?q :like ?x . ?n kgv:near (?x 1 'crops') ; :name 'spring barley' }") == [
        ("s", "r")
    ]


def test_texts_are_given_by_the_query(crops: KnowledgeBase) -> None:
    values = "SELECT ?n ?t { VALUES ?t { 'red rice' 'spring' 'none'@en } ?n kgv:matches (?t 1 'crops') } ORDER BY ?n"
    assert rows(crops, values) == [("r", "red rice"), ("s", "spring")]
    assert rows(crops, "SELECT ?n { [] :asks ?t . ?n kgv:matches (?t 1 'crops') }") == [("r",)]
    joined = (
        "SELECT ?n { ?x :name ?t . ?n kgv:matches (?t 1 'crops') ; :zone ?z . ?x :zone ?z FILTER(?n = ?x) } ORDER BY ?n"
    )
    assert rows(crops, joined) == [("b",), ("g",), ("r",), ("s",), ("w",)]


def test_more_than_ten_texts_are_refused(crops: KnowledgeBase) -> None:
    many = " ".join(f"'t{number}'" for number in range(11))
    with pytest.raises(InvalidSPARQL, match="at most 10"):
        rows(crops, f"SELECT ?n {{ VALUES ?t {{ {many} }} ?n kgv:matches (?t 1 'crops') }}")


def test_a_snippet_marks_what_was_found(crops: KnowledgeBase) -> None:
    query = "SELECT ?snippet { (?n ?s ?snippet) kgv:matches ('barleys wint*' 1 'crops') }"
    assert rows(crops, query) == [("**barley** for **winter**",)]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.text(alphabet='ab"*~ é\\', max_size=12))
def test_no_text_breaks_a_search_by_words(crops: KnowledgeBase, text: str) -> None:
    rows(crops, f"SELECT ?n ?x {{ (?n ?s ?x) kgv:fused ({ox.Literal(text)} 3 'crops') }}")
