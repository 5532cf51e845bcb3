"""Counts, sums and means of whole tables: which rows are meant, and when nothing is counted."""

import pytest

from tests.llm.test_table_answers import ask, value

PUMPS = """Model | Drive | Pressure (bar) | Weight (kg) | In stock | Price
HP 12 | belt | 8 | 64 | yes | €1,240
HP 18 | belt | 11 | 71 | no | €1,530
VX 5 | direct | 10 | 32.5 | yes | €870
VX 9 | direct | 16 | 41 | | €1,115"""
ORDERS = """Order no.: SO-1; Customer: Elm Foods; Country: Norway; Amount (EUR): 120.50; Status: open; Shipped: 2024-11-02
Order no.: SO-2; Customer: Fir Books; Country: Ireland; Amount (EUR): 80; Status: paid; Shipped: 2025-01-15
Order no.: SO-3; Customer: Elm Foods; Country: Norway; Amount (EUR): 99.99; Status: paid; Shipped: 2025-03-01"""
WINES = """Artikel | Rebsorte | Preis (€) | Bestand (Flaschen) | Bio
Kalkrain | Silvaner | 8,90 | 1.240 | ja
Mühlhang | Riesling | 11,20 | 2.075 | nein
Mühlhang Reserve | Riesling | 24,00 | 96 | nein"""
POOLS = """Bassin | Longueur (m) | Profondeur (m) | Surveillance
Bassin sportif | 50 | 2,10 | oui
Bassin ludique | 18 | 1,30 | oui
Pataugeoire | 6 | 0,35 | non"""


@pytest.mark.parametrize(
    ("question", "text", "title", "expected"),
    [
        ("How many pumps have a pressure over 10 bar?", PUMPS, "Pumps", "2"),
        ("How many pumps have a pressure of at least 10 bar?", PUMPS, "Pumps", "3"),
        ("How many pumps weigh less than 50 kg?", PUMPS, "Pumps", "2"),
        ("How many pumps cost more than 1,200 euros?", PUMPS, "Pumps", "2"),
        ("How many of the pumps are in stock?", PUMPS, "Pumps", "2"),
        ("How many pumps have a direct drive?", PUMPS, "Pumps", "2"),
        ("How many direct pumps are in stock?", PUMPS, "Pumps", "1"),
        ("How many pumps are not in stock?", PUMPS, "Pumps", "1"),  # a blank cell does not say it
        ("How many orders are not paid?", ORDERS, "Orders", "1"),
        ("How many orders are there except those of Elm Foods?", ORDERS, "Orders", "1"),
        ("What is the total amount without the open orders?", ORDERS, "Orders", "179.99 EUR"),
        ("Wie viele Weine sind nicht bio?", WINES, "Weine", "2"),
        ("Combien de bassins ne sont pas surveillés ?", POOLS, "Bassins", "1"),
        ("How many pump models are listed?", PUMPS, "Pumps", "4"),
        ("How many rows does the table of pumps have?", PUMPS, "Pumps", "4"),
        ("How many orders are paid?", ORDERS, "Orders", "2"),
        ("How many orders come from Norway?", ORDERS, "Orders", "2"),
        ("How many customers are there?", ORDERS, "Orders", "2"),  # different ones
        ("How many orders were shipped after 2024?", ORDERS, "Orders", "2"),
        ("What is the total amount of the orders?", ORDERS, "Orders", "300.49 EUR"),
        ("What is the total amount of the paid orders?", ORDERS, "Orders", "179.99 EUR"),
        ("What is the average weight of the pumps?", PUMPS, "Pumps", "52.13 kg"),
        ("What is the average amount of the orders?", ORDERS, "Orders", "100.16 EUR"),
        ("How much do the pumps cost altogether?", PUMPS, "Pumps", "€4755"),
        ("Wie viele Weine kosten mehr als 10 Euro?", WINES, "Weine", "2"),
        ("Wie viele Weine sind Riesling?", WINES, "Weine", "2"),
        ("Wie viele Weine sind bio?", WINES, "Weine", "1"),
        ("Wie viele Weine gibt es?", WINES, "Weine", "3"),
        ("Wie hoch ist der Bestand an Weinen insgesamt?", WINES, "Weine", "3411 Flaschen"),
        ("Which direct pump is the heaviest?", PUMPS, "Pumps", "VX 9"),
        ("Which pump in stock is the lightest?", PUMPS, "Pumps", "VX 5"),
        ("Welcher Riesling ist der billigste?", WINES, "Weine", "Mühlhang"),
        ("Combien de bassins sont surveillés ?", POOLS, "Bassins", "2"),
        ("Combien de bassins ont une profondeur de plus de 1,5 m ?", POOLS, "Bassins", "1"),
        ("Quelle est la longueur totale des bassins ?", POOLS, "Bassins", "74 m"),
    ],
)
def test_rows_are_counted_and_columns_summed_up(question, text, title, expected):
    assert value(ask(question, text, title=title)) == expected


