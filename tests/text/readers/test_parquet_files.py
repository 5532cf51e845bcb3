"""Parquet: rows become documents, some at a time."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from kgrag import KnowledgeBase
from kgrag.errors import UnreadableDocument
from kgrag.settings import Settings
from kgrag.testing import HashEmbedder
from kgrag.text.readers import read_path, read_paths

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install '.[parquet]'")
parquet = pytest.importorskip("pyarrow.parquet")


def written(path: Path, rows: list[dict[str, object]], **options: object) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, **options)
    return path


def test_a_row_is_a_document_with_its_columns_as_typed_metadata(tmp_path: Path) -> None:
    row = {
        "id": "N1",
        "title": "Lentil",
        "text": "Lentil is sown in June.",
        "pages": 3,
        "price": Decimal("1.50"),
        "seen": datetime(2024, 5, 1, 12),
        "valid": date(2024, 5, 1),
        "took": timedelta(minutes=2),
        "tags": ["pulse", "summer"],
        "site": {"hall": 4, "photo": b"\x89PNG"},
        "picture": b"\x89PNG",
        "nothing": None,
        "url": "https://example.org/n1",
    }
    (document,) = read_path(written(tmp_path / "notes.parquet", [row]))
    assert (document.text, document.id, document.title, document.url) == (
        "Lentil is sown in June.",
        "N1",
        "Lentil",
        "https://example.org/n1",
    )
    assert document.metadata == {
        "pages": 3,
        "price": Decimal("1.50"),
        "seen": datetime(2024, 5, 1, 12),
        "valid": date(2024, 5, 1),
        "took": "0:02:00",
        "tags": ["pulse", "summer"],
        "site": {"hall": 4},
    }
    assert document.location.endswith("notes.parquet#N1")


def test_rows_are_found_by_a_question_and_a_new_file_replaces_the_old_one(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"id": str(n), "text": f"Mill {n} of Ostrel.", "hall": n} for n in range(600)]
    file = written(tmp_path / "mills.parquet", rows, row_group_size=100)
    with KnowledgeBase(settings=Settings(completions="off"), embedder=HashEmbedder()) as kb:
        assert kb.ingest(file, embed=False).documents == 600
        assert kb.retrieve("Mill 417", method="passages:signal=bm25", k=1)[0].text == "Mill 417 of Ostrel."
        assert kb.retrieve("Mill", method="passages:signal=bm25", where={"hall": 599})[0].text == "Mill 599 of Ostrel."
        written(file, rows[:2])
        kb.ingest(file, embed=False)
        assert sorted(each.id for each in kb.documents()) == ["0", "1"]


def test_a_row_without_text_is_left_out_and_named(tmp_path: Path) -> None:
    file = written(tmp_path / "some.parquet", [{"text": "One."}, {"text": ""}, {"text": "Three."}])
    broken: dict[Path, str] = {}
    assert [each.text for each in read_paths([file], broken=broken)] == ["One.", "Three."]
    assert "2 were read and 1 left out: row 2 has no text" in broken[file]


@pytest.mark.parametrize(("content", "said"), [(b"PAR1 no PAR1", "is no Parquet file"), (b"", "is empty")])
def test_what_is_no_parquet_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "bad.parquet"
    file.write_bytes(content)
    with pytest.raises(UnreadableDocument, match=said):
        list(read_path(file))


def test_a_file_without_rows_is_refused(tmp_path: Path) -> None:
    table = pyarrow.table({"text": pyarrow.array([], pyarrow.string())})
    parquet.write_table(table, tmp_path / "empty.parquet")
    with pytest.raises(UnreadableDocument, match="has no rows"):
        list(read_path(tmp_path / "empty.parquet"))
