"""Yes and no are of the thing, the group and the person that a question names, and not of another of their kind."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation


def said(question, sentence, language):
    citation = Citation(sentence, "urn:d", "urn:c", 0, len(sentence), 0)
    return [value.text for value in short_answers(question, [sentence], [citation], language=language)]


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("en", "Was Ann Bell at the meeting?", "Excused: Ann Bell.", ["no"]),
        ("en", "Was Ann Bell absent?", "Apologies: Ann Bell, Tom Roe.", ["yes"]),
        ("en", "Was Ann Bell elected?", "Present: Ann Bell.", []),
        ("en", "Is burglary insured for building B?", "Burglary is insured for building A only.", ["no"]),
        ("en", "Is burglary insured for building B?", "Burglary is insured for building A.", []),
        ("en", "Is burglary insured for building A?", "Burglary is insured for building A only.", ["yes"]),
        ("de", "Ist Diebstahl für Gebäude B versichert?", "Diebstahl ist nur für das Gebäude A versichert.", ["nein"]),
        ("de", "Ist Diebstahl für Gebäude A versichert?", "Diebstahl ist nur für das Gebäude A versichert.", ["ja"]),
        ("fr", "L'atelier est-il ouvert au groupe B ?", "L'atelier est ouvert uniquement au groupe A.", ["non"]),
        ("en", "May bikes be left in the Millbrook yard?", "Bikes may be left in the Oldcastle yard.", []),
        ("en", "Is the course compulsory for all staff?", "The course is compulsory for all new laboratory staff.", []),
        ("en", "Is the course compulsory for all new staff?", "The course is compulsory for all new staff.", ["yes"]),
        ("en", "Is the gym open to all staff?", "The gym is open to all permanent staff.", []),
        ("de", "Steht die Sauna allen Mitgliedern offen?", "Die Sauna steht allen ständigen Mitgliedern offen.", []),
        ("de", "Steht die Sauna allen Mitgliedern offen?", "Die Sauna steht allen Mitgliedern offen.", ["ja"]),
        (
            "fr",
            "Le vaccin est-il obligatoire pour tous les enfants ?",
            "Le vaccin est obligatoire pour tous les nouveaux enfants.",
            [],
        ),
        ("fr", "La salle est-elle ouverte à tous les membres ?", "La salle est ouverte à tous les membres actifs.", []),
    ],
)
def test_yes_and_no_are_of_what_is_asked(language, question, sentence, expected):
    assert said(question, sentence, language) == expected


def test_a_heading_is_no_subject_of_a_sentence_that_has_another():
    sentence = "Use and subletting: The hall may be used for storage only."
    citations = [Citation(text, "urn:d", "urn:c", 0, len(text), 0) for text in sentence.split(": ")]
    assert short_answers("Is subletting allowed?", [sentence], citations) == ()
