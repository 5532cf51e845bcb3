"""Short answers: of several values the one of the clause, period and verb that the question has, else none."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation

_MEMBERS = "Im Jahr 2024 sind 57 Mitglieder eingetreten und 41 ausgetreten."
_ALARM = "L'alarme est coupée à 6 h et activée à 20 h."
_RENT = "Die Miete stieg von 1.800 EUR im Jahr 2023 auf 1.950 EUR im Jahr 2024."


def texts(question: str, sentence: str, language: str) -> list[str]:
    citation = Citation(sentence, "urn:d", "urn:c", 0, len(sentence), 0)
    return [one.text for one in short_answers(question, [sentence], [citation], language=language)]


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("fr", "À quelle heure l'alarme est-elle activée ?", _ALARM, ["20 h"]),
        ("de", "Wie viele Mitglieder sind im Jahr 2024 ausgetreten?", _MEMBERS, ["41"]),
        ("de", "Wie viele Mitglieder sind im Jahr 2024 gestorben?", _MEMBERS, []),
        ("de", "Wie hoch war die Miete im Jahr 2024?", _RENT, ["1.950 EUR"]),
        (
            "de",
            "Wann wurde der Vertrag mit Reinfix unterschrieben?",
            "Der Vertrag mit Reinfix wurde zum 30. Juni 2024 gekündigt.",
            [],
        ),
        ("fr", "Quand le contrat a-t-il été signé ?", "Le contrat a été résilié le 30 juin 2024.", []),
        (
            "fr",
            "À combien s'élèvent les recettes de 2024 ?",
            "Les recettes de 2024 s'élèvent à 152 300 euros.",
            ["152 300 euros"],
        ),
        (
            "fr",
            "À quelle heure la séance est-elle levée ?",
            "La séance est ouverte à 18 h 15 et levée à 20 h.",
            ["20 h"],
        ),
        (
            "en",
            "How many pumps were sold in the first quarter of 2024?",
            "In the first quarter of 2025, 1,130 pumps were sold.",
            [],
        ),
        (
            "en",
            "Within how many days may used goods be returned?",
            "Unused goods may be returned within 14 days.",
            [],
        ),
        (
            "en",
            "What is the default of --pressure?",
            "The default is 3.5 bar; the maximum is 6 bar.",
            ["3.5 bar"],
        ),
        (
            "en",
            "How much may a hotel cost elsewhere?",
            "A hotel may cost up to 120 EUR a night in London and 90 EUR elsewhere.",
            ["90 EUR"],
        ),
        (
            "fr",
            "Quel est le montant de la pénalité par semaine ?",
            "Le montant de la pénalité est de 0,20 euro par jour.",
            [],
        ),
        (
            "de",
            "Um wie viel Uhr wird die Alarmanlage eingeschaltet?",
            "Sie wird um 20:00 Uhr eingeschaltet.",
            ["20:00 Uhr"],
        ),
        ("en", "How many members left in 2024?", "In 2024, 57 members joined and 41 left.", ["41"]),
        ("en", "When was the lease signed?", "The lease was terminated on 30 June 2024.", []),
        ("en", "How many chairs were bought in 2023?", "In 2023, 40 chairs were sold and 25 were bought.", ["25"]),
        ("en", "When was the bridge closed?", "The bridge was opened on 4 May 1998.", []),
        ("en", "How much was the fee in 2025?", "The fee was 30 EUR in 2024 and 35 EUR in 2025.", ["35 EUR"]),
        ("de", "Wie viele Bücher wurden 2022 verkauft?", "Im Jahr 2023 wurden 310 Bücher verkauft.", []),
        (
            "de",
            "Um wie viel Uhr wird das Tor geschlossen?",
            "Das Tor wird um 7 Uhr geöffnet und um 19:30 Uhr geschlossen.",
            ["19:30 Uhr"],
        ),
        (
            "fr",
            "Combien de livres ont été achetés en 2024 ?",
            "En 2024, 120 livres ont été vendus et 85 achetés.",
            ["85"],
        ),
        ("fr", "Quel était le loyer en 2022 ?", "Le loyer était de 900 euros en 2023.", []),
        ("fr", "Quand le pont a-t-il été inauguré ?", "Le pont a été inauguré le 4 mai 1998.", ["4 mai 1998"]),
        ("en", "When was Python first released?", "Python 0.9.0 appeared in February 1991.", ["February 1991"]),
        ("en", "How many workers can be started?", "The number of workers is limited to 8.", ["8"]),
        ("en", "When does the lease end?", "It begins on 1 May 2020 and ends on 30 April 2025.", ["30 April 2025"]),
        (
            "en",
            "What is the maximum number of slots?",
            "The default is 100 slots, at most 1000 are possible.",
            ["1000"],
        ),
        ("fr", "À quelle heure ferme la piscine ?", "La piscine ouvre à 9 h et ferme à 20 h.", ["20 h"]),
        ("en", "How many pumps were sold in the first quarter of 2024?", "1,130 pumps were sold.", []),
    ],
)
def test_the_value_is_that_of_the_clause_of_the_question(
    language: str, question: str, sentence: str, expected: list[str]
) -> None:
    assert texts(question, sentence, language) == expected


def test_the_period_may_stand_in_the_heading() -> None:
    said = "1,130 pumps were sold."
    citation = Citation(said, "urn:d", "urn:c", 0, len(said), 0)
    asked = "How many pumps were sold in the first quarter of 2024?"
    assert [one.value for one in short_answers(asked, [said], [citation], ["Sales of Q1 2024"])] == ["1130"]


LEASE = "Das Mietverhältnis beginnt am 1. April 2024 und endet am 31. März 2029."
BAIL = "Le contrat commence le 1er avril 2024 et se termine le 31 mars 2029."


@pytest.mark.parametrize(
    ("question", "sentence", "value"),
    [
        ("Wann beginnt das Mietverhältnis?", LEASE, "2024-04-01"),
        ("Wann endet das Mietverhältnis?", LEASE, "2029-03-31"),
        ("Bis wann läuft der Vertrag?", "Der Vertrag läuft bis zum 31. März 2029.", "2029-03-31"),
        ("Wann endet die Frist?", "Die Frist endet am 3. März 2025.", "2025-03-03"),
        ("Wann findet die Prüfung statt?", "Die Prüfung findet am 12. 5. 2025 um 10 Uhr statt.", "2025-05-12"),
        ("Wann kündigte der Mieter?", "Der Mieter zog am 1. Mai 2020 ein und kündigte am 3.6.2021.", "2021-06-03"),
        ("Wann endet der Vertrag?", "Der Vertrag beginnt am 1. April 2024 und endet nach drei Jahren.", ""),
        ("Quand le contrat commence-t-il ?", BAIL, "2024-04-01"),
        ("Quand se termine le contrat ?", BAIL, "2029-03-31"),
        ("Quand prend fin le mandat ?", "Le mandat prend fin le 31 mars 2027.", "2027-03-31"),
        ("Quand a lieu l'examen ?", "L'examen a lieu le 12/05/2025.", "2025-05-12"),
        ("Quand se termine le contrat ?", "Le contrat commence le 1er avril 2024 et se termine après trois ans.", ""),
    ],
)
def test_a_date_in_german_and_french_is_that_of_the_finite_verb(question: str, sentence: str, value: str) -> None:
    found = short_answers(question, [sentence], [Citation(sentence, "urn:d", "urn:c", 0, len(sentence))])
    assert [one.value for one in found] == ([value] if value else [])
