"""Pronouns of German and French follow-ups take the thing of their gender, and never a value."""

import pytest

from kgrag.answering.follow_ups import Exchange, resolve

CASES = [
    ("Was kostet der Mixer Dora?", "480 EUR. [1]", "Ist er auf Lager?", "Ist der Mixer Dora auf Lager?"),
    ("Was kostet der Mixer Dora?", "480 EUR.", "Gibt es ihn in Rot?", "Gibt es den Mixer Dora in Rot?"),
    ("Wie hoch ist der Preis des Geräts?", "480 EUR.", "Ist es auf Lager?", "Ist das Gerät auf Lager?"),
    ("Wie hoch ist die Leistung der Pumpe P9?", "2 kW.", "Ist sie laut?", "Ist die Pumpe P9 laut?"),
    ("Wie schwer ist die HS 450?", "167 kg.", "Welche Leistung hat sie?", "Welche Leistung hat die HS 450?"),
    ("Was kostet der Mixer Dora?", "480 EUR.", "Wie hoch ist sein Gewicht?", "Wie hoch ist sein Gewicht (Mixer Dora)?"),
    ("Wer ist der Schatzmeister?", "Max Braun.", "Wie erreiche ich ihn?", "Wie erreiche ich den Schatzmeister?"),
    ("Combien coûte le mixeur Dora ?", "480 EUR.", "Est-il en stock ?", "Le mixeur Dora est-il en stock ?"),
    ("Quel est le prix du mixeur Dora ?", "480 EUR.", "Quel est son poids ?", "Quel est le poids du mixeur Dora ?"),
    (
        "Quel est le prix de la pompe P9 ?",
        "480 EUR.",
        "Est-ce qu'elle est en stock ?",
        "Est-ce que la pompe P9 est en stock ?",
    ),
    ("Qui est le trésorier ?", "M. Hugo Lambert.", "Quel âge a-t-il ?", "Quel âge le trésorier a-t-il ?"),
    (
        "Wie lautet die Telefonnummer von Sabine Keller?",
        "0761 5550-118.",
        "Wer ist ihr Stellvertreter?",
        "Wer ist ihr Stellvertreter (Sabine Keller)?",
    ),
    (
        "In welchem Zimmer sitzt Lena Moos?",
        "In Zimmer 12.",
        "Wer ist ihre Stellvertreterin?",
        "Wer ist ihre Stellvertreterin (Lena Moos)?",
    ),
    (
        "Où est le bureau d'Odile Brun ?",
        "Au premier étage.",
        "Quel est son numéro ?",
        "Quel est le numéro d’Odile Brun ?",
    ),
    (
        "Qui dirige la médiation ?",
        "M. Luc Fontaine.",
        "Sa décision est-elle définitive ?",
        "La décision de la médiation est-elle définitive ?",
    ),
]


@pytest.mark.parametrize(("question", "answer", "message", "full"), CASES)
def test_a_pronoun_takes_the_thing_of_its_gender(question: str, answer: str, message: str, full: str) -> None:
    resolved = resolve(message, [Exchange(question, answer)])
    assert (resolved.text, resolved.unresolved) == (full, "")


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("Was kostet der Mixer Dora?", "Ist es erlaubt, dort zu parken?"),
        ("Was kostet der Mixer Dora?", "Wann endet der Vertrag und kann er verlängert werden?"),
        ("Combien coûte le mixeur Dora ?", "Faut-il payer d'avance ?"),
        ("Combien coûte le mixeur Dora ?", "Le trésorier est-il élu ?"),
    ],
)
def test_a_pronoun_of_nothing_or_of_the_message_itself_stays(question: str, message: str) -> None:
    resolved = resolve(message, [Exchange(question, "480 EUR.")])
    assert (resolved.text, resolved.unresolved) == (message, "")


def test_a_pronoun_that_agrees_with_nothing_said_is_named() -> None:
    resolved = resolve("Ist sie auf Lager?", [Exchange("Was kostet der Mixer Dora?", "480 EUR.")])
    assert resolved.text == "Ist sie auf Lager?"
    assert "“sie”" in resolved.unresolved
