"""A number keeps the unit that stands beside it: a currency before it, and the two words of "working days" behind it."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation


@pytest.mark.parametrize(
    ("question", "sentence", "shown", "unit"),
    [
        ("Quel est le montant de l'indemnité ?", "Une indemnité de CHF 60 par mois est versée.", "CHF 60", "CHF"),
        ("Wie hoch ist die Pauschale?", "Die Pauschale beträgt € 60 im Monat.", "€ 60", "€"),
        ("How much is the fee?", "The fee is EUR 1,200.50 per year.", "EUR 1,200.50", "EUR"),
        ("How much is the fee?", "The fee is £60 per year.", "£60", "£"),
        (
            "How far in advance must it be ordered?",
            "It must be ordered no later than 10 working days before the event.",
            "10 working days",
            "working days",
        ),
        ("How many days does delivery take?", "Delivery takes 14 calendar days.", "14 calendar days", "calendar days"),
        (
            "Combien de jours prend la réponse ?",
            "La réponse est donnée dans les 20 jours ouvrables.",
            "20 jours ouvrables",
            "jours ouvrables",
        ),
        ("How many orders are there?", "There are 6 per year.", "6", ""),
        ("How heavy is the LT 11?", "LT 11 weighs 40 kg.", "40 kg", "kg"),
    ],
)
def test_a_number_keeps_the_unit_beside_it(question: str, sentence: str, shown: str, unit: str) -> None:
    found = short_answers(question, [sentence], [Citation(sentence, "urn:d", "urn:c", 0, len(sentence))])
    assert [(value.text, value.unit) for value in found] == [(shown, unit)]
