"""Presentations, workbooks, mail and books: sections, tables, fields, and what is refused."""

import io
import zipfile
from datetime import UTC, date, datetime
from email.message import EmailMessage

import openpyxl
import pptx
import pytest
from pptx.util import Inches

from kgrag.text.chunking import chunk
from tests.text.readers.checks import Make, only, parts, refused


def slides() -> bytes:
    show, stream = pptx.Presentation(), io.BytesIO()
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text, first.placeholders[1].text = "Sowing", "Lentil\nin June"
    first.notes_slide.notes_text_frame.text = "Say why."
    show.slides.add_slide(show.slide_layouts[6])
    second = show.slides.add_slide(show.slide_layouts[5])
    second.shapes.title.text = "Yield"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for cell, text in zip(table.iter_cells(), ("crop", "t/ha", "soy", "2.5"), strict=True):
        cell.text = text
    show.core_properties.title, show.core_properties.author = "Crops", "A. Sower"
    show.core_properties.created = show.core_properties.modified = datetime(2024, 6, 1)
    show.save(stream)
    return stream.getvalue()


def test_slides_are_sections_with_their_titles_and_numbers(make: Make) -> None:
    document = only(make("a.pptx", slides()))
    assert document.text == "Sowing\nLentil\nin June\nSay why.\n\nYield\ncrop | t/ha\nsoy | 2.5"
    assert [(section.heading, section.page) for section in document.sections] == [("Sowing", 1), ("Yield", 3)]
    assert [text.split("\n")[0] for _, text in parts(document)] == ["Sowing", "Yield"]
    assert (document.title, document.metadata["author"]) == ("Crops", "A. Sower")


def test_text_behind_an_entity_of_a_slide_is_kept(make: Make) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(slides())) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "ppt/slides/slide1.xml":
                data = data.replace(b"<p:sld ", b'<!DOCTYPE p [<!ENTITY a "lol">]><p:sld ', 1).replace(
                    b"Lentil", b"Len&a;til"
                )
            new.writestr(name, data)
    assert "Len&a;til" in only(make("a.pptx", stream.getvalue())).text


def workbook(rows: int = 2) -> bytes:
    book, stream = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    sheet.title = "Yields"
    sheet.append([])
    sheet.append(["crop", "sown", "t/ha", None, "dry"])
    for number in range(rows):
        sheet.append([f"soy {number}", datetime(2024, 6, 1), 2.0 if number else 2.5, "x", True])
    book.create_sheet("Blank")
    book.create_sheet("Notes").append(["Only one row."])
    book.properties.creator, book.properties.title = "A. Sower", "Crops"
    book.save(stream)
    return stream.getvalue()


def test_sheets_are_tables_whose_rows_repeat_the_header(make: Make) -> None:
    document = only(make("a.xlsx", workbook()))
    assert document.text == (
        "crop: soy 0; sown: 2024-06-01; t/ha: 2.5; column 4: x; dry: true\n"
        "crop: soy 1; sown: 2024-06-01; t/ha: 2; column 4: x; dry: true\n\n"
        "Only one row."
    )
    assert [section.heading for section in document.sections] == ["Yields", "Yields", "Notes"]
    assert (document.title, document.metadata["author"]) == ("Crops", "A. Sower")


def test_a_line_over_the_table_of_a_sheet_names_no_column(make: Make) -> None:
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in (["Rates from April"], [], ["Item", "Day rate"], ["Sander", 30], ["Only a name"]):
        book.active.append(row)
    book.create_sheet("List").append(["Names"])
    book["List"].append(["Ann"])
    book.save(stream)
    text = only(make("a.xlsx", stream.getvalue())).text
    assert text == "Rates from April\nItem: Sander; Day rate: 30\nItem: Only a name\n\nNames: Ann"


def test_chunks_of_a_sheet_hold_whole_rows_and_its_name(make: Make) -> None:
    chunks = chunk(only(make("a.xlsx", workbook(rows=100))))
    assert {piece.heading for piece in chunks[:-1]} == {"Yields"}
    assert all(line.endswith("dry: true") for piece in chunks[:-1] for line in piece.text.split("\n"))
    assert len(chunks) < 25


def test_a_workbook_read_twice_is_the_same_document(make: Make) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(workbook())) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            if name != "docProps/core.xml":
                new.writestr(name, old.read(name))
    path = make("a.xlsx", stream.getvalue())
    assert only(path).metadata == only(path).metadata == {}


