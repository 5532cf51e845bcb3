"""Short answers from facts: the whole value of the attribute that is asked for, of the thing it is asked about."""

import pytest

from kgrag.llm.extractive import evidence_answers
from kgrag.llm.extractive.fact_values import fact_confidence

PLOUGHS = (
    "Farm name: Hill Farm; Farm has_fields Field name: Long Acre; Farm has_fields Field has_pests Pest pest_name: "
    "Field vole, Hare; Farm has_fields Field has_pests Pest pest_symptoms: Gnawed stems and bare patches in rows; "
    "Farm has_fields Field has_pests Pest pest_control AgentList name: Trap 12 EC; Farm has_fields Field has_pests Pest "
    "pest_control AgentList quantity: 4 per hectare; Farm has_fields Field sowing_date: 2014-05-02"
)
OTHER = (
    "Farm name: Hill Farm; Farm has_fields Field name: Long Acre; Farm has_fields Field has_pests Pest pest_name: "
    "Wireworm; Farm has_fields Field has_pests Pest pest_symptoms: Hollow stems"
)


def reply(question, *facts):
    evidence = [{"number": at, "kind": "hyperedge", "heading": "", "text": one} for at, one in enumerate(facts, 1)]
    return evidence_answers.reply({"question": question, "evidence": evidence})


def values(question, *facts):
    return [(row["kind"], row["text"]) for row in reply(question, *facts).get("values", [])]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("What is the quantity of Trap 12 EC in Long Acre?", "4 per hectare"),
        ("What are the symptoms of the field vole and hare in Long Acre?", "Gnawed stems and bare patches in rows"),
        ("Which pests cause gnawed stems and bare patches in Long Acre?", "Field vole, Hare"),
    ],
)
def test_the_short_answer_of_a_fact_is_the_whole_value_of_what_is_asked(question, value):
    assert values(question, PLOUGHS)[0] == ("text", value)


def test_a_date_of_a_fact_is_a_date():
    assert values("What is the sowing date of Long Acre?", PLOUGHS) == [("date", "2014-05-02")]


def test_values_of_other_attributes_are_not_listed_beside_the_one_asked_for():
    found = values("Which pests are in Long Acre of Hill Farm?", PLOUGHS, OTHER)
    assert {text for _, text in found} == {"Field vole, Hare", "Wireworm"}


def test_yes_or_no_is_no_value_of_a_fact():
    assert values("Is Trap 12 EC used in Long Acre?", PLOUGHS) == []


def test_facts_that_differ_make_the_first_value_less_sure():
    assert fact_confidence(1.0, ["a"]) > 0.6 > 0.3 > fact_confidence(1.0, ["a", "b"])
