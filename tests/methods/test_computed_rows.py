"""Counts, sums, extremes and comparisons that are computed from rows without a model."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgrag import KnowledgeBase
from kgrag.capabilities import LeftToEvidence
from kgrag.methods.poly_rag.method import PolyRag
from kgrag.methods.poly_rag.row_questions import read
from kgrag.methods.poly_rag.row_values import amount_of
from kgrag.model import Answer
from kgrag.querying.text_to_sparql import Execution
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder

ONTOLOGY = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix f: <https://example.org/fleet#> .
<https://example.org/fleet> a owl:Ontology .
f:Harbour a owl:Class ; rdfs:label "harbour"@en .
f:Ship a owl:Class ; rdfs:label "cargo ship"@en .
f:Voyage a owl:Class ; rdfs:label "voyage"@en .
f:Crew a owl:Class ; rdfs:label "crew"@en .
f:name a owl:DatatypeProperty ; rdfs:label "name"@en ; rdfs:range xsd:string .
f:hasShip a owl:ObjectProperty ; rdfs:label "has ship"@en ; rdfs:domain f:Harbour ; rdfs:range f:Ship .
f:origin a owl:ObjectProperty ; rdfs:label "origin"@en ; rdfs:domain f:Voyage ; rdfs:range f:Harbour .
f:destination a owl:ObjectProperty ; rdfs:label "destination"@en ; rdfs:domain f:Voyage ; rdfs:range f:Harbour .
f:deck a owl:DatatypeProperty ; rdfs:label "deck length"@en ; rdfs:domain f:Ship ; rdfs:range xsd:string .
f:crewCount a owl:DatatypeProperty ; rdfs:label "crew count"@en ; rdfs:domain f:Ship ; rdfs:range xsd:integer .
f:voyageNumber a owl:DatatypeProperty ; rdfs:label "voyage number"@en ; rdfs:domain f:Voyage ; rdfs:range xsd:string .
f:draught a owl:DatatypeProperty ; rdfs:label "draught"@en ; rdfs:domain f:Ship ; rdfs:range xsd:string .
"""
DATA = """
@prefix f: <https://example.org/fleet#> .
f:bergen a f:Harbour ; f:name "Bergen" ; f:hasShip f:ada, f:bea .
f:lagos a f:Harbour ; f:name "Lagos" .
f:vigo a f:Harbour ; f:name "Vigo" ; f:hasShip f:cleo .
f:ada a f:Ship ; f:name "Ada" ; f:deck "900 ft" ; f:draught "5 m" ; f:crewCount 12 .
f:bea a f:Ship ; f:name "Bea" ; f:deck "1,200 m" ; f:draught "7.5 m" ; f:crewCount 20 .
f:cleo a f:Ship ; f:name "Cleo" ; f:deck "800 m" ; f:draught "6 m" ; f:crewCount 16 .
f:v1 a f:Voyage ; f:name "V one" ; f:origin f:bergen ; f:destination f:vigo .
f:v2 a f:Voyage ; f:name "V two" ; f:origin f:bergen ; f:destination f:vigo .
f:v1 f:voyageNumber "17" .
f:k1 a f:Crew ; f:name "Night crew" .
"""

PLANT = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix p: <https://example.org/plant#> .
<https://example.org/plant> a owl:Ontology .
p:Machine a owl:Class ; rdfs:label "machine"@en .
p:Pump a owl:Class ; rdfs:subClassOf p:Machine ; rdfs:label "pump"@en .
p:Doser a owl:Class ; rdfs:subClassOf p:Pump ; rdfs:label "dosing pump"@en .
p:Maker a owl:Class ; rdfs:label "manufacturer"@en .
p:mass a owl:DatatypeProperty ; rdfs:domain p:Machine ; rdfs:label "mass"@en .
p:madeBy a owl:ObjectProperty ; rdfs:domain p:Machine ; rdfs:range p:Maker ; rdfs:label "made by"@en .
p:feeds a owl:ObjectProperty ; rdfs:domain p:Pump ; rdfs:range p:Machine ; rdfs:label "feeds"@en .
"""
MACHINES = """
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix p: <https://example.org/plant#> .
p:acme a p:Maker ; rdfs:label "Acme" .
p:bolt a p:Maker ; rdfs:label "Bolt" .
p:one a p:Pump ; rdfs:label "Pump 1" ; p:mass 120.5 ; p:madeBy p:acme ; p:feeds p:lathe .
p:ten a p:Pump ; rdfs:label "Pump 10" ; p:mass 150 ; p:madeBy p:bolt ; p:feeds p:lathe .
p:two a p:Pump ; rdfs:label "Pump 2" ; p:madeBy p:bolt ; p:feeds p:lathe .
p:dose a p:Doser ; rdfs:label "Doser A" ; p:mass 12 ; p:madeBy p:acme .
p:lathe a p:Machine ; rdfs:label "Lathe" ; p:mass 800 .
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    folder = tmp_path_factory.mktemp("fleet")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        for name, text in (("fleet.ttl", ONTOLOGY), ("data.ttl", DATA)):
            (folder / name).write_text(text)
            kb.load(folder / name)
        yield kb


