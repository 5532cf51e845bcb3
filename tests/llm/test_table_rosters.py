"""Yes and no come from the cell of the row and the column named; what a cell is not about is not answered with it."""

import pytest

from tests.llm.test_table_answers import ask, value
from tests.llm.test_table_lists import BOATS, COURSES, ROTA

DAYS = """Name: Ute; Monday: early; Tuesday: late; Friday: late
Name: Vic; Monday: late; Tuesday: early; Friday: early
Name: Wim; Monday: off; Tuesday: early; Friday: early"""
DIENST = """Name | Montag | Dienstag | Telefon
Kai Brehm | Früh | Nacht | 301
Umut Acar | frei | Spät | 302"""


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Is Tessa Quill on nights in week 11?", ROTA, "yes"),
        ("Is Noah on nights in week 11?", ROTA, "no"),
        ("Is Imran Sadiq off in week 11?", ROTA, "yes"),
        ("Does Noah Barth work late in week 10?", ROTA, "no"),
        ("Is Noah Barth ill in week 10?", ROTA, "unknown"),
        ("Does Ute work late on Friday?", DAYS, "yes"),  # Vic, too, has a "late", on Monday
        ("Which shift does Noah Barth have in week 11?", ROTA, "early"),
        ("Hat Kai Brehm am Dienstag Nachtdienst?", DIENST, "ja"),
        ("Hat Umut Acar am Montag frei?", DIENST, "ja"),
        ("Hat Kai Brehm am Montag frei?", DIENST, "nein"),
    ],
)
def test_the_cell_of_the_row_and_the_column_named_decides(question, text, expected):
    assert value(ask(question, text, title="Dienstplan" if text is DIENST else "Rota")) == expected


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Who teaches glazing?", COURSES, "Hugo Stein"),
        ("Who gives course K-2?", COURSES, "Bea Novak"),  # not the column of the word before the code
        ("Who keeps the Kayak Otter?", BOATS, "Ivo Lang"),
        ("Who is the insurer of the Kayak Otter?", BOATS, "unknown"),
        ("Who built the Kayak Otter?", BOATS, "unknown"),
        ("Is the dinghy lent out?", BOATS, "yes"),  # only one row has that part of a name
        ("Is the Dinghy 3 lent out?", BOATS, "unknown"),
        ("When was the last check of the Kayak Otter?", BOATS.replace("Keeper", "Next check"), "unknown"),
    ],
)
def test_a_column_answers_only_what_it_is_about(question, text, expected):
    assert value(ask(question, text, title="Boats")) == expected


def test_a_cell_alone_is_no_answer_for_a_group_that_the_text_beside_the_table_names():
    text = f"{COURSES}\n\nApprentices attend all courses free of charge, except K-2."
    reply = ask("How much does glazing cost for apprentices?", text, title="Courses")
    assert [one["text"] for one in reply["sentences"]] == [
        "Apprentices attend all courses free of charge, except K-2.",
        "Glazing – Fee (EUR): 75.",
    ]
    assert reply["values"] == []
    unsaid = ask("How much does glazing cost for students?", text, title="Courses")
    assert unsaid["unknown"]
    assert "“students”" in unsaid["reason"]


NAMES = ("North 1", "North 2", "South 1", "South 2")
RENTS = (180, 130, 260, 150)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which is heavier, the Kayak Otter or the Canoe Beaver 5?", "Canoe Beaver 5"),
        ("Which is lighter, the dinghy or the kayak?", "Kayak Otter"),
        ("Is the kayak heavier than the canoe?", "no"),
        ("Is the Canoe Beaver 5 heavier than the Kayak Otter?", "yes"),
        ("Is the kayak newer than the canoe?", "unknown"),
    ],
)
def test_two_rows_are_compared_by_the_column_of_the_comparative(question, expected):
    assert value(ask(question, BOATS, title="Boats")) == expected


def test_rows_whose_names_share_words_are_compared():
    stalls = "\n".join(
        f"Stall: {name}; Price (EUR): {rent}; Power: yes" for name, rent in zip(NAMES, RENTS, strict=True)
    )
    assert value(ask("Is South 1 more expensive than North 2?", stalls, title="Stalls")) == "yes"
    assert value(ask("Is South 2 more expensive than North 1?", stalls, title="Stalls")) == "no"
