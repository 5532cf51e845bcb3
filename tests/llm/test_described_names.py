"""What a question describes is the name whose passage has the description, in the passage that the question names."""

import pytest

from kgrag.llm.extractive import evidence_answers
from kgrag.llm.extractive.described_names import read_description
from kgrag.llm.extractive.evidence_sentences import EvidenceText

RAIN = ("Rain (dog)", "Rain was a terrier that lived at the work place of Odo Fahr. It was calm.")
TRAINER = ("Odo Fahr", "Odo Fahr (born 1960) is a Swiss dog trainer with a school in Bern.")
PAINTER = ("Ada Kolb", "Ada Kolb (born 1950) is a Swiss painter from Basel.")
QUESTION = "Rain lived at the work place of what Swiss dog trainer?"


def texts(*passages):
    return [EvidenceText(at, "passage", "", text, title=title) for at, (title, text) in enumerate(passages, 1)]


def answer(question, *passages):
    found = read_description(question, texts(*passages)).reply
    return found["values"][0]["text"] if found else None


def test_the_name_has_the_description_and_is_cited_where_the_first_passage_has_it():
    reply = read_description(QUESTION, texts(RAIN, PAINTER, TRAINER)).reply
    assert reply["values"][0]["text"] == "Odo Fahr"
    assert [row["citations"][0]["evidence"] for row in reply["sentences"]] == [1, 3]


def test_a_name_of_the_first_passage_that_no_passage_is_about_is_looked_up():
    reading = read_description(QUESTION, texts(RAIN, PAINTER))
    assert not reading.reply
    assert reading.look_up == ("Odo Fahr",)


def test_a_passage_about_something_else_than_the_noun_asked_for_has_not_the_description():
    assert answer("Rain lived at the work place of what Swiss baker?", RAIN, TRAINER) is None


def test_the_noun_is_the_last_word_of_what_something_is():
    film = ("Ida Roth", "Ida Roth is a Swiss film actress. She was named in Rain.")
    rain = ("Rain", "Rain is a drama of 1990 with Ida Roth.")
    assert answer("Rain was the work of which Swiss film?", rain, film) is None
    assert answer("Rain was a drama with which Swiss actress?", rain, film) == "Ida Roth"


def test_a_participle_before_a_preposition_is_no_noun():
    band = ("Mild Sun", "Mild Sun are a Danish metal band formed in Aarhus. They made Grey Hill.")
    album = ("Grey Hill", "Grey Hill is an album of rare tracks by Mild Sun.")
    assert answer("Grey Hill is an album of rare tracks by which Danish metal band?", album, band) == "Mild Sun"


def test_two_passages_that_fit_as_well_are_no_answer():
    rain = ("Rain", "Rain was a terrier of Odo Fahr and Eva Fahr.")
    second = ("Eva Fahr", "Eva Fahr (born 1961) is a Swiss dog trainer with a school in Bern.")
    assert answer("Rain was a terrier of which Swiss dog trainer?", rain, TRAINER, second) is None


@pytest.mark.parametrize(
    "question",
    [
        "What was the Swiss dog trainer at whose work place Rain lived called?",
        "Which Swiss dog trainer is older, Odo Fahr or Ada Kolb?",
        "Where did Rain live?",
        "Rain lived with the wife of what Swiss dog trainer?",
    ],
)
def test_another_name_a_comparison_and_a_place_are_not_described(question):
    assert answer(question, RAIN, PAINTER, TRAINER) is None


def test_documentation_has_no_names_that_are_described():
    manual = ("Backup", "Backup keeps copies. The option --full copies all files.")
    assert answer("Backup has which option for all files?", manual, ("--full", "Copies all files.")) is None


class FarOff:
    """An embedder to which no sentence is near."""

    identity = "all-MiniLM-L6-v2"

    def __call__(self, question, sentences):
        return [0.0] * len(sentences)


def test_a_description_answers_what_no_sentence_does():
    pieces = [
        {"number": one.number, "kind": "passage", "heading": "", "text": one.text, "title": one.title}
        for one in texts(RAIN, PAINTER, TRAINER)
    ]
    reply = evidence_answers.reply({"question": QUESTION, "evidence": pieces}, FarOff())
    assert [(row["kind"], row["text"]) for row in reply["values"]] == [("text", "Odo Fahr")]
