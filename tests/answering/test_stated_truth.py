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
        ("Are guide dogs allowed in the shop?", "Dogs other than guide dogs are not allowed in the shop.", ["yes"]),
        ("Is smoking prohibited in the building?", "No smoking in the building.", ["yes"]),
        ("Are pets allowed in the flat?", "The landlord may prohibit pets in the flat.", []),
        ("Was the rent 1,950 EUR in 2023?", "The rent rose from 1,800 EUR in 2023 to 1,950 EUR in 2024.", []),
        ("Darf man im Keller grillen?", "Das Grillen ist im Keller nicht verboten.", ["ja"]),
        ("Ist das Lager am Montag offen?", "Das Lager ist am Montag offen, aber nicht am Sonntag.", ["ja"]),
        ("Le musée est-il ouvert le mardi ?", "Le musée est ouvert tous les jours, à l'exception du mardi.", ["non"]),
        (
            "Le loyer était-il de 950 euros en 2023 ?",
            "Le loyer était de 900 euros en 2023, contre 950 euros en 2022.",
            [],
        ),
        ("Is photography allowed in the hall?", "Photography is no longer banned in the hall.", ["yes"]),
        ("Is photography banned in the hall?", "Photography is allowed in the hall.", ["no"]),
        ("May all employees use the kitchen?", "The kitchen may be used by all employees except trainees.", []),
        ("May interns enter?", "All may enter except trainees, interns and guests.", ["no"]),
        ("May visitors park in the yard?", "Visitors may park in the yard only on weekdays.", []),
        ("Is the kitchen open on Sunday?", "The kitchen is open every day except Sunday, from 8 to 5.", ["no"]),
        ("Are formats other than PNG read?", "Formats other than PNG are read.", ["yes"]),
        ("May visitors enter with a badge?", "Visitors are forbidden to enter without a badge.", []),
        ("Is smoking allowed in the yard?", "Smoking is prohibited in the hall, but it is allowed in the yard.", []),
        ("May bicycles enter the hall?", "No vehicles other than bicycles may enter the yard.", []),
        ("May bicycles enter the yard?", "No vehicles other than bicycles may enter the yard.", ["yes"]),
        ("Ist der Aufzug in Betrieb?", "Der Aufzug ist außer Betrieb.", []),
    ],
)
def test_a_yes_is_earned(question, sentence, expected):
    assert said(question, sentence) == expected
