"""PDF: pages as sections, and what is refused with which advice."""

import io
import logging

import pytest
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

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
