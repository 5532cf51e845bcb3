"""Yes and no by the clause that has what is asked, by opposites, and not by what is only asked, planned or of once."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation

DIVES = "Les plongeons sont autorisés dans le grand bassin mais interdits dans le petit."
GLOVES = "Handschuhe dürfen beim Sägen nicht getragen werden; beim Bandwechsel sind Handschuhe vorgeschrieben."
HOME = "Homeoffice ist in der Verwaltung an zwei Tagen pro Woche möglich, im Lager nicht."
PARKING = "Parking fees are reimbursed; parking fines are not."
SUBLETTING = "Subletting of the archive is permitted; subletting of the office is excluded."
YARD = "Loading is permitted in the yard and prohibited in the street."
COURT = "Il est interdit de fumer dans les bâtiments ; fumer est permis dans la cour."
PERMIT = "The board will ask the council whether a permit is needed."


def said(question, sentence, language=""):
    citation = Citation(sentence, "urn:d", "urn:c", 0, len(sentence), 0)
    return [value.text for value in short_answers(question, [sentence], [citation], language=language)]


@pytest.mark.parametrize(
    ("question", "sentence", "expected"),
    [
        ("Are parking fees reimbursed?", PARKING, ["yes"]),
        ("Are parking fines reimbursed?", PARKING, ["no"]),
        ("Is parking reimbursed?", PARKING, []),
        ("Is subletting of the archive permitted?", SUBLETTING, ["yes"]),
        ("Is subletting of the office permitted?", SUBLETTING, ["no"]),
        ("May cats be kept?", "Cats may be kept, dogs may not.", ["yes"]),
        ("May dogs be kept?", "Cats may be kept, dogs may not.", ["no"]),
        ("May birds be kept?", "Cats may be kept, dogs may not.", []),
        ("Is loading permitted in the yard?", YARD, ["yes"]),
        ("Is loading permitted in the street?", YARD, ["no"]),
        ("Is loading permitted?", YARD, []),
        ("Is the shop open on Monday?", "The shop is open on Monday and closed on Tuesday.", ["yes"]),
        ("Is the shop open on Tuesday?", "The shop is open on Monday and closed on Tuesday.", ["no"]),
    ],
)
def test_the_clause_that_has_what_is_asked_decides(question, sentence, expected):
    assert said(question, sentence) == expected


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("de", "Müssen beim Bandwechsel Handschuhe getragen werden?", GLOVES, ["ja"]),
        ("de", "Dürfen beim Sägen Handschuhe getragen werden?", GLOVES, ["nein"]),
        ("de", "Ist Homeoffice in der Verwaltung möglich?", HOME, ["ja"]),
        ("de", "Ist Homeoffice im Lager möglich?", HOME, ["nein"]),
        ("de", "Ist Homeoffice möglich?", HOME, []),
        ("de", "Werden Fahrtkosten erstattet?", "Fahrtkosten werden erstattet, Bußgelder dagegen nicht.", ["ja"]),
        ("de", "Werden Bußgelder erstattet?", "Fahrtkosten werden erstattet, Bußgelder dagegen nicht.", ["nein"]),
        ("fr", "Peut-on fumer dans la cour ?", COURT, ["oui"]),
        ("fr", "Est-il permis de fumer dans les bâtiments ?", COURT, ["non"]),
        ("fr", "Les plongeons sont-ils autorisés dans le grand bassin ?", DIVES, ["oui"]),
        ("fr", "Les plongeons sont-ils autorisés dans le petit bassin ?", DIVES, ["non"]),
    ],
)
def test_the_clause_decides_in_german_and_french_too(language, question, sentence, expected):
    assert said(question, sentence, language) == expected


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("en", "Is the museum open on Mondays?", "The museum is closed on Mondays.", ["no"]),
        ("en", "Is the museum closed on Mondays?", "The museum is not open on Mondays.", ["yes"]),
        ("en", "Is breakfast included in the price?", "Breakfast is excluded from the price.", ["no"]),
        ("en", "Is parking in front of the gate allowed?", "Parking in front of the gate is ruled out.", ["no"]),
        ("en", "Are barbecues allowed on balconies?", "Barbecues are out of the question on balconies.", ["no"]),
        ("en", "Was the request for a new lift granted?", "The request for a new lift was turned down.", ["no"]),
        ("en", "Was the garden opened?", "The plan to open the garden was rejected.", ["no"]),
        ("en", "Was the garden opened?", "The plan to open the garden was approved.", []),
        ("en", "May the garden be opened?", "The plan to open the garden was rejected.", []),
        (
            "de",
            "Darf die Werkstatt untervermietet werden?",
            "Die Untervermietung der Werkstatt ist ausgeschlossen.",
            ["nein"],
        ),
        ("de", "Wurde der Antrag auf eine Sauna angenommen?", "Der Antrag auf eine Sauna wurde abgelehnt.", ["nein"]),
        ("de", "Ist die Bibliothek im August geöffnet?", "Die Bibliothek ist im August geschlossen.", ["nein"]),
        (
            "de",
            "Ist die Teilnahme von Gästen ausgeschlossen?",
            "Die Teilnahme von Gästen ist nicht ausgeschlossen.",
            ["nein"],
        ),
        ("fr", "Le magasin est-il ouvert le dimanche ?", "Le magasin est fermé le dimanche.", ["non"]),
        ("fr", "L'entrée est-elle payante pour les enfants ?", "L'entrée est gratuite pour les enfants.", ["non"]),
        ("fr", "Le contrat est-il renouvelable trois fois ?", "Le contrat est renouvelable une seule fois.", ["non"]),
        ("fr", "Le contrat est-il renouvelable une fois ?", "Le contrat est renouvelable une seule fois.", ["oui"]),
        ("en", "May the loan be renewed three times?", "The loan may be renewed twice.", []),
    ],
)
def test_an_opposite_is_the_contrary_answer(language, question, sentence, expected):
    assert said(question, sentence, language) == expected


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("en", "May the laundry be used before 10 pm?", "The laundry must not be used after 10 pm.", []),
        ("en", "May the laundry be used after 10 pm?", "The laundry must not be used after 10 pm.", ["no"]),
        ("en", "Can claims be submitted on paper?", "Before 2025 claims were submitted on paper.", []),
        ("en", "Were claims submitted on paper before 2025?", "Before 2025 claims were submitted on paper.", ["yes"]),
        ("en", "Is a permit needed?", PERMIT, []),
        ("en", "Did the council give a permit?", PERMIT, []),
        ("en", "Will the board ask the council whether a permit is needed?", PERMIT, ["yes"]),
        ("en", "Did the firm open a shop in Bath?", "The firm plans to open a shop in Bath.", []),
        ("en", "Must gloves be worn in the hall?", "Gloves may be worn in the hall.", []),
        ("en", "May gloves be worn in the hall?", "Gloves need not be worn in the hall.", []),
        ("de", "Darf im Keller geraucht werden?", "Bis 2022 durfte im Keller geraucht werden.", []),
        ("de", "Ist eine Genehmigung nötig?", "Der Vorstand prüft, ob eine Genehmigung nötig ist.", []),
        ("de", "Darf die Küche vor 22 Uhr benutzt werden?", "Die Küche darf nach 22 Uhr nicht benutzt werden.", []),
        ("fr", "Un permis est-il nécessaire ?", "Le conseil examinera si un permis est nécessaire.", []),
        ("fr", "Les chiens sont-ils admis dans le parc ?", "Avant 2020, les chiens étaient admis dans le parc.", []),
    ],
)
def test_what_is_asked_planned_or_of_once_earns_neither(language, question, sentence, expected):
    assert said(question, sentence, language) == expected
