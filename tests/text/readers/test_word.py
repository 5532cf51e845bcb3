"""Word files: paragraphs, tables and headings in order; bombs and damage refused."""

import io
import zipfile
from collections.abc import Callable

import docx
import pytest

from tests.text.readers.checks import Make, only, parts, refused


def word(title: str = "") -> bytes:
    document = docx.Document()
    document.core_properties.title = title
    document.add_paragraph("Before.")
    document.add_heading("Crops", level=1)
    document.add_paragraph("Sow in June.").add_run(" Weed\ttwice.").bold = True
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip((cell for row in table.rows for cell in row.cells), ("K", "V", "a", "1"), strict=True):
        cell.text = text
    document.add_heading("Soybean", level=2)
    document.add_paragraph("بعد")
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def repacked(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return stream.getvalue()


def body(old: bytes, new: bytes) -> bytes:
    return repacked(word(), lambda name, data: data.replace(old, new) if name == "word/document.xml" else data)


def test_a_word_file_gives_paragraphs_and_tables_in_order(make: Make) -> None:
    document = only(make("a.docx", word()))
    assert document.text == "Before.\n\nCrops\n\nSow in June. Weed\ttwice.\n\nK | V\na | 1\n\nSoybean\n\nبعد"
    assert [heading for heading, _ in parts(document)] == ["Crops", "Crops > Soybean"]
    assert [text.split("\n")[0] for _, text in parts(document)] == ["Crops", "Soybean"]


def test_a_word_file_is_titled_by_its_property_or_first_heading(make: Make) -> None:
    assert only(make("a.docx", word("Manual"))).title == "Manual"
    assert only(make("b.docx", word())).title == "Crops"


def test_inserted_text_of_tracked_changes_is_read_and_deleted_text_is_not(make: Make) -> None:
    run = b"<w:r><w:t>Before.</w:t></w:r>"
    changed = (
        b"<w:ins w:id='1' w:author='x'><w:r><w:t>New.</w:t></w:r></w:ins>"
        b"<w:del w:id='2' w:author='x'><w:r><w:delText>Old.</w:delText></w:r></w:del>"
    )
    assert only(make("a.docx", body(run, changed))).text.startswith("New.\n\nCrops")


def test_content_controls_are_read(make: Make) -> None:
    paragraph = b"<w:p><w:r><w:t>Before.</w:t></w:r></w:p>"
    control = b"<w:sdt><w:sdtContent>" + paragraph + b"</w:sdtContent></w:sdt>"
    assert only(make("a.docx", body(paragraph, control))).text.startswith("Before.\n\nCrops")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(make: Make) -> None:
    bomb = repacked(word(), lambda name, data: b" " * (101 << 20) if name == "word/styles.xml" else data)
    assert len(bomb) < 1 << 20
    assert "unpacks to" in refused(make("a.docx", bomb))


def test_entities_of_a_word_file_are_not_expanded(make: Make) -> None:
    lol = b'<!DOCTYPE d [<!ENTITY a "lollollol"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
    data = repacked(
        word(),
        lambda name, data: (
            data.replace(b"<w:document ", lol + b"<w:document ", 1).replace(b"Before.", b"&a;&b;Before.")
            if name == "word/document.xml"
            else data
        ),
    )
    text = only(make("a.docx", data)).text
    assert "lol" not in text
    assert "root:" not in text
    assert text.startswith("&a;&b;Before.")


def test_text_behind_an_entity_of_a_word_file_is_kept(make: Make) -> None:
    document = only(make("a.docx", entity(b"Bef&a;ore &a;all.")))
    assert document.text.startswith("Bef&a;ore &a;all.\n\nCrops")


def entity(words: bytes) -> bytes:
    declared = b'<!DOCTYPE d [<!ENTITY a "x">]>'

    def change(name: str, data: bytes) -> bytes:
        if name != "word/document.xml":
            return data
        return data.replace(b"<w:document ", declared + b"<w:document ", 1).replace(b"Before.", words)

    return repacked(word(), change)


@pytest.mark.parametrize("data", [b"PK", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", word()[:2000]])
def test_what_is_no_word_file_is_refused(make: Make, data: bytes) -> None:
    assert "is no docx file" in refused(make("a.docx", data))


def test_another_zip_file_is_refused(make: Make) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.txt", "x")
    assert "is no docx file" in refused(make("a.docx", stream.getvalue()))


def test_a_word_file_without_a_body_is_refused(make: Make) -> None:
    empty = repacked(
        word(),
        lambda name, data: data.split(b"<w:body>")[0] + b"</w:document>" if name == "word/document.xml" else data,
    )
    assert "without a body" in refused(make("a.docx", empty))
