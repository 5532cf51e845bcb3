"""What a model is shown, what is found in its reply, and what a stored question may answer."""

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgrag import KnowledgeBase
from kgrag.index import vector_spaces
from kgrag.model import GraphDraft
from kgrag.querying.text_to_sparql import Competency, Slice, mentions, query_in, schema_slice
from kgrag.vocab import KG, OWL, RDF, RDFS

NS = "http://example.org/big#"
QUERY = 'PREFIX e: <http://e/>\nSELECT ?s WHERE { ?s e:p "}" } ORDER BY ?s\nLIMIT 5'


@pytest.mark.parametrize(
    "reply",
    [
        QUERY,
        f"```sparql\n{QUERY}\n```",
        f"```\n{QUERY}\n```\nThis query selects the {{subjects}}.",
        f"Here it is:\n\n{QUERY}\n\nIt finds every subject.",
        f"<think>SELECT ?x {{ ?x ?y ?z }} would be wrong</think>\n{QUERY}",
        f"You gave me\n```sparql\nSELECT * {{ ?a ?b ?c }}\n```\nand I rewrote it:\n~~~sparql\n{QUERY}\n~~~",
        f"```sparql\n{QUERY}",
    ],
)
def test_the_query_is_found_in_what_a_model_wrote(reply: str) -> None:
    assert query_in(reply) == QUERY


@pytest.mark.parametrize(
    "reply", ["", "I can't.", "Select the agents and ask them.", "```python\nprint('SELECT')\n```", "{}"]
)
def test_prose_holds_no_query(reply: str) -> None:
    assert query_in(reply) == ""


@given(st.text())
def test_no_reply_breaks_the_search(reply: str) -> None:
    assert query_in(reply) in reply.replace("\r", "") or "`" in reply or "~" in reply


@pytest.fixture
def big(kb: KnowledgeBase) -> KnowledgeBase:
    """An ontology of 1,500 properties on 300 classes, each with a comment of 2,000 characters."""
    triples = []
    for number in range(300):
        triples += _described(f"Kind{number}", OWL.Class, number)
    for number in range(1500):
        triples += _described(f"hasPart{number}", OWL.ObjectProperty, number)
        part = ox.NamedNode(f"{NS}hasPart{number}")
        triples.append(ox.Triple(part, RDFS.domain, ox.NamedNode(f"{NS}Kind{number % 300}")))
        triples.append(ox.Triple(part, RDFS.range, ox.NamedNode(f"{NS}Kind{(number + 1) % 300}")))
    triples += _described("soldByAgent", OWL.ObjectProperty, 0)
    sold = ox.NamedNode(f"{NS}soldByAgent")
    triples += [
        ox.Triple(sold, RDFS.domain, ox.NamedNode(f"{NS}Kind7")),
        ox.Triple(sold, RDFS.range, ox.NamedNode(f"{NS}Kind8")),
    ]
    kb.store.publish([GraphDraft(ox.NamedNode(NS), KG.OntologyGraph, triples, mode="replace")])
    return kb


def _described(name: str, kind: ox.NamedNode, number: int) -> list[ox.Triple]:
    term, comment = ox.NamedNode(NS + name), f"line {number}\nnext \x07 " + "x" * 2000
    return [
        ox.Triple(term, RDF.type, kind),
        ox.Triple(term, RDFS.label, ox.Literal(f'thing "{number}"\n=== {name} ===')),
        ox.Triple(term, RDFS.comment, ox.Literal(comment)),
    ]


def _sliced(kb: KnowledgeBase, question: str) -> Slice:
    index = vector_spaces.fresh("schema-term", store=kb.store, spaces=kb.spaces, embedder=kb.embedder)
    return schema_slice(question, kb.embedder.embed([question], "query")[0], store=kb.store, index=index)


def test_a_slice_of_a_large_ontology_is_bounded_and_holds_what_the_question_is_about(big: KnowledgeBase) -> None:
    part = _sliced(big, "Which agent sold it?")
    assert NS + "soldByAgent" in part.terms
    assert {NS + "Kind7", NS + "Kind8"} <= set(part.terms)
    assert len(part.terms) <= 80
    assert len(part.text) <= 16_000
    assert not part.whole


def test_a_term_takes_one_line_whatever_its_label_says(big: KnowledgeBase) -> None:
    part = _sliced(big, "Which agent sold it?")
    assert all(line.startswith(("class ", "  ", "any class")) for line in part.text.splitlines())
    assert not any(line.startswith(("===", "  ===")) for line in part.text.splitlines())
    assert "\x07" not in part.text


