"""Dates and quantities of German and French texts; those of English ones stand in the tests of what they support."""

import pytest

from kgrag.text.figures import Date, dates, quantities


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("am 3. Oktober 1990", Date(3, 10, 1990)),
        ("fällt auf den 2. September 1752 zurück", Date(2, 9, 1752)),
        ("seit März 2004", Date(0, 3, 2004)),
        ("le 1er janvier 1990", Date(1, 1, 1990)),
        ("en septembre 1997", Date(0, 9, 1997)),
        ("le 5 mai", Date(5, 5, 0)),
        ("on 3 August 1990", Date(3, 8, 1990)),
    ],
)
def test_a_date_in_words_is_read(text, date):
    assert dates(text) == [date]


@pytest.mark.parametrize("text", ["Mars 3 landed", "mai tai for 2", "10 mars bars", "3. Mai tai", "12 juni"])
def test_a_word_that_is_a_month_elsewhere_is_no_date(text):
    assert dates(text) == []


@pytest.mark.parametrize(
    ("text", "quantity"),
    [
        ("1.234,5 kg", "1234.5 kg"),
        ("12,5 Prozent", "12.5 %"),
        ("20 pour cent", "20 %"),
        ("3 Stunden", "3 hour"),
        ("20 secondes", "20 second"),
        ("5 jours", "5 day"),
    ],
)
def test_a_quantity_is_the_same_in_every_language(text, quantity):
    assert [str(one) for one in quantities(text)] == [quantity]
