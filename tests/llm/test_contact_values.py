"""A telephone number or mail address is that of the one sentence with all that the question names."""

import pytest

from kgrag.llm.extractive.contact_values import read_contact
from kgrag.llm.extractive.evidence_sentences import EvidenceText

ENGLISH = "The order 1002003004 is old. Ask Ann Lee, tel. +44 20 7946 0958. Bob Ray: bob@ray.example, 020 7946 0111."
GERMAN = "Ihre Ansprechpartnerin ist Frau Wiebke Jensen, Tel. 0431 5577-12. Die Kundennummer von Herrn Blau ist 4711."
FRENCH = "Le service est joignable au 01 44 27 90 15, du lundi au vendredi."


def value(question: str, text: str) -> str:
    reply = read_contact(question, [EvidenceText(1, "passage", "", text)])
    return reply["values"][0]["text"] if reply else ""


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("What is the phone number of Ann Lee?", ENGLISH, "+44 20 7946 0958"),
        ("What is Bob Ray's e-mail address?", ENGLISH, "bob@ray.example"),
        ("What is Ann Lee's e-mail address?", ENGLISH, ""),
        ("What is the phone number of Eve Low?", ENGLISH, ""),
        ("What is the phone number?", ENGLISH, ""),
        ("Who has a phone number?", ENGLISH, ""),
        ("Wie ist die Telefonnummer von Wiebke Jensen?", GERMAN, "0431 5577-12"),
        ("Wie ist die Telefonnummer von Herrn Blau?", GERMAN, ""),
        ("Quel est le numéro de téléphone du service ?", FRENCH, "01 44 27 90 15"),
    ],
)
def test_a_contact_is_that_of_the_sentence_that_names_it(question: str, text: str, expected: str) -> None:
    assert value(question, text) == expected


def test_two_numbers_of_one_name_answer_nothing() -> None:
    assert value("What is the phone number of Ann Lee?", f"{ENGLISH} Ann Lee, mobile: 07700 900123.") == ""
