"""Questions in German and French: what they ask for, and answers to them with words of the evidence."""

import pytest

from kgrag.llm.extractive.evidence_answers import reply
from kgrag.llm.extractive.question_languages import (
    asked_in,
    language_to_answer_in,
    question_language,
    value_lacking_in,
)

GERMAN = (
    "Das Werkzeug wurde 1994 veröffentlicht. Der Schlüssel eines Mitglieds muss mindestens 2048 Bit lang sein. "
    "Ein Paket ist eine Datei mit einem Programm und seiner Beschreibung. Die Schrittweite darf nicht null sein."
)
FRENCH = (
    "L'outil a été publié en septembre 1997. La clé d'un membre doit avoir au moins 2048 bits. "
    "Un paquet est un fichier qui contient un programme et sa description. Le pas ne doit pas être nul."
)


def answered(question, text):
    evidence = [{"number": 1, "kind": "chunk", "heading": "", "text": text}]
    return reply({"question": question, "evidence": evidence})


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Wie viele Zeilen zeigt tail?", "number"),
        ("Wie lange läuft der Dienst?", "number"),
        ("In welcher Unix-Version gab es wall?", "version"),
        ("Wann erschien GIMP?", "date"),
        ("In welchem Jahr erschien GIMP?", "date"),
        ("Wer schrieb dpkg?", "person"),
        ("Darf die Schrittweite null sein?", "boolean"),
        ("Gibt es ein Paket dafür?", "boolean"),
        ("Lässt sich das abbrechen?", "boolean"),
        ("Was ist ein Paket?", "text"),
        ("Wie kann ich es abbrechen?", "text"),
    ],
)
def test_what_a_german_question_asks_for(question, kind):
    assert asked_in(question, "de").kind == kind


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Combien de fois repasse-t-il sur un fichier ?", "number"),
        ("À partir de quelle version le format existe-t-il ?", "version"),
        ("Quand est-ce que GTK s'est séparé de GIMP ?", "date"),
        ("En quelle année est-il né ?", "date"),
        ("Qui a écrit dpkg ?", "person"),
        ("Est-ce que le paquet est signé ?", "boolean"),
        ("Formater une clé suffit-il pour que rien ne reste ?", "boolean"),
        ("Faut-il redémarrer ?", "boolean"),
        ("Qu'est-ce qu'un paquet ?", "text"),
        ("Comment peut-on l'effacer ?", "text"),
        ("Un paquet, c'est quoi ?", "text"),
    ],
)
def test_what_a_french_question_asks_for(question, kind):
    assert asked_in(question, "fr").kind == kind


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("Wie lang muss der Schlüssel eines Mitglieds sein?", GERMAN, "2048 Bit lang"),
        ("Wann wurde das Werkzeug veröffentlicht?", GERMAN, "1994"),
        ("Was ist ein Paket?", GERMAN, "eine Datei mit einem Programm"),
        ("Darf die Schrittweite null sein?", GERMAN, "nicht null"),
        ("Quelle longueur doit avoir la clé d'un membre ?", FRENCH, "2048 bits"),
        ("Quand est-ce que l'outil a été publié ?", FRENCH, "septembre 1997"),
        ("Un paquet, c'est quoi ?", FRENCH, "un fichier qui contient"),
        ("Qu'est-ce qu'un paquet ?", FRENCH, "un fichier qui contient"),
    ],
)
def test_a_question_is_answered_in_words_of_a_text_of_its_language(question, text, said):
    found = answered(question, text)
    assert not found["unknown"], found
    assert said in found["sentences"][0]["text"]
    assert len(found["sentences"]) == 1


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wer erfand den Gregorianischen Kalender?", GERMAN),
        (
            "Wann wurde der Schlüssel eines Mitglieds veröffentlicht und gelöscht?",
            "Der Schlüssel eines Mitglieds ist lang.",
        ),
        ("Combien de membres ont une description ?", "Les membres ont une description."),
        ("Quelle est la capitale du Pérou ?", FRENCH),
    ],
)
def test_what_a_text_does_not_say_is_unknown(question, text):
    assert answered(question, text)["unknown"]


def test_an_answer_is_in_the_language_of_the_evidence():
    assert language_to_answer_in("Was ist ein Paket?", [GERMAN]) == "de"
    assert language_to_answer_in("Was ist ein Paket?", ["This is the text of a page in English."]) == "en"
    assert language_to_answer_in("What is a package?", [GERMAN]) == "en"
    assert language_to_answer_in("Paket Schlüssel", [FRENCH, GERMAN]) == "fr"
    assert language_to_answer_in("Was ist dpkg?", ["dpkg -i FILE"]) == "de"


