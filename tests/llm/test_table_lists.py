"""All rows that a question means are listed, as they are counted; nothing where a word of it stays unexplained."""

import pytest

from tests.llm.test_table_answers import ask

BOATS = """Inventory no.: B-1; Boat: Dinghy Tern 2; Weight (kg): 118; Keeper: Maud Ferris; Lent out: yes
Inventory no.: B-2; Boat: Kayak Otter; Weight (kg): 24.5; Keeper: Ivo Lang; Lent out: no
Inventory no.: B-3; Boat: Canoe Beaver 5; Weight (kg): 31; Keeper: Ivo Lang; Lent out: yes"""
COURSES = """| No. | Course | Trainer | Start | Hall | Fee (EUR) |
|---|---|---|---|---|---|
| K-1 | Glazing | Hugo Stein | 15 March 2027 | Loft | 75 |
| K-2 | Raku firing | Bea Novak | 19 April 2027 | Yard | 150 |
| K-3 | Tile making | Hugo Stein | 3 May 2027 | Loft | 60 |"""
LIEFERANTEN = """Lieferant | Ort | Rabatt (%) | Rahmenvertrag
Erdenwerk | Freising | 3 | ja
Topf & Co | Passau | 5,5 | nein
Tropfnetz | Passau | 8 | nein"""
SALLES = """Salle | Places | Tarif (EUR) | Vidéoprojecteur
Salle Garance | 40 | 90 | oui
Salle Indigo | 25 | 60 | non
Salle Pastel | 120 | 210 | oui"""
ROTA = """Name,Week 10: x
Name: Tessa Quill; Ward: Surgery; Week 10: early; Week 11: night; Week 12: off
Name: Noah Barth; Ward: Surgery; Week 10: night; Week 11: early; Week 12: off
Name: Imran Sadiq; Ward: Pharmacy; Week 10: late; Week 11: off; Week 12: night""".partition("\n")[2]


def listed(reply):
    return [one["text"] for one in reply.get("values", ())]


@pytest.mark.parametrize(
    ("question", "text", "title", "expected"),
    [
        ("Which boats are lent out?", BOATS, "Boats", ["Dinghy Tern 2", "Canoe Beaver 5"]),
        ("Which boats are not lent out?", BOATS, "Boats", ["Kayak Otter"]),
        ("Which boats weigh more than 31 kg?", BOATS, "Boats", ["Dinghy Tern 2"]),  # not the one of 31 kg
        ("Which boats are there?", BOATS, "Boats", ["Dinghy Tern 2", "Kayak Otter", "Canoe Beaver 5"]),
        ("Which items does Ivo Lang keep?", BOATS, "Boats", ["Kayak Otter", "Canoe Beaver 5"]),
        ("Which courses does Hugo Stein teach?", COURSES, "Courses", ["Glazing", "Tile making"]),
        ("Which courses take place in April 2027?", COURSES, "Courses", ["Raku firing"]),
        ("Which courses are in the loft?", COURSES, "Courses", ["Glazing", "Tile making"]),
        ("Which courses cost less than 75 euros?", COURSES, "Courses", ["Tile making"]),
        ("Welche Lieferanten haben mehr als 3 % Rabatt?", LIEFERANTEN, "Lieferanten", ["Topf & Co", "Tropfnetz"]),
        ("Welche Lieferanten haben keinen Rahmenvertrag?", LIEFERANTEN, "Lieferanten", ["Topf & Co", "Tropfnetz"]),
        ("Welche Lieferanten gibt es?", LIEFERANTEN, "Lieferanten", ["Erdenwerk", "Topf & Co", "Tropfnetz"]),
        ("Quelles salles n'ont pas de vidéoprojecteur ?", SALLES, "Salles", ["Salle Indigo"]),
        ("Which workshop is in the loft?", COURSES.replace("Course |", "Workshop |"), "W", ["Glazing", "Tile making"]),
        ("Who is off in week 12?", ROTA, "Rota", ["Tessa Quill", "Noah Barth"]),
        ("Who is on nights in week 12?", ROTA, "Rota", ["Imran Sadiq"]),
        ("How many people are off in week 12?", ROTA, "Rota", ["2"]),
    ],
)
def test_all_rows_that_a_question_means_are_listed(question, text, title, expected):
    assert listed(ask(question, text, title=title)) == expected


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which boats are out?", BOATS),
        ("Which boats are insured?", BOATS),
        ("Which boats weigh more than 200 kg?", BOATS),
        ("Who is off?", ROTA),
        ("Who is ill in week 12?", ROTA),
    ],
)
def test_nothing_is_listed_where_a_word_is_not_explained_or_no_row_has_it(question, text):
    assert ask(question, text, title="Boats")["unknown"]


def test_names_are_listed_and_no_codes():
    rows = "\n".join(
        f"Article no.: A-{at}; Article: {name}; Storage: Hall 1" for at, name in enumerate(("Ladder", "Hoist"))
    )
    assert listed(ask("Which articles are in Hall 1?", rows, title="Stock")) == ["Ladder", "Hoist"]


def test_a_price_is_no_day():
    text = "Item: Tablet set; Purchase date: 2025-10-01; Purchase price (EUR): 2150.00; Location: 0.03"
    assert listed(ask("When was the tablet set purchased?", text, title="Items")) == ["2025-10-01"]


def test_many_names_are_cut_and_said_to_be_more():
    rows = "\n".join(f"Boat: Kayak {chr(65 + at)}{at:02}; Weight (kg): {at + 1}; Lent out: no" for at in range(25))
    reply = ask("Which boats are not lent out?", rows, title="Boats")
    assert len(reply["values"]) == 20
    assert "25 / 25" in reply["sentences"][0]["text"]
    assert reply["sentences"][0]["text"].endswith("and 5 more.")
