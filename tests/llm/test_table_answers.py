"""Which cell of a table a question asks for, and when none is: rows, columns, sheets about one thing, units."""

import pytest

from kgrag.llm.extractive import ExtractiveModel
from kgrag.llm.extractive.evidence_sentences import EvidenceText
from kgrag.llm.extractive.table_rows import read_tables
from kgrag.model import Prompt

PUMPS = """Model | Type | Max. head (m) | Weight (kg) | Float switch | Price (€)
GP 65 | garden | 42 | 10.5 | no | 159.00
GP 90 | garden | 46 | 12.3 | no | 189.00
DW 30 | deep well | 85 | 14.1 | | 415.00"""
RECORDS = """Item: Hedge trimmer; Code: TL-027; Borrowed by: Oswin Park; Due back: 2025-06-05; Deposit (£): 30
Item: Carpet cleaner; Code: TL-090; Borrowed by: Farid Amesbury; Due back: 2025-06-09; Deposit (£): 45
Item: Post driver; Code: TL-031; Borrowed by: n/a; Due back: n/a; Deposit (£): 20"""
SHEET = """Property | Value
Noise level | 49 dB(A)
Cable length | 1.8 m
Wi-Fi | no"""
HOURS = """Day | Opens | Closes
Friday | 9:00 | 18:00
Saturday | 10:00 | 16:00
Sunday | closed | closed"""


def ask(question, text, **more):
    piece = {"number": 1, "kind": "chunk", "heading": "", "text": text, "source": ""} | more
    model = ExtractiveModel()
    return model.complete([Prompt("answering/answer", "", {"question": question, "evidence": [piece]})])[0].data


def value(reply):
    """Return the short answer with its unit; "unknown" where the reply is."""
    if reply["unknown"]:
        return "unknown"
    [one] = reply["values"]
    return " ".join(filter(None, (one["text"], one.get("unit"))))


@pytest.mark.parametrize(
    ("question", "text", "title", "expected"),
    [
        ("How heavy is the GP 90?", PUMPS, "Pumps", "12.3 kg"),
        ("How much does the GP 90 pump cost?", PUMPS, "Pumps", "189.00 €"),
        ("Does the GP 65 pump have a float switch?", PUMPS, "Pumps", "no"),
        ("Which pump costs 415 euros?", PUMPS, "Pumps", "DW 30"),
        ("Who has borrowed the carpet cleaner?", RECORDS, "Tools", "Farid Amesbury"),
        ("When does the hedge trimmer have to be returned?", RECORDS, "Tools", "2025-06-05"),
        ("How much is the deposit for the post driver?", RECORDS, "Tools", "20 £"),
        ("Which tool has the code TL-090?", RECORDS, "Tools", "Carpet cleaner"),
        ("How loud is the Brevik A20?", SHEET, "Brevik A20", "49 dB(A)"),
        ("Does the A20 have Wi-Fi?", SHEET, "Brevik A20", "no"),
        ("Until when is the library open on Saturday?", HOURS, "Library", "16:00"),
        ("When does the library open on Saturday?", HOURS, "Library", "10:00"),
        ("Which pump has the highest head?", PUMPS, "Pumps", "DW 30"),
        ("Which pump is the lightest?", PUMPS, "Pumps", "GP 65"),
    ],
)
def test_a_cell_answers_that_row_and_column_of_the_question_share(question, text, title, expected):
    assert value(ask(question, text, title=title)) == expected


@pytest.mark.parametrize(
    ("question", "text", "title"),
    [
        ("Does the DW 30 pump have a float switch?", PUMPS, "Pumps"),  # an empty cell
        ("Who has borrowed the post driver?", RECORDS, "Tools"),  # n/a
        ("How heavy is the GP 200?", PUMPS, "Pumps"),  # no such row
        ("How much does the Zephyr pump weigh?", PUMPS, "Pumps"),
        ("How fast is the GP 90?", PUMPS, "Pumps"),  # no such column
        ("What is the price of the GP 90 in US dollars?", PUMPS, "Pumps"),  # another unit
        ("How loud is the Brevik C45?", SHEET, "Brevik A20"),  # another machine
        ("How many of the pumps have a float switch?", PUMPS, "Pumps"),  # no row says yes, one is blank
    ],
)
def test_nothing_is_answered_from_a_row_or_column_that_is_not_asked_about(question, text, title):
    assert value(ask(question, text, title=title)) == "unknown"


