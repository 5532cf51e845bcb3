"""Short answers in German and French."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation


def values(question, sentence):
    citation = Citation(sentence, "urn:d", "urn:c", 0, len(sentence), 0)
    return [(one.kind, one.text, one.value) for one in short_answers(question, [sentence], [citation])]


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("Darf der Wert null sein?", "Der Wert darf nicht null sein.", ("boolean", "nein", "false")),
        ("Ist das Paket frei?", "Das Paket ist frei, und es ist klein.", ("boolean", "ja", "true")),
        ("Est-ce que le paquet est libre ?", "Oui, il l'est dans tous les cas.", ("boolean", "oui", "true")),
        ("Le pas peut-il être nul ?", "Le pas ne peut pas être nul.", ("boolean", "non", "false")),
        ("Von welchem Zinssatz geht es aus?", "Der Zinssatz i ist 7,5 %.", ("number", "7,5 %", "7.5")),
        ("Wie viele Dateien gibt es?", "Es gibt 1.234 Dateien in der Liste.", ("number", "1.234", "1234")),
        ("Wie viele Autos hat sie?", "Sie hat seit 1999 zwei Boote und drei Autos.", ("number", "drei", "3")),
        (
            "Wie viel kostet die Jahreskarte?",
            "Die Tageskarte kostet 5 €, die Jahreskarte 60 €.",
            ("number", "60 €", "60"),
        ),
        ("Wie groß ist die Fläche?", "Die Fläche beträgt 184,5 m².", ("number", "184,5 m²", "184.5")),
        ("Wer vertritt den Verein?", "Ihn vertritt Frau Dr. phil. Jana Rothe.", ("text", "Jana Rothe", "")),
        ("Qui est le trésorier ?", "Le trésorier est M. Hugo Lambert.", ("text", "Hugo Lambert", "")),
        ("Qui dirige le comité ?", "Le comité est dirigé par Claire Fontanel.", ("text", "Claire Fontanel", "")),
        ("Wie viel Rabatt gibt es?", "Ab 10 Stück geben wir 5 % Rabatt.", ("number", "5 %", "5")),
        ("Combien de temps a-t-on ?", "On a 20 secondes pour le faire.", ("number", "20 secondes", "20")),
        (
            "Quand est-il sorti ?",
            "Il est sorti en septembre 1997 avec les autres.",
            ("date", "septembre 1997", "1997-09"),
        ),
        ("Wann war das?", "Das war am 2. September 1752 in der Stadt.", ("date", "2. September 1752", "1752-09-02")),
        ("In welcher Version kam es?", "Es kam in der Version 7 von UNIX.", ("text", "Version 7", "")),
    ],
)
def test_a_value_is_cut_out_of_its_sentence(question, sentence, expected):
    assert values(question, sentence) == [expected]


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Ist das rote Paket frei?", "Das Paket ist frei, und es ist klein."),
        ("Wie viele Dateien gibt es in Version 7?", "In Version 7 gibt es viele Dateien."),
        ("Was ist ein Paket?", "Ein Paket ist eine Datei mit 3 Teilen."),
        ("Wer leitet den Verein?", "Frau Anna Rot und Herr Max Blau leiten ihn."),
        ("Wer leitet den Verein?", "Der Vorstand Max Blau leitet ihn."),
        ("Wann ist das Bad zu?", "Es öffnet am 15. Mai und schließt am 30. September."),
        ("Wie lang ist die Brücke?", "Sie wurde am 3. März eröffnet und ist sehr lang."),
    ],
)
def test_where_no_rule_finds_a_value_there_is_none(question, sentence):
    assert values(question, sentence) == []


def test_the_language_of_the_evidence_tells_that_of_a_short_question():
    citation = Citation("Ein Brot kostet 4 Euro.", "urn:d", "urn:c", 0, 23, 0)
    asked = ("Was kostet ein Brot?", ["Ein Brot kostet 4 Euro."], [citation])
    (value,) = short_answers(*asked, language="de")  # as an English question it would be one of yes and no
    assert (value.text, value.unit) == ("4 Euro", "Euro")
