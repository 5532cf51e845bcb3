"""Documents as rows, and back."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from kgrag.errors import InputError
from kgrag.model import Document, Section
from kgrag.text import documents
from kgrag.vocab import Names
from kgrag.workers.arrow_rows import DOCUMENTS, document_of, row_of, table_of

FULL = Document(
    "Oats are sown in spring.\nThey are cut in autumn.",
    title="Oats",
    location="/fields/oats.jsonl#7",
    id="7",
    media_type="text/markdown",
    cites=("Barley", "9"),
    sections=(Section(0, 24, "Sowing", 1), Section(25, 48, whole=True)),
    url="https://example.org/oats",
    metadata={
        "year": 2024, "share": Decimal("0.10"), "yield": 3.5, "organic": True, "sown": date(2024, 4, 1), "read": datetime(2024, 4, 1, 12, tzinfo=UTC),
        "field": {"name": "Hill", "soils": ["clay", {"name": "loam"}]}, "seed": ox.NamedNode("urn:x:seed"), "tags": ("a", "b"),
        "label": ox.Literal("Hafer \"fein\"\n", language="de"), "none": None, "count": ox.Literal("07", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")),
    },
    source="/fields/oats.jsonl",
    code=((0, 4),),
    links=((0, 4, "oats.html#x"),),
    anchors=((25, "cut"),),
)  # fmt: skip


def through_parquet(*found: Document) -> list[Document]:
    sink = pa.BufferOutputStream()
    parquet.write_table(table_of([row_of(document, b"/fields/\xff") for document in found], DOCUMENTS), sink)
    rows = parquet.read_table(pa.BufferReader(sink.getvalue())).to_pylist()
    assert all(row["file"] == b"/fields/\xff" and row["error"] == "" for row in rows)
    return [document_of(row) for row in rows]


def test_a_document_comes_back_as_it_was() -> None:
    bare = Document("Rye.")
    back, also = through_parquet(FULL, bare)
    tags = {"tags": list(FULL.metadata["tags"])}
    assert back == Document(
        **{name: getattr(FULL, name) for name in FULL.__slots__} | {"metadata": {**FULL.metadata, **tags}}
    )
    assert also == bare


def test_a_document_that_came_back_has_the_same_name() -> None:
    assert documents.document_iri(*through_parquet(FULL), Names()) == documents.document_iri(FULL, Names())


def test_a_value_that_is_no_metadata_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="'seed' is a object"):
        row_of(Document("Rye.", metadata={"field": {"seed": object()}}), b"rye")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(exclude_categories=["Cs"])) | st.dates() | st.datetimes() | st.decimals(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "date", "fields"]), inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "iri", "fields"]), VALUES, max_size=3))
def test_metadata_come_back_as_they_were(fields: dict[str, object]) -> None:
    assert document_of(row_of(Document("Rye.", metadata=fields), b"rye")).metadata == fields
