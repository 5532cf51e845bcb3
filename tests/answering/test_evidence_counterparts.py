"""A fragment takes the place of what has its part in a table of the evidence before it, in three languages."""

import pytest

from kgrag.answering.conversation import FullQuestion, answer_in_turn
from kgrag.answering.follow_ups import Exchange, resolve
from kgrag.model import Answer, Citation, Hit, Value

FEES = (
    "| Group | Joining fee (GBP) | Yearly fee (GBP) |\n|---|---|---|\n| Students | 20 | 140 |\n| Families | 90 | 480 |"
)
SUPPLIERS = (
    "Supplier: Oarcraft; Goods: oars; Contact: Jane Mott\nSupplier: Delmont; Goods: varnish; Contact: Karl Weir\n"
    "Supplier: Sailmark; Goods: ropes; Contact: Ivy Stone"
)
GEBUEHREN = "| Gruppe | Jahresgebühr (EUR) | Mahngebühr (EUR) |\n|---|---|---|\n| Erwachsene | 24,00 | 1,50 |\n| Kinder | 0 | 0,50 |"
TARIFS = "| Groupe | Entrée (EUR) | Abonnement annuel (EUR) |\n|---|---|---|\n| Adultes | 5,20 | 210 |\n| Enfants | 2,50 | 95 |"


@pytest.mark.parametrize(
    ("question", "table", "message", "full"),
    [
        ("What is the yearly fee for students?", FEES, "And the joining fee?", "What is the joining fee for students?"),
        ("What is the yearly fee for students?", FEES, "And for families?", "What is the yearly fee for families?"),
        ("Who is the contact for ropes?", SUPPLIERS, "And Delmont?", "Who is the contact for Delmont?"),
        (
            "Welche Jahresgebühr zahlen Kinder in den Ferien?",
            GEBUEHREN,
            "Und Erwachsene?",
            "Welche Jahresgebühr zahlen Erwachsene in den Ferien?",
        ),
        (
            "Wie hoch ist die Jahresgebühr für Kinder?",
            GEBUEHREN,
            "Und die Mahngebühr?",
            "Wie hoch ist die Mahngebühr für Kinder?",
        ),
        (
            "Quel est le prix de l'abonnement annuel pour les enfants ?",
            TARIFS,
            "Et l'entrée ?",
            "Quel est le prix de l'entrée pour les enfants ?",
        ),
        (
            "Quel est le tarif d'entrée pour les adultes ?",
            TARIFS,
            "Et l'abonnement annuel ?",
            "Quel est le tarif d'abonnement annuel pour les adultes ?",
        ),
    ],
)
def test_a_label_replaces_a_label_and_a_cell_a_cell(question: str, table: str, message: str, full: str) -> None:
    resolved = resolve(message, [Exchange(question, "140. [1]", (table,))])
    assert (resolved.text, resolved.unresolved, resolved.is_guess) == (full, "", False)


def _answer(text: str, quote: str, *, unknown: bool = False) -> Answer:
    citations = () if unknown else (Citation(quote, "urn:d", "urn:c", 0, len(quote)),)
    hits = (Hit("urn:c", "chunk", quote, 1.0),)
    values = () if unknown else (Value("number", "165", "165", "CHF"),)
    sentences = () if unknown else (text,)
    return Answer("q", text, "auto", unknown, sentences, citations, hits, values=values, confidence=0.9)


LIMIT = "Switzerland – Limit per night: CHF 165."
BREAKFAST = FullQuestion("What is the limit per breakfast in Switzerland?", put_in="breakfast", is_guess=True)


def test_an_answer_that_does_not_name_what_was_put_into_the_question_is_not_sure() -> None:
    answer = answer_in_turn(_answer(LIMIT, "| Switzerland | CHF 165 |"), "What about breakfast?", BREAKFAST)
    assert "“breakfast”" in answer.unresolved
    assert (answer.values, answer.confidence) == ((), None)
    assert answer.text == LIMIT


def test_an_answer_that_names_it_is_as_sure_as_any() -> None:
    quote = "Breakfast is limited to CHF 20."
    answer = answer_in_turn(_answer(quote, quote), "What about breakfast?", BREAKFAST)
    assert (answer.unresolved, answer.confidence) == ("", 0.9)


def test_an_unknown_answer_to_a_guess_says_that_it_was_one() -> None:
    answer = answer_in_turn(_answer("unknown", "Hotels.", unknown=True), "What about breakfast?", BREAKFAST)
    assert "“breakfast”" in answer.unresolved
