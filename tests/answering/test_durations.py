"""A time of two units is one short answer."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation


@pytest.mark.parametrize(
    ("question", "sentence", "values"),
    [
        (
            "How long did the drill take?",
            "The drill took 4 minutes and 50 seconds.",
            [("4 minutes and 50 seconds", "290")],
        ),
        ("How long does it take?", "It takes 2 h 30 min.", [("2 h 30 min", "150")]),
        ("How long does it take?", "It takes 30 min.", [("30 min", "30")]),
        ("Wie lange dauert die Fahrt?", "Die Fahrt dauert 1 Stunde 20 Minuten.", [("1 Stunde 20 Minuten", "80")]),
        (
            "Combien de temps dure le trajet ?",
            "Le trajet dure 2 heures et 15 minutes.",
            [("2 heures et 15 minutes", "135")],
        ),
        (
            "How many minutes and seconds are there?",
            "There are 4 minutes and 50 seconds.",
            [("4 minutes", "4"), ("50 seconds", "50")],
        ),
    ],
)
def test_a_time_of_two_units_is_one_value(question: str, sentence: str, values: list[tuple[str, str]]) -> None:
    found = short_answers(question, [sentence], [Citation(sentence, "urn:d", "urn:c", 0, len(sentence))])
    assert [(one.text, one.value) for one in found][: len(values)] == values
