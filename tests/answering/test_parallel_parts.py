"""Short answers: of several values in one sentence that of the part asked about, and no number of a section or house."""

import pytest

from kgrag.answering.short_answers import short_answers
from kgrag.model import Citation

_PAY = "La prime est de 50 euros par mois à Lyon et de 40 euros par mois à Grenoble."
_KEYS = "Die Mieterin erhält acht Schlüssel für die Haustür und drei für das Hoftor."
_MEALS = "If the host pays, £8 is deducted for breakfast, £12 for lunch and £18 for dinner."
_LUNCH = "Ein Mittagessen kostet seit 1. Januar 2025 5,20 EUR, vorher 4,80 EUR."
_SERVICE = "Zum zehnjährigen Jubiläum zahlt die Firma 500 EUR, zum 25-jährigen 1.500 EUR."
_RATES = "The rate for a private car is 45 pence per mile; for a motorcycle it is 24 pence per mile."
_RAISED = "The board decided to raise the rent from £62 to £68 from 1 October 2025."
_COST = "The building cost 18.4 million dollars, 2.1 million more than budgeted."
_ROOMS = "Vermietet werden im Hause Hafenstraße 12 eine Werkstatt mit 210 m² und ein Büro mit 45 m²."


def texts(
    question: str, sentence: str, language: str = "en", quote: str = "", headings: tuple[str, ...] = ()
) -> list[str]:
    citation = Citation(quote or sentence, "urn:d", "urn:c", 0, len(quote or sentence), 0)
    return [one.text for one in short_answers(question, [sentence], [citation], headings, language=language)]


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("fr", "Quelle est la prime à Grenoble ?", _PAY, ["40 euros"]),
        (
            "en",
            "How many passengers can the Heron carry?",
            "The Heron carries 310 passengers and 48 cars.",
            ["310 passengers"],
        ),
        ("en", "How many cars can the Heron carry?", "The Heron carries 310 passengers and 48 cars.", ["48 cars"]),
        (
            "en",
            "How much does a single ticket cost?",
            "A single ticket costs $14.50, a return ticket $25.00; until September the single ticket cost $13.00.",
            ["$14.50"],
        ),
        (
            "de",
            "Nach wie vielen Stunden ist das Band der HS 350 zu wechseln?",
            "Das Band der HS 350 ist nach 40 Stunden zu wechseln, das der HS 450 nach 60 Stunden.",
            ["40 Stunden"],
        ),
        (
            "de",
            "Mit wie viel Euro wird das Essen bezuschusst?",
            "Das Jobticket wird mit 25 EUR bezuschusst, das Essen mit 3,50 EUR.",
            ["3,50 EUR"],
        ),
        (
            "de",
            "Wie lang ist die Frist nach der Probezeit?",
            "Während der Probezeit beträgt die Frist 2 Wochen, danach 4 Wochen.",
            ["4 Wochen"],
        ),
        (
            "en",
            "How many people are in the software team?",
            "Ann leads the software team of seven people, Bob the hardware team of five.",
            ["seven"],
        ),
        (
            "en",
            "How much is the entry fee for children?",
            "The entry fee is £3 for adults; children under 12 go free.",
            [],
        ),
        (
            "de",
            "Wie hoch ist der Gesamtpreis brutto?",
            "Der Gesamtpreis beträgt 1.238,40 EUR netto, mit 19 % Umsatzsteuer 1.473,70 EUR brutto.",
            ["1.473,70 EUR"],
        ),
        (
            "en",
            "How often are the windows cleaned?",
            "The stairs are cleaned twice a week, the windows once a year.",
            ["once a year"],
        ),
        ("de", "Wie viele Personen können die HS 350 tragen?", "Die HS 350 können drei Personen tragen.", ["drei"]),
        ("fr", "Combien coûte la prime à Grenoble ?", _PAY, ["40 euros"]),
        ("fr", "Combien coûte la prime à Lyon ?", _PAY, ["50 euros"]),
        ("fr", "Combien coûte la prime à Paris ?", _PAY, []),
        (
            "de",
            "Nach wie vielen Stunden ist das Band der HS 450 zu wechseln?",
            "Das Band der HS 350 ist nach 40 Stunden zu wechseln, das der HS 450 nach 60 Stunden.",
            ["60 Stunden"],
        ),
        (
            "de",
            "Wie lang ist die Frist während der Probezeit?",
            "Während der Probezeit beträgt die Frist 2 Wochen, danach 4 Wochen.",
            ["2 Wochen"],
        ),
        (
            "en",
            "How many keys for the archive does the tenant receive?",
            "The tenant receives six keys for the front door and two for the archive.",
            ["two"],
        ),
        ("de", "Wie viele Schlüssel gibt es für das Hoftor?", _KEYS, ["drei"]),
        ("de", "Wie viele Schlüssel gibt es für die Haustür?", _KEYS, ["acht"]),
        ("en", "How much is deducted for lunch?", _MEALS, ["£12"]),
        ("en", "How much is deducted for breakfast?", _MEALS, ["£8"]),
        ("en", "How much is deducted for supper?", _MEALS, []),
        ("de", "Was kostete ein Mittagessen vor 2025?", _LUNCH, ["4,80 EUR"]),
        ("de", "Was kostet ein Mittagessen?", _LUNCH, ["5,20 EUR"]),
        ("de", "Wie viel zahlt die Firma zum 25-jährigen Jubiläum?", _SERVICE, ["1.500 EUR"]),
        ("de", "Was kostet das zehnjährige Jubiläum?", _SERVICE, ["500 EUR"]),
        ("de", "Wie viel zahlt die Firma zum 40-jährigen Jubiläum?", _SERVICE, []),
        ("en", "How much is the rate for a motorcycle?", _RATES, ["24"]),
        ("en", "How much is the rate for a private car?", _RATES, ["45"]),
        ("en", "How much is the rate for a van?", _RATES, []),
        ("en", "How much is the rent from October 2025?", _RAISED, ["£68"]),
        ("en", "How much was the old rent?", _RAISED, ["£62"]),
        ("en", "By how much was the rent raised?", _RAISED, []),
        ("en", "By how much was the rent raised?", "The rent was raised by £6.", ["£6"]),
        ("en", "How much was budgeted for the building?", _COST, []),
        ("en", "How much more did the building cost than budgeted?", _COST, ["2.1 million"]),
        (
            "de",
            "Wie hoch ist der Preis brutto?",
            "Der Preis beträgt 100,00 EUR netto, 119,00 EUR brutto.",
            ["119,00 EUR"],
        ),
        (
            "de",
            "Wie lange dauert die Garantie bei gewerblicher Nutzung?",
            "Die Garantie beträgt 24 Monate ab Lieferung, bei gewerblicher Nutzung 12 Monate.",
            ["12 Monate"],
        ),
        (
            "de",
            "Wie lange dauert die Garantie?",
            "Die Garantie beträgt 24 Monate ab Lieferung, bei gewerblicher Nutzung 12 Monate.",
            ["24 Monate"],
        ),
        ("de", "Wie hoch ist die Miete für das Büro pro Jahr?", "Die Miete für das Büro beträgt 540 EUR im Monat.", []),
    ],
)
def test_the_value_is_that_of_the_part_that_has_what_is_asked_about(
    language: str, question: str, sentence: str, expected: list[str]
) -> None:
    assert texts(question, sentence, language) == expected