@pytest.mark.parametrize(
    ("question", "text", "title"),
    [
        ("How many pumps run on solar power?", PUMPS, "Pumps"),  # nothing in the table says so
        ("How many pumps have a noise level under 70 dB?", PUMPS, "Pumps"),
        ("How many pumps have a pressure over 10 psi?", PUMPS, "Pumps"),  # another unit
        ("How many pumps are not heavy?", PUMPS, "Pumps"),
        ("How many valves are in stock?", PUMPS, "Pumps"),
        ("How many red pumps are there?", PUMPS, "Pumps"),
        ("How many pumps have a price?", PUMPS, "Pumps"),
        ("How many kilograms are there?", PUMPS, "Pumps"),
        ("How many orders were placed by Oak Motors?", ORDERS, "Orders"),
        ("What is the total of the drives?", PUMPS, "Pumps"),
        ("Which valve is the heaviest?", PUMPS, "Pumps"),
        ("Which colour does the HP 12 have?", PUMPS, "Pumps"),
        ("How many drivers have a direct pump?", PUMPS, "Pumps"),
        ("Wie viele Fahrer gibt es?", WINES, "Fahrzeuge"),
        ("What is the total amount of the refunds?", ORDERS, "Orders"),
        ("What is the total price of the pumps in stock?", PUMPS.replace("€870", "on request"), "Pumps"),
        ("What is the total weight of the pumps?", PUMPS.replace("32.5", ""), "Pumps"),
        ("What is the total weight of the pumps?", PUMPS.replace("32.5", "32500 g"), "Pumps"),
        ("Wie viele Weine liegen unter 100 Flaschen?", WINES.replace("2.075", "viele"), "Weine"),
    ],
)
def test_nothing_is_counted_where_a_word_or_a_cell_is_not_clear(question, text, title):
    assert value(ask(question, text, title=title)) == "unknown"


def test_the_name_of_a_row_is_in_a_column_that_has_another_in_each():
    text = """Halle: Ost; Maschine: Drehbank; Baujahr: 2014
Halle: West; Maschine: Bandsäge; Baujahr: 2008
Halle: West; Maschine: Presse; Baujahr: 2021"""
    assert value(ask("Welche ist die älteste Maschine?", text, title="Maschinenpark")) == "Bandsäge"


def test_a_question_in_german_is_no_study_that_says_yes():
    text = "Methods and results: 60% of 120 patients (p < 0.01) in the randomized trial. Conclusion: it is effective."
    assert not ask("In welcher Halle steht die Presse?", text, title="Study").get("values")


def test_a_row_that_sums_up_others_is_not_counted():
    text = f"{PUMPS}\nTotal | | | 208.5 | | €4,755"
    assert value(ask("How many pumps are listed?", text, title="Pumps")) == "4"
    assert value(ask("What is the total weight of the pumps?", text, title="Pumps")) == "208.5 kg"


@pytest.mark.parametrize(
    "more", [{"following": "VX 11 | direct | 9 | 38 | yes | €990"}, {"before": "KL 4 | gear | 22 | 90 | yes | €990\n"}]
)
def test_a_table_of_which_rows_are_missing_is_read_whole_first(more):
    reply = ask("How many pumps have a direct drive?", PUMPS, title="Pumps", **more)
    assert (reply["unknown"], reply["whole_tables"]) == (True, [1])


def test_a_line_that_cannot_be_read_leaves_open_how_many_rows_there_are():
    text = ORDERS.replace("Order no.: SO-2; Customer: Fir Books", "Order no.: SO-2; see below; Customer: Fir Books")
    assert "values" not in ask("How many orders are paid?", text, title="Orders")


def test_the_rows_that_were_counted_are_cited_with_what_was_asked_of_them():
    reply = ask("How many pumps have a pressure over 10 bar?", PUMPS, title="Pumps")
    [sentence] = reply["sentences"]
    assert sentence["text"] == "2 / 4 – Pressure (bar) > 10 – HP 18, VX 9."
    assert [quote["quote"].split(" | ")[0] for quote in sentence["citations"]] == ["Model", "HP 18", "VX 9"]


def test_rows_that_do_not_state_what_is_asked_are_named():
    reply = ask("How many of the pumps are in stock?", PUMPS, title="Pumps")
    assert reply["reason"] == "1 of 4 rows state no In stock, and do not count."


def test_of_two_tables_that_fit_none_is_counted():
    text = f"{PUMPS}\n\nOld ones\n\n{PUMPS}"
    assert "2 tables" in ask("How many pumps have a direct drive?", text, title="Pumps")["reason"]
