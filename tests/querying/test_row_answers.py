"""Rows of queries over extracted facts: sentences that their citations alone carry."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.model import Answer, Document
from kgrag.querying.text_to_sparql.fact_sentences import StatedFact, in_words
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder, ScriptedModel

ROOT = Path(__file__).parents[2]
ONTOLOGIES, DEMO = ROOT / "ontologies", ROOT / "kgrag" / "demo"
SCHEMA = """
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix s: <https://example.org/settings#> .
<https://example.org/settings> a owl:Ontology .
s:Setting a owl:Class ; rdfs:label "setting"@en .
s:default a owl:DatatypeProperty ; rdfs:label "default value"@en ; rdfs:domain s:Setting .
s:kind a owl:DatatypeProperty ; rdfs:label "type"@en ; rdfs:domain s:Setting ; rdfs:range xsd:string .
s:advice a owl:DatatypeProperty ; rdfs:label "advice"@en ; rdfs:domain s:Setting ; rdfs:range xsd:string .
s:note a owl:DatatypeProperty ; rdfs:label "note"@en ; rdfs:domain s:Setting ; rdfs:range xsd:string .
s:needs a owl:ObjectProperty ; rdfs:label "depends on"@en ; rdfs:domain s:Setting ; rdfs:range s:Setting .
"""
ADVICE = (
    "If you have a server with a lot of memory, a reasonable starting value is a quarter of it; because the program "
    "also relies on the cache of the operating system, it is unlikely that more than two fifths of the memory will "
    "work better than a smaller amount."
)
INVENTED = "Never set it to 7, since the program of the year 2031 is going to find out the best size of it alone."
TEXT = f"""max_senders (integer)

Sets the largest number of sender processes. The default is 10. Zero disables replication.

keep_size (integer)

Sets the size of old files that are kept. The default is 10. It has an effect only where max_senders is not zero.

big_cache (integer)

Sets how much memory is used. {ADVICE}

It is tested on Alpha 12, 13, and Beta.

For example if most requests take less than 10 minutes, then you could wait for 15 minutes.

Stop at once causes the program to remove the file, which removes the file.

burst

