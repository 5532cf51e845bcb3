"""PDF: pages as sections, and what is refused with which advice."""

import io
import logging
import sys

import pytest
from pypdf import PdfReader, PdfWriter
from reportlab.lib import colors
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

from kgrag.text.chunking import chunk
from tests.text.readers.checks import Make, only, refused


def pdf(*pages: str, title: str = "") -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, invariant=True)
    if title:
        canvas.setTitle(title)
    for page in pages:
        if page:
            canvas.drawString(72, 720, page)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def locked(password: str) -> bytes:
    writer = PdfWriter()
    writer.append(PdfReader(io.BytesIO(pdf("Secret."))))
    writer.encrypt(password, "owner", algorithm="RC4-128")
    stream = io.BytesIO()
    writer.write(stream)
    return stream.getvalue()


def test_pages_of_a_pdf_are_sections(make: Make) -> None:
    document = only(make("a.pdf", pdf("First page.", "Second page.", title="Crop manual")))
    assert (document.text, document.title) == ("First page.\n\nSecond page.", "Crop manual")
    assert [(section.page, document.text[section.start : section.end]) for section in document.sections] == [
        (1, "First page."),
        (2, "Second page."),
    ]


def test_a_pdf_without_a_real_title_is_titled_by_its_name(make: Make) -> None:
    assert only(make("manual.pdf", pdf("x"))).title == "manual"


def test_a_page_without_text_is_passed_over_and_logged(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    document = only(make("a.pdf", pdf("One.", "", "Three.")))
    assert [section.page for section in document.sections] == [1, 3]
    assert "no text on 1 of 3 pages" in caplog.text


def test_a_scan_is_refused_with_advice(make: Make) -> None:
    assert "OCR" in refused(make("a.pdf", pdf("", "")))


def test_an_encrypted_pdf_is_refused(make: Make) -> None:
    assert "is encrypted" in refused(make("a.pdf", locked("secret")))


def test_a_pdf_that_only_its_owner_may_change_is_read(make: Make) -> None:
    assert only(make("a.pdf", locked(""))).text == "Secret."


@pytest.mark.parametrize("keep", [9, 200, 700])
def test_a_pdf_cut_short_is_refused(make: Make, keep: int) -> None:
    assert "damaged" in refused(make("a.pdf", pdf("x" * 100)[:keep]))


def test_what_is_no_pdf_is_refused(make: Make) -> None:
    assert "is no PDF" in refused(make("a.pdf", "hello"))


def test_messages_of_the_pdf_library_are_logged_and_raise_nothing(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        refused(make("a.pdf", "hello"))
    assert "pypdf" in {record.name.split(".")[0] for record in caplog.records}


def typeset(*lines: str) -> bytes:
    """Return a PDF as XeTeX makes it: glyphs by number, in a font without a space, and gaps of words as kerning.

    The font does not say which character "!" is.
    """
    shown = []
    for line in lines:
        words = (b"".join((ord(letter) - 29).to_bytes(2, "big") for letter in word).hex() for word in line.split())
        shown.append("[" + " -267 ".join(f"<{word}>" for word in words) + "] TJ 0 -14 Td")
    content = f"BT /F 10 Tf 72 720 Td {' '.join(shown)} ET"
    codes = "1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfrange <0005> <00e0> <0022> endbfrange"
    fonts = "/Type /Font /BaseFont /AAAAAA+Serif"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        f"<< {fonts} /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [6 0 R] /ToUnicode 7 0 R >>",
        f"<< {fonts} /Subtype /CIDFontType2 /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >>"
        " /FontDescriptor 8 0 R /DW 500 /W [32 [564]] >>",
        f"<< /Length {len(codes)} >>\nstream\n{codes}\nendstream",
        "<< /Type /FontDescriptor /FontName /AAAAAA+Serif /Flags 4 /ItalicAngle 0 /Ascent 900 /Descent -200"
        " /CapHeight 700 /StemV 80 /FontBBox [0 -200 1000 900] >>",
    ]
    data, places = "%PDF-1.5\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(data))
        data += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    tail = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF"
    return f"{data}xref\n0 {size}\n0000000000 65535 f \n{table}{tail}".encode("latin-1")


def test_words_of_a_font_without_a_space_are_apart(make: Make) -> None:
    document = only(make("a.pdf", typeset("Packages are not shipped for compilation", "or execution.")))
    assert document.text == "Packages are not shipped for compilation\nor execution."


def test_a_glyph_whose_character_is_unknown_is_seen(make: Make) -> None:
    assert only(make("a.pdf", typeset("Stop! Go."))).text == "Stop\ufffd Go."


def test_words_that_a_lines_end_cuts_are_whole(make: Make) -> None:
    lines = (
        "A distribution has packages. The run takes time; what a dis-",
        "tribution ships is fixed at run-",
        "time.",
    )
    assert only(make("a.pdf", typeset(*lines))).text.endswith("what a distribution ships is fixed at run-time.")


def tabled(rows: list[list[str]], *, repeat: int = 0, before: str = "Yields of 2024.", after: str = "") -> bytes:
    """Return a PDF with a ruled table, which goes on on the next page where it is long."""
    stream = io.BytesIO()
    table = Table(rows, colWidths=[120, 120, 200], repeatRows=repeat)
    table.setStyle(TableStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)]))
    style = getSampleStyleSheet()["BodyText"]
    story = [Paragraph(text, style) for text in (before,) if text] + [table]
    SimpleDocTemplate(stream, invariant=True).build([*story, *([Paragraph(after, style)] if after else [])])
    return stream.getvalue()