class _InProcess:
    """Runs queries over the facts without a process for each, which takes half a second."""

    def __init__(self, method: PolyRag) -> None:
        self.facts = ox.Store()
        for quad in method.store.quads_of_kinds([ox.NamedNode("https://w3id.org/kgrag/ns#DataGraph")]):
            self.facts.add(ox.Quad(quad.subject, quad.predicate, quad.object))

    def __call__(self, sparql: str, *, rows: int, seconds: float) -> Execution:
        found = self.facts.query(sparql)
        names = tuple(variable.value for variable in found.variables)
        return Execution(names, tuple(tuple(row) for row in found)[:rows])


@pytest.fixture(scope="module")
def method(fleet: KnowledgeBase) -> PolyRag:
    found = fleet.method("poly_rag")
    assert isinstance(found, PolyRag)
    return replace(found, runner=_InProcess(found))


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolyRag]:
    folder = tmp_path_factory.mktemp("plant")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        for name, text in (("plant.ttl", PLANT), ("machines.ttl", MACHINES)):
            (folder / name).write_text(text)
            kb.load(folder / name)
        found = kb.method("poly_rag")
        assert isinstance(found, PolyRag)
        yield replace(found, runner=_InProcess(found))


def said(method: PolyRag, question: str) -> list[str] | str:
    """Return the short answers, or why there are none."""
    answer = method.exact_answer(question, 10)
    if isinstance(answer, LeftToEvidence):
        return " ".join(answer.explain)
    return [value.text for value in answer.values]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("How many cargo ships are there?", ["3"]),
        ("How many ships does Bergen have?", ["2"]),
        ("how many ships does bergen have", ["2"]),
        ("How many voyages are there?", ["2"]),
        ("List all ships of Bergen.", ["Ada", "Bea"]),
        ("Which ship has the highest draught?", ["Bea"]),
        ("Which Bergen ship has the lowest draught?", ["Ada"]),
        ("What is the highest draught?", ["7.5 m"]),
        ("Which harbour has the most ships?", ["Bergen"]),
        ("In which harbour is the largest draught?", ["Bergen"]),
        ("What is the total draught?", ["18.5 m"]),
        ("What is the average draught of Bergen?", ["6.25 m"]),
        ("Is the draught of Bea larger than that of Ada?", ["yes"]),
        ("Does Ada have a larger draught than Cleo?", ["no"]),
        ("Which has the larger draught, Ada or Cleo?", ["Cleo"]),
        ("Does Bergen have more ships than Vigo?", ["yes"]),
        ("Which of Vigo and Bergen has more ships?", ["Bergen"]),
    ],
)
def test_what_is_asked_of_rows_is_computed(method: PolyRag, question: str, answers: list[str]) -> None:
    assert said(method, question) == answers


@pytest.mark.parametrize(
    "question",
    [
        "How many ships do not sail?",
        "How many ships are there without Bergen?",
        "How many old ships does Bergen have?",
        "How many ships does Oslo have?",
        "Which ship has the highest price?",
        "Is the draught of Bea not larger than that of Ada?",
        "Does Bergen have more than Vigo?",
        "How many ships or voyages are there?",
    ],
)
def test_a_word_that_nothing_is_named_by_leaves_the_question_to_the_text(method: PolyRag, question: str) -> None:
    assert isinstance(said(method, question), str)


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Is the mass of Pump 10 higher than that of Pump 1?", ["yes"]),
        ("Is the mass of Pump 1 higher than that of Pump 10?", ["no"]),
        ("Which machine has the highest mass?", ["Lathe"]),
        ("Which pump has the lowest mass?", ["Doser A"]),
        ("Which pumps are made by Acme?", ["Doser A", "Pump 1"]),
        ("How many pumps are made by Acme?", ["2"]),
        ("How many machines does Acme have?", ["2"]),
    ],
)
def test_classes_below_count_and_what_a_thing_states_itself_comes_first(
    plant: PolyRag, question: str, answers: list[str]
) -> None:
    assert said(plant, question) == answers


