from datetime import UTC, date, datetime
from decimal import Decimal

import pyoxigraph as ox
import pytest

from kgrag.errors import InputError
from kgrag.model import Document, Section
from kgrag.text.documents import document_iri
from kgrag.text.json_documents import document_json, read_document
from kgrag.vocab import DEFAULT_BASE, Names


def test_a_document_that_travels_as_json_is_the_same_document() -> None:
    metadata = {
        "text": "words",
        "flag": True,
        "count": 7,
        "price": Decimal("1.50"),
        "share": 0.5,
        "endless": float("inf"),
        "day": date(2024, 2, 29),
        "time": datetime(2024, 2, 29, 12, tzinfo=UTC),
        "crop": ox.NamedNode("https://example.org/crop"),
        "label": ox.Literal("Saat", language="de"),
        "several": ("a", 1, date(2024, 1, 1)),
        "inner": {"deep": {"day": date(2024, 1, 2)}},
        "nothing": None,
    }
    sections = (Section(0, 4, "Head", 2), Section(4, 9, whole=True))
    document = Document(
        "Some text",
        "Title",
        "/a/b.jsonl#1",
        "1",
        "text/html",
        ("x", "y"),
        sections,
        "https://e.org/",
        metadata,
        "/a/b",
        code=((0, 4), (5, 9)),
        links=((0, 4, "b.html#x"),),
        anchors=((5, "y"),),
    )
    again = read_document(document_json(document))
    names = Names(DEFAULT_BASE)
    assert document_iri(again, names) == document_iri(document, names)
    for field in (
        "text",
        "title",
        "location",
        "id",
        "media_type",
        "cites",
        "sections",
        "url",
        "source",
        "code",
        "links",
        "anchors",
    ):
        assert getattr(again, field) == getattr(document, field)
    assert read_document(document_json(Document("x"))) == Document("x")


@pytest.mark.parametrize("value", [{"@id": "no iri"}, {"@id": 7}, {"@value": "x", "@type": "none"}])
def test_what_is_no_value_object_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(InputError, match="value object"):
        read_document({"text": "x", "metadata": {"field": value}})