Sends a volley of packets. This flag is for testing alone.
"""
KEEP_SIZE, MAX_SENDERS = "keep_size (integer)", "max_senders (integer)"
HEAD = "PREFIX s: <https://example.org/settings#> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "


def thing(name: str, attribute: str, value: str) -> dict[str, object]:
    return {
        "paragraph": 1,
        "name": name,
        "class": "setting",
        "attributes": [{"attribute": attribute, "value": value}],
    }


FACTS = {
    "things": [
        thing("max_senders", "default value", "10"),
        thing("max_senders", "type", "integer"),
        thing("keep_size", "default value", "10"),
        thing("keep_size", "type", "integer"),
        thing("keep_size", "depends on", "max_senders"),
        thing("big_cache", "advice", ADVICE.replace("a lot of memory", "plenty of memory")),
        thing("big_cache", "advice", INVENTED),
        thing("Alpha 13", "type", "tested"),
        thing("Alpha 99", "type", "tested"),
        thing("waiting", "note", "15 minutes"),
        thing("Stop at once", "note", "removes the file"),
        thing("removes the file", "note", "removes the file"),
        thing("burst flag", "note", "testing alone"),
    ],
    "triples": [
        {"paragraph": 1, "subject": "max_senders", "relation": "when zero disables", "object": "replication"},
        {"paragraph": 1, "subject": "big_cache", "relation": "is best set so:", "object": ADVICE},
    ],
}
Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def pending() -> list[str]:
    return []


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, pending: list[str]) -> Iterator[Ask]:
    """Asks a question, for which the model writes a query."""
    query = [""]
    model = ScriptedModel(
        {
            "poly_rag/facts": json.dumps(FACTS),
            "obqc/ask": lambda _: query[0],
            "poly_rag/sufficient": lambda prompt: json.dumps(
                {
                    "sufficient": True,
                    "answers": [
                        {"triple": one["number"], "text": "replication"}
                        for one in prompt.variables["triples"]
                        if one["object"] == "replication"
                    ],
                }
            ),
        }
    )
    schema = Path(tmp_path_factory.mktemp("settings"), "settings.ttl")
    schema.write_text(SCHEMA, encoding="utf-8")
    with KnowledgeBase(settings=Settings(), embedder=HashEmbedder(), model=model) as kb:
        kb.load(schema)
        kb.add(Document(TEXT, title="Settings"))
        pending += kb.build("poly_rag").pending

        def ask(question: str, sparql: str = "", spec: str = "poly_rag:templates=false") -> Answer:
            query[0] = HEAD + sparql
            return kb.ask(question, method=spec)

        yield ask


def quotes(answer: Answer, sentence: int = 0) -> list[str]:
    return [citation.quote for citation in answer.citations if citation.sentence == sentence]


def test_a_row_is_a_sentence_with_the_name_of_the_thing_and_the_label_of_the_property(asked: Ask) -> None:
    answer = asked(
        "What is the default of keep_size?",
        'SELECT ?value { ?s a s:Setting ; rdfs:label "keep_size" ; s:default ?value }',
    )
    assert answer.sentences == ("The default value of keep_size is 10.",)
    assert [value.text for value in answer.values] == ["10"]


def test_what_names_the_thing_is_cited_with_the_value_of_this_thing(asked: Ask) -> None:
    answer = asked(
        "What is the default of keep_size?",
        'SELECT ?value { ?s a s:Setting ; rdfs:label "keep_size" ; s:default ?value }',
    )
    assert quotes(answer) == [f"{KEEP_SIZE}\n\nSets the size of old files that are kept. The default is 10."]


def test_each_row_has_the_citations_of_its_own_thing(asked: Ask) -> None:
    answer = asked(
        "What are the defaults?",
        "SELECT ?name ?value { ?s a s:Setting ; rdfs:label ?name ; s:default ?value } ORDER BY ?name",
    )
    assert answer.sentences == (
        "The default value of keep_size is 10.",
        "The default value of max_senders is 10.",
    )
    first = [quotes(answer, place)[0].partition("\n")[0] for place in (0, 1)]
    assert first == [KEEP_SIZE, MAX_SENDERS]


def test_a_row_of_several_columns_is_one_sentence(asked: Ask) -> None:
    answer = asked(
        "What are type and default of max_senders?",
        'SELECT ?kind ?value { ?s rdfs:label "max_senders" ; s:kind ?kind ; s:default ?value }',
    )
    assert answer.sentences == ("The type of max_senders is integer; its default value is 10.",)


def test_a_relation_between_things_is_worded_as_a_relation(asked: Ask) -> None:
    answer = asked("What does keep_size depend on?", 'SELECT ?o { ?s rdfs:label "keep_size" ; s:needs ?o }')
    assert answer.sentences == ("keep_size depends on max_senders.",)
    assert "It has an effect only where max_senders is not zero." in quotes(answer)[-1]


def test_a_thing_that_is_selected_by_its_name_is_worded_too(asked: Ask) -> None:
    answer = asked(
        "On which setting does keep_size depend?",
        'SELECT ?name { ?s rdfs:label "keep_size" ; s:needs ?o . ?o rdfs:label ?name }',
    )
    assert answer.sentences == ("keep_size depends on max_senders.",)


@pytest.fixture(scope="module")
def asked_of_crops() -> Iterator[Callable[[str], Answer]]:
    """Asks the mapped data of the demonstration by a query."""
    query = [""]
    model = ScriptedModel({"obqc/ask": lambda _: query[0]})
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder(), model=model) as kb:
        kb.load(ONTOLOGIES / "crops.ttl")
        kb.build("og_rag", mapped=DEMO / "mapped")
        kb.build("obqc")

        def ask(sparql: str) -> Answer:
            query[0] = f"PREFIX c: <https://w3id.org/kgrag/examples/crops#> {sparql}"
            return kb.ask("Which zone of lentil?", method="obqc")

        yield ask


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ("?name ?stage", "The stage of the irrigation requirement of River Zone is pod filling."),
        ("?name", "River Zone has irrigation requirement."),
    ],
)
def test_what_has_no_name_is_not_what_it_is_said_to_be(
    asked_of_crops: Callable[[str], Answer], columns: str, sentence: str
) -> None:
    stage = "OPTIONAL { ?water c:stage ?stage }" if "?stage" in columns else ""
    query = f"SELECT {columns} {{ ?zone c:name ?name ; c:hasIrrigationRequirement ?water {stage} }}"
    assert asked_of_crops(query).sentences == (sentence,)


def test_a_row_that_an_order_chose_is_said_with_what_it_was_chosen_by(
    asked_of_crops: Callable[[str], Answer],
) -> None:
    seed = "?zone c:name ?name ; c:hasSeedVariety ?seed . ?seed c:varietyName ?variety ; c:hasSeedingRate ?rate ."
    query = (
        f"SELECT ?name {{ {seed} ?rate c:amount ?amount FILTER (?variety = 'LT 7') "
        "BIND (xsd:decimal(STRBEFORE(STR(?amount), ' ')) AS ?number) }"
    )
    assert "amount" not in asked_of_crops(query).text
    (sentence,) = asked_of_crops(f"{query} ORDER BY DESC(?number) LIMIT 1").sentences
    assert "River Zone" in sentence
    assert "the amount of the seeding rate of LT 7 is 50 kg per hectare" in sentence


@pytest.mark.parametrize("absence", ["FILTER NOT EXISTS", "MINUS"])
def test_what_is_concluded_from_what_the_data_do_not_state_is_told_from_what_a_text_says(
    asked_of_crops: Callable[[str], Answer], absence: str
) -> None:
    zones = "SELECT DISTINCT ?name { ?zone c:name ?name ; c:hasSeedVariety ?seed"
    told = "concluded from what the data do not state"
    assert told not in asked_of_crops(f"{zones} }}").text
    dry = asked_of_crops(f"{zones} . {absence} {{ ?zone c:hasIrrigationRequirement ?water }} }}")
    assert [value.text for value in dry.values] == ["Hill Zone"]
    assert told in dry.text.splitlines()[-1]


def test_yes_is_said_with_what_it_rests_on(asked: Ask) -> None:
    answer = asked("Is the default of keep_size 10?", 'ASK { ?s rdfs:label "keep_size" ; s:default 10 }')
    assert answer.sentences == ("Yes: The default value of keep_size is 10.",)
    assert quotes(answer)[0].startswith(KEEP_SIZE)


def test_a_count_shows_and_cites_what_was_counted(asked: Ask) -> None:
    answer = asked(
        "How many settings have the default 10?", "SELECT (COUNT(?s) AS ?n) { ?s s:default ?v FILTER (?v = 10) }"
    )
    counted = {f"he default value of {name} is 10" for name in ("keep_size", "max_senders")}
    assert answer.sentences[0].startswith("2: T") and all(one in answer.sentences[0] for one in counted)
    assert {quote.partition("\n")[0] for quote in quotes(answer)} == {KEEP_SIZE, MAX_SENDERS}


def test_a_row_that_no_text_states_is_left_out_and_one_of_a_list_is_cited(asked: Ask) -> None:
    answer = asked(
        "Which releases of Alpha?", 'SELECT ?n { ?s rdfs:label ?n FILTER (CONTAINS(?n, "Alpha")) } ORDER BY ?n'
    )
    assert [one.sentence for one in answer.citations] == [0]
    assert quotes(answer)[0].endswith("It is tested on Alpha 12, 13, and Beta.")
    assert [one.missing for one in answer.unsupported] == [("Alpha 99",)]
    assert not any("99" in text for text in (*answer.sentences, *(hit.text for hit in answer.hits)))
    alone = asked(
        "Alpha 99?",
        'SELECT ?n { ?s rdfs:label ?n FILTER (CONTAINS(?n, "Alpha 99")) }',
        "poly_rag:templates=false,layers=ontology",
    )
    assert alone.unknown and alone.citations == ()


def test_an_amount_under_a_condition_is_said_with_it(asked: Ask) -> None:
    (sentence,) = asked("How long?", 'SELECT ?a { ?s rdfs:label "waiting" ; s:note ?a }').sentences
    assert sentence.endswith(
        "15 minutes, where the text says: “For example if most requests take less than 10 "
        "minutes, then you could wait for 15 minutes.”"
    )


def test_what_several_properties_may_say_is_no_name(asked: Ask) -> None:
    answer = asked(
        "What does it remove?",
        'SELECT DISTINCT ?name { ?s (rdfs:label|s:note) ?text ; rdfs:label ?name FILTER (?text = "removes the file") } '
        "ORDER BY ?name",
    )
    assert answer.sentences == ("The note of Stop at once: removes the file.", "removes the file.")


def test_a_number_that_was_computed_is_not_cited_where_it_stands_by_chance(asked: Ask) -> None:
    answer = asked("What do the defaults add up to, halved?", "SELECT (SUM(?v) / 2 AS ?n) { ?s s:default ?v }")
    assert answer.sentences == ("10",)
    assert answer.citations == ()
    assert any("computed; no text states" in line for line in answer.explain)


def test_advice_is_a_value_in_the_words_of_the_text(asked: Ask, pending: list[str]) -> None:
    answer = asked("What is advised for big_cache?", "SELECT ?a { ?s s:advice ?a }")
    assert answer.sentences == (f"The advice of big_cache: {ADVICE}",)
    assert quotes(answer)[-1].endswith("work better than a smaller amount.")
    assert [line for line in pending if INVENTED not in line] == []  # what no sentence carries is refused


def test_a_triple_that_answers_is_a_sentence_with_its_source(asked: Ask) -> None:
    answer = asked("What does max_senders disable when zero?", spec="poly_rag:layers=graph")
    assert answer.sentences == ("max_senders when zero disables replication.",)
    assert [value.text for value in answer.values] == ["replication"]
    assert quotes(answer)[0].startswith(MAX_SENDERS) and quotes(answer)[-1].endswith("Zero disables replication.")


def test_the_term_that_a_text_defines_is_cited_where_the_thing_is_called_otherwise(asked: Ask) -> None:
    answer = asked("What is the burst flag for?", 'SELECT ?value { ?s rdfs:label "burst flag" ; s:note ?value }')
    assert quotes(answer) == ["burst\n\nSends a volley of packets. This flag is for testing alone."]


def test_a_question_of_a_fixed_form_is_answered_in_a_sentence(asked: Ask) -> None:
    answer = asked("What is the default value of keep_size?", spec="poly_rag")
    assert answer.sentences == ("The default value of keep_size is 10.",)
    assert quotes(answer)[0].startswith(KEEP_SIZE)


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (StatedFact("wal_level", "has default value", "replica"), "The default value of wal_level is replica."),
        (StatedFact("Bath", "is part of", "Somerset"), "Bath is part of Somerset."),
        (StatedFact("wal_level", "requires restart", "true"), "For wal_level, requires restart is true."),
        (StatedFact("", "rate", "65 kg"), "The rate is 65 kg."),
        (StatedFact("wal_level", "note", "Set it."), "The note of wal_level: Set it."),
        (StatedFact("stop", "effect", "ends all the children"), "The effect of stop: ends all the children."),
        (
            StatedFact("watch it", "effect", "After a few weeks the server reaches a stable size"),
            "After a few weeks the server reaches a stable size.",
        ),
    ],
)
def test_facts_are_worded_by_the_form_of_their_label(fact: StatedFact, sentence: str) -> None:
    assert in_words([fact]) == sentence
