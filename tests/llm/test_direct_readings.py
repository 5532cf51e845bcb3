"""Lines with a label, things that are exempt, lists of offers: one certain place answers, and none where two are."""

import pytest

from kgrag.llm.extractive.direct_readings import read_directly
from kgrag.llm.extractive.evidence_sentences import EvidenceText, read_sentences
from kgrag.llm.extractive.other_things import other_thing

POLICY = "Versicherer: Alemannia AG, Stuttgart\nPolicennummer: AS-7740-2231\nVertragsende: 30. Juni 2028. Feuer ist versichert."
DOORS = "All doors will have card readers by June. Room 2.09 is exempt. Ann Bell collects the old keys."
OFFERS = "Three offers were obtained: Kestrel 18,400 EUR, Norvent 16,950 EUR and Aero 21,300 EUR. Kestrel was chosen."
ANGEBOTE = "Drei Angebote lagen vor: Aquatec 8.200 EUR, Hydra 7.950,50 EUR und Nordpump 9.100 EUR."


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Wie lautet die Policennummer?", POLICY, ["AS-7740-2231"]),
        ("Wer ist der Versicherer?", POLICY, ["Alemannia AG, Stuttgart"]),
        ("Was ist das Vertragsende?", POLICY, ["30. Juni 2028"]),
        ("Wie lautet die Kundennummer?", POLICY, []),
        ("What is the file number of the Lyon office?", "# Lyon office\n\nFile number: L-22\nOpen daily.", ["L-22"]),
        ("What is the file number of the Nantes office?", "# Lyon office\n\nFile number: L-22\nOpen daily.", []),
        ("What is the file number?", "File number: L-22\n\nFile number: L-23", []),
        ("Which room is exempt from the card readers?", DOORS, ["Room 2.09"]),
        ("Which room is exempt from the smoking ban?", DOORS, []),
        (
            "Welcher Raum ist von der Reinigung ausgenommen?",
            "Die Reinigung ist täglich. Das Labor ist ausgenommen.",
            ["Das Labor"],
        ),
        ("Which offer was the cheapest?", OFFERS, ["Norvent"]),
        ("Which offer was the most expensive?", OFFERS, ["Aero"]),
        ("Which offer for the roof was the cheapest?", OFFERS, []),
        ("Welches Angebot war das günstigste?", ANGEBOTE, ["Hydra"]),
        ("Which offer was chosen?", OFFERS, []),
    ],
)
def test_a_certain_place_is_read(question, text, expected):
    found = read_directly(question, [EvidenceText(1, "chunk", "", text)])
    assert [value["text"] for value in found.get("values", [])] == expected


@pytest.mark.parametrize(
    ("language", "question", "sentence", "lacking"),
    [
        ("fr", "Qui remplace Odile Perrin ?", "Une absence est annoncée à Mme Odile Perrin.", "remplace"),
        ("fr", "Qui remplace Odile Perrin ?", "Marc Junod remplace Odile Perrin.", ""),
        ("de", "Wer vertritt Frau Petra Lohse?", "Tickets gibt Frau Petra Lohse aus.", "vertritt"),
        ("en", "How high is the rent of the store?", "The store must be booked five days in advance.", "rent"),
        ("en", "How high is the rent of the store?", "The rent of the store is 5 EUR.", ""),
    ],
)
def test_the_word_that_alone_says_what_is_asked_is_needed(language, question, sentence, lacking):
    one = next(read_sentences(EvidenceText(1, "chunk", "", sentence), language))
    assert other_thing(question, one, language) == lacking


def test_the_cheapest_offer_is_no_price_where_there_are_no_offers():
    found = read_directly("Which offer was the cheapest?", [EvidenceText(1, "chunk", "", "Turbidity costs 9.80 EUR.")])
    assert found["unknown"]
    assert not read_directly("Which shop offers the cheapest?", [EvidenceText(1, "chunk", "", "Ash costs 9.80 EUR.")])
