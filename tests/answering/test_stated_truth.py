"""Yes and no: what a sentence forbids, excepts or says of another period is no plain yes."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation

TURNOVER = "Turnover was 412,000 EUR in the first quarter of 2025, up from 365,000 EUR in the first quarter of 2024."


def said(question, sentence):
    citation = Citation(sentence, "urn:d", "urn:c", 0, len(sentence), 0)
    return [value.text for value in short_answers(question, [sentence], [citation])]


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("Is smoking allowed in the building?", "Smoking is prohibited in the building.", ["no"]),
        ("Is smoking forbidden in the building?", "Smoking is prohibited in the building.", ["yes"]),
        ("Is smoking allowed in the office?", "Smoking is prohibited in the building.", []),
        ("May trainees use the kitchen?", "The kitchen may be used by all employees except trainees.", ["no"]),
        ("May employees use the kitchen?", "All employees except trainees may use the kitchen.", ["yes"]),
        ("Was turnover 412,000 EUR in the first quarter of 2024?", TURNOVER, []),
        ("Was turnover 412,000 EUR in the first quarter of 2025?", TURNOVER, ["yes"]),
        ("Darf man im Gebäude rauchen?", "Das Rauchen ist im Gebäude untersagt.", ["nein"]),
        ("Ist das Rauchen im Gebäude verboten?", "Das Rauchen ist im Gebäude nicht gestattet.", ["ja"]),
        ("Dürfen Hunde in den Garten?", "Alle Tiere außer Hunden dürfen in den Garten.", ["nein"]),
        (
            "War die Miete im Jahr 2023 bei 1.950 Euro?",
            "Die Miete war im Jahr 2023 bei 1.800 Euro und im Jahr 2024 bei 1.950 Euro.",
            [],
        ),
        ("Peut-on fumer dans le bâtiment ?", "Il est interdit de fumer dans le bâtiment.", ["non"]),
        ("Est-il interdit de fumer dans le bâtiment ?", "Il est défendu de fumer dans le bâtiment.", ["oui"]),
        ("Peut-on fumer dans la cour ?", "Il est interdit de fumer dans la cour sauf le soir.", ["non"]),
        ("Les chiens peuvent-ils entrer ?", "Tous les animaux sauf les chiens peuvent entrer.", ["non"]),
        ("Peut-on fumer dans la cour ?", "On peut fumer dans la cour.", ["oui"]),
    ],
)
def test_a_yes_is_earned(question, sentence, expected):
    assert said(question, sentence) == expected
