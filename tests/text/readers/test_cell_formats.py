"""Cells of a workbook are read as they are shown; merged ones stand in each row, and a hidden sheet says so."""

import io
from datetime import datetime, timedelta

import openpyxl
import pytest

from kgrag.text.readers.cell_formats import shown
from tests.text.readers.checks import Make, only


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (0.07, "0%", "7%"),
        (0.125, "0%", "12.5%"),  # more than is shown is kept
        (1 / 3, "0.0%", "33.333%"),
        (18450.5, "[$£-809]#,##0.00", "£18450.50"),
        (-3, '"$"#,##0.00_);("$"#,##0.00)', "-$3.00"),
        (5.5, "_-* #,##0.00\\ [$€-407]_-;-*", "5.50 €"),
        (3.25, '0" kg"', "3.25 kg"),
        (12_000_000, '0.0,,"M"', "12000000"),  # no "12000000 M"
        (4.0, "[Red]0.00", "4.00"),
        (6890, "#,##0.00", "6890.00"),
        (845.5, "#,##0.00", "845.50"),
        (5.5, "#,##0.##", "5.5"),
        (12750, "#,##0", "12750"),
        (71, "00000", "00071"),
        (0.1, "General", "0.1"),
        (float("nan"), "0%", "nan"),
        (datetime(2022, 3, 1), "mmm yyyy", "2022-03"),
        (datetime(2022, 3, 1), "yyyy", "2022"),
        (datetime(2022, 3, 1), "dd/mm/yyyy", "2022-03-01"),
        (timedelta(hours=26, minutes=5), "[h]:mm", "26:05:00"),
    ],
)
def test_a_cell_is_read_as_it_is_shown(value: object, number_format: str, text: str) -> None:
    assert shown(value, number_format) == text


def read(make: Make, book: openpyxl.Workbook) -> list[str]:
    stream = io.BytesIO()
    book.save(stream)
    return only(make("a.xlsx", stream.getvalue())).text.split("\n")


def test_a_cell_that_is_merged_with_those_below_is_in_each_row(make: Make) -> None:
    book = openpyxl.Workbook()
    for row in (
        ["Plan"],
        ["Hall", "Machine", "Load"],
        ["East", "Lathe", 0.8],
        [None, "Saw", None],
        ["West", "Press", 1],
    ):
        book.active.append(row)
    for place in ("A1:C1", "A3:A4", "C3:C4"):
        book.active.merge_cells(place)
    assert read(make, book)[1:] == [
        "Hall: East; Machine: Lathe; Load: 0.8",
        "Hall: East; Machine: Saw; Load: 0.8",
        "Hall: West; Machine: Press; Load: 1",
    ]


def test_what_names_the_columns_names_no_row(make: Make) -> None:
    book = openpyxl.Workbook()
    for row in (["Machine", "Price"], [None, "net"], ["Saw", 40]):
        book.active.append(row)
    book.active.merge_cells("A1:A2")
    assert read(make, book) == ["Price: net", "Machine: Saw; Price: 40"]


def test_a_hidden_sheet_is_read_and_says_that_it_is_hidden(make: Make) -> None:
    book, stream = openpyxl.Workbook(), io.BytesIO()
    book.active.title = "Prices"
    book.active.append(["Item", "Price"])
    book.active.append(["Saw", 40])
    old = book.create_sheet("Old prices")
    old.append(["Item", "Price"])
    old.append(["Saw", 35])
    old.sheet_state = "veryHidden"
    book.save(stream)
    sections = only(make("a.xlsx", stream.getvalue())).sections
    assert [section.heading for section in sections] == ["Prices", "Old prices (hidden sheet)"]
