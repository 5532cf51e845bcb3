"""A figure of a question finds the row whose range has it; what prose says in full is no cell; reasons are true."""

import pytest

from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.table_answers import read_table_answer
from tests.llm.test_table_answers import ask, value
from tests.llm.test_table_lists import COURSES, ROTA, listed

AGES = """Age group: under 6; Day ticket (EUR): 0.00; Season ticket (EUR): 0
Age group: 6-15; Day ticket (EUR): 2.50; Season ticket (EUR): 45
Age group: 16-64; Day ticket (EUR): 6.50; Season ticket (EUR): 110
Age group: 65 and over; Day ticket (EUR): 5.00; Season ticket (EUR): 85"""
VISITS = """Code,x
Code: S-1; Service: Sampling visit within 30 km; Price members (EUR): 85.00; Price guests (EUR): 105.00
Code: S-2; Service: Sampling visit beyond 30 km; Price members (EUR): 140.00; Price guests (EUR): 175.00
Code: W-1; Service: Turbidity; Price members (EUR): 9.80; Price guests (EUR): 12.40""".partition("\n")[2]


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("What does a day ticket cost for a 20-year-old?", AGES, "6.50 EUR"),
        ("How much is the season ticket for a child of 10?", AGES, "45 EUR"),
        ("How much is a day ticket for someone aged 70?", AGES, "5.00 EUR"),
        ("What does a sampling visit 45 km away cost for members?", VISITS, "140.00 EUR"),
        ("What does a sampling visit 12 km away cost for members?", VISITS, "85.00 EUR"),
    ],
)
def test_the_row_whose_range_has_the_figure_answers(question, text, expected):
    assert value(ask(question, text, title="Prices")) == expected


def texts(*parts):
    return [EvidenceText(at, "chunk", "", part, "", "", "", f"Text {at}") for at, part in enumerate(parts, start=1)]


def test_a_sentence_with_all_words_of_a_question_comes_before_a_row_that_lacks_one():
    prose = "Of the three offers the one of Norvent at 16,950 EUR was the cheapest."
    assert read_table_answer("Which offer was the cheapest?", texts(VISITS, prose)) == {}
    assert read_table_answer("Which service is the cheapest for members?", texts(VISITS, prose))["values"]


def test_a_unit_of_two_words_stands_behind_a_figure():
    rows = "\n".join(
        f"Service: Test {chr(65 + at)}; Turnaround (working days): {8 + at}; Unit: piece" for at in range(3)
    )
    reply = ask("Which services have a turnaround of more than 8 working days?", rows, title="Services")
    assert listed(reply) == ["Test B", "Test C"]


def test_the_reason_names_the_column_that_a_row_lacks():
    reply = ask("Which shift does Tessa Quill have in week 15?", ROTA, title="Rota")
    assert reply["reason"] == "The table has a row for Tessa Quill, and no column “week 15”."
    assert reply["nearest"][0]["quote"].startswith("Name: Tessa Quill")


def test_a_date_is_no_telephone_number():
    rows = COURSES.replace("15 March 2027", "2027-03-15")
    text = "Supplier: Kestrel; Contract until: 2027-12-31; Contact: Joan Pike; Discount (%): 3"
    assert ask("What is the phone number of Joan Pike?", text, title="Suppliers")["unknown"]
    assert ask("What is the phone number of Hugo Stein?", rows, title="Courses")["unknown"]
