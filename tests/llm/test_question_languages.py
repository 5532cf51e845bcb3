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