def test_what_a_thing_does_not_state_is_not_taken_from_another(plant: PolyRag) -> None:
    assert "no row has it" in said(plant, "Is the mass of Pump 2 higher than that of Pump 1?")
    answer = plant.exact_answer("Is the mass of Pump 1 higher than that of Pump 10?", 10)
    assert isinstance(answer, Answer) and "120.5" in answer.text and "150" in answer.text


def test_amounts_of_different_units_are_not_compared(method: PolyRag) -> None:
    assert "the units differ: ft, m" in said(method, "Which ship has the largest deck length?")


def test_a_name_at_either_end_of_two_relations_is_not_counted_by_one(method: PolyRag) -> None:
    """Two voyages leave Bergen and none arrives: "of Bergen" does not say which is meant."""
    assert "by another way between what it names there is none" in said(method, "How many voyages of Bergen are there?")


def test_the_fewest_may_be_none_which_no_row_has(method: PolyRag) -> None:
    assert "some of them have none" in said(method, "Which harbour has the fewest ships?")


def test_a_number_that_is_stated_is_not_counted_anew(method: PolyRag) -> None:
    assert isinstance(said(method, "How many crews does Ada have?"), str)


def test_the_query_and_the_check_are_kept(method: PolyRag) -> None:
    answer = method.exact_answer("Which harbour has the most ships?", 10)
    assert isinstance(answer, Answer)
    assert "hasShip" in answer.sparql
    assert answer.text.startswith("Of what the knowledge base holds, Bergen")
    assert any("passed the check by the ontologies" in line for line in answer.explain)
    assert [hit.kind for hit in answer.hits] == ["row", "row"]


@pytest.mark.parametrize("text", ["60-80", "2019-05-01", "about 5 m", "5 to 6 m", "N/A", ""])
def test_what_is_no_single_number_is_no_amount(text: str) -> None:
    assert amount_of(ox.Literal(text)) is None


def test_marks_that_stand_for_names_are_no_names_of_a_question() -> None:
    assert read("How many \ue000 are there?", []) is None


TEXTS = {
    "fleet.jsonld": """{"@context": {"f": "https://example.org/fleet#"}, "@graph": [
  {"@type": "f:Harbour", "name": "Bergen", "has ship": [
    {"@type": "f:Ship", "name": "Ada", "draught": "5 m"}, {"@type": "f:Ship", "name": "Bea", "draught": "7 m"}]}]}""",
    "news.txt": "A third ship, the Dora, was moved to Bergen in May.",
}


def test_a_count_is_cited_and_text_that_may_say_more_takes_it_back(tmp_path: Path) -> None:
    """The first answer is asked of the real process that runs queries."""
    for name, text in {"fleet.ttl": ONTOLOGY, **TEXTS}.items():
        (tmp_path / name).write_text(text)
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder()) as kb:
        kb.load(tmp_path / "fleet.ttl")
        kb.build("og_rag", mapped=tmp_path / "fleet.jsonld")
        answer = kb.ask("How many ships does Bergen have?")
        assert [value.text for value in answer.values] == ["2"]
        assert sorted(quote.quote for quote in answer.citations) != []
        assert all(value.citation == 0 for value in answer.values)
        kb.ingest(tmp_path / "news.txt")
        method = kb.method("poly_rag")
        assert isinstance(method, PolyRag)
        left = method.exact_answer("How many ships does Bergen have?", 5)
        assert isinstance(left, LeftToEvidence)
        assert "text about Bergen that no facts were taken from" in " ".join(left.explain)
        compared = method.exact_answer("Is the draught of Ada larger than that of Bea?", 5)
        assert isinstance(compared, Answer)
        assert [value.text for value in compared.values] == ["no"]
