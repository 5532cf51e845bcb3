"""What a file says of its document besides the text: metadata, URL and id, of every format."""

import io
import json
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal

import docx
import pytest
from pyoxigraph import NamedNode
from pypdf import PdfWriter
from reportlab.pdfgen.canvas import Canvas

from kgrag.text.readers import read_path
from tests.text.readers.checks import Make, only, parts, refused


def test_fields_of_a_record_are_metadata_with_their_json_types(make: Make) -> None:
    record = {
        "id": "P1",
        "title": "Soy",
        "text": "Sown in June.",
        "url": "https://example.org/p1",
        "tenant": "acme",
        "pages": 12,
        "open": True,
        "score": 0.5,
        "tags": ["legume", "oil"],
        "place": {"country": "IN", "zone": None},
        "note": "",
    }
    document = only(make("a.jsonl", json.dumps(record)))
    assert (document.id, document.url) == ("P1", "https://example.org/p1")
    assert document.metadata == {
        "tenant": "acme",
        "pages": 12,
        "open": True,
        "score": 0.5,
        "tags": ["legume", "oil"],
        "place": {"country": "IN"},
    }


@pytest.mark.parametrize("field", ["url", "link", "source_url"])
def test_a_url_goes_by_many_names(make: Make, field: str) -> None:
    assert only(make("a.json", json.dumps({"text": "x", field: "http://a.org/b"}))).url == "http://a.org/b"


def test_a_link_that_a_browser_would_run_is_no_url(make: Make) -> None:
    document = only(make("a.json", json.dumps({"text": "x", "url": "javascript:alert(1)", "link": "https://a.org"})))
    assert (document.url, document.metadata) == ("https://a.org", {"url": "javascript:alert(1)"})


def test_a_field_that_is_not_used_as_text_or_identifier_is_not_lost(make: Make) -> None:
    record = {"text": "Sown in June.", "abstract": "Of soy.", "id": 1, "pmid": 77, "title": ["no", "title"]}
    assert only(make("a.json", json.dumps(record))).metadata == {
        "abstract": "Of soy.",
        "pmid": 77,
        "title": ["no", "title"],
    }


def test_sentences_that_repeat_the_text_are_no_metadata(make: Make) -> None:
    assert not only(make("a.json", json.dumps({"text": "One. Two.", "sentences": ["One.", " Two."]}))).metadata


def test_fields_with_odd_names_and_values_can_be_stored(make: Make) -> None:
    record = {"text": "x", "": 1, "a\u0000b": "c\ud800", "deep": [[1, [2]], {"b": [{}]}], "none": [None, []]}
    assert only(make("a.json", json.dumps(record))).metadata == {
        "unnamed": 1,
        "a\ufffdb": "c\ufffd",
        "deep": [1, 2],
    }


def test_fields_nested_without_end_are_refused(make: Make) -> None:
    deep: object = 1
    for _ in range(100):
        deep = {"a": deep}
    assert "nested more than 32 deep" in refused(make("a.json", json.dumps({"text": "x", "deep": deep})))


def test_columns_of_a_table_are_metadata_with_the_types_that_they_look_like(make: Make) -> None:
    table = "id,Text,Sown,t/ha,Code,More,More\n7,Soy,2024-06-01,2.5,007,a,b,c\n8,Wheat,,,,,\n"
    first, second = read_path(make("a.csv", table))
    assert first.metadata == {
        "Sown": date(2024, 6, 1),
        "t/ha": Decimal("2.5"),
        "Code": "007",
        "More": "a",
        "More (column 7)": "b",
        "column 8": "c",
    }
    assert second.metadata == {}


MARKDOWN = """---
title: "Soy"
id: T-7
link: https://example.org/soy
date: 2024-06-01
draft: false
country: NO
tags: [legume, oil]
author:
  name: A. Sower
---
# Sowing

In June.
"""


def test_front_matter_is_metadata_and_no_text(make: Make) -> None:
    document = only(make("a.md", MARKDOWN))
    assert (document.title, document.id, document.url) == ("Soy", "T-7", "https://example.org/soy")
    assert document.text == "# Sowing\n\nIn June.\n"
    assert parts(document) == [("Sowing", "# Sowing\n\nIn June.\n")]
    assert document.metadata == {
        "date": date(2024, 6, 1),
        "draft": False,
        "country": "NO",
        "tags": ["legume", "oil"],
        "author": {"name": "A. Sower"},
    }


