"""Fragments of German and French follow-ups take the place of what is like them in the question before."""

import pytest

from kgrag.answering.follow_ups import Exchange, resolve

CASES = [
    ("Wie schwer ist die HS 350?", "Und die HS 450?", "Wie schwer ist die HS 450?"),
    ("Wer leitet die Werkstatt?", "Und das Lager?", "Wer leitet das Lager?"),
    ("Was kostet ein Essen in der Kantine?", "Und für Gäste?", "Was kostet ein Essen in der Kantine für Gäste?"),
    ("Wann werden Kichererbsen ausgesät?", "Und Linsen?", "Wann werden Linsen ausgesät?"),
    ("Wie hoch ist die Gebühr für Kinder 2024?", "Und für Gäste?", "Wie hoch ist die Gebühr für Gäste 2024?"),
    ("Wie hoch ist die Gebühr im Jahr 2024?", "Und im Winter?", "Wie hoch ist die Gebühr im Jahr 2024 im Winter?"),
    ("Was kostet ein Essen?", "Und vorher?", "Was kostet ein Essen vorher?"),
    ("Wie hoch war der Umsatz in Bonn im Jahr 2023?", "Und 2022?", "Wie hoch war der Umsatz in Bonn im Jahr 2022?"),
    ("Wie hoch war der Umsatz in Bonn im Jahr 2023?", "Und in Köln?", "Wie hoch war der Umsatz in Köln im Jahr 2023?"),
    ("Was kostet der Mixer Dora?", "Und sein Gewicht?", "Was ist sein Gewicht (Mixer Dora)?"),
    ("Wann beginnt der Vertrag?", "Und wann endet er?", "Wann endet der Vertrag?"),
    ("Wie hoch ist die Gebühr für Erwachsene?", "Und Studierende?", "Wie hoch ist die Gebühr für Studierende?"),
    (
        "Wann findet die Lesung mit Clara Holm statt?",
        "Und mit Jonas Reed?",
        "Wann findet die Lesung mit Jonas Reed statt?",
    ),
    ("Combien coûte la location d'une cabine ?", "Et la serviette ?", "Combien coûte la location de la serviette ?"),
    ("À quelle heure ferme la piscine ?", "Et le dimanche ?", "À quelle heure ferme la piscine le dimanche ?"),
    (
        "Quelle est la cotisation d'un membre actif en 2024 ?",
        "Et en 2023 ?",
        "Quelle est la cotisation d'un membre actif en 2023 ?",
    ),
    (
        "Quelle est la cotisation d'un membre actif en 2023 ?",
        "Et pour un étudiant ?",
        "Quelle est la cotisation d'un étudiant en 2023 ?",
    ),
    ("Combien de jours pour une naissance ?", "Et pour un divorce ?", "Combien de jours pour un divorce ?"),
    ("Qui dirige l'atelier de Lyon ?", "Et celui de Metz ?", "Qui dirige l'atelier de Metz ?"),
    ("Combien pèse la machine M2 ?", "Et la machine M3 ?", "Combien pèse la machine M3 ?"),
    ("Combien coûte le mixeur Dora ?", "Et son poids ?", "Quel est le poids du mixeur Dora ?"),
]


@pytest.mark.parametrize(("question", "message", "full"), CASES)
def test_a_fragment_takes_the_place_of_its_like(question: str, message: str, full: str) -> None:
    resolved = resolve(message, [Exchange(question, "12.")])
    assert (resolved.text, resolved.unresolved) == (full, "")


def test_turns_do_not_pile_up() -> None:
    before = [Exchange("Quelle est la cotisation d'un membre actif en 2024 ?", "155 €")]
    for message in ("Et en 2023 ?", "Et pour un étudiant ?", "Et en 2022 ?"):
        before.append(Exchange(resolve(message, before).text, ""))
    assert before[-1].question == "Quelle est la cotisation d'un étudiant en 2022 ?"


@pytest.mark.parametrize("message", ["Wer hat das Handbuch geschrieben?", "Und wer hat das Handbuch geschrieben?"])
def test_a_whole_question_is_no_fragment(message: str) -> None:
    resolved = resolve(message, [Exchange("Wie schwer ist die HS 350?", "98 kg.")])
    assert (resolved.text, resolved.unresolved) == ("Wer hat das Handbuch geschrieben?", "")


def test_a_fragment_without_a_like_part_says_so_in_its_language() -> None:
    resolved = resolve("Und die Farbe?", [Exchange("Wann regnet es?")])
    assert resolved.text == "Wann regnet es? Und die Farbe?"
    assert "vorigen Frage" in resolved.unresolved
