"""What a code of a manual means is what its line says of it, and of two lines that differ neither."""

import pytest

from kgrag.llm.extractive.code_meanings import read_code_meaning
from kgrag.llm.extractive.evidence_sentences import EvidenceText

ENGLISH = "Faults\n\nE1: humidity sensor faulty. Call us.\nE4: temperature too low. Warm the room.\nE7: tank missing."
GERMAN = "- Fehler E4 – Temperatur zu niedrig\n- Fehler E7 – Behälter fehlt"
FRENCH = "E1 : capteur défectueux.\nE4 : température trop basse.\nE7 : réservoir mal placé."


def meaning(question: str, *texts: str) -> str:
    pieces = [EvidenceText(number, "passage", "", text) for number, text in enumerate(texts, 1)]
    reply = read_code_meaning(question, pieces)
    return reply["values"][0]["text"] if reply else ""


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("What does E4 mean?", ENGLISH, "temperature too low"),
        ("What does the error code E7 mean?", ENGLISH, "tank missing"),
        ("What does the code E5 mean?", ENGLISH, ""),
        ("What does the code E mean?", ENGLISH, ""),
        ("When does E4 mean that it is cold?", ENGLISH, ""),
        ("Was bedeutet die Fehlermeldung E4?", GERMAN, "Temperatur zu niedrig"),
        ("Que signifie le code E4 ?", FRENCH, "température trop basse"),
        ("Que signifie le code E44 ?", FRENCH, ""),
    ],
)
def test_the_line_of_a_code_says_what_it_means(question: str, text: str, expected: str) -> None:
    assert meaning(question, text) == expected


def test_two_manuals_that_differ_answer_nothing_and_the_quote_is_of_the_text() -> None:
    assert meaning("What does E4 mean?", ENGLISH, "E4: battery low.") == ""
    assert meaning("What does E4 mean?", ENGLISH, ENGLISH) == "temperature too low"
    (row,) = read_code_meaning("What does E4 mean?", [EvidenceText(3, "passage", "", ENGLISH)])["sentences"]
    assert row["citations"] == [{"evidence": 3, "quote": "E4: temperature too low. Warm the room."}]
