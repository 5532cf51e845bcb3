"""How sure an answer is stands beside every answer that states it, and why there is none beside one that is unknown."""

import pytest

from kgrag.cli.printing import answer_text
from kgrag.model import Answer, Value


@pytest.mark.parametrize(
    ("question", "confidence", "shown"),
    [
        ("What is the notice period?", 0.93, "(confidence 0.93)"),
        ("What is the notice period?", 0.2, "(low confidence 0.20)"),
        ("Wie hoch ist die Kaution?", 0.2, "(geringe Sicherheit 0.20)"),
    ],
)
def test_an_answer_without_a_short_value_shows_how_sure_it_is(question: str, confidence: float, shown: str) -> None:
    answer = Answer(question, "Two weeks. [1]", "auto", sentences=("Two weeks.",), confidence=confidence)
    assert shown in answer_text(answer).split("\n")
    assert shown in answer_text(answer, is_said=True).split("\n")


def test_a_low_confidence_looks_low_beside_a_short_value() -> None:
    answer = Answer("q", "It is 3. [1]", "auto", values=(Value("number", "3", "3"),), confidence=0.06)
    assert answer_text(answer).startswith("3 (low confidence 0.06)\n")


def test_an_unknown_answer_has_its_reason_in_one_line() -> None:
    notes = ("The first note.", "The best sentence has no share.")
    shown = answer_text(Answer("What is the share?", "Unknown.", "auto", unknown=True, confidence=0.4, explain=notes))
    assert shown == "Unknown.\n\nReason: The best sentence has no share."
