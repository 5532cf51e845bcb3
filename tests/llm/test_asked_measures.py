"""What is measured, counted and priced, and whose value it is: two machines with tables of the same labels."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.extractive.question_names import names_asked
from kgrag.model import Citation, Prompt
from tests.llm.test_evidence_sentences import Meanings


def table(number, name, *rows):
    text = f"# {name}\n\n| Property | Value |\n|---|---|\n" + "\n".join(f"| {row} |" for row in rows)
    return {"number": number, "kind": "chunk", "heading": name, "title": name, "text": text, "source": ""}


MACHINES = (
    table(1, "Mixer Alba", "Power | 750 W", "Weight (kg) | 38", "Price in € | 1,450"),
    table(2, "Mixer Bora", "Power | 1,100 W", "Weight (kg) | 61", "Noise | 68 dB", "Blades | 4"),
    {"number": 3, "kind": "chunk", "heading": "Museum", "title": "Museum", "source": ""}
    | {"text": "Tickets cost 8 dollars for adults. Omar Reed is the deputy director. The hall is 14 m long."},
)


def ask(question):
    """Return the text of the answer, "" for unknown; all sentences are as near in meaning, and as probable."""
    model = ExtractiveModel(lambda: Meanings(("Mixer", "Museum", "?"), identity="all-MiniLM-L6-v2"))
    found = model.complete([Prompt("answering/answer", "", {"question": question, "evidence": list(MACHINES)})])[0].data
    return "" if found["unknown"] else found["sentences"][0]["text"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is the power of the Mixer Alba?", "750 W"),
        ("What is the power of the Mixer Bora?", "1,100 W"),
        ("What is the weight of the Mixer Alba?", "38"),
        ("How heavy is the Mixer Bora?", "61"),
        ("How many blades does the Mixer Bora have?", "4"),
        ("How much are tickets for adults?", "8 dollars"),
    ],
)
def test_the_value_is_that_of_what_the_question_names(question, said):
    assert said in ask(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the noise of the Mixer Alba?",
        "How many blades does the Mixer Alba have?",
        "What is the price of the Mixer Bora?",
        "What is the weight of the Mixer Alba in pounds?",
        "What is the power of the Mixer Cato?",
        "How much are tickets for children?",
        "How wide is the hall of the Museum?",
        "How many visitors did the Museum have?",
    ],
)
def test_the_value_of_something_else_is_no_answer(question):
    assert ask(question) == ""


@pytest.mark.parametrize(
    ("question", "sentence", "text", "unit"),
    [
        ("How heavy is it?", "| Weight (kg) | 38 |", "38 kg", "kg"),
        ("What is the price of it?", "price in €: 1,450", "1,450 €", "€"),
        ("How long is it?", "length (as sold): 7 m", "7 m", "m"),
    ],
)
def test_a_number_has_the_unit_of_its_label(question, sentence, text, unit):
    (value,) = short_answers(question, [sentence], [Citation(sentence, "urn:d", "urn:c", 0, len(sentence), 0)])
    assert (value.text, value.unit) == (text, unit)


def test_names_are_those_with_a_capital_or_digit_but_for_the_first_word():
    assert names_asked("When did BIND 4.9.2 come out?") == ("BIND", "4.9.2")
    assert names_asked("Mixer Alba has what power?") == ("Mixer", "Alba")
    assert names_asked("Is day 7 Sunday or Monday?") == ("7",)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What is the weight of the Mixer Bora?", "Mixer Bora – machine weight (kg): 61."),
        ("What is the price of the Mixer Alba?", "Mixer Alba – machine price (€): 1450."),
        ("What is the weight of the Mixer Dora?", ""),
        ("What is the year of the Mixer Bora?", ""),
    ],
)
def test_a_fact_answers_for_the_thing_that_it_names_with_the_unit_of_its_label(question, said):
    facts = (
        "machine name: Mixer Alba; machine weight (kg): 38; machine price in €: 1450; machine year: 2012",
        "machine name: Mixer Bora; machine weight (kg): 61",
    )
    pieces = [{"number": at, "kind": "hyperedge", "heading": "", "text": text} for at, text in enumerate(facts, 1)]
    found = ExtractiveModel().complete([Prompt("answering/answer", "", {"question": question, "evidence": pieces})])
    assert found[0].data["unknown"] != bool(said)
    assert [row["text"] for row in found[0].data["sentences"]][:1] == ([said] if said else [])