def test_a_property_stands_under_its_class_with_what_the_data_have(kb: KnowledgeBase) -> None:
    def thing(iri: str, kind: str, **values: ox.NamedNode | ox.Literal) -> list[ox.Triple]:
        node = ox.NamedNode(f"urn:{iri}")
        stated = [ox.Triple(node, ox.NamedNode(NS + key), value) for key, value in values.items()]
        return [ox.Triple(node, RDF.type, ox.NamedNode(NS + kind)), *stated]

    terms = [("Policy", OWL.Class), ("Claim", OWL.Class), ("about", OWL.ObjectProperty), ("size", OWL.DatatypeProperty)]
    ontology = [ox.Triple(ox.NamedNode(NS + name), RDF.type, kind) for name, kind in [*terms, ("name", RDF.Property)]]
    ontology.append(ox.Triple(ox.NamedNode(NS + "about"), RDFS.domain, ox.NamedNode(NS + "Claim")))
    size = ox.Literal("12", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer"))
    facts = thing("c", "Claim", about=ox.NamedNode("urn:p"), size=size)
    for number in range(4):
        facts += thing(f"x{number}", f"Kind{number}", name=ox.Literal(f'"say\n{number}"'))
    kb.store.publish([GraphDraft(ox.NamedNode(NS), KG.OntologyGraph, ontology, mode="replace")])
    kb.store.publish([GraphDraft(ox.NamedNode("urn:g"), KG.DataGraph, facts, mode="replace")])
    part = _sliced(kb, "Which policies?")
    prefix = part.declarations.partition(f": <{NS}>")[0].rpartition("PREFIX ")[2]
    assert part.text.replace(f"{prefix}:", ":").splitlines() == [
        "class :Claim (1)",
        "  :about to anything",
        "  :size xsd:integer, e.g. 12",
        "class :Policy (0)",
        "any class",
        """  :name text, e.g. "'say 0'\"""",
    ]


def test_every_prefix_of_a_slice_is_declared(big: KnowledgeBase) -> None:
    part = _sliced(big, "Which agent sold it?")
    prefix = part.declarations.partition(f": <{NS}>")[0].rpartition("PREFIX ")[2]
    assert f"  {prefix}:soldByAgent to {prefix}:Kind8" in part.text


def test_a_label_that_changed_is_embedded_anew(big: KnowledgeBase) -> None:
    def vector() -> list[float]:
        index = vector_spaces.fresh("schema-term", store=big.store, spaces=big.spaces, embedder=big.embedder)
        return index.vectors([f"{NS}soldByAgent"])[0].tolist()

    before = vector()
    big.update(
        f"DELETE {{ GRAPH ?g {{ <{NS}soldByAgent> ?p ?l }} }} "
        f'INSERT {{ GRAPH ?g {{ <{NS}soldByAgent> a owl:ObjectProperty ; rdfs:label "vendor" }} }} '
        f"WHERE {{ GRAPH ?g {{ <{NS}soldByAgent> ?p ?l }} }}"
    )
    assert vector() != before
    assert NS + "soldByAgent" in _sliced(big, "Which vendor was it?").terms[:2]


def test_names_in_a_question_are_found_the_longest_first(kb: KnowledgeBase) -> None:
    def named(iri: str, label: ox.Literal) -> ox.Triple:
        return ox.Triple(ox.NamedNode(iri), RDFS.label, label)

    facts = [
        named("urn:ada", ox.Literal("Ada Byron")),
        named("urn:other", ox.Literal("Byron")),
        named("urn:bonn", ox.Literal("Bonn", language="de")),
        named("urn:the", ox.Literal("the")),
    ]
    kb.store.publish([GraphDraft(ox.NamedNode("urn:g"), KG.DataGraph, facts, mode="replace")])
    question = "Did Ada Byron's brother, the elder, live in Bonn?"
    found = mentions(question, kb.store)
    assert [(mention.text, mention.entity) for mention in found] == [("Ada Byron", "urn:ada"), ("Bonn", "urn:bonn")]
    assert [question[mention.start : mention.end] for mention in found] == ["Ada Byron", "Bonn"]


@given(st.text(max_size=200))
def test_no_question_breaks_the_search_for_names(question: str) -> None:
    from kgrag.store.oxigraph import OxigraphStore

    assert mentions(question, OxigraphStore.open(None)) == []


@pytest.mark.parametrize(
    ("asked", "values"),
    [
        ("Who leads Data Services?", {"team": "Data Services"}),
        ("  who LEADS\nData Services ", {"team": "Data Services"}),
        ("Who leads?", None),
        ("Who led Data Services?", None),
    ],
)
def test_a_question_matches_a_stored_one_word_for_word(asked: str, values: dict[str, str] | None) -> None:
    assert Competency("urn:q", "Who leads {team}?", "").matched(asked) == values


def test_a_parameter_is_filled_where_it_is_a_variable_and_nowhere_else() -> None:
    sparql = 'SELECT ?x { ?x <http://e/$team> $team . FILTER (?y = "$team" || $teams = 1) } # $team'
    filled = Competency("urn:q", "{team}", sparql).filled({"team": ox.Literal('a" } DROP ALL #')})
    assert filled == (
        'SELECT ?x { ?x <http://e/$team> "a\\" } DROP ALL #" . FILTER (?y = "$team" || $teams = 1) } # $team'
    )
