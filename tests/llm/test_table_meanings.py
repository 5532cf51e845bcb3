"""A column of another meaning, a year that is no key, one row that is no total: no cell is given for what it is not."""

import pytest

from tests.llm.test_table_answers import ask, value

ORDERS = """Order: PO-2023; Date: 2025-01-07; Supplier: Marlow Mills; Amount (EUR): 640; Status: cancelled
Order: PO-2024; Date: 2025-01-21; Supplier: Marlow Mills; Amount (EUR): 2310.75; Status: delivered
Order: PO-2026; Date: 2024-12-25; Supplier: Sable Works; Amount (EUR): 1475.30; Status: delivered"""
MACHINES = """Machine | Site | Année d'achat | Prix d'achat (€)
Tour T2 | Lille | 2015 | 18 900,00
Scie S4 | Metz | 2012 | 6 700,00"""
STOCK = """Artikel | Standort | Menge | Bestand (Stück) | Mindestbestand | Preis (EUR)
Regal Hoch | Bonn | 12 | 40 | 20 | 88,00
Regal Tief | Bonn | 23 | 35 | 10 | 95,00
Lampe Lux | Ulm | 7 | 9 | 15 | 64,50"""
SEATS = """Produit | Prix HT (€) | Prix TTC (€)
Fauteuil Cassis | 219,00 | 262,80
Fauteuil Cassis Plus | 259,00 | 310,80"""
YEARS = """Year | Passengers | Cars
2022 | 298,000 | 39,800
2023 | 341,000 | 44,200"""


@pytest.mark.parametrize(
    ("question", "text", "title"),
    [
        ("What is the due date of PO-2026?", ORDERS, "Orders"),
        ("What is the refunded amount of PO-2026?", ORDERS, "Orders"),
        ("Which delivery date does PO-2026 have?", ORDERS, "Orders"),
        ("Quel est le prix de vente de la Scie S4 ?", MACHINES, "Machines"),
        ("Quelle est l'année de fabrication de la Scie S4 ?", MACHINES, "Machines"),
        ("Wie hoch ist der geschätzte Preis der Lampe Lux?", STOCK, "Lager"),
        ("Wie hoch ist der Großhandelspreis der Lampe Lux?", STOCK, "Lager"),
        ("What was the amount in 2024?", ORDERS, "Orders"),
        ("How many cars were carried in 2021?", YEARS, "Ferry"),
    ],
)
def test_a_cell_is_not_given_for_what_its_column_does_not_say(question, text, title):
    assert value(ask(question, text, title=title)) == "unknown"


@pytest.mark.parametrize(
    ("question", "text", "title", "expected"),
    [
        ("What is the date of PO-2026?", ORDERS, "Orders", "2024-12-25"),
        ("What is the due date of PO-2026?", ORDERS.replace("Date:", "Due date:"), "Orders", "2024-12-25"),
        ("What is the due date of PO-2026?", ORDERS, "Due dates of orders", "2024-12-25"),
        ("What is the cost of the Bolt?", "Part | Shelf | Price\nBolt | A1 | 2.10\nNut | A2 | 1.10", "Parts", "2.10"),
        ("Quel est le prix d'achat de la Scie S4 ?", MACHINES, "Machines", "6 700,00 €"),
        ("Wie hoch ist der Lagerbestand der Lampe Lux?", STOCK, "Artikel", "9 Stück"),
        ("Wie hoch ist der Bestand der Lampe Lux?", STOCK, "Artikel", "9 Stück"),
        ("Wie hoch ist die gesamte Menge in Bonn?", STOCK, "Artikel", "35"),
        ("Quel est le prix HT du Fauteuil Cassis ?", SEATS, "Tarif", "219,00 €"),
        ("Quel est le prix HT du Fauteuil Cassis Plus ?", SEATS, "Tarif", "259,00 €"),
        ("How many cars were carried in 2023?", YEARS, "Ferry", "44,200"),
    ],
)
def test_the_cell_of_the_column_that_is_asked_for_is_given(question, text, title, expected):
    assert value(ask(question, text, title=title)) == expected


def test_the_column_that_is_near_is_named_with_the_word_that_it_lacks():
    reply = ask("What is the due date of PO-2026?", ORDERS, title="Orders")
    assert reply["reason"] == "The table has Date for PO-2026, and nothing says that it is “due”."
    assert reply["nearest"][0]["quote"].startswith("Order: PO-2026")


def test_columns_that_state_different_values_are_named():
    reason = ask("Quel est le prix du Fauteuil Cassis ?", SEATS, title="Tarif")["reason"]
    assert reason == "Rows of tables state different values: Prix HT (€): 219,00, Prix TTC (€): 262,80."
