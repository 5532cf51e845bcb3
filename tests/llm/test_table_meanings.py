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
QUARTERS = """Filiale | Quartal 1 (EUR) | Quartal 2 (EUR)
Ulm | 120.400,00 | 131.250,00
Bonn | 86.300,00 | 90.050,00"""
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
        ("Wie hoch waren die Kosten von Ulm im Quartal 2?", QUARTERS, "Umsatz der Filialen"),
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


TOOLS = """Tool | Depot | Quantity | Minimum quantity | Net price (GBP) | Gross price (GBP) | In catalogue
Chisel C10 | Exeter | 44 | 20 | 12.50 | 15.00 | yes
Chisel C10 | Truro | 17 | 20 | 12.50 | 15.00 | yes
Chisel C10 Pro | Exeter | 8 | 10 | 19.90 | 23.88 | no
Plane P7 | Truro | 3 | 5 | 61.20 | 73.44 | no"""
PRICES = """Group | Article | Net price 2024 (GBP) | Gross price 2025 (GBP) | Available
Pruning | Shears L60 | 42.80 | 51.36 | no
Pruning | Secateurs S9 | 29.50 | 37.20 | yes
Lawn | Mower M38 | 109.00 | 142.80 | yes
Lawn | Mower M40 | 120.00 | 160.00 | no"""
VANS = """Fahrzeug | Standort | Kaufpreis (EUR) | Verfügbar
Transporter T1 | Kassel | 31.500,00 | ja
Kombi K4 | Fulda | 27.800,00 | ja
Lastwagen L5 | Fulda | 74.000,00 | nein"""


@pytest.mark.parametrize(
    ("question", "text", "title", "expected"),
    [
        ("Which delivered order has the lowest amount?", ORDERS, "Orders", "PO-2026"),
        ("Which order of Marlow Mills has the lowest amount?", ORDERS, "Orders", "PO-2023"),
        ("Which order in January 2025 has the highest amount?", ORDERS, "Orders", "PO-2024"),
        ("Which order has the second highest amount?", ORDERS, "Orders", "PO-2026"),
        ("What is the highest amount of Marlow Mills?", ORDERS, "Orders", "2310.75 EUR"),
        ("Which Pruning article has the lowest gross price?", PRICES, "Prices", "Secateurs S9"),
        ("Which available article has the highest gross price?", PRICES, "Prices", "Mower M38"),
        ("Welches Fahrzeug aus Fulda hat den höchsten Kaufpreis?", VANS, "Fuhrpark", "Lastwagen L5"),
        ("Welches verfügbare Fahrzeug hat den zweithöchsten Kaufpreis?", VANS, "Fuhrpark", "Kombi K4"),
        ("Quelle machine de Metz a le prix d'achat le plus bas ?", MACHINES, "Machines", "Scie S4"),
        ("How many orders were placed in January 2025?", ORDERS, "Orders", "2"),
        ("How many orders were placed after 10 January 2025?", ORDERS, "Orders", "1"),
        ("What is the total amount of the orders in 2024?", ORDERS, "Orders", "1475.30 EUR"),
        ("How many Chisels C10 are in stock in Exeter?", TOOLS, "Tools", "44"),
        ("How many Chisels C10 are in stock?", TOOLS, "Tools", "61"),
        ("How many tools are not in the catalogue?", TOOLS, "Tools", "2"),
        ("What is the total number of passengers from 2022 to 2023?", YEARS, "Ferry", "639000"),
    ],
)
def test_every_word_of_a_question_is_a_condition_or_explained(question, text, title, expected):
    assert value(ask(question, text, title=title)) == expected


@pytest.mark.parametrize(
    ("question", "text", "title"),
    [
        ("Which returned order has the highest amount?", ORDERS, "Orders"),
        ("Which imported Pruning article has the lowest gross price?", PRICES, "Prices"),
        ("Which article has the lowest gross price in 2024?", PRICES, "Prices"),
        ("What was the gross price of the Mower M38 in 2024?", PRICES, "Prices"),
        ("By how much did the price of the Mower M38 rise from 2024 to 2025?", PRICES, "Prices"),
        ("Which order has the fourth highest amount?", ORDERS, "Orders"),
        ("What is the total amount of the orders in 2031?", ORDERS, "Orders"),
        ("How many orders were placed in May 2025?", ORDERS, "Orders"),
        ("How many orders were cancelled in January 2025?", ORDERS, "Orders"),  # when is not stated
        ("How many orders were placed in January?", ORDERS.replace("2024-12", "2024-01"), "Orders"),
        ("How many Planes P7 are in stock in Exeter?", TOOLS, "Tools"),
        ("How many tools are in stock?", TOOLS, "Tools"),  # four rows, or 72 tools
        ("Welches gemietete Fahrzeug hat den höchsten Kaufpreis?", VANS, "Fuhrpark"),
    ],
)
def test_nothing_is_answered_where_a_word_is_no_condition(question, text, title):
    assert value(ask(question, text, title=title)) == "unknown"


def test_no_row_of_a_period_is_said_and_not_counted_as_none():
    reply = ask("How many orders were placed in May 2025?", ORDERS, title="Orders")
    assert reply["reason"] == "No row of the table has a Date “in May 2025”."


def test_the_quantity_of_an_order_is_in_no_stock():
    order = "Item | Unit price | Quantity\nPlane P7 | 61.20 | 3\nAwl | 2.10 | 9"
    assert not ask("How many Planes P7 are in stock?", order, title="Order 12").get("values")
    assert value(ask("How many Planes P7 are there?", order, title="Order 12")) == "3"
