"""What each pattern of a query matches: counted, expected, cut, or not counted and why."""

from typing import Any

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase, queries
from kgrag.errors import InvalidSPARQL
from kgrag.querying import query_explanation
from kgrag.querying.query_explanation import PatternCount, explained
from kgrag.resources import folder
from kgrag.testing import HashEmbedder
from kgrag.vocab import KGV, PREFIXES

DATA = """
<urn:a> a <urn:C> <urn:g> .
<urn:a> a <urn:C> <urn:h> .
<urn:a> <urn:p> <urn:a> <urn:g> .
<urn:a> <urn:p> <urn:b> <urn:g> .
<urn:b> <urn:q> "x" <urn:h> .
"""


def counts(sparql: str, *, seconds: float = 10, **uses: str) -> list[PatternCount]:
    store = ox.Store()
    store.load(
        DATA.replace(" a ", " <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> ").encode(), ox.RdfFormat.N_QUADS
    )

    def count(**values: Any) -> int:
        rows: Any = store.query(queries.bind("explain/count", **values))
        return int(next(iter(rows))[0].value)

    known = [(f"urn:{term}", "property" if term.islower() else "class", figure) for term, figure in uses.items()]
    return explained(sparql, PREFIXES, count=count, uses=known, seconds=seconds)


@pytest.mark.parametrize(
    ("query", "matches"),
    [
        ("ASK { ?s a <urn:C> ; <urn:p> ?o . ?o <urn:none> 3 }", [1, 2, 0]),  # of two graphs, once
        ("ASK { GRAPH ?g { ?s a <urn:C> } GRAPH <urn:g> { ?s a ?c ; ?p ?o } }", [2, 1, 3]),
        ("ASK { ?s <urn:p> ?s OPTIONAL { <urn:a> <urn:p>+ <urn:b> } }", [1, 1]),
        ("ASK FROM <urn:h> { ?s ?p ?o GRAPH ?g { ?s ?p ?o } }", [2, 0]),
        ("ASK FROM NAMED <urn:h> { ?s ?p ?o GRAPH ?g { ?s ?p ?o } GRAPH <urn:g> { ?s ?p ?o } }", [0, 2, 0]),
        ("SELECT * { { SELECT ?s { ?s <urn:q> 'x' } } }", [1]),
    ],
)
def test_each_pattern_is_counted_by_itself_in_its_graphs(query: str, matches: list[int]) -> None:
    found = counts(query)
    assert [(each.matches, each.counted) for each in found] == [(figure, "whole") for figure in matches]
    assert all(each.text.split()[1] == query[each.start : each.end] for each in found)


def test_what_cannot_be_counted_says_why_and_a_search_is_one_line() -> None:
    found = counts(f"ASK {{ (?c ?n) <{KGV.prefix}near> ('x' 3) . ?a !<urn:p> ?b . ?s ?s ?o }}")
    assert [(each.counted, each.why) for each in found] == [
        ("not", "a search, which is run before the patterns"),
        ("not", "a path by other properties than some"),
        ("not", "the property is the same variable as another part"),
    ]


def test_the_profile_says_what_is_expected_of_a_class_and_of_a_property() -> None:
    found = counts("ASK { ?s a <urn:C> ; <urn:p> ?o ; <urn:q> 'x' }", C="12", p="7", q="9")
    assert [each.expected for each in found] == [12, 7, None]


def test_more_than_is_counted_and_what_took_too_long_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_explanation, "MAX_COUNTED", 1)
    (found,) = counts("ASK { ?s <urn:p> ?o }")
    assert (found.counted, found.matches) == ("limit", 1)
    (late,) = counts("ASK { ?s <urn:p> ?o }", seconds=0)
    assert (late.counted, late.matches) == ("time", None)


def test_a_knowledge_base_explains_a_query_and_tells_a_mistake_in_it() -> None:
    with KnowledgeBase(embedder=HashEmbedder()) as kb:
        kb.load(folder("ontologies") / "crops.ttl")
        (found,) = kb.explain("ASK { ?class a owl:Class }")
        assert found.matches == len(kb.query("SELECT DISTINCT ?class { ?class a owl:Class }"))
        with pytest.raises(InvalidSPARQL, match="line 1, column 14"):
            kb.explain("ASK { ?class }")
