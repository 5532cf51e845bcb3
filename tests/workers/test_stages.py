"""The stages: pure, a table to a table, with errors as rows."""

import hashlib
import os
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kgrag.errors import ServiceUnavailable
from kgrag.model import Chunk as Piece
from kgrag.model import Document
from kgrag.ports import Vectors
from kgrag.testing import HashEmbedder
from kgrag.text import documents, ingestion
from kgrag.text.ingestion import Cutting
from kgrag.vocab import DEFAULT_BASE, KG, Names
from kgrag.workers import stages
from kgrag.workers.arrow_rows import DOCUMENTS, FILES, document_of, row_of, table_of
from kgrag.workers.stages import Chunk, Embed, Read, Validate, draft_of, file_digest

OATS, RYE = (
    Document("Oats are sown in spring.", title="Oats", id="o", location="/f/oats"),
    Document("Rye is cut in June."),
)
ERROR = {"file": b"barley", "error": "is empty"}


def read(*found: Document) -> pa.Table:
    return table_of([*(row_of(document, document.text[:3].encode()) for document in found), ERROR], DOCUMENTS)


def files(*paths: Path) -> pa.Table:
    return table_of([{"file": os.fsencode(path), "sha256": file_digest(path)} for path in paths], FILES)


def chunked(*found: Document) -> pa.Table:
    return Chunk(DEFAULT_BASE, Cutting())(read(*found))


def test_files_are_read_some_documents_at_a_time_and_what_is_wrong_is_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "_DOCUMENTS_PER_TABLE", 2)
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "torn.jsonl").write_text('{"text": "Sown."}\n{"text": \n{"text": "Cut."}\n', encoding="utf-8")
    (tmp_path / "whole.txt").write_text("Oats.", encoding="utf-8")
    tables = list(Read()(files(*sorted(tmp_path.iterdir()))))
    rows = [row for table in tables for row in table.to_pylist()]
    assert [len(table) for table in tables] == [2, 2, 1]
    assert [row["text"] for row in rows] == [None, "Sown.", "Cut.", None, "Oats."]
    assert "is empty" in rows[0]["error"]
    assert "2 were read and 1 left out" in rows[3]["error"]


def test_a_file_that_is_not_what_it_was_is_not_read(tmp_path: Path) -> None:
    listed = tmp_path / "oats.txt"
    listed.write_text("Oats.", encoding="utf-8")
    table = files(listed)
    listed.write_text("Rye.", encoding="utf-8")
    (row,) = [row for made in Read()(table) for row in made.to_pylist()]
    assert (row["text"], "changed while it was read" in row["error"]) == (None, True)


def test_a_draft_is_the_graph_that_an_intake_publishes() -> None:
    rows = chunked(OATS, RYE).to_pylist()
    for row, document in zip(rows, (OATS, RYE), strict=False):
        made = Cutting().cut(document, Names())
        assert draft_of(row) == documents.document_draft(
            document, ingestion.Cutting().chunker()(document, tokens=180), names=Names(), parameters="chunk_tokens=180"
        )
        assert (row["chunks"], row["texts"]) == (made.chunks, documents.embedded_texts(made.draft))
    assert (rows[2]["error"], rows[2]["triples"]) == ("is empty", None)


def test_a_document_that_cannot_be_cut_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def chunker(document: Document, *, tokens: int) -> list[Piece]:
        if document is not OATS and document.title:
            raise ValueError("no words")
        return [Piece(document.text, 0, len(document.text), 0, 4)]

    monkeypatch.setattr(Cutting, "chunker", lambda self: chunker)
    assert [row["error"] for row in chunked(OATS, RYE).to_pylist()] == ["ValueError: no words", "", "is empty"]


def test_a_graph_that_departs_from_its_shape_does_not_conform() -> None:
    table = chunked(OATS, RYE)
    rows = table.to_pylist()
    rows[1]["triples"] = "".join(
        line for line in rows[1]["triples"].splitlines(keepends=True) if KG.contentHash.value not in line
    )
    found = Validate(DEFAULT_BASE)(table_of(rows, table.schema)).column("conforms").to_pylist()
    assert found == [True, False, None]
    assert Validate(DEFAULT_BASE)(table).column("conforms").to_pylist() == [True, True, None]


def test_texts_become_the_vectors_that_the_embedder_makes() -> None:
    table = chunked(OATS, RYE)
    for before, row in zip(table.to_pylist(), Embed(HashEmbedder)(table).to_pylist()[:2], strict=False):
        vectors = np.frombuffer(row["vectors"], "<f4").reshape(len(row["sha256"]), -1)
        assert np.array_equal(vectors, HashEmbedder().embed(before["texts"], "passage"))
        assert row["sha256"] == [hashlib.sha256(text.encode()).hexdigest() for text in before["texts"]]
        assert row["texts"] is None


class Failing(HashEmbedder):
    def embed(self, texts: Sequence[str], kind: str) -> Vectors:  # type: ignore[override]
        raise ServiceUnavailable("nobody answers")


def test_an_embedder_that_fails_is_an_error_of_each_document() -> None:
    rows = Embed(Failing)(chunked(OATS, RYE)).to_pylist()
    assert [row["error"] for row in rows] == ["ServiceUnavailable: nobody answers"] * 2 + ["is empty"]


class FailingLater(HashEmbedder):
    def embed(self, texts: Sequence[str], kind: str) -> Vectors:  # type: ignore[override]
        if any("spring" in text for text in texts):
            raise ServiceUnavailable("nobody answers")
        return super().embed(texts, kind)  # type: ignore[arg-type]


def test_what_was_embedded_before_the_embedder_failed_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_TEXTS_PER_PASS", 1)
    oats, rye, _ = Embed(FailingLater)(chunked(OATS, RYE)).to_pylist()
    assert (oats["error"], oats["vectors"]) == ("ServiceUnavailable: nobody answers", None)
    assert (rye["error"], len(rye["sha256"])) == ("", 1)


def test_a_stage_travels_without_its_model() -> None:
    stage = Embed(HashEmbedder)
    stage(chunked(RYE))
    assert "_embedder" in stage.__dict__
    assert "_embedder" not in pickle.loads(pickle.dumps(stage)).__dict__


def test_a_document_is_what_it_was_behind_reading() -> None:
    assert document_of(read(OATS).to_pylist()[0]) == OATS