@pytest.mark.parametrize(
    "front", ["a: *b", "a: [1", "- a\n- b", "x: " + "y" * 70_000], ids=["alias", "damaged", "list", "large"]
)
def test_what_is_no_front_matter_stays_in_the_text(make: Make, front: str) -> None:
    text = f"---\n{front}\n---\nText.\n"
    document = only(make("a.md", text))
    assert (document.text, document.metadata) == (text, {})


def test_front_matter_that_multiplies_itself_is_not_unfolded(make: Make) -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert not only(make("a.md", "---\n" + "\n".join(lines) + "\n---\nText.\n")).metadata


def test_front_matter_makes_no_objects(make: Make) -> None:
    document = only(make("a.md", '---\nrun: !!python/object/apply:os.system ["exit 1"]\n---\nText.\n'))
    assert document.metadata == {"run": ["exit 1"]}


PAGE = """<!doctype html><html lang="en-GB"><head><title>Soy</title>
<link rel="canonical" href="https://example.org/soy"><meta charset="utf-8"><meta name="viewport" content="width=1">
<meta name="Author" content="A. Sower"><meta name="keywords" content="soy, oil"><meta name="date" content="2024-06-01">
<meta name="description" content="Of soy."><meta property="og:type" content="article">
<meta property="article:tag" content="a"><meta property="article:tag" content="b"></head><body><p>Sown.</body></html>"""


def test_the_head_of_a_page_is_metadata(make: Make) -> None:
    document = only(make("a.html", PAGE))
    assert document.url == "https://example.org/soy"
    assert document.metadata == {
        "language": "en-GB",
        "author": "A. Sower",
        "keywords": ["soy", "oil"],
        "date": date(2024, 6, 1),
        "description": "Of soy.",
        "og:type": "article",
        "article:tag": ["a", "b"],
    }


def test_a_page_without_canonical_link_has_the_url_that_it_is_shared_by(make: Make) -> None:
    document = only(make("a.html", '<meta property="og:url" content="https://example.org/soy"><p>Sown.'))
    assert (document.url, document.metadata) == ("https://example.org/soy", {})


def pdf(change: Callable[[PdfWriter], None]) -> bytes:
    page, stream = io.BytesIO(), io.BytesIO()
    canvas = Canvas(page)
    canvas.drawString(100, 700, "Sown in June.")
    canvas.save()
    writer = PdfWriter(clone_from=page)
    writer.metadata = None
    change(writer)
    writer.write(stream)
    return stream.getvalue()


def test_the_properties_of_a_pdf_are_metadata(make: Make) -> None:
    def change(writer: PdfWriter) -> None:
        writer.add_metadata(
            {
                "/Title": "Soy",
                "/Author": "A. Sower",
                "/Subject": "Of soy",
                "/Keywords": "soy; oil",
                "/CreationDate": "D:20240601120000Z",
                "/ModDate": "no date",
                "/Company": "Acme",
            }
        )

    document = only(make("a.pdf", pdf(change)))
    assert document.title == "Soy"
    assert document.metadata == {
        "author": "A. Sower",
        "subject": "Of soy",
        "keywords": ["soy", "oil"],
        "created": datetime(2024, 6, 1, 12, tzinfo=UTC),
        "company": "Acme",
    }


def word(author: str = "") -> bytes:
    document, stream = docx.Document(), io.BytesIO()
    document.add_paragraph("Sown in June.")
    properties = document.core_properties
    properties.author, properties.keywords, properties.comments = author, "soy, oil", ""
    properties.created = properties.modified = datetime(2024, 6, 1, 12)
    document.save(stream)
    return stream.getvalue()


def test_the_properties_of_a_word_file_are_metadata(make: Make) -> None:
    document = only(make("a.docx", word("A. Sower")))
    assert document.metadata == {
        "author": "A. Sower",
        "keywords": ["soy", "oil"],
        "created": datetime(2024, 6, 1, 12, tzinfo=UTC),
        "modified": datetime(2024, 6, 1, 12, tzinfo=UTC),
    }


def test_a_web_address_in_a_table_is_an_iri(make: Make) -> None:
    assert only(make("a.csv", "text,seen\nx,https://a.org/b\n")).metadata == {"seen": NamedNode("https://a.org/b")}