HEADER = ["Crop", "Yield", "Remark"]


@pytest.mark.parametrize("repeat", [0, 1])
def test_rows_of_a_table_repeat_its_header_also_behind_a_page_break(make: Make, repeat: int) -> None:
    pytest.importorskip("pdfplumber")
    rows = [[f"crop {number}", f"{number}.5 t/ha", "after rain" if number % 2 else ""] for number in range(70)]
    document = only(make("a.pdf", tabled([HEADER, *rows], repeat=repeat, after="Measured in June.")))
    wanted = [
        f"Crop: crop {number}; Yield: {number}.5 t/ha" + ("; Remark: after rain" if number % 2 else "")
        for number in range(70)
    ]
    shown = [document.text[each.start : each.end].strip() for each in document.sections if each.whole]
    assert shown == wanted
    assert {each.page for each in document.sections} >= {1, 2}
    assert document.text.startswith("Yields of 2024.\n\nCrop: crop 0")
    assert document.text.endswith("\n\nMeasured in June.")
    chunks = chunk(document, tokens=60)
    cut = [document.text[each.start : each.end] for each in chunks]
    assert all(any(line in text for text in cut) for line in wanted)


def test_a_table_across_the_text_and_one_of_one_column_lose_no_word(make: Make) -> None:
    pytest.importorskip("pdfplumber")
    boxed = only(make("a.pdf", tabled([["A box that is no table."], ["It has one column."]])))
    assert [each.whole for each in boxed.sections] == [False]
    for word in ("Yields", "box", "column"):
        assert word in boxed.text


def test_shading_behind_lines_of_a_cell_does_not_cut_its_row(make: Make) -> None:
    pytest.importorskip("pdfplumber")
    stream = io.BytesIO()
    canvas = Canvas(stream, invariant=True)
    canvas.setFillColorRGB(0.8, 0.8, 0.8)
    for y in (686, 698, 722):  # as word processors draw it: a filled area for each line of text
        canvas.rect(72, y, 100, 12, stroke=0, fill=1)
    canvas.setFillColorRGB(0, 0, 0)
    for y in (680, 715, 740):
        canvas.line(70, y, 300, y)
    for x in (70, 180, 300):
        canvas.line(x, 680, x, 740)
    for x, y, text in (
        (75, 724, "Crop"),
        (185, 724, "Remark"),
        (75, 700, "winter"),
        (75, 688, "rye"),
        (185, 700, "late"),
    ):
        canvas.drawString(x, y, text)
    canvas.save()
    document = only(make("a.pdf", stream.getvalue()))
    assert document.text == "Crop: winter rye; Remark: late"


def test_without_pdfplumber_a_table_is_text(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pdfplumber", None)
    document = only(make("a.pdf", tabled([HEADER, ["rye", "3 t/ha", ""]])))
    assert [each.whole for each in document.sections] == [False]
    assert "rye" in document.text
