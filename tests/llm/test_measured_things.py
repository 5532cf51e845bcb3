"""Without a model: what states the size or speed of a thing answers; frequencies and tens in letters are values."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.llm.extractive.measured_things import states_measure
from kgrag.llm.extractive.question_languages import value_lacking_in
from kgrag.model import Citation


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("How fast is the Tern?", "The ferry Osprey reaches 21 knots, the ferry Tern 16 knots.", True),
        ("How large is the office?", "They consist of an office of 180 square metres and an archive of 35.", True),
        ("How large is the cellar?", "The house has a studio of 96 m² and a dry cellar.", False),
        ("How fast is the Tern?", "The ferry Tern carries 16 cars.", False),
        ("How long is the Tern?", "The ferry Tern reaches 16 knots.", False),
    ],
)
def test_the_unit_shows_which_sentence_states_a_measure(question: str, sentence: str, expected: bool) -> None:
    assert states_measure(question, sentence) is expected


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        (
            "Wie oft wird die Heizung gewartet?",
            "Das Tor wird zweimal im Jahr gewartet, die Heizung einmal im Jahr.",
            ["einmal im Jahr"],
        ),
        ("Wie oft wird das Tor gewartet?", "Das Tor wird alle drei Monate gewartet.", ["alle drei Monate"]),
        (
            "Wie hoch ist der Beitrag für Erwachsene?",
            "Der Beitrag beträgt sechzig Euro für Erwachsene und dreißig Euro für Jugendliche.",
            ["sechzig Euro"],
        ),
    ],
)
def test_frequencies_and_tens_in_letters_are_values(question: str, sentence: str, expected: list[str]) -> None:
    citation = Citation(sentence, "urn:d", "urn:c", 0, len(sentence), 0)
    assert value_lacking_in(question, sentence, "de") == ""
    assert [one.text for one in short_answers(question, [sentence], [citation], language="de")] == expected