@pytest.mark.parametrize(
    ("language", "question", "label", "sentence", "expected"),
    [
        ("de", "Wie hoch ist die Kaution?", "§ 4 Kaution", "Die Kaution beträgt 7.950,00 EUR.", ["7.950,00 EUR"]),
        ("de", "Wie lange dauert die Garantie?", "6 Garantie", "Die Garantie beträgt 24 Monate.", ["24 Monate"]),
        ("en", "How much is the deposit?", "4 Deposit", "The deposit is £8,100.", ["£8,100"]),
        ("de", "Was kostet der Kurs?", "1. Yoga", "Der Kurs kostet 90 Euro.", ["90 Euro"]),
    ],
)
def test_the_number_of_a_heading_is_no_value(
    language: str, question: str, label: str, sentence: str, expected: list[str]
) -> None:
    assert texts(question, f"{label}: {sentence}", language, f"{label}\n\n{sentence}") == expected
    assert texts(question, f"{label}: {sentence}", language) == expected
    assert texts(question, f"Rules {label}: {sentence}", language, f"Rules\n{label}\n{sentence}") == expected


@pytest.mark.parametrize(
    ("language", "question", "sentence", "expected"),
    [
        ("de", "Wie groß ist die Werkstatt?", _ROOMS, ["210 m²"]),
        ("de", "Wie groß ist das Büro?", _ROOMS, ["45 m²"]),
        ("en", "How large is the cellar?", "The house Mill Lane 27 has a cellar of 31 m².", ["31 m²"]),
        ("fr", "Combien coûte la salle ?", "La salle du 12 rue des Lilas coûte 80 euros.", ["80 euros"]),
        ("en", "How long is the notice?", "By section 7 the notice is 3 months.", ["3 months"]),
    ],
)
def test_the_number_of_a_house_or_section_is_no_value(
    language: str, question: str, sentence: str, expected: list[str]
) -> None:
    assert texts(question, sentence, language) == expected


def test_a_value_that_is_the_year_of_its_part_breaks_nothing() -> None:
    said = "Bis Ende 2024 kostete das Essen 5,10 EUR, seit 2025 kostet es 5,60 EUR."
    assert texts("Was kostete das Essen vor 2025?", said, "de") == ["5,10 EUR"]