def test_the_header_of_the_column_is_cited_with_the_row():
    [sentence] = ask("How heavy is the GP 90?", PUMPS, title="Pumps")["sentences"]
    assert sentence["text"] == "GP 90 – Weight (kg): 12.3."
    assert [one["quote"] for one in sentence["citations"]] == [PUMPS.split("\n", maxsplit=1)[0], PUMPS.split("\n")[2]]


def test_rows_of_a_table_that_is_not_whole_are_not_compared():
    text = PUMPS.partition("\n")[2]
    reply = ask(
        "Which pump has the highest head?",
        text,
        title="Pumps",
        before=f"Pumps\n{PUMPS.split(chr(10), maxsplit=1)[0]}\n",
    )
    assert reply["unknown"]


def test_an_empty_cell_keeps_its_place():
    [table] = read_tables(EvidenceText(1, "chunk", "", "| | A | B\nx | | 2\n| y | 1"))
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["x", "", "2"], ["y", "1", ""]]


def test_the_pieces_of_a_cut_table_are_compared_where_all_of_them_are_there():
    head, *rows = PUMPS.split("\n")
    first, second = "\n".join([head, *rows[:2]]), rows[2]
    pieces = [
        {
            "number": 1,
            "kind": "chunk",
            "heading": "",
            "text": second,
            "source": "",
            "title": "Pumps",
            "before": f"Pumps\n{first}\n",
        },
        {
            "number": 2,
            "kind": "chunk",
            "heading": "",
            "text": first,
            "source": "",
            "title": "Pumps",
            "following": second,
        },
    ]
    prompt = Prompt("answering/answer", "", {"question": "Which pump has the highest head?", "evidence": pieces})
    assert value(ExtractiveModel().complete([prompt])[0].data) == "DW 30"


SERVICE = "Machine | Work | Fee\nGarden pump Delta | Clean the strainer | 12 EUR\nCellar pump Tauch | Test | 25 EUR"
PRICES = """Article: P-110; Name: Garden pump Delta; Price (EUR): 149.90; In stock: yes
Article: P-120; Name: Garden pump Delta Plus; Price (EUR): 189; In stock: no"""
FILTERS = "Article: F-10; Name: Filter S; Fits: P-110\nArticle: F-20; Name: Filter M; Fits: P-110, P-120"
STAFF = "Name: Mary Stone; Room: B 12; Since: 2020\nName: Al Bay; Room: C 1; Since: 2019"


@pytest.mark.parametrize(
    ("question", "texts", "expected"),
    [
        ("What is the price of the Garden pump Delta?", (SERVICE, PRICES), ["149.90"]),
        ("Which filters fit the P-110?", (PRICES, FILTERS), ["Filter S", "Filter M"]),
        ("What fits the P-120?", (PRICES, FILTERS), ["Filter M"]),
        ("What fabric is the Garden pump Delta made of?", (PRICES, FILTERS), []),
        ("Which room does Mary Stone have?", (STAFF, STAFF.replace("B 12", "B 10")), []),  # they disagree
    ],
)
def test_of_several_tables_the_one_counts_that_has_the_words_of_the_question(question, texts, expected):
    names = ("number", "kind", "heading", "source", "text")
    pieces = [dict(zip(names, (at, "chunk", "", "", text), strict=True)) for at, text in enumerate(texts, 1)]
    data = (
        ExtractiveModel().complete([Prompt("answering/answer", "", {"question": question, "evidence": pieces})])[0].data
    )
    assert [one["text"] for one in data.get("values", ())] == expected
    assert data["unknown"] == (not expected)


def test_a_part_of_a_table_whose_header_is_not_at_hand_has_no_columns():
    rows = [f"Pump {at} | Work | {at} EUR" for at in range(6)]
    before = "\n".join(rows[:4]) + "\n"
    assert not list(read_tables(EvidenceText(1, "chunk", "", "\n".join(rows[4:]), before=before)))
    [table] = read_tables(
        EvidenceText(1, "chunk", "", "\n".join(rows[4:]), before=f"Fees\nPump | Work | Fee\n{before}")
    )
    assert (table.labels, table.begins) == (("Pump", "Work", "Fee"), False)


def test_a_list_is_none_where_rows_of_the_table_are_not_at_hand():
    piece = {"number": 1, "kind": "chunk", "heading": "", "source": "", "text": FILTERS, "following": FILTERS}
    prompt = Prompt("answering/answer", "", {"question": "Which filters fit the P-110?", "evidence": [piece]})
    assert not ExtractiveModel().complete([prompt])[0].data.get("values")
