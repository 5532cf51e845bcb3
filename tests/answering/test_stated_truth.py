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
        (
            "Is smoking allowed in the yard?",
            "Smoking is prohibited in the hall, but it is allowed in the yard.",
            ["yes"],
        ),
        ("May bicycles enter the hall?", "No vehicles other than bicycles may enter the yard.", []),
        ("May bicycles enter the yard?", "No vehicles other than bicycles may enter the yard.", ["yes"]),
        ("Ist der Aufzug in Betrieb?", "Der Aufzug ist außer Betrieb.", ["nein"]),
    ],
)
def test_a_yes_is_earned(question, sentence, expected):
    assert said(question, sentence) == expected


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("May visitors park in the yard?", "Visitors must not park in the yard.", ["no"]),
        ("May visitors park in the yard?", "Visitors must not park bicycles in the yard.", []),
        ("May visitors park in the yard?", "Employees must not park in the yard.", []),
        ("May visitors park in the yard?", "Visitors must not park in the yard at night.", []),
        ("Can goods be returned?", "Used goods cannot be returned.", []),
        ("Can used goods be returned?", "Used goods cannot be returned.", ["no"]),
        ("May guests use the sauna?", "Guests under 16 must not use the sauna.", []),
        ("May guests use the sauna at night?", "Guests must not use the sauna.", []),
        ("Was the boiler repaired in May?", "The boiler was not repaired in April.", []),
        ("Is overtime paid out?", "Overtime is compensated with time off; it is not paid out.", ["no"]),
        ("Is VAT included in the prices?", "The prices do not include VAT.", ["no"]),
        ("Is the deposit refundable?", "The deposit is non-refundable.", ["no"]),
        ("Is the lift working?", "The lift is out of service until further notice.", ["no"]),
        ("Is the lift in the annex working?", "The lift in the hall is out of service.", []),
        ("Is the lift heated?", "The lift is out of service.", []),
        ("Dürfen Besucher im Hof parken?", "Besucher dürfen nicht im Hof parken.", ["nein"]),
        ("Dürfen Besucher im Hof parken?", "Mitarbeiter dürfen nicht im Hof parken.", []),
        ("Dürfen Besucher im Hof parken?", "Besucher dürfen nicht auf den Plätzen des Kuriers parken.", []),
        (
            "Les visiteurs peuvent-ils entrer dans la cour ?",
            "Les visiteurs ne peuvent pas entrer dans la cour.",
            ["non"],
        ),
        ("Les visiteurs peuvent-ils entrer dans la cour ?", "Les enfants ne peuvent pas entrer dans la cour.", []),
        ("Est-ce que l'ascenseur de la cour fonctionne ?", "L'ascenseur de la cour est hors service.", ["non"]),
    ],
)
def test_a_no_is_earned(question, sentence, expected):
    assert said(question, sentence) == expected
