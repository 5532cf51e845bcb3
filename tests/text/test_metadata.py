"""Metadata as triples: properties of fields, types of values, and back."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyoxigraph as ox
import pytest

from kgrag.errors import InputError
from kgrag.model import Document
from kgrag.store.oxigraph import OxigraphStore
from kgrag.text import documents, ingestion, metadata
from kgrag.vocab import KG, METADATA, XSD

FIELDS = {
    "tenant": "a",
    "dcterms:creator": "Ada",
    "https://schema.org/version": 3,
    "due date": date(2026, 2, 28),
    "seen": datetime(2026, 2, 28, 10, 30, tzinfo=UTC),
    "share": Decimal("0.5"),
    "weight": 2.5,
    "draft": True,
    "about": ox.NamedNode("https://example.org/soy"),
    "tags": ("late", "soy"),
}


def test_metadata_comes_back_as_it_went_in() -> None:
    store = OxigraphStore.open(None)
    report = ingestion.ingest([Document("Soy is sown late.", metadata=FIELDS)], store=store)
    assert not report.violations
    (stored,) = documents.listing(store)
    back = dict(stored.metadata)
    assert set(back.pop("tags")) == {"late", "soy"}  # a set of triples has no order
    assert back == {
        **{name: value for name, value in FIELDS.items() if name != "tags"},
        "about": "https://example.org/soy",
    }


def test_a_field_of_an_object_is_named_by_its_path_and_nothing_is_no_triple() -> None:
    fields: dict[str, Any] = {"owner": {"name": "Ada", "team": {"id": 7}}, "parts": [{"n": 1}, {"n": 2}], "gone": None}
    found = {
        (triple.predicate.value.removeprefix(METADATA), triple.object.value)
        for triple in metadata.triples(KG.Document, fields)
    }
    assert found == {("owner.name", "Ada"), ("owner.team.id", "7"), ("parts.n", "1"), ("parts.n", "2")}


@pytest.mark.parametrize(
    "name", ["kg:text", "rdf:type", "dcterms:title", "https://w3id.org/kgrag/ns#text", "a b", "kg:"]
)
def test_a_field_never_takes_the_place_of_what_is_stored_of_every_document(name: str) -> None:
    assert metadata.property_of(name).value.startswith(METADATA)
    assert metadata.name_of(metadata.property_of(name).value) == name


@pytest.mark.parametrize("fields", [{"a": object()}, {"": 1}, {1: "a"}, {"a": b"bytes"}])
def test_what_is_no_metadata_is_refused(fields: dict[Any, Any]) -> None:
    with pytest.raises(InputError, match="metadata"):
        list(metadata.triples(KG.Document, fields))


@pytest.mark.parametrize(("text", "datatype"), [("3.50", XSD.decimal), ("42", XSD.integer), ("2026-02-28", XSD.date)])
def test_a_text_of_an_untyped_format_becomes_a_typed_value(text: str, datatype: ox.NamedNode) -> None:
    (term,) = metadata.terms_of("f", metadata.typed(text))
    assert isinstance(term, ox.Literal) and term.datatype == datatype


@pytest.mark.parametrize("text", ["007", "1e5", "2026-02-30", "+49 30", "1,5", "-0", "http://a b"])
def test_a_text_that_would_not_be_read_back_as_it_was_stays_a_text(text: str) -> None:
    assert metadata.typed(text) == text
