"""The value of the right part of a sentence, with its unit: of a part of what is counted, of a thing by its letter."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation

YARD = "Auf dem Hof stehen 46 Stellplätze zur Verfügung, davon 4 für Menschen mit Behinderung und 6 mit Ladesäule."
SITE = "The site has 140 pitches, 35 of them with electricity and 4 for coaches."
SUM = "Die Versicherungssumme für Gebäude A beträgt 4.200.000 EUR, für Gebäude B 1.850.000 EUR."
PARKING = "Besucher parken bis zu drei Stunden kostenlos; danach kostet jede weitere Stunde 1,50 EUR."
REMOTE = "Le télétravail est autorisé jusqu'à trois jours par semaine pour le personnel administratif et un jour par semaine pour le personnel de laboratoire."
NOTICE = (
    "Une absence est annoncée à Mme Odile Perrin, téléphone 021 444 10 20, au moins dix jours ouvrables à l'avance."
)


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("de", "Wie viele Stellplätze haben eine Ladesäule?", YARD, ["6"]),
        ("de", "Wie viele Stellplätze sind für Menschen mit Behinderung?", YARD, ["4"]),
        ("de", "Wie viele Stellplätze gibt es auf dem Hof?", YARD, ["46"]),
        (
            "fr",
            "Combien de chaises ont des accoudoirs ?",
            "La salle compte 80 chaises, dont 12 avec accoudoirs.",
            ["12"],
        ),
        ("en", "How high is the rent?", "From 2028 the rent follows the price index.", []),
        ("en", "How many pitches have electricity?", SITE, ["35"]),
        ("en", "How many pitches does the site have?", SITE, ["140 pitches"]),
        ("de", "Wie hoch ist die Versicherungssumme für Gebäude B?", SUM, ["1.850.000 EUR"]),
        ("de", "Wie hoch ist die Versicherungssumme für Gebäude A?", SUM, ["4.200.000 EUR"]),
        ("de", "Wie lange parken Besucher kostenlos?", PARKING, ["drei Stunden"]),
        ("de", "Was kostet jede weitere Stunde?", PARKING, ["1,50 EUR"]),
        (
            "fr",
            "Combien de jours par semaine le personnel de laboratoire peut-il télétravailler ?",
            REMOTE,
            ["un jour"],
        ),
        ("fr", "Combien de jours par semaine le personnel administratif peut-il télétravailler ?", REMOTE, ["trois"]),
        ("fr", "Combien de temps à l'avance faut-il annoncer une absence ?", NOTICE, ["dix jours ouvrables"]),
        ("fr", "Quel est le montant de l'indemnité ?", "Une indemnité de CHF 60 par mois est versée.", ["CHF 60"]),
        (
            "en",
            "How far in advance must catering be ordered?",
            "Catering must be ordered 10 working days before.",
            ["10 working days"],
        ),
    ],
)
def test_a_value_is_of_the_part_that_is_asked_for(language, question, sentence, expected):
    citation = Citation(sentence, "urn:d", "urn:c", 0, len(sentence), 0)
    assert [value.text for value in short_answers(question, [sentence], [citation], language=language)] == expected