def test_of_other_languages_only_the_words_are_known():
    assert question_language("es") is None
    assert asked_in("¿Cuándo apareció el paquete?", "es").kind == "text"
    assert value_lacking_in("¿Cuándo?", "nunca", "es") == ""
    spanish = "El paquete contiene un programa y su descripción. La clave de un miembro es larga."
    assert "un programa" in answered("¿Qué contiene el paquete?", spanish)["sentences"][0]["text"]


CLUB = (
    "Der Segelclub wurde 1923 von Fischern gegründet. Ein Ruderboot kostet 18 € je Stunde. Die Karte kostet 2.300 €. "
    "Der Eintritt beträgt 4,50 € für Erwachsene. Zweite Bürgermeisterin ist Karin Holst. Das Haus ist 14 m lang. "
    "Nils Holm ist Lehrer. Petra Seidel leitet die Schule seit 2011. Die Feuerwehr hat 46 Ehrenmitglieder."
)
TOWN = (
    "La commune compte 2 845 habitants. L'adjointe au maire est Claire Fontaine. L'entrée coûte 6 € pour les adultes. "
    "Le pont mesure 120 m de long. Paul Girard est boulanger."
)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Wie viele Mitglieder hat der Segelclub?", CLUB),
        ("Wie viele Mitglieder hat die Feuerwehr?", CLUB),
        ("Was kostet ein Segelboot?", CLUB),
        ("Wie hoch ist der Eintritt für Kinder?", CLUB),
        ("Eintritt für Kinder?", CLUB),
        ("Wer ist Bürgermeisterin?", CLUB),
        ("Wie breit ist das Haus?", CLUB),
        ("Wie hoch ist das Haus?", CLUB),
        ("Seit wann ist Nils Holm Lehrer?", CLUB),
        ("Combien d'écoles compte la commune ?", TOWN),
        ("Qui est le maire ?", TOWN),
        ("Combien coûte l'entrée pour les enfants ?", TOWN),
        ("Quelle est la hauteur du pont ?", TOWN),
        ("Quel âge a Paul Girard ?", TOWN),
    ],
)
def test_a_value_that_belongs_to_something_else_is_no_answer(question, text):
    assert answered(question, text)["unknown"]


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("Wann wurde der Segelclub gegründet?", CLUB, "1923"),
        ("Was kostet ein Ruderboot je Stunde?", CLUB, "18 €"),
        ("Wie hoch ist der Eintritt für Erwachsene?", CLUB, "4,50 €"),
        ("Wie lang ist das Haus?", CLUB, "14 m"),
        ("Combien d'habitants compte la commune ?", TOWN, "2 845"),
        ("Qui est l'adjointe au maire ?", TOWN, "Claire Fontaine"),
        ("Combien coûte l'entrée pour les adultes ?", TOWN, "6 €"),
    ],
)
def test_a_value_beside_what_it_belongs_to_is_the_answer(question, text, said):
    found = answered(question, text)
    assert not found["unknown"], found
    assert said in found["sentences"][0]["text"]


@pytest.mark.parametrize(
    ("question", "text", "language", "lacking"),
    [
        ("Wann muss der Filter gewechselt werden?", "Der Filter wird alle zwei Monate gewechselt.", "de", ""),
        ("Wann ist die Miete zu zahlen?", "Sie ist bis zum 3. Werktag eines Monats zu zahlen.", "de", ""),
        ("Wann wurde der Filter gewechselt?", "Der Filter wird alle zwei Monate gewechselt.", "de", "date"),
        ("Wann tagt der Vorstand?", "Der Vorstand tagt im großen Saal.", "de", "date"),
        ("Quand faut-il remplacer le filtre ?", "Le filtre est remplacé tous les six mois.", "fr", ""),
        ("Quand se réunit le comité ?", "Le comité se réunit le premier lundi du mois.", "fr", ""),
        ("Quand le filtre a-t-il été remplacé ?", "Le filtre est remplacé tous les six mois.", "fr", "date"),
    ],
)
def test_what_is_due_again_and_again_needs_no_date(question, text, language, lacking):
    assert value_lacking_in(question, text, language) == lacking