def test_a_sheet_that_claims_millions_of_cells_is_refused(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgrag.text.readers.workbook._MAX_CELLS", 100_000)
    book, stream = openpyxl.Workbook(), io.BytesIO()
    for row in range(1, 10):
        book.active.cell(row, 16_384, "x")
    book.save(stream)
    assert "more than 100,000 cells" in refused(make("a.xlsx", stream.getvalue()))


def message(**headers: str) -> EmailMessage:
    mail = EmailMessage()
    for name, value in ({"From": "A <a@example.org>", "Subject": "Soy", **headers}).items():
        mail[name.replace("_", "-")] = value
    return mail


def test_a_mail_is_its_plain_body_with_its_headers_as_fields(make: Make) -> None:
    mail = message(
        To="b@example.org, c@example.org",
        Date="Sat, 01 Jun 2024 12:00:00 +0000",
        Message_ID="<7@x>",
        In_Reply_To="<6@x>",
    )
    mail.set_content("Sown in June.\n")
    mail.add_alternative("<p>Sown in <b>June</b>.</p>", subtype="html")
    mail.add_attachment(b"...", maintype="image", subtype="png", filename="field.png")
    document = only(make("a.eml", bytes(mail)))
    assert (document.text, document.title, document.id) == ("Sown in June.\n", "Soy", "7@x")
    assert document.metadata == {
        "in_reply_to": "6@x",
        "from": ["A <a@example.org>"],
        "to": ["b@example.org", "c@example.org"],
        "date": datetime(2024, 6, 1, 12, tzinfo=UTC),
        "attachments": ["field.png"],
    }


def test_a_mail_in_html_only_is_its_text(make: Make) -> None:
    mail = message()
    body = (
        '<h1>Crops</h1><p>Sown in <b>June</b>.</p><pre>$ sow</pre><a href="b.html">b</a> <a href="https://e.org/">e</a>'
    )
    mail.set_content(body, subtype="html")
    document = only(make("a.eml", bytes(mail)))
    assert (document.text, parts(document)) == (
        "Crops\n\nSown in June.\n\n$ sow\n\nb e",
        [("Crops", "Crops\n\nSown in June.\n\n$ sow\n\nb e")],
    )
    assert [document.text[start:end] for start, end in document.code] == ["$ sow"]
    assert [link[2] for link in document.links] == ["https://e.org/"]  # a page beside the mail is none of its


def test_a_mail_in_an_encoding_that_nobody_knows_is_read(make: Make) -> None:
    data = b"Subject: x\nContent-Type: text/plain; charset=klingon\n\nGr\xc3\xb6\xc3\x9fe\n"
    assert only(make("a.eml", data)).text == "Größe\n"


@pytest.mark.parametrize("data", [b"\xff" * 5000, b"no header\n\nat all"])
def test_what_is_no_mail_is_refused(make: Make, data: bytes) -> None:
    assert "no mail that can be read" in refused(make("a.eml", data))


CONTAINER = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OPS/a.opf"/></rootfiles></container>'
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>Crops</dc:title><dc:creator>A. Sower</dc:creator><dc:language>en</dc:language><dc:date>2024-06-01</dc:date>
<dc:subject>soy</dc:subject></metadata><manifest>
<item id="n" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="b" href="two%20.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="n"/><itemref idref="a"/><itemref idref="b"/></spine></package>"""


def epub(**more: str) -> bytes:
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OPS/a.opf": PACKAGE,
        "OPS/nav.xhtml": "<html><body><nav>Contents</nav></body></html>",
        "OPS/one.xhtml": "<html><head><title/></head><body><h1>Sowing</h1><p>In June.</p></body></html>",
        "OPS/two .xhtml": "<html><body><h1>Harvest</h1><h2>Soy</h2><p>In autumn.</p></body></html>",
        **more,
    }
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return stream.getvalue()


def test_listings_of_a_book_are_known_as_such(make: Make) -> None:
    chapter = "<html><body><h1>Harvest</h1><pre>$ cut\n\n$ dry</pre></body></html>"
    document = only(make("a.epub", epub(**{"OPS/two .xhtml": chapter})))
    assert [document.text[start:end] for start, end in document.code] == ["$ cut\n\n$ dry"]


def test_a_book_is_its_chapters_in_order(make: Make) -> None:
    document = only(make("a.epub", epub()))
    assert document.text == "Sowing\n\nIn June.\n\nHarvest\n\nSoy\n\nIn autumn."
    assert [(heading, text.split("\n")[0]) for heading, text in parts(document)] == [
        ("Sowing", "Sowing"),
        ("Harvest", "Harvest"),
        ("Harvest > Soy", "Soy"),
    ]
    assert document.title == "Crops"
    assert document.metadata == {
        "author": "A. Sower",
        "language": "en",
        "date": date(2024, 6, 1),
        "keywords": ["soy"],
    }


def test_a_book_with_copy_protection_is_refused(make: Make) -> None:
    locked = '<encryption><CipherReference URI="OPS/one.xhtml"/></encryption>'
    assert "is encrypted" in refused(make("a.epub", epub(**{"META-INF/encryption.xml": locked})))


@pytest.mark.parametrize("suffix", ["pptx", "xlsx", "epub"])
def test_a_bomb_is_refused_before_it_is_unpacked(make: Make, suffix: str) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.xml", " " * (101 << 20))
    assert "unpacks to" in refused(make(f"a.{suffix}", stream.getvalue()))


@pytest.mark.parametrize("suffix", ["pptx", "xlsx", "epub"])
@pytest.mark.parametrize("data", [b"PK", b"\xd0\xcf\x11\xe0", epub()[:300], slides()[:3000]])
def test_what_is_no_file_of_its_kind_is_refused(make: Make, suffix: str, data: bytes) -> None:
    assert f"is no {suffix} file" in refused(make(f"a.{suffix}", data))
