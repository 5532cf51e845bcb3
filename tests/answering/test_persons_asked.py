"""Short answers: the person who has the office or did what is asked, not the first name of a sentence."""

import pytest
import regex

from kgrag.answering.persons_asked import persons_asked
from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation

_HALL = "Mayor Linda Barrow cut the ribbon; the architect Stefan Oyelaran had designed it."
_BOARD = "Present: Helen Marsh (chair), Tom Okafor (treasurer), Priya Nair (secretary), George Lamb."
_MURAL = "The mural was painted by Nadia Kovac, and Tom Ferris paid for it."
_CARE = "The caretaker is Mr Todd, his deputy is Mrs Lane."
_STAIRS = "Mr Gill cleans the stairs, Mrs Poe the yard."
_HALLE = "Bürgermeisterin Frau Karin Holm eröffnete die Halle; entworfen hat sie Herr Jonas Reuter."
_VORSTAND = "Vorstand: Frau Eva Blum (Vorsitzende), Herr Kai Noll (Kassenwart)."
_SALLE = "Le maire, M. Denis Caron, a inauguré la salle ; l'architecte, Mme Lise Prévost, l'a dessinée."
_BUREAU = "Bureau : Mme Anne Girard (présidente), M. Luc Morel (trésorier)."


def texts(question: str, sentence: str, language: str, headings: tuple[str, ...] = ()) -> list[str]:
    citation = Citation(sentence, "urn:d", "urn:c", 0, len(sentence), 0)
    return [one.text for one in short_answers(question, [sentence], [citation], headings, language=language)]


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("en", "Who designed the terminal?", _HALL, ["Stefan Oyelaran"]),
        ("en", "Who cut the ribbon?", _HALL, ["Mayor Linda Barrow"]),
        ("en", "Who paid for the terminal?", _HALL, []),
        ("en", "Who is the treasurer?", _BOARD, ["Tom Okafor"]),
        ("en", "Who is the chair?", _BOARD, ["Helen Marsh"]),
        ("en", "Who painted the mural?", _MURAL, ["Nadia Kovac"]),
        ("en", "Who paid for the mural?", _MURAL, ["Tom Ferris"]),
        ("en", "Who is the caretaker?", _CARE, ["Mr Todd"]),
        ("en", "Who is the deputy of the caretaker?", _CARE, ["Mrs Lane"]),
        ("en", "Who is the deputy?", _CARE, ["Mrs Lane"]),
        ("en", "Who cleans the stairs?", _STAIRS, ["Mr Gill"]),
        ("en", "Who cleans the yard?", _STAIRS, ["Mrs Poe"]),
        ("en", "Who is the gardener?", "Present: Helen Marsh (chair), Tom Okafor (treasurer).", []),
        ("en", "Who designed it?", "Ann Bell and Tom Roe designed it.", ["Ann Bell and Tom Roe"]),
        ("de", "Wer hat die Halle entworfen?", _HALLE, ["Jonas Reuter"]),
        ("de", "Wer eröffnete die Halle?", _HALLE, ["Karin Holm"]),
        ("de", "Wer ist Kassenwart?", _VORSTAND, ["Kai Noll"]),
        ("de", "Wer ist Schriftführer?", _VORSTAND, []),
        ("fr", "Qui a dessiné la salle ?", _SALLE, ["Lise Prévost"]),
        ("fr", "Qui a inauguré la salle ?", _SALLE, ["Denis Caron"]),
        ("fr", "Qui est le trésorier ?", _BUREAU, ["Luc Morel"]),
    ],
)
def test_the_person_is_the_one_who_has_the_office_or_did_it(
    language: str, question: str, sentence: str, expected: list[str]
) -> None:
    assert texts(question, sentence, language) == expected


@pytest.mark.parametrize(
    ("language", "question", "sentence", "heading"),
    [
        ("en", "Who designed the old terminal?", _HALL, "New terminal"),
        ("de", "Wer hat die alte Halle entworfen?", _HALLE, "Die neue Halle"),
        ("fr", "Qui a dessiné la petite salle ?", _SALLE, "La grande salle"),
        ("en", "How much was the old pump?", "The price was 80 EUR.", "The new pump"),
    ],
)
def test_what_is_said_of_the_opposite_thing_is_no_value(
    language: str, question: str, sentence: str, heading: str
) -> None:
    assert texts(question, sentence, language, (heading,)) == []


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who is the insurer?", "The insurer was notified on 4 June by Tom Roe."),
        ("Who is Dr Bell?", "Present: Dr Ann Bell (chair), Tom Roe."),
    ],
)
def test_who_is_named_with_an_office_or_a_person_is_not_who_that_is(question, sentence):
    names = [found.span() for found in regex.finditer(r"(?:Ann Bell|Tom Roe)", sentence)]
    assert persons_asked(question, sentence, names) == []
