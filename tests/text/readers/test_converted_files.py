"""Formats that markitdown reads: with it they become documents, without it a message says what to install."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kgrag.errors import UnreadableDocument
from kgrag.text.readers import read_path

NEEDED = pytest.mark.skipif(
    find_spec("markitdown") is None, reason="markitdown is not installed: pip install '.[markitdown]'"
)
CELLS = [
    {"cell_type": "markdown", "metadata": {}, "source": ["# Sowing\n", "Rye is sown in autumn."]},
    {"cell_type": "code", "metadata": {}, "source": ["print(1)"], "outputs": [], "execution_count": 1},
]


def notebook(path: Path, cells: object) -> Path:
    path.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return path


@NEEDED
def test_a_notebook_is_a_document_with_its_headings_as_sections(tmp_path: Path) -> None:
    (document,) = read_path(notebook(tmp_path / "a.ipynb", CELLS))
    assert document.title == "Sowing"
    assert "Rye is sown in autumn." in document.text
    assert "print(1)" in document.text
    assert [section.heading for section in document.sections] == ["Sowing"]
    assert document.media_type == "application/x-ipynb+json"


@NEEDED
def test_an_old_workbook_is_a_document_of_its_tables(tmp_path: Path) -> None:
    xlwt = pytest.importorskip("xlwt")
    book = xlwt.Workbook()
    sheet = book.add_sheet("Plots")
    for number, row in enumerate([["plot", "crop"], ["1", "rye"]]):
        for column, value in enumerate(row):
            sheet.write(number, column, value)
    book.save(str(tmp_path / "a.xls"))
    (document,) = read_path(tmp_path / "a.xls")
    assert "| 1 | rye |" in document.text
    assert [section.heading for section in document.sections] == ["Plots"]


@NEEDED
@pytest.mark.parametrize(
    "name, content",
    [
        ("a.ipynb", b"{no"),
        ("a.ipynb", b"[]"),
        ("a.msg", b"junk"),
        ("a.xls", b"plot,crop"),
        ("a.xls", bytes.fromhex("d0cf11e0a1b11ae1") + b"junk"),
    ],
)
def test_what_is_no_file_of_the_format_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UnreadableDocument):
        list(read_path(tmp_path / name))


@NEEDED
def test_a_notebook_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableDocument):
        list(read_path(notebook(tmp_path / "a.ipynb", [])))


def test_without_markitdown_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "markitdown", None)
    with pytest.raises(UnreadableDocument, match=r"pip install '\.\[markitdown\]'"):
        list(read_path(notebook(tmp_path / "a.ipynb", CELLS)))
