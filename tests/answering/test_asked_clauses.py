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


LAB = "Visitors must sign in at the desk and may not enter the laboratory."
LABOR = "Besucher müssen sich anmelden und dürfen das Labor nicht betreten."
POOL = "La piscine est ouverte de 8 heures à 18 heures le dimanche. Elle est fermée le lundi."
PRIVATE = "L'usage privé du téléphone de service est toléré, celui de la voiture de service est interdit."
SIXTY = "Der Vorschlag, 60 Stunden zuzulassen, wurde abgelehnt."


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("en", "Must visitors sign in at the desk?", LAB, ["yes"]),
        ("en", "May visitors enter the laboratory?", LAB, ["no"]),
        ("de", "Müssen sich Besucher anmelden?", LABOR, ["ja"]),
        ("de", "Dürfen Besucher das Labor betreten?", LABOR, ["nein"]),
        ("en", "Does the server store hashes?", "The server does not store passwords; it stores hashes.", ["yes"]),
        (
            "de",
            "Kann am Montag geliefert werden?",
            "Montags ist Ruhetag; an diesem Tag kann nicht geliefert werden.",
            ["nein"],
        ),
        ("fr", "La piscine est-elle ouverte le dimanche ?", POOL, ["oui"]),
        ("fr", "La piscine est-elle ouverte le lundi ?", POOL, ["non"]),
        ("fr", "L'usage privé de la voiture de service est-il permis ?", PRIVATE, ["non"]),
    ],
)
def test_a_clause_takes_what_it_refers_to_from_the_one_before(language, question, sentence, expected):
    assert said(question, sentence, language) == expected


def test_a_word_of_the_heading_is_of_the_clause_that_has_it():
    citation = Citation(SUBLETTING, "urn:d", "urn:c", 0, len(SUBLETTING), 0)
    values = short_answers("Is subletting of the office permitted?", [SUBLETTING], [citation], ["Office lease"])
    assert [value.text for value in values] == ["no"]


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        (
            "en",
            "Was the proposal to raise the fee accepted?",
            "The proposal to raise the fee from £10 to £15 was rejected.",
            ["no"],
        ),
        (
            "en",
            "Was the proposal to raise the fee rejected?",
            "The proposal to raise the fee from £10 to £15 was rejected.",
            ["yes"],
        ),
        ("de", "Wurde der Vorschlag, 60 Stunden zuzulassen, angenommen?", SIXTY, ["nein"]),
        ("fr", "La demande de subvention a-t-elle été acceptée ?", "La demande de subvention a été refusée.", ["non"]),
    ],
)
def test_what_came_of_a_proposal_is_the_answer(language, question, sentence, expected):
    assert said(question, sentence, language) == expected


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("en", "May the lifts be used?", "If the alarm sounds, the lifts must not be used.", []),
        (
            "en",
            "May the lifts be used if the alarm sounds?",
            "If the alarm sounds, the lifts must not be used.",
            ["no"],
        ),
        ("en", "May staff travel by air?", "Staff may not travel by air without the consent of the manager.", []),
        ("de", "Darf das Tor geöffnet werden?", "Wenn der Hof leer ist, darf das Tor geöffnet werden.", []),
        (
            "en",
            "Was the report approved in June?",
            "The board asked Mr Hale to prepare a report, and the report was approved in June.",
            ["yes"],
        ),
    ],
)
def test_a_condition_that_the_question_lacks_leaves_it_open(language, question, sentence, expected):
    assert said(question, sentence, language) == expected


TAX = "Nicht der Mieter, sondern der Vermieter zahlt die Steuer."
DOGS = "Hunde sind im Hof erlaubt, in den Räumen jedoch nicht."
BAR = "The bar is open on Fridays and Saturdays; on Sundays it is closed."


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("en", "Is the bar open on Sundays?", BAR, ["no"]),
        ("en", "Is the bar open on Saturdays?", BAR, ["yes"]),
        ("en", "Is dinner included?", "Lunch is included, dinner and drinks are not.", ["no"]),
        ("en", "Is lunch included?", "Lunch is included, dinner and drinks are not.", ["yes"]),
        ("en", "Is water included?", "The heating is not included, but water is.", ["yes"]),
        ("de", "Sind Hunde im Hof erlaubt?", DOGS, ["ja"]),
        ("de", "Sind Hunde in den Räumen erlaubt?", DOGS, ["nein"]),
        ("de", "Ist der Saal sonntags offen?", "Der Saal ist samstags offen, sonntags ist er zu.", ["nein"]),
        ("de", "Zahlt der Vermieter die Steuer?", TAX, ["ja"]),
        ("fr", "Le vin est-il inclus ?", "Le café est inclus, le vin ne l'est pas.", ["non"]),
        ("fr", "Les chiens sont-ils admis ?", "Ni les chiens ni les chats ne sont admis.", ["non"]),
        (
            "fr",
            "L'accès est-il libre pour les invités ?",
            "L'accès est libre pour les membres, pas pour les invités.",
            ["non"],
        ),
    ],
)
def test_a_list_a_pronoun_or_a_bare_denial_is_of_its_clause(language, question, sentence, expected):
    assert said(question, sentence, language) == expected


@pytest.mark.parametrize(
    ("language", "question", "sentence"),
    [
        ("en", "Did the firm repair the roof?", "The firm was asked to repair the roof."),
        ("en", "Was the fee raised?", "The auditor recommended that the fee be raised."),
        ("en", "Did the council approve the extension?", "The council may approve the extension in June."),
        ("fr", "Le maire a-t-il réparé la route ?", "Le maire a promis de réparer la route."),
        ("fr", "La fête aura-t-elle lieu ?", "La mairie doit décider si la fête aura lieu."),
    ],
)
def test_what_should_or_may_come_has_not_come(language, question, sentence):
    assert said(question, sentence, language) == []
